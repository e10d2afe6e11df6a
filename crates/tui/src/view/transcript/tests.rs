//! Tests: events in, lines out.

use super::*;
use serde_json::json;

struct Fixture {
    transcript: Transcript,
    now: Instant,
    lines: Vec<String>,
}

impl Fixture {
    fn new() -> Self {
        let transcript = Transcript { width: 60, ..Transcript::default() };
        Self { transcript, now: Instant::now(), lines: Vec::new() }
    }

    fn handle(&mut self, event: ViewEvent) -> &mut Self {
        self.now += Duration::from_millis(500);
        self.transcript.handle(&event, self.now);
        self.drain()
    }

    fn drain(&mut self) -> &mut Self {
        self.lines.extend(self.transcript.take().iter().map(|line| line.plain().trim_end().to_owned()));
        self
    }

    fn changing(&self) -> Vec<String> {
        self.transcript.changing(self.now, false).iter().map(StyledLine::plain).collect()
    }
}

fn answer_text(text: &str) -> ViewEvent {
    ViewEvent::AnswerText { text: text.into(), last: false }
}

fn tool(id: &str, name: &str, description: &str) -> ViewEvent {
    let parameters = json!({"path": "main.rs"});
    ViewEvent::ToolCalled(ToolUse {
        id: id.into(),
        name: name.into(),
        description: description.into(),
        parameters,
    })
}

fn thought(text: &str) -> ViewEvent {
    ViewEvent::Progress { message: String::new(), context: None, ephemeral: true, thought: Some(text.into()) }
}

#[test]
fn an_answer_is_shown_in_order_and_tools_are_folded() {
    let mut fixture = Fixture::new();
    fixture
        .handle(ViewEvent::Prompt("explain\nthis".into()))
        .handle(thought("Let me see.\nIt is"))
        .handle(thought(" simple.\n"))
        .handle(answer_text("First **thi"))
        .handle(answer_text("s**:\n- on"));
    assert_eq!(fixture.changing(), ["• on", "working · 2.0s · Ctrl+C stops"]);
    fixture.handle(tool("1", "read_file", "Reading main.rs")).handle(tool("2", "search", ""));
    assert_eq!(fixture.changing()[..2], ["▸ read_file  Reading main.rs  0.5s", "▸ search  main.rs  0.0s"]);
    fixture
        .handle(ViewEvent::ToolEnded { id: "1".into(), output: "fn main".into(), error: None })
        .handle(ViewEvent::ToolEnded { id: "2".into(), output: String::new(), error: Some("no\nway".into()) })
        .handle(answer_text("Done."));
    let usage = AnswerUsage { tokens: Some(1234), cost: Some(0.012), context: Some(7) };
    fixture.transcript.end(&AnswerEnd::Completed, &usage, fixture.now);
    insta::assert_snapshot!(fixture.drain().lines.join("\n"), @r"

    › explain
      this

    ∴ thought for 1.0s: Let me see.
    First this:
    • on
    ✓ read_file  Reading main.rs  1.0s
    ✗ search  main.rs  1.0s  no
    Done.
    — context 7% · 1.2k tokens · $0.0120 · 4.5s
    ");
    assert!(!fixture.transcript.is_active() && fixture.changing().is_empty());
}

#[test]
fn ephemeral_progress_is_on_the_status_line_and_the_rest_stays() {
    let progress = |message: &str, ephemeral| ViewEvent::Progress {
        message: message.into(),
        context: Some(12),
        ephemeral,
        thought: None,
    };
    let mut fixture = Fixture::new();
    fixture.handle(ViewEvent::Prompt("x".into())).handle(progress("looking", true));
    assert_eq!(fixture.changing(), ["looking · 0.5s · Ctrl+C stops"]);
    fixture.handle(progress("one\ntwo", false));
    fixture.transcript.end(&AnswerEnd::Stopped, &AnswerUsage::default(), fixture.now);
    assert_eq!(fixture.drain().lines[3..], ["· one", "· two", "✗ stopped", "— context 12% · 1.0s"]);
}

#[test]
fn the_last_tool_is_shown_in_full() {
    let mut fixture = Fixture::new();
    assert!(fixture.transcript.last_tool()[0].plain().contains("no tool"));
    fixture.handle(tool("1", "read_file", "Reading"));
    fixture.handle(ViewEvent::ToolEnded { id: "1".into(), output: "one\n\x1b[2Jtwo".into(), error: None });
    let full: Vec<String> = fixture.transcript.last_tool().iter().map(StyledLine::plain).collect();
    assert_eq!(full, ["read_file  Reading", "  path: main.rs", "  one", r"  \u{1b}[2Jtwo"]);
}

#[test]
fn tools_without_an_end_get_one() {
    let mut fixture = Fixture::new();
    fixture.handle(tool("1", "run", "make"));
    fixture.transcript.end(&AnswerEnd::Interrupted, &AnswerUsage::default(), fixture.now);
    assert_eq!(fixture.drain().lines[..2], ["✗ run  make  0.0s", "✗ interrupted: the daemon ended"]);
}

#[test]
fn earlier_messages_are_shown_again() {
    let mut fixture = Fixture::new();
    let message = |user, text: &str, ending: Option<&str>| TranscriptMessage {
        user,
        text: text.into(),
        ending: ending.map(str::to_owned),
    };
    fixture
        .transcript
        .recount(&[message(true, "a", None), message(false, "*b*", Some("interrupted"))], fixture.now);
    assert_eq!(fixture.drain().lines[1..], ["› a", "", "b", "✗ interrupted: the daemon ended"]);
    assert!(!fixture.transcript.is_active());
}

#[test]
fn a_long_line_does_not_fill_the_screen() {
    let mut fixture = Fixture::new();
    fixture.handle(ViewEvent::Prompt("x".into())).handle(answer_text(&"word ".repeat(200)));
    fixture.transcript.limit(3);
    assert!(columns(&fixture.changing()[0]) <= 180, "{:?}", fixture.changing());
    fixture.handle(answer_text("end\n"));
    let whole: String = fixture.lines[3..].concat().replace(' ', "");
    assert_eq!(whole, "word".repeat(200) + "end");
}

#[test]
fn a_block_of_code_ends_with_its_message() {
    let mut fixture = Fixture::new();
    fixture
        .handle(ViewEvent::Prompt("x".into()))
        .handle(answer_text("```\ncode\n"))
        .handle(tool("1", "run", "make"));
    fixture.handle(answer_text("# code\n"));
    assert_eq!(fixture.lines.last().map(String::as_str), Some("    # code"), "a tool comes in between");
    fixture.transcript.end(&AnswerEnd::Stopped, &AnswerUsage::default(), fixture.now);
    fixture.handle(answer_text("# Title\n"));
    assert_eq!(fixture.lines.last().map(String::as_str), Some("Title"));
    let message = |text: &str| TranscriptMessage { user: false, text: text.into(), ending: None };
    fixture.transcript.recount(&[message("```\ncode"), message("# Title")], fixture.now);
    assert_eq!(fixture.drain().lines.last().map(String::as_str), Some("Title"));
}
