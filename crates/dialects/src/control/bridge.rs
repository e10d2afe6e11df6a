//! Carries bytes between an untrusted peer and a connection of the daemon, in threads.
//!
//! A peer can send descriptors with its bytes. The kernel closes those that are not asked for in the thread that reads
//! the bytes, and closing can block: a TCP socket may linger, a mount may hang. That must never be the daemon's thread.
//!
//! A peer decides when it reads. One that does not read for a limited time is disconnected, and its place is free only when
//! both threads have ended, so that peers cannot accumulate threads.

use crate::limits;
use rustix::event::{PollFd, PollFlags, poll};
use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

/// Connects both sockets until one of them is closed, or the peer has read nothing for `limit` although there was
/// something to read. A peer that only stops sending still receives. `place` is dropped when both threads have ended.
pub(super) fn connect(
    peer: UnixStream,
    daemon: UnixStream,
    limit: Duration,
    place: impl Send + Sync + 'static,
) -> io::Result<()> {
    peer.set_write_timeout(Some(limit))?;
    let (peer, daemon, place) = (Arc::new(peer), Arc::new(daemon), Arc::new(place));
    let (from, to, held) = (Arc::clone(&peer), Arc::clone(&daemon), Arc::clone(&place));
    thread(move || {
        let _held = held;
        let _ended = io::copy(&mut &*from, &mut &*to);
        let _ended = to.shutdown(Shutdown::Write);
        wait_until_closed(&from);
        let _ended = to.shutdown(Shutdown::Both);
    })?;
    thread(move || {
        let _held = place;
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
    use std::io::{ErrorKind, Read, Write};
    use std::sync::mpsc;

    const LONG: Duration = Duration::from_secs(30);

    /// The two ends of a bridge.
    fn bridge() -> (UnixStream, UnixStream) {
        let (peer, daemon, _) = bridge_within(LONG);
        (peer, daemon)
    }

    /// The two ends of a bridge, and a channel that ends with its place.
    fn bridge_within(limit: Duration) -> (UnixStream, UnixStream, mpsc::Receiver<()>) {
        let (peer, outer) = UnixStream::pair().unwrap();
        let (daemon, inner) = UnixStream::pair().unwrap();
        let (place, ended) = mpsc::channel();
        connect(outer, inner, limit, place).unwrap();
        for end in [&peer, &daemon] {
            end.set_read_timeout(Some(LONG)).unwrap();
        }
        (peer, daemon, ended)
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
    fn a_peer_that_never_reads_does_not_keep_its_place() {
        let (mut peer, mut daemon, ended) = bridge_within(Duration::from_millis(100));
        // Requests without end, until the bridge takes no more, and replies that the peer does not read.
        for end in [&mut peer, &mut daemon] {
            end.set_write_timeout(Some(Duration::from_millis(50))).unwrap();
            let full = std::iter::repeat_with(|| end.write(&[b'x'; 8192])).find_map(Result::err).unwrap();
            assert!(matches!(full.kind(), ErrorKind::WouldBlock | ErrorKind::BrokenPipe), "{full}");
        }
        // As the daemon does when a reply is not read in time.
        drop(daemon);
        assert_eq!(
            ended.recv_timeout(LONG),
            Err(mpsc::RecvTimeoutError::Disconnected),
            "its threads have ended"
        );
        drop(peer);
    }

    #[test]
    fn a_place_is_held_until_the_bridge_has_ended() {
        let (peer, daemon, ended) = bridge_within(LONG);
        assert_eq!(ended.try_recv(), Err(mpsc::TryRecvError::Empty));
        drop(daemon);
        assert_eq!(ended.recv_timeout(LONG), Err(mpsc::RecvTimeoutError::Disconnected));
        drop(peer);
    }

    #[test]
    fn the_daemon_notices_that_a_peer_has_closed() {
        let (peer, daemon) = bridge();
        drop(peer);
        wait_until_closed(&daemon);
    }
}
