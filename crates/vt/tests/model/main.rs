//! Tests of the terminal model through its public interface: one program, so that what they share is compiled once.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod behaviour;
mod common;
mod grammar;
mod hostile;
mod independent;
mod input;
mod keys;
#[cfg(feature = "png")]
mod png;
mod queries;
mod recordings;
mod roundtrip;
mod short_way;
mod skip;
mod views;
