//! The commands that do not attach to a session: their output, for users and for programs, and their exit codes.

use serde_json::{Value, json};
use std::io::Write;
use std::process::{Command, Stdio};
use swb_testkit::{Swb, Terminal, in_time, is_alive, text, wait_for};

const EXE: &str = env!("CARGO_BIN_EXE_swb");

/// Every verb a user can see, in the order of the help.
const VERBS: [&str; 45] = [
    "run",
    "attach",
    "shell",
    "ls",
    "top",
    "kill",
    "send",
    "keys",
    "logs",
    "screen",
    "wait",
    "ask",
    "chat",
    "turns",
    "turn",
    "relay",
    "capture",
    "paste",
    "explain",
    "events",
    "notify",
    "hook",
    "integration",
    "approvals",
    "history",
    "workspace",
    "serve",
    "token",
    "tunnel",
    "rendezvous",
    "trust",
    "record",
    "replay",
    "wrap",
    "hotkey",
    "clippyctl",
    "detect",
    "status",
    "daemon",
    "shutdown",
    "upgrade",
    "doctor",
    "init",
    "completions",
    "man",
];

// ---- ls ----

#[test]
fn ls_prints_a_table() {
    let swb = Swb::start(EXE);
    assert_eq!(swb.ok(&["ls"]), "No sessions. `swb run -- CMD` starts one.\n");
    swb.ok(&["run", "-d", "-n", "api", "--", "sleep", "600"]);
    swb.run(&["run", "-n", "build", "--", "sh", "-c", "exit 2"]);
    let list = swb.ok(&["ls"]);
    let lines: Vec<Vec<&str>> = list.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(
        lines[0],
        ["NAME", "STATUS", "AGENT", "PID", "SIZE", "CLIENTS", "AGE", "WORKSPACE", "COMMAND"]
    );
    let pid = swb.session("api").expect("it runs")["pid"].to_string();
    assert_eq!(lines[1][..6], ["api", "running", "-", &pid, "120x40", "0"]);
    assert_eq!(lines[1][8..], ["sleep", "600"]);
    // Ended sessions are in a section of their own.
    assert_eq!((lines[2].len(), lines[3][0]), (0, "Ended"));
    assert_eq!(lines[5][..3], ["build", "exited", "(2)"]);
    assert_eq!(lines.len(), 6);
    assert_eq!(swb.ok(&["list"]).lines().count(), 6);
    assert_eq!(swb.ok(&["ls", "--running"]).lines().count(), 2);
}

#[test]
fn ls_json_has_all_documented_fields() {
    let swb = Swb::start(EXE);
    assert_eq!(swb.json(&["ls"]), json!([]));
    let before = unix_now();
    swb.ok(&["run", "-d", "-n", "api", "--", "sh", "-c", "sleep 600; echo 'a b'"]);
    let mut terminal = Terminal::start(swb.command(&["attach", "api"]), 91, 27);
    wait_for("a client", || (swb.session("api")?["clients"] == 1).then_some(()));
    let list = swb.json(&["ls"]);
    let session = &list[0];
    assert_eq!(session["name"], "api");
    assert_eq!(session["workspace"], swb.workspace("").to_str().expect("text").trim_end_matches('/'));
    assert_eq!(session["command"], r"sh -c 'sleep 600; echo '\''a b'\'''");
    assert_eq!(session["argv"], json!(["sh", "-c", "sleep 600; echo 'a b'"]));
    assert!(is_alive(session["pid"].as_i64().expect("a pid")));
    let created = session["created"].as_u64().expect("a date");
    assert!((before..=unix_now()).contains(&(created / 1000)), "Unix milliseconds: {created}");
    assert_eq!(session["size"], json!({"cols": 91, "rows": 27}));
    assert_eq!(session["clients"], 1);
    assert_eq!((&session["status"], &session["exit_code"]), (&json!("running"), &Value::Null));
    swb.ok(&["kill", "api"]);
    terminal.wait();

    for (script, code) in [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137)] {
        swb.run(&["run", "-n", "short", "--", "sh", "-c", script]);
        let list = swb.json(&["ls"]);
        let session = list.as_array().expect("a list").last().expect("a session");
        assert_eq!((&session["status"], &session["exit_code"]), (&json!("exited"), &json!(code)));
        assert_eq!(swb.json(&["ls", "--running"]), json!([]));
    }
}

