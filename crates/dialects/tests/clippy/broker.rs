//! The clippy front as its peers see it: greeting, requests and answers, sessions, turns, capture and paste.
//!
//! The golden cases are played in `vectors_live.rs`; what comes and goes with the daemon is in `cli/tests/clippy/life.rs`,
//! the registry in `registry.rs`.

use crate::Broker;
use std::io::Write;
use std::net::Shutdown;
use swb_testkit::{ClippyClient, ClippyItem, ClippyReply, LIMIT, QUIET, wait_for};
use swb_wire::clippy::{MAX_FRAME, PeerRole, Request, VERSION, encode_request};

/// Every byte there is, twice.
fn all_bytes() -> Vec<u8> {
    (0..=255).chain((0..=255).rev()).collect()
}

fn names(client: &mut ClippyClient) -> Vec<String> {
    client.sessions().into_iter().map(|(name, ..)| name).collect()
}

/// A frame around MessagePack that was written by hand.
fn framed(payload: &[u8]) -> Vec<u8> {
    [&(payload.len() as u32).to_be_bytes(), payload].concat()
}

/// A map that begins with a type and an id, and goes on with `rest`, which has `more` entries.
fn map(kind: &str, id: u8, more: u8, rest: &[u8]) -> Vec<u8> {
    let kind = [&[0xa0 | kind.len() as u8], kind.as_bytes()].concat();
    framed(&[&[0x82 + more], &b"\xa4type"[..], &kind, b"\xa2id", &[id], rest].concat())
}

// CB-19, CB-20, CB-21, CB-22, CB-23, CB-24
#[test]
fn a_connection_begins_with_a_greeting() {
    let broker = Broker::start();
    for role in [PeerRole::Client, PeerRole::Wrapper] {
        let mut peer = broker.clippy(role);
        assert_eq!(peer.sessions(), []);
        // Again, for another client.
        peer.hello(role);
        assert_eq!(peer.sessions(), []);
    }
    let refused = |id, version, reason: &str| {
        let mut peer = broker.clippy_raw();
        peer.send(id, &Request::Hello { version, role: Some(PeerRole::Client) });
        peer.send(1, &Request::ListSessions);
        assert_eq!(peer.item(LIMIT), Some(ClippyItem::Ack(Some(reason.into()))));
        peer.closed();
    };
    for version in [0, 2, u32::MAX] {
        refused(0, version, "version_mismatch");
    }
    refused(7, VERSION, "invalid_hello_id");
    // What is no greeting is not obeyed.
    let mut watcher = broker.clippy(PeerRole::Client);
    let register = Request::Register { session: "s", pid: 1, pattern: "" };
    for first in [register, Request::ListSessions] {
        let mut peer = broker.clippy_raw();
        peer.send(0, &first);
        peer.closed();
    }
    for role in ["admin", "", "Wrapper"] {
        let text = [&b"\xa7version\x01\xa4role"[..], &[0xa0 | role.len() as u8], role.as_bytes()].concat();
        let mut peer = broker.clippy_raw();
        peer.send_raw(&map("hello", 0, 2, &text));
        peer.send(1, &register);
        peer.closed();
    }
    assert_eq!(watcher.sessions(), []);
}

// CB-7, CB-10, CB-11, CB-12, CB-15, CB-16, CB-17
#[test]
fn maps_are_read_whatever_their_order_and_widths() {
    let broker = Broker::start();
    let mut wrapper = broker.clippy(PeerRole::Wrapper);
    // The id in 64 bits and signed, a pid in 16, unknown keys, and the type last.
    let rest = b"\x86\xa2id\xd3\0\0\0\0\0\0\x01\x02\xa7session\xa1s\xa3pid\xcd\x10\x92\xa1x\x93\x01\xc0\x81\xa1y\xcb\0\0\0\0\0\0\0\0\xa7pattern\xa0\xa4type\xa8register";
    wrapper.send_raw(&framed(rest));
    assert_eq!(wrapper.answer(), ClippyReply { id: 258, ..ClippyReply::default() });
    assert_eq!(wrapper.sessions(), [("s".into(), 4242, false)]);
    wrapper.send(u32::MAX, &Request::Capture { session: "s" });
    let no_turn = ClippyReply { id: u32::MAX, error: Some("no_turn".into()), ..ClippyReply::default() };
    assert_eq!(wrapper.answer(), no_turn);
}

