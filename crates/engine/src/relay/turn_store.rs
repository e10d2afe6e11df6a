//! Memory for turns that outlives the daemon and never touches a disk: an append-only journal in a memfd, of
//! which the keeper holds a duplicate.
//!
//! An entry begins on a page of its own: a head of [`HEAD`] bytes (state `u64`, length of the note `u32`, 4
//! bytes unused, length of the content `u64`, all little-endian), the note, the content. An entry is
//! written as [`PENDING`] and becomes [`LIVE`] with the last write, so one that a crash cut short is
//! known as such. When the last [`Extent`] of an entry is dropped, it is marked as [`DEAD`] and its pages are given
//! back to the system as a hole in the file. Hence nothing is ever copied to make room: offsets only rise, and
//! what the file takes is what lives in it, rounded up to pages.

use crate::limits;
use rustix::fs::{FallocateFlags, MemfdFlags, SeekFrom};
use rustix::io::Errno;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Entries begin at multiples of this, so that the pages of each can be freed separately.
const PAGE: u64 = 4096;
/// Bytes of an entry's head.
const HEAD: usize = 24;

const PENDING: u64 = u64::from_le_bytes(*b"SWBTURN0");
const LIVE: u64 = u64::from_le_bytes(*b"SWBTURN1");
const DEAD: u64 = u64::from_le_bytes(*b"SWBTURN2");

/// The journal.
pub(crate) struct TurnStore {
    memory: Option<Arc<StoreMemory>>,
    /// Where the next entry goes.
    end: u64,
    /// Leaves a duplicate of the memory with the keeper.
    keep: Box<dyn Fn(OwnedFd) + Send>,
}

#[derive(Debug)]
struct StoreMemory {
    fd: OwnedFd,
    /// Bytes of the entries that live, in whole pages.
    live: AtomicU64,
    /// The daemon ends: dropped entries stay for the next one.
    left: AtomicBool,
}

/// A handle to a live entry; the entry is freed with its last handle.
#[derive(Debug)]
pub(crate) struct Extent {
    memory: Arc<StoreMemory>,
    at: u64,
    note: u32,
    content: u64,
    /// The content, while it is in use.
    read: Mutex<Weak<Vec<u8>>>,
}

impl TurnStore {
    /// An empty journal. Its memory is created with the first entry, and `keep` gets a duplicate of it.
    pub(crate) fn new(keep: impl Fn(OwnedFd) + Send + 'static) -> Self {
        Self { memory: None, end: 0, keep: Box::new(keep) }
    }

    /// Continues the journal of an earlier daemon; returns its live entries in the order in which they were written.
    /// Dropping one frees it.
    pub(crate) fn reopen(
        fd: OwnedFd,
        keep: impl Fn(OwnedFd) + Send + 'static,
    ) -> io::Result<(Self, Vec<Arc<Extent>>)> {
        let memory = Arc::new(StoreMemory { fd, live: AtomicU64::new(0), left: AtomicBool::new(false) });
        let (entries, end) = memory.walk()?;
        // After this there is no valid entry.
        rustix::fs::ftruncate(&memory.fd, end)?;
        Ok((Self { memory: Some(memory), end, keep: Box::new(keep) }, entries))
    }

    /// Bytes that entries take, in whole pages.
    pub(crate) fn live(&self) -> u64 {
        self.memory.as_ref().map_or(0, |memory| memory.live.load(Ordering::Relaxed))
    }

    /// Appends an entry.
    pub(crate) fn put(&mut self, note: &[u8], content: &[u8]) -> io::Result<Arc<Extent>> {
        let extent = self.begin(note, content)?;
        extent.memory.write(&LIVE.to_le_bytes(), extent.at)?;
        self.end = extent.at + extent.pages();
        Ok(extent)
    }

    /// Writes an entry as pending.
    fn begin(&mut self, note: &[u8], content: &[u8]) -> io::Result<Arc<Extent>> {
        let memory = self.memory()?;
        let at = self.end;
        memory.write(&head(PENDING, note.len() as u32, content.len() as u64), at)?;
        // From here on an incomplete entry is freed by dropping the extent.
        let extent = StoreMemory::extent(&memory, at, note.len() as u32, content.len() as u64);
        memory.write(note, at + HEAD as u64)?;
        memory.write(content, at + (HEAD + note.len()) as u64)?;
        Ok(extent)
    }

    fn memory(&mut self) -> io::Result<Arc<StoreMemory>> {
        if let Some(memory) = &self.memory {
            return Ok(Arc::clone(memory));
        }
        let fd = rustix::fs::memfd_create("swb-turns", MemfdFlags::CLOEXEC)?;
        (self.keep)(fd.try_clone()?);
        let memory = Arc::new(StoreMemory { fd, live: AtomicU64::new(0), left: AtomicBool::new(false) });
        Ok(Arc::clone(self.memory.insert(memory)))
    }
}

