//! What a program is doing, and how that is known.

use crate::time::Time;
use crate::turn::Signal;
use serde::{Deserialize, Serialize};
use swb_types::Offset;

/// What a program is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It has not been ready yet.
    #[default]
    Starting,
    /// It answers what was submitted.
    Working,
    /// It waits for input.
    Ready,
    /// It asks the user for a permission or an answer, in the middle of its work.
    Asking,
    /// It reported a failure and waits.
    Error,
    /// It is gone.
    Exited,
    /// What was known is too old to be believed.
    Unknown,
}

/// Why a state is believed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// Where it comes from.
    pub signal: Signal,
    /// What was seen: a title, a row of the screen, a line.
    pub detail: String,
    /// When.
    pub at: Time,
    /// Where in the output.
    pub offset: Offset,
}

/// A state with its evidence.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Status {
    /// What the program is doing.
    pub state: State,
    /// Since when.
    pub since: Time,
    /// Why this is believed; nothing before the first evidence.
    pub evidence: Option<Evidence>,
}
