//! What is said in a conversation.

use crate::tool::{ToolCall, ToolId, ToolResult};
use serde::{Deserialize, Serialize};
use swb_types::Timestamp;

/// Who says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The agent.
    Assistant,
    /// Neither: what the agent is told before the conversation.
    System,
    /// The person.
    User,
}

impl Role {
    /// Its name on the wire and on disk.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Assistant => "assistant",
            Self::System => "system",
            Self::User => "user",
        }
    }
}

/// How a message came to its end.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// It is all there.
    #[default]
    Complete,
    /// The agent failed, for this reason.
    Failed(String),
    /// The daemon went away meanwhile.
    Interrupted,
    /// Somebody stopped it.
    Stopped,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Its number within the conversation, from 1 on.
    pub number: u64,
    /// Who says it.
    pub role: Role,
    /// What is said, in order.
    pub parts: Vec<Part>,
    /// When it began.
    pub at: Timestamp,
    /// How it ended.
    #[serde(default)]
    pub ending: Ending,
}

impl Message {
    /// A complete message of nothing but text.
    pub fn text_of(number: u64, role: Role, text: impl Into<String>, at: Timestamp) -> Self {
        Self { number, role, parts: vec![Part::Text(text.into())], at, ending: Ending::Complete }
    }

    /// Adds a part: text and thoughts to what they continue, tools in place of what was known of the same use.
    pub fn add(&mut self, part: Part) {
        match (self.parts.last_mut(), part) {
            (Some(Part::Text(kept)), Part::Text(more)) | (Some(Part::Thought(kept)), Part::Thought(more)) => {
                kept.push_str(&more);
            }
            (_, Part::Tool { call, result }) => match self.tool(&call.id) {
                Some(known) => *known = (call, result).into(),
                None => self.parts.push(Part::Tool { call, result }),
            },
            (_, part) => self.parts.push(part),
        }
    }

    /// The use of a tool in it.
    pub fn tool(&mut self, id: &ToolId) -> Option<&mut Part> {
        self.parts.iter_mut().find(|part| matches!(part, Part::Tool { call, .. } if call.id == *id))
    }

    /// Bytes of what is said in it, roughly.
    pub fn size(&self) -> usize {
        let size = |part: &Part| match part {
            Part::Attachment(attachment) => attachment.data.as_ref().map_or(64, String::len),
            Part::Text(text) | Part::Thought(text) => text.len(),
            Part::Tool { call, result } => {
                call.parameters.to_string().len() + result.as_ref().map_or(0, ToolResult::size)
            }
        };
        self.parts.iter().map(size).sum()
    }

    /// Its text, without thoughts and tools.
    pub fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }
}

/// A piece of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// An image, a recording, a file.
    Attachment(Attachment),
    /// Text, Markdown as a rule.
    Text(String),
    /// What the agent thinks before it speaks.
    Thought(String),
    /// The use of a tool, and what came of it.
    Tool {
        /// What it was given.
        call: ToolCall,
        /// What came of it; nothing if that is not known.
        result: Option<ToolResult>,
    },
}

impl From<(ToolCall, Option<ToolResult>)> for Part {
    fn from((call, result): (ToolCall, Option<ToolResult>)) -> Self {
        Self::Tool { call, result }
    }
}

/// Something that is not text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// Its kind, such as `image/png`.
    pub mime_type: String,
    /// What it is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// Its bytes in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
}

/// What answers have cost.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read, those from a cache included.
    pub input_tokens: u64,
    /// Tokens of those that were cached.
    pub cached_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// The price in US dollars, where it is known.
    pub cost: Option<f64>,
}

impl Usage {
    /// All tokens.
    pub fn total_tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// Adds what a further answer has cost.
    pub fn add(&mut self, other: &Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(other.cached_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cost = match (self.cost, other.cost) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0.0) + b.unwrap_or(0.0)),
        };
    }
}
