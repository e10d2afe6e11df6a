//! The scriptschnell socket: lines, envelopes, and invalid input.

use serde_json::{Value, json};
use std::io::Write;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use swb_testkit::{ChatClient, LIMIT, Swb, refusal, wait_for};

const EXE: &str = env!("CARGO_BIN_EXE_swb");
/// The longest line that is accepted, without its end.
const MOST: usize = 16 << 20;

fn mode(swb: &Swb) -> u32 {
    let meta = std::fs::metadata(swb.paths().scriptschnell_socket()).unwrap();
    assert!(meta.file_type().is_socket());
    meta.permissions().mode() & 0o777
}

/// The next message, which must be an error without a request's id; gives its code.
#[track_caller]
fn error(client: &mut ChatClient) -> String {
    let message = client.message(LIMIT).unwrap().expect("an error, not the end");
    assert_eq!(message.get("request_id"), None, "{message}");
    refusal(&message)
}

/// Insists that the connection is of use.
#[track_caller]
fn alive(client: &mut ChatClient) {
    assert_eq!(client.ask("ping", json!({}))["type"], "pong");
}

// SS-1
#[test]
fn the_socket_is_in_the_home_directory_for_its_owner_only() {
    let swb = Swb::start(EXE);
    assert_eq!(swb.paths().scriptschnell_socket(), swb.dir().join("h/.scriptschnell.sock"));
    assert_eq!(mode(&swb), 0o600);
    alive(&mut swb.chat());
}

// SS-1: place and mode come from the configuration.
#[test]
fn the_socket_can_be_elsewhere_with_another_mode() {
    let mut swb = Swb::new(EXE);
    swb.configure("[scriptschnell]\npath = \"~/chat.sock\"\npermissions = \"0660\"");
    swb.start_daemon();
    let path = swb.dir().join("h/chat.sock");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o660);
    assert!(!swb.paths().scriptschnell_socket().exists());
    ChatClient::connect(&path).unwrap().auth(&[]);
}

// SS-1, XS-1
#[test]
fn the_front_can_be_switched_off() {
    let mut swb = Swb::new(EXE);
    swb.configure("[scriptschnell]\nenabled = false");
    swb.start_daemon();
    assert!(!swb.paths().scriptschnell_socket().exists());
}

// SS-1: invalid permissions are reported, and no daemon starts with them.
#[test]
fn wrong_permissions_are_refused() {
    let swb = Swb::new(EXE);
    swb.configure("[scriptschnell]\npermissions = \"0999\"");
    let output = swb.run(&["daemon"]);
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("scriptschnell.permissions"), "{said}");
}

// XS-1: a socket that another process serves is kept and does not stop the others; a dead one is replaced.
#[test]
fn a_socket_in_use_is_not_replaced() {
    let mut swb = Swb::new(EXE);
    let path = swb.paths().scriptschnell_socket();
    let other = UnixListener::bind(&path).unwrap();
    swb.start_daemon();
    swb.coop();
    let _client = ChatClient::connect(&path).unwrap();
    other.accept().unwrap();
    swb.stop_daemon();
    assert!(path.exists(), "it is not ours to remove");
    drop(other);
    swb.start_daemon();
    alive(&mut swb.chat());
}

// SS-2
#[test]
fn lines_may_be_blank_and_have_white_space() {
    let swb = Swb::start(EXE);
    let mut client = swb.chat();
    client.send_raw(b"\n\r\n  \t \n");
    client.send_raw(b" \t{\"type\":\"ping\",\"request_id\":\"a\"} \t\r\n");
    assert_eq!(client.answer("a")["type"], "pong");
    client.send_raw(
        b"{\"type\":\"ping\",\"request_id\":\"b\"}\n{\"type\":\"ping\",\"request_id\":\"c\"}\n{\"ty",
    );
    assert_eq!(client.message(LIMIT).unwrap().unwrap()["request_id"], "b");
    assert_eq!(client.message(LIMIT).unwrap().unwrap()["request_id"], "c");
    client.quiet();
    client.send_raw(b"pe\":\"ping\",\"request_id\":\"d\"}\n");
    assert_eq!(client.answer("d")["type"], "pong");
}

// SS-2: how the bytes of a client are cut into pieces means nothing, also within a character.
#[test]
fn lines_may_be_cut_at_every_byte() {
    let swb = Swb::start(EXE);
    let mut client = swb.chat();
    let line = "{\"type\":\"ping\",\"request_id\":\"ü🐔\"}\r\n".as_bytes();
    let mut clock = swb.coop();
    for cut in 1..line.len() {
        client.send_raw(&line[..cut]);
        // The daemon takes what comes in turn: it has seen the first part when this is answered.
        clock.ok(&json!({"cmd": "ls"}));
        client.send_raw(&line[cut..]);
        assert_eq!(client.answer("ü🐔")["type"], "pong", "cut at {cut}");
    }
}

