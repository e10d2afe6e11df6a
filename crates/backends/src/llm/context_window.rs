//! The part of a conversation that is sent to a model, shortened to fit its context window.

use super::limits;
use super::model_message::{ModelBlock, ModelToolCall, ModelTurn, ToolOutcome};
use std::collections::BTreeSet;
use swb_chat::{Author, Ending, Message, Part, ToolCall, ToolResult, ToolStatus};

/// Bytes per token until the model has counted: typical for English prose and code.
const BYTES_PER_TOKEN: f64 = 4.0;
/// Plausible bytes per token: a server that counts wrongly must not make us drop everything.
const BYTES_PER_TOKEN_RANGE: [f64; 2] = [1.5, 8.0];
/// How full the context window may become, by estimate, before old results are shortened.
const FULL: f64 = 0.85;

/// The conversation as sent to the model.
#[derive(Debug)]
pub(super) struct ContextWindow {
    turns: Vec<ModelTurn>,
    system: String,
    ids: Ids,
    bytes_per_token: f64,
}

impl ContextWindow {
    /// A conversation up to its new prompt.
    pub(super) fn new(system: String, history: &[Message], prompt: &str) -> Self {
        let mut memory =
            Self { turns: Vec::new(), system, ids: Ids::default(), bytes_per_token: BYTES_PER_TOKEN };
        for message in history {
            match message.role {
                Author::Assistant => memory.recall(message),
                Author::System => memory.system += &format!("\n\n{}", message.text()),
                Author::User => memory.prompt(message.text()),
            }
        }
        memory.prompt(prompt.to_owned());
        // The oldest messages may have been dropped: a conversation begins with the user.
        let first = memory.turns.iter().position(|turn| matches!(turn, ModelTurn::User(_)));
        memory.turns.drain(..first.unwrap_or(0));
        memory
    }

    /// The messages, oldest first.
    pub(super) fn turns(&self) -> &[ModelTurn] {
        &self.turns
    }

    /// The system prompt.
    pub(super) fn system(&self) -> &str {
        &self.system
    }

    /// Gives tool calls ids that are unique in the conversation: some servers count from 0 in every reply.
    pub(super) fn name(&mut self, said: &mut [ModelBlock]) {
        for said in said {
            if let ModelBlock::Call(call) = said {
                call.id = self.ids.unique(&call.id);
            }
        }
    }

    /// Appends the model's message, unless it is empty.
    pub(super) fn append(&mut self, said: Vec<ModelBlock>) {
        if said.iter().any(is_something) {
            self.turns.push(ModelTurn::Assistant(said));
        }
    }

    /// Appends the results of its tools.
    pub(super) fn results(&mut self, outcomes: Vec<ToolOutcome>) {
        if !outcomes.is_empty() {
            self.turns.push(ModelTurn::Results(outcomes));
        }
    }

    /// Takes the number of tokens that the model counted in its input.
    pub(super) fn counted(&mut self, tokens: u64) {
        if tokens > 0 {
            let [least, most] = BYTES_PER_TOKEN_RANGE;
            self.bytes_per_token = (self.bytes() as f64 / tokens as f64).clamp(least, most);
        }
    }

    /// Whether it is too long for any model.
    pub(super) fn is_excessive(&self) -> bool {
        self.bytes() > limits::REQUEST_BYTES
    }

    /// Shortens old results until it fits into this many tokens, if possible; returns whether it shortened any.
    pub(super) fn fit(&mut self, tokens: u64) -> bool {
        let room = (tokens as f64 * FULL * self.bytes_per_token) as usize;
        let mut over = self.bytes().saturating_sub(room);
        let mut shortened = false;
        while over > 0 {
            let Some(saved) = self.shorten_oldest() else { break };
            over = over.saturating_sub(saved);
            shortened = true;
        }
        shortened
    }

    /// Shortens every result but the last ones; returns whether there was one.
    pub(super) fn shorten_all(&mut self) -> bool {
        std::iter::from_fn(|| self.shorten_oldest()).count() > 0
    }

