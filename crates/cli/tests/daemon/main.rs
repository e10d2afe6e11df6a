//! The daemon itself: how it starts, what survives its end, and what all dialects share.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod chaos;
mod confined_peers;
mod guard;
mod guarded_paths;
mod half_sent_messages;
mod idle_connections;
mod shared_sessions;
mod start;
mod survival;
mod vectors_live;
