//! Tests: keys and messages in, requests and lines out.

use super::*;
use crate::limits::{LEAVE_TWICE, TYPING};
use serde_json::Value;
use std::time::Duration;
use swb_tui::event::{ApprovalPrompt, ToolUse, TranscriptMessage};
use swb_tui::input::keys::Key;
use swb_wire::scriptschnell::{ChatEnd, SessionPlace};

/// The home directory of the user.
const HOME: &str = "/w";

struct Tried {
    state: ChatState,
    now: Instant,
}

fn opened(messages: &[(bool, &str, Option<&str>)]) -> OpenedSession {
    let message = |(user, text, ending): &(bool, &str, Option<&str>)| TranscriptMessage {
        user: *user,
        text: (*text).to_owned(),
        ending: ending.map(str::to_owned),
    };
    OpenedSession {
        name: "s".into(),
        directory: "/w".into(),
        title: "t".into(),
        messages: messages.iter().map(message).collect(),
        owner: true,
        running: false,
        resumed: true,
        agent: None,
        terminal: false,
        instead_of: None,
    }
}

impl Tried {
    fn new() -> Self {
        let now = Instant::now();
        let mut state = ChatState::new(opened(&[]), HOME.as_ref(), now);
        state.transcript.take();
        Self { state, now }
    }

    /// Types with a second between two keys.
    fn type_in(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            self.now += TYPING + LEAVE_TWICE;
            let key = if c == '\r' { Key::Enter } else { Key::Char(c) };
            self.state.key(&key, self.now);
        }
        self
    }

    fn handle(&mut self, event: ViewEvent) -> &mut Self {
        self.state.event(event, self.now);
        self
    }

    fn answer_text(&mut self, text: &str, last: bool) -> &mut Self {
        self.handle(ViewEvent::AnswerText { text: text.into(), last })
    }

    /// What was sent, as it is on the wire.
    fn sent(&mut self) -> Vec<Value> {
        let outgoing = self.state.take_outgoing();
        outgoing.iter().map(|message| serde_json::to_value(&message.request).unwrap()).collect()
    }

    fn kinds(&mut self) -> Vec<String> {
        self.sent().iter().map(|message| message["type"].as_str().unwrap().to_owned()).collect()
    }

    fn shown(&mut self) -> String {
        let lines = self.state.transcript.take();
        lines.iter().map(|line| line.plain() + "\n").collect()
    }
}

fn approval(id: &str) -> ViewEvent {
    ViewEvent::Approval(ApprovalPrompt { id: id.into(), tool: "run".into(), ..ApprovalPrompt::default() })
}

fn end(status: &str) -> ServerMessage {
    ServerMessage::ChatSend(ChatEnd {
        status: status.into(),
        session_id: String::new(),
        usage: None,
        context_usage: None,
        notice: None,
    })
}

#[test]
fn a_prompt_is_sent_and_its_end_is_shown_once() {
    let mut tried = Tried::new();
    assert_eq!(tried.type_in("hi\r").sent()[0]["data"]["content"], "hi");
    tried.handle(ViewEvent::Prompt("hi".into())).answer_text("yes", false).answer_text("", true);
    assert!(tried.state.is_answering(), "until the daemon says so");
    tried.state.answer(RequestPurpose::Send("hi".into()), Ok(end("completed")), tried.now);
    let shown = tried.shown();
    assert_eq!(shown.matches("— ").count(), 1, "{shown}");
    assert!(!tried.state.is_answering());
    tried.handle(ViewEvent::Prompt("from elsewhere".into())).answer_text("yes", true);
    assert!(tried.shown().contains("— ") && !tried.state.is_answering());
}

