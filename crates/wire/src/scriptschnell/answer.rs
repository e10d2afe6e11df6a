//! The replies of the daemon.

use super::time::Time;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The client is accepted (SS-13, SS-16).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthResponse {
    /// Always true.
    pub success: bool,
    /// Id of this connection.
    pub connection_id: String,
    /// Version of the protocol.
    pub server_version: String,
    /// Capabilities of the daemon.
    pub server_capabilities: Vec<String>,
    /// Version of the protocol.
    #[serde(default)]
    pub version: String,
    /// Oldest version of the protocol that it supports.
    #[serde(default)]
    pub min_compatible_version: String,
}

/// The client has to prove that it knows the secret (SS-20).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthChallenge {
    /// The nonce to sign.
    pub nonce: String,
    /// When it was created, in Unix seconds.
    pub timestamp: u64,
}

/// A session was created (SS-29).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionCreated {
    /// Its name.
    pub session_id: String,
    /// `created`.
    pub status: String,
    /// Its directory.
    pub workspace: String,
    /// Its directory.
    pub working_dir: String,
    /// When it was created.
    pub created_at: Time,
    /// *Addition*: whether this connection owns the session.
    #[serde(default)]
    pub owner: bool,
    /// *Addition*: whether a generation is running.
    #[serde(default)]
    pub running: bool,
    /// *Addition*: whether a program on a terminal answers, whose text is not Markdown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub terminal: bool,
    /// *Addition*: who answers: an agent, or the program on the terminal; absent if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// The connection is attached to a session (SS-34, SS-35).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionPlace {
    /// Its name.
    pub session_id: String,
    /// `attached` for its owner, `observing` for others.
    pub status: String,
    /// Its directory.
    pub workspace: String,
    /// Its directory.
    pub working_dir: String,
    /// *Addition*: whether this connection owns the session.
    #[serde(default)]
    pub owner: bool,
    /// *Addition*: whether a generation is running.
    #[serde(default)]
    pub running: bool,
}

/// The new state of a session (SS-37, SS-42).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionState {
    /// Its name.
    pub session_id: String,
    /// `detached` or `deleted`.
    pub status: String,
}

/// Nothing but a status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusReply {
    /// The status.
    pub status: String,
}

impl StatusReply {
    /// Creates a reply with this status.
    pub fn of(status: &str) -> Self {
        Self { status: status.to_owned() }
    }
}

/// A session was saved (SS-44).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionSaved {
    /// Its name.
    pub session_id: String,
    /// Its title.
    pub title: String,
    /// When it was saved.
    pub saved_at: Time,
    /// `saved`.
    pub status: String,
}

/// A session was loaded (SS-45).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionLoaded {
    /// Its name.
    pub session_id: String,
    /// Its directory.
    pub working_dir: String,
    /// Its directory.
    pub workspace: String,
    /// Its title.
    pub title: String,
    /// Its messages.
    pub messages: Vec<HistoryItem>,
    /// `loaded`.
    pub status: String,
    /// *Addition*: whether this connection owns the session.
    #[serde(default)]
    pub owner: bool,
    /// *Addition*: whether a generation is running.
    #[serde(default)]
    pub running: bool,
    /// *Addition*: whether the oldest messages were left out because they do not fit a line.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// *Addition*: whether a program on a terminal answers, whose text is not Markdown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub terminal: bool,
    /// *Addition*: who answers: an agent, or the program on the terminal; absent if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// A message of a conversation (SS-41, SS-45).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryItem {
    /// Role of its author.
    pub role: String,
    /// Its text.
    pub content: String,
    /// When it was sent.
    pub timestamp: Time,
    /// *Addition*: how it ended if it is not complete: `failed`, `interrupted` or `stopped`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<String>,
}

/// Sessions (SS-39).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionList {
    /// Each once, the newest first.
    pub sessions: Vec<SessionItem>,
}

