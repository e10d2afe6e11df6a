//! What a connection says, and to whom: its outbox, its clock and what its client understands.

use super::clock::Clock;
use super::outbox::Outbox;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;
use swb_types::Timestamp;
use swb_wire::scriptschnell::{ErrorInfo, ServerMessage, encode};
use tokio::sync::watch;
use tokio::time::Instant;

/// What a client says it understands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Capabilities {
    /// Messages together (SS-76).
    pub(super) batch: bool,
    /// Questions as a list (SS-65).
    pub(super) questions: bool,
    /// Addition: being told when its place at a session changes.
    pub(super) seats: bool,
    /// Addition: being told what approvals and questions came to.
    pub(super) settled: bool,
    /// The use of a tool in one kind of message (SS-58).
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

/// The way to one client, for the connection and for everything that goes on beside it.
#[derive(Debug)]
pub(super) struct Voice {
    /// What the connection is called (SS-14).
    pub(super) id: String,
    pub(super) outbox: Outbox,
    /// Number of this connection's generations that run.
    pub(super) generations: watch::Sender<usize>,
    clock: Mutex<Clock>,
    capabilities: Mutex<Capabilities>,
}

impl Voice {
    pub(super) fn new(id: String) -> Self {
        Self {
            id,
            outbox: Outbox::default(),
            generations: watch::Sender::new(0),
            clock: Mutex::new(Clock::new(Instant::now())),
            capabilities: Mutex::default(),
        }
    }

    pub(super) fn say(&self, message: &ServerMessage, request_id: Option<&str>) {
        let mut line = Vec::new();
        encode(message, request_id, Timestamp::of(SystemTime::now()), &mut line);
        self.outbox.push(line, message.can_wait());
        let mut clock = self.clock();
        clock.said = Instant::now();
        // that we are there says nothing of the client.
        if !matches!(message, ServerMessage::Ping | ServerMessage::Pong) {
            clock.life = clock.said;
        }
    }

    /// Says that something cannot be done (SS-11), and keeps in the log that it was so (SS-79).
    pub(super) fn refuse(&self, error: ErrorInfo, request_id: Option<&str>) {
        tracing::info!(connection = self.id, code = %error.code, "refused");
        self.say(&ServerMessage::Error(error), request_id);
    }

    /// The client has said something.
    pub(super) fn heard(&self) {
        self.clock().life = Instant::now();
    }

    pub(super) fn clock(&self) -> MutexGuard<'_, Clock> {
        self.clock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn capabilities(&self) -> Capabilities {
        *self.capabilities.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn understands(&self, capabilities: Capabilities) {
        *self.capabilities.lock().unwrap_or_else(PoisonError::into_inner) = capabilities;
    }

    pub(super) fn running(&self) -> usize {
        *self.generations.borrow()
    }

    /// Waits until none of its generations runs.
    pub(super) async fn generations_end(&self) {
        // It holds the sender itself, so the wait cannot fail.
        let mut generations = self.generations.subscribe();
        let _ended = generations.wait_for(|running| *running == 0).await;
    }
}
