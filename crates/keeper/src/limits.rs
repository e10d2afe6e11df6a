//! Every bound of the keeper, with its unit and reason.

use std::ops::RangeInclusive;
use std::time::Duration;

/// Slots a keeper has at most: four times what the largest measured user needs.
pub const MAX_SLOTS: usize = 8192;
/// Clients of one terminal whose input is counted: more than type at the same time, with room for some that have left.
pub(crate) const INPUT_STREAMS: usize = 16;
/// Descriptors the keeper holds per slot, by key: one byte of flags marks those that are unsent.
pub const KEYS: usize = 8;
/// Descriptors the keeper holds for the daemon as a whole, by key: listening sockets of fronts and web servers, and what is
/// shared by all sessions.
pub const GLOBAL_KEYS: usize = 32;
/// Descriptors that travel with one packet at most: a ring and a master.
pub(crate) const MAX_FDS: usize = 2;
/// Bytes of a packet that are read: room for what a later version appends to its 24.
pub(crate) const PACKET: usize = 64;
/// Connections that wait to be accepted. There is one daemon, and perhaps the next one.
pub(crate) const BACKLOG: i32 = 16;

/// Ancestors of a process that are followed: far more than shells, terminals and service managers make.
pub(crate) const ANCESTORS: usize = 128;
/// How often the ancestors of a process are read until two readings are equal; they rarely change meanwhile.
pub(crate) const ANCESTRY_READS: usize = 8;
/// Bytes of a line in `/proc/PID/stat`, or of a thread's, that are read: a name of at most 64 bytes and 52 numbers.
pub(crate) const PROC_STAT: usize = 1024;
/// Bytes of `/proc/PID/status` that are read: twice what is usual. A process with so many groups that more is needed counts
/// as one with a filter.
pub(crate) const PROC_STATUS: usize = 4096;
/// Bytes of `/proc/PID/comm` that are read: the longest name and the end of the line.
pub(crate) const PROC_NAME: usize = 64;
/// Bytes of `/proc/PID/mountinfo` that are read at once.
pub(crate) const MOUNTS_READ: usize = 4096;
/// How often that file is read: enough for twenty thousand mounts.
pub(crate) const MOUNTS_READS: usize = 1024;
/// Bytes of the path of a file in `/proc/PID`: at most two numbers of ten digits, and three words.
pub(crate) const PROC_PATH: usize = 64;

/// Bytes the writer of a ring may reserve at once. A PTY read returns about 4 KiB even into a larger buffer.
pub(crate) const RESERVE: u64 = 16 * 1024;
/// Newest bytes a ring can be made to keep: at least a page, and little enough that all rings fit a machine.
pub(crate) const KEEP_RANGE: RangeInclusive<u64> = 4096..=256 * 1024 * 1024;

/// Bytes read from one PTY before the others get their turn: one of the kernel's 4 KiB portions, about 45 µs. A key
/// typed in another session waits no longer than this for each terminal that floods.
pub(crate) const READ_ROUND: usize = 4096;
/// A shorter read, in bytes, is a key's echo or the like, and nothing follows at once. After a longer one there
/// is mostly more by the time it could be read, and asking costs less than sleeping and being woken.
pub(crate) const BULK: usize = 512;
/// Bytes read after a child's end at most, in case something it left behind floods the terminal.
pub(crate) const DRAIN: u64 = 4 * 1024 * 1024;

/// How long the keeper waits at a gate that does not move. Long enough for a reader on a busy
/// machine to run, short enough to be no stall.
pub(crate) const GATE_WAIT: Duration = Duration::from_millis(100);
/// How often a gate that does not move is waited for before it is ignored: until a reader that stopped has
/// fallen off the ring, and once more for those behind it to move the gate.
pub(crate) const GATE_WAITS: u32 = 3;
/// How often a terminal is read that its child has closed: seldom enough to cost nothing, and the
/// little that fits the terminal's own buffer waits no longer than this.
pub(crate) const REOPENING: Duration = Duration::from_millis(200);

