//! Text from elsewhere on the terminal of the person who reads it.
//!
//! Everything people read passes one of four functions: [`printable`] for a piece of a line, [`printable_lines`] for
//! whole lines, [`printable_json`] for JSON, and [`ColourFilter`] for the output of a program. After them no character is
//! left that changes or asks the terminal, moves the cursor (but to the beginning of its line, in the output of a program), or changes
//! the order in which text is read. The replacements are ASCII, so that they are harmless on a terminal that does not use
//! UTF-8, too.

use crate::grammar::{Sequence, Token, Tokenizer};
use std::borrow::Cow;
use std::fmt::Write;

/// Begins and ends nothing but the style of the text after it.
const RESET_STYLE: &[u8] = b"\x1b[m";

/// Whether a character moves the cursor, changes the terminal, or changes the order in which text is read;
/// also marks and tags that are invisible and stand for no text.
pub fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{206f}')
        || matches!(c, '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// A piece of a line: every character that acts is escaped, newlines and tabs included.
///
/// ```
/// assert_eq!(swb_vt::printable("a\x1b[2J\nb"), r"a\u{1b}[2J\nb");
/// ```
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, acts)
}

/// Whole lines: every character that acts is escaped, but newlines and tabs stay. A line may end in CR LF.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    let in_line = |c: char| acts(c) && !matches!(c, '\n' | '\t');
    if !text.contains("\r\n") {
        return escaped(text, in_line);
    }
    let whole = |line: &str| match line.strip_suffix("\r\n") {
        Some(line) => escaped(line, in_line).into_owned() + "\n",
        None => escaped(line, in_line).into_owned(),
    };
    Cow::Owned(text.split_inclusive('\n').map(whole).collect())
}

/// JSON text with every character that acts written as `\uXXXX`. It has the same value.
///
/// Such characters can only be within strings; line breaks between the values stay.
pub fn printable_json(json: &str) -> Cow<'_, str> {
    let in_string = |c: char| acts(c) && !matches!(c, '\n' | '\r' | '\t');
    if !json.contains(in_string) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if in_string(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

fn escaped(text: &str, escapes: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&escapes) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if escapes(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Removes from a program's output all but its text and the style of the text, at any split.
///
/// Text keeps its newlines, tabs and carriage returns, which progress bars need. All sequences but those that set a style
/// are removed, and so are other control characters; bytes that are not UTF-8 become U+FFFD.
#[derive(Debug, Default)]
pub struct ColourFilter {
    tokenizer: Tokenizer,
    /// The beginning of a character.
    partial: Vec<u8>,
    /// A style may be set.
    styled: bool,
}

impl ColourFilter {
    /// Makes a filter for a stream that begins between two sequences.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes more of the stream and appends what may be shown to `out`.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let mut tokenizer = std::mem::take(&mut self.tokenizer);
        let mut rest = bytes;
        while let Some(token) = tokenizer.next(&mut rest) {
            match token {
                Token::Text(text) => self.text(text, out),
                Token::Control(byte, _) => self.text(&[byte], out),
                Token::Sequence(raw) => self.sequence(raw, out),
                Token::Cut(_) | Token::Ignored(_) => self.end_character(out),
            }
        }
        self.tokenizer = tokenizer;
    }

    /// Ends the stream: resets the style if one was set. What follows begins a new stream.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.end_character(out);
        if self.styled {
            out.extend_from_slice(RESET_STYLE);
        }
        *self = Self::default();
    }

    fn sequence(&mut self, raw: &[u8], out: &mut Vec<u8>) {
        self.end_character(out);
        if let Sequence::Csi(csi) = Sequence::parse(raw)
            && (csi.private, csi.intermediate, csi.action) == (0, 0, b'm')
        {
            self.styled = true;
            out.extend_from_slice(raw);
        }
    }

    fn text(&mut self, text: &[u8], out: &mut Vec<u8>) {
        let joined = if self.partial.is_empty() {
            Cow::Borrowed(text)
        } else {
            self.partial.extend_from_slice(text);
            Cow::Owned(std::mem::take(&mut self.partial))
        };
        let mut rest: &[u8] = &joined;
        while !rest.is_empty() {
            let (valid, error) = match std::str::from_utf8(rest) {
                Ok(valid) => (valid.len(), None),
                Err(error) => (error.valid_up_to(), Some(error.error_len())),
            };
            let (characters, after) = rest.split_at(valid);
            show(std::str::from_utf8(characters).unwrap_or_default(), out);
            rest = match error {
                None => after,
                Some(None) => {
                    self.partial.extend_from_slice(after);
                    return;
                }
                Some(Some(len)) => {
                    push(char::REPLACEMENT_CHARACTER, out);
                    &after[len..]
                }
            };
        }
    }

    /// What follows does not continue the character that has begun.
    fn end_character(&mut self, out: &mut Vec<u8>) {
        if !self.partial.is_empty() {
            self.partial.clear();
            push(char::REPLACEMENT_CHARACTER, out);
        }
    }
}

