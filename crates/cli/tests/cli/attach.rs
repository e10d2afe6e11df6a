//! `swb attach`: detaching and reattaching, watching, sizes, and surviving a killed daemon.

use crate::support::view::{all_text, until_text, view, without_titles};
use rustix::process::Signal;
use serde_json::json;
use std::time::{Duration, Instant};
use swb_testkit::{QUIET, Swb, Terminal, is_alive, signal, text, wait_for};

const EXE: &str = env!("CARGO_BIN_EXE_swb");

/// Ctrl+] as a plain byte.
const CTRL_BRACKET: &[u8] = b"\x1d";

/// Shows every byte it is typed, one per line and in decimal.
const SHOW_KEYS: &str = r"stty raw -echo; printf 'ready\r\n'; exec od -An -v -tu1 -w1";

// ---- leaving and coming back ----

#[test]
fn the_detach_key_works_in_every_encoding() {
    let swb = Swb::start(EXE);
    let pid = swb.script("main", SHOW_KEYS);
    for key in [
        CTRL_BRACKET,
        // kitty's keyboard protocol: plain, with event type, with locks on, with alternate keys
        b"\x1b[93;5u",
        b"\x1b[93;5:1u",
        b"\x1b[93;197u",
        b"\x1b[1098::93;5u",
        // xterm's modifyOtherKeys
        b"\x1b[27;5;93~",
    ] {
        let mut terminal = attach(&swb, &["main"]);
        terminal.until("ready");
        terminal.forget();
        terminal.type_in(key);
        assert_eq!(terminal.wait(), 0, "{key:?}");
        assert_eq!(shown(&terminal).trim_start(), "[detached]\r\n", "{key:?}");
    }
    assert!(is_alive(pid));
    let session = swb.session("main").expect("it runs on");
    assert_eq!((&session["status"], &session["clients"]), (&json!("running"), &json!(0)));
    // None of these keys was for the program.
    assert_eq!(swb.ok(&["logs", "main"]), "ready\r\n");
}

#[test]
fn other_keys_reach_the_program_unchanged() {
    let swb = Swb::start(EXE);
    swb.script("main", SHOW_KEYS);
    let mut terminal = attach(&swb, &["main"]);
    terminal.until("ready");
    let mut keys: Vec<u8> = (0..=255).filter(|byte| *byte != 0x1d).collect();
    keys.extend_from_slice(
        b"\x1b[93;1u\x1b[94;5u\x1b[27;6;93~\x1b[93;7u\x1b[200~pasted\x1b[201~\x1b[<0;1;1M\xff",
    );
    terminal.forget();
    terminal.type_in(&keys);
    let decimal: String = keys.iter().map(|byte| format!("{byte:4}\n")).collect();
    // The last byte may wait in the program for more.
    wait_for("the keys", || {
        terminal.shows("\u{0}", Duration::from_millis(20));
        (shown(&terminal).len() >= decimal.len()).then_some(())
    });
    assert_eq!(shown(&terminal), decimal);
}

#[test]
fn a_lone_escape_is_a_key_too() {
    let swb = Swb::start(EXE);
    swb.script("main", SHOW_KEYS);
    let mut terminal = attach(&swb, &["main"]);
    terminal.until("ready");
    terminal.type_in(b"\x1b");
    terminal.until("  27\n");
    // Half of a detach key is not one, and the other half later is just text.
    terminal.forget();
    terminal.type_in(b"\x1b[93;");
    terminal.until("  27\n  91\n  57\n  51\n  59\n");
    terminal.type_in(b"5u");
    terminal.until("  53\n 117\n");
}

