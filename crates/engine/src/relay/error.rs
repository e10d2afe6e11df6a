//! What can go wrong with turns, by cause.

use crate::pty::InputError;
use std::io;

/// Why the relay did not do what it was asked.
///
/// Exhaustive on purpose: a new kind has to find its words in every dialect before it compiles.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RelayError {
    /// There is no such session.
    #[error("there is no such session")]
    NoSession,
    /// The session has no turn.
    #[error("the session has no completed turn")]
    NoTurn,
    /// There is no such turn, or not any more.
    #[error("there is no such turn")]
    NoSuchTurn,
    /// Nothing has been captured yet.
    #[error("nothing has been captured")]
    Empty,
    /// The session cannot be reached any more.
    #[error("the session cannot be reached any more")]
    Disconnected,
    /// Too much waits for the session to read it.
    #[error("too much waits for the session to read it")]
    Busy,
    /// The name belongs to a live session.
    #[error("a session of that name already exists")]
    Taken,
    /// One of the limits was reached.
    #[error("{0}")]
    Limit(&'static str),
    /// The file cannot be written.
    #[error("the file cannot be written: {0}")]
    File(String),
    /// The clipboard cannot be set.
    #[error("the clipboard cannot be set: {0}")]
    Clipboard(String),
    /// The system has no memory or thread for it.
    #[error("the turn cannot be kept: {0}")]
    Memory(String),
}

impl From<InputError> for RelayError {
    fn from(error: InputError) -> Self {
        match error {
            InputError::Ended => Self::Disconnected,
            InputError::TooMuch => Self::Busy,
        }
    }
}

impl RelayError {
    pub(super) fn memory(error: io::Error) -> Self {
        Self::Memory(error.to_string())
    }
}
