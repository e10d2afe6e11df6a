//! Requests to models and their replies, independent of the API.

use super::limits;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use swb_chat::Usage;

/// A request to a model.
#[derive(Debug, Clone)]
pub(super) struct ModelRequest<'a> {
    /// From the model.
    pub(super) model: &'a str,
    /// The system prompt.
    pub(super) system: &'a str,
    /// The conversation so far.
    pub(super) turns: &'a [ModelTurn],
    /// The tools it may use.
    pub(super) tools: &'a [ToolSpec],
    /// The sampling temperature.
    pub(super) temperature: Option<f64>,
    /// Maximum number of tokens in the answer.
    pub(super) max_tokens: Option<u32>,
}

/// A tool that a model may use.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ToolSpec {
    /// Its name.
    pub(super) name: &'static str,
    /// What it does, for the model.
    pub(super) description: &'static str,
    /// The JSON schema of its arguments.
    pub(super) schema: Value,
}

/// One message of the conversation.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ModelTurn {
    /// From the model.
    Assistant(Vec<ModelBlock>),
    /// The results of its tool calls.
    Results(Vec<ToolOutcome>),
    /// From the user.
    User(String),
}

/// A block of a model's message.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ModelBlock {
    /// A tool call.
    Call(ModelToolCall),
    /// Text.
    Text(String),
    /// The model's reasoning, with the vendor's signature.
    Thought {
        /// The text; empty if only the vendor can read it.
        text: String,
        /// The signature.
        signature: String,
        /// The text, encrypted by the vendor.
        sealed: String,
    },
}

impl ModelBlock {
    /// Its approximate size in a request.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Call(call) => call.id.len() + call.name.len() + call.arguments.len(),
            Self::Text(text) => text.len(),
            Self::Thought { text, signature, sealed } => text.len() + signature.len() + sealed.len(),
        }
    }
}

/// A tool call of a model.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct ModelToolCall {
    /// Its id.
    pub(super) id: String,
    /// The tool.
    pub(super) name: String,
    /// Its arguments as the model wrote them: a JSON object unless the model made a mistake.
    pub(super) arguments: String,
}

impl ModelToolCall {
    /// The arguments; an error message for the model if they are not an object.
    pub(super) fn parameters(&self) -> Result<Map<String, Value>, String> {
        if self.arguments.trim().is_empty() {
            return Ok(Map::new());
        }
        match serde_json::from_str(&self.arguments) {
            Ok(Value::Object(parameters)) => Ok(parameters),
            Ok(_) => Err("the arguments are not a JSON object".to_owned()),
            Err(error) => Err(format!("the arguments are not valid JSON: {error}")),
        }
    }

    /// The arguments as an object that every server accepts: empty if the model wrote something else.
    pub(super) fn object(&self) -> Value {
        Value::Object(self.parameters().unwrap_or_default())
    }
}

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ToolOutcome {
    /// The id of the call.
    pub(super) id: String,
    /// The text for the model.
    pub(super) text: String,
    /// Whether it failed.
    pub(super) failed: bool,
}

/// A piece of a reply that is forwarded at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AnswerPiece {
    /// Text.
    Text(String),
    /// Reasoning.
    Thought(String),
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum StopReason {
    /// It is done, or waits for the results of its tool calls.
    #[default]
    Done,
    /// It reached the maximum number of tokens.
    Length,
    /// It or its vendor refuses to answer.
    Refused,
}

/// A complete reply.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct ModelAnswer {
    /// Its blocks, in order.
    pub(super) blocks: Vec<ModelBlock>,
    /// Its usage, without the price.
    pub(super) usage: Usage,
    /// Why it ended.
    pub(super) stop: StopReason,
}

impl ModelAnswer {
    /// Its tool calls.
    pub(super) fn calls(&self) -> impl Iterator<Item = &ModelToolCall> {
        self.blocks.iter().filter_map(|said| match said {
            ModelBlock::Call(call) => Some(call),
            _ => None,
        })
    }
}

/// Why a reply failed or cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum StreamError {
    /// The server reports a temporary error.
    #[error("{0}")]
    Busy(String),
    /// It ended too early.
    #[error("the answer ended before it was complete")]
    Early,
    /// The server sent invalid data.
    #[error("the server sent an invalid reply: {0}")]
    Nonsense(String),
    /// There are too many tokens.
    #[error("{0}")]
    Overflow(String),
    /// The server reports a permanent error.
    #[error("{0}")]
    Refused(String),
    /// It exceeds the limits.
    #[error("the answer is longer than {} MiB or uses more than {} tools", limits::ANSWER_BYTES >> 20, limits::CALLS)]
    TooLong,
    /// The event stream is invalid.
    #[error(transparent)]
    Sse(#[from] super::sse::SseError),
}

