//! Every bound of this crate, with its reason.

use std::time::Duration;

/// How long a program may take to set the clipboard.
pub(crate) const CLIPBOARD: Duration = Duration::from_secs(3);
/// How often to check whether it has exited.
pub(crate) const CLIPBOARD_POLL: Duration = Duration::from_millis(5);
/// How long `git` may take to make a working tree: a large one is written to a slow disk.
pub(crate) const GIT: Duration = Duration::from_secs(120);
/// Bytes that are read of one of git's files: a path, a branch.
pub(crate) const GIT_FILE: u64 = 8 << 10;
/// Bytes in the name of a working tree: it becomes part of a file name.
pub(crate) const WORKTREE_NAME: usize = 100;
