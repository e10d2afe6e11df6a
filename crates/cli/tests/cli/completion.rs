//! Completion in bash, zsh and fish: names come from the running daemon.

use crate::support::agents::{AGENT, start};
use rustix::process::Signal;
use serde_json::json;
use std::process::Command;
use swb_testkit::{LIMIT, Swb, Terminal, signal, text, wait_for};

const EXE: &str = env!("CARGO_BIN_EXE_swb");

/// What is offered for the last of these words; with `:` and a description, as in zsh.
#[track_caller]
fn offered(swb: &Swb, words: &[&str]) -> Vec<String> {
    let args = [&["--", "swb"], words].concat();
    let output = swb.command(&args).env("SWB_COMPLETE", "fish").output().expect("it runs");
    assert!(output.status.success() && output.stderr.is_empty(), "{words:?}: {}", text(&output.stderr));
    text(&output.stdout).lines().map(|line| line.split('\t').next().unwrap_or_default().to_owned()).collect()
}

/// A shell on a terminal, with `swb` in its PATH and completion set up.
fn shell(swb: &Swb, name: &str) -> Terminal {
    let program = swb.named("swb", &[]).get_program().to_owned();
    let dir = std::path::Path::new(&program).parent().expect("a directory").to_owned();
    let script = dir.join(format!("completion.{name}"));
    let path = format!("{}:{}", dir.display(), std::env::var("PATH").unwrap_or_default());
    let made = swb.named("swb", &["completions", name]).env("PATH", &path).output().expect("it runs");
    std::fs::write(&script, &made.stdout).expect("a file");
    let args: &[&str] = match name {
        "bash" => &["--norc", "--noprofile", "-i"],
        "zsh" => &["-f", "-i"],
        _ => &["--no-config", "-i"],
    };
    let mut command = swb.command(&[]);
    let mut shell = Command::new(name);
    shell.args(args).current_dir(&dir).env("PATH", path).env("PS1", "$ ");
    for (key, value) in command.env("INPUTRC", "/dev/null").get_envs() {
        match value {
            Some(value) if key != "PATH" => drop(shell.env(key, value)),
            _ if key != "PATH" => drop(shell.env_remove(key)),
            _ => {}
        }
    }
    let mut terminal = Terminal::start(shell, 120, 40);
    if name == "zsh" {
        terminal.type_in(b"autoload -U compinit; compinit -u -D\r");
    }
    // The text on the command line differs from what it prints.
    terminal.type_in(format!("source {}; echo se''t\r", script.display()).as_bytes());
    terminal.until("set");
    terminal
}

#[test]
fn a_tab_completes_the_name_of_a_session() {
    let swb = Swb::start(EXE);
    for name in ["bash", "zsh", "fish"] {
        for session in ["apple-pie", "apple-tart"] {
            swb.ok(&["run", "-d", "-n", session, "--", "sleep", "1000"]);
        }
        let mut terminal = shell(&swb, name);
        // `kill` takes whole names only, so the shell has completed it.
        terminal.type_in(b"swb kill apple-t\t");
        assert!(terminal.shows("apple-tart", LIMIT), "{name}: {}", text(terminal.seen()));
        terminal.type_in(b"\r");
        wait_for(&format!("{name} to kill the session"), || {
            swb.session("apple-tart").is_none().then_some(())
        });
        assert_eq!(swb.session("apple-pie").expect("it is listed")["status"], "running", "{name}");
        swb.ok(&["kill", "apple-pie"]);
        terminal.close();
    }
}

#[test]
fn every_kind_of_name_is_offered() {
    let swb = Swb::start(EXE);
    start(&swb, "asks", &["sh", "-c", AGENT], "ready");
    swb.ok(&["ask", "asks", "hello"]);
    swb.ok(&["run", "-d", "-n", "gone", "--", "true"]);
    wait_for("the end", || (swb.session("gone")?["status"] == "exited").then_some(()));
    swb.ok(&["token", "add", "--label", "tablet"]);
    let place = swb.workspace("place");
    swb.ok(&["workspace", "add", place.to_str().expect("text")]);
    for verb in ["attach", "shell", "send", "keys", "ask", "explain", "turns", "paste", "events", "record"] {
        assert_eq!(offered(&swb, &[verb, ""]), ["asks"], "{verb}");
    }
    for verb in ["kill", "logs", "screen", "wait"] {
        assert_eq!(offered(&swb, &[verb, ""]), ["asks", "gone"], "{verb}");
    }
    assert_eq!(offered(&swb, &["turn", "as"]), ["asks"]);
    assert_eq!(offered(&swb, &["turn", "asks:"]), ["asks:1"]);
    assert_eq!(offered(&swb, &["relay", "asks:1", ""]), ["asks"]);
    assert_eq!(offered(&swb, &["token", "revoke", ""]), ["tablet"]);
    assert_eq!(offered(&swb, &["token", "add", "--session", ""]), ["asks"]);
    assert_eq!(offered(&swb, &["run", "--profile", "cla"]), ["claude"]);
    assert!(offered(&swb, &["chat", "--agent", ""]).contains(&"shell".to_owned()));
    let offers = offered(&swb, &["run", "-w", ""]);
    assert!(
        offers.contains(&place.canonicalize().expect("a path").to_str().expect("text").to_owned()),
        "{offers:?}"
    );
    assert_eq!(offered(&swb, &["run", "--", "mkfif"]), ["mkfifo"]);
    assert_eq!(offered(&swb, &["at"]), ["attach"]);
    assert!(offered(&swb, &["attach", "--w"]).contains(&"--watch".to_owned()));
}

