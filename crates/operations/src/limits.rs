//! Bounds of operations, with their reasons. The size of a reply is that of a frame, in the wire crate.

use std::time::Duration;

/// Largest piece of output sent at once. A PTY returns about 4 KiB per read; gathering sixteen of them saves system
/// calls, and a key's echo never waits for more than this.
pub const OUTPUT_PIECE: u64 = 64 * 1024;
/// Pause between two repaints of a client on the web that keeps falling behind.
pub const LAG_REPAINT: Duration = Duration::from_millis(100);
/// The same for one of many, who are not sent the output in between. Each time the screen has to be drawn, which costs the
/// program more than sending it.
pub const CROWD_REPAINT: Duration = Duration::from_millis(250);
/// Output between two such moments up to which the client gets the output itself again: 2 MB/s, which any connection
/// carries. With more, it would be sent most of a ring only to lose the rest, and so would each of a hundred others.
pub const LAG_BACKLOG: u64 = 512 * 1024;
/// Pause between two pictures for a watcher whose terminal has another size: short enough to look smooth.
pub const VIEW_PAUSE: Duration = Duration::from_millis(33);
/// Pause before a key in a window that has just become the one in use: vim leaves a key that comes together with SIGWINCH
/// unread until the next one. It needs some milliseconds, and no person notices so many at a first key.
pub const RESIZE_SETTLES: Duration = Duration::from_millis(50);
/// Pause between two checks of a screen by `wait`.
pub const WAIT_PAUSE: Duration = Duration::from_millis(20);
/// Maximum size of a compiled regular expression, in bytes; one typed by a person takes a fraction of it.
pub const REGEX: usize = 1 << 20;
/// Maximum bytes of content and of text in the reply to `ask`; JSON expands a byte to six at worst, which fits a frame.
pub const ASK_TEXT: usize = 100 * 1024;
/// Turns in the reply to one `ask`, the newest: with what describes each they fit a frame.
pub const ASK_TURNS: usize = 64;
/// Maximum bytes of content and of text in the reply to `turn`. Base64 expands three bytes to four, JSON a line
/// break to two; what needs more room is cut further.
pub const TURN_PIECE: usize = 300 * 1024;
/// How long `kill` waits for the end before it replies; the killing continues.
pub const KILL_REPLY: Duration = Duration::from_secs(1);
/// How long `shutdown --kill` waits for the end of the sessions: longer than it takes from SIGTERM to SIGKILL.
pub const SHUTDOWN_KILL: Duration = Duration::from_secs(15);
/// Maximum bytes of a Coopfile.
pub const COOPFILE: u64 = 1 << 20;
/// Directories whose Coopfiles the user trusts: more than people approve by hand.
pub const TRUSTED_COOPFILES: usize = 2000;
/// Bytes of the list of these: each has a path, of 200 bytes on average, and a digest.
pub const TRUST_FILE: u64 = 1 << 20;
/// Bytes that an entry of the list takes besides its path: a digest of 64 digits, quotes, and its place in the file.
pub const TRUST_ENTRY: u64 = 76;
/// Maximum bytes of each command line in a list. A list has to fit one frame, so long ones are cut if they would
/// displace other sessions.
pub const COMMAND_LENGTHS: [usize; 3] = [usize::MAX, 1024, 64];
/// Maximum bytes of each text among the parameters of an approval. A list has to fit one frame, so long ones are
/// cut if they would displace others.
pub const APPROVAL_TEXT_LENGTHS: [usize; 4] = [64 << 10, 4 << 10, 256, 32];
/// Maximum number of messages found by one search unless the caller sets a lower limit.
pub const HITS: u64 = 50;
/// Maximum number of conversations in one reply unless the caller sets a lower limit.
pub const LISTED: u64 = 500;
/// Maximum bytes of messages in one reply; fewer if their JSON needs more room.
pub const PAGE: usize = 800 << 10;
/// Maximum number of context directories of a workspace.
pub const CONTEXT_DIRS: usize = 64;
/// Entries of one array or object that are shown: more than a person reads before approving.
pub(crate) const SHOWN_ENTRIES: usize = 256;
/// How deep a tool's parameters may be nested to be shown: parameters of real tools have three levels.
pub(crate) const SHOWN_DEPTH: usize = 16;
/// Bytes of a title, a reason or a label: they come from agents and can have any length.
pub(crate) const SHOWN_LINE: usize = 2048;
/// Bytes that are enough for any one part of a message after it was cut.
pub(crate) const PAGE_LEAST: usize = 4096;
/// Bytes that a message or a part takes besides its text.
pub(crate) const PAGE_OVERHEAD: usize = 200;
/// Maximum number of earlier prompts in one reply: more than a person searches through by typing.
pub const PROMPTS: u64 = 2000;
/// Bytes of an earlier prompt in a reply: more than a person recognises it by; most of a long one was pasted.
pub const PROMPT_BYTES: usize = 2048;
/// Messages searched for a caller that sees only some of them: more than a person reads through.
pub const SCOPED_HITS: usize = 5000;
/// Tokens at once: more than people give away by hand.
pub const TOKENS: usize = 256;
/// Characters of a token's label.
pub const TOKEN_LABEL: usize = 64;
/// Longest pause between two checks for expired tokens: the clock may be changed, and a machine may sleep.
pub const TOKEN_CHECK: Duration = Duration::from_secs(30);
/// Within this time after a Ctrl+C from elsewhere, further ones are dropped (CO-46).
pub const FILTER_INTERRUPTS: Duration = Duration::from_millis(500);
/// How long bytes are held back that may become a forbidden line: as short as a pause in typing, so that their echo is hardly
/// late, and longer than the parts of a pasted line are apart.
pub const FILTER_HOLD: Duration = Duration::from_millis(50);
/// Sessions whose filters are remembered before ended ones are looked for.
pub const FILTERS: usize = 256;
/// Operations under way on one connection that has several at once, those that wait and others; a page has a dozen.
pub(crate) const REQUESTS: usize = 64;
/// How long such a connection is not read because as many short operations as that are under way.
pub(crate) const REQUEST_QUEUE: Duration = Duration::from_secs(10);
/// How long a tunnel waits for its peer, unless its owner sets another time.
pub(crate) const TUNNEL_WAIT: Duration = Duration::from_secs(300);
/// Longest wait of a tunnel for its peer: an address that is found in a chat a day later must not work.
pub(crate) const TUNNEL_WAIT_MOST: Duration = Duration::from_secs(24 * 3600);
/// How long after a notification about a session the next one waits, so that a burst becomes one: a person who was notified
/// a moment ago is on the way.
pub const NOTIFY_PAUSE: Duration = Duration::from_secs(10);
/// Notifications of all sessions within [`NOTIFY_BURST_TIME`]: a person can follow no more, and each may start a program.
/// Further ones wait. Agents that ask have as many again.
pub const NOTIFY_BURST: usize = 20;
/// See [`NOTIFY_BURST`].
pub const NOTIFY_BURST_TIME: Duration = Duration::from_secs(60);
/// Sessions that have ended and are remembered for their notifications.
pub const NOTIFY_CLOSED: usize = 256;
/// Notifications that wait for one means: a person reads no more, and each takes seconds at most.
pub const NOTIFY_QUEUE: usize = 32;
/// Notifications kept for terminals that are busy.
pub const NOTIFY_TERMINALS: usize = 16;
/// How long a test of the notifications waits for the result of each means: longer than all attempts together.
pub const NOTIFY_TEST: Duration = Duration::from_secs(60);
/// Seconds that can be configured as long work: a week.
pub const FINISHED_AFTER: u64 = 7 * 24 * 3600;
/// Quiet hours that can be configured: one for each hour.
pub const QUIET_HOURS: usize = 24;
