//! What people see, driven through a terminal and kept as pictures.
//!
//! Each test drives a program at every size of [`picture::SIZES`], checks what the screen shows, and calls
//! [`picture::keep`], which writes `docs/screenshots/NAME-COLSxROWS.png` if `$SWB_PICTURES` names that directory:
//! `cargo xtask terminal-pictures [FILTER]` does that.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod chat;
mod picture;
