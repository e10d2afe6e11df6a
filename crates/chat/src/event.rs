//! What happens in a conversation, for everybody who is attached to it.

use crate::ask::{Answers, Approval, ApprovalId, Decision, Question, QuestionId, Unanswered};
use crate::conversation::ConversationState;
use crate::message::{Ending, Usage};
use crate::tool::{ToolCall, ToolResult};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Names one stream of text within its conversation: the number of the message it carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u64);

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stream_{}", self.0)
    }
}

/// Something that happened. A generation is `Began`, then everything it brings, then `Ended`; the text of all of it is
/// one stream whose pieces count from 0, with exactly one last piece.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ChatEvent {
    /// An approval is asked for.
    ApprovalAsked(Approval),
    /// An approval needs no decision any more.
    ApprovalSettled {
        /// Which.
        id: ApprovalId,
        /// What it came to.
        decision: Decision,
    },
    /// A generation began with this prompt.
    Began {
        /// The stream that carries the prompt.
        stream: StreamId,
        /// The prompt.
        prompt: String,
    },
    /// All messages are gone.
    Cleared,
    /// The conversation itself is gone.
    Deleted,
    /// The generation is over.
    Ended {
        /// How.
        ending: Ending,
    },
    /// What the agent intends to do, all of it anew.
    Plan(Vec<PlanEntry>),
    /// How far it is.
    Progress(Progress),
    /// A question is asked.
    QuestionAsked(Question),
    /// A question needs no answer any more.
    QuestionSettled {
        /// Which.
        id: QuestionId,
        /// What it came to.
        answers: Result<Answers, Unanswered>,
    },
    /// Another client owns the conversation, or none.
    OwnerChanged,
    /// Its state has changed.
    State(ConversationState),
    /// A piece of the agent's text.
    Text {
        /// The stream it belongs to.
        stream: StreamId,
        /// The text.
        text: String,
        /// Nothing follows in this stream.
        last: bool,
    },
    /// What the agent thinks.
    Thought {
        /// The stream it belongs to.
        stream: StreamId,
        /// The text.
        text: String,
    },
    /// The conversation has another title.
    Titled(String),
    /// A tool is used.
    ToolCalled(ToolCall),
    /// What the use of a tool came to.
    ToolEnded(ToolResult),
    /// A tool that is at work says something.
    ToolOutput {
        /// Which use it is.
        id: crate::tool::ToolId,
        /// The further output.
        text: String,
    },
    /// What the conversation has cost so far.
    Usage(Usage),
}

/// How far an agent is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Progress {
    /// What it is doing, in words.
    pub message: String,
    /// How much of what it can remember is used, in percent.
    pub context_usage: Option<u8>,
    /// Of no interest once something else is told.
    pub ephemeral: bool,
    /// Told by an agent that checks the work of another.
    pub verification: bool,
}

/// One thing an agent intends to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanEntry {
    /// What it is.
    pub content: String,
    /// How much it matters.
    pub priority: PlanPriority,
    /// Where it stands.
    pub status: PlanStatus,
}

/// How much an entry of a plan matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum PlanPriority {
    High,
    Low,
    Medium,
}

/// Where an entry of a plan stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum PlanStatus {
    Completed,
    InProgress,
    Pending,
}
