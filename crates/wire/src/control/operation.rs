//! What a client asks for in command mode.
//!
//! Each command is a struct; what the protocol calls optional is an `Option` here, left out when `None`.
//! Defaults that the protocol fixes are methods. Fields marked *addition* are ours and unknown to other
//! clients and daemons.

use super::base64::Base64;
use super::chat::{Agents, Approval, Approvals, Conversation, Forget, History, Workspace, Workspaces};
use super::screen::{Keys, Screen, Wait};
use super::turns::{Ask, Capture, Events, Explain, Hook, Paste, Relay, Turn, Turns};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use swb_types::{Offset, PtyId, Role};

/// Terminal width when an `attach` or `shell` names none, in columns (CO-29).
const DEFAULT_COLS: u16 = 120;
/// Terminal height when an `attach` or `shell` names none, in rows (CO-29).
const DEFAULT_ROWS: u16 = 40;

/// First message of a connection (CO-11).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handshake {
    /// Protocol version the client speaks.
    pub version: u32,
    /// Role that the client limits itself to; everything its user may do if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// The one session that the client limits itself to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The one workspace that the client limits itself to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
}

impl Handshake {
    /// The handshake of a client that does everything its user may do.
    pub fn full() -> Self {
        Self { version: super::codec::VERSION, role: None, session: None, workspace: None }
    }
}

/// A command; on the wire, `cmd` holds the variant's name in lower case.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "cmd", rename_all = "lowercase")]
pub enum Operation {
    /// Makes a session.
    Create(Create),
    /// Goes to stream mode on a PTY.
    Attach(Attach),
    /// Starts a shell in a session and goes to stream mode on it.
    Shell(Shell),
    /// Lists sessions.
    Ls(Ls),
    /// Ends a session.
    Kill(Kill),
    /// Starts the web server.
    Serve(Serve),
    /// Makes a tunnel to a session.
    Tunnel(Tunnel),
    /// Ends the daemon, not the sessions.
    Shutdown(Shutdown),
    /// Says goodbye; meant for stream mode, harmless here (CO-50).
    Detach,
    /// Lists the PTYs of a session.
    SessionLs(SessionLs),
    /// Ends one PTY.
    SessionKill(SessionKill),
    /// Gives old output.
    Logs(Logs),
    /// Starts the agent anew.
    Restart(Restart),
    /// *Addition*: types into a terminal without attaching.
    Send(Send),
    /// *Addition*: tells how the daemon is doing.
    Status,
    /// *Addition*: replaces the running program by a newer one.
    Upgrade(Upgrade),
    /// *Addition*: tells what a terminal shows.
    Screen(Screen),
    /// *Addition*: waits until something holds on a terminal.
    Wait(Wait),
    /// *Addition*: presses keys.
    Keys(Keys),
    /// *Addition*: lists completed turns.
    Turns(Turns),
    /// *Addition*: gives a turn.
    Turn(Turn),
    /// *Addition*: puts a turn into the relay buffer.
    Capture(Capture),
    /// *Addition*: types the relay buffer into a session.
    Paste(Paste),
    /// *Addition*: types a turn into a session.
    Relay(Relay),
    /// *Addition*: submits a text and waits for the turn.
    Ask(Ask),
    /// *Addition*: tells what an agent is doing, and why that is believed.
    Explain(Explain),
    /// *Addition*: follows what happens.
    Events(Events),
    /// *Addition*: tells what an agent says of itself.
    Hook(Hook),
    /// *Addition*: lists approvals that wait.
    Approvals(Approvals),
    /// *Addition*: shows or decides an approval.
    Approval(Approval),
    /// *Addition*: lists conversations, or looks for words in them.
    History(History),
    /// *Addition*: gives what was said in a conversation.
    Conversation(Conversation),
    /// *Addition*: removes a conversation.
    Forget(Forget),
    /// *Addition*: lists workspaces.
    Workspaces(Workspaces),
    /// *Addition*: keeps or makes a workspace.
    Workspace(Workspace),
    /// *Addition*: lists the agents that can answer.
    Agents(Agents),
}

impl Operation {
    /// The operation's name on the wire.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Agents(_) => "agents",
            Self::Approval(_) => "approval",
            Self::Approvals(_) => "approvals",
            Self::Ask(_) => "ask",
            Self::Attach(_) => "attach",
            Self::Capture(_) => "capture",
            Self::Conversation(_) => "conversation",
            Self::Create(_) => "create",
            Self::Detach => "detach",
            Self::Events(_) => "events",
            Self::Explain(_) => "explain",
            Self::Forget(_) => "forget",
            Self::History(_) => "history",
            Self::Hook(_) => "hook",
            Self::Keys(_) => "keys",
            Self::Kill(_) => "kill",
            Self::Logs(_) => "logs",
            Self::Ls(_) => "ls",
            Self::Paste(_) => "paste",
            Self::Relay(_) => "relay",
            Self::Restart(_) => "restart",
            Self::Screen(_) => "screen",
            Self::Send(_) => "send",
            Self::Serve(_) => "serve",
            Self::SessionKill(_) => "sessionkill",
            Self::SessionLs(_) => "sessionls",
            Self::Shell(_) => "shell",
            Self::Shutdown(_) => "shutdown",
            Self::Status => "status",
            Self::Tunnel(_) => "tunnel",
            Self::Turn(_) => "turn",
            Self::Turns(_) => "turns",
            Self::Upgrade(_) => "upgrade",
            Self::Wait(_) => "wait",
            Self::Workspace(_) => "workspace",
            Self::Workspaces(_) => "workspaces",
        }
    }
}

