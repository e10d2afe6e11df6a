//! The turn registry and its sinks, through the clippy front (broker protocol level 1).

use crate::Broker;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use swb_testkit::{ClippyClient, ClippyReply};
use swb_wire::clippy::{PeerRole, Request, Sink};

/// A daemon with a wrapper that has the session `s`.
fn with_session() -> (Broker, ClippyClient) {
    let broker = Broker::start();
    let mut wrapper = broker.clippy(PeerRole::Wrapper);
    wrapper.register("s");
    (broker, wrapper)
}

fn list(client: &mut ClippyClient, session: &str, limit: Option<u32>) -> Vec<String> {
    let turns = client.ok(&Request::ListTurns { session, limit }).turns.unwrap();
    turns.into_iter().map(|(name, ..)| name).collect()
}

// CR-1: who knows only the first level is answered as ever; what is more does not disturb it.
#[test]
fn the_first_level_is_as_it_was() {
    let (broker, mut wrapper) = with_session();
    assert_eq!(wrapper.turn("s", b"x"), "s:1");
    let mut client = broker.clippy(PeerRole::Client);
    let captured = client.ok(&Request::Capture { session: "s" });
    let wanted =
        ClippyReply { id: captured.id, size: Some(1), turn_id: Some("s:1".into()), ..ClippyReply::default() };
    assert_eq!(captured, wanted);
    let pasted = client.ok(&Request::Paste { session: "s" });
    assert_eq!(pasted, ClippyReply { id: pasted.id, ..ClippyReply::default() });
}

// CR-2, CR-3, CR-4, CR-6, CR-11
#[test]
fn a_session_keeps_its_32_newest_turns() {
    let (_broker, mut wrapper) = with_session();
    for n in 1..=40 {
        assert_eq!(wrapper.turn("s", format!("turn {n}").as_bytes()), format!("s:{n}"));
    }
    let newest: Vec<String> = (9..=40).rev().map(|n| format!("s:{n}")).collect();
    assert_eq!(list(&mut wrapper, "s", None), newest);
    assert_eq!(wrapper.ok(&Request::GetTurn { turn_id: "s:9" }).content.unwrap(), b"turn 9");
    assert_eq!(wrapper.refused(&Request::GetTurn { turn_id: "s:8" }), "turn_not_found");
    // Numbers begin anew only with the session.
    wrapper.ok(&Request::Deregister { session: "s" });
    wrapper.register("s");
    assert_eq!(wrapper.turn("s", b"x"), "s:1");
}

// CR-5
#[test]
fn names_with_colons_work() {
    let broker = Broker::start();
    let mut wrapper = broker.clippy(PeerRole::Wrapper);
    for session in ["a:1", "a", ":", "a:1:1"] {
        wrapper.register(session);
        let turn = wrapper.turn(session, session.as_bytes());
        assert_eq!(turn, format!("{session}:1"));
    }
    for session in ["a:1", "a", ":", "a:1:1"] {
        let turn_id = format!("{session}:1");
        let got = wrapper.ok(&Request::GetTurn { turn_id: &turn_id });
        assert_eq!(got.content.unwrap(), session.as_bytes());
        let captured = wrapper.ok(&Request::CaptureById { turn_id: &turn_id });
        assert_eq!(captured.size, Some(session.len() as u32));
    }
}

