//! The commands about the daemon itself: status, shutdown, daemon and upgrade, and how every command starts one that is
//! not running.

use rustix::process::Signal;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};
use swb_testkit::{Swb, Terminal, in_time, is_alive, keepers_in, signal, text, wait_for};

const EXE: &str = env!("CARGO_BIN_EXE_swb");

// ---- status ----

#[test]
fn status_describes_the_daemon() {
    let swb = Swb::start(EXE);
    swb.script("one", "sleep 600");
    let status = swb.json(&["status"]);
    assert_eq!(status["keeper"]["pid"].as_i64(), Some(swb.keeper_pid()));
    assert_eq!(status["daemon"]["pid"].as_i64(), Some(swb.daemon_pid()));
    assert_eq!(status["daemon"]["restarts"], 0);
    assert_eq!(status["daemon"]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(status["sessions"], 1);
    let dialects = status["dialects"].as_array().expect("a list");
    for (name, socket) in [("coop", swb.paths().coop_socket()), ("keepty", swb.paths().keepty_dir())] {
        let dialect = dialects.iter().find(|dialect| dialect["name"] == name).expect(name);
        assert_eq!(dialect["state"], "listening");
        assert!(
            dialect["socket"].as_str().is_some_and(|path| Path::new(path).starts_with(&socket)),
            "{dialect}"
        );
    }
    swb.kill_daemon();
    let status = swb.json(&["status"]);
    assert_eq!((&status["daemon"]["restarts"], &status["sessions"]), (&json!(1), &json!(1)));

    let shown = swb.ok(&["status"]);
    let daemon = format!("daemon    pid {}, version {}", swb.daemon_pid(), env!("CARGO_PKG_VERSION"));
    assert!(shown.starts_with(&daemon), "{shown}");
    assert!(shown.contains("sessions  1\n") && shown.contains("restarted once"), "{shown}");
}

#[test]
fn status_and_shutdown_start_nothing() {
    let swb = Swb::new(EXE);
    let output = swb.run(&["status"]);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(1), String::new()));
    assert!(text(&output.stdout).starts_with("No daemon is running."), "{}", text(&output.stdout));
    let output = swb.run(&["status", "--json"]);
    let status: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(
        (&status["daemon"], &status["keeper"], &status["sessions"]),
        (&Value::Null, &Value::Null, &json!(0))
    );
    for args in [&["shutdown"][..], &["shutdown", "--kill"]] {
        assert_eq!(swb.ok(args), "No daemon is running.\n");
    }
    assert_eq!(swb.json(&["shutdown"]), json!({"stopped": false, "killed": false}));
    assert!(!swb.paths().control_socket().exists());
    assert_eq!(keepers_in(swb.dir()), Vec::<i64>::new());
}

// ---- shutdown ----

#[test]
fn shutdown_keeps_sessions_for_the_next_daemon() {
    let mut swb = Swb::start(EXE);
    let pid = swb.script("main", "exec cat");
    assert_eq!(swb.ok(&["shutdown"]), "The daemon has stopped; sessions keep running.\n");
    let status = wait_for("its end", || swb.daemon().try_wait().expect("a child"));
    assert!(status.success());
    assert!(is_alive(pid));
    assert!(!swb.paths().control_socket().exists() && !swb.paths().coop_socket().exists());
    assert_eq!(swb.run(&["status"]).status.code(), Some(1));
    let list = swb.json(&["ls"]);
    assert_eq!((&list[0]["name"], list[0]["pid"].as_i64()), (&json!("main"), Some(pid)));
}

