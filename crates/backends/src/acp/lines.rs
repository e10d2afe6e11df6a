//! Splits a byte stream into lines.

use super::limits;

/// A line that exceeds the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLong;

/// Bytes to split into lines.
#[derive(Debug, Default)]
pub(super) struct LineSplitter {
    bytes: Vec<u8>,
    /// Bytes at the beginning that were returned as lines.
    taken: usize,
    /// Bytes that were searched for the end of a line.
    searched: usize,
}

impl LineSplitter {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if self.taken > 0 {
            self.bytes.drain(..self.taken);
            self.searched -= self.taken;
            self.taken = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole line without its line ending; `None` if it is incomplete.
    pub(super) fn next(&mut self) -> Result<Option<&[u8]>, TooLong> {
        let end = self.bytes[self.searched..].iter().position(|byte| *byte == b'\n');
        let Some(end) = end.map(|end| self.searched + end) else {
            self.searched = self.bytes.len();
            return if self.searched - self.taken > limits::LINE { Err(TooLong) } else { Ok(None) };
        };
        let line = self.taken..end;
        (self.taken, self.searched) = (end + 1, end + 1);
        if line.len() > limits::LINE { Err(TooLong) } else { Ok(Some(self.bytes[line].trim_ascii())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(pieces: &[&[u8]]) -> Vec<Vec<u8>> {
        let mut lines = LineSplitter::default();
        let mut found = Vec::new();
        for piece in pieces {
            lines.push(piece);
            while let Some(line) = lines.next().unwrap() {
                found.push(line.to_vec());
            }
        }
        found
    }

    #[test]
    fn lines_do_not_depend_on_how_bytes_are_split() {
        let bytes = b"one\r\n\ntwo three\nrest";
        for cut in 0..=bytes.len() {
            for second in cut..=bytes.len() {
                let found = all(&[&bytes[..cut], &bytes[cut..second], &bytes[second..]]);
                assert_eq!(found, [&b"one"[..], b"", b"two three"]);
            }
        }
    }

    #[test]
    fn an_endless_line_is_rejected() {
        let mut lines = LineSplitter::default();
        let piece = vec![b'x'; 1 << 20];
        for _ in 0..limits::LINE >> 20 {
            lines.push(&piece);
            assert_eq!(lines.next(), Ok(None));
        }
        lines.push(b"x");
        assert_eq!(lines.next(), Err(TooLong));
    }

    #[test]
    fn a_complete_line_is_limited_too() {
        for (more, whole) in [(0, true), (1, false)] {
            let mut lines = LineSplitter::default();
            lines.push(&vec![b'x'; limits::LINE + more]);
            lines.push(b"\n");
            assert_eq!(lines.next().is_ok_and(|line| line.is_some()), whole);
        }
    }
}
