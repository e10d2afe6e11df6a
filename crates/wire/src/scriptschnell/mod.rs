//! The scriptschnell socket protocol: one JSON object per line, requests one way, replies and events the other.
//!
//! [`Lines`] splits a connection into lines. The daemon reads each as an [`Envelope`], whose [`Envelope::request`]
//! returns the typed [`Request`]; it sends a [`ServerMessage`], written by [`encode()`]. A client writes with
//! [`encode_request`] and reads with [`parse_server`].
//!
//! Fields that a peer does not know are ignored on both sides, which is what makes our additions
//! (`docs/protocols/scriptschnell.md`, "Additions") invisible to other clients. `null` means the same as an absent
//! field.

mod answer;
mod client;
mod encode;
mod envelope;
mod error;
mod event;
mod lines;
mod request;
mod server;
mod time;

pub use answer::{
    AuthChallenge, AuthResponse, ChatEnd, ConfigReply, ConfigUpdated, FlowState, HistoryItem, SessionCreated,
    SessionItem, SessionList, SessionLoaded, SessionPlace, SessionSaved, SessionState, StatusReply,
    TypedValue, UsageInfo, WorkspaceCreated, WorkspaceItem, WorkspaceList, WorkspaceSetReply,
};
pub use client::{BadServerMessage, Received, encode_request, parse_server};
pub use encode::{encode, encode_batch, text_len};
pub use envelope::{BadRequest, Envelope, MAX_BATCH, MAX_REQUEST_ID};
pub use error::{ErrorCode, ErrorInfo};
pub use event::{
    AuthorizationRequest, AuthorizationSettled, ChatMessage, Closed, OptionItem, ProgressInfo, QuestionItem,
    QuestionRequest, QuestionSettled, Questions, SessionSeat, ToolCall, ToolCompact, ToolResult,
};
pub use lines::{LineError, Lines, MAX_LINE};
pub use request::{
    Auth, AuthorizationAck, AuthorizationResponse, ChatSend, ChatSendOptions, Close, ConfigGet, ConfigSet,
    CreateOptions, FlowControl, QuestionAnswers, QuestionResponse, Request, Scalar, SessionAttach,
    SessionCreate, SessionFilter, SessionRef, SessionSave, WorkspaceCreate, WorkspaceName,
};
pub use server::ServerMessage;
pub use time::Time;

/// The only protocol version (SS-13).
pub const VERSION: &str = "1.0.0";
