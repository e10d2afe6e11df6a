//! The golden cases of the wire crate, played against a live daemon; and streams cut at every byte.
//!
//! A case is a list of steps: bytes to the daemon, the expected reply, and whether the connection is
//! open or closed then. Cases that only show the form of a message are left to the wire crate's tests.

use serde_json::{Value, json};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};
use swb_testkit::{ClippyItem, CoopClient, Frame, LIMIT, QUIET, StreamItem, Swb, wait_for};
use swb_wire::clippy::{PeerRole as Peer, Request, encode_request};
use swb_wire::keepty::{KeeptyRole, Message, encode};

const EXE: &str = env!("CARGO_BIN_EXE_swb");
/// Gives back every byte as it is.
const MIRROR: [&str; 3] = ["sh", "-c", "stty raw -echo; echo ready; exec cat"];

// KP-1, KP-2, KP-3, KP-4, KP-5, KP-7, KP-8, KP-17, KP-18, KP-20, KP-21, KP-22, KP-26, KP-34, KP-37, KP-38,
// KP-39, KP-40, KP-42, KP-46
#[test]
fn keepty_cases() {
    let swb = Swb::start(EXE);
    let cases = cases(include_str!("../../../wire/tests/vectors/keepty.json"));
    let mut played = 0;
    std::thread::scope(|scope| {
        for (number, case) in cases.iter().enumerate().filter(|(_, case)| is_dialogue(case)) {
            let name = format!("v{number}");
            swb.coop().ok(&json!({
                "cmd": "create", "name": name, "workspace": swb.workspace(""), "argv": ["/bin/cat"],
                "start": "writer", "require": ["keepty"],
            }));
            let socket = swb.paths().keepty_socket(&name);
            let play = move || Player::connect(&socket, Dialect::Keepty).play(case);
            if case["name"] == "silent_client" {
                // It takes seconds, so the others do not wait for it.
                scope.spawn(play);
            } else {
                play();
            }
            played += 1;
            // After any of that client's actions, the daemon and, unless it was ended, the session serve the next one.
            swb.coop().ok(&json!({"cmd": "ls"}));
            // All bytes comprise Ctrl+C, which ends `cat` if it is quick enough.
            if case["name"] != "shutdown" && case["name"] != "input_all_bytes" {
                let mut other = swb.keepty(&name, KeeptyRole::Monitor, 80, 24);
                other.ack();
                other.send(&Message::Ping);
                assert_eq!(other.next_but_output(), Message::Pong, "after {}", case["name"]);
            }
        }
    });
    assert!(played >= 35, "only {played} cases");
}

// CO-10, CO-11, CO-12, CO-13, CO-14, CO-15, CO-19, CO-20, CO-21, CO-23, CO-29, CO-31, CO-34, CO-37, CO-47,
// CO-48, CO-49, CO-50, CO-52, CO-59
#[test]
fn coop_cases() {
    // The workspaces the cases name.
    for dir in ["/tmp/ws/nlst", "/tmp/ws/p1"] {
        std::fs::create_dir_all(dir).unwrap();
    }
    let cases = cases(include_str!("../../../wire/tests/vectors/coop-ipc.json"));
    let mut played = 0;
    for case in cases.iter().filter(|case| is_dialogue(case)) {
        let name = case["name"].as_str().unwrap();
        // Each case begins with a fresh daemon; those in stream mode have their own test.
        if name.starts_with("stream_") || name.starts_with("bad_stream_") {
            continue;
        }
        let swb = Swb::start(EXE);
        let player = Player::connect(&swb.paths().coop_socket(), Dialect::Coop);
        player.play(case);
        played += 1;
        if name != "shutdown" {
            swb.coop().ok(&json!({"cmd": "ls"}));
        }
    }
    assert!(played >= 29, "only {played} cases");
}