impl std::fmt::Debug for TurnStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TurnStore")
            .field("live", &self.live())
            .field("end", &self.end)
            .finish_non_exhaustive()
    }
}

impl Drop for TurnStore {
    fn drop(&mut self) {
        // The daemon crashes or is replaced; an orderly stop drops the keeper's duplicate instead.
        if let Some(memory) = &self.memory {
            memory.left.store(true, Ordering::Relaxed);
        }
    }
}

impl StoreMemory {
    fn extent(self: &Arc<Self>, at: u64, note: u32, content: u64) -> Arc<Extent> {
        let extent = Extent { memory: Arc::clone(self), at, note, content, read: Mutex::default() };
        self.live.fetch_add(extent.pages(), Ordering::Relaxed);
        Arc::new(extent)
    }

    /// All live entries, and the offset of the next one.
    fn walk(self: &Arc<Self>) -> io::Result<(Vec<Arc<Extent>>, u64)> {
        let size = u64::try_from(rustix::fs::fstat(&self.fd)?.st_size).unwrap_or(0);
        let (mut entries, mut at) = (Vec::new(), 0);
        while at < size {
            at = match rustix::fs::seek(&self.fd, SeekFrom::Data(at)) {
                Ok(data) => data.next_multiple_of(PAGE),
                Err(Errno::NXIO) => break,
                Err(error) => return Err(error.into()),
            };
            let mut bytes = [0; HEAD];
            let Some((state, note, content)) = self.read(&mut bytes, at).ok().and(parse(&bytes)) else {
                break;
            };
            match state {
                // A freed page that is still there because the system uses larger pages.
                0 => at += PAGE,
                LIVE | DEAD | PENDING => {
                    let extent = Self::extent(self, at, note, content);
                    at += extent.pages();
                    // Other entries are freed here.
                    entries.extend((state == LIVE).then_some(extent));
                }
                _ => break,
            }
        }
        Ok((entries, at))
    }

