//! What keys and messages come to.

use super::typing::{TWICE, TYPING};
use super::*;
use serde_json::Value;
use std::time::Duration;
use swb_tui::event::{Approval, Message, Tool};
use swb_tui::input::keys::Key;
use swb_wire::scriptschnell::{ChatEnd, SessionPlace};

struct Tried {
    talk: Talk,
    now: Instant,
}

fn opened(messages: &[(bool, &str, Option<&str>)]) -> Opened {
    let message = |(user, text, ending): &(bool, &str, Option<&str>)| Message {
        user: *user,
        text: (*text).to_owned(),
        ending: ending.map(str::to_owned),
    };
    Opened {
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
        let mut talk = Talk::new(opened(&[]), now);
        talk.transcript.take();
        Self { talk, now }
    }

    /// Types with a second between two keys.
    fn type_in(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            self.now += TYPING + TWICE;
            let key = if c == '\r' { Key::Enter } else { Key::Char(c) };
            self.talk.key(&key, self.now);
        }
        self
    }

    fn hear(&mut self, event: Event) -> &mut Self {
        self.talk.event(event, self.now);
        self
    }

    fn said(&mut self, text: &str, last: bool) -> &mut Self {
        self.hear(Event::Said { text: text.into(), last })
    }

    /// What was sent, as it is on the wire.
    fn sent(&mut self) -> Vec<Value> {
        let outgoing = self.talk.take_outgoing();
        outgoing.iter().map(|message| serde_json::to_value(&message.request).unwrap()).collect()
    }

    fn kinds(&mut self) -> Vec<String> {
        self.sent().iter().map(|message| message["type"].as_str().unwrap().to_owned()).collect()
    }

    fn told(&mut self) -> String {
        let lines = self.talk.transcript.take();
        lines.iter().map(|line| line.plain() + "\n").collect()
    }
}

fn approval(id: &str) -> Event {
    Event::Approval(Approval { id: id.into(), tool: "run".into(), ..Approval::default() })
}

fn end(status: &str) -> ServerMessage {
    ServerMessage::ChatSend(ChatEnd {
        status: status.into(),
        session_id: String::new(),
        usage: None,
        context_usage: None,
    })
}

#[test]
fn a_prompt_is_sent_and_its_end_is_told_once() {
    let mut tried = Tried::new();
    assert_eq!(tried.type_in("hi\r").sent()[0]["data"]["content"], "hi");
    tried.hear(Event::Prompt("hi".into())).said("yes", false).said("", true);
    assert!(tried.talk.is_answering(), "until the daemon says so");
    tried.talk.answer(Purpose::Send("hi".into()), Ok(end("completed")), tried.now);
    let told = tried.told();
    assert_eq!(told.matches("— ").count(), 1, "{told}");
    assert!(!tried.talk.is_answering());
    tried.hear(Event::Prompt("from elsewhere".into())).said("yes", true);
    assert!(tried.told().contains("— ") && !tried.talk.is_answering());
}

#[test]
fn nothing_is_said_while_the_agent_answers() {
    let mut tried = Tried::new();
    tried.type_in("hi\r").sent();
    // Sent and not heard yet, then heard; whether or not it begins as a command does.
    assert!(tried.type_in("one\r").sent().is_empty());
    tried.talk.editor.clear();
    tried.hear(Event::Prompt("hi".into()));
    for prompt in ["one", "//compact", "/two\nlines"] {
        tried.talk.editor.put(prompt);
        tried.talk.key(&Key::Enter, tried.now);
        assert_eq!((tried.sent(), tried.talk.editor.text()), (vec![], prompt));
    }
    tried.talk.editor.clear();
    assert_eq!(tried.type_in("/stop\r").kinds(), ["chat_stop"]);
}

#[test]
fn a_session_that_is_deleted_under_an_answer_is_left() {
    let mut tried = Tried::new();
    tried.type_in("hi\r").hear(Event::Prompt("hi".into())).said("half", false).sent();
    assert_eq!(tried.hear(Event::Seat { owner: false, gone: true }).kinds(), ["session_create"]);
    let told = tried.told();
    assert!(told.contains("✗ stopped") && told.contains("was deleted"), "{told}");
    assert!(!tried.talk.is_answering());
}