// CO-52, CO-53, CO-55: the cases that begin in stream mode.
#[test]
fn coop_cases_in_stream_mode() {
    let swb = Swb::start(EXE);
    swb.make("x", &MIRROR);
    swb.attach("x").until("ready\n");
    let cases = cases(include_str!("../../../wire/tests/vectors/coop-ipc.json"));
    let mut played = 0;
    for case in &cases {
        let name = case["name"].as_str().unwrap();
        if !name.starts_with("stream_") && !name.starts_with("bad_stream_") {
            continue;
        }
        let mut client = swb.coop();
        client.ok(&json!({"cmd": "attach", "session": "x", "history": 0}));
        let steps = case["steps"].as_array().unwrap();
        let sent = bytes(&steps[0]).concat();
        client.send_raw(&sent);
        let closes = steps.iter().any(|step| step["expect"] == "close");
        if closes {
            assert_eq!(client.to_end(), (vec![], vec![]), "{name}");
        } else if name.starts_with("stream_") && sent.len() > 5 {
            let mut back = Vec::new();
            while back.len() < sent.len() - 5 {
                match client.item(LIMIT) {
                    Some(StreamItem::Data(bytes)) => back.extend(bytes),
                    other => panic!("{other:?} in {name}"),
                }
            }
            assert_eq!(back, sent[5..], "{name}");
        } else {
            client.quiet();
        }
        if !closes {
            client.type_in(b"open");
            assert_eq!(client.until("open"), b"open", "{name}");
        }
        // The session goes on for others.
        let mut other = swb.coop();
        other.ok(&json!({"cmd": "attach", "session": "x", "history": 0}));
        other.type_in(b"other");
        assert_eq!(other.until("other"), b"other", "after {name}");
        played += 1;
    }
    assert!(played >= 6, "only {played} cases");
}

// CB-7, CB-8, CB-9, CB-11, CB-12, CB-13, CB-17, CB-18, CB-19, CB-20, CB-21, CB-22, CB-23, CB-26, CB-27, CB-28, CB-29,
// CB-32, CB-33, CB-34, CB-35, CB-40, CB-41, CB-42, CB-44, CB-45, CB-46, CB-48, CR-6, CR-7, CR-10, CR-11, CR-12, CR-13,
// CR-14, CR-20, CR-21, CR-22
#[test]
fn clippy_cases() {
    let swb = Swb::start(EXE);
    let cases = cases(include_str!("../../../wire/tests/vectors/clippy-broker.json"));
    let mut played = 0;
    for case in cases.iter().filter(|case| is_dialogue(case)) {
        let name = case["name"].as_str().unwrap();
        // Those before the first capture need a daemon without a buffer, those behind it one without sessions.
        let fresh = name.contains("buffer_empty").then(|| Swb::start(EXE));
        let swb = fresh.as_ref().unwrap_or(&swb);
        Player::connect(&swb.paths().clippy_socket().unwrap(), Dialect::Clippy).play(case);
        played += 1;
        let mut other = swb.clippy(Peer::Client);
        wait_for("the end of the case's session", || other.sessions().is_empty().then_some(()));
    }
    assert!(played >= 45, "only {played} cases");
}

// SS-2, SS-3, SS-4, SS-5, SS-7, SS-8, SS-9, SS-10, SS-13, SS-15, SS-17, SS-25, SS-26, SS-27, SS-29, SS-30, SS-31, SS-32,
// SS-33, SS-34, SS-37, SS-39, SS-40, SS-42, SS-44, SS-45, SS-50, SS-55, SS-56, SS-63, SS-67, SS-68, SS-70, SS-72, SS-74,
// SS-75
#[test]
fn scriptschnell_cases() {
    // The workspaces the cases name.
    std::fs::create_dir_all("/tmp/ws/p1").unwrap();
    let cases = cases(include_str!("../../../wire/tests/vectors/scriptschnell.json"));
    let mut played = 0;
    for case in cases.iter().filter(|case| is_dialogue(case)) {
        // Each begins without sessions.
        let swb = Swb::start(EXE);
        Player::connect(&swb.paths().scriptschnell_socket(), Dialect::Scriptschnell).play(case);
        played += 1;
        swb.chat();
    }
    assert!(played >= 45, "only {played} cases");
}

