//! Numbered input: which bytes of a client's input were written to the terminal, known across restarts of the daemon.
//!
//! A client names its stream of input and counts its bytes. When it connects again, to this daemon or the next one, it
//! gets the count and sends what is missing. Only the bytes of one write can be in doubt (of one message, if the program
//! does not get all of its bytes): those count as written and are reported, because to type them twice would be worse.

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
    begin: StreamBegin,
}

/// What is known of a stream when a connection opens it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamBegin {
    /// No bytes of it were counted before.
    pub is_new: bool,
    /// How far it has come.
    pub written: u64,
    /// How many of the last of these bytes may not have been written.
    pub doubtful: u64,
}

/// The part of a stream that is one message.
#[derive(Debug, Clone, Copy)]
struct Message {
    /// Where in the stream it begins and ends.
    before: u64,
    end: u64,
    /// Bytes of the client, and how many of them the program gets.
    count: usize,
    rest: usize,
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
        let is_new = counts.find(stream).is_none();
        let in_use = |place| state.holders.iter().any(|(held, _)| *held == place);
        let place = counts.open_stream(stream, in_use)?;
        let (written, attempt) = counts.count(place);
        counts.complete(place, attempt);
        state.holders.retain(|(held, _)| *held != place);
        state.holders.push((place, holder));
        let begin = StreamBegin { is_new, written: attempt, doubtful: attempt - written };
        Some(InputStream { pty: Arc::clone(self), place, holder, begin })
    }
}

impl InputStream {
    /// How far the stream had come when it was opened.
    pub fn begin(&self) -> StreamBegin {
        self.begin
    }

    /// Writes the next `count` bytes of the stream to the terminal, waiting for the program to read as long as it takes.
    /// `bytes` is what is left of them after replies to terminal queries were removed.
    pub async fn input(&self, count: usize, bytes: &[u8]) -> Result<(), InputError> {
        let before = self.pty.numbered.lock().held_by(self)?.1;
        let message = Message { before, end: before.saturating_add(count as u64), count, rest: bytes.len() };
        let mut result = Ok(());
        if !bytes.is_empty() {
            let write = |master: &OwnedFd, rest: &[u8]| self.write_some(master, rest, message);
            result = QueuedInput::join(&*self.pty)?.write_with(bytes, write).await;
        }
        // What was meant for a program that has ended is gone, and must not reach its successor.
        if matches!(result, Ok(()) | Err(InputError::Ended)) {
            let state = self.pty.numbered.lock();
            let (counts, _) = state.held_by(self)?;
            counts.complete(self.place, message.end);
        }
        result
    }

    /// Writes until everything is written or the terminal is full, in pieces that are counted one by one. If the program
    /// does not get all bytes of the client, they are counted together.
    fn write_some(&self, master: &OwnedFd, bytes: &[u8], message: Message) -> Result<usize, InputError> {
        let exact = message.count == message.rest;
        let mut written = 0;
        while let Some(rest) = bytes.get(written..).filter(|rest| !rest.is_empty()) {
            let piece = rest.get(..limits::INPUT_IN_DOUBT).unwrap_or(rest);
            let state = self.pty.numbered.lock();
            let (counts, before) = state.held_by(self)?;
            counts.begin(
                self.place,
                if exact { before.saturating_add(piece.len() as u64) } else { message.end },
            );
            let count = write_once(master, piece)?;
            if exact {
                counts.complete(self.place, before.saturating_add(count as u64));
            } else if count == 0 && bytes.len() == message.rest {
                counts.complete(self.place, message.before);
            }
            if count == 0 {
                break;
            }
            written += count;
        }
        Ok(written)
    }
}

impl Drop for InputStream {
    fn drop(&mut self) {
        self.pty.numbered.lock().holders.retain(|held| *held != (self.place, self.holder));
    }
}