    /// Shortens the oldest long result that is not among the last ones; returns how many bytes that saved.
    fn shorten_oldest(&mut self) -> Option<usize> {
        let last = self.turns.iter().rposition(|turn| matches!(turn, ModelTurn::Results(_)))?;
        let outcomes = self.turns[..last].iter_mut().filter_map(|turn| match turn {
            ModelTurn::Results(outcomes) => Some(outcomes),
            _ => None,
        });
        // Twice as long: a result that would hardly shrink stays whole.
        let long = |outcome: &&mut ToolOutcome| outcome.text.len() > 2 * limits::SHORT_RESULT_BYTES;
        let outcome = outcomes.flatten().find(long)?;
        let before = outcome.text.len();
        outcome.text = shortened(&outcome.text, limits::SHORT_RESULT_BYTES);
        Some(before.saturating_sub(outcome.text.len()))
    }

    fn bytes(&self) -> usize {
        let turn = |turn: &ModelTurn| match turn {
            ModelTurn::Assistant(all) => all.iter().map(ModelBlock::bytes).sum(),
            ModelTurn::Results(outcomes) => outcomes.iter().map(|outcome| outcome.text.len()).sum::<usize>(),
            ModelTurn::User(text) => text.len(),
        };
        self.system.len() + self.turns.iter().map(turn).sum::<usize>()
    }

    /// Two prompts in a row, because the first had no answer, are joined: not every model accepts two.
    fn prompt(&mut self, text: String) {
        // A message with only attachments would be empty, and the API rejects that.
        let text = if text.trim().is_empty() { "(no text)".to_owned() } else { text };
        match self.turns.last_mut() {
            Some(ModelTurn::User(known)) => *known += &format!("\n\n{text}"),
            _ => self.turns.push(ModelTurn::User(text)),
        }
    }

    /// An earlier answer: text and the tool calls after it are one turn each, followed by the results.
    fn recall(&mut self, message: &Message) {
        let (mut said, mut outcomes) = (Vec::new(), Vec::new());
        for part in &message.parts {
            match part {
                Part::Text(text) => {
                    if !outcomes.is_empty() {
                        self.append(std::mem::take(&mut said));
                        self.results(std::mem::take(&mut outcomes));
                    }
                    said.push(ModelBlock::Text(text.clone()));
                }
                Part::Tool { call, result } => {
                    let id = self.ids.unique(&call.id.0);
                    outcomes.push(outcome(&id, result.as_ref()));
                    said.push(ModelBlock::Call(call_of(id, call)));
                }
                // Earlier thoughts are of no use, and the API rejects them without their signature.
                Part::Thought(_) | Part::Attachment(_) => {}
            }
        }
        if message.ending == Ending::Stopped && outcomes.is_empty() && !said.is_empty() {
            said.push(ModelBlock::Text("\n[stopped by the user]".to_owned()));
        }
        self.append(said);
        self.results(outcomes);
    }
}

fn is_something(said: &ModelBlock) -> bool {
    match said {
        ModelBlock::Call(_) => true,
        ModelBlock::Text(text) => !text.trim().is_empty(),
        ModelBlock::Thought { .. } => false,
    }
}

/// An earlier tool call. It may be of another agent, whose tool names models do not accept.
fn call_of(id: String, call: &ToolCall) -> ModelToolCall {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    let mut name: String = call.name.chars().take(limits::TOOL_NAME).map(plain).collect();
    if name.is_empty() {
        name.push_str("tool");
    }
    let arguments = if call.parameters.is_object() { call.parameters.to_string() } else { String::new() };
    ModelToolCall { id, name, arguments }
}

fn outcome(id: &str, result: Option<&ToolResult>) -> ToolOutcome {
    let (text, failed) = match result {
        Some(result) => {
            let error = result.error.as_deref().unwrap_or_default();
            let gap = if error.is_empty() || result.output.is_empty() { "" } else { "\n" };
            (format!("{error}{gap}{}", result.output), result.status == ToolStatus::Failed)
        }
        None => ("it was interrupted".to_owned(), true),
    };
    ToolOutcome { id: id.to_owned(), text: shortened(&text, limits::RESULT_BYTES), failed }
}

