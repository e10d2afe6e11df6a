//! *Addition*: looking at a terminal without attaching: its screen, waiting for something on it, keys.

use super::base64::Base64;
use super::operation::{is_false, null_as_default};
use serde::{Deserialize, Serialize};
use swb_types::{Offset, PtyId};

/// Asks what a terminal shows.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Screen {
    /// Name or workspace.
    pub session: String,
    /// Which PTY; the agent's if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pty: Option<PtyId>,
    /// Lines of scrollback at most, none unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scrollback: Option<u64>,
    /// What the answer holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<ScreenFormat>,
}

impl Screen {
    /// The PTY meant.
    pub fn pty(&self) -> PtyId {
        self.pty.unwrap_or(PtyId::AGENT)
    }

    /// Lines of scrollback at most.
    pub fn scrollback(&self) -> u64 {
        self.scrollback.unwrap_or(0)
    }

    /// What the answer is to hold.
    pub fn format(&self) -> ScreenFormat {
        self.format.unwrap_or_default()
    }
}

/// How a screen is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
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
    /// Bytes that bring a fresh terminal of that size into the same state.
    Snapshot,
}

/// Waits until something holds on a terminal; has at least one condition, and the first to hold counts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Wait {
    /// Name or workspace.
    pub session: String,
    /// Which PTY; the agent's if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pty: Option<PtyId>,
    /// A regular expression that matches what is on the screen, or was since the wait began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The screen has not changed for that many milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stable_ms: Option<u64>,
    /// The process has ended.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub exit: bool,
    /// Milliseconds to wait at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The agent has come to this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<WaitUntil>,
    /// With [`WaitUntil::Turn`]: number of the last turn that is known; else turns completed before do not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
}

/// What an agent can be waited for to come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WaitUntil {
    /// It waits for input.
    Ready,
    /// It asks something.
    Asking,
    /// It has completed a turn.
    Turn,
    /// It has ended.
    Exit,
}

impl Wait {
    /// The PTY meant.
    pub fn pty(&self) -> PtyId {
        self.pty.unwrap_or(PtyId::AGENT)
    }

    /// Whether there is anything to wait for.
    pub(super) fn has_condition(&self) -> bool {
        self.text.is_some() || self.stable_ms.is_some() || self.exit || self.until.is_some()
    }
}

/// Presses keys.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Keys {
    /// Name or workspace.
    pub session: String,
    /// Which PTY; the agent's if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pty: Option<PtyId>,
    /// Names of keys; what names none is text.
    pub keys: Vec<String>,
    /// All of it is text.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub literal: bool,
}

impl Keys {
    /// The PTY meant.
    pub fn pty(&self) -> PtyId {
        self.pty.unwrap_or(PtyId::AGENT)
    }
}

/// Answer to `screen`: either `screen`, or `cols`, `rows` and `data`.
///
/// What `screen` holds is not for this crate to know: the daemon writes its own type, a client reads
/// any JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The screen as an object, with [`ScreenFormat::Json`].
    #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
    pub screen: Option<T>,
}

impl<T> ScreenReply<T> {
    /// Bytes of `data` that surely fit into one answer, whatever the session is called: a name has 255
    /// bytes at most, and JSON makes six of one.
    pub const MAX_DATA: usize = (super::MAX_FRAME - 2048) / 4 * 3;
}

/// Answer to `wait`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitReply {
    /// Always true.
    pub ok: bool,
    /// Which condition held.
    pub met: Met,
    /// What matched, with [`Met::Text`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The exit code, with [`Met::Exit`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// The turn, with [`Met::Turn`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// Position in the output at which it held.
    pub offset: Offset,
}

/// Why a wait is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Met {
    /// The text was there.
    Text,
    /// Nothing happened for long enough.
    Stable,
    /// The process has ended.
    Exit,
    /// The time is up.
    Timeout,
    /// The agent waits for input.
    Ready,
    /// The agent asks something.
    Asking,
    /// The agent has completed a turn.
    Turn,
}

impl Met {
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

/// Answer to `keys`, once the terminal has taken all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeysReply {
    /// Always true.
    pub ok: bool,
    /// Number of bytes typed.
    pub bytes: u64,
}
