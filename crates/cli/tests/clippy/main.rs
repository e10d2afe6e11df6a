//! The clippy dialect: broker, client and wrapper.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod clippyctl;
mod hotkey;
mod life;
mod registry;
mod wrap_broker;
mod wrap_daemon;
mod wrap_terminal;
