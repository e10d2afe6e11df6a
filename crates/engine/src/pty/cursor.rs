//! A reader's position in the output of one PTY.

use super::pace::{Reach, ReaderPosition};
use super::{Mark, OutputRing, Pty};
use std::sync::Arc;
use swb_types::{Offset, Size};

/// A reader's position in the output and among its marks. It costs a few words.
#[derive(Debug)]
pub struct Cursor {
    pty: Arc<Pty>,
    offset: Offset,
    next_mark: u64,
    place: Arc<ReaderPosition>,
    /// It feeds a terminal that answers the program's queries.
    terminal: bool,
    /// Its client reads the ring itself, and may be ahead of it.
    followed: bool,
}

/// What comes next for a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CursorStep {
    /// Output from the cursor up to this offset can be taken; then call [`Cursor::advance`].
    Output {
        /// End of the bytes.
        to: Offset,
    },
    /// Something happened here. The cursor is already past it.
    Mark(Mark),
    /// The reader was too slow: bytes up to at least this offset are gone. Call [`Cursor::skip`].
    Lost {
        /// Oldest offset that can still be read.
        oldest: Offset,
    },
    /// Nothing yet; [`Cursor::wait`].
    Idle,
}

impl Cursor {
    pub(super) fn new(pty: Arc<Pty>, offset: Offset, reach: Reach) -> Self {
        let next_mark = pty.marks.for_newcomer();
        let place = pty.pace.enter(offset, reach);
        pty.update_gate();
        Self { pty, offset, next_mark, place, terminal: false, followed: false }
    }

    /// Another reader at the same position.
    pub(crate) fn fork(&self) -> Self {
        let place = self.pty.pace.enter(self.offset, Reach::Half);
        self.pty.update_gate();
        // Every reader receives the end, even if this one has passed it already.
        let next_mark = self.next_mark.min(self.pty.marks.for_newcomer());
        Self {
            pty: Arc::clone(&self.pty),
            offset: self.offset,
            next_mark,
            place,
            terminal: false,
            followed: false,
        }
    }

    /// Declares that a terminal shows what it reads, and answers the program's queries as long as the cursor lives.
    pub fn answers(&mut self) {
        if !std::mem::replace(&mut self.terminal, true) {
            self.pty.terminal_comes();
        }
    }

    /// Declares that its client's terminal no longer shows what it reads.
    pub fn stops_answering(&mut self) {
        if std::mem::take(&mut self.terminal) {
            self.pty.terminal_leaves(self.offset);
        }
    }

    /// Declares that its client comes over a network.
    pub fn reads_remotely(&self) {
        self.place.set_remote();
        self.pty.update_gate();
    }

    /// Declares that it has fallen behind: output does not wait for it until it has caught up.
    pub fn falls_behind(&self) {
        self.place.set_lagging(true);
        self.pty.update_gate();
    }

    /// Whether it is one of many whose clients come over a network.
    pub fn is_in_crowd(&self) -> bool {
        self.pty.pace.is_crowded()
    }

    /// Declares that it has caught up: output may wait for it again.
    pub(crate) fn caught_up(&self) {
        if self.place.set_lagging(false) {
            self.pty.update_gate();
        }
    }

    /// Declares whether its client reads the ring itself from here on. The cursor then follows the client's reports, and
    /// nothing wakes its task for output.
    pub fn set_followed(&mut self, followed: bool) {
        self.followed = followed;
        if followed {
            self.caught_up();
        }
    }

    /// Moves to where its client reports to have come. A client cannot move it back, nor beyond the output.
    pub fn follow(&mut self, client: Offset) {
        let to = client.min(self.pty.head());
        if to > self.offset {
            self.advance(to - self.offset);
        }
    }

    /// Whether it has come beyond a resize that it has not passed as a mark, to another size than this one.
    pub fn has_passed_resize_to_other(&self, size: Size) -> bool {
        self.pty.marks.since(self.next_mark).any(
            |(offset, mark)| matches!(mark, Mark::Resized { size: new, .. } if offset < self.offset && new != size),
        )
    }