#[test]
fn the_detach_key_can_be_chosen() {
    let swb = Swb::start(EXE);
    swb.script("main", SHOW_KEYS);
    let mut terminal = attach(&swb, &["main", "--detach-key", "C-a"]);
    terminal.until("ready");
    terminal.type_in(CTRL_BRACKET);
    terminal.until("  29\n");
    terminal.type_in(b"\x01");
    assert_eq!(terminal.wait(), 0);

    let mut terminal = attach(&swb, &["main", "--detach-key", "C-a"]);
    until_text(&mut terminal, "29");
    terminal.type_in(b"\x1b[97;5u");
    assert_eq!(terminal.wait(), 0);

    let mut terminal = attach(&swb, &["main", "--detach-key", ",,,d"]);
    until_text(&mut terminal, "29");
    terminal.forget();
    terminal.type_in(b"a,,,d");
    assert_eq!(terminal.wait(), 0);
    assert!(shown(&terminal).ends_with("[detached]\r\n"), "{}", shown(&terminal));

    let mut terminal = attach(&swb, &["main", "--detach-key", "none"]);
    until_text(&mut terminal, "29");
    terminal.forget();
    terminal.type_in(b"\x1d\x1b[93;5u");
    terminal.until("  29\n  27\n  91\n  57\n  51\n  59\n  53\n 117\n");
    swb.ok(&["kill", "-f", "main"]);
    assert_eq!(terminal.wait(), 137);

    let output = swb.run(&["attach", "main", "--detach-key", "C-"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("'C-' is not a valid detach key"), "{}", text(&output.stderr));
}

#[test]
fn the_detach_key_can_be_configured() {
    let swb = Swb::start(EXE);
    swb.script("main", SHOW_KEYS);
    swb.configure("[cli]\ndetach_key = \"^x\"\n");
    for key in [&b"\x18"[..], b"\x1b[120;5u", b"\x1b[27;5;120~"] {
        let mut terminal = attach(&swb, &["main"]);
        terminal.until("ready");
        terminal.type_in(key);
        assert_eq!(terminal.wait(), 0);
    }
    // The command line wins.
    let mut terminal = attach(&swb, &["main", "--detach-key", "C-y"]);
    terminal.until("ready");
    terminal.type_in(b"\x18\x19");
    assert_eq!(terminal.wait(), 0);
    assert!(swb.ok(&["logs", "main"]).contains("  24\n"));

    swb.configure("[cli]\ndetach_key = \"nonsense key\"\n");
    let output = swb.run(&["attach", "main"]);
    assert_eq!(output.status.code(), Some(1));
    let error = text(&output.stderr);
    assert!(error.contains("config.toml") && error.contains("nonsense key"), "{error}");
    // A wrong key is no reason to be locked out of one's own session.
    let mut terminal = attach(&swb, &["main", "--detach-key", "C-y"]);
    terminal.until("ready");
}

#[test]
fn reattaching_shows_old_and_missed_output() {
    let swb = Swb::start(EXE);
    let script = "echo first; read line; echo \"got $line\"; read line; echo \"got $line\"; exit 4";
    let mut terminal = Terminal::start(swb.command(&["run", "-n", "main", "--", "sh", "-c", script]), 80, 24);
    terminal.until("first");
    terminal.type_in(CTRL_BRACKET);
    assert_eq!(terminal.wait(), 0);
    swb.ok(&["send", "main", "one", "--enter"]);
    wait_for("what came meanwhile", || swb.ok(&["logs", "main"]).contains("got one").then_some(()));
    terminal.next(swb.command(&["attach", "main"]));
    until_text(&mut terminal, "first\none\ngot one");
    terminal.type_in(b"two\r");
    assert_eq!(terminal.wait(), 4);
    assert_eq!(view(&terminal).text(), "first\none\ngot one\ntwo\ngot two");
}

#[test]
fn queries_in_old_output_are_not_replayed() {
    let swb = Swb::start(EXE);
    // Queries while no terminal is attached are answered by the daemon, so it waits for a key.
    let script =
        r"stty raw -echo; printf '> '; head -c 1; printf 'a\033[6nb\033]11;?\007c\033[cd\007e'; exec cat";
    let mut terminal = Terminal::start(swb.command(&["run", "-n", "main", "--", "sh", "-c", script]), 80, 24);
    terminal.until("> ");
    terminal.type_in(b"_");
    terminal.until("_a\x1b[6nb\x1b]11;?\x07c\x1b[cd\x07e");
    terminal.type_in(CTRL_BRACKET);
    assert_eq!(terminal.wait(), 0);
    terminal.next(swb.command(&["attach", "main"]));
    until_text(&mut terminal, "> _abcde");
    // A terminal that was asked would answer.
    assert_eq!(text(&view(&terminal).take_replies()), "");
    assert!(!shown(&terminal).contains('\x07'), "{:?}", shown(&terminal));
    terminal.type_in(b"f");
    until_text(&mut terminal, "> _abcdef");
}

#[test]
fn input_before_the_detach_key_is_delivered() {
    let swb = Swb::start(EXE);
    swb.script("main", "stty raw -echo; echo ready; exec cat");
    for n in 0..20 {
        let mut terminal = attach(&swb, &["main"]);
        terminal.until("ready");
        terminal.type_in(format!("<{n}>\x1ddropped").as_bytes());
        assert_eq!(terminal.wait(), 0);
    }
    let expected: String = (0..20).map(|n| format!("<{n}>")).collect();
    wait_for("all of it", || swb.ok(&["logs", "main"]).ends_with(&expected).then_some(()));
}

#[test]
fn a_large_paste_arrives_whole() {
    let swb = Swb::start(EXE);
    let script = "stty raw -echo; printf 'ready\\r\\n'; head -c 3000000 | cksum; exec cat";
    swb.script("main", script);
    let mut terminal = attach(&swb, &["main"]);
    terminal.until("ready");
    // Without the detach key, and with everything else.
    let bytes: Vec<u8> = (0..3_000_000_u32)
        .map(|n| (n * 7 % 256) as u8)
        .map(|byte| if byte == 0x1d { 0 } else { byte })
        .collect();
    terminal.type_in(&bytes);
    let file = swb.dir().join("pasted");
    std::fs::write(&file, &bytes).expect("a file");
    let sum = std::process::Command::new("cksum").stdin(std::fs::File::open(&file).expect("a file")).output();
    terminal.until(text(&sum.expect("cksum").stdout).trim());
}

#[test]
fn a_terminal_of_a_session_can_be_chosen() {
    let swb = Swb::start(EXE);
    swb.script("main", "echo the command; sleep 600");
    let mut shell = Terminal::start(
        swb.command(&["shell", "main", "--", "sh", "-c", "echo the shell; exec cat"]),
        80,
        24,
    );
    shell.until("the shell");
    let mut terminal = attach(&swb, &["main", "--pty", "1"]);
    terminal.until("the shell");
    terminal.type_in(b"typed here\r");
    shell.until("typed here\r\ntyped here\r\n");
    terminal.type_in(CTRL_BRACKET);
    assert_eq!(terminal.wait(), 0);
    let output = swb.run(&["attach", "main", "--pty", "7"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("has no PTY 7"), "{}", text(&output.stderr));
}

#[test]
fn output_after_a_gap_is_not_lost() {
    let swb = Swb::start(EXE);
    // All of it is the beginning of a title, whose end is in the gap.
    let script = r"stty raw -echo; printf ready; head -c 1 > /dev/null; printf '\033]2;'; head -c 4000000 /dev/zero | tr '\0' x; \
                   printf '\033\\END'; head -c 4000000 /dev/zero | tr '\0' '\007'; exec cat";
    let mut terminal = Terminal::start(swb.command(&["run", "-n", "main", "--", "sh", "-c", script]), 80, 24);
    terminal.until("ready");
    terminal.type_in(b"_");
    terminal.until("ready\x1b]2;x");
    // The client does not read, so some of it is gone for this terminal.
    wait_for("a gap", || (swb.session("main")?["offset"].as_u64()? > 8_000_000).then_some(()));
    until_text(&mut terminal, "readyEND");
    let count = shown(&terminal).matches('x').count();
    assert!(count < 4_000_000, "{count}");
    terminal.type_in(b"more");
    until_text(&mut terminal, "readyENDmore");
}

#[test]
fn a_gap_in_piped_output_is_reported() {
    let swb = Swb::start(EXE);
    let script = r#"("$SWB" run -n main -- sh -c 'echo first; while [ ! -e begin ]; do sleep 0.01; done; head -c 8000000 /dev/zero | tr "\0" x; echo END'; echo "code $?") | (read line; echo "$line"; while [ ! -e go ]; do sleep 0.01; done; tail -c 13)"#;
    let mut terminal = Terminal::start(swb.shell(script), 80, 24);
    terminal.until("first");
    std::fs::write(swb.dir().join("w/begin"), "").expect("a file");
    wait_for("a gap", || (swb.session("main")?["offset"].as_u64()? > 8_000_000).then_some(()));
    std::fs::write(swb.dir().join("w/go"), "").expect("a file");
    terminal.until("swb: output of 'main' was lost because it was read too slowly\n");
    assert_eq!(terminal.wait(), 0);
    assert!(shown(&terminal).ends_with("END\r\r\ncode 0\r\n"), "{:?}", shown(&terminal));
}

// ---- watching ----

#[test]
fn a_watcher_neither_types_nor_resizes() {
    let swb = Swb::start(EXE);
    let mut writer = Terminal::start(
        swb.command(&["run", "-n", "main", "--", "sh", "-c", "stty -echo; echo ready; exec cat"]),
        100,
        30,
    );
    writer.until("ready");
    let mut watcher = Terminal::start(swb.command(&["attach", "main", "--watch"]), 50, 20);
    watcher.until("ready");
    watcher.type_in(b"not for the program\r");
    watcher.resize(40, 10);
    assert!(!writer.shows("not for", QUIET));
    let session = swb.session("main").expect("it runs");
    assert_eq!((&session["cols"], &session["rows"]), (&json!(100), &json!(30)));
    assert_eq!(session["clients"], 2);
    writer.type_in(b"from the writer\r");
    watcher.until("from the writer");

    // It leaves with the detach key, with q and with Ctrl+C; the writer stays.
    for key in [CTRL_BRACKET, b"q", b"\x03", b"\x1b[99;5u"] {
        let mut watcher = attach(&swb, &["main", "-w"]);
        watcher.until("from the writer");
        watcher.type_in(key);
        assert_eq!(watcher.wait(), 0, "{key:?}");
    }
    writer.type_in(b"still here\r");
    watcher.until("still here");
    writer.type_in(b"\x04");
    assert_eq!((writer.wait(), watcher.wait()), (0, 0));
}

#[test]
fn a_watcher_does_not_start_a_waiting_session() {
    let swb = Swb::start(EXE);
    let create = json!({"cmd": "create", "name": "later", "workspace": swb.workspace(""), "start": "writer",
        "argv": ["sh", "-c", "echo started; exec cat"]});
    swb.control().ok(&create);
    let mut watcher = attach(&swb, &["later", "--watch"]);
    wait_for("the watcher", || (swb.session("later")?["clients"] == 1).then_some(()));
    assert!(!watcher.shows("started", QUIET));
    assert_eq!(swb.session("later").expect("it is there")["status"], "starting");
    let mut writer = attach(&swb, &["later"]);
    writer.until("started");
    watcher.until("started");
}

// ---- several at once ----

#[test]
fn several_clients_see_the_same_and_type_into_the_same() {
    let swb = Swb::start(EXE);
    swb.script("main", "stty -echo; echo ready; exec cat");
    let mut terminals: Vec<Terminal> = (0..4).map(|_| attach(&swb, &["main"])).collect();
    terminals.iter_mut().for_each(|terminal| terminal.until("ready"));
    for n in 0..4 {
        terminals[n].type_in(format!("line {n}\r").as_bytes());
        for terminal in &mut terminals {
            terminal.until(&format!("line {n}\r\n"));
        }
    }
    assert_eq!(swb.session("main").expect("it runs")["clients"], 4);
    // One leaves, one is closed, one is killed: no other client notices.
    terminals[0].type_in(CTRL_BRACKET);
    assert_eq!(terminals[0].wait(), 0);
    terminals[1].close();
    terminals[2].signal(Signal::KILL);
    assert_eq!(terminals[2].wait(), 137);
    wait_for("the last one", || (swb.session("main")?["clients"] == 1).then_some(()));
    terminals[3].type_in(b"alone\r\x04");
    assert_eq!(terminals[3].wait(), 0);
    assert_eq!(view(&terminals[3]).text(), "ready\nline 0\nline 1\nline 2\nline 3\nalone");
}

#[test]
fn all_clients_are_notified_of_the_end() {
    let swb = Swb::start(EXE);
    swb.script("main", "echo ready; read line; exit 33");
    let mut terminals: Vec<Terminal> = (0..3).map(|_| attach(&swb, &["main"])).collect();
    terminals.iter_mut().for_each(|terminal| terminal.until("ready"));
    terminals[0].type_in(b"\r");
    assert!(terminals.iter_mut().all(|terminal| terminal.wait() == 33));
}

// ---- sizes ----

#[test]
fn the_size_of_the_window_reaches_the_program() {
    let swb = Swb::start(EXE);
    let script = "trap 'stty size' WINCH; echo ready; while :; do sleep 0.01; done";
    let mut terminal = Terminal::start(swb.command(&["run", "-n", "main", "--", "sh", "-c", script]), 80, 24);
    terminal.until("ready");
    for (cols, rows) in [(81, 25), (200, 60), (1, 1), (80, 24)] {
        terminal.forget();
        terminal.resize(cols, rows);
        terminal.until(&format!("{rows} {cols}\r\n"));
    }
    // The newest change wins, from any client; a newcomer brings its size along.
    let mut other = Terminal::start(swb.command(&["attach", "main"]), 90, 33);
    other.until("33 90");
    terminal.resize(70, 22);
    other.until("22 70");
}

#[test]
fn a_resize_without_a_daemon_is_sent_afterwards() {
    let swb = Swb::start(EXE);
    let script = "trap 'stty size' WINCH; echo ready; while :; do sleep 0.01; done";
    let mut terminal = Terminal::start(swb.command(&["run", "-n", "main", "--", "sh", "-c", script]), 80, 24);
    terminal.until("ready");
    let keeper = swb.keeper_pid();
    let away = Away::send(&swb, keeper);
    terminal.resize(77, 19);
    away.end();
    terminal.until("19 77\r\n");
}

// ---- the end of the window ----

#[test]
fn closing_the_window_detaches() {
    let swb = Swb::start(EXE);
    let pid = swb.script("main", "echo ready; exec cat");
    let mut terminal = attach(&swb, &["main"]);
    terminal.until("ready");
    assert_eq!(terminal.close(), 129);
    wait_for("its leaving", || (swb.session("main")?["clients"] == 0).then_some(()));
    assert!(is_alive(pid));
    let mut terminal = attach(&swb, &["main"]);
    terminal.until("ready");
}

#[test]
fn closing_the_window_detaches_in_the_middle_of_a_flood() {
    let swb = Swb::start(EXE);
    let pid = swb.script("main", "while :; do echo flood; done");
    let mut terminal = attach(&swb, &["main"]);
    terminal.until("flood");
    assert_eq!(terminal.close(), 129);
    wait_for("its leaving", || (swb.session("main")?["clients"] == 0).then_some(()));
    assert!(is_alive(pid));
}

#[test]
fn the_detach_key_works_in_an_unread_flood() {
    let swb = Swb::start(EXE);
    swb.script("main", "while :; do echo flood; done");
    let mut terminal = attach(&swb, &["main"]);
    terminal.until("flood");
    // The program is further than client and terminal can hold, so both are full.
    wait_for("a full terminal", || (swb.session("main")?["offset"].as_u64()? > 4 << 20).then_some(()));
    terminal.type_in(CTRL_BRACKET);
    wait_for("its leaving", || (swb.session("main")?["clients"] == 0).then_some(()));
    assert_eq!(terminal.wait(), 0);
    assert!(shown(&terminal).ends_with("[detached]\r\n"));
}

#[test]
fn signals_end_only_the_client() {
    let swb = Swb::start(EXE);
    let pid = swb.script("main", "echo ready; exec cat");
    for (number, code) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::QUIT, 131), (Signal::HUP, 129)] {
        let mut terminal = attach(&swb, &["main"]);
        terminal.until("ready");
        terminal.signal(number);
        assert_eq!(terminal.wait(), code);
    }
    assert!(is_alive(pid));
}

