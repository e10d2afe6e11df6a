//! Owners and observers of a session on the scriptschnell socket, and how ownership moves.

use rustix::process::Signal;
use serde_json::json;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use swb_testkit::{ChatClient, Swb, assistant_text, of_kind, signal, wait_for};

const EXE: &str = env!("CARGO_BIN_EXE_swb");

/// Rounds of owners that come and go.
const ROUNDS: usize = 50;
/// What only an owner may do.
const ACTS: [&str; 5] = ["chat_send", "chat_stop", "chat_clear", "config_set", "session_save"];

#[track_caller]
fn may_act(client: &mut ChatClient) -> bool {
    let answer = client.ask("chat_stop", json!({}));
    match answer["error"]["code"].as_str() {
        None => true,
        Some("OPERATION_NOT_ALLOWED") => false,
        Some(other) => panic!("{other}"),
    }
}

/// Waits until a client may act: the owner's end is noticed a moment later.
#[track_caller]
fn becomes_owner(client: &mut ChatClient) {
    wait_for("ownership", || may_act(client).then_some(()));
}

#[track_caller]
fn place(client: &mut ChatClient, name: &str) -> String {
    client.ok("session_attach", json!({"session_id": name}))["status"].as_str().unwrap().to_owned()
}

// SS-35
#[test]
fn an_observer_may_read_but_not_act() {
    let swb = Swb::scripted(EXE, "");
    let mut owner = swb.chat_in("talk");
    let mut observer = swb.chat();
    assert_eq!(place(&mut observer, "talk"), "observing");
    assert_eq!(place(&mut observer, "talk"), "observing", "again is the same");
    for kind in ACTS {
        let data = json!({"content": "hi", "model": "other", "name": "title"});
        assert_eq!(observer.refused(kind, data), "OPERATION_NOT_ALLOWED", "{kind}");
    }
    let events = owner.chat("say:one;tool:read:x;say:two").events;
    assert_eq!(assistant_text(&events), "one\n\ntwo");
    observer.event("tool_result");
    wait_for("the last chunk", || {
        let chunk = observer.event("chat_message");
        (chunk["is_final"] == true && chunk["role"] == "assistant").then_some(())
    });
    let config = owner.ok("config_get", json!({"keys": ["model"]}));
    assert_ne!(config["config"]["model"], "other", "{config}");
}

// SS-35, SS-52: everybody sees the same, the prompt first.
#[test]
fn owner_and_observers_see_the_same() {
    let swb = Swb::scripted(EXE, "");
    let mut owner = swb.chat_in("talk");
    let mut observers: Vec<ChatClient> = (0..3).map(|_| swb.chat_at("talk")).collect();
    let seen = owner.chat("say:hello;chunks:20;think:hm;tool:read:x;plan:a,b").events;
    let without_time = |message: &serde_json::Value| (message["type"].clone(), message["data"].clone());
    let seen: Vec<_> = seen.iter().map(without_time).collect();
    assert_eq!((seen[0].0.as_str(), &seen[0].1["role"]), (Some("chat_message"), &json!("user")));
    for observer in &mut observers {
        let events = observer.so_far();
        assert_eq!(events.iter().map(without_time).collect::<Vec<_>>(), seen);
    }
}

// SS-66: two sessions never see each other's events.
#[test]
fn events_of_sessions_are_not_mixed() {
    let swb = Swb::scripted(EXE, "");
    let (mut one, mut two) = (swb.chat_in("one"), swb.chat_in("two"));
    let (mut outside, mut left) = (swb.chat(), swb.chat_at("one"));
    left.ok("session_detach", json!({}));
    let ids =
        (one.prompt("chunks:50;tool:read:one;permit:one"), two.prompt("chunks:50;tool:read:two;permit:two"));
    for (client, other) in [(&mut one, "two"), (&mut two, "one")] {
        let asked = client.event("authorization_request");
        assert!(!asked.to_string().contains(&format!("\"{other}\"")), "{asked}");
        client.send(&json!({"type": "authorization_response", "data": {"auth_id": asked["auth_id"], "approved": true}}));
    }
    for (client, id, name, other) in [(&mut one, ids.0, "one", "two"), (&mut two, ids.1, "two", "one")] {
        let generation = client.generation(&id);
        assert!(generation.events.iter().all(|event| event["data"]["session_id"] == name), "{generation:?}");
        let all = format!("{:?}", generation.events);
        assert!(!all.contains(&format!("result of {other}")), "{all}");
        // What was read, and what was permitted.
        assert_eq!(generation.all("tool_call").len(), 2);
    }
    for client in [&mut outside, &mut left] {
        assert_eq!(client.so_far(), [] as [serde_json::Value; 0]);
    }
}

