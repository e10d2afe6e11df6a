//! Every cap and wait of the engine, with its reason.

use std::time::Duration;

/// Maximum number of live sessions: twice the largest number in the benchmarks, and well below the keeper's slots.
pub const SESSIONS: usize = 4096;
/// Maximum number of live PTYs of one session: more shells than a person can use.
pub const PTYS_PER_SESSION: usize = 64;
/// Ended sessions whose output is remembered; each costs at most its ring.
pub const REMEMBERED: usize = 32;
/// Output of a PTY that stays readable: what one dialect promises to replay (KP-30).
pub const RING: usize = 1 << 20;
/// Queue of commands to a session's task; senders wait when it is full.
pub const COMMANDS: usize = 32;
/// Input messages queued for one PTY; the next one is refused.
pub const INPUT_WAITING: usize = 64;
/// In-band marks kept per PTY. Only resizes accumulate, and a client that misses some receives the last one.
pub const MARKS: usize = 128;
/// Events queued for each subscriber; one that falls behind is notified that it missed some.
pub const EVENTS: usize = 256;
/// Events kept for followers that reconnect with a cursor.
pub const EVENTS_KEPT: usize = 1024;
/// Bytes after which the log of events is compacted; the kept events take a third of it.
pub const EVENT_MEMORY: usize = 512 * 1024;
/// Packets queued for the keeper. The keeper never blocks, so a full queue means that it is gone.
pub const KEEPER_QUEUE: usize = 16 * 1024;
/// Events from the keeper that a session has not handled yet: a few per PTY.
pub const KEEPER_EVENTS: usize = PTYS_PER_SESSION * 4;
/// How often daemons in a row may die while they read the same state before the next one leaves it out: one or two deaths
/// can have any reason.
pub const DEATHS_OF_STATE: u64 = 3;
/// How many daemons in a row may die at their start before the next one leaves out everything that sessions can do without:
/// more than [`DEATHS_OF_STATE`], so that it happens only if their deaths explain nothing.
pub const FAILED_STARTS: u64 = 6;
/// State of all sessions that is set aside in slots of its own; there are three kinds. What comes later stays where it was,
/// and the daemon does without such state.
pub const SET_ASIDE: usize = 8;
/// Descriptors that a terminal takes in the daemon at most: ring, master, record, screen, counts of input and endpoint
/// while it is adopted, and one for the client that attaches to it.
pub const FILES_PER_TERMINAL: u64 = 7;
/// Descriptors that terminals never take: some 35 for the daemon itself, and the rest for clients.
pub const FILES_RESERVED: u64 = 48;
/// Maximum size of a stored record; most of it is the environment.
pub const STORED: usize = 8 << 20;
/// Maximum size of a checkpoint; a screen of the usual size with 2000 coloured lines takes a sixth of it.
pub const CHECKPOINT: usize = 1 << 20;
/// Scrollback lines per screen, unless configured otherwise.
pub const SCROLLBACK: usize = swb_vt::limits::DEFAULT_SCROLLBACK;
/// Queue of requests to a screen's observer; senders wait when it is full.
pub const LOOKS: usize = 16;
/// Replies of the screen model that a program has not read yet; further queries stay unanswered.
pub const ANSWERS: usize = 16;
/// Output that accumulates before the observer reads it while the screen is not needed: half of a ring, so that the
/// observer wakes rarely and loses nothing.
pub const SCREEN_LAZY: u64 = 512 * 1024;
/// Backlog that counts as a flood, in which the observer first looks for output that need not be drawn.
pub const SCREEN_FLOOD: u64 = 64 * 1024;
/// Output drawn before other screens get their turn: about a millisecond of work.
pub const SCREEN_ROUND: u64 = 128 * 1024;
/// Bytes from which on freed memory goes back to the system at once: what an allocator keeps anyway, and less than a
/// flood's copy of a ring.
pub const LARGE_BLOCK: libc::c_int = 128 * 1024;
/// Heaps that threads share: one for clients, one for screens.
pub const ARENAS: libc::c_int = 2;
/// Input kept for the detection of turns, in total; a person types less, and the beginning and the end of a long paste
/// are enough.
pub const TYPED: usize = 256 * 1024;
/// See [`TYPED`].
pub const TYPED_PIECE: usize = 64 * 1024;
/// Findings about a program that its session's task has not handled yet.
pub const FINDINGS: usize = 64;
/// Time in which the text of a turn is looked up in the agent's session files. The turn waits for it; agents write the
/// answer before or soon after the screen shows it.
pub(crate) const TRANSCRIPT_LOOKUP: Duration = Duration::from_secs(1);
/// Interval at which an answer that is not complete in its file is looked up again.
pub(crate) const TRANSCRIPT_AGAIN: Duration = Duration::from_millis(40);
/// Time in which a session uses the screen after its agent's files did not respond: a mount that hangs does so for a while.
pub(crate) const TRANSCRIPT_AVOIDED: Duration = Duration::from_secs(60);
/// Bytes that are read of a session file: the last turn, with the output of many tools.
pub(crate) const TRANSCRIPT_TAIL: u64 = 4 << 20;
/// Bytes of a database's write-ahead log that are read: eight times what SQLite lets it grow to without readers. A longer one
/// is not read.
pub(crate) const TRANSCRIPT_LOG: u64 = 32 << 20;
/// Directory entries that are read to find session files: more than a year of them.
pub(crate) const TRANSCRIPT_ENTRIES: usize = 4096;
/// Session files that are read: those of the sessions that were active during one turn.
pub(crate) const TRANSCRIPTS: usize = 8;
/// Seconds by which the clock of a file system may be behind ours.
pub(crate) const TRANSCRIPT_CLOCK: i64 = 2;
/// Output after which a new checkpoint is stored: a part of what the ring keeps after it.
pub const SCREEN_STALE: u64 = 384 * 1024;
/// Turns kept per session, unless configured otherwise (CR-2).
pub const TURNS: usize = 32;
/// Bytes kept per turn, unless configured otherwise (CR-8).
pub const TURN_BYTES: usize = 4 << 20;
/// Memory for all turns, in whole pages: two sessions with nothing but turns of the greatest length. Beyond it the
/// session that takes most loses its oldest turn.
pub const TURN_MEMORY: u64 = 264 << 20;
/// Maximum number of wrappers: as many as sessions of ours.
pub const ENROLLED: usize = SESSIONS;
/// Maximum length of a wrapper's name in bytes; random ones have about 40.
pub const ENROLLED_ID: usize = 1024;
/// Characters kept of a wrapper's prompt pattern.
pub const PATTERN: usize = 1024;
/// Pasted bytes that one program has not read yet; further pastes are refused. Pastes of the same turn share memory.
pub const PASTES_WAITING: usize = 64 << 20;
/// Clipboards set at the same time; the next one waits.
pub const CLIPBOARDS: usize = 8;

