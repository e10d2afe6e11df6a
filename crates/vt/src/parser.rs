//! Bytes to text, controls and sequences, at any split, in bounded memory.
//!
//! Owns the bytes of the one sequence or character that is not complete yet ([`Parser::pending`]), so
//! that they can be sent on to another terminal, which is then in the same place. Sequences
//! that are too long are swallowed to their end and have a short stand-in as pending bytes.
//! 8-bit controls are not known: the stream is UTF-8.

use crate::csi::Csi;
use crate::limits;

const ESC: u8 = 0x1b;
const CAN: u8 = 0x18;
const SUB: u8 = 0x1a;
const BEL: u8 = 0x07;
const DEL: u8 = 0x7f;

/// What a parser finds.
pub(crate) trait Sink {
    /// Text without controls.
    fn text(&mut self, text: &str);
    /// Bytes that are not UTF-8: one replacement character's worth.
    fn invalid(&mut self, bytes: &[u8]);
    /// A control character of the C0 set, or DEL.
    fn control(&mut self, byte: u8);
    /// The same within a sequence, after `_at` bytes of it.
    fn control_within(&mut self, byte: u8, _at: usize) {
        self.control(byte);
    }
    /// A finished sequence; `raw` is all of it.
    fn sequence(&mut self, sequence: Sequence<'_>, raw: &[u8]);
    /// A piece of a sequence that is ignored because of its length or form.
    fn ignored(&mut self, _bytes: &[u8]) {}
}

/// A finished sequence.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sequence<'a> {
    /// Application program command.
    Apc(&'a [u8]),
    /// A control sequence.
    Csi(&'a Csi),
    /// Device control string.
    Dcs(&'a [u8]),
    /// `ESC`, intermediates, final byte.
    Escape(&'a [u8], u8),
    /// Operating system command, and whether BEL ended it.
    Osc(&'a [u8], bool),
    /// Privacy message, start of string, or a sequence cut off by CAN, SUB or ESC.
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Ground,
    /// Some bytes of a character.
    Utf8,
    /// After ESC and maybe intermediates.
    Escape,
    /// The same with too many of them; ends at its final byte.
    EscapeIgnore,
    Csi,
    /// A control sequence that is too long or malformed; ends at its final byte.
    CsiIgnore,
    /// A string sequence; the second byte of `raw` says which.
    Text,
    /// ESC within a string: its end, if a backslash follows.
    TextEscape,
}

/// The state between two calls.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Parser {
    state: State,
    /// What came so far of an incomplete sequence or character, without controls executed meanwhile;
    /// a stand-in for it while it is ignored.
    raw: Vec<u8>,
}

impl Parser {
    /// The bytes after which another terminal would be in the middle of the same sequence.
    pub(crate) fn pending(&self) -> &[u8] {
        &self.raw
    }

    /// Whether no sequence or character is under way.
    pub(crate) fn is_ground(&self) -> bool {
        self.state == State::Ground
    }

    /// Whether the sequence is being ignored, and the pending bytes are a stand-in for it.
    pub(crate) fn is_ignoring(&self) -> bool {
        matches!(self.state, State::CsiIgnore | State::EscapeIgnore) || self.is_junk()
    }

    pub(crate) fn feed(&mut self, bytes: &[u8], sink: &mut impl Sink) {
        let mut rest = bytes;
        while let Some(&byte) = rest.first() {
            rest = match self.state {
                State::Ground if byte == ESC => self.start(rest, sink),
                State::Ground if byte < 0x20 || byte == DEL => {
                    sink.control(byte);
                    &rest[1..]
                }
                State::Ground => self.ground(rest, sink),
                State::Utf8 => self.continue_utf8(rest, sink),
                State::Text => self.string(rest, sink),
                State::TextEscape => self.string_escape(rest, sink),
                _ if byte >= 0x80 => {
                    // No part of any sequence: it ends here, and the character is shown.
                    self.abandon(&[], sink);
                    rest
                }
                _ => {
                    self.step(byte, sink);
                    &rest[1..]
                }
            };
        }
    }

    /// Takes a whole control sequence at once if it is all here, which it nearly always is.
    fn start<'a>(&mut self, bytes: &'a [u8], sink: &mut impl Sink) -> &'a [u8] {
        if bytes.get(1) == Some(&b'[') {
            let end = bytes
                .iter()
                .skip(2)
                .take(limits::CSI_BYTES - 2)
                .position(|byte| !(0x20..0x40).contains(byte));
            if let Some(end) = end.map(|end| end + 2)
                && (0x40..DEL).contains(&bytes[end])
                && let Some(csi) = Csi::parse(&bytes[2..=end])
            {
                sink.sequence(Sequence::Csi(&csi), &bytes[..=end]);
                return &bytes[end + 1..];
            }
        }
        self.enter_escape();
        &bytes[1..]
    }

    fn enter_escape(&mut self) {
        self.raw.clear();
        self.raw.push(ESC);
        self.state = State::Escape;
    }

    fn ground_state(&mut self) {
        self.raw.clear();
        self.state = State::Ground;
    }

    fn ground<'a>(&mut self, bytes: &'a [u8], sink: &mut impl Sink) -> &'a [u8] {
        let is_control = |byte: &u8| *byte < 0x20 || *byte == DEL;
        let end = bytes.iter().position(is_control).unwrap_or(bytes.len());
        let mut rest = &bytes[..end];
        loop {
            let error = match std::str::from_utf8(rest) {
                Ok(text) => {
                    sink.text(text);
                    return &bytes[end..];
                }
                Err(error) => error,
            };
            let (valid, bad) = rest.split_at(error.valid_up_to());
            if let Ok(text) = std::str::from_utf8(valid) {
                sink.text(text);
            }
            match error.error_len() {
                Some(len) => {
                    sink.invalid(&bad[..len]);
                    rest = &bad[len..];
                }
                None if end == bytes.len() => {
                    self.raw.extend_from_slice(bad);
                    self.state = State::Utf8;
                    return &[];
                }
                None => {
                    sink.invalid(bad);
                    return &bytes[end..];
                }
            }
        }
    }

