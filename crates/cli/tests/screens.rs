//! Screens: what a program has drawn is what everybody sees who comes later, whatever happened meanwhile.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use swb_testkit::{ScreenClient, Swb};

#[path = "screens/programs.rs"]
mod programs;
#[path = "screens/questions.rs"]
mod questions;
#[path = "screens/recordings.rs"]
mod recordings;
#[path = "screens/seam.rs"]
mod seam;

const EXE: &str = env!("CARGO_BIN_EXE_swb");

/// Makes a session in a directory of its own that starts when the first terminal comes.
#[track_caller]
fn waiting(swb: &Swb, name: &str, argv: &[&str], (cols, rows): (u16, u16)) -> PathBuf {
    let workspace = swb.workspace(name);
    swb.control().ok(&json!({
        "cmd": "create", "name": name, "workspace": workspace, "argv": argv, "env": environment(&workspace),
        "cols": cols, "rows": rows, "start": "writer",
    }));
    workspace
}

/// Makes a session in a directory of its own that runs a shell script at once, at 80 columns and 24 rows.
#[track_caller]
fn script(swb: &Swb, name: &str, script: &str) -> PathBuf {
    let workspace = swb.workspace(name);
    let argv = ["/bin/sh", "-c", script];
    swb.control().ok(&json!({
        "cmd": "create", "name": name, "workspace": workspace, "argv": argv, "env": environment(&workspace),
        "cols": 80, "rows": 24,
    }));
    workspace
}

/// The environment that programs have, the same on every machine.
fn environment(home: &Path) -> Value {
    json!({
        "HOME": home, "PATH": std::env::var("PATH").unwrap(), "TERM": "xterm-256color", "LANG": "C.UTF-8",
        "TMUX_TMPDIR": home, "PS1": "\\[\\e[32m\\]\\w\\[\\e[m\\] \\$ ", "SHELL": "/bin/bash",
    })
}

/// The newest offset of a session's output.
fn head(swb: &Swb, session: &str) -> u64 {
    swb.session(session).unwrap()["offset"].as_u64().unwrap()
}

/// The sizes of the screens that the keeper holds for a daemon to come.
fn stored_sizes(swb: &Swb) -> Vec<(u64, u64)> {
    let held = std::fs::read_dir(format!("/proc/{}/fd", swb.keeper_pid())).unwrap();
    let is_screen = |path: &PathBuf| {
        std::fs::read_link(path).is_ok_and(|target| target.to_string_lossy().contains("swb-screen"))
    };
    let stored = held.flatten().map(|entry| entry.path()).filter(is_screen);
    let heads = stored.filter_map(|path| std::fs::read(path).ok()).filter_map(|bytes| {
        let head: Value = serde_json::from_slice(bytes.split(|byte| *byte == b'\n').next()?).ok()?;
        Some((head["cols"].as_u64()?, head["rows"].as_u64()?))
    });
    heads.collect()
}

/// Insists that somebody who comes now sees what `observer` sees, who has got every byte.
#[track_caller]
fn assert_newcomer_sees_the_same(swb: &Swb, session: &str, observer: &mut ScreenClient, when: &str) {
    let late = ScreenClient::with(swb, session, &json!({"repaint": true, "watch": true}));
    assert_same_from_here(late, observer, when);
}

/// Insists that a newcomer sees what `observer` sees: in its first picture, and in what follows.
#[track_caller]
fn assert_same_from_here(mut late: ScreenClient, observer: &mut ScreenClient, when: &str) {
    late.until("a picture", |client| client.pictures() > 0);
    observer.read_to(late.offset());
    late.assert_same(observer, when);
}
