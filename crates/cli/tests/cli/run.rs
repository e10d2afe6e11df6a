//! `swb run`, and `swb` alone: new sessions, with the environment, directory and terminal of their caller.

use crate::support::view::view;
use std::path::Path;
use std::process::Stdio;
use swb_testkit::{Swb, Terminal, in_time, is_alive, text, wait_for};

const EXE: &str = env!("CARGO_BIN_EXE_swb");

/// Leaves a session.
const CTRL_BRACKET: &[u8] = b"\x1d";

// ---- exit codes ----

#[test]
fn run_passes_every_exit_code_on() {
    let swb = Swb::start(EXE);
    for code in 0..=255 {
        let output = swb.run(&["run", "--", "/bin/sh", "-c", &format!("exit {code}")]);
        assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
        assert_eq!((text(&output.stdout), text(&output.stderr)), (String::new(), String::new()));
    }
}

#[test]
fn run_reports_a_signal_as_128_plus_its_number() {
    let swb = Swb::start(EXE);
    for signal in [1, 2, 3, 6, 9, 13, 14, 15] {
        let script = format!("ulimit -c 0; kill -{signal} $$; sleep 30");
        let output = swb.run(&["run", "--", "/bin/sh", "-c", &script]);
        assert_eq!(output.status.code(), Some(128 + signal), "{}", text(&output.stderr));
    }
}

#[test]
fn attach_passes_the_exit_code_on() {
    let swb = Swb::start(EXE);
    for (name, script, code) in [
        ("zero", "read line", 0),
        ("seven", "read line; exit 7", 7),
        ("most", "read line; exit 255", 255),
        ("killed", "read line; kill -KILL $$", 137),
        ("ended", "read line; kill -TERM $$", 143),
    ] {
        swb.script(name, &format!("echo ready; {script}"));
        let mut terminal = Terminal::start(swb.command(&["attach", name]), 80, 24);
        terminal.until("ready");
        terminal.type_in(b"\r");
        assert_eq!(terminal.wait(), code, "{name}");
    }
}

#[test]
fn attach_to_an_ended_session_shows_its_output_and_exit_code() {
    let swb = Swb::start(EXE);
    assert_eq!(
        swb.run(&["run", "-n", "done", "--", "sh", "-c", "echo last words; exit 5"]).status.code(),
        Some(5)
    );
    let mut terminal = Terminal::start(swb.command(&["attach", "done"]), 80, 24);
    assert_eq!(terminal.wait(), 5);
    assert_eq!(view(&terminal).text(), "last words");
}

#[test]
fn shell_passes_the_exit_code_on() {
    let swb = Swb::start(EXE);
    swb.script("main", "sleep 600");
    for (script, code) in [("exit 0", 0), ("exit 9", 9), ("exit 255", 255), ("kill -9 $$", 137)] {
        let output = swb.run(&["shell", "main", "--", "/bin/sh", "-c", script]);
        assert_eq!(output.status.code(), Some(code), "{script}: {}", text(&output.stderr));
    }
    // Without a command it is the user's shell.
    let mut terminal = Terminal::start(swb.command(&["shell", "main"]), 80, 24);
    terminal.type_in(b"echo $((40 + 2)); exit 11\r");
    terminal.until("42");
    assert_eq!(terminal.wait(), 11);
    assert_eq!(swb.session("main").expect("it runs on")["status"], "running");
}

#[test]
fn a_command_that_cannot_be_started_is_an_error_and_no_session() {
    let swb = Swb::start(EXE);
    for args in [
        &["run", "-n", "x", "--", "/no/such/program"][..],
        &["run", "-d", "-n", "x", "--", "/no/such/program"],
        &["run", "-d", "-n", "x", "--", "no-such-program-in-path"],
        &["run", "-d", "-n", "x", "--", "/etc/passwd"],
    ] {
        let output = swb.run(args);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {error}");
        assert!(error.starts_with("swb: ") && error.contains(args[args.len() - 1]), "{error}");
        assert!(error.lines().count() <= 2, "one sentence and what to do: {error}");
        assert_eq!(swb.json(&["ls"]), serde_json::json!([]));
    }
    let mut terminal = Terminal::start(swb.command(&["run", "--", "/no/such/program"]), 80, 24);
    assert_eq!(terminal.wait(), 1);
    terminal.assert_modes_restored();
}

