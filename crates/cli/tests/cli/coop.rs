//! The program called as `coop`: the commands and exit codes its users know.

use crate::support::view::until_text;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use swb_testkit::{QUIET, Swb, Terminal, in_time, is_alive, text, wait_for};

const EXE: &str = env!("CARGO_BIN_EXE_swb");

/// Leaves a session.
const CTRL_BRACKET: &[u8] = b"\x1d";

// ---- coop alone ----

// CO-26, CO-28
#[test]
fn coop_alone_starts_or_attaches_the_agent_of_this_directory() {
    let swb = Swb::start(EXE);
    let dir = workspace(&swb, "project", "echo \"agent of $COOP_SESSION in $COOP_WORKSPACE\"; exec cat");
    let mut terminal = Terminal::start(coop(&swb, &dir, &[]), 80, 24);
    terminal.until(&format!("agent of project in {}\r\n", dir.display()));
    terminal.type_in(b"hello\r");
    terminal.until("hello\r\nhello\r\n");
    terminal.type_in(CTRL_BRACKET);
    assert_eq!(terminal.wait(), 0);
    assert!(shown(&terminal).ends_with("[detached]\r\n"), "{}", shown(&terminal));

    terminal.next(coop(&swb, &dir, &[]));
    terminal.until("agent of project");
    until_text(&mut terminal, "hello\nhello");
    terminal.type_in(b"again\r");
    terminal.until("again\r\nagain\r\n");
    assert_eq!(list(&swb).len(), 1);
    terminal.type_in(b"\x1b[93;5u");
    assert_eq!(terminal.wait(), 0);
}

#[test]
fn the_agent_gets_the_users_environment() {
    let mut swb = Swb::new(EXE);
    swb.start_daemon_with(|command| {
        command.env("PATH", "/nowhere").env("TERM", "of-the-daemon");
    });
    let dir = workspace(&swb, "project", r#"echo "<$MINE|$TERM|$(pwd -P)|$(umask)|$(stty size)>""#);
    let mut command = swb.shell("umask 037; exec \"$COOP\"");
    let program = coop(&swb, &dir, &[]);
    command.env("COOP", program.get_program()).env("MINE", "my own").env("TERM", "vt220").current_dir(&dir);
    let mut terminal = Terminal::start(command, 71, 19);
    assert_eq!(terminal.wait(), 0);
    assert_eq!(shown(&terminal).trim_end(), format!("<my own|vt220|{}|0037|19 71>", dir.display()));
}

#[test]
fn the_agents_exit_code_is_passed_on() {
    let swb = Swb::start(EXE);
    for (script, code) in [("exit 0", 0), ("exit 42", 42), ("kill -9 $$", 137)] {
        let dir = workspace(&swb, "project", script);
        assert_eq!(run(&swb, &dir, &[]).status.code(), Some(code), "{script}");
    }
}

// CO-62
#[test]
fn a_restarted_agent_keeps_its_attached_client() {
    let swb = Swb::start(EXE);
    let dir = swb.workspace("project");
    let coopfile = "[agent]\ncommand = \"/bin/sh\"\nargs = [\"-c\", \"echo agent $$; read line\"]\n\
                    [session]\nrestart_delay_ms = 1\n";
    trusted(&swb, &dir, coopfile);
    let mut terminal = Terminal::start(coop(&swb, &dir, &[]), 80, 24);
    terminal.until("agent ");
    let first = pid(&swb, "project");
    terminal.until(&format!("agent {first}\r\n"));
    terminal.type_in(b"\r");
    let second =
        wait_for("another agent", || Some(pid(&swb, "project")).filter(|pid| *pid != first && *pid != 0));
    terminal.until(&format!("agent {second}\r\n"));
    terminal.type_in(CTRL_BRACKET);
    assert_eq!(terminal.wait(), 0);
}

#[test]
fn an_agent_that_cannot_be_started_is_an_error() {
    let swb = Swb::start(EXE);
    let dir = swb.workspace("project");
    trusted(&swb, &dir, "[agent]\ncommand = \"/no/such/agent\"\n");
    let output = run(&swb, &dir, &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).starts_with("coop: cannot start '/no/such/agent'"),
        "{}",
        text(&output.stderr)
    );
    std::fs::write(dir.join("coop.toml"), "[agent\n").expect("a file");
    let output = run(&swb, &dir, &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("coop.toml"), "{}", text(&output.stderr));
    assert_eq!(list(&swb), Vec::<Value>::new());
}

