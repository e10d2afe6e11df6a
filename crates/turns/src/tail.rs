//! The last, unfinished line of the output: the place of a prompt.

use crate::limits;
use crate::strip;
use serde::{Deserialize, Serialize};
use swb_types::Offset;

/// The bytes since the last newline, and where they begin in the output.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Tail {
    start: Offset,
    bytes: Vec<u8>,
    /// Bytes dropped at the start of the line because it is too long.
    dropped: usize,
}

impl Tail {
    /// Takes output that begins at `offset`. Of a flood, only the part after its last newline is read.
    pub(crate) fn feed(&mut self, bytes: &[u8], offset: Offset) {
        let mut line = bytes;
        if let Some(newline) = memchr::memrchr(b'\n', bytes) {
            self.begin(offset + newline as u64 + 1);
            line = &bytes[newline + 1..];
        }
        self.bytes.extend_from_slice(line);
        if self.bytes.len() > limits::LINE_BYTES {
            let excess = self.bytes.len() - limits::LINE_BYTES / 2;
            self.bytes.drain(..excess);
            self.dropped += excess;
        }
    }

    /// Drops the line; the next begins at `offset`.
    pub(crate) fn begin(&mut self, offset: Offset) {
        self.start = offset;
        self.bytes.clear();
        self.dropped = 0;
    }

    /// Where the line begins.
    pub(crate) fn start(&self) -> Offset {
        self.start
    }

    /// The line as it was written.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The line without escape sequences.
    pub(crate) fn text(&self) -> String {
        strip::strip_text(&self.bytes)
    }
}
