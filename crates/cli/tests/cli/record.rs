//! `swb record` and `swb replay`.

use crate::support::child::ends_within;
use crate::support::view::{all_text, screen, until_text, view};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use swb_testkit::{LIMIT, Swb, Terminal, signal, wait_for};

const EXE: &str = env!("CARGO_BIN_EXE_swb");

/// Counts, slower than a ring can be overrun while a daemon is restarted, until it is typed a line.
const NUMBERS: &str = "\
    stty -echo; exec 2>/dev/null; \
    (n=0; while :; do n=$((n + 1)); echo \"line $n\"; sleep 0.002; done) & \
    read line; kill $!; wait $!; echo end; exit 17";

// ---- record ----

#[test]
fn a_recording_has_the_screen_the_output_the_sizes_and_the_end() {
    let swb = Swb::start(EXE);
    let script = "stty -echo; echo before; while read line; do echo \"größe $line\"; done; exit 3";
    swb.ok(&["run", "-d", "-n", "main", "--", "sh", "-c", script]);
    wait_for("its output", || swb.ok(&["logs", "main"]).contains("before").then_some(()));
    let recorder = record(&swb, "main", &["--pty", "0"]);
    assert_eq!(std::fs::metadata(&recorder.file).expect("a file").mode() & 0o777, 0o600);
    recorder.until("before");
    let mut terminal = Terminal::start(swb.command(&["attach", "main"]), 100, 30);
    until_text(&mut terminal, "before");
    recorder.until("100x30");
    // From there on it is the output again that is recorded, not pictures of it.
    wait_for("the output", || {
        terminal.type_in(b"now\r");
        let raw = |event: &(f64, String, String)| event.1 == "o" && event.2.starts_with("größe now\r\n");
        terminal.shows("\u{0}", Duration::from_millis(50));
        read(&recorder.file).1.iter().any(raw).then_some(())
    });
    terminal.type_in(b"\x04");
    assert_eq!(terminal.wait(), 3);
    let file = recorder.end();

    let (header, events) = read(&file);
    assert_eq!(header["version"], 3);
    assert_eq!((&header["term"]["cols"], &header["term"]["rows"]), (&json!(120), &json!(40)));
    assert_eq!((&header["title"], &header["command"]), (&json!("main"), &json!(format!("sh -c '{script}'"))));
    assert!(header["timestamp"].as_u64().is_some_and(|time| time > 1_700_000_000), "{header}");
    assert_eq!(events[0].1, "o", "first comes the picture");
    assert!(events[0].2.contains("before"), "{events:?}");
    let sizes: Vec<&str> =
        events.iter().filter(|event| event.1 == "r").map(|event| event.2.as_str()).collect();
    assert_eq!(sizes, ["100x30"]);
    let last = events.last().expect("events");
    assert_eq!((last.1.as_str(), last.2.as_str()), ("x", "3"));
    assert_eq!(shown(&events, 100, 30), swb.ok(&["screen", "main"]).trim_end());
}

#[test]
fn a_recording_survives_restarts_without_losing_or_repeating_bytes() {
    let swb = Swb::start(EXE);
    swb.script("main", NUMBERS);
    let recorder = record(&swb, "main", &[]);
    for round in 1..=3 {
        recorder.until(&format!("line {}\\r\\n", round * 100));
        swb.kill_daemon();
    }
    recorder.until("line 400\\r\\n");
    swb.ok(&["upgrade"]);
    recorder.until("line 500\\r\\n");
    swb.ok(&["send", "main", "stop", "--enter"]);
    let file = recorder.end();
    let (_, events) = read(&file);
    let pictures = events.iter().filter(|event| event.2.contains("\x1b[!p")).count();
    assert_eq!(pictures, 1, "the output went on where it was");
    let bytes: String = events.iter().filter(|event| event.1 == "o").map(|event| event.2.as_str()).collect();
    let lines = all_text(&screen(bytes.as_bytes(), 80, 24));
    let (lines, end) = lines.rsplit_once('\n').expect("lines");
    assert_eq!(end, "end");
    // The picture shows what was on the screen, the rest follows without a gap.
    let numbers: Vec<u32> = lines
        .lines()
        .map(|line| line.strip_prefix("line ").and_then(|n| n.parse().ok()).expect(line))
        .collect();
    assert!(numbers.len() >= 500 && numbers.windows(2).all(|two| two[1] == two[0] + 1), "{numbers:?}");
}

