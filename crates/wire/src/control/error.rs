//! What goes wrong, in the words of the protocol (CO-18).

use crate::limits;
use crate::text::clip;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Machine-readable reason of an error reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum ErrorCode {
    /// The agent is doing something else.
    AgentBusy,
    /// Nothing of that name waits for an approval.
    ApprovalNotFound,
    /// An address could not be bound.
    BindFailed,
    /// The caller's role or scope does not allow the operation.
    Forbidden,
    /// A dialect that was required cannot offer the session.
    FrontFailed,
    /// Something unexpected.
    InternalError,
    /// The message makes no sense.
    InvalidCommand,
    /// There are too many of something.
    LimitReached,
    /// The message is longer than a frame may be.
    MessageTooLarge,
    /// The command is known but this daemon does not offer it.
    NotImplemented,
    /// The session has no PTY of that number.
    PtyNotFound,
    /// The session is over, so there is nothing to act on.
    SessionEnded,
    /// The name or the workspace is taken.
    SessionExists,
    /// There is no such session.
    SessionNotFound,
    /// The command could not be started.
    SpawnFailed,
    /// There is no such turn, or none at all.
    TurnNotFound,
    /// No tunnel could be made.
    TunnelFailed,
    /// The peer speaks another version.
    VersionMismatch,
    /// A code this build does not know; only ever received.
    #[serde(other)]
    Unknown,
}

impl ErrorCode {
    /// The code as it stands on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AgentBusy => "AGENT_BUSY",
            Self::ApprovalNotFound => "APPROVAL_NOT_FOUND",
            Self::BindFailed => "BIND_FAILED",
            Self::Forbidden => "FORBIDDEN",
            Self::FrontFailed => "FRONT_FAILED",
            Self::InternalError => "INTERNAL_ERROR",
            Self::InvalidCommand => "INVALID_COMMAND",
            Self::LimitReached => "LIMIT_REACHED",
            Self::MessageTooLarge => "MESSAGE_TOO_LARGE",
            Self::NotImplemented => "NOT_IMPLEMENTED",
            Self::PtyNotFound => "PTY_NOT_FOUND",
            Self::SessionEnded => "SESSION_ENDED",
            Self::SessionExists => "SESSION_EXISTS",
            Self::SessionNotFound => "SESSION_NOT_FOUND",
            Self::SpawnFailed => "SPAWN_FAILED",
            Self::TurnNotFound => "TURN_NOT_FOUND",
            Self::TunnelFailed => "TUNNEL_FAILED",
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct ErrorReply {
    /// Always false.
    pub ok: bool,
    /// The reason, for programs.
    pub error: ErrorCode,
    /// The reason, for people.
    #[serde(default)]
    pub message: String,
    /// The session that is in the way, with [`ErrorCode::SessionExists`] (CO-21).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

impl ErrorReply {
    /// Makes a reply; an overlong message is cut.
    pub fn new(error: ErrorCode, message: impl AsRef<str>) -> Self {
        Self {
            ok: false,
            error,
            message: clip(message.as_ref(), limits::CONTROL_EXPLANATION).to_owned(),
            session: None,
        }
    }

    /// Adds the session that is in the way.
    #[must_use]
    pub fn with_session(mut self, session: impl Into<String>) -> Self {
        self.session = Some(session.into());
        self
    }
}

/// A message that cannot be understood, with an explanation for people (CO-15).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadMessage(pub String);

impl BadMessage {
    pub(super) fn new(text: impl AsRef<str>) -> Self {
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
