//! Screens: every client that attaches later sees what the program has drawn, even after a crash of the daemon.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use swb_testkit::{LIMIT, ScreenClient, Swb};
use swb_types::Size;
use swb_vt::{Options, Screen};

mod commands;
mod hostile;
mod lag;
mod memory;
mod programs;
mod questions;
mod recordings;
mod seam;
mod sizes;
mod window;

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

/// A session's screen with all of its scrollback, as the daemon knows it, and the place in the output it is of.
#[track_caller]
fn known(swb: &Swb, session: &str) -> (Screen, u64) {
    let ask = json!({"cmd": "screen", "session": session, "format": "snapshot", "scrollback": 100_000});
    let answer = swb.control().ok(&ask);
    let side = |key: &str| u16::try_from(answer[key].as_u64().unwrap()).unwrap();
    let mut screen = Screen::new(Size::new(side("cols"), side("rows")).unwrap(), Options::default());
    screen.feed(&data(&answer));
    (screen, answer["offset"].as_u64().unwrap())
}

/// The bytes in an answer.
fn data(answer: &Value) -> Vec<u8> {
    STANDARD.decode(answer["data"].as_str().unwrap()).unwrap()
}

/// Waits until a text is on a session's screen.
#[track_caller]
fn wait_for_text(swb: &Swb, session: &str, text: &str) {
    let wait =
        json!({"cmd": "wait", "session": session, "text": text, "timeout_ms": LIMIT.as_millis() as u64});
    let answer = swb.control().ok(&wait);
    assert_eq!(answer["met"], "text", "{text:?} is not there: {:?}", known(swb, session).0.text());
}

/// Requires that a client that attaches now sees what `observer` sees, which has got every byte.
#[track_caller]
fn assert_newcomer_sees_the_same(swb: &Swb, session: &str, observer: &mut ScreenClient, when: &str) {
    let mut late = ScreenClient::with(swb, session, &json!({"repaint": true, "watch": true}));
    late.until("a picture", |client| client.pictures() > 0);
    observer.read_to(late.offset());
    late.assert_same(observer, when);
}