// CB-7: how the bytes of a peer are cut into pieces means nothing.
#[test]
fn clippy_streams_may_be_cut_at_every_byte() {
    let swb = Swb::start(EXE);
    let mut bytes = Vec::new();
    let content = b"turn\0\xff";
    let requests = [
        (0, Request::Hello { version: 1, role: Some(Peer::Wrapper) }),
        (1, Request::Register { session: "s", pid: 4242, pattern: "generic" }),
        (
            2,
            Request::TurnCompleted {
                session: "s",
                content,
                interrupted: true,
                timestamp: None,
                byte_length: None,
            },
        ),
        (3, Request::Capture { session: "s" }),
        (4, Request::Paste { session: "s" }),
        (5, Request::ListSessions),
    ];
    for (id, request) in requests {
        encode_request(id, &request, &mut bytes).unwrap();
    }
    let mut clock = swb.coop();
    let mut other = swb.clippy(Peer::Client);
    for cut in 1..bytes.len() {
        let mut peer = swb.clippy_raw();
        peer.send_raw(&bytes[..cut]);
        looked(&mut clock);
        peer.send_raw(&bytes[cut..]);
        assert_eq!(peer.item(LIMIT), Some(ClippyItem::Ack(None)), "cut at {cut}");
        assert_eq!(peer.answer().error, None, "cut at {cut}");
        assert_eq!(peer.answer().turn_id.unwrap(), "s:1", "cut at {cut}");
        assert_eq!(peer.answer().size, Some(6), "cut at {cut}");
        assert_eq!(peer.injected(), content, "cut at {cut}");
        assert_eq!((peer.answer().id, peer.answer().sessions.unwrap().len()), (4, 1), "cut at {cut}");
        drop(peer);
        wait_for("the end of the session", || other.sessions().is_empty().then_some(()));
    }
}

// KP-1: how the bytes of a client are cut into pieces means nothing.
#[test]
fn keepty_streams_may_be_cut_at_every_byte() {
    let swb = Swb::start(EXE);
    swb.make("x", &MIRROR);
    swb.attach("x").until("ready\n");
    let stream = |mark: &str| {
        let mut bytes = Vec::new();
        for message in [
            Message::Hello { role: KeeptyRole::Writer, cols: 120, rows: 40 },
            Message::Ping,
            Message::Input(mark.as_bytes().to_vec()),
            Message::Resize { cols: 120, rows: 40 },
            Message::Ping,
        ] {
            encode(&message, &mut bytes);
        }
        bytes
    };
    let mut clock = swb.coop();
    for cut in 1..stream("<0000>").len() {
        let mark = format!("<{cut:04}>");
        let bytes = stream(&mark);
        let mut client = swb.keepty_raw("x");
        client.send_raw(&bytes[..cut]);
        looked(&mut clock);
        client.send_raw(&bytes[cut..]);
        let (_, cols, rows) = client.ack();
        assert_eq!((cols, rows), (120, 40), "cut at {cut}");
        let (mut output, mut pongs, mut resized) = (Vec::new(), 0, false);
        while pongs < 2 || !resized || !contains(&output, mark.as_bytes()) {
            match client.frame(LIMIT) {
                Some(Frame::Message(Message::Output(bytes))) => output.extend(bytes),
                Some(Frame::Message(Message::Pong)) => pongs += 1,
                Some(Frame::Message(Message::ResizeAck { cols: 120, rows: 40, .. })) => resized = true,
                other => panic!("{other:?} with a cut at {cut}"),
            }
        }
        assert_eq!(pongs, 2, "cut at {cut}");
    }
}

// CO-10, CO-54: how the bytes of a client are cut into pieces means nothing, also where its modes change.
#[test]
fn coop_streams_may_be_cut_at_every_byte() {
    let swb = Swb::start(EXE);
    swb.make("x", &MIRROR);
    swb.attach("x").until("ready\n");
    let frame = |body: &[u8]| [&(body.len() as u32).to_be_bytes(), body].concat();
    let message = |value: &Value| frame(value.to_string().as_bytes());
    let stream = |mark: &str| {
        [
            message(&json!({"version": 1})),
            message(&json!({"cmd": "nonsense"})),
            message(&json!({"cmd": "sessionls", "session": "x"})),
            message(&json!({"cmd": "attach", "session": "x", "history": 0})),
            frame(&[&[1], json!({"cmd": "resize", "cols": 90, "rows": 30}).to_string().as_bytes()].concat()),
            frame(&[2, 3, 4]),
            frame(&[&[0], mark.as_bytes()].concat()),
        ]
        .concat()
    };
    let mut clock = swb.coop();
    for cut in 1..stream("<0000>").len() {
        let mark = format!("<{cut:04}>");
        let bytes = stream(&mark);
        let mut client = CoopClient::connect(&swb.paths().coop_socket()).unwrap();
        client.send_raw(&bytes[..cut]);
        looked(&mut clock);
        client.send_raw(&bytes[cut..]);
        assert_eq!(client.answer().unwrap(), json!({"version": 1, "ok": true}), "cut at {cut}");
        assert_eq!(client.answer().unwrap()["error"], "INVALID_COMMAND", "cut at {cut}");
        assert_eq!(client.answer().unwrap()["session"], "x", "cut at {cut}");
        assert_eq!(client.answer().unwrap(), json!({"ok": true}), "cut at {cut}");
        assert_eq!(String::from_utf8(client.until(&mark)).unwrap(), mark, "cut at {cut}");
        client.control(&json!({"cmd": "detach"}));
        let (data, controls) = client.to_end();
        assert_eq!(data, b"", "cut at {cut}");
        assert_eq!(controls, [json!({"ok": true}), json!({"event": "detached"})], "cut at {cut}");
    }
    assert_eq!(clock.ok(&json!({"cmd": "ls", "details": true}))["sessions"][0]["cols"], 90);
}

