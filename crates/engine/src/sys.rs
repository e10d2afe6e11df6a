//! The engine's unsafe calls: registering descriptors with the runtime, and giving memory back.

#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use swb_keeper::KeeperLink;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Types that own the descriptor they show and never change it.
pub(crate) trait Owning: AsRawFd {}

impl Owning for OwnedFd {}
impl Owning for Arc<OwnedFd> {}
impl Owning for KeeperLink {}

/// Registers a descriptor; it is deregistered when the result is dropped.
pub(crate) fn register<T: Owning>(fd: T, interest: Interest) -> io::Result<AsyncFd<T>> {
    // SAFETY: an `Owning` type keeps its descriptor open and the same as long as the `AsyncFd` owns it.
    unsafe { AsyncFd::register_with_interest(fd, interest) }.map_err(Into::into)
}

/// Has the allocator give large blocks back as soon as they are freed, and share what it keeps between threads.
///
/// Without that setting it learns from the first large block to keep those, and each thread keeps its own.
pub(crate) fn tune_heap() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    for (option, value) in [
        (libc::M_MMAP_THRESHOLD, crate::limits::LARGE_BLOCK),
        (libc::M_TRIM_THRESHOLD, crate::limits::LARGE_BLOCK),
        (libc::M_ARENA_MAX, crate::limits::ARENAS),
    ] {
        // SAFETY: it takes no pointer; an option it does not know changes nothing.
        let _done = unsafe { libc::mallopt(option, value) };
    }
}

/// Gives memory that was freed back to the system, where the allocator would keep it.
pub(crate) fn trim_heap() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // SAFETY: it takes no pointer, and may be called from any thread at any time.
        let _released = unsafe { libc::malloc_trim(0) };
    }
}
