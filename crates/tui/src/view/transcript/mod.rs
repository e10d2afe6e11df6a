//! A conversation as it is shown: events in, lines out.
//!
//! Lines that [`Transcript::take`] returns never change; [`Transcript::changing`] is what may still change: the
//! beginning of a line, running tools, the status of the agent.

#[cfg(test)]
mod tests;

use crate::event::{ToolUse, TranscriptMessage, ViewEvent, text};
use crate::images;
use crate::limits;
use crate::markdown::Markdown;
use crate::text::{Colour, StyledLine, TextStyle, columns, shortened};
use serde_json::Value;
use std::time::{Duration, Instant};

/// How an answer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerEnd {
    /// The answer is complete.
    Completed,
    /// It failed, with the reason.
    Failed(String),
    /// The daemon ended.
    Interrupted,
    /// The user stopped it.
    Stopped,
}

/// The cost of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct AnswerUsage {
    /// Tokens of the prompt and the answer.
    pub tokens: Option<u64>,
    /// Dollars.
    pub cost: Option<f64>,
    /// Percent of the context that is used.
    pub context: Option<u64>,
}

/// Who answers, as far as prompts show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Addressee {
    /// An agent.
    #[default]
    Agent,
    /// A shell, which runs what is sent.
    Shell,
}

impl Addressee {
    /// The mark before a prompt.
    pub fn mark(self) -> &'static str {
        match self {
            Self::Agent => "› ",
            Self::Shell => "$ ",
        }
    }

    /// The style of prompts.
    pub fn style(self) -> TextStyle {
        let colour = match self {
            Self::Agent => Colour::Cyan,
            Self::Shell => Colour::Yellow,
        };
        TextStyle { bold: true, ..TextStyle::of(colour) }
    }
}

/// The state of the display.
#[derive(Debug, Clone, Default)]
pub struct Transcript {
    /// Columns of the terminal.
    pub width: usize,
    /// Who answers.
    pub addressee: Addressee,
    markdown: Markdown,
    lines: Vec<StyledLine>,
    tools: Vec<(ToolUse, Instant)>,
    last_tool: Option<(ToolUse, Result<String, String>)>,
    thought: Option<(String, Instant)>,
    status: String,
    context: Option<u64>,
    /// Since when the agent is answering.
    since: Option<Instant>,
    /// The part of the answer that was shown, as far as it is kept, and its number of bytes.
    answer: String,
    shown: usize,
    /// The last line is empty.
    blank: bool,
}

impl Transcript {
    /// An empty transcript for a terminal of this many columns.
    pub fn new(width: usize) -> Self {
        Self { width, ..Self::default() }
    }

    /// Sets whether answers are shown as they are, because they are not Markdown.
    pub fn set_verbatim(&mut self, verbatim: bool) {
        self.markdown.verbatim = verbatim;
    }

    /// Whether the agent is answering.
    pub fn is_active(&self) -> bool {
        self.since.is_some()
    }