#[test]
fn prompts_wait_while_the_agent_answers() {
    let mut tried = Tried::new();
    tried.type_in("hi\r").sent();
    // Sent and not confirmed yet, then confirmed; whether or not it begins like a command.
    assert!(tried.type_in("one\r").sent().is_empty());
    tried.handle(ViewEvent::Prompt("hi".into()));
    for prompt in ["//compact", "/two\nlines"] {
        tried.state.editor.put(prompt);
        tried.state.key(&Key::Enter, tried.now);
        assert_eq!((tried.sent(), tried.state.editor.text()), (vec![], ""));
    }
    let queued = tried.state.hints().iter().map(StyledLine::plain).collect::<Vec<_>>();
    assert_eq!(queued[..3], ["▸ queued: one", "▸ queued: //compact", "▸ queued: /two lines"]);
    for sent in ["one", "/compact", "/two\nlines"] {
        tried.state.answer(RequestPurpose::Send(String::new()), Ok(end("completed")), tried.now);
        assert_eq!(tried.sent()[0]["data"]["content"], sent);
        tried.handle(ViewEvent::Prompt(sent.into()));
    }
    assert_eq!(tried.type_in("/stop\r").kinds(), ["chat_stop"]);
}

#[test]
fn waiting_prompts_are_taken_back() {
    let mut tried = Tried::new();
    tried.type_in("hi\r").handle(ViewEvent::Prompt("hi".into())).type_in("one\rtwo\r").sent();
    tried.state.key(&Key::Escape, tried.now);
    assert_eq!(tried.state.editor.text(), "two");
    tried.state.key(&Key::Enter, tried.now);
    // What is typed stays, and the others come before it.
    tried.type_in("three");
    tried.state.key(&Key::Ctrl('c'), tried.now);
    assert_eq!((tried.kinds(), tried.state.editor.text()), (vec!["chat_stop".to_owned()], "one\ntwo\nthree"));
    let error = ErrorInfo::new(ErrorCode::OperationNotAllowed, "no");
    let mut refused = Tried::new();
    refused.type_in("hi\rone\r").sent();
    refused.state.answer(RequestPurpose::Send("hi".into()), Err(error), refused.now);
    assert!(refused.sent().is_empty() && refused.state.editor.text() == "one", "it would be rejected, too");
}

#[test]
fn commands_are_completed_and_earlier_prompts_found() {
    let mut tried = Tried::new();
    tried.type_in("/se");
    tried.state.key(&Key::Tab, tried.now);
    assert_eq!(tried.state.editor.text(), "/sessions");
    tried.state.editor.clear();
    tried.type_in("first thing\r");
    tried.state.answer(RequestPurpose::Send(String::new()), Ok(end("completed")), tried.now);
    tried.sent();
    tried.state.key(&Key::Ctrl('r'), tried.now);
    assert!(tried.state.takes_prompts() && !tried.state.takes_prompts());
    tried.state.add_prompts(vec!["another thing".into()]);
    tried.type_in("thing anoth");
    assert_eq!((tried.state.prompt(), tried.state.input().text()), (Some("search › "), "thing anoth"));
    tried.state.key(&Key::Enter, tried.now);
    assert_eq!(tried.sent().len(), 0);
    assert_eq!(tried.state.editor.text(), "another thing");
}

#[test]
fn saving_follows_the_policy() {
    let ended = |state: &mut ChatState, now| {
        state.event(ViewEvent::Prompt("hi".into()), now);
        state.answer(RequestPurpose::Send("hi".into()), Ok(end("completed")), now);
    };
    let mut always = Tried::new();
    always.state.save = SavePolicy::Always;
    ended(&mut always.state, always.now);
    assert_eq!(
        always.kinds(),
        ["session_save"],
        "the daemon does not save a session that existed before by itself"
    );
    let mut asked = Tried::new();
    asked.state.save = SavePolicy::Ask;
    ended(&mut asked.state, asked.now);
    asked.state.key(&Key::Ctrl('d'), asked.now);
    assert!(!asked.state.is_leaving() && asked.state.prompt().is_none());
    asked.state.key(&Key::Char('n'), asked.now);
    assert!(asked.state.is_leaving() && asked.sent().is_empty());
    let mut never = Tried::new();
    ended(&mut never.state, never.now);
    never.state.key(&Key::Ctrl('d'), never.now);
    assert!(never.state.is_leaving() && never.sent().is_empty());
}

