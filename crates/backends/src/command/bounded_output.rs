//! Output with a limit: of a long text only the beginning and the end are kept.

use std::collections::VecDeque;

/// Keeps the beginning and the end of a text.
#[derive(Debug, Default)]
pub(crate) struct BoundedOutput {
    head: String,
    tail: VecDeque<u8>,
    head_most: usize,
    tail_most: usize,
    /// Bytes left out between them.
    lost: u64,
}

impl BoundedOutput {
    /// Keeps `head` bytes of the beginning and `tail` bytes of the end.
    pub(crate) fn new(head: usize, tail: usize) -> Self {
        Self { head: String::new(), tail: VecDeque::new(), head_most: head, tail_most: tail, lost: 0 }
    }

    /// Appends text.
    pub(crate) fn push(&mut self, text: &str) {
        let room = if self.tail.is_empty() && self.lost == 0 { self.head_most - self.head.len() } else { 0 };
        let (head, rest) = text.split_at(text.floor_char_boundary(room));
        self.head.push_str(head);
        self.tail.extend(rest.as_bytes());
        let excess = self.tail.len().saturating_sub(self.tail_most);
        self.tail.drain(..excess);
        self.lost += excess as u64;
    }

    /// The kept text, with a note where something was left out.
    pub(crate) fn take(self) -> String {
        self.text(|bytes| format!("\n[... {bytes} bytes left out ...]\n"))
    }

    /// The kept text without a note, and whether something was left out.
    pub(crate) fn plain(&self) -> (String, bool) {
        (self.text(|_| String::new()), self.lost > 0)
    }

    fn text(&self, between: impl FnOnce(u64) -> String) -> String {
        let (front, back) = self.tail.as_slices();
        let tail = [front, back].concat();
        // The cut may split a character.
        let begin = tail.iter().position(|byte| byte & 0xc0 != 0x80).unwrap_or(tail.len());
        let tail = String::from_utf8_lossy(&tail[begin..]);
        match self.lost {
            0 => format!("{}{tail}", self.head),
            lost => format!("{}{}{tail}", self.head, between(lost + begin as u64)),
        }
    }
}

/// Decodes UTF-8 as it arrives: invalid bytes are replaced, an incomplete character is kept until the rest arrives.
#[derive(Debug, Default)]
pub(crate) struct Utf8Decoder {
    /// The beginning of a character: at most three bytes.
    left: Vec<u8>,
}

impl Utf8Decoder {
    pub(crate) fn push(&mut self, bytes: &[u8]) -> String {
        self.left.extend_from_slice(bytes);
        let mut text = String::with_capacity(self.left.len());
        let mut rest = self.left.as_slice();
        loop {
            match std::str::from_utf8(rest) {
                Ok(valid) => {
                    text.push_str(valid);
                    rest = &[];
                    break;
                }
                Err(error) => {
                    let (valid, after) = rest.split_at(error.valid_up_to());
                    text.push_str(&String::from_utf8_lossy(valid));
                    rest = after;
                    let Some(bad) = error.error_len() else { break };
                    text.push(char::REPLACEMENT_CHARACTER);
                    rest = &rest[bad..];
                }
            }
        }
        self.left = rest.to_vec();
        text
    }

    /// The input has ended.
    pub(crate) fn finish(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.left)).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginning_and_end_are_kept() {
        let mut kept = BoundedOutput::new(4, 4);
        for piece in ["ab", "cdef", "", "ghij", "klm"] {
            kept.push(piece);
        }
        assert_eq!(kept.plain(), ("abcdjklm".into(), true));
        assert_eq!(kept.take(), "abcd\n[... 5 bytes left out ...]\njklm");
        let mut kept = BoundedOutput::new(4, 4);
        kept.push("abcdefgh");
        assert_eq!(kept.plain(), ("abcdefgh".into(), false));
        assert_eq!(kept.take(), "abcdefgh");
    }

    #[test]
    fn characters_are_not_cut() {
        let mut kept = BoundedOutput::new(3, 3);
        kept.push("ééééé");
        let (text, truncated) = kept.plain();
        assert!(truncated && text == "éé", "{text}");
        assert_eq!(kept.take(), "é\n[... 6 bytes left out ...]\né");
        let mut tail_only = BoundedOutput::new(0, 3);
        tail_only.push("aéé");
        assert_eq!(tail_only.plain(), ("é".into(), true));
    }

    #[test]
    fn text_does_not_depend_on_how_bytes_are_split() {
        let bytes = "a\u{e9}\u{1f600}z".as_bytes().iter().copied().chain([0xff, b'x', 0xe2, 0x82]);
        let bytes: Vec<u8> = bytes.collect();
        for cut in 0..=bytes.len() {
            let mut decoder = Utf8Decoder::default();
            let text = decoder.push(&bytes[..cut]) + &decoder.push(&bytes[cut..]) + &decoder.finish();
            assert_eq!(text, "a\u{e9}\u{1f600}z\u{fffd}x\u{fffd}", "{cut}");
        }
    }
}
