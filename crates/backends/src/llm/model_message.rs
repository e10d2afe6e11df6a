//! Requests to models and their answers, whatever the form of the API.

use super::limits;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use swb_chat::Usage;

/// A request to a model.
#[derive(Debug, Clone)]
pub(super) struct ModelRequest<'a> {
    /// The model.
    pub(super) model: &'a str,
    /// What it is told before everything else.
    pub(super) system: &'a str,
    /// What was said so far.
    pub(super) turns: &'a [ModelTurn],
    /// The tools it may use.
    pub(super) tools: &'a [ToolSpec],
    /// How freely it is to answer.
    pub(super) temperature: Option<f64>,
    /// Tokens of the answer at most.
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

/// What one side said.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ModelTurn {
    /// The model.
    Assistant(Vec<ModelBlock>),
    /// What came of the tools it used.
    Results(Vec<ToolOutcome>),
    /// The person.
    User(String),
}

/// A block of what a model said.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ModelBlock {
    /// It uses a tool.
    Call(ModelToolCall),
    /// Text.
    Text(String),
    /// What it thought, with what proves to its maker that it did.
    Thought {
        /// The text; empty if only the maker can read it.
        text: String,
        /// The proof.
        signature: String,
        /// The text in a form that only the maker can read.
        sealed: String,
    },
}

impl ModelBlock {
    /// What it takes in a request, roughly.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Call(call) => call.id.len() + call.name.len() + call.arguments.len(),
            Self::Text(text) => text.len(),
            Self::Thought { text, signature, sealed } => text.len() + signature.len() + sealed.len(),
        }
    }
}

/// A model uses a tool.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct ModelToolCall {
    /// Which use it is.
    pub(super) id: String,
    /// The tool.
    pub(super) name: String,
    /// Its arguments as the model wrote them: a JSON object if all is well.
    pub(super) arguments: String,
}

impl ModelToolCall {
    /// The arguments; an error in words for the model if they are not an object.
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

    /// The arguments as an object that every server takes back: an empty one if the model wrote something else.
    pub(super) fn object(&self) -> Value {
        Value::Object(self.parameters().unwrap_or_default())
    }
}

/// What came of the use of a tool.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ToolOutcome {
    /// Which use it was.
    pub(super) id: String,
    /// What the model is told.
    pub(super) text: String,
    /// Whether it failed.
    pub(super) failed: bool,
}

/// Something of an answer that is passed on at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AnswerPiece {
    /// Text.
    Text(String),
    /// What the model thinks.
    Thought(String),
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum StopReason {
    /// It has said everything, or wants to know what its tools say.
    #[default]
    Done,
    /// It would have said more than it may.
    Length,
    /// It or its maker does not want to answer.
    Refused,
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct ModelAnswer {
    /// What was said, in order.
    pub(super) said: Vec<ModelBlock>,
    /// What it cost, without the price.
    pub(super) usage: Usage,
    /// Why it ended.
    pub(super) stop: StopReason,
}

impl ModelAnswer {
    /// The uses of tools in it.
    pub(super) fn calls(&self) -> impl Iterator<Item = &ModelToolCall> {
        self.said.iter().filter_map(|said| match said {
            ModelBlock::Call(call) => Some(call),
            _ => None,
        })
    }
}

/// Why an answer cannot be understood or went wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum StreamError {
    /// The server says so, and that it may go better another time.
    #[error("{0}")]
    Busy(String),
    /// It ended too early.
    #[error("the answer ended before it was complete")]
    Early,
    /// What the server sends is no answer.
    #[error("the server sent what is no answer: {0}")]
    Nonsense(String),
    /// There are too many tokens.
    #[error("{0}")]
    Overflow(String),
    /// The server says so, and another time will not help.
    #[error("{0}")]
    Refused(String),
    /// It is longer than an answer may be.
    #[error("the answer is longer than {} MiB or uses more than {} tools", limits::ANSWER_BYTES >> 20, limits::CALLS)]
    TooLong,
    /// The form of the stream is wrong.
    #[error(transparent)]
    Sse(#[from] super::sse::SseError),
}

/// An answer that is still arriving: blocks by their index.
#[derive(Debug, Default)]
pub(super) struct AnswerDraft {
    blocks: BTreeMap<u64, ModelBlock>,
    bytes: usize,
    /// What it cost so far.
    pub(super) usage: Usage,
    /// Why it ended, once it has.
    pub(super) stop: Option<StopReason>,
}

impl AnswerDraft {
    /// Begins the block at an index, unless there is one already.
    pub(super) fn begin(&mut self, at: u64, said: ModelBlock) -> Result<(), StreamError> {
        match self.blocks.contains_key(&at) {
            true => Ok(()),
            false => self.grow(at, said.bytes(), || said).map(drop),
        }
    }

    /// The block at an index, to add `more` bytes to it; `new` if there is none yet.
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

    /// Whether there may be another block.
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

    /// The whole answer, if it is one.
    pub(super) fn finish(self) -> Result<ModelAnswer, StreamError> {
        let stop = self.stop.ok_or(StreamError::Early)?;
        let empty = |said: &ModelBlock| matches!(said, ModelBlock::Text(text) if text.is_empty());
        let said = self.blocks.into_values().filter(|said| !empty(said)).collect();
        Ok(ModelAnswer { said, usage: self.usage, stop })
    }
}

/// Text that goes on.
pub(super) fn text() -> ModelBlock {
    ModelBlock::Text(String::new())
}

/// A thought that goes on.
pub(super) fn thought() -> ModelBlock {
    ModelBlock::Thought { text: String::new(), signature: String::new(), sealed: String::new() }
}

/// The string under a key; empty if there is none.
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
    fn an_answer_counts_with_everything_in_it() {
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
    fn there_is_an_end_to_tools_and_blocks_however_they_begin() {
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
