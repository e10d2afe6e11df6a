//! The clippy protocol: MessagePack maps with a length prefix.
//!
//! A connection ([`frames`]) begins with a [`Request::Hello`] and a [`Message::HelloAck`]; then each request
//! ([`parse_request`]) gets one [`Response`], in order. Without a request, the broker sends [`Message::Inject`] to
//! wrappers ([`parse_message`] reads both). Messages borrow from the frame they came in, so content is copied only if
//! its receiver copies it; [`inject_head`] and [`response_head`] do the same for sending.
//!
//! Keys may be in any order and unknown ones are skipped (CB-11); integers may be of any width (CB-12). Skipping needs
//! neither memory nor stack, however deep the nesting.

mod decode;
mod encode;
mod message;
mod pack;

pub use decode::{Malformed, RequestError, parse_message, parse_request};
pub use encode::{EncodeError, encode_message, encode_request, inject_head, response_head};
pub use message::{Message, PeerRole, Reason, Request, Response, SessionItem, Sink, TurnItem};

use crate::frame::LengthPrefixed;

/// The only version of the handshake (CB-20).
pub const VERSION: u32 = 1;

/// Maximum bytes in a frame, prefix not counted (CB-8).
pub const MAX_FRAME: usize = 16 * 1024 * 1024;

/// Creates the frame reader of a connection, for either side.
///
/// It returns empty frames, which [`parse_request`] finds malformed (CB-13).
pub fn frames() -> LengthPrefixed {
    LengthPrefixed::new(0, MAX_FRAME)
}