// SS-63: only its owner decides what is asked in a session.
#[test]
fn only_the_owner_can_decide() {
    let swb = Swb::scripted(EXE, "");
    let mut owner = swb.chat_in("talk");
    let (mut observer, mut outside) = (swb.chat_at("talk"), swb.chat_in("elsewhere"));
    let id = owner.prompt("permit:rm -rf");
    let asked = owner.event("authorization_request");
    let yes = json!({"auth_id": asked["auth_id"], "approved": true});
    assert_eq!(outside.refused("authorization_response", yes.clone()), "INVALID_REQUEST");
    assert_eq!(observer.refused("authorization_response", yes), "OPERATION_NOT_ALLOWED");
    owner.send(
        &json!({"type": "authorization_response", "data": {"auth_id": asked["auth_id"], "approved": false}}),
    );
    assert_eq!(owner.generation(&id).text(), "permit: no\n");
}

// SS-36: in the order in which they came, when the owner detaches, closes or just goes away.
#[test]
fn the_longest_attached_observer_becomes_the_owner() {
    let swb = Swb::scripted(EXE, "");
    let mut first = swb.chat_in("talk");
    let mut others: Vec<ChatClient> = (0..4).map(|_| swb.chat_at("talk")).collect();
    first.ok("session_detach", json!({}));
    becomes_owner(&mut others[0]);
    assert!(!may_act(&mut others[1]) && !may_act(&mut others[2]));
    assert_eq!(place(&mut first, "talk"), "observing", "it is the last now");
    let mut second = others.remove(0);
    second.begin("close", json!({}));
    second.to_end();
    becomes_owner(&mut others[0]);
    drop(others.remove(0));
    becomes_owner(&mut others[0]);
    // An observer that leaves changes nothing.
    drop(others.pop());
    assert!(may_act(&mut others[0]) && !may_act(&mut first));
    drop(others);
    becomes_owner(&mut first);
    assert_eq!(first.answer_to("say:mine"), "mine");
}

/// A client in a process of its own that makes a session, sends a prompt and stays.
fn elsewhere(swb: &Swb, name: &str, prompt: &str) -> Child {
    let script = r#"
import json, socket, sys, time
peer = socket.socket(socket.AF_UNIX); peer.connect(sys.argv[1]); lines = peer.makefile("r")
def ask(kind, answer, **data):
    peer.sendall((json.dumps({"type": kind, "data": data, "request_id": kind}) + "\n").encode())
    while answer and json.loads(lines.readline())["type"] != answer: pass
ask("auth_request", "auth_response")
ask("session_create", "session_create_response", session_id=sys.argv[2], workspace=sys.argv[3])
ask("chat_send", None, content=sys.argv[4])
print("ready", flush=True)
for line in lines: pass
time.sleep(1000)
"#;
    let mut command = Command::new("python3");
    command
        .args(["-c", script])
        .arg(swb.paths().scriptschnell_socket())
        .arg(name)
        .arg(swb.dir().join("w"))
        .arg(prompt);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    child
}

