//! The messages of the daemon.

use super::answer::*;
use super::error::ErrorInfo;
use super::event::*;
use serde::Serialize;

/// A message of the daemon; on the wire, `type` holds the variant's name in snake case and `data` its fields.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ServerMessage {
    /// The client has to sign a challenge.
    AuthChallenge(AuthChallenge),
    /// The client is accepted.
    AuthResponse(AuthResponse),
    /// The agent requests an approval.
    AuthorizationRequest(AuthorizationRequest),
    /// *Addition*: an approval is no longer pending.
    AuthorizationSettled(AuthorizationSettled),
    /// The messages of the conversation were removed.
    ChatClear(StatusReply),
    /// A piece of a message.
    ChatMessage(ChatMessage),
    /// A generation has ended.
    ChatSend(ChatEnd),
    /// The generation was stopped.
    ChatStop(StatusReply),
    /// The connection ends.
    Closed(Closed),
    /// Settings.
    ConfigGet(ConfigReply),
    /// Settings were changed.
    ConfigSet(ConfigUpdated),
    /// An error; sent under `error`, not `data`.
    Error(ErrorInfo),
    /// Whether events are paused.
    FlowControl(FlowState),
    /// Requests a `pong`.
    Ping,
    /// Replies to a `ping`.
    Pong,
    /// Progress of the agent.
    Progress(ProgressInfo),
    /// The agent asks a question.
    QuestionRequest(QuestionRequest),
    /// *Addition*: a question is no longer pending.
    QuestionSettled(QuestionSettled),
    /// The connection is attached to a session.
    SessionAttach(SessionPlace),
    /// A session was created.
    SessionCreateResponse(SessionCreated),
    /// A session was removed.
    SessionDelete(SessionState),
    /// The connection is detached from a session.
    SessionDetach(SessionState),
    /// A list of sessions.
    SessionListResponse(SessionList),
    /// A session was loaded.
    SessionLoad(SessionLoaded),
    /// A session was saved.
    SessionSave(SessionSaved),
    /// *Addition*: the connection's role in a session has changed.
    SessionSeat(SessionSeat),
    /// A tool call.
    ToolCall(ToolCall),
    /// A tool call and its result in one kind of message.
    ToolCompact(ToolCompact),
    /// The result of a tool call.
    ToolResult(ToolResult),
    /// A type that this version does not know; never sent.
    Unknown,
    /// A working tree was created.
    WorkspaceCreate(WorkspaceCreated),
    /// A list of workspaces.
    WorkspaceListResponse(WorkspaceList),
    /// A workspace was set.
    WorkspaceSet(WorkspaceSetReply),
}

impl ServerMessage {
    /// Whether the message is held back while a client has paused its events (SS-74).
    pub fn can_wait(&self) -> bool {
        matches!(self, Self::Progress(_) | Self::ToolCall(_) | Self::ToolCompact(_) | Self::ToolResult(_))
    }
}