// CO-31, CO-47
#[test]
fn a_tunnel_needs_a_session_that_exists() {
    let swb = Swb::start(EXE);
    let output = run(&swb, swb.dir(), &["tunnel", "x"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).starts_with("coop: no session named 'x'"), "{}", text(&output.stderr));
}

// CO-42
#[test]
fn serve_prints_an_address() {
    let swb = Swb::start(EXE);
    let output = run(&swb, swb.dir(), &["serve", "--port", "0", "--token", "mine"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let address = text(&output.stdout);
    assert!(address.contains("http://127.0.0.1:") && address.contains("/?token=mine"), "{address}");
}

// ---- attach and shell ----

// CO-30
#[test]
fn attach_takes_a_name_a_path_or_this_directory() {
    let swb = Swb::start(EXE);
    let dir = workspace(&swb, "project", "echo here is the agent; exec cat");
    let elsewhere = swb.workspace("elsewhere");
    background(&swb, &dir);
    let path = dir.to_str().expect("text");
    for (from, args) in
        [(&elsewhere, &["attach", "project"][..]), (&elsewhere, &["attach", path]), (&dir, &["attach"])]
    {
        let mut terminal = Terminal::start(coop(&swb, from, args), 80, 24);
        terminal.until("here is the agent");
        terminal.type_in(CTRL_BRACKET);
        assert_eq!(terminal.wait(), 0, "{args:?}");
    }
    for args in [&["attach", "nobody"][..], &["attach", "/no/such/workspace"], &["attach"]] {
        let output = run(&swb, &elsewhere, args);
        assert_eq!(output.status.code(), Some(3), "{args:?}");
        assert!(text(&output.stderr).starts_with("coop: no session"), "{}", text(&output.stderr));
    }
    assert_eq!(run(&swb, &dir, &["attach", "--pty", "4"]).status.code(), Some(1));
}

// CO-36
#[test]
fn shell_attaches_to_a_running_one_unless_a_new_one_is_requested() {
    let swb = Swb::start(EXE);
    let dir = workspace(&swb, "project", "exec cat");
    background(&swb, &dir);
    let mut first = Terminal::start(coop(&swb, &dir, &["shell"]), 80, 24);
    first.type_in(b"X=6; echo $((X * 7))\r");
    first.until("42");
    let mut second = Terminal::start(coop(&swb, &dir, &["shell", "project"]), 80, 24);
    second.until("42");
    second.type_in(b"echo $((X * 9))\r");
    second.until("54");
    first.until("54");
    let mut third = Terminal::start(coop(&swb, &dir, &["shell", "--new"]), 80, 24);
    third.type_in(b"echo \"<$X>\"\r");
    third.until("<>");
    third.type_in(b"exit 13\r");
    assert_eq!(third.wait(), 13);
    first.type_in(b"exit 12\r");
    assert_eq!((first.wait(), second.wait()), (12, 12));
    let mut fourth = Terminal::start(coop(&swb, &dir, &["shell", "--command", "cat"]), 80, 24);
    fourth.type_in(b"echoed\r");
    fourth.until("echoed\r\nechoed\r\n");
    assert_eq!(run(&swb, &dir, &["shell", "nobody"]).status.code(), Some(3));
}

#[test]
fn a_shell_can_be_attached_to_by_its_number() {
    let swb = Swb::start(EXE);
    let dir = workspace(&swb, "project", "exec cat");
    background(&swb, &dir);
    let shell = Terminal::start(coop(&swb, &dir, &["shell", "--command", "cat"]), 80, 24);
    wait_for("the shell", || (swb.session("project")?["ptys"].as_array()?.len() == 2).then_some(()));
    shell.type_in(b"shared\r");
    let mut terminal = Terminal::start(coop(&swb, &dir, &["attach", "project", "--pty", "1"]), 80, 24);
    terminal.until("shared");
    terminal.type_in(CTRL_BRACKET);
    assert_eq!(terminal.wait(), 0);
}

#[test]
fn the_configured_detach_key_works() {
    let swb = Swb::start(EXE);
    swb.configure("[cli]\ndetach_key = \"C-x\"\n");
    let dir = workspace(&swb, "project", "stty raw -echo; echo ready; exec cat");
    let mut terminal = Terminal::start(coop(&swb, &dir, &[]), 80, 24);
    terminal.until("ready");
    terminal.forget();
    terminal.type_in(b"\x1da");
    terminal.until("\x1da");
    terminal.type_in(b"\x18");
    assert_eq!(terminal.wait(), 0);
}

// ---- looking and ending ----

// CO-37
#[test]
fn ls_shows_running_sessions() {
    let swb = Swb::start(EXE);
    let dir = workspace(&swb, "project", "exec cat");
    assert!(text(&run(&swb, &dir, &["ls"]).stdout).starts_with("No sessions."));
    background(&swb, &dir);
    swb.run(&["run", "-n", "over", "--", "true"]);
    for verb in ["ls", "list"] {
        let output = run(&swb, &dir, &[verb]);
        let shown = text(&output.stdout);
        assert!(output.status.success() && shown.contains("project") && !shown.contains("over"), "{shown}");
    }
    let output = run(&swb, &dir, &["ls", "--json"]);
    let sessions: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(sessions.as_array().expect("a list").len(), 1);
    assert_eq!((&sessions[0]["name"], &sessions[0]["status"]), (&json!("project"), &json!("running")));
}

// CO-40, CO-41
#[test]
fn kill_ends_sessions() {
    let swb = Swb::start(EXE);
    let dirs = ["a", "b", "c"].map(|name| workspace(&swb, name, "exec cat"));
    let pids = dirs.each_ref().map(|dir| {
        background(&swb, dir);
        pid(&swb, dir.file_name().and_then(|name| name.to_str()).expect("a name"))
    });
    let here = swb.workspace("");
    assert_eq!(text(&run(&swb, &here, &["kill", "a"]).stdout), "Killed session a\n");
    assert!(!is_alive(pids[0]) && is_alive(pids[1]));
    assert_eq!(run(&swb, &here, &["kill", "a"]).status.code(), Some(3));
    let path = dirs[1].to_str().expect("text");
    assert!(run(&swb, &here, &["kill", "--force", path]).status.success());
    assert!(!is_alive(pids[1]) && is_alive(pids[2]));
    assert!(run(&swb, &here, &["kill", "--all"]).status.success());
    assert!(!is_alive(pids[2]));
    assert_eq!(list(&swb), Vec::<Value>::new());
    assert_eq!(run(&swb, &here, &["kill"]).status.code(), Some(2));
}

// CO-51
#[test]
fn logs_show_what_the_agent_wrote() {
    let swb = Swb::start(EXE);
    let dir = workspace(&swb, "project", "echo one; echo two; read line; echo three");
    background(&swb, &dir);
    wait_for("its output", || text(&run(&swb, &dir, &["logs"]).stdout).contains("two").then_some(()));
    assert_eq!(text(&run(&swb, &dir, &["logs"]).stdout), "one\r\ntwo\r\n");
    assert_eq!(text(&run(&swb, &dir, &["logs", "project", "--tail", "1"]).stdout), "two\r\n");
    let follower = coop(&swb, &dir, &["logs", "-f"]).stdout(Stdio::piped()).spawn().expect("it starts");
    wait_for("the follower", || (swb.session("project")?["clients"] == 1).then_some(()));
    swb.ok(&["send", "project", "", "--enter"]);
    assert_eq!(text(&in_time(follower).stdout), "one\r\ntwo\r\n\r\nthree\r\n");
    assert_eq!(run(&swb, &dir, &["logs", "nobody"]).status.code(), Some(3));
}

// CO-51
#[test]
fn restart_restarts_the_agent() {
    let swb = Swb::start(EXE);
    let dir = workspace(&swb, "project", "echo agent; exec cat");
    background(&swb, &dir);
    let first = pid(&swb, "project");
    let output = run(&swb, &dir, &["restart"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let second = pid(&swb, "project");
    assert!(!is_alive(first) && is_alive(second));
    assert!(text(&output.stdout).ends_with(&format!("(pid {second})\n")), "{}", text(&output.stdout));
    let output = run(&swb, &dir, &["restart", "project", "--json"]);
    let restarted: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(restarted, json!({"session": "project", "pty": 0, "pid": pid(&swb, "project")}));
    assert_eq!(run(&swb, &dir, &["restart", "nobody"]).status.code(), Some(3));
}

// CO-51
#[test]
fn the_terminals_of_a_session_can_be_listed_and_ended() {
    let swb = Swb::start(EXE);
    let dir = workspace(&swb, "project", "exec cat");
    background(&swb, &dir);
    let mut shell = Terminal::start(coop(&swb, &dir, &["shell", "--command", "cat"]), 80, 24);
    wait_for("the shell", || (swb.session("project")?["ptys"].as_array()?.len() == 2).then_some(()));
    let output = run(&swb, &dir, &["session", "ls", "--json"]);
    let terminals: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(terminals["session"], "project");
    assert_eq!(
        (&terminals["ptys"][0]["role"], &terminals["ptys"][1]["role"]),
        (&json!("agent"), &json!("shell"))
    );
    let shown_list = text(&run(&swb, &dir, &["session", "ls", "project"]).stdout);
    assert!(shown_list.starts_with("PTY  ROLE   PID"), "{shown_list}");
    assert!(run(&swb, &dir, &["session", "kill", "1"]).status.success());
    assert_eq!(shell.wait(), 143);
    assert_eq!(run(&swb, &dir, &["session", "kill", "1", "-s", "project"]).status.code(), Some(1));
    assert_eq!(run(&swb, &dir, &["session", "ls", "nobody"]).status.code(), Some(3));
}

#[test]
fn status_shows_whether_a_daemon_runs() {
    let mut swb = Swb::new(EXE);
    let here = swb.workspace("");
    let output = run(&swb, &here, &["status"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).starts_with("No daemon is running."));
    swb.start_daemon();
    let output = run(&swb, &here, &["status"]);
    assert!(output.status.success());
    assert!(
        text(&output.stdout).starts_with(&format!("daemon    pid {}", swb.daemon_pid())),
        "{}",
        text(&output.stdout)
    );
    let output = run(&swb, &here, &["status", "--json"]);
    assert_eq!(
        serde_json::from_slice::<Value>(&output.stdout).expect("JSON")["daemon"]["pid"],
        swb.daemon_pid()
    );
}

// CO-48, XS-6
#[test]
fn shutdown_ends_the_daemon_and_no_session() {
    let mut swb = Swb::start(EXE);
    let dir = workspace(&swb, "project", "echo the agent; exec cat");
    background(&swb, &dir);
    let agent = pid(&swb, "project");
    assert!(run(&swb, &dir, &["shutdown"]).status.success());
    wait_for("its end", || swb.daemon().try_wait().expect("a child"));
    assert!(is_alive(agent));
    let mut terminal = Terminal::start(coop(&swb, &dir, &[]), 80, 24);
    terminal.until("coop: started the daemon (pid ");
    terminal.until("the agent");
    assert_eq!(pid(&swb, "project"), agent);
}

// ---- no daemon yet ----

#[test]
fn a_command_starts_the_daemon_and_reports_it_once() {
    let swb = Swb::new(EXE);
    let here = swb.workspace("");
    let child =
        coop(&swb, &here, &["ls"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let output = in_time(child);
    assert_eq!(text(&output.stderr), format!("coop: started the daemon (pid {})\n", swb.daemon_pid()));
    assert_eq!(text(&run(&swb, &here, &["ls"]).stderr), "");
    assert!(swb.paths().coop_socket().exists());
}

#[test]
fn a_daemon_that_does_not_start_is_exit_code_4() {
    let swb = Swb::new(EXE);
    swb.configure("nonsense = 1\n");
    let here = swb.workspace("");
    for args in [&["ls"][..], &["attach", "x"], &["kill", "x"], &["logs", "x"], &[]] {
        let output = run(&swb, &here, args);
        assert_eq!(output.status.code(), Some(4), "{args:?}: {}", text(&output.stderr));
        assert!(
            text(&output.stderr).starts_with("coop: the daemon exited on start"),
            "{}",
            text(&output.stderr)
        );
    }
}

#[test]
fn coop_can_run_the_daemon() {
    let swb = Swb::new(EXE);
    let mut daemon = swb.named("coop", &["daemon"]);
    let mut daemon = daemon.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    wait_for("its sockets", || swb.try_status());
    assert_eq!(swb.daemon_pid(), i64::from(daemon.id()));
    swb.ok(&["shutdown"]);
    assert!(wait_for("its end", || daemon.try_wait().expect("a child")).success());
}

// ---- help and wrong usage ----

#[test]
fn every_verb_has_help_and_wrong_usage_is_exit_code_2() {
    let swb = Swb::new(EXE);
    let here = swb.workspace("");
    let help = text(&run(&swb, &here, &["--help"]).stdout);
    for verb in ["attach", "shell", "ls", "kill", "shutdown", "logs", "status", "restart", "session"] {
        assert!(help.contains(verb), "{verb}");
        let output = run(&swb, &here, &[verb, "--help"]);
        assert!(output.status.success() && text(&output.stdout).contains("Usage: coop "), "{verb}");
    }
    let version = text(&run(&swb, &here, &["--version"]).stdout);
    assert_eq!(version, format!("coop {}\n", env!("CARGO_PKG_VERSION")));
    for args in
        [&["nonsense"][..], &["ls", "x"], &["attach", "--pty", "x"], &["session"], &["session", "kill"]]
    {
        let output = run(&swb, &here, args);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), String::new()), "{args:?}");
    }
    assert!(!swb.paths().control_socket().exists(), "nothing was started for it");
}

#[test]
fn swb_and_coop_share_sessions() {
    let swb = Swb::start(EXE);
    let dir = swb.workspace("project");
    swb.ok(&["run", "-d", "-n", "mine", "-w", "project", "--", "sh", "-c", "echo made by swb; exec cat"]);
    let mut terminal = Terminal::start(coop(&swb, &dir, &["attach", "mine"]), 80, 24);
    terminal.until("made by swb");
    terminal.type_in(CTRL_BRACKET);
    assert_eq!(terminal.wait(), 0);
    // It does not take the place of this directory's agent (CO-22).
    trusted(&swb, &dir, &coopfile("echo made by coop; exec cat"));
    let mut terminal = Terminal::start(coop(&swb, &dir, &[]), 80, 24);
    terminal.until("made by coop");
    assert!(!terminal.shows("made by swb", QUIET));
    assert_eq!(list(&swb).len(), 2);
}

// ---- helpers ----

/// A workspace whose agent is a shell script that is not started again.
fn workspace(swb: &Swb, name: &str, script: &str) -> PathBuf {
    let dir = swb.workspace(name);
    trusted(swb, &dir, &coopfile(script));
    dir
}

/// Writes a directory's Coopfile, which the user trusts.
fn trusted(swb: &Swb, dir: &Path, coopfile: &str) {
    std::fs::write(dir.join("coop.toml"), coopfile).expect("a file");
    swb.ok(&["trust", "--yes", dir.to_str().expect("a path")]);
}

fn coopfile(script: &str) -> String {
    let script = toml_string(script);
    format!("[agent]\ncommand = \"/bin/sh\"\nargs = [\"-c\", {script}]\n[session]\nauto_restart = false\n")
}

fn toml_string(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\""))
}

fn coop(swb: &Swb, dir: &Path, args: &[&str]) -> Command {
    let mut command = swb.named("coop", args);
    command.current_dir(dir);
    command
}

fn run(swb: &Swb, dir: &Path, args: &[&str]) -> Output {
    coop(swb, dir, args).output().expect("it runs")
}

/// Starts a directory's agent and leaves it alone.
#[track_caller]
fn background(swb: &Swb, dir: &Path) {
    swb.coop().ok(&json!({"cmd": "create", "workspace": dir}));
}

fn list(swb: &Swb) -> Vec<Value> {
    swb.json(&["ls", "--running"]).as_array().expect("a list").clone()
}

#[track_caller]
fn pid(swb: &Swb, session: &str) -> i64 {
    swb.session(session).expect("it is there")["pid"].as_i64().expect("a pid")
}

fn shown(terminal: &Terminal) -> String {
    text(terminal.seen())
}
