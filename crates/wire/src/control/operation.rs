//! The requests of a client in command mode.
//!
//! Each command is a struct; a field that the protocol calls optional is an `Option`, left out if `None`. Defaults
//! that the protocol defines are methods.

use super::base64::Base64;
use super::conversations::{
    Agents, Approval, Approvals, Conversation, Forget, History, Workspace, Workspaces,
};
use super::notify::{Mute, Notifications, NotifyTest};
use super::screen::{Keys, Screen, Wait};
use super::tunnel::{Tunnel, TunnelAnswer, TunnelRevoke, Tunnels};
use super::turns::{Ask, Capture, Events, Explain, Hook, Paste, Relay, Turn, Turns};
use super::web::{Filter, Revoke, Serve, Token, Tokens, Whoami};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use swb_types::{Offset, PtyId, Role};

/// Default width of the terminal of `attach` and `shell`, in columns (CO-29).
const DEFAULT_COLS: u16 = 120;
/// Default height of the terminal of `attach` and `shell`, in rows (CO-29).
const DEFAULT_ROWS: u16 = 40;

/// First message of a connection (CO-11).
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Handshake {
    /// Protocol version that the client speaks.
    pub version: u32,
    /// Role that the client limits itself to; by default everything that its user may do.
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
    /// The handshake of a client that may do everything that its user may do.
    pub fn full() -> Self {
        Self { version: super::codec::VERSION, role: None, session: None, workspace: None }
    }
}