// ---- the end of the session, from elsewhere ----

#[test]
fn a_session_killed_from_elsewhere_ends_the_client_with_its_code() {
    let swb = Swb::start(EXE);
    swb.script("main", "echo ready; exec cat");
    let mut terminal = attach(&swb, &["main"]);
    terminal.until("ready");
    swb.ok(&["kill", "main"]);
    assert_eq!(terminal.wait(), 143);
}

#[test]
fn a_shutdown_detaches_the_client_and_keeps_the_session() {
    let mut swb = Swb::start(EXE);
    let pid = swb.script("main", "echo ready; exec cat");
    let mut terminal = attach(&swb, &["main"]);
    terminal.until("ready");
    terminal.forget();
    swb.ok(&["shutdown"]);
    assert_eq!(terminal.wait(), 0);
    assert_eq!(shown(&terminal).trim_start(), "[daemon shut down; sessions live on]\r\n");
    wait_for("the daemon's end", || swb.daemon().try_wait().expect("a child"));
    assert!(is_alive(pid));
    swb.start_daemon();
    let mut terminal = attach(&swb, &["main"]);
    terminal.until("ready");
    terminal.type_in(b"hello\r");
    terminal.until("hello\r\nhello\r\n");
}

// ---- through the daemon's death ----

#[test]
fn the_daemon_can_be_killed_again_and_again_under_a_stream() {
    let swb = Swb::start(EXE);
    let mut terminal =
        Terminal::start(swb.command(&["run", "-n", "main", "--", "sh", "-c", NUMBERS]), 80, 24);
    terminal.until("line 1\r\n");
    let pid = swb.session("main").expect("it runs")["pid"].as_i64().expect("a pid");
    for round in 1..=5 {
        terminal.until(&format!("line {}\r\n", round * 150));
        swb.kill_daemon();
    }
    terminal.until("line 900\r\n");
    assert!(is_alive(pid));
    terminal.type_in(b"stop\r");
    assert_eq!(terminal.wait(), 17);
    check_numbers(&shown(&terminal), 900);
}

