//! The messages of a conversation.

use crate::tool::{ToolCall, ToolId, ToolResult};
use serde::{Deserialize, Serialize};
use swb_types::Timestamp;

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Author {
    /// The agent.
    Assistant,
    /// Neither: the system prompt.
    System,
    /// The user.
    User,
}

impl Author {
    /// Its name on the wire and on disk.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Assistant => "assistant",
            Self::System => "system",
            Self::User => "user",
        }
    }
}

/// How a message ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// It is complete.
    #[default]
    Complete,
    /// The agent failed, for this reason.
    Failed(String),
    /// The daemon ended during the answer.
    Interrupted,
    /// A user stopped it.
    Stopped,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Its number within the conversation, from 1.
    pub number: u64,
    /// Its author.
    pub role: Author,
    /// Its parts, in order.
    pub parts: Vec<Part>,
    /// When it began.
    pub at: Timestamp,
    /// How it ended.
    #[serde(default)]
    pub ending: Ending,
}

impl Message {
    /// A complete message of text only.
    pub fn text_of(number: u64, role: Author, text: impl Into<String>, at: Timestamp) -> Self {
        Self { number, role, parts: vec![Part::Text(text.into())], at, ending: Ending::Complete }
    }

    /// Adds a part: text and thoughts are appended to a last part of that kind, a tool call replaces its earlier version.
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

    /// A tool call in it.
    pub fn tool(&mut self, id: &ToolId) -> Option<&mut Part> {
        self.parts.iter_mut().find(|part| matches!(part, Part::Tool { call, .. } if call.id == *id))
    }

    /// Its approximate size in bytes.
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

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// An image, a recording, a file.
    Attachment(Attachment),
    /// Text, usually Markdown.
    Text(String),
    /// The agent's reasoning.
    Thought(String),
    /// A tool call and its result.
    Tool {
        /// The call.
        call: ToolCall,
        /// The result; `None` if unknown.
        result: Option<ToolResult>,
    },
}

impl From<(ToolCall, Option<ToolResult>)> for Part {
    fn from((call, result): (ToolCall, Option<ToolResult>)) -> Self {
        Self::Tool { call, result }
    }
}

/// Content that is not text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// Its media type, such as `image/png`.
    pub mime_type: String,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its location.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// Its bytes in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
}

/// The usage of answers.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Input tokens, cached ones included.
    pub input_tokens: u64,
    /// Cached input tokens.
    pub cached_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// The price in US dollars, if known.
    pub cost: Option<f64>,
}

impl Usage {
    /// All tokens.
    pub fn total_tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// Adds the usage of another answer.
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
