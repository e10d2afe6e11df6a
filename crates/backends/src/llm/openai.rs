//! OpenAI Chat Completions and compatible APIs: requests and streamed replies.

use super::model_message::{
    AnswerDraft, AnswerPiece, ModelAnswer, ModelBlock, ModelRequest, ModelToolCall, ModelTurn, StopReason,
    StreamError, number, string, text, thought,
};
use serde_json::{Value, json};

/// The indexes of thoughts and text in a reply; tool calls follow.
const THOUGHT: u64 = 0;
const TEXT: u64 = 1;
const CALLS: u64 = 2;

/// The body of a request. The vendor's own servers expect the token limit under a name that few others know.
pub(super) fn body(request: &ModelRequest<'_>, makers_own: bool) -> Value {
    let mut messages = Vec::new();
    if !request.system.is_empty() {
        messages.push(json!({"role": "system", "content": request.system}));
    }
    messages.extend(request.turns.iter().flat_map(said));
    let mut body = json!({
        "model": request.model,
        "messages": messages,
        "stream": true,
        "stream_options": {"include_usage": true},
    });
    if !request.tools.is_empty() {
        let tool = |tool: &super::model_message::ToolSpec| {
            let function =
                json!({"name": tool.name, "description": tool.description, "parameters": tool.schema});
            json!({"type": "function", "function": function})
        };
        body["tools"] = request.tools.iter().map(tool).collect();
    }
    if let Some(temperature) = request.temperature {
        body["temperature"] = json!(temperature);
    }
    if let Some(max_tokens) = request.max_tokens {
        body[if makers_own { "max_completion_tokens" } else { "max_tokens" }] = json!(max_tokens);
    }
    body
}

fn said(turn: &ModelTurn) -> Vec<Value> {
    match turn {
        ModelTurn::Assistant(said) => vec![assistant(said)],
        ModelTurn::Results(outcomes) => outcomes
            .iter()
            .map(|outcome| {
                let mark = if outcome.failed { "error: " } else { "" };
                let content = format!("{mark}{}", outcome.text);
                json!({"role": "tool", "tool_call_id": outcome.id, "content": content})
            })
            .collect(),
        ModelTurn::User(text) => vec![json!({"role": "user", "content": text})],
    }
}

fn assistant(said: &[ModelBlock]) -> Value {
    let (mut words, mut thoughts, mut calls) = (String::new(), String::new(), Vec::new());
    for said in said {
        match said {
            ModelBlock::Call(call) => calls.push(json!({
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.object().to_string()},
            })),
            ModelBlock::Text(text) => words.push_str(text),
            ModelBlock::Thought { text, .. } => thoughts.push_str(text),
        }
    }
    let content = if words.is_empty() && !calls.is_empty() { Value::Null } else { json!(words) };
    let mut message = json!({"role": "assistant", "content": content});
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
        // Servers that send thoughts expect back those that led to a tool call; others have sent none.
        if !thoughts.is_empty() {
            message["reasoning_content"] = json!(thoughts);
        }
    }
    message
}

/// Parses a streamed reply.
#[derive(Debug, Default)]
pub(super) struct OpenAiReader {
    draft: AnswerDraft,
    ended: bool,
}

impl OpenAiReader {
    /// Takes the data of an event; returns what can be forwarded.
    pub(super) fn handle(&mut self, data: &str) -> Result<Vec<AnswerPiece>, StreamError> {
        if data.trim() == "[DONE]" {
            self.ended = true;
            self.draft.stop.get_or_insert_default();
            return Ok(Vec::new());
        }
        let value: Value =
            serde_json::from_str(data).map_err(|error| StreamError::Nonsense(error.to_string()))?;
        if let Some(error) = value.get("error").filter(|error| !error.is_null()) {
            return Err(failure(error));
        }
        self.usage(&value["usage"]);
        // One answer was requested, so there is no second choice.
        let choice = &value["choices"][0];
        let pieces = self.delta(&choice["delta"])?;
        if let Some(reason) = choice["finish_reason"].as_str() {
            self.draft.stop = Some(stop(reason));
        }
        Ok(pieces)
    }

    /// Whether the reply is complete.
    pub(super) fn is_done(&self) -> bool {
        self.ended
    }

    /// The usage so far.
    pub(super) fn usage_so_far(&self) -> swb_chat::Usage {
        self.draft.usage
    }

    /// The complete reply: one with a finish reason is complete, with or without `[DONE]`.
    pub(super) fn finish(self) -> Result<ModelAnswer, StreamError> {
        self.draft.finish()
    }

