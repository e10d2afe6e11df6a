//! What waits to be sent to one client: answers and events in the order they were said.
//!
//! Bounded in messages and bytes. A client that lets more pile up is disconnected (SS-77), so that nobody waits for it;
//! one that reads, only slower than an agent speaks, may let more pile up than one that does not.
//! A client that wants fewer events has some of them held back; of those the oldest are dropped.

use crate::limits;
use std::collections::VecDeque;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;
use swb_types::Timestamp;
use swb_wire::scriptschnell::{MAX_LINE, encode_batch};
use tokio::net::UnixStream;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

#[derive(Debug, Default)]
pub(super) struct LineQueue {
    state: Mutex<State>,
    /// There is something to send.
    filled: Notify,
    /// More waited than may.
    overflow: CancellationToken,
}

#[derive(Debug, Default)]
struct State {
    /// Whole lines, each with its end.
    lines: VecDeque<Vec<u8>>,
    /// Bytes of all of them.
    bytes: usize,
    /// What is being written, and how much of it has been.
    writing: Vec<u8>,
    written: usize,
    /// Events that wait until the client wants them.
    held: VecDeque<Vec<u8>>,
    held_bytes: usize,
    paused: bool,
    /// Messages that may go out as one; none together if 0.
    batch: usize,
    /// Nothing more is taken.
    closed: bool,
}