#[test]
fn signals_end_a_recording_and_leave_a_valid_file() {
    let swb = Swb::start(EXE);
    swb.script("main", NUMBERS);
    for number in [Signal::INT, Signal::TERM, Signal::HUP] {
        let mut recorder = record(&swb, "main", &[]);
        recorder.until("line ");
        signal(recorder.child.id().into(), number);
        let file = recorder.end_with(0);
        let (_, events) = read(&file);
        assert!(events.iter().all(|event| event.1 == "o"), "it is the recording that has ended");
    }
    // Killed in the middle of it, too.
    let mut recorder = record(&swb, "main", &[]);
    recorder.until("line ");
    recorder.child.kill().expect("it runs");
    recorder.child.wait().expect("its end");
    assert!(!read(&recorder.file).1.is_empty());
    assert_eq!(swb.session("main").expect("it runs on")["status"], "running");
}

#[test]
fn existing_files_are_not_overwritten_and_failures_create_none() {
    let swb = Swb::start(EXE);
    swb.ok(&["run", "-d", "-n", "main", "--", "sh", "-c", "echo hello; exec sleep 600"]);
    let file = swb.dir().join("taken");
    std::fs::write(&file, "mine").expect("a file");
    let path = file.to_str().expect("a path");
    let output = swb.run(&["record", "main", path]);
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("exists") && error.contains("hint: --force"), "{error}");
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), "mine");

    let mut forced = swb.command(&["record", "--force", "main", path]).spawn().expect("a child");
    wait_for("the recording", || {
        std::fs::read_to_string(&file).ok().filter(|text| text.contains("hello") && !text.contains("mine"))
    });
    forced.kill().expect("it runs");
    forced.wait().expect("its end");

    let nobody = swb.dir().join("nobody");
    let output = swb.run(&["record", "nobody", nobody.to_str().expect("a path")]);
    assert_eq!(output.status.code(), Some(3));
    assert!(!nobody.exists());
}

