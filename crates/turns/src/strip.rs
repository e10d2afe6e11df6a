//! Text without escape sequences (CT-6).
//!
//! Works on a whole line that was gathered before, so that a sequence split across reads is whole here.

use swb_vt::{Token, Tokenizer};

/// The bytes of `line` that are text: without escape sequences, finished or not, and without controls. A carriage
/// return starts the line anew, as on a screen; a backspace takes one character back.
pub fn strip(line: &[u8]) -> Vec<u8> {
    let mut text = Text { bytes: Vec::with_capacity(line.len()), returned: false };
    let (mut tokenizer, mut rest) = (Tokenizer::default(), line);
    while let Some(token) = tokenizer.next(&mut rest) {
        match token {
            Token::Text(bytes) => text.push(bytes),
            Token::Control(byte, _) => text.control(byte),
            Token::Sequence(_) | Token::Cut(_) | Token::Ignored(_) => {}
        }
    }
    text.bytes
}

struct Text {
    bytes: Vec<u8>,
    /// What follows a return overwrites the line; a return at the end leaves it.
    returned: bool,
}

impl Text {
    fn push(&mut self, mut bytes: &[u8]) {
        let is_control = |byte: &u8| matches!(byte, 0..0x20 | 0x7f) && *byte != b'\t';
        while let Some(&byte) = bytes.first() {
            let end = bytes.iter().position(is_control).unwrap_or(bytes.len());
            if end == 0 {
                self.control(byte);
                bytes = &bytes[1..];
                continue;
            }
            if std::mem::take(&mut self.returned) {
                self.bytes.clear();
            }
            self.bytes.extend_from_slice(&bytes[..end]);
            bytes = &bytes[end..];
        }
    }

    fn control(&mut self, byte: u8) {
        match byte {
            b'\r' => self.returned = true,
            b'\t' => self.push(b"\t"),
            0x08 => while self.bytes.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {},
            _ => {}
        }
    }
}

/// The same as text; bytes that are not UTF-8 become replacement characters.
pub fn strip_text(line: &[u8]) -> String {
    String::from_utf8_lossy(&strip(line)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stripped(line: &str) -> String {
        strip_text(line.as_bytes())
    }

    // CT-6
    #[test]
    fn sequences_of_every_kind_go() {
        assert_eq!(stripped("\x1b[1;32muser\x1b[0m$ "), "user$ ");
        assert_eq!(stripped("\x1b]0;title\x07$ "), "$ ");
        assert_eq!(stripped("\x1b]0;title\x1b\\$ "), "$ ");
        assert_eq!(stripped("\x1b(B\x1b)0$ "), "$ ");
        assert_eq!(stripped("\x1b=\x1b>\x1b7$ \x1b8"), "$ ");
        assert_eq!(stripped("\x1bP+q4d73\x1b\\$ "), "$ ");
        assert_eq!(stripped("\x1b[?2004h$ "), "$ ");
    }

    #[test]
    fn unfinished_sequences_are_not_text() {
        assert_eq!(stripped("$ \x1b"), "$ ");
        assert_eq!(stripped("$ \x1b[12;"), "$ ");
        assert_eq!(stripped("$ \x1b]0;tit"), "$ ");
    }

    #[test]
    fn returns_and_backspaces_count() {
        assert_eq!(stripped("%      \r \r\x1b[Juser % "), "user % ");
        assert_eq!(stripped("50%\r100%\r"), "100%");
        assert_eq!(stripped("ab\x08c"), "ac");
        assert_eq!(stripped("é\x08e"), "e");
    }
}
