//! The engine's one unsafe call: registering descriptors with the runtime.

#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use swb_keeper::Link;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Types that own the descriptor they show and never change it.
pub(crate) trait Owning: AsRawFd {}

impl Owning for OwnedFd {}
impl Owning for Arc<OwnedFd> {}
impl Owning for Link {}

/// Registers a descriptor; it is deregistered when the result is dropped.
pub(crate) fn register<T: Owning>(fd: T, interest: Interest) -> io::Result<AsyncFd<T>> {
    // SAFETY: an `Owning` type keeps its descriptor open and the same as long as the `AsyncFd` owns it.
    unsafe { AsyncFd::register_with_interest(fd, interest) }.map_err(Into::into)
}