#[test]
fn an_attached_client_does_not_notice_an_upgrade() {
    let swb = Swb::start(EXE);
    let mut terminal =
        Terminal::start(swb.command(&["run", "-n", "main", "--", "sh", "-c", NUMBERS]), 80, 24);
    for (round, args) in [&["upgrade"][..], &["upgrade", "--keeper"], &["upgrade"]].iter().enumerate() {
        terminal.until(&format!("line {}\r\n", (round + 1) * 150));
        swb.ok(args);
    }
    terminal.until("line 700\r\n");
    terminal.type_in(b"stop\r");
    assert_eq!(terminal.wait(), 17);
    check_numbers(&shown(&terminal), 700);
}

#[test]
fn a_watcher_survives_a_daemon_kill() {
    let swb = Swb::start(EXE);
    swb.script("main", NUMBERS);
    let mut watcher = attach(&swb, &["main", "--watch"]);
    watcher.until("line 100\r\n");
    swb.kill_daemon();
    watcher.until("line 400\r\n");
    swb.kill_daemon();
    watcher.until("line 700\r\n");
    swb.ok(&["send", "main", "stop", "--enter"]);
    assert_eq!(watcher.wait(), 17);
    // Its terminal has them all, those from before in its scrollback.
    let lines = all_text(&view(&watcher)).replace('\n', "\r\n") + "\r\n";
    check_numbers(&lines, 700);
}

