//! Every unsafe call of the keeper and its client half: mappings, fork and exec; and system calls that several files make.

#![allow(unsafe_code)]

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::io::Errno;
use rustix::mm::{self, MapFlags, ProtFlags};
use std::ffi::CString;
use std::io::{self, IoSlice, IoSliceMut};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// The words at the front of a shared mapping.
///
/// # Safety
///
/// Other processes change them at any time: every field is an atomic or an array of atomics, there is no padding,
/// and the alignment is at most a page.
pub(crate) unsafe trait SharedWords {}

// SAFETY: atomics only, in a `repr(C)` whose offsets are asserted beside it.
unsafe impl SharedWords for crate::ring::Header {}
// SAFETY: as above.
unsafe impl SharedWords for crate::wake::Table {}
// SAFETY: as above.
unsafe impl SharedWords for crate::vitals::Page {}
// SAFETY: as above.
unsafe impl SharedWords for crate::input_counts::CountTable {}

/// A shared mapping of a whole memfd, words first and bytes behind them; unmapped on drop.
///
/// Another process changes the memory at any time. Words are therefore only reached as atomics, and
/// bytes only as arguments of system calls or by volatile-free copies that the caller validates.
#[derive(Debug)]
pub(crate) struct Mapping<W> {
    base: NonNull<W>,
    /// Bytes mapped, at least those of the words.
    len: usize,
    writable: bool,
}

// SAFETY: the mapping is plain shared memory; all access goes through atomics or system calls.
unsafe impl<W> Send for Mapping<W> {}
// SAFETY: as above.
unsafe impl<W> Sync for Mapping<W> {}

impl<W: SharedWords> Mapping<W> {
    /// Maps `len` bytes of `fd`, whose length the caller has checked.
    pub(crate) fn new(fd: impl AsFd, len: usize, writable: bool) -> io::Result<Self> {
        if len < size_of::<W>() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let prot = if writable { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        // SAFETY: a fresh mapping at an address the kernel chooses touches no existing memory.
        let base = unsafe { mm::mmap(std::ptr::null_mut(), len, prot, MapFlags::SHARED, fd, 0)? };
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Self { base, len, writable })
    }

    /// The words at the front. In a read-only mapping they can only be loaded.
    pub(crate) fn words(&self) -> &W {
        // SAFETY: mapped while `self` lives, long enough (`new`), page-aligned, and atomics only (`SharedWords`).
        unsafe { self.base.as_ref() }
    }

    /// Where `len` bytes lie from position `at` behind the words on; nothing if the mapping ends before.
    fn bytes(&self, at: usize, len: usize) -> Option<NonNull<u8>> {
        let from = at.checked_add(size_of::<W>())?;
        let inside = from.checked_add(len)? <= self.len;
        // SAFETY: just checked to lie inside the mapping.
        inside.then(|| unsafe { self.base.cast().add(from) })
    }

    /// Bytes for a system call to read from. The contents may change meanwhile; see [`Mapping`].
    pub(crate) fn io_slice(&self, at: usize, len: usize) -> Option<IoSlice<'_>> {
        let bytes = self.bytes(at, len)?;
        // SAFETY: in bounds and mapped while `self` lives. The slice is only handed to the kernel, which
        // copies the bytes that are there; the ring's caller validates afterwards that it was not overwritten.
        Some(IoSlice::new(unsafe { std::slice::from_raw_parts(bytes.as_ptr(), len) }))
    }

    /// Bytes for a system call to write into; nothing if the mapping is read-only.
    pub(crate) fn io_slice_mut(&mut self, at: usize, len: usize) -> Option<IoSliceMut<'_>> {
        let bytes = self.bytes(at, len).filter(|_| self.writable)?;
        // SAFETY: in bounds, writable, and `&mut self` makes this process's access exclusive.
        Some(IoSliceMut::new(unsafe { std::slice::from_raw_parts_mut(bytes.as_ptr(), len) }))
    }

    /// Appends bytes to `out`; the caller validates afterwards that they were not overwritten.
    pub(crate) fn copy_to(&self, at: usize, len: usize, out: &mut Vec<u8>) -> Option<()> {
        let from = self.bytes(at, len)?;
        let end = out.len().checked_add(len)?;
        out.reserve(len);
        // SAFETY: source in bounds, destination reserved above, and the two cannot overlap. Torn bytes are
        // possible and are discarded by the caller's validation.
        unsafe {
            std::ptr::copy_nonoverlapping(from.as_ptr(), out.as_mut_ptr().add(out.len()), len);
            out.set_len(end);
        }
        Some(())
    }
}

impl<W: SharedWords> Mapping<W> {
    /// Copies bytes over `out`; the caller validates afterwards that they were not overwritten.
    pub(crate) fn copy_over(&self, at: usize, out: &mut [u8]) -> Option<()> {
        let from = self.bytes(at, out.len())?;
        // SAFETY: source in bounds, destination exclusive and as long, and the two cannot overlap. Torn bytes are
        // possible and are discarded by the caller's validation.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), out.as_mut_ptr(), out.len()) };
        Some(())
    }
}

