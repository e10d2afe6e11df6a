//! Errors of the relay, by cause.

use crate::pty::InputError;
use std::io;

/// Why an operation of the relay was refused or failed.
///
/// Exhaustive on purpose: every dialect must map a new kind before it compiles.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RelayError {
    /// There is no such session.
    #[error("there is no such session")]
    NoSession,
    /// The session has no turn.
    #[error("the session has no completed turn")]
    NoTurn,
    /// There is no such turn, or it is no longer kept.
    #[error("there is no such turn")]
    NoSuchTurn,
    /// Nothing has been captured yet.
    #[error("the relay buffer is empty; capture a turn first")]
    Empty,
    /// The session's terminal or the wrapper's connection is gone.
    #[error("the session is no longer connected")]
    Disconnected,
    /// The session does not read its input.
    #[error("the session's input queue is full")]
    Busy,
    /// The name belongs to a live session.
    #[error("a session of that name already exists")]
    Taken,
    /// One of the limits was reached.
    #[error("{0}")]
    Limit(&'static str),
    /// The file cannot be written.
    #[error("cannot write the file: {0}")]
    File(String),
    /// The clipboard cannot be set.
    #[error("cannot set the clipboard: {0}")]
    Clipboard(String),
    /// The system has no memory or thread for it.
    #[error("cannot store the turn: {0}")]
    Memory(String),
}

impl From<InputError> for RelayError {
    fn from(error: InputError) -> Self {
        match error {
            InputError::Ended => Self::Disconnected,
            // Only clients number their input; that of a relay is not continued.
            InputError::TooMuch | InputError::Superseded => Self::Busy,
        }
    }
}

impl RelayError {
    pub(super) fn memory(error: io::Error) -> Self {
        Self::Memory(error.to_string())
    }
}
