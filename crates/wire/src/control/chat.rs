//! *Addition*: conversations with agents, what they ask, and where they work.

use super::operation::{is_false, null_as_default};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Asks which approvals wait.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Approvals {}

/// Looks at an approval, or decides it: with `approved` or `option` it is decided, without both only shown.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Approval {
    /// Id of the approval.
    pub approval: String,
    /// Whether it may happen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<bool>,
    /// One of its options instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option: Option<String>,
    /// From now on as well.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub always: bool,
    /// A person has seen it and needs time to decide.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub ack: bool,
}

impl Approval {
    /// Whether it changes anything: decides, or asks for time to decide.
    pub fn decides(&self) -> bool {
        self.approved.is_some() || self.option.is_some() || self.ack
    }
}

/// Lists conversations, or looks for words in those that are kept.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct History {
    /// Only those of this directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Words that a message has to have, all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<String>,
    /// So many are left out at the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// So many at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// Asks for a conversation and what was said in it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Conversation {
    /// Its name.
    pub session: String,
    /// What the page before gave as `next`; the beginning without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// Removes a conversation from memory and from disk.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Forget {
    /// Its name.
    pub session: String,
}

/// Asks which workspaces are known.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Workspaces {}

/// Keeps a workspace, or makes one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Workspace {
    /// Its directory; with `worktree`, that of the repository.
    pub path: String,
    /// Further directories that may be read there, instead of those known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_dirs: Option<Vec<String>>,
    /// The agent that answers there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Make a git working tree of this name beside the repository, and keep that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<String>,
    /// File mode mask for what is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub umask: Option<u32>,
}

/// Asks which agents can be chosen.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Agents {}

/// Who asks for an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ApprovalKind {
    /// An agent in a conversation.
    #[default]
    Chat,
    /// A dialog on a terminal.
    Terminal,
    /// A kind this build does not know; only ever received.
    #[serde(other)]
    Unknown,
}

/// One way to answer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ChoiceItem {
    /// What the agent calls it.
    pub id: String,
    /// What people read.
    pub label: String,
    /// What it means: `allow_once`, `allow_always`, `reject_once`, `reject_always`, or `other` for neither yes nor no.
    pub kind: String,
}

/// An approval that waits.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ApprovalItem {
    /// Its name.
    pub id: String,
    /// The session whose agent asks.
    pub session: String,
    /// Who asks.
    #[serde(default)]
    pub kind: ApprovalKind,
    /// The directory the agent works in.
    pub workspace: String,
    /// The tool that is to be used.
    pub tool: String,
    /// What the tool is given.
    #[serde(default)]
    pub parameters: Value,
    /// Whether parts of that were left out.
    #[serde(default)]
    pub cut: bool,
    /// Why a person should look at it.
    pub reason: String,
    /// The ways to answer; yes and no if there are none.
    #[serde(default)]
    pub options: Vec<ChoiceItem>,
    /// Since when, in milliseconds since 1970.
    pub asked_at: u64,
    /// Whether somebody has seen it.
    #[serde(default)]
    pub seen: bool,
}

/// Approvals that wait, oldest first.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ApprovalsReply {
    /// Always true.
    pub ok: bool,
    /// They.
    pub approvals: Vec<ApprovalItem>,
    /// Whether there are more than fit into an answer.
    #[serde(default)]
    pub more: bool,
}

/// One approval.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ApprovalReply {
    /// Always true.
    pub ok: bool,
    /// It.
    pub approval: ApprovalItem,
}

/// A conversation in a list.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ConversationItem {
    /// Its name.
    pub session: String,
    /// What it is about.
    pub title: String,
    /// The directory it belongs to.
    pub workspace: String,
    /// Messages in it.
    pub messages: u64,
    /// When it was made, in milliseconds since 1970.
    pub created: u64,
    /// When it last changed, likewise.
    pub updated: u64,
    /// Tokens read and written.
    #[serde(default)]
    pub tokens: u64,
    /// The price in US dollars, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Whether it is in memory.
    #[serde(default)]
    pub live: bool,
    /// Whether something of it is kept on disk, as far as that was looked at.
    #[serde(default)]
    pub saved: bool,
    /// Whether its agent is at work.
    #[serde(default)]
    pub running: bool,
}

/// A message in which something was found.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct HitItem {
    /// The conversation.
    pub conversation: ConversationItem,
    /// The message's number in it.
    pub number: u64,
    /// Who said it.
    pub role: String,
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// The words and some around them; what was found stands between U+0002 and U+0003.
    pub excerpt: String,
}

/// Conversations, the newest first; or messages, the best first.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct HistoryReply {
    /// Always true.
    pub ok: bool,
    /// Conversations, unless words were looked for.
    #[serde(default)]
    pub conversations: Vec<ConversationItem>,
    /// Messages with the words.
    #[serde(default)]
    pub hits: Vec<HitItem>,
    /// Whether there are more behind those.
    #[serde(default)]
    pub more: bool,
}

/// A piece of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum PartItem {
    /// Text, Markdown as a rule.
    Text {
        /// It.
        text: String,
    },
    /// What the agent thinks before it speaks.
    Thought {
        /// It.
        text: String,
    },
    /// The use of a tool.
    Tool {
        /// The tool.
        name: String,
        /// What it does, in words for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// What it was given.
        #[serde(default)]
        parameters: Value,
        /// `completed` or `failed`; nothing if that is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<String>,
        /// What it said, or why it failed.
        #[serde(default)]
        output: String,
        /// Whether some of that was left out.
        #[serde(default)]
        cut: bool,
    },
    /// Something that is not text, without its bytes.
    Attachment {
        /// Its kind, such as `image/png`.
        mime_type: String,
        /// What it is called.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// A piece this build does not know; only ever received.
    #[serde(other)]
    Unknown,
}

