//! Flow control on the scriptschnell socket: pauses, batches, slow clients, many clients.

use rustix::event::{PollFd, PollFlags, Timespec};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use swb_testkit::{ChatClient, LIMIT, QUIET, Swb, assistant_text, of_kind, wait_for};

const EXE: &str = env!("CARGO_BIN_EXE_swb");
/// What may be held back from a client.
const HELD: [&str; 4] = ["progress", "tool_call", "tool_result", "tool_compact"];

fn held(messages: &[Value]) -> Vec<&str> {
    messages
        .iter()
        .filter_map(|message| message["type"].as_str())
        .filter(|kind| HELD.contains(kind))
        .collect()
}

// SS-74
#[test]
fn a_pause_holds_back_non_urgent_messages() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    let mut observer = swb.chat_at("talk");
    client.send(&json!({"type": "flow_control", "data": {"pause": true}}));
    client.quiet();
    let id = client.prompt("plan:a,b;tool:read:x;say:hello;permit:ls");
    let asked = client.event("authorization_request");
    client.send(
        &json!({"type": "authorization_response", "data": {"auth_id": asked["auth_id"], "approved": true}}),
    );
    let generation = client.generation(&id);
    assert_eq!(generation.text(), "hello\n\npermit: yes\n");
    assert_eq!(held(&generation.events), [] as [&str; 0]);
    assert_eq!(client.ask("ping", json!({}))["type"], "pong");
    assert_eq!(client.refused("frobnicate", json!({})), "INVALID_REQUEST");
    // It is for this connection only.
    let seen = observer.so_far();
    assert!(
        ["progress", "tool_call", "tool_result"].iter().all(|kind| held(&seen).contains(kind)),
        "{seen:?}"
    );
    assert_eq!(client.ok("flow_control", json!({"pause": false})), json!({"paused": false}));
    let late = client.so_far();
    assert_eq!(held(&late), held(&seen), "nothing is lost, and the order is kept");
    let generation = client.chat("tool:read:y");
    assert_eq!(held(&generation.events), ["tool_call", "tool_result"]);
}

// SS-74: answered only with an id.
#[test]
fn a_pause_with_an_id_gets_a_reply() {
    let swb = Swb::start(EXE);
    let mut client = swb.chat();
    assert_eq!(client.ok("flow_control", json!({"pause": true})), json!({"paused": true}));
    assert_eq!(client.ok("flow_control", json!({"pause": true})), json!({"paused": true}));
    assert_eq!(client.ok("flow_control", json!({"pause": false})), json!({"paused": false}));
    client.send(&json!({"type": "flow_control", "data": {"pause": false}}));
    client.quiet();
}

// SS-74, Q-66: a thousand events are held back; the oldest are dropped beyond that.
#[test]
fn a_long_pause_drops_the_oldest_messages() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    client.ok("flow_control", json!({"pause": true}));
    let tools: Vec<String> = (0..700).map(|n| format!("tool:read:file{n}")).collect();
    let generation = client.chat(&tools.join(";"));
    assert_eq!((generation.status(), held(&generation.events).len()), ("completed", 0));
    client.ok("flow_control", json!({"pause": false}));
    let late = client.so_far();
    assert_eq!(held(&late).len(), 1000);
    assert!(late.last().unwrap().to_string().contains("file699"), "{:?}", late.last());
}

// SS-75
#[test]
fn a_batch_is_handled_in_order() {
    let swb = Swb::start(EXE);
    let dir = swb.dir().join("w");
    let mut client = swb.chat();
    let messages = json!([
        {"type": "session_list", "request_id": "0"},
        {"type": "auth_request", "request_id": "1"},
        {"type": "session_create", "request_id": "2", "data": {"workspace": dir, "session_id": "batched"}},
        {"type": "session_create", "request_id": "3", "data": {"workspace": dir, "session_id": "batched"}},
        {"type": "session_detach", "request_id": "4"},
        {"type": "session_attach", "request_id": "5", "data": {"session_id": "batched"}},
        {"type": "frobnicate", "request_id": "6"},
        {"type": "pong"},
        {"type": "ping"},
    ]);
    client.send(&json!({"type": "batch", "data": {"messages": messages}}));
    let answers: Vec<Value> = (0..8).map(|_| client.message(LIMIT).unwrap().unwrap()).collect();
    let kinds: Vec<&str> = answers.iter().map(|answer| answer["type"].as_str().unwrap()).collect();
    let wanted = [
        "session_list_response",
        "auth_response",
        "session_create_response",
        "error",
        "session_detach",
        "session_attach",
        "error",
        "pong",
    ];
    assert_eq!(kinds, wanted);
    for (n, answer) in answers.iter().take(7).enumerate() {
        assert_eq!(answer["request_id"], n.to_string());
    }
    client.quiet();
}

