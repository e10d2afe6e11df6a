//! Where conversations are kept on disk.

use crate::message::Role;
use crate::saved::{Saved, Summary};
use crate::workspace::Workspace;
use std::fmt;
use std::path::Path;
use swb_types::Timestamp;

/// Keeps conversations and workspaces on disk. Its calls wait for the disk.
///
/// Nothing is created before something is to be kept; asked before that, it knows nothing.
pub trait Archive: fmt::Debug + Send + Sync {
    /// Keeps a conversation in place of what was kept under its name. It is on disk when this returns; a crash leaves
    /// the old or the new state.
    fn save(&self, saved: &Saved) -> Result<(), ArchiveError>;

    /// A conversation, if it is kept.
    fn load(&self, name: &str) -> Result<Option<Saved>, ArchiveError>;

    /// Forgets a conversation; whether it was kept.
    fn delete(&self, name: &str) -> Result<bool, ArchiveError>;

    /// Conversations, those of one workspace or all, the newest first.
    fn list(&self, workspace: Option<&Path>) -> Result<Vec<Summary>, ArchiveError>;

    /// Messages with all these words, those of one workspace or all, the best first.
    fn search(
        &self,
        words: &str,
        workspace: Option<&Path>,
        most: usize,
    ) -> Result<Vec<SearchHit>, ArchiveError>;

    /// Workspaces that are kept.
    fn workspaces(&self) -> Result<Vec<Workspace>, ArchiveError>;

    /// Keeps a workspace in place of what was kept under its path.
    fn keep_workspace(&self, workspace: &Workspace) -> Result<(), ArchiveError>;
}

/// What is kept cannot be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ArchiveError(pub String);

/// A message in which something was found.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchHit {
    /// The conversation.
    pub summary: Summary,
    /// The message's number in it.
    pub number: u64,
    /// Who said it.
    pub role: Role,
    /// When.
    pub at: Timestamp,
    /// The words and some around them; what was found stands between U+0002 and U+0003.
    pub excerpt: String,
}
