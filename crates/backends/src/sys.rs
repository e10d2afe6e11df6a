//! The unsafe calls of this crate: waiting for signals, code between fork and exec, and namespaces.

#![allow(unsafe_code, reason = "no safe interface covers signal masks, pre_exec and mount attributes")]

use rustix::fd::OwnedFd;
use rustix::io::{FdFlags, fcntl_setfd};
use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

/// Signals that [`wait_signal`] returns.
const WAITED: [i32; 4] = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGCHLD];

fn set_of(signals: &[i32]) -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: `sigemptyset` initialises the set, which the other calls need; all signal numbers are valid.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in signals {
            libc::sigaddset(set.as_mut_ptr(), *signal);
        }
        set.assume_init()
    }
}

/// Blocks the signals, so that [`wait_signal`] can receive them.
pub(crate) fn hold_signals() {
    // SAFETY: the set is initialised, and the old mask is not requested.
    unsafe {
        // A disposition of "ignore" is inherited, and would suppress the signals for dead children.
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        libc::pthread_sigmask(libc::SIG_BLOCK, &set_of(&WAITED), std::ptr::null_mut());
    }
}

/// Waits for a signal; `None` if none arrives in time.
pub(crate) fn wait_signal(most: Duration) -> Option<i32> {
    let set = set_of(&WAITED);
    let seconds = libc::time_t::try_from(most.as_secs()).unwrap_or(libc::time_t::MAX);
    let most = libc::timespec { tv_sec: seconds, tv_nsec: most.subsec_nanos().into() };
    // SAFETY: both structures live through the call; no signal information is requested.
    let signal = unsafe { libc::sigtimedwait(&set, std::ptr::null_mut(), &most) };
    (signal > 0).then_some(signal)
}

/// Lets a single-threaded process run code in the child it is about to start, with the signal mask and dispositions of
/// a fresh program.
pub(crate) fn prepare_child(
    command: &mut Command,
    mut prepare: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) {
    let child = move || {
        // SAFETY: only masks and dispositions of the child itself change.
        unsafe {
            for signal in 1..32 {
                libc::signal(signal, libc::SIG_DFL);
            }
            libc::pthread_sigmask(libc::SIG_SETMASK, &set_of(&[]), std::ptr::null_mut());
        }
        prepare()
    };
    // SAFETY: the caller has one thread, so no other thread can have held a lock at the fork.
    unsafe {
        command.pre_exec(child);
    }
}

/// Moves this process, which must have one thread, to namespaces of its own for users, mounts and shared memory.
pub(crate) fn new_namespaces() -> io::Result<()> {
    // SAFETY: changes what later system calls of this process mean, but no memory and no descriptor.
    match unsafe { libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWIPC) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Makes all mounts from a path on read-only; with an empty path those of the descriptor itself.
pub(crate) fn make_read_only(dir: BorrowedFd<'_>, path: &CStr) -> io::Result<()> {
    let attributes =
        libc::mount_attr { attr_set: libc::MOUNT_ATTR_RDONLY, attr_clr: 0, propagation: 0, userns_fd: 0 };
    // SAFETY: path and structure live through the call, whose last argument is the size of the latter.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            dir.as_raw_fd(),
            path.as_ptr(),
            libc::AT_EMPTY_PATH | libc::AT_RECURSIVE,
            &attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Whether something that changes a process for good succeeds in a child of this one, which must have one thread.
pub(crate) fn succeeds_in_child(attempt: impl FnOnce() -> bool) -> bool {
    // SAFETY: with one thread, no other can have held a lock at the fork; the child ends without running anything
    // that its parent registered for its end.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let code = i32::from(!attempt());
        // SAFETY: ends the child.
        unsafe { libc::_exit(code) };
    }
    let mut status = 1;
    // SAFETY: waits for the child that was just made, and stores its status in an integer that lives.
    child > 0 && unsafe { libc::waitpid(child, &mut status, 0) } == child && status == 0
}

/// Lets the program inherit a descriptor under its number. The descriptor stays open until the command is dropped.
pub(crate) fn inherit(command: &mut tokio::process::Command, descriptor: OwnedFd) {
    // In the child only: other programs that are started at the same time must not inherit it.
    let keep = move || fcntl_setfd(&descriptor, FdFlags::empty()).map_err(Into::into);
    // SAFETY: between fork and exec only async-signal-safe work is allowed; this is one system call and no allocation.
    unsafe {
        command.pre_exec(keep);
    }
}
