//! Bytes to characters, controls and sequences for the model: [`crate::grammar`] and UTF-8.

use crate::grammar::{DEL, ESC, Sequence, Token, Tokenizer};

/// What a parser finds.
pub(crate) trait Sink {
    /// Text without controls.
    fn text(&mut self, text: &str);
    /// Bytes that are not UTF-8: one replacement character's worth.
    fn invalid(&mut self);
    /// A control character of the C0 set, or DEL.
    fn control(&mut self, byte: u8);
    /// A finished sequence.
    fn sequence(&mut self, sequence: &Sequence<'_>);
    /// Takes what it can of bytes that begin between two sequences and characters; how many it took. What it leaves is
    /// parsed.
    fn run(&mut self, _bytes: &[u8]) -> usize {
        0
    }
}

/// The state between two calls.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Parser {
    tokenizer: Tokenizer,
    /// Some bytes of a character; empty within a sequence.
    partial: Vec<u8>,
}

impl Parser {
    /// The bytes after which another terminal would be in the middle of the same sequence or character.
    pub(crate) fn pending(&self) -> &[u8] {
        if self.partial.is_empty() { self.tokenizer.pending() } else { &self.partial }
    }

    /// Whether no sequence or character is under way.
    pub(crate) fn is_ground(&self) -> bool {
        self.partial.is_empty() && self.tokenizer.is_ground()
    }

    pub(crate) fn feed(&mut self, bytes: &[u8], sink: &mut impl Sink) {
        if !self.partial.is_empty() && bytes.first() == Some(&ESC) {
            self.partial.clear();
            sink.invalid();
        }
        let mut rest = bytes;
        loop {
            if self.is_ground() {
                rest = &rest[sink.run(rest)..];
            }
            let Some(token) = self.tokenizer.next(&mut rest) else { return };
            match token {
                Token::Text(text) => decode(&mut self.partial, text, !rest.is_empty(), sink),
                Token::Control(byte, _) => sink.control(byte),
                Token::Sequence(raw) => sink.sequence(&Sequence::parse(raw)),
                Token::Cut(_) => sink.sequence(&Sequence::Other),
                Token::Ignored(_) => {}
            }
        }
    }
}

/// Finds characters and controls; a character that is cut off at the end is kept in `partial` unless the text is complete.
fn decode(partial: &mut Vec<u8>, text: &[u8], complete: bool, sink: &mut impl Sink) {
    let mut rest = text;
    while !partial.is_empty() && !rest.is_empty() {
        rest = decode_partial(partial, rest, sink);
    }
    let is_control = |byte: &u8| *byte < 0x20 || *byte == DEL;
    while let Some(byte) = rest.first() {
        if is_control(byte) {
            sink.control(*byte);
            rest = &rest[1..];
            continue;
        }
        let end = rest.iter().position(is_control).unwrap_or(rest.len());
        let cut = characters(&rest[..end], sink);
        rest = &rest[end..];
        if rest.is_empty() && !complete {
            partial.extend_from_slice(cut);
        } else if !cut.is_empty() {
            sink.invalid();
        }
    }
    if complete && !partial.is_empty() {
        partial.clear();
        sink.invalid();
    }
}

/// Shows characters; gives back the bytes at the end that are the beginning of one.
fn characters<'a>(bytes: &'a [u8], sink: &mut impl Sink) -> &'a [u8] {
    let mut rest = bytes;
    loop {
        let error = match std::str::from_utf8(rest) {
            Ok(text) => {
                sink.text(text);
                return &[];
            }
            Err(error) => error,
        };
        let (valid, bad) = rest.split_at(error.valid_up_to());
        if let Ok(text) = std::str::from_utf8(valid) {
            sink.text(text);
        }
        let Some(len) = error.error_len() else { return bad };
        sink.invalid();
        rest = &bad[len..];
    }
}

fn decode_partial<'a>(partial: &mut Vec<u8>, bytes: &'a [u8], sink: &mut impl Sink) -> &'a [u8] {
    partial.push(bytes[0]);
    match std::str::from_utf8(partial) {
        Ok(text) => sink.text(text),
        Err(error) if error.error_len().is_none() => return &bytes[1..],
        Err(_) => {
            // The new byte is no part of the character: it is looked at again.
            partial.clear();
            sink.invalid();
            return bytes;
        }
    }
    partial.clear();
    &bytes[1..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits;
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
        fn invalid(&mut self) {
            self.push("invalid".into());
        }
        fn control(&mut self, byte: u8) {
            self.push(format!("control {byte}"));
        }
        fn sequence(&mut self, sequence: &Sequence<'_>) {
            self.push(format!("{sequence:?}"));
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
            let mut other = Parser::default();
            other.feed(parser.pending(), &mut Log::default());
            assert_eq!(other, parser);
        }
    }

    proptest! {
        // With any split, the same is found; and the pending bytes lead to the same state.
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