/// A message, or the part of it that fits.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct MessageItem {
    /// Its number in the conversation.
    pub number: u64,
    /// Who says it.
    pub role: String,
    /// When it began, in milliseconds since 1970.
    pub at: u64,
    /// How it ended: `complete`, `failed`, `interrupted` or `stopped`.
    pub ending: String,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What is said. A text that goes on from the page before continues the last one there.
    pub parts: Vec<PartItem>,
    /// Whether its beginning was on the page before.
    #[serde(default, skip_serializing_if = "is_false")]
    pub continued: bool,
    /// Whether the first part continues the last one on the page before.
    #[serde(default, skip_serializing_if = "is_false")]
    pub part_continued: bool,
}

/// A page of a conversation.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ConversationReply {
    /// Always true.
    pub ok: bool,
    /// The conversation.
    pub conversation: ConversationItem,
    /// Messages, oldest first.
    pub messages: Vec<MessageItem>,
    /// Where the next page begins; nothing at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

impl ConversationReply {
    /// Adds the page that follows.
    pub fn extend(&mut self, page: Self) {
        self.next = page.next;
        for mut message in page.messages {
            match self.messages.last_mut().filter(|last| message.continued && last.number == message.number) {
                Some(last) => last.extend(message),
                None => {
                    (message.continued, message.part_continued) = (false, false);
                    self.messages.push(message);
                }
            }
        }
    }
}

impl MessageItem {
    /// Adds the rest of it.
    fn extend(&mut self, rest: Self) {
        let mut parts = rest.parts.into_iter();
        if rest.part_continued {
            match (self.parts.last_mut(), parts.next()) {
                (Some(PartItem::Text { text }), Some(PartItem::Text { text: more }))
                | (Some(PartItem::Thought { text }), Some(PartItem::Thought { text: more })) => {
                    text.push_str(&more);
                }
                (_, other) => self.parts.extend(other),
            }
        }
        self.parts.extend(parts);
    }
}

/// A workspace, and what git knows of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WorkspaceItem {
    /// Its directory.
    pub path: String,
    /// What it is called where a path is too long.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// Further directories that may be read there.
    #[serde(default)]
    pub context_dirs: Vec<String>,
    /// Directories that commands may read besides.
    #[serde(default)]
    pub landlock_read: Vec<String>,
    /// Directories that commands may write besides.
    #[serde(default)]
    pub landlock_write: Vec<String>,
    /// Commands that need no approval there.
    #[serde(default)]
    pub commands_approved: Vec<String>,
    /// Domains that need no approval there.
    #[serde(default)]
    pub domains_approved: Vec<String>,
    /// The agent that answers there.
    #[serde(default)]
    pub agent: Option<String>,
    /// The top of the git working tree it is in.
    #[serde(default)]
    pub repository_root: Option<String>,
    /// The branch checked out there.
    #[serde(default)]
    pub current_branch: Option<String>,
    /// Whether it is a further working tree of a repository.
    #[serde(default)]
    pub is_worktree: bool,
    /// What git calls that working tree.
    #[serde(default)]
    pub worktree_name: Option<String>,
    /// Conversations and sessions that belong to it.
    #[serde(default)]
    pub sessions: u64,
    /// When it became known, in milliseconds since 1970.
    pub created: u64,
    /// When it was last used, likewise.
    pub last_accessed: u64,
}

/// Workspaces that are known.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WorkspacesReply {
    /// Always true.
    pub ok: bool,
    /// They, by path.
    pub workspaces: Vec<WorkspaceItem>,
    /// Whether there are more than fit into an answer.
    #[serde(default)]
    pub more: bool,
}

/// A workspace that was kept or made.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WorkspaceReply {
    /// Always true.
    pub ok: bool,
    /// It.
    pub workspace: WorkspaceItem,
}

/// An agent that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ChatAgentItem {
    /// Its name.
    pub name: String,
    /// How it is reached: `acp`, `llm` or `pty`.
    pub kind: String,
    /// What is behind it: a command or a model.
    pub detail: String,
}

/// Agents that can be chosen, the default one first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AgentsReply {
    /// Always true.
    pub ok: bool,
    /// They.
    pub agents: Vec<ChatAgentItem>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> PartItem {
        PartItem::Text { text: text.into() }
    }

    fn message(number: u64, parts: Vec<PartItem>) -> MessageItem {
        MessageItem { number, parts, ..MessageItem::default() }
    }

    #[test]
    fn pages_are_put_together() {
        let mut whole =
            ConversationReply { messages: vec![message(1, vec![text("a")])], ..Default::default() };
        let rest =
            MessageItem { continued: true, part_continued: true, ..message(1, vec![text("b"), text("c")]) };
        let next = message(2, vec![text("d")]);
        whole.extend(ConversationReply { messages: vec![rest, next.clone()], ..Default::default() });
        assert_eq!(whole.messages, [message(1, vec![text("ab"), text("c")]), next]);
        // A page that does not fit to the one before is taken as it is.
        let odd = MessageItem { continued: true, part_continued: true, ..message(7, vec![text("x")]) };
        whole.extend(ConversationReply { messages: vec![odd], ..Default::default() });
        assert_eq!(whole.messages[2], message(7, vec![text("x")]));
    }

    #[test]
    fn what_a_newer_daemon_says_is_no_error() {
        let part: PartItem = serde_json::from_str(r#"{"type":"hologram","depth":3}"#).unwrap();
        assert_eq!(part, PartItem::Unknown);
        let kind: ApprovalKind = serde_json::from_str(r#""voice""#).unwrap();
        assert_eq!(kind, ApprovalKind::Unknown);
    }
}
