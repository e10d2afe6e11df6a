//! *Addition*: completed turns of agents, relaying them, and the states of agents.

use super::base64::Base64;
use super::operation::{is_false, null_as_default};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use swb_types::{Offset, PtyId};

/// Lists the turns of a session, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Turns {
    /// Name or workspace.
    pub session: String,
    /// Maximum number of turns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// Requests a turn, or a piece of it; has either `turn_id` or `session`.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Turn {
    /// Id of the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// Session whose latest turn is requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// First byte of the content to send.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
    /// Maximum bytes of the content to send.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
    /// First byte of the text to send.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_from: Option<u64>,
}

/// Captures a turn into the relay buffer; has either `turn_id` or `session`.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Capture {
    /// Id of the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// Session whose latest turn is captured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// Types the relay buffer into a session, unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Paste {
    /// Name or workspace.
    pub session: String,
    /// Type the text without a line that names its origin.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub verbatim: bool,
    /// Type the bytes unchanged, including escape sequences.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub raw: bool,
    /// Type even if the agent is busy or waiting for an answer, or its input holds text that was not submitted.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub force: bool,
}

/// Types a turn of one session into another.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Relay {
    /// Id of a turn, or a session whose latest turn is relayed.
    pub from: String,
    /// Session to type into.
    pub to: String,
    /// What to type; `{text}`, `{turn_id}` and `{session}` are replaced by those of the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// What to type before the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// Press Enter once the program has read the text.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub submit: bool,
    /// Type the text without a line that names its origin.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub verbatim: bool,
    /// Type the bytes unchanged, including escape sequences.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub raw: bool,
    /// Type even if the agent is busy or waiting for an answer, or its input holds text that was not submitted.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub force: bool,
}

/// Submits a text to an agent and waits for its turn.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Ask {
    /// Name or workspace.
    pub session: String,
    /// What to submit.
    pub text: String,
    /// Timeout in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Send even if the agent is busy.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub force: bool,
}

/// Requests an agent's state and the evidence for it.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Explain {
    /// Name or workspace.
    pub session: String,
}

/// Follows the events.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Events {
    /// Position after the last known event; only new events without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Only events of these sessions; all if empty.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<String>,
}

/// A report of an agent's hook about its state.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Hook {
    /// Name or workspace.
    pub session: String,
    /// The reported state.
    pub state: HookState,
}

/// A state that a hook can report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HookState {
    /// It works.
    Working,
    /// It waits for input.
    Ready,
    /// It waits for a permission or an answer.
    Asking,
    /// It has finished: the same as `ready`.
    Done,
    /// It has failed.
    Error,
}

/// State of an agent; a state of a newer daemon reads as `unknown`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum AgentState {
    /// It has not been ready yet.
    Starting,
    /// It works on its input.
    Working,
    /// It waits for input.
    Ready,
    /// It waits for a permission or an answer, in the middle of its work.
    Asking,
    /// It reported a failure and waits.
    Error,
    /// It has ended.
    Exited,
    /// No recent enough evidence.
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

/// State of a session's agent, in a list.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct AgentItem {
    /// The state.
    pub state: AgentState,
    /// Since when, in Unix milliseconds; 0 if that is not known.
    pub since: u64,
    /// Kind of signal that the state is based on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// The detection profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
}

/// Reply to `turns`.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct TurnsReply {
    /// Always true.
    pub ok: bool,
    /// Name of the session.
    pub session: String,
    /// Its turns, newest first.
    pub turns: Vec<TurnItem>,
}

/// One turn in a list.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct TurnItem {
    /// Its id: `<session>:<number>`.
    pub turn_id: String,
    /// When it ended, in Unix milliseconds.
    pub timestamp: u64,
    /// Its length in bytes before any cut.
    pub byte_length: u64,
    /// Whether the user interrupted it.
    pub interrupted: bool,
    /// Whether bytes were cut off, or lines of its text are missing.
    pub truncated: bool,
    /// Where its text comes from.
    #[serde(default)]
    pub source: TextSource,
}

/// Where the text of a turn comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum TextSource {
    /// The screen, or the output.
    #[default]
    Screen,
    /// The session file that the agent writes.
    Transcript,
    /// A source that this build does not know; only received.
    #[serde(other)]
    Unknown,
}

impl TextSource {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Screen => "screen",
            Self::Transcript => "transcript",
            Self::Unknown => "unknown",
        }
    }
}

/// Reply to `turn`: all fields, and as much of content and text as fits.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct TurnReply {
    /// Always true.
    pub ok: bool,
    /// The turn.
    #[serde(flatten)]
    pub turn: TurnObject,
}

