//! Events of a conversation, as far as the user sees them; a client translates its protocol into these.

use serde_json::Value;

/// An event of a conversation or of the connection.
#[derive(Debug, Clone, PartialEq)]
pub enum ViewEvent {
    /// The agent asks for an approval.
    Approval(ApprovalPrompt),
    /// The daemon closes the connection.
    Closed {
        /// Why.
        reason: String,
        /// Whether to reconnect.
        reconnect: bool,
    },
    /// An error that is not a reply.
    Error(String),
    /// Progress of the agent.
    Progress {
        /// A text for people.
        message: String,
        /// Percent of the context that is used.
        context: Option<u64>,
        /// Whether the next one replaces it.
        ephemeral: bool,
        /// A piece of the agent's thoughts.
        thought: Option<String>,
    },
    /// The agent asks a question.
    Question(QuestionPrompt),
    /// A piece of the agent's answer; the last one ends it.
    AnswerText {
        /// The piece.
        text: String,
        /// Whether it ends the answer.
        last: bool,
    },
    /// Whether this client may act changes, or the session was deleted.
    Seat {
        /// Whether it may act.
        owner: bool,
        /// Whether the session was deleted.
        gone: bool,
    },
    /// An approval or a question no longer needs an answer.
    Settled {
        /// Which approval or question.
        id: String,
    },
    /// The agent calls a tool.
    ToolCalled(ToolUse),
    /// A tool call has ended.
    ToolEnded {
        /// Id of the tool call.
        id: String,
        /// What the tool returned.
        output: String,
        /// Why it failed.
        error: Option<String>,
    },
    /// A message to the agent.
    Prompt(String),
}

/// A tool call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolUse {
    /// Identifies this call.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// What it is used for; may be empty.
    pub description: String,
    /// What it is called with.
    pub parameters: Value,
}

/// An approval that is asked for.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ApprovalPrompt {
    /// Identifies this approval.
    pub id: String,
    /// The tool that the agent asks to use.
    pub tool: String,
    /// What it would be called with.
    pub parameters: Value,
    /// Why it is asked for.
    pub reason: String,
    /// The ways to answer; yes and no if there are none.
    pub options: Vec<ApprovalChoice>,
}

/// One way to answer an approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalChoice {
    /// Identifies this option.
    pub id: String,
    /// Its label.
    pub label: String,
    /// Whether it lets the tool run.
    pub allows: bool,
    /// Whether it holds from now on.
    pub always: bool,
}

/// A question, or several at once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QuestionPrompt {
    /// Identifies this question.
    pub id: String,
    /// The question, or the heading of several questions.
    pub text: String,
    /// Whether it was asked with several items at once.
    pub multi: bool,
    /// The questions.
    pub items: Vec<QuestionEntry>,
}

/// One question and the answers to choose from; anything if there are none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QuestionEntry {
    /// The question.
    pub question: String,
    /// The answers to choose from.
    pub options: Vec<String>,
}

/// A message of a loaded conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptMessage {
    /// Whether the user wrote it, not the agent.
    pub user: bool,
    /// Its text.
    pub text: String,
    /// How it ended, if it is not complete.
    pub ending: Option<String>,
}

/// A value as text: strings as they are, nothing for null, others as JSON.
pub fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
