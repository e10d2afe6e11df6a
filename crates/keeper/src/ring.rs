//! The ring: the output of one PTY in shared memory, addressed by absolute offsets.
//!
//! Layout, little-endian, version 1: a header page, then `capacity` bytes of data.
//!
//! | at | what |
//! |---|---|
//! | 0 | magic |
//! | 8 | layout version (`u32`), header size (`u32`) |
//! | 16 | capacity: bytes of data (`u64`) |
//! | 24 | keep: newest bytes that are always readable (`u64`) |
//! | 64 | head: bytes written so far (`u64`); its low half is a futex that is woken on every change |
//! | 72 | reserved: the writer may be writing anything below this offset (`u64`) |
//! | 80 | 1 if the writer wakes every sleeper (`u64`); writers of former versions woke one of them |
//!
//! Byte `n` of the output lies at data position `n mod capacity`. There is one writer, the keeper.
//! Before it lets the kernel write into `[head, head + len)` it raises `reserved`, so that a reader can
//! tell afterwards whether what it took was overwritten meanwhile: everything from
//! `reserved - capacity` on was intact. `capacity` exceeds `keep` by the largest reservation, hence
//! the newest `keep` bytes can be read at any moment.

use crate::id::Offset;
use crate::limits::{KEEP_RANGE, RESERVE};
use crate::sys::{self, Mapping, shared_memory};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::thread::futex;
use std::io::{self, IoSlice};
use std::mem::offset_of;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const MAGIC: u64 = u64::from_le_bytes(*b"SWBRING\0");
const LAYOUT: u32 = 1;
/// One page, so that the data starts page-aligned.
const HEADER: usize = 4096;

/// The header page, as the table above describes it.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Header {
    magic: AtomicU64,
    layout: AtomicU32,
    header: AtomicU32,
    capacity: AtomicU64,
    keep: AtomicU64,
    /// Keeps what changes all the time away from what never does.
    constants_end: [AtomicU64; 4],
    head: AtomicU64,
    reserved: AtomicU64,
    wakes_all: AtomicU64,
    rest: [AtomicU64; 501],
}

// Two versions of this program share a ring: its layout is fixed.
const _: () = assert!(
    offset_of!(Header, layout) == 8
        && offset_of!(Header, header) == 12
        && offset_of!(Header, capacity) == 16
        && offset_of!(Header, keep) == 24
        && offset_of!(Header, head) == 64
        && offset_of!(Header, reserved) == 72
        && offset_of!(Header, wakes_all) == 80
        && size_of::<Header>() == HEADER
);

/// The writing half; the keeper has the only one.
#[derive(Debug)]
pub(crate) struct RingWriter {
    map: Mapping<Header>,
    fd: OwnedFd,
    capacity: NonZeroU64,
    head: Offset,
}

impl RingWriter {
    /// Makes a ring whose newest `keep` bytes stay readable.
    pub(crate) fn create(keep: u64) -> io::Result<Self> {
        let keep = Some(keep).filter(|keep| KEEP_RANGE.contains(keep)).ok_or(io::ErrorKind::InvalidInput)?;
        let pages = keep.checked_next_multiple_of(4096);
        let capacity = pages.and_then(|pages| NonZeroU64::new(pages.checked_add(RESERVE)?));
        let capacity = capacity.ok_or(io::ErrorKind::InvalidInput)?;
        let len = capacity.get().saturating_add(HEADER as u64);
        let fd = shared_memory("swb-ring", len)?;
        // Readers get descriptors that were opened again: this one stays the only one to write with.
        rustix::fs::fchmod(&fd, Mode::RUSR)?;
        let map = Mapping::<Header>::new(&fd, len as usize, true)?;
        let words = map.words();
        words.capacity.store(capacity.get(), Ordering::Relaxed);
        words.keep.store(keep, Ordering::Relaxed);
        words.layout.store(LAYOUT, Ordering::Relaxed);
        words.header.store(HEADER as u32, Ordering::Relaxed);
        words.wakes_all.store(1, Ordering::Relaxed);
        words.magic.store(MAGIC, Ordering::Release);
        Ok(Self { map, fd, capacity, head: Offset(0) })
    }