#[test]
fn long_command_lines_do_not_break_the_list() {
    let swb = Swb::start(EXE);
    let long = format!("sleep 600 # {}", "x".repeat(100_000));
    swb.ok(&["run", "-d", "-n", "first", "--", "sh", "-c", &long]);
    assert_eq!(swb.json(&["ls"])[0]["argv"][2], long);
    for n in 0..11 {
        swb.ok(&["run", "-d", "-n", &format!("s{n}"), "--", "sh", "-c", &long]);
    }
    // Together they are more than one answer can hold.
    let list = swb.json(&["ls"]);
    assert_eq!(list.as_array().expect("a list").len(), 12);
    let command = list[0]["argv"][2].as_str().expect("a word");
    assert!(long.starts_with(command.strip_suffix('…').expect("a sign that it was cut")));
    assert_eq!(swb.ok(&["ls"]).lines().count(), 13);
    assert_eq!(swb.ok(&["kill", "--all"]).lines().count(), 12);
}

#[test]
fn escape_sequences_in_commands_are_not_printed() {
    let swb = Swb::start(EXE);
    swb.ok(&["run", "-d", "-n", "evil", "--", "sh", "-c", "sleep 600 # \x1b[2J\x07"]);
    let list = swb.ok(&["ls"]);
    assert!(!list.contains(['\x1b', '\x07']), "{list:?}");
    assert!(list.contains(r"\u{1b}[2J"), "{list:?}");
}

// ---- kill ----

#[test]
fn kill_ends_one_or_several() {
    let swb = Swb::start(EXE);
    let pids = ["a", "b", "c"].map(|name| swb.script(name, "sleep 600"));
    assert_eq!(swb.ok(&["kill", "a"]), "Killed session a\n");
    assert!(!is_alive(pids[0]) && is_alive(pids[1]));
    // One that cannot be ended does not keep the command from ending the others.
    let output = swb.run(&["kill", "b", "nobody", "c"]);
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(text(&output.stdout), "Killed session b\nKilled session c\n");
    assert_eq!(text(&output.stderr), "swb: no session named 'nobody'\nhint: `swb ls` lists the sessions\n");
    assert!(pids.iter().all(|pid| !is_alive(*pid)));
    assert_eq!(swb.json(&["ls"]), json!([]));

    swb.script("d", "sleep 600");
    let output = swb.run(&["kill", "--json", "d", "nobody"]);
    let result: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(result["killed"], json!(["d"]));
    assert_eq!(result["failed"], json!([{"session": "nobody", "message": "no session named 'nobody'"}]));
}

#[test]
fn kill_all_ends_every_session() {
    let swb = Swb::start(EXE);
    assert_eq!(swb.ok(&["kill", "--all"]), "No sessions.\n");
    let pids = ["a", "b"].map(|name| swb.script(name, "sleep 600"));
    swb.run(&["run", "-n", "done", "--", "true"]);
    let said = swb.ok(&["kill", "--all"]);
    assert!(said.contains("Killed session a\n") && said.contains("Killed session b\n"), "{said}");
    assert!(pids.iter().all(|pid| !is_alive(*pid)));
    assert_eq!(swb.json(&["ls"]), json!([]));
}

#[test]
fn kill_removes_ended_sessions() {
    let swb = Swb::start(EXE);
    swb.run(&["run", "-n", "done", "--", "true"]);
    assert_eq!(swb.json(&["ls"])[0]["name"], "done");
    // It cannot be restarted, and the error shows how to start it again; coop's clients get coop's own error.
    let restart = json!({"cmd": "restart", "session": "done"});
    let refused = swb.control().ask(&restart);
    assert_eq!(refused["error"], "SESSION_ENDED", "{refused}");
    assert!(refused["hint"].as_str().is_some_and(|hint| hint.contains("swb run -n done --")), "{refused}");
    assert_eq!(swb.coop().error(&restart), "SESSION_NOT_FOUND");
    assert_eq!(swb.ok(&["kill", "done"]), "Removed session done, which had ended\n");
    assert_eq!(swb.json(&["ls"]), json!([]));
    assert_eq!(swb.run(&["kill", "done"]).status.code(), Some(3));
}

#[test]
fn kill_sends_sigterm_first_unless_forced() {
    let swb = Swb::start(EXE);
    let script = "trap 'echo asked > asked; exit 0' TERM; echo ready; while :; do sleep 0.01; done";
    for (args, asked) in [(&["kill", "main"][..], true), (&["kill", "-f", "main"], false)] {
        let pid = swb.script("main", script);
        wait_for("it to be ready", || swb.ok(&["logs", "main"]).contains("ready").then_some(()));
        swb.ok(args);
        assert!(!is_alive(pid));
        assert_eq!(std::fs::remove_file(swb.dir().join("w/asked")).is_ok(), asked, "{args:?}");
    }
}

