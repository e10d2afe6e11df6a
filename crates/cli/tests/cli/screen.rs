//! `swb screen`, `swb wait` and `swb keys`: a terminal controlled from outside.

use crate::support::child::{ends_within, finish};
use crate::support::view::screen;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use swb_testkit::{QUIET, Swb, Terminal, signal, text, wait_for};

const EXE: &str = env!("CARGO_BIN_EXE_swb");

/// Shows every byte it is typed, one per line and in decimal.
const SHOW_KEYS: &str = r"stty raw -echo; printf 'ready\r\n'; exec od -An -v -tu1 -w1";

// ---- screen ----

#[test]
fn a_screen_is_text_by_default() {
    let swb = Swb::start(EXE);
    running(
        &swb,
        "main",
        r"printf 'one\ntwo\033[2;6H\033[1;31mred\033[m\ngone\rlast'; exec sleep 600",
        "last",
    );
    assert_eq!(swb.ok(&["screen", "main"]), "one\ntwo  red\nlast\n");

    let json = swb.json(&["screen", "main"]);
    assert_eq!((&json["session"], &json["pty"]), (&json!("main"), &json!(0)));
    assert!(json["offset"].as_u64().is_some_and(|offset| offset > 10), "{json}");
    assert_eq!((&json["screen"]["cols"], &json["screen"]["rows"]), (&json!(80), &json!(24)));
    assert_eq!(json["screen"]["cursor"]["row"], 2);
    assert!(json["screen"]["lines"][1].to_string().contains("red"), "{json}");

    let ansi = swb.ok(&["screen", "main", "--ansi"]);
    assert!(ansi.contains("red") && ansi.contains("\x1b["), "{ansi:?}");
    // Terminals turn line ends into new lines.
    let shown = screen(ansi.replace('\n', "\r\n").as_bytes(), 80, 24);
    assert_eq!(shown.text(), "one\ntwo  red\nlast");
}

#[test]
fn a_screen_can_be_drawn_into_a_file() {
    let swb = Swb::start(EXE);
    running(&swb, "main", "printf 'hello there'; exec sleep 600", "hello");
    let file = swb.dir().join("shot");
    let path = file.to_str().expect("a path");
    assert_eq!(swb.ok(&["screen", "main", "--svg", path]), "");
    let svg = std::fs::read_to_string(&file).expect("a picture");
    assert!(svg.starts_with("<svg") && svg.contains("hello"), "{svg}");
    assert_eq!(swb.ok(&["screen", "main", "--svg", "-"]), svg);
    assert_eq!(swb.ok(&["screen", "main", "--png", path]), "");
    let png = std::fs::read(&file).expect("a picture");
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"), "{} bytes", png.len());
    assert_eq!(swb.run(&["screen", "main", "--png", "-"]).stdout, png);
    let nowhere = swb.run(&["screen", "main", "--svg", "/nowhere/x"]);
    assert_eq!(nowhere.status.code(), Some(1));
    assert!(text(&nowhere.stderr).contains("cannot write /nowhere/x"), "{}", text(&nowhere.stderr));
    assert_eq!(swb.run(&["screen", "main", "--json", "--ansi"]).status.code(), Some(2));
}

// `cargo xtask setup` installs a font for this.
#[test]
fn a_picture_shows_wide_characters_and_the_scrollback() {
    let swb = Swb::start(EXE);
    for (name, text) in [("sun", "日"), ("book", "本")] {
        running(
            &swb,
            name,
            &format!("printf 'x\\n%.0s' $(seq 30); printf '{text} ready'; exec sleep 600"),
            "ready",
        );
    }
    let draw = |args: &[&str]| swb.run(&[&["screen"], args, &["--png", "-"]].concat()).stdout;
    let height = |png: &[u8]| u32::from_be_bytes(png[20..24].try_into().expect("four bytes"));
    assert_ne!(draw(&["sun"]), draw(&["book"]), "boxes would be the same");
    assert!(height(&draw(&["sun", "--scrollback", "5"])) > height(&draw(&["sun"])));
    let svg = swb.ok(&["screen", "sun", "--svg", "-", "--scrollback", "5"]);
    assert!(svg.len() > swb.ok(&["screen", "sun", "--svg", "-"]).len());
}

#[test]
fn a_screen_has_its_scrollback_on_request() {
    let swb = Swb::start(EXE);
    running(&swb, "main", "seq 1 100; exec sleep 600", "100");
    let lines = |args: &[&str]| swb.ok(&[&["screen", "main"], args].concat());
    let numbers = |from: u32| (from..=100).map(|n| format!("{n}\n")).collect::<String>();
    // The cursor stands on the last row, below the last number.
    assert_eq!(lines(&[]), numbers(78));
    assert_eq!(lines(&["--scrollback", "10"]), numbers(68));
    assert_eq!(lines(&["--scrollback", "99999"]), numbers(1));
    let json = swb.json(&["screen", "main", "--scrollback", "5"]);
    assert_eq!(json["screen"]["scrollback"].as_array().map(Vec::len), Some(5));
}

