//! Errors on the wire.

use crate::limits;
use crate::text::clip;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The code of an error.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
#[expect(missing_docs, reason = "the names are those of the protocol")]
pub enum ErrorCode {
    AuthFailed,
    AuthRequired,
    InternalError,
    InvalidRequest,
    NotImplemented,
    OperationNotAllowed,
    SessionExists,
    SessionNotFound,
    Timeout,
    WorkspaceAccessDenied,
    WorkspaceInvalid,
    /// A code that this version does not know.
    Other(String),
}

impl ErrorCode {
    const NAMED: [Self; 11] = [
        Self::AuthFailed,
        Self::AuthRequired,
        Self::InternalError,
        Self::InvalidRequest,
        Self::NotImplemented,
        Self::OperationNotAllowed,
        Self::SessionExists,
        Self::SessionNotFound,
        Self::Timeout,
        Self::WorkspaceAccessDenied,
        Self::WorkspaceInvalid,
    ];

    /// Its name on the wire.
    pub fn as_str(&self) -> &str {
        match self {
            Self::AuthFailed => "AUTH_FAILED",
            Self::AuthRequired => "AUTH_REQUIRED",
            Self::InternalError => "INTERNAL_ERROR",
            Self::InvalidRequest => "INVALID_REQUEST",
            Self::NotImplemented => "NOT_IMPLEMENTED",
            Self::OperationNotAllowed => "OPERATION_NOT_ALLOWED",
            Self::SessionExists => "SESSION_EXISTS",
            Self::SessionNotFound => "SESSION_NOT_FOUND",
            Self::Timeout => "TIMEOUT",
            Self::WorkspaceAccessDenied => "WORKSPACE_ACCESS_DENIED",
            Self::WorkspaceInvalid => "WORKSPACE_INVALID",
            Self::Other(name) => name,
        }
    }
}

impl From<String> for ErrorCode {
    fn from(name: String) -> Self {
        let known = Self::NAMED.into_iter().find(|code| code.as_str() == name);
        known.unwrap_or(Self::Other(name))
    }
}

impl From<ErrorCode> for String {
    fn from(code: ErrorCode) -> Self {
        code.as_str().to_owned()
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An error (SS-11).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct ErrorInfo {
    /// Its code.
    pub code: ErrorCode,
    /// The message for people.
    #[serde(default)]
    pub message: String,
    /// Further details.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
}

impl ErrorInfo {
    /// Creates an error without details; an overlong message is cut.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        let mut message = message.into();
        message.truncate(clip(&message, limits::SCRIPTSCHNELL_EXPLANATION).len());
        Self { code, message, details: None }
    }
}
