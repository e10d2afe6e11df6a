//! The operations for which the standard library has no safe interface.
#![allow(unsafe_code, reason = "raw descriptors of unknown origin, and code between fork and exec")]

use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Prevents programs started later from inheriting any descriptor but the standard three.
///
/// The parent of this process may have left pipes open in it; a daemon that inherited them would keep
/// their readers waiting for ever.
pub(crate) fn keep_descriptors_private() {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else {
        return;
    };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<RawFd>().ok());
    // Collected first: the directory itself has a descriptor, which is gone again below.
    let numbers: Vec<RawFd> = numbers.filter(|number| *number > 2).collect();
    for number in numbers {
        // SAFETY: the borrow ends with this call, which neither closes the descriptor nor uses the file behind
        // it; a number that is no longer open only makes the call fail.
        let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
        // A failure means that the descriptor is closed already.
        let _ = fcntl_setfd(descriptor, FdFlags::CLOEXEC);
    }
}

/// A duplicate of an inherited descriptor, if a descriptor of this number is open.
pub(crate) fn inherited(number: RawFd) -> Option<OwnedFd> {
    if number < 0 {
        return None;
    }
    // SAFETY: the borrow ends with this call, which neither closes the descriptor nor uses the file behind it; a
    // number that is not open only makes the call fail.
    let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
    fcntl_dupfd_cloexec(descriptor, 3).ok()
}

/// Runs a command in a session (setsid) of its own, so that no terminal can send it SIGHUP.
pub(crate) fn in_new_session(command: &mut Command) -> &mut Command {
    let setsid = || rustix::process::setsid().map(|_| ()).map_err(Into::into);
    // SAFETY: between fork and exec only async-signal-safe work is allowed; this is one system call and no
    // allocation.
    unsafe { command.pre_exec(setsid) }
}
