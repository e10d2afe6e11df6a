//! Who answers a program's questions (what are you, where is the cursor, which colours): the terminal of
//! a client that is attached, else the model. Never both, and never twice.

use super::Pty;
use crate::limits;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use swb_types::Offset;
use tokio::time::Instant;

/// The note left for the next daemon while a terminal answers: wherever it has got to by then.
const A_TERMINAL_DOES: u64 = u64::MAX;

/// Who answers, and how far that has got.
#[derive(Debug, Default)]
pub(super) struct Answering {
    /// Cursors that feed terminals.
    terminals: AtomicUsize,
    /// Questions before this offset are settled.
    answered: AtomicU64,
    /// The model has answered something that was asked before this offset.
    spoken: AtomicU64,
    /// Until then a terminal is given time to come back that was attached when a former daemon died.
    expected: Mutex<Option<Instant>>,
}

impl Pty {
    /// Goes on where a former daemon stopped.
    pub(super) fn resume_answering(&self) {
        let note = self.keeper.note(self.slot);
        // A terminal that was attached comes back and answers what it has not seen yet.
        let answered = if note == A_TERMINAL_DOES { self.head().0 } else { note };
        self.answering.answered.store(answered, Ordering::Relaxed);
        if note == A_TERMINAL_DOES {
            *self.expected() = Some(Instant::now() + limits::TERMINAL_RETURNS);
        }
    }

    fn expected(&self) -> MutexGuard<'_, Option<Instant>> {
        self.answering.expected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Until when nobody else is to answer, because a terminal is about to come back.
    pub(crate) fn expects_terminal(&self) -> Option<Instant> {
        self.expected().filter(|until| *until > Instant::now())
    }

    /// Whether a terminal is attached that answers.
    pub fn has_terminal(&self) -> bool {
        self.answering.terminals.load(Ordering::SeqCst) > 0
    }

    /// Questions before this offset have been answered, or will be by a terminal.
    pub(crate) fn answered(&self) -> Offset {
        match self.has_terminal() {
            true => Offset::MAX,
            false => Offset(self.answering.answered.load(Ordering::SeqCst)),
        }
    }

    /// Settles all questions before `offset`; says whether the newest of them are the caller's to answer.
    pub(crate) fn take_questions(&self, offset: Offset) -> bool {
        let before = Offset(self.answering.answered.fetch_max(offset.0, Ordering::SeqCst));
        if self.has_terminal() {
            return false;
        }
        if before < offset && !self.is_over() {
            // Before the answer goes out: better none than two.
            self.keeper.leave_note(self.slot, offset.0);
        }
        before < offset
    }

    /// The model answers something that was asked before `offset`.
    pub(crate) fn speaks(&self, offset: Offset) {
        self.answering.spoken.store(offset.0, Ordering::SeqCst);
    }

    /// Whether the model has answered something that is asked behind `offset`: a terminal that is shown that output
    /// would answer it again.
    pub fn has_answered_behind(&self, offset: Offset) -> bool {
        self.answering.spoken.load(Ordering::SeqCst) > offset.0
    }

    pub(super) fn terminal_comes(&self) {
        self.answering.terminals.fetch_add(1, Ordering::SeqCst);
        *self.expected() = None;
        if !self.is_over() {
            self.keeper.leave_note(self.slot, A_TERMINAL_DOES);
        }
        self.observer.notify_one();
    }

    /// A terminal that has seen everything before `offset` is gone.
    pub(super) fn terminal_leaves(&self, offset: Offset) {
        let answered = self.answering.answered.fetch_max(offset.0, Ordering::SeqCst).max(offset.0);
        let last = self.answering.terminals.fetch_sub(1, Ordering::SeqCst) == 1;
        if last && !self.is_over() {
            self.keeper.leave_note(self.slot, answered);
        }
        self.observer.notify_one();
    }
}
