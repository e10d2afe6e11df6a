//! Replacing the keeper's image under running children: same pid, same descriptors, new program.
//!
//! The record is a memfd of little-endian `u64` words, each descriptor written as its number plus one so
//! that zero means none. The new image finds the record's descriptor in its arguments.

use crate::daemon::Daemon;
use crate::id::SlotId;
use crate::key;
use crate::limits;
use crate::pty::{self, Child};
use crate::ring;
use crate::server::Keeper;
use crate::slot::Slot;
use crate::spec::{Spec, read_memfd, sealed_memfd};
use crate::successor::Successor;
use crate::sys::adopt_fd;
use crate::wake::Doorbell;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::io::FdFlags;
use rustix::process::{Pid, PidfdFlags, Rlimit, WaitId, WaitIdOptions};
use std::io;

const MAGIC: u64 = u64::from_le_bytes(*b"SWBKEEP\0");
const FORMAT: u64 = 2;
/// Of keepers that held as many descriptors for the daemon as for a slot.
const FORMAT_WITH_FEW_GLOBALS: u64 = 1;

/// Becomes the program of `spec`; returns only with the reason why that failed, everything as before.
pub(crate) fn exec(keeper: &Keeper, spec: &OwnedFd) -> io::Error {
    let run = || -> io::Result<io::Error> {
        let mut spec = Spec::from_memfd(spec)?;
        let (record, kept) = record(keeper)?;
        for fd in kept.iter().chain([&record.as_fd()]) {
            rustix::io::fcntl_setfd(fd, FdFlags::empty())?;
        }
        spec.argv.push("--resume".into());
        spec.argv.push(record.as_raw_fd().to_string().into());
        std::env::set_current_dir(&spec.dir)?;
        let error = pty::exec(&spec);
        for fd in &kept {
            rustix::io::fcntl_setfd(fd, FdFlags::CLOEXEC)?;
        }
        Ok(error)
    };
    run().unwrap_or_else(|error| error)
}

fn record(keeper: &Keeper) -> io::Result<(OwnedFd, Vec<BorrowedFd<'_>>)> {
    let mut words = vec![MAGIC, FORMAT];
    let mut kept = Vec::new();
    let number = |fd: Option<BorrowedFd<'_>>| fd.map_or(0, |fd| (fd.as_raw_fd() as u64).saturating_add(1));
    for fd in [
        Some(keeper.listener.as_fd()),
        Some(keeper.lock.as_fd()),
        Some(keeper.bell.memory()),
        Some(keeper.bell.event()),
        keeper.daemon.as_ref().map(|daemon| daemon.socket.as_fd()),
    ] {
        kept.extend(fd);
        words.push(number(fd));
    }
    words.push(keeper.daemon.as_ref().map_or(0, |daemon| daemon.pid));
    words.push(keeper.successor.restarts());
    words.push(keeper.limits.current.unwrap_or(u64::MAX));
    words.push(keeper.limits.maximum.unwrap_or(u64::MAX));
    for fd in keeper.global.iter().map(|fd| fd.as_ref().map(AsFd::as_fd)) {
        kept.extend(fd);
        words.push(number(fd));
    }
    words.push(keeper.slots.len() as u64);
    for slot in &keeper.slots {
        let fds = [
            slot.ring.as_ref().map(|ring| ring.fd().as_fd()),
            slot.master.as_ref().map(AsFd::as_fd),
            slot.child.as_ref().map(|child| child.pidfd.as_fd()),
        ];
        let held = slot.held.iter().map(|fd| fd.as_ref().map(AsFd::as_fd));
        for fd in fds.into_iter().chain(held) {
            kept.extend(fd);
            words.push(number(fd));
        }
        words.extend([slot.pid, u64::from(slot.exit.is_some()), slot.exit.unwrap_or(0)]);
    }
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    Ok((sealed_memfd("swb-handover", &bytes)?, kept))
}

/// Reads the words of a record back, one after the other.
struct Words<'a>(std::slice::ChunksExact<'a, u8>);

