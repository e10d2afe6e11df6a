//! Anthropic Messages: requests and streamed replies.

use super::limits;
use super::model_message::{
    AnswerDraft, AnswerPiece, ModelAnswer, ModelBlock, ModelRequest, ModelToolCall, ModelTurn, StopReason,
    StreamError, ToolOutcome, number, string, text, thought,
};
use serde_json::{Value, json};

/// The version of the API that this is written for.
pub(super) const VERSION: &str = "2023-06-01";

/// The body of a request.
pub(super) fn body(request: &ModelRequest<'_>) -> Value {
    let mut messages: Vec<Value> = request.turns.iter().map(message).collect();
    // Everything up to here is the same in the next request: reading it from the cache costs a tenth.
    if let Some(last) = messages.last_mut().and_then(|message| message["content"].as_array_mut())
        && let Some(block) = last.last_mut()
    {
        block["cache_control"] = json!({"type": "ephemeral"});
    }
    let mut body = json!({
        "model": request.model,
        "max_tokens": request.max_tokens.unwrap_or(limits::ANSWER_TOKENS),
        "messages": messages,
        "stream": true,
    });
    if !request.system.is_empty() {
        let cached = json!({"type": "ephemeral"});
        body["system"] = json!([{"type": "text", "text": request.system, "cache_control": cached}]);
    }
    if !request.tools.is_empty() {
        let tool = |tool: &super::model_message::ToolSpec| json!({"name": tool.name, "description": tool.description, "input_schema": tool.schema});
        body["tools"] = request.tools.iter().map(tool).collect();
    }
    if let Some(temperature) = request.temperature {
        // Settings go up to 2 as elsewhere; here the maximum is 1.
        body["temperature"] = json!(temperature.min(1.0));
    }
    body
}

fn message(turn: &ModelTurn) -> Value {
    match turn {
        ModelTurn::Assistant(said) => {
            let content: Vec<Value> = said.iter().filter_map(block).collect();
            json!({"role": "assistant", "content": content})
        }
        ModelTurn::Results(outcomes) => {
            let content: Vec<Value> = outcomes.iter().map(result).collect();
            json!({"role": "user", "content": content})
        }
        ModelTurn::User(text) => json!({"role": "user", "content": [{"type": "text", "text": text}]}),
    }
}

/// A block of the model's message. The API rejects blank text and thoughts without a signature.
fn block(said: &ModelBlock) -> Option<Value> {
    Some(match said {
        ModelBlock::Call(call) => {
            json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.object()})
        }
        ModelBlock::Text(text) if text.trim().is_empty() => return None,
        ModelBlock::Text(text) => json!({"type": "text", "text": text}),
        ModelBlock::Thought { sealed, .. } if !sealed.is_empty() => {
            json!({"type": "redacted_thinking", "data": sealed})
        }
        ModelBlock::Thought { signature, .. } if signature.is_empty() => return None,
        ModelBlock::Thought { text, signature, .. } => {
            json!({"type": "thinking", "thinking": text, "signature": signature})
        }
    })
}

fn result(outcome: &ToolOutcome) -> Value {
    let text = if outcome.text.is_empty() { "(nothing)" } else { &outcome.text };
    json!({"type": "tool_result", "tool_use_id": outcome.id, "content": text, "is_error": outcome.failed})
}

/// Parses a streamed reply.
#[derive(Debug, Default)]
pub(super) struct AnthropicReader {
    draft: AnswerDraft,
    read: Read,
    ended: bool,
}

/// Input tokens, by source.
#[derive(Debug, Default)]
struct Read {
    fresh: u64,
    written: u64,
    cached: u64,
}

