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
        if membership(&entry.path()).is_some_and(|one| one.session == sid && wanted(one.group))
            && let Some(pid) = Pid::from_raw(pid)
        {
            // It may have ended meanwhile.
            let _signalled = rustix::process::kill_process(pid, signal);
        }
    }
}

/// The terminal sessions of the descendants of process `pid`, other than its own: programs that were put in the background
/// leave it.
pub(crate) fn sessions_below(pid: i32) -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let processes: Vec<(i32, Membership)> = entries
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, membership(&entry.path())?)))
        .collect();
    let mut family = vec![pid];
    let mut known = 0;
    while let Some(parent) = family.get(known).copied() {
        known += 1;
        family.extend(processes.iter().filter(|(_, one)| one.parent == parent).map(|(child, _)| *child));
    }
    let members = processes.iter().filter(|(child, one)| family.contains(child) && one.session != pid);
    let mut sessions: Vec<i32> = members.map(|(_, one)| one.session).collect();
    sessions.sort_unstable();
    sessions.dedup();
    sessions
}

/// Whether the leader of terminal session `sid` has ended and left processes behind. As long as there are any, the kernel
/// gives its number to no other process.
pub(crate) fn is_orphaned(sid: i32) -> bool {
    sid > 1 && !Path::new(&format!("/proc/{sid}")).exists() && session_lives(sid)
}

/// Whether any process of terminal session `sid` is left.
pub(crate) fn session_lives(sid: i32) -> bool {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return false;
    };
    entries.flatten().any(|entry| membership(&entry.path()).is_some_and(|one| one.session == sid))
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

/// Where a process belongs.
struct Membership {
    parent: i32,
    group: i32,
    session: i32,
}

/// Parent, process group and session of a process that is not a zombie.
fn membership(proc_dir: &Path) -> Option<Membership> {
    let stat = std::fs::read_to_string(proc_dir.join("stat")).ok()?;
    // pid (name) state ppid pgrp session …; the name may contain anything, so start behind its end.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let state = fields.next()?;
    let mut number = || fields.next()?.parse().ok();
    let found = Membership { parent: number()?, group: number()?, session: number()? };
    (state != "Z" && state != "X").then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_session_is_found() {
        // Inside a container the leader of our session can be a process that has no number here.
        let own = membership(Path::new("/proc/self")).unwrap().session;
        assert!(session_lives(own) && !is_orphaned(own));
        assert!(!session_lives(i32::MAX));
        assert!(!ignores_sigterm(std::process::id() as i32));
    }

    #[test]
    fn a_child_that_left_the_session_is_found_below_its_parent() {
        let mut child = std::process::Command::new("setsid").args(["-w", "sleep", "600"]).spawn().unwrap();
        let own = std::process::id() as i32;
        let found = || sessions_below(own).iter().copied().find(|sid| *sid == child.id() as i32);
        // It leaves the session after it was started.
        let sid = (0..500).find_map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            found()
        });
        signal_session(child.id() as i32, Signal::KILL);
        child.wait().unwrap();
        assert_eq!(sid, Some(child.id() as i32));
    }
}
