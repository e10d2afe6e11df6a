//! Every bound of the commands, with its unit and reason.

use std::time::Duration;

// ---- connecting ----

/// How long the daemon may take to answer the handshake. One that hangs is replaced after about five seconds, and the
/// next one needs up to a second.
pub(crate) const HANDSHAKE: Duration = Duration::from_secs(15);
/// How long a new daemon may take until it answers: it needs a few milliseconds, on a busy machine a second.
pub(crate) const START: Duration = Duration::from_millis(2500);
/// How long another command that is starting the daemon may hold the lock: its own wait and a little more.
pub(crate) const START_LOCK: Duration = Duration::from_millis(3500);
/// Pause between two attempts to connect to a daemon that is starting. It needs a few milliseconds, and an
/// attempt costs next to nothing.
pub(crate) const START_PAUSE: Duration = Duration::from_millis(3);
/// Bytes of the log read to find out why the daemon did not start: its last lines.
pub(crate) const LOG_TAIL: u64 = 4096;
/// How long a request that can be repeated is repeated while the daemon keeps dying: longer than the keeper needs to
/// replace one that hangs.
pub(crate) const REQUEST_RETRY: Duration = Duration::from_secs(15);
/// How long attaching is repeated while the daemon keeps dying, for the same reason.
pub(crate) const ATTACH_RETRY: Duration = Duration::from_secs(15);
/// Pause between two attempts to reconnect to the event stream.
pub(crate) const EVENTS_PAUSE: Duration = Duration::from_millis(100);
/// Bytes of events read at once: dozens of them.
pub(crate) const EVENTS_READ: usize = 16 * 1024;
/// How often a list is refreshed for what no event reports: ages, sizes and clients.
pub(crate) const LIST_REFRESH: Duration = Duration::from_secs(1);
/// How long events that come together are gathered into one refresh.
pub(crate) const LIST_GATHER: Duration = Duration::from_millis(50);
/// Events gathered before the list is shown again, however fast they come.
pub(crate) const LIST_GATHERED: u32 = 50;

// ---- attach ----

/// How long attach waits for a lost daemon. It is back within a second; after ten nothing is bringing it
/// back.
pub(crate) const RECONNECT: Duration = Duration::from_secs(10);
/// Pause between two attempts to reconnect: shorter than a user notices.
pub(crate) const RECONNECT_PAUSE: Duration = Duration::from_millis(20);
/// How long the daemon may take to confirm a detach: the user waits for the prompt.
pub(crate) const DETACH: Duration = Duration::from_millis(300);
/// Bytes read from the keyboard at once: a large paste takes a few reads.
pub(crate) const KEYBOARD_READ: usize = 16 * 1024;
/// Bytes of the buffer for frames: one read takes what a busy daemon has sent meanwhile, and it still fits
/// the processor's cache.
pub(crate) const INBOX: usize = 128 * 1024;
/// Bytes of input that wait to be sent, also while there is no connection; beyond that the keyboard is not
/// read.
pub(crate) const OUTBOX: usize = 64 * 1024;
/// Bytes of input kept after they were sent: more than a socket and the buffers of a daemon hold, so that everything it
/// has not written to the terminal can be sent again.
pub(crate) const INPUT_KEPT: usize = 512 * 1024;
/// How long input may take to arrive in a session whose protocol does not number it. A daemon that hangs is replaced
/// before, and takes what it has read with it.
pub(crate) const INPUT_IN_DOUBT: Duration = Duration::from_secs(20);
/// Ranges of output gathered into one write: enough for a system call to be worth it.
pub(crate) const WRITE_PIECES: usize = 16;
/// Output read directly after which the position is reported to the daemon: seldom enough to cost nothing, often enough that a program
/// never waits for a client that reads (the daemon lets it be half a ring ahead).
pub(crate) const DIRECT_REPORT: u64 = 64 * 1024;
/// Sleep for output that is read directly; it is over when there is some. Long, since nothing depends on it.
pub(crate) const DIRECT_SLEEP: Duration = Duration::from_secs(60 * 60);
/// How long attach waits for a terminal that takes no output when the user leaves and output is left.
pub(crate) const REST: Duration = Duration::from_millis(500);
/// How long attach waits for a terminal that takes no output to restore its modes: the user has to live with
/// it afterwards.
pub(crate) const UNDO: Duration = Duration::from_secs(5);
/// How long an escape character, or `ESC [`, may be a key of its own that waits for nothing. Terminals send a
/// sequence in one piece; 25 ms is less than people notice.
pub(crate) const LONE_ESCAPE: Duration = Duration::from_millis(25);
/// How long the rest of a sequence with digits in it may take over a slow line. No key of its own resembles
/// it.
pub(crate) const SEQUENCE: Duration = Duration::from_millis(250);
/// Characters of a notification on a terminal: a line.
pub(crate) const NOTIFICATION_BODY: usize = 200;
/// Bytes of notifications that wait for the end of a sequence of the program: a dozen of them.
pub(crate) const NOTIFICATION_BYTES: usize = 4096;
/// How long after a key a user counts as typing into the session, and needs no notification about it.
pub(crate) const NOTIFY_TYPING: Duration = Duration::from_secs(5);
/// How long the prefix key waits for the next key before it detaches: time to find a key, and short enough not to seem
/// stuck.
pub(crate) const PREFIX: Duration = Duration::from_millis(700);
/// How long after attaching the title shows a session whose agent's state is not known: a command that prints something and
/// ends leaves the title alone.
pub(crate) const PLAIN_TITLE: Duration = Duration::from_secs(2);
/// Bytes of a program's title that are kept: more than a window shows.
pub(crate) const TITLE: usize = 256;
/// Bytes of numbers in a sequence that is handled without taking them apart: longer than those that programs send all the
/// time, and too short for more numbers than are read otherwise.
pub(crate) const COMMON_SEQUENCE: usize = 30;
/// Keys in a detach sequence: more than a person would type.
pub(crate) const DETACH_KEYS: usize = 16;

