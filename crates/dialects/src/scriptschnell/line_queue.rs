//! The queue of lines for one scriptschnell client: replies and events in order.
//!
//! Bounded in messages and bytes. A client with more in its queue is disconnected (SS-77); the limit is higher for a
//! client that reads slowly than for one that has stopped reading. While a client has paused its events, they are held
//! back, and beyond a limit the oldest are dropped.

use crate::limits;
use crate::outbound::MessageQueue;
use std::collections::VecDeque;
use std::time::{Duration, SystemTime};
use swb_types::Timestamp;
use swb_wire::scriptschnell::{MAX_LINE, encode_batch};

/// The queued messages of one client.
#[derive(Debug, Default)]
pub(super) struct LineQueue {
    /// Whole lines, each with its line break.
    lines: VecDeque<Vec<u8>>,
    /// Bytes of all of them.
    bytes: usize,
    /// The bytes that are being written, and how many of them have been.
    writing: Vec<u8>,
    written: usize,
    /// Events that are held back while the client has paused them.
    held: VecDeque<Vec<u8>>,
    held_bytes: usize,
    paused: bool,
    /// Maximum number of messages in one batch; 0 for no batches.
    batch: usize,
    /// Accepts no further messages.
    closed: bool,
}

impl LineQueue {
    /// Queues a line; `false` if that exceeds the limit (SS-77).
    #[must_use]
    pub(super) fn push(&mut self, line: Vec<u8>, can_wait: bool) -> bool {
        if line.len() > MAX_LINE + 1 {
            // None of our own messages comes near; an agent's request with the contents of a huge file might.
            tracing::warn!(bytes = line.len(), "dropped a message that is longer than a line may be");
            return true;
        }
        if can_wait && self.paused {
            self.hold(line);
            return true;
        }
        self.queue(line);
        !self.is_full()
    }

    /// SS-74
    pub(super) fn pause(&mut self, paused: bool) {
        self.paused = paused;
        if !paused {
            self.held_bytes = 0;
            for line in std::mem::take(&mut self.held) {
                self.queue(line);
            }
        }
    }

    /// SS-76: sends up to this many messages as one batch from now on.
    pub(super) fn batch(&mut self, most: usize) {
        self.batch = most;
    }

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

    /// Takes the next lines for writing when the last ones have been written: only lines that are queued already, so
    /// that none is ever delayed to fill a batch.
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

impl MessageQueue for LineQueue {
    const STALL: Duration = limits::CHAT_STALL;

    fn next(&mut self) -> [&[u8]; 2] {
        self.fill();
        [self.writing.get(self.written..).unwrap_or_default(), &[]]
    }

    fn sent(&mut self, count: usize) {
        self.written += count;
    }

    /// SS-77
    fn has_stalled(&self) -> bool {
        self.lines.len() > limits::CHAT_QUEUE
    }

    fn disconnect(&mut self) {
        *self = Self { closed: true, ..Self::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outbound::OutboundQueue;
    use tokio::net::UnixStream;

    fn line(n: usize) -> Vec<u8> {
        format!("{{\"n\":{n}}}\n").into_bytes()
    }

    fn push_all(queue: &mut LineQueue, numbers: std::ops::Range<usize>, can_wait: bool) {
        numbers.for_each(|n| assert!(queue.push(line(n), can_wait), "{n} is too much"));
    }

    /// Everything that would be written, one item per write.
    fn written(queue: &mut LineQueue) -> Vec<String> {
        let mut all = Vec::new();
        loop {
            let [piece, _] = queue.next();
            if piece.is_empty() {
                return all;
            }
            let piece = String::from_utf8(piece.to_vec()).unwrap();
            queue.sent(piece.len());
            all.push(piece);
        }
    }

    // SS-76
    #[test]
    fn messages_are_batched_only_for_clients_that_support_it() {
        let mut queue = LineQueue::default();
        push_all(&mut queue, 0..5, false);
        assert_eq!(written(&mut queue), ["{\"n\":0}\n{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n{\"n\":4}\n"]);
        queue.batch(2);
        push_all(&mut queue, 0..5, false);
        let batches = written(&mut queue);
        assert_eq!(batches.len(), 3);
        assert!(batches[0].starts_with("{\"type\":\"batch\",\"data\":{\"messages\":[{\"n\":0},{\"n\":1}]}"));
        assert_eq!(batches[2], "{\"n\":4}\n");
    }

    // SS-74
    #[test]
    fn a_paused_client_gets_replies_and_later_the_newest_events() {
        let mut queue = LineQueue::default();
        queue.pause(true);
        assert!(queue.push(line(1), true) && queue.push(line(2), false));
        assert_eq!(written(&mut queue), ["{\"n\":2}\n"]);
        push_all(&mut queue, 10..limits::CHAT_HELD + 10, true);
        queue.pause(false);
        let all = written(&mut queue).concat();
        assert_eq!(all.lines().count(), limits::CHAT_HELD);
        assert!(all.starts_with("{\"n\":10}\n"), "the oldest is dropped");
        assert!(queue.push(line(3), true));
        assert_eq!(written(&mut queue), ["{\"n\":3}\n"]);
    }

    // SS-77
    #[tokio::test(start_paused = true)]
    async fn a_client_that_has_stopped_reading_is_given_up() {
        let (stream, _peer) = UnixStream::pair().unwrap();
        let outbound = OutboundQueue::<LineQueue>::default();
        // A line that the socket does not hold: from there on the client would have to read.
        assert!(outbound.fill(|queue| queue.push(vec![b'x'; 1 << 20], false)));
        outbound.fill(|queue| push_all(queue, 0..256, false));
        let wait = 10 * limits::CHAT_STALL;
        tokio::select! {
            _ = outbound.drain(&stream) => unreachable!("nobody reads"),
            () = outbound.given_up() => panic!("that many are always kept"),
            () = tokio::time::sleep(wait) => {}
        }
        assert!(outbound.fill(|queue| queue.push(line(256), false)), "it may only be slow");
        tokio::select! {
            _ = outbound.drain(&stream) => unreachable!("nobody reads"),
            () = outbound.given_up() => {}
        }
    }

    // SS-77
    #[test]
    fn a_client_that_reads_too_slowly_is_given_up() {
        let mut queue = LineQueue::default();
        push_all(&mut queue, 0..limits::CHAT_QUEUE_MOST, false);
        assert!(!queue.push(line(0), false));
        queue.disconnect();
        assert!(written(&mut queue).is_empty() && queue.bytes == 0);
        let mut large = LineQueue::default();
        assert!(large.push(vec![b' '; MAX_LINE], false), "a single message is never too much");
        let all_fit = (0..3).all(|_| large.push(vec![b' '; MAX_LINE - 1], false));
        assert!(!all_fit);
    }
}
