//! The events that the daemon sends.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// A piece of a message (SS-52).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatMessage {
    /// `user` or `assistant`.
    pub role: String,
    /// The text.
    pub content: String,
    /// The session.
    pub session_id: String,
    /// The stream it belongs to.
    pub stream_id: String,
    /// Its number in the stream.
    pub chunk_index: u32,
    /// Whether it is the last piece of the answer.
    pub is_final: bool,
}

/// A tool call (SS-57).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The tool.
    pub tool_name: String,
    /// Id of the call.
    pub tool_id: String,
    /// Its parameters; an object.
    pub parameters: Value,
    /// What it does, as text for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The session.
    pub session_id: String,
    /// *Addition*: its purpose: `read`, `edit`, `execute` and so on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

/// The result of a tool call (SS-57).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// Id of the call.
    pub tool_id: String,
    /// Its output.
    pub result: String,
    /// Why it failed.
    pub error: Option<String>,
    /// `completed` or `failed`.
    pub status: String,
    /// The session.
    pub session_id: String,
    /// *Addition*: its output in other forms: diffs of files, terminals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<Value>,
}

/// A tool call and its result in one kind of message (SS-58).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCompact {
    /// Id of the call.
    pub tool_id: String,
    /// The tool.
    pub tool_name: String,
    /// `calling`, `completed` or `error`.
    pub status: String,
    /// Its output.
    pub result: String,
    /// Why it failed.
    pub error: Option<String>,
    /// What it does, as text for people.
    pub description: String,
    /// The session.
    pub session_id: String,
}

/// Progress of the agent (SS-59).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ProgressInfo {
    /// What it is doing.
    pub message: String,
    /// Share of its context window in use, in percent, as last reported.
    #[serde(default)]
    pub context_usage: u8,
    /// Whether the next progress message replaces it.
    #[serde(default)]
    pub ephemeral: bool,
    /// Whether it comes from an agent that verifies the work of another.
    #[serde(default)]
    pub verification_agent: bool,
    /// The session.
    #[serde(default)]
    pub session_id: String,
    /// Where it is shown: [`ProgressInfo::STATUS_ONLY`]. The original's command line prints what has no mode as a part of
    /// the answer.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mode: String,
    /// The agent's thoughts (SS-54).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// *Addition*: the message is output of this tool call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_id: Option<String>,
}

impl ProgressInfo {
    /// The mode of what belongs to the status, not to the answer.
    pub const STATUS_ONLY: &str = "1";
}

/// The agent requests an approval (SS-60).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuthorizationRequest {
    /// Id that the decision has to contain.
    pub auth_id: String,
    /// The tool.
    pub tool_name: String,
    /// Its parameters; an object.
    pub parameters: Value,
    /// Why it needs an approval.
    pub reason: String,
    /// The session.
    pub session_id: String,
    /// *Addition*: the tool call, if it was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_id: Option<String>,
    /// *Addition*: the options; allow and deny if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<OptionItem>,
}

/// One option.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OptionItem {
    /// Id that the decision has to contain.
    pub id: String,
    /// Its text for people.
    pub label: String,
    /// `allow_once`, `allow_always`, `reject_once` or `reject_always`.
    pub kind: String,
}

/// The agent asks a question (SS-64, SS-65).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionRequest {
    /// Id that the answer has to contain.
    pub question_id: String,
    /// The question, or the subject of several.
    pub question: String,
    /// Whether there are several questions.
    pub multi_mode: bool,
    /// The questions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub questions: Option<Questions>,
    /// The session.
    pub session_id: String,
    /// *Addition*: the options of a single question.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
}

/// Several questions, in the form that the client supports (SS-65).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Questions {
    /// For clients with the capability `questions`.
    Listed(Vec<QuestionItem>),
    /// For other clients.
    Named(BTreeMap<String, String>),
}

/// One question of several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionItem {
    /// The question.
    pub question: String,
    /// Its options.
    #[serde(default)]
    pub options: Vec<String>,
}

/// The connection ends (SS-23, SS-27, SS-28).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closed {
    /// Why.
    #[serde(default)]
    pub reason: String,
    /// Whether the client should reconnect.
    #[serde(default)]
    pub reconnect: bool,
}

/// *Addition*: an approval is no longer pending.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthorizationSettled {
    /// Its id.
    pub auth_id: String,
    /// Whether it was allowed; absent if it was settled elsewhere.
    pub approved: Option<bool>,
    /// The session.
    pub session_id: String,
}

/// *Addition*: a question is no longer pending.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionSettled {
    /// Its id.
    pub question_id: String,
    /// The session.
    pub session_id: String,
}

/// *Addition*: this connection's role in a session has changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionSeat {
    /// The session.
    pub session_id: String,
    /// Whether this connection owns the session.
    pub owner: bool,
    /// Whether the session was removed, so that the connection is detached.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gone: bool,
}
