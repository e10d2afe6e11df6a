//! The grammar of terminal output: bytes to text and escape sequences, at any split, in bounded memory.
//!
//! Everything here that recognises escape sequences in output does it with this [`Tokenizer`]: the screen model, the
//! filter for old output, the client that restores a terminal's modes, and the detection of turns. What a sequence means
//! is up to them.
//!
//! The tokenizer owns the bytes of the one sequence that is not complete yet ([`Tokenizer::pending`]). Another
//! tokenizer, or a terminal, that is fed with these is in the same state. 8-bit controls are not recognised: the
//! stream is UTF-8.

use crate::csi::Csi;
use crate::limits;
use memchr::memchr;
use serde::{Deserialize, Serialize};

pub(crate) const ENQ: u8 = 0x05;
pub(crate) const BEL: u8 = 0x07;
pub(crate) const CAN: u8 = 0x18;
const SUB: u8 = 0x1a;
pub(crate) const ESC: u8 = 0x1b;
pub(crate) const DEL: u8 = 0x7f;
/// String terminator.
const ST: &[u8] = b"\x1b\\";

/// A piece of output. Except for [`Token::Control`], tokens have the bytes of the stream in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token<'a> {
    /// Bytes outside of sequences, control characters included, cut anywhere.
    Text(&'a [u8]),
    /// A control character within a sequence, after so many bytes of it. Terminals execute it before the sequence.
    Control(u8, usize),
    /// A whole sequence without the control characters in it; [`Sequence::parse`] reads it.
    Sequence(&'a [u8]),
    /// A sequence that CAN, SUB or the beginning of something else has cut off. CAN and SUB are part of it.
    Cut(&'a [u8]),
    /// A piece of a sequence that is too long or malformed; an empty one when such a sequence is cut off.
    Ignored(&'a [u8]),
}

/// A whole sequence, taken apart.
#[derive(Debug, Clone, Copy)]
pub enum Sequence<'a> {
    /// Application program command.
    Apc(&'a [u8]),
    /// A control sequence.
    Csi(Csi),
    /// Device control string.
    Dcs(&'a [u8]),
    /// `ESC`, intermediates, final byte.
    Escape(&'a [u8], u8),
    /// Operating system command, and whether BEL ended it.
    Osc(&'a [u8], bool),
    /// Privacy message, start of string, or something malformed.
    Other,
}

impl<'a> Sequence<'a> {
    /// Reads the bytes of a [`Token::Sequence`].
    pub fn parse(raw: &'a [u8]) -> Self {
        match raw {
            [_, b'[', body @ ..] => Csi::parse(body).map_or(Self::Other, Self::Csi),
            [_, b']', content @ .., BEL] => Self::Osc(content, true),
            [_, b']', content @ .., ESC, b'\\'] => Self::Osc(content, false),
            [_, b'P', content @ .., ESC, b'\\'] => Self::Dcs(content),
            [_, b'_', content @ .., ESC, b'\\'] => Self::Apc(content),
            [_, b']' | b'P' | b'_' | b'X' | b'^', ..] => Self::Other,
            [_, intermediates @ .., action] => Self::Escape(intermediates, *action),
            _ => Self::Other,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum ParseState {
    #[default]
    Ground,
    /// After ESC and maybe intermediates.
    Escape,
    Csi,
    /// In a string; its second byte is its kind.
    String,
    /// After ESC within a string: its end, if a backslash follows.
    StringEscape,
}

/// Why the tokenizer stops in the middle of a sequence.
enum Stop {
    /// The input ends.
    More,
    /// The sequence ends.
    End,
    /// A control character follows.
    Control(u8),
    /// The next byte belongs to something else.
    Cut,
    /// The last byte was CAN or SUB.
    Cancel,
    /// The ESC that is held began something else than the end of the string.
    Restart,
    /// The sequence is too long or malformed; the rest of it is ignored.
    Ignore,
}

/// Cuts one output stream into [`Token`]s.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(from = "Vec<u8>", into = "Vec<u8>")]
pub struct Tokenizer {
    place: ParseState,
    ignoring: bool,
    /// The beginning of the incomplete sequence, or a stand-in while it is ignored; before it, bytes that the last
    /// token has borrowed.
    held: Vec<u8>,
    borrowed: usize,
}

impl Tokenizer {
    /// Gives the next token of `rest` and removes it from there; nothing when `rest` is used up.
    #[inline]
    pub fn next<'t, 'a: 't>(&'t mut self, rest: &mut &'a [u8]) -> Option<Token<'t>> {
        if self.borrowed > 0 {
            self.release();
        }
        let bytes = *rest;
        let mut at = 0;
        if self.place == ParseState::Ground {
            if *bytes.first()? != ESC {
                let (text, after) = bytes.split_at(memchr(ESC, bytes).unwrap_or(bytes.len()));
                *rest = after;
                return Some(Token::Text(text));
            }
            if let Some(len) = plain(bytes) {
                *rest = &bytes[len..];
                return Some(Token::Sequence(&bytes[..len]));
            }
            self.place = ParseState::Escape;
            at = 1;
        }
        let (len, stop) = self.run(bytes, at);
        *rest = &bytes[len..];
        if self.ignoring { self.ignored(bytes, len, stop, rest) } else { self.token(bytes, len, stop, rest) }
    }

    /// The bytes after which another terminal is in the middle of the same sequence.
    pub fn pending(&self) -> &[u8] {
        &self.held[self.borrowed..]
    }

    /// Whether no sequence is under way.
    pub fn is_ground(&self) -> bool {
        self.place == ParseState::Ground
    }

    /// Whether the sequence under way is a string, which only its terminator ends on every terminal.
    pub fn is_in_string(&self) -> bool {
        matches!(self.place, ParseState::String | ParseState::StringEscape)
    }

    /// Whether the sequence under way is ignored, and the pending bytes are a stand-in for it.
    pub(crate) fn is_ignoring(&self) -> bool {
        self.ignoring
    }

    fn release(&mut self) {
        self.held.drain(..self.borrowed);
        self.borrowed = 0;
        // One long string must not cost an idle screen its length for ever.
        self.held.shrink_to(limits::CSI_BYTES);
    }

    /// Reads on in a sequence from `bytes[at..]`; gives the length that was read, without a control that follows.
    #[inline]
    fn run(&mut self, bytes: &[u8], mut at: usize) -> (usize, Stop) {
        while let Some(&byte) = bytes.get(at) {
            if self.is_in_string() {
                return self.string(bytes, at);
            }
            match byte {
                0x20..=0x7e => {}
                CAN | SUB => return (at + 1, Stop::Cancel),
                ESC | 0x80.. => return (at, Stop::Cut),
                _ => return (at, Stop::Control(byte)),
            }
            let stop = match self.place {
                ParseState::Csi => self.csi(bytes, at),
                _ => self.escape(byte, self.held.len() + at),
            };
            at += 1;
            if let Some(stop) = stop {
                return (at, stop);
            }
        }
        (at, Stop::More)
    }

    /// Takes a byte after `ESC` and maybe intermediates: `seen` bytes in all.
    #[inline]
    fn escape(&mut self, byte: u8, seen: usize) -> Option<Stop> {
        match byte {
            // No sequence has so many intermediates.
            0x20..0x30 => (seen >= 4 && !self.ignoring).then_some(Stop::Ignore),
            b'[' if seen == 1 => {
                self.place = ParseState::Csi;
                None
            }
            b']' | b'P' | b'X' | b'^' | b'_' if seen == 1 => {
                self.place = ParseState::String;
                None
            }
            _ => Some(Stop::End),
        }
    }

    #[inline]
    fn csi(&self, bytes: &[u8], at: usize) -> Option<Stop> {
        let byte = bytes[at];
        if byte >= 0x40 {
            return Some(Stop::End);
        }
        let previous = if at > 0 { bytes[at - 1] } else { self.held.last().copied().unwrap_or(b'[') };
        let malformed = match byte {
            b'0'..=b';' => previous < 0x30,
            b'<'..=b'?' => previous != b'[',
            _ => previous < 0x30,
        };
        let too_long = self.held.len() + at + 1 >= limits::CSI_BYTES;
        ((malformed || too_long) && !self.ignoring).then_some(Stop::Ignore)
    }

    fn string(&mut self, bytes: &[u8], at: usize) -> (usize, Stop) {
        if self.place == ParseState::StringEscape {
            return if bytes[at] == b'\\' { (at + 1, Stop::End) } else { (at, Stop::Restart) };
        }
        let nth = |n: usize| self.held.get(n).or_else(|| bytes.get(n - self.held.len())).copied();
        let osc = nth(1) == Some(b']');
        let ends = |byte: &u8| *byte < 0x20 && (matches!(*byte, ESC | CAN | SUB) || (osc && *byte == BEL));
        let end = bytes[at..].iter().position(ends).map_or(bytes.len(), |len| at + len);
        // No string that matters begins with an exclamation mark, so stand-ins do.
        let too_long = self.held.len() + end > limits::STRING_BYTES;
        if !self.ignoring && (too_long || nth(2) == Some(b'!')) {
            return (end, Stop::Ignore);
        }
        match bytes[end..] {
            [] => (end, Stop::More),
            [ESC] => {
                self.place = ParseState::StringEscape;
                (end + 1, Stop::More)
            }
            [ESC, b'\\', ..] => (end + 2, Stop::End),
            [ESC, ..] => (end, Stop::Cut),
            [BEL, ..] => (end + 1, Stop::End),
            _ => (end + 1, Stop::Cancel),
        }
    }

    /// Makes a token of the `len` bytes that were read of a sequence.
    #[inline]
    fn token<'t, 'a: 't>(
        &'t mut self,
        bytes: &'a [u8],
        len: usize,
        stop: Stop,
        rest: &mut &'a [u8],
    ) -> Option<Token<'t>> {
        let read = &bytes[..len];
        match stop {
            Stop::End => {
                self.place = ParseState::Ground;
                Some(Token::Sequence(self.joined(read)))
            }
            Stop::More => {
                self.held.extend_from_slice(read);
                None
            }
            Stop::Control(byte) => {
                *rest = &bytes[len + 1..];
                self.held.extend_from_slice(read);
                Some(Token::Control(byte, self.held.len()))
            }
            Stop::Cut | Stop::Cancel => {
                self.place = ParseState::Ground;
                Some(Token::Cut(self.joined(read)))
            }
            Stop::Restart => {
                self.place = ParseState::Escape;
                self.borrowed = self.held.len() - 1;
                Some(Token::Cut(&self.held[..self.borrowed]))
            }
            Stop::Ignore => {
                // A string may be as long as the input, and is not copied further than the limit.
                let len = len.min(limits::STRING_BYTES);
                *rest = &bytes[len..];
                Some(self.ignore(&bytes[..len]))
            }
        }
    }

    /// The whole sequence, of which `read` are the last bytes.
    #[inline]
    fn joined<'a>(&'a mut self, read: &'a [u8]) -> &'a [u8] {
        if self.held.is_empty() {
            return read;
        }
        self.held.extend_from_slice(read);
        self.borrowed = self.held.len();
        &self.held
    }

    /// Ignores the sequence from here on; what is held becomes a stand-in that every terminal ignores too.
    fn ignore<'a>(&'a mut self, read: &[u8]) -> Token<'a> {
        self.held.extend_from_slice(read);
        self.borrowed = self.held.len();
        self.ignoring = true;
        let kind = self.held[1];
        let stand_in: &[u8] = match self.place {
            ParseState::Csi => b"\x1b[0?",
            // The final byte keeps it from becoming a real device control string later.
            ParseState::String if kind == b'P' => b"\x1bP!z",
            ParseState::String => &[ESC, kind, b'!'],
            _ => b"\x1b    ",
        };
        self.held.extend_from_slice(stand_in);
        Token::Ignored(&self.held[..self.borrowed])
    }

    /// Makes a token of the `len` bytes that were read of a sequence that is ignored.
    fn ignored<'t, 'a: 't>(
        &'t mut self,
        bytes: &'a [u8],
        len: usize,
        stop: Stop,
        rest: &mut &'a [u8],
    ) -> Option<Token<'t>> {
        let (read, after_escape) = (&bytes[..len], self.place == ParseState::StringEscape);
        match stop {
            Stop::More if after_escape => {
                self.held.extend_from_slice(&read[len.saturating_sub(1)..]);
                return (len > 1).then(|| Token::Ignored(&read[..len - 1]));
            }
            Stop::More => return (len > 0).then_some(Token::Ignored(read)),
            Stop::Control(_) if len > 0 => return Some(Token::Ignored(read)),
            Stop::Control(_) => {
                *rest = &bytes[1..];
                return Some(Token::Text(&bytes[..1]));
            }
            _ => {}
        }
        self.ignoring = false;
        self.held.clear();
        self.place = ParseState::Ground;
        if matches!(stop, Stop::Restart) {
            self.place = ParseState::Escape;
            self.held.push(ESC);
        }
        Some(Token::Ignored(if after_escape && matches!(stop, Stop::End) { ST } else { read }))
    }
}

/// The length of the sequence that `bytes` begin with, if it is a plain one and all of it is there. Nearly all
/// sequences are, and there are many of them.
#[inline]
fn plain(bytes: &[u8]) -> Option<usize> {
    match bytes.get(1)? {
        b'[' => plain_csi(bytes),
        b']' => plain_osc(bytes),
        _ => None,
    }
}

/// A control sequence with nothing but a private marker and parameters.
#[inline]
fn plain_csi(bytes: &[u8]) -> Option<usize> {
    let start = if matches!(bytes.get(2)?, b'<'..=b'?') { 3 } else { 2 };
    let is_end = |byte: &u8| !matches!(byte, b'0'..=b';');
    let end = start + bytes[start..bytes.len().min(limits::CSI_BYTES - 1)].iter().position(is_end)?;
    matches!(bytes[end], 0x40..=0x7e).then_some(end + 1)
}

/// An operating system command without other controls in it.
#[inline]
fn plain_osc(bytes: &[u8]) -> Option<usize> {
    let end = 2 + bytes[2..bytes.len().min(limits::STRING_BYTES)].iter().position(|byte| *byte < 0x20)?;
    match bytes[end..] {
        _ if bytes[2] == b'!' => None,
        [BEL, ..] => Some(end + 1),
        [ESC, b'\\', ..] => Some(end + 2),
        _ => None,
    }
}

impl PartialEq for Tokenizer {
    fn eq(&self, other: &Self) -> bool {
        (self.place, self.ignoring, self.pending()) == (other.place, other.ignoring, other.pending())
    }
}

impl Eq for Tokenizer {}

impl From<Vec<u8>> for Tokenizer {
    /// Makes the tokenizer that has these bytes pending.
    fn from(pending: Vec<u8>) -> Self {
        let (mut tokenizer, mut rest) = (Self::default(), pending.as_slice());
        while tokenizer.next(&mut rest).is_some() {}
        tokenizer
    }
}

impl From<Tokenizer> for Vec<u8> {
    fn from(tokenizer: Tokenizer) -> Self {
        tokenizer.pending().to_vec()
    }
}
