//! Frames to messages and back.

use super::message::{KeeptyRole, Message, kind};
use crate::frame::{FrameError, LengthPrefixed, PREFIX, prefix};
use crate::text::clip;

/// The only protocol version (KP-3).
pub const VERSION: u8 = 1;

/// Maximum bytes in a payload (KP-2): also the size of the history, so one frame can contain all of it.
pub const MAX_PAYLOAD: usize = 1_048_576;

/// Bytes of a body before its payload: version and kind.
const HEAD: usize = 2;

/// Why the messages of a connection cannot be read any further; all of these close it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The length prefix is out of bounds (KP-2).
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The peer speaks another version (KP-3).
    #[error("unsupported protocol version {0}")]
    Version(u8),
    /// The kind of a message is unknown (KP-4).
    #[error("unknown message kind {0}")]
    Kind(u8),
    /// A `Hello` that ends too early (KP-7).
    #[error("the Hello message is too short")]
    Hello,
    /// The role is unknown (KP-8).
    #[error("unknown role {0}")]
    Role(u8),
}

/// Reads the messages of one connection, from either side.
#[derive(Debug, Clone)]
pub struct Decoder {
    frames: LengthPrefixed,
    failed: Option<DecodeError>,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder {
    /// Creates a decoder for a new connection.
    pub fn new() -> Self {
        Self { frames: LengthPrefixed::new(HEAD, HEAD + MAX_PAYLOAD), failed: None }
    }

    /// Adds bytes that arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        self.frames.push(bytes);
    }

    /// Returns the next message, or `Ok(None)` if more bytes are needed.
    ///
    /// An error is repeated by every later call: the connection has to be closed.
    #[expect(clippy::should_implement_trait, reason = "no iterator: after Ok(None) more may follow")]
    pub fn next(&mut self) -> Result<Option<Message>, DecodeError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let result = self.decode_next();
        self.failed = result.as_ref().err().copied();
        result
    }

    /// Whether the stream is between two messages.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Bytes of memory held for incomplete frames.
    pub fn capacity(&self) -> usize {
        self.frames.capacity()
    }

    fn decode_next(&mut self) -> Result<Option<Message>, DecodeError> {
        match self.frames.next()? {
            Some(body) => decode(body).map(Some),
            None => Ok(None),
        }
    }
}

/// Reads one body: version, kind and payload.
fn decode(mut body: Vec<u8>) -> Result<Message, DecodeError> {
    // The framing rejects bodies below two bytes; a missing byte reads as the invalid number 0.
    let version = body.first().copied().unwrap_or(0);
    let number = body.get(1).copied().unwrap_or(0);
    if version != VERSION {
        return Err(DecodeError::Version(version));
    }
    body.drain(..HEAD.min(body.len()));
    let payload = body;
    let message = match number {
        kind::HELLO => return decode_hello(&payload),
        kind::HELLO_ACK => {
            decode_pair(&payload).map(|(pid, cols, rows)| Message::HelloAck { pid, cols, rows })
        }
        kind::INPUT => Some(Message::Input(payload)),
        kind::OUTPUT => Some(Message::Output(payload)),
        kind::RESIZE => decode_size(&payload).map(|(cols, rows)| Message::Resize { cols, rows }),
        kind::RESIZE_ACK => decode_pair(&payload).map(|(generation, cols, rows)| Message::ResizeAck {
            generation,
            cols,
            rows,
        }),
        kind::EXIT => payload.first_chunk().map(|code| Message::Exit { code: i32::from_be_bytes(*code) }),
        kind::SHUTDOWN => Some(Message::Shutdown),
        kind::PING => Some(Message::Ping),
        kind::PONG => Some(Message::Pong),
        kind::ERROR => Some(Message::Error(String::from_utf8_lossy(&payload).into_owned())),
        unknown => return Err(DecodeError::Kind(unknown)),
    };
    Ok(message.unwrap_or(Message::Malformed(number)))
}

