//! Failures as the user sees them: one sentence, a hint what to do, and a fixed exit code.

use std::io;
use swb_wire::control::{ErrorCode, ErrorReply, ReplyError};

/// The result of a command: an exit code, or why it failed.
pub(crate) type Outcome = Result<u8, Failure>;

/// A failed command.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Failure {
    kind: FailureKind,
    message: String,
    hint: Option<String>,
    /// The existing session that has the name of the new one.
    existing: Option<String>,
}

/// Why a command failed, as far as the exit code shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// The agent is waiting for an answer.
    Asks,
    /// The reader of our output is gone; nothing is printed.
    BrokenPipe,
    /// The connection was closed before the reply arrived.
    Disconnected,
    /// The name is in use.
    Exists,
    /// Any failure without an exit code of its own.
    General,
    /// The daemon rejected the request as invalid.
    Invalid,
    /// The daemon did not start.
    NoDaemon,
    /// The session does not exist.
    NoSession,
    /// The arguments are invalid.
    Usage,
}

impl FailureKind {
    /// The exit code, as `swb --help` documents it.
    pub(crate) fn exit_code(self) -> u8 {
        match self {
            Self::BrokenPipe => 0,
            Self::Disconnected | Self::Exists | Self::General | Self::Invalid => 1,
            Self::Usage => 2,
            Self::NoSession => 3,
            Self::NoDaemon => 4,
            Self::Asks => 5,
        }
    }
}

impl Failure {
    /// Creates a failure without a hint.
    pub(crate) fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None, existing: None }
    }

    /// Creates a failure that has no exit code of its own.
    pub(crate) fn general(message: impl Into<String>) -> Self {
        Self::new(FailureKind::General, message)
    }

    /// Creates a failure about the arguments.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Usage, message)
    }

    /// Adds a hint what to do.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The hint so far.
    pub(crate) fn hint_text(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Why it failed.
    pub(crate) fn kind(&self) -> FailureKind {
        self.kind
    }

    /// The existing session that has the requested name.
    pub(crate) fn existing(&self) -> Option<&str> {
        self.existing.as_deref()
    }

    /// Creates the failure of a system call; `what` describes the attempt.
    pub(crate) fn io(what: impl AsRef<str>, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::new(FailureKind::BrokenPipe, "standard output is closed"),
            _ => Self::general(format!("{}: {error}", what.as_ref())),
        }
    }

    /// The lines for standard error; empty if nothing is to be printed.
    pub(crate) fn render(&self, program: &str) -> String {
        match (self.kind, &self.hint) {
            (FailureKind::BrokenPipe, _) => String::new(),
            (_, None) => format!("{program}: {}\n", self.message),
            (_, Some(hint)) => format!("{program}: {}\nhint: {hint}\n", self.message),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::new(FailureKind::BrokenPipe, "standard output is closed"),
            _ => Self::general(error.to_string()),
        }
    }
}

impl From<rustix::io::Errno> for Failure {
    fn from(error: rustix::io::Errno) -> Self {
        io::Error::from(error).into()
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        io::Error::from(error).into()
    }
}

impl From<ErrorReply> for Failure {
    fn from(reply: ErrorReply) -> Self {
        let message = if reply.message.is_empty() { reply.error.to_string() } else { reply.message };
        let failure = |kind| Self::new(kind, message.clone());
        let mut failure = match reply.error {
            ErrorCode::SessionNotFound => failure(FailureKind::NoSession).hint("`swb ls` lists the sessions"),
            ErrorCode::SessionExists => {
                let attach = reply
                    .session
                    .as_deref()
                    .map(|name| format!("attach to it with `swb attach {name}`, or "));
                failure(FailureKind::Exists)
                    .hint(format!("{}choose another name with `-n`", attach.unwrap_or_default()))
            }
            ErrorCode::InvalidCommand => failure(FailureKind::Invalid),
            ErrorCode::PtyNotFound => {
                failure(FailureKind::General).hint("`swb ls --json` lists the terminals of a session")
            }
            ErrorCode::SessionEnded => {
                failure(FailureKind::General).hint("`swb logs` shows its output; `swb kill` removes it")
            }
            ErrorCode::ApprovalNotFound => {
                failure(FailureKind::General).hint("`swb approvals` lists pending approvals")
            }
            ErrorCode::SpawnFailed => {
                failure(FailureKind::General).hint("is the command installed and in PATH?")
            }
            ErrorCode::VersionMismatch => {
                failure(FailureKind::General).hint("`swb upgrade` replaces the daemon with this version")
            }
            _ => failure(FailureKind::General),
        };
        failure.existing = reply.session;
        // The daemon knows more about the cause.
        failure.hint = reply.hint.or(failure.hint);
        failure
    }
}

impl From<ReplyError> for Failure {
    fn from(error: ReplyError) -> Self {
        match error {
            ReplyError::Refused(reply) => reply.into(),
            other => Self::general(format!("cannot parse the daemon's reply ({other})"))
                .hint("`swb upgrade` replaces the daemon with this version"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_a_hint() {
        let gone = Failure::from(ErrorReply::new(ErrorCode::SessionNotFound, "there is no session 'web'"));
        insta::assert_snapshot!(gone.render("swb"), @r"
        swb: there is no session 'web'
        hint: `swb ls` lists the sessions
        ");
        insta::assert_snapshot!(Failure::usage("a name is needed").render("coop"), @"coop: a name is needed");
        assert_eq!(Failure::from(io::Error::from(io::ErrorKind::BrokenPipe)).render("swb"), "");
    }

    #[test]
    fn error_replies_keep_their_kind() {
        let taken = ErrorReply::new(ErrorCode::SessionExists, "session 'a' exists").with_session("a");
        let failure = Failure::from(taken);
        assert_eq!((failure.kind(), failure.existing()), (FailureKind::Exists, Some("a")));
        let gone = Failure::from(ErrorReply::new(ErrorCode::SessionNotFound, "no session 'x'"));
        assert_eq!(gone.kind().exit_code(), 3);
        let own = ErrorReply::new(ErrorCode::SessionNotFound, "no session 'x'").with_hint("look elsewhere");
        assert_eq!(Failure::from(own).render("swb"), "swb: no session 'x'\nhint: look elsewhere\n");
        let odd = Failure::from(ErrorReply::new(ErrorCode::Unknown, ""));
        assert_eq!(odd.to_string(), "UNKNOWN");
    }
}
