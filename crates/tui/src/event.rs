//! What happens in a conversation, as far as a person sees it; a front translates its protocol into this.

use serde_json::Value;

/// Something that happened in a conversation, or to the connection.
#[derive(Debug, Clone, PartialEq)]
pub enum ChatEvent {
    /// An approval is asked for.
    Approval(ApprovalPrompt),
    /// The daemon closes the connection.
    Closed {
        /// Why.
        reason: String,
        /// Whether it is worth connecting again.
        reconnect: bool,
    },
    /// An error that answers no request.
    Error(String),
    /// Something about how far the agent is.
    Progress {
        /// For people.
        message: String,
        /// Percent of the context that is used.
        context: Option<u64>,
        /// Whether the next one replaces it.
        ephemeral: bool,
        /// A piece of what the agent thinks.
        thought: Option<String>,
    },
    /// Something is asked.
    Question(QuestionPrompt),
    /// A piece of what the agent says; the last one ends the answer.
    Said {
        /// The piece.
        text: String,
        /// Whether it ends the answer.
        last: bool,
    },
    /// This client may act from now on, or may not; or the session is gone.
    Seat {
        /// Whether it may act.
        owner: bool,
        /// Whether the session is gone.
        gone: bool,
    },
    /// An approval or a question needs no answer any more.
    Settled {
        /// Which approval or question.
        id: String,
    },
    /// A tool is used.
    ToolCalled(ToolUse),
    /// What that came to.
    ToolEnded {
        /// Which use of a tool.
        id: String,
        /// What the tool returned.
        output: String,
        /// Why it failed.
        error: Option<String>,
    },
    /// What somebody asked the agent.
    Prompt(String),
}

/// The use of a tool.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolUse {
    /// Identifies this use.
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
    /// What it is called.
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
    /// What is asked, or what stands above several questions.
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

/// A message of a conversation that is loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptMessage {
    /// Whether the user wrote it, not the agent.
    pub user: bool,
    /// Its text.
    pub text: String,
    /// How it ended, if not well.
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
