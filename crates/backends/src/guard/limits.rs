//! Every bound of the guard, with its unit and reason.

use std::time::Duration;

/// How long to wait for a signal before checking the processes anyway. Signals arrive at once, so this only
/// bounds a mistake.
pub(crate) const CHECK: Duration = Duration::from_secs(5);
/// Bytes of a file of git that holds the path of another one: a path and a word.
pub(crate) const GIT_POINTER: u64 = 8 << 10;
/// First and longest pause before checking whether killed processes are gone; it doubles. A process in the
/// middle of a system call ends when that does.
pub(crate) const KILL_PAUSE: [Duration; 2] = [Duration::from_millis(5), Duration::from_secs(1)];
/// How often to search for processes to stop before those that are stopped are killed.
pub(crate) const STOP_ROUNDS: usize = 64;
