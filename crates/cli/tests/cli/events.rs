//! `swb events` and `swb ls --watch`.

use crate::support::agents::{AGENT, becomes, said, start};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use swb_testkit::{LIMIT, QUIET, Swb, Terminal};

const EXE: &str = env!("CARGO_BIN_EXE_swb");

/// A program that keeps printing, a line at a time.
struct LineFollower {
    child: Child,
    lines: Receiver<String>,
}

impl LineFollower {
    fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("it runs");
        let out: BufReader<ChildStdout> = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, lines) = sync_channel(1000);
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Self { child, lines }
    }

    /// The next line, as JSON.
    #[track_caller]
    fn next(&self) -> Value {
        let line = self.lines.recv_timeout(LIMIT).expect("a line");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Skips lines until one fits.
    #[track_caller]
    fn until(&self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        for _ in 0..1000 {
            let line = self.next();
            if fits(&line) {
                return line;
            }
        }
        panic!("{what} never came");
    }

    #[track_caller]
    fn event(&self, name: &str) -> Value {
        self.until(name, |line| line["event"] == name)
    }
}

impl Drop for LineFollower {
    fn drop(&mut self) {
        let _ended = (self.child.kill(), self.child.wait());
    }
}

/// Follows events; returns when it does.
#[track_caller]
fn follow(swb: &Swb) -> LineFollower {
    let follower = LineFollower::start(swb.command(&["events", "--json"]));
    // The first event shows that it follows.
    for n in 0..100 {
        swb.ok(&["run", "-n", &format!("probe-{n}"), "--", "true"]);
        if follower.lines.recv_timeout(QUIET).is_ok() {
            return follower;
        }
    }
    panic!("it follows nothing");
}

#[test]
fn events_of_a_session_are_sent_in_order() {
    let swb = Swb::start(EXE);
    let follower = follow(&swb);
    swb.ok(&["run", "-d", "-n", "main", "--", "sh", "-c", AGENT]);
    let opened = follower.until("its opening", |line| line["session"] == "main");
    assert_eq!(opened["event"], "opened");
    assert!(opened["at"].as_u64() > Some(1_600_000_000_000) && opened["cursor"].is_string(), "{opened}");
    assert_eq!(follower.event("started")["pty"], 0);
    let ready = follower.until("ready", |line| line["state"] == "ready");
    assert_eq!((&ready["event"], &ready["session"]), (&json!("status"), &json!("main")));
    swb.ok(&["ask", "main", "hello"]);
    follower.event("submitted");
    follower.until("working", |line| line["state"] == "working");
    assert_eq!(follower.event("turn")["turn_id"], "main:1");
    assert_eq!(swb.run(&["ask", "main", "ask", "--timeout", "60"]).status.code(), Some(5));
    assert!(follower.event("dialog")["offset"].is_u64());
    swb.ok(&["send", "main", "y", "--enter"]);
    becomes(&swb, "main", "ready");
    swb.ok(&["send", "main", "end", "--enter"]);
    assert_eq!(follower.event("exited")["code"], 3);
    assert_eq!(follower.event("closed")["session"], "main");
}