// ---- playing a case ----

#[derive(Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Clippy,
    Coop,
    Keepty,
    Scriptschnell,
}

/// A client that executes a case.
struct Player {
    stream: UnixStream,
    dialect: Dialect,
    buffer: Vec<u8>,
    /// coop: terminal frames follow.
    streaming: bool,
}

/// What came from the daemon.
#[derive(Debug)]
enum Came {
    Message(Vec<u8>),
    End,
    Nothing,
}

impl Player {
    fn connect(path: &Path, dialect: Dialect) -> Self {
        let stream = UnixStream::connect(path).unwrap();
        Self { stream, dialect, buffer: Vec::new(), streaming: false }
    }

    fn play(mut self, case: &Value) {
        let name = case["name"].as_str().unwrap();
        let steps = case["steps"].as_array().unwrap();
        for (at, step) in steps.iter().enumerate() {
            let before = at.checked_sub(1).map_or(&Value::Null, |before| &steps[before]);
            self.step(&format!("{name}, step {at}"), step, before);
        }
    }

    fn step(&mut self, place: &str, step: &Value, before: &Value) {
        match step["expect"].as_str() {
            Some("close") => return self.closed(place),
            Some("open" | "no_reply") => return self.quiet(place),
            Some(other) => panic!("{place} expects {other}"),
            None => {}
        }
        if step.get("wait_s").is_some() {
            // The steps behind it wait for what is to happen.
        } else if step.get("end").is_some() {
            self.stream.shutdown(std::net::Shutdown::Write).unwrap();
        } else if step["dir"] == "to_daemon" {
            for part in bytes(step) {
                // A daemon that has had enough may have closed.
                let _sent = self.stream.write_all(&part);
            }
        } else {
            self.receive(place, step, before);
        }
    }

    fn receive(&mut self, place: &str, step: &Value, before: &Value) {
        if self.dialect == Dialect::Clippy {
            return self.receive_packed(place, step);
        }
        if self.dialect == Dialect::Scriptschnell {
            return self.receive_line(place, step);
        }
        if let Some(wanted) = step["stream_contains"].as_str() {
            return self.output_with(place, &hex(wanted));
        }
        if let Some(wanted) = step.get("stream_control") {
            let control = self.control(place);
            return assert!(matches(&control, wanted), "{place}: {control}");
        }
        if let Some(kind) = step["frame_kind"].as_u64() {
            let frame = self.not_output(place);
            return assert_eq!(u64::from(frame[5]), kind, "{place}");
        }
        if self.dialect == Dialect::Keepty {
            let wanted = hex(step["hex"].as_str().unwrap());
            let frame = self.not_output(place);
            return assert_eq!(frame, wanted, "{place}");
        }
        if self.streaming {
            assert_eq!(self.control(place), step["decoded"]["json"], "{place}");
            return;
        }
        let message = match self.next(LIMIT) {
            Came::Message(frame) => serde_json::from_slice::<Value>(&frame[4..]).unwrap(),
            Came::End if step.get("optional").is_some() => return,
            other => panic!("{place}: {other:?}"),
        };
        match step.get("match").or(step.get("optional")) {
            Some(wanted) => assert!(matches(&message, wanted), "{place}: {message}"),
            None => assert_eq!(message, step["decoded"], "{place}"),
        }
        let attaches = matches!(before["decoded"]["cmd"].as_str(), Some("attach" | "shell"));
        self.streaming = attaches && message["ok"] == true;
    }

