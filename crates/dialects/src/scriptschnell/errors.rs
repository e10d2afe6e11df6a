//! Engine errors as error codes of the protocol.

use swb_chat::Refused;
use swb_engine::chat::{ChatError, Failure};
use swb_wire::scriptschnell::{ErrorCode, ErrorInfo};

/// The result of an engine call, with its error as it goes over the wire.
pub(super) fn mapped<T>(result: Result<T, ChatError>) -> Result<T, ErrorInfo> {
    result.map_err(|error| info(&error))
}

pub(super) fn info(error: &ChatError) -> ErrorInfo {
    let code = match error {
        ChatError::Agent(_) | ChatError::Store(_) => ErrorCode::InternalError,
        ChatError::Exists(_) => ErrorCode::SessionExists,
        ChatError::Limit(_) | ChatError::Terminal(_) => ErrorCode::OperationNotAllowed,
        ChatError::Name(_) | ChatError::NoAgent(..) => ErrorCode::InvalidRequest,
        ChatError::NotFound(_) => ErrorCode::SessionNotFound,
        ChatError::Refused(refused) => refusal(*refused),
        ChatError::FileAccess(_) | ChatError::WorkspaceDenied(_) => ErrorCode::WorkspaceAccessDenied,
        ChatError::WorkspaceInvalid(_) => ErrorCode::WorkspaceInvalid,
    };
    ErrorInfo::new(code, error.to_string())
}

fn refusal(refused: Refused) -> ErrorCode {
    match refused {
        Refused::Busy | Refused::Limit(_) | Refused::NotOwner => ErrorCode::OperationNotAllowed,
        Refused::Empty | Refused::NotAsked => ErrorCode::InvalidRequest,
    }
}

/// Why an agent did not answer (SS-80).
pub(super) fn failure(failure: &Failure) -> ErrorInfo {
    let code = match failure {
        Failure::Agent(_) | Failure::GoesOn(_) => ErrorCode::InternalError,
        Failure::NotConfigured(_) => ErrorCode::NotImplemented,
        Failure::NotAllowed(_) => ErrorCode::OperationNotAllowed,
    };
    ErrorInfo::new(code, failure.to_string())
}

pub(super) fn invalid(text: impl Into<String>) -> ErrorInfo {
    ErrorInfo::new(ErrorCode::InvalidRequest, text)
}

pub(super) fn not_allowed(text: impl Into<String>) -> ErrorInfo {
    ErrorInfo::new(ErrorCode::OperationNotAllowed, text)
}
