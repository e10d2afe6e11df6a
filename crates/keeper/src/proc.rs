//! What the kernel reports about other processes, in `/proc`. Nothing here allocates.

use crate::limits;
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use rustix::process::Pid;
use std::fmt::Display;
use std::io::Write;

/// The parent of a process.
pub fn parent_of(pid: Pid) -> Option<i32> {
    let mut stat = [0; limits::PROC_STAT];
    parent_in(read(pid, "stat", &mut stat)?)
}

/// The parent in a line of `/proc/PID/stat`: the second field after the name.
fn parent_in(stat: &[u8]) -> Option<i32> {
    fields_after_name(stat)?.nth(1)?.parse().ok()
}

/// The fields of a line of `stat` from the state on, which is the third one. The program chooses the name before it, which
/// may contain anything, so the last parenthesis counts.
pub(crate) fn fields_after_name(stat: &[u8]) -> Option<impl Iterator<Item = &str>> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(stat.get(end.checked_add(1)?..)?).ok()?;
    Some(rest.split_ascii_whitespace())
}

/// The beginning of a file of a process.
pub(crate) fn read(pid: Pid, name: impl Display, buffer: &mut [u8]) -> Option<&[u8]> {
    let count = rustix::io::read(open(pid, name)?, &mut *buffer).ok()?;
    buffer.get(..count)
}

/// Opens a file of a process.
pub(crate) fn open(pid: Pid, name: impl Display) -> Option<OwnedFd> {
    let mut buffer = [0; limits::PROC_PATH];
    let path = path(pid, name, &mut buffer)?;
    rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()
}

/// The path of a file of a process.
pub(crate) fn path(pid: Pid, name: impl Display, buffer: &mut [u8]) -> Option<&[u8]> {
    let mut rest = &mut *buffer;
    write!(rest, "/proc/{}/{name}", pid.as_raw_nonzero()).ok()?;
    let unused = rest.len();
    buffer.get(..buffer.len().checked_sub(unused)?)
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
    fn the_longest_path_fits() {
        let pid = Pid::from_raw(i32::MAX).unwrap();
        let mut buffer = [0; limits::PROC_PATH];
        let name = format!("task/{}/stat", i32::MAX);
        let expected = format!("/proc/{}/{name}", i32::MAX);
        assert_eq!(path(pid, name, &mut buffer), Some(expected.as_bytes()));
    }
}