/// A command; on the wire, `cmd` holds the variant's name in lower case.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
#[serde(tag = "cmd", rename_all = "lowercase")]
pub enum Operation {
    /// Creates a session.
    Create(Create),
    /// Enters stream mode on a PTY.
    Attach(Attach),
    /// Starts a shell in a session and enters stream mode on it.
    Shell(Shell),
    /// Lists sessions.
    Ls(Ls),
    /// Kills a session.
    Kill(Kill),
    /// Starts the web server.
    Serve(Serve),
    /// Creates a tunnel.
    Tunnel(Tunnel),
    /// *Addition*: gives a tunnel the answer of its peer.
    #[serde(rename = "tunnel_answer")]
    TunnelAnswer(TunnelAnswer),
    /// *Addition*: ends a tunnel.
    #[serde(rename = "tunnel_revoke")]
    TunnelRevoke(TunnelRevoke),
    /// *Addition*: lists tunnels.
    Tunnels(Tunnels),
    /// Stops the daemon, not the sessions.
    Shutdown(Shutdown),
    /// Meant for stream mode; without effect here (CO-50).
    Detach,
    /// Lists the PTYs of a session.
    SessionLs(SessionLs),
    /// Kills one PTY.
    SessionKill(SessionKill),
    /// Returns old output.
    Logs(Logs),
    /// Restarts the agent.
    Restart(Restart),
    /// *Addition*: types into a terminal without attaching.
    Send(Send),
    /// *Addition*: returns the status of the daemon.
    Status,
    /// *Addition*: replaces the running program by a newer one.
    Upgrade(Upgrade),
    /// *Addition*: returns the contents of a terminal.
    Screen(Screen),
    /// *Addition*: waits until a condition holds on a terminal.
    Wait(Wait),
    /// *Addition*: presses keys.
    Keys(Keys),
    /// *Addition*: lists completed turns.
    Turns(Turns),
    /// *Addition*: returns a turn.
    Turn(Turn),
    /// *Addition*: puts a turn into the relay buffer.
    Capture(Capture),
    /// *Addition*: types the relay buffer into a session.
    Paste(Paste),
    /// *Addition*: types a turn into a session.
    Relay(Relay),
    /// *Addition*: submits a text and waits for the turn.
    Ask(Ask),
    /// *Addition*: returns an agent's state and the evidence for it.
    Explain(Explain),
    /// *Addition*: follows the events.
    Events(Events),
    /// *Addition*: reports an agent's state, as its hook sees it.
    Hook(Hook),
    /// *Addition*: lists pending approvals.
    Approvals(Approvals),
    /// *Addition*: shows or decides an approval.
    Approval(Approval),
    /// *Addition*: lists conversations, or searches their messages.
    History(History),
    /// *Addition*: returns the messages of a conversation.
    Conversation(Conversation),
    /// *Addition*: removes a conversation.
    Forget(Forget),
    /// *Addition*: lists workspaces.
    Workspaces(Workspaces),
    /// *Addition*: stores or creates a workspace.
    Workspace(Workspace),
    /// *Addition*: lists the agents that can be chosen.
    Agents(Agents),
    /// *Addition*: continues the connection in the protocol of conversations.
    Chat,
    /// *Addition*: creates a token for clients elsewhere.
    Token(Token),
    /// *Addition*: lists tokens.
    Tokens(Tokens),
    /// *Addition*: revokes a token.
    Revoke(Revoke),
    /// *Addition*: returns what the caller may do.
    Whoami(Whoami),
    /// *Addition*: switches the filter for input from elsewhere.
    Filter(Filter),
    /// *Addition*: mutes notifications about a session.
    Mute(Mute),
    /// *Addition*: returns how notifications are sent.
    Notifications(Notifications),
    /// *Addition*: tries the notifications out.
    #[serde(rename = "notify_test")]
    NotifyTest(NotifyTest),
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
            Self::Chat => "chat",
            Self::Conversation(_) => "conversation",
            Self::Create(_) => "create",
            Self::Detach => "detach",
            Self::Events(_) => "events",
            Self::Explain(_) => "explain",
            Self::Filter(_) => "filter",
            Self::Forget(_) => "forget",
            Self::History(_) => "history",
            Self::Hook(_) => "hook",
            Self::Keys(_) => "keys",
            Self::Kill(_) => "kill",
            Self::Logs(_) => "logs",
            Self::Ls(_) => "ls",
            Self::Mute(_) => "mute",
            Self::Notifications(_) => "notifications",
            Self::NotifyTest(_) => "notify_test",
            Self::Paste(_) => "paste",
            Self::Relay(_) => "relay",
            Self::Restart(_) => "restart",
            Self::Revoke(_) => "revoke",
            Self::Screen(_) => "screen",
            Self::Send(_) => "send",
            Self::Serve(_) => "serve",
            Self::SessionKill(_) => "sessionkill",
            Self::SessionLs(_) => "sessionls",
            Self::Shell(_) => "shell",
            Self::Shutdown(_) => "shutdown",
            Self::Status => "status",
            Self::Token(_) => "token",
            Self::Tokens(_) => "tokens",
            Self::Tunnel(_) => "tunnel",
            Self::TunnelAnswer(_) => "tunnel_answer",
            Self::TunnelRevoke(_) => "tunnel_revoke",
            Self::Tunnels(_) => "tunnels",
            Self::Turn(_) => "turn",
            Self::Turns(_) => "turns",
            Self::Upgrade(_) => "upgrade",
            Self::Wait(_) => "wait",
            Self::Whoami(_) => "whoami",
            Self::Workspace(_) => "workspace",
            Self::Workspaces(_) => "workspaces",
        }
    }
}

/// Creates a session (CO-19).
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Create {
    /// Name; by default the last component of `workspace`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Directory the command runs in; `~/` is the home directory.
    pub workspace: String,
    /// TOML text that overrides the Coopfiles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coopfile: Option<String>,
    /// Whether the client is going to attach; has no effect (CO-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detach: Option<bool>,
    /// *Addition*: command to run instead of that of the Coopfiles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argv: Option<Vec<String>>,
    /// *Addition*: complete environment of the process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
    /// *Addition*: file mode creation mask of the process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub umask: Option<u32>,
    /// *Addition*: initial columns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cols: Option<u16>,
    /// *Addition*: initial rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u16>,
    /// *Addition*: whether the command is restarted when it exits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart: Option<bool>,
    /// *Addition*: when the command starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Start>,
    /// *Addition*: append a number to a name that is in use, instead of failing.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub unique: bool,
    /// *Addition*: detection profile, instead of that for the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// *Addition*: set `SWB_SESSION` to the session's name for the process; Coopfile sessions always do.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub announce: bool,
    /// *Addition*: dialects in which the session cannot be reached.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "Vec::is_empty")]
    pub hide: Vec<String>,
    /// *Addition*: dialects that have to offer the session; otherwise it is not created.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "Vec::is_empty")]
    pub require: Vec<String>,
}