#[test]
fn what_is_refused_can_be_said_again() {
    let mut tried = Tried::new();
    tried.type_in("hi\r");
    let error = ErrorInfo::new(ErrorCode::OperationNotAllowed, "no");
    tried.talk.answer(Purpose::Send("hi".into()), Err(error), tried.now);
    assert!(tried.told().contains("· no") && tried.talk.editor.text() == "hi");
}

#[test]
fn approvals_are_acknowledged_and_one_key_answers() {
    let mut tried = Tried::new();
    tried.hear(approval("a")).hear(approval("b"));
    assert_eq!(tried.kinds(), ["authorization_ack", "authorization_ack"]);
    assert_eq!((tried.talk.prompt(), tried.told().matches("may it use").count()), (None, 1));
    let sent = tried.type_in("xy").sent();
    assert_eq!((sent.len(), &sent[0]["data"]["auth_id"]), (1, &"a".into()));
    assert!(tried.told().contains("may it use"), "the next one is shown");
    tried.hear(Event::Settled { id: "b".into() });
    assert!(tried.told().contains("settled elsewhere") && tried.talk.prompt().is_some());
}

#[test]
fn who_is_typing_approves_nothing() {
    let mut tried = Tried::new();
    tried.talk.key(&Key::Char('m'), tried.now);
    tried.hear(approval("a"));
    tried.talk.take_outgoing();
    for c in "any".chars() {
        tried.now += Duration::from_millis(100);
        tried.talk.key(&Key::Char(c), tried.now);
    }
    assert!(tried.sent().is_empty() && tried.talk.hints().len() == 2);
    assert_eq!(tried.type_in("n").kinds(), ["authorization_response"]);
}

#[test]
fn the_first_ctrl_c_stops_and_the_second_leaves() {
    let mut tried = Tried::new();
    tried.hear(Event::Prompt("x".into()));
    tried.talk.key(&Key::Ctrl('c'), tried.now);
    assert_eq!((tried.kinds(), tried.talk.is_leaving()), (vec!["chat_stop".to_owned()], false));
    tried.talk.key(&Key::Ctrl('c'), tried.now + TWICE * 2);
    assert!(!tried.talk.is_leaving());
    tried.talk.key(&Key::Ctrl('c'), tried.now + TWICE * 2 + TWICE / 2);
    assert!(tried.talk.is_leaving());
}

#[test]
fn what_a_terminal_says_is_no_markdown() {
    let said = |terminal| {
        let now = Instant::now();
        let mut talk =
            Talk::new(Opened { terminal, ..opened(&[(true, "q", None), (false, "# one", None)]) }, now);
        talk.transcript.take().iter().map(|line| line.plain()).collect::<Vec<_>>()
    };
    assert!(said(true).contains(&"# one".to_owned()), "{:?}", said(true));
    assert!(said(false).contains(&"one".to_owned()), "{:?}", said(false));
}

#[test]
fn ctrl_c_leaves_only_when_nothing_is_typed() {
    let mut tried = Tried::new();
    tried.type_in("draft").hear(Event::Prompt("x".into()));
    let press = |tried: &mut Tried| {
        tried.talk.key(&Key::Ctrl('c'), tried.now);
        (tried.talk.is_leaving(), tried.talk.editor.text().to_owned())
    };
    assert_eq!(press(&mut tried), (false, "draft".to_owned()), "it stops the answer");
    assert_eq!(press(&mut tried), (false, String::new()));
    assert_eq!(press(&mut tried), (true, String::new()));
}

#[test]
fn ctrl_d_leaves_only_when_nothing_is_typed() {
    let mut tried = Tried::new();
    tried.type_in("x");
    tried.talk.key(&Key::Ctrl('d'), tried.now);
    assert!(!tried.talk.is_leaving());
    tried.talk.key(&Key::Backspace, tried.now);
    tried.talk.key(&Key::Ctrl('d'), tried.now);
    assert!(tried.talk.is_leaving());
}

#[test]
fn an_observer_is_asked_nothing_and_says_nothing() {
    let mut tried = Tried::new();
    tried.hear(Event::Seat { owner: false, gone: false });
    assert!(tried.told().contains("you are watching"));
    tried.hear(approval("a"));
    assert!(tried.sent().is_empty() && tried.talk.prompt() == Some("watching › "));
    assert_eq!(tried.type_in("hi\r").kinds(), ["session_attach"]);
    let mut place = SessionPlace {
        session_id: "s".into(),
        status: "observing".into(),
        workspace: String::new(),
        working_dir: String::new(),
        owner: false,
        running: false,
    };
    let still = ServerMessage::SessionAttach(place.clone());
    tried.talk.answer(Purpose::Attach(Some("hi".into())), Ok(still), tried.now);
    assert!(tried.sent().is_empty() && tried.talk.editor.text() == "hi");
    place.status = "attached".into();
    let now_ours = ServerMessage::SessionAttach(place);
    tried.talk.answer(Purpose::Attach(Some("hi".into())), Ok(now_ours), tried.now);
    assert_eq!(tried.kinds(), ["chat_send"]);
}