// CR-7, CR-8, CR-9
#[test]
fn long_turns_are_cut_and_marked() {
    const LIMIT: usize = 4_194_304;
    let (_broker, mut wrapper) = with_session();
    let content: Vec<u8> = (0..LIMIT + 1000).map(|n| (n / 7) as u8).collect();
    let turn = wrapper.turn("s", &content);
    let captured = wrapper.ok(&Request::Capture { session: "s" });
    assert_eq!((captured.size, captured.turn_id.as_ref()), (Some(LIMIT as u32), Some(&turn)));
    let got = wrapper.ok(&Request::GetTurn { turn_id: &turn });
    assert_eq!((got.byte_length, got.truncated), (Some(content.len() as u32), Some(true)));
    assert!(got.content.unwrap() == content[..LIMIT]);
    wrapper.send(9, &Request::Paste { session: "s" });
    assert!(wrapper.injected() == content[..LIMIT]);
    assert_eq!(wrapper.answer().error, None);
    // Exactly the limit is not too long, and who has cut it already may say how long it was.
    let turn = wrapper.turn("s", &content[..LIMIT]);
    assert_eq!(wrapper.ok(&Request::GetTurn { turn_id: &turn }).truncated, Some(false));
    let cut = Request::TurnCompleted {
        session: "s",
        content: b"x",
        interrupted: false,
        timestamp: None,
        byte_length: Some(99),
    };
    let turn = wrapper.ok(&cut).turn_id.unwrap();
    let got = wrapper.ok(&Request::GetTurn { turn_id: &turn });
    assert_eq!((got.byte_length, got.truncated), (Some(99), Some(true)));
}

// CR-10, CR-11, CR-15
#[test]
fn turns_are_found_by_name() {
    let (broker, mut wrapper) = with_session();
    let completed = |content, interrupted, timestamp| Request::TurnCompleted {
        session: "s",
        content,
        interrupted,
        timestamp: Some(timestamp),
        byte_length: None,
    };
    wrapper.ok(&completed(b"one", true, 1000));
    wrapper.ok(&completed(b"second", false, 2000));
    let mut client = broker.clippy(PeerRole::Client);
    let got = client.ok(&Request::GetTurn { turn_id: "s:1" });
    let wanted = ClippyReply {
        id: got.id,
        turn_id: Some("s:1".into()),
        content: Some(b"one".to_vec()),
        timestamp: Some(1000),
        byte_length: Some(3),
        interrupted: Some(true),
        truncated: Some(false),
        ..ClippyReply::default()
    };
    assert_eq!(got, wanted);
    let captured = client.ok(&Request::CaptureById { turn_id: "s:1" });
    assert_eq!((captured.size, captured.turn_id.as_deref()), (Some(3), Some("s:1")));
    client.ok(&Request::Paste { session: "s" });
    assert_eq!(wrapper.injected(), b"one");
    for turn_id in ["", "s", "s:", ":1", "s:0", "s:3", "s:01", "s:-1", "s:x", "t:1", "s:99999999999999999999"]
    {
        assert_eq!(client.refused(&Request::GetTurn { turn_id }), "turn_not_found", "{turn_id:?}");
        assert_eq!(client.refused(&Request::CaptureById { turn_id }), "turn_not_found", "{turn_id:?}");
    }
    wrapper.ok(&Request::Deregister { session: "s" });
    assert_eq!(client.refused(&Request::GetTurn { turn_id: "s:1" }), "turn_not_found");
    assert_eq!(client.refused(&Request::CaptureById { turn_id: "s:1" }), "turn_not_found");
}

// CR-12, CR-13, CR-14
#[test]
fn lists_have_the_newest_first() {
    let (_broker, mut wrapper) = with_session();
    assert_eq!(list(&mut wrapper, "s", None), Vec::<String>::new());
    for (n, content) in [&b"a"[..], b"bc", b""].into_iter().enumerate() {
        let interrupted = n == 1;
        let timestamp = Some(n as u64 + 1);
        wrapper.ok(&Request::TurnCompleted {
            session: "s",
            content,
            interrupted,
            timestamp,
            byte_length: None,
        });
    }
    let all = wrapper.ok(&Request::ListTurns { session: "s", limit: None });
    assert_eq!(all.content, None);
    let wanted = [
        ("s:3".to_owned(), 3, 0, false, false),
        ("s:2".to_owned(), 2, 2, true, false),
        ("s:1".to_owned(), 1, 1, false, false),
    ];
    assert_eq!(all.turns.unwrap(), wanted);
    assert_eq!(list(&mut wrapper, "s", Some(0)), Vec::<String>::new());
    assert_eq!(list(&mut wrapper, "s", Some(2)), ["s:3", "s:2"]);
    assert_eq!(list(&mut wrapper, "s", Some(u32::MAX)).len(), 3);
    assert_eq!(wrapper.refused(&Request::ListTurns { session: "t", limit: None }), "session_not_found");
}