    /// Maps a ring that a former image of this process has written.
    pub(crate) fn reopen(fd: OwnedFd) -> io::Result<Self> {
        let (map, capacity, _) = open(&fd, true)?;
        let head = Offset(map.words().head.load(Ordering::Acquire));
        map.words().wakes_all.store(1, Ordering::Relaxed);
        Ok(Self { map, fd, capacity, head })
    }

    /// Lets `read` fill the next free bytes and publishes what it returned.
    ///
    /// Readers in this machine's other processes see the bytes at once; sleeping ones are woken by
    /// [`RingWriter::wake`], which the caller calls once after several of these.
    pub(crate) fn fill(
        &mut self,
        read: impl FnOnce(&mut [u8]) -> rustix::io::Result<usize>,
    ) -> rustix::io::Result<usize> {
        let (at, room) = position(self.head, self.capacity);
        let len = room.min(RESERVE as usize);
        // SeqCst: the reservation must be visible before the first byte changes.
        self.map.words().reserved.store(self.head.after(len as u64).0, Ordering::SeqCst);
        let mut space = self.map.io_slice_mut(at, len).ok_or(Errno::FAULT)?;
        let n = read(&mut space)?.min(len);
        self.head = self.head.after(n as u64);
        // SeqCst pairs with a reader that arms its wake flag and then looks at the head once more.
        self.map.words().head.store(self.head.0, Ordering::SeqCst);
        Ok(n)
    }

    /// Wakes the readers that sleep on the head.
    pub(crate) fn wake(&self) {
        wake_all(&self.map);
    }

    /// Offset of the next byte.
    pub(crate) fn head(&self) -> Offset {
        self.head
    }

    /// Bytes it has room for.
    pub(crate) fn capacity(&self) -> u64 {
        self.capacity.get()
    }

    /// The memfd, for handing on to the next image of this process.
    pub(crate) fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    /// A descriptor that can only be mapped read-only.
    pub(crate) fn read_only(&self) -> io::Result<OwnedFd> {
        use std::os::fd::AsRawFd;
        let path = format!("/proc/self/fd/{}", self.fd.as_raw_fd());
        Ok(rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)
    }
}

/// Wakes all who sleep on the head.
fn wake_all(map: &Mapping<Header>) {
    let word = sys::low_half(&map.words().head);
    // The kernel takes a larger number for a negative one, and wakes one sleeper. It can fail only if there is none.
    let _woken = futex::wake(word, futex::Flags::empty(), i32::MAX as u32);
}

/// Where the byte at `offset` lies in the data, and how many bytes there are from there to the end of it.
fn position(offset: Offset, capacity: NonZeroU64) -> (usize, usize) {
    let at = offset.0 % capacity;
    (at as usize, capacity.get().saturating_sub(at) as usize)
}

fn open(fd: &OwnedFd, writable: bool) -> io::Result<(Mapping<Header>, NonZeroU64, u64)> {
    let len = usize::try_from(rustix::fs::fstat(fd)?.st_size).map_err(|_| io::ErrorKind::InvalidData)?;
    let bad = || io::Error::new(io::ErrorKind::InvalidData, "unknown ring layout");
    if len < HEADER {
        return Err(bad());
    }
    let map = Mapping::<Header>::new(fd, len, writable)?;
    let words = map.words();
    let capacity = NonZeroU64::new(words.capacity.load(Ordering::Relaxed)).ok_or_else(bad)?;
    let keep = words.keep.load(Ordering::Relaxed);
    let sound = words.magic.load(Ordering::Acquire) == MAGIC
        && words.layout.load(Ordering::Relaxed) == LAYOUT
        && words.header.load(Ordering::Relaxed) as usize == HEADER
        && capacity.get().checked_add(HEADER as u64) == Some(len as u64)
        && KEEP_RANGE.contains(&keep)
        && keep < capacity.get();
    if sound { Ok((map, capacity, keep)) } else { Err(bad()) }
}

/// A read-only view of a ring; any number of cursors may use one.
#[derive(Debug)]
pub struct Reader {
    map: Mapping<Header>,
    fd: OwnedFd,
    capacity: NonZeroU64,
    keep: u64,
}

/// Bytes of the ring as they lie in memory: at most two pieces.
pub type Pieces<'a> = [IoSlice<'a>; 2];

impl Reader {
    /// Maps the ring behind `fd`.
    pub fn open(fd: OwnedFd) -> io::Result<Self> {
        let (map, capacity, keep) = open(&fd, false)?;
        Ok(Self { map, fd, capacity, keep })
    }

