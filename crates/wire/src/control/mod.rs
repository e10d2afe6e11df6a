//! The control protocol: the operations of Switchboard as JSON with a length prefix, then tagged frames once a
//! terminal is attached.
//!
//! A connection starts in command mode ([`command_frames`]): a handshake ([`parse_handshake`],
//! [`HandshakeReply`]), then operations ([`Operation`], [`parse_operation`]), each with one reply. A
//! successful `attach`, `shell` or following `logs` switches it to stream mode ([`enter_stream`]), where
//! every frame has a tag ([`parse_stream`]) and control frames carry [`ClientControl`] one way and
//! [`Event`] the other.
//!
//! Fields that a peer does not know are ignored on both sides, and `null` means the same as an absent field. Coop's
//! commands ([`crate::coop`]) are a part of the operations.

mod base64;
mod chat;
mod codec;
mod control;
mod error;
mod operation;
mod reply;
mod screen;
mod turns;

pub use base64::Base64;
pub use chat::{
    Agents, AgentsReply, Approval, ApprovalItem, ApprovalKind, ApprovalReply, Approvals, ApprovalsReply,
    ChatAgentItem, ChoiceItem, Conversation, ConversationItem, ConversationReply, Forget, History,
    HistoryReply, HitItem, MessageItem, PartItem, Workspace, WorkspaceItem, WorkspaceReply, Workspaces,
    WorkspacesReply,
};
pub use codec::{
    EncodeError, MAX_DATA, MAX_FRAME, ReplyError, StreamFrame, VERSION, command_frames, data_header,
    encode_body, encode_control, encode_data, encode_frame, encode_json, enter_stream, operation_name,
    parse_caller, parse_client_control, parse_event, parse_handshake, parse_happening, parse_operation,
    parse_reply, parse_stream,
};
pub use control::{ClientControl, Event};
pub use error::{BadMessage, ErrorCode, ErrorReply};
pub use operation::{
    Attach, Create, Handshake, Kill, Logs, Ls, Operation, Restart, Send, Serve, SessionKill, SessionLs,
    Shell, Shutdown, Start, StreamOptions, Tunnel, Until, Upgrade,
};
pub use reply::{
    Attached, Created, DaemonStatus, DialectState, DialectStatus, HandshakeReply, KeeperStatus, LogsReply,
    LsReply, OkReply, Origin, PtyItem, PtyRole, RestartReply, ServeReply, SessionDetails, SessionItem,
    SessionLsReply, SessionStatus, StatusReply, TunnelReply,
};
pub use screen::{Keys, KeysReply, Met, Screen, ScreenFormat, ScreenReply, Wait, WaitReply, WaitUntil};
pub use turns::{
    AgentItem, AgentState, Answered, Ask, AskReply, Capture, CaptureReply, Events, EventsReply, EvidenceItem,
    Explain, ExplainReply, Happened, Happening, Hook, HookState, Paste, Relay, RelayReply, Turn, TurnItem,
    TurnObject, TurnReply, Turns, TurnsReply,
};
