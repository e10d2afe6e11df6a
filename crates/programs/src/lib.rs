//! External programs that run on the user's behalf: git and clipboard tools.
//!
//! The engine defines what it needs ([`swb_engine::chat::Git`], [`swb_engine::ClipboardSink`]); the daemon passes
//! it these implementations.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests have threads of their own"))]

mod clipboard;
mod git;
mod git_process;
mod limits;

pub use clipboard::SystemClipboard;
pub use git::SystemGit;