impl AnthropicReader {
    /// Takes the data of an event; returns what can be forwarded.
    pub(super) fn handle(&mut self, data: &str) -> Result<Option<AnswerPiece>, StreamError> {
        let value: Value =
            serde_json::from_str(data).map_err(|error| StreamError::Nonsense(error.to_string()))?;
        let at = number(&value, "index").unwrap_or_default();
        match string(&value, "type") {
            "message_start" => self.usage(&value["message"]["usage"]),
            "content_block_start" => return self.begin(at, &value["content_block"]),
            "content_block_delta" => return self.delta(at, &value["delta"]),
            "message_delta" => {
                self.usage(&value["usage"]);
                if let Some(reason) = value["delta"]["stop_reason"].as_str() {
                    self.draft.stop = Some(stop(reason));
                }
            }
            "message_stop" => self.ended = true,
            "error" => return Err(failure(&value["error"])),
            // Pings, the ends of blocks, and future events.
            _ => {}
        }
        Ok(None)
    }

    /// Whether the reply is complete.
    pub(super) fn is_done(&self) -> bool {
        self.ended
    }

    /// The usage so far.
    pub(super) fn usage_so_far(&self) -> swb_chat::Usage {
        self.draft.usage
    }

    /// The whole answer.
    pub(super) fn finish(mut self) -> Result<ModelAnswer, StreamError> {
        if self.ended {
            self.draft.stop.get_or_insert_default();
        } else {
            self.draft.stop = None;
        }
        self.draft.finish()
    }

    fn begin(&mut self, at: u64, block: &Value) -> Result<Option<AnswerPiece>, StreamError> {
        let said = match string(block, "type") {
            "tool_use" => ModelBlock::Call(ModelToolCall {
                id: string(block, "id").to_owned(),
                name: string(block, "name").to_owned(),
                arguments: match &block["input"] {
                    Value::Object(input) if !input.is_empty() => block["input"].to_string(),
                    _ => String::new(),
                },
            }),
            "thinking" => thought(),
            "redacted_thinking" => ModelBlock::Thought {
                text: String::new(),
                signature: String::new(),
                sealed: string(block, "data").to_owned(),
            },
            "text" => text(),
            // A block of an unknown type cannot be sent back, either.
            _ => return Ok(None),
        };
        self.draft.begin(at, said)?;
        match string(block, "text") {
            "" => Ok(None),
            text => self.text(at, text),
        }
    }

    fn delta(&mut self, at: u64, delta: &Value) -> Result<Option<AnswerPiece>, StreamError> {
        match string(delta, "type") {
            "text_delta" => return self.text(at, string(delta, "text")),
            "thinking_delta" => {
                let more = string(delta, "thinking");
                if let ModelBlock::Thought { text, .. } = self.draft.grow(at, more.len(), thought)? {
                    text.push_str(more);
                    return Ok(Some(AnswerPiece::Thought(more.to_owned())));
                }
            }
            "signature_delta" => {
                let more = string(delta, "signature");
                if let ModelBlock::Thought { signature, .. } = self.draft.grow(at, more.len(), thought)? {
                    signature.push_str(more);
                }
            }
            "input_json_delta" => {
                let more = string(delta, "partial_json");
                let new = || ModelBlock::Call(ModelToolCall::default());
                if let ModelBlock::Call(call) = self.draft.grow(at, more.len(), new)? {
                    call.arguments.push_str(more);
                }
            }
            _ => {}
        }
        Ok(None)
    }

    fn text(&mut self, at: u64, more: &str) -> Result<Option<AnswerPiece>, StreamError> {
        match self.draft.grow(at, more.len(), text)? {
            ModelBlock::Text(text) if !more.is_empty() => {
                text.push_str(more);
                Ok(Some(AnswerPiece::Text(more.to_owned())))
            }
            _ => Ok(None),
        }
    }

    /// The counts are totals; a count missing in a later event has not changed.
    fn usage(&mut self, usage: &Value) {
        let set = |known: &mut u64, key: &str| *known = number(usage, key).unwrap_or(*known);
        set(&mut self.read.fresh, "input_tokens");
        set(&mut self.read.written, "cache_creation_input_tokens");
        set(&mut self.read.cached, "cache_read_input_tokens");
        let total = &mut self.draft.usage;
        set(&mut total.output_tokens, "output_tokens");
        let read = &self.read;
        total.input_tokens = read.fresh.saturating_add(read.written).saturating_add(read.cached);
        total.cached_tokens = read.cached;
    }
}

