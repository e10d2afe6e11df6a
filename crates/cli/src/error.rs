//! Failures as the user meets them: one sentence, what to do about it, and a fixed exit code.

use std::io;
use swb_wire::control::{ErrorCode, ErrorReply, ReplyError};

/// What a command comes to: an exit code, or why it failed.
pub(crate) type Outcome = Result<u8, Failure>;

/// A failed command.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Failure {
    kind: FailureKind,
    message: String,
    hint: Option<String>,
    /// The session that is in the way of a new one.
    existing: Option<String>,
}

/// Why a command failed, as far as scripts have to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// The agent that was asked asks something itself.
    Asks,
    /// Nobody reads our output any more; no reason to say anything.
    BrokenPipe,
    /// The connection ended before the answer came.
    Disconnected,
    /// The name is taken.
    Exists,
    /// Anything that has no code of its own.
    General,
    /// The daemon finds that the request makes no sense.
    Invalid,
    /// The daemon did not start.
    NoDaemon,
    /// There is no such session.
    NoSession,
    /// The arguments make no sense.
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
    /// Makes a failure without a hint.
    pub(crate) fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None, existing: None }
    }

    /// Makes a failure that has no exit code of its own.
    pub(crate) fn general(message: impl Into<String>) -> Self {
        Self::new(FailureKind::General, message)
    }

    /// Makes a failure about the arguments.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Usage, message)
    }

    /// Adds what to do about it.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Why it failed.
    pub(crate) fn kind(&self) -> FailureKind {
        self.kind
    }

    /// The session whose name is taken.
    pub(crate) fn existing(&self) -> Option<&str> {
        self.existing.as_deref()
    }

    /// Makes the failure of a system call, with what was tried.
    pub(crate) fn io(what: impl AsRef<str>, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::new(FailureKind::BrokenPipe, "nobody reads the output"),
            _ => Self::general(format!("{}: {error}", what.as_ref())),
        }
    }

    /// The lines for standard error; empty when there is nothing to say.
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
            io::ErrorKind::BrokenPipe => Self::new(FailureKind::BrokenPipe, "nobody reads the output"),
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
        let mut failure =
            match reply.error {
                ErrorCode::SessionNotFound => {
                    failure(FailureKind::NoSession).hint("`swb ls` shows the sessions there are")
                }
                ErrorCode::SessionExists => failure(FailureKind::Exists)
                    .hint("`swb attach NAME` goes there; `-n` chooses another name"),
                ErrorCode::InvalidCommand => failure(FailureKind::Invalid),
                ErrorCode::PtyNotFound => {
                    failure(FailureKind::General).hint("`swb ls --json` shows the terminals of a session")
                }
                ErrorCode::SessionEnded => failure(FailureKind::General)
                    .hint("`swb logs` shows what it wrote; `swb kill` forgets it"),
                ErrorCode::AgentBusy => failure(FailureKind::General)
                    .hint("`swb wait NAME --until ready` waits for it; `--force` does not mind"),
                ErrorCode::ApprovalNotFound => {
                    failure(FailureKind::General).hint("`swb approvals` shows what waits")
                }
                ErrorCode::TurnNotFound => {
                    failure(FailureKind::General).hint("`swb turns NAME` shows the turns there are")
                }
                ErrorCode::SpawnFailed => {
                    failure(FailureKind::General).hint("is the command installed and in PATH?")
                }
                ErrorCode::LimitReached => failure(FailureKind::General).hint("`swb kill` makes room"),
                ErrorCode::VersionMismatch => failure(FailureKind::General)
                    .hint("`swb upgrade` brings the daemon to the version of this program"),
                _ => failure(FailureKind::General),
            };
        failure.existing = reply.session;
        failure
    }
}

impl From<ReplyError> for Failure {
    fn from(error: ReplyError) -> Self {
        match error {
            ReplyError::Refused(reply) => reply.into(),
            other => {
                Self::general(format!("the daemon gave an answer this program does not understand ({other})"))
                    .hint("`swb upgrade` brings the daemon to the version of this program")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_say_what_to_do() {
        let gone = Failure::from(ErrorReply::new(ErrorCode::SessionNotFound, "there is no session 'web'"));
        insta::assert_snapshot!(gone.render("swb"), @r"
        swb: there is no session 'web'
        hint: `swb ls` shows the sessions there are
        ");
        insta::assert_snapshot!(Failure::usage("a name is needed").render("coop"), @"coop: a name is needed");
        assert_eq!(Failure::from(io::Error::from(io::ErrorKind::BrokenPipe)).render("swb"), "");
    }

    #[test]
    fn refusals_keep_their_kind() {
        let taken = ErrorReply::new(ErrorCode::SessionExists, "session 'a' exists").with_session("a");
        let failure = Failure::from(taken);
        assert_eq!((failure.kind(), failure.existing()), (FailureKind::Exists, Some("a")));
        let gone = Failure::from(ErrorReply::new(ErrorCode::SessionNotFound, "no session 'x'"));
        assert_eq!(gone.kind().exit_code(), 3);
        let odd = Failure::from(ErrorReply::new(ErrorCode::Unknown, ""));
        assert_eq!(odd.to_string(), "UNKNOWN");
    }
}
