//! Cuts terminal output into text and escape sequences.
//!
//! Owns the bytes of a sequence that has not ended yet, and nothing else: what a sequence means is for
//! [`super::modes`] and [`super::history`]. Every byte that is fed comes out exactly once, in order, whatever
//! the cuts between two calls.

/// Bytes of one sequence that are kept together at most. Sequences with a meaning here are far shorter;
/// longer ones are images and clipboard texts, which pass in pieces.
const MAX_SEQUENCE: usize = 4096;

/// Escape.
const ESC: u8 = 0x1b;
/// Bell, which also ends an operating system command.
const BEL: u8 = 0x07;
/// Cancel: aborts a sequence.
const CAN: u8 = 0x18;
/// Substitute: aborts a sequence as well.
const SUB: u8 = 0x1a;

/// A piece of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Item<'a> {
    /// Bytes outside of any sequence, control characters included.
    Text(&'a [u8]),
    /// A whole sequence from its escape character on.
    Sequence(Kind, &'a [u8]),
    /// Bytes of a sequence that was aborted or is too long to matter.
    Opaque(&'a [u8]),
}

/// What kind of sequence it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `ESC`, intermediates and one final byte.
    Escape,
    /// `ESC [`: control sequence.
    Control,
    /// `ESC ]`: operating system command.
    System,
    /// `ESC P`: device control string.
    Device,
    /// `ESC X`, `ESC ^`, `ESC _`: strings of an application.
    Application,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Ground,
    Escape,
    Control,
    Text(Kind),
    /// Inside a string, behind an escape character that may begin its end.
    TextEscape(Kind),
}

/// Where a stream stands between two bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Outside of any sequence.
    Ground,
    /// Within a short sequence.
    Sequence,
    /// Within a string.
    Text,
}

/// The state of one output stream.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tokenizer {
    state: State,
    held: Vec<u8>,
    /// The current sequence outgrew [`MAX_SEQUENCE`]; its rest passes as opaque bytes.
    overlong: bool,
}

