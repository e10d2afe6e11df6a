//! `swb wrap` and `clippyctl` with our own daemon as the broker.

use std::process::Output;
use std::time::Duration;
use swb_testkit::{Swb, Terminal, wait_for};

const EXE: &str = env!("CARGO_BIN_EXE_swb");

/// Answers each line in a few words.
const AGENT: &str = r#"stty -echo; printf 'agent> '
    while IFS= read -r line; do printf 'so you mean \033[1m%s\033[0m?\n' "$line"; printf 'agent> '; done"#;

fn ctl(swb: &Swb, args: &[&str]) -> Output {
    swb.named("clippyctl", args).output().expect("it runs")
}

#[track_caller]
fn ctl_ok(swb: &Swb, args: &[&str]) -> Vec<u8> {
    let output = ctl(swb, args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// The sessions the broker knows, with the processes they are of.
fn sessions(swb: &Swb) -> Vec<(String, u64, bool)> {
    let output = ctl(swb, &["list-sessions", "--json"]);
    let list: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let item = |item: &serde_json::Value| {
        let name = item["session"].as_str().expect("a name").to_owned();
        (name, item["pid"].as_u64().expect("a process"), item["has_turn"] == true)
    };
    list.iter().map(item).collect()
}

/// Starts a wrapper and waits until the broker knows it.
fn wrapped(swb: &Swb, script: &str) -> (Terminal, String) {
    let before = sessions(swb);
    let terminal = Terminal::start(swb.command(&["wrap", "--", "/bin/sh", "-c", script]), 80, 24);
    let id = wait_for("the registration", || {
        sessions(swb).into_iter().find(|session| !before.contains(session)).map(|(id, ..)| id)
    });
    (terminal, id)
}

// CP-14, CP-18, CP-19, CP-21, CR-26
#[test]
fn an_answer_is_relayed_between_wrappers() {
    let swb = Swb::start(EXE);
    let (mut from, source) = wrapped(&swb, AGENT);
    let (mut to, target) =
        wrapped(&swb, "stty -echo; printf ready; while IFS= read -r l; do echo \"took: $l\"; done");
    to.until("ready");
    from.until("agent> ");
    assert_eq!(ctl(&swb, &["capture", &source]).status.code(), Some(1), "no turn yet");
    from.type_in(b"hello\r");
    wait_for("the turn", || sessions(&swb).iter().any(|(id, _, turn)| *id == source && *turn).then_some(()));
    let content = "so you mean \x1b[1mhello\x1b[0m?\r\n";
    let id = format!("{source}:1");
    assert_eq!(ctl_ok(&swb, &["get-turn", &id]), content.as_bytes());
    let size = format!("{id} {} bytes\n", content.len());
    assert_eq!(ctl_ok(&swb, &["capture", &source]), size.as_bytes());
    ctl_ok(&swb, &["paste", &target]);
    to.until("took: so you mean \x1b[1mhello\x1b[0m?");
    let file = swb.dir().join("out");
    ctl_ok(&swb, &["deliver", "file", "--path", file.to_str().expect("a path")]);
    assert_eq!(std::fs::read(&file).expect("a file"), content.as_bytes());

    from.type_in(b"\x04");
    assert_eq!(from.wait(), 0);
    wait_for("its end", || sessions(&swb).iter().all(|(id, ..)| *id != source).then_some(()));
    assert_eq!(ctl(&swb, &["get-turn", &id]).status.code(), Some(1), "its turns went with it");
}

#[test]
fn a_wrapped_shell_gets_no_relayed_text_with_enter() {
    let swb = Swb::start(EXE);
    let (from, source) = wrapped(&swb, AGENT);
    let (_to, target) = wrapped(&swb, "exec bash --norc --noprofile -i");
    from.type_in(b"hello\r");
    wait_for("the turn", || sessions(&swb).iter().any(|(id, _, turn)| *id == source && *turn).then_some(()));
    // Until the shell has started, its script is what reads.
    wait_for("the shell", || {
        let relayed = swb.run(&["relay", &source, &target, "--submit"]);
        let error = String::from_utf8_lossy(&relayed.stderr).into_owned();
        error.contains("bash would run the text").then_some(())
    });
    swb.ok(&["relay", &source, &target]);
}

// CP-15, CP-16: the daemon comes late, dies, and comes again.
#[test]
fn a_wrapper_outlives_the_daemon() {
    let mut swb = Swb::new(EXE);
    let mut terminal = Terminal::start(swb.command(&["wrap", "--", "/bin/sh", "-c", AGENT]), 80, 24);
    terminal.until("agent> ");
    terminal.type_in(b"early\r");
    terminal.until("early");
    terminal.until("agent> ");
    std::thread::park_timeout(Duration::from_millis(300));
    for _ in 0..2 {
        swb.start_daemon();
        let id = wait_for("the kept turn", || {
            sessions(&swb).into_iter().find(|(_, _, turn)| *turn).map(|(id, ..)| id)
        });
        let turn = ctl_ok(&swb, &["get-turn", &format!("{id}:1")]);
        assert_eq!(String::from_utf8_lossy(&turn), "so you mean \x1b[1mearly\x1b[0m?\r\n");
        assert_eq!(ctl(&swb, &["get-turn", &format!("{id}:2")]).status.code(), Some(1), "it was sent once");
        rustix::process::kill_process(
            rustix::process::Pid::from_child(swb.daemon()),
            rustix::process::Signal::TERM,
        )
        .expect("the daemon lives");
        assert!(swb.daemon().wait().expect("a child").success());
    }
}
