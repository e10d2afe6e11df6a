//! *Addition*: terminals without attaching: read the screen, wait for a condition, press keys.

use super::base64::Base64;
use super::operation::{is_false, null_as_default};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use swb_types::{Offset, PtyId};

/// Requests the contents of a terminal.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Screen {
    /// Name or workspace.
    pub session: String,
    /// Number of the PTY; the agent's by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pty: Option<PtyId>,
    /// Maximum lines of scrollback; none by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scrollback: Option<u64>,
    /// Format of the reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<ScreenFormat>,
    /// With `text`: a line that the terminal has wrapped is one line.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub join: bool,
}

impl Screen {
    /// The PTY, or its default.
    pub fn pty(&self) -> PtyId {
        self.pty.unwrap_or(PtyId::AGENT)
    }

    /// Maximum lines of scrollback, or the default.
    pub fn scrollback(&self) -> u64 {
        self.scrollback.unwrap_or(0)
    }

    /// Format of the reply, or the default.
    pub fn format(&self) -> ScreenFormat {
        self.format.unwrap_or_default()
    }
}

/// Format of a screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScreenFormat {
    /// Cells, cursor and modes as an object.
    #[default]
    Json,
    /// Plain text.
    Text,
    /// Text with colours.
    Ansi,
    /// A picture.
    Svg,
    /// Bytes that bring a reset terminal of that size into the same state.
    Snapshot,
}

/// Waits for conditions on a terminal; has at least one, and the first to hold ends the wait.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Wait {
    /// Name or workspace.
    pub session: String,
    /// Number of the PTY; the agent's by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pty: Option<PtyId>,
    /// A regular expression that matches text on the screen, now or at any time since the wait began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The screen has not changed for this many milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stable_ms: Option<u64>,
    /// The process has ended.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub exit: bool,
    /// Timeout in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The agent has reached this state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<WaitUntil>,
    /// With `turn`: number of the last known turn; without it, turns completed before do not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
}

/// A state of an agent to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WaitUntil {
    /// It waits for input.
    Ready,
    /// It waits for an answer or a permission.
    Asking,
    /// It has completed a turn.
    Turn,
    /// It has ended.
    Exit,
}

impl Wait {
    /// The PTY, or its default.
    pub fn pty(&self) -> PtyId {
        self.pty.unwrap_or(PtyId::AGENT)
    }

    /// Whether it has a condition.
    pub(super) fn has_condition(&self) -> bool {
        self.text.is_some() || self.stable_ms.is_some() || self.exit || self.until.is_some()
    }
}

/// Presses keys.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Keys {
    /// Name or workspace.
    pub session: String,
    /// Number of the PTY; the agent's by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pty: Option<PtyId>,
    /// Names of keys; an item that is no key name is text.
    pub keys: Vec<String>,
    /// All items are text.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub literal: bool,
}

impl Keys {
    /// The PTY, or its default.
    pub fn pty(&self) -> PtyId {
        self.pty.unwrap_or(PtyId::AGENT)
    }
}

/// Reply to `screen`: either `screen`, or `cols`, `rows` and `data`.
///
/// The type of `screen` is not known to this crate: the daemon writes its own type, a client reads any JSON.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ScreenReply<T = serde_json::Value> {
    /// Always true.
    pub ok: bool,
    /// Name of the session.
    pub session: String,
    /// Number of the PTY.
    pub pty: PtyId,
    /// Position in the output at which the screen looked like this.
    pub offset: Offset,
    /// Columns of the terminal, beside `data`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cols: Option<u16>,
    /// Rows of the terminal, beside `data`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u16>,
    /// The screen as text, picture or terminal bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Base64>,
    /// The screen as an object, with the format `json`.
    #[serde(default = "Option::<T>::default", skip_serializing_if = "Option::is_none")]
    pub screen: Option<T>,
}

impl<T> ScreenReply<T> {
    /// Bytes of `data` that always fit into one reply, with any name of the session: a name has at most 255 bytes,
    /// and JSON expands one to six.
    pub const MAX_DATA: usize = (super::MAX_FRAME - 2048) / 4 * 3;
}

/// Reply to `wait`.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct WaitReply {
    /// Always true.
    pub ok: bool,
    /// Which condition held.
    pub met: WaitOutcome,
    /// What matched, with `text`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The exit code, with `exit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// The turn, with `turn`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// Position in the output at which it held.
    pub offset: Offset,
}

/// Why a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WaitOutcome {
    /// The text matched.
    Text,
    /// The screen did not change for long enough.
    Stable,
    /// The process has ended.
    Exit,
    /// The wait timed out.
    Timeout,
    /// The agent waits for input.
    Ready,
    /// The agent waits for an answer or a permission.
    Asking,
    /// The agent has completed a turn.
    Turn,
}

impl WaitOutcome {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Stable => "stable",
            Self::Exit => "exit",
            Self::Timeout => "timeout",
            Self::Ready => "ready",
            Self::Asking => "asking",
            Self::Turn => "turn",
        }
    }
}

/// Reply to `keys`, once the terminal has accepted all of it.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct KeysReply {
    /// Always true.
    pub ok: bool,
    /// Number of bytes typed.
    pub bytes: u64,
    /// What the filter for input from elsewhere withheld (CO-46).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

/// Reply to `send`, once the terminal has accepted all of it.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct SendReply {
    /// Always true.
    pub ok: bool,
    /// What the filter for input from elsewhere withheld (CO-46).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}