#[test]
fn an_ended_session_still_has_a_screen() {
    let swb = Swb::start(EXE);
    swb.run(&["run", "-n", "done", "--", "sh", "-c", "echo last words; exit 5"]);
    assert_eq!(swb.ok(&["screen", "done"]), "last words\n");
}

#[test]
fn a_shell_has_a_screen_of_its_own() {
    let swb = Swb::start(EXE);
    running(&swb, "main", "echo the agent; exec sleep 600", "the agent");
    let mut shell =
        Terminal::start(swb.command(&["shell", "main", "--", "sh", "-c", "echo the shell; cat"]), 80, 24);
    shell.until("the shell");
    assert_eq!(swb.ok(&["screen", "main", "--pty", "1"]), "the shell\n");
    assert_eq!(swb.ok(&["screen", "main"]), "the agent\n");
    assert_eq!(swb.run(&["screen", "main", "--pty", "7"]).status.code(), Some(1));
}

#[test]
fn a_screen_survives_the_daemon() {
    let swb = Swb::start(EXE);
    running(&swb, "main", "seq 1 50; exec cat", "50");
    let before = swb.ok(&["screen", "main", "--ansi", "--scrollback", "100"]);
    swb.kill_daemon();
    assert_eq!(swb.ok(&["screen", "main", "--ansi", "--scrollback", "100"]), before);
}

// ---- wait ----

#[test]
fn a_wait_for_text_ends_when_it_appears() {
    let swb = Swb::start(EXE);
    running(&swb, "main", "echo one; read line; echo \"two $line\"; exec cat", "one");
    // What is there already counts.
    assert_eq!(swb.ok(&["wait", "main", "--text", "o.e"]), "");
    let mut waiting = start(&swb, &["wait", "main", "--text", "^two (a|b)$", "--json"]);
    assert!(!ends_within(&mut waiting, QUIET));
    swb.ok(&["send", "main", "b", "--enter"]);
    let output = finish(waiting);
    assert_eq!(output.status.code(), Some(0));
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(
        (&json["met"], &json["text"], &json["session"]),
        (&json!("text"), &json!("two b"), &json!("main"))
    );
    assert!(json["offset"].as_u64().is_some(), "{json}");
}

#[test]
fn a_wait_finds_text_that_has_scrolled_away() {
    let swb = Swb::start(EXE);
    running(&swb, "main", "echo ready; read line; echo needle; seq 1 200; exec cat", "ready");
    let mut waiting = start(&swb, &["wait", "main", "--text", "needle"]);
    assert!(!ends_within(&mut waiting, QUIET));
    swb.ok(&["send", "main", "", "--enter"]);
    assert_eq!(finish(waiting).status.code(), Some(0));
}

#[test]
fn a_wait_for_silence_ends_when_output_pauses() {
    let swb = Swb::start(EXE);
    let script = "i=0; while [ $i -lt 30 ]; do echo line $i; i=$((i+1)); sleep 0.05; done; exec sleep 600";
    running(&swb, "main", script, "line 0");
    assert_eq!(swb.json(&["wait", "main", "--stable", "700"])["met"], "stable");
    assert!(swb.ok(&["screen", "main"]).contains("line 29"), "not before the last line");
}

#[test]
fn a_wait_for_the_end_prints_the_exit_code() {
    let swb = Swb::start(EXE);
    running(&swb, "main", "echo ready; read line; exit 9", "ready");
    let waiting = start(&swb, &["wait", "main", "--exit", "--json"]);
    let plain = start(&swb, &["wait", "main", "--exit", "--text", "never there"]);
    swb.ok(&["send", "main", "", "--enter"]);
    let output = finish(waiting);
    assert_eq!(output.status.code(), Some(0), "the wait was successful, whatever became of the command");
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&json["met"], &json["code"]), (&json!("exit"), &json!(9)));
    let output = finish(plain);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), String::new()));
    // It has ended, and that can be asked again.
    assert_eq!(swb.json(&["wait", "main", "--exit"])["code"], 9);
    let gone = swb.run(&["wait", "main", "--text", "never there"]);
    assert_eq!(gone.status.code(), Some(1), "it will never hold");
}