/// Makes a session (CO-19).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Create {
    /// Name; the last component of `workspace` if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Directory the command runs in.
    pub workspace: String,
    /// TOML text that overrides the Coopfiles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coopfile: Option<String>,
    /// Whether the client means to attach next; has no effect (CO-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detach: Option<bool>,
    /// *Addition*: run this instead of what Coopfiles say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argv: Option<Vec<String>>,
    /// *Addition*: complete environment of the process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
    /// *Addition*: file mode mask of the process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub umask: Option<u32>,
    /// *Addition*: initial columns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cols: Option<u16>,
    /// *Addition*: initial rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u16>,
    /// *Addition*: whether the command is started again when it ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart: Option<bool>,
    /// *Addition*: when the command starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Start>,
    /// *Addition*: a taken name gets a number instead of an error.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub unique: bool,
    /// *Addition*: profile by which the agent is read, instead of the one for its command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// *Addition*: tell the process the session's name in `SWB_SESSION`; Coopfile sessions always do.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub announce: bool,
    /// *Addition*: dialects in which the session cannot be reached.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "Vec::is_empty")]
    pub hide: Vec<String>,
    /// *Addition*: dialects without which there is to be no session.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "Vec::is_empty")]
    pub require: Vec<String>,
}

/// When the command of a new session starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Start {
    /// At once.
    #[default]
    Now,
    /// When the first interactive terminal comes; the reply has pid 0 then.
    Writer,
}

/// Goes to stream mode on a PTY (CO-29).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Attach {
    /// Name or workspace.
    pub session: String,
    /// Which PTY; the agent's if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pty: Option<PtyId>,
    /// Columns of the client's terminal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cols: Option<u16>,
    /// Rows of the client's terminal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u16>,
    /// *Addition*: first byte to send.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<Offset>,
    /// *Addition*: only look on.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub watch: bool,
    /// *Addition*: bytes of old output to send first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<u64>,
    /// *Addition*: report positions in the output.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub offsets: bool,
    /// *Addition*: where to stop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
    /// *Addition*: begin with a picture of the screen instead of old output.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub repaint: bool,
    /// *Addition*: lines of scrollback before the picture at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scrollback: Option<u64>,
    /// *Addition*: tell where the terminal changed its size.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub sizes: bool,
}

impl Attach {
    /// The PTY meant.
    pub fn pty(&self) -> PtyId {
        self.pty.unwrap_or(PtyId::AGENT)
    }

    /// Columns and rows with their defaults; either may be zero if the client says so.
    pub fn size(&self) -> (u16, u16) {
        (self.cols.unwrap_or(DEFAULT_COLS), self.rows.unwrap_or(DEFAULT_ROWS))
    }

    /// The additions that `attach` and `shell` have in common.
    pub fn stream_options(&self) -> StreamOptions {
        StreamOptions {
            resume: self.resume,
            watch: self.watch,
            history: self.history,
            offsets: self.offsets,
            until: self.until,
            repaint: self.repaint,
            scrollback: self.scrollback,
            sizes: self.sizes,
        }
    }
}

/// How a stream is to run: additions that `attach` and `shell` have in common.
///
/// The wire fields stand in each command's own struct, because collecting them into one while reading
/// would make the reader buffer everything a peer sends beside them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StreamOptions {
    /// First byte to send, exactly.
    pub resume: Option<Offset>,
    /// Only look on: no input, no resizing, no start of a waiting command.
    pub watch: bool,
    /// Bytes of old output to send first.
    pub history: Option<u64>,
    /// Report positions in the output.
    pub offsets: bool,
    /// Where to stop.
    pub until: Option<Until>,
    /// Begin with a picture of the screen instead of old output, and after a gap.
    pub repaint: bool,
    /// Lines of scrollback before the picture at most; all there are if there is none.
    pub scrollback: Option<u64>,
    /// Tell where the terminal changed its size.
    pub sizes: bool,
}

impl StreamOptions {
    /// Bytes of old output sent first unless the client says otherwise (CO-33).
    pub const DEFAULT_HISTORY: u64 = 262_144;

    /// Whether the reply and `lagged` events carry positions: asked for, or implied by `resume`.
    pub fn wants_offsets(&self) -> bool {
        self.offsets || self.resume.is_some()
    }

    /// Bytes of old output to send first.
    pub fn history(&self) -> u64 {
        self.history.unwrap_or(Self::DEFAULT_HISTORY)
    }
}

/// Where a stream stops by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Until {
    /// At the end of the output there is when the client attaches.
    Head,
}

