//! Every cap and wait of a conversation, with its reason.

use std::time::Duration;

/// How long nobody may take notice of an approval that is asked for (SS-62).
pub const APPROVAL_NOTICE: Duration = Duration::from_secs(30);
/// How long a person may take to decide after that (SS-62).
pub const APPROVAL_DECISION: Duration = Duration::from_secs(10 * 60);
/// How long a person may take to answer a question (SS-64).
pub const QUESTION_ANSWER: Duration = Duration::from_secs(5 * 60);
/// Approvals and questions of one conversation that wait at the same time: more than an agent's tools run at once.
pub const ASKS: usize = 64;
/// Questions asked together at most, and choices for each.
pub const QUESTIONS: usize = 16;
/// See [`QUESTIONS`].
pub const OPTIONS: usize = 64;
/// Messages of one conversation at most; the oldest are forgotten beyond it.
pub const MESSAGES: usize = 10_000;
/// Bytes of one message's text at most; what an agent says beyond that is not kept, but passed on.
pub const MESSAGE_BYTES: usize = 16 << 20;
/// Parts of one message at most, tools among them: far more than an answer has.
pub const PARTS: usize = 4096;
/// Bytes of one piece of text at most; more at once is told in several, so that each fits any client's frame.
pub const PIECE: usize = 1 << 20;
/// Bytes of one conversation at most; the oldest messages are forgotten beyond it.
pub const CONVERSATION_BYTES: usize = 64 << 20;
/// Bytes kept of one tool's result; what is beyond is left out of the middle.
pub const TOOL_BYTES: usize = 256 << 10;
/// Changes of files and the like kept of one tool's result, each as long as a result may be.
pub const TOOL_CONTENT: usize = 16;
/// Clients attached to one conversation at most.
pub const CLIENTS: usize = 256;
/// Characters of a title at most.
pub const TITLE: usize = 120;