#[test]
fn an_invalid_detach_key_fails_before_a_session_is_created() {
    let swb = Swb::start(EXE);
    let output = swb.run(&["run", "--detach-key", "Ctrl-Alt-Del", "--", "sleep", "5"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("is not a valid detach key"), "{}", text(&output.stderr));
    assert_eq!(swb.json(&["ls"]), serde_json::json!([]));
}

// ---- what a command finds ----

#[test]
fn a_command_gets_the_environment_directory_mask_and_terminal_of_its_caller() {
    let mut swb = Swb::new(EXE);
    swb.start_daemon_with(|command| {
        command.env("OF_THE_DAEMON", "hidden").env("TERM", "of-the-daemon");
    });
    let here = swb.workspace("here");
    let probe =
        r#"printf '<%s|%s|%s|%s|%s|%s>' "$MINE" "$TERM" "$(pwd -P)" "$PWD" "$(umask)" "$(stty size)""#;
    let script = format!("umask 027; exec \"$SWB\" run -- sh -c '{}'", probe.replace('\'', r"'\''"));
    let mut command = swb.shell(&script);
    command
        .current_dir(&here)
        .env("MINE", "größe\n\t\"quoted\" $HOME")
        .env("TERM", "vt220")
        .env("PWD", &here);
    let mut terminal = Terminal::start(command, 97, 31);
    assert_eq!(terminal.wait(), 0);
    let dir = here.to_str().expect("text");
    let expected = format!("<größe\r\n\t\"quoted\" $HOME|vt220|{dir}|{dir}|0027|31 97>");
    assert_eq!(text(terminal.seen()).trim_end(), expected);

    let output = swb.run(&["run", "--", "sh", "-c", "env"]);
    assert!(!text(&output.stdout).contains("OF_THE_DAEMON"), "the daemon's variables are its own");
}

#[test]
fn a_shell_gets_the_environment_and_size_of_its_caller_and_the_directory_of_its_session() {
    let swb = Swb::start(EXE);
    let there = swb.workspace("there");
    swb.ok(&["run", "-d", "-n", "main", "-w", "there", "--", "sleep", "600"]);
    let mut command =
        swb.command(&["shell", "main", "--", "sh", "-c", r#"echo "<$MINE|$(pwd -P)|$(stty size)>""#]);
    command.env("MINE", "here too");
    let mut terminal = Terminal::start(command, 61, 17);
    assert_eq!(terminal.wait(), 0);
    let expected = format!("<here too|{}|17 61>", there.display());
    assert_eq!(text(terminal.seen()).trim_end(), expected);
}

#[test]
fn a_workspace_can_be_chosen() {
    let swb = Swb::start(EXE);
    let there = swb.workspace("some where");
    for dir in ["some where", there.to_str().expect("text")] {
        // Programs that believe PWD must not believe that they are where their caller was.
        for probe in [&["pwd", "-P"][..], &["printenv", "PWD"]] {
            let mut command = swb.command(&[&["run", "-w", dir, "--"], probe].concat());
            let output = command.env("PWD", swb.dir()).output().expect("it runs");
            assert_eq!(text(&output.stdout), format!("{}\r\n", there.display()), "{}", text(&output.stderr));
        }
    }
    for (dir, why) in [("no-such-dir", "No such file"), ("/etc/passwd", "is not a directory")] {
        let output = swb.run(&["run", "-w", dir, "--", "true"]);
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output.stderr).contains(why), "{}", text(&output.stderr));
    }
}

#[test]
fn the_size_without_a_terminal_is_80_by_24() {
    let swb = Swb::start(EXE);
    assert_eq!(text(&swb.run(&["run", "--", "stty", "size"]).stdout), "24 80\r\n");
}

#[test]
fn the_default_command_is_the_users_shell() {
    let swb = Swb::start(EXE);
    let shell = script_file(&swb, "myshell", "echo \"my shell with $# arguments\"; exit 21");
    for args in [&["run"][..], &[]] {
        let mut command = swb.command(args);
        command.env("SHELL", &shell);
        let mut terminal = Terminal::start(command, 80, 24);
        assert_eq!(terminal.wait(), 21);
        assert!(text(terminal.seen()).contains("my shell with 0 arguments"), "{}", text(terminal.seen()));
    }
    let mut command = swb.command(&["run"]);
    command.env_remove("SHELL");
    let mut terminal = Terminal::start(command, 80, 24);
    terminal.type_in(b"echo $((20 + 3)); exit 4\r");
    terminal.until("23");
    assert_eq!(terminal.wait(), 4);
}

#[test]
fn a_command_keeps_its_own_options() {
    let swb = Swb::start(EXE);
    let echo = script_file(&swb, "words", r#"for word; do echo "[$word]"; done"#);
    for separator in [&[][..], &["--"]] {
        let args = [&["run"], separator, &[&echo, "-d", "--json", "-n", "two words", "--", "", "*"]].concat();
        let output = swb.run(&args);
        let expected = "[-d]\r\n[--json]\r\n[-n]\r\n[two words]\r\n[--]\r\n[]\r\n[*]\r\n";
        assert_eq!(text(&output.stdout), expected, "{}", text(&output.stderr));
    }
}

// ---- names ----

#[test]
fn sessions_are_named_after_their_directory() {
    let swb = Swb::start(EXE);
    for (dir, name) in
        [("api", "api"), ("my repo", "my-repo"), ("größe", "gr--e"), ("-x", "x"), (".git", ".git")]
    {
        swb.workspace(dir);
        let started = start_in(&swb, dir);
        assert_eq!(started["session"], name);
        let workspace = swb.workspace(dir);
        assert_eq!(started["workspace"], workspace.to_str().expect("text"));
    }
    // A name in use is no reason to refuse when the user has not chosen it.
    assert_eq!(start_in(&swb, "api")["session"], "api-2");
    assert_eq!(start_in(&swb, "api")["session"], "api-3");
    assert_eq!(swb.json(&["ls"]).as_array().expect("a list").len(), 7);
}

#[test]
fn a_chosen_name_is_used_or_rejected() {
    let swb = Swb::start(EXE);
    swb.ok(&["run", "-d", "-n", "mine", "--", "sleep", "600"]);
    let output = swb.run(&["run", "-d", "-n", "mine", "--", "sleep", "600"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("mine"), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("hint: "), "{}", text(&output.stderr));
    let long = "x".repeat(201);
    for name in ["", ".", "..", "a/b", "a b", "-x", "ü", &long] {
        let output = swb.run(&["run", "-d", &format!("--name={name}"), "--", "sleep", "600"]);
        assert_eq!(output.status.code(), Some(2), "{name:?}");
        assert!(text(&output.stderr).contains("is not a valid session name"), "{}", text(&output.stderr));
    }
    assert_eq!(swb.json(&["ls"]).as_array().expect("a list").len(), 1);
    // The name of a session that has ended is free.
    swb.run(&["run", "-n", "done", "--", "true"]);
    assert!(swb.run(&["run", "-n", "done", "--", "true"]).status.success());
}

// ---- kept out of a dialect ----

#[test]
fn a_session_hidden_from_a_dialect_is_not_hidden_from_its_owner() {
    let swb = Swb::start(EXE);
    let mut terminal = Terminal::start(
        swb.command(&[
            "run",
            "-n",
            "mine",
            "--hide",
            "coop",
            "--hide",
            "keepty",
            "--",
            "sh",
            "-c",
            "echo here; cat",
        ]),
        80,
        24,
    );
    terminal.until("here");
    assert!(!swb.paths().keepty_socket("mine").exists());
    assert_eq!(swb.coop().ok(&serde_json::json!({"cmd": "ls"}))["sessions"], serde_json::json!([]));
    assert_eq!(swb.json(&["ls"])[0]["name"], "mine");
    terminal.type_in(CTRL_BRACKET);
    assert_eq!(terminal.wait(), 0);
    terminal.next(swb.command(&[]));
    terminal.until("here");
    swb.ok(&["send", "mine", "hello", "--enter"]);
    terminal.until("hello\r\nhello\r\n");
    swb.ok(&["kill", "mine"]);
    assert_eq!(terminal.wait(), 143);
    swb.ok(&["run", "-d", "-n", "mine", "--hide", "coop", "--", "cat"]);
    swb.ok(&["kill", "--all"]);
    assert_eq!(swb.json(&["ls"]), serde_json::json!([]));
}

// ---- in the background ----

#[test]
fn in_the_background_run_prints_the_name_and_returns() {
    let swb = Swb::start(EXE);
    let output = swb.run(&["run", "-d", "-n", "back", "--", "sleep", "600"]);
    let session = swb.session("back").expect("it runs");
    let pid = session["pid"].as_i64().expect("a pid");
    assert!(output.status.success() && is_alive(pid));
    assert_eq!(text(&output.stdout), format!("Started session back (pid {pid})\n"));
    assert_eq!(text(&output.stderr), "");
    assert_eq!(session["clients"], 0);

    let workspace = swb.workspace("job");
    let mut command = swb.command(&["run", "-d", "--json", "--", "sleep", "600"]);
    let output = command.current_dir(&workspace).output().expect("it runs");
    let started: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let pid = swb.session("job").expect("it runs")["pid"].clone();
    let expected = serde_json::json!({"session": "job", "pid": pid, "workspace": workspace});
    assert_eq!(started, expected);
}

#[test]
fn a_background_session_outlives_the_terminal_it_was_started_from() {
    let swb = Swb::new(EXE);
    let mut terminal =
        Terminal::start(swb.command(&["run", "-d", "-n", "back", "--", "sleep", "600"]), 80, 24);
    terminal.until("Started session back");
    terminal.close();
    let session = swb.session("back").expect("it runs");
    assert_eq!(session["status"], "running");
    assert!(is_alive(session["pid"].as_i64().expect("a pid")));
}

// ---- as part of a script ----

#[test]
fn all_output_of_a_command_arrives() {
    let swb = Swb::start(EXE);
    let expected: String = (1..=200_000).map(|n| format!("{n}\r\n")).collect();
    let output = swb.run(&["run", "--", "seq", "1", "200000"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout) == expected, "{} bytes of {}", output.stdout.len(), expected.len());

    let mut terminal = Terminal::start(swb.command(&["run", "--", "seq", "1", "200000"]), 80, 24);
    assert_eq!(terminal.wait(), 0);
    assert!(text(terminal.seen()) == expected, "{} bytes of {}", terminal.seen().len(), expected.len());
}

#[test]
fn piped_input_is_typed_without_a_detach_key() {
    let swb = Swb::start(EXE);
    let script = r#"printf 'one\035\033[93;5utwo\n' | "$SWB" run -- sh -c 'stty raw -echo; echo go; dd bs=1 count=15 2>/dev/null | od -An -c; exit 6'"#;
    let output = swb.shell(script).output().expect("it runs");
    assert_eq!(output.status.code(), Some(6), "{}", text(&output.stderr));
    let shown = text(&output.stdout).replace(|c: char| c.is_whitespace(), "");
    assert!(shown.ends_with(r"one035033[93;5utwo\n") || shown.ends_with(r"one035033[93;5utwo\r"), "{shown}");
}

#[test]
fn a_pipe_gets_the_unchanged_output_without_resets() {
    let swb = Swb::start(EXE);
    let output = swb.run(&["run", "--", "printf", r"x\033[?1049h\033[?25ly"]);
    assert_eq!(output.stdout, b"x\x1b[?1049h\x1b[?25ly");
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn a_closed_pipe_ends_only_the_client() {
    let swb = Swb::start(EXE);
    let script = r#""$SWB" run -n flood -- sh -c 'while :; do echo line; done' | head -n 3"#;
    let output = swb.shell(script).output().expect("it runs");
    assert_eq!(text(&output.stdout), "line\r\n".repeat(3));
    assert_eq!(text(&output.stderr), "");
    assert_eq!(swb.session("flood").expect("it runs on")["status"], "running");
}

// ---- this directory's session ----

#[test]
fn swb_alone_creates_or_attaches() {
    let swb = Swb::start(EXE);
    let dir = swb.workspace("project");
    let mut terminal = Terminal::start(here(&swb, &dir), 80, 24);
    terminal.type_in(b"X=6; echo $((X * 7))\r");
    terminal.until("42");
    terminal.type_in(CTRL_BRACKET);
    assert_eq!(terminal.wait(), 0);
    assert!(text(terminal.seen()).ends_with("[detached]\r\n"), "{}", text(terminal.seen()));

    let mut terminal = Terminal::start(here(&swb, &dir), 80, 24);
    terminal.until("42");
    terminal.type_in(b"echo $((X * 9))\r");
    terminal.until("54");
    assert_eq!(swb.json(&["ls"]).as_array().expect("a list").len(), 1);
    terminal.type_in(b"exit 3\r");
    assert_eq!(terminal.wait(), 3);

    // That one has ended, so there is a new one, and it does not know X.
    let mut terminal = Terminal::start(here(&swb, &dir), 80, 24);
    terminal.type_in(b"echo \"<$X>\"\r");
    terminal.until("<>");
    terminal.type_in(b"exit\r");
    assert_eq!(terminal.wait(), 0);
}

#[test]
fn swb_alone_attaches_to_the_newest_session_of_this_directory() {
    let swb = Swb::start(EXE);
    let (one, two) = (swb.workspace("one"), swb.workspace("two"));
    swb.ok(&["run", "-d", "-n", "old", "-w", "one", "--", "sh", "-c", "echo the old one; sleep 600"]);
    // Newer by the clock that sessions are dated with.
    let created = swb.session("old").expect("it runs")["created"].as_u64();
    wait_for("another second", || (unix_now() > created.expect("a date")).then_some(()));
    swb.ok(&["run", "-d", "-n", "new", "-w", "one", "--", "sh", "-c", "echo the new one; sleep 600"]);
    swb.ok(&["run", "-d", "-n", "other", "-w", "two", "--", "sh", "-c", "echo the other one; sleep 600"]);
    for (dir, shows) in [(&one, "the new one"), (&two, "the other one")] {
        let mut terminal = Terminal::start(here(&swb, dir), 80, 24);
        terminal.until(shows);
        terminal.type_in(CTRL_BRACKET);
        assert_eq!(terminal.wait(), 0);
    }
    // A link to the directory leads to the same session.
    std::os::unix::fs::symlink(&two, swb.dir().join("w/link")).expect("a link");
    let mut terminal = Terminal::start(here(&swb, &swb.dir().join("w/link")), 80, 24);
    terminal.until("the other one");
}

#[test]
fn attach_and_logs_default_to_this_directory() {
    let swb = Swb::start(EXE);
    let dir = swb.workspace("project");
    for verb in ["attach", "logs", "shell"] {
        let output = swb.command(&[verb]).current_dir(&dir).output().expect("it runs");
        assert_eq!(output.status.code(), Some(3), "{verb}");
        assert!(text(&output.stderr).contains("there is no session in"), "{}", text(&output.stderr));
    }
    swb.ok(&["run", "-d", "-n", "p", "-w", "project", "--", "sh", "-c", "echo here it is; sleep 600"]);
    let mut command = swb.command(&["attach"]);
    command.current_dir(&dir);
    let mut terminal = Terminal::start(command, 80, 24);
    terminal.until("here it is");
    let output = swb.command(&["logs"]).current_dir(&dir).output().expect("it runs");
    assert_eq!(text(&output.stdout), "here it is\r\n");
    assert_eq!(text(&output.stderr), "swb: session p\n", "the output does not name it");
    let output = swb.command(&["explain"]).current_dir(&dir).output().expect("it runs");
    assert_eq!(text(&output.stderr), "swb: session p\n");
    let output = swb.command(&["turns", "-n", "0"]).current_dir(&dir).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
    let output =
        swb.command(&["shell", "--", "sh", "-c", "exit 8"]).current_dir(&dir).output().expect("it runs");
    assert_eq!(output.status.code(), Some(8));
}

// ---- a daemon that is not there yet ----

#[test]
fn the_daemon_does_not_inherit_the_pipes_of_run() {
    let swb = Swb::new(EXE);
    // If the daemon or the session had our pipes, reading them to their end would take as long as they live.
    let mut command = swb.command(&["run", "-d", "-n", "bg", "--", "sleep", "600"]);
    let output = in_time(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts"));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stderr).starts_with("swb: started the daemon (pid "), "{}", text(&output.stderr));
    assert_eq!(swb.session("bg").expect("it runs")["status"], "running");
}

// ---- helpers ----

/// `swb` alone in a directory, with a prompt that cannot be taken for an answer.
fn here(swb: &Swb, dir: &Path) -> std::process::Command {
    let mut command = swb.command(&[]);
    command.current_dir(dir).env("PS1", "$ ");
    command
}

fn start_in(swb: &Swb, dir: &str) -> serde_json::Value {
    let output = swb
        .command(&["run", "-d", "--json", "--", "sleep", "600"])
        .current_dir(swb.workspace(dir))
        .output()
        .expect("it runs");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)))
}

/// An executable file with a shell script in it.
fn script_file(swb: &Swb, name: &str, script: &str) -> String {
    use std::os::unix::fs::PermissionsExt;
    let path = swb.dir().join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a file");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("permissions");
    path.to_str().expect("text").to_owned()
}

fn unix_now() -> u64 {
    std::time::UNIX_EPOCH.elapsed().expect("a date").as_secs()
}

#[test]
fn a_session_in_the_background_has_a_size_of_its_own() {
    let swb = Swb::start(EXE);
    let mut terminal =
        Terminal::start(swb.command(&["run", "-d", "-n", "usual", "--", "sleep", "600"]), 80, 24);
    assert_eq!(terminal.wait(), 0);
    swb.ok(&["run", "-d", "--size", "90x20", "-n", "small", "--", "sleep", "600"]);
    let size = |name: &str| {
        let session = swb.session(name).expect("it runs");
        (session["cols"].clone(), session["rows"].clone())
    };
    assert_eq!(size("usual"), (120.into(), 40.into()));
    assert_eq!(size("small"), (90.into(), 20.into()));
    for wrong in ["90", "0x5", "ax5", "90x20x3"] {
        assert_eq!(swb.run(&["run", "-d", "--size", wrong, "--", "true"]).status.code(), Some(2), "{wrong}");
    }
}

#[test]
fn processes_that_a_program_leaves_behind_end_with_kill() {
    let swb = Swb::start(EXE);
    let pid_in = |file: &str| -> i32 {
        let path = swb.dir().join(file);
        wait_for("a pid", || std::fs::read_to_string(&path).ok()?.trim().parse().ok())
    };
    let gone = |pid: i32| {
        wait_for("its end", || {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            (stat.is_empty() || stat.contains(") Z ")).then_some(())
        });
    };
    let dir = swb.dir().display().to_string();
    // In the background of a program that has ended.
    let left = format!("trap '' HUP; sleep 600 & echo $! > {dir}/left");
    swb.ok(&["run", "-d", "-n", "left", "--", "sh", "-c", &left]);
    let sleeping = pid_in("left");
    wait_for("the end", || (swb.session("left")?["status"] != "running").then_some(()));
    swb.ok(&["kill", "left"]);
    gone(sleeping);
    // In a terminal session of its own.
    let away = format!("setsid sh -c 'echo $$ > {dir}/away; exec sleep 600' & exec sleep 600");
    swb.ok(&["run", "-d", "-n", "away", "--", "sh", "-c", &away]);
    let sleeping = pid_in("away");
    swb.ok(&["kill", "away"]);
    gone(sleeping);
}
