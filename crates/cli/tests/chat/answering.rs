//! Who answers: a property of each conversation, and piped text never reaches a shell.

use crate::support::agents::{AGENT, said, start, wrote};
use serde_json::{Value, json};
use std::process::Output;
use swb_testkit::{Swb, refusal, scripted_agent, wait_for};

const EXE: &str = env!("CARGO_BIN_EXE_swb");

/// A daemon without a configured agent: the shell answers.
fn without_agents() -> Swb {
    let mut swb = Swb::new(EXE);
    swb.configure("[chat]\nbackend = \"shell\"\n");
    swb.start_daemon();
    swb
}

/// Makes the scripted agent the default one of a running daemon.
fn configure_an_agent(swb: &Swb) {
    swb.configure(&scripted_agent(&[]));
    swb.ok(&["upgrade"]);
}

/// Pipes two lines to `swb chat` with these arguments; a shell that runs the second creates the file.
fn pipe(swb: &Swb, args: &str) -> Output {
    let script = format!("printf 'a diff line\\ntouch pwned\\n' | $SWB chat {args}");
    swb.shell(&script).output().expect("it runs")
}

#[track_caller]
fn assert_not_run(swb: &Swb) {
    assert!(!swb.workspace("").join("pwned").exists(), "a shell has run the text");
}

/// The agent of a conversation in the reply to `session_load`, in the settings, and in both lists.
fn reported(swb: &Swb, name: &str) -> [Value; 4] {
    let mut client = swb.chat();
    let loaded = client.ok("session_load", json!({"session_id": name}))["agent"].clone();
    let settings = client.ok("config_get", json!({"keys": ["agent"]}))["config"]["agent"].clone();
    let list = client.ok_as("session_list", json!({}), "session_list_response");
    let find = |list: &Value, key: &str| {
        let list = list.as_array().expect("a list").clone();
        list.into_iter().find(|one| one[key] == name).expect("it is listed")["agent"].clone()
    };
    let history = swb.json(&["history", "--all"]);
    [loaded, settings, find(&list["sessions"], "session_id"), find(&history, "session")]
}

#[test]
fn a_changed_configuration_does_not_change_who_answers() {
    let swb = without_agents();
    assert_eq!(swb.ok(&["chat", "old", "--new", "-m", "echo from the shell"]), "from the shell\n");
    assert_eq!(reported(&swb, "old"), ["shell"; 4]);
    configure_an_agent(&swb);
    assert_eq!(reported(&swb, "old"), ["shell"; 4]);
    assert_eq!(swb.ok(&["chat", "old", "-m", "echo still"]), "still\n");

    // Another agent answers in another conversation.
    let refused = swb.run(&["chat", "old", "--agent", "scripted", "-m", "say:x"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        said(&refused).contains("'shell' answers in conversation 'old', not 'scripted'"),
        "{}",
        said(&refused)
    );
    assert!(said(&refused).contains("--new"), "{}", said(&refused));
    assert_eq!(swb.ok(&["chat", "--agent", "scripted", "-m", "say:it answers"]), "it answers\n");
    let output = pipe(&swb, "--agent scripted -m review");
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "you said: review\n\na diff line\ntouch pwned\n");
    assert_not_run(&swb);

    // A change on purpose is one.
    let mut client = swb.chat_at("old");
    client.ok("config_set", json!({"agent": "scripted"}));
    assert_eq!(client.answer_to("say:changed"), "changed");
    drop(client);
    assert_eq!(reported(&swb, "old"), ["scripted"; 4]);
}

#[test]
fn a_conversation_keeps_its_agent_after_a_crash() {
    let swb = without_agents();
    let mut client = swb.chat_in("new");
    assert_eq!(client.answer_to("echo begun"), "begun");
    swb.configure(&scripted_agent(&[]));
    drop(client);
    swb.kill_daemon();
    assert_eq!(reported(&swb, "new"), ["shell"; 4]);
}

#[test]
fn an_agent_chosen_by_its_kind_is_recorded_by_its_name() {
    let swb = Swb::scripted(EXE, "");
    swb.ok(&["chat", "one", "--new", "--agent", "acp", "-m", "say:x"]);
    assert_eq!(reported(&swb, "one"), ["scripted"; 4]);
    assert_eq!(swb.ok(&["chat", "one", "--agent", "acp", "-m", "say:again"]), "again\n");
    let mut client = swb.chat_in("two");
    client.ok("config_set", json!({"agent": "pty"}));
    assert_eq!(client.answer_to("echo $((1 + 1))"), "2");
    drop(client);
    assert_eq!(reported(&swb, "two"), ["shell"; 4]);
}

#[test]
fn the_user_sees_that_the_shell_answers() {
    let swb = Swb::start(EXE);
    let output = swb.run(&["chat", "-m", "echo hello"]);
    if said(&output).contains("your shell answers") {
        assert_eq!(String::from_utf8_lossy(&output.stdout), "hello\n");
    } else {
        // The daemon has found an agent.
        assert_ne!(swb.control().ok(&json!({"cmd": "agents"}))["agents"][0]["name"], "shell");
    }
}

