//! `swb top`, the same list over an attached session, and the title of the terminal.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod idle;
mod list;
mod over_session;
mod pictures;
mod stage;
mod title;
