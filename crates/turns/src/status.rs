//! The status of a program, and the evidence for it.

use crate::time::Time;
use crate::turn::Signal;
use serde::{Deserialize, Serialize};
use swb_types::Offset;

/// The state of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProgramState {
    /// It has not been ready yet.
    #[default]
    Starting,
    /// It answers what was submitted.
    Working,
    /// It waits for input.
    Ready,
    /// It asks the user for a permission or an answer, in mid-turn.
    Asking,
    /// It reported a failure and waits.
    Error,
    /// It has exited.
    Exited,
    /// The evidence is too old to be trusted.
    Unknown,
}

/// The evidence for a state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// Its source.
    pub signal: Signal,
    /// The text: a title, a row of the screen, a line.
    pub detail: String,
    /// When it was seen.
    pub at: Time,
    /// Where in the output.
    pub offset: Offset,
}

/// A state with its evidence.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Status {
    /// The state.
    pub state: ProgramState,
    /// Since when.
    pub since: Time,
    /// The evidence; `None` before there is any.
    pub evidence: Option<Evidence>,
}
