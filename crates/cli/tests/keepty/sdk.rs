//! The published Python SDK of keepty as a client, unchanged: `support/keepty_sdk.py` uses it, each test runs
//! one of its checks in an installation of its own.

use std::path::{Path, PathBuf};
use std::process::Command;
use swb_testkit::Swb;

// KP-20, KP-21, KP-23, KP-26, KP-30, KP-49
#[test]
fn start_connect_and_type() {
    check("start_connect_and_type");
}

// KP-21, KP-42
#[test]
fn the_first_output_is_not_missed() {
    check("the_first_output_is_not_missed");
}

// KP-13, KP-14, KP-49
#[test]
fn start_reports_what_is_wrong() {
    check("start_reports_what_is_wrong");
}

// KP-24, KP-49
#[test]
fn shell_and_directory() {
    check("shell_and_directory");
}

// KP-34
#[test]
fn resize() {
    check("resize");
}

// KP-16
#[test]
fn list_sessions() {
    check("list_sessions");
}

// KP-26, KP-27, KP-29, KP-30, KP-31
#[test]
fn monitor_and_watcher_look_on() {
    check("monitor_and_watcher_look_on");
}

// KP-42, KP-43, KP-44
#[test]
fn exit_codes() {
    check("exit_codes");
}

// KP-39, KP-40, KP-41, KP-50
#[test]
fn stop() {
    check("stop");
}

// KP-30
#[test]
fn a_mebibyte_of_old_output() {
    check("a_mebibyte_of_old_output");
}

// KP-30, KP-32
#[test]
fn screen() {
    check("screen");
}

/// Runs one check. The daemon is started by the SDK's first call of the program, as a user would have it.
#[track_caller]
fn check(name: &str) {
    let python = python();
    let swb = Swb::new(env!("CARGO_BIN_EXE_swb"));
    // The surroundings of a call, with the program under its other name where the SDK looks for it.
    let keepty = swb.named("keepty", &[]);
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/keepty_sdk.py");
    let mut command = Command::new(python);
    command.arg(program).arg(name).current_dir(swb.dir());
    for (key, value) in keepty.get_envs() {
        match value {
            Some(value) => command.env(key, value),
            None => command.env_remove(key),
        };
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs = std::iter::once(swb.dir().to_owned()).chain(std::env::split_paths(&path));
    command.env("PATH", std::env::join_paths(dirs).expect("a path"));
    let output = command.output().expect("Python runs");
    assert!(output.status.success(), "{name}: {}{}", String::from_utf8_lossy(&output.stderr), swb.log());
}

/// Python with the SDK, which `scripts/python-venv.sh` installs if it is not there.
fn python() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let script = root.join("scripts/python-venv.sh");
    let output = Command::new(&script).output().expect("scripts/python-venv.sh runs");
    assert!(
        output.status.success(),
        "these tests need the keepty SDK: run scripts/python-venv.sh and see why it fails:\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    root.join(".venv/bin/python")
}
