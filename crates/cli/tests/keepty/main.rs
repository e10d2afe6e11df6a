//! The keepty dialect.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod cli;
mod end;
mod limits;
mod replay;
mod resize;
mod roles;
mod sdk;
mod wire;