// ---- recordings ----

/// Bytes of a recording's line. Recorders write what a program writes in a moment, which is far less.
pub(crate) const CAST_LINE: u64 = 16 * 1024 * 1024;
/// Time between two pictures of an animation, at the least: eyes see no more.
pub(crate) const ANIMATION_FRAME: Duration = Duration::from_millis(50);
/// Bytes of the pieces of an animation: browsers and repositories take them without trouble. Beyond, pictures are merged.
pub(crate) const ANIMATION_BYTES: usize = 2 << 20;
/// How long an animation shows its last picture before it begins again.
pub(crate) const ANIMATION_HOLD: Duration = Duration::from_secs(3);
/// The longest pause in an animation if none is given: a still picture is not interesting for longer.
pub(crate) const ANIMATION_PAUSE: Duration = Duration::from_secs(2);
/// Bytes of output in one line: a line is written at once, and readers keep a whole one in memory.
pub(crate) const CAST_OUTPUT: usize = 64 * 1024;

// ---- chat ----

/// Bytes of a prompt from standard input: what fits into a line of the protocol.
pub(crate) const PROMPT: usize = 8 << 20;
/// Clients the daemon accepts unless it is configured otherwise.
pub(crate) const CHAT_CLIENTS: u64 = 10;
/// Bytes read from the daemon at once: a few messages of ordinary size.
pub(crate) const CHAT_READ: usize = 64 * 1024;
/// Messages kept while the client waits for a reply, which comes long before.
pub(crate) const CHAT_KEPT: usize = 100_000;
/// Bytes that wait to be sent beyond which no more pings are answered: the daemon does not read.
pub(crate) const CHAT_UNSENT: usize = 64 * 1024;
/// How long the daemon may take to reply to a request that needs no agent.
pub(crate) const CHAT_REPLY: Duration = Duration::from_secs(15);
/// How long after a change the daemon saves a conversation: soon enough that a crash takes at most a sentence, and long
/// enough that an answer is not written for each word.
pub(crate) const CHAT_SAVE_SECONDS: u64 = 2;
/// Messages that wait for the end of an answer: a screenful; more would be a conversation without its answers.
pub(crate) const CHAT_QUEUE: usize = 20;
/// Earlier prompts that a search looks through, the newest ones: years of them.
pub(crate) const CHAT_PROMPTS: u64 = 2000;
/// How often progress is redrawn: a spinner turns smoothly enough.
pub(crate) const CHAT_TICK: Duration = Duration::from_millis(200);
/// How often an idle client sends a sign of life: well within the daemon's timeout for idle connections.
pub(crate) const CHAT_ALIVE: Duration = Duration::from_secs(45);
/// Pause between two attempts to reconnect.
pub(crate) const CHAT_PAUSE: Duration = Duration::from_millis(100);
/// How much later than its owner a watcher reconnects to a session, so that the owner gets its role back.
pub(crate) const WATCHER_DELAY: Duration = Duration::from_millis(500);
/// How long the keeper may take to restart the daemon before the client starts one.
pub(crate) const KEEPER_RESTART: Duration = Duration::from_secs(3);
/// How long the client tries to reach a lost daemon.
pub(crate) const CHAT_RECONNECT: Duration = Duration::from_secs(30);
/// Bytes read from the keyboard at once: a large paste takes a few reads.
pub(crate) const CHAT_KEYBOARD: usize = 16 * 1024;
/// How long an agent may take to stop; the daemon does not wait longer.
pub(crate) const AGENT_STOP: Duration = Duration::from_secs(5);
/// How long after the end of an answer the daemon may take to announce that it stops.
pub(crate) const CHAT_GOODBYE: Duration = Duration::from_millis(300);
/// Bytes of an answer that its result repeats; the daemon keeps no more either.
pub(crate) const RESULT: usize = 16 << 20;
/// Messages of a resumed session that are shown: enough to remember where it stood.
pub(crate) const RESUMED: usize = 4;
/// How long after the first Ctrl+C a second one means to leave.
pub(crate) const LEAVE_TWICE: Duration = Duration::from_secs(1);
/// How long after another key a key counts as typing, which approves nothing.
pub(crate) const TYPING: Duration = Duration::from_millis(800);

