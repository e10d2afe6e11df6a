//! The daemon's unsafe calls: descriptors that a service manager passes.

#![allow(unsafe_code, reason = "descriptors that another process has opened in this one")]

use rustix::io::fcntl_dupfd_cloexec;
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};

/// Duplicates an inherited descriptor, if a descriptor of this number is open, to a number from `least` on. The duplicate is
/// not inherited further.
pub(crate) fn duplicate(number: RawFd, least: RawFd) -> Option<OwnedFd> {
    if number < 0 {
        return None;
    }
    // SAFETY: the borrow ends with this call, which neither closes the descriptor nor uses the file behind it; a
    // number that is not open only makes the call fail.
    let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
    fcntl_dupfd_cloexec(descriptor, least).ok()
}

/// Closes an inherited descriptor that nothing in this process owns.
pub(crate) fn close_inherited(number: RawFd) {
    // SAFETY: called once for each descriptor that the service manager has passed, before anything in this process has
    // opened one; so no owner of this number exists. `rustix::io::close` ignores a number that is not open.
    unsafe { rustix::io::close(number) };
}