    fn read(&self, mut bytes: &mut [u8], mut at: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            match rustix::io::pread(&self.fd, &mut *bytes, at) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(n) => {
                    bytes = &mut bytes[n..];
                    at += n as u64;
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn write(&self, mut bytes: &[u8], mut at: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            match rustix::io::pwrite(&self.fd, bytes, at) {
                Ok(n) => {
                    bytes = &bytes[n..];
                    at += n as u64;
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn punch(&self, from: u64, to: u64) -> io::Result<()> {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        if from < to {
            rustix::fs::fallocate(&self.fd, flags, from, to - from)?;
        }
        Ok(())
    }
}

impl Extent {
    /// Its offset in the journal, which no other entry uses while this one lives.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// Bytes of its content.
    pub(crate) fn len(&self) -> u64 {
        self.content
    }

    /// Bytes it takes.
    pub(crate) fn pages(&self) -> u64 {
        (HEAD as u64 + u64::from(self.note) + self.content).next_multiple_of(PAGE)
    }

    /// The note about the content.
    pub(crate) fn note(&self) -> io::Result<Vec<u8>> {
        let mut note = vec![0; self.note as usize];
        self.memory.read(&mut note, self.at + HEAD as u64)?;
        Ok(note)
    }

    /// The content; concurrent users share it.
    pub(crate) fn content(&self) -> io::Result<Arc<Vec<u8>>> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(content) = read.upgrade() {
            return Ok(content);
        }
        let mut content = vec![0; self.content as usize];
        self.memory.read(&mut content, self.at + HEAD as u64 + u64::from(self.note))?;
        let content = Arc::new(content);
        *read = Arc::downgrade(&content);
        Ok(content)
    }
}

impl Drop for Extent {
    fn drop(&mut self) {
        self.memory.live.fetch_sub(self.pages(), Ordering::Relaxed);
        if self.memory.left.load(Ordering::Relaxed) {
            return;
        }
        // The mark is written first and its page is freed last: after a crash in between, the rest is known to be dead.
        let given_back = self
            .memory
            .write(&DEAD.to_le_bytes(), self.at)
            .and_then(|()| self.memory.punch(self.at + PAGE, self.at + self.pages()))
            .and_then(|()| self.memory.punch(self.at, self.at + PAGE));
        if let Err(error) = given_back {
            tracing::warn!(%error, "cannot free the memory of a turn");
        }
    }
}

fn head(state: u64, note: u32, content: u64) -> [u8; HEAD] {
    let mut bytes = [0; HEAD];
    bytes[..8].copy_from_slice(&state.to_le_bytes());
    bytes[8..12].copy_from_slice(&note.to_le_bytes());
    bytes[16..].copy_from_slice(&content.to_le_bytes());
    bytes
}

/// State and lengths, if they are valid.
fn parse(bytes: &[u8; HEAD]) -> Option<(u64, u32, u64)> {
    let (state, rest) = bytes.split_first_chunk()?;
    let (note, rest) = rest.split_first_chunk()?;
    let (_unused, rest) = rest.split_first_chunk::<4>()?;
    let (content, _) = rest.split_first_chunk()?;
    let (note, content) = (u32::from_le_bytes(*note), u64::from_le_bytes(*content));
    (u64::from(note) <= limits::STORED_TURN && content <= limits::STORED_TURN).then_some((
        u64::from_le_bytes(*state),
        note,
        content,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A store whose memory the test sees as the keeper would.
    fn store() -> (TurnStore, Arc<Mutex<Option<OwnedFd>>>) {
        let kept: Arc<Mutex<Option<OwnedFd>>> = Arc::default();
        let keeper = Arc::clone(&kept);
        (TurnStore::new(move |fd| *keeper.lock().unwrap() = Some(fd)), kept)
    }

    fn again(kept: &Arc<Mutex<Option<OwnedFd>>>) -> (TurnStore, Vec<Arc<Extent>>) {
        let fd = kept.lock().unwrap().as_ref().unwrap().try_clone().unwrap();
        TurnStore::reopen(fd, |_| {}).unwrap()
    }

    fn blocks(kept: &Arc<Mutex<Option<OwnedFd>>>) -> i64 {
        rustix::fs::fstat(kept.lock().unwrap().as_ref().unwrap()).unwrap().st_blocks
    }

    #[test]
    fn entries_come_back_in_order_and_the_dead_ones_do_not() {
        let (mut store, kept) = store();
        let long = vec![7; 100_000];
        let first = store.put(b"first", b"one").unwrap();
        let second = store.put(b"second", &long).unwrap();
        let third = store.put(b"", b"").unwrap();
        assert_eq!(*second.content().unwrap(), long);
        assert_eq!(store.live(), first.pages() + second.pages() + third.pages());
        let before = blocks(&kept);
        drop(first);
        drop(store);
        drop((second, third));
        let (mut store, entries) = again(&kept);
        let notes: Vec<_> = entries.iter().map(|entry| entry.note().unwrap()).collect();
        assert_eq!(notes, [b"second".to_vec(), vec![]]);
        assert_eq!(*entries[0].content().unwrap(), long);
        assert!(blocks(&kept) < before);
        // What comes later is written behind them.
        let fourth = store.put(b"fourth", b"4").unwrap();
        assert_eq!(*entries[0].content().unwrap(), long);
        assert_eq!(*fourth.content().unwrap(), b"4");
        drop((entries, fourth));
        assert_eq!((store.live(), blocks(&kept)), (0, 0), "all of it was given back");
    }

    #[test]
    fn an_entry_that_was_cut_short_is_not_there() {
        let (mut store, kept) = store();
        let whole = store.put(b"whole", b"content").unwrap();
        // Written by a daemon that died before the last write, with something that looks like an entry inside.
        let mut content = vec![0; 3 * PAGE as usize];
        content[PAGE as usize - HEAD..PAGE as usize].copy_from_slice(&head(LIVE, 0, 5));
        let half = store.begin(b"", &content).unwrap();
        drop(store);
        drop((whole, half));
        let (mut store, entries) = again(&kept);
        assert_eq!(entries.len(), 1);
        assert_eq!(entries[0].note().unwrap(), b"whole");
        drop(store.put(b"next", &[9; 9000]).unwrap());
        assert_eq!(*entries[0].content().unwrap(), b"content");
    }

    #[test]
    fn anything_else_is_no_journal_and_does_no_harm() {
        let random: Vec<u8> = (0..40_000_u32).map(|n| ((n * n) >> 3) as u8).collect();
        for bytes in [&b"short"[..], &[0; 10_000], &random, &head(LIVE, u32::MAX, u64::MAX), &head(9, 0, 0)] {
            let fd = rustix::fs::memfd_create("test", MemfdFlags::CLOEXEC).unwrap();
            rustix::io::pwrite(&fd, bytes, 0).unwrap();
            let (mut store, entries) = TurnStore::reopen(fd, |_| {}).unwrap();
            assert_eq!(entries.len(), 0, "{:?}", &bytes[..5]);
            assert_eq!(*store.put(b"n", b"c").unwrap().content().unwrap(), b"c");
        }
    }

    #[test]
    fn a_head_that_promises_more_than_was_written_gives_zeros() {
        let fd = rustix::fs::memfd_create("test", MemfdFlags::CLOEXEC).unwrap();
        rustix::io::pwrite(&fd, &head(LIVE, 5, 1000), 0).unwrap();
        let (_store, entries) = TurnStore::reopen(fd, |_| {}).unwrap();
        // The file is as long as its entries say; what was never written reads as zeros.
        assert_eq!(entries[0].content().unwrap().len(), 1000);
    }
}
