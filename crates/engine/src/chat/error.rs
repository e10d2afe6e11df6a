//! What can go wrong with conversations, by cause.

use std::path::PathBuf;
use swb_chat::Refused;
use swb_types::NameError;

/// Why something about a conversation was refused or failed.
///
/// Exhaustive on purpose: a new kind has to find its words in every dialect before it compiles.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChatError {
    /// The agent failed.
    #[error("{0}")]
    Agent(String),
    /// A session of that name exists.
    #[error("a session named '{0}' already exists")]
    Exists(String),
    /// One of the limits was reached.
    #[error("{0}")]
    Limit(&'static str),
    /// A name that cannot be used.
    #[error(transparent)]
    Name(#[from] NameError),
    /// There is no such agent; the others are named.
    #[error("there is no agent '{0}'; there are: {1}")]
    NoAgent(String, String),
    /// There is no such session.
    #[error("no session named '{0}'")]
    NotFound(String),
    /// It cannot be done now, or not by this client.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// It is a terminal that nobody has talked to: there is no conversation to act on.
    #[error("'{0}' is a terminal, not a conversation; `swb kill {0}` ends it")]
    Terminal(String),
    /// What is saved cannot be read or written.
    #[error("saved sessions are not available: {0}")]
    Store(String),
    /// The directory may not be entered.
    #[error("the workspace {} cannot be entered: permission denied", .0.display())]
    WorkspaceDenied(PathBuf),
    /// There is no such directory.
    #[error("the workspace {} does not exist or is not a directory", .0.display())]
    WorkspaceInvalid(PathBuf),
}
