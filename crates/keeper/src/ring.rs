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
//!
//! Byte `n` of the output lies at data position `n mod capacity`. There is one writer, the keeper.
//! Before it lets the kernel write into `[head, head + len)` it raises `reserved`, so that a reader can
//! tell afterwards whether what it took was overwritten meanwhile: everything from
//! `reserved - capacity` on was intact. `capacity` exceeds `keep` by the largest reservation, hence
//! the newest `keep` bytes can be read at any moment.

use crate::sys::Mapping;
use rustix::fd::OwnedFd;
use rustix::fs::{MemfdFlags, Mode, OFlags, SealFlags};
use rustix::thread::futex;
use std::io::{self, IoSlice};
use std::sync::atomic::{AtomicU32, Ordering};

const MAGIC: u64 = u64::from_le_bytes(*b"SWBRING\0");
const LAYOUT: u32 = 1;
/// One page, so that the data starts page-aligned.
const HEADER: usize = 4096;
const AT_LAYOUT: usize = 8;
const AT_HEADER: usize = 12;
const AT_CAPACITY: usize = 16;
const AT_KEEP: usize = 24;
const AT_HEAD: usize = 64;
const AT_RESERVED: usize = 72;

/// Bytes the writer may reserve at once. A PTY read returns about 4 KiB whatever it is offered.
pub(crate) const RESERVE: usize = 16 * 1024;
/// Smallest and largest `keep` a ring can be made with.
pub const KEEP_RANGE: std::ops::RangeInclusive<usize> = 4096..=256 * 1024 * 1024;

/// The writing half; the keeper has the only one.
#[derive(Debug)]
pub(crate) struct Writer {
    map: Mapping,
    fd: OwnedFd,
    capacity: usize,
    head: u64,
}