// CB-8, CB-9
#[test]
fn lengths_beyond_the_limit_end_a_connection_before_anything_is_waited_for() {
    let broker = Broker::start();
    let mut other = broker.clippy(PeerRole::Client);
    for len in [MAX_FRAME as u32 + 1, u32::MAX] {
        let mut peer = broker.clippy(PeerRole::Client);
        peer.send_raw(&len.to_be_bytes());
        let answer = peer.answer();
        assert_eq!((answer.id, answer.error.as_deref()), (0, Some("payload_too_large")));
        peer.closed();
    }
    // Exactly the limit is fine.
    let mut wrapper = broker.clippy(PeerRole::Wrapper);
    wrapper.register("s");
    let request = |content| Request::TurnCompleted {
        session: "s",
        content,
        interrupted: false,
        timestamp: None,
        byte_length: None,
    };
    let mut small = Vec::new();
    encode_request(1, &request(&[]), &mut small).unwrap();
    // An empty content has a length of one byte, this one of four.
    let content = vec![7; MAX_FRAME - (small.len() - 4) - 3];
    let answer = wrapper.ok(&request(&content));
    assert_eq!(answer.turn_id.as_deref(), Some("s:1"));
    let list = other.ok(&Request::ListTurns { session: "s", limit: None }).turns.unwrap();
    assert_eq!((list[0].2 as usize, list[0].4), (content.len(), true));
}

// CB-13, CB-14, CB-31
#[test]
fn what_is_no_message_ends_its_connection_and_no_other() {
    let broker = Broker::start();
    let mut other = broker.clippy(PeerRole::Wrapper);
    other.register("s");
    let deep = [vec![0x91; 100_000], vec![0xc0]].concat();
    let bad: [&[u8]; 12] = [
        b"",
        b"\x2a",
        b"\x92\x01\x02",
        b"\xc1",
        b"\xc0",
        b"\x81\xa4type\xadlist_sessions",
        b"\x82\xa4type\xadlist_sessions\xa2id\xa11",
        b"\x82\xa4type\xadlist_sessions\xa2id\xff",
        b"\x82\xa4type\xadlist_sessions\xa2id\xcf\0\0\0\x01\0\0\0\0",
        b"\x82\xa4type\x05\xa2id\x01",
        b"\xdf\xff\xff\xff\xff\xa4type",
        &deep,
    ];
    for payload in bad {
        let mut peer = broker.clippy(PeerRole::Client);
        peer.send(1, &Request::ListSessions);
        peer.send_raw(&framed(payload));
        peer.send(2, &Request::ListSessions);
        // What was asked before is answered.
        assert_eq!(peer.answer().id, 1);
        peer.closed();
    }
    // The end inside a header or a payload.
    for cut in [2, 4, 9] {
        let mut peer = broker.clippy(PeerRole::Wrapper);
        let mut bytes = Vec::new();
        encode_request(1, &Request::Register { session: "cut", pid: 1, pattern: "" }, &mut bytes).unwrap();
        peer.send_raw(&bytes[..cut]);
        peer.socket().shutdown(Shutdown::Write).unwrap();
        peer.closed();
    }
    assert_eq!(names(&mut other), ["s"]);
}

