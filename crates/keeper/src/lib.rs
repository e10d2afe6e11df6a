//! The keeper: the tiny process that is the parent of every child, reads every PTY and writes every ring.
//!
//! It interprets nothing and outlives the daemon. Everything that could crash, hang or want an upgrade
//! is elsewhere. The path of one byte: the kernel copies it from the PTY straight into the ring
//! ([`slot`](self), `Slot::read`), the keeper publishes the new head, and wakes the daemon if it sleeps.
//!
//! - [`run`] is the process itself (`swb keeper`, started by the daemon, never by people);
//! - [`Link`], [`Reader`], [`Doorbell`] and [`Spec`] are the daemon's half.
//!
//! Invariants: nothing else reads a PTY master; only the keeper writes a ring; the keeper waits for
//! nobody; a descriptor it holds for the daemon is never looked into, except the one that says how to
//! start the next daemon.

mod daemon;
mod handover;
mod link;
pub mod proto;
mod pty;
mod ring;
mod server;
mod slot;
mod spec;
mod start;
mod successor;
mod sys;
mod wake;

pub use link::Link;
pub use pty::resize;
pub use ring::{KEEP_RANGE, Pieces, Reader};
pub use spec::{Spec, read_memfd, sealed_memfd};
pub use start::run;
pub use wake::{Doorbell, MAX_SLOTS};