impl Tokenizer {
    /// Takes output and hands the pieces that are complete to `visit`.
    pub(crate) fn feed(&mut self, mut bytes: &[u8], mut visit: impl FnMut(Item<'_>)) {
        while !bytes.is_empty() {
            bytes = match self.state {
                State::Ground => self.ground(bytes, &mut visit),
                State::Text(kind) => self.text(kind, bytes, &mut visit),
                _ => self.step(bytes, &mut visit),
            };
        }
    }

    /// Tells where the stream stands.
    pub(crate) fn standing(&self) -> Standing {
        match self.state {
            State::Ground => Standing::Ground,
            State::Escape | State::Control => Standing::Sequence,
            State::Text(_) | State::TextEscape(_) => Standing::Text,
        }
    }

    /// Gives the bytes of the sequence that has not ended, and forgets it.
    pub(crate) fn take_held(&mut self) -> Vec<u8> {
        self.state = State::Ground;
        self.overlong = false;
        std::mem::take(&mut self.held)
    }

    fn ground<'a>(&mut self, bytes: &'a [u8], visit: &mut impl FnMut(Item<'_>)) -> &'a [u8] {
        let end = memchr::memchr(ESC, bytes).unwrap_or(bytes.len());
        let (text, rest) = bytes.split_at(end);
        if !text.is_empty() {
            visit(Item::Text(text));
        }
        // Nearly all sequences are control sequences that lie here as a whole; no need to copy those.
        if let Some(length) = whole_control(rest) {
            let (sequence, rest) = rest.split_at(length);
            visit(Item::Sequence(Kind::Control, sequence));
            return rest;
        }
        let Some((_, rest)) = rest.split_first() else {
            return rest;
        };
        self.begin();
        rest
    }

    fn begin(&mut self) {
        self.held.clear();
        self.held.push(ESC);
        self.overlong = false;
        self.state = State::Escape;
    }

    /// Takes one byte of a sequence that is no string.
    fn step<'a>(&mut self, bytes: &'a [u8], visit: &mut impl FnMut(Item<'_>)) -> &'a [u8] {
        let Some((&byte, rest)) = bytes.split_first() else {
            return bytes;
        };
        if let State::TextEscape(kind) = self.state {
            return self.after_text_escape(kind, byte, bytes, visit);
        }
        match byte {
            ESC => {
                self.abandon(visit);
                self.begin();
            }
            CAN | SUB => {
                self.push(byte, visit);
                self.abandon(visit);
            }
            0x80.. => {
                self.abandon(visit);
                return bytes;
            }
            _ => self.short(byte, visit),
        }
        rest
    }

    /// Takes one ASCII byte behind `ESC` or `ESC [`.
    fn short(&mut self, byte: u8, visit: &mut impl FnMut(Item<'_>)) {
        let first = self.held.len() == 1 && !self.overlong;
        self.push(byte, visit);
        match (self.state, byte) {
            (State::Escape, b'[') if first => self.state = State::Control,
            (State::Escape, b']') if first => self.state = State::Text(Kind::System),
            (State::Escape, b'P') if first => self.state = State::Text(Kind::Device),
            (State::Escape, b'X' | b'^' | b'_') if first => self.state = State::Text(Kind::Application),
            (State::Escape, 0x30..=0x7e) => self.complete(Kind::Escape, visit),
            (State::Control, 0x40..=0x7e) => self.complete(Kind::Control, visit),
            _ => {}
        }
    }

    fn text<'a>(&mut self, kind: Kind, bytes: &'a [u8], visit: &mut impl FnMut(Item<'_>)) -> &'a [u8] {
        let ends = |byte: &u8| matches!(*byte, ESC | CAN | SUB) || (*byte == BEL && kind == Kind::System);
        let end = bytes.iter().position(ends).unwrap_or(bytes.len());
        let (body, rest) = bytes.split_at(end);
        self.extend(body, visit);
        let Some((&byte, rest)) = rest.split_first() else {
            return rest;
        };
        self.push(byte, visit);
        match byte {
            ESC => self.state = State::TextEscape(kind),
            BEL => self.complete(kind, visit),
            _ => self.abandon(visit),
        }
        rest
    }

    fn after_text_escape<'a>(
        &mut self,
        kind: Kind,
        byte: u8,
        bytes: &'a [u8],
        visit: &mut impl FnMut(Item<'_>),
    ) -> &'a [u8] {
        if byte == b'\\' {
            self.push(byte, visit);
            self.complete(kind, visit);
            return bytes.get(1..).unwrap_or_default();
        }
        // The escape character did not end the string but begin a new sequence, which aborts the string.
        if self.overlong && self.held.is_empty() {
            // It has already passed as an opaque byte; what follows it has to as well.
            self.state = State::Ground;
            return bytes;
        }
        self.held.pop();
        self.abandon(visit);
        self.begin();
        bytes
    }

    fn push(&mut self, byte: u8, visit: &mut impl FnMut(Item<'_>)) {
        self.extend(&[byte], visit);
    }

    fn extend(&mut self, bytes: &[u8], visit: &mut impl FnMut(Item<'_>)) {
        if !self.overlong && self.held.len() + bytes.len() <= MAX_SEQUENCE {
            self.held.extend_from_slice(bytes);
            return;
        }
        self.overlong = true;
        if !self.held.is_empty() {
            visit(Item::Opaque(&self.held));
            self.held.clear();
        }
        if !bytes.is_empty() {
            visit(Item::Opaque(bytes));
        }
    }

    fn complete(&mut self, kind: Kind, visit: &mut impl FnMut(Item<'_>)) {
        self.state = State::Ground;
        if !self.overlong {
            visit(Item::Sequence(kind, &self.held));
        }
        self.held.clear();
    }

    fn abandon(&mut self, visit: &mut impl FnMut(Item<'_>)) {
        self.state = State::Ground;
        if !self.held.is_empty() {
            visit(Item::Opaque(&self.held));
        }
        self.held.clear();
    }
}

/// Gives the length of the control sequence that `bytes` begins with, if all of it is there and plain.
fn whole_control(bytes: &[u8]) -> Option<usize> {
    let body = bytes.strip_prefix(b"\x1b[")?.get(..MAX_SEQUENCE).or(bytes.get(2..))?;
    let at = body.iter().position(|byte| !matches!(byte, 0x20..=0x3f))?;
    matches!(body.get(at), Some(0x40..=0x7e)).then_some(at + 3)
}

/// The parts of a control sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Control<'a> {
    /// One of `< = > ?`, or 0.
    pub(crate) prefix: u8,
    /// Digits, `;` and `:`.
    pub(crate) params: &'a [u8],
    /// Bytes between the parameters and the final one.
    pub(crate) intermediates: &'a [u8],
    /// What it does.
    pub(crate) last: u8,
}

impl<'a> Control<'a> {
    /// Takes a whole sequence apart; nothing when it contains control characters or is odd in another way.
    pub(crate) fn parse(raw: &'a [u8]) -> Option<Self> {
        let body = raw.strip_prefix(b"\x1b[")?;
        let (&last, body) = body.split_last()?;
        let (prefix, body) = match body.split_first() {
            Some((&byte @ b'<'..=b'?', rest)) => (byte, rest),
            _ => (0, body),
        };
        let end = body.iter().position(|byte| !matches!(byte, b'0'..=b';')).unwrap_or(body.len());
        let (params, intermediates) = body.split_at(end);
        let plain = intermediates.iter().all(|byte| matches!(byte, 0x20..=0x2f));
        plain.then_some(Self { prefix, params, intermediates, last })
    }

    /// Gives the parameters; an empty one is nothing, one beyond all sense is the largest number.
    pub(crate) fn numbers(self) -> impl Iterator<Item = Option<u32>> + 'a {
        self.params.split(|byte| *byte == b';').map(number)
    }

    /// Gives the first parameter, or `default` when it is missing.
    pub(crate) fn first_or(self, default: u32) -> u32 {
        self.numbers().next().flatten().unwrap_or(default)
    }
}

/// Reads a decimal number; sub-parameters behind a colon do not count.
pub(crate) fn number(text: &[u8]) -> Option<u32> {
    let digits = text.split(|byte| *byte == b':').next().filter(|digits| !digits.is_empty())?;
    let add = |sum: u32, digit: &u8| {
        digit.is_ascii_digit().then(|| sum.saturating_mul(10).saturating_add(u32::from(digit - b'0')))
    };
    digits.iter().try_fold(0_u32, add)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(chunks: &[&[u8]]) -> Vec<(String, Vec<u8>)> {
        let mut out: Vec<(String, Vec<u8>)> = Vec::new();
        let mut tokenizer = Tokenizer::default();
        for chunk in chunks {
            tokenizer.feed(chunk, |item| {
                let (label, bytes) = match item {
                    Item::Text(bytes) => ("text".to_owned(), bytes),
                    Item::Sequence(kind, bytes) => (format!("{kind:?}"), bytes),
                    Item::Opaque(bytes) => ("opaque".to_owned(), bytes),
                };
                match out.last_mut() {
                    Some((last, text)) if *last == label && (label == "text" || label == "opaque") => {
                        text.extend_from_slice(bytes);
                    }
                    _ => out.push((label, bytes.to_vec())),
                }
            });
        }
        out
    }

    const SAMPLE: &[u8] =
        b"a\x1b[1;31mb\x1b]0;t\x07c\x1b]8;;x\x1b\\d\x1bPq#\x1b\\\x1b(Be\x1b[3\x18f\x1b[\x1b[2Jg\
        \x1b_G\x1bMh\x1b[1\xc3\xb6";

    #[test]
    fn sequences_are_told_apart() {
        let expected: Vec<(&str, &[u8])> = vec![
            ("text", b"a"),
            ("Control", b"\x1b[1;31m"),
            ("text", b"b"),
            ("System", b"\x1b]0;t\x07"),
            ("text", b"c"),
            ("System", b"\x1b]8;;x\x1b\\"),
            ("text", b"d"),
            ("Device", b"\x1bPq#\x1b\\"),
            ("Escape", b"\x1b(B"),
            ("text", b"e"),
            ("opaque", b"\x1b[3\x18"),
            ("text", b"f"),
            ("opaque", b"\x1b["),
            ("Control", b"\x1b[2J"),
            ("text", b"g"),
            ("opaque", b"\x1b_G"),
            ("Escape", b"\x1bM"),
            ("text", b"h"),
            ("opaque", b"\x1b[1"),
            ("text", "ö".as_bytes()),
        ];
        let expected: Vec<(String, Vec<u8>)> =
            expected.into_iter().map(|(label, bytes)| (label.to_owned(), bytes.to_vec())).collect();
        assert_eq!(items(&[SAMPLE]), expected);
    }

    #[test]
    fn cuts_change_nothing() {
        let whole = items(&[SAMPLE]);
        for cut in 0..=SAMPLE.len() {
            assert_eq!(items(&[&SAMPLE[..cut], &SAMPLE[cut..]]), whole, "cut at {cut}");
        }
        let bytes: Vec<&[u8]> = SAMPLE.chunks(1).collect();
        assert_eq!(items(&bytes), whole);
    }

    #[test]
    fn overlong_strings_pass_and_end() {
        let mut long = b"\x1bPq".to_vec();
        long.resize(3 * MAX_SEQUENCE, b'x');
        long.extend_from_slice(b"\x1b\\after\x1b[m");
        for size in [1, 7, 4096, long.len()] {
            let chunks: Vec<&[u8]> = long.chunks(size).collect();
            let all = items(&chunks);
            assert_eq!(all.iter().map(|(_, b)| b.len()).sum::<usize>(), long.len(), "chunks of {size}");
            assert_eq!(all.last().unwrap().0, "Control");
        }
    }

    #[test]
    fn control_sequences_have_parts() {
        let control = Control::parse(b"\x1b[?1049;25h").unwrap();
        assert_eq!((control.prefix, control.last), (b'?', b'h'));
        assert_eq!(control.numbers().collect::<Vec<_>>(), [Some(1049), Some(25)]);
        let shape = Control::parse(b"\x1b[5 q").unwrap();
        assert_eq!((shape.intermediates, shape.first_or(0)), (&b" "[..], 5));
        assert_eq!(Control::parse(b"\x1b[m").unwrap().first_or(7), 7);
        assert_eq!(number(b"99999999999"), Some(u32::MAX));
        assert_eq!(number(b"4:3"), Some(4));
        assert_eq!(Control::parse(b"\x1b[1\nm"), None);
    }
}
