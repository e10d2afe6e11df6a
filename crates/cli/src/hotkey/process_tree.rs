//! The parents of processes, from `/proc`, and the signals that they ignore.

/// The parent of a process; `None` if there is no such process.
pub(super) fn parent(pid: u32) -> Option<u32> {
    parse_parent(&std::fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// The fourth field of `/proc/PID/stat`. The second one is the program's name in parentheses, which may contain any
/// bytes, also parentheses and blanks.
fn parse_parent(stat: &[u8]) -> Option<u32> {
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(stat.get(name_end + 1..)?).ok()?;
    rest.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Whether a process ignores a signal, by the text of `/proc/PID/status`.
pub(super) fn ignores(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask.checked_shr(signal.unsigned_abs().saturating_sub(1)).is_some_and(|mask| mask & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_programs_do_not_confuse() {
        assert_eq!(parse_parent(b"7 (sh) S 3 7 7 0"), Some(3));
        assert_eq!(parse_parent(b"7 (a) R 9 (\xff) S 42 7"), Some(42));
        assert_eq!(parse_parent(b"7 (sh"), None);
        assert_eq!(parse_parent(b"7 (sh) S"), None);
        assert_eq!(parent(std::process::id()), Some(std::os::unix::process::parent_id()));
        assert_eq!(parent(u32::MAX), None);
    }

    #[test]
    fn ignored_signals_are_a_mask() {
        let status = "Name:\tswb\nSigBlk:\tffff\nSigIgn:\t0000000000001001\n";
        assert!(ignores(status, 1) && ignores(status, 13) && !ignores(status, 2));
        assert!(!ignores("", 1) && !ignores(status, 200));
    }
}
