//! `clippyctl` against a broker controlled by the test.

use crate::support::broker::{Broker, Peer, Said};
use std::io::Write;
use std::process::{Child, Command, Output, Stdio};
use swb_testkit::{Swb, text};
use swb_wire::clippy::{Message, Reason, Response, SessionItem, TurnItem};

const EXE: &str = env!("CARGO_BIN_EXE_swb");

fn start(mut command: Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs")
}

/// Calls `clippyctl`; gives what it asked and what came of the answer.
fn ask(args: &[&str], answer: &Response<'_>) -> (String, Output) {
    let swb = Swb::new(EXE);
    let broker = Broker::listen(&swb);
    let child = start(swb.named("clippyctl", args));
    let mut peer = broker.accept();
    peer.greet("client");
    let Said::Other(request) = peer.hear() else { panic!("no request") };
    peer.send(&Message::Response(answer.clone()));
    (request, child.wait_with_output().expect("it ends"))
}

#[track_caller]
fn succeeded(output: &Output) {
    assert!(output.status.success(), "{}", text(&output.stderr));
}

// CR-26
#[test]
fn sessions_are_listed() {
    let sessions = vec![
        SessionItem { session: "s-1", pid: 4242, has_turn: true, client_pids: Vec::new() },
        SessionItem { session: "long name \u{1b}[2J", pid: 7, has_turn: false, client_pids: vec![8] },
    ];
    let answer = Response { sessions: Some(sessions), ..Response::ok(1) };
    let (request, output) = ask(&["list-sessions"], &answer);
    assert_eq!(request, "1 ListSessions");
    succeeded(&output);
    let shown = text(&output.stdout);
    let lines: Vec<Vec<&str>> = shown.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[..2], [vec!["SESSION", "PID", "TURN"], vec!["s-1", "4242", "yes"]]);
    assert!(!shown.contains('\u{1b}'), "a name cannot press keys: {shown:?}");

    let (_, output) = ask(&["list-sessions", "--json"], &answer);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(json[0], serde_json::json!({"session": "s-1", "pid": 4242, "has_turn": true}));

    let (_, output) = ask(&["list-sessions"], &Response { sessions: Some(Vec::new()), ..Response::ok(1) });
    succeeded(&output);
}

