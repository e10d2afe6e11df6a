//! Everything the daemon says.

use super::answer::*;
use super::error::ErrorInfo;
use super::event::*;
use serde::Serialize;

/// A message of the daemon; on the wire, `type` holds the variant's name in snake case and `data` its fields.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ServerMessage {
    /// Prove that you know the secret.
    AuthChallenge(AuthChallenge),
    /// Welcome.
    AuthResponse(AuthResponse),
    /// May the agent do something?
    AuthorizationRequest(AuthorizationRequest),
    /// *Addition*: nobody needs to decide any more.
    AuthorizationSettled(AuthorizationSettled),
    /// Everything said was forgotten.
    ChatClear(StatusReply),
    /// A piece of what is said.
    ChatMessage(ChatMessage),
    /// The generation is over.
    ChatSend(ChatEnd),
    /// The agent was told to stop.
    ChatStop(StatusReply),
    /// The connection ends.
    Closed(Closed),
    /// Settings.
    ConfigGet(ConfigReply),
    /// Settings were changed.
    ConfigSet(ConfigUpdated),
    /// It could not be done; told under `error`, not `data`.
    Error(ErrorInfo),
    /// Whether events are held back.
    FlowControl(FlowState),
    /// Is anybody there?
    Ping,
    /// Somebody is here.
    Pong,
    /// How far the agent is.
    Progress(ProgressInfo),
    /// The agent asks something.
    QuestionRequest(QuestionRequest),
    /// *Addition*: nobody needs to answer any more.
    QuestionSettled(QuestionSettled),
    /// A place at a session.
    SessionAttach(SessionPlace),
    /// A session was made.
    SessionCreateResponse(SessionCreated),
    /// A session was removed.
    SessionDelete(SessionState),
    /// The place at a session was given up.
    SessionDetach(SessionState),
    /// Sessions.
    SessionListResponse(SessionList),
    /// A session is there again.
    SessionLoad(SessionLoaded),
    /// A session was saved.
    SessionSave(SessionSaved),
    /// *Addition*: the place at a session has changed.
    SessionSeat(SessionSeat),
    /// A tool is used.
    ToolCall(ToolCall),
    /// The use of a tool in one.
    ToolCompact(ToolCompact),
    /// What the use of a tool came to.
    ToolResult(ToolResult),
    /// Something that this version does not know; never sent.
    Unknown,
    /// A working tree was made.
    WorkspaceCreate(WorkspaceCreated),
    /// Workspaces.
    WorkspaceListResponse(WorkspaceList),
    /// A workspace was chosen.
    WorkspaceSet(WorkspaceSetReply),
}

impl ServerMessage {
    /// Whether a client that wants fewer events does without it for a while (SS-74).
    pub fn can_wait(&self) -> bool {
        matches!(self, Self::Progress(_) | Self::ToolCall(_) | Self::ToolCompact(_) | Self::ToolResult(_))
    }
}
