//! The end of the output: the unfinished line, and the last finished one that has text. Prompts are there.

use crate::limits;
use crate::strip;
use serde::{Deserialize, Serialize};
use swb_types::Offset;

/// A line as it was written, and where it begins in the output.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Line {
    pub(crate) start: Offset,
    pub(crate) bytes: Vec<u8>,
}

impl Line {
    /// The line without escape sequences.
    pub(crate) fn text(&self) -> String {
        strip::strip_text(&self.bytes)
    }
}

/// The bytes since the last newline, and the last line with text before them.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Tail {
    start: Offset,
    bytes: Vec<u8>,
    /// Bytes dropped at the start of the line because it is too long.
    dropped: usize,
    /// The last finished line with text, unless it is too long to be a prompt. A daemon of another version may not
    /// have saved it.
    #[serde(default)]
    finished: Option<Line>,
}

impl Tail {
    /// Takes output that begins at `offset`. Of a flood, only its end is read.
    pub(crate) fn feed(&mut self, bytes: &[u8], offset: Offset) {
        let mut line = bytes;
        if let Some(newline) = memchr::memrchr(b'\n', bytes) {
            self.finish(&bytes[..newline], offset);
            self.start_line(offset + newline as u64 + 1);
            line = &bytes[newline + 1..];
        }
        self.bytes.extend_from_slice(line);
        if self.bytes.len() > limits::LINE_BYTES {
            let excess = self.bytes.len() - limits::LINE_BYTES / 2;
            self.bytes.drain(..excess);
            self.dropped += excess;
        }
    }

    /// Keeps the last line with text of output that begins at `offset` and ends with its last newline.
    fn finish(&mut self, bytes: &[u8], offset: Offset) {
        let mut end = bytes.len();
        while let Some(newline) = memchr::memrchr(b'\n', &bytes[..end]) {
            let line = &bytes[newline + 1..end];
            if has_text(line) {
                let fits = line.len() <= limits::LINE_BYTES;
                let start = offset + newline as u64 + 1;
                self.finished = fits.then(|| Line { start, bytes: line.to_vec() });
                return;
            }
            end = newline;
        }
        // One byte more than a prompt may have is enough to see that it is none.
        self.bytes.extend_from_slice(&bytes[..end.min(limits::LINE_BYTES + 1)]);
        if has_text(&self.bytes) {
            let fits = self.bytes.len() <= limits::LINE_BYTES && self.dropped == 0;
            let line = Line { start: self.start, bytes: std::mem::take(&mut self.bytes) };
            self.finished = fits.then_some(line);
        }
    }

    /// Drops what is known; the next line begins at `offset`.
    pub(crate) fn begin(&mut self, offset: Offset) {
        self.start_line(offset);
        self.finished = None;
    }

    fn start_line(&mut self, offset: Offset) {
        self.start = offset;
        self.bytes.clear();
        self.dropped = 0;
    }

    /// Where the unfinished line begins.
    pub(crate) fn start(&self) -> Offset {
        self.start
    }

    /// The unfinished line as it was written.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The offset of a byte of the unfinished line.
    pub(crate) fn offset_of(&self, index: usize) -> Offset {
        self.start + (self.dropped + index) as u64
    }

    /// The unfinished line without escape sequences.
    pub(crate) fn text(&self) -> String {
        strip::strip_text(&self.bytes)
    }

    /// The last finished line with text.
    pub(crate) fn finished(&self) -> Option<&Line> {
        self.finished.as_ref()
    }
}

fn has_text(line: &[u8]) -> bool {
    let text = |line: &[u8]| line.iter().any(|byte| !byte.is_ascii_whitespace() && !byte.is_ascii_control());
    match memchr::memchr(0x1b, line) {
        None => text(line),
        Some(_) => text(&strip::strip(line)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(parts: &[&str]) -> Option<(u64, String)> {
        let (mut tail, mut offset) = (Tail::default(), Offset::START);
        for part in parts {
            tail.feed(part.as_bytes(), offset);
            offset += part.len() as u64;
        }
        tail.finished().map(|line| (line.start.0, line.text()))
    }

    #[test]
    fn the_last_finished_line_with_text_is_kept_wherever_reads_are_split() {
        let output = "one\r\n\x1b[1mREADY>\x1b[m\r\n \r\n\x1b[?2004h\r\n\r\nrest";
        for cut in 0..=output.len() {
            let (head, tail) = output.split_at(cut);
            assert_eq!(finished(&[head, tail]), Some((5, "READY>".to_owned())), "cut at {cut}");
        }
        assert_eq!(finished(&["\r\n \r\nunfinished"]), None);
    }

    #[test]
    fn a_line_too_long_for_a_prompt_is_not_kept() {
        let long = "x".repeat(limits::LINE_BYTES + 1);
        assert_eq!(finished(&["$\n", &long, "\n"]), None);
        assert_eq!(finished(&["$\n", &long, &long, "\n\n"]), None);
        assert_eq!(finished(&["$\n", &long, &long, "\nend\n"]), Some((32_773, "end".to_owned())));
    }
}