fn decode_hello(payload: &[u8]) -> Result<Message, DecodeError> {
    let (role, size) = payload.split_first().ok_or(DecodeError::Hello)?;
    let (cols, rows) = decode_size(size).ok_or(DecodeError::Hello)?;
    let role = KeeptyRole::try_from(*role).map_err(DecodeError::Role)?;
    Ok(Message::Hello { role, cols, rows })
}

/// Reads columns and rows; bytes after them are ignored (KP-7).
fn decode_size(payload: &[u8]) -> Option<(u16, u16)> {
    let (cols, rest) = payload.split_first_chunk()?;
    let rows = rest.first_chunk()?;
    Some((u16::from_be_bytes(*cols), u16::from_be_bytes(*rows)))
}

/// Reads a number followed by columns and rows.
fn decode_pair(payload: &[u8]) -> Option<(u32, u16, u16)> {
    let (number, size) = payload.split_first_chunk()?;
    let (cols, rows) = decode_size(size)?;
    Some((u32::from_be_bytes(*number), cols, rows))
}

/// Appends a message to `out`.
///
/// `Input` and `Output` beyond [`MAX_PAYLOAD`] become several frames, an `Error` text is cut to it, so the result is
/// always valid. A `Malformed` is written as its kind without a payload.
pub fn encode(msg: &Message, out: &mut Vec<u8>) {
    match msg {
        Message::Hello { role, cols, rows } => {
            frame(kind::HELLO, &[&[*role as u8], &cols.to_be_bytes(), &rows.to_be_bytes()], out);
        }
        Message::HelloAck { pid, cols, rows } => {
            frame(kind::HELLO_ACK, &[&pid.to_be_bytes(), &cols.to_be_bytes(), &rows.to_be_bytes()], out);
        }
        Message::Input(bytes) => stream(kind::INPUT, bytes, out),
        Message::Output(bytes) => stream(kind::OUTPUT, bytes, out),
        Message::Resize { cols, rows } => {
            frame(kind::RESIZE, &[&cols.to_be_bytes(), &rows.to_be_bytes()], out);
        }
        Message::ResizeAck { generation, cols, rows } => {
            let fields: [&[u8]; 3] = [&generation.to_be_bytes(), &cols.to_be_bytes(), &rows.to_be_bytes()];
            frame(kind::RESIZE_ACK, &fields, out);
        }
        Message::Exit { code } => frame(kind::EXIT, &[&code.to_be_bytes()], out),
        Message::Shutdown => frame(kind::SHUTDOWN, &[], out),
        Message::Ping => frame(kind::PING, &[], out),
        Message::Pong => frame(kind::PONG, &[], out),
        Message::Error(text) => {
            frame(kind::ERROR, &[clip(text, MAX_PAYLOAD).as_bytes()], out);
        }
        Message::Malformed(number) => frame(*number, &[], out),
    }
}

/// Returns the bytes before `payload_len` bytes of output, at most [`MAX_PAYLOAD`].
///
/// With it, output can be written straight from where it is stored instead of through [`encode`].
pub fn output_header(payload_len: usize) -> [u8; 6] {
    debug_assert!(payload_len <= MAX_PAYLOAD, "output is cut into frames before it gets here");
    header(kind::OUTPUT, payload_len)
}

fn header(number: u8, payload_len: usize) -> [u8; PREFIX + HEAD] {
    let [a, b, c, d] = prefix(HEAD + payload_len);
    [a, b, c, d, VERSION, number]
}

fn frame(number: u8, fields: &[&[u8]], out: &mut Vec<u8>) {
    let len = fields.iter().map(|field| field.len()).sum();
    out.extend_from_slice(&header(number, len));
    for field in fields {
        out.extend_from_slice(field);
    }
}

fn stream(number: u8, bytes: &[u8], out: &mut Vec<u8>) {
    if bytes.is_empty() {
        frame(number, &[], out);
    }
    for chunk in bytes.chunks(MAX_PAYLOAD) {
        frame(number, &[chunk], out);
    }
}
