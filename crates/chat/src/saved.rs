//! A conversation as stored on disk.

use crate::message::{Message, Usage};
use crate::settings::ConversationSettings;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;
use swb_types::{SessionName, Timestamp};

/// Everything of a conversation that outlives the daemon.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SavedConversation {
    /// Its name, unique in the system.
    pub name: SessionName,
    /// Its title; empty if there is none.
    pub title: String,
    /// The workspace it belongs to.
    pub workspace: PathBuf,
    /// The directory its agent works in.
    pub working_dir: PathBuf,
    /// When it was created.
    pub created: Timestamp,
    /// When it last changed.
    pub updated: Timestamp,
    /// Its settings.
    #[serde(default)]
    pub settings: ConversationSettings,
    /// Its usage.
    #[serde(default)]
    pub usage: Usage,
    /// What the agent needs to resume it, in the agent's own form.
    #[serde(default)]
    pub resume: Option<Value>,
    /// Its messages.
    #[serde(default)]
    pub messages: Vec<Message>,
}

/// A conversation in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Its name.
    pub name: SessionName,
    /// Its title.
    pub title: String,
    /// The workspace it belongs to.
    pub workspace: PathBuf,
    /// The directory its agent works in.
    pub working_dir: PathBuf,
    /// When it was created.
    pub created: Timestamp,
    /// When it last changed.
    pub updated: Timestamp,
    /// Who answers: an agent, or the program in a session's terminal; `None` if that is not known.
    pub agent: Option<String>,
    /// Number of messages.
    pub message_count: usize,
    /// Its usage.
    pub usage: Usage,
}

impl SavedConversation {
    /// Everything else.
    pub fn without_messages(&self) -> Self {
        Self {
            name: self.name.clone(),
            title: self.title.clone(),
            workspace: self.workspace.clone(),
            working_dir: self.working_dir.clone(),
            created: self.created,
            updated: self.updated,
            settings: self.settings.clone(),
            usage: self.usage,
            resume: self.resume.clone(),
            messages: Vec::new(),
        }
    }

    /// What a list shows of it.
    pub fn summary(&self) -> Summary {
        Summary {
            name: self.name.clone(),
            title: self.title.clone(),
            workspace: self.workspace.clone(),
            working_dir: self.working_dir.clone(),
            created: self.created,
            updated: self.updated,
            agent: self.settings.answering().map(str::to_owned),
            message_count: self.messages.len(),
            usage: self.usage,
        }
    }
}
