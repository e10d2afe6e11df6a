//! Output of the command for the user: every byte, at once, and none of ours (CP-2, CP-4).
//!
//! Bounded: while the user's side accepts nothing, [`CommandOutput::is_blocked`] is true and the command is not read.

use crate::attach::user_terminal::reopen_output;
use rustix::io::Errno;
use rustix::stdio::stdout;
use rustix::termios::isatty;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Standard output and the bytes it has not accepted yet.
#[derive(Debug)]
pub(super) struct CommandOutput {
    /// Our own open file, if standard output can be opened again; it does not block.
    own: Option<OwnedFd>,
    waiting: Vec<u8>,
    done: usize,
    gone: bool,
}

impl CommandOutput {
    pub(super) fn open() -> Self {
        Self { own: reopen_output(isatty(stdout())), waiting: Vec::new(), done: 0, gone: false }
    }

    /// Whether bytes wait for the user's side.
    pub(super) fn is_blocked(&self) -> bool {
        self.done < self.waiting.len()
    }

    /// Whether the user's side is gone.
    pub(super) fn is_gone(&self) -> bool {
        self.gone
    }

    /// Writes bytes, and keeps what is not accepted. Only to be called if nothing waits.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        let taken = self.try_write(bytes);
        self.waiting.clear();
        self.waiting.extend_from_slice(bytes.get(taken..).unwrap_or_default());
        self.done = 0;
    }

    /// Writes what waits.
    pub(super) fn flush(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        self.done += self.try_write(waiting.get(self.done..).unwrap_or_default());
        self.waiting = waiting;
    }

    /// Returns how much was accepted; all of it if the user's side is gone.
    fn try_write(&mut self, bytes: &[u8]) -> usize {
        let mut taken = 0;
        while let Some(rest) = bytes.get(taken..).filter(|rest| !rest.is_empty() && !self.gone) {
            match rustix::io::write(self.as_fd(), rest) {
                Ok(count) => taken += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return taken,
                Err(_) => self.gone = true,
            }
        }
        bytes.len()
    }
}

impl AsFd for CommandOutput {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.own {
            Some(own) => own.as_fd(),
            None => stdout(),
        }
    }
}
