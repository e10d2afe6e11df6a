//! `swb chat` as users and scripts run it: on a terminal, with `-m`, in pipes.

use crate::support::chat_server::Server;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::process::{Output, Stdio};
use swb_testkit::{CoopClient, Swb, Terminal, scripted_agent, signal, wait_for};

const EXE: &str = env!("CARGO_BIN_EXE_swb");

const ENTER: &str = "\r";
const CTRL_C: &[u8] = b"\x03";
const CTRL_D: &[u8] = b"\x04";
const CTRL_O: &[u8] = b"\x0f";

fn scripted() -> Swb {
    Swb::scripted(EXE, "")
}

/// A terminal in which a user chats.
fn terminal(swb: &Swb, args: &[&str]) -> Terminal {
    let mut terminal = Terminal::start(swb.command(&[&["chat"], args].concat()), 90, 30);
    terminal.until("› ");
    terminal
}

/// Sends a prompt; what was shown before is forgotten.
fn say(terminal: &mut Terminal, text: &str) {
    terminal.forget();
    terminal.type_in(text.as_bytes());
    terminal.type_in(ENTER.as_bytes());
}

/// Sends a prompt and waits for the end of the answer.
fn ask(terminal: &mut Terminal, text: &str) {
    say(terminal, text);
    terminal.until("— ");
}

fn leave(terminal: &mut Terminal) {
    terminal.type_in(CTRL_D);
    assert_eq!(terminal.wait(), 0);
    terminal.assert_modes_restored();
}

