//! Logs, the configuration file, and the exit of an idle daemon.

use super::*;
use rustix::process::Signal;
use serde_json::json;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use swb_testkit::{LIMIT, keepers_in, signal, wait_for};
use swb_wire::keepty::KeeptyRole;

// A full disk costs log lines and nothing else.
#[test]
fn the_daemon_runs_with_a_full_log_disk() {
    let swb = Swb::new(EXE);
    configure(&swb, "[daemon]\nlog_level = \"trace\"\n");
    let log = swb.paths().daemon_log();
    std::fs::create_dir_all(log.parent().unwrap()).unwrap();
    symlink("/dev/full", &log).unwrap();
    // Its standard error is that file; the next one opens it itself.
    swb.ok(&["run", "-d", "-n", "one", "--", "cat"]);
    let daemon = swb.daemon_pid();
    use_it(&swb);
    assert_eq!(swb.daemon_pid(), daemon);
    swb.kill_daemon();
    let daemon = swb.daemon_pid();
    use_it(&swb);
    assert_eq!(swb.daemon_pid(), daemon);
    assert_eq!(swb.status()["daemon"]["restarts"], 1);
    swb.ok(&["upgrade"]);
    use_it(&swb);
    assert_eq!(swb.daemon_pid(), daemon);
}

#[test]
fn the_daemon_runs_without_a_writable_log() {
    for spoil in ["h/.local/state/switchboard/daemon.log/directory", "h/.local/state/switchboard"] {
        let swb = Swb::new(EXE);
        let spoil = swb.dir().join(spoil);
        std::fs::create_dir_all(spoil.parent().unwrap()).unwrap();
        std::fs::write(&spoil, "").unwrap();
        swb.ok(&["run", "-d", "-n", "one", "--", "cat"]);
        use_it(&swb);
        swb.kill_daemon();
        use_it(&swb);
    }
}

// A closed or full standard error of a daemon in the foreground, too.
#[test]
fn the_daemon_runs_with_a_blocked_standard_error() {
    let mut swb = Swb::new(EXE);
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    swb.start_daemon_with(|command| {
        command.stderr(full);
    });
    swb.script("one", "cat");
    let daemon = swb.daemon_pid();
    use_it(&swb);
    assert_eq!(swb.daemon_pid(), daemon);
    signal(daemon, Signal::TERM);
    assert_eq!(swb.daemon().wait().unwrap().code(), Some(0));
}

// XS-8, XS-13: what goes through a terminal, or is in an environment, is on no disk and in no log.
#[test]
fn session_content_is_never_logged_or_stored() {
    let secrets =
        ["env-secret-4711", "out-secret-4711", "in-secret-4711", "sent-secret-4711", "coopfile-secret"];
    let [variable, output, input, sent, coopfile] = secrets;
    let mut swb = Swb::new(EXE);
    configure(&swb, "[daemon]\nlog_level = \"trace\"\n");
    swb.start_daemon_with(|command| {
        command.env("DAEMON_VARIABLE", "env-secret-4711-daemon");
    });
    let script = "echo $0 $VARIABLE; exec cat";
    let create = json!({"cmd": "create", "name": "one", "workspace": "/", "argv": ["/bin/sh", "-c", script, output],
        "env": {"VARIABLE": variable, "PATH": "/usr/bin:/bin"}});
    swb.control().ok(&create);
    let coopfile = format!("[agent]\ncommand = 'cat'\n[env]\nTOKEN = '{coopfile}'");
    swb.coop().ok(&json!({"cmd": "create", "name": "two", "workspace": "/", "coopfile": coopfile}));
    for round in 0..2 {
        let mut client = swb.attach("one");
        client.until(variable);
        client.type_in(format!("{input}\n").as_bytes());
        client.until(input);
        swb.ok(&["send", "one", sent, "--enter"]);
        client.until(sent);
        let mut writer = swb.keepty("one", KeeptyRole::Writer, 90, 30);
        writer.ack();
        writer.type_in(format!("{input}\n").as_bytes());
        // Bad input is logged, if at all, without what it was.
        writer.send_raw(format!("\0\0\0\u{20}{input}{input}{input}").as_bytes());
        swb.coop().error(&json!({"cmd": "create", "workspace": input, "name": sent}));
        if round == 0 {
            swb.kill_daemon();
        }
    }
    swb.ok(&["shutdown"]);
    assert!(swb.paths().daemon_log().metadata().unwrap().len() > 0, "the second daemon has written a log");
    let mut files = Vec::new();
    all_files(swb.dir(), &mut files);
    assert!(files.iter().any(|file| file.ends_with("daemon.log")));
    for file in files {
        let content = std::fs::read(&file).unwrap();
        for secret in secrets {
            let found = content.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!found, "{secret} is in {}", file.display());
        }
    }
}