    /// Waits until there is a mark it has not passed. Dropping the wait loses nothing.
    pub async fn wait_for_mark(&self) {
        loop {
            let changed = self.pty.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if self.has_mark() {
                return;
            }
            changed.await;
        }
    }

    /// Whether there is a mark it has not passed.
    pub fn has_mark(&self) -> bool {
        self.pty.marks.count() > self.next_mark
    }

    /// Offset of the next byte it will take.
    pub fn offset(&self) -> Offset {
        self.offset
    }

    /// The PTY it reads.
    pub fn pty(&self) -> &Arc<Pty> {
        &self.pty
    }

    /// The ring the bytes are in; there is one whenever a step gave [`CursorStep::Output`].
    pub fn ring(&self) -> Option<&OutputRing> {
        self.pty.ring()
    }

    /// What comes next, at most `most` bytes of it.
    pub fn step(&mut self, most: u64) -> CursorStep {
        // The order matters: a resize sets its mark before the PTY learns the size. If the mark is not
        // there after the head was read, all bytes up to that head were written at the old size.
        let head = self.pty.head();
        let mark = self.pty.marks.get(self.next_mark);
        let mut limit = head;
        if let Some((number, offset, mark)) = mark {
            if offset <= self.offset {
                self.next_mark = number + 1;
                return CursorStep::Mark(mark);
            }
            limit = limit.min(offset);
        }
        if self.offset >= limit {
            return CursorStep::Idle;
        }
        match self.pty.ring() {
            Some(ring) if ring.intact(self.offset) => {
                CursorStep::Output { to: limit.min(self.offset + most) }
            }
            Some(ring) => CursorStep::Lost { oldest: ring.oldest(ring.head()) },
            None => CursorStep::Idle,
        }
    }

    /// Moves past `n` bytes that were taken.
    pub fn advance(&mut self, n: u64) {
        self.offset += n;
        if self.place.advance(self.offset) {
            self.pty.update_gate();
        }
    }

    /// Moves back to old output, at most `most` bytes of it, and returns the offset of its end: the newest byte, or the
    /// next mark.
    pub fn rewind(&mut self, most: u64) -> Offset {
        let head = self.pty.head();
        let end = self.pty.marks.get(self.next_mark).map_or(head, |(_, offset, _)| offset.min(head));
        // By the same head: bytes that are overwritten meanwhile are detected when they are sent.
        let oldest = self.pty.ring().map_or(Offset::START, |ring| ring.oldest(head));
        self.offset = end.saturating_sub(most).max(oldest).min(end);
        self.place.advance(self.offset);
        self.pty.update_gate();
        end
    }

    /// Continues at `offset` after a loss.
    pub fn skip(&mut self, offset: Offset) {
        self.offset = self.offset.max(offset);
        self.place.advance(self.offset);
        self.place.set_lagging(true);
        self.pty.update_gate();
    }

    /// Waits until [`Cursor::step`] returns something else than [`CursorStep::Idle`]. Dropping the wait loses nothing.
    pub async fn wait(&self) {
        loop {
            let changed = self.pty.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            // First ask to be woken, then check again: see `swb_keeper::Doorbell`.
            self.pty.keeper.arm(self.pty.slot, self.offset + 1);
            if self.pty.head() > self.offset || self.has_mark() {
                return;
            }
            self.caught_up();
            changed.await;
        }
    }
}

impl Drop for Cursor {
    fn drop(&mut self) {
        if self.terminal {
            // A client that read the ring itself has seen all of it: better no reply to a query than two.
            let shown = if self.followed { self.pty.head() } else { self.offset };
            self.pty.terminal_leaves(shown);
        }
        self.pty.pace.leave(&self.place);
        self.pty.update_gate();
    }
}
