//! The replies of the daemon in command mode.
//!
//! Field order is the order on the wire, kept as other clients know it. Optional fields are left out if they are not
//! set, so a reply without our additions looks like coop's.

use super::base64::Base64;
use super::codec::VERSION;
use super::error::ErrorCode;
use super::turns::AgentItem;
use super::web::WebStatus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use swb_types::{Offset, PtyId};

/// Reply to the handshake (CO-11, CO-12).
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct HandshakeReply {
    /// Version that the daemon speaks, also in a rejection.
    pub version: u32,
    /// Whether commands may follow.
    pub ok: bool,
    /// Reason of a rejection, for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorCode>,
    /// Reason of a rejection, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl HandshakeReply {
    /// Accepts the client.
    pub fn accepted() -> Self {
        Self { version: VERSION, ok: true, error: None, message: None }
    }

    /// Rejects the client; the message names the version that it requested (CO-12).
    pub fn refused(asked: i128) -> Self {
        let message = format!("Unsupported protocol version {asked}");
        Self { version: VERSION, ok: false, error: Some(ErrorCode::VersionMismatch), message: Some(message) }
    }
}

/// Reply that a request was carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct OkReply {
    /// Always true.
    pub ok: bool,
}

impl Default for OkReply {
    fn default() -> Self {
        Self { ok: true }
    }
}

/// Reply to `create` (CO-19).
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Created {
    /// Always true.
    pub ok: bool,
    /// Name of the new session.
    pub session: String,
    /// Its first process, 0 if it starts when a terminal attaches.
    pub pid: u32,
}

/// Reply to `attach` and `shell`, after which the connection is in stream mode (CO-29, CO-34).
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Attached {
    /// Always true.
    pub ok: bool,
    /// Number of the PTY: always in the reply to `shell`, else an *addition*.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pty: Option<PtyId>,
    /// *Addition*: position of the first byte that will be sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<Offset>,
    /// *Addition*: position of the end of the output when the client attached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<Offset>,
    /// *Addition*: process on the PTY.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// *Addition*: columns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cols: Option<u16>,
    /// *Addition*: rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u16>,
    /// *Addition*: how far the stream of input has come, if the client has named one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<InputCount>,
}

impl Default for Attached {
    fn default() -> Self {
        Self { ok: true, pty: None, offset: None, head: None, pid: None, cols: None, rows: None, input: None }
    }
}

/// How far a client's stream of input has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct InputCount {
    /// The stream was not known: nothing of it was counted before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub new: bool,
    /// Bytes that were written to the terminal.
    pub written: u64,
    /// How many of the last of them may not have been written, because the daemon died meanwhile.
    #[serde(default)]
    pub doubtful: u64,
}

/// Reply to `ls` (CO-37).
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct LsReply {
    /// Always true.
    pub ok: bool,
    /// The sessions.
    pub sessions: Vec<SessionItem>,
}

/// One session in a list (CO-37).
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct SessionItem {
    /// Name.
    pub name: String,
    /// Directory.
    pub workspace: String,
    /// Its first process.
    pub pid: u32,
    /// When it was created, in Unix seconds, as in coop (CO-37).
    pub created: u64,
    /// Its PTYs.
    pub ptys: Vec<PtyItem>,
    /// Clients on the web.
    pub web_clients: u32,
    /// Clients on this machine (CO-39).
    pub local_clients: u32,
    /// *Addition*: details, if requested.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub details: Option<SessionDetails>,
}

/// *Addition*: what `ls` adds to a session with `details`; the fields are beside the others.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct SessionDetails {
    /// Command of the agent PTY.
    pub argv: Vec<String>,
    /// State of the session.
    pub status: SessionStatus,
    /// How its command ended, if it has.
    pub exit_code: Option<i32>,
    /// Columns.
    pub cols: u16,
    /// Rows.
    pub rows: u16,
    /// Clients of all dialects.
    pub clients: u32,
    /// How it was created.
    pub origin: Origin,
    /// End of the output so far.
    pub offset: Offset,
    /// The state of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentItem>,
    /// Number of its newest turn.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub turns: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde calls")]
