//! Reassembles frames that follow a `u32` big-endian length.
//!
//! Owns the bytes of one connection that do not yet make a whole frame. The length is checked as soon as its four
//! bytes have arrived, and no memory is ever allocated for it: the buffer holds only bytes that have arrived. An error
//! is final, because after an invalid length the start of the next frame is unknown.

use crate::limits;

/// Bytes in the length prefix.
pub const PREFIX: usize = 4;

/// Why the frames of a connection cannot be read any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// The length is above the limit.
    #[error("invalid frame length {len}: the maximum is {max}")]
    TooLarge {
        /// Length of the frame.
        len: usize,
        /// Largest length allowed.
        max: usize,
    },
    /// The length is below that of the smallest frame.
    #[error("invalid frame length {len}: the minimum is {min}")]
    TooShort {
        /// Length of the frame.
        len: usize,
        /// Smallest length allowed.
        min: usize,
    },
}

/// Cuts a byte stream into frames.
#[derive(Debug, Clone)]
pub struct LengthPrefixed {
    min: usize,
    max: usize,
    buffer: Vec<u8>,
    /// Bytes of `buffer` that were already returned.
    taken: usize,
    failed: Option<FrameError>,
}

impl LengthPrefixed {
    /// Creates a reader of frames whose length, prefix not counted, is in `min..=max`.
    pub fn new(min: usize, max: usize) -> Self {
        Self { min, max, buffer: Vec::new(), taken: 0, failed: None }
    }

    /// Adds bytes that arrived. After an error they are dropped: their meaning is unknown.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.failed.is_none() {
            self.discard_taken();
            self.buffer.extend_from_slice(bytes);
        }
    }

    /// Returns the next whole frame without its prefix, or `Ok(None)` if more bytes are needed.
    ///
    /// An error is repeated by every later call.
    #[expect(clippy::should_implement_trait, reason = "no iterator: after Ok(None) more may follow")]
    pub fn next(&mut self) -> Result<Option<Vec<u8>>, FrameError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let waiting = self.buffer.get(self.taken..).unwrap_or_default();
        let Some((prefix, rest)) = waiting.split_first_chunk::<PREFIX>() else {
            return Ok(None);
        };
        let len = u32::from_be_bytes(*prefix) as usize;
        if let Err(error) = self.check(len) {
            self.fail(error);
            return Err(error);
        }
        let Some(frame) = rest.get(..len).map(<[u8]>::to_vec) else {
            return Ok(None);
        };
        self.taken += PREFIX + len;
        self.discard_all_if_taken();
        Ok(Some(frame))
    }

    /// Changes the limits for the frames that follow; bytes already pushed stay.
    pub fn set_limits(&mut self, min: usize, max: usize) {
        self.min = min;
        self.max = max;
    }

    /// Whether the stream is between two frames, so that it may end here.
    pub fn is_empty(&self) -> bool {
        self.buffer.len() == self.taken
    }

    /// Bytes of memory held for incomplete frames.
    pub fn capacity(&self) -> usize {
        self.buffer.capacity()
    }

    fn check(&self, len: usize) -> Result<(), FrameError> {
        if len > self.max {
            Err(FrameError::TooLarge { len, max: self.max })
        } else if len < self.min {
            Err(FrameError::TooShort { len, min: self.min })
        } else {
            Ok(())
        }
    }

    fn fail(&mut self, error: FrameError) {
        self.failed = Some(error);
        self.buffer = Vec::new();
        self.taken = 0;
    }

    /// Moves the rest to the front. Done once per push, so each byte moves at most once per arrival of others instead
    /// of once per frame.
    fn discard_taken(&mut self) {
        self.buffer.drain(..self.taken);
        self.taken = 0;
    }

    fn discard_all_if_taken(&mut self) {
        if self.is_empty() {
            self.buffer.clear();
            self.buffer.shrink_to(limits::KEEP_CAPACITY);
            self.taken = 0;
        }
    }
}

/// Returns the prefix of a frame of `len` bytes.
///
/// `len` must fit `u32`; every caller has a far lower limit from its protocol.
pub(crate) fn prefix(len: usize) -> [u8; PREFIX] {
    u32::try_from(len).unwrap_or(u32::MAX).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_returned_in_order_including_empty_ones() {
        let mut frames = LengthPrefixed::new(0, 10);
        frames.push(&[0, 0, 0, 1, b'a', 0, 0, 0, 0, 0, 0, 0, 2, b'b']);
        assert_eq!(frames.next(), Ok(Some(b"a".to_vec())));
        assert_eq!(frames.next(), Ok(Some(Vec::new())));
        assert_eq!(frames.next(), Ok(None));
        assert!(!frames.is_empty());
        frames.push(b"c");
        assert_eq!(frames.next(), Ok(Some(b"bc".to_vec())));
        assert!(frames.is_empty());
    }

    #[test]
    fn an_error_is_final() {
        let mut frames = LengthPrefixed::new(2, 3);
        frames.push(&[0, 0, 0, 4]);
        let error = FrameError::TooLarge { len: 4, max: 3 };
        assert_eq!(frames.next(), Err(error));
        frames.push(&[0, 0, 0, 2, 1, 2]);
        assert_eq!(frames.next(), Err(error));
        assert_eq!(frames.capacity(), 0);
    }

    // CO-54
    #[test]
    fn new_limits_apply_to_bytes_already_pushed() {
        let mut frames = LengthPrefixed::new(0, 3);
        frames.push(&[0, 0, 0, 1, b'a', 0, 0, 0, 0]);
        assert_eq!(frames.next(), Ok(Some(b"a".to_vec())));
        frames.set_limits(1, 3);
        assert_eq!(frames.next(), Err(FrameError::TooShort { len: 0, min: 1 }));
    }

    #[test]
    fn an_idle_connection_frees_its_memory() {
        let mut frames = LengthPrefixed::new(0, 1 << 20);
        frames.push(&prefix(1 << 20));
        frames.push(&vec![7; 1 << 20]);
        assert_eq!(frames.next().unwrap().unwrap().len(), 1 << 20);
        assert!(frames.capacity() <= limits::KEEP_CAPACITY);
    }
}