// CR-16
#[test]
fn the_buffer_outlives_turn_and_session() {
    let (broker, mut wrapper) = with_session();
    wrapper.turn("s", b"old one");
    let mut client = broker.clippy(PeerRole::Client);
    client.ok(&Request::Capture { session: "s" });
    for _ in 0..40 {
        wrapper.turn("s", b"newer");
    }
    assert_eq!(client.refused(&Request::GetTurn { turn_id: "s:1" }), "turn_not_found");
    client.ok(&Request::Paste { session: "s" });
    assert_eq!(wrapper.injected(), b"old one");
    wrapper.ok(&Request::Deregister { session: "s" });
    wrapper.register("t");
    client.ok(&Request::Deliver(Sink::Inject { session: "t" }));
    assert_eq!(wrapper.injected(), b"old one");
}

// CR-17, CR-20, CR-21, CR-22
#[test]
fn sinks_are_checked_before_the_buffer() {
    let (broker, mut wrapper) = with_session();
    let mut client = broker.clippy(PeerRole::Client);
    let mut deliver = |fields: &[(&str, &str)]| {
        let text = |text: &str| [&[0xd9, text.len() as u8], text.as_bytes()].concat();
        let mut payload = vec![0x82 + fields.len() as u8];
        for (key, value) in [&[("type", "deliver")], fields].concat() {
            payload.extend([text(key), text(value)].concat());
        }
        payload.extend(b"\xa2id\x03");
        client.send_raw(&[&(payload.len() as u32).to_be_bytes(), payload.as_slice()].concat());
        client.answer().error.unwrap_or_default()
    };
    assert_eq!(deliver(&[("sink", "inject")]), "missing_field");
    assert_eq!(deliver(&[("sink", "inject"), ("path", "/x")]), "missing_field");
    assert_eq!(deliver(&[("sink", "file")]), "missing_field");
    assert_eq!(deliver(&[("sink", "printer")]), "unknown_sink");
    assert_eq!(deliver(&[("sink", "inject"), ("session", "nobody")]), "buffer_empty");
    assert_eq!(deliver(&[("sink", "file"), ("path", "relative")]), "buffer_empty");
    assert_eq!(deliver(&[("sink", "clipboard")]), "buffer_empty");
    wrapper.turn("s", b"x");
    wrapper.ok(&Request::Capture { session: "s" });
    assert_eq!(deliver(&[("sink", "inject"), ("session", "nobody")]), "session_not_found");
    assert_eq!(deliver(&[("sink", "inject"), ("session", "s"), ("path", "/x"), ("more", "")]), "");
    assert_eq!(wrapper.injected(), b"x");
    assert_eq!(deliver(&[("sink", "printer")]), "unknown_sink");
}

// CR-18, CR-23, CR-24, CR-25
#[test]
fn the_file_sink_writes_the_buffer_and_nothing_else() {
    let (broker, mut wrapper) = with_session();
    let content: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    wrapper.turn("s", &content);
    wrapper.ok(&Request::Capture { session: "s" });
    let mut client = broker.clippy(PeerRole::Client);
    let path = broker.workspace("files").join("turn");
    let mut deliver = |path: &Path| {
        client.ask(&Request::Deliver(Sink::File { path: path.to_str().unwrap() })).error.unwrap_or_default()
    };
    assert_eq!(deliver(&path), "");
    assert!(std::fs::read(&path).unwrap() == content);
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    // An existing one is replaced, and keeps its mode.
    std::fs::write(&path, vec![1; 500_000]).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(deliver(&path), "");
    assert!(std::fs::read(&path).unwrap() == content);
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o644);
    for bad in ["turn", "./turn", "", "/", "/nowhere/turn", "/dev/full", "/tmp/\0", "~/turn"] {
        assert_eq!(deliver(Path::new(bad)), "file_write_failed", "{bad:?}");
    }
    // What failed has changed nothing.
    client.ok(&Request::Paste { session: "s" });
    assert!(wrapper.injected() == content);
    assert_eq!(list(&mut client, "s", None), ["s:1"]);
}
