//! Every cap and wait of the engine, with its reason.

use std::time::Duration;

/// Live sessions at most: twice the largest number the benchmarks run, and well below the keeper's slots.
pub const SESSIONS: usize = 4096;
/// Live PTYs of one session at most: more shells than a person can look at.
pub const PTYS_PER_SESSION: usize = 64;
/// Ended sessions whose output is remembered; each costs at most its ring.
pub const REMEMBERED: usize = 32;
/// Output of a PTY that stays readable: what one dialect promises to replay (KP-30).
pub const RING: usize = 1 << 20;
/// Commands that wait for a session's owner; senders wait when it is full.
pub const COMMANDS: usize = 32;
/// Messages of input that wait for one PTY to read; the next one is refused.
pub const INPUT_WAITING: usize = 64;
/// In-band marks kept per PTY. Only resizes pile up, and a client that misses some learns the last one.
pub const MARKS: usize = 128;
/// Events kept for each subscriber; one that falls behind learns that it missed some.
pub const EVENTS: usize = 256;
/// Packets that wait for the keeper at most; it never waits for anybody, so more means it is gone.
pub const KEEPER_QUEUE: usize = 16 * 1024;
/// News from the keeper that a session can have outstanding: a few per PTY.
pub const NEWS: usize = PTYS_PER_SESSION * 4;
/// Stored metadata read back at most; the environment is the large part of it.
pub const RECORD: usize = 8 << 20;

/// Time between the polite and the final signal when a session is killed (CO-40).
pub const KILL_GRACE: Duration = Duration::from_secs(5);
/// A redraw is forced by a narrower size for this long (KP-32).
pub const NUDGE: Duration = Duration::from_millis(20);
/// Runs shorter than this count towards a crash loop (CO-63).
pub const SHORT_RUN: Duration = Duration::from_secs(5);
/// Short runs in a row after which restarting stops (CO-63).
pub const SHORT_RUNS: u32 = 3;
/// How long a daemon that stops waits for sessions that were killed to be gone.
pub const ENDINGS: Duration = Duration::from_secs(2);
/// How long to wait for the keeper's account of what it holds.
pub const ADOPTION: Duration = Duration::from_secs(10);
