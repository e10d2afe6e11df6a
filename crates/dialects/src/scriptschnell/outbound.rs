//! What is sent to one client: the queue of its messages, the idle clock, and what the client supports.

use super::idle::IdleClock;
use super::line_queue::LineQueue;
use crate::outbound::OutboundQueue;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;
use swb_types::Timestamp;
use swb_wire::scriptschnell::{ErrorInfo, ServerMessage, encode};
use tokio::sync::watch;
use tokio::time::Instant;

/// What a client supports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Capabilities {
    /// Batches of messages (SS-76).
    pub(super) batch: bool,
    /// Questions as a list (SS-65).
    pub(super) questions: bool,
    /// Addition: a message when the client becomes or stops being the owner of a session.
    pub(super) seats: bool,
    /// Addition: the outcome of approvals and questions.
    pub(super) settled: bool,
    /// One kind of message per tool call (SS-58).
    pub(super) tool_compact: bool,
}

impl Capabilities {
    pub(super) fn new(names: &[String]) -> Self {
        let has = |name: &str| names.iter().any(|known| known == name);
        Self {
            batch: has("batch"),
            questions: has("questions"),
            seats: has("seats"),
            settled: has("settled"),
            tool_compact: has("tool_compact"),
        }
    }
}

/// Sends messages to one client, for its connection and for other tasks.
#[derive(Debug)]
pub(super) struct Outbound {
    /// The id of the connection (SS-14).
    pub(super) id: String,
    pub(super) queue: OutboundQueue<LineQueue>,
    /// Number of this connection's generations that are running.
    pub(super) generations: watch::Sender<usize>,
    clock: Mutex<IdleClock>,
    capabilities: Mutex<Capabilities>,
}

impl Outbound {
    pub(super) fn new(id: String) -> Self {
        Self {
            id,
            queue: OutboundQueue::default(),
            generations: watch::Sender::new(0),
            clock: Mutex::new(IdleClock::new(Instant::now())),
            capabilities: Mutex::default(),
        }
    }

    pub(super) fn send(&self, message: &ServerMessage, request_id: Option<&str>) {
        let mut line = Vec::new();
        encode(message, request_id, Timestamp::of(SystemTime::now()), &mut line);
        if !self.queue.fill(|queue| queue.push(line, message.can_wait())) {
            self.queue.give_up();
        }
        let mut clock = self.clock();
        clock.sent = Instant::now();
        // a ping of ours does not show that the client is alive.
        if !matches!(message, ServerMessage::Ping | ServerMessage::Pong) {
            clock.alive = clock.sent;
        }
    }

    /// Sends an error (SS-11) and logs it (SS-79).
    pub(super) fn send_error(&self, error: ErrorInfo, request_id: Option<&str>) {
        tracing::info!(connection = self.id, code = %error.code, "refused");
        self.send(&ServerMessage::Error(error), request_id);
    }

    /// The client has sent something.
    pub(super) fn received(&self) {
        self.clock().alive = Instant::now();
    }

    pub(super) fn clock(&self) -> MutexGuard<'_, IdleClock> {
        self.clock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn capabilities(&self) -> Capabilities {
        *self.capabilities.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_capabilities(&self, capabilities: Capabilities) {
        *self.capabilities.lock().unwrap_or_else(PoisonError::into_inner) = capabilities;
    }

    pub(super) fn running(&self) -> usize {
        *self.generations.borrow()
    }

    /// Waits until none of its generations is running.
    pub(super) async fn generations_end(&self) {
        // `self` holds the sender, so the wait cannot fail.
        let mut generations = self.generations.subscribe();
        let _ended = generations.wait_for(|running| *running == 0).await;
    }
}
