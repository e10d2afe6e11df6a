//! Roles and scopes, as a client of the control socket limits itself to them in its handshake.

use crate::support::agents::{AGENT, start};
use serde_json::{Value, json};
use swb_testkit::{CoopClient, LIMIT, QUIET, StreamItem, Swb, wait_for};
use swb_wire::clippy::PeerRole;

const EXE: &str = env!("CARGO_BIN_EXE_swb");

/// A client that limits itself to a role, and perhaps to a session or a workspace.
fn limited(swb: &Swb, role: &str, scope: &Value) -> CoopClient {
    let mut client = CoopClient::connect(&swb.paths().control_socket()).unwrap();
    let mut handshake = json!({"version": 1, "role": role});
    handshake.as_object_mut().unwrap().extend(scope.as_object().unwrap().clone());
    assert_eq!(client.ask(&handshake), json!({"version": 1, "ok": true}));
    client
}

fn names(client: &mut CoopClient) -> Vec<String> {
    let list = client.ok(&json!({"cmd": "ls"}));
    list["sessions"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn watch_reads_and_changes_nothing() {
    let swb = Swb::start(EXE);
    swb.make("x", &["cat"]);
    let mut client = limited(&swb, "watch", &json!({}));
    assert_eq!(names(&mut client), ["x"]);
    client.ok(&json!({"cmd": "screen", "session": "x"}));
    client.ok(&json!({"cmd": "status"}));
    for refused in [
        json!({"cmd": "send", "session": "x", "text": "y"}),
        json!({"cmd": "keys", "session": "x", "keys": ["Enter"]}),
        json!({"cmd": "ask", "session": "x", "text": "y"}),
        json!({"cmd": "kill", "session": "x"}),
        json!({"cmd": "create", "workspace": swb.workspace("")}),
        json!({"cmd": "shell", "session": "x"}),
        json!({"cmd": "shutdown"}),
    ] {
        assert_eq!(client.error(&refused), "FORBIDDEN", "{refused}");
    }
    let text = client.ask(&json!({"cmd": "kill", "session": "x"}))["message"].clone();
    assert_eq!(text, "'kill' needs the role 'drive'; this connection has 'watch'");
    assert_eq!(names(&mut client), ["x"], "the connection goes on, and so does the session");
}

#[test]
fn a_watcher_attaches_without_input() {
    let swb = Swb::start(EXE);
    swb.make("x", &["sh", "-c", "stty -echo; echo ready; read line; echo got:$line; exec cat"]);
    let mut client = limited(&swb, "watch", &json!({}));
    let size = swb.session("x").unwrap()["cols"].clone();
    client.ok(&json!({"cmd": "attach", "session": "x", "cols": 33, "rows": 11}));
    client.until("ready");
    client.type_in(b"typed\r");
    let refused = loop {
        match client.item(swb_testkit::LIMIT) {
            Some(StreamItem::Control(control)) => break control,
            Some(StreamItem::Data(_)) => {}
            other => panic!("{other:?}"),
        }
    };
    assert_eq!((&refused["ok"], &refused["error"]), (&json!(false), &json!("FORBIDDEN")));
    assert_eq!(swb.session("x").unwrap()["cols"], size, "attaching does not resize");
    swb.control().ok(&json!({"cmd": "send", "session": "x", "text": "sent\r"}));
    client.until("got:sent");
}

#[test]
fn prompt_pastes_text_that_can_press_no_key() {
    let swb = Swb::start(EXE);
    start(&swb, "a", &["sh", "-c", AGENT], "ready");
    swb.ok(&["ask", "a", "hello"]);
    swb.make("b", &["sh", "-c", "stty raw -echo; echo ready; exec cat -v"]);
    let mut view = swb.attach("b");
    view.until("ready\n");
    let mut client = limited(&swb, "prompt", &json!({}));
    client.ok(&json!({"cmd": "capture", "session": "a"}));
    assert_eq!(
        client.error(&json!({"cmd": "relay", "from": "a", "to": "b", "raw": true})),
        "FORBIDDEN",
        "raw bytes can press keys"
    );
    assert_eq!(client.error(&json!({"cmd": "paste", "session": "b", "raw": true})), "FORBIDDEN");
    client.ok(&json!({"cmd": "paste", "session": "b"}));
    let turn = swb.control().ok(&json!({"cmd": "turn", "session": "a"}))["text"].clone();
    let last = turn.as_str().unwrap().lines().last().unwrap().to_owned();
    let seen = String::from_utf8_lossy(&view.until(&last)).into_owned();
    assert!(!seen.contains("^[") && !seen.contains("^M"), "{seen:?}");
    assert_eq!(client.error(&json!({"cmd": "keys", "session": "b", "keys": ["Enter"]})), "FORBIDDEN");
}

#[test]
fn other_sessions_do_not_exist_for_a_scope_of_one() {
    let swb = Swb::start(EXE);
    swb.make("mine", &["cat"]);
    swb.make("other", &["cat"]);
    let mut client = limited(&swb, "owner", &json!({"session": "mine"}));
    assert_eq!(names(&mut client), ["mine"]);
    for hidden in [
        json!({"cmd": "attach", "session": "other"}),
        json!({"cmd": "screen", "session": "other"}),
        json!({"cmd": "turns", "session": "other"}),
        json!({"cmd": "capture", "session": "other"}),
        json!({"cmd": "explain", "session": "other"}),
        json!({"cmd": "ask", "session": "other", "text": "x"}),
        json!({"cmd": "hook", "session": "other", "state": "ready"}),
        json!({"cmd": "relay", "from": "other", "to": "mine"}),
        json!({"cmd": "wait", "session": "other", "until": "ready"}),
        json!({"cmd": "kill", "session": "other"}),
    ] {
        assert_eq!(client.error(&hidden), "SESSION_NOT_FOUND", "{hidden}");
    }
    for unknown in
        [json!({"cmd": "turn", "turn_id": "other:1"}), json!({"cmd": "capture", "turn_id": "other:1"})]
    {
        assert_eq!(client.error(&unknown), "TURN_NOT_FOUND", "{unknown}");
    }
    for whole in
        [json!({"cmd": "create", "workspace": swb.workspace("")}), json!({"cmd": "kill", "all": true})]
    {
        assert_eq!(client.error(&whole), "FORBIDDEN", "{whole}");
    }
    client.ok(&json!({"cmd": "kill", "session": "mine"}));
    assert_eq!(swb.session("other").unwrap()["status"], "running");
}

#[test]
fn events_of_other_sessions_are_not_sent_to_a_scope_of_one() {
    let swb = Swb::start(EXE);
    let mut client = limited(&swb, "watch", &json!({"session": "mine"}));
    client.ok(&json!({"cmd": "events"}));
    swb.make("other", &["cat"]);
    swb.make("mine", &["cat"]);
    let (_, first) = client.event("opened");
    assert_eq!(first["session"], "mine");
}

// A name that is free again may belong to a session of another workspace.
#[test]
fn events_of_ended_sessions_are_not_sent_to_the_scope_of_a_later_one_of_that_name() {
    let swb = Swb::start(EXE);
    let (inside, outside) = (swb.workspace("inside"), swb.workspace("outside"));
    let create =
        |dir: &std::path::Path| json!({"cmd": "create", "name": "x", "workspace": dir, "argv": ["cat"]});
    let mut owner = swb.control();
    let cursor = swb.control().ok(&json!({"cmd": "events"}))["cursor"].clone();
    owner.ok(&create(&outside));
    owner.ok(&json!({"cmd": "kill", "session": "x"}));
    owner.ok(&create(&inside));
    let mut client = limited(&swb, "watch", &json!({"workspace": inside}));
    client.ok(&json!({"cmd": "events", "since": cursor}));
    // Nothing of the first session, which ended.
    let mut kinds = Vec::new();
    while kinds.last() != Some(&"started".to_owned()) {
        match client.item(LIMIT) {
            Some(StreamItem::Control(event)) => kinds.push(event["event"].as_str().unwrap().to_owned()),
            other => panic!("{other:?} after {kinds:?}"),
        }
    }
    assert_eq!(kinds, ["opened", "started"]);
}

#[test]
fn a_workspace_is_a_scope() {
    let swb = Swb::start(EXE);
    let (inside, outside) = (swb.workspace("inside"), swb.workspace("outside"));
    let mut client = limited(&swb, "drive", &json!({"workspace": inside}));
    let create = |name: &str, dir: &std::path::Path| json!({"cmd": "create", "name": name, "workspace": dir, "argv": ["cat"]});
    assert_eq!(client.error(&create("x", &outside)), "FORBIDDEN");
    swb.control().ok(&create("far", &outside));
    client.ok(&create("near", &inside));
    assert_eq!(names(&mut client), ["near"]);
    assert_eq!(client.error(&json!({"cmd": "logs", "session": "far"})), "SESSION_NOT_FOUND");
}

#[test]
fn an_agent_lists_reads_asks_and_relays_in_its_workspace() {
    let swb = Swb::start(EXE);
    start(&swb, "a", &["sh", "-c", AGENT], "ready");
    let elsewhere = swb.workspace("elsewhere");
    swb.control().ok(&json!({"cmd": "create", "name": "far", "workspace": elsewhere, "argv": ["cat"]}));
    swb.make("shell", &["sh"]);
    let mut client = limited(&swb, "agent", &json!({"workspace": swb.workspace("")}));
    assert_eq!(names(&mut client), ["a", "shell"]);
    let answer = client.ok(&json!({"cmd": "ask", "session": "a", "text": "hello"}));
    assert!(answer["text"].as_str().unwrap().contains("you said: hello"), "{answer}");
    client.ok(&json!({"cmd": "turns", "session": "a"}));
    client.ok(&json!({"cmd": "turn", "session": "a"}));
    client.ok(&json!({"cmd": "screen", "session": "a"}));
    client.ok(&json!({"cmd": "relay", "from": "a:1", "to": "a"}));
    client.ok(&json!({"cmd": "wait", "session": "a", "text": "hello"}));
    for hidden in [
        json!({"cmd": "screen", "session": "far"}),
        json!({"cmd": "ask", "session": "far", "text": "x"}),
        json!({"cmd": "relay", "from": "a", "to": "far"}),
    ] {
        assert_eq!(client.error(&hidden), "SESSION_NOT_FOUND", "{hidden}");
    }
    for refused in [
        // What is typed into a shell runs there, outside the agent's confinement.
        json!({"cmd": "relay", "from": "a", "to": "shell"}),
        json!({"cmd": "ask", "session": "shell", "text": "touch pwned"}),
        json!({"cmd": "ask", "session": "a", "text": "x", "force": true}),
        json!({"cmd": "relay", "from": "a", "to": "a", "raw": true}),
        json!({"cmd": "keys", "session": "a", "keys": ["Enter"]}),
        json!({"cmd": "send", "session": "a", "text": "x"}),
        json!({"cmd": "attach", "session": "a"}),
        json!({"cmd": "logs", "session": "a"}),
        json!({"cmd": "approvals"}),
        json!({"cmd": "capture", "session": "a"}),
        json!({"cmd": "create", "workspace": swb.workspace(""), "argv": ["cat"]}),
        json!({"cmd": "shell", "session": "a"}),
        json!({"cmd": "kill", "session": "a"}),
        json!({"cmd": "upgrade"}),
        json!({"cmd": "workspace", "path": swb.workspace("")}),
    ] {
        assert_eq!(client.error(&refused), "FORBIDDEN", "{refused}");
    }
}

#[test]
fn an_agent_sends_no_text_to_programs_that_run_it() {
    let swb = Swb::start(EXE);
    start(&swb, "a", &["sh", "-c", AGENT], "ready");
    swb.ok(&["ask", "a", "touch pwned"]);
    let sessions = [
        ("options", "exec bash --norc -o vi"),
        ("rcfile", "exec bash --rcfile /dev/null"),
        ("below", "printf '$ '; sh; true"),
        ("later", "printf 'go $ '; read x; exec sh"),
        ("python", "exec python3 -q -i -X dev"),
    ];
    for (name, script) in sessions {
        swb.script(name, script);
    }
    swb.make("env", &["env", "A=b", "bash", "--norc"]);
    swb.make("hidden", &["script", "--quiet", "/dev/null"]);
    swb.ok(&["send", "later", "x", "--enter"]);
    let mut client = limited(&swb, "agent", &json!({"workspace": swb.workspace("")}));
    for name in ["options", "rcfile", "below", "later", "python", "env", "hidden"] {
        // Until its shell has started, the script is what reads, and is not ready for a prompt.
        wait_for(&format!("{name} to be recognised"), || {
            let reply = client.ask(&json!({"cmd": "relay", "from": "a", "to": name}));
            (reply["error"] == "FORBIDDEN").then_some(())
        });
        assert_eq!(client.error(&json!({"cmd": "ask", "session": name, "text": "x"})), "FORBIDDEN", "{name}");
    }
    client.ok(&json!({"cmd": "relay", "from": "a:1", "to": "a"}));
    swb.ok(&["keys", "a", "Enter"]);
    // Its program has no bracketed paste, so each line would be submitted by itself.
    for text in ["!touch pwned", "\u{1}!touch pwned", "\u{feff}!touch pwned", "\u{9b}!x", "hi\n!touch pwned"]
    {
        let ask = json!({"cmd": "ask", "session": "a", "text": text});
        wait_for("a to be ready", || Some(client.ask(&ask)).filter(|reply| reply["error"] != "AGENT_BUSY"))
            .get("error")
            .filter(|error| *error == "FORBIDDEN")
            .unwrap_or_else(|| panic!("{text:?}"));
    }
    // A question that no profile knows: one character would answer it.
    swb.script("asks", "printf 'Allow everything? [y/N] '; read answer; exec sleep 1000");
    assert_eq!(client.error(&json!({"cmd": "relay", "from": "a", "to": "asks"})), "AGENT_BUSY");
}

#[test]
fn a_refused_caller_starts_no_waiting_session() {
    let swb = Swb::start(EXE);
    let workspace = swb.workspace("");
    let argv = ["env", "touch", "started", "sh"];
    let create =
        json!({"cmd": "create", "name": "waits", "workspace": workspace, "argv": argv, "start": "writer"});
    swb.control().ok(&create);
    let before = swb.session("waits").unwrap();
    let mut agent = limited(&swb, "agent", &json!({"workspace": workspace}));
    assert_eq!(agent.error(&json!({"cmd": "ask", "session": "waits", "text": "x"})), "FORBIDDEN");
    // There is nothing to paste.
    for role in ["prompt", "owner"] {
        let reply = limited(&swb, role, &json!({})).ask(&json!({"cmd": "paste", "session": "waits"}));
        assert_eq!(reply["ok"], false, "{role}: {reply}");
    }
    let after = swb.session("waits").unwrap();
    assert_eq!((&after["pid"], &after["status"]), (&before["pid"], &before["status"]));
    assert!(!workspace.join("started").exists());
}

#[test]
fn prompt_submits_nothing_to_a_wrapper() {
    let swb = Swb::start(EXE);
    start(&swb, "a", &["sh", "-c", AGENT], "ready");
    swb.ok(&["ask", "a", "hello"]);
    let mut wrapper = swb.clippy(PeerRole::Wrapper);
    wrapper.register("wrapped");
    let relay = |submit: bool| json!({"cmd": "relay", "from": "a", "to": "wrapped", "submit": submit});
    let mut client = limited(&swb, "prompt", &json!({}));
    // Its screen is unknown, and Enter would answer a dialog.
    assert_eq!(client.error(&relay(true)), "FORBIDDEN");
    client.ok(&relay(false));
    let text = wrapper.injected();
    assert!(text.starts_with(b"[from a, turn 1] you said: hello"), "{text:?}");
    limited(&swb, "drive", &json!({})).ok(&relay(true));
    assert_eq!([wrapper.injected(), wrapper.injected()], [text, b"\r".to_vec()]);
}

#[test]
fn an_unknown_role_is_rejected_in_the_handshake() {
    let swb = Swb::start(EXE);
    for wrong in [
        json!({"role": "king"}),
        json!({"role": "agent"}),
        json!({"role": "agent", "session": "a"}),
        json!({"session": "a", "workspace": "/w"}),
        json!({"session": ""}),
    ] {
        let mut client = CoopClient::connect(&swb.paths().control_socket()).unwrap();
        let mut handshake = json!({"version": 1});
        handshake.as_object_mut().unwrap().extend(wrong.as_object().unwrap().clone());
        assert_eq!(client.error(&handshake), "INVALID_COMMAND", "{wrong}");
        client.closed();
    }
}

#[test]
fn coop_clients_have_no_roles() {
    let swb = Swb::start(EXE);
    swb.make("x", &["cat"]);
    let mut client = CoopClient::connect(&swb.paths().coop_socket()).unwrap();
    // Coop knows no roles, so the field is ignored like any other that it does not know.
    assert_eq!(client.ask(&json!({"version": 1, "role": "watch"})), json!({"version": 1, "ok": true}));
    client.ok(&json!({"cmd": "kill", "session": "x"}));
    assert_eq!(client.item(QUIET), None);
}
