//! The process at the other end of a connection: whether a confined command of an agent started it.
//!
//! A confined program and everything it starts have a filter of system calls, which no process can remove: a process
//! without one is not confined, and nothing else of it is read. One with a filter may have it from elsewhere. Confined
//! programs are descendants of a guard (`swb guard --confine`), which is a subreaper: no descendant can leave it while it
//! lives. What survives a guard that was killed is recognised by its mounts. A process with a filter whose ancestors
//! cannot be determined counts as confined.
//!
//! Nothing that is read here waits for the memory of a process, which may be locked for as long as a file system does not
//! respond: guards are recognised by their name, not by their arguments.

use crate::limits;
use crate::proc::{self, parent_of};
use crate::sys;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, getpid, getuid, pidfd_open, test_kill_process};
use std::ffi::CStr;

/// The arguments with which a guard that confines its program begins.
pub const CONFINING_GUARD: [&str; 2] = ["guard", "--confine"];
/// The name that such a guard gives to its process. No other process can change it.
pub const GUARD_NAME: &CStr = c"swb-confine";

/// How the name of a confined program's temporary directory begins. The directory is a mount in a namespace that the
/// program cannot leave, so that everything it has started can be recognised even after its guard was killed.
pub const CONFINED_DIR: &str = "swb-confined-";

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
    if !has_syscall_filter(pid) {
        return lives(&process);
    }
    // Ancestors may end while they are looked at: the answer counts only if they are still the same afterwards.
    let mut before = ancestors(pid);
    for _ in 0..limits::ANCESTRY_READS {
        let unconfined = before.is_some_and(|pids| !has_guard(pids));
        let after = ancestors(pid);
        if before.is_some() && before == after {
            return unconfined && !has_confined_mounts(pid) && lives(&process);
        }
        before = after;
    }
    false
}

/// Whether a guard confines this very process.
pub fn is_confined() -> bool {
    has_syscall_filter(getpid()) && ancestors(getpid()).is_some_and(has_guard)
}

/// Whether the system calls of a process are filtered, as those of every confined program are. One whose state cannot be
/// read counts as filtered.
fn has_syscall_filter(pid: Pid) -> bool {
    let mut status = [0; limits::PROC_STATUS];
    match proc::read(pid, "status", &mut status) {
        Some(status) => !is_unfiltered(status),
        None => !is_hidden(pid),
    }
}

/// Whether there is no filter according to `/proc/PID/status`. The kernel escapes the ends of lines in the name, which the
/// program chooses.
fn is_unfiltered(status: &[u8]) -> bool {
    status.split(|byte| *byte == b'\n').any(|line| line == b"Seccomp:\t0")
}

/// Whether a process is hidden from us because it is another user's, which no confined program can become.
fn is_hidden(pid: Pid) -> bool {
    test_kill_process(pid) == Err(Errno::PERM)
}

/// Whether a process has not ended; the id of one that lives was not given to another.
fn lives(process: &OwnedFd) -> bool {
    sys::is_readable(process) == Ok(false)
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
            None if is_hidden(pid) => None,
            None => return None,
        };
    }
    None
}

fn has_guard(pids: [i32; limits::ANCESTORS]) -> bool {
    pids.into_iter().filter_map(Pid::from_raw).any(is_guard)
}

/// Whether a process is a guard that confines its program. A program that pretends to be one confines only itself.
fn is_guard(pid: Pid) -> bool {
    let mut name = [0; limits::PROC_NAME];
    proc::read(pid, "comm", &mut name).and_then(|name| name.strip_suffix(b"\n"))
        == Some(GUARD_NAME.to_bytes())
}

/// Whether a process is in a mount namespace that a guard made. One that cannot be examined counts as in one, unless it is
/// another user's.
fn has_confined_mounts(pid: Pid) -> bool {
    let is_ours = mount_namespace(pid).is_some_and(|id| Some(id) == mount_namespace(getpid()));
    !is_ours
        && match proc::open(pid, "mountinfo") {
            Some(mounts) => !lacks(&mounts, CONFINED_DIR.as_bytes()),
            None => !is_hidden(pid),
        }
}

/// Identifies the mount namespace of a process; nothing if the process hides it.
fn mount_namespace(pid: Pid) -> Option<u64> {
    let mut path = [0; limits::PROC_PATH];
    Some(rustix::fs::stat(proc::path(pid, "ns/mnt", &mut path)?).ok()?.st_ino)
}

/// Whether a file can be read to its end and does not contain `text`.
fn lacks(file: &OwnedFd, text: &[u8]) -> bool {
    let mut buffer = [0; limits::MOUNTS_READ];
    // The end of the previous bytes, which may be the beginning of the text.
    let mut kept = 0_usize;
    for _ in 0..limits::MOUNTS_READS {
        let Some(free) = buffer.get_mut(kept..) else { return false };
        let Ok(count) = rustix::io::read(file, free) else { return false };
        let end = kept.saturating_add(count);
        let Some(bytes) = buffer.get(..end) else { return false };
        if bytes.windows(text.len()).any(|window| window == text) {
            return false;
        }
        if count == 0 {
            return true;
        }
        let start = end.saturating_sub(text.len().saturating_sub(1));
        buffer.copy_within(start..end, 0);
        kept = end.saturating_sub(start);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_guard_is_recognised_by_its_name() {
        let pid = rustix::thread::gettid();
        assert!(!is_guard(pid));
        rustix::thread::set_name(GUARD_NAME).unwrap();
        assert!(is_guard(pid));
    }

    #[test]
    fn only_a_process_that_is_known_to_have_no_filter_counts_as_unfiltered() {
        assert!(is_unfiltered(b"Name:\tsh\nNoNewPrivs:\t1\nSeccomp:\t0\nSeccomp_filters:\t0\n"));
        for other in [
            &b"Name:\tsh\nSeccomp:\t2\nSeccomp_filters:\t1\n"[..],
            b"Name:\tx\\nSeccomp:\t0\nSeccomp:\t2\n",
            b"Name:\tsh\nSecc",
            b"Name:\tsh\nSeccomp:\t",
            b"",
        ] {
            assert!(!is_unfiltered(other), "{}", String::from_utf8_lossy(other));
        }
    }

    #[test]
    fn a_process_of_another_user_is_hidden_and_one_that_has_ended_is_not() {
        assert!(!is_hidden(getpid()));
        assert_eq!(is_hidden(Pid::INIT), !getuid().is_root());
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = Pid::from_child(&child);
        child.wait().unwrap();
        assert!(!is_hidden(pid) && has_syscall_filter(pid) && has_confined_mounts(pid));
    }

    #[test]
    fn a_text_is_found_where_two_readings_meet() {
        let file = |before: usize, text: &str| {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&vec![b'/'; before]).unwrap();
            file.write_all(text.as_bytes()).unwrap();
            std::io::Seek::rewind(&mut file).unwrap();
            OwnedFd::from(file)
        };
        for before in [0, 1, limits::MOUNTS_READ - 3, limits::MOUNTS_READ, limits::MOUNTS_READ * 2 - 5] {
            assert!(!lacks(&file(before, "/swb-confined-1 "), CONFINED_DIR.as_bytes()), "{before}");
            assert!(lacks(&file(before, "/swb-confine-1 "), CONFINED_DIR.as_bytes()), "{before}");
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
