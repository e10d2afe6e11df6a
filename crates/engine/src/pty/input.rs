//! Input: merged from all clients in order of arrival, one message at a time, delivered completely.

use super::queue::QueuePlace;
use super::{InputTarget, Pty};
use crate::limits;
use rustix::io::Errno;
use std::io;
use std::ops::Deref;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::io::Interest;

/// Why input was not delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    /// The process has ended.
    #[error("the process has ended")]
    Ended,
    /// The process does not read its input.
    #[error("the session's input queue is full")]
    TooMuch,
    /// Another connection continues this stream of input.
    #[error("this client has reconnected; input on its earlier connection is rejected")]
    Superseded,
}

/// A message's place in the queue for a terminal's input: taken at once, given up when this is dropped.
#[derive(Debug)]
pub(crate) struct QueuedInput<P: Deref<Target = Pty>> {
    pty: P,
    place: QueuePlace,
    /// The process it goes to, from its first byte on.
    master: Option<Arc<OwnedFd>>,
}

impl<P: Deref<Target = Pty>> QueuedInput<P> {
    /// Takes the last place in the queue, unless that is full.
    pub(crate) fn join(pty: P) -> Result<Self, InputError> {
        if pty.input_waiting.fetch_add(1, Ordering::Relaxed) >= limits::INPUT_WAITING {
            pty.input_waiting.fetch_sub(1, Ordering::Relaxed);
            return Err(InputError::TooMuch);
        }
        let place = pty.input_queue.join();
        Ok(Self { pty, place, master: None })
    }

    /// Writes as much of `bytes` as the terminal takes now, if it is this message's turn; returns how much that is.
    pub(crate) fn try_write(&mut self, bytes: &[u8]) -> Result<usize, InputError> {
        if !self.place.is_first() {
            return Ok(0);
        }
        let line = self.pty.line.borrow().clone();
        match line {
            InputTarget::Closed => Ok(0),
            InputTarget::Ended => Err(InputError::Ended),
            InputTarget::Open(master) => write_some(self.begin(master, bytes), bytes),
        }
    }

    /// Writes `bytes`, waiting for those before it and for the program to read as long as it takes.
    pub(crate) async fn write(&mut self, bytes: &[u8]) -> Result<(), InputError> {
        self.write_with(bytes, write_some).await
    }

    /// The same with another function that writes what the terminal takes now.
    pub(super) async fn write_with(
        &mut self,
        bytes: &[u8],
        write: impl Fn(&OwnedFd, &[u8]) -> Result<usize, InputError>,
    ) -> Result<(), InputError> {
        self.place.first().await;
        let master = match &self.master {
            Some(master) => Arc::clone(master),
            None => {
                let master = self.pty.open_line().await?;
                Arc::clone(self.begin(master, bytes))
            }
        };
        let mut rest = bytes;
        loop {
            let written = write(&master, rest)?;
            rest = rest.get(written..).unwrap_or_default();
            if rest.is_empty() {
                return Ok(());
            }
            self.pty.room(&master).await?;
        }
    }

    /// Decides which process the message goes to, all of it.
    fn begin(&mut self, master: Arc<OwnedFd>, bytes: &[u8]) -> &Arc<OwnedFd> {
        self.pty.note_typed(bytes);
        self.master.insert(master)
    }
}

impl<P: Deref<Target = Pty>> Drop for QueuedInput<P> {
    fn drop(&mut self) {
        self.pty.input_waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Writes until everything is written or the terminal is full.
fn write_some(master: &OwnedFd, bytes: &[u8]) -> Result<usize, InputError> {
    let mut written = 0;
    while let Some(rest) = bytes.get(written..).filter(|rest| !rest.is_empty()) {
        match write_once(master, rest)? {
            0 => break,
            count => written += count,
        }
    }
    Ok(written)
}

/// Writes what the terminal takes at once; nothing if it is full.
pub(super) fn write_once(master: &OwnedFd, bytes: &[u8]) -> Result<usize, InputError> {
    loop {
        match rustix::io::write(master, bytes) {
            Ok(count) => return Ok(count),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Ok(0),
            // Hung up: what this was meant for is gone, and it must not reach its successor.
            Err(_) => return Err(InputError::Ended),
        }
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
        QueuedInput::join(self)?.write(bytes).await
    }

    async fn open_line(&self) -> Result<Arc<OwnedFd>, InputError> {
        let mut line = self.line.subscribe();
        let line = line
            .wait_for(|line| !matches!(line, InputTarget::Closed))
            .await
            .map_err(|_| InputError::Ended)?;
        match &*line {
            InputTarget::Open(master) => Ok(Arc::clone(master)),
            InputTarget::Closed | InputTarget::Ended => Err(InputError::Ended),
        }
    }

    /// Waits until the terminal takes bytes again, or its process has ended.
    async fn room(&self, master: &Arc<OwnedFd>) -> Result<(), InputError> {
        let mut line = self.line.subscribe();
        let gone = line.wait_for(|line| !matches!(line, InputTarget::Open(now) if Arc::ptr_eq(now, master)));
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