fn is_zero(value: &u64) -> bool {
    *value == 0
}

/// State of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionStatus {
    /// The command has not been started.
    Starting,
    /// The command runs.
    Running,
    /// The command exited and will be restarted.
    Restarting,
    /// The command exited for good.
    Exited,
}

/// How a session was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// As the terminal of a conversation.
    Chat,
    /// From Coopfiles.
    Coop,
    /// From a command line.
    Run,
}

/// One PTY in a list (CO-37, CO-38).
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct PtyItem {
    /// Number.
    pub id: PtyId,
    /// Its purpose.
    pub role: PtyRole,
    /// The command on it.
    pub command: String,
    /// The process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
}

/// Purpose of a PTY.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PtyRole {
    /// The command that the session was created for.
    Agent,
    /// A shell beside it.
    Shell,
}

/// Reply to `sessionls` (CO-51).
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct SessionLsReply {
    /// Always true.
    pub ok: bool,
    /// Name of the session.
    pub session: String,
    /// Its PTYs.
    pub ptys: Vec<PtyItem>,
}

/// Reply to `logs` (CO-51).
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct LogsReply {
    /// Always true.
    pub ok: bool,
    /// The output.
    pub log_data: Base64,
}

impl LogsReply {
    /// Bytes of output that always fit into one reply: base64 expands three bytes to four, and the rest of the reply
    /// needs fewer than the 64 bytes reserved for it.
    pub const MAX_DATA: usize = (super::MAX_FRAME - 64) / 4 * 3;
}

/// Reply to `restart` (CO-51).
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct RestartReply {
    /// Always true.
    pub ok: bool,
    /// The new process.
    pub pid: u32,
    /// Number of the PTY.
    pub pty: PtyId,
}

/// *Addition*: reply to `status`.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct StatusReply {
    /// Always true.
    pub ok: bool,
    /// The process that holds the terminals.
    pub keeper: KeeperStatus,
    /// The process that sends this reply.
    pub daemon: DaemonStatus,
    /// All dialects, including disabled ones.
    pub dialects: Vec<DialectStatus>,
    /// Number of live sessions.
    pub sessions: u32,
    /// The web servers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub web: Vec<WebStatus>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// The keeper, in the reply to `status`.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct KeeperStatus {
    /// Its process.
    pub pid: u32,
}

/// The daemon, in the reply to `status`.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct DaemonStatus {
    /// Its process.
    pub pid: u32,
    /// Number of times that the keeper restarted it.
    pub restarts: u32,
    /// Version of the program.
    pub version: String,
    /// Whether a command started it, so that it exits when it is no longer needed.
    pub auto: bool,
    /// When it was started, in Unix milliseconds.
    pub started: u64,
    /// The configuration file that it was given or would read in its usual place; absent for a daemon that does not report
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
}

/// One dialect, in the reply to `status`.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct DialectStatus {
    /// Name of the dialect.
    pub name: String,
    /// Its socket, or the directory of its sockets.
    pub socket: String,
    /// Its state.
    pub state: DialectState,
}

/// State of a dialect; on the wire `listening`, `off` or `failed: ` and the reason.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum DialectState {
    /// Clients can connect.
    Listening,
    /// Disabled.
    Off,
    /// Enabled, but not available, with the reason.
    Failed(String),
}

impl From<String> for DialectState {
    fn from(text: String) -> Self {
        match text.as_str() {
            "listening" => Self::Listening,
            "off" => Self::Off,
            other => Self::Failed(other.strip_prefix("failed: ").unwrap_or(other).to_owned()),
        }
    }
}

impl From<DialectState> for String {
    fn from(state: DialectState) -> Self {
        match state {
            DialectState::Listening => "listening".to_owned(),
            DialectState::Off => "off".to_owned(),
            DialectState::Failed(reason) => format!("failed: {reason}"),
        }
    }
}
