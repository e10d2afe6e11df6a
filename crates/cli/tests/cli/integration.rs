//! `swb integration`: hooks in the agents' own configuration files.

use std::path::PathBuf;
use std::process::Command;
use swb_testkit::{Swb, Terminal, text, wait_for};

const EXE: &str = env!("CARGO_BIN_EXE_swb");

/// Variables that would lead to the configuration of the user who runs the tests.
const FOREIGN: [&str; 4] = ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_CONFIG_HOME"];

fn command(swb: &Swb, args: &[&str]) -> Command {
    let mut command = swb.command(&[&["integration"], args].concat());
    for variable in FOREIGN {
        command.env_remove(variable);
    }
    command
}

fn said(swb: &Swb, args: &[&str]) -> String {
    let output = command(swb, args).output().expect("it runs");
    assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn settings(swb: &Swb, content: &str) -> PathBuf {
    let path = swb.paths().home.join(".claude/settings.json");
    std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
    std::fs::write(&path, content).expect("the settings");
    path
}

#[test]
fn the_change_is_shown_and_made_after_a_yes() {
    let swb = Swb::new(EXE);
    let before = "{\n  \"theme\": \"dark\"\n}\n";
    let path = settings(&swb, before);
    let mut terminal = Terminal::start(command(&swb, &["install", "claude"]), 120, 40);
    terminal.until("[y/N] ");
    let shown = text(terminal.seen());
    assert!(shown.contains("\x1b[32m+  \"hooks\": {") && shown.contains("hook --event"), "{shown}");
    terminal.type_in(b"n\r");
    assert_eq!(terminal.wait(), 1);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), before, "no means no");
    let mut terminal = Terminal::start(command(&swb, &["install", "claude"]), 120, 40);
    terminal.until("[y/N] ");
    terminal.type_in(b"y\r");
    terminal.until("claude: installed");
    assert_eq!(terminal.wait(), 0);
    assert!(said(&swb, &["status"]).contains("installed"));
    assert_eq!(said(&swb, &["install", "claude", "--yes"]), "claude: already installed\n");
    said(&swb, &["uninstall", "claude", "--yes"]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
}

#[test]
fn a_script_confirms_or_only_looks() {
    let swb = Swb::new(EXE);
    let path = settings(&swb, "{}");
    let output = command(&swb, &["install", "claude"]).output().expect("it runs");
    assert!(!output.status.success() && text(&output.stderr).contains("--yes"), "{}", text(&output.stderr));
    let shown: serde_json::Value =
        serde_json::from_str(&said(&swb, &["install", "claude", "--dry-run", "--json"])).expect("JSON");
    assert_eq!((&shown[0]["changed"], &shown[0]["dry_run"]), (&true.into(), &true.into()), "{shown}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{}");
    let all = ["claude", "codex", "gemini", "opencode"];
    said(&swb, &[&["install", "--yes"][..], &all].concat());
    let status: serde_json::Value = serde_json::from_str(&said(&swb, &["status", "--json"])).expect("JSON");
    let agents = status.as_array().expect("a list");
    assert_eq!(agents.len(), 4);
    assert!(agents.iter().all(|agent| agent["state"] == "installed"), "{status}");
    said(&swb, &[&["uninstall", "--yes"][..], &all].concat());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{}");
    assert!(!swb.paths().home.join(".codex/config.toml").exists());
    assert!(swb.try_status().is_none(), "no daemon is started");
}

#[test]
fn a_broken_file_is_reported_and_not_touched() {
    let swb = Swb::new(EXE);
    let path = settings(&swb, "{ \"hooks\": ");
    let output = command(&swb, &["install", "claude", "--yes"]).output().expect("it runs");
    let error = text(&output.stderr);
    assert!(!output.status.success() && error.contains("settings.json was not changed"), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{ \"hooks\": ");
    assert!(said(&swb, &["status", "claude"]).contains("unknown"));
}

/// The hooks run as the agent would run them.
#[test]
fn an_installed_hook_reports_the_state() {
    let swb = Swb::start(EXE);
    settings(&swb, "{}");
    said(&swb, &["install", "claude", "--yes"]);
    let file = std::fs::read_to_string(swb.paths().home.join(".claude/settings.json")).unwrap();
    let settings: serde_json::Value = serde_json::from_str(&file).expect("JSON");
    let hook = settings["hooks"]["PermissionRequest"][0]["hooks"][0]["command"].as_str().expect("a command");
    swb.script("main", "exec sleep 600");
    let event = r#"{"hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"ls"}}"#;
    let output =
        swb.shell(&format!("echo '{event}' | {hook}")).env("SWB_SESSION", "main").output().expect("it runs");
    assert!(output.status.success() && output.stdout.is_empty() && output.stderr.is_empty());
    let state = wait_for("the state", || {
        let state = swb.json(&["explain", "main"]);
        (state["state"] == "asking").then_some(state)
    });
    assert_eq!(state["signal"], "hook");
}
