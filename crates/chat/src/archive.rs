//! Storage of conversations on disk.

use crate::message::Author;
use crate::saved::{SavedConversation, Summary};
use crate::workspace::Workspace;
use std::fmt;
use std::path::{Path, PathBuf};
use swb_types::{SessionName, Timestamp};

/// Stores conversations and workspaces on disk. Calls block on the disk.
///
/// Storage is created with the first save; until then every query returns nothing.
pub trait Archive: fmt::Debug + Send + Sync {
    /// Stores a conversation in place of the one with its name. It is on disk when this returns; a crash leaves
    /// the old or the new state.
    fn save(&self, saved: &SavedConversation) -> Result<(), ArchiveError>;

    /// A conversation, if it is stored.
    fn load(&self, name: &str) -> Result<Option<SavedConversation>, ArchiveError>;

    /// Deletes a conversation; returns whether it was stored.
    fn delete(&self, name: &str) -> Result<bool, ArchiveError>;

    /// Conversations, of one workspace or all, newest first.
    fn list(&self, workspace: Option<&Path>) -> Result<Vec<Summary>, ArchiveError>;

    /// At most `most` messages with all these words, of one workspace or all, best first.
    fn search(
        &self,
        words: &str,
        workspace: Option<&Path>,
        most: usize,
    ) -> Result<Vec<SearchHit>, ArchiveError>;

    /// The newest messages of users, at most `most`.
    fn prompts(&self, most: usize) -> Result<Vec<FoundPrompt>, ArchiveError>;

    /// All stored workspaces.
    fn workspaces(&self) -> Result<Vec<Workspace>, ArchiveError>;

    /// Stores a workspace in place of the one with its path.
    fn keep_workspace(&self, workspace: &Workspace) -> Result<(), ArchiveError>;

    /// Removes a workspace, if it is stored.
    fn forget_workspace(&self, path: &Path) -> Result<(), ArchiveError>;
}

/// The archive cannot be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ArchiveError(pub String);

/// A message of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundPrompt {
    /// The conversation.
    pub name: SessionName,
    /// The workspace it belongs to.
    pub workspace: PathBuf,
    /// The message's time.
    pub at: Timestamp,
    /// Its text.
    pub text: String,
}

/// A message that matches a search.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchHit {
    /// The conversation.
    pub summary: Summary,
    /// The message's number in it.
    pub number: u64,
    /// Its author.
    pub role: Author,
    /// Its time.
    pub at: Timestamp,
    /// An excerpt; words that were found stand between U+0002 and U+0003.
    pub excerpt: String,
}