#[test]
fn a_configuration_error_is_reported_with_its_line() {
    let swb = Swb::new(EXE);
    configure(&swb, "[coop]\nenabled = true\nenable = false\n");
    let file = swb.paths().config_file();
    let daemon = swb.run(&["daemon"]);
    let error = said(&daemon);
    assert_eq!(daemon.status.code(), Some(1));
    for word in [file.to_str().unwrap(), "line 3", "enable"] {
        assert!(error.contains(word), "{word} is not in {error}");
    }
    // A command that would have started it passes that on, with the code for it.
    let list = swb.run(&["ls"]);
    assert_eq!(list.status.code(), Some(4), "{}", said(&list));
    let error = said(&list);
    assert!(error.contains("daemon"), "{error}");
    let missing = swb.run(&["daemon", "--config", "/nowhere/config.toml"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(said(&missing).contains("/nowhere/config.toml"), "{}", said(&missing));
    assert_eq!(keepers_in(swb.dir()), Vec::<i64>::new());
}

// XS-1: each front can be switched off.
#[test]
fn fronts_can_be_switched_off() {
    for (off, on) in [("coop", "keepty"), ("keepty", "coop")] {
        let mut swb = Swb::new(EXE);
        configure(&swb, &format!("[{off}]\nenabled = false\n"));
        swb.start_daemon();
        assert_eq!((state(&swb, off), state(&swb, on)), ("off".to_owned(), "listening".to_owned()));
        swb.script("one", "cat");
        assert_eq!(swb.paths().coop_socket().exists(), off != "coop");
        assert_eq!(swb.paths().keepty_socket("one").exists(), off != "keepty");
    }
    // Our own command line needs neither.
    let mut swb = Swb::new(EXE);
    configure(&swb, "[coop]\nenabled = false\n[keepty]\nenabled = false\n");
    swb.start_daemon();
    swb.ok(&["run", "-d", "-n", "one", "--", "cat"]);
    use_it(&swb);
}

// XS-10: only a daemon that another command has started ends by itself.
#[test]
fn an_idle_daemon_exits_only_if_started_automatically() {
    let explicit = Swb::start(EXE);
    let busy = Swb::new(EXE);
    busy.ok(&["run", "-d", "-n", "one", "--", "cat"]);
    let idle = Swb::new(EXE);
    idle.ok(&["run", "-d", "-n", "one", "--", "true"]);
    let (daemon, keeper) = (idle.daemon_pid(), idle.keeper_pid());
    let began = Instant::now();
    // Half a minute is what it waits.
    let end = began + Duration::from_secs(30) + LIMIT;
    while is_alive(daemon) {
        assert!(Instant::now() < end, "it does not end");
        std::thread::park_timeout(Duration::from_millis(100));
    }
    assert!(began.elapsed() > Duration::from_secs(25), "it ended after {:?}", began.elapsed());
    wait_for("the keeper's end", || (!is_alive(keeper)).then_some(()));
    assert!(!idle.paths().control_socket().exists() && !idle.paths().coop_socket().exists());
    assert_eq!(explicit.status()["daemon"]["auto"], false);
    assert_eq!((&busy.status()["daemon"]["auto"], &busy.status()["sessions"]), (&json!(true), &json!(1)));
}

/// Insists that session `one`, which runs `cat`, can be used in every way.
#[track_caller]
fn use_it(swb: &Swb) {
    swb.ok(&["send", "one", "typed", "--enter"]);
    let mut client = swb.control();
    client.ok(&json!({"cmd": "attach", "session": "one"}));
    client.until("typed");
    // Enough of it to be logged.
    for _ in 0..20 {
        let mut client = swb.control();
        client.error(&json!({"cmd": "attach", "session": "none"}));
    }
}

fn configure(swb: &Swb, content: &str) {
    let file = swb.paths().config_file();
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, content).unwrap();
}

fn all_files(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            all_files(&entry.path(), files);
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
}
