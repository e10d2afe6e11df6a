//! The output, read in the memory where the keeper writes it: the daemon is not woken for it, and copies nothing.
//!
//! The daemon sends the offset where direct reading begins. From then on the client reports its position from time to time, so that
//! the output waits for this client as for any other. Reading ends when the daemon asks for it, or when the writer has
//! overtaken this client; then the daemon continues at the reported position, over the socket.

use super::inbox::Inbox;
use crate::limits;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use swb_keeper::Reader;
use swb_types::Offset;

/// The memory, and what the daemon knows about this client's position in it.
#[derive(Debug)]
pub(super) struct DirectOutput {
    ring: Arc<Reader>,
    reported: Offset,
    /// Bytes between two reports.
    step: u64,
    /// The end of the output that was read.
    seen: Offset,
}

/// What came of an attempt to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DirectRead {
    /// Bytes are in the inbox.
    Some,
    /// There is nothing new, or the inbox has to be emptied first.
    Nothing,
    /// The bytes were overwritten.
    Lost,
}

/// Where to sleep until there is more output.
#[derive(Debug)]
pub(super) struct Sleep {
    ring: Arc<Reader>,
    seen: Offset,
}

impl DirectOutput {
    /// Maps the memory that the daemon has sent, to be read from `from` on.
    pub(super) fn open(memory: OwnedFd, from: Offset) -> Option<Self> {
        let ring = Arc::new(Reader::open(memory).ok()?);
        // A small ring must not be full before the first report.
        let step = limits::DIRECT_REPORT.min(ring.keep() / 8).max(1);
        Some(Self { ring, reported: from, step, seen: from })
    }

    /// Copies the output from `from` on into the inbox, as much as fits.
    pub(super) fn read(&mut self, from: Offset, inbox: &mut Inbox) -> DirectRead {
        let head = Offset(self.ring.head().0);
        let most = usize::try_from(head.0.saturating_sub(from.0)).unwrap_or(usize::MAX);
        if most == 0 || !inbox.is_empty() {
            self.seen = head;
            return DirectRead::Nothing;
        }
        match inbox.supply(most, |bytes| self.ring.copy_over(swb_keeper::Offset(from.0), bytes)) {
            Some(count) => {
                // Not the end of the output: what did not fit must not be slept over.
                self.seen = Offset(from.0.saturating_add(count as u64));
                DirectRead::Some
            }
            None => DirectRead::Lost,
        }
    }

    /// Whether the daemon is to be sent the report that everything before `position` was read; it counts as sent.
    pub(super) fn is_report_due(&mut self, position: Offset) -> bool {
        let due = position.0.saturating_sub(self.reported.0) >= self.step;
        if due {
            self.reported = position;
        }
        due
    }

    /// Where to sleep until there is output that has not been read.
    pub(super) fn sleep(&self) -> Sleep {
        Sleep { ring: Arc::clone(&self.ring), seen: self.seen }
    }
}

impl Sleep {
    /// Sleeps until there is more output, or [`Sleep::end`] is called.
    pub(super) fn wait(&self) {
        self.ring.sleep(swb_keeper::Offset(self.seen.0), limits::DIRECT_SLEEP);
    }

    /// Ends the sleep of all who sleep there.
    pub(super) fn end(&self) {
        self.ring.rouse();
    }
}
