//! The keepty protocol: one binary frame per message, one socket per session.
//!
//! A frame is a `u32` big-endian body length, a version byte, a kind byte and the payload; the length includes the two
//! bytes (KP-1). Push the bytes that arrive into a [`Decoder`]; write with [`encode`]. Which client may send which
//! message, and when, is decided elsewhere.

mod codec;
mod message;

pub use codec::{DecodeError, Decoder, MAX_PAYLOAD, VERSION, encode, output_header};
pub use message::{KeeptyRole, Message};