impl Words<'_> {
    fn next(&mut self) -> io::Result<u64> {
        let word = self.0.next().and_then(|chunk| chunk.try_into().ok());
        word.map(u64::from_le_bytes).ok_or_else(broken)
    }

    fn fd(&mut self) -> io::Result<Option<OwnedFd>> {
        let Some(raw) = self.next()?.checked_sub(1) else {
            return Ok(None);
        };
        let fd = i32::try_from(raw).ok().and_then(adopt_fd).ok_or_else(broken)?;
        rustix::io::fcntl_setfd(&fd, FdFlags::CLOEXEC)?;
        Ok(Some(fd))
    }
}

fn broken() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "invalid hand-over record")
}

/// Takes over what the former image of this process left behind `record`.
pub(crate) fn resume(record: i32) -> io::Result<Keeper> {
    let record = adopt_fd(record).ok_or_else(broken)?;
    let bytes = read_memfd(&record, limits::HANDOVER)?;
    let mut words = Words(bytes.chunks_exact(8));
    let globals = match (words.next()?, words.next()?) {
        (MAGIC, FORMAT) => limits::GLOBAL_KEYS,
        (MAGIC, FORMAT_WITH_FEW_GLOBALS) => limits::KEYS,
        _ => {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "unknown format of the hand-over record"));
        }
    };
    let listener = words.fd()?.ok_or_else(broken)?;
    let lock = words.fd()?.ok_or_else(broken)?;
    let bell = Doorbell::open(words.fd()?.ok_or_else(broken)?, words.fd()?.ok_or_else(broken)?)?;
    let socket = words.fd()?;
    let daemon_pid = words.next()?;
    let successor = Successor::resumed(words.next()?, own_child(daemon_pid));
    let limit = |word| if word == u64::MAX { None } else { Some(word) };
    let limits = Rlimit { current: limit(words.next()?), maximum: limit(words.next()?) };
    let key = key::random()?;
    // Without the file only a daemon that this keeper starts can take over, which is the usual case.
    let _stored = key::path_of(&listener).and_then(|socket| key::store(key, &socket));
    let mut keeper = Keeper::with_parts(listener, lock, key, limits, bell, successor)?;
    for place in keeper.global.iter_mut().take(globals) {
        *place = words.fd()?;
    }
    keeper.global.iter().flatten().for_each(|held| keeper.backlog.watch(held));
    let count = words.next()?;
    for index in 0..u32::try_from(count).map_err(|_| broken())? {
        let slot = resume_slot(&mut words)?;
        slot.held.iter().flatten().for_each(|held| keeper.backlog.watch(held));
        keeper.slots.push(slot);
        keeper.watch(SlotId(index))?;
    }
    keeper.daemon = socket.map(|socket| Daemon::resumed(socket, daemon_pid));
    keeper.watch_daemon()?;
    keeper.watch_successor()?;
    Ok(keeper)
}

/// The daemon's process, if the former image has started it: then it is ours to reap.
fn own_child(pid: u64) -> Option<Child> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw)?;
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    rustix::process::waitid(WaitId::Pid(pid), look).ok()?;
    let pidfd = rustix::process::pidfd_open(pid, PidfdFlags::NONBLOCK).ok()?;
    Some(Child { pid, pidfd, started: None })
}

fn resume_slot(words: &mut Words<'_>) -> io::Result<Slot> {
    let ring = words.fd()?.map(ring::RingWriter::reopen).transpose()?;
    let master = words.fd()?;
    let pidfd = words.fd()?;
    let mut slot = Slot { ring, master, ..Slot::default() };
    for place in &mut slot.held {
        *place = words.fd()?;
    }
    slot.pid = words.next()?;
    let (ended, exit) = (words.next()?, words.next()?);
    slot.exit = (ended != 0).then_some(exit);
    if let Some(pidfd) = pidfd {
        let pid = i32::try_from(slot.pid).ok().and_then(Pid::from_raw).ok_or_else(broken)?;
        slot.child = Some(Child { pid, pidfd, started: None });
    }
    Ok(slot)
}
