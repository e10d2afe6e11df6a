//! The descendants of this process.

use crate::guard::limits;
use crate::sys;
use rustix::process::{Pid, Signal, WaitOptions, kill_process};
use std::collections::{BTreeMap, HashSet};

/// Kills all descendants of this process, which must be a subreaper, until none is left that it can kill.
pub(super) fn end() {
    let own = rustix::process::getpid();
    let [mut pause, longest] = limits::KILL_PAUSE;
    loop {
        while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
        if !kill_below(own) {
            return;
        }
        sys::wait_signal(pause);
        pause = (pause * 2).min(longest);
    }
}

/// Kills all descendants of a process; returns whether there were any.
pub(crate) fn kill_below(of: Pid) -> bool {
    let stopped = stop_below(of);
    for pid in &stopped {
        // It may have ended by itself.
        let _killed = kill_process(*pid, Signal::KILL);
    }
    !stopped.is_empty()
}

/// Stops all descendants of a process, so that none of them forks while the others are killed. Processes of other users
/// are ignored.
fn stop_below(of: Pid) -> HashSet<Pid> {
    let mut stopped = HashSet::new();
    for _ in 0..limits::STOP_ROUNDS {
        let mut more = descendants(of, &parents());
        more.retain(|pid| !stopped.contains(pid) && kill_process(*pid, Signal::STOP).is_ok());
        if more.is_empty() {
            break;
        }
        stopped.extend(more);
    }
    stopped
}

/// Every process with its parent.
fn parents() -> Vec<(i32, i32)> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter_map(|pid| Some((pid, swb_engine::parent_of(Pid::from_raw(pid)?)?))).collect()
}

fn descendants(of: Pid, parents: &[(i32, i32)]) -> Vec<Pid> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for (pid, parent) in parents {
        children.entry(*parent).or_default().push(*pid);
    }
    let mut found = Vec::new();
    let mut next = vec![of.as_raw_nonzero().get()];
    while let Some(pid) = next.pop() {
        // Removed, so that a table that changed while it was read cannot cause a cycle.
        for child in children.remove(&pid).unwrap_or_default() {
            found.extend(Pid::from_raw(child));
            next.push(child);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_generations_are_found() {
        let table = [(2, 1), (3, 2), (4, 3), (5, 1), (6, 6), (1, 4)];
        let found = descendants(Pid::from_raw(2).unwrap(), &table);
        let found: Vec<i32> = found.into_iter().map(|pid| pid.as_raw_nonzero().get()).collect();
        assert!(found.starts_with(&[3, 4]), "{found:?}");
        assert!(!found.contains(&6));
    }
}