/// What bash would insert for the last word of a line that it has split into these words; a comma after each.
#[track_caller]
fn offered_in_bash(swb: &Swb, line: &str, words: &str, cword: usize, current: &str) -> String {
    let file = swb.dir().join("swb.bash");
    std::fs::write(&file, swb.ok(&["completions", "bash"])).expect("a file");
    let script = format!(
        ". \"$0\"; COMP_LINE='{line}' COMP_WORDS=({words}) COMP_CWORD={cword}; _swb swb '{current}' turn; \
         printf '%s,' \"${{COMPREPLY[@]}}\""
    );
    let mut bash = Command::new("bash");
    for (key, value) in swb.command(&[]).get_envs() {
        match value {
            Some(value) => drop(bash.env(key, value)),
            None => drop(bash.env_remove(key)),
        }
    }
    bash.args(["--norc", "-c", &script, file.to_str().expect("text")]).current_dir(swb.dir());
    let output = bash.output().expect("bash");
    assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn bash_completes_turns_although_it_splits_words_at_colons() {
    let swb = Swb::start(EXE);
    start(&swb, "asks", &["sh", "-c", AGENT], "ready");
    swb.ok(&["ask", "asks", "hello"]);
    let offered = |line: &str, words: &str, cword: usize, current: &str| {
        offered_in_bash(&swb, line, words, cword, current)
    };
    assert_eq!(offered("swb st", "swb st", 1, "st"), "status,");
    assert_eq!(offered("swb turn as", "swb turn as", 2, "as"), "asks,");
    assert_eq!(offered("swb turn asks:", "swb turn asks :", 3, ""), "1,");
    assert_eq!(offered("swb turn asks:1", "swb turn asks : 1", 4, "1"), "1,");
    assert_eq!(offered("swb tunnel --role=wa", "swb tunnel --role = wa", 4, "wa"), "watch,");
}

#[test]
fn bash_quotes_what_it_would_execute() {
    let swb = Swb::start(EXE);
    for name in ["x`id`", "y{a,b}!", "z *"] {
        // Clients of other programs may choose such names.
        let create =
            json!({"cmd": "create", "name": name, "workspace": swb.workspace(""), "argv": ["sleep", "1000"]});
        swb.control().ok(&create);
    }
    let offered =
        |word: &str| offered_in_bash(&swb, &format!("swb kill {word}"), &format!("swb kill {word}"), 2, word);
    assert_eq!(offered("x"), "x\\`id\\`,");
    assert_eq!(offered("y"), "y\\{a\\,b\\}\\!,");
    // The star matches no file of the directory.
    assert_eq!(offered("z"), "z\\ \\*,");
}

#[test]
fn names_that_mean_something_to_a_shell_or_to_swb_are_left_out() {
    let swb = Swb::start(EXE);
    for name in ["--all", "x\u{202e}y", "a;id", "a$(id)", "plain"] {
        let create =
            json!({"cmd": "create", "name": name, "workspace": swb.workspace(""), "argv": ["sleep", "1000"]});
        swb.control().ok(&create);
    }
    // `kill --all` ends every session.
    assert_eq!(offered(&swb, &["kill", ""]), ["a$(id)", "a;id", "plain"]);
    // It inserts candidates as they are.
    let mut powershell = swb.command(&["--", "swb", "kill", ""]);
    let output = powershell.env("SWB_COMPLETE", "powershell").output().expect("it runs");
    assert_eq!(text(&output.stdout).split('\t').next(), Some("plain"), "{output:?}");
}

#[test]
fn completion_starts_no_daemon_and_waits_for_none_that_hangs() {
    let swb = Swb::new(EXE);
    assert_eq!(offered(&swb, &["attach", "--wat"]), ["--watch"]);
    assert!(offered(&swb, &["kill", "a"]).is_empty());
    assert!(!swb.paths().control_socket().exists(), "nothing was started for it");
    let swb = Swb::start(EXE);
    swb.script("main", "sleep 1000");
    assert_eq!(offered(&swb, &["attach", "ma"]), ["main"]);
    let daemon = swb.daemon_pid();
    signal(daemon, Signal::STOP);
    assert!(offered(&swb, &["attach", "ma"]).is_empty(), "it did not wait for the daemon");
    signal(daemon, Signal::CONT);
}