// SS-2: half a line at the end is no message.
#[test]
fn an_incomplete_line_is_ignored() {
    let swb = Swb::start(EXE);
    let mut client = swb.chat();
    client
        .send_raw(b"{\"type\":\"session_create\",\"data\":{\"workspace\":\"/tmp\",\"session_id\":\"half\"}}");
    client.socket().shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(client.to_end(), [] as [Value; 0]);
    assert_eq!(swb.chat().refused("session_attach", json!({"session_id": "half"})), "SESSION_NOT_FOUND");
}

// SS-3
#[test]
fn unknown_envelope_fields_are_ignored() {
    let swb = Swb::start(EXE);
    let mut client = swb.chat();
    client.send(&json!({
        "type": "session_list", "request_id": "a", "data": {"unknown": [1, {"x": null}], "workspace": null},
        "timestamp": "yesterday", "error": null, "more": true,
    }));
    assert_eq!(client.answer("a")["type"], "session_list_response");
    client.send(&json!({"type": "session_list", "request_id": "b", "data": null}));
    assert_eq!(client.answer("b")["type"], "session_list_response");
    client.send(&json!({"type": "session_list", "request_id": "c"}));
    assert_eq!(client.answer("c")["type"], "session_list_response");
}

// SS-4: what is between the ends of lines is one message, with any content.
#[test]
fn line_breaks_are_escaped() {
    let swb = Swb::start(EXE);
    let mut client = swb.chat();
    for id in ["a\nb", "\r\n", "\u{2028}\u{2029}\u{85}", "\u{0}\u{1f}\u{7f}", "\"\\/", "ü🐔\u{10ffff}"] {
        client.send(&json!({"type": "frobnicate", "request_id": id}));
        let line = client.line(LIMIT).unwrap().unwrap();
        assert_eq!(line.matches(['\n', '\r']).count(), 1, "{line:?}");
        let message: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(message["request_id"], id);
    }
}

// SS-5: the id comes back as it was; where there was none, there is none.
#[test]
fn replies_have_the_id_of_their_request() {
    let swb = Swb::start(EXE);
    let mut client = swb.chat_raw();
    client.send(&json!({"type": "auth_request", "data": {}}));
    let answer = client.message(LIMIT).unwrap().unwrap();
    assert_eq!((answer["type"].as_str(), answer.get("request_id")), (Some("auth_response"), None));
    client.send(&json!({"type": "workspace_list"}));
    let answer = client.message(LIMIT).unwrap().unwrap();
    assert_eq!((answer["type"].as_str(), answer.get("request_id")), (Some("workspace_list_response"), None));
    client.send(&json!({"type": "session_attach", "data": {"session_id": "nobody"}}));
    assert_eq!(error(&mut client), "SESSION_NOT_FOUND");
    let long = "x".repeat(256);
    for id in ["", "0", "r-1", long.as_str(), "8b6c8f2e-5a2f-4a7e-9f6e-0f6f3f0b7c11"] {
        client.send(&json!({"type": "session_list", "request_id": id}));
        let answer = client.message(LIMIT).unwrap().unwrap();
        assert_eq!(answer["request_id"].as_str().unwrap_or_default(), id);
    }
}

// SS-6, SS-12: the client of the tests insists on time stamps; here on one that is now.
#[test]
fn messages_are_stamped_and_success_has_no_error() {
    let swb = Swb::start(EXE);
    let mut client = swb.chat();
    let answer = client.ask("session_list", json!({}));
    assert!(answer["error"].is_null());
    let at = swb_types::Timestamp::parse(answer["timestamp"].as_str().unwrap()).unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as u64;
    assert!(at.0 <= now && now - at.0 < 60_000, "{at} is not now");
}

