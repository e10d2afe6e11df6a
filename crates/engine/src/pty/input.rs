//! Input: merged from all clients in order of arrival, one message at a time, delivered completely.

use super::{Line, Pty};
use crate::limits;
use rustix::io::Errno;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::Interest;

/// Why input was not delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    /// The process it was meant for is gone.
    #[error("the process has ended")]
    Ended,
    /// Too many messages wait for the process to read already.
    #[error("too much input waits for the program to read")]
    TooMuch,
}

/// Counts a waiting message for as long as it waits.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Pty {
    /// Writes `bytes` to the terminal, waiting for the program to read as long as it takes.
    ///
    /// Messages of several clients follow each other whole, in order of arrival (CO-56). Before the
    /// process has started, or while it is being started again, input waits for it.
    pub async fn input(&self, bytes: &[u8]) -> Result<(), InputError> {
        if bytes.is_empty() {
            return Ok(());
        }
        if self.input_waiting.fetch_add(1, Ordering::Relaxed) >= limits::INPUT_WAITING {
            self.input_waiting.fetch_sub(1, Ordering::Relaxed);
            return Err(InputError::TooMuch);
        }
        let _waiting = Waiting(&self.input_waiting);
        let _turn = self.turn.lock().await;
        let master = self.open_line().await?;
        self.note_typed(bytes);
        let mut rest = bytes;
        while !rest.is_empty() {
            match rustix::io::write(&master, rest) {
                Ok(n) => rest = &rest[n..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => self.room(&master).await?,
                // Hung up: what this was meant for is gone, and it must not reach its successor.
                Err(_) => return Err(InputError::Ended),
            }
        }
        Ok(())
    }

    async fn open_line(&self) -> Result<Arc<OwnedFd>, InputError> {
        let mut line = self.line.subscribe();
        let line =
            line.wait_for(|line| !matches!(line, Line::Closed)).await.map_err(|_| InputError::Ended)?;
        match &*line {
            Line::Open(master) => Ok(Arc::clone(master)),
            Line::Closed | Line::Ended => Err(InputError::Ended),
        }
    }

    /// Waits until the terminal takes bytes again, or its process is gone.
    async fn room(&self, master: &Arc<OwnedFd>) -> Result<(), InputError> {
        let mut line = self.line.subscribe();
        let gone = line.wait_for(|line| !matches!(line, Line::Open(now) if Arc::ptr_eq(now, master)));
        // Registered only now: an idle registration would wake the daemon whenever the program reads.
        let writable = async {
            let fd = crate::sys::register(Arc::clone(master), Interest::WRITABLE)?;
            fd.writable().await?.retain_ready();
            Ok::<_, io::Error>(())
        };
        tokio::select! {
            _ = gone => Err(InputError::Ended),
            ready = writable => ready.map_err(|_| InputError::Ended),
        }
    }
}
