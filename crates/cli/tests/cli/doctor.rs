//! `swb doctor`.

use rustix::process::Signal;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::{Duration, Instant};
use swb_testkit::{Swb, Terminal, signal, text};

const EXE: &str = env!("CARGO_BIN_EXE_swb");

/// A doctor with programs of the test alone.
fn doctor(swb: &Swb, arguments: &[&str]) -> Command {
    let bin = swb.workspace("bin");
    let mut command = swb.command(&[&["doctor"], arguments].concat());
    command.env("PATH", format!("{}:/usr/bin:/bin", bin.display())).env("LANG", "C.UTF-8");
    command
}

fn report(swb: &Swb) -> (Value, Option<i32>) {
    let output = doctor(swb, &["--json"]).output().unwrap();
    let report = serde_json::from_slice(&output.stdout);
    (report.unwrap_or_else(|error| panic!("{error}: {}", text(&output.stdout))), output.status.code())
}

/// The findings of one name.
fn named<'a>(report: &'a Value, name: &str) -> Vec<&'a Value> {
    report["checks"].as_array().unwrap().iter().filter(|check| check["name"] == name).collect()
}

fn install(swb: &Swb, name: &str, script: &str) {
    let file = swb.workspace("bin").join(name);
    std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn a_machine_without_a_daemon_has_no_problem() {
    let swb = Swb::new(EXE);
    let (report, code) = report(&swb);
    assert_eq!((&report["ok"], &report["problems"], code), (&true.into(), &0.into(), Some(0)), "{report}");
    assert!(named(&report, "daemon")[0]["message"].as_str().unwrap().starts_with("not running"), "{report}");
    for name in ["runtime directory", "state directory", "configuration", "linger", "web port", "landlock"] {
        assert_eq!(named(&report, name).len(), 1, "{name}: {report}");
    }
    // Nothing was changed.
    assert!(!swb.paths().run_dir().exists() && !swb.paths().state_dir().exists());
    assert!(swb.try_status().is_none());
}

#[test]
fn the_daemon_the_keeper_and_the_agents_are_described() {
    let swb = Swb::start(EXE);
    install(&swb, "claude", "echo '2.0.1 (Claude Code)'");
    install(&swb, "codex", "echo broken >&2; exit 3");
    install(&swb, "gemini", "sleep 600");
    let began = Instant::now();
    let (found, code) = report(&swb);
    assert!(began.elapsed() < Duration::from_secs(25), "one agent that hangs does not hold it up");
    assert_eq!(code, Some(0), "{found}");
    let version = env!("CARGO_PKG_VERSION");
    let daemon = format!("pid {}, version {version}, 0 sessions", swb.daemon_pid());
    assert_eq!(named(&found, "daemon")[0]["message"], daemon.as_str());
    assert_eq!(
        named(&found, "keeper")[0]["message"],
        format!("pid {}, version {version}", swb.keeper_pid()).as_str()
    );
    let claude = named(&found, "claude")[0];
    assert_eq!(claude["status"], "ok");
    assert!(claude["message"].as_str().unwrap().starts_with("2.0.1 (Claude Code) ("), "{claude}");
    for (agent, what) in [("codex", "failed"), ("gemini", "not replied")] {
        let finding = named(&found, agent)[0];
        assert_eq!(finding["status"], "warning");
        assert!(finding["message"].as_str().unwrap().contains(what), "{finding}");
    }
    let hint = |found: &Value| named(found, "hooks")[0]["hint"].clone();
    assert_eq!(hint(&found), "`swb integration install claude`");
    swb.ok(&["integration", "install", "claude", "--yes"]);
    install(&swb, "gemini", "echo 1");
    assert_eq!(hint(&report(&swb).0), Value::Null);
}

#[test]
fn no_program_of_the_current_directory_is_run() {
    let swb = Swb::new(EXE);
    let repository = swb.workspace("repository");
    let file = repository.join("claude");
    std::fs::write(&file, format!("#!/bin/sh\ntouch {}/ran\n", swb.dir().display())).unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
    // An agent of the user finds nothing there either that it could take for its settings.
    install(&swb, "codex", "pwd");
    let bin = swb.workspace("bin");
    for path in [".:", "", "bin/..:"] {
        let mut command = doctor(&swb, &["--json"]);
        command.env("PATH", format!("{path}:{}:/usr/bin:/bin", bin.display())).current_dir(&repository);
        let report: Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
        assert!(!swb.dir().join("ran").exists(), "{path:?}");
        assert_eq!(named(&report, "codex")[0]["message"].as_str().unwrap().split(' ').next(), Some("/"));
    }
}

#[test]
fn a_daemon_that_hangs_is_a_problem_and_is_not_waited_for() {
    let mut swb = Swb::start(EXE);
    let pid = i64::from(swb.daemon().id());
    signal(pid, Signal::STOP);
    let began = Instant::now();
    let (report, code) = report(&swb);
    signal(pid, Signal::CONT);
    // The keeper may have replaced it meanwhile; then the reply came in time.
    if code == Some(1) {
        let finding = named(&report, "daemon")[0];
        assert_eq!(finding["status"], "problem");
        assert!(finding["message"].as_str().unwrap().contains("timed out"), "{finding}");
    }
    assert!(began.elapsed() < Duration::from_secs(25));
}

#[test]
fn a_broken_configuration_and_home_are_problems() {
    let swb = Swb::new(EXE);
    std::fs::create_dir_all(swb.paths().config_dir()).unwrap();
    std::fs::write(swb.paths().config_file(), "[daemon]\nnope = 1\n").unwrap();
    std::fs::write(swb.paths().home.join(".local"), "a file").unwrap();
    let (report, code) = report(&swb);
    assert_eq!((code, &report["problems"]), (Some(1), &2.into()), "{report}");
    for (name, what) in [("configuration", "nope"), ("state directory", "is not a directory")] {
        let finding = named(&report, name)[0];
        assert!(finding["message"].as_str().unwrap().contains(what), "{finding}");
        assert!(finding["hint"].is_string());
    }
}

#[test]
fn a_terminal_shows_the_report_in_any_size() {
    let swb = Swb::new(EXE);
    for (cols, rows, term) in [(80, 24, "xterm-256color"), (20, 5, "dumb")] {
        let mut command = doctor(&swb, &[]);
        command.env("TERM", term);
        let mut terminal = Terminal::start(command, cols, rows);
        assert_eq!(terminal.wait(), 0);
        let shown = text(terminal.seen());
        assert!(shown.contains("No problems, "), "{shown}");
        assert!(shown.contains(&format!("{cols}x{rows}")), "{shown}");
        assert_eq!(shown.contains("\x1b["), term != "dumb", "colours only where they are shown: {shown:?}");
    }
}
