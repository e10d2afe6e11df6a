//! Errors of conversations, by cause.

use crate::file_access::FileAccessError;
use std::path::PathBuf;
use swb_chat::Refused;
use swb_types::NameError;

/// Why an operation on a conversation was refused or failed.
///
/// Exhaustive on purpose: every dialect must map a new kind before it compiles.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChatError {
    /// The agent failed.
    #[error("{0}")]
    Agent(String),
    /// A session of that name exists.
    #[error("a session named '{0}' already exists")]
    Exists(String),
    /// A directory does not respond.
    #[error(transparent)]
    FileAccess(#[from] FileAccessError),
    /// One of the limits was reached.
    #[error("{0}")]
    Limit(&'static str),
    /// The name is not a valid session name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// There is no such agent; the text names those that are similar, and lists all.
    #[error("no agent named '{0}'; {1}")]
    NoAgent(String, String),
    /// There is no such session.
    #[error("no session named '{0}'")]
    NotFound(String),
    /// It is not possible now, or not for this client.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// It is a session without a conversation.
    #[error("'{0}' is a terminal, not a conversation; `swb kill {0}` ends it")]
    Terminal(String),
    /// The database cannot be read or written.
    #[error("cannot access saved conversations: {0}")]
    Store(String),
    /// The directory is not accessible.
    #[error("cannot enter the workspace {}: permission denied", .0.display())]
    WorkspaceDenied(PathBuf),
    /// There is no such directory.
    #[error("the workspace {} does not exist or is not a directory", .0.display())]
    WorkspaceInvalid(PathBuf),
}