fn shown(terminal: &Terminal) -> String {
    String::from_utf8_lossy(terminal.seen()).into_owned()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn answer(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The events of `--json`.
fn events(output: &Output) -> Vec<Value> {
    let text = answer(output);
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

// ---- one prompt, one answer ----

#[test]
fn only_the_answer_is_printed() {
    let swb = scripted();
    let told = swb.run(&["chat", "-m", "say:# A **title**\\n;tool:read:main.rs;say:text"]);
    assert_eq!((answer(&told).as_str(), said(&told).as_str()), ("# A **title**\n\ntext\n", ""));
    assert_eq!(told.status.code(), Some(0));
    let watched = swb.run(&["chat", "-v", "-m", "tool:read:main.rs;say:text"]);
    assert_eq!(answer(&watched), "text\n");
    assert!(said(&watched).contains("✓ ") && said(&watched).contains("main.rs"), "{}", said(&watched));
}

#[test]
fn the_latest_session_of_the_directory_continues_by_default() {
    let swb = scripted();
    let first = swb.ok(&["chat", "-m", "session"]);
    let again = swb.run(&["chat", "-m", "session"]);
    let second = String::from_utf8_lossy(&again.stdout).into_owned();
    let (name, number) = second.trim().split_once(' ').expect("a name and a number");
    assert!(first.trim() == format!("{name} 1") && number == "2", "{first} {second}");
    let reported = said(&again);
    let talk = reported.strip_prefix("[continues conversation ").and_then(|rest| rest.split_once(", "));
    let (talk, rest) = talk.unwrap_or_else(|| panic!("{reported}"));
    assert_eq!(rest, "in which scripted answers; --new starts another]\n");
    assert_eq!(said(&swb.run(&["chat", talk, "-m", "session"])), "", "the user has named it");
    assert!(swb.ok(&["chat", "--new", "-m", "session"]).trim().ends_with(" 1"));
    let other = swb.workspace("other");
    let other = other.to_str().expect("UTF-8");
    assert!(swb.ok(&["chat", "-C", other, "-m", "session"]).trim().ends_with(" 1"));
    assert_eq!(swb.ok(&["chat", "-C", other, "-m", "cwd"]).trim(), other);
}

#[test]
fn a_session_in_use_is_reported() {
    let swb = scripted();
    swb.ok(&["chat", "used", "--new", "-m", "say:x"]);
    let _owner = terminal(&swb, &["used"]);
    let told = swb.run(&["chat", "--json", "-m", "say:x"]);
    let name = events(&told)[0]["session"].as_str().expect("a name").to_owned();
    assert_eq!(said(&told), format!("[new conversation {name}, because used is in use]\n"));
}

#[test]
fn prompts_come_from_standard_input() {
    let swb = scripted();
    let run = |script: &str| answer(&swb.shell(script).output().expect("it runs"));
    assert_eq!(run("echo say:piped | $SWB chat"), "piped\n");
    assert_eq!(run("echo say:piped | $SWB chat -m -"), "piped\n");
    assert_eq!(
        run("printf 'some\\nfile\\nprompt' | $SWB chat -m 'look at this:'"),
        "look at this:\n\nsome\nfile\nprompt\n"
    );
    let odd = swb.shell("printf 'say:a\\377b' | $SWB chat").output().expect("it runs");
    assert_eq!(answer(&odd), "a\u{fffd}b\n");
    assert!(said(&odd).contains("not valid UTF-8"), "{}", said(&odd));
    let nothing = swb.shell("printf ' \\n' | $SWB chat").output().expect("it runs");
    assert_eq!(nothing.status.code(), Some(2), "{}", said(&nothing));
}

#[test]
fn json_output_is_events_and_then_the_result() {
    let swb = scripted();
    let told = swb.run(&["chat", "--json", "-m", "think:hm;say:one,;tool:read:main.rs;say:two;cost:10,5"]);
    let events = events(&told);
    let of = |kind: &str| events.iter().filter(|event| event["event"] == kind).collect::<Vec<_>>();
    assert_eq!(of("session").len(), 1);
    assert_eq!(of("thought")[0]["text"], "hm");
    let text: String = of("text").iter().filter_map(|event| event["text"].as_str()).collect();
    assert_eq!(text, "one,\n\ntwo");
    assert_eq!((&of("tool_call")[0]["id"], of("tool_call").len()), (&of("tool_result")[0]["id"], 1));
    let result = events.last().expect("a result");
    assert_eq!(
        (&result["event"], &result["status"], &result["text"]),
        (&json!("result"), &json!("completed"), &json!("one,\n\ntwo"))
    );
    assert_eq!(result["usage"]["total_tokens"], 15, "{result}");
    assert_eq!((told.status.code(), said(&told).as_str()), (Some(0), ""));
}

#[test]
fn without_a_terminal_approvals_are_denied_by_default() {
    let swb = scripted();
    let permit = |args: &[&str]| answer(&swb.run(&[&["chat", "-m", "permit:rm -rf x"], args].concat()));
    assert_eq!(permit(&[]), "permit: no\n");
    assert_eq!(permit(&["--no"]), "permit: no\n");
    assert_eq!(permit(&["--yes"]), "permit: yes\n");
    let hint = |args: &[&str]| said(&swb.run(&[&["chat", "--new", "-m", "permit:rm -rf x"], args].concat()));
    let denied = hint(&[]);
    assert!(denied.contains("denied") && denied.contains("--yes") && denied.lines().count() == 1, "{denied}");
    assert_eq!((hint(&["--no"]), hint(&["--yes"])), (String::new(), String::new()));
    let told = swb.run(&["chat", "--json", "--yes", "-m", "permit:rm -rf x"]);
    let asked = events(&told).into_iter().find(|event| event["event"] == "approval").expect("an approval");
    assert_eq!(asked["approved"], true, "{asked}");
}

#[test]
fn failures_have_distinct_exit_codes() {
    let swb = scripted();
    let failed = swb.run(&["chat", "-m", "say:half;fail:boom"]);
    assert_eq!((failed.status.code(), answer(&failed).as_str()), (Some(1), "half\n"));
    assert!(said(&failed).contains("boom"), "{}", said(&failed));
    let failed = swb.run(&["chat", "--json", "-m", "fail:boom"]);
    assert_eq!(events(&failed).last().expect("a result")["status"], "failed");
    assert_eq!(swb.run(&["chat", "nobody", "-m", "x"]).status.code(), Some(3));
    assert_eq!(swb.ok(&["chat", "mine", "--new", "-m", "say:x"]), "x\n");
    let taken = swb.run(&["chat", "mine", "--new", "-m", "say:x"]);
    assert!(taken.status.code() == Some(1) && said(&taken).contains("without --new"), "{}", said(&taken));
    let unknown = swb.run(&["chat", "--new", "--agent", "nobody", "-m", "say:x"]);
    assert!(
        unknown.status.code() == Some(1) && said(&unknown).contains("configured agents: scripted"),
        "{}",
        said(&unknown)
    );
    let elsewhere = swb.run(&["chat", "--socket", "/nowhere/x.sock", "-m", "x"]);
    assert!(
        elsewhere.status.code() == Some(1) && said(&elsewhere).contains("/nowhere/x.sock"),
        "{}",
        said(&elsewhere)
    );
}

#[test]
fn ctrl_c_stops_the_answer() {
    let swb = scripted();
    let mut command = swb.command(&["chat", "--json", "-m", "say:begun;stall"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a child");
    wait_for("the generation", || {
        let list = swb.chat().ok_as("session_list", json!({}), "session_list_response");
        (list["sessions"][0]["status"] == "active").then_some(())
    });
    signal(child.id().into(), Signal::INT);
    let told = child.wait_with_output().expect("its end");
    assert_eq!(told.status.code(), Some(130), "{}", said(&told));
    assert_eq!(events(&told).last().expect("a result")["status"], "stopped");
}

#[test]
fn a_killed_daemon_is_reported_in_json() {
    let swb = scripted();
    let mut command = swb.command(&["chat", "cut", "--new", "--json", "-m", "say:begun;stall"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a child");
    wait_for("the generation", || {
        let list = swb.chat().ok_as("session_list", json!({}), "session_list_response");
        (list["sessions"][0]["status"] == "active").then_some(())
    });
    swb.kill_daemon();
    let told = child.wait_with_output().expect("its end");
    assert!(told.status.code() == Some(1) && said(&told).contains("swb chat cut"), "{}", said(&told));
    assert_eq!(events(&told).last().expect("a result")["status"], "interrupted");
}

#[test]
fn an_answer_stopped_by_another_client_is_reported() {
    let swb = scripted();
    let start = || {
        let mut command = swb.command(&["chat", "cut", "-m", "say:begun;stall"]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a child");
        wait_for("the generation", || {
            let list = swb.chat().ok_as("session_list", json!({}), "session_list_response");
            (list["sessions"][0]["status"] == "active").then_some(())
        });
        child
    };
    swb.ok(&["chat", "cut", "--new", "-m", "say:x"]);
    let child = start();
    let mut other = swb.chat();
    other.ok("session_attach", json!({"session_id": "cut", "takeover": true}));
    other.ok("chat_stop", json!({}));
    let told = child.wait_with_output().expect("its end");
    assert_eq!((told.status.code(), answer(&told).as_str()), (Some(1), "begun\n"), "{}", said(&told));
    assert!(said(&told).contains("by another client"), "{}", said(&told));
    drop(other);
    let child = start();
    swb.ok(&["shutdown"]);
    let told = child.wait_with_output().expect("its end");
    assert_eq!(told.status.code(), Some(1), "{}", said(&told));
    assert!(said(&told).contains("interrupted: the daemon was shut down"), "{}", said(&told));
}

#[test]
fn a_saved_session_survives_a_restart() {
    let mut swb = scripted();
    swb.configure(&scripted_agent(&[]).replace("[chat]\n", "[chat]\nsave = \"never\"\n"));
    swb.ok(&["chat", "kept", "--new", "--save", "-m", "say:remember"]);
    swb.ok(&["chat", "lost", "--new", "-m", "say:forget"]);
    swb.stop_daemon();
    swb.start_daemon();
    assert_eq!(swb.ok(&["chat", "kept", "-m", "say:again"]), "again\n");
    assert_eq!(swb.run(&["chat", "lost", "-m", "x"]).status.code(), Some(3), "nothing is written unasked");
}

#[test]
fn an_answer_that_cannot_be_saved_is_still_printed() {
    let swb = scripted();
    let file = swb.paths().state_dir().join("conversations.db");
    std::fs::create_dir_all(swb.paths().state_dir()).expect("a directory");
    std::fs::write(&file, "not a database at all, but somebody's notes\n".repeat(50)).expect("a file");
    let told = swb.run(&["chat", "--new", "--save", "--json", "-m", "say:answer"]);
    assert!(told.status.code() == Some(1) && said(&told).contains("conversations.db"), "{}", said(&told));
    let result = events(&told).pop().expect("a result");
    assert_eq!((&result["status"], &result["text"]), (&json!("completed"), &json!("answer")), "{result}");
}

#[test]
fn a_terminal_session_accepts_prompts() {
    let swb = scripted();
    swb.ok(&["run", "-d", "-n", "term", "--", "sh"]);
    assert!(swb.ok(&["chat", "-m", "session"]).trim().ends_with(" 1"), "only when it is named");
    assert_eq!(swb.ok(&["chat", "term", "-m", "echo $((6*7))"]), "42\n");
    let mut inside = swb.command(&["chat", "term", "-m", "echo loop"]);
    let inside = inside.env("SWB_SESSION", "term").output().expect("it runs");
    assert!(inside.status.code() == Some(2) && said(&inside).contains("itself"), "{}", said(&inside));
}

#[test]
fn a_daemon_is_started_when_none_runs() {
    let swb = Swb::new(EXE);
    swb.configure(&swb_testkit::scripted_agent(&[]));
    let told = swb.run(&["chat", "-m", "say:hello"]);
    assert_eq!(answer(&told), "hello\n", "{}", said(&told));
    assert!(said(&told).contains("started the daemon"), "{}", said(&told));
}

// SS-19, SS-20
#[test]
fn authentication_uses_the_token_or_a_challenge() {
    for method in ["token", "challenge"] {
        let more =
            format!("[scriptschnell]\nrequire_auth = true\nauth_method = \"{method}\"\ntoken = \"secret\"\n");
        let swb = Swb::scripted(EXE, &more);
        assert_eq!(swb.ok(&["chat", "-m", "say:in"]), "in\n", "{method}");
        let mut wrong = swb.command(&["chat", "-m", "say:in"]);
        let wrong = wrong.env("SCRIPTSCHNELL_SOCKET_TOKEN", "other").output().expect("it runs");
        assert!(wrong.status.code() == Some(1) && said(&wrong).contains("token under"), "{}", said(&wrong));
    }
}

#[test]
fn the_socket_path_is_configurable() {
    let swb = Swb::scripted(EXE, "[scriptschnell]\npath = \"~/elsewhere.sock\"\nauto_connect = true\n");
    assert_eq!(swb.ok(&["chat", "-m", "say:in"]), "in\n");
    let swb = Swb::scripted(EXE, "[scriptschnell]\nauto_connect = false\n");
    let refused = swb.run(&["chat", "-m", "say:in"]);
    assert!(refused.status.code() == Some(1) && said(&refused).contains("--socket"), "{}", said(&refused));
    let socket = swb.paths().scriptschnell_socket();
    assert_eq!(swb.ok(&["chat", "-m", "say:in", "--socket", socket.to_str().expect("UTF-8")]), "in\n");
}

// SS-22 limits the clients of that socket; our own command does not depend on what they leave.
#[test]
fn other_clients_cannot_lock_out_swb_chat() {
    let swb = Swb::scripted(EXE, "[scriptschnell]\nmax_connections = 1\n");
    let _only = swb.chat();
    assert_eq!(swb.ok(&["chat", "-m", "say:in"]), "in\n");
    let mut terminal = Terminal::start(swb.command(&["chat", "--new"]), 90, 30);
    terminal.type_in(b"say:typed\r");
    terminal.until("typed");
    let socket = swb.paths().scriptschnell_socket();
    let refused = swb.run(&["chat", "-m", "say:in", "--socket", socket.to_str().expect("UTF-8")]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(said(&refused).contains("max_connections under [scriptschnell]"), "{}", said(&refused));
}

#[test]
fn conversations_on_the_control_socket_are_for_owners_where_they_are_enabled() {
    let swb = Swb::scripted(EXE, "");
    let mut owner = swb.control();
    owner.ok(&json!({"cmd": "chat"}));
    owner.send_raw(b"{\"type\":\"auth_request\",\"request_id\":\"1\"}\n");
    let mut reply = [0; 16];
    std::io::Read::read_exact(&mut owner.socket(), &mut reply).unwrap();
    assert_eq!(String::from_utf8_lossy(&reply), "{\"type\":\"auth_re");
    let mut limited = CoopClient::connect(&swb.paths().control_socket()).unwrap();
    limited.ok(&json!({"version": 1, "role": "drive"}));
    assert_eq!(limited.error(&json!({"cmd": "chat"})), "FORBIDDEN");
    let swb = Swb::scripted(EXE, "[scriptschnell]\nenabled = false\n");
    assert_eq!(swb.control().error(&json!({"cmd": "chat"})), "NOT_IMPLEMENTED");
}

#[test]
fn a_user_at_the_terminal_is_asked_with_piped_input_too() {
    let swb = scripted();
    let start = |args: &[&str]| Terminal::start(swb.command(&[&["chat", "-m"], args].concat()), 90, 30);
    let mut terminal = start(&["permit:rm -rf x"]);
    terminal.until("may it use");
    terminal.until("y/1");
    terminal.type_in(b"y\n");
    terminal.until("permit: yes");
    assert_eq!(terminal.wait(), 0);
    let mut terminal = start(&["say:a\x1b]0;title\x07b"]);
    terminal.until(r"a\u{1b}]0;title\u{7}b");
    assert_eq!(terminal.wait(), 0);
    let mut terminal = start(&["say:no end;tool:read:main.rs;say:then;permit:rm -rf x"]);
    terminal.until("no end\r\n");
    terminal.until("then\r\n");
    terminal.until("y/1");
    terminal.type_in(b"n\n");
    terminal.until("permit: no");
    assert_eq!(terminal.wait(), 0);
    let mut terminal = start(&["permit:rm -rf x", "--no"]);
    terminal.until("permit: no");
    assert_eq!(terminal.wait(), 0);
    // What is neither yes nor no is asked again, and Ctrl+D denies at once.
    let mut terminal = start(&["permit:rm -rf x;permit:rm -rf y"]);
    terminal.until("y/1");
    terminal.forget();
    terminal.type_in(b"abort\n");
    terminal.until("y/1");
    terminal.type_in(CTRL_D);
    assert_eq!(terminal.wait(), 0);
    assert_eq!(shown(&terminal).matches("permit: no").count(), 2, "{}", shown(&terminal));
}

#[test]
fn every_documented_example_parses() {
    let page = include_str!("../../../../docs/agents.md");
    let examples: Vec<&str> =
        page.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(examples.len() >= 10, "{}", examples.len());
    for example in examples {
        let mut swb = Swb::new(EXE);
        swb.configure(example);
        swb.start_daemon();
        let agents = example.lines().filter_map(|line| line.strip_prefix("name = "));
        for agent in agents.map(|name| name.trim_matches('"')) {
            let mut client = swb.chat();
            client.create(json!({"workspace": swb.workspace(""), "options": {"agent": agent}}));
            let set = client.ok("config_get", json!({"keys": ["agent"]}));
            assert_eq!(set["config"]["agent"], agent, "{example}");
        }
    }
}

// ---- at a terminal ----

#[test]
fn markdown_streams_and_tools_are_folded() {
    let swb = scripted();
    let mut terminal = terminal(&swb, &[]);
    assert!(shown(&terminal).contains("new conversation"), "{}", shown(&terminal));
    assert!(shown(&terminal).contains("agent scripted"), "{}", shown(&terminal));
    ask(
        &mut terminal,
        "say:# Title\\nsome **bo;say:ld** `code`\\n- item\\n;tool:read:main.rs;think:deep;say:end",
    );
    let all = shown(&terminal);
    for wanted in
        ["\x1b[1;4mTitle\x1b[m", "\x1b[1mbold\x1b[m", "\x1b[36mcode\x1b[m", "• ", "✓ ", "thought for"]
    {
        assert!(all.contains(wanted), "{wanted:?} in {all}");
    }
    assert!(!all.contains("result of"), "a tool is one line: {all}");
    terminal.forget();
    terminal.type_in(CTRL_O);
    terminal.until("result of main.rs");
    say(&mut terminal, "/help");
    terminal.until("/takeover");
    leave(&mut terminal);
}

#[test]
fn one_key_approves_and_another_denies() {
    let swb = scripted();
    let mut terminal = terminal(&swb, &[]);
    say(&mut terminal, "permit:rm -rf x");
    terminal.until("may it use");
    terminal.until("rm -rf x");
    terminal.until("y/1");
    terminal.type_in(b"y");
    terminal.until("permit: yes");
    terminal.until("— ");
    say(&mut terminal, "permit:rm -rf y");
    terminal.until("y/1");
    terminal.type_in(b"n");
    terminal.until("permit: no");
    terminal.until("— ");
    say(&mut terminal, "permit:rm -rf z");
    terminal.until("y/1");
    terminal.type_in(b"2");
    terminal.until("permit: always");
    leave(&mut terminal);
}

#[test]
fn ctrl_c_stops_the_answer_and_the_conversation_continues() {
    let swb = scripted();
    let mut terminal = terminal(&swb, &[]);
    say(&mut terminal, "say:begun;stall");
    terminal.until("begun");
    terminal.type_in(CTRL_C);
    terminal.until("✗ stopped");
    ask(&mut terminal, "say:*and* on");
    assert!(shown(&terminal).contains("\x1b[3mand\x1b[m"));
    terminal.type_in(CTRL_C);
    terminal.until("press Ctrl+C again to leave");
    // Another key in between, then both at the same moment, even on a busy machine.
    terminal.type_in(b"x\x7f\x03\x03");
    assert_eq!(terminal.wait(), 0);
    terminal.assert_modes_restored();
    assert!(shown(&terminal).contains("continues it"), "{}", shown(&terminal));
}

#[test]
fn a_session_is_resumed_where_it_was() {
    let swb = scripted();
    swb.ok(&["chat", "-m", "say:the answer"]);
    let mut terminal = terminal(&swb, &[]);
    let all = shown(&terminal);
    assert!(all.contains("resumed") && all.contains("2 messages") && all.contains("the answer"), "{all}");
    // The prompt of before comes back.
    terminal.forget();
    terminal.type_in(b"\x1b[A\r");
    terminal.until("— ");
    assert!(shown(&terminal).contains("the answer"), "{}", shown(&terminal));
    say(&mut terminal, "/new");
    terminal.until("new conversation");
    say(&mut terminal, "/sessions");
    terminal.until("/resume NAME");
    leave(&mut terminal);
}

#[test]
fn commands_begin_with_a_slash() {
    let swb = scripted();
    let mut terminal = terminal(&swb, &["first", "--new"]);
    ask(&mut terminal, "say:x");
    say(&mut terminal, "/save Some title");
    terminal.until("saved as “Some title”");
    assert!(swb.ok(&["history"]).contains("Some title"));
    for (command, shown) in [
        ("/agent", "agents: scripted"),
        ("/model other", "model is now \"other\""),
        ("/agent shell", "agent is now \"shell\""),
        ("/clear", "was cleared"),
        ("/nonsense", "unknown command /nonsense"),
        ("/stop", "stopping"),
        ("/new", "new conversation"),
        ("/sessions", "first  Some title"),
        ("/resume first", "first “Some title”"),
        ("/resume nobody", "nobody"),
    ] {
        say(&mut terminal, command);
        terminal.until(shown);
    }
    say(&mut terminal, "/quit");
    assert_eq!(terminal.wait(), 0);
}

#[test]
fn leaving_reports_what_is_not_saved() {
    let swb = scripted();
    swb.configure(&scripted_agent(&[]).replace("[chat]\n", "[chat]\nsave = \"never\"\n"));
    let mut left = terminal(&swb, &["--new"]);
    ask(&mut left, "say:x");
    leave(&mut left);
    assert!(shown(&left).contains("stays in memory, not on disk (/save)"), "{}", shown(&left));
    let mut kept = terminal(&swb, &["--new"]);
    ask(&mut kept, "say:x");
    say(&mut kept, "/save");
    kept.until("saved as");
    leave(&mut kept);
    assert!(shown(&kept).contains(" is kept; "), "{}", shown(&kept));
}

#[test]
fn long_answers_are_shown_without_delay() {
    let swb = scripted();
    let mut terminal = terminal(&swb, &[]);
    ask(&mut terminal, "flood:500");
    ask(&mut terminal, "big:2000000");
    ask(&mut terminal, "say:*still* there");
    assert!(shown(&terminal).contains("\x1b[3mstill\x1b[m"));
    leave(&mut terminal);
}

#[test]
fn an_empty_session_is_removed() {
    let swb = scripted();
    let count = || {
        swb.chat().ok_as("session_list", json!({}), "session_list_response")["sessions"]
            .as_array()
            .map(Vec::len)
    };
    let mut first = terminal(&swb, &[]);
    assert_eq!(count(), Some(1));
    leave(&mut first);
    wait_for("its end", || (count() == Some(0)).then_some(()));
    let mut named = terminal(&swb, &["named", "--new"]);
    leave(&mut named);
    assert_eq!(count(), Some(1));
}

#[test]
fn input_can_be_edited_and_have_several_lines() {
    let swb = scripted();
    let mut terminal = terminal(&swb, &[]);
    // Two lines by a backslash, a wide character that is deleted, a word in front.
    ask(&mut terminal, "one\\\rtwo\u{65e5}\x7f\x01first ");
    assert!(shown(&terminal).contains("you said: one"), "{}", shown(&terminal));
    assert!(shown(&terminal).contains("first two"), "{}", shown(&terminal));
    say(&mut terminal, "\x1b[200~three\nfour\x1b[201~");
    terminal.until("you said: three");
    terminal.until("— ");
    leave(&mut terminal);
}

// SS-64, SS-65
#[test]
fn questions_are_answered_by_number_or_text() {
    let swb = Swb::new(EXE);
    let server = Server::start(&swb.dir().join("fake.sock"));
    let mut terminal = Terminal::start(swb.command(&["chat", "--socket", server.path()]), 90, 30);
    server.greet();
    terminal.until("› ");
    say(&mut terminal, "plan");
    let prompt = server.request("chat_send");
    server.send(&json!({"type": "question_request", "data": {"question_id": "one", "question": "Which way?",
        "multi_mode": false, "options": ["left", "right"], "session_id": "s"}}));
    terminal.until("1–2, or words");
    assert!(
        shown(&terminal).contains("? Which way?") && shown(&terminal).contains("2 right"),
        "{}",
        shown(&terminal)
    );
    terminal.type_in(b"2\r");
    let data = server.request("question_response")["data"].clone();
    assert_eq!(data, json!({"question_id": "one", "answer": "right"}));
    server.send(&json!({"type": "question_request", "data": {"question_id": "two", "question": "Both:",
        "multi_mode": true, "questions": [{"question": "A?", "options": ["x", "y"]}, {"question": "B?", "options": []}],
        "session_id": "s"}}));
    terminal.until("? 1/2 A?");
    terminal.type_in(b"1\r");
    terminal.until("? 2/2 B?");
    terminal.type_in(b"some words\r");
    let data = server.request("question_response")["data"].clone();
    assert_eq!(data, json!({"question_id": "two", "answers_map": {"q_1": "x", "q_2": "some words"}}));
    let end = json!({"status": "completed", "usage": {"total_tokens": 1500, "total_cost": 0.25}, "context_usage": 40});
    server.send(&json!({"type": "chat_send", "request_id": prompt["request_id"], "data": end}));
    terminal.until("context 40% · 1.5k tokens · $0.25");
    leave(&mut terminal);
}

#[test]
fn an_incomplete_line_is_shown_and_overwritten() {
    let swb = Swb::new(EXE);
    let server = Server::start(&swb.dir().join("fake.sock"));
    let mut terminal = Terminal::start(swb.command(&["chat", "--socket", server.path()]), 90, 30);
    server.greet();
    terminal.until("› ");
    say(&mut terminal, "go");
    server.request("chat_send");
    server.chunk(0, "some **bo", false);
    terminal.until("some **bo");
    terminal.forget();
    server.chunk(1, "ld** word\n", false);
    terminal.until("some \x1b[1mbold\x1b[m word\r\n");
    server.chunk(2, "", true);
    leave(&mut terminal);
}

// SS-35, SS-36
#[test]
fn an_observer_watches_and_can_take_over() {
    let swb = scripted();
    let mut owner = swb.chat_in("shared");
    let mut terminal = terminal(&swb, &["shared"]);
    terminal.until("you are watching");
    // What an agent answers cannot act on the terminal.
    owner.answer_to("say:a\x1b]0;title\x07\u{9b}2Jb");
    terminal.until(r"a\u{1b}]0;title\u{7}\u{9b}2Jb");
    terminal.until("— ");
    assert!(!shown(&terminal).contains("\x1b]0;"));
    say(&mut terminal, "say:no");
    terminal.until("/takeover takes it over");
    terminal.type_in(b"\x15");
    say(&mut terminal, "/takeover");
    terminal.until("you own this conversation now");
    ask(&mut terminal, "say:mine");
    assert_eq!(owner.refused("chat_send", json!({"content": "x"})), "OPERATION_NOT_ALLOWED");
    leave(&mut terminal);
}

#[test]
fn after_a_daemon_kill_the_chat_reconnects_and_marks_the_answer() {
    let swb = scripted();
    let mut terminal = terminal(&swb, &["long", "--new"]);
    ask(&mut terminal, "say:before");
    say(&mut terminal, "say:first half\\n;stall");
    terminal.until("first half\r\n");
    swb.kill_daemon();
    terminal.until("✗ interrupted");
    ask(&mut terminal, "say:and **on**");
    assert!(shown(&terminal).contains("\x1b[1mon\x1b[m"), "{}", shown(&terminal));
    leave(&mut terminal);
}

#[test]
fn the_owner_of_a_session_stays_after_a_crash() {
    let swb = scripted();
    let mut owner = terminal(&swb, &["both", "--new"]);
    ask(&mut owner, "say:before");
    let mut watcher = terminal(&swb, &["both"]);
    watcher.until("you are watching");
    say(&mut owner, "say:first half\\n;stall");
    watcher.until("first half\r\n");
    watcher.forget();
    swb.kill_daemon();
    owner.until("✗ interrupted");
    watcher.until("✗ interrupted");
    ask(&mut owner, "say:*mine*");
    watcher.until("\x1b[3mmine\x1b[m");
    assert!(!shown(&watcher).contains("you own"), "{}", shown(&watcher));
    leave(&mut owner);
    leave(&mut watcher);
}

// SS-28
#[test]
fn a_daemon_that_is_shut_down_ends_the_chat() {
    let swb = scripted();
    let mut terminal = terminal(&swb, &["ended", "--new"]);
    say(&mut terminal, "say:first half\\n;stall");
    terminal.until("first half\r\n");
    swb.ok(&["shutdown"]);
    terminal.until("✗ interrupted");
    terminal.until("the daemon was shut down");
    assert_eq!(terminal.wait(), 0);
    terminal.assert_modes_restored();
    assert!(!shown(&terminal).contains("reconnecting"), "{}", shown(&terminal));
}

#[test]
fn an_undelivered_prompt_can_be_sent_again() {
    let mut swb = scripted();
    let mut terminal = terminal(&swb, &[]);
    // A daemon that stands still takes what is sent, and is killed before it reads it.
    let pid = swb.daemon_pid();
    signal(pid, Signal::STOP);
    say(&mut terminal, "say:*heard*");
    terminal.until("› \r");
    signal(pid, Signal::KILL);
    terminal.until("was not delivered");
    swb.daemon().wait().expect("its end");
    terminal.forget();
    terminal.type_in(ENTER.as_bytes());
    terminal.until("\x1b[3mheard\x1b[m");
    leave(&mut terminal);
}

/// Only debug builds can be asked to panic.
#[cfg(debug_assertions)]
#[test]
fn a_panic_restores_the_terminal_before_its_message() {
    let swb = scripted();
    let mut command = swb.command(&["chat"]);
    command.env("SWB_TEST_PANIC", "P");
    let mut terminal = Terminal::start(command, 90, 30);
    terminal.until("\x1b[?2004h");
    terminal.until("› ");
    terminal.forget();
    terminal.type_in(b"P");
    assert_eq!(terminal.wait(), 101);
    terminal.assert_modes_restored();
    let shown = shown(&terminal);
    let (before, said) = shown.split_once("swb: internal error: ").expect(&shown);
    assert!(before.ends_with("\x1b[?2004l") && said.contains("SWB_TEST_PANIC asked for it"), "{shown:?}");
}

#[test]
fn the_window_can_be_resized_and_closed() {
    let swb = scripted();
    let mut terminal = terminal(&swb, &[]);
    ask(&mut terminal, &format!("say:{}", "word ".repeat(60)));
    terminal.resize(40, 10);
    ask(&mut terminal, &format!("say:{}", "other ".repeat(60)));
    say(&mut terminal, "say:begun;stall");
    terminal.until("begun");
    assert_eq!(terminal.close(), 129);
}
