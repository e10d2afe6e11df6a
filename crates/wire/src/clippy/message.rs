//! The messages, in both directions.

use std::fmt;

/// What a peer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It asks for things.
    Client,
    /// It runs sessions.
    Wrapper,
}

impl Role {
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

/// Where the relay buffer goes.
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

/// What a peer asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request<'a> {
    /// The latest turn goes to the relay buffer.
    Capture {
        /// Whose turn.
        session: &'a str,
    },
    /// A turn goes to the relay buffer.
    CaptureById {
        /// Which turn.
        turn_id: &'a str,
    },
    /// The relay buffer goes somewhere.
    Deliver(Sink<'a>),
    /// A session is over.
    Deregister {
        /// Which one.
        session: &'a str,
    },
    /// A turn, with its content.
    GetTurn {
        /// Which one.
        turn_id: &'a str,
    },
    /// The first message.
    Hello {
        /// Version the peer speaks.
        version: u32,
        /// What it is; `None` when that is missing or nothing we know, so that another version can still be
        /// told that it is one (CB-20 before CB-23).
        role: Option<Role>,
    },
    /// All sessions.
    ListSessions,
    /// The turns of a session, the newest first.
    ListTurns {
        /// Whose turns.
        session: &'a str,
        /// How many at most; all when absent.
        limit: Option<u32>,
    },
    /// The relay buffer goes to the input of a session.
    Paste {
        /// Which one.
        session: &'a str,
    },
    /// A session begins.
    Register {
        /// Its id.
        session: &'a str,
        /// Process id of its command.
        pid: u32,
        /// Prompt pattern, as its user gave it.
        pattern: &'a str,
    },
    /// A session has a new turn.
    TurnCompleted {
        /// Whose turn.
        session: &'a str,
        /// Its bytes.
        content: &'a [u8],
        /// Whether the user interrupted it.
        interrupted: bool,
        /// Unix milliseconds; absent or 0 means the time of receipt (CB-42).
        timestamp: Option<u64>,
        /// Length before the sender cut the content; absent when it did not. Our addition: others skip it.
        byte_length: Option<u32>,
    },
}

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// Nothing was captured yet.
    BufferEmpty,
    /// No clipboard took the content.
    ClipboardFailed,
    /// The id of a session is taken.
    DuplicateSession,
    /// The file was not written.
    FileWriteFailed,
    /// The greeting has an id other than 0.
    InvalidHelloId,
    /// The chosen sink needs a field that is not there.
    MissingField,
    /// The session has no turn yet.
    NoTurn,
    /// The announced length is above [`MAX_FRAME`](super::MAX_FRAME).
    PayloadTooLarge,
    /// The wrapper of the session is gone.
    SessionDisconnected,
    /// There is no such session.
    SessionNotFound,
    /// There is no such turn.
    TurnNotFound,
    /// There is no such sink.
    UnknownSink,
    /// The request makes no sense.
    UnknownType,
    /// The peer speaks another version.
    VersionMismatch,
}

impl Reason {
    /// The reason as it stands on the wire.
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

/// What the broker sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message<'a> {
    /// The answer to a greeting; always with id 0.
    HelloAck {
        /// Why the connection ends now, if it does.
        error: Option<&'a str>,
    },
    /// Bytes for the input of a session; unasked, with id 0.
    Inject {
        /// The bytes.
        content: &'a [u8],
    },
    /// The answer to a request.
    Response(Response<'a>),
    /// A type this build does not know; only ever received, and to be passed over.
    Unknown,
}

/// The answer to a request: which fields it has depends on the request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Response<'a> {
    /// Id of the request.
    pub id: u32,
    /// Why it was refused, if it was.
    pub error: Option<&'a str>,
    /// Bytes that were captured.
    pub size: Option<u32>,
    /// Turn that was stored, captured or asked for.
    pub turn_id: Option<&'a str>,
    /// When the turn was complete, in Unix milliseconds.
    pub timestamp: Option<u64>,
    /// Length of the turn before any cut (CR-9).
    pub byte_length: Option<u32>,
    /// Whether the user interrupted it.
    pub interrupted: Option<bool>,
    /// Whether it was cut.
    pub truncated: Option<bool>,
    /// All sessions.
    pub sessions: Option<Vec<SessionItem<'a>>>,
    /// Turns, the newest first.
    pub turns: Option<Vec<TurnItem<'a>>>,
    /// The bytes of the turn.
    pub content: Option<&'a [u8]>,
}

impl<'a> Response<'a> {
    /// An answer that the request was carried out.
    pub fn ok(id: u32) -> Self {
        Self { id, ..Self::default() }
    }

    /// An answer that it was refused.
    pub fn error(id: u32, reason: Reason) -> Self {
        Self { id, error: Some(reason.as_str()), ..Self::default() }
    }
}

/// A session in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionItem<'a> {
    /// Its id.
    pub session: &'a str,
    /// Process id of its command.
    pub pid: u32,
    /// Whether it has a turn.
    pub has_turn: bool,
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
