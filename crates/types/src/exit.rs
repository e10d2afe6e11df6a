//! How a process ended.

use serde::{Deserialize, Serialize};

/// The way a child ended, as its parent saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExitStatus {
    /// It returned this code (0–255).
    Code(i32),
    /// This signal ended it.
    Signal(i32),
}

impl ExitStatus {
    /// The status of a command that could not be started at all.
    pub const NOT_STARTED: Self = Self::Code(127);

    /// Gives the one number that shells and all dialects use: the code, or 128 plus the signal.
    pub fn code(self) -> i32 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => 128 + signal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_map_to_128_plus_n() {
        assert_eq!(ExitStatus::Signal(9).code(), 137);
        assert_eq!(ExitStatus::Code(7).code(), 7);
    }
}
