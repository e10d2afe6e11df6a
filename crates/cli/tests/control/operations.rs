//! Operations that only the control socket has: send, status, upgrade.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};
use swb_testkit::{Fifo, LIMIT, StreamItem, Swb, is_alive, wait_for};

const EXE: &str = env!("CARGO_BIN_EXE_swb");
/// Gives back every byte as it is.
const MIRROR: [&str; 3] = ["sh", "-c", "stty raw -echo; echo ready; exec cat"];

#[test]
fn send_names_what_does_not_exist() {
    let swb = Swb::start(EXE);
    let mut client = swb.control();
    swb.make("x", &["cat"]);
    let beyond = json!({"cmd": "send", "session": "x", "pty": 9, "text": "y"});
    assert_eq!(client.error(&beyond), "PTY_NOT_FOUND");
    assert_eq!(client.error(&json!({"cmd": "send", "session": "nope", "text": "y"})), "SESSION_NOT_FOUND");
    swb.make("short", &["true"]);
    wait_for("its end", || {
        let answer = client.ask(&json!({"cmd": "send", "session": "short", "text": "y"}));
        (answer["error"] == "SESSION_ENDED").then_some(())
    });
}

// control: send
#[test]
fn send_types_text_or_bytes() {
    let swb = Swb::start(EXE);
    swb.make("x", &MIRROR);
    let mut client = swb.attach("x");
    client.until("ready\n");
    let mut sender = swb.control();
    assert_eq!(sender.ask(&json!({"cmd": "send", "session": "x", "text": "grüße\r"})), json!({"ok": true}));
    client.until("grüße\r");
    sender.ok(&json!({"cmd": "send", "session": "x", "pty": 0, "data": BASE64.encode(b"\x00\xff\x1b.")}));
    let mut seen = Vec::new();
    while seen.len() < 4 {
        match client.item(LIMIT) {
            Some(StreamItem::Data(bytes)) => seen.extend(bytes),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(seen, b"\x00\xff\x1b.");
    for wrong in [json!({}), json!({"text": "a", "data": "YQ=="}), json!({"data": "?"}), json!({"text": 5})] {
        let mut request = json!({"cmd": "send", "session": "x"});
        request.as_object_mut().unwrap().extend(wrong.as_object().unwrap().clone());
        assert_eq!(sender.error(&request), "INVALID_COMMAND", "{request}");
    }
    let mut shell = swb.control();
    shell.ok(&json!({"cmd": "shell", "session": "x", "command": "cat"}));
    sender.ok(&json!({"cmd": "send", "session": "x", "pty": 1, "text": "to the shell\r"}));
    shell.until("to the shell");
}

// control: send
#[test]
fn send_replies_when_the_terminal_has_taken_every_byte() {
    let swb = Swb::start(EXE);
    let workspace = swb.workspace("ws");
    let fifo = Fifo::make(&workspace.join("go"));
    let text: String = (0..20_000).map(|n| format!("{n:05}\n")).collect();
    let script =
        format!("stty raw -echo; echo ready; cat go; head -c {} > got; echo done; exec cat", text.len());
    swb.control()
        .ok(&json!({"cmd": "create", "name": "x", "workspace": workspace, "argv": ["sh", "-c", script]}));
    let mut client = swb.attach("x");
    client.until("ready\n");
    let mut sender = swb.control();
    sender.send(&json!({"cmd": "send", "session": "x", "text": text}));
    assert_eq!(sender.item(swb_testkit::QUIET), None, "the program does not read yet");
    fifo.write("");
    assert_eq!(sender.answer().unwrap(), json!({"ok": true}));
    client.until("done\n");
    assert!(std::fs::read_to_string(workspace.join("got")).unwrap() == text);
}

// control: SESSION_ENDED
#[test]
fn operations_on_an_ended_process_are_rejected() {
    let swb = Swb::start(EXE);
    swb.make("x", &["sh", "-c", "read line; exit 4"]);
    let mut shell = swb.control();
    shell.ok(&json!({"cmd": "shell", "session": "x", "command": "cat"}));
    swb.control().ok(&json!({"cmd": "send", "session": "x", "text": "\r"}));
    wait_for("the agent to end", || {
        let item = swb.control().ok(&json!({"cmd": "ls", "details": true}))["sessions"][0].clone();
        (item["status"] == "exited" && item["exit_code"] == 4).then_some(())
    });
    assert_eq!(swb.control().error(&json!({"cmd": "send", "session": "x", "text": "late"})), "SESSION_ENDED");
    // The session lives on with its shell, and the agent's output can be read.
    let (_, controls) = swb.attach("x").to_end();
    assert_eq!(controls, [json!({"event": "pty_exited", "code": 4})]);
    shell.type_in(b"hello\r");
    shell.until("hello");
}

// control: status
#[test]
fn status_describes_the_daemon() {
    let mut swb = Swb::start(EXE);
    swb.make("x", &["cat"]);
    let daemon = i64::from(swb.daemon().id());
    let status = swb.control().ok(&json!({"cmd": "status"}));
    assert_eq!(status["daemon"]["pid"], daemon);
    assert_eq!((&status["daemon"]["restarts"], &status["daemon"]["auto"]), (&json!(0), &json!(false)));
    assert_eq!(status["daemon"]["version"], env!("CARGO_PKG_VERSION"));
    let started = status["daemon"]["started"].as_u64().unwrap();
    assert!(std::time::UNIX_EPOCH.elapsed().unwrap().as_millis() as u64 - started < 60_000);
    assert!(is_alive(status["keeper"]["pid"].as_i64().unwrap()));
    assert_ne!(status["keeper"]["pid"], daemon);
    assert_eq!((&status["sessions"], &status["warnings"]), (&json!(1), &json!([])));
    let paths = swb.paths();
    assert_eq!(
        status["dialects"],
        json!([
            {"name": "keepty", "socket": paths.keepty_dir(), "state": "listening"},
            {"name": "clippy", "socket": paths.clippy_socket(), "state": "listening"},
            {"name": "coop", "socket": paths.coop_socket(), "state": "listening"},
            {"name": "scriptschnell", "socket": paths.scriptschnell_socket(), "state": "listening"},
        ])
    );
}

// control: upgrade
#[test]
fn upgrade_replaces_the_programs_under_running_sessions() {
    for keeper in [false, true] {
        let swb = Swb::start(EXE);
        let pid = swb.make("x", &MIRROR);
        let mut client = swb.attach("x");
        client.until("ready\n");
        let before = swb.status();
        assert_eq!(
            swb.control().error(&json!({"cmd": "upgrade", "exe": "/bin/cat"})),
            "INVALID_COMMAND",
            "not one of ours"
        );
        assert_eq!(swb.control().error(&json!({"cmd": "upgrade", "exe": "/no/such"})), "INVALID_COMMAND");
        client.type_in(b"before");
        client.until("before");

        let mut asker = swb.control();
        assert_eq!(asker.ask(&json!({"cmd": "upgrade", "keeper": keeper})), json!({"ok": true}));
        asker.closed();
        let (_, controls) = client.to_end();
        assert_eq!(controls, [] as [Value; 0], "connections end without a goodbye");
        let after = swb.status();
        assert_eq!(after["daemon"]["pid"], before["daemon"]["pid"]);
        assert_eq!(after["keeper"]["pid"], before["keeper"]["pid"]);
        assert!(is_alive(pid));
        let mut again = swb.attach("x");
        again.until("ready\nbefore");
        again.type_in(b"after");
        again.until("after");
    }
}
