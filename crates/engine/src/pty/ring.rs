//! The output of one PTY in shared memory, in the offsets that the other crates use.
//!
//! The keeper depends on nothing of ours and has an offset type of its own: here one becomes the other.

use std::os::fd::BorrowedFd;
use swb_keeper::{Pieces, Reader};
use swb_types::Offset;

/// The newest output of a PTY, as the keeper writes it.
#[derive(Debug)]
pub struct OutputRing(Reader);

fn ours(offset: swb_keeper::Offset) -> Offset {
    Offset(offset.0)
}

pub(crate) fn keepers(offset: Offset) -> swb_keeper::Offset {
    swb_keeper::Offset(offset.0)
}

impl OutputRing {
    pub(crate) fn new(reader: Reader) -> Self {
        Self(reader)
    }

    /// The memory, opened for reading only.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.descriptor()
    }

    /// Whether any number of processes can sleep until there is more output.
    pub fn wakes_all(&self) -> bool {
        self.0.wakes_all()
    }

    /// Offset of the next byte that will be written.
    pub fn head(&self) -> Offset {
        ours(self.0.head())
    }

    /// Newest bytes that are always readable.
    pub fn keep(&self) -> u64 {
        self.0.keep()
    }

    /// The oldest offset that is promised to be readable when the head is at `head`.
    pub fn oldest(&self, head: Offset) -> Offset {
        ours(self.0.oldest(keepers(head)))
    }

    /// Whether everything from `from` on was intact up to this moment.
    pub fn intact(&self, from: Offset) -> bool {
        self.0.intact(keepers(from))
    }

    /// The bytes `[from, to)` in place, see [`Reader::pieces`].
    pub fn pieces(&self, from: Offset, to: Offset) -> Option<Pieces<'_>> {
        self.0.pieces(keepers(from), keepers(to))
    }

    /// Appends the bytes `[from, to)` to `out`, see [`Reader::copy`].
    pub fn copy(&self, from: Offset, to: Offset, out: &mut Vec<u8>) -> bool {
        self.0.copy(keepers(from), keepers(to), out)
    }
}