#[test]
fn the_client_reconnects_within_a_second() {
    let swb = Swb::start(EXE);
    swb.script("main", "stty -echo; echo ready; exec cat");
    let mut terminal = attach(&swb, &["main"]);
    terminal.until("ready");
    // The quickest of a few: what a busy machine adds is not the program's.
    let best = (0..4).map(|n| {
        let daemon = swb.daemon_pid();
        let began = Instant::now();
        signal(daemon, Signal::KILL);
        wait_for("its end", || (!is_alive(daemon)).then_some(()));
        terminal.type_in(format!("word {n}\r").as_bytes());
        terminal.until(&format!("word {n}\r\n"));
        began.elapsed()
    });
    let best = best.min().expect("a few");
    assert!(best < Duration::from_secs(1), "{best:?}");
}

#[test]
fn keys_typed_without_a_daemon_are_delivered() {
    let swb = Swb::start(EXE);
    swb.script("main", "stty raw -echo; echo ready; exec cat");
    let mut terminal = attach(&swb, &["main"]);
    terminal.until("ready");
    terminal.forget();
    let keeper = swb.keeper_pid();
    let mut expected = String::new();
    for round in 0..3 {
        let away = Away::send(&swb, keeper);
        for n in 0..200 {
            let word = format!("<{round}.{n}>");
            terminal.type_in(word.as_bytes());
            expected.push_str(&word);
        }
        assert!(!terminal.shows(&format!("<{round}.0>"), QUIET), "there is no daemon to type into");
        away.end();
        terminal.until(&format!("<{round}.199>"));
    }
    assert_eq!(shown(&terminal), expected);
}