/// The beginning and the end of a text that is too long.
pub(super) fn shortened(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(most / 2);
    let tail = text.ceil_char_boundary(text.len() - most / 2);
    format!("{}\n[{} bytes left out]\n{}", &text[..head], tail - head, &text[tail..])
}

/// Ids of tool calls.
#[derive(Debug, Default)]
struct Ids {
    used: BTreeSet<String>,
    made: u32,
}

impl Ids {
    /// The id itself if it is valid and new, else another one.
    fn unique(&mut self, id: &str) -> String {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let good = (1..=64).contains(&id.len()) && id.chars().all(plain) && !self.used.contains(id);
        let mut name = id.to_owned();
        while !good && (name == id || self.used.contains(&name)) {
            self.made += 1;
            // Nine letters and digits: some servers accept nothing else.
            name = format!("swb{:06}", self.made);
        }
        self.used.insert(name.clone());
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use swb_chat::{ToolId, ToolKind};
    use swb_types::Timestamp;

    fn message(role: Author, parts: Vec<Part>) -> Message {
        Message { number: 1, role, parts, at: Timestamp(0), ending: Ending::Complete }
    }

    fn text(text: &str) -> Part {
        Part::Text(text.to_owned())
    }

    fn tool(id: &str, name: &str, output: Option<&str>) -> Part {
        let call = ToolCall {
            id: ToolId(id.into()),
            name: name.into(),
            description: None,
            kind: ToolKind::Other,
            parameters: json!({"a": 1}),
            locations: Vec::new(),
        };
        let result = output.map(|output| ToolResult::completed(call.id.clone(), output));
        Part::Tool { call, result }
    }

    fn said(text: &str) -> ModelBlock {
        ModelBlock::Text(text.to_owned())
    }

    fn call(id: &str, name: &str) -> ModelBlock {
        ModelBlock::Call(ModelToolCall { id: id.into(), name: name.into(), arguments: r#"{"a":1}"#.into() })
    }

    fn result(id: &str, text: &str, failed: bool) -> ToolOutcome {
        ToolOutcome { id: id.into(), text: text.into(), failed }
    }

    fn user(text: &str) -> ModelTurn {
        ModelTurn::User(text.to_owned())
    }

    #[test]
    fn earlier_turns_come_with_their_tools() {
        let history = [
            message(Author::Assistant, vec![text("left over")]),
            message(Author::System, vec![text("be brief")]),
            message(Author::User, vec![text("one")]),
            message(
                Author::Assistant,
                vec![
                    Part::Thought("hm".into()),
                    text("I look"),
                    tool("a", "read_file", Some("x")),
                    tool("a b", "Read a file", None),
                    text("done"),
                ],
            ),
        ];
        let memory = ContextWindow::new("sys".into(), &history, "two");
        assert_eq!(memory.system(), "sys\n\nbe brief");
        let wanted = [
            user("one"),
            ModelTurn::Assistant(vec![
                said("I look"),
                call("a", "read_file"),
                call("swb000001", "Read_a_file"),
            ]),
            ModelTurn::Results(vec![
                result("a", "x", false),
                result("swb000001", "it was interrupted", true),
            ]),
            ModelTurn::Assistant(vec![said("done")]),
            user("two"),
        ];
        assert_eq!(memory.turns(), wanted);
    }

    #[test]
    fn prompts_without_an_answer_are_joined() {
        let mut stopped = message(Author::Assistant, vec![text("half")]);
        stopped.ending = Ending::Stopped;
        let history = [
            message(Author::User, vec![text("one")]),
            message(Author::Assistant, Vec::new()),
            message(Author::User, vec![text("two")]),
            stopped,
        ];
        let memory = ContextWindow::new(String::new(), &history, "three");
        let half = ModelTurn::Assistant(vec![said("half"), said("\n[stopped by the user]")]);
        assert_eq!(memory.turns(), [user("one\n\ntwo"), half, user("three")]);
    }

    #[test]
    fn a_tool_call_that_was_stopped_is_marked_as_interrupted() {
        let mut stopped = message(Author::Assistant, vec![text("I look"), tool("a", "read_file", None)]);
        stopped.ending = Ending::Stopped;
        let memory =
            ContextWindow::new(String::new(), &[message(Author::User, vec![text("one")]), stopped], "two");
        let wanted = [
            user("one"),
            ModelTurn::Assistant(vec![said("I look"), call("a", "read_file")]),
            ModelTurn::Results(vec![result("a", "it was interrupted", true)]),
            user("two"),
        ];
        assert_eq!(memory.turns(), wanted);
    }

    #[test]
    fn earlier_results_are_cut_like_new_ones() {
        let long = "x".repeat(2 * limits::RESULT_BYTES);
        let history = [
            message(Author::User, vec![text("one")]),
            message(Author::Assistant, vec![tool("a", "read_file", Some(&long))]),
        ];
        let memory = ContextWindow::new(String::new(), &history, "two");
        assert!(memory.bytes() < limits::RESULT_BYTES + 100, "{}", memory.bytes());
    }

    #[test]
    fn a_conversation_too_long_for_any_request_is_excessive() {
        let memory = |bytes: usize| ContextWindow::new(String::new(), &[], &"x".repeat(bytes));
        assert!(!memory(limits::REQUEST_BYTES).is_excessive());
        assert!(memory(limits::REQUEST_BYTES + 1).is_excessive());
    }

    #[test]
    fn a_prompt_without_text_is_not_empty() {
        let nothing = message(Author::User, Vec::new());
        assert_eq!(
            ContextWindow::new(String::new(), &[nothing], " ").turns(),
            [user("(no text)\n\n(no text)")]
        );
    }

    #[test]
    fn tool_call_ids_are_unique() {
        let mut memory = ContextWindow::new(String::new(), &[], "one");
        let mut first = [call("call_0", "t"), call("call_0", "t"), call("", "t"), said("x")];
        memory.name(&mut first);
        assert_eq!(first, [call("call_0", "t"), call("swb000001", "t"), call("swb000002", "t"), said("x")]);
        let mut second = [call("swb000003", "t"), call("call_0", "t")];
        memory.name(&mut second);
        assert_eq!(second, [call("swb000003", "t"), call("swb000004", "t")]);
    }

    #[test]
    fn the_oldest_results_are_shortened_first() {
        let mut memory = ContextWindow::new(String::new(), &[], "one");
        let long = "é".repeat(20_000);
        for id in ["a", "b", "c"] {
            memory.append(vec![call(id, "t")]);
            memory.results(vec![result(id, &long, false)]);
        }
        let lengths = |memory: &ContextWindow| -> Vec<usize> {
            let outcomes = memory.turns.iter().filter_map(|turn| match turn {
                ModelTurn::Results(outcomes) => Some(outcomes[0].text.len()),
                _ => None,
            });
            outcomes.collect()
        };
        assert!(!memory.fit(1_000_000) && lengths(&memory) == [40_000; 3]);
        // 25 000 tokens are 100 000 bytes, of which 85 000 may be used.
        assert!(memory.fit(25_000));
        let after = lengths(&memory);
        assert!(after[0] < 500 && after[1..] == [40_000; 2], "{after:?}");
        assert!(memory.shorten_all() && !memory.shorten_all());
        let after = lengths(&memory);
        assert!(after[1] < 500 && after[2] == 40_000, "the last result stays: {after:?}");
    }

    #[test]
    fn the_estimate_follows_the_models_count() {
        let mut memory = ContextWindow::new(String::new(), &[], &"x".repeat(1000));
        memory.counted(500);
        assert!((memory.bytes_per_token - 2.0).abs() < 0.01);
        memory.counted(1);
        assert!((memory.bytes_per_token - 8.0).abs() < 0.01, "what cannot be is not believed");
        memory.counted(0);
        assert!((memory.bytes_per_token - 8.0).abs() < 0.01);
    }
}
