//! *Addition*: completed turns of agents, passing them on, and what agents are doing.

use super::base64::Base64;
use super::operation::{is_false, null_as_default};
use serde::{Deserialize, Serialize};
use swb_types::{Offset, PtyId};

/// Lists the turns of a session, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Turns {
    /// Name or workspace.
    pub session: String,
    /// So many at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// Asks for one turn, or for a piece of it; has either `turn_id` or `session`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Turn {
    /// Name of the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// Session whose latest turn is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// First byte of the content to send.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
    /// Bytes of the content to send at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
    /// First byte of the text to send.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_from: Option<u64>,
}

/// Puts a turn into the relay buffer; has either `turn_id` or `session`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Capture {
    /// Name of the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// Session whose latest turn is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// Types the relay buffer into a session, as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Paste {
    /// Name or workspace.
    pub session: String,
}

/// Types a turn of one session into another.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Relay {
    /// Name of a turn, or a session whose latest turn is meant.
    pub from: String,
    /// Session to type into.
    pub to: String,
    /// What to type, with `{text}`, `{turn_id}` and `{session}` for those of the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// What to type in front of the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// Press Enter once the program has taken the text.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub submit: bool,
    /// Type the bytes as they are, escape sequences included.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub raw: bool,
}

/// Submits a text to an agent and waits for its turn.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Ask {
    /// Name or workspace.
    pub session: String,
    /// What to submit.
    pub text: String,
    /// Milliseconds to wait at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Whatever the agent is doing.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub force: bool,
}

/// Asks what an agent is doing, and how that is known.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Explain {
    /// Name or workspace.
    pub session: String,
}

/// Follows what happens.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Events {
    /// Place behind the last event that is known; only what is new without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Only what happens to these sessions, if there are any.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<String>,
}

/// What a program says of itself from outside its terminal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hook {
    /// Name or workspace.
    pub session: String,
    /// What it is doing.
    pub state: HookState,
}

/// What a hook can say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HookState {
    /// It works.
    Working,
    /// It waits for input.
    Ready,
    /// It asks for a permission or an answer.
    Asking,
    /// It has done what it was asked to: the same as `ready`.
    Done,
    /// It has failed.
    Error,
}

/// What an agent is doing; a state of a newer daemon reads as `unknown`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum AgentState {
    /// It has not been ready yet.
    Starting,
    /// It answers what was submitted.
    Working,
    /// It waits for input.
    Ready,
    /// It asks for a permission or an answer, in the middle of its work.
    Asking,
    /// It reported a failure and waits.
    Error,
    /// It is gone.
    Exited,
    /// Nothing is known that is new enough.
    #[default]
    #[serde(other)]
    Unknown,
}

impl AgentState {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Working => "working",
            Self::Ready => "ready",
            Self::Asking => "asking",
            Self::Error => "error",
            Self::Exited => "exited",
            Self::Unknown => "unknown",
        }
    }
}

/// What the agent of a session is doing, in a list.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AgentItem {
    /// What it is doing.
    pub state: AgentState,
    /// Since when, in Unix milliseconds; 0 if that is not known.
    pub since: u64,
    /// What kind of signal tells that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// The profile by which it is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
}

/// Answer to `turns`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnsReply {
    /// Always true.
    pub ok: bool,
    /// Name of the session.
    pub session: String,
    /// Its turns, newest first.
    pub turns: Vec<TurnItem>,
}

/// One turn in a list.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TurnItem {
    /// Its name: `<session>:<number>`.
    pub turn_id: String,
    /// When it ended, in Unix milliseconds.
    pub timestamp: u64,
    /// Its length in bytes before any cut.
    pub byte_length: u64,
    /// Whether the user interrupted it.
    pub interrupted: bool,
    /// Whether bytes were cut off.
    pub truncated: bool,
}

/// Answer to `turn`: everything about it, and of content and text as much as fits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnReply {
    /// Always true.
    pub ok: bool,
    /// The turn.
    #[serde(flatten)]
    pub turn: TurnObject,
}

