//! What waits to be sent to one peer: answers in the order of their requests, and injects between them.
//!
//! Bounded in bytes. A wrapper that does not read its injects is disconnected when the bound is passed (CB-59);
//! a peer that does not read its answers is not listened to until it does.

use crate::limits;
use crate::peer::has_stopped_sending;
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use swb_engine::Injector;
use swb_wire::clippy::inject_head;
use tokio::net::UnixStream;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// A whole message.
#[derive(Debug)]
pub(super) struct Frame {
    /// Everything before the content.
    pub(super) head: Vec<u8>,
    /// The content, which is sent from where it lies.
    pub(super) content: Option<Arc<Vec<u8>>>,
    /// Whether it answers a request.
    pub(super) answer: bool,
}

impl Frame {
    fn content(&self) -> &[u8] {
        self.content.as_ref().map_or(&[], |content| content.as_slice())
    }

    fn len(&self) -> usize {
        self.head.len() + self.content().len()
    }
}

#[derive(Debug, Default)]
pub(super) struct FrameQueue {
    state: Mutex<State>,
    /// There is something to send.
    filled: Notify,
    /// Answers have been sent.
    answered: Notify,
    /// More waited than may.
    overflow: CancellationToken,
}

#[derive(Debug, Default)]
struct State {
    frames: VecDeque<Frame>,
    /// Bytes of the first frame that have been sent.
    sent: usize,
    /// Bytes of all frames, and of those that are answers.
    bytes: usize,
    answers: usize,
    closed: bool,
    /// The peer has left without waiting for answers, which need not be kept any more.
    deaf: bool,
}

impl FrameQueue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a message; `false` if it will never be sent. One that passes the bound ends the connection.
    pub(super) fn push(&self, frame: Frame) -> bool {
        let mut state = self.lock();
        if state.bytes > 0 && state.bytes + frame.len() > limits::CLIPPY_QUEUE {
            state.closed = true;
            self.overflow.cancel();
        }
        if state.closed || state.deaf {
            // What it asked before it left is done all the same.
            return frame.answer && !state.closed;
        }
        state.bytes += frame.len();
        state.answers += if frame.answer { frame.len() } else { 0 };
        state.frames.push_back(frame);
        self.filled.notify_one();
        true
    }

    /// Nothing more will be taken.
    pub(super) fn close(&self) {
        self.lock().closed = true;
    }

    /// Waits until the peer has read enough of its answers to be asked for more.
    pub(super) async fn room(&self) {
        while self.lock().answers > limits::CLIPPY_ANSWERS {
            self.answered.notified().await;
        }
    }

    /// Waits until more is queued than may be: whoever lets so much pile up is not going to read it.
    pub(super) async fn overflowed(&self) {
        self.overflow.cancelled().await;
    }

    /// Sends what is there and what comes, for as long as the peer can be reached.
    pub(super) async fn serve(&self, stream: &UnixStream) {
        while self.drain(stream).await.is_ok() {
            self.filled.notified().await;
        }
        *self.lock() = State { deaf: true, ..State::default() };
        self.answered.notify_one();
    }

    /// Sends what is there. Nothing is lost or sent twice when the wait is dropped.
    pub(super) async fn drain(&self, stream: &UnixStream) -> io::Result<()> {
        loop {
            match self.send_some(stream) {
                Ok(true) => tokio::task::yield_now().await,
                Ok(false) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => stream.writable().await?,
                Err(error) => return Err(error),
            }
        }
    }

    /// Sends as much as the socket takes at once; `false` when nothing is left.
    fn send_some(&self, stream: &UnixStream) -> io::Result<bool> {
        let mut state = self.lock();
        let Some(frame) = state.frames.front() else {
            return Ok(false);
        };
        let head = frame.head.get(state.sent..).unwrap_or_default();
        let from = state.sent.saturating_sub(frame.head.len());
        let content = frame.content().get(from..).unwrap_or_default();
        let (len, answer) = (frame.len(), frame.answer);
        let n = stream.try_write_vectored(&[IoSlice::new(head), IoSlice::new(content)])?;
        state.sent += n;
        if state.sent >= len {
            state.frames.pop_front();
            state.sent = 0;
            state.bytes -= len;
            if answer {
                state.answers -= len;
                self.answered.notify_one();
            }
        }
        Ok(true)
    }
}

/// Injects go to the connection that registered the session (CB-46).
#[derive(Debug)]
pub(super) struct QueueInjector {
    pub(super) queue: Arc<FrameQueue>,
    pub(super) stream: Arc<UnixStream>,
}

impl Injector for QueueInjector {
    fn inject(&self, content: &Arc<Vec<u8>>) -> bool {
        // CB-49: its end may not have been noticed yet.
        if has_stopped_sending(&self.stream) {
            return false;
        }
        let mut head = Vec::new();
        inject_head(content.len(), &mut head).is_ok()
            && self.queue.push(Frame { head, content: Some(Arc::clone(content)), answer: false })
    }
}