#[test]
fn a_recording_can_go_to_standard_output() {
    let swb = Swb::start(EXE);
    swb.run(&["run", "-n", "done", "--", "sh", "-c", "echo last words; exit 5"]);
    let mut command = swb.command(&["record", "done", "-"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a child");
    let mut recorder = Recorder { child, file: PathBuf::from("-") };
    recorder.end_with(0);
    let mut output = (String::new(), String::new());
    recorder.child.stdout.take().expect("a pipe").read_to_string(&mut output.0).expect("text");
    recorder.child.stderr.take().expect("a pipe").read_to_string(&mut output.1).expect("text");
    let (text, said) = output;
    assert_eq!(said, "", "nothing is printed on a pipe");
    assert!(text.lines().nth(1).is_some_and(|line| line.contains("last words")), "{text}");
    assert!(text.trim_end().ends_with("\"x\", \"5\"]"), "{text}");
}

#[test]
fn record_prints_status_messages_on_a_terminal() {
    let swb = Swb::start(EXE);
    swb.ok(&["run", "-d", "-n", "main", "--", "sh", "-c", "echo hello; exec sleep 600"]);
    let file = swb.dir().join("a.cast");
    let mut terminal =
        Terminal::start(swb.command(&["record", "main", file.to_str().expect("a path")]), 80, 24);
    terminal.until("recording session 'main' to ");
    terminal.until("Ctrl+C stops");
    terminal.type_in(b"\x03");
    assert_eq!(terminal.wait(), 0);
    terminal.until("recorded ");
    terminal.assert_modes_restored();
}

// ---- replay ----

/// A small recording: one word per event.
fn words(swb: &Swb, words: &[(f64, &str)]) -> PathBuf {
    let file = swb.dir().join("words.cast");
    let mut text = "{\"version\":3,\"term\":{\"cols\":80,\"rows\":24}}\n".to_owned();
    for (interval, word) in words {
        text += &format!("[{interval},\"o\",{}]\n", json!(word));
    }
    std::fs::write(&file, text).expect("a file");
    file
}

#[test]
fn replay_without_a_terminal_prints_everything_at_once() {
    let swb = Swb::new(EXE);
    let file = words(&swb, &[(0.0, "one\u{1b}[6n "), (3600.0, "two "), (3600.0, "\u{7}three")]);
    assert_eq!(swb.ok(&["replay", file.to_str().expect("a path")]), "one\u{1b}[6n two \u{7}three");
    let mut child =
        swb.command(&["replay", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a child");
    let old = "{\"version\":2,\"width\":80,\"height\":24}\n[0.1,\"o\",\"old\"]\n";
    child.stdin.take().expect("a pipe").write_all(old.as_bytes()).expect("written");
    assert_eq!(child.wait_with_output().expect("its output").stdout, b"old");
    assert!(swb.try_status().is_none(), "no daemon is needed for this");
}

#[test]
fn replay_on_a_terminal_keeps_the_timing() {
    let swb = Swb::new(EXE);
    let pause = 2.0;
    let file =
        words(&swb, &[(0.0, "\u{1b}[?1049h\u{1b}[?25lone "), (pause, "two "), (0.0, "\u{1b}[6n\u{7}three")]);
    let began = Instant::now();
    let mut terminal = replay(&swb, &file, &[]);
    terminal.until("one");
    terminal.until("three");
    assert!(began.elapsed() >= Duration::from_secs_f64(pause), "not before its time");
    assert_eq!(terminal.wait(), 0);
    let seen = String::from_utf8_lossy(terminal.seen()).into_owned();
    assert!(
        !seen.contains("\u{1b}[6n") && !seen.contains('\u{7}'),
        "what asks or rings is left out: {seen:?}"
    );
    let after = view(&terminal);
    assert!(!after.modes().alternate && after.cursor().visible, "{seen:?}");
    terminal.assert_modes_restored();
}

#[test]
fn replay_speed_and_pauses_can_be_changed() {
    let swb = Swb::new(EXE);
    let file = words(&swb, &[(0.0, "one "), (3600.0, "two")]);
    for args in [&["--speed", "36000"][..], &["--idle-limit", "0.1"]] {
        let mut terminal = replay(&swb, &file, args);
        terminal.until("two");
        assert_eq!(terminal.wait(), 0);
    }
}

#[test]
fn keys_pause_and_quit_the_replay() {
    let swb = Swb::new(EXE);
    let file = words(&swb, &[(0.0, "one "), (3600.0, "two")]);
    for key in [&b"q"[..], b"\x03", b"\x1b[99;5u"] {
        let mut terminal = replay(&swb, &file, &[]);
        terminal.until("one");
        terminal.type_in(key);
        assert_eq!(terminal.wait(), 0, "{key:?}");
        terminal.assert_modes_restored();
    }
    let file = words(&swb, &[(0.0, "one "), (1.5, "two")]);
    let mut terminal = replay(&swb, &file, &[]);
    terminal.until("one");
    terminal.type_in(b" ");
    assert!(!terminal.shows("two", Duration::from_secs(3)), "it is paused");
    terminal.type_in(b" ");
    terminal.until("two");
    assert_eq!(terminal.wait(), 0);
}

#[test]
fn an_invalid_recording_is_reported_with_its_line() {
    let swb = Swb::new(EXE);
    let file = swb.dir().join("bad.cast");
    let path = file.to_str().expect("a path");
    for (content, complaint) in [
        ("hello\n", "bad.cast, line 1: not an asciicast header"),
        ("{\"version\":3}\n[0,\"o\",\"a\"]\nrubbish\n", "bad.cast, line 3: not an event"),
    ] {
        std::fs::write(&file, content).expect("a file");
        let output = swb.run(&["replay", path]);
        assert_eq!(output.status.code(), Some(1));
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(error.contains(complaint), "{error}");
    }
    let output = swb.run(&["replay", "/nowhere.cast"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot read /nowhere.cast"));
    // Also on a terminal, which is given back before.
    let mut terminal = replay(&swb, &file, &[]);
    assert_eq!(terminal.wait(), 1);
    terminal.until("line 3: not an event");
    terminal.assert_modes_restored();
}

#[test]
fn a_recording_can_be_replayed() {
    let swb = Swb::start(EXE);
    swb.ok(&[
        "run",
        "-d",
        "-n",
        "main",
        "--",
        "sh",
        "-c",
        "printf 'a\\033[5;10Hb\\n'; read line; echo c; exit 0",
    ]);
    wait_for("its output", || swb.ok(&["logs", "main"]).contains('b').then_some(()));
    let recorder = record(&swb, "main", &[]);
    recorder.until("b");
    swb.ok(&["send", "main", "", "--enter"]);
    let file = recorder.end();
    let mut terminal = replay(&swb, &file, &["--idle-limit", "0.1"]);
    assert_eq!(terminal.wait(), 0);
    assert_eq!(view(&terminal).text(), swb.ok(&["screen", "main"]).trim_end());
}

// ---- helpers ----

/// A recording that is being made.
struct Recorder {
    child: Child,
    file: PathBuf,
}

#[track_caller]
fn record(swb: &Swb, name: &str, args: &[&str]) -> Recorder {
    let file = swb.dir().join("session.cast");
    // One that is there would be taken for the new one.
    drop(std::fs::remove_file(&file));
    let path = file.to_str().expect("a path");
    let child = swb
        .command(&[&["record", name, path], args].concat())
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a child");
    wait_for("the recording", || {
        let text = std::fs::read_to_string(&file).ok()?;
        (text.lines().count() > 1).then_some(())
    });
    Recorder { child, file }
}

impl Recorder {
    /// Waits until a text is in the file, as JSON has it.
    #[track_caller]
    fn until(&self, text: &str) {
        wait_for(text, || std::fs::read_to_string(&self.file).ok()?.contains(text).then_some(()));
    }

    /// Waits for the end of the recording by itself.
    #[track_caller]
    fn end(mut self) -> PathBuf {
        self.end_with(0)
    }

    #[track_caller]
    fn end_with(&mut self, code: i32) -> PathBuf {
        assert!(ends_within(&mut self.child, LIMIT), "the recording does not end");
        assert_eq!(self.child.wait().expect("a child").code(), Some(code));
        self.file.clone()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        // Ended already unless the test fails.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Header and events of a recording; every line of it has to be good.
#[track_caller]
fn read(file: &Path) -> (Value, Vec<(f64, String, String)>) {
    let text = std::fs::read_to_string(file).expect("a recording");
    assert!(text.ends_with('\n'), "whole lines");
    let mut lines = text.lines();
    let header = serde_json::from_str(lines.next().expect("a header")).expect("a header");
    (header, lines.map(|line| serde_json::from_str(line).expect(line)).collect())
}

/// What the recording shows in the end.
fn shown(events: &[(f64, String, String)], cols: u16, rows: u16) -> String {
    let mut terminal = screen(b"", 80, 24);
    for (_, code, data) in events {
        match code.as_str() {
            "o" => terminal.feed(data.as_bytes()),
            "r" => terminal.resize(swb_types::Size::new(cols, rows).expect("a size")),
            _ => {}
        }
    }
    terminal.text()
}

fn replay(swb: &Swb, file: &Path, args: &[&str]) -> Terminal {
    let path = file.to_str().expect("a path");
    Terminal::start(swb.command(&[&["replay", path], args].concat()), 80, 24)
}

#[test]
fn a_recording_becomes_an_animated_picture() {
    let swb = Swb::new(EXE);
    let file = swb.dir().join("a.cast");
    let cast = "{\"version\":3,\"term\":{\"cols\":30,\"rows\":3}}\n[0.1,\"o\",\"first\"]\n[60,\"o\",\"\\r\\nsecond\"]\n";
    std::fs::write(&file, cast).unwrap();
    let (file, svg) = (file.to_str().unwrap(), swb.dir().join("a.svg"));
    swb.ok(&["replay", file, "--svg", svg.to_str().unwrap()]);
    let svg = std::fs::read_to_string(svg).unwrap();
    assert!(
        svg.starts_with("<svg ") && svg.contains(">first</text>") && svg.contains(">second</text>"),
        "{svg}"
    );
    // 0.1 s, a pause that is cut to 2 s, and the last screen for 3 s.
    assert!(svg.contains("animation:5.10s") && !svg.contains("<script"), "{svg}");
    assert_eq!(swb.ok(&["replay", file, "--svg", "-", "--idle-limit", "2"]), svg);
    assert!(swb.ok(&["replay", file, "--svg", "-", "--speed", "2"]).contains("animation:4.05s"));
    let failed = swb.run(&["replay", file, "--svg", "/nowhere/a.svg"]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(!swb.paths().control_socket().exists(), "no daemon is needed for this");
}
