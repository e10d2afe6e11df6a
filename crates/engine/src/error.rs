//! Errors of the engine, by cause.

use std::borrow::Cow;
use swb_types::{NameError, PtyId, SessionName};

/// Why an operation of the engine was refused or failed.
///
/// Exhaustive on purpose: every dialect must map a new kind before it compiles.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The name is not a valid session name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The name belongs to a live session.
    #[error("a session named '{0}' already exists")]
    NameTaken(SessionName),
    /// The workspace is bound to a live session.
    #[error("the workspace already has the session '{0}'")]
    WorkspaceTaken(SessionName),
    /// There is no such session.
    #[error("no session named '{0}'")]
    NoSession(String),
    /// The session has no such PTY.
    #[error("session '{session}' has no PTY {pty}")]
    NoPty {
        /// The session asked.
        session: SessionName,
        /// The PTY asked for.
        pty: PtyId,
    },
    /// The process or session has ended.
    #[error("session '{0}' has ended")]
    Ended(SessionName),
    /// The command cannot be run.
    #[error("cannot start '{command}': {reason}")]
    CannotStart {
        /// The program.
        command: String,
        /// Why, as text for people.
        reason: String,
    },
    /// The terminal's slot was freed, and its screen with it.
    #[error("the terminal and its screen no longer exist")]
    NoScreen,
    /// The thread for screens cannot be started.
    #[error("cannot start the screen thread: {0}")]
    Screens(String),
    /// One of the limits was reached.
    #[error("{0}")]
    Limit(Cow<'static, str>),
    /// An endpoint that the session requires cannot be opened.
    #[error("{0}")]
    Endpoint(String),
    /// The keeper already serves a daemon.
    #[error("another daemon is already running (pid {0})")]
    AnotherDaemon(u64),
    /// The keeper does not run, or refused the connection.
    #[error("the keeper is not available: {0}")]
    Keeper(String),
}