fn stop(reason: &str) -> StopReason {
    match reason {
        "max_tokens" | "model_context_window_exceeded" => StopReason::Length,
        "refusal" => StopReason::Refused,
        _ => StopReason::Done,
    }
}

/// Classifies an error within a stream.
fn failure(error: &Value) -> StreamError {
    let words = string(error, "message");
    let kind = string(error, "type");
    let message = if words.is_empty() { kind.to_owned() } else { words.to_owned() };
    match kind {
        "overloaded_error" | "rate_limit_error" | "api_error" | "timeout_error" => StreamError::Busy(message),
        _ if is_overflow(words) => StreamError::Overflow(message),
        _ => StreamError::Refused(message),
    }
}

/// Whether an error message means that there are too many tokens.
pub(super) fn is_overflow(words: &str) -> bool {
    words.contains("prompt is too long") || words.contains("exceed context limit")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Api;
    use crate::llm::model_message::ToolSpec;
    use crate::llm::retry::read_all;

    fn read(events: &[Value]) -> (Vec<AnswerPiece>, Result<ModelAnswer, StreamError>) {
        read_all(Api::Anthropic, events)
    }

    fn call(id: &str, name: &str, arguments: &str) -> ModelToolCall {
        ModelToolCall { id: id.into(), name: name.into(), arguments: arguments.into() }
    }

    #[test]
    fn a_request_has_the_form_of_the_api() {
        let turns = [
            ModelTurn::User("hello".into()),
            ModelTurn::Assistant(vec![
                ModelBlock::Thought { text: "hm".into(), signature: "s1".into(), sealed: String::new() },
                ModelBlock::Thought {
                    text: "unproven".into(),
                    signature: String::new(),
                    sealed: String::new(),
                },
                ModelBlock::Thought { text: String::new(), signature: String::new(), sealed: "x".into() },
                ModelBlock::Text(" \n".into()),
                ModelBlock::Text("I look".into()),
                ModelBlock::Call(call("a", "read_file", r#"{"path":"x"}"#)),
                ModelBlock::Call(call("b", "read_file", r#"{"path"#)),
            ]),
            ModelTurn::Results(vec![
                ToolOutcome { id: "a".into(), text: "text".into(), failed: false },
                ToolOutcome { id: "b".into(), text: String::new(), failed: true },
            ]),
        ];
        let tools = [ToolSpec { name: "read_file", description: "reads", schema: json!({"type": "object"}) }];
        let request = ModelRequest {
            model: "m",
            system: "be kind",
            turns: &turns,
            tools: &tools,
            temperature: Some(1.5),
            max_tokens: None,
        };
        let cached = json!({"type": "ephemeral"});
        let wanted = json!({
            "model": "m", "max_tokens": 8192, "stream": true, "temperature": 1.0,
            "system": [{"type": "text", "text": "be kind", "cache_control": cached}],
            "tools": [{"name": "read_file", "description": "reads", "input_schema": {"type": "object"}}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "hello"}]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "s1"},
                    {"type": "redacted_thinking", "data": "x"},
                    {"type": "text", "text": "I look"},
                    {"type": "tool_use", "id": "a", "name": "read_file", "input": {"path": "x"}},
                    {"type": "tool_use", "id": "b", "name": "read_file", "input": {}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": "text", "is_error": false},
                    {"type": "tool_result", "tool_use_id": "b", "content": "(nothing)", "is_error": true,
                     "cache_control": cached},
                ]},
            ],
        });
        assert_eq!(body(&request), wanted);
    }

    #[test]
    fn an_answer_is_put_together_from_its_pieces() {
        let (pieces, answer) = read(&[
            json!({"type": "message_start", "message": {"usage": {
                "input_tokens": 10, "cache_creation_input_tokens": 5, "cache_read_input_tokens": 100,
                "output_tokens": 1}}}),
            json!({"type": "ping"}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "h"}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "m"}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "sig"}}),
            json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "I "}}),
            json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "look"}}),
            json!({"type": "content_block_stop", "index": 1}),
            json!({"type": "content_block_start", "index": 2, "content_block": {"type": "server_tool_use", "id": "z"}}),
            json!({"type": "content_block_start", "index": 3,
                   "content_block": {"type": "tool_use", "id": "a", "name": "t", "input": {}}}),
            json!({"type": "content_block_delta", "index": 3, "delta": {"type": "input_json_delta", "partial_json": ""}}),
            json!({"type": "content_block_delta", "index": 3, "delta": {"type": "input_json_delta", "partial_json": "{\"a\":"}}),
            json!({"type": "content_block_delta", "index": 3, "delta": {"type": "input_json_delta", "partial_json": "1}"}}),
            json!({"type": "content_block_delta", "index": 3, "delta": {"type": "citations_delta"}}),
            json!({"type": "something_new"}),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 42}}),
            json!({"type": "message_stop"}),
        ]);
        let piece = |text: &str| AnswerPiece::Text(text.into());
        let thought = |text: &str| AnswerPiece::Thought(text.into());
        assert_eq!(pieces, [thought("h"), thought("m"), piece("I "), piece("look")]);
        let answer = answer.unwrap();
        let said = [
            ModelBlock::Thought { text: "hm".into(), signature: "sig".into(), sealed: String::new() },
            ModelBlock::Text("I look".into()),
            ModelBlock::Call(call("a", "t", r#"{"a":1}"#)),
        ];
        assert_eq!((answer.blocks.as_slice(), answer.stop), (said.as_slice(), StopReason::Done));
        let usage = answer.usage;
        assert_eq!((usage.input_tokens, usage.cached_tokens, usage.output_tokens), (115, 100, 42));
    }

    #[test]
    fn an_incomplete_answer_is_an_error() {
        let start = json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "a"}});
        let delta = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}});
        assert_eq!(read(&[]).1, Err(StreamError::Early));
        assert_eq!(read(&[start.clone(), delta]).1, Err(StreamError::Early));
        let (pieces, answer) = read(&[start, json!({"type": "message_stop"})]);
        assert_eq!((pieces.len(), answer.unwrap().stop), (1, StopReason::Done));
    }

    #[test]
    fn errors_within_a_stream_are_classified() {
        let error = |kind: &str, message: &str| {
            read(&[json!({"type": "error", "error": {"type": kind, "message": message}})]).1.unwrap_err()
        };
        assert_eq!(error("overloaded_error", "Overloaded"), StreamError::Busy("Overloaded".into()));
        assert_eq!(error("invalid_request_error", "no"), StreamError::Refused("no".into()));
        let long = "prompt is too long: 5 tokens > 4 maximum";
        assert_eq!(error("invalid_request_error", long), StreamError::Overflow(long.into()));
        assert!(matches!(AnthropicReader::default().handle("{"), Err(StreamError::Nonsense(_))));
        assert_eq!(stop("max_tokens"), StopReason::Length);
        assert_eq!(stop("refusal"), StopReason::Refused);
    }

    #[test]
    fn values_of_the_wrong_type_are_ignored() {
        let (pieces, answer) = read(&[
            json!([]),
            json!(null),
            json!({"type": 5}),
            json!({"type": "message_start"}),
            json!({"type": "content_block_start", "index": "x", "content_block": 7}),
            json!({"type": "content_block_delta", "index": -1, "delta": {"type": "text_delta", "text": {}}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "{"}}),
            json!({"type": "message_delta", "delta": [], "usage": {"output_tokens": -3}}),
            json!({"type": "message_stop"}),
        ]);
        assert!(pieces.is_empty() && answer.unwrap().blocks.is_empty());
    }

    #[test]
    fn the_number_of_tool_calls_is_limited() {
        let mut reader = AnthropicReader::default();
        let begin = |at: usize| {
            let block = json!({"type": "tool_use", "id": "a", "name": "t", "input": {}});
            json!({"type": "content_block_start", "index": at, "content_block": block}).to_string()
        };
        let error = (0..=limits::CALLS).find_map(|at| reader.handle(&begin(at)).err());
        assert_eq!(error, Some(StreamError::TooLong));
    }
}
