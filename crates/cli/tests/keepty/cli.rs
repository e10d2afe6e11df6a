//! The program called as `keepty`: the command line that its users and SDKs expect.

use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::LocalModes;
use serde_json::json;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use swb_testkit::{LIMIT, QUIET, Swb, Terminal, is_alive, text, wait_for};
use swb_wire::keepty::{KeeptyRole, Message};

/// Gives every byte back as it came.
const ECHO: &str = "stty raw -echo; printf ready; cat";

// KP-49: also when the daemon has to be started first; `output` waits until no process holds our pipes.
#[test]
fn start_returns_when_the_session_can_be_found() {
    let swb = Swb::new(env!("CARGO_BIN_EXE_swb"));
    for args in [
        &["start", "a", "--", "cat"][..],
        &["start", "b", "--detach", "--", "cat"],
        &["start", "-d", "c"],
        &["start", "d", "--cols", "100", "--rows", "30", "--working-dir", "/", "--", "cat", "-u"],
    ] {
        let output = keepty(&swb, args);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert!(swb.paths().keepty_socket(args.iter().find(|arg| arg.len() == 1).unwrap()).exists());
    }
    let mut monitor = swb.keepty("d", KeeptyRole::Monitor, 80, 24);
    assert_eq!(monitor.ack(), (0, 100, 30));
    let mut monitor = swb.keepty("a", KeeptyRole::Monitor, 80, 24);
    assert_eq!(monitor.ack(), (0, 80, 24));
}

// KP-49
#[test]
fn the_command_runs_as_given_without_a_shell() {
    let swb = swb();
    let words = "$HOME * ; 'x'  \"y\"";
    assert_eq!(first_output(&swb, &["--", "printf", "[%s]", words, "-d", ""]), format!("[{words}][-d][]"));
    // One word is one program, with any characters in it.
    let output = keepty(&swb, &["start", "s", "--", "echo hello"]);
    assert!(output.status.success(), "{output:?}");
    let mut writer = swb.keepty("s", KeeptyRole::Writer, 80, 24);
    writer.ack();
    assert_eq!(writer.exit(), (vec![], 127));
}