#[test]
fn shutdown_with_kill_leaves_nothing() {
    let mut swb = Swb::start(EXE);
    let (keeper, polite, stubborn) = (
        swb.keeper_pid(),
        swb.script("a", "sleep 600"),
        swb.script("b", "trap '' TERM HUP; sleep 600; sleep 600"),
    );
    wait_for("the trap", || ignores_term(stubborn).then_some(()));
    assert_eq!(swb.ok(&["shutdown", "--kill"]), "The daemon has stopped; all sessions were killed.\n");
    assert!(!is_alive(polite) && !is_alive(stubborn));
    assert!(wait_for("its end", || swb.daemon().try_wait().expect("a child")).success());
    wait_for("the keeper's end", || (!is_alive(keeper)).then_some(()));
}

#[test]
fn shutdown_with_kill_ends_sessions_without_a_daemon() {
    let mut swb = Swb::start(EXE);
    let pid = swb.script("main", "sleep 600");
    let keeper = swb.keeper_pid();
    swb.ok(&["shutdown"]);
    wait_for("its end", || swb.daemon().try_wait().expect("a child"));
    assert!(is_alive(pid) && is_alive(keeper));
    assert!(swb.ok(&["shutdown", "--kill"]).contains("all sessions were killed"));
    assert!(!is_alive(pid));
    wait_for("the keeper's end", || (!is_alive(keeper)).then_some(()));
}

// ---- daemon ----

#[test]
fn the_daemon_stays_in_the_foreground_until_sigterm() {
    for number in [Signal::TERM, Signal::INT] {
        let mut swb = Swb::start(EXE);
        let pid = swb.script("main", "exec cat");
        signal(swb.daemon_pid(), number);
        let status = wait_for("its end", || swb.daemon().try_wait().expect("a child"));
        assert_eq!(status.code(), Some(0));
        assert!(swb.log().contains("ready"), "it logs to standard error");
        assert!(is_alive(pid));
    }
}

#[test]
fn a_second_daemon_does_not_start() {
    let swb = Swb::start(EXE);
    let output = in_time(swb.command(&["daemon"]).stderr(Stdio::piped()).spawn().expect("it starts"));
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("swb: "), "{}", text(&output.stderr));
    assert!(swb.try_status().is_some());
}

// ---- upgrade ----

#[test]
fn upgrade_replaces_the_daemon_under_running_sessions() {
    let swb = Swb::start(EXE);
    let pid = swb.script("main", "echo ready; exec cat");
    let daemon = swb.daemon_pid();
    let version = env!("CARGO_PKG_VERSION");
    let said = swb.ok(&["upgrade"]);
    assert_eq!(said, format!("Restarted the daemon, version {version} (pid {daemon}).\n"));
    for args in [&["upgrade"][..], &["upgrade", "--keeper"], &["upgrade", "--exe", EXE]] {
        let upgraded = swb.json(args);
        assert_eq!(upgraded["sessions"], 1, "{args:?}");
        assert_eq!((&upgraded["version"], &upgraded["previous"]), (&json!(version), &json!(version)));
    }
    assert!(is_alive(pid));
    swb.ok(&["send", "main", "still here", "--enter"]);
    wait_for("the echo", || {
        swb.ok(&["logs", "main"]).ends_with("still here\r\nstill here\r\n").then_some(())
    });
}

#[test]
fn upgrade_to_another_program_is_rejected() {
    let swb = Swb::start(EXE);
    let pid = swb.script("main", "exec cat");
    let daemon = swb.daemon_pid();
    let broken = swb.dir().join("broken");
    std::fs::write(&broken, "not a program").expect("a file");
    std::fs::set_permissions(&broken, PermissionsExt::from_mode(0o755)).expect("permissions");
    for exe in ["/no/such/file", "/etc/passwd", "/bin/true", broken.to_str().expect("text")] {
        let output = swb.run(&["upgrade", "--exe", exe]);
        assert_eq!(output.status.code(), Some(1), "{exe}: {}", text(&output.stdout));
        assert!(text(&output.stderr).starts_with("swb: "), "{exe}: {}", text(&output.stderr));
    }
    assert_eq!(swb.daemon_pid(), daemon);
    assert!(is_alive(pid));
    assert_eq!(swb.json(&["ls"])[0]["name"], "main");
}