    fn continue_utf8<'a>(&mut self, bytes: &'a [u8], sink: &mut impl Sink) -> &'a [u8] {
        self.raw.push(bytes[0]);
        let rest = match std::str::from_utf8(&self.raw) {
            Ok(text) => {
                sink.text(text);
                &bytes[1..]
            }
            Err(error) if error.error_len().is_none() => return &bytes[1..],
            Err(_) => {
                // The new byte is no part of the character: it is looked at again.
                self.raw.pop();
                sink.invalid(&self.raw);
                bytes
            }
        };
        self.ground_state();
        rest
    }

    /// One ASCII byte of an escape or control sequence.
    fn step(&mut self, byte: u8, sink: &mut impl Sink) {
        let ignoring = matches!(self.state, State::CsiIgnore | State::EscapeIgnore);
        match byte {
            CAN | SUB => self.abandon(&[byte], sink),
            ESC => {
                self.abandon(&[], sink);
                self.enter_escape();
            }
            // Controls work in the midst of a sequence.
            0..0x20 | DEL if ignoring => sink.control(byte),
            0..0x20 | DEL => sink.control_within(byte, self.raw.len()),
            _ if ignoring => {
                sink.ignored(&[byte]);
                let last = if self.state == State::CsiIgnore { 0x40 } else { 0x30 };
                if byte >= last {
                    self.ground_state();
                }
            }
            _ if self.state == State::Escape => self.escape(byte, sink),
            _ => self.csi(byte, sink),
        }
    }

    /// Ends a sequence before its time; `tail` is what ended it, if that belongs to nothing else.
    fn abandon(&mut self, tail: &[u8], sink: &mut impl Sink) {
        if self.is_ignoring() {
            sink.ignored(tail);
        } else {
            self.raw.extend_from_slice(tail);
            sink.sequence(Sequence::Other, &self.raw);
        }
        self.ground_state();
    }

    fn escape(&mut self, byte: u8, sink: &mut impl Sink) {
        self.raw.push(byte);
        let bare = self.raw.len() == 2;
        match byte {
            0x20..0x30 if self.raw.len() > 4 => {
                // No sequence has so many intermediates.
                self.ignore(State::EscapeIgnore, b"\x1b    ", sink);
            }
            0x20..0x30 => {}
            b'[' if bare => self.state = State::Csi,
            b']' | b'P' | b'X' | b'^' | b'_' if bare => self.state = State::Text,
            _ => {
                let intermediates = &self.raw[1..self.raw.len() - 1];
                sink.sequence(Sequence::Escape(intermediates, byte), &self.raw);
                self.ground_state();
            }
        }
    }

    fn csi(&mut self, byte: u8, sink: &mut impl Sink) {
        self.raw.push(byte);
        if byte >= 0x40 {
            match Csi::parse(&self.raw[2..]) {
                Some(csi) => sink.sequence(Sequence::Csi(&csi), &self.raw),
                None => sink.sequence(Sequence::Other, &self.raw),
            }
            self.ground_state();
        } else if self.raw.len() >= limits::CSI_BYTES || !Csi::is_prefix(&self.raw[2..]) {
            // A private marker after a parameter makes every terminal ignore the rest.
            self.ignore(State::CsiIgnore, b"\x1b[0?", sink);
        }
    }

    fn ignore(&mut self, state: State, stand_in: &[u8], sink: &mut impl Sink) {
        sink.ignored(&self.raw);
        self.state = state;
        self.raw.clear();
        self.raw.extend_from_slice(stand_in);
    }

    /// Whether the current string is being ignored: none that matters begins so.
    fn is_junk(&self) -> bool {
        self.raw.get(2) == Some(&b'!') && matches!(self.state, State::Text | State::TextEscape)
    }

    fn string<'a>(&mut self, bytes: &'a [u8], sink: &mut impl Sink) -> &'a [u8] {
        let osc = self.raw.get(1) == Some(&b']');
        let ends = |byte: &u8| matches!(*byte, ESC | CAN | SUB) || (osc && *byte == BEL);
        let end = bytes.iter().position(ends).unwrap_or(bytes.len());
        let (content, rest) = bytes.split_at(end);
        if self.is_junk() {
            sink.ignored(content);
        } else {
            let room = limits::STRING_BYTES.saturating_sub(self.raw.len());
            let too_long = content.len() > room;
            self.raw.extend_from_slice(&content[..content.len().min(room)]);
            if too_long || self.is_junk() {
                // The final byte keeps a device control string from becoming a real one later.
                let stand_in = [ESC, self.raw[1], b'!', b'z'];
                let len = if self.raw[1] == b'P' { 4 } else { 3 };
                self.ignore(State::Text, &stand_in[..len], sink);
                sink.ignored(&content[content.len().min(room)..]);
                self.raw.shrink_to(limits::CSI_BYTES);
            }
        }
        match rest.first() {
            None => return &[],
            Some(&BEL) => self.finish_string(&[BEL], sink),
            Some(&ESC) => {
                self.raw.push(ESC);
                self.state = State::TextEscape;
            }
            Some(&byte) => self.abandon(&[byte], sink),
        }
        &rest[1..]
    }

    fn string_escape<'a>(&mut self, bytes: &'a [u8], sink: &mut impl Sink) -> &'a [u8] {
        self.raw.pop();
        if bytes[0] == b'\\' {
            self.finish_string(b"\x1b\\", sink);
            &bytes[1..]
        } else {
            // The string was cut off; its ESC begins something else.
            self.abandon(&[], sink);
            self.enter_escape();
            bytes
        }
    }

    fn finish_string(&mut self, end: &[u8], sink: &mut impl Sink) {
        if self.is_junk() {
            sink.ignored(end);
        } else {
            self.raw.extend_from_slice(end);
            let content = &self.raw[2..self.raw.len() - end.len()];
            let sequence = match self.raw[1] {
                b']' => Sequence::Osc(content, end.len() == 1),
                b'P' => Sequence::Dcs(content),
                b'_' => Sequence::Apc(content),
                _ => Sequence::Other,
            };
            sink.sequence(sequence, &self.raw);
        }
        self.ground_state();
        // One long string should not cost an idle screen its length for ever.
        self.raw.shrink_to(limits::CSI_BYTES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Default, Debug, PartialEq)]
    struct Log(Vec<String>, String);

    impl Log {
        fn push(&mut self, line: String) {
            if !self.1.is_empty() {
                self.0.push(std::mem::take(&mut self.1));
            }
            self.0.push(line);
        }
    }

    impl Sink for Log {
        fn text(&mut self, text: &str) {
            self.1.push_str(text);
        }
        fn invalid(&mut self, bytes: &[u8]) {
            self.push(format!("invalid {bytes:?}"));
        }
        fn control(&mut self, byte: u8) {
            self.push(format!("control {byte}"));
        }
        fn sequence(&mut self, sequence: Sequence<'_>, raw: &[u8]) {
            self.push(format!("{sequence:?} {}", raw.escape_ascii()));
        }
    }

    fn log(pieces: &[&[u8]]) -> (Log, Parser) {
        let (mut log, mut parser) = (Log::default(), Parser::default());
        for piece in pieces {
            parser.feed(piece, &mut log);
        }
        (log, parser)
    }

    #[test]
    fn strings_end_with_bel_st_or_not_at_all() {
        let (log, parser) = log(&[b"\x1b]0;a\x07\x1b]2;b\x1b\\\x1bPq#\x07x\x1b[1m\x1b]0;c"]);
        assert_eq!(log.0.len(), 4, "{log:?}");
        assert!(log.0[2].starts_with("Other"));
        assert_eq!(parser.pending(), b"\x1b]0;c");
    }

    #[test]
    fn endless_strings_cost_little_and_end_where_they_end() {
        let long = vec![b'x'; 3 * limits::STRING_BYTES];
        for (start, pending) in [(&b"\x1b]0;"[..], &b"\x1b]!"[..]), (b"\x1bP1;", b"\x1bP!z")] {
            let (log, parser) = log(&[start, &long, &long]);
            assert_eq!(log, Log::default());
            assert_eq!(parser.pending(), pending);
            assert!(parser.raw.capacity() <= limits::CSI_BYTES);
            let mut other = Parser::default();
            other.feed(parser.pending(), &mut Log::default());
            assert_eq!(other, parser);
        }
    }

    proptest! {
        // Whatever the split, the same is found; and the pending bytes lead to the same place.
        #[test]
        fn splits_do_not_matter(
            bytes in prop::collection::vec(prop_oneof![
                Just(0x1b), Just(b'['), Just(b']'), Just(b'P'), Just(b';'), Just(b'?'), Just(b'!'), Just(b'm'),
                Just(b'\\'), Just(7), Just(b'1'), Just(b' '), Just(0x18), Just(0xe5), Just(0xad), Just(0x97),
                any::<u8>()
            ], 0..60),
            at in 0..60usize,
        ) {
            let at = at.min(bytes.len());
            let (whole, end) = log(&[&bytes]);
            let (split, end_split) = log(&[&bytes[..at], &bytes[at..]]);
            prop_assert_eq!(&whole, &split);
            prop_assert_eq!(&end, &end_split);
            let (_, middle) = log(&[&bytes[..at]]);
            let mut again = Parser::default();
            let mut nothing = Log::default();
            again.feed(middle.pending(), &mut nothing);
            prop_assert_eq!(nothing, Log::default());
            prop_assert_eq!(again, middle);
        }
    }
}