// CB-25, CB-32: one answer each, in order, however they arrive.
#[test]
fn requests_may_be_sent_without_waiting_for_answers() {
    let broker = Broker::start();
    let mut peer = broker.clippy(PeerRole::Wrapper);
    let mut bytes = Vec::new();
    for id in 1..=500 {
        let content = [id as u8; 300];
        let request = match id % 5 {
            0 => Request::Register { session: "s", pid: 1, pattern: "" },
            1 => Request::ListSessions,
            2 => Request::Capture { session: "nobody" },
            3 => Request::Deregister { session: "s" },
            _ => Request::TurnCompleted {
                session: "s",
                content: &content,
                interrupted: false,
                timestamp: None,
                byte_length: None,
            },
        };
        encode_request(id, &request, &mut bytes).unwrap();
    }
    for piece in bytes.chunks(777) {
        peer.send_raw(piece);
    }
    for id in 1..=500 {
        assert_eq!(peer.answer().id, id);
    }
    // Also those who say that they have nothing more to ask.
    peer.send(7, &Request::ListSessions);
    peer.send(8, &Request::ListSessions);
    peer.socket().shutdown(Shutdown::Write).unwrap();
    assert_eq!((peer.answer().id, peer.answer().id), (7, 8));
    peer.closed();
}

// CB-25, CB-32: the messages of a client that leaves without waiting for replies still count.
#[test]
fn what_was_asked_is_done_for_those_who_have_left() {
    let broker = Broker::start();
    let mut target = broker.clippy(PeerRole::Wrapper);
    target.register("target");
    for n in 0..10 {
        let content = vec![n; 100_000];
        let mut bytes = Vec::new();
        let turn = Request::TurnCompleted {
            session: "s",
            content: &content,
            interrupted: false,
            timestamp: None,
            byte_length: None,
        };
        let requests = [
            Request::Hello { version: VERSION, role: Some(PeerRole::Wrapper) },
            Request::Register { session: "s", pid: 1, pattern: "" },
            turn,
            Request::Capture { session: "s" },
            Request::Paste { session: "target" },
        ];
        for request in requests {
            encode_request(0, &request, &mut bytes).unwrap();
        }
        let mut peer = broker.clippy_raw();
        peer.send_raw(&bytes);
        drop(peer);
        assert!(target.injected() == content, "round {n}");
        wait_for("the end of its session", || (names(&mut target) == ["target"]).then_some(()));
    }
}

// CB-26, CB-27, CB-28, CB-31
#[test]
fn what_is_not_understood_is_rejected_and_the_connection_stays() {
    let broker = Broker::start();
    let mut peer = broker.clippy(PeerRole::Wrapper);
    let requests = [
        map("frobnicate", 5, 0, b""),
        map("hello_ack", 5, 0, b""),
        map("response", 5, 0, b""),
        map("inject", 5, 1, b"\xa7content\xc4\x01x"),
        map("capture", 5, 0, b""),
        map("capture", 5, 1, b"\xa7session\x05"),
        map("register", 5, 2, b"\xa7session\xa1s\xa7pattern\xa1p"),
        map("register", 5, 3, b"\xa7session\xa1s\xa7pattern\xa1p\xa3pid\xff"),
        map("turn_completed", 5, 2, b"\xa7session\xa1s\xa7content\xc4\x01x"),
        map("list_turns", 5, 2, b"\xa7session\xa1s\xa5limit\xa11"),
        map("get_turn", 5, 0, b""),
        map("deliver", 5, 0, b""),
    ];
    for request in requests {
        peer.send_raw(&request);
        let answer = peer.answer();
        let wanted = ClippyReply { id: 5, error: Some("unknown_type".into()), ..ClippyReply::default() };
        assert_eq!(answer, wanted, "{}", String::from_utf8_lossy(&request));
    }
    assert_eq!(peer.sessions(), []);
}

