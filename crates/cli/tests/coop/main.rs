//! The coop dialect.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod commands;
mod create;
mod restart;
mod stream;
mod transport;
