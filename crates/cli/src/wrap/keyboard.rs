//! Input for the command, from the user or from a paste.
//!
//! Messages stay whole and in order (CP-19). Bounded: if the command does not read, [`WrapKeyboard::has_room`] is
//! false and neither side is read further.

use crate::limits;
use rustix::io::Errno;
use std::os::fd::AsFd;

/// The queue of input.
#[derive(Debug, Default)]
pub(super) struct WrapKeyboard {
    waiting: Vec<u8>,
    taken: usize,
}

impl WrapKeyboard {
    /// Whether more may be read.
    pub(super) fn has_room(&self) -> bool {
        self.waiting.len() - self.taken < limits::WRAP_INPUT
    }

    /// Whether something is queued.
    pub(super) fn is_pending(&self) -> bool {
        self.taken < self.waiting.len()
    }

    /// Adds a message.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.waiting.drain(..self.taken);
        self.taken = 0;
        self.waiting.extend_from_slice(bytes);
    }

    /// Writes what the terminal accepts without blocking, and passes those bytes to `typed`.
    pub(super) fn flush(&mut self, master: impl AsFd, mut typed: impl FnMut(&[u8])) {
        while let Some(rest) = self.waiting.get(self.taken..).filter(|rest| !rest.is_empty()) {
            match rustix::io::write(&master, rest) {
                Ok(count) => {
                    typed(rest.get(..count).unwrap_or_default());
                    self.taken += count;
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                // The command will never read it.
                Err(_) => break,
            }
        }
        self.waiting = Vec::new();
        self.taken = 0;
    }
}