/// How long the daemon may take to list its sessions before a name is taken as it is.
pub(crate) const NAMES: Duration = Duration::from_secs(2);

// ---- completion ----

/// How long a Tab may take, even if the daemon hangs: longer would feel as if the shell hung.
pub(crate) const COMPLETION: Duration = Duration::from_millis(500);
/// Names offered at one Tab: no one reads more, and a shell takes long to lay them out.
pub(crate) const CANDIDATES: usize = 1000;

// ---- commands ----

/// Characters of an approval's title in the list: a line of 80 columns with the rest.
pub(crate) const APPROVAL_WIDTH: usize = 72;
/// How much longer than the timeout of an ask the daemon's reply may take; after that it hangs.
pub(crate) const ASK_GRACE: Duration = Duration::from_secs(10);
/// How much longer than the timeout of a wait the daemon's reply may take; after that it hangs.
pub(crate) const WAIT_GRACE: Duration = Duration::from_secs(10);
/// How long a wait is repeated with a daemon that dies under every request.
pub(crate) const WAIT_RETRY: Duration = Duration::from_secs(10);
/// How deep directories of recordings are searched; links may lead in circles.
pub(crate) const RECORDINGS_DEPTH: usize = 8;
/// Lines of a tool's output that a transcript shows.
pub(crate) const TOOL_LINES: usize = 3;
/// How long a hook takes at most, even if the daemon hangs: the agent waits for it.
pub(crate) const HOOK: Duration = Duration::from_secs(1);
/// Bytes of an agent's configuration file: far more than people write.
pub(crate) const AGENT_CONFIG: u64 = 1 << 20;
/// Bytes of a hook's event that are read; they hold a tool's parameters and results, and are not stored.
pub(crate) const HOOK_EVENT: u64 = 64 << 20;
/// Bytes sent with one request. Base64 makes a third more of them, and that has to fit a frame.
pub(crate) const SEND: usize = 512 * 1024;
/// How long the daemon may take to close its connections and end: three seconds, and two to spare.
pub(crate) const SHUTDOWN: Duration = Duration::from_secs(5);
/// How long the old daemon may take to give way to the new one.
pub(crate) const UPGRADE: Duration = Duration::from_secs(10);

// ---- programs under another name ----