    /// clippy: messages are compared by what they say, not by how it is packed.
    fn receive_packed(&mut self, place: &str, step: &Value) {
        if let Some(any_order) = step["any_order"].as_array() {
            let mut wanted = any_order.clone();
            while !wanted.is_empty() {
                let got = self.packed(place).unwrap();
                let at = wanted.iter().position(|wanted| *wanted == got);
                wanted.remove(at.unwrap_or_else(|| panic!("{place}: {got}")));
            }
            return;
        }
        let Some(got) = self.packed(place) else {
            return assert!(step.get("optional").is_some(), "{place}: closed");
        };
        match step.get("match").or(step.get("optional")) {
            Some(wanted) => assert!(matches(&got, wanted), "{place}: {got}"),
            None => assert_eq!(got, step["decoded"], "{place}"),
        }
    }

    /// scriptschnell: a line has what the case demands; it may have more, but no id where the case has none.
    fn receive_line(&mut self, place: &str, step: &Value) {
        let line = match self.next(LIMIT) {
            Came::Message(line) => serde_json::from_slice::<Value>(&line).unwrap(),
            Came::End if step.get("optional").is_some() => return,
            other => panic!("{place}: {other:?}"),
        };
        let wanted = step.get("match").or(step.get("optional")).unwrap();
        assert!(matches(&line, wanted), "{place}: {line}");
        if wanted.get("request_id").is_none() && place.starts_with("auth_no_request_id") {
            assert_eq!(line.get("request_id"), None, "{place}");
        }
    }

    fn packed(&mut self, place: &str) -> Option<Value> {
        match self.next(LIMIT) {
            Came::Message(frame) => Some(unpack(&mut &frame[4..])),
            Came::End => None,
            Came::Nothing => panic!("{place}: nothing comes"),
        }
    }

    /// The next frame of keepty that is no output.
    fn not_output(&mut self, place: &str) -> Vec<u8> {
        loop {
            match self.next(LIMIT) {
                Came::Message(frame) if frame[5] == 4 => {}
                Came::Message(frame) => return frame,
                other => panic!("{place}: {other:?}"),
            }
        }
    }

    fn output_with(&mut self, place: &str, wanted: &[u8]) {
        let mut output = Vec::new();
        while !contains(&output, wanted) {
            match self.next(LIMIT) {
                Came::Message(frame) if frame[4] == 0 => output.extend_from_slice(&frame[5..]),
                other => panic!("{place}: {other:?}"),
            }
        }
    }

    fn control(&mut self, place: &str) -> Value {
        loop {
            match self.next(LIMIT) {
                Came::Message(frame) if frame[4] == 0 => {}
                Came::Message(frame) => return serde_json::from_slice(&frame[5..]).unwrap(),
                other => panic!("{place}: {other:?}"),
            }
        }
    }

    /// Insists on the end; a fault may be explained before it, and what was on its way may come.
    fn closed(&mut self, place: &str) {
        loop {
            match self.next(LIMIT) {
                Came::End => return,
                Came::Nothing => panic!("{place}: not closed"),
                Came::Message(frame) => match self.dialect {
                    Dialect::Scriptschnell => assert!(contains(&frame, b"\"closed\""), "{place}: {frame:?}"),
                    Dialect::Clippy => panic!("{place}: {}", unpack(&mut &frame[4..])),
                    Dialect::Keepty => assert!([4, 6, 127].contains(&frame[5]), "{place}: {frame:?}"),
                    Dialect::Coop => {
                        let explained =
                            place.starts_with("handshake_") && contains(&frame, b"INVALID_COMMAND");
                        assert!(explained, "{place}: {}", String::from_utf8_lossy(&frame));
                    }
                },
            }
        }
    }

    /// Insists that nothing is answered and the connection stays; output of the program is no answer.
    fn quiet(&mut self, place: &str) {
        let end = Instant::now() + QUIET;
        while let Some(left) = end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
            match self.next(left) {
                Came::Nothing => return,
                Came::Message(frame) if self.dialect == Dialect::Keepty && frame[5] == 4 => {}
                other => panic!("{place}: {other:?}"),
            }
        }
    }

    /// The next frame, whole.
    fn next(&mut self, limit: Duration) -> Came {
        let end = Instant::now() + limit;
        loop {
            if self.dialect == Dialect::Scriptschnell {
                if let Some(at) = self.buffer.iter().position(|byte| *byte == b'\n') {
                    return Came::Message(self.buffer.drain(..=at).collect());
                }
            } else if let Some(len) = self.buffer.first_chunk::<4>() {
                let len = 4 + u32::from_be_bytes(*len) as usize;
                if self.buffer.len() >= len {
                    return Came::Message(self.buffer.drain(..len).collect());
                }
            }
            let Some(left) = end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) else {
                return Came::Nothing;
            };
            self.stream.set_read_timeout(Some(left)).unwrap();
            let mut chunk = [0; 65536];
            match self.stream.read(&mut chunk) {
                Ok(0) => return Came::End,
                Ok(n) => self.buffer.extend_from_slice(&chunk[..n]),
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return Came::End,
                Err(_) => {}
            }
        }
    }
}

