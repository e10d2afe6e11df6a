//! Limits and timeouts of the dialects, with their reasons. Frame limits are in the wire crate.

use std::time::Duration;

/// Largest piece of output per frame. A PTY returns about 4 KiB per read; gathering sixteen of them saves system
/// calls, and a key's echo never waits for more than this.
pub const OUTPUT_FRAME: u64 = 64 * 1024;
/// Pieces sent to one client before the others are served.
pub const PIECES_PER_TURN: u32 = 4;
/// Bytes read from a socket at once.
pub const READ_BUFFER: usize = 16 * 1024;
/// Bytes that the half-sent messages of all clients of a socket take together, or of all keepty sockets: two of the largest
/// of clippy and scriptschnell (16 MiB), as memory grows by doubling, and 32 of the others' (1 MiB), of which 1,024
/// connections would take 2 GiB. Beyond them the client that has been sending one longest is disconnected.
pub const INCOMPLETE: usize = 64 << 20;
/// Bytes of a half-sent message that are not counted: an idle connection keeps as much for the next message. With them the
/// connections of a socket take 64 MiB more at most.
pub const INCOMPLETE_SMALL: usize = 64 * 1024;
/// Messages queued between the reading half and the writing half of a connection.
pub const SAID: usize = 8;
/// Connections that one listening socket serves at a time; a further one takes the place of an idle one.
pub const CONNECTIONS: usize = 1024;
/// Divisor of the limit of open files: each of the four sockets serves at most an eighth of that many connections, so that
/// half of the files are left for sessions.
pub const CONNECTIONS_OF_FILES: usize = 8;
/// Places of the control socket and of coop's that open terminals, streams of events and waits cannot take: a user with
/// a thousand terminals can still list and kill them.
pub const COMMAND_PLACES: usize = 64;
/// Control socket: a connection without a request for this time is closed. Programs that keep one open for their next
/// request reconnect; coop's protocol has no such limit.
pub const COMMAND_IDLE: Duration = Duration::from_secs(600);
/// Control socket and coop: timeout of a reply to a client that does not read. A reply has at most 1 MiB.
pub const REPLY: Duration = Duration::from_secs(30);
/// Control socket: a client that reads no event for this time is disconnected; it can continue where it was.
pub const EVENTS_STALL: Duration = Duration::from_secs(600);
/// How long a new connection waits for the end of the one that it displaces, which has nothing to do but to send its last
/// messages ([`GOODBYE`]).
pub const DISPLACED: Duration = Duration::from_secs(3);
/// keepty and scriptschnell: how long a client may take for its first message before its place can be given to another
/// one. All clients send it at once.
pub const FIRST_MESSAGE: Duration = Duration::from_secs(2);
/// Timeout of the last messages on a socket that does not drain.
pub const GOODBYE: Duration = Duration::from_secs(1);
/// Pause after a connection could not be accepted; enough for others to end and free their descriptors.
pub const ACCEPT_RETRY: Duration = Duration::from_millis(200);
/// How long a connection beyond the limit waits for a place before it is closed. The end of a connection that has
/// reached the daemon is handled well within this time.
pub const PLACE: Duration = Duration::from_millis(20);

/// Connections that one command of an agent has at a time. Each `swb` that it runs has one, and scripts run a few at once.
pub const AGENT_CONNECTIONS: usize = 16;
/// Stack of the threads that serve the sockets of agents: they call a few functions and copy 8 KiB at a time.
pub const AGENT_STACK: usize = 128 * 1024;

/// coop: timeout of the handshake.
pub const COOP_HANDSHAKE: Duration = Duration::from_secs(30);

/// keepty: connections per session (KP-19).
pub const KEEPTY_CONNECTIONS: usize = 32;
/// keepty: time for a complete Hello (KP-17).
pub const KEEPTY_HELLO: Duration = Duration::from_secs(5);
/// keepty: a write that blocks this long ends the connection (KP-45).
pub const KEEPTY_WRITE: Duration = Duration::from_secs(5);
/// keepty: time between the signals of a Shutdown (KP-40).
pub const KEEPTY_GRACE: Duration = Duration::from_secs(2);
/// keepty: delay of the second signal after a widening resize (KP-35).
pub const KEEPTY_WINCH: Duration = Duration::from_millis(40);
/// keepty: socket paths of this many bytes or more are rejected (KP-12).
pub const KEEPTY_PATH: usize = 104;

