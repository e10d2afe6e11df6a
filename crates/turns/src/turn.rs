//! A completed turn.

use crate::time::Time;
use serde::{Deserialize, Serialize};
use swb_types::Offset;

/// What the user submitted, and what the program answered until it was ready again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// Its number in the session, from 1.
    pub seq: u64,
    /// The bytes of the answer: for programs that write lines, what lies between echo and prompt (CT-13); for those
    /// that repaint, everything from the submission on. Not part of the data: it is kept in memory only.
    #[serde(skip)]
    pub raw: Vec<u8>,
    /// The length of the answer before any cut (CR-9).
    pub byte_length: u64,
    /// Whether `raw` has lost its end, or `text` its beginning.
    pub truncated: bool,
    /// Where the output stood when the input was submitted.
    pub submit: Offset,
    /// Where `raw` begins.
    pub start: Offset,
    /// Where the output stood when the program was ready again, the prompt included.
    pub end: Offset,
    /// The answer as plain text, without echo, prompt, spinner and frame.
    pub text: String,
    /// When the input was submitted.
    pub submitted_at: Time,
    /// When the program was found to be ready again (CT-19).
    pub ended_at: Time,
    /// Whether the user interrupted it.
    pub interrupted: bool,
    /// Where the output stood at each question the program asked in mid-turn.
    pub dialogs: Vec<Offset>,
    /// What told that it is over.
    pub signal: Signal,
}

/// An answer that is being given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SoFar {
    /// Where the output stood when the input was submitted; tells the turn from others.
    pub submit: Offset,
    /// What it says as far as it stands.
    pub text: String,
}

/// Where knowledge comes from, the most trusted first.
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
    /// Its name, as it is printed.
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