impl Writer {
    /// Makes a ring whose newest `keep` bytes stay readable.
    pub(crate) fn create(keep: usize) -> io::Result<Self> {
        if !KEEP_RANGE.contains(&keep) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let capacity = keep.next_multiple_of(4096) + RESERVE;
        let fd = rustix::fs::memfd_create("swb-ring", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        rustix::fs::ftruncate(&fd, (HEADER + capacity) as u64)?;
        // Without these seals a truncated file would kill every reader with SIGBUS.
        rustix::fs::fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let map = Mapping::new(&fd, HEADER + capacity, true)?;
        map.word64(AT_CAPACITY).store(capacity as u64, Ordering::Relaxed);
        map.word64(AT_KEEP).store(keep as u64, Ordering::Relaxed);
        map.word32(AT_LAYOUT).store(LAYOUT, Ordering::Relaxed);
        map.word32(AT_HEADER).store(HEADER as u32, Ordering::Relaxed);
        map.word64(0).store(MAGIC, Ordering::Release);
        Ok(Self { map, fd, capacity, head: 0 })
    }

    /// Maps a ring that a former image of this process has written.
    pub(crate) fn reopen(fd: OwnedFd) -> io::Result<Self> {
        let (map, capacity, _) = open(&fd, true)?;
        let head = map.word64(AT_HEAD).load(Ordering::Acquire);
        Ok(Self { map, fd, capacity, head })
    }

    /// Lets `read` fill the next free bytes and publishes what it returned.
    ///
    /// Readers in this machine's other processes see the bytes at once; sleeping ones are woken by
    /// [`Writer::wake`], which the caller calls once after several of these.
    pub(crate) fn fill(
        &mut self,
        read: impl FnOnce(&mut [u8]) -> rustix::io::Result<usize>,
    ) -> rustix::io::Result<usize> {
        let at = (self.head % self.capacity as u64) as usize;
        let len = RESERVE.min(self.capacity - at);
        // SeqCst: the reservation must be visible before the first byte changes.
        self.map.word64(AT_RESERVED).store(self.head + len as u64, Ordering::SeqCst);
        let n = read(&mut self.map.io_slice_mut(HEADER + at, len))?.min(len);
        self.head += n as u64;
        // SeqCst pairs with a reader that arms its wake flag and then looks at the head once more.
        self.map.word64(AT_HEAD).store(self.head, Ordering::SeqCst);
        Ok(n)
    }

    /// Wakes whoever sleeps on the head.
    pub(crate) fn wake(&self) {
        // A failure could only mean that nobody can be asleep here.
        let _woken = futex::wake(futex_word(&self.map), futex::Flags::empty(), u32::MAX);
    }

    /// Bytes written so far.
    pub(crate) fn head(&self) -> u64 {
        self.head
    }

    /// Bytes it has room for.
    pub(crate) fn capacity(&self) -> u64 {
        self.capacity as u64
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

fn futex_word(map: &Mapping) -> &AtomicU32 {
    // The low half of the head on a little-endian machine: it changes with every byte.
    const _: () = assert!(cfg!(target_endian = "little"), "the ring's layout is little-endian");
    map.word32(AT_HEAD)
}

fn open(fd: &OwnedFd, writable: bool) -> io::Result<(Mapping, usize, usize)> {
    let len = usize::try_from(rustix::fs::fstat(fd)?.st_size).map_err(|_| io::ErrorKind::InvalidData)?;
    let bad = || io::Error::new(io::ErrorKind::InvalidData, "not a ring of a layout known here");
    if len < HEADER {
        return Err(bad());
    }
    let map = Mapping::new(fd, len, writable)?;
    let capacity = map.word64(AT_CAPACITY).load(Ordering::Relaxed) as usize;
    let keep = map.word64(AT_KEEP).load(Ordering::Relaxed) as usize;
    let sound = map.word64(0).load(Ordering::Acquire) == MAGIC
        && map.word32(AT_LAYOUT).load(Ordering::Relaxed) == LAYOUT
        && map.word32(AT_HEADER).load(Ordering::Relaxed) as usize == HEADER
        && capacity.checked_add(HEADER) == Some(len)
        && KEEP_RANGE.contains(&keep)
        && keep < capacity;
    if sound { Ok((map, capacity, keep)) } else { Err(bad()) }
}

/// A read-only view of a ring; any number of cursors may use one.
#[derive(Debug)]
pub struct Reader {
    map: Mapping,
    capacity: usize,
    keep: usize,
}

/// Bytes of the ring as they lie in memory: at most two pieces.
pub type Pieces<'a> = [IoSlice<'a>; 2];

impl Reader {
    /// Maps the ring behind `fd`; the descriptor is not needed afterwards.
    pub fn open(fd: OwnedFd) -> io::Result<Self> {
        let (map, capacity, keep) = open(&fd, false)?;
        Ok(Self { map, capacity, keep })
    }

    /// Bytes written so far: the offset of the next byte.
    pub fn head(&self) -> u64 {
        self.map.word64(AT_HEAD).load(Ordering::SeqCst)
    }

    /// Newest bytes that are always readable.
    pub fn keep(&self) -> u64 {
        self.keep as u64
    }

    /// The oldest offset that is promised to be readable when the head is at `head`.
    pub fn oldest(&self, head: u64) -> u64 {
        head.saturating_sub(self.keep as u64)
    }

    /// Whether everything from `from` on was intact up to this moment.
    pub fn intact(&self, from: u64) -> bool {
        let reserved = self.map.word64(AT_RESERVED).load(Ordering::SeqCst);
        reserved.saturating_sub(self.capacity as u64) <= from
    }

    /// The bytes `[from, to)` in place, for a system call to take; ask [`Reader::intact`] afterwards.
    ///
    /// Nothing when the range is not (or no longer) in the ring.
    pub fn pieces(&self, from: u64, to: u64) -> Option<Pieces<'_>> {
        let (at, first, rest) = self.place(from, to)?;
        Some([self.map.io_slice(HEADER + at, first), self.map.io_slice(HEADER, rest)])
    }

    /// Appends the bytes `[from, to)` to `out`, or leaves it as it was and says `false` when they are gone.
    pub fn copy(&self, from: u64, to: u64, out: &mut Vec<u8>) -> bool {
        let Some((at, first, rest)) = self.place(from, to) else {
            return false;
        };
        let before = out.len();
        self.map.copy_to(HEADER + at, first, out);
        self.map.copy_to(HEADER, rest, out);
        // The copies above must not be moved behind the check.
        std::sync::atomic::fence(Ordering::SeqCst);
        let intact = self.intact(from);
        if !intact {
            out.truncate(before);
        }
        intact
    }

    /// Sleeps until the head differs from `seen`, or `timeout` has passed.
    pub fn sleep(&self, seen: u64, timeout: std::time::Duration) {
        let timeout = rustix::fs::Timespec {
            tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        };
        // Every error means the same to the caller as a wake-up: look again.
        let _woken = futex::wait(futex_word(&self.map), futex::Flags::empty(), seen as u32, Some(&timeout));
    }

    fn place(&self, from: u64, to: u64) -> Option<(usize, usize, usize)> {
        let len = usize::try_from(to.checked_sub(from)?).ok().filter(|len| *len <= self.capacity)?;
        if to > self.head() || !self.intact(from) {
            return None;
        }
        let at = (from % self.capacity as u64) as usize;
        let first = len.min(self.capacity - at);
        Some((at, first, len - first))
    }
}

/// Opens a reader on a writer's ring, as another process would.
#[cfg(test)]
pub(crate) fn reader_of(writer: &Writer) -> Reader {
    Reader::open(writer.read_only().unwrap()).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::Arc;
    use std::time::Duration;

    fn put(writer: &mut Writer, bytes: &[u8]) {
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
        reader.copy(from, to, &mut out).then_some(out)
    }

    proptest! {
        // Whatever is written in whatever portions, the newest `keep` bytes read back exactly.
        #[test]
        fn the_newest_bytes_read_back(portions in prop::collection::vec(1..9000usize, 1..12)) {
            let mut writer = Writer::create(8192).unwrap();
            let reader = reader_of(&writer);
            let mut all = Vec::new();
            for (i, len) in portions.into_iter().enumerate() {
                let bytes: Vec<u8> = (0..len).map(|n| (n * 7 + i) as u8).collect();
                put(&mut writer, &bytes);
                all.extend_from_slice(&bytes);
                let head = all.len() as u64;
                prop_assert_eq!(reader.head(), head);
                let oldest = reader.oldest(head);
                prop_assert_eq!(get(&reader, oldest, head).unwrap(), &all[oldest as usize..]);
                let pieces = reader.pieces(oldest, head).unwrap();
                prop_assert_eq!([&pieces[0][..], &pieces[1][..]].concat(), &all[oldest as usize..]);
            }
        }
    }

    #[test]
    fn what_fell_off_is_refused_and_never_invented() {
        let mut writer = Writer::create(4096).unwrap();
        let reader = reader_of(&writer);
        put(&mut writer, &vec![1; 100_000]);
        assert_eq!(get(&reader, 0, 10), None);
        assert_eq!(get(&reader, 99_999, 100_001), None);
        assert_eq!(get(&reader, 10, 5), None);
        assert!(reader.pieces(0, 100_000).is_none());
        assert!(!reader.intact(0));
    }

    #[test]
    fn a_reservation_is_seen_before_its_bytes_are() {
        let mut writer = Writer::create(4096).unwrap();
        let reader = reader_of(&writer);
        put(&mut writer, &[7; 30_000]);
        let oldest = reader.oldest(30_000);
        let mut seen = None;
        writer
            .fill(|space| {
                let lost_before = 30_000 + space.len() as u64 - 20_480;
                seen =
                    Some((lost_before <= oldest, reader.intact(lost_before), reader.intact(lost_before - 1)));
                space[0] = 9;
                Ok(1)
            })
            .unwrap();
        assert_eq!(seen, Some((true, true, false)));
    }

    #[test]
    fn a_reader_sleeps_until_something_is_written() {
        let mut writer = Writer::create(4096).unwrap();
        let reader = Arc::new(reader_of(&writer));
        let sleeper = Arc::clone(&reader);
        let thread = std::thread::spawn(move || {
            while sleeper.head() == 0 {
                sleeper.sleep(0, Duration::from_secs(20));
            }
            sleeper.head()
        });
        put(&mut writer, b"x");
        writer.wake();
        assert_eq!(thread.join().unwrap(), 1);
    }

    #[test]
    fn a_reader_cannot_get_a_writable_mapping() {
        let writer = Writer::create(4096).unwrap();
        let fd = writer.read_only().unwrap();
        assert!(Mapping::new(&fd, HEADER, true).is_err());
        assert!(rustix::fs::ftruncate(writer.fd(), 0).is_err(), "sealed against shrinking");
    }

    #[test]
    fn anything_else_is_not_a_ring() {
        let fd = rustix::fs::memfd_create("x", MemfdFlags::CLOEXEC).unwrap();
        assert!(Reader::open(fd.try_clone().unwrap()).is_err());
        rustix::fs::ftruncate(&fd, 3 * 4096).unwrap();
        assert!(Reader::open(fd).is_err());
        assert!(Writer::create(1).is_err());
        assert!(Writer::create(usize::MAX).is_err());
    }
}