// CB-29, CB-30
#[test]
fn only_wrappers_have_sessions_and_everybody_else_may_use_them() {
    let broker = Broker::start();
    let mut wrapper = broker.clippy(PeerRole::Wrapper);
    wrapper.register("s");
    let turn = wrapper.turn("s", b"x");
    let mut client = broker.clippy(PeerRole::Client);
    for request in [
        Request::Register { session: "c", pid: 1, pattern: "" },
        Request::Deregister { session: "s" },
        Request::TurnCompleted {
            session: "s",
            content: b"y",
            interrupted: false,
            timestamp: None,
            byte_length: None,
        },
    ] {
        assert_eq!(client.refused(&request), "unknown_type");
    }
    let mut other = broker.clippy(PeerRole::Wrapper);
    for peer in [&mut client, &mut other] {
        assert_eq!(peer.sessions(), [("s".into(), swb_testkit::NO_PROCESS, true)]);
        peer.ok(&Request::Capture { session: "s" });
        peer.ok(&Request::CaptureById { turn_id: &turn });
        peer.ok(&Request::Paste { session: "s" });
        assert_eq!(peer.ok(&Request::GetTurn { turn_id: &turn }).content.unwrap(), b"x");
        assert_eq!(peer.ok(&Request::ListTurns { session: "s", limit: None }).turns.unwrap().len(), 1);
        peer.ok(&Request::Deliver(swb_wire::clippy::Sink::Inject { session: "s" }));
    }
    for _ in 0..4 {
        assert_eq!(wrapper.injected(), b"x");
    }
}

// CB-33, CB-34, CB-35, CB-38, CB-40
#[test]
fn sessions_come_and_go() {
    let broker = Broker::start();
    let mut first = broker.clippy(PeerRole::Wrapper);
    let mut second = broker.clippy(PeerRole::Wrapper);
    first.register("one");
    first.turn("one", b"x");
    second.register("two: größe / \u{7f}");
    let duplicate = Request::Register { session: "one", pid: 1, pattern: "p" };
    for wrapper in [&mut first, &mut second] {
        assert_eq!(wrapper.refused(&duplicate), "duplicate_session");
    }
    let list = [
        ("one".to_owned(), swb_testkit::NO_PROCESS, true),
        ("two: größe / \u{7f}".to_owned(), swb_testkit::NO_PROCESS, false),
    ];
    assert_eq!(second.sessions(), list);
    first.ok(&Request::Deregister { session: "one" });
    first.ok(&Request::Deregister { session: "one" });
    first.ok(&Request::Deregister { session: "never" });
    assert_eq!(second.refused(&Request::Capture { session: "one" }), "session_not_found");
    second.register("one");
    assert_eq!(second.refused(&Request::Capture { session: "one" }), "no_turn");
    assert_eq!(second.turn("one", b"new"), "one:1");
    // The end of its former connection is nothing to it.
    drop(first);
    let mut client = broker.clippy(PeerRole::Client);
    for _ in 0..20 {
        assert_eq!(client.sessions().len(), 2);
    }
}

// CB-37, CB-38
#[test]
fn the_sessions_of_a_wrapper_end_with_its_connection() {
    let broker = Broker::start();
    let mut client = broker.clippy(PeerRole::Client);
    for how in ["closed", "killed in a message", "nonsense"] {
        let mut wrapper = broker.clippy(PeerRole::Wrapper);
        wrapper.register("one");
        wrapper.register("two");
        wrapper.turn("one", how.as_bytes());
        assert_eq!(names(&mut client), ["one", "two"]);
        match how {
            "killed in a message" => wrapper.send_raw(&[0, 0, 1, 0, 0x82]),
            "nonsense" => wrapper.send_raw(&framed(b"\xc1")),
            _ => {}
        }
        drop(wrapper);
        wait_for("the end of the sessions", || client.sessions().is_empty().then_some(()));
        let turn = client.refused(&Request::GetTurn { turn_id: "one:1" });
        assert_eq!(turn, "turn_not_found");
    }
}