#[test]
fn upgrade_with_an_invalid_configuration_is_rejected() {
    let swb = Swb::start(EXE);
    let (pid, daemon) = (swb.script("main", "exec cat"), swb.daemon_pid());
    swb.configure("[chat]\nbakend = \"x\"");
    let output = swb.run(&["upgrade"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    let said = text(&output.stderr);
    assert!(said.contains("bakend") && said.contains("the running daemon is unchanged"), "{said}");
    assert_eq!((swb.daemon_pid(), is_alive(pid)), (daemon, true));
}
// ---- a daemon that is not there ----

#[test]
fn a_command_starts_the_daemon_and_reports_it_once() {
    let swb = Swb::new(EXE);
    let output = in_time(
        swb.command(&["ls"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts"),
    );
    let pid = swb.daemon_pid();
    assert_eq!(text(&output.stderr), format!("swb: started the daemon (pid {pid})\n"));
    assert_eq!(text(&output.stdout), "No sessions. `swb run -- CMD` starts one.\n");
    for args in [&["ls"][..], &["status"], &["kill", "--all"]] {
        assert_eq!(text(&swb.run(args).stderr), "");
    }
    assert_eq!(swb.daemon_pid(), pid);
}

#[test]
fn of_concurrent_commands_one_starts_the_daemon() {
    let swb = Swb::new(EXE);
    let children: Vec<_> = (0..12)
        .map(|_| {
            swb.command(&["ls"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
        })
        .collect();
    let outputs: Vec<Output> = children.into_iter().map(in_time).collect();
    let said: Vec<String> =
        outputs.iter().map(|output| text(&output.stderr)).filter(|said| !said.is_empty()).collect();
    assert_eq!(said, [format!("swb: started the daemon (pid {})\n", swb.daemon_pid())]);
    for output in outputs {
        assert_eq!((output.status.code(), text(&output.stdout).starts_with("No sessions.")), (Some(0), true));
    }
    assert_eq!(keepers_in(swb.dir()).len(), 1);
}

#[test]
fn a_daemon_that_does_not_start_is_exit_code_4() {
    let swb = Swb::new(EXE);
    swb.configure("[coop]\nenabled = true\nenable = true\n");
    for args in [&["ls"][..], &["run", "--", "true"], &["attach", "x"], &["kill", "--all"]] {
        let output = swb.run(args);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(4), "{args:?}: {error}");
        assert!(error.starts_with("swb: the daemon exited on start"), "{error}");
        assert!(error.contains("\nhint: `swb daemon` shows more"), "{error}");
    }
    // Which shows the line.
    let output = swb.run(&["daemon"]);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(error.contains("line 3") && error.contains("enable"), "{error}");
    // A missing file is not the same as no file.
    let output = swb.run(&["status", "--config", "nowhere.toml"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("no configuration file nowhere.toml"), "{}", text(&output.stderr));
    // A good file somewhere else mends it, and the daemon that is started gets it too.
    let other = swb.dir().join("w/other.toml");
    std::fs::write(&other, "[coop]\nenabled = false\n").expect("a file");
    let output = swb.run(&["ls", "--config", "other.toml"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let dialects = swb.status()["dialects"].clone();
    let coop = dialects.as_array().expect("a list").iter().find(|dialect| dialect["name"] == "coop").cloned();
    assert_eq!(coop.expect("it is reported")["state"], "off");
}

#[test]
fn a_daemon_start_that_hangs_times_out_with_exit_code_4() {
    let swb = Swb::new(EXE);
    std::fs::create_dir_all(swb.paths().run_dir()).expect("a directory");
    // Another process is about to start the daemon and does not succeed.
    let lock = std::fs::File::create(swb.paths().run_dir().join("start.lock")).expect("a file");
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).expect("a lock");
    let began = Instant::now();
    let output = swb.run(&["ls"]);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{error}");
    assert!(
        error.contains("timed out waiting for another command to start the daemon")
            && error.contains("hint: "),
        "{error}"
    );
    assert!(began.elapsed() > Duration::from_secs(2), "2.5 s is what a start may take");
    drop(lock);
    assert!(swb.run(&["ls"]).status.success());
}

#[test]
fn a_daemon_that_does_not_reply_times_out() {
    let swb = Swb::new(EXE);
    std::fs::create_dir_all(swb.paths().run_dir()).expect("a directory");
    let silent = std::os::unix::net::UnixListener::bind(swb.paths().control_socket()).expect("a socket");
    let children = ["ls", "status", "shutdown"].map(|verb| {
        swb.command(&[verb]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
    });
    for output in children.map(in_time) {
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(
            error.contains("timed out waiting for the daemon to reply") && error.contains("hint: "),
            "{error}"
        );
    }
    drop(silent);
}

#[test]
fn without_a_runtime_directory_the_home_directory_is_used() {
    let swb = Swb::new(EXE);
    let without = |args: &[&str]| {
        let mut command = swb.command(args);
        command.env_remove("XDG_RUNTIME_DIR").env("TMPDIR", swb.dir());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        in_time(command.spawn().expect("it starts"))
    };
    let output = without(&["run", "-d", "-n", "main", "--", "sh", "-c", "echo ready; exec cat"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let run_dir = swb.dir().join("h/.local/state/switchboard/run");
    assert!(run_dir.join("control.sock").exists());
    assert_eq!(std::fs::metadata(&run_dir).expect("a directory").permissions().mode() & 0o777, 0o700);
    let mut command = swb.command(&["attach", "main"]);
    command.env_remove("XDG_RUNTIME_DIR").env("TMPDIR", swb.dir());
    let mut terminal = Terminal::start(command, 80, 24);
    terminal.until("ready");
    terminal.type_in(b"hello\r");
    terminal.until("hello\r\nhello\r\n");
    terminal.type_in(b"\x1d");
    assert_eq!(terminal.wait(), 0);
    // An empty variable is as good as none.
    let mut command = swb.command(&["ls", "--json"]);
    let output = command.env("XDG_RUNTIME_DIR", "").env("TMPDIR", swb.dir()).output().expect("it runs");
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).expect("JSON")[0]["name"], "main");
    assert!(without(&["shutdown", "--kill"]).status.success());
}

#[test]
fn a_missing_home_is_a_clear_error() {
    let swb = Swb::new(EXE);
    for args in [&["ls"][..], &["status"], &["daemon"], &[]] {
        let output = swb.command(args).env_remove("HOME").output().expect("it runs");
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output.stderr).contains("HOME is not set"), "{}", text(&output.stderr));
    }
    let output = swb.command(&["--help"]).env_remove("HOME").output().expect("it runs");
    assert!(output.status.success());
}

#[test]
fn a_socket_directory_of_another_user_is_rejected() {
    let swb = Swb::new(EXE);
    let elsewhere = swb.dir().join("elsewhere");
    std::fs::create_dir(&elsewhere).expect("a directory");
    std::os::unix::fs::symlink(&elsewhere, swb.paths().run_dir()).expect("a link");
    for verb in ["ls", "status", "shutdown", "run"] {
        let output = swb.run(&[verb]);
        assert_eq!(output.status.code(), Some(1), "{verb}");
        let error = text(&output.stderr);
        assert!(error.contains("is a symbolic link") && error.contains("hint: "), "{error}");
    }
    assert_eq!(std::fs::read_dir(&elsewhere).expect("a directory").count(), 0);
}

/// Whether a process ignores SIGTERM.
fn ignores_term(pid: i64) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).map(str::trim).unwrap_or("0");
    u64::from_str_radix(ignored, 16).is_ok_and(|mask| mask & (1 << 14) != 0)
}
