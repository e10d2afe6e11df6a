//! The listening sockets that are held for the daemon, and whether clients wait at them.
//!
//! An epoll of its own, so that one call shows whether any of them waits, however many there are. It is itself an event
//! source of the keeper's loop.

use crate::sys::is_readable;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::io;

#[derive(Debug)]
pub(crate) struct Backlog {
    epoll: OwnedFd,
}

impl Backlog {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { epoll: epoll::create(epoll::CreateFlags::CLOEXEC)? })
    }

    /// Watches a descriptor that the keeper holds. Nothing happens if it is memory, which the kernel cannot wait for.
    pub(crate) fn watch(&self, held: &OwnedFd) {
        let _added = epoll::add(&self.epoll, held, EventData::new_u64(0), EventFlags::IN);
    }

    /// No longer watches a descriptor that is about to be closed: the daemon's duplicate would keep it registered.
    pub(crate) fn forget(&self, held: &OwnedFd) {
        let _deleted = epoll::delete(&self.epoll, held);
    }

    /// Whether a client has connected and is not accepted yet.
    pub(crate) fn waits(&self) -> bool {
        is_readable(&self.epoll) == Ok(true)
    }
}

impl AsFd for Backlog {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::{UnixListener, UnixStream};

    #[test]
    fn only_connections_that_are_not_accepted_wait() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let listener = UnixListener::bind(&path).unwrap();
        let held = OwnedFd::from(listener.try_clone().unwrap());
        let backlog = Backlog::new().unwrap();
        backlog.watch(&held);
        backlog.watch(&crate::spec::sealed_memfd("memory", b"always readable").unwrap());
        assert!(!backlog.waits());
        let _client = UnixStream::connect(&path).unwrap();
        assert!(backlog.waits());
        let _accepted = listener.accept().unwrap();
        assert!(!backlog.waits());
        let _other = UnixStream::connect(&path).unwrap();
        backlog.forget(&held);
        assert!(!backlog.waits());
    }
}