// SS-75, Q-67: what is wrong in a batch is wrong alone; a batch in a batch is.
#[test]
fn an_error_in_a_batch_affects_only_its_message() {
    let swb = Swb::start(EXE);
    let mut client = swb.chat();
    let inner = json!({"type": "batch", "request_id": "inner", "data": {"messages": [{"type": "ping", "request_id": "x"}]}});
    let messages =
        json!([{"type": "ping", "request_id": "a"}, inner, 17, {"type": "ping", "request_id": "b"}]);
    client.send(&json!({"type": "batch", "data": {"messages": messages}}));
    assert_eq!(client.message(LIMIT).unwrap().unwrap()["request_id"], "a");
    let refused = client.message(LIMIT).unwrap().unwrap();
    assert_eq!(
        (&refused["request_id"], &refused["error"]["code"]),
        (&json!("inner"), &json!("INVALID_REQUEST"))
    );
    assert_eq!(client.message(LIMIT).unwrap().unwrap()["error"]["code"], "INVALID_REQUEST");
    assert_eq!(client.message(LIMIT).unwrap().unwrap()["request_id"], "b");
    assert_eq!(client.refused("batch", json!({})), "INVALID_REQUEST");
}

/// What comes on the wire up to the answer to a prompt: the messages of each line.
#[track_caller]
fn lines(client: &mut ChatClient, prompt: &str) -> Vec<Vec<Value>> {
    let id = client.prompt(prompt);
    let mut lines = Vec::new();
    loop {
        let line = client.raw(LIMIT).unwrap().expect("an answer");
        let messages = match line["type"].as_str() {
            Some("batch") => line["data"]["messages"].as_array().unwrap().clone(),
            _ => vec![line],
        };
        let done = messages.iter().any(|message| message["request_id"] == *id);
        lines.push(messages);
        if done {
            return lines;
        }
    }
}

fn batching(swb: &Swb, name: &str, capabilities: &[&str]) -> ChatClient {
    let mut client = swb.chat_raw();
    client.auth(capabilities);
    client.create(json!({"workspace": swb.dir().join("w"), "session_id": name}));
    client
}

// SS-76
#[test]
fn batches_are_sent_only_on_request() {
    for (config, most) in [("", 10), ("batch_size = 3", 3), ("enable_batching = false", 1)] {
        let swb = Swb::scripted(EXE, &format!("[scriptschnell]\n{config}"));
        let wanted: String = (0..500).map(|n| format!("{n} ")).collect();
        let mut plain = batching(&swb, "plain", &["progress"]);
        let got = lines(&mut plain, "chunks:500");
        assert!(got.iter().all(|line| line.len() == 1), "{config}");
        assert_eq!(assistant_text(&got.concat()), wanted);
        let mut batched = batching(&swb, "batched", &["progress", "batch"]);
        let got = lines(&mut batched, "chunks:500");
        let longest = got.iter().map(Vec::len).max().unwrap();
        assert!(longest <= most, "{config}: {longest}");
        assert!(most == 1 || longest > 1, "{config}: nothing was batched");
        assert_eq!(assistant_text(&got.concat()), wanted, "{config}");
    }
}

// SS-76: none is held back for long: this one comes although nothing follows it.
#[test]
fn an_incomplete_batch_is_sent_without_delay() {
    let swb = Swb::scripted(EXE, "");
    let gate = swb.dir().join("gate");
    let mut client = batching(&swb, "talk", &["batch"]);
    let id = client.prompt(&format!("say:first;await:{};say:last", gate.display()));
    client.until("first");
    std::fs::write(&gate, "").unwrap();
    assert_eq!(client.generation(&id).status(), "completed");
}

