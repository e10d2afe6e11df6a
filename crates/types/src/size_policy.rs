//! The rule for the size of a terminal that several windows show.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Which of several windows decides the size of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SizePolicy {
    /// The window that was used last.
    #[default]
    Latest,
    /// As many columns and rows as every window has.
    Smallest,
    /// As many columns and rows as any window has.
    Largest,
    /// None: the size changes only on request.
    Manual,
}

impl SizePolicy {
    /// The word for it in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Latest => "latest",
            Self::Smallest => "smallest",
            Self::Largest => "largest",
            Self::Manual => "manual",
        }
    }
}

impl fmt::Display for SizePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