    /// The memory, for a process that is to read it as well. It was opened for reading only.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Offset of the next byte that will be written.
    pub fn head(&self) -> Offset {
        Offset(self.map.words().head.load(Ordering::SeqCst))
    }

    /// Newest bytes that are always readable.
    pub fn keep(&self) -> u64 {
        self.keep
    }

    /// The oldest offset that is promised to be readable when the head is at `head`.
    pub fn oldest(&self, head: Offset) -> Offset {
        head.before(self.keep)
    }

    /// Whether everything from `from` on was intact up to this moment.
    pub fn intact(&self, from: Offset) -> bool {
        let reserved = Offset(self.map.words().reserved.load(Ordering::SeqCst));
        reserved.before(self.capacity.get()) <= from
    }

    /// The bytes `[from, to)` in place, for a system call to take; ask [`Reader::intact`] afterwards.
    ///
    /// Nothing when the range is not (or no longer) in the ring.
    pub fn pieces(&self, from: Offset, to: Offset) -> Option<Pieces<'_>> {
        let (at, first, rest) = self.place(from, to)?;
        Some([self.map.io_slice(at, first)?, self.map.io_slice(0, rest)?])
    }

    /// Appends the bytes `[from, to)` to `out`, or leaves it unchanged and returns `false` if they were overwritten.
    pub fn copy(&self, from: Offset, to: Offset, out: &mut Vec<u8>) -> bool {
        let before = out.len();
        let copied = self.place(from, to).and_then(|(at, first, rest)| {
            self.map.copy_to(at, first, out)?;
            self.map.copy_to(0, rest, out)
        });
        // The copies above must not be moved after the check.
        std::sync::atomic::fence(Ordering::SeqCst);
        let intact = copied.is_some() && self.intact(from);
        if !intact {
            out.truncate(before);
        }
        intact
    }

    /// Fills `out` with the bytes from `from` on; returns `false` if they are not, or no longer, in the ring.
    pub fn copy_over(&self, from: Offset, out: &mut [u8]) -> bool {
        let to = from.after(out.len() as u64);
        let copied = self.place(from, to).and_then(|(at, first, _)| {
            let (head, rest) = out.split_at_mut_checked(first)?;
            self.map.copy_over(at, head)?;
            self.map.copy_over(0, rest)
        });
        // The copies above must not be moved after the check.
        std::sync::atomic::fence(Ordering::SeqCst);
        copied.is_some() && self.intact(from)
    }

    /// Whether the writer wakes every reader that sleeps.
    pub fn wakes_all(&self) -> bool {
        self.map.words().wakes_all.load(Ordering::Relaxed) != 0
    }

    /// Ends the sleep of every reader; they check again.
    pub fn rouse(&self) {
        wake_all(&self.map);
    }

    /// Sleeps until the head differs from `seen`, or `timeout` has passed.
    pub fn sleep(&self, seen: Offset, timeout: std::time::Duration) {
        let timeout = rustix::fs::Timespec {
            tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        };
        let word = sys::low_half(&self.map.words().head);
        // An error means the same to the caller as a wake-up: check again.
        let _woken = futex::wait(word, futex::Flags::empty(), seen.0 as u32, Some(&timeout));
    }

    /// Where the bytes lie: a position, the bytes there, and the rest of them at the beginning of the data.
    fn place(&self, from: Offset, to: Offset) -> Option<(usize, usize, usize)> {
        let len = from.until(to).filter(|len| *len <= self.capacity.get())? as usize;
        if to > self.head() || !self.intact(from) {
            return None;
        }
        let (at, room) = position(from, self.capacity);
        let first = len.min(room);
        Some((at, first, len.saturating_sub(first)))
    }
}