/// A prompt whose answer has `parts` times a thousand pieces, and waits each time until [`next_part`] lets it go on: who reads
/// at all can follow it on the slowest machine.
fn flood(swb: &Swb, parts: usize) -> String {
    let part = |n: usize| format!("flood:1000;say:<{n}>;await:{}", gate(swb, n).display());
    (0..parts).map(part).collect::<Vec<_>>().join(";")
}

fn gate(swb: &Swb, part: usize) -> std::path::PathBuf {
    swb.dir().join(format!("gate{part}"))
}

/// Reads all parts of a [`flood`]; gives every message up to the last chunk.
#[track_caller]
fn follow(swb: &Swb, client: &mut ChatClient) -> Vec<Value> {
    let (mut seen, mut part) = (Vec::new(), 0);
    loop {
        let message = client.message(LIMIT).unwrap().expect("the rest of the answer, not the end");
        if message["data"]["content"] == format!("<{part}>") {
            std::fs::write(gate(swb, part), "").unwrap();
            part += 1;
        }
        let done = message["data"]["is_final"] == true && message["data"]["role"] == "assistant";
        seen.push(message);
        if done {
            return seen;
        }
    }
}

/// Whether the daemon has closed a connection; nothing is read from it.
fn hung_up(client: &ChatClient) -> bool {
    let mut look = [PollFd::new(client.socket(), PollFlags::RDHUP)];
    rustix::event::poll(&mut look, Some(&Timespec::default())).unwrap() > 0
}

// SS-77: who falls behind by almost 256 messages, more than the system's own buffer holds, can catch up at any time.
#[test]
fn a_client_that_falls_behind_catches_up() {
    let swb = Swb::scripted(EXE, "");
    let mut owner = swb.chat_in("talk");
    let mut late = swb.chat_at("talk");
    let generation = owner.chat("flood:250");
    assert_eq!(generation.status(), "completed");
    assert_eq!(assistant_text(&late.so_far()), generation.text());
}

// SS-77: an observer that never reads is closed at last; no other client notices.
#[test]
fn an_observer_that_does_not_read_delays_no_other() {
    let swb = Swb::scripted(EXE, "");
    let mut owner = swb.chat_in("talk");
    let mut lazy = swb.chat_at("talk");
    let mut other = swb.chat();
    let id = owner.prompt(&flood(&swb, 12));
    let text = assistant_text(&follow(&swb, &mut owner));
    assert_eq!((owner.generation(&id).status(), text.matches("x\n").count()), ("completed", 12_000));
    let began = Instant::now();
    assert_eq!(other.ask("ping", json!({}))["type"], "pong");
    assert!(began.elapsed() < Duration::from_secs(5));
    wait_for("the end of who does not read", || hung_up(&lazy).then_some(()));
    lazy.may_be_cut();
    let seen = lazy.to_end();
    let chunks: Vec<Value> =
        of_kind(&seen, "chat_message").into_iter().filter(|chunk| chunk["role"] == "assistant").collect();
    assert!(!chunks.is_empty() && chunks.len() < 12_000, "{} chunks", chunks.len());
    assert!(chunks.iter().enumerate().all(|(n, chunk)| chunk["chunk_index"] == n), "what came is in order");
    assert_eq!(owner.answer_to("say:still here"), "still here");
}

// SS-77: an owner that does not read is closed as well, and followed.
#[test]
fn an_owner_that_does_not_read_is_replaced() {
    let swb = Swb::scripted(EXE, "");
    let mut lazy = swb.chat_in("talk");
    let mut observer = swb.chat_at("talk");
    lazy.prompt(&flood(&swb, 12));
    let text = assistant_text(&follow(&swb, &mut observer));
    assert_eq!(text.matches("x\n").count(), 12_000);
    wait_for("the end of who does not read", || hung_up(&lazy).then_some(()));
    wait_for("ownership", || (observer.ask("chat_stop", json!({}))["type"] == "chat_stop").then_some(()));
    assert_eq!(observer.answer_to("say:mine"), "mine");
}