/// Maximum number of live conversations: fewer than sessions, as each may have a process and a history.
pub const CHATS: usize = 1024;
/// Queue of updates from an agent to its conversation; the agent waits when it is full. Twice the number of pending
/// approvals, as each reserves room for its withdrawal.
pub const CHAT_UPDATES: usize = 2 * swb_chat::limits::ASKS;
/// Events of a conversation queued for each client; one that falls behind further is notified that it missed some.
pub const CHAT_EVENTS: usize = 1024;
/// Growth of the journal of conversations, besides its compacted size, after which it is compacted again.
pub const CHAT_SLACK: u64 = 8 << 20;
/// Bytes of messages that compaction keeps; older messages do not survive a crash. The next daemon reads them in a tenth
/// of a second, before it accepts connections.
pub const CHAT_KEPT: usize = 32 << 20;
/// Maximum size of that journal: twice the kept bytes for their encoding, and the same again for appended entries.
pub const CHAT_MEMORY: usize = 256 << 20;
/// Timeout for an agent to stop after a request; then its task is dropped (SS-55 allows 2 s).
pub const CHAT_STOP: Duration = Duration::from_millis(1200);
/// Requests that wait until an agent has stopped, and prompts that wait for the end of an answer that an earlier daemon
/// began; more are refused. A client sends one or two.
pub const CHAT_QUEUED: usize = 16;
/// Shortest and longest interval of automatic saves.
pub const CHAT_SAVE: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(24 * 3600)];
/// Timeout at shutdown for conversations to be saved and agents to end; another process may lock the database for 5 s.
pub const CHAT_ENDINGS: Duration = Duration::from_secs(8);
/// Timeout of a few system calls on files by path. A network mount that has to be connected first takes a second or two;
/// a client that waits longer believes that the daemon hangs.
pub const FILE_ACCESS: Duration = Duration::from_secs(5);
/// Timeout for writing a whole file to a disk that may be slow.
pub const FILE_WRITE: Duration = Duration::from_secs(10);
/// Timeout for reading what git knows of a directory; a list of workspaces that lacks it is still useful.
pub const GIT_FACTS: Duration = Duration::from_secs(1);
/// Threads that access files at the same time. Each may wait for a disk that never responds, and takes a few pages of
/// memory then; the next call waits for a free one.
pub const FILE_THREADS: usize = 64;
/// Threads that may wait for one mount that does not respond; further calls for it fail at once, and leave the other threads
/// to mounts that do.
pub const FILE_THREADS_PER_MOUNT: usize = 8;
/// Links that are followed in one path: as many as the kernel follows.
pub(crate) const LINKS: usize = 40;
/// How long a daemon waits at its start for the saved workspaces. It takes some milliseconds, unless the disk does not respond
/// or another process holds the database.
pub const WORKSPACES_READ: Duration = Duration::from_secs(1);
/// Maximum number of directories that are remembered because agents have worked there.
pub const USED_DIRS: usize = 8192;
/// Maximum number of known workspaces; the least recently used one is forgotten.
pub const WORKSPACES: usize = 1024;