// CB-39, CB-46
#[test]
fn one_connection_can_have_several_sessions() {
    let broker = Broker::start();
    let mut wrapper = broker.clippy(PeerRole::Wrapper);
    for session in ["one", "two"] {
        wrapper.register(session);
        wrapper.turn(session, session.as_bytes());
    }
    let mut client = broker.clippy(PeerRole::Client);
    client.ok(&Request::Capture { session: "two" });
    client.ok(&Request::Paste { session: "one" });
    client.ok(&Request::Paste { session: "two" });
    assert_eq!((wrapper.injected(), wrapper.injected()), (b"two".to_vec(), b"two".to_vec()));
    wrapper.ok(&Request::Deregister { session: "one" });
    assert_eq!(names(&mut client), ["two"]);
    // There is an end to it, which others do not notice.
    for n in 0..63 {
        wrapper.register(&format!("n{n}"));
    }
    let more = Request::Register { session: "more", pid: 1, pattern: "" };
    assert_eq!(wrapper.refused(&more), "limit_reached");
    broker.clippy(PeerRole::Wrapper).register("more");
    let long = "x".repeat(5000);
    let long = Request::Register { session: &long, pid: 1, pattern: "" };
    assert_eq!(broker.clippy(PeerRole::Wrapper).refused(&long), "limit_reached");
}

// CB-18, CB-41, CB-43, CB-44, CB-46
#[test]
fn content_goes_through_unchanged() {
    let broker = Broker::start();
    let mut wrapper = broker.clippy(PeerRole::Wrapper);
    wrapper.register("s");
    let long: Vec<u8> = all_bytes().repeat(8192);
    assert_eq!(long.len(), 4 << 20);
    for content in [all_bytes(), vec![], b"\xc3\x28\xff".to_vec(), vec![0; 70_000], long] {
        let turn = wrapper.turn("s", &content);
        let captured = wrapper.ok(&Request::Capture { session: "s" });
        assert_eq!((captured.size, captured.turn_id), (Some(content.len() as u32), Some(turn.clone())));
        let got = wrapper.ok(&Request::GetTurn { turn_id: &turn });
        assert_eq!(got.truncated, Some(false));
        assert!(got.content.unwrap() == content);
        wrapper.send(9, &Request::Paste { session: "s" });
        assert!(wrapper.injected() == content);
        assert_eq!(wrapper.answer().error, None);
    }
    // As text, too.
    wrapper.send_raw(&map("turn_completed", 5, 3, b"\xa7session\xa1s\xa7content\xa3abc\xabinterrupted\xc3"));
    let turn = wrapper.answer().turn_id.unwrap();
    let got = wrapper.ok(&Request::GetTurn { turn_id: &turn });
    assert_eq!((got.content.unwrap(), got.interrupted), (b"abc".to_vec(), Some(true)));
    let unknown = Request::TurnCompleted {
        session: "t",
        content: b"",
        interrupted: false,
        timestamp: None,
        byte_length: None,
    };
    assert_eq!(wrapper.refused(&unknown), "session_not_found");
}

// CB-36, CB-44, CB-45, CB-46, CB-47, CB-48, CB-49, CB-50, CB-51
#[test]
fn what_was_captured_can_be_pasted_again_and_again() {
    let broker = Broker::start();
    let mut client = broker.clippy(PeerRole::Client);
    assert_eq!(client.refused(&Request::Paste { session: "nobody" }), "buffer_empty");
    let mut source = broker.clippy(PeerRole::Wrapper);
    source.register("source");
    let mut target = broker.clippy(PeerRole::Wrapper);
    target.register("target");
    assert_eq!(client.refused(&Request::Paste { session: "target" }), "buffer_empty");
    source.turn("source", b"first");
    source.turn("source", b"second");
    let captured = client.ok(&Request::Capture { session: "source" });
    assert_eq!((captured.size, captured.turn_id.as_deref()), (Some(6), Some("source:2")));
    // What fails leaves it alone.
    assert_eq!(client.refused(&Request::Capture { session: "nobody" }), "session_not_found");
    assert_eq!(client.refused(&Request::Capture { session: "target" }), "no_turn");
    assert_eq!(client.refused(&Request::Paste { session: "nobody" }), "session_not_found");
    client.ok(&Request::Paste { session: "source" });
    assert_eq!(source.injected(), b"second");
    source.ok(&Request::Deregister { session: "source" });
    for _ in 0..2 {
        client.ok(&Request::Paste { session: "target" });
        assert_eq!(target.injected(), b"second");
    }
    target.quiet();
    // No request waits for the wrapper.
    target.turn("target", b"");
    assert_eq!(client.ok(&Request::Capture { session: "target" }).size, Some(0));
    client.ok(&Request::Paste { session: "target" });
    assert_eq!(target.injected(), b"");
    // A wrapper that is gone, whether or not that was noticed yet.
    drop(target);
    let reason = client.refused(&Request::Paste { session: "target" });
    assert!(["session_not_found", "session_disconnected"].contains(&reason.as_str()), "{reason}");
}