#[test]
fn the_user_can_detach_without_a_daemon() {
    let swb = Swb::start(EXE);
    swb.script("main", "echo ready; exec cat");
    let mut terminal = attach(&swb, &["main"]);
    terminal.until("ready");
    let away = Away::send(&swb, swb.keeper_pid());
    terminal.type_in(CTRL_BRACKET);
    assert_eq!(terminal.wait(), 0);
    away.end();
}

#[test]
fn an_end_without_a_daemon_is_reported_afterwards() {
    let swb = Swb::start(EXE);
    let gate = swb.dir().join("gate");
    let script = format!(
        "echo ready; while [ ! -e {} ]; do sleep 0.01; done; echo last words; exit 23",
        gate.display()
    );
    let mut terminal =
        Terminal::start(swb.command(&["run", "-n", "main", "--", "sh", "-c", &script]), 80, 24);
    terminal.until("ready");
    let pid = swb.session("main").expect("it runs")["pid"].as_i64().expect("a pid");
    let away = Away::send(&swb, swb.keeper_pid());
    std::fs::write(gate, "").expect("a file");
    wait_for("its end", || (!is_alive(pid)).then_some(()));
    away.end();
    assert_eq!(terminal.wait(), 23);
    assert_eq!(shown(&terminal), "ready\r\nlast words\r\n");
}

