//! *Addition*: conversations with agents, their approvals, and workspaces.

use super::operation::{is_false, null_as_default};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Lists pending approvals.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Approvals {}

/// Shows or decides an approval: with `approved` or `option` it is decided, without both only shown.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Approval {
    /// Id of the approval.
    pub approval: String,
    /// Whether to allow it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<bool>,
    /// One of its options instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option: Option<String>,
    /// Apply the decision to later requests of this kind, too.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub always: bool,
    /// A person has opened it and needs time to decide.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub ack: bool,
}

impl Approval {
    /// Whether it changes anything: decides, or requests time to decide.
    pub fn decides(&self) -> bool {
        self.approved.is_some() || self.option.is_some() || self.ack
    }
}

/// Lists conversations, or searches the messages of all of them, live or saved.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct History {
    /// Only conversations of this directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Words that a message has to contain, all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<String>,
    /// Whether to list the messages of users instead, the newest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompts: Option<bool>,
    /// Number of results to skip.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Maximum number of results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// Requests a conversation and its messages.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Conversation {
    /// Its name.
    pub session: String,
    /// The `next` of the previous page; without it, the first page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// Removes a conversation from memory and from disk.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Forget {
    /// Its name.
    pub session: String,
}

/// Lists the known workspaces.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Workspaces {}

/// Stores or creates a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Workspace {
    /// Its directory; with `worktree`, that of the repository.
    pub path: String,
    /// Further directories that may be read there; replaces the stored list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_dirs: Option<Vec<String>>,
    /// The agent that answers there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Create a git working tree of this name beside the repository, and store that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<String>,
    /// File mode creation mask for new files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub umask: Option<u32>,
    /// Remove it from the list instead; its directory stays, and so do its conversations.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub forget: bool,
}

/// Lists the agents that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Agents {}

/// Origin of an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ApprovalKind {
    /// An agent in a conversation.
    #[default]
    Chat,
    /// A dialog on a terminal.
    Terminal,
    /// A kind that this build does not know; only received.
    #[serde(other)]
    Unknown,
}

/// One option.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct ChoiceItem {
    /// Its id.
    pub id: String,
    /// Its text for people.
    pub label: String,
    /// Its meaning: `allow_once`, `allow_always`, `reject_once`, `reject_always`, or `other` for neither.
    pub kind: String,
}

/// A pending approval.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct ApprovalItem {
    /// Its id.
    pub id: String,
    /// The session whose agent requests it.
    pub session: String,
    /// Its origin.
    #[serde(default)]
    pub kind: ApprovalKind,
    /// The directory the agent works in.
    pub workspace: String,
    /// The tool to be used.
    pub tool: String,
    /// The parameters of the tool.
    #[serde(default)]
    pub parameters: Value,
    /// Whether parts of the parameters were left out.
    #[serde(default)]
    pub cut: bool,
    /// Why it needs an approval.
    pub reason: String,
    /// The options; allow and deny if empty.
    #[serde(default)]
    pub options: Vec<ChoiceItem>,
    /// When it was requested, in milliseconds since 1970.
    pub asked_at: u64,
    /// Whether a person has opened it.
    #[serde(default)]
    pub seen: bool,
}

/// Pending approvals, oldest first.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct ApprovalsReply {
    /// Always true.
    pub ok: bool,
    /// The approvals.
    pub approvals: Vec<ApprovalItem>,
    /// Whether there are more than fit into a reply.
    #[serde(default)]
    pub more: bool,
}

/// One approval.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct ApprovalReply {
    /// Always true.
    pub ok: bool,
    /// The approval.
    pub approval: ApprovalItem,
}

/// A conversation in a list.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct ConversationItem {
    /// Its name.
    pub session: String,
    /// Its title.
    pub title: String,
    /// The directory that it belongs to.
    pub workspace: String,
    /// Number of messages in it.
    pub messages: u64,
    /// When it was created, in milliseconds since 1970.
    pub created: u64,
    /// When it last changed, in milliseconds since 1970.
    pub updated: u64,
    /// Tokens read and written.
    #[serde(default)]
    pub tokens: u64,
    /// The cost in US dollars, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Whether it is in memory.
    #[serde(default)]
    pub live: bool,
    /// Whether parts of it are saved on disk, if that was checked.
    #[serde(default)]
    pub saved: bool,
    /// Whether the daemon saves by itself what is not saved yet, at the latest when it stops.
    #[serde(default)]
    pub autosaved: bool,
    /// Whether its agent is working.
    #[serde(default)]
    pub running: bool,
    /// Since when its agent waits for a decision or an answer, in milliseconds since 1970; absent if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asking_since: Option<u64>,
    /// Who answers: an agent, or the program on its terminal; absent if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// A message that a search found.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct HitItem {
    /// The conversation.
    pub conversation: ConversationItem,
    /// The message's number in it.
    pub number: u64,
    /// Role of its author.
    pub role: String,
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// The matching words and some around them; matches are between U+0002 and U+0003.
    pub excerpt: String,
}

/// A message of a user.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct PromptItem {
    /// The conversation.
    pub session: String,
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// Its text; very long ones are cut.
    pub text: String,
}