/// A turn.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct TurnObject {
    /// Its id: `<session>:<number>`.
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
    /// Whether bytes were cut off when it was stored, or lines of its text are missing: they were never shown, or have
    /// left the scrollback.
    pub truncated: bool,
    /// Kind of signal that showed its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// The detection profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// End of the output when the input was submitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submit_offset: Option<Offset>,
    /// Where its content begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_offset: Option<Offset>,
    /// End of the output when the turn ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_offset: Option<Offset>,
    /// End of the output when the agent asked a question in between.
    #[serde(default)]
    pub dialogs: Vec<Offset>,
    /// The evidence for its end, as text.
    #[serde(default)]
    pub evidence: Vec<String>,
    /// Its bytes, from `from` on.
    pub content: Base64,
    /// Offset of the first byte of `content`.
    pub from: u64,
    /// Total number of bytes.
    pub content_length: u64,
    /// Where its text comes from.
    #[serde(default)]
    pub source: TextSource,
    /// The answer as plain text, or as the Markdown that the agent has written down, from `text_from` on.
    pub text: String,
    /// Offset of the first byte of `text`.
    pub text_from: u64,
    /// Total number of bytes of text.
    pub text_length: u64,
    /// Whether there is more content or text than was sent.
    pub cut: bool,
}

/// Reply to `capture`.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct CaptureReply {
    /// Always true.
    pub ok: bool,
    /// The turn.
    pub turn_id: String,
    /// Bytes in the buffer.
    pub size: u64,
}

/// Reply to `relay`.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct RelayReply {
    /// Always true.
    pub ok: bool,
    /// The turn.
    pub turn_id: String,
    /// Number of bytes typed.
    pub bytes: u64,
    /// A warning for the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// Reply to `ask`.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct AskReply {
    /// Always true.
    pub ok: bool,
    /// What happened first.
    pub met: AskResult,
    /// Whether the agent is waiting for an answer or a permission.
    #[serde(default, skip_serializing_if = "is_false")]
    pub asking: bool,
    /// The evidence for that, with `asking`; why nothing was typed, with `timeout`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The prompt with which the program asks for more lines, if that is what it waits for, with `asking`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more: Option<String>,
    /// The turns of the lines before the last one, with `turn`: of a program that took each line for itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<TurnObject>,
    /// The turn, with `turn`.
    #[serde(flatten)]
    pub turn: Option<TurnObject>,
}

impl AskReply {
    /// A reply with nothing but what happened.
    pub fn of(met: AskResult) -> Self {
        Self { ok: true, met, asking: false, detail: None, more: None, earlier: Vec::new(), turn: None }
    }
}

/// What ended an `ask`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AskResult {
    /// A turn.
    Turn,
    /// The agent asked a question.
    Asking,
    /// The agent is ready again without a turn: the text was one of its own commands.
    Ready,
    /// The timeout.
    Timeout,
}

/// Reply to `explain`.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ExplainReply {
    /// Always true.
    pub ok: bool,
    /// Name of the session.
    pub session: String,
    /// The state of its agent.
    #[serde(flatten)]
    pub agent: AgentItem,
    /// The evidence for it, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The program in the foreground of its terminal, if that is not the session's own command: `working` then lasts until it
    /// ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreground: Option<String>,
    /// All current evidence.
    pub evidence: Vec<EvidenceItem>,
    /// The latest turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_turn: Option<TurnItem>,
    /// Why its text comes from the screen, if the agent writes session files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_reason: Option<String>,
}

/// A piece of evidence.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
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

/// Reply to `events`, after which each event is sent in a control frame.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct EventsReply {
    /// Always true.
    pub ok: bool,
    /// Position from which the events continue.
    pub cursor: String,
}

/// An event.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct EventItem {
    /// Position after it.
    pub cursor: String,
    /// When, in Unix milliseconds.
    pub at: u64,
    /// The session that it concerns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// What happened.
    #[serde(flatten)]
    pub what: EventBody,
}

/// The kinds of events.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
#[non_exhaustive]
pub enum EventBody {
    /// Events are missing here, because they are no longer stored.
    Missed,
    /// A session was created.
    Opened,
    /// A new daemon recovered a session.
    Found,
    /// A session has ended.
    Closed,
    /// A process was started.
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
    /// The state of the agent has changed.
    Status {
        /// The new state.
        state: AgentState,
        /// Kind of signal that the state is based on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signal: Option<String>,
    },
    /// Input was submitted to the agent.
    Submitted {
        /// End of its output at that time.
        offset: Offset,
    },
    /// The agent waits for an answer in the middle of a turn.
    Dialog {
        /// End of its output at that time.
        offset: Offset,
    },
    /// A turn is complete.
    Turn {
        /// Its id.
        turn_id: String,
    },
    /// An event that this build does not know; only received.
    #[serde(other)]
    Unknown,
}
