//! The code between fork and exec.
#![allow(unsafe_code, reason = "code between fork and exec")]

use std::os::unix::process::CommandExt;
use std::process::Command;

/// Makes the terminal on standard input the command's controlling one, in a session of its own.
pub(crate) fn with_controlling_terminal(command: &mut Command) -> &mut Command {
    let take_it = || {
        rustix::process::setsid()?;
        Ok(rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?)
    };
    // SAFETY: between fork and exec only async-signal-safe work is allowed; these are two system calls and no
    // allocation.
    unsafe { command.pre_exec(take_it) }
}
