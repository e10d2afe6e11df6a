//! The filter for input from elsewhere to the agent's terminal.

use crate::SWB;
use serde_json::json;
use swb_testkit::Swb;

/// A program that shows each line it reads, and lives until it reads the end of its input.
const READER: &str =
    "stty -echo; echo up; while read -r line; do echo \"line=$line\"; done; echo over; exec cat";

fn reader(swb: &Swb) {
    swb.script("a", READER);
    swb.ok(&["wait", "a", "--text", "up"]);
}

// CO-46
#[test]
fn lines_and_keys_that_end_agents_are_withheld_with_a_notice() {
    let swb = Swb::start(SWB);
    let web = swb.web();
    reader(&swb);
    let mut client = web.socket("/ws?session=a");
    client.message("attached");
    for typed in ["exit\r", "/exit\n", "quit\r\n", "\x04", "\x1c"] {
        client.input(typed.as_bytes());
        assert!(client.message("notice")["text"].as_str().unwrap().contains("not sent"), "{typed:?}");
    }
    for piece in ["ex", "it", "\r"] {
        client.input(piece.as_bytes());
    }
    client.message("notice");
    client.input(b"exit now\rdone\r");
    let output = client.shows("line=done");
    assert!(output.contains("line=exit now") && !output.contains("over"), "{output}");
    assert!(!output.contains("line=quit") && !output.contains("line=/exit"), "{output}");
}

// CO-46
#[test]
fn letters_are_passed_on_when_nothing_follows() {
    let swb = Swb::start(SWB);
    let web = swb.web();
    swb.script("a", "stty raw -echo; echo up; exec cat");
    swb.ok(&["wait", "a", "--text", "up"]);
    let mut client = web.socket("/ws?session=a");
    client.message("attached");
    client.input(b"exi");
    client.shows("exi");
    client.input(b"t\r");
    client.message("notice");
    client.input(b"Q");
    client.shows("exiQ");
    // What a client typed last arrives although it has left.
    client.input(b"\rqui");
    drop(client);
    swb.ok(&["wait", "a", "--text", "qui"]);
}

// CO-46
#[test]
fn repeated_interrupts_are_dropped() {
    let swb = Swb::start(SWB);
    let web = swb.web();
    swb.script("a", "stty raw -echo; echo up; exec cat -v");
    swb.ok(&["wait", "a", "--text", "up"]);
    let mut client = web.socket("/ws?session=a");
    client.message("attached");
    client.input(b"\x03\x03\x03x");
    let output = client.shows("x");
    assert_eq!(output.matches("^C").count(), 1, "{output}");
}

// CO-46
#[test]
fn operations_are_filtered_as_well() {
    let swb = Swb::start(SWB);
    let web = swb.web();
    reader(&swb);
    let mut control = web.socket("/api/control");
    let mut id = 0;
    let mut ask = |operation| {
        id += 1;
        control.ask(&json!(id), operation)
    };
    let sent = ask(json!({"cmd": "send", "session": "a", "text": "exit", "enter": true}));
    assert!(sent["ok"] == true && sent["notice"].as_str().unwrap().contains("not sent"), "{sent}");
    let raw = ask(json!({"cmd": "send", "session": "a", "text": "\u{4}"}));
    assert!(raw["notice"].is_string(), "{raw}");
    let keys = ask(json!({"cmd": "keys", "session": "a", "keys": ["quit", "Enter"]}));
    assert!(keys["notice"].is_string(), "{keys}");
    assert!(ask(json!({"cmd": "keys", "session": "a", "keys": ["C-d"]}))["notice"].is_string());
    let asked = ask(json!({"cmd": "ask", "session": "a", "text": "/exit", "force": true}));
    assert_eq!(asked["error"], "FORBIDDEN", "{asked}");
    let plain = ask(json!({"cmd": "send", "session": "a", "text": "plain", "enter": true}));
    assert_eq!(plain, json!({"id": 6, "ok": true}));
    swb.ok(&["wait", "a", "--text", "line=plain"]);
    let log = swb.ok(&["logs", "a"]);
    assert!(!log.contains("line=exit") && !log.contains("line=quit") && !log.contains("over"), "{log}");
}

// CO-46
#[test]
fn lines_of_relayed_turns_are_filtered_as_well() {
    let swb = Swb::start(SWB);
    let web = swb.web();
    reader(&swb);
    swb.make("src", &["bash", "--norc", "-i"]);
    swb.ok(&["wait", "src", "--until", "ready"]);
    swb.ok(&["ask", "src", r"printf 'one\nexit\ntwo\n'"]);
    let mut control = web.socket("/api/control");
    let relayed = control.ask(&json!(1), json!({"cmd": "relay", "from": "src", "to": "a", "force": true}));
    assert_eq!(relayed["error"], "FORBIDDEN", "{relayed}");
    swb.ok(&["send", "a", "plain", "--enter"]);
    swb.ok(&["wait", "a", "--text", "line=plain"]);
    assert!(!swb.ok(&["logs", "a"]).contains("line=exit"));
}

// CO-46
#[test]
fn shells_local_clients_and_sessions_without_a_filter_are_not_filtered() {
    let swb = Swb::start(SWB);
    let web = swb.web();
    reader(&swb);
    swb.ok(&["send", "a", "exit", "--enter"]);
    swb.ok(&["wait", "a", "--text", "line=exit"]);
    assert_eq!(web.request("POST", "/api/sessions/a/shell", "").json()["pty"], 1);
    let mut shell = web.socket("/ws?session=a&pty=1");
    shell.message("attached");
    shell.input(b"exit\r");
    shell.message("exited");
    let mut owner = web.socket("/api/control");
    assert_eq!(owner.ask(&json!(1), json!({"cmd": "filter", "session": "a"}))["on"], true);
    assert_eq!(owner.ask(&json!(2), json!({"cmd": "filter", "session": "a", "on": false}))["on"], false);
    let mut client = web.socket("/ws?session=a");
    client.message("attached");
    client.input(b"quit\r");
    client.shows("line=quit");
    swb.kill_daemon();
    let mut owner = web.socket("/api/control");
    assert_eq!(
        owner.ask(&json!(1), json!({"cmd": "filter", "session": "a"}))["on"],
        false,
        "it survives a crash"
    );
    let mut client = web.socket("/ws?session=a");
    client.message("attached");
    assert_eq!(owner.ask(&json!(3), json!({"cmd": "filter", "session": "a", "on": true}))["on"], true);
    client.input(b"quit\r");
    client.message("notice");
}