/// Bytes that wait for a broker: a few turns of the largest size there is.
pub(crate) const BROKER_QUEUE: usize = 32 * 1024 * 1024;
/// How long a broker may take to answer the greeting and the registration. Only the next attempt waits for
/// it.
pub(crate) const BROKER_REPLY: Duration = Duration::from_secs(30);
/// Pause between two attempts to reach a broker (CP-17 demands one every 5 s at least).
pub(crate) const BROKER_RETRY: Duration = Duration::from_secs(2);
/// How long the broker may take to learn that the session is over; the user waits for it.
pub(crate) const BROKER_GOODBYE: Duration = Duration::from_millis(500);
/// Bytes read from the broker at once: most messages are shorter.
pub(crate) const BROKER_READ: usize = 64 * 1024;
/// Bytes read at once, from either side. A terminal gives no more than 4 KiB, in general.
pub(crate) const WRAP_READ: usize = 16 * 1024;
/// Reads of output before anything else gets its turn: enough for a flood, and too few for a key to wait.
pub(crate) const WRAP_BURST: usize = 16;
/// Bytes still passed on after the command has ended; more comes from processes it left behind, which may
/// never stop.
pub(crate) const WRAP_DRAIN: usize = 1024 * 1024;
/// How long the wrapper waits for a command to end after SIGTERM; then it leaves the command running.
pub(crate) const WRAP_TERMINATE: Duration = Duration::from_secs(5);
/// Pause between two checks of a terminal that only the wrapper has open while the command runs.
pub(crate) const WRAP_CLOSED_PAUSE: Duration = Duration::from_millis(100);
/// Bytes of input that wait before nothing more is read. One more message may come on top.
pub(crate) const WRAP_INPUT: usize = 64 * 1024;
/// Bytes of a turn that are kept by default. The turn that is being written and the one before it are in
/// memory together, and may have 16 MiB (CP-28).
pub(crate) const WRAP_TURN: usize = 8 * 1024 * 1024;
/// How long a chat client tries again if the server closes its connection before it is authenticated: longer than a
/// server keeps a place for a client that sends nothing while others want it.
pub(crate) const CHAT_PLACE: Duration = Duration::from_secs(3);
/// Pause between two such attempts.
pub(crate) const CHAT_PLACE_PAUSE: Duration = Duration::from_millis(200);
/// How long a keepty client tries again if a session closes its connection without a reply: longer than a session
/// keeps a place for a client that sends nothing.
pub(crate) const KEEPTY_PLACE: Duration = Duration::from_secs(6);
/// Pause between two such attempts.
pub(crate) const KEEPTY_PLACE_PAUSE: Duration = Duration::from_millis(200);
/// How long a session may take to answer.
pub(crate) const KEEPTY_REPLY: Duration = Duration::from_secs(5);
/// How long the client waits for the reply to its last message; a session that is ending may send none.
pub(crate) const KEEPTY_SETTLE: Duration = Duration::from_millis(500);
/// Bytes of the largest message read before the stream begins; only `HelloAck` and `Error` can come.
pub(crate) const KEEPTY_HELLO: usize = 64 * 1024;
/// How long to search for a session whose connection was lost: a daemon is back within a second.
pub(crate) const KEEPTY_RETURN: Duration = Duration::from_secs(5);
/// Pause between two attempts to find that session.
pub(crate) const KEEPTY_RETURN_PAUSE: Duration = Duration::from_millis(20);
/// How long the socket of a new session may take to appear (KP-49).
pub(crate) const KEEPTY_SOCKET: Duration = Duration::from_secs(5);
/// How long a broker may take to answer: it may have to write a file first.
pub(crate) const CLIPPYCTL_REPLY: Duration = Duration::from_secs(30);
/// Bytes read at once: most replies are shorter.
pub(crate) const CLIPPYCTL_READ: usize = 64 * 1024;

// ---- doctor ----

/// How long all checks together may take: longer than each of them, and as long as a person waits without wondering.
pub(crate) const DOCTOR: Duration = Duration::from_secs(10);
/// How long the daemon may take for each reply; it needs a millisecond, and up to a second while it restarts.
pub(crate) const DOCTOR_REPLY: Duration = Duration::from_secs(3);
/// How long a program may take to print its version: those in JavaScript on a cold disk need a few seconds.
pub(crate) const DOCTOR_PROGRAM: Duration = Duration::from_secs(6);
/// Characters of a version that are shown.
pub(crate) const DOCTOR_VERSION: usize = 60;
/// Size of a terminal for which programs are made, at the least.
pub(crate) const USUAL_TERMINAL: (u16, u16) = (80, 24);

// ---- hotkeys ----

/// How long a broker may take to reply to a hotkey's request; after that it counts as lost.
pub(crate) const HOTKEY_REPLY: Duration = Duration::from_secs(10);
/// Keys that wait for the broker: more than a person presses meanwhile.
pub(crate) const HOTKEY_QUEUE: usize = 16;
/// How long after a signal the keys must be released: a window system that hangs does not answer at all.
pub(crate) const HOTKEY_STUCK: Duration = Duration::from_secs(5);
/// How long an X server may take to confirm that the keys are released: it answers within a millisecond, or hangs.
pub(crate) const HOTKEY_RELEASE: Duration = Duration::from_millis(500);
/// Milliseconds before an X server repeats a held key, at the least; 660 are usual.
pub(crate) const KEY_REPEAT: u32 = 50;
/// Parents of a process that are followed: the table may change while it is read, so that they lead in circles.
pub(crate) const PROCESS_DEPTH: usize = 1024;
/// How long a tmux command may take: a few milliseconds, on a busy machine a second.
pub(crate) const TMUX_COMMAND: Duration = Duration::from_secs(5);
/// Bytes read from tmux at once, and the longest line: a word and the number of a pane.
pub(crate) const TMUX_READ: usize = 4096;
// ---- trust ----

