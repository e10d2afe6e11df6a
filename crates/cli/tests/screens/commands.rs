//! `screen`, `wait` and `keys` on the wire.

use super::{EXE, data, known, script, wait_for_text, waiting};
use serde_json::{Value, json};
use swb_testkit::{LIMIT, ScreenClient, StreamItem, Swb, assert_same, wait_for};
use swb_types::Size;
use swb_vt::{Contents, Options, Screen};

const PAINTING: &str = "stty -echo; seq 1 40; printf '\\033[1;31mred\\033[m and \\033]2;a title\\007 plain'";

fn ask(swb: &Swb, format: &str, scrollback: u64) -> Value {
    let ask = json!({"cmd": "screen", "session": "x", "format": format, "scrollback": scrollback});
    let answer = swb.control().ok(&ask);
    assert_eq!((&answer["session"], &answer["pty"]), (&json!("x"), &json!(0)));
    answer
}

/// Insists on the right screen in each format.
#[track_caller]
fn assert_formats(swb: &Swb, observed: &Screen, offset: u64, when: &str) {
    for format in ["json", "text", "ansi", "svg", "snapshot"] {
        let answer = ask(swb, format, 3);
        assert_eq!(answer["offset"], offset, "{when}: {format}");
        if format != "json" {
            assert_eq!((&answer["cols"], &answer["rows"]), (&json!(80), &json!(24)), "{when}: {format}");
        }
        let bytes = || data(&answer);
        let fed = |bytes: &[u8]| {
            let mut screen = Screen::new(Size::new(80, 24).unwrap(), Options::default());
            screen.feed(bytes);
            screen
        };
        match format {
            "json" => {
                let contents: Contents = serde_json::from_value(answer["screen"].clone()).unwrap();
                assert_eq!(contents, observed.contents(3), "{when}");
                assert_eq!(contents.title, "a title");
            }
            "text" => {
                let text = String::from_utf8(bytes()).unwrap();
                let expected: String = (15..=40).map(|n| format!("{n}\n")).collect();
                assert_eq!(text, expected + "red and  plain", "{when}");
            }
            "ansi" => {
                let ansi = String::from_utf8(bytes()).unwrap();
                assert!(ansi.starts_with("15\n16\n17\n18\n"), "{when}: {ansi:?}");
                let last = ansi.trim_end().rsplit('\n').next().unwrap();
                assert_eq!(fed(last.as_bytes()).lines()[0], observed.lines()[23], "{when}");
            }
            "svg" => {
                let svg = String::from_utf8(bytes()).unwrap();
                assert!(svg.starts_with("<svg") && svg.contains("red") && svg.contains("</svg>"), "{when}");
            }
            _ => assert_eq!(fed(&bytes()).contents(9), observed.contents(3), "{when}"),
        }
    }
    let (all, at) = known(swb, "x");
    assert_eq!(at, offset);
    assert_same(&all, observed, when);
}

#[test]
fn a_wrapped_line_is_one_line_if_asked_for() {
    let swb = Swb::start(EXE);
    let long = "word ".repeat(30);
    script(&swb, "x", &format!("stty -echo; printf '%s\\nshort\\n' '{long}'; printf done"));
    wait_for_text(&swb, "x", "done");
    let text = |join: bool| {
        let ask = json!({"cmd": "screen", "session": "x", "format": "text", "join": join});
        String::from_utf8(data(&swb.control().ok(&ask))).unwrap()
    };
    assert_eq!(text(true), format!("{}\nshort\ndone", long.trim_end()));
    assert_eq!(text(false).lines().count(), 4);
}

#[test]
fn a_screen_is_available_in_any_format_even_after_the_end() {
    let swb = Swb::start(EXE);
    script(&swb, "x", &format!("{PAINTING}; read line; exit 3"));
    let mut observer = ScreenClient::observe(&swb, "x");
    observer.until_text("plain");
    assert_formats(&swb, observer.screen(), observer.offset(), "alive");
    swb.ok(&["send", "x", "", "--enter"]);
    observer.until("the end", |observer| observer.count("pty_exited") == 1);
    wait_for("the end", || (swb.session("x")?["status"] == "exited").then_some(()));
    assert_formats(&swb, observer.screen(), observer.offset(), "ended");
    swb.kill_daemon();
    let mut late = ScreenClient::with(&swb, "x", &json!({"repaint": true, "watch": true}));
    late.until("the end", |late| late.count("pty_exited") == 1);
    late.assert_same(&observer, "ended, after the daemon's death");
}

