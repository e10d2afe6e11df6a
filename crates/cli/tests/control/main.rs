//! The control socket: operations, roles and scopes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod operations;
mod roles;
mod stuck_files;
