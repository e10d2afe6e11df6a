//! How an attachment comes to its end, and what that means for the exit code.

use signal_hook::consts::SIGHUP;

/// How an attachment came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AttachEnd {
    /// The process ended with this code.
    Exited(i32),
    /// The user pressed the detach key.
    Left,
    /// The daemon said goodbye.
    Dismissed,
    /// Everything asked for has come.
    Complete,
    /// The connection is gone and there is no way back.
    Lost,
    /// The user's terminal is gone.
    HungUp,
    /// Nobody reads our output any more.
    Unread,
    /// This signal asked us to end.
    Signalled(i32),
}

impl AttachEnd {
    /// The exit code of a command that passes on what became of the child.
    pub(crate) fn exit_code(self) -> u8 {
        match self {
            Self::Exited(code) => code_to_u8(code),
            Self::Left | Self::Dismissed | Self::Complete | Self::Unread => 0,
            Self::Lost => 1,
            Self::HungUp => code_to_u8(128 + SIGHUP),
            Self::Signalled(signal) => code_to_u8(128 + signal),
        }
    }
}

/// Gives the part of an exit code that the system passes on.
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