// SS-7: 16 MiB are accepted.
#[test]
fn a_line_of_16_mib_is_accepted() {
    let swb = Swb::start(EXE);
    let mut client = swb.chat();
    let (head, tail) = (r#"{"type":"ping","request_id":"long","data":{"x":""#, "\"}}");
    let mut line = head.to_owned();
    line.push_str(&"x".repeat(MOST - head.len() - tail.len()));
    line.push_str(tail);
    assert_eq!(line.len(), MOST);
    client.send_raw(line.as_bytes());
    client.send_raw(b"\n");
    assert_eq!(client.answer("long")["type"], "pong");
}

// SS-7: more is not, with or without an end; and others do not notice.
#[test]
fn a_longer_line_ends_the_connection() {
    let swb = Swb::start(EXE);
    let mut other = swb.chat();
    for end in ["", "\n"] {
        let mut client = swb.chat();
        let mut writer = client.socket().try_clone().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                // The daemon may have closed before everything is sent.
                let _sent = writer.write_all(&vec![b'a'; MOST + 1]);
                let _sent = writer.write_all(end.as_bytes());
            });
            assert_eq!(error(&mut client), "INVALID_REQUEST");
            let rest = client.to_end();
            assert!(rest.iter().all(|message| message["type"] == "closed"), "{rest:?}");
        });
        alive(&mut other);
    }
}

// SS-8
#[test]
fn a_line_that_is_not_an_object_is_rejected() {
    let swb = Swb::start(EXE);
    let mut client = swb.chat();
    let deep = "[".repeat(100_000);
    let wrong: [&[u8]; 12] = [
        b"{",
        b"{\"type\":\"ping\"",
        b"nonsense",
        b"[1,2]",
        b"[{\"type\":\"ping\"}]",
        b"17",
        b"null",
        b"\"ping\"",
        b"{\"type\":\"ping\"}}",
        b"\xff\xfe\x00",
        b"{\"type\":\"pi\xc3ng\",\"request_id\":\"x\"}",
        deep.as_bytes(),
    ];
    for line in wrong {
        client.send_raw(line);
        client.send_raw(b"\n");
        let shown = String::from_utf8_lossy(&line[..line.len().min(40)]).into_owned();
        assert_eq!(error(&mut client), "INVALID_REQUEST", "{shown}");
        alive(&mut client);
    }
}

// SS-9
#[test]
fn requests_of_the_wrong_form_are_refused_with_their_id() {
    let swb = Swb::start(EXE);
    let mut client = swb.chat();
    for wrong in [
        json!({"request_id": "x"}),
        json!({"type": "", "request_id": "x"}),
        json!({"type": null, "request_id": "x"}),
        json!({"type": 17, "request_id": "x"}),
        json!({"type": ["ping"], "request_id": "x"}),
        json!({"type": "session_list", "request_id": "x", "data": "text"}),
        json!({"type": "session_list", "request_id": "x", "data": []}),
        json!({"type": "session_list", "request_id": "x", "data": 17}),
        json!({"type": "session_list", "request_id": "x", "data": {"workspace": 17}}),
        json!({"type": "session_attach", "request_id": "x", "data": {"session_id": 5}}),
        json!({"type": "session_attach", "request_id": "x", "data": {"session_id": {}}}),
        json!({"type": "session_create", "request_id": "x", "data": {"workspace": ["/tmp"]}}),
        json!({"type": "session_create", "request_id": "x", "data": {"workspace": "/tmp", "options": 1}}),
        json!({"type": "chat_send", "request_id": "x", "data": {"content": 1}}),
        json!({"type": "batch", "request_id": "x", "data": {"messages": {}}}),
        json!({"type": "flow_control", "request_id": "x", "data": {"pause": "yes"}}),
        json!({"type": "config_get", "request_id": "x", "data": {"keys": "model"}}),
        json!({"type": "auth_request", "request_id": "x", "data": {"capabilities": "chat"}}),
    ] {
        client.send(&wrong);
        assert_eq!(refusal(&client.answer("x")), "INVALID_REQUEST", "{wrong}");
    }
    for wrong in [json!({"type": "ping", "request_id": 17}), json!({"type": "ping", "request_id": ["x"]})] {
        client.send(&wrong);
        assert_eq!(error(&mut client), "INVALID_REQUEST", "{wrong}");
    }
    client.send(&json!({"type": "ping", "request_id": "x".repeat(100_000)}));
    let refused = client.message(LIMIT).unwrap().unwrap();
    assert_eq!(refusal(&refused), "INVALID_REQUEST");
    alive(&mut client);
}

// SS-10, SS-11
#[test]
fn unknown_types_are_refused_and_the_connection_stays() {
    let swb = Swb::start(EXE);
    let mut client = swb.chat();
    for kind in ["frobnicate", "Ping", "ping ", "auth_response", "chat_message", "error", "🐔"] {
        let answer = client.ask(kind, json!({}));
        assert_eq!(refusal(&answer), "INVALID_REQUEST", "{kind}");
        let error = answer["error"].as_object().unwrap();
        assert!(error.keys().all(|key| ["code", "message", "details"].contains(&key.as_str())), "{answer}");
        assert!(error.get("details").is_none_or(|details| details != "" && !details.is_null()), "{answer}");
    }
    alive(&mut client);
}

