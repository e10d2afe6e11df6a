//! Tests of the codecs through their public interface: one program, so that what they share is compiled once.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod clippy_golden;
mod clippy_round_trip;
mod control_conversations;
mod control_messages;
mod control_turns;
mod coop_golden;
mod hostile;
mod keepty;
mod reading;
mod round_trip;
mod schema;
mod scriptschnell_golden;
mod scriptschnell_round_trip;
mod typescript;
#[path = "../vectors/mod.rs"]
mod vectors;
