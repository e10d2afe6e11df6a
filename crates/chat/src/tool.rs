//! What agents do with tools.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;

/// Names one use of a tool within its conversation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ToolId(pub String);

/// What a tool is for, so that a front-end can show it fittingly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// Removes files or data.
    Delete,
    /// Changes files.
    Edit,
    /// Runs a command.
    Execute,
    /// Gets something from elsewhere.
    Fetch,
    /// Moves or renames files.
    Move,
    /// Anything else.
    #[default]
    Other,
    /// Reads files or data.
    Read,
    /// Looks for something.
    Search,
    /// Thinks or plans.
    Think,
}

/// A place in a file that a tool works on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// A tool is used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Which use it is.
    pub id: ToolId,
    /// The tool.
    pub name: String,
    /// What it does, in words for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What it is for.
    #[serde(default)]
    pub kind: ToolKind,
    /// What it was given; an object, or null if that is not known.
    #[serde(default)]
    pub parameters: Value,
    /// What it works on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locations: Vec<Location>,
}

/// How the use of a tool ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// It did what it was to do.
    Completed,
    /// It did not.
    Failed,
}

/// What the use of a tool came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// Which use it was.
    pub id: ToolId,
    /// How it ended.
    pub status: ToolStatus,
    /// What it says, as text.
    #[serde(default)]
    pub output: String,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What it says in other forms.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<ToolContent>,
}

impl ToolResult {
    /// A use that ended well.
    pub fn completed(id: ToolId, output: impl Into<String>) -> Self {
        Self { id, status: ToolStatus::Completed, output: output.into(), error: None, content: Vec::new() }
    }

    /// Bytes of what it says, roughly.
    pub fn size(&self) -> usize {
        let content = self.content.iter().map(|content| match content {
            ToolContent::Diff { old, new, .. } => old.as_ref().map_or(0, String::len) + new.len(),
            ToolContent::Terminal { id } => id.len(),
        });
        self.output.len() + content.sum::<usize>()
    }

    /// A use that did not.
    pub fn failed(id: ToolId, error: impl Into<String>) -> Self {
        let error = Some(error.into());
        Self { id, status: ToolStatus::Failed, output: String::new(), error, content: Vec::new() }
    }
}

/// What a tool says besides text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToolContent {
    /// A change of a file.
    Diff {
        /// The file.
        path: PathBuf,
        /// What it held before; nothing if it is new.
        old: Option<String>,
        /// What it holds now.
        new: String,
    },
    /// A terminal in which something runs.
    Terminal {
        /// Its name among the agent's terminals.
        id: String,
    },
}