// SS-77: also one that asks and does not read the answers.
#[test]
fn a_client_that_only_sends_delays_no_other() {
    let swb = Swb::start(EXE);
    let lazy = swb.chat();
    let writer = lazy.socket().try_clone().unwrap();
    writer.set_nonblocking(true).unwrap();
    let line = "{\"type\":\"workspace_list\"}\n".repeat(1000);
    let end = Instant::now() + QUIET * 3;
    while Instant::now() < end {
        // Full, or closed: both are right.
        let _sent = rustix::io::write(&writer, line.as_bytes());
    }
    writer.set_nonblocking(false).unwrap();
    let mut other = swb.chat();
    let began = Instant::now();
    assert_eq!(other.ask("ping", json!({}))["type"], "pong");
    assert!(began.elapsed() < Duration::from_secs(5));
}

// SS-78: slowed down, and nothing is lost.
#[test]
fn a_client_that_sends_too_fast_is_throttled() {
    let swb = {
        let mut swb = Swb::new(EXE);
        swb.configure("[scriptschnell]\nmessages_per_second = 20");
        swb.start_daemon();
        swb
    };
    let (mut hasty, mut other) = (swb.chat(), swb.chat());
    let began = Instant::now();
    let all: String =
        (0..80).map(|n| json!({"type": "ping", "request_id": n.to_string()}).to_string() + "\n").collect();
    hasty.send_raw(all.as_bytes());
    let asked = Instant::now();
    assert_eq!(other.ask("ping", json!({}))["type"], "pong");
    assert!(asked.elapsed() < Duration::from_secs(1), "others are not slowed down: {:?}", asked.elapsed());
    for n in 0..80 {
        assert_eq!(hasty.message(LIMIT).unwrap().unwrap()["request_id"], n.to_string());
    }
    let took = began.elapsed();
    assert!(took >= Duration::from_secs(2), "80 messages at 20 a second took {took:?}");
}

// Fifty sessions to a hundred connections at once: everything comes, in order, where it belongs.
#[test]
fn many_sessions_stream_to_many_connections() {
    const SESSIONS: usize = 50;
    let swb = Swb::scripted(EXE, "[scriptschnell]\nmax_connections = 200");
    let gate = swb.dir().join("gate");
    let mut owners: Vec<ChatClient> = (0..SESSIONS).map(|n| swb.chat_in(&format!("s{n}"))).collect();
    let mut observers: Vec<ChatClient> = (0..SESSIONS).map(|n| swb.chat_at(&format!("s{n}"))).collect();
    let prompt =
        |n: usize| format!("say:<{n}>;await:{};chunks:400;tool:read:f{n};say:</{n}>", gate.display());
    let ids: Vec<String> = owners.iter_mut().enumerate().map(|(n, owner)| owner.prompt(&prompt(n))).collect();
    for (n, owner) in owners.iter_mut().enumerate() {
        owner.event("chat_message");
        owner.event("chat_message");
        assert!(n < SESSIONS);
    }
    std::fs::write(&gate, "").unwrap();
    let numbers: String = (0..400).map(|n| format!("{n} ")).collect();
    std::thread::scope(|scope| {
        let numbers = &numbers;
        for (n, (mut owner, id)) in owners.into_iter().zip(ids).enumerate() {
            scope.spawn(move || {
                let generation = owner.generation(&id);
                assert_eq!(generation.status(), "completed", "s{n}");
                // Two chunks were read before.
                let chunks = of_kind(&generation.events, "chat_message");
                let said: String = chunks.iter().filter_map(|chunk| chunk["content"].as_str()).collect();
                assert_eq!(said, format!("{numbers}\n\n</{n}>"), "s{n}");
                assert!(chunks.iter().enumerate().all(|(at, chunk)| chunk["chunk_index"] == at + 1), "s{n}");
                assert!(chunks.iter().all(|chunk| chunk["session_id"] == format!("s{n}")), "s{n}");
            });
        }
        for (n, observer) in observers.iter_mut().enumerate() {
            scope.spawn(move || {
                let mut seen = Vec::new();
                while seen
                    .last()
                    .is_none_or(|m: &Value| m["data"]["is_final"] != true || m["data"]["role"] != "assistant")
                {
                    seen.push(observer.message(LIMIT * 2).unwrap().unwrap());
                }
                assert_eq!(assistant_text(&seen), format!("<{n}>{numbers}\n\n</{n}>"), "s{n}");
                assert!(seen.iter().all(|message| message["data"]["session_id"] == format!("s{n}")), "s{n}");
                assert_eq!(of_kind(&seen, "tool_result").len(), 1, "s{n}");
            });
        }
    });
}
