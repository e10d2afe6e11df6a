//! Engine errors in the words of the protocol.

use swb_engine::{Error, InputError};
use swb_wire::coop::{ErrorCode, ErrorReply};

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
        Error::Entrance(_) => ErrorCode::FrontFailed,
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