#[test]
fn a_shell_is_not_taken_for_an_agent() {
    let now = Instant::now();
    let shell = OpenedSession { agent: Some("shell".into()), terminal: true, resumed: false, ..opened(&[]) };
    let mut state = ChatState::new(shell, HOME.as_ref(), now);
    state.explain_shell();
    let shown: String = state.transcript.take().iter().map(|line| line.plain() + "\n").collect();
    assert!(shown.contains(" in ~ · "), "{shown}");
    assert!(shown.contains("your shell answers") && shown.contains("docs/agents.md"), "{shown}");
    assert_eq!(state.prompt(), Some("$ "));
    let bash = OpenedSession { agent: Some("bash".into()), terminal: true, ..opened(&[]) };
    assert_eq!(ChatState::new(bash, HOME.as_ref(), now).prompt(), Some("$ "));
    let agent = OpenedSession { agent: Some("claude".into()), terminal: true, ..opened(&[]) };
    assert_eq!(ChatState::new(agent, HOME.as_ref(), now).prompt(), Some("› "));
}

#[test]
fn deleting_the_session_ends_its_answer() {
    let mut tried = Tried::new();
    tried.type_in("hi\r").handle(ViewEvent::Prompt("hi".into())).answer_text("half", false).sent();
    assert_eq!(tried.handle(ViewEvent::Seat { owner: false, gone: true }).kinds(), ["session_create"]);
    let shown = tried.shown();
    assert!(shown.contains("✗ stopped") && shown.contains("was deleted"), "{shown}");
    assert!(!tried.state.is_answering());
}

#[test]
fn a_rejected_prompt_returns_to_the_editor() {
    let mut tried = Tried::new();
    tried.type_in("hi\r");
    let error = ErrorInfo::new(ErrorCode::OperationNotAllowed, "no");
    tried.state.answer(RequestPurpose::Send("hi".into()), Err(error), tried.now);
    assert!(tried.shown().contains("· no") && tried.state.editor.text() == "hi");
}

#[test]
fn approvals_are_acknowledged_and_one_key_answers() {
    let mut tried = Tried::new();
    tried.handle(approval("a")).handle(approval("b"));
    assert_eq!(tried.kinds(), ["authorization_ack", "authorization_ack"]);
    assert_eq!((tried.state.prompt(), tried.shown().matches("may it use").count()), (None, 1));
    let sent = tried.type_in("xy").sent();
    assert_eq!((sent.len(), &sent[0]["data"]["auth_id"]), (1, &"a".into()));
    assert!(tried.shown().contains("may it use"), "the next one is shown");
    tried.handle(ViewEvent::Settled { id: "b".into() });
    assert!(tried.shown().contains("decided by another client") && tried.state.prompt().is_some());
}

#[test]
fn a_key_in_the_middle_of_typing_approves_nothing() {
    let mut tried = Tried::new();
    tried.state.key(&Key::Char('m'), tried.now);
    tried.handle(approval("a"));
    tried.state.take_outgoing();
    for c in "any".chars() {
        tried.now += Duration::from_millis(100);
        tried.state.key(&Key::Char(c), tried.now);
    }
    assert!(tried.sent().is_empty() && tried.state.hints().len() == 2);
    assert_eq!(tried.type_in("n").kinds(), ["authorization_response"]);
}

#[test]
fn the_first_ctrl_c_stops_and_the_second_leaves() {
    let mut tried = Tried::new();
    tried.handle(ViewEvent::Prompt("x".into()));
    tried.state.key(&Key::Ctrl('c'), tried.now);
    assert_eq!((tried.kinds(), tried.state.is_leaving()), (vec!["chat_stop".to_owned()], false));
    tried.state.key(&Key::Ctrl('c'), tried.now + LEAVE_TWICE * 2);
    assert!(!tried.state.is_leaving());
    tried.state.key(&Key::Ctrl('c'), tried.now + LEAVE_TWICE * 2 + LEAVE_TWICE / 2);
    assert!(tried.state.is_leaving());
}

