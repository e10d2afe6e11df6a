//! How an attachment ends, and the exit code for it.

use signal_hook::consts::SIGHUP;
use swb_wire::control::ExitCause;

/// The exit code if the user's terminal is gone.
pub(crate) const HUNG_UP: u8 = 128 + SIGHUP as u8;

/// How an attachment ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AttachEnd {
    /// The process ended with this code.
    Exited(i32),
    /// The session, or this terminal of it, was killed; its process ended with this code.
    Killed(i32),
    /// The keeper ended, and with it the process, with this code.
    KeeperLost(i32),
    /// The user pressed the detach key.
    Left,
    /// The user has requested the list of sessions, or only its keys.
    ListRequested {
        /// Only the keys.
        help: bool,
    },
    /// The daemon announced that it ends.
    Dismissed,
    /// All requested output has arrived.
    Complete,
    /// The connection was lost and cannot be restored.
    Lost,
    /// The user's terminal is gone.
    HungUp,
    /// The reader of our output is gone.
    Unread,
    /// A signal asked this process to end.
    Signalled(i32),
}

impl AttachEnd {
    /// What ended the process, as the daemon reports it.
    pub(crate) fn of_process(code: i32, cause: Option<ExitCause>) -> Self {
        match cause {
            None => Self::Exited(code),
            Some(ExitCause::Killed) => Self::Killed(code),
            Some(ExitCause::KeeperLost) => Self::KeeperLost(code),
        }
    }

    /// What the user reads on the line where the prompt comes back. A process that exited by itself has shown what it
    /// had to say, and its code is passed on.
    pub(crate) fn notice(self) -> Option<&'static str> {
        match self {
            Self::Left => Some("[detached]"),
            Self::Killed(_) => Some("[session killed]"),
            Self::Dismissed => Some("[daemon shut down; sessions live on]"),
            Self::KeeperLost(_) => Some("[keeper lost]"),
            Self::Exited(_)
            | Self::Complete
            | Self::Lost
            | Self::HungUp
            | Self::ListRequested { .. }
            | Self::Unread
            | Self::Signalled(_) => None,
        }
    }

    /// The exit code of a command that passes on the child's.
    pub(crate) fn exit_code(self) -> u8 {
        match self {
            Self::Exited(code) | Self::Killed(code) | Self::KeeperLost(code) => code_to_u8(code),
            Self::Left | Self::ListRequested { .. } | Self::Dismissed | Self::Complete | Self::Unread => 0,
            Self::Lost => 1,
            Self::HungUp => code_to_u8(128 + SIGHUP),
            Self::Signalled(signal) => code_to_u8(128 + signal),
        }
    }
}

/// The part of an exit code that the system passes on.
fn code_to_u8(code: i32) -> u8 {
    u8::try_from(code & 0xff).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_of_the_child_is_passed_on() {
        assert_eq!(AttachEnd::Exited(7).exit_code(), 7);
        assert_eq!(AttachEnd::Exited(137).exit_code(), 137);
        assert_eq!(AttachEnd::Exited(-1).exit_code(), 255);
        assert_eq!(AttachEnd::Left.exit_code(), 0);
        assert_eq!(AttachEnd::Signalled(15).exit_code(), 143);
    }
}