/// Packets taken from the daemon before the PTYs get their turn: more than one session's start needs.
pub(crate) const PACKETS_PER_ROUND: usize = 64;
/// Epoll events taken per round; the kernel rotates through what is left.
pub(crate) const EVENTS_PER_ROUND: usize = 128;

/// How long a keeper that has never had a daemon waits for its first one.
pub(crate) const FIRST_HELLO: Duration = Duration::from_secs(10);
/// How long the output of children that ended while no daemon ran is kept for the next one: a day.
pub(crate) const LINGER: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a replacement waits for children that are just being started or have just ended.
pub(crate) const REPLACE_WAIT: Duration = Duration::from_secs(1);
/// Longest time, in milliseconds, for which a daemon may announce that it comes back by itself: one that
/// does not is replaced after a minute at the latest.
pub(crate) const HANDOVER_MS: u64 = 60_000;

/// A daemon that lived at least this long was not part of a crash loop.
pub(crate) const STABLE: Duration = Duration::from_secs(5);
/// First pause in a series of failures; it doubles.
pub(crate) const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// Longest pause after a daemon that had come up. It is back within a second however often it is killed,
/// and one that crashes at once costs little.
pub(crate) const PAUSE_AFTER_LIFE: Duration = Duration::from_millis(200);
/// Longest pause after one that never sent `Hello`: it is unlikely to work soon, and sessions wait.
pub(crate) const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// Failures in a row after which a keeper that holds nothing gives up.
pub(crate) const FAILURES: u32 = 8;
/// Daemons that were replaced and have not ended. Each takes a descriptor, and more than one at a time wait only for a
/// device that does not respond.
pub(crate) const FORMER_DAEMONS: usize = 4;
/// Timeout for a started daemon to send `Hello` before another one is started.
pub(crate) const HELLO: Duration = Duration::from_secs(20);

/// How long a daemon may leave the doorbell unanswered although it could run. Its longest work between two looks at the
/// bell takes a fraction of a second, and a person who waits gives up after ten.
pub(crate) const SILENCE: Duration = Duration::from_secs(5);
/// Pause between two checks of a daemon for which something waits: a few of them make up [`SILENCE`].
pub(crate) const CHECK: Duration = Duration::from_secs(1);
/// Time until the first of these checks: a daemon that is well has accepted a client or answered the doorbell long before.
pub(crate) const FIRST_CHECK: Duration = Duration::from_millis(200);
/// How often a daemon that answers is asked again while clients are connected, whose requests the keeper cannot see: two
/// wake-ups of some microseconds each, and none without clients.
pub(crate) const ASK_AGAIN: Duration = Duration::from_secs(2);

/// Descriptors that a slot may take: ring, master, process and start of the child; record, screen, counts of
/// input, endpoint, and a screen that was left out.
pub const FILES_PER_SLOT: u64 = 9;
/// Descriptors that slots never take. About 30 are in use at a time: standard streams, listener, lock, epolls, doorbell,
/// daemon, and what is held for all sessions. The rest is for accepting, starting and adopting the next daemon.
pub const FILES_RESERVED: u64 = 48;

/// How long the daemon may take to stop when the keeper ends: it saves conversations and closes connections, for 13 s at
/// most.
pub(crate) const DAEMON_STOP: Duration = Duration::from_secs(15);

/// How much sooner than the keeper the kernel ends a daemon when memory runs out, in its scale of 1000: the keeper starts
/// the next one, and nothing else is lost.
pub const OOM_DAEMON: i32 = 100;
/// The same for children: one that took the memory ends before the daemon that serves all others.
pub(crate) const OOM_CHILD: i32 = 200;
/// The kernel's largest value of that kind.
pub const OOM_MOST: i32 = 1000;

/// Bytes of the description of a program: what the kernel allows `execve` for arguments and environment.
pub(crate) const SPEC: usize = 6 * 1024 * 1024;
/// Words a slot takes in the record of a hand-over: ring, master, child, held descriptors, and how it ended.
const WORDS_PER_SLOT: usize = 6 + KEYS;
/// Bytes of the record of a hand-over: every slot, and some words about the keeper itself.
pub(crate) const HANDOVER: usize = 8 * (64 + GLOBAL_KEYS + MAX_SLOTS * WORDS_PER_SLOT);
