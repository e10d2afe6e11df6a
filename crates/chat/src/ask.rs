//! What an agent asks of users: approvals and questions.

use crate::tool::ToolId;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use swb_types::Timestamp;

/// Identifies an approval, unique in the system.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ApprovalId(pub String);

impl fmt::Display for ApprovalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Identifies a question, unique in the system.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct QuestionId(pub String);

impl fmt::Display for QuestionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What choosing an option means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OptionKind {
    /// Allow from now on.
    AllowAlways,
    /// Allow once.
    AllowOnce,
    /// Deny from now on.
    RejectAlways,
    /// Deny once.
    RejectOnce,
}

impl OptionKind {
    /// Whether it allows the operation.
    pub fn allows(self) -> bool {
        matches!(self, Self::AllowAlways | Self::AllowOnce)
    }
}

/// One option of an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalOption {
    /// The agent's id for it.
    pub id: String,
    /// Its label for users.
    pub label: String,
    /// Its meaning.
    pub kind: OptionKind,
}

/// A request for an approval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApprovalRequest {
    /// The tool to be used.
    pub tool: String,
    /// The tool call, if it was announced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_id: Option<ToolId>,
    /// The tool's parameters; an object, or null if unknown.
    #[serde(default)]
    pub parameters: Value,
    /// Why a user should look at it.
    pub reason: String,
    /// The options; if there are none, the user can allow or deny.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<ApprovalOption>,
}

/// A pending approval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Approval {
    /// Its id.
    pub id: ApprovalId,
    /// The request.
    #[serde(flatten)]
    pub request: ApprovalRequest,
    /// When it was requested.
    pub asked_at: Timestamp,
    /// Whether a user has seen it.
    pub seen: bool,
}

/// A user's decision.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ApprovalAnswer {
    /// Whether the operation is allowed.
    pub approved: bool,
    /// The chosen option, if any.
    pub option: Option<String>,
    /// Applies from now on.
    pub always: bool,
}

/// The result of an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// A user decided.
    Decided(ApprovalAnswer),
    /// It timed out, or the owner is gone: denied.
    Lapsed,
    /// The generation was stopped: denied.
    Stopped,
    /// It was settled elsewhere, for example in the agent's terminal.
    Withdrawn,
}

impl Decision {
    /// Whether the operation is allowed.
    pub fn approved(&self) -> bool {
        matches!(self, Self::Decided(ApprovalAnswer { approved: true, .. }))
    }
}

/// One question with its choices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionItem {
    /// The question.
    pub question: String,
    /// Choices; any answer is valid if there are none.
    #[serde(default)]
    pub options: Vec<String>,
}

/// Questions of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionRequest {
    /// The subject, or the single question.
    pub text: String,
    /// Whether there are several questions.
    pub multi: bool,
    /// The questions.
    pub items: Vec<QuestionItem>,
}

/// A pending question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Its id.
    pub id: QuestionId,
    /// The request.
    #[serde(flatten)]
    pub request: QuestionRequest,
    /// When it was asked.
    pub asked_at: Timestamp,
}

/// Answers by the number of the question, from 0.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Answers(pub BTreeMap<usize, String>);

impl Answers {
    /// The answer to a single question.
    pub fn single(answer: impl Into<String>) -> Self {
        Self([(0, answer.into())].into())
    }
}

/// Why a question was not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unanswered {
    /// It timed out.
    #[error("timed out waiting for an answer to the question")]
    Lapsed,
    /// The generation was stopped.
    #[error("the answer was stopped while the question was pending")]
    Stopped,
}