#[test]
fn text_of_a_terminal_is_not_markdown() {
    let shown = |terminal| {
        let now = Instant::now();
        let mut state = ChatState::new(
            OpenedSession { terminal, ..opened(&[(true, "q", None), (false, "# one", None)]) },
            HOME.as_ref(),
            now,
        );
        state.transcript.take().iter().map(|line| line.plain()).collect::<Vec<_>>()
    };
    assert!(shown(true).contains(&"# one".to_owned()), "{:?}", shown(true));
    assert!(shown(false).contains(&"one".to_owned()), "{:?}", shown(false));
}

#[test]
fn ctrl_c_leaves_only_when_nothing_is_typed() {
    let mut tried = Tried::new();
    tried.type_in("draft").handle(ViewEvent::Prompt("x".into()));
    let press = |tried: &mut Tried| {
        tried.state.key(&Key::Ctrl('c'), tried.now);
        (tried.state.is_leaving(), tried.state.editor.text().to_owned())
    };
    assert_eq!(press(&mut tried), (false, "draft".to_owned()), "it stops the answer");
    assert_eq!(press(&mut tried), (false, String::new()));
    assert_eq!(press(&mut tried), (true, String::new()));
}

#[test]
fn ctrl_d_leaves_only_when_nothing_is_typed() {
    let mut tried = Tried::new();
    tried.type_in("x");
    tried.state.key(&Key::Ctrl('d'), tried.now);
    assert!(!tried.state.is_leaving());
    tried.state.key(&Key::Backspace, tried.now);
    tried.state.key(&Key::Ctrl('d'), tried.now);
    assert!(tried.state.is_leaving());
}

#[test]
fn an_observer_decides_nothing_and_sends_nothing() {
    let mut tried = Tried::new();
    tried.handle(ViewEvent::Seat { owner: false, gone: false });
    assert!(tried.shown().contains("you are watching"));
    tried.handle(approval("a"));
    assert!(tried.sent().is_empty() && tried.state.prompt() == Some("watching › "));
    assert_eq!(tried.type_in("hi\r").kinds(), ["session_attach"]);
    let mut endpoint = SessionPlace {
        session_id: "s".into(),
        status: "observing".into(),
        workspace: String::new(),
        working_dir: String::new(),
        owner: false,
        running: false,
    };
    let still = ServerMessage::SessionAttach(endpoint.clone());
    tried.state.answer(RequestPurpose::Attach(Some("hi".into())), Ok(still), tried.now);
    assert!(tried.sent().is_empty() && tried.state.editor.text() == "hi");
    endpoint.status = "attached".into();
    let now_ours = ServerMessage::SessionAttach(endpoint);
    tried.state.answer(RequestPurpose::Attach(Some("hi".into())), Ok(now_ours), tried.now);
    assert_eq!(tried.kinds(), ["chat_send"]);
}

#[test]
fn an_answer_that_goes_on_after_a_lost_connection_is_shown_once() {
    let mut tried = Tried::new();
    tried.handle(ViewEvent::Prompt("q".into())).answer_text("one\ntwo\nthr", false);
    tried.state.lost();
    tried.state.reattached(OpenedSession { running: true, ..opened(&[(true, "q", None)]) }, tried.now);
    // The next daemon may know a little less of it.
    tried.answer_text("one\ntwo", false).answer_text("\nthree\nfour\n", false).answer_text("five\n", false);
    let shown = tried.shown();
    assert!(shown.contains("one\ntwo\nthree\nfour\nfive"), "{shown}");
    assert_eq!(["one", "two", "thr", "four"].map(|text| shown.matches(text).count()), [1; 4], "{shown}");
}

#[test]
fn an_interrupted_answer_is_completed_and_marked() {
    let mut tried = Tried::new();
    tried.handle(ViewEvent::Prompt("q".into())).answer_text("one\ntwo", false);
    tried.state.lost();
    let interrupted = opened(&[(true, "q", None), (false, "one\ntwo three\nfour", Some("interrupted"))]);
    tried.state.reattached(interrupted, tried.now);
    let shown = tried.shown();
    assert!(shown.contains("two three\nfour\n✗ interrupted"), "{shown}");
    assert_eq!(shown.matches("one").count(), 1, "{shown}");
    tried.state.reattached(
        opened(&[(true, "q", None), (false, "x", None), (true, "r", None), (false, "y", None)]),
        tried.now,
    );
    let shown = tried.shown();
    assert!(shown.contains("› r\n\ny") && !shown.contains('x'), "only what was missed: {shown}");
}

