//! Terminal sizes.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A terminal size in character cells; neither side is ever zero, because programs divide by both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Size {
    cols: u16,
    rows: u16,
}

impl Size {
    /// The size of a session that no client has resized.
    pub const DEFAULT: Self = Self { cols: 80, rows: 24 };

    /// The size of a session that is started in the background: wide enough for code, as high as most windows.
    pub const DETACHED: Self = Self { cols: 120, rows: 40 };

    /// Makes a size, or nothing when either side is zero.
    pub fn new(cols: u16, rows: u16) -> Option<Self> {
        (cols > 0 && rows > 0).then_some(Self { cols, rows })
    }

    /// Makes a size in which each zero is replaced by that side of `current`.
    pub fn or_current(cols: u16, rows: u16, current: Self) -> Self {
        let pick = |new, old| if new == 0 { old } else { new };
        Self { cols: pick(cols, current.cols), rows: pick(rows, current.rows) }
    }

    /// Columns.
    pub fn cols(self) -> u16 {
        self.cols
    }

    /// Rows.
    pub fn rows(self) -> u16 {
        self.rows
    }

    /// One column less, unless there is only one.
    pub fn narrower(self) -> Option<Self> {
        Self::new(self.cols - 1, self.rows)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.cols, self.rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_is_no_size_but_keeps_the_current_side() {
        assert_eq!(Size::new(0, 5), None);
        let current = Size::DEFAULT;
        assert_eq!(Size::or_current(0, 50, current), Size { cols: 80, rows: 50 });
    }

    #[test]
    fn one_column_cannot_get_narrower() {
        assert_eq!(Size { cols: 1, rows: 9 }.narrower(), None);
        assert_eq!(Size::DEFAULT.narrower(), Size::new(79, 24));
    }
}
