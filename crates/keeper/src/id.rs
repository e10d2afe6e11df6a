//! The two numbers that keeper and daemon exchange most, with types of their own so that they cannot be mixed up.
//!
//! The other crates have `swb_types::Offset`. The keeper depends on nothing of ours, so it has this one, and
//! the engine converts where it touches the ring (`engine/pty/ring.rs`) and the doorbell (`engine/keeper.rs`).

use std::fmt;

/// Number of a slot: the keeper's place for one PTY. Numbers from [`crate::MAX_SLOTS`] on have no slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlotId(pub u32);

impl SlotId {
    /// Stands for the keeper as a whole.
    pub const GLOBAL: Self = Self(u32::MAX);

    /// Its position in a table of slots.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for SlotId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Absolute position in the output of a slot: the number of bytes before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Offset(pub u64);

impl Offset {
    /// Beyond every output.
    pub const MAX: Self = Self(u64::MAX);

    /// The offset `bytes` further on.
    ///
    /// Saturating: output at a gigabyte per second reaches the end after 584 years, and an offset that the
    /// daemon invented must not end the keeper.
    #[must_use]
    pub fn after(self, bytes: u64) -> Self {
        Self(self.0.saturating_add(bytes))
    }

    /// The offset `bytes` before this one, or the beginning.
    #[must_use]
    pub fn before(self, bytes: u64) -> Self {
        Self(self.0.saturating_sub(bytes))
    }

    /// Bytes from here to `end`; nothing if that lies before.
    pub fn until(self, end: Self) -> Option<u64> {
        end.0.checked_sub(self.0)
    }
}