/// Bytes of the configuration file: a hundred times what the longest one has.
pub(crate) const CONFIG_FILE: u64 = 1 << 20;
/// Bytes of the record of the runtime directory: a path, of which the system takes no longer one.
pub(crate) const PLACE_RECORD: u64 = 4097;
/// Bytes of a coop.toml that can be trusted; the daemon reads no longer one.
pub(crate) const COOPFILE: u64 = 1 << 20;
/// Bytes of the answer to a question: a word and a line break.
pub(crate) const ANSWER: u64 = 64;
/// Bytes of an answer to a tunnel's offer, as text: twice what the daemon accepts once it is inflated.
pub(crate) const TUNNEL_ANSWER: usize = 128 * 1024;
/// Size of the smallest terminal in which a QR code has to fit.
pub(crate) const QR_COLUMNS: usize = 80;
pub(crate) const QR_ROWS: usize = 24;
/// How long the other end of a tunnel may take once it has our answer: as long as it waits for us.
pub(crate) const TUNNEL_CONNECT: Duration = Duration::from_secs(60);
/// The same if its user has to paste our answer first: as long as an offer is open by default.
pub(crate) const TUNNEL_PASTE: Duration = Duration::from_secs(300);
/// How long a web server may take to pass on an offer or an answer.
pub(crate) const TUNNEL_HTTP: Duration = Duration::from_secs(10);

// ---- the list ----

/// How often ages on the screen may change: a minute is the smallest step, and a few seconds are not noticed.
pub(crate) const TOP_TICK: Duration = Duration::from_secs(10);
/// How old the last lines of programs that may print can be: no event reports output. With 500 sessions a list takes a few
/// milliseconds.
pub(crate) const TOP_OUTPUT: Duration = Duration::from_secs(5);
/// How long the selection rests before the session is watched: less than a person notices, more than a held key takes.
pub(crate) const TOP_SETTLE: Duration = Duration::from_millis(25);
/// How long events that belong together are gathered before the sessions are listed.
pub(crate) const TOP_GATHER: Duration = Duration::from_millis(10);
/// Pause between two lists of the sessions, however many events there are: a list of 500 takes a few milliseconds.
pub(crate) const TOP_LIST_PAUSE: Duration = Duration::from_millis(200);
/// Age of what no event reports at which a key renews it.
pub(crate) const TOP_RENEW: Duration = Duration::from_secs(2);
/// Longest pause between two attempts to reach a daemon that was shut down.
pub(crate) const TOP_RETRY: Duration = Duration::from_secs(2);
/// Requests on their way over the common connection: enough to fill the screen at once, and no flood.
pub(crate) const TOP_QUICK: usize = 8;
/// Actions on their way at the same time: more than a person starts.
pub(crate) const TOP_ACTIONS: usize = 16;
/// Keys that wait for the first list: it takes a few milliseconds.
pub(crate) const TOP_AHEAD: usize = 256;
/// Bytes that wait to be sent on one connection; a daemon that takes less hangs.
pub(crate) const TOP_UNSENT: usize = 1 << 20;
/// Reads of one connection before the others get their turn.
pub(crate) const TOP_READS: usize = 16;
/// How long an agent may take to answer a line that was typed in the list.
pub(crate) const TOP_ASK: Duration = Duration::from_secs(3600);

// ---- further bounds ----

/// Directories that are searched for a font; links may lead in circles.
pub(crate) const FONT_DIRECTORIES: usize = 500;
/// Bytes of a font: collections for Chinese, Japanese and Korean have 20 MiB.
pub(crate) const FONT: u64 = 64 << 20;
/// Characters of a program's title that `swb attach` shows in the title of the window: more would displace its own text.
pub(crate) const PROGRAM_TITLE: usize = 80;
/// Bytes of events that the title reads at once: an event has a few hundred.
pub(crate) const TITLE_READ: usize = 4096;
/// Columns and rows that `swb top` draws. No window has more; a terminal that reports more must not cost memory.
pub(crate) const TOP_COLS: u16 = 1000;
pub(crate) const TOP_ROWS: u16 = 500;
/// Ancestors of a process that are looked at. Parents always lead to init; the bound is for a process table that changes
/// while it is read.
pub(crate) const ANCESTORS: usize = 1000;
