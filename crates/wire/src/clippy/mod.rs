//! The clippy protocol: MessagePack maps behind a length.
//!
//! A connection ([`frames`]) begins with a [`Request::Hello`] and a [`Message::HelloAck`]; then requests
//! ([`parse_request`]) get one [`Response`] each, in order. Unasked, the broker sends [`Message::Inject`] to
//! wrappers ([`parse_message`] reads both). Messages borrow from the frame they came in, so content is copied
//! no more often than its receiver wants; [`inject_head`] and [`response_head`] do the same for the way out.
//!
//! Keys stand in any order and unknown ones are skipped (CB-11); integers may be of any width (CB-12). What is
//! skipped costs neither memory nor stack, however deep it is nested.

mod decode;
mod encode;
mod message;
mod pack;

pub use decode::{Malformed, RequestError, parse_message, parse_request};
pub use encode::{EncodeError, encode_message, encode_request, inject_head, response_head};
pub use message::{Message, Reason, Request, Response, Role, SessionItem, Sink, TurnItem};

use crate::frame::LengthPrefixed;

/// The only version of the handshake there is (CB-20).
pub const VERSION: u32 = 1;

/// Bytes in a frame at most, prefix not counted (CB-8).
pub const MAX_FRAME: usize = 16 * 1024 * 1024;

/// Makes the frame reader of a connection, for either side.
///
/// An empty frame comes out: it is a message that [`parse_request`] finds malformed (CB-13).
pub fn frames() -> LengthPrefixed {
    LengthPrefixed::new(0, MAX_FRAME)
}
