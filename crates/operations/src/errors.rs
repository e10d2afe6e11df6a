//! Errors of the engine as error replies.

use swb_chat::Refused;
use swb_engine::chat::ChatError;
use swb_engine::file_access::FileAccessError;
use swb_engine::{DialogError, Error, InputError, RelayError, TypingError};
use swb_wire::control::{BadMessage, ErrorCode, ErrorReply};

pub(crate) fn engine_error(error: &Error) -> ErrorReply {
    let code = match error {
        Error::Name(_) => ErrorCode::InvalidCommand,
        Error::NameTaken(name) | Error::WorkspaceTaken(name) => {
            // CO-21
            return ErrorReply::new(ErrorCode::SessionExists, error.to_string()).with_session(name.as_str());
        }
        Error::NoSession(_) => ErrorCode::SessionNotFound,
        Error::NoPty { .. } | Error::NoScreen => ErrorCode::PtyNotFound,
        Error::Ended(name) => {
            let hint = format!("`swb logs {name}` shows its output; `swb kill {name}` removes it");
            return ErrorReply::new(ErrorCode::SessionEnded, error.to_string()).with_hint(hint);
        }
        Error::CannotStart { .. } => ErrorCode::SpawnFailed,
        Error::Limit(_) => ErrorCode::LimitReached,
        Error::Endpoint(_) => ErrorCode::FrontFailed,
        Error::AnotherDaemon(_) | Error::Keeper(_) | Error::Screens(_) => ErrorCode::InternalError,
    };
    ErrorReply::new(code, error.to_string())
}

pub(crate) fn input_error(error: InputError) -> ErrorReply {
    let code = match error {
        InputError::Ended => ErrorCode::SessionEnded,
        InputError::TooMuch | InputError::Superseded => ErrorCode::LimitReached,
    };
    ErrorReply::new(code, error.to_string())
}

/// An error of the relay about a session or turn of this name.
pub(crate) fn relay_error(error: &RelayError, name: &str) -> ErrorReply {
    let code = match error {
        RelayError::NoSession => return engine_error(&Error::NoSession(name.to_owned())),
        RelayError::NoTurn | RelayError::NoSuchTurn | RelayError::Empty => ErrorCode::TurnNotFound,
        RelayError::Disconnected => ErrorCode::SessionEnded,
        RelayError::Busy | RelayError::Limit(_) => ErrorCode::LimitReached,
        RelayError::Taken => ErrorCode::SessionExists,
        RelayError::File(_) | RelayError::Clipboard(_) | RelayError::Memory(_) => ErrorCode::InternalError,
    };
    let (text, hint) = match error {
        RelayError::NoTurn => (
            format!("session '{name}' has no completed turn"),
            Some(format!(
                "`swb wait {name} --until turn` waits for one; `swb explain {name}` shows its state"
            )),
        ),
        RelayError::NoSuchTurn => {
            let session = name.split(':').next().unwrap_or(name);
            (format!("no turn '{name}'"), Some(format!("`swb turns {session}` lists the turns")))
        }
        RelayError::Empty => (error.to_string(), Some("`swb capture SESSION` fills it".to_owned())),
        other => (other.to_string(), None),
    };
    let reply = ErrorReply::new(code, text);
    hint.into_iter().fold(reply, ErrorReply::with_hint)
}

/// An engine error, for `map_err`.
pub(crate) fn refused(error: Error) -> ErrorReply {
    engine_error(&error)
}

/// The reply to an operation with invalid fields.
pub(crate) fn invalid(text: impl Into<String>) -> ErrorReply {
    BadMessage(text.into()).into()
}

/// An error about a conversation.
pub(crate) fn chat_error(error: &ChatError) -> ErrorReply {
    let code = match error {
        ChatError::Agent(_) | ChatError::Store(_) => ErrorCode::InternalError,
        ChatError::Exists(_) => ErrorCode::SessionExists,
        ChatError::FileAccess(error) => return file_access_error(error),
        ChatError::Limit(_) | ChatError::Refused(Refused::Limit(_)) => ErrorCode::LimitReached,
        ChatError::Name(_)
        | ChatError::NoAgent(..)
        | ChatError::Refused(Refused::Empty | Refused::NotOwner)
        | ChatError::Terminal(_)
        | ChatError::WorkspaceDenied(_)
        | ChatError::WorkspaceInvalid(_) => ErrorCode::InvalidCommand,
        ChatError::NotFound(_) => ErrorCode::SessionNotFound,
        ChatError::Refused(Refused::Busy) => ErrorCode::AgentBusy,
        ChatError::Refused(Refused::NotAsked) => ErrorCode::ApprovalNotFound,
    };
    let text = match error {
        ChatError::Refused(Refused::NotAsked) => "no such approval is pending".to_owned(),
        other => other.to_string(),
    };
    ErrorReply::new(code, text)
}

/// A file that did not respond.
pub(crate) fn file_access_error(error: &FileAccessError) -> ErrorReply {
    let code = match error {
        FileAccessError::TooManyWaiting(_) => ErrorCode::LimitReached,
        _ => ErrorCode::InternalError,
    };
    ErrorReply::new(code, error.to_string())
}

/// An error about the dialog on a terminal.
pub(crate) fn dialog_error(error: &DialogError) -> ErrorReply {
    let code = match error {
        DialogError::Gone => ErrorCode::ApprovalNotFound,
        DialogError::NoOption(_) => ErrorCode::InvalidCommand,
        DialogError::Terminal(TypingError::Input(input)) => return input_error(*input),
        DialogError::Terminal(TypingError::Session(error)) => return engine_error(error),
        DialogError::Terminal(_) => ErrorCode::AgentBusy,
    };
    ErrorReply::new(code, error.to_string())
}
