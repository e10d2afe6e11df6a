//! The events of a conversation, sent to all attached clients.

use crate::ask::{Answers, Approval, ApprovalId, Decision, Question, QuestionId, Unanswered};
use crate::conversation::ConversationState;
use crate::message::{Ending, Usage};
use crate::tool::{ToolCall, ToolResult};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Identifies one stream of text within its conversation: the number of the message it carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u64);

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stream_{}", self.0)
    }
}

/// An event. A generation is `Began`, then its other events, then `Ended`; its text is
/// one stream whose pieces count from 0, with exactly one last piece.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ChatEvent {
    /// An approval is requested.
    ApprovalAsked(Approval),
    /// An approval was settled.
    ApprovalSettled {
        /// Which.
        id: ApprovalId,
        /// The result.
        decision: Decision,
    },
    /// A generation began with this prompt.
    Began {
        /// The stream that carries the prompt.
        stream: StreamId,
        /// The prompt.
        prompt: String,
    },
    /// All messages were removed.
    Cleared,
    /// The conversation was deleted.
    Deleted,
    /// The generation ended.
    Ended {
        /// How.
        ending: Ending,
    },
    /// The agent's whole plan, replacing the last one.
    Plan(Vec<PlanEntry>),
    /// Progress of the agent.
    Progress(Progress),
    /// A question is asked.
    QuestionAsked(Question),
    /// A question was settled.
    QuestionSettled {
        /// Which.
        id: QuestionId,
        /// The result.
        answers: Result<Answers, Unanswered>,
    },
    /// The conversation has a new owner, or none.
    OwnerChanged,
    /// The state has changed.
    State(ConversationState),
    /// A piece of the agent's text.
    Text {
        /// The stream it belongs to.
        stream: StreamId,
        /// The text.
        text: String,
        /// It is the last piece of this stream.
        last: bool,
    },
    /// The agent's reasoning.
    Thought {
        /// The stream it belongs to.
        stream: StreamId,
        /// The text.
        text: String,
    },
    /// The title has changed.
    Titled(String),
    /// A tool call.
    ToolCalled(ToolCall),
    /// The result of a tool call.
    ToolEnded(ToolResult),
    /// Output of a running tool.
    ToolOutput {
        /// The tool call.
        id: crate::tool::ToolId,
        /// The further output.
        text: String,
    },
    /// The usage of the conversation so far.
    Usage(Usage),
}

/// Progress of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Progress {
    /// A description of what it is doing.
    pub message: String,
    /// The used part of the context window, in percent.
    pub context_usage: Option<u8>,
    /// Obsolete as soon as another event follows.
    pub ephemeral: bool,
    /// Reported by an agent that verifies the work of another.
    pub verification: bool,
}

/// One entry of an agent's plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanEntry {
    /// A description.
    pub content: String,
    /// Its priority.
    pub priority: PlanPriority,
    /// Its status.
    pub status: PlanStatus,
}

/// The priority of an entry in a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum PlanPriority {
    High,
    Low,
    Medium,
}

/// The status of an entry in a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum PlanStatus {
    Completed,
    InProgress,
    Pending,
}
