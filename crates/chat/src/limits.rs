//! Every limit and timeout of a conversation, with its reason.

use std::time::Duration;

/// How long a requested approval waits to be seen (SS-62).
pub const APPROVAL_NOTICE: Duration = Duration::from_secs(30);
/// How long a user may take to decide after that (SS-62).
pub const APPROVAL_DECISION: Duration = Duration::from_secs(10 * 60);
/// How long a user may take to answer a question (SS-64).
pub const QUESTION_ANSWER: Duration = Duration::from_secs(5 * 60);
/// Pending approvals and questions of one conversation: more than an agent runs tools concurrently.
pub const ASKS: usize = 64;
/// Maximum number of questions asked together, and of choices for each.
pub const QUESTIONS: usize = 16;
/// See [`QUESTIONS`].
pub const OPTIONS: usize = 64;
/// Maximum number of messages in one conversation; beyond it the oldest are dropped.
pub const MESSAGES: usize = 10_000;
/// Maximum bytes of one message's text; what exceeds it is forwarded, but not stored.
pub const MESSAGE_BYTES: usize = 16 << 20;
/// Maximum number of parts of one message, tool calls included: far more than an answer has.
pub const PARTS: usize = 4096;
/// Maximum bytes of one piece of text; longer text is split, so that each piece fits any client's frame.
pub const PIECE: usize = 1 << 20;
/// Maximum bytes of one conversation; beyond it the oldest messages are dropped.
pub const CONVERSATION_BYTES: usize = 64 << 20;
/// Bytes kept of one tool's result; the middle of a longer one is left out.
pub const TOOL_BYTES: usize = 256 << 10;
/// Diffs and other contents kept of one tool's result, each as long as a result may be.
pub const TOOL_CONTENT: usize = 16;
/// Maximum number of clients attached to one conversation.
pub const CLIENTS: usize = 256;
/// Maximum number of characters in a title.
pub const TITLE: usize = 120;
/// Words of one search: each is looked for in every message.
pub const SEARCH_WORDS: usize = 32;
/// Bytes of one search: room for the longest words there are.
pub const SEARCH_BYTES: usize = 4096;
/// Bytes of the excerpt from a message that was found: a few lines of a terminal.
pub const EXCERPT: usize = 400;
/// Characters of a default title: a line of a list, with room for the other columns.
pub const DEFAULT_TITLE: usize = 60;