#[test]
fn without_a_new_daemon_attach_fails_with_a_message() {
    let swb = Swb::start(EXE);
    let pid = swb.script("main", "echo ready; exec cat");
    let mut terminal = attach(&swb, &["main"]);
    terminal.until("ready");
    terminal.forget();
    let began = Instant::now();
    let away = Away::send(&swb, swb.keeper_pid());
    assert_eq!(terminal.wait(), 1);
    assert!(began.elapsed() > Duration::from_secs(5), "the daemon gets a chance to come back");
    assert_eq!(
        shown(&terminal).trim_start(),
        "swb: the connection to the daemon was lost and could not be restored\r\n\
         hint: the session keeps running; `swb attach main` attaches again\r\n"
    );
    terminal.assert_modes_restored();
    away.end();
    // And so it is.
    assert!(is_alive(pid));
    let mut terminal = attach(&swb, &["main"]);
    terminal.until("ready");
}

#[test]
fn without_a_keeper_attach_fails_with_a_message() {
    let swb = Swb::start(EXE);
    swb.script("main", "echo ready; exec cat");
    let mut terminal = attach(&swb, &["main"]);
    terminal.until("ready");
    terminal.forget();
    let (daemon, keeper) = (swb.daemon_pid(), swb.keeper_pid());
    signal(keeper, Signal::STOP);
    signal(daemon, Signal::KILL);
    signal(keeper, Signal::KILL);
    assert_eq!(terminal.wait(), 1);
    assert!(
        shown(&terminal)
            .trim_start()
            .starts_with("swb: the connection to the daemon was lost and could not be restored\r\n"),
        "{}",
        shown(&terminal)
    );
    terminal.assert_modes_restored();
}

