//! Removes from old output what a terminal would reply to and, for replays, bells, notifications and clipboard writes.

use crate::grammar::{BEL, CAN, ENQ, ESC, Sequence, Token, Tokenizer};
use crate::limits;
use crate::query::{self, Effect};
use memchr::memchr2_iter;

/// Removes from old output what a terminal would answer, at any split; all else stays byte for byte.
///
/// An incomplete sequence is held back until it is complete, at most some kilobytes;
/// [`QueryFilter::finish`] gives it back when live bytes follow, which may complete it.
#[derive(Debug, Default)]
pub struct QueryFilter {
    tokenizer: Tokenizer,
    /// Whether bells, notifications and clipboard writes are removed too.
    replay: bool,
    /// Controls that came within the sequence that is held, and where.
    held: Vec<(usize, u8)>,
    /// What was appended last is a sequence that only what follows it ends.
    open: bool,
    /// The last bytes of the text that was appended last, at most a character's worth.
    tail: Vec<u8>,
}

impl QueryFilter {
    /// Makes a filter for a stream that begins between two sequences.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a filter that also removes what belongs to its moment: bells, notifications, clipboard writes.
    pub fn for_replay() -> Self {
        Self { replay: true, ..Self::default() }
    }

    /// Takes more of the stream and appends what may be shown to `out`.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let mut tokenizer = std::mem::take(&mut self.tokenizer);
        let mut rest = bytes;
        while let Some(token) = tokenizer.next(&mut rest) {
            match token {
                Token::Text(text) => self.text(text, out),
                Token::Control(byte, at) => self.control(byte, at, out),
                Token::Sequence(raw) => self.sequence(raw, out),
                Token::Cut(raw) | Token::Ignored(raw) => {
                    self.open = true;
                    self.with_held(raw, true, out);
                }
            }
        }
        self.tokenizer = tokenizer;
    }

    /// Ends the stream: appends the sequence that is still incomplete, if any. What follows begins a new one.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        let tokenizer = std::mem::take(&mut self.tokenizer);
        // While a sequence is ignored, what there was of it is out already.
        if !tokenizer.is_ignoring() {
            self.with_held(tokenizer.pending(), true, out);
        } else if tokenizer.pending().last() == Some(&ESC) {
            out.push(ESC);
        }
        *self = Self { replay: self.replay, ..Self::default() };
    }

    fn text(&mut self, text: &[u8], out: &mut Vec<u8>) {
        self.open = false;
        let start = out.len();
        let mut from = 0;
        for at in memchr2_iter(ENQ, if self.replay { BEL } else { ENQ }, text) {
            out.extend_from_slice(&text[from..at]);
            from = at + 1;
        }
        out.extend_from_slice(&text[from..]);
        let shown = &out[start..];
        if shown.last().is_some_and(u8::is_ascii) {
            self.tail.clear();
        } else {
            self.tail.extend_from_slice(&shown[shown.len().saturating_sub(4)..]);
            self.tail.drain(..self.tail.len().saturating_sub(4));
        }
    }

    fn control(&mut self, byte: u8, at: usize, out: &mut Vec<u8>) {
        if byte == ENQ || (byte == BEL && self.replay) {
        } else if self.held.len() < limits::HELD_CONTROLS {
            self.held.push((at, byte));
        } else {
            out.push(byte);
        }
    }

    fn sequence(&mut self, raw: &[u8], out: &mut Vec<u8>) {
        let sequence = Sequence::parse(raw);
        let keep = match query::effect(&sequence) {
            Effect::Lasting => true,
            Effect::Momentary => !self.replay,
            Effect::Query => false,
        };
        if !keep && (self.open || is_cut_character(&self.tail)) {
            // The sequence has cut off what is before it; without it something else has to.
            out.push(CAN);
        }
        self.open = false;
        self.tail.clear();
        self.with_held(raw, keep, out);
        // A command that both sets and asks keeps its first half.
        if let (false, Sequence::Osc(content, bel)) = (keep, sequence)
            && let Some(rest) = query::without_queries(content)
        {
            out.extend_from_slice(b"\x1b]");
            out.extend_from_slice(&rest);
            out.extend_from_slice(if bel { b"\x07" } else { b"\x1b\\" });
        }
    }

    /// Appends a sequence with the controls that came within it, or only these.
    fn with_held(&mut self, raw: &[u8], keep: bool, out: &mut Vec<u8>) {
        let mut done = 0;
        for (at, byte) in self.held.drain(..) {
            let at = at.clamp(done, raw.len());
            if keep {
                out.extend_from_slice(&raw[done..at]);
            }
            out.push(byte);
            done = at;
        }
        if keep {
            out.extend_from_slice(&raw[done..]);
        }
    }
}

/// Whether text ends in the middle of a character.
fn is_cut_character(text: &[u8]) -> bool {
    let start = text.iter().rposition(|byte| byte & 0xc0 != 0x80).unwrap_or(0);
    std::str::from_utf8(&text[start..]).is_err_and(|error| error.error_len().is_none())
}
