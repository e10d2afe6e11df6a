//! The dialects: each translates between the messages of one protocol and the engine.
//!
//! An adapter keeps only what belongs to one connection: handshake, role, position in the output. What outlives a
//! connection is the engine's. Common to all: safe listening ([`private_socket`]), accepting and reading (`conn.rs`), the places
//! of connections (`places.rs`),
//! detecting that a peer has left (`peer.rs`), queues of messages to send (`outbound.rs`), and sending output straight
//! from the ring (`outlet.rs`).

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests have threads of their own"))]

pub mod clippy;
mod conn;
pub mod control;
pub mod coop;
mod incomplete_frames;
pub mod keepty;
pub mod limits;
mod outbound;
mod outlet;
mod peer;
mod places;
pub mod private_socket;
pub mod scriptschnell;

pub use conn::Fronts;
