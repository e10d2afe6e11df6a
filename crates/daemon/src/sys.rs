//! The daemon's unsafe calls: descriptors that a service manager passes.

#![allow(unsafe_code, reason = "descriptors that another process has opened in this one")]

use rustix::io::fcntl_dupfd_cloexec;
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};

/// Takes an inherited descriptor that nothing in this process owns, if a descriptor of this number is open: gives it a
/// number from `least` on, which later programs do not inherit.
pub(crate) fn take(number: RawFd, least: RawFd) -> Option<OwnedFd> {
    if number < 0 {
        return None;
    }
    // SAFETY: the borrow ends with this call, which neither closes the descriptor nor uses the file behind it; a
    // number that is not open only makes the call fail.
    let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
    let taken = fcntl_dupfd_cloexec(descriptor, least).ok()?;
    // SAFETY: the number is open, and called once for each descriptor that the service manager has passed, before
    // anything in this process has opened one: it has no other owner.
    unsafe { rustix::io::close(number) };
    Some(taken)
}