/// When the command of a new session starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Start {
    /// At once.
    #[default]
    Now,
    /// When the first interactive terminal attaches; the reply then has pid 0.
    Writer,
}

/// Enters stream mode on a PTY (CO-29).
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Attach {
    /// Name or workspace.
    pub session: String,
    /// Number of the PTY; the agent's by default.
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
    /// *Addition*: only watch.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub watch: bool,
    /// *Addition*: bytes of old output to send first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<u64>,
    /// *Addition*: report positions in the output.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub offsets: bool,
    /// *Addition*: where the stream stops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
    /// *Addition*: begin with a picture of the screen instead of old output.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub repaint: bool,
    /// *Addition*: maximum lines of scrollback before the picture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scrollback: Option<u64>,
    /// *Addition*: report resizes of the terminal.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub sizes: bool,
    /// *Addition*: the stream that the input belongs to; its bytes are counted across connections. Not zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// *Addition*: send notifications about agents, for the client's terminal.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub notify: bool,
    /// *Addition*: read output from shared memory where the daemon offers that.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub direct: bool,
}

impl Attach {
    /// The PTY meant.
    pub fn pty(&self) -> PtyId {
        self.pty.unwrap_or(PtyId::AGENT)
    }

    /// Columns and rows with their defaults; either may be zero if the client sends that.
    pub fn size(&self) -> (u16, u16) {
        (self.cols.unwrap_or(DEFAULT_COLS), self.rows.unwrap_or(DEFAULT_ROWS))
    }

    /// The options that `attach` and `shell` have in common.
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
            input: self.input,
            notify: self.notify,
            direct: self.direct,
        }
    }
}

/// Options of a stream that `attach` and `shell` have in common.
///
/// The wire fields are in each command's own struct, because serde would have to buffer the whole message to collect
/// them into one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StreamOptions {
    /// First byte to send, exactly.
    pub resume: Option<Offset>,
    /// Only watch: no input, no resizing, no start of a waiting command.
    pub watch: bool,
    /// Bytes of old output to send first.
    pub history: Option<u64>,
    /// Report positions in the output.
    pub offsets: bool,
    /// Where the stream stops.
    pub until: Option<Until>,
    /// Begin with a picture of the screen instead of old output, and repaint after a gap.
    pub repaint: bool,
    /// Maximum lines of scrollback before the picture; all by default.
    pub scrollback: Option<u64>,
    /// Report resizes of the terminal.
    pub sizes: bool,
    /// The stream that the input belongs to.
    pub input: Option<u64>,
    /// Send notifications about agents.
    pub notify: bool,
    /// Read output from shared memory where the daemon offers that.
    pub direct: bool,
}

impl StreamOptions {
    /// Bytes of old output sent first by default (CO-33).
    pub const DEFAULT_HISTORY: u64 = 262_144;

    /// Whether the reply and `lagged` events contain positions: requested, or implied by `resume`.
    pub fn wants_offsets(&self) -> bool {
        self.offsets || self.resume.is_some()
    }

    /// Bytes of old output to send first.
    pub fn history(&self) -> u64 {
        self.history.unwrap_or(Self::DEFAULT_HISTORY)
    }
}

/// Where a stream stops by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Until {
    /// At the end of the output at the time the client attaches.
    Head,
}

