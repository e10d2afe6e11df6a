//! The scriptschnell dialect.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod asks;
mod auth;
mod chat;
mod config;
mod edges;
mod flow;
mod life;
mod owner;
mod saved;
mod sessions;
mod transport;