    fn delta(&mut self, delta: &Value) -> Result<Vec<AnswerPiece>, StreamError> {
        let mut pieces = Vec::new();
        let thoughts = ["reasoning_content", "reasoning"].map(|key| string(delta, key));
        if let Some(more) = thoughts.into_iter().find(|more| !more.is_empty())
            && let ModelBlock::Thought { text, .. } = self.draft.grow(THOUGHT, more.len(), thought)?
        {
            text.push_str(more);
            pieces.push(AnswerPiece::Thought(more.to_owned()));
        }
        for key in ["content", "refusal"] {
            let more = string(delta, key);
            if !more.is_empty()
                && let ModelBlock::Text(text) = self.draft.grow(TEXT, more.len(), text)?
            {
                text.push_str(more);
                pieces.push(AnswerPiece::Text(more.to_owned()));
            }
        }
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            self.call(call)?;
        }
        Ok(pieces)
    }

    fn call(&mut self, delta: &Value) -> Result<(), StreamError> {
        let at = self.place(delta);
        let (id, function) = (string(delta, "id"), &delta["function"]);
        let name = string(function, "name");
        // Some servers send the object itself instead of its text.
        let arguments = match &function["arguments"] {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            value => value.to_string(),
        };
        let more = arguments.len() + id.len() + name.len();
        if let ModelBlock::Call(call) =
            self.draft.grow(at, more, || ModelBlock::Call(ModelToolCall::default()))?
        {
            if call.id.is_empty() {
                call.id = id.to_owned();
            }
            if call.name.is_empty() {
                call.name = name.to_owned();
            }
            call.arguments.push_str(&arguments);
        }
        Ok(())
    }

    /// The index of a piece of a tool call. Some servers omit the index or always send the same.
    fn place(&self, delta: &Value) -> u64 {
        let last = self.draft.last().filter(|last| *last >= CALLS);
        let index = number(delta, "index").map(|index| CALLS.saturating_add(index));
        let at = index.or(last).unwrap_or(CALLS);
        match self.draft.at(at) {
            Some(ModelBlock::Call(known)) if is_another(known, delta, index.is_some()) => {
                last.map_or(CALLS, |last| last.saturating_add(1))
            }
            _ => at,
        }
    }

    /// The counts are totals; the last ones are valid.
    fn usage(&mut self, usage: &Value) {
        let total = &mut self.draft.usage;
        let set = |known: &mut u64, count: Option<u64>| *known = count.unwrap_or(*known);
        set(&mut total.input_tokens, number(usage, "prompt_tokens"));
        set(&mut total.output_tokens, number(usage, "completion_tokens"));
        set(&mut total.cached_tokens, number(&usage["prompt_tokens_details"], "cached_tokens"));
    }
}

/// Whether a piece belongs to another tool call than the one known at its index: its id differs, or, as some servers
/// send no id or always the same, it names a tool although the known call is complete.
fn is_another(known: &ModelToolCall, delta: &Value, placed: bool) -> bool {
    let (id, function) = (string(delta, "id"), &delta["function"]);
    let (name, arguments) = (string(function, "name"), &function["arguments"]);
    let other_id = !id.is_empty() && id != known.id && !(placed && known.id.is_empty());
    let has_more = name != known.name || !(arguments.is_null() || *arguments == "");
    // Check the last byte first: for servers that name the tool in each piece, parsing every time would be slow.
    let complete = || known.arguments.trim_end().ends_with('}') && known.parameters().is_ok();
    other_id || (!name.is_empty() && has_more && complete())
}

fn stop(reason: &str) -> StopReason {
    match reason {
        "length" => StopReason::Length,
        "content_filter" => StopReason::Refused,
        _ => StopReason::Done,
    }
}

/// Classifies an error within a stream.
fn failure(error: &Value) -> StreamError {
    let words = error.as_str().unwrap_or_else(|| string(error, "message"));
    let message = if words.is_empty() { error.to_string() } else { words.to_owned() };
    let code = error["code"].as_u64().or_else(|| error["status"].as_u64()).unwrap_or_default();
    let busy = code == 429 || code >= 500;
    match [string(error, "type"), string(error, "code")] {
        kinds if is_overflow(words) || kinds.contains(&"context_length_exceeded") => {
            StreamError::Overflow(message)
        }
        kinds if busy || kinds.iter().any(|kind| BUSY.contains(kind)) => StreamError::Busy(message),
        _ => StreamError::Refused(message),
    }
}