// CB-42
#[test]
fn a_turn_without_a_time_has_that_of_its_arrival() {
    let broker = Broker::start();
    let mut wrapper = broker.clippy(PeerRole::Wrapper);
    wrapper.register("s");
    let unix = || std::time::UNIX_EPOCH.elapsed().unwrap().as_millis() as u64;
    let before = unix();
    for (timestamp, given) in
        [(None, None), (Some(0), None), (Some(1), Some(1)), (Some(u64::MAX), Some(u64::MAX))]
    {
        let content = b"x";
        let request = Request::TurnCompleted {
            session: "s",
            content,
            interrupted: false,
            timestamp,
            byte_length: None,
        };
        let turn = wrapper.ok(&request).turn_id.unwrap();
        let time = wrapper.ok(&Request::GetTurn { turn_id: &turn }).timestamp.unwrap();
        match given {
            Some(given) => assert_eq!(time, given),
            None => assert!((before..=unix()).contains(&time)),
        }
    }
}

// CB-59: a peer that does not read is disconnected when too much is queued for it, and delays no other.
#[test]
fn a_peer_that_never_reads_delays_no_other_peer() {
    let broker = Broker::start();
    let mut stuck = broker.clippy(PeerRole::Wrapper);
    stuck.register("stuck");
    let mut wrapper = broker.clippy(PeerRole::Wrapper);
    wrapper.register("s");
    wrapper.turn("s", &vec![5; 4 << 20]);
    wrapper.ok(&Request::Capture { session: "s" });
    let mut client = broker.clippy(PeerRole::Client);
    // One that asks for a lot and reads nothing.
    let mut deaf = broker.clippy(PeerRole::Client);
    let mut request = Vec::new();
    encode_request(1, &Request::GetTurn { turn_id: "s:1" }, &mut request).unwrap();
    deaf.send_raw(&request.repeat(100));
    let mut taken = 0;
    let reason = loop {
        client.ok(&Request::Paste { session: "s" });
        assert_eq!(wrapper.injected().len(), 4 << 20);
        match client.ask(&Request::Paste { session: "stuck" }).error {
            None => taken += 1,
            Some(reason) => break reason,
        }
        assert!(taken < 20, "64 MiB are enough");
    };
    assert!(taken >= 15, "{taken}");
    assert!(["session_not_found", "session_disconnected"].contains(&reason.as_str()), "{reason}");
    wait_for("the end of the session", || (names(&mut client) == ["s"]).then_some(()));
    // The others still get everything they asked for.
    for _ in 0..100 {
        assert_eq!(deaf.answer().content.unwrap().len(), 4 << 20);
    }
}

// CB-52: 1000 captures and pastes from 50 clients at once.
#[test]
fn contents_are_never_mixed() {
    let broker = Broker::start();
    const CLIENTS: u8 = 50;
    const ROUNDS: usize = 20;
    let mut target = broker.clippy(PeerRole::Wrapper);
    target.register("target");
    std::thread::scope(|scope| {
        for n in 0..CLIENTS {
            let broker = &broker;
            scope.spawn(move || {
                let mut wrapper = broker.clippy(PeerRole::Wrapper);
                let session = format!("s{n}");
                wrapper.register(&session);
                let mut client = broker.clippy(PeerRole::Client);
                for round in 0..ROUNDS {
                    wrapper.turn(&session, &vec![n; 1000 + 997 * round]);
                    client.ok(&Request::Capture { session: &session });
                    client.ok(&Request::Paste { session: "target" });
                }
            });
        }
        let mut injected = 0;
        while injected < usize::from(CLIENTS) * ROUNDS {
            let content = target.injected();
            let first = content[0];
            assert!(content.iter().all(|byte| *byte == first) && (content.len() - 1000).is_multiple_of(997));
            injected += 1;
        }
    });
    target.quiet();
}

