//! What `/proc` has about processes: memory, CPU time, and which of them belong to a run.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use anyhow::{Context, Result};

/// Environment variable that marks every process of a run; its value is a directory of that run.
pub(crate) const TAG: &str = "SWB_BENCH_DIR";

/// Proportional set size, in KiB.
pub(crate) fn pss_kib(pid: u32) -> Result<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    parse_pss(&text).with_context(|| format!("no Pss line for process {pid}"))
}

/// CPU time used so far, user and system, in clock ticks.
pub(crate) fn cpu_ticks(pid: u32) -> Result<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    parse_ticks(&text).with_context(|| format!("unexpected stat line of process {pid}"))
}

/// CPU time of all threads of a process by the scheduler's own clock, in microseconds.
pub(crate) fn cpu_micros(pid: u32) -> Result<f64> {
    let mut nanos = 0;
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        let text = fs::read_to_string(thread?.path().join("schedstat"))?;
        let first = text.split(' ').next().and_then(|n| n.parse::<u64>().ok());
        nanos += first.with_context(|| format!("unexpected schedstat of process {pid}"))?;
    }
    Ok(nanos as f64 / 1e3)
}

/// Processes whose mark starts with `dir`.
pub(crate) fn tagged(dir: &Path) -> Vec<u32> {
    let mut mark = format!("{TAG}=").into_bytes();
    mark.extend_from_slice(dir.as_os_str().as_bytes());
    let belongs = |pid: &u32| {
        let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environ.split(|b| *b == 0).any(|variable| variable.starts_with(&mark))
    };
    all().into_iter().filter(belongs).collect()
}

/// The short name of a process.
pub(crate) fn name(pid: u32) -> Option<String> {
    Some(fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.trim_end().into())
}

fn all() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|e| e.file_name().to_str()?.parse().ok()).collect()
}

fn parse_pss(rollup: &str) -> Option<u64> {
    let line = rollup.lines().find_map(|l| l.strip_prefix("Pss:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

fn parse_ticks(stat: &str) -> Option<u64> {
    // The second field is the name in parentheses and may hold anything, also blanks and parentheses.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pss_is_found_among_its_neighbours() {
        let rollup = "00400000-7fff [rollup]\nRss:     900 kB\nPss:     512 kB\nPss_Anon:  7 kB\n";
        assert_eq!(parse_pss(rollup), Some(512));
    }

    #[test]
    fn ticks_survive_a_name_with_blanks_and_parentheses() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 100 0 0 0 30 12 0 0 20 0 1 0 5 1 1";
        assert_eq!(parse_ticks(stat), Some(42));
    }

    #[test]
    fn this_process_has_a_name_memory_and_time() {
        let pid = std::process::id();
        assert!(name(pid).is_some());
        assert!(pss_kib(pid).unwrap() > 0);
        cpu_ticks(pid).unwrap();
        assert!(cpu_micros(pid).unwrap() > 0.0);
    }
}
