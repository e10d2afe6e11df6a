//! The process at the other end of a connection: whether a confined command of an agent started it.
//!
//! A confined program and everything it starts are descendants of a guard (`swb guard --confine`), which is a
//! subreaper: no descendant can leave it while it lives. A process without a known line of ancestors counts as
//! confined: it may be one whose guard has just been killed.

use crate::limits;
use crate::sys;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, getuid, pidfd_open, test_kill_process};
use std::io::Write;

/// The arguments with which a guard that confines its program begins.
pub const CONFINING_GUARD: [&str; 2] = ["guard", "--confine"];

/// The process that connected a socket, if it is one of this user that no guard confines.
pub(crate) fn admissible(socket: impl AsFd) -> Option<u64> {
    let (pid, uid) = sys::peer_credentials(socket.as_fd())?;
    (uid == getuid().as_raw() && is_unconfined(socket, pid)).then_some(pid.unsigned_abs().into())
}

/// Whether the process that connected a socket, with this id, lives and is not confined.
pub fn is_unconfined(socket: impl AsFd, pid: i32) -> bool {
    // Zero stands for a process outside of our process namespace.
    let Some(pid) = Pid::from_raw(pid) else { return false };
    // Kernels before 6.5 do not give the descriptor. The id may then belong to a younger process already.
    let process = match sys::peer_pidfd(socket.as_fd()) {
        Err(Errno::NOPROTOOPT) => pidfd_open(pid, PidfdFlags::empty()),
        process => process,
    };
    let Ok(process) = process else { return false };
    // Ancestors may end while they are looked at: the answer counts only if they are still the same afterwards.
    let mut before = ancestors(pid);
    for _ in 0..limits::ANCESTRY_READS {
        let unconfined = before.is_some_and(|pids| !pids.into_iter().filter_map(Pid::from_raw).any(is_guard));
        let after = ancestors(pid);
        if before.is_some() && before == after {
            return unconfined && lives(&process);
        }
        before = after;
    }
    false
}

/// Whether a process has not ended; the id of one that lives was not given to another.
fn lives(process: &OwnedFd) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&now)) == Ok(0)
}

/// A process and its ancestors, then zeros; nothing if one of them ended meanwhile or there are too many.
fn ancestors(pid: Pid) -> Option<[i32; limits::ANCESTORS]> {
    let mut pids = [0; limits::ANCESTORS];
    let mut next = Some(pid);
    for place in &mut pids {
        let Some(pid) = next.filter(|pid| *pid != Pid::INIT) else { return Some(pids) };
        *place = pid.as_raw_nonzero().get();
        next = match parent_of(pid) {
            Some(parent) => Pid::from_raw(parent),
            // Hidden from us because it is another user's, which no confined program can become.
            None if test_kill_process(pid) == Err(Errno::PERM) => None,
            None => return None,
        };
    }
    None
}

/// The parent of a process.
pub fn parent_of(pid: Pid) -> Option<i32> {
    let mut stat = [0; limits::PROC_STAT];
    parent_in(proc_file(pid, "stat", &mut stat)?)
}

/// The parent in a line of `/proc/PID/stat`. The program chooses the name before it, which may contain anything, so
/// the last parenthesis counts.
fn parent_in(stat: &[u8]) -> Option<i32> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(stat.get(end.checked_add(1)?..)?).ok()?;
    rest.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Whether a process is a guard that confines its program. A program that pretends to be one confines only itself.
fn is_guard(pid: Pid) -> bool {
    let mut line = [0; limits::PROC_CMDLINE];
    proc_file(pid, "cmdline", &mut line).is_some_and(is_guard_line)
}

fn is_guard_line(line: &[u8]) -> bool {
    line.split(|byte| *byte == 0).skip(1).take(CONFINING_GUARD.len()).eq(CONFINING_GUARD.map(str::as_bytes))
}

/// The beginning of a file of a process.
fn proc_file<'a>(pid: Pid, name: &str, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
    let mut path = [0; limits::PROC_PATH];
    let mut rest = path.as_mut_slice();
    write!(rest, "/proc/{}/{name}", pid.as_raw_nonzero()).ok()?;
    let unused = rest.len();
    let path = path.get(..path.len().checked_sub(unused)?)?;
    let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let count = rustix::io::read(&file, &mut *buffer).ok()?;
    buffer.get(..count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    #[test]
    fn the_parent_is_found_behind_any_name() {
        assert_eq!(parent_in(b"12 (sh) S 7 12 12"), Some(7));
        assert_eq!(parent_in(b"12 (a) S 1 (\xff b) R 7 12"), Some(7));
        for bad in [&b""[..], b"12 sh S 7", b"12 (sh)", b"12 (sh) S", b"12 (sh) S x"] {
            assert_eq!(parent_in(bad), None);
        }
    }

    #[test]
    fn only_a_guard_that_confines_counts_as_one() {
        assert!(is_guard_line(b"/usr/bin/swb\0guard\0--confine\0--read\0/r\0--\0sh\0"));
        for other in [
            &b"swb\0guard\0--parent\x001\0--\0guard\0--confine\0"[..],
            b"swb\0run\0--\0guard\0--confine\0",
            b"guard\0--confine\0x\0",
            b"swb\0guard\0",
            b"",
        ] {
            assert!(!is_guard_line(other), "{}", String::from_utf8_lossy(other));
        }
    }

    #[test]
    fn this_process_is_admissible_to_itself() {
        let (one, _other) = UnixStream::pair().unwrap();
        assert_eq!(admissible(&one), Some(std::process::id().into()));
        let pids = ancestors(rustix::process::getpid()).unwrap();
        assert_eq!(pids[0], rustix::process::getpid().as_raw_nonzero().get());
        assert_eq!(pids[1], rustix::process::getppid().unwrap().as_raw_nonzero().get());
    }

    #[test]
    fn a_process_that_has_ended_is_not_admissible() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = Pid::from_child(&child);
        let process = pidfd_open(pid, PidfdFlags::empty()).unwrap();
        child.wait().unwrap();
        assert!(!lives(&process) && ancestors(pid).is_none());
    }
}
