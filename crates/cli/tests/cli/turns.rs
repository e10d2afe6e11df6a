//! Turns of agents from the command line: ask, list, show and relay.

use crate::support::agents::{AGENT, SHOWS_BYTES, agent, becomes, said, start, wrote};
use crate::support::child::{ends_within, finish};
use serde_json::json;
use std::process::Stdio;
use swb_testkit::{QUIET, Swb, stays, wait_for};
use swb_wire::clippy::PeerRole;

const EXE: &str = env!("CARGO_BIN_EXE_swb");

const BASH: [&str; 4] = ["bash", "--norc", "--noprofile", "-i"];

// ---- ask, turns, turn ----

#[test]
fn a_question_is_answered_and_the_answer_is_a_turn() {
    let swb = Swb::start(EXE);
    start(&swb, "main", &BASH, "ready");
    assert_eq!(swb.ok(&["turns", "main"]), "No turns yet.\n");
    assert_eq!(swb.ok(&["ask", "main", "echo one; echo two"]), "one\ntwo\n");
    assert_eq!(swb.ok(&["ask", "main", "printf '\\033[31mred\\033[m\\n'"]), "red\n");
    let turns = swb.json(&["turns", "main"]);
    assert_eq!((&turns[0]["turn_id"], &turns[1]["turn_id"]), (&json!("main:2"), &json!("main:1")));
    assert_eq!(swb.json(&["turns", "main", "-n", "1"]).as_array().map(Vec::len), Some(1));
    assert_eq!(swb.ok(&["turn", "main:1"]), "one\ntwo\n");
    assert_eq!(swb.ok(&["turn", "main", "--text"]), "red\n");
    let raw = swb.ok(&["turn", "main", "--raw"]);
    assert!(raw.ends_with("\x1b[31mred\x1b[m\r\n") && !raw.contains("printf"), "{raw:?}");
    let turn = swb.json(&["turn", "main:1"]);
    assert_eq!(
        (&turn["text"], &turn["profile"], &turn["cut"]),
        (&json!("one\ntwo"), &json!("shell"), &json!(false))
    );
    assert!(turn["submit_offset"].as_u64() <= turn["start_offset"].as_u64(), "{turn}");
    assert!(turn["start_offset"].as_u64() < turn["end_offset"].as_u64(), "{turn}");
    assert!(turn["submitted"].as_u64() <= turn["timestamp"].as_u64(), "{turn}");
}

#[test]
fn questions_come_from_standard_input_and_repls_answer_too() {
    let swb = Swb::start(EXE);
    swb.ok(&["run", "-d", "-n", "py", "--", "python3", "-q", "-i"]);
    let asked = swb.shell("echo '6 * 7' | $SWB ask py - --json").output().expect("it runs");
    let turn: serde_json::Value = serde_json::from_slice(&asked.stdout).expect("JSON");
    assert_eq!(
        (&turn["turn_id"], &turn["text"]),
        (&json!("py:1"), &json!("42")),
        "an agent that starts is waited for"
    );
}

#[test]
fn a_turn_longer_than_a_frame_is_complete() {
    let mut swb = Swb::new(EXE);
    // So that nothing is lost however late the output is read.
    swb.configure("[daemon]\nring_bytes = 8388608");
    swb.start_daemon();
    start(&swb, "main", &BASH, "ready");
    let text = swb.ok(&["ask", "main", "seq 1 200000"]);
    assert!(text.ends_with("199999\n200000\n"), "{} bytes", text.len());
    let raw = swb.run(&["turn", "main", "--raw"]).stdout;
    let wanted: String = (1..=200_000).map(|n| format!("{n}\r\n")).collect();
    assert!(raw.len() < wanted.len() + 20, "{} bytes", raw.len());
    assert!(raw.ends_with(wanted.as_bytes()), "every byte is in its place");
    let json = swb.json(&["turn", "main"]);
    assert_eq!((&json["content_length"], &json["cut"]), (&json!(raw.len()), &json!(false)));
}