/// Temporary errors.
const BUSY: [&str; 4] = ["server_error", "rate_limit_exceeded", "overloaded_error", "api_error"];

/// Whether an error message means that there are too many tokens.
pub(super) fn is_overflow(words: &str) -> bool {
    let mentions = |what: &str| words.contains(what);
    mentions("context_length_exceeded")
        || mentions("maximum context length")
        || mentions("context window")
        || mentions("exceeds the available context size")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Api;
    use crate::llm::model_message::{ToolOutcome, ToolSpec};
    use crate::llm::retry::read_all;

    fn read(events: &[Value]) -> (Vec<AnswerPiece>, Result<ModelAnswer, StreamError>) {
        read_all(Api::OpenAi, events)
    }

    fn delta(delta: Value) -> Value {
        json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
    }

    fn end(reason: &str) -> Value {
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    }

    fn calls(answer: &ModelAnswer) -> Vec<(&str, &str, &str)> {
        answer.calls().map(|call| (call.id.as_str(), call.name.as_str(), call.arguments.as_str())).collect()
    }

    #[test]
    fn a_request_has_the_form_of_the_api() {
        let call = |id: &str, arguments: &str| {
            ModelBlock::Call(ModelToolCall {
                id: id.into(),
                name: "read_file".into(),
                arguments: arguments.into(),
            })
        };
        let turns = [
            ModelTurn::User("hello".into()),
            ModelTurn::Assistant(vec![ModelBlock::Text("hi".into())]),
            ModelTurn::User("read".into()),
            ModelTurn::Assistant(vec![
                ModelBlock::Thought { text: "hm".into(), signature: String::new(), sealed: String::new() },
                call("a", r#"{"path":"x"}"#),
                call("b", "{{"),
            ]),
            ModelTurn::Results(vec![
                ToolOutcome { id: "a".into(), text: "text".into(), failed: false },
                ToolOutcome { id: "b".into(), text: "no".into(), failed: true },
            ]),
        ];
        let tools = [ToolSpec { name: "read_file", description: "reads", schema: json!({"type": "object"}) }];
        let mut request = ModelRequest {
            model: "m",
            system: "be kind",
            turns: &turns,
            tools: &tools,
            temperature: Some(0.5),
            max_tokens: Some(100),
        };
        let function = json!({"name": "read_file", "description": "reads", "parameters": {"type": "object"}});
        let wanted = json!({
            "model": "m", "stream": true, "stream_options": {"include_usage": true},
            "temperature": 0.5, "max_tokens": 100,
            "tools": [{"type": "function", "function": function}],
            "messages": [
                {"role": "system", "content": "be kind"},
                {"role": "user", "content": "hello"},
                {"role": "assistant", "content": "hi"},
                {"role": "user", "content": "read"},
                {"role": "assistant", "content": null, "reasoning_content": "hm", "tool_calls": [
                    {"id": "a", "type": "function", "function": {"name": "read_file", "arguments": "{\"path\":\"x\"}"}},
                    {"id": "b", "type": "function", "function": {"name": "read_file", "arguments": "{}"}},
                ]},
                {"role": "tool", "tool_call_id": "a", "content": "text"},
                {"role": "tool", "tool_call_id": "b", "content": "error: no"},
            ],
        });
        assert_eq!(body(&request, false), wanted);
        assert_eq!(body(&request, true)["max_completion_tokens"], 100);
        (request.tools, request.system, request.max_tokens) = (&[], "", None);
        let plain = body(&request, true);
        assert!(plain.get("tools").is_none() && plain.get("max_completion_tokens").is_none());
        assert_eq!(plain["messages"][0]["role"], "user");
    }

    #[test]
    fn an_answer_is_put_together_from_its_pieces() {
        let (pieces, answer) = read(&[
            delta(json!({"role": "assistant", "content": ""})),
            delta(json!({"reasoning_content": "hm"})),
            delta(json!({"content": "I "})),
            delta(json!({"content": "look"})),
            delta(json!({"tool_calls": [{"index": 0, "id": "a", "type": "function",
                                         "function": {"name": "t", "arguments": ""}}]})),
            delta(json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"a\":"}}]})),
            delta(json!({"tool_calls": [{"index": 0, "function": {"arguments": "1}"}},
                                        {"index": 1, "id": "b", "function": {"name": "u", "arguments": "{}"}}]})),
            end("tool_calls"),
            json!({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 7,
                                            "prompt_tokens_details": {"cached_tokens": 4}}}),
        ]);
        let text = |text: &str| AnswerPiece::Text(text.into());
        assert_eq!(pieces, [AnswerPiece::Thought("hm".into()), text("I "), text("look")]);
        let answer = answer.unwrap();
        assert_eq!(calls(&answer), [("a", "t", r#"{"a":1}"#), ("b", "u", "{}")]);
        assert_eq!(answer.blocks[1], ModelBlock::Text("I look".into()));
        let usage = answer.usage;
        assert_eq!((usage.input_tokens, usage.cached_tokens, usage.output_tokens), (10, 4, 7));
    }

    #[test]
    fn servers_that_number_tools_badly_are_understood() {
        let call = |id: &str, index: Value, arguments: Value| {
            let mut call = json!({"function": {"name": "t", "arguments": arguments}});
            if !id.is_empty() {
                call["id"] = json!(id);
            }
            if !index.is_null() {
                call["index"] = index;
            }
            delta(json!({"tool_calls": [call]}))
        };
        let same = [call("a", json!(0), json!("{}")), call("b", json!(0), json!({"x": 1})), end("stop")];
        assert_eq!(calls(&read(&same).1.unwrap()), [("a", "t", "{}"), ("b", "t", r#"{"x":1}"#)]);
        let none = [
            call("a", Value::Null, json!("{\"x\":")),
            call("", Value::Null, json!("2}")),
            call("b", Value::Null, json!("{}")),
            end("stop"),
        ];
        assert_eq!(calls(&read(&none).1.unwrap()), [("a", "t", r#"{"x":2}"#), ("b", "t", "{}")]);
        let late = [call("", json!(0), json!("")), call("a", json!(0), json!("{}")), end("stop")];
        assert_eq!(calls(&read(&late).1.unwrap()), [("a", "t", "{}")], "its id comes with a later piece");
        for (id, index) in [("", Value::Null), ("", json!(0)), ("call_0", json!(0)), ("call_0", Value::Null)]
        {
            let alike = [
                call(id, index.clone(), json!("{\"x\":")),
                call(id, index.clone(), json!("2}")),
                call(id, index.clone(), json!("")),
                call(id, index.clone(), json!("{}")),
                call(id, index.clone(), json!({"x": 1})),
                end("stop"),
            ];
            let wanted = [(id, "t", r#"{"x":2}"#), (id, "t", "{}"), (id, "t", r#"{"x":1}"#)];
            assert_eq!(calls(&read(&alike).1.unwrap()), wanted, "{id} {index}");
        }
    }

    #[test]
    fn an_incomplete_answer_is_an_error() {
        let text = delta(json!({"content": "a"}));
        assert_eq!(read(std::slice::from_ref(&text)).1, Err(StreamError::Early));
        assert_eq!(read(&[text.clone(), end("length")]).1.unwrap().stop, StopReason::Length);
        assert_eq!(read(&[text, end("content_filter")]).1.unwrap().stop, StopReason::Refused);
        let mut reader = OpenAiReader::default();
        assert_eq!((reader.handle(" [DONE]"), reader.is_done()), (Ok(Vec::new()), true));
        assert!(reader.finish().is_ok());
    }

    #[test]
    fn errors_within_a_stream_are_classified() {
        let error = |error: Value| read(&[json!({"error": error})]).1.unwrap_err();
        assert_eq!(error(json!({"message": "later", "code": 503})), StreamError::Busy("later".into()));
        let kind = json!({"message": "later", "type": "server_error"});
        assert_eq!(error(kind), StreamError::Busy("later".into()));
        assert_eq!(error(json!("no")), StreamError::Refused("no".into()));
        let long = json!({"message": "too much", "code": "context_length_exceeded"});
        assert_eq!(error(long), StreamError::Overflow("too much".into()));
        assert!(matches!(OpenAiReader::default().handle("<html>"), Err(StreamError::Nonsense(_))));
    }

    #[test]
    fn values_of_the_wrong_type_are_ignored() {
        let (pieces, answer) = read(&[
            json!([]),
            json!({"choices": {}}),
            json!({"choices": [{"delta": 7}], "usage": null, "error": null}),
            delta(json!({"content": 5, "tool_calls": "x"})),
            delta(json!({"tool_calls": [7, {"index": u64::MAX, "id": 5, "function": []}]})),
            delta(json!({"tool_calls": [{"index": u64::MAX, "id": "a"}, {"index": u64::MAX, "id": "b"}]})),
            end("stop"),
        ]);
        assert!(pieces.is_empty() && answer.unwrap().calls().all(|call| call.name.is_empty()));
    }
}
