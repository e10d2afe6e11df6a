//! The processes that descend from this one.

use crate::sys;
use rustix::process::{Pid, Signal, WaitOptions, kill_process};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long killing may take: a process in the middle of a system call ends when that does.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often to look whether new ones have appeared while the others were killed.
const PAUSE: Duration = Duration::from_millis(5);

/// Kills all descendants of this process, which must be a subreaper, until there are none.
pub(super) fn end() {
    let until = Instant::now() + PATIENCE;
    let own = rustix::process::getpid();
    while Instant::now() < until {
        while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
        let left = descendants(own, &parents());
        if left.is_empty() {
            return;
        }
        for pid in left {
            // It may have ended by itself.
            let _killed = kill_process(pid, Signal::KILL);
        }
        sys::wait_signal(PAUSE);
    }
}

/// Every process with its parent.
fn parents() -> Vec<(i32, i32)> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter_map(|pid| {
        let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
        Some((pid, parent_in(&stat)?))
    })
    .collect()
}

/// The parent in a line of `/proc/PID/stat`. The name before it is the program's own choice: it may hold anything, so
/// the last parenthesis counts.
fn parent_in(stat: &[u8]) -> Option<i32> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(stat.get(end + 1..)?).ok()?;
    rest.split_ascii_whitespace().nth(1)?.parse().ok()
}

fn descendants(of: Pid, parents: &[(i32, i32)]) -> Vec<Pid> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for (pid, parent) in parents {
        children.entry(*parent).or_default().push(*pid);
    }
    let mut found = Vec::new();
    let mut next = vec![of.as_raw_nonzero().get()];
    while let Some(pid) = next.pop() {
        // Taken out, so that a table that was read while it changed cannot lead in a circle.
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
    fn the_parent_is_found_behind_any_name() {
        assert_eq!(parent_in(b"12 (sh) S 7 12 12"), Some(7));
        assert_eq!(parent_in(b"12 (a) S 1 (\xff b) R 7 12"), Some(7));
        for bad in [&b""[..], b"12 sh S 7", b"12 (sh)", b"12 (sh) S", b"12 (sh) S x"] {
            assert_eq!(parent_in(bad), None);
        }
    }

    #[test]
    fn all_generations_are_found() {
        let table = [(2, 1), (3, 2), (4, 3), (5, 1), (6, 6), (1, 4)];
        let found = descendants(Pid::from_raw(2).unwrap(), &table);
        let found: Vec<i32> = found.into_iter().map(|pid| pid.as_raw_nonzero().get()).collect();
        assert!(found.starts_with(&[3, 4]), "{found:?}");
        assert!(!found.contains(&6));
    }
}
