//! A conversation as it is kept.

use crate::message::{Message, Usage};
use crate::settings::Settings;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;
use swb_types::{SessionName, Timestamp};

/// Everything of a conversation that outlives its process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Saved {
    /// Its name, unique in the system.
    pub name: SessionName,
    /// What it is about; empty if nobody has said so.
    pub title: String,
    /// The workspace it belongs to.
    pub workspace: PathBuf,
    /// The directory its agent works in.
    pub working_dir: PathBuf,
    /// When it was made.
    pub created: Timestamp,
    /// When it last changed.
    pub updated: Timestamp,
    /// What was set for it.
    #[serde(default)]
    pub settings: Settings,
    /// What it has cost.
    #[serde(default)]
    pub usage: Usage,
    /// What the agent needs to go on with it, in its own form.
    #[serde(default)]
    pub resume: Option<Value>,
    /// What was said.
    #[serde(default)]
    pub messages: Vec<Message>,
}

/// A conversation in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Its name.
    pub name: SessionName,
    /// What it is about.
    pub title: String,
    /// The workspace it belongs to.
    pub workspace: PathBuf,
    /// The directory its agent works in.
    pub working_dir: PathBuf,
    /// When it was made.
    pub created: Timestamp,
    /// When it last changed.
    pub updated: Timestamp,
    /// Messages in it.
    pub message_count: usize,
    /// What it has cost.
    pub usage: Usage,
}

impl Saved {
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
            message_count: self.messages.len(),
            usage: self.usage,
        }
    }
}