/// Time in which a terminal reconnects after the daemon it was attached to has died; `swb attach` retries all the time.
pub const TERMINAL_RETURNS: Duration = Duration::from_secs(1);
/// How long a list of all processes serves others: sessions that are killed at once share one, and a program can start few
/// others in that time.
pub(crate) const PROCESSES_READ: Duration = Duration::from_millis(10);
/// By how much the thread of the screens is nicer than the others: it gets a third of their share where all want to run.
pub(crate) const SCREEN_NICE: i32 = 5;
/// Interval at which output is read during a flood.
pub const SCREEN_TICK: Duration = Duration::from_millis(10);
/// Interval at which output is scanned for turns while a terminal is attached.
pub const SCREEN_PAUSE: Duration = Duration::from_millis(30);
/// A screen that was not used for this long is replaced by a checkpoint.
pub const SCREEN_QUIET: Duration = Duration::from_secs(5);
/// Time between two checkpoints of a screen that is quiet in between, and of one that is not.
pub const CHECKPOINT_PAUSE: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(1)];
/// Timeout for the end of a synchronized update, the same as in terminals.
pub const SYNCHRONIZED: Duration = Duration::from_millis(150);
/// Delay after which the memory of unused screens is returned to the system.
pub const SCREEN_TRIM: Duration = Duration::from_millis(500);
/// Time between SIGTERM and SIGKILL when a session is killed (CO-40).
pub const KILL_GRACE: Duration = Duration::from_secs(5);
/// Interval at which processes that outlived their session are looked for while they end.
pub(crate) const LEFTOVERS_LOOK: Duration = Duration::from_millis(50);
/// A redraw is forced by a narrower size for this long (KP-32).
pub const NUDGE: Duration = Duration::from_millis(20);
/// Runs shorter than this count towards a crash loop (CO-63).
pub const SHORT_RUN: Duration = Duration::from_secs(5);
/// Short runs in a row after which restarting stops (CO-63).
pub const SHORT_RUNS: u32 = 3;
/// Timeout at shutdown for killed sessions to end.
pub const ENDINGS: Duration = Duration::from_secs(2);
/// Timeout for the keeper to send everything it holds.
pub const ADOPTION: Duration = Duration::from_secs(10);

