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
/// Events kept for whoever comes back and names the last one it has seen.
pub const EVENTS_KEPT: usize = 1024;
/// Bytes after which the kept events are written anew; they take a third of it.
pub const EVENT_MEMORY: usize = 512 * 1024;
/// Packets that wait for the keeper at most; it never waits for anybody, so more means it is gone.
pub const KEEPER_QUEUE: usize = 16 * 1024;
/// News from the keeper that a session can have outstanding: a few per PTY.
pub const KEEPER_EVENTS: usize = PTYS_PER_SESSION * 4;
/// Stored data read back at most; in a record the environment is the large part of it.
pub const STORED: usize = 8 << 20;
/// A screen that is put away; one of the usual size with 2000 lines in colours takes a sixth of it.
pub const CHECKPOINT: usize = 1 << 20;
/// Lines kept that scrolled off a screen, unless configured otherwise.
pub const SCROLLBACK: usize = swb_vt::limits::DEFAULT_SCROLLBACK;
/// Looks at a screen that wait for their turn; the next one waits with whoever asks.
pub const LOOKS: usize = 16;
/// Answers of the model that wait for a program to read them; what it asks beyond that goes unanswered.
pub const ANSWERS: usize = 16;
/// Output that piles up before it is followed while nobody needs the screen: half of a ring, so that
/// it is reached in time, and seldom.
pub const SCREEN_LAZY: u64 = 512 * 1024;
/// Output that has piled up and makes a flood, in which one looks first for what need not be drawn.
pub const SCREEN_FLOOD: u64 = 64 * 1024;
/// Output drawn before the other screens get their turn: about a millisecond's worth.
pub const SCREEN_ROUND: u64 = 128 * 1024;
/// Input of which turns are to be found, all together and in one piece; a person types less, and of a long paste
/// its beginning and end tell enough.
pub const TYPED: usize = 256 * 1024;
/// See [`TYPED`].
pub const TYPED_PIECE: usize = 64 * 1024;
/// What was found about a program and its session's owner has not heard yet.
pub const FINDINGS: usize = 64;
/// Output after which a checkpoint is worth its while: a part of what the ring keeps behind it.
pub const SCREEN_STALE: u64 = 384 * 1024;
/// Turns kept per session, unless configured otherwise (CR-2).
pub const TURNS: usize = 32;
/// Bytes kept per turn, unless configured otherwise (CR-8).
pub const TURN_BYTES: usize = 4 << 20;
/// Memory for all turns, in whole pages: two sessions with nothing but turns of the greatest length. Beyond it the
/// session that takes most loses its oldest turn.
pub const TURN_MEMORY: u64 = 264 << 20;
/// Sessions that others run at most: as many as our own.
pub const ENROLLED: usize = SESSIONS;
/// Bytes in such a session's name at most; random ones have about 40.
pub const ENROLLED_ID: usize = 1024;
/// Characters kept of what it says of its prompt.
pub const PATTERN: usize = 1024;
/// Bytes that were pasted and wait for one program to read them; further pastes are refused. Pastes of the same turn
/// share their memory.
pub const PASTES_WAITING: usize = 64 << 20;
/// Files and clipboards written at a time; the next one waits.
pub const SINKS: usize = 8;

/// Live conversations at most: fewer than sessions, as each may have a process and a history.
pub const CHATS: usize = 1024;
/// What an agent says that its conversation has not heard yet; the agent waits when it is full. Twice the approvals that
/// can wait at the same time, as each keeps room for being taken back.
pub const CHAT_UPDATES: usize = 2 * swb_chat::limits::ASKS;
/// Events of a conversation kept for each client; one that falls behind further has lost some and is told so.
pub const CHAT_EVENTS: usize = 1024;
/// What the journal of conversations may grow by before it is written anew, besides the size it had then.
pub const CHAT_SLACK: u64 = 8 << 20;
/// What of all conversations is written anew; older messages do not outlive a crash. The next daemon reads
/// it in a tenth of a second, before it serves anybody.
pub const CHAT_KEPT: usize = 32 << 20;
/// The size of that journal at most: twice what is kept, for the form it is kept in, and once more for what is added.
pub const CHAT_MEMORY: usize = 256 << 20;
/// How long an agent may take to stop by itself; it is made to after that (SS-55 allows 2 s).
pub const CHAT_STOP: Duration = Duration::from_millis(1200);
/// How often a conversation is saved by itself at most, and at least.
pub const CHAT_SAVE: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(24 * 3600)];
/// How long a daemon that stops waits for conversations to be saved and agents to end; another program may keep the
/// saved ones busy for 5 s.
pub const CHAT_ENDINGS: Duration = Duration::from_secs(8);
/// How long a look at a directory may take; it may lie on a disk that does not answer.
pub const DIRECTORY: Duration = Duration::from_secs(5);
/// Workspaces known at most; the one that was not used for longest is forgotten.
pub const WORKSPACES: usize = 1024;

/// How long a terminal is given to come back when the daemon it was attached to has died: it tries all the time.
pub const TERMINAL_RETURNS: Duration = Duration::from_secs(1);
/// How often a flood is looked into.
pub const SCREEN_TICK: Duration = Duration::from_millis(10);
/// How often the output is looked into for turns while a terminal shows it.
pub const SCREEN_PAUSE: Duration = Duration::from_millis(30);
/// A screen that nobody needed for this long is put away.
pub const SCREEN_QUIET: Duration = Duration::from_secs(5);
/// Time between two checkpoints of a screen that is quiet in between, and of one that is not.
pub const CHECKPOINT_PAUSE: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(1)];
/// How long the end of a synchronized update is waited for: as long as terminals do.
pub const SYNCHRONIZED: Duration = Duration::from_millis(150);
/// Memory of screens that were put away is given back together after this long.
pub const SCREEN_TRIM: Duration = Duration::from_millis(500);
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

/// How often to look whether a program has taken what was typed.
pub const TAKE_LOOK: Duration = Duration::from_millis(10);
/// Silence after which it has; agents redraw their input line within that.
pub const TAKE_QUIET: Duration = Duration::from_millis(80);
/// How long to wait for a program that shows nothing of what is typed.
pub const TAKE_SILENT: Duration = Duration::from_millis(500);
/// How long to wait for a program that never stops to write.
pub const TAKE_LONGEST: Duration = Duration::from_secs(2);
/// Pause between two keys of an answer: longer than a sequence of bytes may take to be one key.
pub const KEY_PAUSE: Duration = Duration::from_millis(60);
/// How long a dialog must have been shown before it is answered; claude ignores keys that come earlier.
pub const DIALOG_STANDS: Duration = Duration::from_millis(300);
/// How long a dialog that was answered may take to go, and how often to look.
pub const DIALOG_GONE: Duration = Duration::from_secs(2);
/// See [`DIALOG_GONE`].
pub const DIALOG_LOOK: Duration = Duration::from_millis(30);
/// How long a question waits for an agent that starts.
pub const ASK_READY: Duration = Duration::from_secs(60);
/// How long an agent that seems to be busy may take to be free: longer than news of its state need.
pub const BUSY_DOUBT: Duration = Duration::from_millis(100);
/// How long the last turn of a program may take to be found after its end.
pub const LAST_TURN: Duration = Duration::from_millis(500);
/// How long a client that wants to act waits for an owner that is leaving to be removed; its front handles the owner's
/// last requests first.
pub const OWNER_LEAVES: Duration = Duration::from_secs(1);
