//! Tests of turn detection through its public interface: one program, so that what they share is compiled once.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod common;
mod dialogs;
mod growth;
mod hostile;
mod line_rules;
mod own_commands;
mod recordings;
mod traps;
