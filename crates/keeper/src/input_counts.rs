//! How much of the input of each client was written to a terminal, in memory that outlives the daemon.
//!
//! The daemon writes it and the keeper only holds it, so that the next daemon knows it. A client numbers its input: it
//! names a stream and counts bytes. Before the daemon writes to the terminal it records how far the write would come, and
//! after it how far it came. If it dies in between, just the bytes of that write are in doubt.

use crate::limits::INPUT_STREAMS;
use crate::sys::{Mapping, shared_memory};
use rustix::fd::OwnedFd;
use std::io;
use std::mem::offset_of;
use std::sync::atomic::{AtomicU64, Ordering};

/// The shared memory, a word of each kind per stream.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct CountTable {
    /// The name of the stream; zero if the place is free.
    stream: [AtomicU64; INPUT_STREAMS],
    /// Bytes that were written.
    written: [AtomicU64; INPUT_STREAMS],
    /// Where the write that was begun last would end.
    attempt: [AtomicU64; INPUT_STREAMS],
    /// When the stream was opened last, by a counter.
    opened: [AtomicU64; INPUT_STREAMS],
}

const LEN: usize = size_of::<CountTable>();

// Two versions of this program share the memory: its layout is fixed.
const _: () = assert!(
    offset_of!(CountTable, written) == 128
        && offset_of!(CountTable, attempt) == 256
        && offset_of!(CountTable, opened) == 384
        && LEN == 512
);

/// The counts of one terminal.
#[derive(Debug)]
pub struct InputCounts {
    map: Mapping<CountTable>,
}

/// A stream's place among those of its terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamPlace(usize);

impl InputCounts {
    /// Creates the memory, which the keeper is to hold.
    pub fn create() -> io::Result<(Self, OwnedFd)> {
        let memory = shared_memory("swb-input", LEN as u64)?;
        Ok((Self::open(&memory)?, memory))
    }

    /// Maps the memory that an earlier daemon left.
    pub fn open(memory: &OwnedFd) -> io::Result<Self> {
        if rustix::fs::fstat(memory)?.st_size != LEN as i64 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not a table of input counts"));
        }
        Ok(Self { map: Mapping::new(memory, LEN, true)? })
    }

    /// The place of a stream, if it has one.
    pub fn find(&self, stream: u64) -> Option<StreamPlace> {
        let is_it = |name: &AtomicU64| name.load(Ordering::SeqCst) == stream;
        self.map.words().stream.iter().position(is_it).map(StreamPlace)
    }

    /// Opens a stream: in its place, or in that of the stream which was opened first of those that are not in use.
    pub fn open_stream(&self, stream: u64, in_use: impl Fn(StreamPlace) -> bool) -> Option<StreamPlace> {
        let table = self.map.words();
        let load = |word: &AtomicU64| word.load(Ordering::SeqCst);
        let known = self.find(stream).map(|place| place.0);
        let free = || (0..INPUT_STREAMS).filter(|at| !in_use(StreamPlace(*at)));
        let at = known.or_else(|| free().min_by_key(|at| table.opened.get(*at).map(load)))?;
        let newest = table.opened.iter().map(load).max().unwrap_or(0);
        if known.is_none() {
            // First the name: counts without a stream mean nothing.
            table.stream.get(at)?.store(0, Ordering::SeqCst);
            table.written.get(at)?.store(0, Ordering::SeqCst);
            table.attempt.get(at)?.store(0, Ordering::SeqCst);
            table.stream.get(at)?.store(stream, Ordering::SeqCst);
        }
        table.opened.get(at)?.store(newest.saturating_add(1), Ordering::SeqCst);
        Some(StreamPlace(at))
    }

    /// Bytes of a stream that were written, and where a write that was begun and not completed would end.
    pub fn count(&self, place: StreamPlace) -> (u64, u64) {
        let table = self.map.words();
        let load = |words: &[AtomicU64]| words.get(place.0).map_or(0, |word| word.load(Ordering::SeqCst));
        let written = load(&table.written);
        (written, load(&table.attempt).max(written))
    }

    /// A write begins that ends at `end` if all of it succeeds.
    pub fn begin(&self, place: StreamPlace, end: u64) {
        if let Some(attempt) = self.map.words().attempt.get(place.0) {
            attempt.store(end, Ordering::SeqCst);
        }
    }

    /// The write has ended at `end`.
    pub fn complete(&self, place: StreamPlace, end: u64) {
        let table = self.map.words();
        if let (Some(written), Some(attempt)) = (table.written.get(place.0), table.attempt.get(place.0)) {
            written.store(end, Ordering::SeqCst);
            attempt.store(end, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_outlive_their_daemon() {
        let (counts, memory) = InputCounts::create().unwrap();
        let place = counts.open_stream(7, |_| false).unwrap();
        assert_eq!(counts.count(place), (0, 0));
        counts.begin(place, 5);
        counts.complete(place, 3);
        assert_eq!(counts.count(place), (3, 3), "a short write leaves no doubt");
        counts.begin(place, 9);
        drop(counts);
        let counts = InputCounts::open(&memory).unwrap();
        let place = counts.find(7).unwrap();
        assert_eq!(counts.count(place), (3, 9), "nobody knows how much of the write was done");
    }

    #[test]
    fn the_stream_opened_first_gives_way_unless_it_is_in_use() {
        let (counts, _memory) = InputCounts::create().unwrap();
        let open = |stream| counts.open_stream(stream, |_| false).unwrap();
        for stream in 1..=INPUT_STREAMS as u64 {
            counts.complete(open(stream), stream);
        }
        assert_eq!(counts.count(open(1)), (1, 1), "it is kept, and the newest now");
        assert_eq!(counts.count(open(100)), (0, 0));
        assert_eq!(counts.count(open(1)), (1, 1));
        assert_eq!(counts.find(2), None, "this one has given way");
        let third = counts.find(3).unwrap();
        counts.open_stream(101, |place| place == third).unwrap();
        assert_eq!((counts.find(3), counts.find(4)), (Some(third), None));
        assert_eq!(counts.open_stream(102, |_| true), None);
    }

    #[test]
    fn other_memory_is_rejected() {
        let memory = crate::sealed_memfd("x", b"no counts").unwrap();
        assert!(InputCounts::open(&memory).is_err());
    }
}