/// Starts a shell in a session (CO-34).
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Shell {
    /// Name or workspace.
    pub session: String,
    /// Program, `/bin/sh` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Columns of the client's terminal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cols: Option<u16>,
    /// Rows of the client's terminal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u16>,
    /// An explicit `false` attaches to a running shell of the same command (CO-36).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub force_new: Option<bool>,
    /// *Addition*: command to run instead of `command`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argv: Option<Vec<String>>,
    /// *Addition*: complete environment of the process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
    /// *Addition*: first byte to send.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<Offset>,
    /// *Addition*: only watch.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub watch: bool,
    /// *Addition*: bytes of old output to send first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<u64>,
    /// *Addition*: report positions in the output.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub offsets: bool,
    /// *Addition*: where the stream stops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
    /// *Addition*: begin with a picture of the screen instead of old output.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub repaint: bool,
    /// *Addition*: maximum lines of scrollback before the picture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scrollback: Option<u64>,
    /// *Addition*: report resizes of the terminal.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub sizes: bool,
    /// *Addition*: the stream that the input belongs to; its bytes are counted across connections. Not zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// *Addition*: send notifications about agents, for the client's terminal.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub notify: bool,
    /// *Addition*: read output from shared memory where the daemon offers that.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub direct: bool,
}

impl Shell {
    /// Default program (CO-34).
    pub const DEFAULT_COMMAND: &'static str = "/bin/sh";

    /// The program to start.
    pub fn command(&self) -> &str {
        self.command.as_deref().unwrap_or(Self::DEFAULT_COMMAND)
    }

    /// Columns and rows with their defaults; either may be zero if the client sends that.
    pub fn size(&self) -> (u16, u16) {
        (self.cols.unwrap_or(DEFAULT_COLS), self.rows.unwrap_or(DEFAULT_ROWS))
    }

    /// The options that `attach` and `shell` have in common.
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
            input: self.input,
            notify: self.notify,
            direct: self.direct,
        }
    }
}

/// Lists sessions (CO-37).
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Ls {
    /// *Addition*: include details of each session.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub details: bool,
    /// *Addition*: also list sessions that have ended and are still remembered.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub all: bool,
}

/// Kills sessions (CO-40, CO-41).
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Kill {
    /// Name or workspace; required unless `all` is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Every session.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub all: bool,
    /// Kill at once, without SIGTERM first.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub force: bool,
}

/// Stops the daemon (CO-48).
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Shutdown {
    /// *Addition*: kill all sessions first.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub kill: bool,
}

/// Lists the PTYs of a session (CO-51).
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct SessionLs {
    /// Name or workspace.
    pub session: String,
}

/// Kills one PTY (CO-51).
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct SessionKill {
    /// Name or workspace.
    pub session: String,
    /// Number of the PTY.
    pub pty: PtyId,
}

/// Returns old output (CO-51).
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Logs {
    /// Name or workspace.
    pub session: String,
    /// Number of the PTY; the agent's by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pty: Option<PtyId>,
    /// Continue with new output, in read-only stream mode.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub follow: bool,
    /// Only this many lines from the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tail_lines: Option<u64>,
}

impl Logs {
    /// The PTY meant.
    pub fn pty(&self) -> PtyId {
        self.pty.unwrap_or(PtyId::AGENT)
    }
}

/// Restarts the process of a PTY (CO-51).
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Restart {
    /// Name or workspace.
    pub session: String,
    /// Number of the PTY; the agent's by default.
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
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Send {
    /// Name or workspace.
    pub session: String,
    /// Number of the PTY; the agent's by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pty: Option<PtyId>,
    /// What to type, as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What to type, as bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Base64>,
    /// Press Enter once the program has read it.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub enter: bool,
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
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Upgrade {
    /// Path of the new program; the running one by default.
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

/// Reads `null` like an absent field: clients that write every field mean that by it.
pub(super) fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}