#[test]
fn an_agent_waiting_for_an_answer_is_reported() {
    let swb = Swb::start(EXE);
    start(&swb, "main", &["sh", "-c", AGENT], "ready");
    let asked = swb.run(&["ask", "main", "ask", "--timeout", "60"]);
    assert_eq!(asked.status.code(), Some(5), "{}", said(&asked));
    assert!(
        said(&asked).contains("is waiting for an answer") && said(&asked).contains("swb screen main"),
        "{}",
        said(&asked)
    );
    assert_eq!(swb.json(&["wait", "main", "--until", "asking"])["met"], "asking");
    let busy = swb.run(&["ask", "main", "hello", "--timeout", "60"]);
    assert_eq!(busy.status.code(), Some(5), "it asks still, and nothing was typed");
    assert!(said(&busy).contains("swb screen main"), "{}", said(&busy));
    // At once: a pause after the text is a question that is asked again.
    swb.ok(&["send", "main", "yes\r"]);
    becomes(&swb, "main", "ready");
    let turn = swb.json(&["turn", "main"]);
    assert!(turn["text"].as_str().is_some_and(|text| text.contains("allowed: yes")), "{turn}");
    assert_eq!(turn["dialogs"].as_array().map(Vec::len), Some(1), "{turn}");
}

#[test]
fn ask_times_out_and_rejects_a_busy_agent() {
    let swb = Swb::start(EXE);
    start(&swb, "main", &["sh", "-c", AGENT], "ready");
    let late = swb.run(&["ask", "main", "slow", "--timeout", "0.5"]);
    assert_eq!(late.status.code(), Some(124));
    assert!(
        said(&late).contains("timed out waiting for the answer") && said(&late).contains("swb explain main"),
        "{}",
        said(&late)
    );
    let busy = swb.run(&["ask", "main", "more"]);
    assert_eq!(busy.status.code(), Some(1));
    assert!(said(&busy).contains("is working"), "{}", said(&busy));
    let forced = swb.ok(&["ask", "main", "more", "--force"]);
    assert!(forced.contains("at last: more"), "{forced}");
    let ended = swb.run(&["ask", "main", "end"]);
    let text = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(text.contains("bye") || ended.status.code() == Some(1), "{text} {}", said(&ended));
    assert_eq!(swb.run(&["ask", "nobody", "x"]).status.code(), Some(3));
}