#[test]
fn a_large_scrollback_is_cut_to_what_fits() {
    let swb = Swb::start(EXE);
    // Every cell with a colour of its own: no frame holds two thousand such lines. Written in parts that the ring
    // holds, so that a busy machine misses none.
    let lines = "BEGIN { for (n = 0; n < 300; n++) { for (c = 0; c < 79; c++) \
                 printf \"\\033[38;2;%d;%d;%dmx\", n % 256, c, (n + c) % 256; print \"\" } }";
    let rounds =
        format!("for n in 1 2 3 4 5 6 7; do awk '{lines}'; printf ready-$n; read line; done; exec cat");
    script(&swb, "x", &format!("stty -echo; {rounds}"));
    for round in 1..7 {
        wait_for_text(&swb, "x", &format!("ready-{round}"));
        swb.ok(&["send", "x", "", "--enter"]);
    }
    wait_for_text(&swb, "x", "ready-7");
    for format in ["json", "ansi", "snapshot", "text"] {
        let answer = ask(&swb, format, 100_000);
        assert_eq!(answer["ok"], true, "{format}");
    }
    let (screen, _) = known(&swb, "x");
    assert!(screen.scrollback_len() > 100, "only {} lines", screen.scrollback_len());
    assert!(screen.text().ends_with("ready-7"), "the newest lines are there");
    // A stream has no such limit.
    let mut late = ScreenClient::with(&swb, "x", &json!({"repaint": true, "watch": true}));
    late.until_text("ready-7");
    let (all, part) = (late.screen().scrollback_len(), screen.scrollback_len());
    assert!(all > part, "{all} lines in a stream, {part} in a frame");
}

#[test]
fn invalid_requests_get_an_error_and_keep_the_connection() {
    let swb = Swb::start(EXE);
    script(&swb, "x", "printf ready; exec cat");
    wait_for_text(&swb, "x", "ready");
    let mut client = swb.control();
    for (ask, code) in [
        (json!({"cmd": "screen"}), "INVALID_COMMAND"),
        (json!({"cmd": "screen", "session": 7}), "INVALID_COMMAND"),
        (json!({"cmd": "screen", "session": "nobody"}), "SESSION_NOT_FOUND"),
        (json!({"cmd": "screen", "session": "x", "pty": 9}), "PTY_NOT_FOUND"),
        (json!({"cmd": "screen", "session": "x", "format": "jpeg"}), "INVALID_COMMAND"),
        (json!({"cmd": "screen", "session": "x", "scrollback": -1}), "INVALID_COMMAND"),
        (json!({"cmd": "screen", "session": "x", "scrollback": "all"}), "INVALID_COMMAND"),
        (json!({"cmd": "wait", "session": "x"}), "INVALID_COMMAND"),
        (json!({"cmd": "wait", "session": "nobody", "exit": true}), "SESSION_NOT_FOUND"),
        (json!({"cmd": "wait", "session": "x", "pty": 3, "exit": true}), "PTY_NOT_FOUND"),
        (json!({"cmd": "wait", "session": "x", "text": "(unclosed"}), "INVALID_COMMAND"),
        (json!({"cmd": "wait", "session": "x", "text": "(x{1000}){1000}"}), "INVALID_COMMAND"),
        (json!({"cmd": "wait", "session": "x", "text": 3}), "INVALID_COMMAND"),
        (json!({"cmd": "wait", "session": "x", "stable_ms": "long"}), "INVALID_COMMAND"),
        (json!({"cmd": "wait", "session": "x", "exit": true, "timeout_ms": -5}), "INVALID_COMMAND"),
        (json!({"cmd": "keys", "session": "x"}), "INVALID_COMMAND"),
        (json!({"cmd": "keys", "session": "x", "keys": "Enter"}), "INVALID_COMMAND"),
        (json!({"cmd": "keys", "session": "x", "keys": [3]}), "INVALID_COMMAND"),
        (json!({"cmd": "keys", "session": "nobody", "keys": []}), "SESSION_NOT_FOUND"),
        (json!({"cmd": "keys", "session": "x", "pty": 4, "keys": []}), "PTY_NOT_FOUND"),
    ] {
        assert_eq!(client.error(&ask), code, "{ask}");
    }
    let reason = client.ask(&json!({"cmd": "wait", "session": "x", "text": "(unclosed"}));
    assert!(reason["message"].as_str().unwrap().contains("unclosed group"), "{reason}");
    assert_eq!(client.ok(&json!({"cmd": "wait", "session": "x", "text": "re.dy"}))["text"], "ready");
    assert_eq!(client.ok(&json!({"cmd": "keys", "session": "x", "keys": []}))["bytes"], 0);
}

