//! Keys that are typed while the daemon dies arrive exactly once.

use rustix::process::Signal;
use serde_json::json;
use std::path::PathBuf;
use std::time::Duration;
use swb_testkit::{CoopClient, Swb, Terminal, signal, wait_for};

const EXE: &str = env!("CARGO_BIN_EXE_swb");

/// A session that writes every key to a file, and a terminal that is attached to it.
fn attached(swb: &Swb) -> (Terminal, PathBuf) {
    swb.script("keys", "stty raw -echo; printf go; exec cat > typed");
    let mut terminal = Terminal::start(swb.command(&["attach", "keys"]), 80, 24);
    terminal.until("go");
    (terminal, swb.workspace("").join("typed"))
}

fn typed(file: &PathBuf) -> String {
    std::fs::read_to_string(file).unwrap_or_default()
}

#[test]
fn keys_that_a_dying_daemon_has_not_read_are_sent_again() {
    let swb = Swb::start(EXE);
    let (mut terminal, file) = attached(&swb);
    let mut expected = String::new();
    for round in 0..3 {
        let pid = swb.daemon_pid();
        let line = format!("while it works {round}\n");
        terminal.type_in(line.as_bytes());
        expected.push_str(&line);
        wait_for("the keys", || (typed(&file) == expected).then_some(()));
        // From here on the daemon reads nothing, and the keys wait in its socket.
        signal(pid, Signal::STOP);
        let line = format!("while it stands still {round}\n");
        terminal.type_in(line.as_bytes());
        expected.push_str(&line);
        // Time for the client to send them; if it takes longer, they are sent to the next daemon.
        assert!(!terminal.shows("nothing is shown", Duration::from_millis(200)));
        signal(pid, Signal::KILL);
        wait_for("the next daemon", || swb.try_status().filter(|status| status["daemon"]["pid"] != pid));
        wait_for("the keys", || (typed(&file).len() >= expected.len()).then_some(()));
        assert_eq!(typed(&file), expected);
    }
}

#[test]
fn keys_arrive_once_while_daemons_die() {
    let swb = Swb::start(EXE);
    let (mut terminal, file) = attached(&swb);
    let mut expected = String::new();
    for round in 0..4 {
        for line in 0..50 {
            let line = format!("{round}.{line}\n");
            terminal.type_in(line.as_bytes());
            expected.push_str(&line);
        }
        swb.kill_daemon();
    }
    terminal.type_in(b"end\n");
    expected.push_str("end\n");
    wait_for("the last key", || typed(&file).ends_with("end\n").then_some(()));
    if typed(&file) != expected {
        terminal.until("the last keys may not have arrived");
    }
}

// Its protocol does not number input, so what the user typed last may be lost with the connection.
#[test]
fn keepty_reports_that_keys_may_be_lost_with_the_connection() {
    let swb = Swb::start(EXE);
    swb.script("keys", "stty raw -echo; printf go; exec cat > typed");
    let lost = "the last keys may not have arrived";
    for (keys, reported) in [("", false), ("typed", true)] {
        let mut terminal = Terminal::start(swb.named("keepty", &["attach", "keys"]), 80, 24);
        terminal.until("Attached");
        terminal.until("go");
        terminal.type_in(keys.as_bytes());
        wait_for("the keys", || typed(&swb.workspace("").join("typed")).ends_with(keys).then_some(()));
        swb.kill_daemon();
        terminal.until("Session disconnected");
        terminal.wait();
        let seen = String::from_utf8_lossy(terminal.seen()).into_owned();
        assert_eq!(seen.contains(lost), reported, "{keys:?}: {seen}");
    }
}

/// Attaches with a stream of input; returns the connection and how far the stream has come.
fn numbered(swb: &Swb, stream: u64) -> (CoopClient, u64) {
    let mut client = swb.control();
    let reply = client.ok(&json!({"cmd": "attach", "session": "keys", "input": stream}));
    assert_eq!(reply["input"]["doubtful"], 0, "{reply}");
    (client, reply["input"]["written"].as_u64().expect("a count"))
}

#[test]
fn input_is_counted_across_connections_and_daemons() {
    let swb = Swb::start(EXE);
    let (_terminal, file) = attached(&swb);
    let (mut client, written) = numbered(&swb, 7);
    assert_eq!(written, 0);
    client.type_in(b"abc");
    wait_for("the keys", || (typed(&file) == "abc").then_some(()));
    assert_eq!(numbered(&swb, 7).1, 3);
    assert_eq!(numbered(&swb, 8).1, 0, "another stream");
    swb.kill_daemon();
    let (mut client, written) = numbered(&swb, 7);
    assert_eq!(written, 3);
    client.type_in(b"de");
    wait_for("the keys", || (typed(&file) == "abcde").then_some(()));
    assert_eq!(numbered(&swb, 7).1, 5);
    // A client that names no stream gets no count, and zero names none.
    let mut plain = swb.control();
    for request in
        [json!({"cmd": "attach", "session": "keys"}), json!({"cmd": "attach", "session": "keys", "input": 0})]
    {
        assert!(plain.ok(&request).get("input").is_none());
        plain = swb.control();
    }
}
