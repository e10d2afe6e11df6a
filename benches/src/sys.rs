//! The one place with `unsafe`: code that runs between fork and exec.
#![allow(unsafe_code)]

use std::os::unix::process::CommandExt;
use std::process::Command;

/// Makes the command a session leader whose controlling terminal is its standard input.
pub(crate) fn control_terminal(command: &mut Command) {
    // SAFETY: the closure only makes two system calls; it neither allocates nor takes a lock.
    unsafe {
        command.pre_exec(|| {
            rustix::process::setsid()?;
            rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
            Ok(())
        })
    };
}
