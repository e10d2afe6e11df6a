//! Which terminal answers a program's queries (device attributes, cursor position, colours): that of an attached client,
//! else the screen model. Never both, and never twice.

use super::Pty;
use crate::limits;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use swb_types::Offset;
use tokio::time::Instant;

/// Value stored for the next daemon while a terminal answers: all queries in the output so far are settled.
const A_TERMINAL_DOES: u64 = u64::MAX;

/// Which queries are answered, and by whom.
#[derive(Debug, Default)]
pub(super) struct QueryReplies {
    /// Cursors that feed terminals.
    terminals: AtomicUsize,
    /// Queries before this offset are settled.
    answered: AtomicU64,
    /// The model has answered a query before this offset.
    model_answered: AtomicU64,
    /// Until then a terminal that was attached to a former daemon may reconnect.
    expected: Mutex<Option<Instant>>,
}

impl Pty {
    /// Continues where a former daemon stopped.
    pub(super) fn resume_answering(&self) {
        let note = self.keeper.note(self.slot);
        // A terminal that was attached reconnects and answers the queries it has not shown yet.
        let answered = if note == A_TERMINAL_DOES { self.head().0 } else { note };
        self.answering.answered.store(answered, Ordering::Relaxed);
        if note == A_TERMINAL_DOES {
            *self.expected() = Some(Instant::now() + limits::TERMINAL_RETURNS);
        }
    }

    fn expected(&self) -> MutexGuard<'_, Option<Instant>> {
        self.answering.expected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Until when the model must not answer, because a terminal may reconnect.
    pub(crate) fn expects_terminal(&self) -> Option<Instant> {
        self.expected().filter(|until| *until > Instant::now())
    }

    /// Whether a terminal is attached that answers.
    pub fn has_terminal(&self) -> bool {
        self.answering.terminals.load(Ordering::SeqCst) > 0
    }

    /// Queries before this offset have been answered, or a terminal will answer them.
    pub(crate) fn answered(&self) -> Offset {
        match self.has_terminal() {
            true => Offset::MAX,
            false => Offset(self.answering.answered.load(Ordering::SeqCst)),
        }
    }

    /// Settles all queries before `offset`; returns whether the caller is to answer the newest of them.
    pub(crate) fn take_questions(&self, offset: Offset) -> bool {
        let before = Offset(self.answering.answered.fetch_max(offset.0, Ordering::SeqCst));
        if self.has_terminal() {
            return false;
        }
        if before < offset && !self.is_over() {
            // Before the answer is sent: no answer is better than two.
            self.keeper.leave_note(self.slot, offset.0);
        }
        before < offset
    }

    /// Notes that the model answers a query before `offset`.
    pub(crate) fn note_answer(&self, offset: Offset) {
        self.answering.model_answered.store(offset.0, Ordering::SeqCst);
    }

    /// Whether the model has answered a query after `offset`: a terminal that shows that output would answer it again.
    pub fn has_answered_behind(&self, offset: Offset) -> bool {
        self.answering.model_answered.load(Ordering::SeqCst) > offset.0
    }

    pub(super) fn terminal_comes(&self) {
        self.answering.terminals.fetch_add(1, Ordering::SeqCst);
        *self.expected() = None;
        if !self.is_over() {
            self.keeper.leave_note(self.slot, A_TERMINAL_DOES);
        }
        self.observer.notify_one();
    }

    /// Notes that a terminal that has shown all output before `offset` has detached.
    pub(super) fn terminal_leaves(&self, offset: Offset) {
        let answered = self.answering.answered.fetch_max(offset.0, Ordering::SeqCst).max(offset.0);
        let last = self.answering.terminals.fetch_sub(1, Ordering::SeqCst) == 1;
        if last && !self.is_over() {
            self.keeper.leave_note(self.slot, answered);
        }
        self.observer.notify_one();
    }
}
