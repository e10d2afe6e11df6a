//! The queue of messages to send on one connection, and the loop that sends them.
//!
//! The dialect's [`MessageQueue`] decides the order and the limits. Other tasks queue messages without waiting; one task
//! sends them. A peer that lets too much pile up is given up, so that no task waits for it.

use std::io::{self, IoSlice};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::UnixStream;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// The queued messages of one dialect for one peer, as bytes.
pub(crate) trait MessageQueue {
    /// After a peer has read nothing for this time, [`MessageQueue::has_stalled`] decides whether to give it up.
    const STALL: Duration;

    /// The bytes to send next, in two pieces; empty if nothing is queued.
    fn next(&mut self) -> [&[u8]; 2];

    /// Records that this many bytes were sent.
    fn sent(&mut self, count: usize);

    /// Whether to give up a peer that has stopped reading.
    fn has_stalled(&self) -> bool;

    /// Drops everything: the peer cannot be reached any more.
    fn disconnect(&mut self);
}

/// A [`MessageQueue`] that several tasks fill and one sends.
#[derive(Debug, Default)]
pub(crate) struct OutboundQueue<Q> {
    queue: Mutex<Q>,
    /// There is something to send.
    filled: Notify,
    /// Something was sent, or nothing can be sent any more.
    drained: Notify,
    given_up: CancellationToken,
}

impl<Q: MessageQueue> OutboundQueue<Q> {
    /// The queue itself; to add messages, use [`OutboundQueue::fill`].
    pub(crate) fn lock(&self) -> MutexGuard<'_, Q> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds messages to the queue and has them sent.
    pub(crate) fn fill<T>(&self, fill: impl FnOnce(&mut Q) -> T) -> T {
        let filled = fill(&mut self.lock());
        self.filled.notify_one();
        filled
    }

    /// Gives up the peer: it does not read, or has missed something.
    pub(crate) fn give_up(&self) {
        self.lock().disconnect();
        self.given_up.cancel();
    }

    /// Waits until the peer has been given up.
    pub(crate) async fn given_up(&self) {
        self.given_up.cancelled().await;
    }

    /// Waits until `ready` returns true for the queue. Only one task at a time may wait.
    pub(crate) async fn wait_until(&self, ready: impl Fn(&Q) -> bool) {
        while !ready(&self.lock()) {
            self.drained.notified().await;
        }
    }

    /// Sends everything queued now or later, until the peer cannot be reached.
    pub(crate) async fn serve(&self, stream: &UnixStream) {
        while self.drain(stream).await.is_ok() {
            self.filled.notified().await;
        }
        self.lock().disconnect();
        self.drained.notify_one();
    }

    /// Sends everything queued. Nothing is lost or sent twice if the future is dropped.
    pub(crate) async fn drain(&self, stream: &UnixStream) -> io::Result<()> {
        loop {
            match self.send_some(stream) {
                // Bounded work: what the socket takes in one call, then other connections are served.
                Ok(true) => tokio::task::yield_now().await,
                Ok(false) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.writable(stream).await?,
                Err(error) => return Err(error),
            }
        }
    }

    async fn writable(&self, stream: &UnixStream) -> io::Result<()> {
        loop {
            // The timeout polls the socket first: a delay of the daemon does not count against the peer.
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