// KP-49
#[test]
fn without_a_command_it_is_the_users_shell() {
    let swb = swb();
    let shell = swb.dir().join("my shell");
    std::fs::write(&shell, "#!/bin/sh\nprintf 'mine %s' \"$#\"\n").unwrap();
    std::fs::set_permissions(&shell, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut start = swb.named("keepty", &["start", "mine"]);
    assert!(start.env("SHELL", &shell).output().unwrap().status.success());
    let mut writer = swb.keepty("mine", KeeptyRole::Writer, 80, 24);
    writer.ack();
    assert_eq!(text(&writer.exit().0), "mine 0");
    // None is known: the one every system has.
    for (name, shell) in [("unset", None), ("empty", Some(""))] {
        let mut start = swb.named("keepty", &["start", name]);
        start.env_remove("SHELL");
        start.envs(shell.map(|shell| ("SHELL", shell)));
        assert!(start.output().unwrap().status.success());
        let mut writer = swb.keepty(name, KeeptyRole::Writer, 80, 24);
        writer.ack();
        writer.type_in(b"echo [$0]\n");
        writer.until("[/bin/sh]");
    }
}

// KP-24
#[test]
fn the_environment_is_the_starters_except_term() {
    let swb = swb();
    let mut start = swb.named("keepty", &["start", "s", "--", "/bin/sh", "-c", "env; printf end"]);
    start.env_clear().env("HOME", swb.paths().home).env("XDG_RUNTIME_DIR", swb.dir().join("r"));
    start.env("TERM", "vt52").env("PATH", "/usr/bin:/bin").env("ONLY_HERE", "a b=c");
    assert!(start.output().unwrap().status.success());
    let mut writer = swb.keepty("s", KeeptyRole::Writer, 80, 24);
    writer.ack();
    let seen = text(&writer.until("end"));
    let has = |line: &str| seen.lines().any(|seen| seen == line);
    assert!(has("TERM=xterm-256color") && has("ONLY_HERE=a b=c"), "{seen}");
    // The daemon has a shell set; this starter had not. What other dialects add is not there either (XS-9).
    assert!(!seen.contains("SHELL=") && !seen.contains("COOP_") && !seen.contains("SWB_"), "{seen}");
}

// KP-24
#[test]
fn the_directory_is_the_given_one_or_the_starters() {
    let swb = swb();
    let (here, other) = (swb.workspace("here"), swb.workspace("here/other"));
    let [here, other] = [&here, &other].map(|dir| dir.canonicalize().unwrap());
    for (name, args, expected) in [
        ("plain", &[][..], &here),
        ("absolute", &["--working-dir", path(&other)], &other),
        ("relative", &["--working-dir", "other"], &other),
    ] {
        let args = [&["start", name], args, &["--", "/bin/sh", "-c", "pwd; cat"]].concat();
        let mut start = swb.named("keepty", &args);
        assert!(start.current_dir(&here).output().unwrap().status.success());
        let mut writer = swb.keepty(name, KeeptyRole::Writer, 80, 24);
        writer.ack();
        assert_eq!(text(&writer.until("\r\n")).trim_end(), path(expected));
    }
    let output = keepty(&swb, &["start", "s", "--working-dir", "/no/such/place", "--", "cat"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}

// KP-25
#[test]
fn the_terminal_knows_utf8_and_line_ends() {
    let swb = swb();
    let seen = first_output(&swb, &["--", "stty", "-a"]);
    for mode in ["iutf8", "opost", "onlcr"] {
        let on = seen.split([' ', '\r', '\n']).any(|word| word == mode);
        assert!(on, "{mode} in {seen}");
    }
}

// KP-49, KP-52
#[test]
fn start_attaches_on_a_terminal() {
    let swb = swb();
    let script = "stty size; stty raw -echo; printf ready; cat";
    let start = swb.named("keepty", &["start", "s", "--", "/bin/sh", "-c", script]);
    let mut terminal = Terminal::start(start, 90, 30);
    terminal.until("ready");
    assert!(text(terminal.seen()).contains("30 90\r\n"), "the size of the user's terminal");
    terminal.type_in(b"typed");
    terminal.until("typed");
    terminal.type_in(b",,,d");
    assert_eq!(terminal.wait(), 0);
    // It goes on without us, and can be gone back to.
    let mut again = Terminal::start(swb.named("keepty", &["attach", "s"]), 90, 30);
    again.until("typed");
    again.type_in(b"more");
    again.until("more");
}

// KP-49
#[test]
fn start_does_not_attach_if_asked_not_to_or_without_a_terminal() {
    let swb = swb();
    let start = swb.named("keepty", &["start", "a", "-d", "--", "/bin/sh", "-c", ECHO]);
    let mut terminal = Terminal::start(start, 90, 30);
    assert_eq!(terminal.wait(), 0);
    // A terminal on the other descriptors does not count.
    let mut start = swb.shell("exec \"$0\" start b -- cat </dev/null");
    start.arg(swb.named("keepty", &[]).get_program());
    let mut terminal = Terminal::start(start, 90, 30);
    assert_eq!(terminal.wait(), 0);
    for name in ["a", "b"] {
        let mut monitor = swb.keepty(name, KeeptyRole::Monitor, 80, 24);
        assert_eq!(monitor.ack().0, 0, "no Writer has come");
    }
}

// KP-10
#[test]
fn without_a_runtime_directory_the_temporary_one_is_used() {
    let swb = Swb::new(env!("CARGO_BIN_EXE_swb"));
    let temp = swb.workspace("tmp");
    let surroundings = |mut command: Command| {
        command.env("XDG_RUNTIME_DIR", "").env("TMPDIR", &temp);
        command
    };
    let start = swb.named("keepty", &["start", "s", "--", "/bin/sh", "-c", ECHO]);
    let output = surroundings(start).output().unwrap();
    let socket = temp.join("keepty/keepty-s.sock");
    let connected = UnixStream::connect(&socket);
    let listed = surroundings(swb.named("keepty", &["ls"])).output().unwrap();
    // Out of reach of what cleans up after tests.
    let ended = surroundings(swb.command(&["shutdown", "--kill"])).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(connected.is_ok(), "{connected:?}");
    assert_eq!(text(&listed.stdout), "  s  (running)\n");
    assert!(ended.status.success(), "{ended:?}");
    assert!(!socket.exists());
}

// KP-12
#[test]
fn a_socket_path_of_104_bytes_is_refused() {
    let swb = swb();
    let empty = path(&swb.paths().keepty_socket("")).len();
    let longest = "x".repeat(103 - empty);
    assert!(keepty(&swb, &["start", &longest, "--", "cat"]).status.success());
    swb.keepty(&longest, KeeptyRole::Writer, 80, 24).ack();
    let too_long = "x".repeat(104 - empty);
    for id in [too_long, "x".repeat(150), "x".repeat(250)] {
        let output = keepty(&swb, &["start", &id, "--", "cat"]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(text(&output.stderr).contains(" bytes"), "{output:?}");
    }
    assert_eq!(text(&keepty(&swb, &["ls"]).stdout), format!("  {longest}  (running)\n"));
}

// KP-13 (an argument cannot contain NUL)
#[test]
fn an_id_that_would_leave_the_directory_is_refused() {
    let swb = swb();
    for id in ["", "/", "a/b", "../x", ".."] {
        let output = keepty(&swb, &["start", id, "--", "cat"]);
        assert_eq!(output.status.code(), Some(1), "{id:?}: {output:?}");
        assert!(!output.stderr.is_empty());
        let broker = keepty(&swb, &["broker", "--session-id", id, "--", "true"]);
        assert_eq!(broker.status.code(), Some(1), "{id:?}: {broker:?}");
    }
    assert_eq!(std::fs::read_dir(swb.paths().keepty_dir()).unwrap().count(), 0);
}

// KP-14
#[test]
fn a_stale_socket_is_replaced() {
    let swb = swb();
    drop(UnixListener::bind(swb.paths().keepty_socket("s")).unwrap());
    assert!(UnixStream::connect(swb.paths().keepty_socket("s")).is_err());
    swb.keepty_running("s", ECHO);
}

// KP-14
#[test]
fn a_live_session_is_not_replaced() {
    let swb = swb();
    let mut writer = swb.keepty_running("ours", ECHO);
    // One of another program, which our daemon does not know.
    let foreign = UnixListener::bind(swb.paths().keepty_socket("theirs")).unwrap();
    for id in ["ours", "theirs"] {
        let output = keepty(&swb, &["start", id, "--", "cat"]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(text(&output.stderr).contains("already running"), "{output:?}");
    }
    let output = swb.run(&["run", "-d", "-n", "theirs", "--", "cat"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(text(&output.stderr).contains("another program listens on"), "{output:?}");
    writer.type_in(b"untouched");
    writer.until("untouched");
    assert!(UnixStream::connect(swb.paths().keepty_socket("theirs")).is_ok());
    drop(foreign);
    assert!(keepty(&swb, &["start", "theirs", "--", "cat"]).status.success());
}

// KP-14: of many that start the same session at once one wins.
#[test]
fn of_many_starters_one_wins() {
    let swb = Swb::new(env!("CARGO_BIN_EXE_swb"));
    let starters: Vec<Child> = (0..6)
        .map(|_| {
            let mut start = swb.named("keepty", &["start", "s", "--", "cat"]);
            start.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let outputs: Vec<Output> = starters.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    let (won, lost): (Vec<_>, Vec<_>) = outputs.iter().partition(|output| output.status.success());
    assert_eq!(won.len(), 1, "{outputs:?}");
    for output in lost {
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output.stderr).contains("already running"), "{output:?}");
    }
}

// XS-2
#[test]
fn a_name_that_another_dialect_uses_is_already_running() {
    let swb = swb();
    let workspace = swb.workspace("w");
    swb.coop().ok(&json!({"cmd": "create", "workspace": path(&workspace), "name": "s", "argv": ["cat"]}));
    let output = keepty(&swb, &["start", "s", "--", "cat"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("already running"), "{output:?}");
}

// KP-50
#[test]
fn stop_ends_a_session_or_reports_that_there_is_none() {
    let swb = swb();
    let mut writer = swb.keepty_running("s", ECHO);
    let output = keepty(&swb, &["stop", "s"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(writer.exit().1, 143);
    drop(UnixListener::bind(swb.paths().keepty_socket("stale")).unwrap());
    for id in ["s", "never", "stale"] {
        let output = keepty(&swb, &["stop", id]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(text(&output.stderr).contains(id), "{output:?}");
    }
    // One that has not started yet, too, and one that takes its time.
    swb.keepty_start("waiting", ECHO);
    assert_eq!(keepty(&swb, &["stop", "waiting"]).status.code(), Some(0));
    let mut writer = swb.keepty_running(
        "slow",
        "trap 'sleep 1; exit 4' TERM; sleep 1000 & printf ready; while :; do wait; done",
    );
    assert_eq!(keepty(&swb, &["stop", "slow"]).status.code(), Some(0));
    assert_eq!(writer.exit().1, 4);
    wait_for("all sockets' end", || {
        (text(&keepty(&swb, &["ls"]).stdout) == "  stale  (stale)\n").then_some(())
    });
}

// KP-50: a program that writes without end can be stopped, too.
#[test]
fn stop_works_in_an_unread_flood() {
    let swb = swb();
    swb.keepty_start("s", "while :; do seq 1 100000; done");
    let mut writer = swb.keepty("s", KeeptyRole::Writer, 80, 24);
    writer.ack();
    writer.message();
    drop(writer);
    assert_eq!(keepty(&swb, &["stop", "s"]).status.code(), Some(0));
    wait_for("its end", || (!swb.paths().keepty_socket("s").exists()).then_some(()));
}

// KP-51
#[test]
fn list_shows_one_line_per_session_in_order() {
    let swb = swb();
    for verb in ["list", "ls"] {
        let output = keepty(&swb, &[verb]);
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(
            (text(&output.stdout).as_str(), text(&output.stderr).as_str()),
            ("", "No running sessions\n")
        );
    }
    for name in ["b", "a.10", "a.1", "Z"] {
        swb.keepty_start(name, ECHO);
    }
    drop(UnixListener::bind(swb.paths().keepty_socket("ab")).unwrap());
    std::fs::write(swb.paths().keepty_dir().join("other.sock"), "").unwrap();
    for verb in ["list", "ls"] {
        let output = keepty(&swb, &[verb]);
        let expected = "  Z  (running)\n  a.1  (running)\n  a.10  (running)\n  ab  (stale)\n  b  (running)\n";
        assert_eq!((text(&output.stdout).as_str(), text(&output.stderr).as_str()), (expected, ""));
    }
    // Looking has no effect: nothing was started.
    assert_eq!(swb.keepty("b", KeeptyRole::Monitor, 80, 24).ack().0, 0);
}

// KP-52
#[test]
fn an_attached_writer_types_and_detaches_with_three_commas_and_d() {
    let swb = swb();
    let _first = swb.keepty_running("s", ECHO);
    let mut terminal = attached(&swb, &["attach", "s"]);
    // Commas that lead nowhere are typed like anything else.
    terminal.type_in(b"a,b,,c,,,e,,,,x\x03\x1b[A");
    terminal.until("a,b,,c,,,e,,,,x\x03\x1b[A");
    terminal.type_in(b",,");
    terminal.type_in(b",d");
    assert_eq!(terminal.wait(), 0);
    assert!(terminal.modes().local_modes.contains(LocalModes::ICANON | LocalModes::ECHO));
    let mut monitor = swb.keepty("s", KeeptyRole::Monitor, 80, 24);
    assert!(monitor.ack().0 > 0, "the session goes on");
    let seen = text(&monitor.until("[A"));
    assert!(!seen.contains(",d"), "the key that leaves is not typed: {seen:?}");
}

// KP-52
#[test]
fn an_attached_terminal_has_its_size_in_the_session() {
    let swb = swb();
    let script = "stty -echo; trap 'stty size' WINCH; sleep 1000 & printf ready; while :; do wait; done";
    let _first = swb.keepty_running("s", script);
    let mut terminal = Terminal::start(swb.named("keepty", &["attach", "s"]), 60, 20);
    terminal.until("20 60");
    terminal.resize(50, 15);
    terminal.until("15 50");
}

// KP-52
#[test]
fn a_watching_terminal_is_read_only_and_detaches_with_q_or_control_c() {
    let swb = swb();
    let mut writer = swb.keepty_running("s", ECHO);
    for (flag, key) in [("--watch", b"q"), ("-w", b"\x03")] {
        let mut terminal = attached(&swb, &["attach", flag, "s"]);
        terminal.type_in(b"abc,,,d");
        writer.type_in(b"seen");
        terminal.until("seen");
        terminal.type_in(key);
        assert_eq!(terminal.wait(), 0);
    }
    assert_eq!(text(&writer.until("seenseen")), "seenseen", "nothing was typed");
}

// KP-52
#[test]
fn attach_ends_with_the_session_and_needs_one() {
    let swb = swb();
    let _first = swb.keepty_running("s", "stty -echo; printf ready; read x; echo last words; exit 3");
    let mut terminal = attached(&swb, &["attach", "s"]);
    terminal.type_in(b"\r");
    terminal.until("last words");
    terminal.wait();
    assert!(terminal.modes().local_modes.contains(LocalModes::ICANON | LocalModes::ECHO));
    let output = keepty(&swb, &["attach", "s"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains('s'), "{output:?}");
}

// KP-47: the terminal a session was started from, and everything on it, may go.
#[test]
fn a_session_survives_the_terminal_it_was_started_from() {
    let swb = Swb::new(env!("CARGO_BIN_EXE_swb"));
    // A session leader of its own with that terminal, as a login shell has it; the daemon starts here, too.
    let mut start = swb.shell("exec setsid -c -w \"$0\" start s -- /bin/sh -c \"$1\"");
    start.arg(swb.named("keepty", &[]).get_program()).arg(ECHO);
    let mut terminal = Terminal::start(start, 80, 24);
    terminal.until("ready");
    let mut monitor = swb.keepty("s", KeeptyRole::Monitor, 80, 24);
    let pid = i64::from(monitor.ack().0);
    monitor.until("ready");
    for process in [swb.daemon_pid(), swb.keeper_pid()] {
        assert_eq!(controlling_terminal(process), 0, "neither needs that terminal");
    }
    terminal.close();
    drop(terminal);
    assert_eq!(monitor.frame(QUIET), None, "nothing happened");
    assert!(is_alive(pid));
    let mut writer = swb.keepty("s", KeeptyRole::Writer, 80, 24);
    assert_eq!(i64::from(writer.ack().0), pid);
    writer.until("ready");
    writer.type_in(b"alive");
    monitor.until("alive");
}

// KP-47
#[test]
fn a_session_survives_hangups_of_daemon_and_keeper() {
    let swb = swb();
    let mut writer = swb.keepty_running("s", ECHO);
    writer.type_in(b"before");
    writer.until("before");
    for pid in [swb.keeper_pid(), swb.daemon_pid()] {
        kill_process(Pid::from_raw(pid as i32).unwrap(), Signal::HUP).unwrap();
    }
    // Whether or not the daemon takes it for a reason to begin anew.
    let mut again = wait_for("the session", || {
        let mut client = swb_testkit::KeeptyClient::connect(&swb.paths().keepty_socket("s")).ok()?;
        client.hello(KeeptyRole::Writer, 80, 24);
        let greeted = matches!(
            client.frame(LIMIT),
            Some(swb_testkit::Frame::Message(Message::HelloAck { pid: 1.., .. }))
        );
        greeted.then_some(client)
    });
    assert_eq!(text(&again.until("before")), "readybefore");
    again.type_in(b"after");
    again.until("after");
}

// KP-53
#[test]
fn a_broker_stays_until_the_session_ends_and_has_its_code() {
    let swb = swb();
    for (script, expected) in [("exit 0", 0), ("printf out; exit 42", 42), ("kill -9 $$", 137)] {
        let mut broker = broker(&swb, &["--", "/bin/sh", "-c", script]);
        assert_eq!(broker.try_wait().unwrap(), None, "before the first Writer");
        let mut writer = swb.keepty("b", KeeptyRole::Writer, 80, 24);
        writer.ack();
        assert_eq!(writer.exit().1, expected);
        assert_eq!(ended(&mut broker), Some(expected));
        // The next session has the same name, and its socket the same path.
        wait_for("the socket to go", || (!swb.paths().keepty_socket("b").exists()).then_some(()));
    }
    let work = swb.workspace("work");
    let args =
        ["--working-dir", path(&work), "--cols", "70", "--rows", "20", "--", "/bin/sh", "-c", "pwd; exit 1"];
    let mut broker = broker(&swb, &args);
    let mut monitor = swb.keepty("b", KeeptyRole::Monitor, 80, 24);
    assert_eq!(monitor.ack(), (0, 70, 20));
    let mut writer = swb.keepty("b", KeeptyRole::Writer, 80, 24);
    writer.ack();
    let expected = format!("{}\r\n", path(&work.canonicalize().unwrap()));
    assert_eq!(writer.exit(), (expected.into_bytes(), 1));
    assert_eq!(ended(&mut broker), Some(1));
}

// KP-53: its name can be taken like that of any session.
#[test]
fn a_broker_of_a_running_session_is_refused() {
    let swb = swb();
    swb.keepty_start("b", ECHO);
    let output = keepty(&swb, &["broker", "--session-id", "b", "--", "true"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("already running"), "{output:?}");
}

// KP-48
#[test]
fn signals_to_a_broker_end_its_session() {
    let swb = swb();
    for signal in [Signal::TERM, Signal::INT] {
        let script = "trap 'printf bye; exit 9' TERM; printf ready; while :; do sleep 1; done";
        let mut broker = broker(&swb, &["--", "/bin/sh", "-c", script]);
        let mut writer = swb.keepty("b", KeeptyRole::Writer, 80, 24);
        writer.ack();
        writer.until("ready");
        kill_process(Pid::from_child(&broker), signal).unwrap();
        let (seen, code) = writer.exit();
        assert!(text(&seen).ends_with("bye"), "{:?}", text(&seen));
        assert_eq!((code, ended(&mut broker)), (9, Some(9)));
    }
    // Before the command ever started, too.
    let mut broker = broker(&swb, &["--", "cat"]);
    kill_process(Pid::from_child(&broker), Signal::TERM).unwrap();
    assert!(ended(&mut broker).is_some_and(|code| code != 0));
    wait_for("the socket's end", || (!swb.paths().keepty_socket("b").exists()).then_some(()));
}

// KP-48, KP-40: as Shutdown does it, with a timeout of two seconds.
#[test]
fn a_broker_kills_a_session_that_ignores_signals() {
    let swb = swb();
    let script = "trap 'printf term' TERM; trap '' HUP; printf ready; while :; do sleep 1; done";
    let mut broker = broker(&swb, &["--", "/bin/sh", "-c", script]);
    let mut writer = swb.keepty("b", KeeptyRole::Writer, 80, 24);
    writer.ack();
    writer.until("ready");
    let asked = Instant::now();
    kill_process(Pid::from_child(&broker), Signal::TERM).unwrap();
    writer.until("term");
    // Asking again changes nothing.
    kill_process(Pid::from_child(&broker), Signal::INT).unwrap();
    assert_eq!((writer.exit().1, ended(&mut broker)), (137, Some(137)));
    assert!(asked.elapsed() + Duration::from_millis(50) >= Duration::from_secs(2));
}

// KP-48, KP-53
#[test]
fn a_signal_that_comes_with_the_end_does_not_hide_it() {
    let swb = swb();
    let mut broker = broker(&swb, &["--", "/bin/sh", "-c", "stty -echo; printf ready; read x; exit 5"]);
    let mut writer = swb.keepty("b", KeeptyRole::Writer, 80, 24);
    writer.ack();
    writer.until("ready");
    // It looks away while the session ends, and finds the signal and the end together.
    let tell = |signal| kill_process(Pid::from_child(&broker), signal).unwrap();
    tell(Signal::STOP);
    writer.type_in(b"\n");
    assert_eq!(writer.exit().1, 5);
    wait_for("the daemon to let go", || (!swb.paths().keepty_socket("b").exists()).then_some(()));
    tell(Signal::TERM);
    tell(Signal::CONT);
    assert_eq!(ended(&mut broker), Some(5));
}

// KP-47
#[test]
fn a_broker_ignores_hangups() {
    let swb = swb();
    let mut broker = broker(&swb, &["--", "/bin/sh", "-c", "stty -echo; printf ready; read x; exit 5"]);
    let mut writer = swb.keepty("b", KeeptyRole::Writer, 80, 24);
    writer.ack();
    writer.until("ready");
    kill_process(Pid::from_child(&broker), Signal::HUP).unwrap();
    writer.quiet();
    assert_eq!(broker.try_wait().unwrap(), None);
    writer.type_in(b"\n");
    assert_eq!((writer.exit().1, ended(&mut broker)), (5, Some(5)));
}

// KP-53, XS-14: a daemon that dies takes neither the session nor its broker with it.
#[test]
fn a_broker_outlives_the_daemon() {
    let swb = swb();
    let mut broker = broker(&swb, &["--", "/bin/sh", "-c", "stty -echo; printf ready; read x; exit 6"]);
    let mut writer = swb.keepty("b", KeeptyRole::Writer, 80, 24);
    writer.ack();
    writer.until("ready");
    let daemon = swb.daemon_pid();
    kill_process(Pid::from_raw(daemon as i32).unwrap(), Signal::KILL).unwrap();
    wait_for("the next daemon", || (swb.daemon_pid() != daemon).then_some(()));
    // Both connections are gone; the broker comes back by itself.
    let mut writer = swb.keepty("b", KeeptyRole::Writer, 80, 24);
    writer.ack();
    writer.until("ready");
    let listed = || swb.coop().ok(&json!({"cmd": "ls", "details": true}))["sessions"][0]["clients"].clone();
    wait_for("the broker's return", || (listed() == 2).then_some(()));
    writer.type_in(b"\n");
    assert_eq!((writer.exit().1, ended(&mut broker)), (6, Some(6)));
}

fn swb() -> Swb {
    Swb::start(env!("CARGO_BIN_EXE_swb"))
}

fn keepty(swb: &Swb, args: &[&str]) -> Output {
    swb.named("keepty", args).output().expect("the program runs")
}

/// Everything that a command started with these arguments prints until its end.
#[track_caller]
fn first_output(swb: &Swb, args: &[&str]) -> String {
    let output = keepty(swb, &[&["start", "first"], args].concat());
    assert!(output.status.success(), "{output:?}");
    let mut writer = swb.keepty("first", KeeptyRole::Writer, 80, 24);
    writer.ack();
    text(&writer.exit().0)
}

/// The program on a terminal of its own, which it uses already.
#[track_caller]
fn attached(swb: &Swb, args: &[&str]) -> Terminal {
    let terminal = Terminal::start(swb.named("keepty", args), 80, 24);
    wait_for("the terminal to be taken", || {
        (!terminal.modes().local_modes.contains(LocalModes::ICANON)).then_some(())
    });
    terminal
}

/// A broker of session `b` whose socket is there.
#[track_caller]
fn broker(swb: &Swb, args: &[&str]) -> Child {
    let mut command = swb.named("keepty", &[&["broker", "--session-id", "b"], args].concat());
    let child = command.stdout(Stdio::null()).spawn().expect("the program runs");
    // A socket exists a moment before it listens.
    wait_for("the socket", || std::os::unix::net::UnixStream::connect(swb.paths().keepty_socket("b")).ok());
    child
}

/// The exit code of a process, once it has ended.
#[track_caller]
fn ended(child: &mut Child) -> Option<i32> {
    wait_for("its end", || child.try_wait().expect("a child")).code()
}

/// The terminal a process could be signalled from; 0 for none.
fn controlling_terminal(pid: i64) -> i64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("a process");
    let (_, rest) = stat.rsplit_once(") ").expect("a name");
    rest.split(' ').nth(4).and_then(|number| number.parse().ok()).expect("a number")
}

fn path(path: &Path) -> &str {
    path.to_str().expect("text")
}