#[test]
fn piped_text_never_reaches_a_shell() {
    let swb = without_agents();
    for args in
        ["-m review", "", "-m -", "--new", "--new -m review", "--agent shell", "--agent shell --new -m -"]
    {
        let output = pipe(&swb, args);
        assert_eq!(output.status.code(), Some(2), "{args}: {}", said(&output));
        assert!(said(&output).contains("would run each line"), "{args}: {}", said(&output));
    }
    // An existing conversation.
    swb.ok(&["chat", "old", "--new", "-m", "echo begun"]);
    for args in ["old", "old -m review", "old -m -"] {
        assert_eq!(pipe(&swb, args).status.code(), Some(2), "{args}");
    }
    // Redirected files are no different.
    let script = "printf 'touch pwned\\n' > text; $SWB chat old -m review < text";
    assert_eq!(swb.shell(script).output().unwrap().status.code(), Some(2));
    assert_not_run(&swb);
    // What is typed is run.
    assert_eq!(swb.ok(&["chat", "old", "-m", "echo typed"]), "typed\n");
}

#[test]
fn a_shell_is_recognised_by_its_program() {
    let mut swb = Swb::new(EXE);
    let agents = ["/bin/sh", "env sh", "sh -i", "python3 -q"].iter().enumerate().map(|(n, command)| {
        let command: Vec<&str> = command.split(' ').collect();
        format!("[[agents]]\nname = \"stub{n}\"\nkind = \"pty\"\ncommand = {}\n", json!(command))
    });
    swb.configure(&format!("[chat]\nbackend = \"stub0\"\n{}", agents.collect::<String>()));
    swb.start_daemon();
    for agent in ["stub0", "stub1", "stub2", "stub3"] {
        for args in ["-m review", ""] {
            let output = pipe(&swb, &format!("--new --agent {agent} {args}"));
            assert_eq!(output.status.code(), Some(1), "{agent} {args}: {}", said(&output));
            assert!(said(&output).contains("would run each line"), "{agent} {args}: {}", said(&output));
        }
    }
    // Sessions with a terminal, with any program in it by now.
    for (name, script) in
        [("direct", "exec sh"), ("below", "sh; true"), ("later", "printf go; read x; exec sh")]
    {
        swb.script(name, script);
    }
    wrote(&swb, "later", "go");
    swb.ok(&["send", "later", "x", "--enter"]);
    for name in ["direct", "below", "later"] {
        // Until its shell has started, the script is what reads.
        wait_for("its prompt", || swb.ok(&["screen", name]).contains(['$', '#']).then_some(()));
        for args in [name.to_owned(), format!("{name} -m review")] {
            let output = pipe(&swb, &args);
            assert!(!output.status.success(), "{args}: {}", said(&output));
            assert!(said(&output).contains("would run each line"), "{args}: {}", said(&output));
        }
    }
    assert_not_run(&swb);
    // The daemon checks, even if its client does not.
    let mut client = swb.chat_at("direct");
    let prompt = json!({"content": "touch pwned", "options": {"piped": true}});
    let answer = client.ask("chat_send", prompt);
    assert_eq!(refusal(&answer), "OPERATION_NOT_ALLOWED");
    assert_not_run(&swb);
}

#[test]
fn a_program_that_runs_nothing_gets_piped_text() {
    let swb = Swb::start(EXE);
    start(&swb, "reader", &["sh", "-c", AGENT], "ready");
    let output = swb.shell("printf 'one line' | $SWB chat reader").output().expect("it runs");
    let answer = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(answer, "you said: one line\n", "{}", said(&output));
}

#[test]
fn piped_text_is_no_command_of_an_agent() {
    let swb = Swb::start(EXE);
    start(&swb, "reader", &["sh", "-c", AGENT], "ready");
    let pipe =
        |text: &str| swb.shell(&format!("printf '{text}' | $SWB chat reader")).output().expect("it runs");
    let output = pipe("\\001!touch pwned");
    let answer = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(answer, "you said: [from standard input] !touch pwned\n", "{}", said(&output));
    // Without bracketed paste each line is submitted by itself.
    let output = pipe("one\\n!touch pwned");
    assert!(!output.status.success() && said(&output).contains("line 2"), "{}", said(&output));
}

#[test]
fn a_conversation_about_a_terminal_is_continued_with_its_program_only() {
    let swb = Swb::start(EXE);
    swb.ok(&["run", "-d", "-n", "api", "--", "python3", "-q"]);
    let mut client = swb.chat_at("api");
    assert_eq!(client.answer_to("1 + 1"), "2");
    assert_eq!(reported(&swb, "api"), ["python3"; 4]);
    // Its program cannot be replaced by a setting.
    let set = client.ok("config_set", json!({"agent": "shell"}));
    assert_eq!(set["updated"], json!({}));
    client.ok("session_save", json!({}));
    drop(client);
    swb.ok(&["kill", "api", "--force"]);
    let ended = |session: serde_json::Value| session["status"] == "exited";
    wait_for("its end", || swb.session("api").is_none_or(ended).then_some(()));
    let refused = swb.run(&["chat", "api", "-m", "touch pwned"]);
    assert!(!refused.status.success() && said(&refused).contains("ended"), "{}", said(&refused));
    // Nor does the next daemon send its text to another program in a session of that name.
    swb.ok(&["run", "-d", "-n", "api", "--", "sh"]);
    swb.kill_daemon();
    let refused = swb.run(&["chat", "api", "-m", "touch pwned"]);
    let words = "'python3' answers in this conversation, but session 'api' now runs 'sh'";
    assert!(!refused.status.success() && said(&refused).contains(words), "{}", said(&refused));
    assert_not_run(&swb);
}