    /// The part of an answer that was not shown yet; `None` if another text was shown.
    pub fn rest_of<'a>(&self, answer: &'a str) -> Option<&'a str> {
        answer.get(self.shown..).filter(|_| answer.starts_with(&self.answer))
    }

    /// Takes the lines that stay.
    pub fn take(&mut self) -> Vec<StyledLine> {
        std::mem::take(&mut self.lines)
    }

    /// Handles an event.
    pub fn handle(&mut self, event: &ViewEvent, now: Instant) {
        match event {
            ViewEvent::Prompt(prompt) => self.prompt(prompt, now),
            ViewEvent::AnswerText { text, .. } => self.answer_text(text, now),
            ViewEvent::Progress { thought: Some(thought), .. } => self.think(thought, now),
            ViewEvent::Progress { message, context, ephemeral, .. } => {
                self.context = context.or(self.context);
                self.progress(message, *ephemeral, now);
            }
            ViewEvent::ToolCalled(tool) => self.tool_called(tool, now),
            ViewEvent::ToolEnded { id, output, error } => self.tool_ended(id, output, error.as_deref(), now),
            ViewEvent::Approval(_)
            | ViewEvent::Question(_)
            | ViewEvent::Closed { .. }
            | ViewEvent::Error(_)
            | ViewEvent::Seat { .. }
            | ViewEvent::Settled { .. } => {}
        }
    }

    /// Shows earlier messages.
    pub fn recount(&mut self, messages: &[TranscriptMessage], now: Instant) {
        for message in messages {
            if message.user {
                self.prompt(&message.text, now);
                self.since = None;
                continue;
            }
            let lines = self.markdown.push(&message.text);
            self.add_all(lines);
            self.close(now);
            match message.ending.as_deref() {
                None => {}
                Some("stopped") => self.mark("stopped"),
                Some("interrupted") => self.mark("interrupted: the daemon ended"),
                Some(other) => self.mark(other),
            }
        }
    }

    /// Shows a note that is not part of the conversation.
    pub fn note(&mut self, note: &str) {
        for line in note.lines() {
            self.add(StyledLine::new(TextStyle::DIM, &format!("· {line}")).hanging(2));
        }
    }

    /// Adds lines from elsewhere, separated from the text before them.
    pub fn insert(&mut self, lines: Vec<StyledLine>, now: Instant) {
        self.flush(now);
        self.space();
        self.add_all(lines);
    }

    /// The answer is over.
    pub fn end(&mut self, ending: &AnswerEnd, usage: &AnswerUsage, now: Instant) {
        self.close(now);
        for (tool, since) in std::mem::take(&mut self.tools) {
            self.add(self.tool_line(&tool, "✗", Colour::Red, now.saturating_duration_since(since)));
        }
        match ending {
            AnswerEnd::Completed => {}
            AnswerEnd::Failed(reason) => self.mark(reason),
            AnswerEnd::Interrupted => self.mark("interrupted: the daemon ended"),
            AnswerEnd::Stopped => self.mark("stopped"),
        }
        let took = self.since.take().map(|since| now.saturating_duration_since(since));
        let footer = footer(usage, self.context, took);
        self.add(StyledLine::new(TextStyle::DIM, &footer));
        self.status.clear();
        self.answer.clear();
        self.shown = 0;
    }

    /// The lines that may still change; without the status of the agent if it waits for the user.
    pub fn changing(&self, now: Instant, waiting: bool) -> Vec<StyledLine> {
        let mut lines = self.markdown.preview();
        let room = self.width.saturating_sub(2);
        for (tool, since) in self.tools.iter().take(limits::TOOLS) {
            lines.push(self.tool_line(tool, "▸", Colour::Yellow, now.saturating_duration_since(*since)));
        }
        if let Some((thought, _)) = &self.thought {
            let last = thought.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
            let style = TextStyle { italic: true, ..TextStyle::DIM };
            lines.push(StyledLine::new(style, &shortened(&format!("∴ {}", last.trim()), room)));
        }
        if let Some(since) = self.since.filter(|_| !waiting) {
            let doing = if self.status.is_empty() { "working" } else { &self.status };
            let line = format!("{doing} · {} · Ctrl+C stops", seconds(now.saturating_duration_since(since)));
            lines.push(StyledLine::new(TextStyle::DIM, &shortened(&line, room)));
        }
        lines
    }

    /// Limits the incomplete line to this many rows: its first rows become final.
    pub fn limit(&mut self, rows: usize) {
        let width = self.width.max(1);
        let preview = self.markdown.preview();
        // A table is complete only with its last row.
        let Some(taken) = preview.last().filter(|line| !line.is_table()).map(|line| line.fold(width).len())
        else {
            return;
        };
        if let Some(line) = self.markdown.give_up_rows(taken.saturating_sub(rows.max(1)), width) {
            self.add(line);
        }
    }

    /// The last tool that was used, in full.
    pub fn last_tool(&self) -> Vec<StyledLine> {
        let Some((tool, result)) = &self.last_tool else {
            return vec![StyledLine::new(TextStyle::DIM, "· no tool was used yet")];
        };
        let mut lines = vec![
            StyledLine::new(TextStyle::BOLD, &tool.name)
                .with(TextStyle::DIM, &format!("  {}", tool.description)),
        ];
        lines.extend(parameters(&tool.parameters));
        let (style, output) = match result {
            Ok(output) => (TextStyle::PLAIN, output),
            Err(error) => (TextStyle::of(Colour::Red), error),
        };
        let all = output.lines().count();
        let shown = output.lines().take(limits::TOOL_LINES);
        lines.extend(shown.map(|line| StyledLine::new(style, &format!("  {line}")).hanging(2).verbatim()));
        if all > limits::TOOL_LINES {
            lines.push(StyledLine::new(
                TextStyle::DIM,
                &format!("  … {} more lines", all - limits::TOOL_LINES),
            ));
        }
        lines
    }

    fn prompt(&mut self, prompt: &str, now: Instant) {
        self.close(now);
        self.space();
        for (n, line) in prompt.lines().enumerate() {
            let mark = if n == 0 { self.addressee.mark() } else { "  " };
            self.add(StyledLine::new(self.addressee.style(), &format!("{mark}{line}")).hanging(2));
        }
        for name in images::names(prompt) {
            self.add(StyledLine::new(TextStyle::DIM, &format!("  {}{name}", images::MARK)).hanging(4));
        }
        self.space();
        self.since = Some(now);
        self.context = None;
        self.answer.clear();
        self.shown = 0;
    }

    fn answer_text(&mut self, text: &str, now: Instant) {
        if text.is_empty() {
            return;
        }
        self.begin(now);
        self.end_thought(now);
        self.status.clear();
        self.shown += text.len();
        if self.shown <= limits::KEPT {
            self.answer.push_str(text);
        }
        let lines = self.markdown.push(text);
        self.add_all(lines);
    }

    /// Starts the clock of an answer that began before this client attached.
    pub fn begin(&mut self, now: Instant) {
        self.since.get_or_insert(now);
    }

    fn think(&mut self, thought: &str, now: Instant) {
        self.begin(now);
        let (kept, _) = self.thought.get_or_insert_with(|| (String::new(), now));
        if kept.len() < limits::KEPT {
            kept.push_str(thought);
        }
    }

    fn end_thought(&mut self, now: Instant) {
        if let Some((thought, since)) = self.thought.take() {
            let first = thought.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            let took = seconds(now.saturating_duration_since(since));
            let line = format!("∴ thought for {took}: {}", first.trim());
            let style = TextStyle { italic: true, ..TextStyle::DIM };
            self.add(StyledLine::new(style, &shortened(&line, self.width.saturating_sub(1))));
        }
    }

    fn progress(&mut self, message: &str, ephemeral: bool, now: Instant) {
        if message.trim().is_empty() {
            return;
        }
        if ephemeral {
            self.status = message.lines().next().unwrap_or_default().trim().to_owned();
            return;
        }
        self.flush(now);
        self.note(message);
    }

    fn tool_called(&mut self, tool: &ToolUse, now: Instant) {
        self.begin(now);
        self.flush(now);
        match self.tools.iter().position(|(known, _)| known.id == tool.id) {
            Some(at) => self.tools[at].0 = tool.clone(),
            None if self.tools.len() < limits::OPEN_TOOLS => self.tools.push((tool.clone(), now)),
            None => {}
        }
    }

    fn tool_ended(&mut self, id: &str, output: &str, error: Option<&str>, now: Instant) {
        self.flush(now);
        let at = self.tools.iter().position(|(tool, _)| tool.id == id);
        let (tool, since) = at.map_or_else(|| (ToolUse::default(), now), |at| self.tools.remove(at));
        let (mark, colour) = if error.is_some() { ("✗", Colour::Red) } else { ("✓", Colour::Green) };
        let mut line = self.tool_line(&tool, mark, colour, now.saturating_duration_since(since));
        if let Some(error) = error {
            let room = self.width.saturating_sub(columns(&line.plain()) + 3);
            line.push(TextStyle::of(Colour::Red), &format!("  {}", shortened(first_line(error), room)));
        }
        self.add(line);
        let kept = |text: &str| text.chars().take(limits::KEPT).collect::<String>();
        let result = match error {
            Some(error) => Err(kept(if output.is_empty() { error } else { output })),
            None => Ok(kept(output)),
        };
        self.last_tool = Some((tool, result));
    }

    /// One line about a tool call.
    fn tool_line(&self, tool: &ToolUse, mark: &str, colour: Colour, took: Duration) -> StyledLine {
        let about =
            if tool.description.is_empty() { summary(&tool.parameters) } else { tool.description.clone() };
        let name = if tool.name.is_empty() { "tool" } else { &tool.name };
        let took = seconds(took);
        let room = self.width.saturating_sub(columns(name) + columns(&took) + 8);
        StyledLine::new(TextStyle::of(colour), &format!("{mark} "))
            .with(TextStyle::BOLD, name)
            .with(TextStyle::PLAIN, &format!("  {}", shortened(first_line(&about), room)))
            .with(TextStyle::DIM, &format!("  {took}"))
    }

    /// Ends an incomplete line and a thought before something else is shown.
    fn flush(&mut self, now: Instant) {
        self.end_thought(now);
        let lines = self.markdown.finish();
        self.add_all(lines);
    }

    /// Ends a message and everything that is not closed in it.
    fn close(&mut self, now: Instant) {
        self.end_thought(now);
        let lines = self.markdown.end();
        self.add_all(lines);
    }

    fn mark(&mut self, what: &str) {
        self.add(StyledLine::new(TextStyle::of(Colour::Red), &format!("✗ {what}")).hanging(2));
    }

    fn space(&mut self) {
        if !self.blank {
            self.add(StyledLine::default());
        }
    }

    fn add_all(&mut self, lines: Vec<StyledLine>) {
        lines.into_iter().for_each(|line| self.add(line));
    }

    /// Adds a line.
    pub fn add(&mut self, line: StyledLine) {
        self.blank = line.is_empty();
        self.lines.push(line);
    }
}

