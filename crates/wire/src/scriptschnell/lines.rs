//! Splits a connection into lines.
//!
//! Holds the bytes of one connection that do not yet make a whole line, at most one line and one push. An overlong
//! line is a final error, because its end may never come; invalid UTF-8 is not.

/// Maximum bytes of a line, its end not counted (SS-7).
pub const MAX_LINE: usize = 16 << 20;

/// Why a line is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LineError {
    /// It is too long; nothing can be read after it.
    #[error("the line is longer than {MAX_LINE} bytes")]
    TooLong,
    /// It is not UTF-8; the next line may be.
    #[error("the line is not valid UTF-8")]
    NotUtf8,
}

/// Reads lines.
#[derive(Debug, Clone, Default)]
pub struct Lines {
    buffer: Vec<u8>,
    /// Bytes of `buffer` that were already returned.
    taken: usize,
    /// Bytes of `buffer` without a line break, so that they are searched only once.
    searched: usize,
    failed: bool,
}

impl Lines {
    /// Adds bytes that arrived. After an overlong line they are dropped.
    pub fn push(&mut self, bytes: &[u8]) {
        if !self.failed {
            self.buffer.drain(..self.taken);
            self.searched -= self.taken;
            self.taken = 0;
            self.buffer.extend_from_slice(bytes);
        }
    }

    /// Returns the next line that is not blank, without surrounding white space (SS-2), or `Ok(None)` if more bytes
    /// are needed.
    #[expect(clippy::should_implement_trait, reason = "no iterator: after Ok(None) more may follow")]
    pub fn next(&mut self) -> Result<Option<String>, LineError> {
        loop {
            if self.failed {
                return Err(LineError::TooLong);
            }
            let fresh = self.buffer.get(self.searched..).unwrap_or_default();
            let end = fresh.iter().position(|byte| *byte == b'\n').map(|at| self.searched + at);
            let len = end.unwrap_or(self.buffer.len()) - self.taken;
            if len > MAX_LINE {
                (self.buffer, self.taken, self.searched) = (Vec::new(), 0, 0);
                self.failed = true;
                continue;
            }
            let Some(end) = end else {
                self.searched = self.buffer.len();
                return Ok(None);
            };
            let line = self.buffer.get(self.taken..end).unwrap_or_default().trim_ascii();
            let line = (!line.is_empty()).then(|| std::str::from_utf8(line).map(str::to_owned));
            (self.taken, self.searched) = (end + 1, end + 1);
            self.let_go();
            if let Some(line) = line {
                return line.map(Some).map_err(|_| LineError::NotUtf8);
            }
        }
    }

    /// Bytes of memory held for an incomplete line.
    pub fn capacity(&self) -> usize {
        self.buffer.capacity()
    }

    fn let_go(&mut self) {
        if self.taken == self.buffer.len() {
            self.buffer.clear();
            self.buffer.shrink_to(crate::limits::KEEP_CAPACITY);
            (self.taken, self.searched) = (0, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(pieces: &[&[u8]]) -> Vec<Result<String, LineError>> {
        let mut lines = Lines::default();
        let mut found = Vec::new();
        for piece in pieces {
            lines.push(piece);
            loop {
                match lines.next() {
                    Ok(Some(line)) => found.push(Ok(line)),
                    Ok(None) => break,
                    Err(LineError::TooLong) => {
                        found.push(Err(LineError::TooLong));
                        break;
                    }
                    Err(error) => found.push(Err(error)),
                }
            }
        }
        found
    }

    // SS-2, SS-8
    #[test]
    fn lines_do_not_depend_on_how_bytes_arrive() {
        let bytes = b"\n  \r\n{\"a\":1}\r\n\xff\xfe\n\t{} \n\n{\"rest\"";
        let whole = all(&[bytes]);
        assert_eq!(whole, [Ok("{\"a\":1}".to_owned()), Err(LineError::NotUtf8), Ok("{}".to_owned())]);
        for at in 0..bytes.len() {
            let (a, b) = bytes.split_at(at);
            assert_eq!(all(&[a, b]), whole, "cut at {at}");
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(all(&single), whole);
    }

    // SS-7
    #[test]
    fn a_line_that_is_too_long_is_a_final_error() {
        let mut longest = vec![b'a'; MAX_LINE];
        longest.push(b'\n');
        assert_eq!(all(&[&longest]).first().unwrap().as_ref().unwrap().len(), MAX_LINE);
        let longer = vec![b'a'; MAX_LINE + 1];
        assert_eq!(all(&[&longer, b"\n{}\n"]), [Err(LineError::TooLong), Err(LineError::TooLong)]);
        let mut lines = Lines::default();
        lines.push(&longer);
        assert_eq!(lines.next(), Err(LineError::TooLong));
        lines.push(&longer);
        assert_eq!(lines.capacity(), 0);
    }

    #[test]
    fn an_idle_connection_frees_its_memory() {
        let mut lines = Lines::default();
        lines.push(&vec![b'a'; 1 << 20]);
        assert_eq!(lines.next(), Ok(None));
        lines.push(b"\n");
        assert_eq!(lines.next().unwrap().unwrap().len(), 1 << 20);
        assert!(lines.capacity() <= crate::limits::KEEP_CAPACITY);
    }
}