// SS-25: before and after the introduction, with and without an id, each with the time of its own.
#[test]
fn pings_are_answered() {
    let swb = Swb::start(EXE);
    let mut client = swb.chat_raw();
    for _ in 0..2 {
        client.send(&json!({"type": "ping", "timestamp": "2024-01-15T10:30:00Z"}));
        let pong = client.message(LIMIT).unwrap().unwrap();
        assert_eq!((pong["type"].as_str(), pong.get("request_id")), (Some("pong"), None));
        assert!(pong["timestamp"].as_str().unwrap() > "2026", "a fresh one: {pong}");
        assert_eq!(client.ask("ping", json!({}))["type"], "pong");
        client.send(&json!({"type": "auth_request", "request_id": "auth"}));
        client.answer("auth");
    }
}

// SS-26
#[test]
fn pongs_are_ignored() {
    let swb = Swb::start(EXE);
    let mut client = swb.chat_raw();
    client.send(&json!({"type": "pong"}));
    client.send(&json!({"type": "pong", "request_id": "x"}));
    client.quiet();
    client.auth(&[]);
    client.send(&json!({"type": "pong", "request_id": "x"}));
    client.quiet();
    alive(&mut client);
}

// A client that sends nothing, leaves in the middle of a line, or never reads, does not affect the others.
#[test]
fn disconnected_clients_are_removed() {
    let swb = Swb::start(EXE);
    for n in 0..50 {
        let mut client = swb.chat_raw();
        match n % 3 {
            0 => {}
            1 => client.send_raw(b"{\"type\":\"auth_re"),
            _ => client.auth(&[]).as_null().map_or((), |()| ()),
        }
        drop(client);
        wait_for("a place", || {
            let mut client = ChatClient::connect(&swb.paths().scriptschnell_socket()).ok()?;
            client.send(&json!({"type": "ping", "request_id": "x"}));
            client.message(LIMIT)??.get("type").cloned()
        });
    }
}

/// What JSON is made of.
const PIECES: &[u8] = b"{}[]\",:0-9eEtfnu\\ ";

/// Numbers that look random and are the same each time.
fn numbers() -> impl FnMut() -> usize {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) as usize
    }
}

// SS-8, SS-9, SS-10: with any input, every line has one reply or closes, and the daemon stays the same one.
#[test]
fn random_bytes_do_no_harm() {
    let swb = Swb::start(EXE);
    let pid = swb.daemon_pid();
    let dir = swb.dir().join("w");
    let seeds = [
        json!({"type": "session_create", "request_id": "x", "data": {"workspace": dir, "options": {"auto_save": false}}}),
        json!({"type": "session_attach", "request_id": "x", "data": {"session_id": "a", "takeover": true}}),
        json!({"type": "config_set", "request_id": "x", "data": {"values": {"temperature": 0.5, "max_tokens": 10}}}),
        json!({"type": "question_response", "request_id": "x", "data": {"question_id": "q", "answers_map": {"q_1": "a"}}}),
        json!({"type": "batch", "data": {"messages": [{"type": "ping"}, {"type": "config_get", "data": {"keys": ["model"]}}]}}),
        json!({"type": "auth_request", "data": {"capabilities": ["batch", "questions"], "nonce": "n", "signature": "00"}}),
        json!({"type": "authorization_response", "data": {"auth_id": "auth-1", "approved": true, "option": "o"}}),
        json!({"type": "workspace_create", "data": {"base_workspace": dir, "name": "x"}}),
        json!({"type": "session_list", "data": {"workspace": dir}}),
    ];
    let mut random = numbers();
    let mut client = swb.chat();
    for round in 0..3000 {
        let mut line = seeds[round % seeds.len()].to_string().into_bytes();
        for _ in 0..=random() % 4 {
            if line.len() < 2 {
                break;
            }
            let at = random() % line.len();
            match random() % 4 {
                0 => line[at] = (random() % 256) as u8,
                1 => drop(line.remove(at)),
                2 => line.insert(at, PIECES[random() % PIECES.len()]),
                _ => line.truncate(at.max(1)),
            }
        }
        line.retain(|byte| *byte != b'\n');
        client.send_raw(&line);
        client.send_raw(b"\n");
        if round % 100 == 99 {
            client.so_far();
        }
    }
    alive(&mut client);
    assert_eq!(swb.daemon_pid(), pid, "it is still the same daemon");
    assert!(!swb.log().contains("panicked"), "{}", swb.log());
}