/// All parameters of a tool call, one or more lines for each value.
pub(super) fn parameters(parameters: &Value) -> Vec<StyledLine> {
    let shown = |key: &str, value: &Value| -> Vec<StyledLine> {
        let value = text(value);
        let mut lines = value.lines();
        let first = format!("  {key}: {}", lines.next().unwrap_or_default());
        let all = std::iter::once(first).chain(lines.map(|line| format!("    {line}")));
        all.map(|line| StyledLine::new(TextStyle::of(Colour::Cyan), &line).hanging(4).verbatim()).collect()
    };
    match parameters {
        Value::Null => Vec::new(),
        Value::Object(fields) => fields.iter().flat_map(|(key, value)| shown(key, value)).collect(),
        other => shown("parameters", other),
    }
}

/// The shortest description of parameters: the first text among them.
fn summary(parameters: &Value) -> String {
    let texts = parameters.as_object().into_iter().flatten().filter_map(|(_, value)| value.as_str());
    texts.map(str::to_owned).next().unwrap_or_default()
}

fn first_line(text: &str) -> &str {
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim()
}

fn footer(usage: &AnswerUsage, context: Option<u64>, took: Option<Duration>) -> String {
    let context = usage.context.or(context).map(|percent| format!("context {percent}%"));
    let tokens = usage.tokens.map(|tokens| match tokens {
        0..1000 => format!("{tokens} tokens"),
        _ => format!("{}.{}k tokens", tokens / 1000, tokens % 1000 / 100),
    });
    let cost = usage.cost.filter(|cost| *cost > 0.0).map(|cost| match cost {
        ..0.0001 => "under $0.0001".to_owned(),
        ..0.1 => format!("${cost:.4}"),
        _ => format!("${cost:.2}"),
    });
    let parts = [context, tokens, cost, took.map(seconds)];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { String::new() } else { format!("— {}", parts.join(" · ")) }
}

fn seconds(time: Duration) -> String {
    match time.as_secs() {
        0..10 => format!("{:.1}s", time.as_secs_f64()),
        10..60 => format!("{}s", time.as_secs()),
        all => format!("{}m{:02}s", all / 60, all % 60),
    }
}
