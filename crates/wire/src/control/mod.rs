//! The control protocol: the operations of Switchboard as JSON with a length prefix, then tagged frames once a
//! terminal is attached.
//!
//! A connection starts in command mode ([`command_frames`]): a handshake ([`parse_handshake`],
//! [`HandshakeReply`]), then operations ([`Operation`], [`parse_operation`]), each with one reply. A
//! successful `attach`, `shell` or following `logs` switches it to stream mode ([`enter_stream`]), where
//! every frame has a tag ([`parse_stream`]) and control frames carry [`ClientControl`] one way and
//! [`StreamEvent`] the other.
//!
//! Fields that a peer does not know are ignored on both sides, and `null` means the same as an absent field. Coop's
//! commands ([`crate::coop`]) are a part of the operations.

mod base64;
mod codec;
mod conversations;
mod error;
pub mod inherited;
mod notify;
mod operation;
mod reply;
pub mod schema;
mod screen;
mod stream;
mod tunnel;
mod turns;
mod web;

pub use base64::Base64;
pub use codec::{
    EncodeError, MAX_DATA, MAX_FRAME, ReplyError, StreamFrame, VERSION, command_frames, control_frame,
    data_header, encode_body, encode_control, encode_data, encode_frame, encode_json, enter_stream,
    operation_name, parse_caller, parse_client_control, parse_event, parse_event_item, parse_handshake,
    parse_operation, parse_reply, parse_stream,
};
pub use conversations::{
    Agents, AgentsReply, Approval, ApprovalItem, ApprovalKind, ApprovalReply, Approvals, ApprovalsReply,
    ChatAgentItem, ChoiceItem, Conversation, ConversationItem, ConversationReply, Forget, History,
    HistoryReply, HitItem, MessageItem, PartItem, PromptItem, Workspace, WorkspaceItem, WorkspaceReply,
    Workspaces, WorkspacesReply,
};
pub use error::{BadMessage, ErrorCode, ErrorReply};
pub use notify::{
    MeansItem, Mute, MuteItem, MuteReply, NotificationItem, NotificationKind, Notifications,
    NotificationsReply, NotifyTest, NotifyTestReply, TerminalMeans, TestItem,
};
pub use operation::{
    Attach, Create, Handshake, Kill, Logs, Ls, Operation, Restart, Send, SessionKill, SessionLs, Shell,
    Shutdown, Start, StreamOptions, Until, Upgrade,
};
pub use reply::{
    Attached, Created, DaemonStatus, DialectState, DialectStatus, HandshakeReply, InputCount, KeeperStatus,
    LogsReply, LsReply, OkReply, Origin, PtyItem, PtyRole, RestartReply, SessionDetails, SessionItem,
    SessionLsReply, SessionStatus, StatusReply,
};
pub use screen::{
    Keys, KeysReply, Screen, ScreenFormat, ScreenReply, SendReply, Wait, WaitOutcome, WaitReply, WaitUntil,
};
pub use stream::{ClientControl, ExitCause, StreamEvent};
pub use tunnel::{
    Tunnel, TunnelAnswer, TunnelEnd, TunnelEvent, TunnelItem, TunnelReply, TunnelRevoke, TunnelState,
    Tunnels, TunnelsReply,
};
pub use turns::{
    AgentItem, AgentState, Ask, AskReply, AskResult, Capture, CaptureReply, EventBody, EventItem, Events,
    EventsReply, EvidenceItem, Explain, ExplainReply, Hook, HookState, Paste, Relay, RelayReply, TextSource,
    Turn, TurnItem, TurnObject, TurnReply, Turns, TurnsReply,
};
pub use web::{
    Filter, FilterReply, Revoke, Serve, ServeReply, StopServeReply, Token, TokenItem, TokenReply, Tokens,
    TokensReply, WebStatus, Whoami, WhoamiReply,
};
