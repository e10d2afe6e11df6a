//! Every bound of running commands, with its unit and reason.

use std::time::Duration;

/// How long a command may run: builds and tests of ordinary size fit, and a user may be waiting.
pub(crate) const TIME: Duration = Duration::from_secs(120);
/// Characters of an agent's text in the reason of an approval: with the warnings that follow, it has to fit into what
/// lists of approvals show of a reason, 2 KiB.
pub(crate) const REASON: usize = 300;
/// How long a command waits until the daemon knows what this kernel can do; that takes a moment after its start.
pub(crate) const PROBE: Duration = Duration::from_secs(10);
/// Bytes of output that are read but not yet taken by a reader; beyond that the command waits.
pub(crate) const PENDING: usize = 64 << 10;
/// How long the processes of a command may take to end after they were killed.
pub(crate) const ENDING: Duration = Duration::from_secs(2);
/// Bytes of output read at once: a pipe holds 64 KiB, and most commands write less.
pub(crate) const CHUNK: usize = 16 << 10;
/// How long a guard may take to end its processes by itself: far more than it needs.
pub(crate) const GUARD_EXIT: Duration = Duration::from_millis(500);
/// How long a guard may take after each time its processes were killed for it.
pub(crate) const GUARD_PAUSE: Duration = Duration::from_millis(100);
/// How often a guard's processes are killed for it before it is killed, too.
pub(crate) const GUARD_ROUNDS: usize = 50;