fn show(text: &str, out: &mut Vec<u8>) {
    for c in text.chars() {
        match c {
            '\n' | '\t' | '\r' => push(c, out),
            '\0'..'\x20' | '\x7f' => {}
            c if acts(c) => c.escape_default().for_each(|c| push(c, out)),
            c => push(c, out),
        }
    }
}

fn push(c: char, out: &mut Vec<u8>) {
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One of each kind of character that acts.
    const ACTING: &str = "\0\x07\x08\x0b\x1b\x7f\u{80}\u{85}\u{9b}\u{9f}\u{61c}\u{200e}\u{200f}\u{2028}\u{2029}\
        \u{202a}\u{202e}\u{2066}\u{2069}\u{206a}\u{feff}\u{fff9}\u{e0001}\u{e007f}";

    fn filtered(pieces: &[&[u8]]) -> String {
        let (mut filter, mut out) = (ColourFilter::new(), Vec::new());
        pieces.iter().for_each(|piece| filter.feed(piece, &mut out));
        filter.finish(&mut out);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn characters_that_act_are_escaped() {
        for c in ACTING.chars() {
            let text = format!("a{c}b");
            for shown in [printable(&text), printable_lines(&text), printable_json(&text)] {
                assert!(shown.is_ascii() && !shown.contains(acts), "{c:?}: {shown:?}");
            }
        }
        assert_eq!(printable("a\x1b[2J\n\tb\u{202e}"), r"a\u{1b}[2J\n\tb\u{202e}");
        assert_eq!(printable_lines("a\tb\r\nc\rd\n\n\u{9b}"), "a\tb\nc\\rd\n\n\\u{9b}");
    }

    #[test]
    fn text_of_all_languages_stays() {
        let text = "größe 日本 \u{641}\u{627}\u{631}\u{633}\u{6cc}\u{200c}\u{647}\u{627} 👩‍👩‍👧 ❤️";
        assert!(matches!(printable(text), Cow::Borrowed(_)));
        assert!(matches!(printable_lines(text), Cow::Borrowed(_)));
        assert!(matches!(printable_json(text), Cow::Borrowed(_)));
        assert_eq!(filtered(&[text.as_bytes()]), text);
    }

    #[test]
    fn json_keeps_its_value() {
        let value = serde_json::json!({"text": ACTING, ACTING: [1, "é"]});
        for json in [value.to_string(), format!("{value:#}")] {
            let shown = printable_json(&json);
            assert!(!shown.contains(|c| acts(c) && c != '\n'), "{shown}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
        }
    }

    #[test]
    fn output_keeps_its_colours_and_nothing_that_acts() {
        let output = b"\x1b[1;31mred\x1b[m \x1b[38:2::1:2:3mx\x1b[0m\r\n\tbc";
        let expected = format!("{}\x1b[m", std::str::from_utf8(output).unwrap());
        assert_eq!(filtered(&[output]), expected);
        for acting in [
            &b"\x1b[6n"[..],
            b"\x1b[c",
            b"\x1b[>4;2m",
            b"\x1b[?4m",
            b"\x1b[2J",
            b"\x1b[10;10H",
            b"\x1b[?1049h",
            b"\x1b[21t",
            b"\x1b]0;title\x07",
            b"\x1b]52;c;cm0gLXJm\x1b\\",
            b"\x1b]8;;http://x\x07",
            b"\x1bP$qm\x1b\\",
            b"\x1b_Ga=q\x1b\\",
            b"\x1b^x\x1b\\",
            b"\x1bXx\x1b\\",
            b"\x1bc",
            b"\x1b(0",
            b"\x05",
            b"\x07",
            b"\x08",
            b"\x0e",
            b"\x0c",
            b"\x7f",
            b"\x1b[3\x05J",
            b"\x1b]0;never ended",
        ] {
            assert_eq!(filtered(&[b"a", acting]), "a", "{:?}", acting.escape_ascii().to_string());
            for at in 0..acting.len() {
                let (head, tail) = acting.split_at(at);
                assert_eq!(filtered(&[b"a", head, tail]), "a", "{:?}", acting.escape_ascii().to_string());
            }
        }
        assert_eq!(filtered(&["\u{9b}6n\u{202e}".as_bytes()]), r"\u{9b}6n\u{202e}");
        assert_eq!(filtered(&[b"\x9b6n\xff"]), "\u{fffd}6n\u{fffd}");
    }

    #[test]
    fn characters_may_be_split() {
        let text = "é日👩".as_bytes();
        for at in 0..text.len() {
            let (head, tail) = text.split_at(at);
            assert_eq!(filtered(&[head, tail]), "é日👩");
        }
        assert_eq!(filtered(&["é日".as_bytes().split_last().unwrap().1, b"\x1b[2Jx"]), "é\u{fffd}x");
        assert_eq!(filtered(&[b"a\xe6"]), "a\u{fffd}");
    }
}
