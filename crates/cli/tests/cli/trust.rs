//! `swb trust`: a directory's coop.toml decides what a session runs only after the user has approved its content.

use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Output;
use swb_testkit::{Swb, Terminal};

const EXE: &str = env!("CARGO_BIN_EXE_swb");

/// A directory with a Coopfile that creates a file in it when it is run.
fn repository(swb: &Swb) -> PathBuf {
    let dir = swb.workspace("project");
    write(&dir, "touch pwned");
    dir
}

fn write(dir: &Path, script: &str) {
    let args = json!(["-c", script]);
    let text = format!("[agent]\ncommand = \"/bin/sh\"\nargs = {args}\n[session]\nauto_restart = false\n");
    fs::write(dir.join("coop.toml"), text).unwrap();
}

/// Runs the program in a directory to its end.
fn in_dir(swb: &Swb, dir: &Path, args: &[&str]) -> Output {
    swb.command(args).current_dir(dir).output().unwrap()
}

fn coop(swb: &Swb, dir: &Path) -> Output {
    swb.named("coop", &[]).current_dir(dir).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn list(swb: &Swb) -> Value {
    swb.json(&["trust", "--list"])
}

#[test]
fn an_untrusted_coopfile_does_not_run() {
    let swb = Swb::start(EXE);
    let dir = repository(&swb);
    let output = coop(&swb, &dir);
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    assert!(said.contains("coop.toml decides what this session runs, and is not trusted"), "{said}");
    assert!(said.contains(&format!("`swb trust {}`", dir.display())), "{said}");
    let create = json!({"cmd": "create", "workspace": dir});
    assert_eq!(swb.control().error(&create), "NOT_TRUSTED");
    assert!(!dir.join("pwned").exists());
    assert_eq!(swb.json(&["ls"]), json!([]));

    let shown = swb.json(&["trust", "--yes", dir.to_str().unwrap()]);
    assert_eq!((&shown["command"], &shown["args"][1]), (&json!("/bin/sh"), &json!("touch pwned")));
    assert_eq!(coop(&swb, &dir).status.code(), Some(0));
    assert!(dir.join("pwned").exists());
}

#[test]
fn a_changed_coopfile_is_no_longer_trusted() {
    let swb = Swb::start(EXE);
    let dir = repository(&swb);
    swb.ok(&["trust", "--yes", "project"]);
    write(&dir, "touch worse");
    let said = stderr(&coop(&swb, &dir));
    assert!(said.contains("has changed since you trusted it"), "{said}");
    assert!(!dir.join("worse").exists());
    write(&dir, "touch pwned");
    assert_eq!(coop(&swb, &dir).status.code(), Some(0), "what was trusted is trusted again");
    // The same content in another directory is another decision.
    let other = swb.workspace("other");
    write(&other, "touch pwned");
    assert_eq!(coop(&swb, &other).status.code(), Some(1));
}

#[test]
fn environment_and_arguments_need_trust_and_other_settings_do_not() {
    let swb = Swb::start(EXE);
    let dir = swb.workspace("project");
    let create = |text: Option<&str>| {
        let request = json!({"cmd": "create", "name": "x", "workspace": dir, "coopfile": text});
        let mut client = swb.control();
        let reply = client.ask(&request);
        if reply["ok"] == true {
            client.ok(&json!({"cmd": "kill", "session": "x", "force": true}));
        }
        reply["error"].as_str().unwrap_or("ok").to_owned()
    };
    let mine = "[agent]\ncommand = \"/bin/cat\"\nargs = []\n";
    for (text, given, expected) in [
        ("[env]\nPATH = \"/tmp/evil\"\n", None, "NOT_TRUSTED"),
        ("[env]\nPATH = \"/tmp/evil\"\n", Some(mine), "NOT_TRUSTED"),
        ("[agent]\nargs = [\"-c\", \"id\"]\n", None, "NOT_TRUSTED"),
        ("[sandbox]\nagent = \"/bin/id\"\n", None, "NOT_TRUSTED"),
        // The request replaces the command.
        ("[agent]\ncommand = \"/bin/id\"\nargs = [\"x\"]\n", Some(mine), "ok"),
        ("[session]\nauto_restart = false\n", None, "ok"),
        ("", None, "ok"),
    ] {
        fs::write(dir.join("coop.toml"), text).unwrap();
        assert_eq!(create(given), expected, "{text}");
    }
}

#[test]
fn explicit_commands_and_the_users_own_coopfile_need_no_trust() {
    let swb = Swb::start(EXE);
    let dir = repository(&swb);
    let default = swb.paths().home.join(".config/coop/default.toml");
    fs::create_dir_all(default.parent().unwrap()).unwrap();
    fs::write(
        default,
        "[agent]\ncommand = \"/bin/sh\"\nargs = [\"-c\", \"touch mine\"]\n[session]\nauto_restart = false\n",
    )
    .unwrap();
    let run = in_dir(&swb, &dir, &["run", "--", "sh", "-c", "exit 7"]);
    assert_eq!(run.status.code(), Some(7), "{}", stderr(&run));
    let plain = swb.workspace("plain");
    assert_eq!(coop(&swb, &plain).status.code(), Some(0));
    assert!(plain.join("mine").exists());
    assert!(!dir.join("pwned").exists());
}

// CO-26: the protocol has no such step, and its clients ask their users themselves.
#[test]
fn clients_of_coops_socket_are_not_asked() {
    let swb = Swb::start(EXE);
    let dir = swb.workspace("project");
    write(&dir, "exec cat");
    swb.coop().ok(&json!({"cmd": "create", "workspace": dir}));
    assert_eq!(swb.session("project").unwrap()["status"], "running");
}

#[test]
fn a_running_session_does_not_read_its_coopfile_again() {
    let swb = Swb::start(EXE);
    let dir = swb.workspace("project");
    write(&dir, "echo first; exec cat");
    swb.ok(&["trust", "--yes", "project"]);
    swb.control().ok(&json!({"cmd": "create", "workspace": dir}));
    write(&dir, "echo second; exec cat");
    swb.ok(&["upgrade"]);
    swb.control().ok(&json!({"cmd": "restart", "session": "project"}));
    swb.ok(&["wait", "project", "--text", "first\\s+first"]);
}

#[test]
fn the_user_is_asked_on_a_terminal() {
    let swb = Swb::start(EXE);
    let dir = repository(&swb);
    let asked = |answer: &[u8], code| {
        let mut command = swb.command(&["trust"]);
        command.current_dir(&dir);
        let mut terminal = Terminal::start(command, 100, 30);
        terminal.until("/bin/sh -c 'touch pwned'");
        terminal.until("Trust this file? [y/N] ");
        terminal.type_in(answer);
        assert_eq!(terminal.wait(), code);
    };
    asked(b"\r", 1);
    asked(b"n\r", 1);
    assert_eq!(list(&swb), json!([]));
    asked(b"y\r", 0);
    assert_eq!(list(&swb)[0]["directory"], json!(dir));
}

#[test]
fn without_a_terminal_yes_is_needed() {
    let swb = Swb::new(EXE);
    let dir = repository(&swb);
    fs::write(dir.join("coop.toml"), "# \u{9b}2J\u{202e}\n[agent]\ncommand = \"id\\u001b[2J\"\n").unwrap();
    let output = in_dir(&swb, &dir, &["trust"]);
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    assert!(said.contains(r"# \u{9b}2J\u{202e}") && said.contains(r#"command = "id\u001b[2J""#), "{said}");
    assert!(!said.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "{said:?}");
    assert!(said.contains("hint: read it, then run `swb trust --yes`"), "{said}");
    assert_eq!(list(&swb), json!([]));
    assert!(!swb.paths().control_socket().exists(), "no daemon is needed");
}

#[test]
fn trust_is_listed_and_revoked() {
    let swb = Swb::start(EXE);
    let dir = repository(&swb);
    let link = swb.dir().join("w/link");
    std::os::unix::fs::symlink(&dir, &link).unwrap();
    swb.ok(&["trust", "--yes", "link"]);
    let digest = list(&swb)[0]["sha256"].as_str().unwrap().to_owned();
    assert_eq!((digest.len(), &list(&swb)[0]["directory"]), (64, &json!(dir)), "the real path");
    assert!(swb.ok(&["trust", "--list"]).contains(&format!("trusted  {digest}")));
    assert_eq!(list(&swb)[0]["state"], "trusted");
    let text = fs::read_to_string(dir.join("coop.toml")).unwrap();
    fs::write(dir.join("coop.toml"), "# other\n").unwrap();
    assert_eq!(list(&swb)[0]["state"], "changed");
    fs::remove_file(dir.join("coop.toml")).unwrap();
    assert_eq!(list(&swb)[0]["state"], "missing");
    fs::write(dir.join("coop.toml"), text).unwrap();
    let file = swb.paths().trust_list();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(swb.json(&["trust", "--revoke", "project"]), json!({"directory": dir}));
    assert_eq!(list(&swb), json!([]));
    assert_eq!(coop(&swb, &dir).status.code(), Some(1));
    let again = in_dir(&swb, &dir, &["trust", "--revoke"]);
    assert_eq!(again.status.code(), Some(1));
    assert!(stderr(&again).contains("is not trusted"));
    // A directory that is gone can be revoked, too.
    swb.ok(&["trust", "--yes", "project"]);
    fs::remove_dir_all(&dir).unwrap();
    swb.ok(&["trust", "--revoke", "project"]);
    assert_eq!(list(&swb), json!([]));
}

#[test]
fn a_list_that_others_can_write_trusts_nothing() {
    let swb = Swb::start(EXE);
    let dir = repository(&swb);
    swb.ok(&["trust", "--yes", "project"]);
    let file = swb.paths().trust_list();
    fs::set_permissions(&file, PermissionsExt::from_mode(0o666)).unwrap();
    assert_eq!(coop(&swb, &dir).status.code(), Some(1));
    assert!(!dir.join("pwned").exists());
}

#[test]
fn files_that_cannot_be_run_cannot_be_trusted() {
    let swb = Swb::new(EXE);
    let dir = swb.workspace("project");
    let refused = |why: &str| {
        let output = in_dir(&swb, &dir, &["trust", "--yes"]);
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains(why), "{}", stderr(&output));
    };
    refused("coop.toml: No such file");
    fs::write(dir.join("coop.toml"), "[agent\n").unwrap();
    refused("TOML parse error");
    fs::write(dir.join("coop.toml"), "#".repeat((1 << 20) + 1)).unwrap();
    refused("longer than");
    fs::remove_file(dir.join("coop.toml")).unwrap();
    let pipe = swb.shell("mkfifo coop.toml").current_dir(&dir).status().unwrap();
    assert!(pipe.success());
    refused("is not a regular file");
    assert_eq!(list(&swb), json!([]));
}

#[test]
fn an_agent_cannot_trust() {
    let swb = Swb::new(EXE);
    let dir = repository(&swb);
    let output =
        swb.command(&["trust", "--yes"]).env("SWB_CONNECTION", "99").current_dir(&dir).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("an agent may not decide what is trusted"));
    assert_eq!(list(&swb), json!([]));
}