// SS-36: the owner's process is killed in the middle of an answer; the answer goes on for the next one.
#[test]
fn a_killed_owner_is_replaced() {
    let swb = Swb::scripted(EXE, "");
    let gate = swb.dir().join("gate");
    let mut owner = elsewhere(&swb, "talk", &format!("say:before ;await:{};say:after", gate.display()));
    let mut observer = swb.chat();
    wait_for("the session", || {
        (observer.ask("session_attach", json!({"session_id": "talk"}))["data"]["status"] == "observing")
            .then_some(())
    });
    assert!(!may_act(&mut observer));
    signal(i64::from(owner.id()), Signal::KILL);
    owner.wait().unwrap();
    wait_for("ownership", || {
        (observer.refused("chat_send", json!({"content": ""})) == "INVALID_REQUEST").then_some(())
    });
    std::fs::write(&gate, "").unwrap();
    observer.until("after");
    wait_for("the end", || (observer.ask("chat_clear", json!({}))["type"] == "chat_clear").then_some(()));
    assert_eq!(observer.answer_to("say:mine"), "mine");
}

// SS-62: the owner's process is killed while something waits for its decision: that is a denial.
#[test]
fn a_killed_owner_denies() {
    let swb = Swb::scripted(EXE, "");
    let mut owner = elsewhere(&swb, "talk", "permit:rm -rf");
    let mut observer = swb.chat_at("talk");
    wait_for("the request", || {
        let waiting = swb.run(&["approvals", "--json"]);
        String::from_utf8_lossy(&waiting.stdout).contains("rm -rf").then_some(())
    });
    let began = Instant::now();
    signal(i64::from(owner.id()), Signal::KILL);
    owner.wait().unwrap();
    let said = observer.until("permit:");
    assert!(began.elapsed() < Duration::from_secs(20), "it was not the time that denied it");
    assert!(!said.contains("yes") && !said.contains("always"), "{said}");
    becomes_owner(&mut observer);
}

// SS-35, Q-52: handover on request.
#[test]
fn ownership_can_be_taken_over() {
    let swb = Swb::scripted(EXE, "");
    let mut owner = swb.chat_in("talk");
    let mut other = swb.chat_at("talk");
    let taken = other.ok("session_attach", json!({"session_id": "talk", "takeover": true}));
    assert_eq!(taken["status"], "attached");
    assert!(may_act(&mut other) && !may_act(&mut owner));
    assert_eq!(other.answer_to("say:mine"), "mine");
    // The former owner still sees what happens.
    assert_eq!(assistant_text(&owner.so_far()), "mine");
    let mut third = swb.chat();
    let taken = third.ok("session_attach", json!({"session_id": "talk", "takeover": true}));
    assert_eq!(taken["status"], "attached");
    drop(third);
    becomes_owner(&mut other);
}

// SS-60: a client that takes over is asked what waits for a decision.
#[test]
fn approvals_go_to_the_new_owner() {
    let swb = Swb::scripted(EXE, "");
    let mut owner = swb.chat_in("talk");
    let id = owner.prompt("permit:ls");
    let asked = owner.event("authorization_request");
    let mut other = swb.chat();
    other.ok("session_attach", json!({"session_id": "talk", "takeover": true}));
    let again = other.event("authorization_request");
    assert_eq!(again["auth_id"], asked["auth_id"]);
    let yes = json!({"auth_id": asked["auth_id"], "approved": true});
    assert_eq!(owner.refused("authorization_response", yes.clone()), "OPERATION_NOT_ALLOWED");
    other.send(&json!({"type": "authorization_response", "data": yes}));
    assert_eq!(owner.generation(&id).text(), "permit: yes\n");
}

// SS-36: an answer goes on when all clients have left, and is there for one that comes back.
#[test]
fn a_generation_continues_without_clients() {
    let swb = Swb::scripted(EXE, "");
    let gate = swb.dir().join("gate");
    let mut owner = swb.chat_in("talk");
    owner.prompt(&format!("say:before ;await:{};say:after", gate.display()));
    owner.until("before");
    drop(owner);
    let mut other = swb.chat();
    wait_for("ownership", || (place(&mut other, "talk") == "attached").then_some(()));
    other.ok("session_detach", json!({}));
    std::fs::write(&gate, "").unwrap();
    let loaded = wait_for("the answer", || {
        let loaded = other.ok("session_load", json!({"session_id": "talk"}));
        (loaded["messages"].as_array().unwrap().len() == 2).then_some(loaded)
    });
    assert_eq!(loaded["messages"][1]["content"], "beforeafter");
    assert_eq!(of_kind(&other.so_far(), "chat_send"), [] as [serde_json::Value; 0]);
}