#[test]
fn events_of_a_session_that_does_not_exist_are_an_error() {
    let swb = Swb::start(EXE);
    let output = swb.run(&["events", "nobody"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no session named 'nobody'"), "{output:?}");
}

#[test]
fn a_resumed_subscription_misses_nothing_even_after_a_crash() {
    let swb = Swb::start(EXE);
    start(&swb, "main", &["sh", "-c", AGENT], "ready");
    let first = follow(&swb);
    swb.ok(&["ask", "main", "one"]);
    let seen = first.until("a turn", |line| line["turn_id"] == "main:1");
    let cursor = seen["cursor"].as_str().expect("a cursor").to_owned();
    swb.kill_daemon();
    becomes(&swb, "main", "ready");
    swb.ok(&["ask", "main", "two"]);
    // It is still there, and has come back by itself.
    assert_eq!(first.event("turn")["turn_id"], "main:2");
    let second = LineFollower::start(swb.command(&["events", "--json", "--since", &cursor]));
    let next = second.next();
    assert_ne!(next["event"], "missed", "{next}");
    assert_eq!(second.event("turn")["turn_id"], "main:2");
    let only = LineFollower::start(swb.command(&["events", "--json", "other", "--since", &cursor]));
    swb.ok(&["run", "-n", "other", "--", "true"]);
    assert_eq!(only.next()["session"], "other");
}

#[test]
fn an_expired_position_is_reported() {
    let swb = Swb::start(EXE);
    start(&swb, "main", &["sh", "-c", AGENT], "ready");
    let follower = LineFollower::start(swb.command(&["events", "--json", "--since", "1-1"]));
    let missed = follower.next();
    assert_eq!((&missed["event"], &missed["cursor"]), (&json!("missed"), &json!("1-1")));
    assert_eq!(follower.event("opened")["session"], "main", "what is kept follows");
    let wrong = swb.run(&["events", "--since", "nonsense"]);
    assert_eq!(wrong.status.code(), Some(2), "{}", said(&wrong));
}

#[test]
fn events_are_printed_as_lines() {
    let swb = Swb::start(EXE);
    start(&swb, "main", &["sh", "-c", AGENT], "ready");
    let follower = LineFollower::start(swb.command(&["events", "--since", "1-1"]));
    let lines: Vec<String> = (0..2).map(|_| follower.lines.recv_timeout(LIMIT).expect("a line")).collect();
    assert!(
        lines[0].contains("some events were lost") && lines[1].ends_with("  main          opened"),
        "{lines:?}"
    );
}

#[test]
fn a_watched_list_is_printed_again_on_changes() {
    let swb = Swb::start(EXE);
    let follower = LineFollower::start(swb.command(&["ls", "--watch", "--json"]));
    assert_eq!(follower.next(), json!([]));
    swb.ok(&["run", "-d", "-n", "main", "--", "sh", "-c", AGENT]);
    follower.until("a ready agent", |list| list[0]["agent"]["state"] == "ready");
    swb.ok(&["send", "main", "slow", "--enter"]);
    follower.until("a working agent", |list| list[0]["agent"]["state"] == "working");
    swb.kill_daemon();
    swb.ok(&["send", "main", "now", "--enter"]);
    follower.until("a ready agent", |list| list[0]["agent"]["state"] == "ready");
}

#[test]
fn ls_watch_uses_and_leaves_the_alternate_screen() {
    let swb = Swb::start(EXE);
    start(&swb, "main", &["sh", "-c", AGENT], "ready");
    let mut terminal = Terminal::start(swb.command(&["ls", "--watch"]), 100, 20);
    terminal.until("\x1b[?1049h");
    terminal.until("ready");
    swb.ok(&["send", "main", "slow", "--enter"]);
    terminal.until("working");
    terminal.type_in(b"\x03");
    assert_eq!(terminal.wait(), 0);
    let seen = String::from_utf8_lossy(terminal.seen()).into_owned();
    assert!(seen.ends_with("\x1b[?25h\x1b[?1049l"), "{seen:?}");
}

#[test]
fn a_subscriber_that_does_not_read_delays_nothing() {
    let swb = Swb::start(EXE);
    start(&swb, "main", &["sh", "-c", AGENT], "ready");
    let mut deaf = swb.control();
    deaf.ok(&json!({"cmd": "events", "since": "1-1"}));
    let mut control = swb.control();
    for n in 0..1500 {
        let state = if n % 2 == 0 { "working" } else { "ready" };
        control.ok(&json!({"cmd": "hook", "session": "main", "state": state}));
    }
    becomes(&swb, "main", "ready");
    let answer = swb.ok(&["ask", "main", "hello"]);
    assert!(answer.contains("you said: hello"), "{answer}");
    drop(deaf);
}
