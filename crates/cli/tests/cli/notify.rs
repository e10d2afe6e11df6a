//! Notifications: `[notifications]`, `swb notify`, and what terminals, commands and a later daemon get.

use serde_json::Value;
use std::path::PathBuf;
use swb_testkit::{Swb, Terminal, text, wait_for};

const EXE: &str = env!("CARGO_BIN_EXE_swb");

/// A daemon with these settings, whose command writes each notification into a file.
fn notifying(settings: &str) -> (Swb, PathBuf) {
    let mut swb = Swb::new(EXE);
    let file = swb.dir().join("notifications");
    let command = format!("command = [\"sh\", \"-c\", \"cat >> '{}'\"]", file.display());
    swb.configure(&format!("[notifications]\n{command}\n{settings}\n"));
    swb.start_daemon();
    (swb, file)
}

fn hook(swb: &Swb, session: &str, state: &str) {
    let output = swb.command(&["hook", state]).env("SWB_SESSION", session).output().expect("it runs");
    assert!(output.status.success());
}

fn sent(file: &PathBuf) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// The first notification about a session that the command got.
fn about(file: &PathBuf, session: &str) -> Value {
    wait_for("a notification", || sent(file).into_iter().find(|one| one["session"] == session))
}

#[test]
fn an_agent_that_asks_notifies_terminals_and_the_command() {
    let (swb, file) = notifying("terminal = \"osc777\"");
    swb.script("other", "exec sleep 600");
    swb.script("main", "echo ready; exec sleep 600");
    let mut terminal = Terminal::start(swb.command(&["attach", "main"]), 80, 24);
    terminal.until("ready");
    hook(&swb, "other", "asking");
    terminal.until("\x1b]777;notify;swb;other is waiting for an answer\x1b\\");
    let one = about(&file, "other");
    assert_eq!(
        (&one["event"], &one["state"], &one["signal"]),
        (&"status".into(), &"asking".into(), &"hook".into())
    );
    assert_eq!((&one["notification"], &one["count"]), (&"asking".into(), &1.into()));
    assert_eq!(one["text"], "other is waiting for an answer");
    // It is the event that `swb events` shows, and continues there.
    let cursor = one["cursor"].as_str().expect("a cursor");
    assert!(cursor.contains('-'), "{cursor}");
    swb.ok(&["kill", "main"]);
    assert_eq!(about(&file, "main")["notification"], "ended");
}

#[test]
fn the_end_of_work_is_reported_with_its_duration() {
    let (swb, file) = notifying("finished_after = 0\nterminal = \"none\"");
    swb.script("main", "exec sleep 600");
    for state in ["ready", "working", "done"] {
        hook(&swb, "main", state);
        let shown = if state == "done" { "ready" } else { state };
        wait_for("the state", || (swb.json(&["explain", "main"])["state"] == shown).then_some(()));
    }
    let one = about(&file, "main");
    assert_eq!(one["notification"], "finished", "{one}");
    assert!(one["seconds"].as_u64().is_some(), "{one}");
    let text = one["text"].as_str().expect("a text");
    assert!(text.starts_with("main finished after "), "{text}");
}

#[test]
fn a_notification_waits_for_the_end_of_the_programs_sequence() {
    let (swb, file) = notifying("terminal = \"osc9\"");
    let script = r"stty raw -echo; printf 'ready\033]0;half'; dd bs=1 count=1 2>/dev/null >/dev/null; printf 'rest\007after'; exec sleep 600";
    swb.script("main", script);
    swb.script("other", "exec sleep 600");
    let mut terminal = Terminal::start(swb.command(&["attach", "main"]), 80, 24);
    terminal.until("ready");
    hook(&swb, "other", "asking");
    about(&file, "other");
    terminal.type_in(b"x");
    terminal.until("\x1b]9;swb: other is waiting for an answer\x1b\\");
    let seen = text(terminal.seen());
    let (end, notification) = (seen.rfind("rest\x07").expect("the rest"), seen.find("\x1b]9;").expect("it"));
    assert!(end < notification, "{seen:?}");
}

#[test]
fn muted_sessions_are_silent_also_after_a_crash() {
    let (swb, file) = notifying("terminal = \"none\"");
    for name in ["muted", "loud"] {
        swb.script(name, "exec sleep 600");
    }
    let said = swb.ok(&["notify", "mute", "muted", "--for", "1h"]);
    assert!(said.starts_with("No notifications about muted for "), "{said}");
    swb.kill_daemon();
    let status = wait_for("the next daemon", || swb.try_status().map(|_| swb.json(&["notify", "status"])));
    assert_eq!(status["muted"][0]["session"], "muted", "{status}");
    hook(&swb, "muted", "asking");
    hook(&swb, "loud", "asking");
    about(&file, "loud");
    assert!(sent(&file).iter().all(|one| one["session"] != "muted"));
    let status = swb.json(&["notify", "unmute", "muted"]);
    assert_eq!(status["muted"], false);
    hook(&swb, "muted", "working");
    hook(&swb, "muted", "asking");
    about(&file, "muted");
    let none = swb.run(&["notify", "mute", "nowhere"]);
    assert_eq!(none.status.code(), Some(3), "{}", text(&none.stderr));
}

#[test]
fn quiet_hours_silence_all_but_a_test() {
    let (swb, file) = notifying("quiet_hours = [\"00:00-24:00\"]\nterminal = \"none\"");
    swb.script("main", "exec sleep 600");
    let shown = swb.ok(&["notify"]);
    assert!(shown.contains("Quiet hours:  00:00-24:00 (now)") && shown.contains("command  sh"), "{shown}");
    hook(&swb, "main", "asking");
    let said = swb.ok(&["notify", "test"]);
    assert_eq!(said, "command (sh): sent\n");
    let all = sent(&file);
    assert_eq!((all.len(), &all[0]["notification"]), (1, &"test".into()), "{all:?}");
}

#[test]
fn a_failing_command_is_reported() {
    let mut swb = Swb::new(EXE);
    swb.configure("[notifications]\nterminal = \"none\"\ncommand = [\"/nowhere/program\"]\n");
    swb.start_daemon();
    let output = swb.run(&["notify", "test"]);
    let said = text(&output.stdout);
    assert!(output.status.code() == Some(1) && said.contains("not found"), "{said}");
    let status = swb.json(&["notify", "status"]);
    assert_eq!(status["means"][0]["failed"], 1, "{status}");
}

#[test]
fn wrong_settings_are_an_error() {
    let swb = Swb::new(EXE);
    swb.configure("[notifications]\nquiet_hours = [\"late\"]\n");
    let output = swb.run(&["daemon"]);
    let error = text(&output.stderr);
    assert!(!output.status.success() && error.contains("22:00-07:00"), "{error}");
}
