//! What the daemon says without being asked.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// A piece of what is said (SS-52).
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
    /// It is the last of the answer.
    pub is_final: bool,
}

/// A tool is used (SS-57).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The tool.
    pub tool_name: String,
    /// Which use of it.
    pub tool_id: String,
    /// What it is given; an object.
    pub parameters: Value,
    /// What it does, in words for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The session.
    pub session_id: String,
    /// *Addition*: what it is for: `read`, `edit`, `execute` and so on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

/// What the use of a tool came to (SS-57).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// Which use.
    pub tool_id: String,
    /// What it says.
    pub result: String,
    /// Why it failed.
    pub error: Option<String>,
    /// `completed` or `failed`.
    pub status: String,
    /// The session.
    pub session_id: String,
    /// *Addition*: what it says in other forms: differences of files, terminals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<Value>,
}

/// Both in one (SS-58).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCompact {
    /// Which use.
    pub tool_id: String,
    /// The tool.
    pub tool_name: String,
    /// `calling`, `completed` or `error`.
    pub status: String,
    /// What it says.
    pub result: String,
    /// Why it failed.
    pub error: Option<String>,
    /// What it does, in words for people.
    pub description: String,
    /// The session.
    pub session_id: String,
}

/// How far the agent is (SS-59).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ProgressInfo {
    /// What it is doing.
    pub message: String,
    /// How much of what it can remember is used, in percent, as last told.
    #[serde(default)]
    pub context_usage: u8,
    /// Of no interest once something else is told.
    #[serde(default)]
    pub ephemeral: bool,
    /// Told by an agent that checks the work of another.
    #[serde(default)]
    pub verification_agent: bool,
    /// The session.
    #[serde(default)]
    pub session_id: String,
    /// What the agent thinks (SS-54).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// *Addition*: the message is output of this use of a tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_id: Option<String>,
}

/// The agent asks whether it may do something (SS-60).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuthorizationRequest {
    /// What the decision is to name.
    pub auth_id: String,
    /// The tool.
    pub tool_name: String,
    /// What it is to be given; an object.
    pub parameters: Value,
    /// Why a person should look at it.
    pub reason: String,
    /// The session.
    pub session_id: String,
    /// *Addition*: the use of the tool, if it was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_id: Option<String>,
    /// *Addition*: the ways to answer; yes and no if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<OptionItem>,
}

/// One way to answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OptionItem {
    /// What the decision is to name.
    pub id: String,
    /// What people read.
    pub label: String,
    /// `allow_once`, `allow_always`, `reject_once` or `reject_always`.
    pub kind: String,
}

/// The agent asks something (SS-64, SS-65).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionRequest {
    /// What the answer is to name.
    pub question_id: String,
    /// The question, or what several are about.
    pub question: String,
    /// Several questions at once.
    pub multi_mode: bool,
    /// Those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub questions: Option<Questions>,
    /// The session.
    pub session_id: String,
    /// *Addition*: answers to a single question to choose from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
}

/// Several questions, as the client wants them (SS-65).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Questions {
    /// For clients that know the capability `questions`.
    Listed(Vec<QuestionItem>),
    /// For others.
    Named(BTreeMap<String, String>),
}

/// One question of several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionItem {
    /// The question.
    pub question: String,
    /// Answers to choose from.
    #[serde(default)]
    pub options: Vec<String>,
}

/// The connection ends (SS-23, SS-27, SS-28).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closed {
    /// Why.
    #[serde(default)]
    pub reason: String,
    /// Whether connecting again makes sense.
    #[serde(default)]
    pub reconnect: bool,
}

/// *Addition*: an approval needs no decision any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthorizationSettled {
    /// Which.
    pub auth_id: String,
    /// Whether it may happen; nothing if it was settled elsewhere.
    pub approved: Option<bool>,
    /// The session.
    pub session_id: String,
}

/// *Addition*: a question needs no answer any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionSettled {
    /// Which.
    pub question_id: String,
    /// The session.
    pub session_id: String,
}

/// *Addition*: this connection's place at a session has changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionSeat {
    /// The session.
    pub session_id: String,
    /// Whether this connection may act.
    pub owner: bool,
    /// Whether the session is gone, and the place with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gone: bool,
}
