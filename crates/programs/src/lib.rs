//! External programs that run on the user's behalf: git and clipboard tools.
//!
//! The engine defines what it needs ([`swb_engine::chat::Git`], [`swb_engine::ClipboardSink`]); the daemon passes
//! it these implementations.

mod clipboard;
mod git;
mod limits;

pub use clipboard::SystemClipboard;
pub use git::SystemGit;
