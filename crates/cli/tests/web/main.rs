//! The web server: who may come in, coop's REST and terminals, operations, tokens, and what survives.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod access;
mod filter;
mod operations;
mod rest;
mod serving;
mod terminals;
mod tokens;

const SWB: &str = env!("CARGO_BIN_EXE_swb");