#[test]
fn a_wait_ends_with_the_first_condition() {
    let swb = Swb::start(EXE);
    let workspace = script(
        &swb,
        "x",
        "stty -echo; printf ready; read a; echo; echo one needle in; seq 1 300; printf second; read b; exit 7",
    );
    wait_for_text(&swb, "x", "ready");
    let mut waits: Vec<_> = [
        json!({"text": "^one (needle) in$"}),
        json!({"text": "never there", "exit": true}),
        json!({"text": "never there either"}),
        json!({"text": "never", "timeout_ms": 100}),
        json!({"stable_ms": 200, "text": "never"}),
    ]
    .into_iter()
    .map(|mut wait| {
        (wait["cmd"], wait["session"]) = (json!("wait"), json!("x"));
        let mut client = swb.control();
        client.send(&wait);
        client
    })
    .collect();
    let mut answer = |n: usize| waits[n].answer().unwrap();
    let timeout = answer(3);
    assert_eq!((&timeout["met"], &timeout["text"]), (&json!("timeout"), &Value::Null));
    assert_eq!(answer(4)["met"], "stable");
    assert!(workspace.exists());
    swb.ok(&["send", "x", "", "--enter"]);
    // It was on the screen for a moment only.
    let found = answer(0);
    assert_eq!((&found["met"], &found["text"]), (&json!("text"), &json!("one needle in")));
    wait_for_text(&swb, "x", "second");
    assert!(!known(&swb, "x").0.text().contains("needle"));
    swb.ok(&["send", "x", "", "--enter"]);
    let end = answer(1);
    assert_eq!((&end["met"], &end["code"]), (&json!("exit"), &json!(7)));
    let ended = answer(2);
    assert_eq!((&ended["ok"], &ended["error"]), (&json!(false), &json!("SESSION_ENDED")));
    // Afterwards the same is answered at once.
    let mut client = swb.control();
    let wait = |how: Value| {
        let mut wait = how;
        (wait["cmd"], wait["session"]) = (json!("wait"), json!("x"));
        wait
    };
    assert_eq!(client.ok(&wait(json!({"exit": true})))["code"], 7);
    assert_eq!(client.ok(&wait(json!({"text": "sec.*"})))["text"], "second");
    assert_eq!(client.error(&wait(json!({"text": "never there"}))), "SESSION_ENDED");
}

#[test]
fn a_wait_survives_a_checkpoint_of_the_screen() {
    let swb = Swb::start(EXE);
    let steps =
        "stty -echo; seq 1 3000; printf ready; read a; echo; printf again; read b; echo; echo 2900; read c";
    script(&swb, "x", steps);
    wait_for_text(&swb, "x", "ready");
    let mut waits = swb.control();
    waits.send(&json!({"cmd": "wait", "session": "x", "text": "^2900$"}));
    // Longer than a screen is kept that no client needs.
    let mut client = swb.control();
    assert_eq!(client.ok(&json!({"cmd": "wait", "session": "x", "stable_ms": 6000}))["met"], "stable");
    swb.ok(&["send", "x", "", "--enter"]);
    wait_for_text(&swb, "x", "again");
    waits.quiet();
    // It is on its way through the screen in one go.
    swb.ok(&["send", "x", "", "--enter"]);
    assert_eq!(waits.answer().unwrap()["text"], "2900");
}