/// clippy: timeout of the handshake.
pub const CLIPPY_HANDSHAKE: Duration = Duration::from_secs(30);
/// clippy: maximum bytes queued for one peer; with more it is disconnected (CB-59).
pub const CLIPPY_QUEUE: usize = 64 << 20;
/// clippy: bytes of replies queued for one peer; with more, no further request is read.
pub const CLIPPY_REPLIES: usize = 1 << 20;
/// clippy: maximum number of sessions that one connection registers; wrappers register one (CB-39).
pub const CLIPPY_SESSIONS: usize = 64;
/// clippy: bytes of requests read from one peer before the others are served, and the minimum that one counts for.
pub const CLIPPY_TURN: usize = 64 * 1024;
/// See [`CLIPPY_TURN`].
pub const CLIPPY_REQUEST: usize = 2 * 1024;

/// scriptschnell: messages queued for a client that has stopped reading; with more it is disconnected (SS-77).
pub const CHAT_QUEUE: usize = 256;
/// scriptschnell: a client that has read nothing for this time counts as stopped.
pub const CHAT_STALL: Duration = Duration::from_secs(2);
/// scriptschnell: messages queued for any client; one that is merely slow can catch up with that many.
pub const CHAT_QUEUE_MOST: usize = 64 * 1024;
/// scriptschnell: bytes of these messages.
pub const CHAT_QUEUE_BYTES: usize = 32 << 20;
/// scriptschnell: events held back for a client that has paused them; beyond that the oldest are dropped.
pub const CHAT_HELD: usize = 1000;
/// scriptschnell: bytes of these events.
pub const CHAT_HELD_BYTES: usize = 16 << 20;
/// scriptschnell: bytes written at once, or sent as one batch, unless a single message has more.
pub const CHAT_WRITE: usize = 64 * 1024;
/// scriptschnell: generations of one session whose end has not been sent yet: the running one, and those that have
/// just ended. A further request waits.
pub const CHAT_SENDS: usize = 4;
/// scriptschnell: silence of ours after which we send a ping; clients time out after 60 s (SS-24).
pub const CHAT_PING: Duration = Duration::from_secs(45);
/// scriptschnell: pause after the first failed authentication of a peer; it doubles with each further one.
pub const AUTH_PAUSE: Duration = Duration::from_millis(100);
/// scriptschnell: maximum pause between two attempts: guessing gets nowhere, and a user who mistyped loses no time.
pub const AUTH_PAUSE_MOST: Duration = Duration::from_secs(10);
/// scriptschnell: how long an attempt waits behind others of the same peer; with more, it is refused at once. A challenge
/// is still valid after it.
pub const AUTH_WAIT: Duration = Duration::from_secs(30);
/// scriptschnell: time without a failed attempt after which earlier ones are forgotten.
pub const AUTH_FORGIVEN: Duration = Duration::from_secs(600);
/// scriptschnell: peers whose failed attempts are remembered; beyond that the oldest are forgotten.
pub const AUTH_PEERS: usize = 256;
/// scriptschnell: how long a challenge is valid.
pub const CHAT_CHALLENGE: Duration = Duration::from_secs(60);
/// scriptschnell: bytes of old messages in one reply: what a line holds besides everything else in it.
pub const CHAT_HISTORY: usize = 15 << 20;
/// scriptschnell: bytes of old messages in a list of sessions, and of the rest of that list; the oldest are left out.
pub const CHAT_LIST: [usize; 2] = [8 << 20, 6 << 20];
/// scriptschnell: bytes of a tool's parameters or its results other than text; more is left out, as no client shows it.
pub const CHAT_TOOL: usize = 1 << 20;
/// scriptschnell: sessions of a list that include their messages; each has to be read from disk.
pub const CHAT_HISTORIES: usize = 64;
/// scriptschnell: maximum bytes of a message besides its text.
pub const CHAT_AROUND: usize = 4096;
/// scriptschnell: bytes of a prompt in one message if a line does not hold all of it; JSON escapes expand a byte to
/// six at worst.
pub const CHAT_ECHO: usize = 1 << 20;
/// scriptschnell: the interval at which a session is saved if its client does not set one.
pub const CHAT_AUTO_SAVE: Duration = Duration::from_secs(300);
/// scriptschnell: maximum characters of a model's name; none is nearly as long.
pub const CHAT_MODEL: usize = 256;
/// Bytes that a message of a history takes in a line besides its text: names and quotes of its fields.
pub(crate) const HISTORY_AROUND: usize = 160;
/// Bytes that a session takes in a list besides its id, workspace and title: names and quotes of its fields, and
/// numbers.
pub(crate) const SESSION_AROUND: usize = 500;
