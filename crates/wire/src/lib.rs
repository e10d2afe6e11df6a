//! Codecs of the dialects Switchboard speaks: bytes to messages and back.
//!
//! Nothing here performs I/O. A decoder owns a buffer: push the bytes that arrived, pull messages until
//! it says `Ok(None)` ("more bytes are needed"). Encoders append to a buffer of the caller. Both halves
//! of each protocol are here, so the daemon and the command line cannot disagree about a message.
//!
//! * [`frame`]: reassembly of frames behind a length prefix, shared by three of the dialects;
//! * [`keepty`]: binary frames, specified in `docs/protocols/keepty.md`;
//! * [`control`]: our own operations, JSON and then tagged stream frames, specified in
//!   `docs/protocols/control.md`;
//! * [`coop`]: the commands of coop, in the same frames, specified in `docs/protocols/coop.md`;
//! * [`clippy`]: MessagePack maps, specified in `docs/protocols/clippy.md`;
//! * [`scriptschnell`]: JSON objects on lines, specified in `docs/protocols/scriptschnell.md`.
//!
//! What a message *does* is no business of this crate: it never refuses a message that is well-formed.

pub mod clippy;
pub mod control;
pub mod coop;
pub mod frame;
pub mod keepty;
pub mod limits;
pub mod scriptschnell;
mod text;

pub use frame::{FrameError, LengthPrefixed};
