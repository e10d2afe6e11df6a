//! Engine errors in the words of the protocol.

use swb_engine::{Error, InputError, RelayError};
use swb_wire::control::{ErrorCode, ErrorReply};

pub(super) fn reply(error: &Error) -> ErrorReply {
    let code = match error {
        Error::Name(_) => ErrorCode::InvalidCommand,
        Error::NameTaken(name) | Error::WorkspaceTaken(name) => {
            // CO-21
            return ErrorReply::new(ErrorCode::SessionExists, error.to_string()).with_session(name.as_str());
        }
        Error::NoSession(_) => ErrorCode::SessionNotFound,
        Error::NoPty { .. } | Error::NoScreen => ErrorCode::PtyNotFound,
        Error::Ended(_) => ErrorCode::SessionEnded,
        Error::CannotStart { .. } => ErrorCode::SpawnFailed,
        Error::Limit(_) => ErrorCode::LimitReached,
        Error::Endpoint(_) => ErrorCode::FrontFailed,
        Error::Keeper(_) | Error::Screens(_) => ErrorCode::InternalError,
    };
    ErrorReply::new(code, error.to_string())
}

pub(super) fn input(error: InputError) -> ErrorReply {
    let code = match error {
        InputError::Ended => ErrorCode::SessionEnded,
        InputError::TooMuch => ErrorCode::LimitReached,
    };
    ErrorReply::new(code, error.to_string())
}

/// An error of the relay about a session or turn of this name.
pub(super) fn relay(error: &RelayError, name: &str) -> ErrorReply {
    let code = match error {
        RelayError::NoSession => return reply(&Error::NoSession(name.to_owned())),
        RelayError::NoTurn | RelayError::NoSuchTurn | RelayError::Empty => ErrorCode::TurnNotFound,
        RelayError::Disconnected => ErrorCode::SessionEnded,
        RelayError::Busy | RelayError::Limit(_) => ErrorCode::LimitReached,
        RelayError::Taken => ErrorCode::SessionExists,
        RelayError::File(_) | RelayError::Clipboard(_) | RelayError::Memory(_) => ErrorCode::InternalError,
    };
    let text = match error {
        RelayError::NoTurn => format!("session '{name}' has no completed turn"),
        RelayError::NoSuchTurn => format!("there is no turn '{name}'"),
        other => other.to_string(),
    };
    ErrorReply::new(code, text)
}
