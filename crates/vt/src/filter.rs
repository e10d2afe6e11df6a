//! Old output without the questions in it.

use crate::parser::{Parser, Sequence, Sink};
use crate::query;

pub(crate) const ENQ: u8 = 0x05;
const ESC: u8 = 0x1b;
/// Ends an unfinished sequence without effect.
const CAN: u8 = 0x18;
/// Controls within one sequence whose place is remembered; later ones come before it.
const HELD: usize = 64;

/// Removes from old output what a terminal would answer, at any split; all else stays byte for byte.
///
/// An incomplete sequence is held back until it is complete, at most some kilobytes;
/// [`QueryFilter::finish`] gives it back when live bytes follow, which may complete it.
#[derive(Debug, Default)]
pub struct QueryFilter {
    parser: Parser,
    output: Output,
}

#[derive(Debug, Default)]
struct Output {
    bytes: Vec<u8>,
    /// Controls that came within the sequence that is held, and where.
    held: Vec<(usize, u8)>,
    /// What was appended last is a sequence, or a part of a character, that only what follows it ends.
    open: bool,
}

impl QueryFilter {
    /// Makes a filter for a stream that begins between two sequences.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes more of the stream and appends what may be shown to `out`.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        std::mem::swap(&mut self.output.bytes, out);
        self.parser.feed(bytes, &mut self.output);
        std::mem::swap(&mut self.output.bytes, out);
    }

    /// Ends the stream: appends the sequence that is still incomplete, if any.
    pub fn finish(self, out: &mut Vec<u8>) {
        let mut output = self.output;
        std::mem::swap(&mut output.bytes, out);
        // While a sequence is ignored, what there was of it is out already.
        if !self.parser.is_ignoring() {
            output.with_held(self.parser.pending(), true);
        } else if self.parser.pending().last() == Some(&ESC) {
            output.bytes.push(ESC);
        }
        std::mem::swap(&mut output.bytes, out);
    }
}

impl Output {
    /// Appends a sequence with the controls that came within it, or only these.
    fn with_held(&mut self, raw: &[u8], keep: bool) {
        let mut done = 0;
        for (at, byte) in self.held.drain(..) {
            let at = at.clamp(done, raw.len());
            if keep {
                self.bytes.extend_from_slice(&raw[done..at]);
            }
            self.bytes.push(byte);
            done = at;
        }
        if keep {
            self.bytes.extend_from_slice(&raw[done..]);
        }
    }
}

impl Sink for Output {
    fn text(&mut self, text: &str) {
        self.open = false;
        self.bytes.extend_from_slice(text.as_bytes());
    }

    fn invalid(&mut self, bytes: &[u8]) {
        // Only what follows shows that it is no character.
        self.open = true;
        self.bytes.extend_from_slice(bytes);
    }

    fn control(&mut self, byte: u8) {
        if byte != ENQ {
            self.open = false;
            self.bytes.push(byte);
        }
    }

    fn control_within(&mut self, byte: u8, at: usize) {
        if byte == ENQ {
        } else if self.held.len() < HELD {
            self.held.push((at, byte));
        } else {
            self.bytes.push(byte);
        }
    }

    fn sequence(&mut self, sequence: Sequence<'_>, raw: &[u8]) {
        let asks = query::is_query(&sequence);
        if asks && self.open {
            // The question has cut off the sequence before it; without it something else has to.
            self.bytes.push(CAN);
        }
        self.open = !asks && matches!(sequence, Sequence::Other);
        self.with_held(raw, !asks);
        // A command that both sets and asks keeps its first half.
        if let (true, Sequence::Osc(content, bel)) = (asks, sequence)
            && let Some(rest) = query::osc_without_queries(content)
        {
            self.bytes.extend_from_slice(b"\x1b]");
            self.bytes.extend_from_slice(&rest);
            self.bytes.extend_from_slice(if bel { b"\x07" } else { b"\x1b\\" });
        }
    }

    fn ignored(&mut self, bytes: &[u8]) {
        self.open = true;
        self.with_held(bytes, true);
    }
}