impl<W> Drop for Mapping<W> {
    fn drop(&mut self) {
        // SAFETY: unmaps exactly what `new` mapped, and no borrow outlives `self`.
        let _unmapped = unsafe { mm::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

/// Memory of a fixed length that can be shared with another process. Without the seals a process that truncates it would kill
/// the others with SIGBUS.
pub(crate) fn shared_memory(name: &str, len: u64) -> io::Result<OwnedFd> {
    let memory = rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    rustix::fs::ftruncate(&memory, len)?;
    rustix::fs::fcntl_add_seals(&memory, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    Ok(memory)
}

/// Whether a descriptor is readable now.
pub(crate) fn is_readable(fd: impl AsFd) -> rustix::io::Result<bool> {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let ready = poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&now))?;
    Ok(ready > 0)
}

/// The half of a shared word that changes with every step of it, for the kernel to sleep on.
pub(crate) fn low_half(word: &AtomicU64) -> &AtomicU32 {
    const _: () = assert!(cfg!(target_endian = "little"), "the low half comes first");
    // SAFETY: four of the eight bytes, aligned for both, and only ever used atomically.
    unsafe { &*std::ptr::from_ref(word).cast::<AtomicU32>() }
}

/// What `fork` returned.
pub(crate) enum Fork {
    Parent(i32),
    Child,
}

/// Forks. The keeper has one thread, so the child may go on as an ordinary process.
pub(crate) fn fork() -> io::Result<Fork> {
    // SAFETY: single-threaded process (see above); tests that call this only exec or exit in the child.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Fork::Child),
        pid => Ok(Fork::Parent(pid)),
    }
}

/// Ends a forked child without running exit handlers that belong to its parent.
pub(crate) fn exit_now(code: i32) -> ! {
    // SAFETY: `_exit` is always safe to call.
    unsafe { libc::_exit(code) }
}

/// Gives signals back their defaults and unblocks them all, as a fresh program expects.
pub(crate) fn reset_signals() {
    // SAFETY: called in a forked child or a fresh keeper; sets default dispositions and an empty mask.
    unsafe {
        for signal in 1..32 {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}

/// Ignores the signals that a closing terminal sends.
pub(crate) fn ignore_signals() {
    for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGPIPE, libc::SIGTSTP] {
        // SAFETY: ignoring a signal runs no handler.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// Turns SIGTERM into a descriptor that is readable once the signal has arrived.
pub(crate) fn termination() -> io::Result<OwnedFd> {
    // SAFETY: the set is initialised before use; no handler is installed, and the descriptor is a new one.
    unsafe {
        let mut term: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut term);
        libc::sigaddset(&raw mut term, libc::SIGTERM);
        if libc::sigprocmask(libc::SIG_BLOCK, &raw const term, std::ptr::null_mut()) == -1 {
            return Err(io::Error::last_os_error());
        }
        // A former image of this process may have ignored it, and what is ignored never arrives.
        libc::signal(libc::SIGTERM, libc::SIG_DFL);
        match libc::signalfd(-1, &raw const term, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
            -1 => Err(io::Error::last_os_error()),
            fd => Ok(OwnedFd::from_raw_fd(fd)),
        }
    }
}

/// Marks every descriptor from 3 on to be closed by `exec`.
pub(crate) fn close_others_on_exec() {
    // SAFETY: only sets a flag on descriptors; has no memory effects.
    unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
}

/// Makes `fd` the descriptor number `target` of this process.
pub(crate) fn dup_to(fd: impl AsFd, target: RawFd) -> io::Result<()> {
    // SAFETY: called for 0, 1 and 2 only, in a forked child or a keeper that has no other use of them.
    match unsafe { libc::dup2(fd.as_fd().as_raw_fd(), target) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Replaces the program; returns only with the reason why it could not.
pub(crate) fn exec(path: &CString, argv: &[CString], env: &[CString]) -> io::Error {
    let pointers = |list: &[CString]| -> Vec<*const libc::c_char> {
        list.iter().map(|s| s.as_ptr()).chain([std::ptr::null()]).collect()
    };
    let (argv, env) = (pointers(argv), pointers(env));
    // SAFETY: both arrays end with a null pointer and point to NUL-terminated strings that outlive the call.
    unsafe { libc::execve(path.as_ptr(), argv.as_ptr(), env.as_ptr()) };
    io::Error::last_os_error()
}

/// Takes over a descriptor that the previous image of this process left open for us.
pub(crate) fn adopt_fd(raw: RawFd) -> Option<OwnedFd> {
    // SAFETY: `fcntl` only asks whether the number is open.
    if raw < 3 || unsafe { libc::fcntl(raw, libc::F_GETFD) } == -1 {
        return None;
    }
    // SAFETY: it is open, and the hand-over record lists each descriptor once, so it has no other owner.
    Some(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// Process id and user of the process that connected a socket; the id is zero if the process is not visible to us.
pub(crate) fn peer_credentials(socket: BorrowedFd<'_>) -> Option<(i32, u32)> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut len = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes into a structure of that size, which any bytes are valid for.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            std::ptr::from_mut(&mut peer).cast(),
            &mut len,
        )
    };
    (result == 0).then_some((peer.pid, peer.uid))
}

/// A descriptor of the process that connected a socket; `NOPROTOOPT` before Linux 6.5.
pub(crate) fn peer_pidfd(socket: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    let mut fd: RawFd = -1;
    let mut len = size_of::<RawFd>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes into an integer of that size.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERPIDFD,
            std::ptr::from_mut(&mut fd).cast(),
            &mut len,
        )
    };
    if result != 0 || fd < 0 {
        return Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::SRCH));
    }
    // SAFETY: the kernel has just opened it for us, so nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
