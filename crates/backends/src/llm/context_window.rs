//! The part of a conversation that is sent to a model, shortened to fit its context window.

use super::limits;
use super::model_message::{ModelBlock, ModelToolCall, ModelTurn, ToolOutcome};
use std::collections::BTreeSet;
use swb_chat::{Ending, Message, Part, Role, ToolCall, ToolResult, ToolStatus};

/// Bytes of a token before a model has counted some: what English prose and code come to.
const BYTES_PER_TOKEN: f64 = 4.0;
/// What bytes of a token can reasonably be; servers that count wrongly must not make us forget everything.
const BYTES_PER_TOKEN_RANGE: [f64; 2] = [1.5, 8.0];
/// How full the memory may become, counted roughly, before old results are shortened.
const FULL: f64 = 0.85;

/// The conversation as it is sent.
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
                Role::Assistant => memory.recall(message),
                Role::System => memory.system += &format!("\n\n{}", message.text()),
                Role::User => memory.prompt(message.text()),
            }
        }
        memory.prompt(prompt.to_owned());
        // The oldest messages may have been forgotten: a conversation begins with a person.
        let first = memory.turns.iter().position(|turn| matches!(turn, ModelTurn::User(_)));
        memory.turns.drain(..first.unwrap_or(0));
        memory
    }

    /// What is said, oldest first.
    pub(super) fn turns(&self) -> &[ModelTurn] {
        &self.turns
    }

    /// What is told before.
    pub(super) fn system(&self) -> &str {
        &self.system
    }

    /// Names uses of tools so that no two of the conversation bear the same name: some servers count from 0 each time.
    pub(super) fn name(&mut self, said: &mut [ModelBlock]) {
        for said in said {
            if let ModelBlock::Call(call) = said {
                call.id = self.ids.unique(&call.id);
            }
        }
    }

    /// The model has said something; nothing is not worth remembering.
    pub(super) fn said(&mut self, said: Vec<ModelBlock>) {
        if said.iter().any(is_something) {
            self.turns.push(ModelTurn::Assistant(said));
        }
    }

    /// Its tools have.
    pub(super) fn results(&mut self, outcomes: Vec<ToolOutcome>) {
        if !outcomes.is_empty() {
            self.turns.push(ModelTurn::Results(outcomes));
        }
    }

    /// The model has counted the tokens of what it was told.
    pub(super) fn counted(&mut self, tokens: u64) {
        if tokens > 0 {
            let [least, most] = BYTES_PER_TOKEN_RANGE;
            self.bytes_per_token = (self.bytes() as f64 / tokens as f64).clamp(least, most);
        }
    }

    /// Whether no model could take it in.
    pub(super) fn is_excessive(&self) -> bool {
        self.bytes() > limits::REQUEST_BYTES
    }

    /// Makes it fit into so many tokens, if shortening old results can do that; whether anything was shortened.
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

    /// Shortens every result but the last ones; whether there was one.
    pub(super) fn shorten_all(&mut self) -> bool {
        std::iter::from_fn(|| self.shorten_oldest()).count() > 0
    }

    /// Shortens the oldest result that is long and not among the last ones; how many bytes that saved.
    fn shorten_oldest(&mut self) -> Option<usize> {
        let last = self.turns.iter().rposition(|turn| matches!(turn, ModelTurn::Results(_)))?;
        let outcomes = self.turns[..last].iter_mut().filter_map(|turn| match turn {
            ModelTurn::Results(outcomes) => Some(outcomes),
            _ => None,
        });
        // Twice as long: what would hardly become shorter stays as it is.
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

    /// Two prompts in a row, because the first had no answer, are one: not every model takes two.
    fn prompt(&mut self, text: String) {
        // Messages of nothing but attachments: an empty one is refused.
        let text = if text.trim().is_empty() { "(no text)".to_owned() } else { text };
        match self.turns.last_mut() {
            Some(ModelTurn::User(known)) => *known += &format!("\n\n{text}"),
            _ => self.turns.push(ModelTurn::User(text)),
        }
    }

    /// An answer of earlier: words and the uses of tools after them are one turn each, then come the results.
    fn recall(&mut self, message: &Message) {
        let (mut said, mut outcomes) = (Vec::new(), Vec::new());
        for part in &message.parts {
            match part {
                Part::Text(text) => {
                    if !outcomes.is_empty() {
                        self.said(std::mem::take(&mut said));
                        self.results(std::mem::take(&mut outcomes));
                    }
                    said.push(ModelBlock::Text(text.clone()));
                }
                Part::Tool { call, result } => {
                    let id = self.ids.unique(&call.id.0);
                    outcomes.push(outcome(&id, result.as_ref()));
                    said.push(ModelBlock::Call(call_of(id, call)));
                }
                // Thoughts of earlier answers are of no use, and without their proof they are refused.
                Part::Thought(_) | Part::Attachment(_) => {}
            }
        }
        if message.ending == Ending::Stopped && outcomes.is_empty() && !said.is_empty() {
            said.push(ModelBlock::Text("\n[stopped by the user]".to_owned()));
        }
        self.said(said);
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

/// The use of a tool of earlier. It may have been another agent's, whose tools have other names than models take.
fn call_of(id: String, call: &ToolCall) -> ModelToolCall {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    let mut name: String = call.name.chars().take(64).map(plain).collect();
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

/// Names of uses of tools.
#[derive(Debug, Default)]
struct Ids {
    used: BTreeSet<String>,
    made: u32,
}

impl Ids {
    /// The name itself if it can be used and is new, else another one.
    fn unique(&mut self, id: &str) -> String {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let good = (1..=64).contains(&id.len()) && id.chars().all(plain) && !self.used.contains(id);
        let mut name = id.to_owned();
        while !good && (name == id || self.used.contains(&name)) {
            self.made += 1;
            // Nine letters and digits: there are servers that take nothing else.
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

    fn message(role: Role, parts: Vec<Part>) -> Message {
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
            message(Role::Assistant, vec![text("left over")]),
            message(Role::System, vec![text("be brief")]),
            message(Role::User, vec![text("one")]),
            message(
                Role::Assistant,
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
    fn prompts_without_an_answer_are_one() {
        let mut stopped = message(Role::Assistant, vec![text("half")]);
        stopped.ending = Ending::Stopped;
        let history = [
            message(Role::User, vec![text("one")]),
            message(Role::Assistant, Vec::new()),
            message(Role::User, vec![text("two")]),
            stopped,
        ];
        let memory = ContextWindow::new(String::new(), &history, "three");
        let half = ModelTurn::Assistant(vec![said("half"), said("\n[stopped by the user]")]);
        assert_eq!(memory.turns(), [user("one\n\ntwo"), half, user("three")]);
    }

    #[test]
    fn what_was_stopped_while_a_tool_was_used_says_so_itself() {
        let mut stopped = message(Role::Assistant, vec![text("I look"), tool("a", "read_file", None)]);
        stopped.ending = Ending::Stopped;
        let memory =
            ContextWindow::new(String::new(), &[message(Role::User, vec![text("one")]), stopped], "two");
        let wanted = [
            user("one"),
            ModelTurn::Assistant(vec![said("I look"), call("a", "read_file")]),
            ModelTurn::Results(vec![result("a", "it was interrupted", true)]),
            user("two"),
        ];
        assert_eq!(memory.turns(), wanted);
    }

    #[test]
    fn results_of_earlier_are_told_as_far_as_a_model_is_told_any() {
        let long = "x".repeat(2 * limits::RESULT_BYTES);
        let history = [
            message(Role::User, vec![text("one")]),
            message(Role::Assistant, vec![tool("a", "read_file", Some(&long))]),
        ];
        let memory = ContextWindow::new(String::new(), &history, "two");
        assert!(memory.bytes() < limits::RESULT_BYTES + 100, "{}", memory.bytes());
    }

    #[test]
    fn what_no_request_can_hold_is_excessive() {
        let memory = |bytes: usize| ContextWindow::new(String::new(), &[], &"x".repeat(bytes));
        assert!(!memory(limits::REQUEST_BYTES).is_excessive());
        assert!(memory(limits::REQUEST_BYTES + 1).is_excessive());
    }

    #[test]
    fn a_prompt_without_text_is_one() {
        let nothing = message(Role::User, Vec::new());
        assert_eq!(
            ContextWindow::new(String::new(), &[nothing], " ").turns(),
            [user("(no text)\n\n(no text)")]
        );
    }

    #[test]
    fn no_two_uses_of_tools_bear_the_same_name() {
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
            memory.said(vec![call(id, "t")]);
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
    fn tokens_are_counted_by_the_model() {
        let mut memory = ContextWindow::new(String::new(), &[], &"x".repeat(1000));
        memory.counted(500);
        assert!((memory.bytes_per_token - 2.0).abs() < 0.01);
        memory.counted(1);
        assert!((memory.bytes_per_token - 8.0).abs() < 0.01, "what cannot be is not believed");
        memory.counted(0);
        assert!((memory.bytes_per_token - 8.0).abs() < 0.01);
    }
}
