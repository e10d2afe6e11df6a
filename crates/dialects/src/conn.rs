//! What all connections have in common: who may connect, how they are read, what ends them.

use crate::places::{ConnectionLimit, ConnectionPermit};
use crate::{limits, peer};
use std::fmt;
use std::future::Future;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use swb_engine::{InputError, is_unconfined};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// What the fronts of a daemon share: their tasks, the signal to stop, and the number of connections.
#[derive(Debug, Clone, Default)]
pub struct Fronts {
    /// Every connection and every accepting loop.
    pub tasks: TaskTracker,
    /// Cancelled when the daemon stops: each connection is then closed as its dialect demands.
    pub stop: CancellationToken,
    open: Arc<ConnectionCount>,
}

/// The number of open connections, and who is notified when it changes.
#[derive(Default)]
pub(crate) struct ConnectionCount {
    /// Locked until a change is reported: the last report is that of the last change.
    open: Mutex<usize>,
    report: OnceLock<Box<dyn Fn(usize) + Send + Sync>>,
}

impl ConnectionCount {
    pub(crate) fn get(&self) -> usize {
        *self.lock()
    }

    pub(crate) fn add(&self) {
        self.change(|open| open.saturating_add(1));
    }

    pub(crate) fn remove(&self) {
        self.change(|open| open.saturating_sub(1));
    }

    fn change(&self, change: impl FnOnce(usize) -> usize) {
        let mut open = self.lock();
        *open = change(*open);
        if let Some(report) = self.report.get() {
            report(*open);
        }
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for ConnectionCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

impl Fronts {
    /// A place among the open connections, for one that has a `place` under a limit of its own.
    pub(crate) fn room(&self, place: OwnedSemaphorePermit) -> ConnectionPermit {
        ConnectionPermit::new(place, Arc::default(), Arc::clone(&self.open))
    }

    /// Number of open connections.
    pub fn connections(&self) -> usize {
        self.open.get()
    }

    /// Calls `report` with the number of open connections whenever it changes. Only the first call counts.
    pub fn report_connections(&self, report: impl Fn(usize) + Send + Sync + 'static) {
        let _first = self.open.report.set(Box::new(report));
    }

    /// Serves the connections of one listening socket until `stop`. A connection counts until it drops its `ConnectionPermit`. Only
    /// the daemon's own user may connect (CO-7).
    pub(crate) fn accept<F>(
        &self,
        listener: OwnedFd,
        stop: CancellationToken,
        allowed: ConnectionLimits,
        serve: impl Fn(UnixStream, ConnectionPermit) -> F + Send + 'static,
    ) -> io::Result<()>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.accept_if(listener, stop, allowed, |uid, _gid, ours| uid == ours, serve)
    }

    /// The same for peers that `admit` accepts, given their user, their group and the daemon's own user.
    pub(crate) fn accept_if<F>(
        &self,
        listener: OwnedFd,
        stop: CancellationToken,
        allowed: ConnectionLimits,
        admit: impl Fn(u32, u32, u32) -> bool + Send + 'static,
        serve: impl Fn(UnixStream, ConnectionPermit) -> F + Send + 'static,
    ) -> io::Result<()>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = std::os::unix::net::UnixListener::from(listener);
        listener.set_nonblocking(true)?;
        let listener = UnixListener::from_std(listener)?;
        let fronts = self.clone();
        let mut places = ConnectionLimit::new(allowed.most, allowed.grace, Arc::clone(&fronts.open));
        self.tasks.spawn(async move {
            loop {
                let stream = tokio::select! {
                    () = stop.cancelled() => return,
                    accepted = listener.accept() => match accepted {
                        Ok((stream, _)) => stream,
                        Err(error) => {
                            // Probably out of descriptors: let connections end before the next attempt.
                            tracing::warn!(%error, "cannot accept a connection");
                            places.displace();
                            tokio::time::sleep(limits::ACCEPT_RETRY).await;
                            continue;
                        }
                    },
                };
                // First: another user must not displace anything.
                if !admitted(&stream, &admit) {
                    continue;
                }
                match places.take().await {
                    Some(room) => drop(fronts.tasks.spawn(serve(stream, room))),
                    // Fails if the peer has left. A new socket always has room for so little.
                    None => drop(stream.try_write(&(allowed.refusal)())),
                }
            }
        });
        Ok(())
    }
}

/// How many connections a listening socket serves.
pub(crate) struct ConnectionLimits {
    /// Maximum number of connections.
    pub(crate) most: usize,
    /// How long a connection has to be idle before another one may take its place.
    pub(crate) grace: Duration,
    /// What a connection gets for which there is no place; empty if the protocol has no message for it.
    pub(crate) refusal: Box<dyn Fn() -> Vec<u8> + Send>,
}

/// How many connections one listening socket serves: idle ones must not use up all open files that the system allows.
pub(crate) fn most_connections() -> usize {
    let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let files = files.and_then(|files| usize::try_from(files).ok()).unwrap_or(usize::MAX);
    limits::CONNECTIONS.min(files / limits::CONNECTIONS_OF_FILES).max(1)
}

/// Whether a peer may connect, by its credentials from the kernel. CO-7: file modes do not matter.
///
/// Commands of agents that are confined may not: with our help they would act outside their workspace.
fn admitted(stream: &UnixStream, admit: impl Fn(u32, u32, u32) -> bool) -> bool {
    let ours = rustix::process::getuid().as_raw();
    let Ok(peer) = stream.peer_cred() else { return false };
    if !admit(peer.uid(), peer.gid(), ours) {
        tracing::warn!(uid = peer.uid(), "rejected a connection of another user");
        return false;
    }
    if !is_unconfined(stream, peer.pid().unwrap_or(0)) {
        tracing::warn!(
            pid = peer.pid(),
            "rejected a connection of a confined command, or of a process that has ended"
        );
        return false;
    }
    true
}

/// The process of a peer; `None` if it cannot be named here, because it is in another PID namespace.
pub(crate) fn peer_pid(stream: &UnixStream) -> Option<u32> {
    let pid = stream.peer_cred().ok()?.pid()?;
    u32::try_from(pid).ok().filter(|pid| *pid > 0)
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
    input: impl Future<Output = Result<(), InputError>>,
    gone: impl FnOnce(),
) -> Result<(), InputError> {
    tokio::pin!(input);
    tokio::select! {
        biased;
        delivered = &mut input => return delivered,
        () = peer::stops_sending(stream) => gone(),
    }
    input.await
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn the_last_report_is_the_number_of_connections() {
        let fronts = Fronts::default();
        let reported = Arc::new(AtomicUsize::new(usize::MAX));
        let report = Arc::clone(&reported);
        fronts.report_connections(move |open| {
            // A late report would overwrite a newer one.
            std::thread::yield_now();
            report.store(open, Ordering::SeqCst);
        });
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        fronts.open.add();
                        fronts.open.remove();
                    }
                    fronts.open.add();
                });
            }
        });
        assert_eq!((fronts.connections(), reported.load(Ordering::SeqCst)), (4, 4));
    }
}
