//! Positions in the output of a PTY.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// Absolute position in the output of one PTY: the number of bytes before it since the PTY was made.
///
/// Its arithmetic saturates. Output never reaches 2^64 bytes, but an offset that a client sends can be any number.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, JsonSchema, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Offset(pub u64);

impl Offset {
    /// The beginning of the output.
    pub const START: Self = Self(0);
    /// Beyond all output.
    pub const MAX: Self = Self(u64::MAX);

    /// The offset `bytes` before this one, or the beginning.
    #[must_use]
    pub fn saturating_sub(self, bytes: u64) -> Self {
        Self(self.0.saturating_sub(bytes))
    }
}

/// The offset so many bytes further on.
impl Add<u64> for Offset {
    type Output = Self;

    fn add(self, bytes: u64) -> Self {
        Self(self.0.saturating_add(bytes))
    }
}

impl AddAssign<u64> for Offset {
    fn add_assign(&mut self, bytes: u64) {
        *self = *self + bytes;
    }
}

/// The bytes between an earlier offset and this one; 0 if the other is not earlier.
impl Sub for Offset {
    type Output = u64;

    fn sub(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates() {
        assert_eq!(Offset(5) + 3, Offset(8));
        assert_eq!(Offset::MAX + 1, Offset::MAX);
        assert_eq!((Offset(8) - Offset(5), Offset(5) - Offset(8)), (3, 0));
        assert_eq!(Offset(8).saturating_sub(9), Offset::START);
    }
}