#[test]
fn the_missed_part_of_an_answer_is_shown_at_its_end() {
    let mut tried = Tried::new();
    tried.handle(ViewEvent::Prompt("q".into())).answer_text("one ", false);
    tried.state.lost();
    tried.state.reattached(OpenedSession { running: true, ..opened(&[(true, "q", None)]) }, tried.now);
    tried.answer_text("three\n", false).answer_text("", true);
    assert_eq!(tried.kinds(), ["session_load"]);
    tried.state.reattached(opened(&[(true, "q", None), (false, "one two three\n", None)]), tried.now);
    let shown = tried.shown();
    assert!(shown.contains("one two three") && !tried.state.is_answering(), "{shown}");
}

#[test]
fn text_typed_without_a_connection_waits_for_it() {
    let mut tried = Tried::new();
    tried.state.lost();
    for text in ["hi", "/save", "hi"] {
        tried.state.editor.clear();
        tried.type_in(text).type_in("\r");
        assert_eq!((tried.sent(), tried.state.editor.text()), (vec![], text));
        assert!(tried.state.hints()[0].plain().contains("lost") && !tried.state.is_answering());
    }
    tried.state.reattached(opened(&[]), tried.now);
    assert_eq!(tried.type_in("\r").kinds(), ["chat_send"]);
    tried.state.lost();
    tried.type_in("/help\r/quit\r");
    assert!(tried.shown().contains("/takeover") && tried.state.is_leaving(), "these need no daemon");
}

#[test]
fn a_missed_part_is_loaded_only_once() {
    let mut tried = Tried::new();
    tried.handle(ViewEvent::Prompt("q".into())).answer_text("one ", false);
    tried.state.lost();
    tried.state.reattached(OpenedSession { running: true, ..opened(&[(true, "q", None)]) }, tried.now);
    tried.state.lost();
    tried.state.reattached(opened(&[(true, "q", None), (false, "one two", None)]), tried.now);
    assert!(tried.shown().contains("one two"));
    tried
        .type_in("hi\r")
        .handle(ViewEvent::Prompt("hi".into()))
        .answer_text("yes", false)
        .answer_text("", true);
    assert_eq!(tried.kinds(), ["chat_send"], "there is nothing to load");
}

#[test]
fn the_last_exchange_of_a_resumed_session_is_shown() {
    let messages = [
        (true, "a", None),
        (false, "b", None),
        (true, "c", None),
        (false, "d", None),
        (true, "e", None),
        (false, "f", None),
    ];
    let mut tried = Tried {
        state: ChatState::new(opened(&messages), HOME.as_ref(), Instant::now()),
        now: Instant::now(),
    };
    let shown = tried.shown();
    assert!(shown.starts_with("· resumed s “t” · 6 messages"), "{shown}");
    assert!(!shown.contains("› a") && shown.contains("› c") && shown.contains('f'), "{shown}");
    tried.state.key(&Key::Up, tried.now);
    assert_eq!(tried.state.editor.text(), "e");
}

#[test]
fn tools_are_shown_on_request() {
    let mut tried = Tried::new();
    tried.handle(ViewEvent::ToolCalled(ToolUse {
        id: "1".into(),
        name: "read".into(),
        ..ToolUse::default()
    }));
    tried.handle(ViewEvent::ToolEnded { id: "1".into(), output: "all of it".into(), error: None });
    assert!(!tried.shown().contains("all of it"));
    tried.type_in("/tools\r");
    assert!(tried.shown().contains("all of it"));
    tried.state.key(&Key::Ctrl('o'), tried.now);
    assert!(tried.shown().contains("all of it"));
}
