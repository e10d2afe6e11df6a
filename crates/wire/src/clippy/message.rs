//! The messages, in both directions.

use std::fmt;

/// The role of a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerRole {
    /// Sends requests.
    Client,
    /// Runs sessions.
    Wrapper,
}

impl PeerRole {
    /// Its name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Wrapper => "wrapper",
        }
    }

    pub(super) fn parse(name: &str) -> Option<Self> {
        [Self::Client, Self::Wrapper].into_iter().find(|role| role.as_str() == name)
    }
}

/// Where to deliver the relay buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sink<'a> {
    /// The system's clipboard.
    Clipboard,
    /// A file.
    File {
        /// Its path, absolute or not.
        path: &'a str,
    },
    /// The input of a session.
    Inject {
        /// The session.
        session: &'a str,
    },
}

/// A request of a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request<'a> {
    /// Captures the latest turn of a session into the relay buffer.
    Capture {
        /// The session.
        session: &'a str,
    },
    /// Captures a turn into the relay buffer.
    CaptureById {
        /// The turn.
        turn_id: &'a str,
    },
    /// Delivers the relay buffer to a sink.
    Deliver(Sink<'a>),
    /// Removes a session.
    Deregister {
        /// The session.
        session: &'a str,
    },
    /// Requests a turn with its content.
    GetTurn {
        /// The turn.
        turn_id: &'a str,
    },
    /// The first message.
    Hello {
        /// Version that the peer speaks.
        version: u32,
        /// Its role; `None` if it is missing or unknown, so that a peer of another version can still get the version
        /// error (CB-20 before CB-23).
        role: Option<PeerRole>,
    },
    /// Lists all sessions.
    ListSessions,
    /// Lists the turns of a session, the newest first.
    ListTurns {
        /// The session.
        session: &'a str,
        /// Maximum number of turns; all if absent.
        limit: Option<u32>,
    },
    /// Types the relay buffer into a session.
    Paste {
        /// The session.
        session: &'a str,
    },
    /// Registers a session.
    Register {
        /// Its id.
        session: &'a str,
        /// Process id of its command.
        pid: u32,
        /// Prompt pattern, as its user gave it.
        pattern: &'a str,
    },
    /// Reports a completed turn of a session.
    TurnCompleted {
        /// The session.
        session: &'a str,
        /// Its bytes.
        content: &'a [u8],
        /// Whether the user interrupted it.
        interrupted: bool,
        /// Unix milliseconds; absent or 0 means the time of receipt (CB-42).
        timestamp: Option<u64>,
        /// Length before the sender cut the content; absent if it was not cut. Our addition: others skip it.
        byte_length: Option<u32>,
    },
}

/// Why a request is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// The relay buffer is empty.
    BufferEmpty,
    /// No clipboard program accepted the content.
    ClipboardFailed,
    /// The id of a session is in use.
    DuplicateSession,
    /// The file could not be written.
    FileWriteFailed,
    /// The handshake has an id other than 0.
    InvalidHelloId,
    /// A field that the sink needs is missing.
    MissingField,
    /// The session has no turn yet.
    NoTurn,
    /// The length is above [`MAX_FRAME`](super::MAX_FRAME).
    PayloadTooLarge,
    /// The wrapper of the session is gone.
    SessionDisconnected,
    /// There is no such session.
    SessionNotFound,
    /// There is no such turn.
    TurnNotFound,
    /// There is no such sink.
    UnknownSink,
    /// The request is invalid.
    UnknownType,
    /// The peer speaks another version.
    VersionMismatch,
}

impl Reason {
    /// The reason as it appears on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BufferEmpty => "buffer_empty",
            Self::ClipboardFailed => "clipboard_failed",
            Self::DuplicateSession => "duplicate_session",
            Self::FileWriteFailed => "file_write_failed",
            Self::InvalidHelloId => "invalid_hello_id",
            Self::MissingField => "missing_field",
            Self::NoTurn => "no_turn",
            Self::PayloadTooLarge => "payload_too_large",
            Self::SessionDisconnected => "session_disconnected",
            Self::SessionNotFound => "session_not_found",
            Self::TurnNotFound => "turn_not_found",
            Self::UnknownSink => "unknown_sink",
            Self::UnknownType => "unknown_type",
            Self::VersionMismatch => "version_mismatch",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A message of the broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message<'a> {
    /// The reply to a handshake; always with id 0.
    HelloAck {
        /// Why the handshake is rejected, if it is; the connection is closed then.
        error: Option<&'a str>,
    },
    /// Bytes for the input of a session; not a reply, with id 0.
    Inject {
        /// The bytes.
        content: &'a [u8],
    },
    /// The reply to a request.
    Response(Response<'a>),
    /// A type that this build does not know; only received, and ignored.
    Unknown,
}

/// The reply to a request: which fields it has depends on the request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Response<'a> {
    /// Id of the request.
    pub id: u32,
    /// Why the request was rejected, if it was.
    pub error: Option<&'a str>,
    /// Bytes that were captured.
    pub size: Option<u32>,
    /// Turn that was stored, captured or requested.
    pub turn_id: Option<&'a str>,
    /// When the turn was complete, in Unix milliseconds.
    pub timestamp: Option<u64>,
    /// Length of the turn before any cut (CR-9).
    pub byte_length: Option<u32>,
    /// Whether the user interrupted it.
    pub interrupted: Option<bool>,
    /// Whether it was cut.
    pub truncated: Option<bool>,
    /// Lists all sessions.
    pub sessions: Option<Vec<SessionItem<'a>>>,
    /// Turns, the newest first.
    pub turns: Option<Vec<TurnItem<'a>>>,
    /// The bytes of the turn.
    pub content: Option<&'a [u8]>,
}

impl<'a> Response<'a> {
    /// A reply that the request was carried out.
    pub fn ok(id: u32) -> Self {
        Self { id, ..Self::default() }
    }

    /// A reply that the request was rejected.
    pub fn error(id: u32, reason: Reason) -> Self {
        Self { id, error: Some(reason.as_str()), ..Self::default() }
    }
}

/// A session in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionItem<'a> {
    /// Its id.
    pub session: &'a str,
    /// Process id of its command.
    pub pid: u32,
    /// Whether it has a turn.
    pub has_turn: bool,
    /// Processes on the broker's machine that show it, such as `swb attach`. Our addition: left out if there are
    /// none.
    pub client_pids: Vec<u32>,
}

/// A turn in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnItem<'a> {
    /// Its id.
    pub turn_id: &'a str,
    /// When it was complete, in Unix milliseconds.
    pub timestamp: u64,
    /// Its length before any cut.
    pub byte_length: u32,
    /// Whether the user interrupted it.
    pub interrupted: bool,
    /// Whether it was cut.
    pub truncated: bool,
}