// ---- send ----

#[test]
fn send_types_text() {
    let swb = Swb::start(EXE);
    swb.script("main", SHOW_KEYS);
    wait_for("it to be ready", || swb.ok(&["logs", "main"]).contains("ready").then_some(()));
    assert_eq!(swb.ok(&["send", "main", "a"]), "");
    swb.ok(&["send", "main", "", "--enter"]);
    swb.ok(&["send", "main", "-x", "--enter"]);
    swb.ok(&["send", "main", "é\u{1b}[A"]);
    let sent: Value = swb.json(&["send", "main", "yz", "--enter"]);
    assert_eq!(sent, json!({"session": "main", "bytes": 3}));
    let keys = b"a\r-x\r\xc3\xa9\x1b[Ayz\r";
    let decimal: String = keys.iter().map(|byte| format!("{byte:4}\n")).collect();
    wait_for("the keys", || {
        swb.ok(&["logs", "main"]).ends_with(&format!("ready\r\n{decimal}")).then_some(())
    });
}

#[test]
fn send_types_standard_input() {
    let swb = Swb::start(EXE);
    swb.script("main", SHOW_KEYS);
    wait_for("it to be ready", || swb.ok(&["logs", "main"]).contains("ready").then_some(()));
    let output = swb.shell(r#"printf '\003\035\377' | "$SWB" send main -"#).output().expect("it runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    wait_for("the keys", || swb.ok(&["logs", "main"]).ends_with("   3\n  29\n 255\n").then_some(()));
    let output = swb.shell(r#""$SWB" send main - --enter < /dev/null"#).output().expect("it runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    wait_for("the key", || swb.ok(&["logs", "main"]).ends_with(" 255\n  13\n").then_some(()));
}

#[test]
fn send_returns_when_the_terminal_has_taken_every_byte() {
    let swb = Swb::start(EXE);
    swb.script("main", "stty raw -echo; echo ready; head -c 2000000 | cksum; sleep 600");
    wait_for("it to be ready", || swb.ok(&["logs", "main"]).contains("ready").then_some(()));
    let file = swb.dir().join("input");
    let bytes: Vec<u8> = (0..2_000_000_u32).map(|n| (n % 251) as u8).collect();
    std::fs::write(&file, &bytes).expect("a file");
    let mut command = swb.command(&["send", "main", "-"]);
    let output = command.stdin(std::fs::File::open(&file).expect("a file")).output().expect("it runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let sum =
        Command::new("cksum").stdin(std::fs::File::open(&file).expect("a file")).output().expect("cksum");
    wait_for("its sum", || swb.ok(&["logs", "main"]).contains(text(&sum.stdout).trim()).then_some(()));
}

#[test]
fn send_streams_standard_input_before_its_end() {
    let swb = Swb::start(EXE);
    swb.script("main", "stty raw -echo; echo ready; head -c 500000 | wc -c; exec cat > /dev/null");
    wait_for("it to be ready", || swb.ok(&["logs", "main"]).contains("ready").then_some(()));
    let mut command = swb.command(&["send", "main", "-"]);
    let mut child = command.stdin(Stdio::piped()).spawn().expect("it starts");
    let mut pipe = child.stdin.take().expect("a pipe");
    pipe.write_all(&[b'x'; 600_000]).expect("it reads");
    wait_for("the beginning", || swb.ok(&["logs", "main"]).contains("500000").then_some(()));
    drop(pipe);
    assert!(in_time(child).status.success());
}

#[test]
fn send_can_choose_a_terminal() {
    let swb = Swb::start(EXE);
    swb.script("main", "exec cat");
    let mut shell = Terminal::start(swb.command(&["shell", "main", "--", "cat"]), 80, 24);
    wait_for("the shell", || (swb.session("main")?["ptys"].as_array()?.len() == 2).then_some(()));
    swb.ok(&["send", "main", "for the shell", "--pty", "1", "--enter"]);
    shell.until("for the shell\r\nfor the shell\r\n");
    assert!(!swb.ok(&["logs", "main"]).contains("for the shell"));
    let output = swb.run(&["send", "main", "x", "--pty", "9"]);
    assert_eq!(output.status.code(), Some(1));
}

// ---- logs ----

#[test]
fn logs_show_what_a_session_wrote() {
    let swb = Swb::start(EXE);
    swb.run(&["run", "-n", "main", "--", "printf", r"one\ntwo\n\033[1mthree\033[m\n"]);
    assert_eq!(swb.ok(&["logs", "main"]), "one\r\ntwo\r\n\x1b[1mthree\x1b[m\r\n");
    assert_eq!(swb.ok(&["logs", "main", "--tail", "2"]), "two\r\n\x1b[1mthree\x1b[m\r\n");
    assert_eq!(swb.ok(&["logs", "main", "-n", "0"]), "");
    assert_eq!(swb.ok(&["logs", "main", "-n", "99"]), swb.ok(&["logs", "main"]));
    let log = swb.json(&["logs", "main", "--tail", "1"]);
    assert_eq!(log, json!({"session": "main", "pty": 0, "offset": 24, "text": "\x1b[1mthree\x1b[m\r\n"}));
    // It has nothing to do with who looks: no bell, no question is left out here.
    swb.run(&["run", "-n", "raw", "--", "sh", "-c", r"stty -echo; printf '\007\033[6n\377'"]);
    assert_eq!(swb.run(&["logs", "raw"]).stdout, b"\x07\x1b[6n\xff");
    assert_eq!(swb.json(&["logs", "raw"])["text"], "\u{7}\u{1b}[6n\u{fffd}");
}

#[test]
fn logs_of_a_shell() {
    let swb = Swb::start(EXE);
    swb.script("main", "sleep 600");
    let mut shell =
        Terminal::start(swb.command(&["shell", "main", "--", "sh", "-c", "echo in the shell; cat"]), 80, 24);
    shell.until("in the shell");
    assert_eq!(swb.ok(&["logs", "main", "--pty", "1"]), "in the shell\r\n");
    assert_eq!(swb.ok(&["logs", "main"]), "");
    let output = swb.run(&["logs", "main", "--pty", "5"]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), String::new()));
}

#[test]
fn logs_follow_to_the_end_of_the_session() {
    let swb = Swb::start(EXE);
    swb.script("main", "for n in 1 2 3; do echo old $n; done; read line; echo new; exit 9");
    wait_for("the old lines", || swb.ok(&["logs", "main"]).contains("old 3").then_some(()));
    let follow = |args: &[&str]| {
        let mut command = swb.command(&[&["logs", "main", "-f"], args].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
    };
    let (all, tail) = (follow(&[]), follow(&["--tail", "1"]));
    wait_for("both", || (swb.session("main")?["clients"] == 2).then_some(()));
    swb.ok(&["send", "main", "", "--enter"]);
    for (child, lines) in [(all, "old 1\r\nold 2\r\nold 3\r\n\r\nnew\r\n"), (tail, "old 3\r\n\r\nnew\r\n")] {
        let output = in_time(child);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), lines.to_owned()));
        assert_eq!(text(&output.stderr), "");
    }
    assert_eq!(swb.run(&["logs", "main", "-f", "--json"]).status.code(), Some(2));
}