// ---- reading a case ----

fn cases(text: &str) -> Vec<Value> {
    let file: Value = serde_json::from_str(text).unwrap();
    file["cases"].as_array().unwrap().clone()
}

/// Whether a case begins with something that a client sends or does.
fn is_dialogue(case: &Value) -> bool {
    case["steps"][0]["dir"] == "to_daemon"
}

/// The bytes of a step, in the pieces in which they are to be sent.
fn bytes(step: &Value) -> Vec<Vec<u8>> {
    if let Some(parts) = step["hex_parts"].as_array() {
        return parts.iter().map(|part| hex(part.as_str().unwrap())).collect();
    }
    if let Some(text) = step["hex"].as_str() {
        return vec![hex(text)];
    }
    let count = step["repeat"]["count"].as_u64().unwrap() as usize;
    let fill = hex(step["repeat"]["byte"].as_str().unwrap()).repeat(count);
    let tail = hex(step["hex_tail"].as_str().unwrap_or_default());
    vec![[hex(step["hex_head"].as_str().unwrap()), fill, tail].concat()]
}

fn hex(text: &str) -> Vec<u8> {
    assert_eq!(text.len() % 2, 0);
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// Whether a message has what the pattern has; `"*"` stands for anything.
fn matches(got: &Value, wanted: &Value) -> bool {
    match wanted {
        Value::String(any) if any == "*" => !got.is_null(),
        Value::Object(fields) => {
            fields.iter().all(|(key, value)| got.get(key).is_some_and(|got| matches(got, value)))
        }
        Value::Array(wanted) => got.as_array().is_some_and(|got| {
            got.len() == wanted.len() && got.iter().zip(wanted).all(|(got, wanted)| matches(got, wanted))
        }),
        other => got == other,
    }
}

/// MessagePack as JSON, bytes as the cases write them. Written apart from the codec, which it is to judge.
fn unpack(bytes: &mut &[u8]) -> Value {
    let mut take = |n: usize| {
        let (taken, rest) = bytes.split_at(n);
        *bytes = rest;
        taken
    };
    let number = |bytes: &[u8]| bytes.iter().fold(0_u64, |n, byte| n << 8 | u64::from(*byte));
    let first = take(1)[0];
    match first {
        0x00..=0x7f => json!(first),
        0xcc..=0xcf => json!(number(take(1 << (first - 0xcc)))),
        0xc2 | 0xc3 => json!(first == 0xc3),
        0xa0..=0xbf => json!(String::from_utf8(take(usize::from(first & 0x1f)).to_vec()).unwrap()),
        0xd9 | 0xda => {
            let len = number(take(1 << (first - 0xd9))) as usize;
            json!(String::from_utf8(take(len).to_vec()).unwrap())
        }
        0xc4..=0xc6 => {
            let len = number(take(1 << (first - 0xc4))) as usize;
            let hex: String = take(len).iter().map(|byte| format!("{byte:02x}")).collect();
            json!({"$bin_hex": hex})
        }
        0x80..=0x8f => {
            let entry = |_| (unpack(bytes).as_str().unwrap().to_owned(), unpack(bytes));
            Value::Object((0..first & 0xf).map(entry).collect())
        }
        0x90..=0x9f => (0..first & 0xf).map(|_| unpack(bytes)).collect(),
        other => panic!("{other:#x} is not expected"),
    }
}

fn contains(data: &[u8], text: &[u8]) -> bool {
    data.windows(text.len()).any(|window| window == text)
}

/// Lets the daemon look at everything that was sent to it so far: it takes what comes in turn.
fn looked(clock: &mut CoopClient) {
    clock.ok(&json!({"cmd": "ls"}));
}