/// A reply that is still arriving: blocks by their index.
#[derive(Debug, Default)]
pub(super) struct AnswerDraft {
    blocks: BTreeMap<u64, ModelBlock>,
    bytes: usize,
    /// The usage so far.
    pub(super) usage: Usage,
    /// Why it ended, once it has.
    pub(super) stop: Option<StopReason>,
}

impl AnswerDraft {
    /// Begins the block at an index, unless it exists.
    pub(super) fn begin(&mut self, at: u64, said: ModelBlock) -> Result<(), StreamError> {
        match self.blocks.contains_key(&at) {
            true => Ok(()),
            false => self.grow(at, said.bytes(), || said).map(drop),
        }
    }

    /// The block at an index, to append `more` bytes; `new` if it does not exist.
    pub(super) fn grow(
        &mut self,
        at: u64,
        more: usize,
        new: impl FnOnce() -> ModelBlock,
    ) -> Result<&mut ModelBlock, StreamError> {
        self.bytes += more;
        let room = self.blocks.contains_key(&at) || self.has_room();
        if self.bytes > limits::ANSWER_BYTES || !room {
            return Err(StreamError::TooLong);
        }
        Ok(self.blocks.entry(at).or_insert_with(new))
    }

    /// Whether another block is allowed.
    fn has_room(&self) -> bool {
        let calls = self.blocks.values().filter(|said| matches!(said, ModelBlock::Call(_))).count();
        calls < limits::CALLS && self.blocks.len() < limits::BLOCKS
    }

    /// The block at an index.
    pub(super) fn at(&self, at: u64) -> Option<&ModelBlock> {
        self.blocks.get(&at)
    }

    /// The index of the last block.
    pub(super) fn last(&self) -> Option<u64> {
        self.blocks.keys().next_back().copied()
    }

    /// The complete reply, if it is one.
    pub(super) fn finish(self) -> Result<ModelAnswer, StreamError> {
        let stop = self.stop.ok_or(StreamError::Early)?;
        let empty = |said: &ModelBlock| matches!(said, ModelBlock::Text(text) if text.is_empty());
        let said = self.blocks.into_values().filter(|said| !empty(said)).collect();
        Ok(ModelAnswer { blocks: said, usage: self.usage, stop })
    }
}

/// A text block to append to.
pub(super) fn text() -> ModelBlock {
    ModelBlock::Text(String::new())
}

/// A thought to append to.
pub(super) fn thought() -> ModelBlock {
    ModelBlock::Thought { text: String::new(), signature: String::new(), sealed: String::new() }
}

/// The string under a key; empty if missing.
pub(super) fn string<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The number under a key.
pub(super) fn number(value: &Value, key: &str) -> Option<u64> {
    value.get(key).and_then(Value::as_u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: String) -> ModelBlock {
        ModelBlock::Call(ModelToolCall { name, ..ModelToolCall::default() })
    }

    #[test]
    fn all_parts_of_an_answer_count_towards_its_limit() {
        let long = || "x".repeat(limits::ANSWER_BYTES / 4);
        let sealed = ModelBlock::Thought { text: String::new(), signature: String::new(), sealed: long() };
        for said in [ModelBlock::Text(long()), call(long()), sealed] {
            let mut draft = AnswerDraft::default();
            for at in 0..4 {
                assert_eq!(draft.begin(at, said.clone()), Ok(()));
            }
            assert_eq!(draft.begin(3, said.clone()), Ok(()), "what is there already does not count again");
            assert_eq!(draft.begin(4, said), Err(StreamError::TooLong));
        }
    }

    #[test]
    fn the_number_of_tool_calls_and_blocks_is_limited() {
        let ends = |most: usize, new: fn() -> ModelBlock| {
            let mut draft = AnswerDraft::default();
            let grown = (0..).take_while(|at| draft.grow(*at, 0, new).is_ok()).count();
            assert_eq!((grown, draft.begin(u64::MAX, new())), (most, Err(StreamError::TooLong)));
            assert!(draft.grow(0, 1, new).is_ok(), "what is there may go on");
        };
        ends(limits::CALLS, || call(String::new()));
        ends(limits::BLOCKS, text);
    }
}