#[test]
fn logs_follow_through_the_daemons_death_and_never_type() {
    let swb = Swb::start(EXE);
    swb.script("main", "echo before; read line; echo after; read line; exit 0");
    let mut terminal = Terminal::start(swb.command(&["logs", "main", "-f"]), 44, 11);
    terminal.until("before");
    wait_for("the follower", || (swb.session("main")?["clients"] == 1).then_some(()));
    terminal.type_in(b"not for the session\r");
    swb.kill_daemon();
    wait_for("the follower", || (swb.session("main")?["clients"] == 1).then_some(()));
    assert_eq!(swb.session("main").expect("it runs")["cols"], 80);
    swb.ok(&["send", "main", "", "--enter"]);
    terminal.until("after");
    assert!(!swb.ok(&["logs", "main"]).contains("not for"));
    // Ctrl+C is for the follower, as its terminal has no other program.
    terminal.type_in(b"\x03");
    assert_eq!(terminal.wait(), 130);
    assert_eq!(swb.session("main").expect("it runs on")["status"], "running");
}

// ---- completions and manual ----

#[test]
fn completions_are_scripts_of_their_shell() {
    let swb = Swb::new(EXE);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = swb.ok(&["completions", shell]);
        assert!(script.contains("SWB_COMPLETE"), "{shell}");
        assert!(!script.contains("keeper --socket"), "{shell}");
    }
    let file = swb.dir().join("swb.bash");
    std::fs::write(&file, swb.ok(&["completions", "bash"])).expect("a file");
    let output = Command::new("bash").arg("-n").arg(&file).output().expect("bash");
    assert!(output.status.success(), "{}", text(&output.stderr));
    for (shell, args) in [("zsh", &["-n"][..]), ("fish", &["--no-execute"])] {
        let file = swb.dir().join(format!("swb.{shell}"));
        std::fs::write(&file, swb.ok(&["completions", shell])).expect("a file");
        let output =
            Command::new(shell).args(args).arg(&file).output().expect("`cargo xtask setup` installs it");
        assert!(output.status.success(), "{shell}: {}", text(&output.stderr));
    }
    assert_eq!(swb.run(&["completions", "cmd"]).status.code(), Some(2));
    assert!(!swb.paths().control_socket().exists(), "no daemon is needed for this");
}