// A peer that sends nothing at all, and ones that send half a message, do not affect the others.
#[test]
fn half_messages_disturb_no_other_client() {
    let broker = Broker::start();
    let silent: Vec<ClippyClient> = (0..20).map(|_| broker.clippy_raw()).collect();
    let half: Vec<ClippyClient> = (0..20)
        .map(|n| {
            let mut peer = broker.clippy(PeerRole::Wrapper);
            // A length that is never lived up to.
            peer.send_raw(&(MAX_FRAME as u32).to_be_bytes());
            let _sent = peer.socket().write_all(&vec![n; 10_000]);
            peer
        })
        .collect();
    let mut client = broker.clippy(PeerRole::Client);
    assert_eq!(client.sessions(), []);
    drop((silent, half));
    assert_eq!(client.sessions(), []);
}

// A message may be large and its sender slow, but not many of them at once.
#[test]
fn half_sent_messages_take_limited_memory_together() {
    let broker = Broker::start();
    let mut registered = broker.clippy(PeerRole::Wrapper);
    registered.register("s");
    let begun = |_| {
        let mut peer = broker.clippy(PeerRole::Client);
        peer.send_raw(&(MAX_FRAME as u32).to_be_bytes());
        peer.send_raw(&vec![0xc1; MAX_FRAME / 2 + 1]);
        peer
    };
    let most = swb_dialects::limits::INCOMPLETE / (MAX_FRAME / 2);
    let mut slow: Vec<ClippyClient> = (0..most + 1).map(begun).collect();
    slow[0].closed();
    // Those that came later may go on, and idle connections are none of this.
    slow[most].quiet();
    assert_eq!(names(&mut registered), ["s"]);
}

// CB-59: nor do those who send as fast as they can, and never read what is answered.
#[test]
fn a_flood_disturbs_no_other_client() {
    let broker = Broker::start();
    let mut bytes = Vec::new();
    for id in 0..20 {
        let request = Request::TurnCompleted {
            session: "flood",
            content: &[b'f'; 100_000],
            interrupted: false,
            timestamp: None,
            byte_length: None,
        };
        encode_request(id, &request, &mut bytes).unwrap();
    }
    let floods: Vec<_> = (0..4)
        .map(|n| {
            let mut peer = broker.clippy(PeerRole::Wrapper);
            // All but the first report turns of a session that is not theirs.
            if n == 0 {
                peer.register("flood");
            }
            peer.socket().set_write_timeout(Some(QUIET)).unwrap();
            let bytes = bytes.clone();
            // Until the daemon has had enough, or the test.
            std::thread::spawn(move || {
                let mut sent = 0;
                while sent < 300 && peer.socket().write_all(&bytes).is_ok() {
                    sent += 1;
                }
                peer
            })
        })
        .collect();
    let mut wrapper = broker.clippy(PeerRole::Wrapper);
    wrapper.register("quiet");
    wrapper.turn("quiet", b"kept");
    let mut client = broker.clippy(PeerRole::Client);
    for _ in 0..50 {
        client.ok(&Request::Capture { session: "quiet" });
        client.ok(&Request::Paste { session: "quiet" });
        assert_eq!(wrapper.injected(), b"kept");
    }
    for flood in floods {
        drop(flood.join().unwrap());
    }
    assert_eq!(client.ok(&Request::GetTurn { turn_id: "quiet:1" }).content.unwrap(), b"kept");
}