/// Opens a reader on a writer's ring, as another process would.
#[cfg(test)]
pub(crate) fn reader_of(writer: &RingWriter) -> Reader {
    Reader::open(writer.read_only().unwrap()).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    fn put(writer: &mut RingWriter, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let take = |space: &mut [u8]| {
                let n = rest.len().min(space.len());
                space[..n].copy_from_slice(&rest[..n]);
                Ok(n)
            };
            let n = writer.fill(take).unwrap();
            rest = &rest[n..];
        }
    }

    fn get(reader: &Reader, from: u64, to: u64) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        reader.copy(Offset(from), Offset(to), &mut out).then_some(out)
    }

    proptest! {
        // Of any bytes written in any portions, the newest `keep` bytes read back exactly.
        #[test]
        fn the_newest_bytes_read_back(portions in prop::collection::vec(1..9000usize, 1..12)) {
            let mut writer = RingWriter::create(8192).unwrap();
            let reader = reader_of(&writer);
            let mut all = Vec::new();
            for (i, len) in portions.into_iter().enumerate() {
                let bytes: Vec<u8> = (0..len).map(|n| (n * 7 + i) as u8).collect();
                put(&mut writer, &bytes);
                all.extend_from_slice(&bytes);
                let head = all.len() as u64;
                prop_assert_eq!(reader.head(), Offset(head));
                let Offset(oldest) = reader.oldest(Offset(head));
                prop_assert_eq!(get(&reader, oldest, head).unwrap(), &all[oldest as usize..]);
                let pieces = reader.pieces(Offset(oldest), Offset(head)).unwrap();
                prop_assert_eq!([&pieces[0][..], &pieces[1][..]].concat(), &all[oldest as usize..]);
                let mut copy = vec![0; all.len() - oldest as usize];
                prop_assert!(reader.copy_over(Offset(oldest), &mut copy));
                prop_assert_eq!(&copy, &all[oldest as usize..]);
            }
        }
    }

    #[test]
    fn what_fell_off_is_refused_and_never_invented() {
        let mut writer = RingWriter::create(4096).unwrap();
        let reader = reader_of(&writer);
        put(&mut writer, &vec![1; 100_000]);
        assert_eq!(get(&reader, 0, 10), None);
        assert_eq!(get(&reader, 99_999, 100_001), None);
        assert_eq!(get(&reader, 10, 5), None);
        assert!(reader.pieces(Offset(0), Offset(100_000)).is_none());
        assert!(!reader.intact(Offset(0)));
        assert!(!reader.copy_over(Offset(0), &mut [0; 10]));
        assert!(!reader.copy_over(Offset(99_999), &mut [0; 2]));
    }

    #[test]
    fn a_reservation_is_seen_before_its_bytes_are() {
        let mut writer = RingWriter::create(4096).unwrap();
        let reader = reader_of(&writer);
        put(&mut writer, &[7; 30_000]);
        let oldest = reader.oldest(Offset(30_000));
        let mut seen = None;
        writer
            .fill(|space| {
                let lost = Offset(30_000 + space.len() as u64 - 20_480);
                seen = Some((lost <= oldest, reader.intact(lost), reader.intact(lost.before(1))));
                space[0] = 9;
                Ok(1)
            })
            .unwrap();
        assert_eq!(seen, Some((true, true, false)));
    }

    #[test]
    fn all_readers_sleep_until_something_is_written() {
        let mut writer = RingWriter::create(4096).unwrap();
        assert!(reader_of(&writer).wakes_all());
        let start = std::time::Instant::now();
        let (ready, is_ready) = std::sync::mpsc::sync_channel(3);
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let (sleeper, ready) = (reader_of(&writer), ready.clone());
                std::thread::spawn(move || {
                    ready.send(()).unwrap();
                    while sleeper.head() == Offset(0) {
                        sleeper.sleep(Offset(0), Duration::from_secs(60));
                    }
                    sleeper.head()
                })
            })
            .collect();
        (0..3).for_each(|_| is_ready.recv().unwrap());
        put(&mut writer, b"x");
        writer.wake();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), Offset(1));
        }
        assert!(start.elapsed() < Duration::from_secs(50), "one of them slept on");
    }

    #[test]
    fn a_reader_cannot_get_a_writable_mapping() {
        let writer = RingWriter::create(4096).unwrap();
        let fd = writer.read_only().unwrap();
        assert!(Mapping::<Header>::new(&fd, HEADER, true).is_err());
        assert!(rustix::fs::ftruncate(writer.fd(), 0).is_err(), "sealed against shrinking");
    }

    #[test]
    fn anything_else_is_not_a_ring() {
        let fd = rustix::fs::memfd_create("x", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        assert!(Reader::open(fd.try_clone().unwrap()).is_err());
        rustix::fs::ftruncate(&fd, 3 * 4096).unwrap();
        assert!(Reader::open(fd).is_err());
        assert!(RingWriter::create(1).is_err());
        assert!(RingWriter::create(u64::MAX).is_err());
    }
}
