//! What all connections have in common: who may connect, how they are read, what ends them.

use crate::{limits, peer};
use std::future::Future;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use swb_engine::{InputError, Pty};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// What the fronts of a daemon share: their tasks, the signal to stop, and the number of connections.
#[derive(Debug, Clone, Default)]
pub struct Fronts {
    /// Every connection and every accepting loop.
    pub tasks: TaskTracker,
    /// Cancelled when the daemon stops: each connection is then closed as its dialect demands.
    pub stop: CancellationToken,
    open: Arc<AtomicUsize>,
}

impl Fronts {
    /// A place among the open connections, for one that has a `place` under a limit of its own.
    pub(crate) fn room(&self, place: OwnedSemaphorePermit) -> Room {
        Room::new(place, Arc::clone(&self.open))
    }

    /// Number of open connections.
    pub fn connections(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// Serves the connections of one listening socket until `stop`, at most `most` at a time. A connection counts
    /// until it drops its `Room`. Only the daemon's own user may connect (CO-7).
    pub(crate) fn accept<F>(
        &self,
        listener: OwnedFd,
        stop: CancellationToken,
        most: usize,
        serve: impl Fn(UnixStream, Room) -> F + Send + 'static,
    ) -> io::Result<()>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.accept_if(listener, stop, most, |uid, _gid, ours| uid == ours, serve)
    }

    /// The same for peers that `admit` accepts, given their user, their group and the daemon's own user.
    pub(crate) fn accept_if<F>(
        &self,
        listener: OwnedFd,
        stop: CancellationToken,
        most: usize,
        admit: impl Fn(u32, u32, u32) -> bool + Send + 'static,
        serve: impl Fn(UnixStream, Room) -> F + Send + 'static,
    ) -> io::Result<()>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = std::os::unix::net::UnixListener::from(listener);
        listener.set_nonblocking(true)?;
        let listener = UnixListener::from_std(listener)?;
        let fronts = self.clone();
        let places = Arc::new(Semaphore::new(most));
        self.tasks.spawn(async move {
            loop {
                let stream = tokio::select! {
                    () = stop.cancelled() => return,
                    accepted = listener.accept() => match accepted {
                        Ok((stream, _)) => stream,
                        Err(error) => {
                            // Probably out of descriptors: let connections end before the next attempt.
                            tracing::warn!(%error, "cannot accept a connection");
                            tokio::time::sleep(limits::ACCEPT_RETRY).await;
                            continue;
                        }
                    },
                };
                // The end of another connection may not have been handled yet; it frees a place then.
                let place = tokio::time::timeout(limits::PLACE, Arc::clone(&places).acquire_owned());
                let Ok(Ok(place)) = place.await else { continue };
                if admitted(&stream, &admit) {
                    let room = fronts.room(place);
                    fronts.tasks.spawn(serve(stream, room));
                }
            }
        });
        Ok(())
    }
}

/// A connection's place among those that are served at a time; freed when it is dropped.
#[derive(Debug)]
pub(crate) struct Room {
    _place: OwnedSemaphorePermit,
    open: Arc<AtomicUsize>,
}

impl Room {
    fn new(place: OwnedSemaphorePermit, open: Arc<AtomicUsize>) -> Self {
        open.fetch_add(1, Ordering::Relaxed);
        Self { _place: place, open }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whether a peer may connect, by its credentials from the kernel. CO-7: whatever the file modes are.
fn admitted(stream: &UnixStream, admit: impl Fn(u32, u32, u32) -> bool) -> bool {
    let ours = rustix::process::getuid().as_raw();
    let admitted = stream.peer_cred().is_ok_and(|peer| admit(peer.uid(), peer.gid(), ours));
    if !admitted {
        tracing::warn!("rejected a connection of another user");
    }
    admitted
}

/// Reads the bytes that have arrived and passes them to `push`; `false` at the end of the stream.
///
/// Nothing is lost if the future is dropped.
pub(crate) async fn read_some(stream: &UnixStream, mut push: impl FnMut(&[u8])) -> bool {
    loop {
        if stream.readable().await.is_err() {
            return false;
        }
        // On the stack and only while there is something to read, so that idle connections need none.
        let mut buffer = [0; limits::READ_BUFFER];
        match stream.try_read(&mut buffer) {
            Ok(0) => return false,
            Ok(n) => {
                push(&buffer[..n]);
                return true;
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(_) => return false,
        }
    }
}

/// Delivers input completely, however long the program takes to read it; the connection is not read meanwhile. If its
/// client leaves, `gone` is called and the delivery continues.
pub(crate) async fn deliver(
    stream: &UnixStream,
    pty: &Pty,
    bytes: &[u8],
    gone: impl FnOnce(),
) -> Result<(), InputError> {
    let input = pty.input(bytes);
    tokio::pin!(input);
    tokio::select! {
        biased;
        delivered = &mut input => return delivered,
        () = peer::stops_sending(stream) => gone(),
    }
    input.await
}
