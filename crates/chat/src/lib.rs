//! Conversations with agents: their data, and the state machine of one conversation.
//!
//! A [`Conversation`] is a state machine without I/O: the caller reports what its clients and its agent do, with the
//! time as an argument, and takes [`ChatEvent`]s to be passed on. It carries what the Agent Client Protocol carries, so that
//! any agent and any front-end can be combined: messages in parts, thoughts, tool calls, plans, permission requests with their
//! options, questions, usage.

mod archive;
mod ask;
mod clients;
mod conversation;
mod event;
pub mod limits;
mod message;
mod names;
mod saved;
mod search;
mod settings;
mod tool;
mod workspace;

pub use archive::{Archive, ArchiveError, FoundPrompt, SearchHit};
pub use ask::{
    Answers, Approval, ApprovalAnswer, ApprovalId, ApprovalOption, ApprovalRequest, Decision, OptionKind,
    Question, QuestionId, QuestionItem, QuestionRequest, Unanswered,
};
pub use clients::{ClientId, ClientRole};
pub use conversation::{Conversation, ConversationState, Now, PartialAnswer, Refused};
pub use event::{ChatEvent, PlanEntry, PlanPriority, PlanStatus, Progress, StreamId};
pub use message::{Attachment, Author, Ending, Message, Part, Usage};
pub use names::three_words;
pub use saved::{SavedConversation, Summary};
pub use search::excerpt_of;
pub use settings::ConversationSettings;
pub use tool::{Location, ToolCall, ToolContent, ToolId, ToolKind, ToolResult, ToolStatus};
pub use workspace::Workspace;
