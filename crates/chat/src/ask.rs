//! What an agent asks of people: approvals and questions.

use crate::tool::ToolId;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use swb_types::Timestamp;

/// Names an approval that is asked for, in the whole system.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ApprovalId(pub String);

impl fmt::Display for ApprovalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Names a question that is asked, in the whole system.
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
    /// From now on without asking.
    AllowAlways,
    /// This once.
    AllowOnce,
    /// Never, and do not ask again.
    RejectAlways,
    /// Not this time.
    RejectOnce,
}

impl OptionKind {
    /// Whether it lets the operation happen.
    pub fn allows(self) -> bool {
        matches!(self, Self::AllowAlways | Self::AllowOnce)
    }
}

/// One way to answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalOption {
    /// What the agent calls it.
    pub id: String,
    /// What people read.
    pub label: String,
    /// What it means.
    pub kind: OptionKind,
}

/// An agent asks whether it may do something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApprovalRequest {
    /// The tool that is to be used.
    pub tool: String,
    /// The use of it, if it was announced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_id: Option<ToolId>,
    /// What the tool is given; an object, or null if that is not known.
    #[serde(default)]
    pub parameters: Value,
    /// Why a person should look at it.
    pub reason: String,
    /// The ways to answer; yes and no if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<ApprovalOption>,
}

/// An approval that waits for a decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Approval {
    /// Its name.
    pub id: ApprovalId,
    /// What is asked.
    #[serde(flatten)]
    pub request: ApprovalRequest,
    /// Since when.
    pub asked_at: Timestamp,
    /// Whether somebody has seen it.
    pub seen: bool,
}

/// What a person decides.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Verdict {
    /// Whether it may happen.
    pub approved: bool,
    /// The option chosen, if one was.
    pub option: Option<String>,
    /// From now on as well.
    pub always: bool,
}

/// What an approval came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// A person decided.
    Decided(Verdict),
    /// Nobody did in time, or whoever would have is gone: it must not happen.
    Lapsed,
    /// The generation was stopped: it must not happen.
    Stopped,
    /// It was settled elsewhere, in the agent's terminal for example.
    Withdrawn,
}

impl Decision {
    /// Whether it may happen.
    pub fn approved(&self) -> bool {
        matches!(self, Self::Decided(Verdict { approved: true, .. }))
    }
}

/// One question, and what may be answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionItem {
    /// The question.
    pub question: String,
    /// Answers to choose from; anything if there are none.
    #[serde(default)]
    pub options: Vec<String>,
}

/// An agent asks something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionRequest {
    /// What it is about, or the one question.
    pub text: String,
    /// Several questions at once.
    pub multi: bool,
    /// The questions: one unless there are several.
    pub items: Vec<QuestionItem>,
}

/// A question that waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Its name.
    pub id: QuestionId,
    /// What is asked.
    #[serde(flatten)]
    pub request: QuestionRequest,
    /// Since when.
    pub asked_at: Timestamp,
}

/// Answers by the number of the question, from 0 on.
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
    /// Nobody answered in time.
    #[error("nobody answered the question in time")]
    Lapsed,
    /// The generation was stopped.
    #[error("stopped before the question was answered")]
    Stopped,
}
