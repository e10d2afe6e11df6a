//! The keeper: the tiny process that is the parent of every child, reads every PTY and writes every ring.
//!
//! It interprets nothing and outlives the daemon. Everything that could crash, hang or need an upgrade
//! is elsewhere. The path of one byte: the kernel copies it from the PTY straight into the ring
//! ([`slot`](self), `Slot::read`), the keeper publishes the new head, and wakes the daemon if it sleeps.
//!
//! - [`run`] is the process itself (`swb keeper`, started by the daemon, never by people);
//! - [`KeeperLink`], [`Reader`], [`Doorbell`], [`Vitals`] and [`Spec`] are the daemon's half.
//!
//! Invariants: nothing else reads a PTY master; only the keeper writes a ring; the keeper never
//! blocks; it never reads a descriptor it holds for the daemon, except the one that describes how to
//! start the next daemon. It only asks the kernel whether clients wait at the sockets among them.

// A panic here would end every session: what can go wrong is an error or a saturated number instead.
#![cfg_attr(
    not(test),
    deny(
        clippy::arithmetic_side_effects,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::print_stderr,
        clippy::string_slice,
        clippy::todo,
        clippy::unimplemented,
        clippy::unreachable,
        clippy::unwrap_used
    )
)]

mod address;
mod backlog;
mod daemon;
mod handover;
mod id;
mod input_counts;
mod key;
mod limits;
mod link;
mod peer;
mod proc;
pub mod proto;
mod pty;
mod ring;
mod server;
mod slot;
mod source;
mod spec;
mod start;
mod successor;
mod sys;
mod vitals;
mod wake;
mod watchdog;

pub use id::{Offset, SlotId};
pub use input_counts::{InputCounts, StreamPlace};
pub use key::key_file;
pub use limits::{FILES_PER_SLOT, FILES_RESERVED, GLOBAL_KEYS, KEYS, MAX_SLOTS, OOM_DAEMON, OOM_MOST};
pub use link::KeeperLink;
pub use peer::{CONFINED_DIR, CONFINING_GUARD, GUARD_NAME, is_confined, is_unconfined};
pub use proc::parent_of;
pub use pty::resize;
pub use ring::{Pieces, Reader};
pub use spec::{Spec, read_memfd, sealed_memfd};
pub use start::run;
pub use vitals::{DaemonThread, Suspect, Vitals};
pub use wake::Doorbell;
