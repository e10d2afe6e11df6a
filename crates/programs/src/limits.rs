//! Every bound of this crate, with its reason.

use std::time::Duration;

/// Maximum time for a program to set the clipboard.
pub(crate) const CLIPBOARD: Duration = Duration::from_secs(3);
/// Interval at which to check whether it has exited.
pub(crate) const CLIPBOARD_POLL: Duration = Duration::from_millis(5);
/// Maximum time for `git` to create a working tree: a large one may be written to a slow disk.
pub(crate) const GIT: Duration = Duration::from_secs(120);
/// Maximum bytes that `git` may write: far more than its messages and the names of a repository's filters need.
pub(crate) const GIT_OUTPUT: u64 = 1 << 20;
/// Maximum bytes to read of one of git's files: a path, a branch.
pub(crate) const GIT_FILE: u64 = 8 << 10;
/// Maximum bytes in the name of a working tree: it becomes part of a file name.
pub(crate) const WORKTREE_NAME: usize = 100;
/// Bytes that are kept of what a clipboard program writes to standard error: a few lines.
pub(crate) const CLIPBOARD_ERRORS: usize = 1024;
/// Characters of a rejected name in an error.
pub(crate) const SHOWN_NAME: usize = 80;
/// Characters of git's own message in an error: it names a path or two.
pub(crate) const GIT_ERROR: usize = 300;