/// A turn.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TurnObject {
    /// Its name: `<session>:<number>`.
    pub turn_id: String,
    /// Name of its session.
    pub session: String,
    /// When it ended, in Unix milliseconds.
    pub timestamp: u64,
    /// When the input was submitted, in Unix milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submitted: Option<u64>,
    /// Its length in bytes before any cut.
    pub byte_length: u64,
    /// Whether the user interrupted it.
    pub interrupted: bool,
    /// Whether bytes were cut off when it was stored.
    pub truncated: bool,
    /// What kind of signal told its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// The profile by which the program was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Where the output stood when the input was submitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submit_offset: Option<Offset>,
    /// Where its content begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_offset: Option<Offset>,
    /// Where the output stood when it was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_offset: Option<Offset>,
    /// Where the output stood when the program asked something in between.
    #[serde(default)]
    pub dialogs: Vec<Offset>,
    /// What was seen at its end, in words.
    #[serde(default)]
    pub evidence: Vec<String>,
    /// Its bytes, from `from` on.
    pub content: Base64,
    /// Place of the first byte of `content`.
    pub from: u64,
    /// Number of bytes there are.
    pub content_length: u64,
    /// The answer as plain text, from `text_from` on.
    pub text: String,
    /// Place of the first byte of `text`.
    pub text_from: u64,
    /// Number of bytes of text there are.
    pub text_length: u64,
    /// There is more content or text than was sent.
    pub cut: bool,
}

/// Answer to `capture`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaptureReply {
    /// Always true.
    pub ok: bool,
    /// The turn.
    pub turn_id: String,
    /// Bytes in the buffer.
    pub size: u64,
}

/// Answer to `relay`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RelayReply {
    /// Always true.
    pub ok: bool,
    /// The turn.
    pub turn_id: String,
    /// Number of bytes typed.
    pub bytes: u64,
    /// What the user should know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// Answer to `ask`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskReply {
    /// Always true.
    pub ok: bool,
    /// What came first.
    pub met: Answered,
    /// Whether the agent asks something now, and cannot go on without an answer.
    #[serde(default, skip_serializing_if = "is_false")]
    pub asking: bool,
    /// What told that, with [`Answered::Asking`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The turn, with [`Answered::Turn`].
    #[serde(flatten)]
    pub turn: Option<TurnObject>,
}

/// What came first after a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answered {
    /// A turn.
    Turn,
    /// A question of the agent's own.
    Asking,
    /// The end of the time.
    Timeout,
}

/// Answer to `explain`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExplainReply {
    /// Always true.
    pub ok: bool,
    /// Name of the session.
    pub session: String,
    /// What its agent is doing.
    #[serde(flatten)]
    pub agent: AgentItem,
    /// What was seen, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// All that is believed.
    pub evidence: Vec<EvidenceItem>,
    /// The latest turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_turn: Option<TurnItem>,
}

/// Why something is believed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidenceItem {
    /// Kind of signal.
    pub signal: String,
    /// What was seen.
    pub detail: String,
    /// When, in Unix milliseconds.
    pub at: u64,
    /// Where in the output.
    pub offset: Offset,
}

/// Answer to `events`, after which each event comes in a control frame.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventsReply {
    /// Always true.
    pub ok: bool,
    /// Place from which the events go on.
    pub cursor: String,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Happening {
    /// Place behind it.
    pub cursor: String,
    /// When, in Unix milliseconds.
    pub at: u64,
    /// To which session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// What.
    #[serde(flatten)]
    pub what: Happened,
}

/// What can happen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
#[non_exhaustive]
pub enum Happened {
    /// Events are missing here, because they are not kept any more.
    Missed,
    /// A session was made.
    Opened,
    /// A session was found again by a new daemon.
    Found,
    /// A session is over.
    Closed,
    /// A process runs.
    Started {
        /// On this PTY.
        pty: PtyId,
    },
    /// A process has ended for good.
    Exited {
        /// On this PTY.
        pty: PtyId,
        /// Its exit code, or 128 plus the signal.
        code: i32,
    },
    /// The agent does something else than before.
    Status {
        /// What it is doing.
        state: AgentState,
        /// What kind of signal tells that.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signal: Option<String>,
    },
    /// Input was submitted to the agent.
    Submitted {
        /// Where its output stood.
        offset: Offset,
    },
    /// The agent asks something in the middle of a turn.
    Dialog {
        /// Where its output stood.
        offset: Offset,
    },
    /// A turn is complete.
    Turn {
        /// Its name.
        turn_id: String,
    },
    /// Something this build does not know; only ever received.
    #[serde(other)]
    Unknown,
}