// ---- wrong names ----

#[test]
fn an_unknown_session_is_exit_code_3() {
    let swb = Swb::start(EXE);
    for args in [&["attach", "nobody"][..], &["attach", "nobody", "--watch"], &["shell", "nobody"]] {
        let mut terminal = Terminal::start(swb.command(args), 80, 24);
        assert_eq!(terminal.wait(), 3);
        assert_eq!(
            shown(&terminal),
            "swb: no session named 'nobody'\r\nhint: `swb ls` lists the sessions\r\n"
        );
        terminal.assert_modes_restored();
    }
}

// ---- helpers ----

/// Counts, some lines at a time and slower than a ring can be overrun while a daemon is restarted, until it
/// is typed a line.
const NUMBERS: &str = "\
    stty -echo; exec 2>/dev/null; \
    (n=0; while :; do i=0; while [ $i -lt 10 ]; do n=$((n + 1)); i=$((i + 1)); echo \"line $n\"; done; sleep 0.01; done) & \
    read line; kill $!; wait $!; echo end; exit 17";

/// Insists that the lines are there, each of them once and in order.
#[track_caller]
fn check_numbers(shown: &str, at_least: usize) {
    let lines = shown.strip_suffix("end\r\n").expect("the end");
    let count = lines.matches("\r\n").count();
    assert!(count >= at_least, "{count} lines");
    for (n, line) in lines.split_terminator("\r\n").enumerate() {
        assert_eq!(line, format!("line {}", n + 1), "nothing is lost and nothing doubled");
    }
}

/// A daemon that was killed and a keeper that cannot bring it back yet.
struct Away {
    keeper: i64,
}

impl Away {
    /// Kills the daemon; no other one comes before [`Away::end`].
    fn send(swb: &Swb, keeper: i64) -> Self {
        let daemon = swb.daemon_pid();
        signal(keeper, Signal::STOP);
        signal(daemon, Signal::KILL);
        wait_for("the daemon's end", || (!is_alive(daemon)).then_some(()));
        Self { keeper }
    }

    fn end(self) {}
}

impl Drop for Away {
    fn drop(&mut self) {
        signal(self.keeper, Signal::CONT);
    }
}

fn attach(swb: &Swb, args: &[&str]) -> Terminal {
    Terminal::start(swb.command(&[&["attach"], args].concat()), 80, 24)
}

fn shown(terminal: &Terminal) -> String {
    without_titles(&text(terminal.seen()))
}

/// What a session showed of itself would be its own output, for ever.
#[test]
fn a_session_cannot_attach_to_itself() {
    let swb = Swb::start(env!("CARGO_BIN_EXE_swb"));
    let script = format!("{} attach loop; echo \"rc=$?\"; exec sleep 1000", env!("CARGO_BIN_EXE_swb"));
    swb.ok(&["run", "-d", "-n", "loop", "--", "sh", "-c", &script]);
    let logs =
        wait_for("the refusal", || Some(swb.ok(&["logs", "loop"])).filter(|logs| logs.contains("rc=")));
    assert!(
        logs.contains("this terminal belongs to session 'loop' itself") && logs.contains("rc=1"),
        "{logs}"
    );
}

/// A script that only reads must not change the size for those who watch.
#[test]
fn attaching_without_a_terminal_keeps_the_size() {
    let swb = Swb::start(env!("CARGO_BIN_EXE_swb"));
    swb.ok(&["run", "-d", "-n", "wide", "--", "sleep", "1000"]);
    let mut client = swb.coop();
    client.ok(&serde_json::json!({"cmd": "attach", "session": "wide", "cols": 132, "rows": 50}));
    let mut reader = swb.command(&["attach", "wide"]).stdout(std::process::Stdio::null()).spawn().unwrap();
    let session = wait_for("both clients", || {
        let list = swb.json(&["ls"]);
        list.as_array()?.iter().find(|session| session["clients"] == 2).cloned()
    });
    assert_eq!(session["size"], serde_json::json!({"cols": 132, "rows": 50}));
    reader.kill().unwrap();
    reader.wait().unwrap();
}