/// Interval at which typing checks whether the program has taken the text.
pub const TAKE_LOOK: Duration = Duration::from_millis(10);
/// Silence after which the text counts as taken; agents redraw their input line within that time.
pub const TAKE_QUIET: Duration = Duration::from_millis(80);
/// Timeout for a program that echoes nothing.
pub const TAKE_SILENT: Duration = Duration::from_millis(500);
/// Timeout for a program that never stops writing.
pub const TAKE_LONGEST: Duration = Duration::from_secs(2);
/// Timeout for the input box of a program to show the text that was typed: as long as one may take under load.
pub const BOX_HOLDS: Duration = Duration::from_secs(5);
/// Time in which an agent takes an Enter: its input box is empty then, or it works.
pub const ENTER_TAKEN: Duration = Duration::from_secs(1);
/// Rows of the screen that are reported when text cannot be submitted: a question and its options.
pub const SHOWN_ROWS: usize = 16;
/// Characters of half-typed text that are quoted in an error.
pub const HALF_TYPED: usize = 60;
/// Bytes of numbered input that are written at once, and so may be in doubt when the daemon dies: a line or two.
pub(crate) const INPUT_IN_DOUBT: usize = 256;
/// Pause between two keys: longer than programs wait for the rest of an escape sequence.
pub const KEY_PAUSE: Duration = Duration::from_millis(60);
/// Time a dialog must be shown before keys are sent to it; claude ignores earlier ones.
pub const DIALOG_STANDS: Duration = Duration::from_millis(300);
/// Timeout for a dialog to close after its answer, and the interval of the checks.
pub const DIALOG_GONE: Duration = Duration::from_secs(2);
/// See [`DIALOG_GONE`].
pub const DIALOG_LOOK: Duration = Duration::from_millis(30);
/// Timeout for an agent to get ready for a prompt.
pub const ASK_READY: Duration = Duration::from_secs(60);
/// Time after which a busy agent counts as busy: longer than its status lags behind.
pub const BUSY_DOUBT: Duration = Duration::from_millis(100);
/// How often the cursor's line is checked for a prompt that asks for more lines, while an answer is awaited.
pub const CONTINUATION_LOOK: Duration = Duration::from_millis(500);
/// Checks in a row that must find such a prompt, without output in between: it is shown for a moment after each line that
/// is typed.
pub const CONTINUATION_LOOKS: u32 = 3;
/// How long a program that takes text line by line must be ready before the turn of the last line counts as completed:
/// longer than its profile needs to find the end of a turn.
pub const LINES_REST: Duration = Duration::from_secs(2);
/// Time after a program's end within which its last turn is detected.
pub const LAST_TURN: Duration = Duration::from_millis(500);
/// How long a client that wants to act waits for an owner that is leaving to be removed; its front handles the owner's
/// last requests first.
pub const OWNER_LEAVES: Duration = Duration::from_secs(1);
/// Bytes of a note or content in the memory of turns: more than any turn has, so a larger length is damage.
pub(crate) const STORED_TURN: u64 = 1 << 30;
/// Bytes that each use of a tool counts among those that are noted of an answer: its name and status,
/// roughly.
pub(crate) const NOTED_TOOL: usize = 4096;
/// Bytes of a checkpoint's first line: six numbers in JSON need fewer.
pub(crate) const CHECKPOINT_HEAD: usize = 256;
/// Progress of a reader after which the gate is computed again, as a power of two in bytes: often enough for
/// the keeper never to stand before it, seldom enough to cost nothing.
pub(crate) const GATE_STEP_BITS: u32 = 16;
/// Readers over a network that output waits for: the pages of a person on a few devices. An audience of more costs the
/// program nothing; those that are too slow are repainted.
pub(crate) const PACED_REMOTE_READERS: usize = 8;
/// Bytes of a process's command line that are read: a path and a few words say which program it is.
pub(crate) const COMMAND_LINE: u64 = 8 << 10;
