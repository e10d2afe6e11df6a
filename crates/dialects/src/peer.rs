//! Detects that the peer of a connection has left.
//!
//! The kernel reports two things. *The peer has stopped sending* (`EPOLLRDHUP`): it has shut down its writing side or
//! closed the socket, and bytes it sent before may still be unread. *The peer has closed* (`EPOLLHUP`): both sides are
//! closed, so that no reply can arrive. A script at the end of a pipe (`printf … | nc -U`) does the first and waits
//! for its reply; only the second ends that wait.

use rustix::event::{PollFd, PollFlags, Timespec};
use std::io;
use std::os::fd::AsFd;
use tokio::io::{Interest, Ready};
use tokio::net::UnixStream;

/// Whether the peer has stopped sending, also while bytes it sent before are still unread.
pub(crate) fn has_stopped_sending(stream: &UnixStream) -> bool {
    has_happened(stream, PollFlags::RDHUP)
}

/// Whether the peer has closed both sides: it reads nothing any more.
pub(crate) fn has_closed(stream: &UnixStream) -> bool {
    has_happened(stream, PollFlags::empty())
}

/// The kernel reports the end of both sides whether or not it is asked for.
fn has_happened(stream: &UnixStream, what: PollFlags) -> bool {
    let mut fds = [PollFd::new(stream, what)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    rustix::event::poll(&mut fds, Some(&now)).is_ok_and(|ready| ready > 0)
}

/// Waits until the peer has stopped sending, also while bytes it sent before are still unread.
pub(crate) async fn stops_sending(stream: &UnixStream) {
    wait_for(stream, Interest::READABLE, Ready::is_read_closed).await;
}

/// Waits until the peer has closed both sides. One that has only stopped sending is still served.
pub(crate) async fn closes(stream: &UnixStream) {
    wait_for(stream, Interest::WRITABLE, Ready::is_write_closed).await;
}

/// Waits on a registration of its own: clearing readiness there does not affect readers and writers.
async fn wait_for(stream: &UnixStream, interest: Interest, has_ended: impl Fn(Ready) -> bool) {
    let watched = match duplicate(stream) {
        Ok(watched) => watched,
        Err(error) => {
            // Out of descriptors. The connection continues; its end is noticed at the next read or write.
            tracing::warn!(%error, "cannot detect when a client disconnects");
            return std::future::pending().await;
        }
    };
    loop {
        match watched.ready(interest).await {
            Ok(ready) if !has_ended(ready) => {
                // Waits for the next change; the runtime never clears the end itself.
                let _cleared =
                    watched.try_io(interest, || Err::<(), _>(io::Error::from(io::ErrorKind::WouldBlock)));
            }
            Ok(_) | Err(_) => return,
        }
    }
}

fn duplicate(stream: &UnixStream) -> io::Result<UnixStream> {
    let fd = stream.as_fd().try_clone_to_owned()?;
    UnixStream::from_std(fd.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::time::Duration;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    const LONG: Duration = Duration::from_secs(10);
    const SHORT: Duration = Duration::from_millis(50);

    async fn within(wait: Duration, event: impl Future<Output = ()>) -> bool {
        tokio::time::timeout(wait, event).await.is_ok()
    }

    /// What is known of the peer: that it has stopped sending, and that it has closed.
    async fn known(stream: &UnixStream, wait: Duration) -> (bool, bool) {
        let known = (within(wait, stops_sending(stream)).await, within(wait, closes(stream)).await);
        assert_eq!(known, (has_stopped_sending(stream), has_closed(stream)));
        known
    }

    #[tokio::test]
    async fn a_peer_that_stays_has_neither_stopped_nor_closed() {
        let (stream, mut peer) = UnixStream::pair().unwrap();
        peer.write_all(b"unread").await.unwrap();
        assert_eq!(known(&stream, SHORT).await, (false, false));
    }

    #[tokio::test]
    async fn a_closed_peer_is_noticed() {
        let (stream, peer) = UnixStream::pair().unwrap();
        drop(peer);
        assert_eq!(known(&stream, LONG).await, (true, true));
    }

    #[tokio::test]
    async fn a_closed_peer_is_noticed_while_its_bytes_are_unread() {
        let (mut stream, mut peer) = UnixStream::pair().unwrap();
        peer.write_all(b"unread").await.unwrap();
        drop(peer);
        assert_eq!(known(&stream, LONG).await, (true, true));
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await.unwrap();
        assert_eq!(bytes, b"unread");
    }

    #[tokio::test]
    async fn a_half_closed_peer_is_still_served() {
        let (mut stream, mut peer) = UnixStream::pair().unwrap();
        peer.write_all(b"request").await.unwrap();
        peer.shutdown().await.unwrap();
        assert!(within(LONG, stops_sending(&stream)).await);
        assert!(!within(SHORT, closes(&stream)).await && !has_closed(&stream));
        stream.write_all(b"reply").await.unwrap();
        let mut reply = [0; 5];
        peer.read_exact(&mut reply).await.unwrap();
        assert_eq!(&reply, b"reply");
        let mut closed = std::pin::pin!(closes(&stream));
        assert!(!within(SHORT, closed.as_mut()).await);
        drop(peer);
        assert!(within(LONG, closed).await);
    }

    #[tokio::test]
    async fn a_reset_is_the_end_of_both_sides() {
        let (mut stream, peer) = UnixStream::pair().unwrap();
        stream.write_all(b"never read").await.unwrap();
        drop(peer);
        assert_eq!(known(&stream, LONG).await, (true, true));
        let error = stream.read(&mut [0; 8]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    }

    #[tokio::test]
    async fn bytes_that_arrive_meanwhile_are_left_to_the_reader() {
        let (mut stream, mut peer) = UnixStream::pair().unwrap();
        {
            let mut stopped = std::pin::pin!(stops_sending(&stream));
            for _ in 0..3 {
                peer.write_all(b"x").await.unwrap();
                assert!(!within(SHORT, stopped.as_mut()).await);
            }
        }
        let mut bytes = [0; 3];
        stream.read_exact(&mut bytes).await.unwrap();
        assert_eq!(&bytes, b"xxx");
    }
}
