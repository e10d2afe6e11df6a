//! Processes of a terminal session: which ones belong to it, and signals to all of them.

#![allow(clippy::disallowed_methods, reason = "the kernel provides these files itself")]

use rustix::process::{Pid, Signal};
use std::path::Path;

/// Sends `signal` to the processes of terminal session `sid` that are not in its first process group.
///
/// Job control puts each job into a group of its own, so signalling the first group does not reach all.
pub(crate) fn signal_jobs(sid: i32, signal: Signal) {
    signal_members(sid, signal, |group| group != sid);
}

/// Sends `signal` to every process of terminal session `sid`, however it is grouped.
pub(crate) fn signal_session(sid: i32, signal: Signal) {
    signal_members(sid, signal, |_| true);
}

fn signal_members(sid: i32, signal: Signal, wanted: impl Fn(i32) -> bool) {
    // 0 is the session of processes from outside this pid name space, 1 that of init: never ours.
    if sid <= 1 {
        return;
    }
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return;
    };
    for entry in entries.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if membership(&entry.path()).is_some_and(|(group, session)| session == sid && wanted(group))
            && let Some(pid) = Pid::from_raw(pid)
        {
            // It may have ended meanwhile.
            let _signalled = rustix::process::kill_process(pid, signal);
        }
    }
}

/// Whether any process of terminal session `sid` is left.
pub(crate) fn session_lives(sid: i32) -> bool {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return false;
    };
    entries.flatten().any(|entry| membership(&entry.path()).is_some_and(|(_, session)| session == sid))
}

/// Whether process `pid` ignores SIGTERM, as interactive shells do.
pub(crate) fn ignores_sigterm(pid: i32) -> bool {
    let Ok(status) = std::fs::read_to_string(format!("/proc/{pid}/status")) else {
        return false;
    };
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (Signal::TERM.as_raw() - 1) & 1 == 1
}

/// Process group and session of a process that is not a zombie.
fn membership(proc_dir: &Path) -> Option<(i32, i32)> {
    let stat = std::fs::read_to_string(proc_dir.join("stat")).ok()?;
    // pid (name) state ppid pgrp session …; the name may contain anything, so start behind its end.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let state = fields.next()?;
    let group = fields.nth(1)?.parse().ok()?;
    let session = fields.next()?.parse().ok()?;
    (state != "Z" && state != "X").then_some((group, session))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_session_is_found() {
        // Inside a container the leader of our session can be a process that has no number here.
        let (_, own) = membership(Path::new("/proc/self")).unwrap();
        assert!(session_lives(own));
        assert!(!session_lives(i32::MAX));
        assert!(!ignores_sigterm(std::process::id() as i32));
    }
}
