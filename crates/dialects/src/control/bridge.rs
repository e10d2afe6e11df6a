//! Carries bytes between an untrusted peer and a connection of the daemon, in threads.
//!
//! A peer can send descriptors with its bytes. The kernel closes those that are not asked for in the thread that reads
//! the bytes, and closing can block: a TCP socket may linger, a mount may hang. That must never be the daemon's thread.

use crate::limits;
use rustix::event::{PollFd, PollFlags, poll};
use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// Connects both sockets until one of them is closed. A peer that only stops sending still receives.
pub(super) fn connect(peer: UnixStream, daemon: UnixStream) -> io::Result<()> {
    let (peer, daemon) = (Arc::new(peer), Arc::new(daemon));
    let (from, to) = (Arc::clone(&peer), Arc::clone(&daemon));
    thread(move || {
        let _ended = io::copy(&mut &*from, &mut &*to);
        let _ended = to.shutdown(Shutdown::Write);
        wait_until_closed(&from);
        let _ended = to.shutdown(Shutdown::Both);
    })?;
    thread(move || {
        let _ended = io::copy(&mut &*daemon, &mut &*peer);
        // Wakes the other thread, too.
        let _ended = peer.shutdown(Shutdown::Both);
    })
}

fn thread(run: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let thread = std::thread::Builder::new().name("swb-agent".to_owned()).stack_size(limits::AGENT_STACK);
    thread.spawn(run).map(drop)
}

/// Waits until both directions of a socket are closed, which the kernel reports unasked.
fn wait_until_closed(socket: &UnixStream) {
    let mut sockets = [PollFd::new(socket, PollFlags::empty())];
    while poll(&mut sockets, None) == Err(rustix::io::Errno::INTR) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::time::Duration;

    /// The two ends of a bridge.
    fn bridge() -> (UnixStream, UnixStream) {
        let (peer, outer) = UnixStream::pair().unwrap();
        let (daemon, inner) = UnixStream::pair().unwrap();
        connect(outer, inner).unwrap();
        for end in [&peer, &daemon] {
            end.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        }
        (peer, daemon)
    }

    fn rest(stream: &mut UnixStream) -> Vec<u8> {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn bytes_go_both_ways_and_a_half_closed_peer_still_receives() {
        let (mut peer, mut daemon) = bridge();
        peer.write_all(b"request").unwrap();
        peer.shutdown(Shutdown::Write).unwrap();
        assert_eq!(rest(&mut daemon), b"request");
        daemon.write_all(b"reply").unwrap();
        drop(daemon);
        assert_eq!(rest(&mut peer), b"reply");
    }

    #[test]
    fn the_daemon_notices_that_a_peer_has_closed() {
        let (peer, daemon) = bridge();
        drop(peer);
        wait_until_closed(&daemon);
    }
}
