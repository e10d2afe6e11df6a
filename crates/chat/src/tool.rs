//! Tool calls of agents.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;

/// Identifies one tool call within its conversation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ToolId(pub String);

/// The kind of a tool, so that front-ends can show it accordingly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// Removes files or data.
    Delete,
    /// Changes files.
    Edit,
    /// Runs a command.
    Execute,
    /// Fetches external data.
    Fetch,
    /// Moves or renames files.
    Move,
    /// Anything else.
    #[default]
    Other,
    /// Reads files or data.
    Read,
    /// Searches.
    Search,
    /// Thinks or plans.
    Think,
}

/// A position in a file that a tool works on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// A tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Its id.
    pub id: ToolId,
    /// The tool.
    pub name: String,
    /// A description for users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The tool's kind.
    #[serde(default)]
    pub kind: ToolKind,
    /// Its parameters; an object, or null if unknown.
    #[serde(default)]
    pub parameters: Value,
    /// The files it works on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locations: Vec<Location>,
}

/// How a tool call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// It succeeded.
    Completed,
    /// It failed.
    Failed,
}

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call's id.
    pub id: ToolId,
    /// How it ended.
    pub status: ToolStatus,
    /// Its output as text.
    #[serde(default)]
    pub output: String,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Its output in other forms.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<ToolContent>,
}

impl ToolResult {
    /// A call that succeeded.
    pub fn completed(id: ToolId, output: impl Into<String>) -> Self {
        Self { id, status: ToolStatus::Completed, output: output.into(), error: None, content: Vec::new() }
    }

    /// Its approximate size in bytes.
    pub fn size(&self) -> usize {
        let content = self.content.iter().map(|content| match content {
            ToolContent::Diff { old, new, .. } => old.as_ref().map_or(0, String::len) + new.len(),
            ToolContent::Terminal { id } => id.len(),
        });
        self.output.len() + content.sum::<usize>()
    }

    /// A call that failed.
    pub fn failed(id: ToolId, error: impl Into<String>) -> Self {
        let error = Some(error.into());
        Self { id, status: ToolStatus::Failed, output: String::new(), error, content: Vec::new() }
    }
}

/// Output of a tool besides text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToolContent {
    /// A change of a file.
    Diff {
        /// The file.
        path: PathBuf,
        /// Its text before; `None` if it is new.
        old: Option<String>,
        /// Its text now.
        new: String,
    },
    /// A terminal that runs a command.
    Terminal {
        /// Its name among the agent's terminals.
        id: String,
    },
}