impl LineQueue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a line; one that passes the bound ends the connection.
    pub(super) fn push(&self, line: Vec<u8>, can_wait: bool) {
        let mut state = self.lock();
        if line.len() > MAX_LINE + 1 {
            // Nothing we say comes near; an agent that asks with the contents of a huge file might.
            tracing::warn!(bytes = line.len(), "a message was too long to be sent");
            return;
        }
        if can_wait && state.paused {
            return state.hold(line);
        }
        state.queue(line);
        if state.is_full() {
            self.overflow(&mut state);
        }
        drop(state);
        self.filled.notify_one();
    }

    /// SS-74
    pub(super) fn pause(&self, paused: bool) {
        let mut state = self.lock();
        state.paused = paused;
        if !paused {
            state.held_bytes = 0;
            for line in std::mem::take(&mut state.held) {
                state.queue(line);
            }
        }
        drop(state);
        self.filled.notify_one();
    }

    /// SS-76: so many messages may go out as one from now on.
    pub(super) fn batch(&self, most: usize) {
        self.lock().batch = most;
    }

    /// The client is given up: something it should have got is lost.
    pub(super) fn give_up(&self) {
        self.overflow(&mut self.lock());
    }

    fn overflow(&self, state: &mut State) {
        state.close();
        self.overflow.cancel();
    }

    /// Waits until the client has been given up.
    pub(super) async fn given_up(&self) {
        self.overflow.cancelled().await;
    }

    /// Sends what is there and what comes, for as long as the client can be reached; what comes later is dropped.
    pub(super) async fn serve(&self, stream: &UnixStream) {
        while self.drain(stream).await.is_ok() {
            self.filled.notified().await;
        }
        self.lock().close();
    }

    /// Sends what is there. Nothing is lost or sent twice when the wait is dropped.
    pub(super) async fn drain(&self, stream: &UnixStream) -> io::Result<()> {
        loop {
            match self.send_some(stream) {
                Ok(true) => tokio::task::yield_now().await,
                Ok(false) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.writable(stream).await?,
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits until the client takes more, but not for one that has stopped to (SS-77).
    async fn writable(&self, stream: &UnixStream) -> io::Result<()> {
        loop {
            // It looks at the socket before the clock: when we were late, it is not the client who was.
            match tokio::time::timeout(limits::CHAT_STALL, stream.writable()).await {
                Ok(writable) => return writable,
                Err(_) => {
                    let mut state = self.lock();
                    if state.lines.len() > limits::CHAT_QUEUE {
                        self.overflow(&mut state);
                    }
                }
            }
        }
    }

    /// Sends as much as the socket takes at once; `false` when nothing is left.
    fn send_some(&self, stream: &UnixStream) -> io::Result<bool> {
        let mut state = self.lock();
        state.fill();
        let rest = state.writing.get(state.written..).unwrap_or_default();
        if rest.is_empty() {
            return Ok(false);
        }
        let n = stream.try_write(rest)?;
        state.written += n;
        Ok(true)
    }
}

impl State {
    /// SS-77
    fn is_full(&self) -> bool {
        let waiting = self.lines.len();
        waiting > limits::CHAT_QUEUE_MOST || (waiting > 1 && self.bytes > limits::CHAT_QUEUE_BYTES)
    }

    fn queue(&mut self, line: Vec<u8>) {
        if !self.closed {
            self.bytes += line.len();
            self.lines.push_back(line);
        }
    }

    fn hold(&mut self, line: Vec<u8>) {
        self.held_bytes += line.len();
        self.held.push_back(line);
        while self.held.len() > limits::CHAT_HELD || self.held_bytes > limits::CHAT_HELD_BYTES {
            let Some(oldest) = self.held.pop_front() else { return };
            self.held_bytes -= oldest.len();
        }
    }

    fn close(&mut self) {
        *self = Self { closed: true, ..Self::default() };
    }

    /// Takes the next lines for writing when the last ones have been: as many as waited anyhow, so that none is ever
    /// held back for others to come.
    fn fill(&mut self) {
        if self.written < self.writing.len() {
            return;
        }
        self.written = 0;
        self.writing.clear();
        self.writing.shrink_to(limits::CHAT_WRITE);
        let most = if self.batch > 1 { self.batch } else { usize::MAX };
        let mut size = 0;
        let fits = |line: &&Vec<u8>| {
            size += line.len();
            size <= limits::CHAT_WRITE
        };
        let count = self.lines.iter().take(most).take_while(fits).count().max(1);
        let taken: Vec<Vec<u8>> = self.lines.drain(..count.min(self.lines.len())).collect();
        self.bytes -= taken.iter().map(Vec::len).sum::<usize>();
        if self.batch > 1 && taken.len() > 1 {
            let now = Timestamp::of(SystemTime::now());
            encode_batch(taken.iter().map(Vec::as_slice), now, &mut self.writing);
        } else {
            taken.iter().for_each(|line| self.writing.extend_from_slice(line));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(n: usize) -> Vec<u8> {
        format!("{{\"n\":{n}}}\n").into_bytes()
    }

    /// Everything that would be written, in the pieces it would be written in.
    fn written(queue: &LineQueue) -> Vec<String> {
        let mut all = Vec::new();
        let mut state = queue.lock();
        loop {
            state.fill();
            if state.writing.is_empty() {
                return all;
            }
            all.push(String::from_utf8(state.writing.clone()).unwrap());
            state.written = state.writing.len();
        }
    }

    // SS-76
    #[test]
    fn messages_go_together_only_for_who_wants_that() {
        let queue = LineQueue::default();
        (0..5).for_each(|n| queue.push(line(n), false));
        assert_eq!(written(&queue), ["{\"n\":0}\n{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n{\"n\":4}\n"]);
        queue.batch(2);
        (0..5).for_each(|n| queue.push(line(n), false));
        let batches = written(&queue);
        assert_eq!(batches.len(), 3);
        assert!(batches[0].starts_with("{\"type\":\"batch\",\"data\":{\"messages\":[{\"n\":0},{\"n\":1}]}"));
        assert_eq!(batches[2], "{\"n\":4}\n");
    }

    // SS-74
    #[test]
    fn what_can_wait_does_while_it_is_not_wanted() {
        let queue = LineQueue::default();
        queue.pause(true);
        queue.push(line(1), true);
        queue.push(line(2), false);
        assert_eq!(written(&queue), ["{\"n\":2}\n"]);
        for n in 0..limits::CHAT_HELD {
            queue.push(line(n + 10), true);
        }
        queue.pause(false);
        let all = written(&queue).concat();
        assert_eq!(all.lines().count(), limits::CHAT_HELD);
        assert!(all.starts_with("{\"n\":10}\n"), "the oldest is dropped");
        queue.push(line(3), true);
        assert_eq!(written(&queue), ["{\"n\":3}\n"]);
    }

    // SS-77
    #[tokio::test(start_paused = true)]
    async fn who_has_stopped_to_read_is_given_up() {
        let (stream, _peer) = UnixStream::pair().unwrap();
        // A line that the socket does not hold: from there on the client would have to read.
        let queue = LineQueue::default();
        queue.push(vec![b'x'; 1 << 20], false);
        for n in 0..256 {
            queue.push(line(n), false);
        }
        let given_up = |queue: &LineQueue| queue.overflow.is_cancelled();
        assert!(tokio::time::timeout(10 * limits::CHAT_STALL, queue.drain(&stream)).await.is_err());
        assert!(!given_up(&queue), "that many are always kept");
        queue.push(line(256), false);
        assert!(!given_up(&queue), "it may only be slow");
        tokio::select! {
            _ = queue.drain(&stream) => unreachable!("nobody reads"),
            () = queue.given_up() => {}
        }
    }

    // SS-77
    #[test]
    fn who_reads_too_slowly_is_given_up() {
        let queue = LineQueue::default();
        for n in 0..limits::CHAT_QUEUE_MOST {
            queue.push(line(n), false);
        }
        assert!(!queue.overflow.is_cancelled());
        for n in 0..2 {
            queue.push(line(n), false);
        }
        assert!(queue.overflow.is_cancelled());
        assert!(written(&queue).is_empty() && queue.lock().bytes == 0);
        let large = LineQueue::default();
        large.push(vec![b' '; MAX_LINE], false);
        assert!(!large.overflow.is_cancelled(), "a single message is never too much");
        (0..3).for_each(|_| large.push(vec![b' '; MAX_LINE - 1], false));
        assert!(large.overflow.is_cancelled());
    }
}
