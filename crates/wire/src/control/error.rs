//! Errors as the protocol defines them (CO-18).

use crate::limits;
use crate::text::clip;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Machine-readable reason of an error reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum ErrorCode {
    /// The agent is busy.
    AgentBusy,
    /// No such approval is pending.
    ApprovalNotFound,
    /// An address could not be bound.
    BindFailed,
    /// The client cancelled the request.
    Cancelled,
    /// The caller's role or scope does not allow the operation.
    Forbidden,
    /// A dialect that was required cannot offer the session.
    FrontFailed,
    /// An unexpected error of the daemon.
    InternalError,
    /// The message is invalid.
    InvalidCommand,
    /// A limit has been reached.
    LimitReached,
    /// The message is longer than a frame may be.
    MessageTooLarge,
    /// The command is known but this daemon does not support it.
    NotImplemented,
    /// What the session would run comes from a file that the user has not approved.
    NotTrusted,
    /// The peer of a tunnel did not prove that it knows the tunnel's secret.
    ProofFailed,
    /// The session has no PTY of that number.
    PtyNotFound,
    /// The session has ended, and the operation needs a live one.
    SessionEnded,
    /// The name or the workspace is in use.
    SessionExists,
    /// There is no such session.
    SessionNotFound,
    /// The command could not be started.
    SpawnFailed,
    /// There is no such token.
    TokenNotFound,
    /// There is no such turn, or no turn at all.
    TurnNotFound,
    /// No tunnel could be created.
    TunnelFailed,
    /// There is no such tunnel.
    TunnelNotFound,
    /// The peer speaks another version.
    VersionMismatch,
    /// A code that this build does not know; only received.
    #[serde(other)]
    Unknown,
}

impl ErrorCode {
    /// The code as it appears on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AgentBusy => "AGENT_BUSY",
            Self::ApprovalNotFound => "APPROVAL_NOT_FOUND",
            Self::BindFailed => "BIND_FAILED",
            Self::Cancelled => "CANCELLED",
            Self::Forbidden => "FORBIDDEN",
            Self::FrontFailed => "FRONT_FAILED",
            Self::InternalError => "INTERNAL_ERROR",
            Self::InvalidCommand => "INVALID_COMMAND",
            Self::LimitReached => "LIMIT_REACHED",
            Self::MessageTooLarge => "MESSAGE_TOO_LARGE",
            Self::NotImplemented => "NOT_IMPLEMENTED",
            Self::NotTrusted => "NOT_TRUSTED",
            Self::ProofFailed => "PROOF_FAILED",
            Self::PtyNotFound => "PTY_NOT_FOUND",
            Self::SessionEnded => "SESSION_ENDED",
            Self::SessionExists => "SESSION_EXISTS",
            Self::SessionNotFound => "SESSION_NOT_FOUND",
            Self::SpawnFailed => "SPAWN_FAILED",
            Self::TokenNotFound => "TOKEN_NOT_FOUND",
            Self::TurnNotFound => "TURN_NOT_FOUND",
            Self::TunnelFailed => "TUNNEL_FAILED",
            Self::TunnelNotFound => "TUNNEL_NOT_FOUND",
            Self::VersionMismatch => "VERSION_MISMATCH",
            Self::Unknown => "UNKNOWN",
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The reply to a request that was not carried out.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct ErrorReply {
    /// Always false.
    pub ok: bool,
    /// The reason, for programs.
    pub error: ErrorCode,
    /// The reason, for people.
    #[serde(default)]
    pub message: String,
    /// The existing session, with `SESSION_EXISTS` (CO-21).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// What people can do, in terms of the command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl ErrorReply {
    /// Creates a reply; an overlong message is cut.
    pub fn new(error: ErrorCode, message: impl AsRef<str>) -> Self {
        Self {
            ok: false,
            error,
            message: clip(message.as_ref(), limits::CONTROL_EXPLANATION).to_owned(),
            session: None,
            hint: None,
        }
    }

    /// Adds the existing session.
    #[must_use]
    pub fn with_session(mut self, session: impl Into<String>) -> Self {
        self.session = Some(session.into());
        self
    }

    /// Adds what people can do; an overlong text is cut.
    #[must_use]
    pub fn with_hint(mut self, hint: impl AsRef<str>) -> Self {
        self.hint = Some(clip(hint.as_ref(), limits::CONTROL_EXPLANATION).to_owned());
        self
    }
}

/// An invalid message, with an explanation for people (CO-15).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadMessage(pub String);

impl BadMessage {
    pub(crate) fn new(text: impl AsRef<str>) -> Self {
        Self(clip(text.as_ref(), limits::CONTROL_EXPLANATION).to_owned())
    }

    /// The message names a command that does not exist here (CO-49).
    pub fn unknown_command(name: &str) -> Self {
        Self::new(format!("unknown command '{name}'"))
    }
}

impl From<BadMessage> for ErrorReply {
    fn from(bad: BadMessage) -> Self {
        Self::new(ErrorCode::InvalidCommand, bad.0)
    }
}