#[test]
fn a_wait_times_out() {
    let swb = Swb::start(EXE);
    swb.script("main", "exec sleep 600");
    let began = Instant::now();
    let output = swb.run(&["wait", "main", "--text", "never", "--timeout", "0.3"]);
    assert_eq!(output.status.code(), Some(124));
    assert!(began.elapsed() >= Duration::from_millis(300));
    assert_eq!((text(&output.stdout), text(&output.stderr)), (String::new(), String::new()));
    let output = swb.run(&["wait", "main", "--exit", "--timeout", "0", "--json"]);
    assert_eq!(output.status.code(), Some(124));
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(json["met"], "timeout");
}

#[test]
fn an_invalid_wait_is_rejected() {
    let swb = Swb::start(EXE);
    swb.script("main", "exec sleep 600");
    assert_eq!(swb.run(&["wait", "nobody", "--exit"]).status.code(), Some(3));
    assert_eq!(swb.run(&["wait", "main"]).status.code(), Some(2));
    let bad = swb.run(&["wait", "main", "--text", "(unclosed"]);
    assert_eq!(bad.status.code(), Some(2), "{}", text(&bad.stderr));
    assert!(text(&bad.stderr).contains("unclosed group"), "{}", text(&bad.stderr));
}

#[test]
fn a_wait_outlives_the_daemon() {
    let swb = Swb::start(EXE);
    running(&swb, "main", "echo ready; read line; echo \"got $line\"; exec cat", "ready");
    let mut waiting = start(&swb, &["wait", "main", "--text", "got it", "--timeout", "60"]);
    let mut short = start(&swb, &["wait", "main", "--text", "never", "--timeout", "3", "--json"]);
    assert!(!ends_within(&mut waiting, QUIET));
    swb.kill_daemon();
    assert!(!ends_within(&mut waiting, QUIET));
    assert!(!ends_within(&mut short, Duration::ZERO));
    swb.ok(&["send", "main", "it", "--enter"]);
    let output = finish(waiting);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(finish(short).status.code(), Some(124), "the rest of the time was asked for");
}

#[test]
fn a_wait_times_out_without_a_daemon() {
    let swb = Swb::start(EXE);
    swb.script("main", "exec sleep 600");
    let (daemon, keeper) = (swb.daemon_pid(), swb.keeper_pid());
    let mut waiting = start(&swb, &["wait", "main", "--text", "never", "--timeout", "1"]);
    assert!(!ends_within(&mut waiting, QUIET));
    signal(daemon, Signal::STOP);
    let output = finish(waiting);
    signal(daemon, Signal::CONT);
    assert_eq!(output.status.code(), Some(124), "{}", text(&output.stderr));
    assert!(swb_testkit::is_alive(keeper));
}

// ---- keys ----

#[test]
fn keys_are_encoded_for_the_programs_modes() {
    let swb = Swb::start(EXE);
    running(&swb, "main", SHOW_KEYS, "ready");
    assert_eq!(swb.ok(&["keys", "main", "C-c", "Enter", "Up", "größe"]), "");
    typed(&swb, "main", b"\x03\r\x1b[Agr\xc3\xb6\xc3\x9fe");
    assert_eq!(swb.json(&["keys", "main", "--literal", "C-c"]), json!({"session": "main", "bytes": 3}));

    running(&swb, "apps", &SHOW_KEYS.replace("ready", r"\033[?1hready"), "ready");
    swb.ok(&["keys", "apps", "Up", "--", "-x"]);
    typed(&swb, "apps", b"\x1bOA-x");
}

#[test]
fn keys_without_a_running_program_are_an_error() {
    let swb = Swb::start(EXE);
    assert_eq!(swb.run(&["keys", "nobody", "Enter"]).status.code(), Some(3));
    swb.run(&["run", "-n", "done", "--", "true"]);
    let ended = swb.run(&["keys", "done", "Enter"]);
    assert_eq!(ended.status.code(), Some(1));
    assert!(text(&ended.stderr).contains("ended"), "{}", text(&ended.stderr));
}

// ---- helpers ----

/// Runs a script in a session up to where `until` is on the screen.
#[track_caller]
fn running(swb: &Swb, name: &str, script: &str, until: &str) {
    swb.script(name, script);
    wait_for(until, || swb.ok(&["logs", name]).contains(until).then_some(()));
}

/// Insists that the program was typed these bytes, and nothing else.
#[track_caller]
fn typed(swb: &Swb, name: &str, bytes: &[u8]) {
    let decimal: String = bytes.iter().map(|byte| format!("{byte:4}\n")).collect();
    let log = || swb.ok(&["logs", name]).split_once("ready\r\n").map(|(_, log)| log.to_owned());
    wait_for("the keys", || log().filter(|log| log.len() >= decimal.len()));
    assert_eq!(log().as_deref(), Some(decimal.as_str()));
}

fn start(swb: &Swb, args: &[&str]) -> Child {
    swb.command(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a child")
}
