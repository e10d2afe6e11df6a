//! What happened, for whoever wants to follow along.

use crate::limits;
use crate::relay::TurnId;
use std::sync::Mutex;
use std::time::SystemTime;
use swb_types::{ExitStatus, PtyId, SessionName};
use tokio::sync::broadcast;

/// Something that happened to a session.
#[derive(Debug, Clone)]
pub struct Event {
    /// Rises by one with each event of this daemon.
    pub seq: u64,
    /// When it happened.
    pub at: SystemTime,
    /// Session it concerns.
    pub session: SessionName,
    /// What happened.
    pub kind: EventKind,
}

/// The kinds of event.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventKind {
    /// A session was made, or found again after a restart.
    Opened,
    /// The last process of a session ended, or it was killed.
    Closed,
    /// A process runs on a PTY.
    Started(PtyId),
    /// The process on a PTY ended for good.
    Exited(PtyId, ExitStatus),
    /// A turn on a PTY was completed.
    TurnCompleted {
        /// The PTY.
        pty: PtyId,
        /// The turn.
        turn: TurnId,
    },
}

/// Numbers events and hands them to bounded subscribers.
#[derive(Debug)]
pub(crate) struct Events {
    sender: broadcast::Sender<Event>,
    next: Mutex<u64>,
}

impl Events {
    pub(crate) fn new() -> Self {
        Self { sender: broadcast::channel(limits::EVENTS).0, next: Mutex::new(0) }
    }

    pub(crate) fn emit(&self, session: &SessionName, kind: EventKind) {
        let mut next = self.next.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let event = Event { seq: *next, at: SystemTime::now(), session: session.clone(), kind };
        *next += 1;
        // Sending fails when nobody listens, which is fine.
        let _receivers = self.sender.send(event);
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Event> {
        self.sender.subscribe()
    }
}
