//! The code between fork and exec.
#![allow(unsafe_code, reason = "code between fork and exec")]

use std::os::unix::process::CommandExt;
use std::process::Command;

/// Makes a command the leader of a session (setsid), with the terminal on its standard input as the controlling
/// terminal (CP-1).
pub(super) fn with_controlling_terminal(command: &mut Command) -> &mut Command {
    let take_it = || {
        rustix::process::setsid()?;
        Ok(rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?)
    };
    // SAFETY: between fork and exec only async-signal-safe work is allowed; these are two system calls and no
    // allocation.
    unsafe { command.pre_exec(take_it) }
}
