//! The queue of frames for one clippy peer: replies in the order of their requests, and injects between them.
//!
//! Bounded in bytes. A wrapper that does not read its injects is disconnected when the bound is exceeded (CB-59); no
//! request is read from a peer that does not read its replies.

use crate::limits;
use crate::outbound::{MessageQueue, OutboundQueue};
use crate::peer::has_stopped_sending;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use swb_engine::Injector;
use swb_wire::clippy::inject_head;
use tokio::net::UnixStream;

/// A whole message.
#[derive(Debug)]
pub(super) struct Frame {
    /// Everything before the content.
    pub(super) head: Vec<u8>,
    /// The content, which is sent from where it is stored.
    pub(super) content: Option<Arc<Vec<u8>>>,
    /// Whether it is the reply to a request.
    pub(super) reply: bool,
}

impl Frame {
    fn content(&self) -> &[u8] {
        self.content.as_ref().map_or(&[], |content| content.as_slice())
    }

    fn len(&self) -> usize {
        self.head.len() + self.content().len()
    }
}

/// The queued frames of one peer.
#[derive(Debug, Default)]
pub(super) struct FrameQueue {
    frames: VecDeque<Frame>,
    /// Bytes of the first frame that have been sent.
    sent: usize,
    /// Bytes of all frames, and of those that are replies.
    bytes: usize,
    replies: usize,
    closed: bool,
    /// The peer has left without waiting for replies, which are dropped from now on.
    disconnected: bool,
}

/// The result of queueing a frame.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Pushed {
    /// It is in the queue, or was a reply to a peer that has left.
    Taken,
    /// It will never be sent.
    Refused,
    /// The queue is full (CB-59).
    Overflow,
}

impl FrameQueue {
    fn push(&mut self, frame: Frame) -> Pushed {
        if self.bytes > 0 && self.bytes + frame.len() > limits::CLIPPY_QUEUE {
            self.closed = true;
            return Pushed::Overflow;
        }
        if self.closed || self.disconnected {
            // The requests of a peer that has left are still handled.
            return if frame.reply && !self.closed { Pushed::Taken } else { Pushed::Refused };
        }
        self.bytes += frame.len();
        self.replies += if frame.reply { frame.len() } else { 0 };
        self.frames.push_back(frame);
        Pushed::Taken
    }

    /// Accepts no further frames.
    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    /// Whether the peer has read enough of its replies for its next request to be read.
    pub(super) fn has_room(&self) -> bool {
        self.replies <= limits::CLIPPY_REPLIES
    }
}

impl MessageQueue for FrameQueue {
    // Only the number of bytes counts (CB-59).
    const STALL: Duration = Duration::MAX;

    fn next(&mut self) -> [&[u8]; 2] {
        let Some(frame) = self.frames.front() else { return [&[], &[]] };
        let head = frame.head.get(self.sent..).unwrap_or_default();
        let from = self.sent.saturating_sub(frame.head.len());
        [head, frame.content().get(from..).unwrap_or_default()]
    }

    fn sent(&mut self, count: usize) {
        self.sent += count;
        if self.frames.front().is_some_and(|frame| self.sent >= frame.len())
            && let Some(frame) = self.frames.pop_front()
        {
            self.sent = 0;
            self.bytes -= frame.len();
            self.replies -= if frame.reply { frame.len() } else { 0 };
        }
    }

    fn has_stalled(&self) -> bool {
        false
    }

    fn disconnect(&mut self) {
        *self = Self { disconnected: true, ..Self::default() };
    }
}

/// Queues a frame; `false` if it will never be sent. If it does not fit, the connection is closed.
pub(super) fn push(outbound: &OutboundQueue<FrameQueue>, frame: Frame) -> bool {
    match outbound.fill(|queue| queue.push(frame)) {
        Pushed::Taken => true,
        Pushed::Refused => false,
        Pushed::Overflow => {
            outbound.give_up();
            false
        }
    }
}

/// Sends injects to the connection that registered the session (CB-46).
#[derive(Debug)]
pub(super) struct QueueInjector {
    pub(super) outbound: Arc<OutboundQueue<FrameQueue>>,
    pub(super) stream: Arc<UnixStream>,
}

impl Injector for QueueInjector {
    fn inject(&self, content: &Arc<Vec<u8>>) -> bool {
        // CB-49: the end of the connection may not have been noticed yet.
        if has_stopped_sending(&self.stream) {
            return false;
        }
        let mut head = Vec::new();
        inject_head(content.len(), &mut head).is_ok()
            && push(&self.outbound, Frame { head, content: Some(Arc::clone(content)), reply: false })
    }
}