/// Starts a shell in a session (CO-34).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Shell {
    /// Name or workspace.
    pub session: String,
    /// Program, `/bin/sh` if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Columns of the client's terminal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cols: Option<u16>,
    /// Rows of the client's terminal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u16>,
    /// An explicit `false` joins a running shell of the same command (CO-36).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub force_new: Option<bool>,
    /// *Addition*: run this instead of `command`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argv: Option<Vec<String>>,
    /// *Addition*: complete environment of the process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
    /// *Addition*: first byte to send.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<Offset>,
    /// *Addition*: only look on.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub watch: bool,
    /// *Addition*: bytes of old output to send first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<u64>,
    /// *Addition*: report positions in the output.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub offsets: bool,
    /// *Addition*: where to stop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
    /// *Addition*: begin with a picture of the screen instead of old output.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub repaint: bool,
    /// *Addition*: lines of scrollback before the picture at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scrollback: Option<u64>,
    /// *Addition*: tell where the terminal changed its size.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub sizes: bool,
}

impl Shell {
    /// Program started unless the client names one (CO-34).
    pub const DEFAULT_COMMAND: &'static str = "/bin/sh";

    /// The program meant.
    pub fn command(&self) -> &str {
        self.command.as_deref().unwrap_or(Self::DEFAULT_COMMAND)
    }

    /// Columns and rows with their defaults; either may be zero if the client says so.
    pub fn size(&self) -> (u16, u16) {
        (self.cols.unwrap_or(DEFAULT_COLS), self.rows.unwrap_or(DEFAULT_ROWS))
    }

    /// The additions that `attach` and `shell` have in common.
    pub fn stream_options(&self) -> StreamOptions {
        StreamOptions {
            resume: self.resume,
            watch: self.watch,
            history: self.history,
            offsets: self.offsets,
            until: self.until,
            repaint: self.repaint,
            scrollback: self.scrollback,
            sizes: self.sizes,
        }
    }
}

/// Lists sessions (CO-37).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Ls {
    /// *Addition*: tell more about each session.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub details: bool,
    /// *Addition*: also list sessions that have ended and are still remembered.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub all: bool,
}

/// Ends sessions (CO-40, CO-41).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Kill {
    /// Name or workspace; always there unless `all` is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Every session.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub all: bool,
    /// Without asking politely first.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub force: bool,
}

/// Starts the web server (CO-42).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Serve {
    /// TCP port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Address to bind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Secret that requests must carry; a random one if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

impl Serve {
    /// The port meant.
    pub fn port(&self) -> u16 {
        self.port.unwrap_or(8888)
    }

    /// The address meant.
    pub fn host(&self) -> &str {
        self.host.as_deref().unwrap_or("127.0.0.1")
    }
}

/// Makes a tunnel to a session (CO-47).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tunnel {
    /// Name or workspace.
    pub session: String,
}

/// Ends the daemon (CO-48).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Shutdown {
    /// *Addition*: end all sessions first.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub kill: bool,
}

/// Lists the PTYs of a session (CO-51).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SessionLs {
    /// Name or workspace.
    pub session: String,
}

/// Ends one PTY (CO-51).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SessionKill {
    /// Name or workspace.
    pub session: String,
    /// Which PTY.
    pub pty: PtyId,
}

/// Gives old output (CO-51).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Logs {
    /// Name or workspace.
    pub session: String,
    /// Which PTY; the agent's if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pty: Option<PtyId>,
    /// Go on with what comes, in read-only stream mode.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub follow: bool,
    /// Only that many lines from the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tail_lines: Option<u64>,
}

impl Logs {
    /// The PTY meant.
    pub fn pty(&self) -> PtyId {
        self.pty.unwrap_or(PtyId::AGENT)
    }
}

/// Starts the process of a PTY anew (CO-51).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Restart {
    /// Name or workspace.
    pub session: String,
    /// Which PTY; the agent's if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pty: Option<PtyId>,
}

impl Restart {
    /// The PTY meant.
    pub fn pty(&self) -> PtyId {
        self.pty.unwrap_or(PtyId::AGENT)
    }
}

/// *Addition*: types into a terminal; has either `text` or `data`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Send {
    /// Name or workspace.
    pub session: String,
    /// Which PTY; the agent's if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pty: Option<PtyId>,
    /// What to type, as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What to type, as bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Base64>,
}

impl Send {
    /// The PTY meant.
    pub fn pty(&self) -> PtyId {
        self.pty.unwrap_or(PtyId::AGENT)
    }

    /// What to type.
    pub fn into_bytes(self) -> Vec<u8> {
        match (self.text, self.data) {
            (Some(text), _) => text.into_bytes(),
            (None, data) => data.unwrap_or_default().0,
        }
    }
}

/// *Addition*: replaces the running program by a newer one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Upgrade {
    /// Path of the new program; the one that runs if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exe: Option<String>,
    /// Replace the keeper first.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub keeper: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde calls")]
pub(super) fn is_false(value: &bool) -> bool {
    !*value
}

/// Reads `null` like an absent field, which is what clients that write every field mean by it.
pub(super) fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}
