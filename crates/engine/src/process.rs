//! Processes of a terminal session: which ones belong to it, and signals to all of them.
//!
//! The kernel knows no list of the processes of a session, so all processes of the machine are read. That takes a
//! millisecond for a hundred of them; many sessions that are killed at once share what was read a moment ago.

#![allow(clippy::disallowed_methods, reason = "the kernel provides these files itself")]

use crate::limits;
use rustix::process::{Pid, Signal};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

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
    let is_member = |one: &Membership| one.session == sid && wanted(one.group);
    for (pid, _) in recent_processes().iter().filter(|(_, one)| is_member(one)) {
        // It may have ended since it was read, and left its number to another one.
        if membership(*pid).is_some_and(|now| is_member(&now))
            && let Some(pid) = Pid::from_raw(*pid)
        {
            let _signalled = rustix::process::kill_process(pid, signal);
        }
    }
}

/// A process of this machine.
type Process = (i32, Membership);

/// All processes, as they were at most [`limits::PROCESSES_READ`] ago.
fn recent_processes() -> Arc<[Process]> {
    static LAST: Mutex<Option<(Instant, Arc<[Process]>)>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    match &*last {
        Some((read, processes)) if read.elapsed() < limits::PROCESSES_READ => Arc::clone(processes),
        _ => {
            let processes: Arc<[Process]> = processes().collect();
            // Its age counts from the end: on a busy machine, reading takes longer than that.
            *last = Some((Instant::now(), Arc::clone(&processes)));
            processes
        }
    }
}

fn processes() -> impl Iterator<Item = Process> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid| Some((pid, membership(pid)?)))
}

/// The terminal sessions of the descendants of process `pid`, other than its own: programs that were put in the background
/// leave it.
pub(crate) fn sessions_below(pid: i32) -> Vec<i32> {
    let processes = recent_processes();
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
    processes().any(|(_, one)| one.session == sid)
}

/// Whether any process of these terminal sessions is left, found out on a thread for that. Those who ask while processes are
/// being read share the next reading, which begins after they have asked.
pub(crate) async fn sessions_live(sids: &[i32]) -> bool {
    static LAST: tokio::sync::Mutex<Option<(Instant, Arc<[Process]>)>> = tokio::sync::Mutex::const_new(None);
    let asked = Instant::now();
    let mut last = LAST.lock().await;
    let known = last.as_ref().filter(|(began, _)| *began >= asked).map(|(_, found)| Arc::clone(found));
    let found = match known {
        Some(found) => found,
        None => {
            let began = Instant::now();
            let read = tokio::task::spawn_blocking(|| processes().collect::<Arc<[Process]>>()).await;
            // Without an answer, they count as alive: they are killed at their deadline.
            let Ok(found) = read else { return true };
            *last = Some((began, Arc::clone(&found)));
            found
        }
    };
    drop(last);
    found.iter().any(|(_, one)| sids.contains(&one.session))
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
fn membership(pid: i32) -> Option<Membership> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
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
        let own = membership(std::process::id() as i32).unwrap().session;
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
