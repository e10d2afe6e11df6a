//! Every bound of access to the files of a workspace, with its unit and reason.

use std::time::Duration;

/// Bytes of a path, as the kernel limits it, and of what an error quotes of it.
pub(crate) const PATH: usize = 4096;
/// Symbolic links followed on the way to a file, as the kernel limits them.
pub(crate) const LINKS: usize = 40;
/// Attempts to open a file while its directories are renamed at the same time.
pub(crate) const OPEN_TRIES: usize = 16;
/// Bytes of a file that is read or written: far more than any model can take in, and small beside our memory.
pub(crate) const FILE: u64 = 8 << 20;
/// Bytes of one file with ignore rules; larger ones are skipped.
pub(crate) const IGNORE_FILE: usize = 64 << 10;
/// Bytes of ignore rules that hold at the same time: those of a directory and of all above it.
pub(crate) const IGNORE_RULES: usize = 256 << 10;
/// Entries of a listing: more than a model reads with profit.
pub(crate) const ENTRIES: usize = 2_000;
/// Lines a search returns: more than a model reads with profit.
pub(crate) const MATCHES: usize = 500;
/// Characters kept of a line that matches: generated files have lines of megabytes.
pub(crate) const MATCH_LINE: usize = 400;
/// How long a walk may take; what it has found by then is returned.
pub(crate) const WALK: Duration = Duration::from_secs(15);
/// How long a tool's file access may take: a walk, and what follows it on a slow disk.
pub(crate) const TOOL: Duration = Duration::from_secs(30);
/// Bytes a compiled pattern may take: enough for any that is meant well.
pub(crate) const PATTERN: usize = 1 << 20;