#[test]
fn an_interrupted_answer_is_completed_and_marked() {
    let mut tried = Tried::new();
    tried.hear(Event::Prompt("q".into())).said("one\ntwo", false);
    tried.talk.lost();
    let interrupted = opened(&[(true, "q", None), (false, "one\ntwo three\nfour", Some("interrupted"))]);
    tried.talk.reattached(interrupted, tried.now);
    let told = tried.told();
    assert!(told.contains("two three\nfour\n✗ interrupted"), "{told}");
    assert_eq!(told.matches("one").count(), 1, "{told}");
    tried.talk.reattached(
        opened(&[(true, "q", None), (false, "x", None), (true, "r", None), (false, "y", None)]),
        tried.now,
    );
    let told = tried.told();
    assert!(told.contains("› r\n\ny") && !told.contains('x'), "only what was missed: {told}");
}

#[test]
fn what_was_missed_of_an_answer_is_told_at_its_end() {
    let mut tried = Tried::new();
    tried.hear(Event::Prompt("q".into())).said("one ", false);
    tried.talk.lost();
    tried.talk.reattached(Opened { running: true, ..opened(&[(true, "q", None)]) }, tried.now);
    tried.said("three\n", false).said("", true);
    assert_eq!(tried.kinds(), ["session_load"]);
    tried.talk.reattached(opened(&[(true, "q", None), (false, "one two three\n", None)]), tried.now);
    let told = tried.told();
    assert!(told.contains("one two three") && !tried.talk.is_answering(), "{told}");
}

#[test]
fn what_is_typed_without_a_connection_waits_for_it() {
    let mut tried = Tried::new();
    tried.talk.lost();
    for text in ["hi", "/save", "hi"] {
        tried.talk.editor.clear();
        tried.type_in(text).type_in("\r");
        assert_eq!((tried.sent(), tried.talk.editor.text()), (vec![], text));
        assert!(tried.talk.hints()[0].plain().contains("lost") && !tried.talk.is_answering());
    }
    tried.talk.reattached(opened(&[]), tried.now);
    assert_eq!(tried.type_in("\r").kinds(), ["chat_send"]);
    tried.talk.lost();
    tried.type_in("/help\r/quit\r");
    assert!(tried.told().contains("/takeover") && tried.talk.is_leaving(), "these need nobody");
}

#[test]
fn nothing_is_missed_any_more_once_it_was_told() {
    let mut tried = Tried::new();
    tried.hear(Event::Prompt("q".into())).said("one ", false);
    tried.talk.lost();
    tried.talk.reattached(Opened { running: true, ..opened(&[(true, "q", None)]) }, tried.now);
    tried.talk.lost();
    tried.talk.reattached(opened(&[(true, "q", None), (false, "one two", None)]), tried.now);
    assert!(tried.told().contains("one two"));
    tried.type_in("hi\r").hear(Event::Prompt("hi".into())).said("yes", false).said("", true);
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
    let mut tried = Tried { talk: Talk::new(opened(&messages), Instant::now()), now: Instant::now() };
    let told = tried.told();
    assert!(told.starts_with("· resumed s “t” · 6 messages"), "{told}");
    assert!(!told.contains("› a") && told.contains("› c") && told.contains('f'), "{told}");
    tried.talk.key(&Key::Up, tried.now);
    assert_eq!(tried.talk.editor.text(), "e");
}

#[test]
fn tools_are_shown_on_request() {
    let mut tried = Tried::new();
    tried.hear(Event::ToolCalled(Tool { id: "1".into(), name: "read".into(), ..Tool::default() }));
    tried.hear(Event::ToolEnded { id: "1".into(), output: "all of it".into(), error: None });
    assert!(!tried.told().contains("all of it"));
    tried.type_in("/tools\r");
    assert!(tried.told().contains("all of it"));
    tried.talk.key(&Key::Ctrl('o'), tried.now);
    assert!(tried.told().contains("all of it"));
}
