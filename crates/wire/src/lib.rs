//! Codecs of the protocols that Switchboard speaks: bytes to messages and back.
//!
//! Nothing here performs I/O. A decoder owns a buffer: push the bytes that arrived, pull messages until it returns
//! `Ok(None)` ("more bytes are needed"). Encoders append to a buffer of the caller. Both halves of each protocol are
//! here, so the daemon and the command line cannot disagree about a message.
//!
//! * [`frame`]: reassembly of frames with a length prefix, shared by three of the dialects;
//! * [`keepty`]: binary frames, specified in `docs/protocols/keepty.md`;
//! * [`control`]: our own operations, JSON and then tagged stream frames, specified in
//!   `docs/protocols/control.md`;
//! * [`coop`]: the commands of coop, in the same frames, specified in `docs/protocols/coop.md`;
//! * [`clippy`]: MessagePack maps, specified in `docs/protocols/clippy.md`;
//! * [`scriptschnell`]: JSON objects on lines, specified in `docs/protocols/scriptschnell.md`;
//! * [`tunnel`]: offers, answers, proofs and frames of tunnels, specified in `docs/protocols/tunnel.md`;
//! * [`web`]: messages and URLs of clients on the web, specified in `docs/protocols/web.md`.
//!
//! What a message *does* is decided elsewhere: this crate never rejects a well-formed message.

pub mod clippy;
pub mod control;
pub mod coop;
pub mod frame;
pub mod keepty;
pub mod limits;
pub mod scriptschnell;
mod text;
pub mod tunnel;
pub mod web;

pub use frame::{FrameError, LengthPrefixed};
