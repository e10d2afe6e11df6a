//! Numbered input: which bytes of a client's input were written to the terminal, known across restarts of the daemon.
//!
//! A client names its stream of input and counts its bytes. When it connects again, to this daemon or the next one, it
//! gets the count and sends what is missing. Only the bytes of one write can be in doubt: those count as written and are
//! reported, because to type them twice would be worse.

use super::Pty;
use super::input::{InputError, QueuedInput, write_once};
use crate::keeper::KEY_INPUT;
use crate::limits;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use swb_keeper::{InputCounts, StreamPlace};

/// The streams of one terminal.
#[derive(Debug, Default)]
pub(super) struct NumberedInput {
    state: Mutex<NumberedState>,
}

#[derive(Debug, Default)]
struct NumberedState {
    counts: Option<InputCounts>,
    /// Which connection continues the stream in a place. An earlier one must not: what it has not written yet is sent
    /// again.
    holders: Vec<(StreamPlace, u64)>,
    next_holder: u64,
}

/// The input of a client on one connection.
#[derive(Debug)]
pub struct InputStream {
    pty: Arc<Pty>,
    place: StreamPlace,
    holder: u64,
    /// How far the stream had come, and how many bytes of that may not have arrived.
    begin: (u64, u64),
}

impl NumberedInput {
    /// The streams that an earlier daemon counted.
    pub(super) fn adopted(memory: Option<&OwnedFd>) -> Self {
        let counts = memory.and_then(|memory| {
            let opened = InputCounts::open(memory);
            opened.inspect_err(|error| tracing::warn!(%error, "cannot read the counts of input")).ok()
        });
        Self { state: Mutex::new(NumberedState { counts, ..NumberedState::default() }) }
    }

    fn lock(&self) -> MutexGuard<'_, NumberedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl NumberedState {
    /// The count of a stream, if the connection is the one that continues it.
    fn held_by(&self, stream: &InputStream) -> Result<(&InputCounts, u64), InputError> {
        let held = self.holders.contains(&(stream.place, stream.holder));
        match self.counts.as_ref().filter(|_| held) {
            Some(counts) => Ok((counts, counts.count(stream.place).0)),
            None => Err(InputError::Superseded),
        }
    }
}

impl Pty {
    /// Continues a stream of input, or begins it; `None` if it cannot be counted. An earlier connection with this stream
    /// writes nothing from then on.
    pub fn input_stream(self: &Arc<Self>, stream: u64) -> Option<InputStream> {
        let mut state = self.numbered.lock();
        if state.counts.is_none() {
            let (counts, memory) = InputCounts::create()
                .inspect_err(|error| tracing::warn!(%error, "cannot count input"))
                .ok()?;
            state.counts = Some(counts);
            self.keeper.hold_owned(self, KEY_INPUT, memory);
        }
        let holder = state.next_holder;
        state.next_holder += 1;
        let counts = state.counts.as_ref().filter(|_| stream != 0)?;
        let place = counts.place(stream)?;
        let (written, attempt) = counts.count(place);
        counts.complete(place, attempt);
        state.holders.retain(|(held, _)| *held != place);
        state.holders.push((place, holder));
        Some(InputStream { pty: Arc::clone(self), place, holder, begin: (attempt, attempt - written) })
    }
}

impl InputStream {
    /// Bytes of the stream that were written when it was opened, and how many of the last of them may not have been.
    pub fn begin(&self) -> (u64, u64) {
        self.begin
    }

    /// Writes the next `count` bytes of the stream to the terminal, waiting for the program to read as long as it takes.
    /// `bytes` are those of them that the program gets.
    pub async fn input(&self, count: usize, bytes: &[u8]) -> Result<(), InputError> {
        let exact = count == bytes.len();
        let end = self.pty.numbered.lock().held_by(self)?.1.saturating_add(count as u64);
        if !bytes.is_empty() {
            let write = |master: &OwnedFd, rest: &[u8]| self.write_some(master, rest, end, exact);
            QueuedInput::join(&*self.pty)?.write_with(bytes, write).await?;
        }
        let state = self.pty.numbered.lock();
        let (counts, _) = state.held_by(self)?;
        counts.complete(self.place, end);
        Ok(())
    }

    /// Writes until everything is written or the terminal is full, in pieces that are counted one by one. If the program
    /// does not get all bytes of the client, they are counted together.
    fn write_some(&self, master: &OwnedFd, bytes: &[u8], end: u64, exact: bool) -> Result<usize, InputError> {
        let mut written = 0;
        while let Some(rest) = bytes.get(written..).filter(|rest| !rest.is_empty()) {
            let piece = rest.get(..limits::INPUT_IN_DOUBT).unwrap_or(rest);
            let state = self.pty.numbered.lock();
            let (counts, before) = state.held_by(self)?;
            counts.begin(self.place, if exact { before.saturating_add(piece.len() as u64) } else { end });
            let count = write_once(master, piece)?;
            if exact {
                counts.complete(self.place, before.saturating_add(count as u64));
            }
            if count == 0 {
                break;
            }
            written += count;
        }
        Ok(written)
    }
}