#[test]
fn a_disconnect_during_a_wait_leaves_nothing_behind() {
    let swb = Swb::start(EXE);
    script(&swb, "x", "printf ready; exec cat");
    wait_for_text(&swb, "x", "ready");
    let daemon = swb.daemon_pid();
    let open = || std::fs::read_dir(format!("/proc/{daemon}/fd")).unwrap().count();
    let before = open();
    for wait in [
        json!({"text": "never"}),
        json!({"exit": true}),
        json!({"stable_ms": 1_000_000, "timeout_ms": 1_000_000}),
    ] {
        let clients: Vec<_> = (0..20)
            .map(|_| {
                let mut client = swb.control();
                let mut wait = wait.clone();
                (wait["cmd"], wait["session"]) = (json!("wait"), json!("x"));
                client.send(&wait);
                client
            })
            .collect();
        // A few others come and go.
        wait_for("the waits", || (open() + 5 >= before + clients.len()).then_some(()));
        drop(clients);
        wait_for("the daemon to notice", || (open() <= before + 5).then_some(()));
    }
    swb.ok(&["send", "x", "still there", "--enter"]);
    wait_for_text(&swb, "x", "still there");
}

/// Presses keys in the session `x`.
#[track_caller]
fn press(swb: &Swb, keys: &[&str]) {
    let answer = swb.control().ok(&json!({"cmd": "keys", "session": "x", "keys": keys}));
    assert!(answer["bytes"].as_u64().is_some_and(|bytes| bytes > 0), "{answer}");
}

#[test]
fn keys_are_encoded_for_the_programs_modes() {
    let swb = Swb::start(EXE);
    let workspace = waiting(&swb, "x", &["vim", "--clean", "-n", "text"], (80, 24));
    let lines: String = (1..=60).map(|n| format!("line {n}\n")).collect();
    std::fs::write(workspace.join("text"), lines).unwrap();
    let mut person = ScreenClient::attach(&swb, "x");
    person.until_text("line 22");
    assert!(person.screen().modes().app_cursor, "the editor wants keys in its own way");
    let cursor = |person: &ScreenClient| (person.screen().cursor().row, person.screen().cursor().col);
    press(&swb, &["Down", "Down", "Right"]);
    person.until("the cursor to move", |person| cursor(person) == (2, 1));
    press(&swb, &["End", "Up", "Home"]);
    person.until("the cursor to move", |person| cursor(person) == (1, 0));
    press(&swb, &["i", "new größe", "Enter", "Escape", "C-f"]);
    person.until_text("line 40");
    press(&swb, &[":", "wq", "Enter"]);
    person.until("the end", |person| person.count("pty_exited") == 1);
    let text = std::fs::read_to_string(workspace.join("text")).unwrap();
    assert!(text.starts_with("line 1\nnew größe\nline 2\n"), "{text}");
}

#[test]
fn a_pager_takes_keys() {
    let swb = Swb::start(EXE);
    let workspace = waiting(&swb, "x", &["less", "text"], (80, 24));
    let lines: String = (1..=500).map(|n| format!("line {n}\n")).collect();
    std::fs::write(workspace.join("text"), lines).unwrap();
    let mut person = ScreenClient::attach(&swb, "x");
    person.until_text("line 23");
    let first = |person: &ScreenClient| person.screen().row_texts()[0].clone();
    press(&swb, &["Down", "Down", "Up"]);
    person.until("the lines to move", |person| first(person) == "line 2");
    press(&swb, &["PageDown"]);
    person.until("the lines to move", |person| first(person) == "line 25");
    press(&swb, &["End"]);
    person.until_text("line 500");
    press(&swb, &["Home"]);
    person.until("the lines to move", |person| first(person) == "line 1");
}

#[test]
fn ctrl_c_interrupts_unless_sent_literally() {
    let swb = Swb::start(EXE);
    script(
        &swb,
        "x",
        "trap 'echo interrupted' INT; printf ready; while :; do read line; echo \"got [$line]\"; done",
    );
    wait_for_text(&swb, "x", "ready");
    let keys = json!({"cmd": "keys", "session": "x", "keys": ["C-c", "Enter"], "literal": true});
    assert_eq!(swb.control().ok(&keys)["bytes"], 8);
    press(&swb, &["Enter"]);
    wait_for_text(&swb, "x", r"got \[C-cEnter\]");
    assert!(!known(&swb, "x").0.text().contains("interrupted"));
    press(&swb, &["C-c"]);
    wait_for_text(&swb, "x", "interrupted");
    // They reach a program also while no client has requested its screen since it wrote a lot.
    let mut plain = swb.attach("x");
    press(&swb, &["more", "Enter"]);
    assert!(!matches!(plain.item(LIMIT), Some(StreamItem::End) | None));
    plain.until("got [more]");
}
