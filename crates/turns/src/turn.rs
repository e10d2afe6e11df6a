//! A completed turn.

use crate::time::Time;
use serde::{Deserialize, Serialize};
use swb_types::Offset;

/// A user's input and the program's answer until it was ready again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompletedTurn {
    /// Its number in the session, from 1.
    pub seq: u64,
    /// The bytes of the answer: for programs that write lines, those between echo and prompt (CT-13); for those
    /// that repaint, everything from the submission on. Not serialized: it is kept in memory only.
    #[serde(skip)]
    pub raw: Vec<u8>,
    /// The length of the answer before any cut (CR-9).
    pub byte_length: u64,
    /// Whether `raw` has lost its end, or `text` its beginning.
    pub truncated: bool,
    /// The output offset when the input was submitted.
    pub submit: Offset,
    /// Where `raw` begins.
    pub start: Offset,
    /// The output offset when the program was ready again, after the prompt.
    pub end: Offset,
    /// The answer as plain text, without echo, prompt, spinner and frame.
    pub text: String,
    /// When the input was submitted.
    pub submitted_at: Time,
    /// When the program was found to be ready again (CT-19).
    pub ended_at: Time,
    /// Whether the user interrupted it.
    pub interrupted: bool,
    /// The output offset of each question in mid-turn.
    pub dialogs: Vec<Offset>,
    /// The evidence for its end.
    pub signal: Signal,
}

/// An answer in progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SoFar {
    /// The output offset when the input was submitted; identifies the turn.
    pub submit: Offset,
    /// Its text so far.
    pub text: String,
}

/// A source of evidence, the most trusted first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Signal {
    /// A hook the agent called.
    Hook,
    /// The program's status (OSC 7501).
    Status,
    /// Marks around prompt and output (OSC 133).
    Mark,
    /// A notification (OSC 9, OSC 777).
    Notify,
    /// Progress (OSC 9;4).
    Progress,
    /// The window title, read with the profile.
    Title,
    /// Bracketed paste around an input line, and the line with the cursor.
    Paste,
    /// The screen, read with the profile.
    Screen,
    /// The last line of the output, by the line rules.
    Line,
    /// What the user typed.
    Input,
    /// The process itself.
    Process,
    /// The end of a recording, in a dialog.
    End,
}

impl Signal {
    /// Its name, as printed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hook => "hook",
            Self::Status => "status",
            Self::Mark => "mark",
            Self::Notify => "notify",
            Self::Progress => "progress",
            Self::Title => "title",
            Self::Paste => "paste",
            Self::Screen => "screen",
            Self::Line => "line",
            Self::Input => "input",
            Self::Process => "process",
            Self::End => "end",
        }
    }
}