#[test]
fn each_of_several_questions_at_once_gets_its_own_answer() {
    let swb = Swb::start(EXE);
    start(&swb, "main", &BASH, "ready");
    let ask = |n: u32| {
        let mut command =
            swb.command(&["ask", "main", &format!("sleep 0.2; echo answer-{n}"), "--timeout", "60"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a child")
    };
    let children: Vec<_> = (0..4).map(|n| (n, ask(n))).collect();
    for (n, child) in children {
        let output = child.wait_with_output().expect("an end");
        assert_eq!(String::from_utf8_lossy(&output.stdout), format!("answer-{n}\n"), "{}", said(&output));
    }
}

/// An agent with an input box, and what it does on command: see the file.
const PAINTER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/screen_agent.py");

fn painter(swb: &Swb) {
    swb.ok(&["run", "-d", "-n", "main", "--profile", "claude", "--", "python3", PAINTER]);
    becomes(swb, "main", "ready");
}

#[test]
fn half_typed_text_is_not_joined_to_a_question() {
    let swb = Swb::start(EXE);
    painter(&swb);
    swb.ok(&["send", "main", "say"]);
    swb.ok(&["wait", "main", "--text", "❯ say"]);
    let refused = swb.run(&["ask", "main", "say hello"]);
    assert_eq!(refused.status.code(), Some(1), "{}", said(&refused));
    assert!(said(&refused).contains("not submitted: 'say'"), "{}", said(&refused));
    assert_eq!(swb.ok(&["ask", "main", " hello", "--force"]), "hello\n");
    start(&swb, "shell", &BASH, "ready");
    swb.ok(&["send", "shell", "echo half"]);
    wrote(&swb, "shell", "echo half");
    let refused = swb.run(&["ask", "shell", "echo one"]);
    assert!(said(&refused).contains("'echo half'"), "{}", said(&refused));
    swb.ok(&["keys", "shell", "C-c"]);
    wrote(&swb, "shell", "^C");
    assert_eq!(swb.ok(&["ask", "shell", "echo one"]), "one\n");
}

#[test]
fn an_enter_that_the_agent_did_not_take_is_pressed_again() {
    let swb = Swb::start(EXE);
    painter(&swb);
    for text in ["late one", "say two", "late three"] {
        assert_eq!(swb.ok(&["ask", "main", text]), format!("{}\n", &text.split_once(' ').unwrap().1));
    }
    assert_eq!(swb.json(&["turns", "main"]).as_array().unwrap().len(), 3);
}

#[test]
fn half_typed_text_of_several_rows_is_not_joined_to_a_question() {
    let swb = Swb::start(EXE);
    start(&swb, "main", &BASH, "ready");
    let long = format!("echo {} END", "word ".repeat(60));
    for (typed, last) in
        [(long.as_str(), "END"), ("\x1b[200~echo one\necho two\x1b[201~", "two"), ("\x1b[A", "earlier")]
    {
        swb.ok(&["ask", "main", "echo earlier"]);
        swb.ok(&["send", "main", typed]);
        swb.ok(&["wait", "main", "--text", &format!("{last}\\s*\\z"), "--timeout", "60"]);
        let refused = swb.run(&["ask", "main", "echo more"]);
        assert_eq!(refused.status.code(), Some(1), "{last}: {}", said(&refused));
        assert!(said(&refused).contains("not submitted: 'echo"), "{}", said(&refused));
        assert!(said(&refused).contains("--force"), "{}", said(&refused));
        swb.ok(&["keys", "main", "C-c"]);
    }
    assert_eq!(swb.ok(&["ask", "main", "echo more"]), "more\n");
}

#[test]
fn a_busy_or_asking_agent_gets_no_relayed_text() {
    let swb = Swb::start(EXE);
    start(&swb, "from", &BASH, "ready");
    start(&swb, "to", &["sh", "-c", AGENT], "ready");
    swb.ok(&["ask", "from", "echo words"]);
    swb.ok(&["capture", "from"]);
    for (question, state, hint) in
        [("slow", "working", "`swb wait to --until ready`"), ("ask", "asking", "`swb screen to`")]
    {
        swb.ok(&["send", "to", question, "--enter"]);
        becomes(&swb, "to", state);
        let commands = [&["relay", "from", "to", "--submit"][..], &["relay", "from", "to"], &["paste", "to"]];
        let refused = if state == "asking" { 3 } else { 1 };
        for command in &commands[..refused] {
            let refused = swb.run(command);
            assert_eq!(refused.status.code(), Some(1), "{}", said(&refused));
            assert!(said(&refused).contains("nothing was typed into session 'to'"), "{}", said(&refused));
            assert!(
                said(&refused).contains(hint) && said(&refused).contains("--force"),
                "{}",
                said(&refused)
            );
        }
        assert!(!swb.ok(&["logs", "to"]).contains("words"));
        swb.ok(&["send", "to", "on", "--enter"]);
        becomes(&swb, "to", "ready");
    }
    swb.ok(&["send", "to", "slow", "--enter"]);
    becomes(&swb, "to", "working");
    swb.ok(&["relay", "from", "to", "--submit", "--force"]);
    wrote(&swb, "to", "at last: [from from, turn 1] words");
}

#[test]
fn a_program_without_a_known_prompt_is_reported() {
    let swb = Swb::start(EXE);
    swb.ok(&["run", "-d", "-n", "main", "--", "cat"]);
    let asked = swb.run(&["ask", "main", "hello", "--timeout", "1"]);
    assert_eq!(asked.status.code(), Some(124));
    for part in ["no prompt of its program was recognised", "nothing was typed", "swb send main TEXT --enter"]
    {
        assert!(said(&asked).contains(part), "{}", said(&asked));
    }
    assert_eq!(swb.ok(&["logs", "main"]), "");
}

#[test]
fn a_command_of_the_agent_itself_returns_without_a_turn() {
    let swb = Swb::start(EXE);
    painter(&swb);
    assert_eq!(swb.ok(&["ask", "main", "/clear", "--timeout", "60"]), "");
    assert_eq!(swb.ok(&["turns", "main"]), "No turns yet.\n");
    let asked = swb.run(&["ask", "main", "/theme", "--timeout", "60"]);
    assert_eq!(asked.status.code(), Some(5), "{}", said(&asked));
    assert!(said(&asked).contains("❯ Dark mode"), "{}", said(&asked));
    swb.ok(&["approvals", "deny", "main"]);
    becomes(&swb, "main", "ready");
    assert_eq!(swb.ok(&["ask", "main", "say hello"]), "hello\n");
}

#[test]
fn a_question_that_replaces_the_input_box_gets_no_text() {
    let swb = Swb::start(EXE);
    let unknown = r"stty raw -echo; printf '\033[?2004hNew here\r\n\r\nShall it begin?\r\n\r\n ▸ Yes\r\n   No\r\n'; exec cat -v";
    swb.ok(&["run", "-d", "-n", "main", "--profile", "codex", "--", "sh", "-c", unknown]);
    let asked = swb.run(&["ask", "main", "hello", "--timeout", "60"]);
    assert_eq!(asked.status.code(), Some(5), "{}", said(&asked));
    assert!(said(&asked).contains("Shall it begin?"), "{}", said(&asked));
    assert!(!swb.ok(&["logs", "main"]).contains("hello"));
    let listed = swb.json(&["approvals"]);
    assert_eq!(
        listed[0]["reason"].as_str().map(|reason| reason.contains("Shall it begin?")),
        Some(true),
        "{listed}"
    );
}

#[test]
fn enter_is_pressed_only_when_the_input_box_shows_the_text() {
    let swb = Swb::start(EXE);
    let (keys, rule) = (swb.dir().join("keys"), "─".repeat(40));
    let deaf = format!(
        "stty raw -echo; printf '\\033[?2004h{rule}\\r\\n❯ \\0337\\r\\n{rule}\\0338'; exec cat > {}",
        keys.display()
    );
    swb.ok(&["run", "-d", "-n", "main", "--profile", "claude", "--", "sh", "-c", &deaf]);
    becomes(&swb, "main", "ready");
    let asked = swb.run(&["ask", "main", "hello", "--timeout", "60"]);
    assert_eq!(asked.status.code(), Some(5), "{}", said(&asked));
    let typed = std::fs::read_to_string(keys).expect("a file");
    assert_eq!(typed, "\x1b[200~hello\x1b[201~", "nothing was pressed after it");
}

#[test]
fn an_interrupted_question_is_reported() {
    let swb = Swb::start(EXE);
    painter(&swb);
    let asking = swb.command(&["ask", "main", "work"]).stderr(Stdio::piped()).spawn().expect("it runs");
    swb.ok(&["wait", "main", "--text", "begun", "--timeout", "60"]);
    rustix::process::kill_process(rustix::process::Pid::from_child(&asking), rustix::process::Signal::INT)
        .expect("a signal");
    let ended = finish(asking);
    assert_eq!(ended.status.code(), Some(130));
    assert!(said(&ended).contains("interrupted; the agent of session 'main' continues"), "{}", said(&ended));
    // Interrupted at the terminal.
    swb.ok(&["keys", "main", "Escape"]);
    becomes(&swb, "main", "ready");
    let asking = swb.command(&["ask", "main", "work"]).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn();
    swb.ok(&["wait", "main", "--text", "(?s)begun.*begun", "--timeout", "60"]);
    swb.ok(&["keys", "main", "Escape"]);
    let ended = finish(asking.expect("it runs"));
    assert_eq!(ended.status.code(), Some(130), "{}", said(&ended));
    assert!(said(&ended).contains("the answer was interrupted"), "{}", said(&ended));
}

#[test]
fn enter_follows_text_as_a_key_of_its_own() {
    let swb = Swb::start(EXE);
    let program = "import os,tty\ntty.setraw(0)\nos.write(1,b'go')\nwhile True:\n d=os.read(0,1000)\n \
                   os.write(1, b'<submitted>' if d==b'\\r' else b'<newline>' if b'\\r' in d else d)";
    swb.ok(&["run", "-d", "-n", "main", "--", "python3", "-c", program]);
    wrote(&swb, "main", "go");
    swb.ok(&["send", "main", "one", "--enter"]);
    wrote(&swb, "main", "one<submitted>");
    swb.ok(&["keys", "main", "two", "Enter", "three", "Enter"]);
    let log = wrote(&swb, "main", "two<submitted>three<submitted>");
    assert!(!log.contains("newline"), "{log:?}");
}

#[test]
fn an_empty_question_is_rejected() {
    let swb = Swb::start(EXE);
    start(&swb, "main", &BASH, "ready");
    for text in ["", "  \n"] {
        let asked = swb.run(&["ask", "main", text]);
        assert_eq!(asked.status.code(), Some(1), "{}", said(&asked));
        assert!(said(&asked).contains("nothing to ask"), "{}", said(&asked));
    }
}

#[test]
fn turns_of_an_ended_session_are_an_error() {
    let swb = Swb::start(EXE);
    start(&swb, "main", &BASH, "ready");
    swb.ok(&["ask", "main", "echo one"]);
    swb.ok(&["send", "main", "exit", "--enter"]);
    swb.ok(&["wait", "main", "--exit"]);
    wait_for("the end", || {
        let ended = swb.run(&["turns", "main"]);
        (said(&ended).contains("has ended") && !ended.status.success()).then_some(())
    });
    assert!(said(&swb.run(&["turn", "main"])).contains("has ended"));
    assert_eq!(swb.json(&["explain", "main"])["state"], "exited");
}

#[test]
fn a_question_survives_the_daemon() {
    let swb = Swb::start(EXE);
    start(&swb, "main", &["sh", "-c", AGENT], "ready");
    let asking = swb.command(&["ask", "main", "slow", "--timeout", "60"]).stdout(Stdio::piped()).spawn();
    let asking = asking.expect("it runs");
    becomes(&swb, "main", "working");
    swb.kill_daemon();
    becomes(&swb, "main", "working");
    swb.ok(&["send", "main", "now", "--enter"]);
    let answer = finish(asking);
    assert!(answer.status.success());
    assert!(String::from_utf8_lossy(&answer.stdout).contains("at last: now"), "{answer:?}");
}

#[test]
fn the_state_of_an_idle_agent_survives_a_daemon_restart() {
    let swb = Swb::start(EXE);
    start(&swb, "main", &["sh", "-c", AGENT], "ready");
    swb.ok(&["ask", "main", "hello"]);
    let before = agent(&swb, "main");
    // Long enough for what is known to be stored: the next daemon has nothing to read again.
    for _ in 0..3 {
        stays("a resting agent", || agent(&swb, "main") == before);
    }
    swb.kill_daemon();
    becomes(&swb, "main", "ready");
    assert_eq!(agent(&swb, "main"), before);
}

#[test]
fn missing_turns_and_sessions_are_errors() {
    let swb = Swb::start(EXE);
    start(&swb, "main", &BASH, "ready");
    for (args, code, word) in [
        (&["turns", "nobody"][..], 3, "nobody"),
        (&["turn", "nobody"], 3, "nobody"),
        (&["turn", "main"], 1, "no completed turn"),
        (&["turn", "main:7"], 1, "main:7"),
        (&["turn", "main", "--raw", "--json"], 2, "--json"),
        (&["paste", "main"], 1, "the relay buffer is empty"),
        (&["relay", "main:1", "main"], 1, "no turn 'main:1'"),
        (&["relay", "nobody", "main"], 3, "nobody"),
        (&["explain", "nobody"], 3, "nobody"),
        (&["run", "-d", "--profile", "nobody", "--", "cat"], 1, "claude, codex"),
    ] {
        let output = swb.run(args);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", said(&output));
        assert!(said(&output).contains(word), "{args:?}: {}", said(&output));
    }
}

// ---- passing on ----

#[test]
fn a_turn_is_typed_as_a_paste_that_presses_no_keys() {
    let swb = Swb::start(EXE);
    start(&swb, "from", &BASH, "ready");
    swb.ok(&["run", "-d", "-n", "to", "--", "sh", "-c", SHOWS_BYTES]);
    wrote(&swb, "to", "go");
    swb.ok(&["ask", "from", r"printf 'one\033[201~two\003\nthree\n'"]);
    let told = swb.json(&["relay", "from", "to"]);
    assert_eq!((&told["turn_id"], &told["submitted"]), (&json!("from:1"), &json!(false)));
    let log = wrote(&swb, "to", "^[[201~");
    assert!(log.contains("^[[200~[from from, turn 1]\none") || log.contains("turn 1]\r\none"), "{log:?}");
    assert_eq!(log.matches("^[[201~").count(), 1, "the text cannot end it: {log:?}");
    assert!(!log.contains("^C") && !log.contains("^M"), "{log:?}");
    swb.ok(&["relay", "from:1", "to", "--prefix", "look: ", "--submit"]);
    let log = wrote(&swb, "to", "^M");
    assert!(log.contains("\nlook: one") && log.ends_with("^[[201~^M"), "{log:?}");
    swb.ok(&["relay", "from:1", "to", "--verbatim"]);
    wrote(&swb, "to", "^[[200~one");
}

#[test]
fn relayed_text_is_never_a_command_of_the_target() {
    let swb = Swb::start(EXE);
    start(&swb, "from", &BASH, "ready");
    swb.ok(&["run", "-d", "-n", "to", "--profile", "aider", "--", "sh", "-c", SHOWS_BYTES]);
    wrote(&swb, "to", "go");
    swb.ok(&["ask", "from", "echo '!touch pwned'"]);
    let template = swb.dir().join("t");
    std::fs::write(&template, "{text}").expect("a file");
    for way in [&["--verbatim"][..], &["--template", template.to_str().expect("a path")]] {
        let refused = swb.run(&[&["relay", "from", "to", "--submit"], way].concat());
        assert_eq!(refused.status.code(), Some(1), "{}", said(&refused));
        assert!(said(&refused).contains("begins like a command of aider"), "{}", said(&refused));
    }
    swb.ok(&["capture", "from"]);
    assert_eq!(swb.run(&["paste", "to", "--verbatim"]).status.code(), Some(1));
    assert!(!swb.ok(&["logs", "to"]).contains("pwned"));
    swb.ok(&["paste", "to"]);
    let log = wrote(&swb, "to", "pwned");
    assert!(log.contains("^[[200~[from from, turn 1]") && !log.contains("^[[200~!"), "{log:?}");
}

#[test]
fn a_shell_gets_no_relayed_text_with_enter() {
    let swb = Swb::start(EXE);
    start(&swb, "from", &BASH, "ready");
    start(&swb, "to", &BASH, "ready");
    swb.ok(&["ask", "from", "echo echo run-by-mistake"]);
    for way in [&[][..], &["--verbatim"]] {
        let refused = swb.run(&[&["relay", "from", "to", "--submit"], way].concat());
        assert!(said(&refused).contains("bash would run the text"), "{}", said(&refused));
    }
    // Unsubmitted it waits for the user.
    swb.ok(&["relay", "from", "to", "--verbatim"]);
    wrote(&swb, "to", "echo run-by-mistake");
    swb.ok(&["keys", "to", "Enter"]);
    swb.ok(&["wait", "to", "--text", "^run-by-mistake", "--timeout", "60"]);
}

#[test]
fn a_turn_is_sent_unchanged_or_in_a_template() {
    let swb = Swb::start(EXE);
    start(&swb, "from", &BASH, "ready");
    swb.ok(&["run", "-d", "-n", "to", "--", "sh", "-c", SHOWS_BYTES]);
    wrote(&swb, "to", "go");
    swb.ok(&["ask", "from", r"printf '\033[31m{session}\033[m\n'"]);
    let template = swb.dir().join("t");
    std::fs::write(&template, "{session} said in {turn_id}: {text}.").expect("a file");
    swb.ok(&["relay", "from", "to", "--template", template.to_str().expect("a path")]);
    let log = wrote(&swb, "to", "^[[201~");
    assert!(log.contains("^[[200~from said in from:1: {session}.^[[201~"), "{log:?}");
    swb.ok(&["relay", "from", "to", "--raw"]);
    let log = wrote(&swb, "to", "^[[31m");
    assert!(log.contains("^[[31m{session}^[[m^M"), "{log:?}");
}

#[test]
fn text_of_several_lines_is_not_typed_where_each_would_be_submitted() {
    let swb = Swb::start(EXE);
    start(&swb, "from", &BASH, "ready");
    swb.ok(&["run", "-d", "-n", "to", "--", "cat"]);
    swb.ok(&["ask", "from", "seq 1 3"]);
    swb.ok(&["capture", "from"]);
    for refused in [
        &["relay", "from", "to", "--submit"][..],
        &["relay", "from", "to"],
        &["relay", "from", "to", "--force", "--verbatim"],
        &["paste", "to"],
    ] {
        let output = swb.run(refused);
        let said = said(&output);
        assert!(said.contains("each would be submitted by itself") && said.contains("--raw"), "{said}");
        assert!(!output.status.success(), "{refused:?}");
    }
    swb.ok(&["relay", "from", "to", "--raw"]);
    wrote(&swb, "to", "\r\n2\r\n");
    swb.ok(&["ask", "from", "echo one line"]);
    assert_eq!(swb.json(&["relay", "from", "to", "--force"])["warning"], json!(null));
    // A shell that would run them is recognised with any script.
    let eval = r#"while read -r line; do eval "$line"; done"#;
    swb.ok(&["run", "-d", "-n", "evaluates", "--", "sh", "-c", eval]);
    let output = swb.run(&["relay", "from", "evaluates", "--submit"]);
    assert!(!output.status.success() && said(&output).contains("would run the text"), "{}", said(&output));
}

#[test]
fn the_answer_to_several_lines_is_complete_without_bracketed_paste() {
    let swb = Swb::start(EXE);
    // Python's own line editing has it off, and so has a terminal without one.
    let python = ["env", "TERM=dumb", "PYTHON_BASIC_REPL=1", "python3", "-q"];
    start(&swb, "py", &python, "ready");
    let answer = swb.ok(&["ask", "py", "print('a' * 3)\nprint('b' * 3)\nprint('c' * 3)"]);
    let answers: Vec<&str> = answer.lines().filter(|line| !line.contains("print")).collect();
    assert_eq!(answers, ["aaa", "bbb", "ccc"], "{answer}");
    assert_eq!(swb.json(&["turns", "py"]).as_array().map(Vec::len), Some(1));
}

#[test]
fn turns_can_be_relayed_between_agents() {
    let swb = Swb::start(EXE);
    start(&swb, "one", &["sh", "-c", AGENT], "ready");
    start(&swb, "two", &["sh", "-c", AGENT], "ready");
    swb.ok(&["ask", "one", "hello"]);
    let mut wait = swb
        .command(&["wait", "two", "--until", "turn", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it");
    assert!(!ends_within(&mut wait, QUIET));
    swb.ok(&["relay", "one", "two", "--submit"]);
    let met: serde_json::Value = serde_json::from_slice(&finish(wait).stdout).expect("JSON");
    assert_eq!((&met["met"], &met["turn_id"]), (&json!("turn"), &json!("two:1")));
    let turn = swb.ok(&["turn", "two"]);
    assert!(turn.contains("you said: [from one, turn 1] you said: hello"), "{turn}");
}

#[test]
fn the_relay_buffer_is_shared_with_clippy() {
    let swb = Swb::start(EXE);
    start(&swb, "main", &BASH, "ready");
    swb.ok(&["run", "-d", "-n", "to", "--", "cat"]);
    swb.ok(&["ask", "main", "echo words"]);
    let captured = swb.json(&["capture", "main"]);
    assert_eq!(captured["turn_id"], "main:1");
    assert!(captured["bytes"].as_u64().is_some_and(|bytes| bytes >= 7), "{captured}");
    swb.ok(&["paste", "to"]);
    wrote(&swb, "to", "words");
    // A session that another program runs is in the same table.
    let mut wrapper = swb.clippy(PeerRole::Wrapper);
    wrapper.register("wrapped");
    wrapper.turn("wrapped", b"\x1b[1mbold\x1b[m\r\nnext\r\n");
    assert_eq!(swb.ok(&["turn", "wrapped"]), "bold\nnext\n");
    assert_eq!(swb.ok(&["capture", "wrapped:1"]), "Captured wrapped:1 (19 bytes)\n");
    swb.ok(&["relay", "main", "wrapped", "--submit"]);
    assert_eq!(wrapper.injected(), b"[from main, turn 1] words");
    assert_eq!(wrapper.injected(), b"\r");
    // Whether it takes several lines as one paste is unknown.
    for command in [&["relay", "wrapped:1", "wrapped"][..], &["paste", "wrapped"]] {
        let refused = swb.run(command);
        assert_eq!(refused.status.code(), Some(1), "{}", said(&refused));
        assert!(
            said(&refused).contains("has several lines") && said(&refused).contains("hint: --raw"),
            "{refused:?}"
        );
    }
    swb.ok(&["paste", "wrapped", "--raw"]);
    assert_eq!(wrapper.injected(), b"\x1b[1mbold\x1b[m\r\nnext\r\n");
}

// ---- status ----

#[test]
fn agent_states_are_listed_and_explained() {
    let swb = Swb::start(EXE);
    start(&swb, "main", &["sh", "-c", AGENT], "ready");
    let explained = swb.json(&["explain", "main"]);
    assert_eq!(
        (&explained["state"], &explained["signal"], &explained["profile"]),
        (&json!("ready"), &json!("status"), &json!("shell"))
    );
    assert!(explained["evidence"][0]["detail"].is_string() && explained["since"].is_u64(), "{explained}");
    let text = swb.ok(&["explain", "main"]);
    assert!(text.starts_with("ready for ") && text.contains("because of status"), "{text}");
    let list = swb.ok(&["ls"]);
    assert!(list.lines().nth(1).is_some_and(|line| line.contains("running  ready ")), "{list}");
    assert_eq!(swb.json(&["ls"])[0]["agent"]["state"], "ready");
    assert_eq!(swb.json(&["wait", "main", "--until", "ready"])["met"], "ready");
    swb.ok(&["send", "main", "slow", "--enter"]);
    becomes(&swb, "main", "working");
    let late = swb.run(&["wait", "main", "--until", "ready", "--timeout", "0.2"]);
    assert_eq!(late.status.code(), Some(124));
    swb.ok(&["send", "main", "x", "--enter"]);
    swb.ok(&["wait", "main", "--until", "ready"]);
    let mut wait =
        swb.command(&["wait", "main", "--until", "asking"]).stderr(Stdio::piped()).spawn().expect("it");
    let mut exit = swb
        .command(&["wait", "main", "--until", "exit", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it");
    assert!(!ends_within(&mut wait, QUIET) && !ends_within(&mut exit, QUIET));
    swb.ok(&["send", "main", "end", "--enter"]);
    assert_eq!(finish(wait).status.code(), Some(1), "it ended before");
    let met: serde_json::Value = serde_json::from_slice(&finish(exit).stdout).expect("JSON");
    assert_eq!((&met["met"], &met["code"]), (&json!("exit"), &json!(3)));
}

#[test]
fn a_profile_can_be_chosen() {
    let swb = Swb::start(EXE);
    swb.ok(&["run", "-d", "-n", "main", "--profile", "python", "--", "sh", "-c", "printf '>>> '; exec cat"]);
    becomes(&swb, "main", "ready");
    assert_eq!(agent(&swb, "main")["profile"], "python");
}

// XS-9
#[test]
fn only_commands_in_sessions_have_the_name_variable() {
    let swb = Swb::start(EXE);
    let script = "echo \"[${SWB_SESSION-none}]\"; exec sleep 600";
    swb.ok(&["run", "-d", "-n", "main", "--", "sh", "-c", script]);
    wrote(&swb, "main", "[main]");
    // A name that is taken gets a number.
    for _ in 0..2 {
        let made = swb.ok(&["--json", "run", "-d", "-w", "/", "--", "sh", "-c", script]);
        let made: serde_json::Value = serde_json::from_str(&made).expect("JSON");
        let name = made["session"].as_str().expect("a name");
        wrote(&swb, name, &format!("[{name}]"));
    }
    let kept = swb.named("keepty", &["start", "kept", "--", "sh", "-c", script]).output().expect("it runs");
    assert!(kept.status.success(), "{}", said(&kept));
    swb.attach("kept").until("[none]");
    // One that another client asks for with its own command is given that client's text.
    swb.make("plain", &["sh", "-c", script]);
    wrote(&swb, "plain", "[none]");
}

// ---- hooks ----

#[test]
fn hooks_report_what_the_screen_does_not_show() {
    let swb = Swb::start(EXE);
    let script = format!("{} hook asking; while read -r line; do {} hook $line; echo told; done", EXE, EXE);
    start(&swb, "main", &["sh", "-c", &script], "asking");
    assert_eq!(agent(&swb, "main")["signal"], "hook");
    swb.ok(&["send", "main", "error", "--enter"]);
    becomes(&swb, "main", "error");
    let event = r#"{"hook_event_name":"PermissionRequest","tool_name":"Bash"}"#;
    let hook = swb
        .shell(&format!("echo '{event}' | SWB_SESSION=main $SWB hook --claude"))
        .output()
        .expect("it runs");
    assert!(hook.status.success() && hook.stdout.is_empty() && hook.stderr.is_empty());
    becomes(&swb, "main", "asking");
}

#[test]
fn hooks_fail_silently_without_a_daemon() {
    let swb = Swb::new(EXE);
    for (session, args) in [(None, "done"), (Some("main"), "done"), (Some("main"), "--claude")] {
        let mut command = swb.command(&["hook", args]);
        match session {
            Some(session) => command.env("SWB_SESSION", session),
            None => command.env_remove("SWB_SESSION"),
        };
        let output = command.output().expect("it runs");
        assert!(
            output.status.success() && output.stdout.is_empty() && output.stderr.is_empty(),
            "{output:?}"
        );
    }
    assert!(swb.try_status().is_none(), "no daemon is started");
    // Nor by a daemon that does not answer.
    let socket = swb.paths().control_socket();
    std::fs::create_dir_all(socket.parent().expect("a directory")).expect("a directory");
    let listener = std::os::unix::net::UnixListener::bind(&socket).expect("a socket");
    let mut hook = swb.command(&["hook", "ready"]).env("SWB_SESSION", "main").spawn().expect("it runs");
    assert!(ends_within(&mut hook, swb_testkit::LIMIT / 5), "it gives up soon");
    assert!(wait_for("its end", || hook.try_wait().expect("a child")).success());
    drop(listener);
    std::fs::remove_file(socket).expect("a socket");
}