/// One session in a list (SS-40, SS-41).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionItem {
    /// Its name.
    pub session_id: String,
    /// Its name.
    pub id: String,
    /// Its directory.
    pub workspace: String,
    /// Its directory.
    pub working_dir: String,
    /// Its title.
    pub title: String,
    /// When it was created.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
    /// Number of messages in it.
    pub message_count: usize,
    /// `active` while a generation is running, else `idle`.
    pub status: String,
    /// Its messages, as far as they fit.
    #[serde(default)]
    pub message_history: Vec<HistoryItem>,
    /// Its tokens and cost.
    #[serde(flatten)]
    pub usage: UsageInfo,
    /// *Addition*: whether it is in memory.
    #[serde(default)]
    pub live: bool,
    /// *Addition*: who answers: an agent, or the program on its terminal; absent if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// Tokens and cost of answers, as far as known (SS-41).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct UsageInfo {
    /// All tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<u64>,
    /// Those of them that were cached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u64>,
    /// US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_cost: Option<f64>,
}

/// A generation has ended (SS-49, SS-55).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChatEnd {
    /// `completed` or `stopped`.
    pub status: String,
    /// *Addition*: the session.
    #[serde(default)]
    pub session_id: String,
    /// *Addition*: tokens and cost of the session so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageInfo>,
    /// *Addition*: share of the agent's context window in use, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_usage: Option<u8>,
    /// *Addition*: what the user should know, such as that a program goes on after the answer was stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

/// Settings (SS-67): plain, and again with their types.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConfigReply {
    /// Each setting.
    pub config: BTreeMap<String, Value>,
    /// Each setting with its type.
    #[serde(flatten)]
    pub typed: BTreeMap<String, TypedValue>,
}

/// A setting with its type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TypedValue {
    /// The setting.
    pub value: Value,
    /// `string`, `number`, `bool` or `object`.
    #[serde(rename = "type")]
    pub kind: String,
}

/// Settings were changed (SS-68).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConfigUpdated {
    /// The changed settings.
    pub updated: BTreeMap<String, Value>,
    /// `updated`.
    pub status: String,
}

/// Workspaces (SS-70).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceList {
    /// By path.
    pub workspaces: Vec<WorkspaceItem>,
}

/// One workspace in a list (SS-70).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceItem {
    /// The directory.
    pub path: String,
    /// Short name, for where a path is too long.
    pub hash: String,
    /// The same.
    pub id: String,
    /// Name for people.
    pub name: String,
    /// Further directories that may be read.
    pub context_directories: Vec<String>,
    /// The same.
    pub context_dirs: Vec<String>,
    /// The repository it is in, or nothing.
    pub repository_root: String,
    /// The branch that is checked out, or nothing.
    pub current_branch: String,
    /// Whether it is an additional working tree of a repository.
    pub is_worktree: bool,
    /// Name of that working tree, or nothing.
    pub worktree_name: String,
    /// Number of its sessions.
    pub session_count: usize,
    /// When it was last used.
    pub last_accessed: Time,
    /// When it was added.
    pub created_at: Time,
    /// Further directories that commands may read.
    pub landlock_read: Vec<String>,
    /// Further directories that commands may write.
    pub landlock_write: Vec<String>,
    /// Domains that need no approval, each with `true`, as clients read them.
    pub domains_approved: BTreeMap<String, bool>,
    /// Commands that need no approval, in the same way.
    pub commands_approved: BTreeMap<String, bool>,
}

/// A workspace was set (SS-72).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceSetReply {
    /// Short name, for where a path is too long.
    pub workspace_id: String,
    /// The directory.
    pub path: String,
    /// Name for people.
    pub name: String,
    /// `set`.
    pub status: String,
}

/// A working tree was created (SS-73).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceCreated {
    /// Short name, for where a path is too long.
    pub workspace_id: String,
    /// The directory.
    pub path: String,
    /// Always true.
    pub is_worktree: bool,
}

/// Whether events are held back (SS-74).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowState {
    /// Whether they are.
    pub paused: bool,
}