// CR-26
#[test]
fn turns_are_listed() {
    let turn = TurnItem {
        turn_id: "s:2",
        timestamp: 1_700_000,
        byte_length: 12,
        interrupted: true,
        truncated: false,
    };
    let answer = Response { turns: Some(vec![turn]), ..Response::ok(1) };
    let (request, output) = ask(&["list-turns", "s", "--limit", "3"], &answer);
    assert_eq!(request, r#"1 ListTurns { session: "s", limit: Some(3) }"#);
    succeeded(&output);
    let shown = text(&output.stdout);
    let line: Vec<&str> = shown.lines().nth(1).expect("a turn").split_whitespace().collect();
    assert_eq!(line, ["s:2", "1700000", "12", "yes", "no"]);
    let (request, _) = ask(&["list-turns", "s"], &answer);
    assert_eq!(request, r#"1 ListTurns { session: "s", limit: None }"#);
}

// CR-26
#[test]
fn a_turn_is_printed_unchanged_and_described_on_stderr() {
    let content: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    let answer = Response {
        turn_id: Some("s:1"),
        timestamp: Some(5),
        byte_length: Some(300_001),
        interrupted: Some(false),
        truncated: Some(true),
        content: Some(&content),
        ..Response::ok(1)
    };
    let (request, output) = ask(&["get-turn", "s:1"], &answer);
    assert_eq!(request, r#"1 GetTurn { turn_id: "s:1" }"#);
    succeeded(&output);
    assert!(output.stdout == content, "raw bytes, and nothing else");
    let metadata = "turn_id: s:1\ntimestamp: 5\nbyte_length: 300001\ninterrupted: false\ntruncated: true\n";
    assert_eq!(text(&output.stderr), metadata);

    let (_, output) = ask(&["get-turn", "s:1", "--metadata-only"], &answer);
    succeeded(&output);
    assert_eq!((text(&output.stdout), text(&output.stderr)), (String::new(), metadata.to_owned()));
}

// CR-26
#[test]
fn capture_reports_the_captured_turn() {
    let answer = Response { size: Some(25), turn_id: Some("s:1"), ..Response::ok(1) };
    for (args, request) in [
        (["capture", "s"], r#"1 Capture { session: "s" }"#),
        (["capture-by-id", "s:1"], r#"1 CaptureById { turn_id: "s:1" }"#),
    ] {
        let (asked, output) = ask(&args, &answer);
        assert_eq!(asked, request);
        succeeded(&output);
        assert_eq!(text(&output.stdout), "s:1 25 bytes\n");
    }
    // CR-1: brokers of the first level have no turn ids.
    let (_, output) = ask(&["capture", "s"], &Response { size: Some(25), ..Response::ok(1) });
    assert_eq!(text(&output.stdout), "25 bytes\n");
}

// CR-26
#[test]
fn paste_and_deliver_send_their_requests() {
    for (args, request) in [
        (&["paste", "s"][..], r#"1 Paste { session: "s" }"#),
        (&["deliver", "inject", "--session", "s"], r#"1 Deliver(Inject { session: "s" })"#),
        (&["deliver", "file", "--path", "/p/q"], r#"1 Deliver(File { path: "/p/q" })"#),
        (&["deliver", "clipboard"], "1 Deliver(Clipboard)"),
    ] {
        let (asked, output) = ask(args, &Response::ok(1));
        assert_eq!(asked, request);
        succeeded(&output);
        assert_eq!((output.stdout.len(), output.stderr.len()), (0, 0), "{args:?}");
    }
    // CR-23: the broker would refuse a relative path, so it never gets one.
    let (asked, _) = ask(&["deliver", "file", "--path", "q"], &Response::ok(1));
    assert!(asked.starts_with(r#"1 Deliver(File { path: "/"#) && asked.contains(r#"/w/q" })"#), "{asked}");
}

// CR-26
#[test]
fn an_error_reply_is_reported_with_its_reason() {
    for reason in [Reason::SessionNotFound, Reason::NoTurn, Reason::BufferEmpty, Reason::ClipboardFailed] {
        let (_, output) = ask(&["capture", "s"], &Response::error(1, reason));
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(text(&output.stdout), "");
        let first = text(&output.stderr).lines().next().map(str::to_owned);
        assert_eq!(first, Some(format!("clippyctl: {reason}")));
    }
}

// CR-26
#[test]
fn wrong_usage_is_exit_code_2() {
    let swb = Swb::new(EXE);
    for args in [&["frobnicate"][..], &["deliver", "printer"], &["deliver", "file"], &["get-turn"], &[]] {
        let output = swb.named("clippyctl", args).output().expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{args:?}");
    }
}

// CR-26: the same under the name of the program itself.
#[test]
fn clippyctl_is_also_a_verb_of_swb() {
    let swb = Swb::new(EXE);
    let broker = Broker::listen(&swb);
    let child = start(swb.command(&["clippyctl", "list-sessions", "--json"]));
    let mut peer = broker.accept();
    peer.greet("client");
    assert_eq!(peer.hear(), Said::Other("1 ListSessions".into()));
    peer.send(&Message::Response(Response { sessions: Some(Vec::new()), ..Response::ok(1) }));
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(text(&output.stdout), "[]\n");
}

// CB-2, CB-3
#[test]
fn a_missing_broker_is_reported_with_its_path() {
    let swb = Swb::new(EXE);
    let output = swb.named("clippyctl", &["list-sessions"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("clippy/broker.sock"), "{}", text(&output.stderr));
    for value in [None, Some("")] {
        let mut command = swb.named("clippyctl", &["list-sessions"]);
        match value {
            Some(value) => command.env("XDG_RUNTIME_DIR", value),
            None => command.env_remove("XDG_RUNTIME_DIR"),
        };
        let output = command.output().expect("it runs");
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output.stderr).contains("XDG_RUNTIME_DIR"), "{}", text(&output.stderr));
    }
}

/// Calls `clippyctl` with a broker that does something else instead of answering.
fn failing(misbehave: impl FnOnce(Peer)) -> Output {
    let swb = Swb::new(EXE);
    let broker = Broker::listen(&swb);
    let child = start(swb.named("clippyctl", &["capture", "s"]));
    misbehave(broker.accept());
    child.wait_with_output().expect("it ends")
}

#[test]
fn a_misbehaving_broker_is_an_error() {
    type Misbehaviour = fn(Peer);
    let cases: [Misbehaviour; 7] = [
        // Gone before and after the greeting, and in mid-answer.
        |peer| drop(peer),
        |mut peer| peer.greet("client"),
        |mut peer| {
            peer.greet("client");
            peer.stream.write_all(&[0, 0, 1, 0, 0x83]).expect("it listens");
        },
        // Another version, nonsense, an endless length.
        |mut peer| peer.send(&Message::HelloAck { error: Some("version_mismatch") }),
        |mut peer| peer.stream.write_all(b"\0\0\0\x01\xc1").expect("it listens"),
        |mut peer| peer.stream.write_all(b"\xff\xff\xff\xff").expect("it listens"),
        // An answer without what was asked for.
        |mut peer| {
            peer.greet("client");
            peer.ok(1);
        },
    ];
    for (i, case) in cases.into_iter().enumerate() {
        let output = failing(case);
        assert_eq!(output.status.code(), Some(1), "case {i}: {}", text(&output.stderr));
        assert!(text(&output.stderr).starts_with("clippyctl: "), "case {i}: {}", text(&output.stderr));
        assert_eq!(text(&output.stdout), "");
    }
}

// CB-46: what is not a reply is ignored.
#[test]
fn unrelated_messages_are_ignored() {
    let swb = Swb::new(EXE);
    let broker = Broker::listen(&swb);
    let child = start(swb.named("clippyctl", &["capture", "s"]));
    let mut peer = broker.accept();
    peer.greet("client");
    peer.hear();
    peer.inject(b"x");
    peer.send(&Message::Response(Response { size: Some(1), ..Response::ok(77) }));
    peer.send(&Message::Unknown);
    peer.send(&Message::Response(Response { size: Some(2), ..Response::ok(1) }));
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(text(&output.stdout), "2 bytes\n");
}