/// Conversations, the newest first; or messages, the best match first.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct HistoryReply {
    /// Always true.
    pub ok: bool,
    /// Conversations, unless words were searched for.
    #[serde(default)]
    pub conversations: Vec<ConversationItem>,
    /// Messages that contain the words.
    #[serde(default)]
    pub hits: Vec<HitItem>,
    /// Messages of users, if they were requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prompts: Vec<PromptItem>,
    /// Whether there are more results.
    #[serde(default)]
    pub more: bool,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum PartItem {
    /// Text, usually Markdown.
    Text {
        /// The text.
        text: String,
    },
    /// The agent's thoughts before its answer.
    Thought {
        /// The text.
        text: String,
    },
    /// The use of a tool.
    Tool {
        /// The tool.
        name: String,
        /// What it does, as text for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// Its parameters.
        #[serde(default)]
        parameters: Value,
        /// `completed` or `failed`; absent if unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<String>,
        /// Its output, or why it failed.
        #[serde(default)]
        output: String,
        /// Whether parts of these were left out.
        #[serde(default)]
        cut: bool,
    },
    /// Something that is not text, without its bytes.
    Attachment {
        /// Its media type, such as `image/png`.
        mime_type: String,
        /// Its name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// A part that this build does not know; only received.
    #[serde(other)]
    Unknown,
}

/// A message, or the part of it that fits.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct MessageItem {
    /// Its number in the conversation.
    pub number: u64,
    /// Role of its author.
    pub role: String,
    /// When it began, in milliseconds since 1970.
    pub at: u64,
    /// How it ended: `complete`, `failed`, `interrupted` or `stopped`.
    pub ending: String,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Its parts. A text that continues from the previous page continues the last one there.
    pub parts: Vec<PartItem>,
    /// Whether its beginning was on the previous page.
    #[serde(default, skip_serializing_if = "is_false")]
    pub continued: bool,
    /// Whether the first part continues the last one on the previous page.
    #[serde(default, skip_serializing_if = "is_false")]
    pub part_continued: bool,
}

/// A page of a conversation.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct ConversationReply {
    /// Always true.
    pub ok: bool,
    /// The conversation.
    pub conversation: ConversationItem,
    /// Messages, oldest first.
    pub messages: Vec<MessageItem>,
    /// Where the next page begins; absent on the last page.
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
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct WorkspaceItem {
    /// Its directory.
    pub path: String,
    /// Short name, for where a path is too long.
    pub id: String,
    /// Name for people.
    pub name: String,
    /// Further directories that may be read there.
    #[serde(default)]
    pub context_dirs: Vec<String>,
    /// Further directories that commands may read.
    #[serde(default)]
    pub landlock_read: Vec<String>,
    /// Further directories that commands may write.
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
    /// Whether it is an additional working tree of a repository.
    #[serde(default)]
    pub is_worktree: bool,
    /// Git's name for that working tree.
    #[serde(default)]
    pub worktree_name: Option<String>,
    /// Number of conversations and sessions that belong to it.
    #[serde(default)]
    pub sessions: u64,
    /// When it was added, in milliseconds since 1970.
    pub created: u64,
    /// When it was last used, in milliseconds since 1970.
    pub last_accessed: u64,
}

/// The known workspaces.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct WorkspacesReply {
    /// Always true.
    pub ok: bool,
    /// The workspaces, by path.
    pub workspaces: Vec<WorkspaceItem>,
    /// Whether there are more than fit into a reply.
    #[serde(default)]
    pub more: bool,
}

/// A workspace that was stored or created.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct WorkspaceReply {
    /// Always true.
    pub ok: bool,
    /// The workspace.
    pub workspace: WorkspaceItem,
}

/// An agent that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct ChatAgentItem {
    /// Its name.
    pub name: String,
    /// Its kind: `acp`, `llm` or `pty`.
    pub kind: String,
    /// Its command or model.
    pub detail: String,
}

/// Agents that can be chosen, the default one first.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct AgentsReply {
    /// Always true.
    pub ok: bool,
    /// The agents.
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
    fn pages_are_joined() {
        let mut whole =
            ConversationReply { messages: vec![message(1, vec![text("a")])], ..Default::default() };
        let rest =
            MessageItem { continued: true, part_continued: true, ..message(1, vec![text("b"), text("c")]) };
        let next = message(2, vec![text("d")]);
        whole.extend(ConversationReply { messages: vec![rest, next.clone()], ..Default::default() });
        assert_eq!(whole.messages, [message(1, vec![text("ab"), text("c")]), next]);
        // A page that does not continue the previous one is appended unchanged.
        let odd = MessageItem { continued: true, part_continued: true, ..message(7, vec![text("x")]) };
        whole.extend(ConversationReply { messages: vec![odd], ..Default::default() });
        assert_eq!(whole.messages[2], message(7, vec![text("x")]));
    }

    #[test]
    fn unknown_values_of_a_newer_daemon_are_no_error() {
        let part: PartItem = serde_json::from_str(r#"{"type":"hologram","depth":3}"#).unwrap();
        assert_eq!(part, PartItem::Unknown);
        let kind: ApprovalKind = serde_json::from_str(r#""voice""#).unwrap();
        assert_eq!(kind, ApprovalKind::Unknown);
    }
}