#[test]
fn the_manual_is_a_manual_page() {
    let swb = Swb::new(EXE);
    let page = swb.ok(&["man"]);
    assert!(page.contains("\n.TH swb 1"), "{page}");
    for part in [".SH NAME", ".SH SYNOPSIS", ".SH OPTIONS", "Exit codes:", "swb\\-attach(1)"] {
        assert!(page.contains(part), "{part}");
    }
    let dir = swb.dir().join("man1");
    swb.ok(&["man", "--dir", dir.to_str().expect("text")]);
    for verb in VERBS {
        let page = std::fs::read_to_string(dir.join(format!("swb-{verb}.1")))
            .unwrap_or_else(|error| panic!("{verb}: {error}"));
        assert!(page.contains(".SH SYNOPSIS"), "{verb}");
    }
    let run = swb.ok(&["man", "run"]);
    assert_eq!(run, std::fs::read_to_string(dir.join("swb-run.1")).expect("a page"));
    assert!(
        dir.join("swb-token-add.1").exists()
            && swb.ok(&["man", "token", "add"]).contains("swb\\-token\\-add")
    );
    let unknown = swb.run(&["man", "runn"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(text(&unknown.stderr).contains("no command 'runn'"), "{}", text(&unknown.stderr));
    // Each example is on a line of its own, as in the help text.
    let (_, examples) = run.split_once(".SH EXAMPLES\n.RS 4\n.nf\n").expect("examples that are not filled");
    assert!(examples.starts_with("swb run \\-\\- claude                  session"), "{examples}");
    // Not every machine has it.
    if let Ok(output) =
        Command::new("groff").args(["-man", "-Tutf8", "-ww", "-z"]).arg(dir.join("swb.1")).output()
    {
        assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
    }
}

// ---- help and wrong usage ----

#[test]
fn every_verb_has_help() {
    let swb = Swb::new(EXE);
    let help = swb.ok(&["--help"]);
    let listed = help.split("Commands:\n").nth(1).and_then(|rest| rest.split("\n\n").next()).expect("a list");
    let verbs = listed.lines().filter_map(|line| line.split_whitespace().next());
    assert_eq!(verbs.collect::<Vec<_>>(), VERBS);
    for verb in VERBS {
        for flag in ["--help", "-h"] {
            let help = swb.ok(&[verb, flag]);
            assert!(help.contains("Usage: swb "), "{verb}: {help}");
        }
    }
    for part in ["Exit codes:", "Examples:", "Ctrl+]", "XDG_RUNTIME_DIR"] {
        assert!(help.contains(part), "{part}");
    }
    assert!(!help.contains("keeper") && !help.contains("--auto"), "{help}");
    assert_eq!(swb.ok(&["--version"]), format!("swb {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn wrong_usage_is_exit_code_2() {
    let swb = Swb::new(EXE);
    for args in [
        &["nonsense"][..],
        &["--nonsense"],
        &["ls", "--nonsense"],
        &["attach", "a", "b"],
        &["kill"],
        &["kill", "a", "--all"],
        &["send"],
        &["send", "a"],
        &["logs", "a", "--tail", "many"],
        &["attach", "a", "--pty", "-1"],
        &["completions"],
        &["run", "--name"],
    ] {
        let output = swb.run(args);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), String::new()), "{args:?}");
        assert!(text(&output.stderr).starts_with("swb: "), "{args:?}: {}", text(&output.stderr));
    }
    assert!(!swb.paths().control_socket().exists(), "nothing was started for it");
}

#[test]
fn an_unknown_session_is_exit_code_3_everywhere() {
    let swb = Swb::start(EXE);
    for args in [
        &["attach", "nobody"][..],
        &["attach", "nobody", "--watch"],
        &["shell", "nobody"],
        &["kill", "nobody"],
        &["kill", "-f", "nobody"],
        &["send", "nobody", "text"],
        &["send", "nobody", ""],
        &["logs", "nobody"],
        &["logs", "nobody", "-f"],
        &["logs", "nobody", "--json"],
    ] {
        let output = swb.run(args);
        assert_eq!(output.status.code(), Some(3), "{args:?}");
        assert_eq!(
            text(&output.stderr),
            "swb: no session named 'nobody'\nhint: `swb ls` lists the sessions\n",
            "{args:?}"
        );
    }
}

// ---- the reader has left ----

#[test]
fn a_broken_pipe_is_not_reported() {
    let swb = Swb::start(EXE);
    let script = "i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); echo line $i; done";
    assert!(swb.run(&["run", "-n", "big", "--", "sh", "-c", script]).status.success());
    let mut verbs = vec![
        vec!["ls"],
        vec!["ls", "--json"],
        vec!["status"],
        vec!["logs", "big"],
        vec!["logs", "big", "--json"],
        vec!["logs", "big", "-f"],
        vec!["attach", "big"],
        vec!["man"],
        vec!["completions", "bash"],
        vec!["--help"],
        vec!["run", "--help"],
        vec!["--version"],
    ];
    verbs.push(vec!["run", "-d", "--", "true"]);
    for args in verbs {
        let mut child = swb.command(&args);
        let mut child = child.stdout(closed_pipe()).stderr(Stdio::piped()).spawn().expect("it starts");
        drop(child.stdout.take());
        let output = in_time(child);
        assert_eq!(text(&output.stderr), "", "{args:?}");
        assert!(matches!(output.status.code(), Some(0)), "{args:?}: {}", output.status);
    }
    let output = swb.shell(r#""$SWB" logs big | head -n 1"#).output().expect("it runs");
    assert_eq!((text(&output.stdout), text(&output.stderr)), ("line 1\r\n".to_owned(), String::new()));
}

#[test]
fn an_error_on_a_closed_stderr_keeps_its_exit_code() {
    let swb = Swb::start(EXE);
    swb.script("main", "echo ready; exec cat");
    for (args, code) in [
        (&["attach", "nobody"][..], 3),
        (&["kill", "nobody"], 3),
        (&["run", "-n", "..", "--", "true"], 2),
        (&["nonsense"], 2),
        (&["run", "--", "/no/such/program"], 1),
    ] {
        let child =
            swb.command(args).stderr(closed_pipe()).stdout(Stdio::piped()).spawn().expect("it starts");
        assert_eq!(in_time(child).status.code(), Some(code), "{args:?}");
    }
    let other = Swb::new(EXE);
    let child =
        other.command(&["ls"]).stderr(closed_pipe()).stdout(Stdio::piped()).spawn().expect("it starts");
    assert_eq!(in_time(child).status.code(), Some(0), "the news that the daemon was started");
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    let swb = Swb::start(EXE);
    swb.run(&["run", "-n", "main", "--", "echo", "hello"]);
    for args in
        [&["ls"][..], &["ls", "--json"], &["status"], &["logs", "main"], &["attach", "main"], &["man"]]
    {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("a full disk");
        let output = swb.command(args).stdout(full).output().expect("it runs");
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        let error = text(&output.stderr);
        assert!(
            error.starts_with("swb: cannot write to standard output: No space left"),
            "{args:?}: {error}"
        );
    }
}

#[test]
fn errors_go_to_standard_error() {
    let swb = Swb::start(EXE);
    for args in [&["logs", "nobody", "--json"][..], &["attach", "nobody"], &["send", "nobody", "x"]] {
        let output = swb.run(args);
        assert_eq!(text(&output.stdout), "", "{args:?}");
        assert!(!swb.run(args).stderr.is_empty(), "{args:?}");
    }
}

// ---- helpers ----

/// Shows every byte it is typed, one per line and in decimal.
const SHOW_KEYS: &str = r"stty raw -echo; printf 'ready\r\n'; exec od -An -v -tu1 -w1";

fn unix_now() -> u64 {
    std::time::UNIX_EPOCH.elapsed().expect("a date").as_secs()
}

/// A pipe without a reader.
fn closed_pipe() -> Stdio {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    writer.into()
}