/// What one client of a crowd does, by a number: comes, leaves, takes over, sends a prompt, stops, or is gone.
fn stir(client: &mut ChatClient, what: usize, session: &str) {
    let here = json!({"session_id": session});
    match what % 8 {
        0 => drop(client.ask("session_attach", json!({"session_id": session, "takeover": true}))),
        1 => drop(client.ask("session_detach", json!({}))),
        2 => drop(client.ask("chat_stop", json!({}))),
        3 => drop(client.begin("chat_send", json!({"content": "chunks:20;tool:read:x;permit:ls;chunks:20"}))),
        4 => drop(client.ask("session_load", here)),
        5 => drop(client.ask("config_set", json!({"max_tokens": what + 1}))),
        _ => drop(client.ask("session_attach", here)),
    }
}

// SS-35, SS-36: a crowd that comes and goes leaves sessions that work, with one owner, and no place is lost.
#[test]
fn many_clients_attach_and_detach() {
    let swb = Swb::scripted(EXE, "[scriptschnell]\nmax_connections = 20");
    let pid = swb.daemon_pid();
    let names = ["one", "two"];
    names.iter().for_each(|name| drop(swb.chat_in(name)));
    std::thread::scope(|scope| {
        for n in 0..10_usize {
            let (swb, names) = (&swb, &names);
            scope.spawn(move || {
                for round in 0..6 {
                    let mut client = swb.chat();
                    for step in 0..10 {
                        stir(&mut client, n * 31 + round * 17 + step * 7, names[(n + round + step) % 2]);
                    }
                }
            });
        }
    });
    for name in names {
        let mut client = swb.chat();
        client.ok("session_attach", json!({"session_id": name, "takeover": true}));
        client.ok("chat_stop", json!({}));
        wait_for("the end of what runs", || {
            (client.ask("chat_clear", json!({}))["type"] == "chat_clear").then_some(())
        });
        assert_eq!(client.answer_to("say:still here"), "still here");
        assert!(!may_act(&mut swb.chat_at(name)), "one owner");
    }
    let all: Vec<ChatClient> = wait_for("all places", || {
        let all: Vec<ChatClient> = (0..20).map(|_| swb.chat_raw()).collect();
        let open = |mut client: ChatClient| {
            client.send(&json!({"type": "ping", "request_id": "x"}));
            client.message(swb_testkit::LIMIT).unwrap().map(|_| client)
        };
        all.into_iter().map(open).collect::<Option<Vec<_>>>()
    });
    assert_eq!((all.len(), swb.daemon_pid()), (20, pid));
    assert!(!swb.log().contains("panicked"), "{}", swb.log());
}

// SS-34, SS-36, SS-42: an owner that has hung up is none any more for a client that sends a prompt after that.
#[test]
fn a_client_that_follows_a_departed_owner_becomes_the_owner() {
    let swb = Swb::scripted(EXE, "");
    drop(swb.chat_in("talk"));
    for round in 0..ROUNDS {
        let mut owner = swb.chat();
        let attached = owner.ok("session_attach", json!({"session_id": "talk"}));
        assert_eq!(attached["status"], "attached", "round {round}");
        let mut next = swb.chat_at("talk");
        assert_eq!(next.refused("chat_stop", json!({})), "OPERATION_NOT_ALLOWED", "round {round}");
        drop(owner);
        next.ok("chat_stop", json!({}));
    }
    let owner = swb.chat_at("talk");
    let mut other = swb.chat();
    drop(owner);
    other.ok("session_delete", json!({"session_id": "talk"}));
}
