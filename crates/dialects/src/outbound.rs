//! What waits to be sent on one connection, and the loop that sends it.
//!
//! The dialect's [`Queue`] decides what waits, in which order, and how much of it may. Others put messages into it
//! without waiting; one task sends them. A peer that lets too much pile up is given up, so that nobody waits for it.

use std::io::{self, IoSlice};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::UnixStream;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// The messages of one dialect that wait for one peer, as bytes.
pub(crate) trait Queue {
    /// How long a peer reads nothing before [`Queue::has_stalled`] is asked whether to give it up.
    const STALL: Duration;

    /// The bytes to be sent next, in two pieces; none if nothing waits.
    fn next(&mut self) -> [&[u8]; 2];

    /// Takes note that so many of these bytes were sent.
    fn sent(&mut self, count: usize);

    /// Whether to give a peer up that has stopped reading.
    fn has_stalled(&self) -> bool;

    /// Drops everything: the peer cannot be reached any more.
    fn disconnect(&mut self);
}

/// A [`Queue`] that several tasks fill and one sends.
#[derive(Debug, Default)]
pub(crate) struct OutboundQueue<Q> {
    queue: Mutex<Q>,
    /// There is something to send.
    filled: Notify,
    /// Something was sent, or nothing can be any more.
    drained: Notify,
    given_up: CancellationToken,
}

impl<Q: Queue> OutboundQueue<Q> {
    /// The queue itself; whoever puts something into it uses [`OutboundQueue::fill`].
    pub(crate) fn lock(&self) -> MutexGuard<'_, Q> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts messages into the queue and has them sent.
    pub(crate) fn fill<T>(&self, fill: impl FnOnce(&mut Q) -> T) -> T {
        let filled = fill(&mut self.lock());
        self.filled.notify_one();
        filled
    }

    /// Gives the peer up: it does not read, or has missed something.
    pub(crate) fn give_up(&self) {
        self.lock().disconnect();
        self.given_up.cancel();
    }

    /// Waits until the peer has been given up.
    pub(crate) async fn given_up(&self) {
        self.given_up.cancelled().await;
    }

    /// Waits until the queue is as `ready` says. One task at a time may do so.
    pub(crate) async fn wait_until(&self, ready: impl Fn(&Q) -> bool) {
        while !ready(&self.lock()) {
            self.drained.notified().await;
        }
    }

    /// Sends what waits and what is put in later, until the peer cannot be reached.
    pub(crate) async fn serve(&self, stream: &UnixStream) {
        while self.drain(stream).await.is_ok() {
            self.filled.notified().await;
        }
        self.lock().disconnect();
        self.drained.notify_one();
    }

    /// Sends what waits. Nothing is lost or sent twice when the wait is dropped.
    pub(crate) async fn drain(&self, stream: &UnixStream) -> io::Result<()> {
        loop {
            match self.send_some(stream) {
                // Bounded work: what the socket takes in one call, then other connections get their turn.
                Ok(true) => tokio::task::yield_now().await,
                Ok(false) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.writable(stream).await?,
                Err(error) => return Err(error),
            }
        }
    }

    async fn writable(&self, stream: &UnixStream) -> io::Result<()> {
        loop {
            // The timeout polls the socket first: a daemon that was late does not blame the peer.
            let writable = tokio::time::timeout(Q::STALL, stream.writable()).await;
            if let Ok(writable) = writable {
                return writable;
            }
            let stalled = self.lock().has_stalled();
            if stalled {
                self.give_up();
            }
        }
    }

    /// Sends as much as the socket takes at once; `false` when nothing is left.
    fn send_some(&self, stream: &UnixStream) -> io::Result<bool> {
        let mut queue = self.lock();
        let pieces = queue.next().map(IoSlice::new);
        if pieces.iter().all(|piece| piece.is_empty()) {
            return Ok(false);
        }
        let count = stream.try_write_vectored(&pieces)?;
        queue.sent(count);
        self.drained.notify_one();
        Ok(true)
    }
}
