//! Conversations with programs in terminals: shells, interpreters, and agents that repaint their screen.

use crate::support::agents::{becomes, start};
use serde_json::{Value, json};
use std::process::Stdio;
use std::time::{Duration, Instant};
use swb_testkit::{ChatClient, Swb, Terminal, refusal, signal, wait_for};

const EXE: &str = env!("CARGO_BIN_EXE_swb");
const PAINTER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/screen_agent.py");

/// A daemon whose conversations are held with this command.
fn with(command: &[&str], more: &str) -> Swb {
    let mut swb = Swb::new(EXE);
    let command = json!(command);
    swb.configure(&format!(
        "[chat]\nbackend = \"it\"\n[[agents]]\nname = \"it\"\nkind = \"pty\"\ncommand = {command}\n{more}\n"
    ));
    swb.start_daemon();
    swb
}

fn with_shell() -> Swb {
    with(&["/bin/sh"], "")
}

fn with_painter() -> Swb {
    with(&["python3", PAINTER], "profile = \"claude\"")
}

/// Process id of the program in a session's terminal; nothing if there is none.
fn pid(swb: &Swb, name: &str) -> Option<i64> {
    let session = swb.session(name).filter(|session| session["status"] != "exited")?;
    session["pid"].as_i64()
}

/// Waits until a session has no process.
#[track_caller]
fn gone(swb: &Swb, name: &str) {
    wait_for("the terminal's end", || pid(swb, name).is_none().then_some(()));
}

/// Waits until a session's screen shows something.
#[track_caller]
fn shows(swb: &Swb, name: &str, text: &str) {
    wait_for(&format!("{name} to show {text}"), || swb.ok(&["screen", name]).contains(text).then_some(()));
}

/// Decides an approval that is asked for.
fn decide(client: &mut ChatClient, request: &Value, decision: Value) {
    let mut data = json!({"auth_id": request["auth_id"]});
    data.as_object_mut().unwrap().extend(decision.as_object().unwrap().clone());
    client.send(&json!({"type": "authorization_response", "data": data}));
}

// SS-49, SS-52, SS-53
#[test]
fn a_shell_answers() {
    let swb = with_shell();
    let mut client = swb.chat_in("sh");
    let first = client.chat("echo hi");
    assert_eq!((first.status(), first.text().as_str()), ("completed", "hi"), "{first:?}");
    let user = &first.all("chat_message")[0];
    assert_eq!((&user["role"], &user["content"]), (&json!("user"), &json!("echo hi")));
    assert_eq!(client.answer_to("printf 'a\\n\\nb ü 日本\\n'"), "a\n\nb ü 日本");
    assert_eq!(client.answer_to("true"), "", "a command may say nothing");
    let here = swb.workspace("").display().to_string();
    assert_eq!(client.answer_to("pwd"), here.trim_end_matches('/'));
    assert_eq!(
        client.answer_to("cat <<E\none\ntwo\nE").lines().last(),
        Some("two"),
        "several lines are one prompt"
    );
    assert_eq!(
        client.answer_to("umask"),
        "0022",
        "files are made as the user wants them, not as the daemon does"
    );
}

#[test]
fn an_interpreter_answers() {
    let swb = with(&["python3", "-q"], "");
    let mut client = swb.chat_in("py");
    assert_eq!(client.answer_to("6 * 7"), "42");
    assert_eq!(client.answer_to("'two\\nlines'"), "'two\\nlines'");
    assert!(client.answer_to("1 / 0").contains("ZeroDivisionError"));
}

// SS-52, SS-53
#[test]
fn an_answer_is_sent_while_it_grows() {
    let swb = with_shell();
    let mut client = swb.chat_in("sh");
    client.answer_to("true");
    let id = client.prompt("for n in 1 2 3; do echo line $n; sleep 1; done");
    let begun = Instant::now();
    client.until("line 1");
    assert!(begun.elapsed() < Duration::from_millis(2500), "it was sent at once, not with the rest");
    let rest = client.generation(&id);
    assert_eq!(rest.status(), "completed");
    let said: String =
        rest.all("chat_message").iter().filter_map(|chunk| chunk["content"].as_str()).collect();
    assert_eq!(said.trim(), "line 2\nline 3");
}

// SS-55
#[test]
fn a_running_program_can_be_stopped() {
    let swb = with_shell();
    let mut client = swb.chat_in("sh");
    client.answer_to("true");
    let id = client.prompt("echo begun; sleep 300");
    client.until("begun");
    let asked = Instant::now();
    client.ok("chat_stop", json!({}));
    assert_eq!(client.generation(&id).status(), "stopped");
    assert!(asked.elapsed() < Duration::from_secs(2), "{:?}", asked.elapsed());
    assert_eq!(client.answer_to("echo again"), "again", "the same shell goes on");
}

// A program that ignores Ctrl+C is not reported as stopped.
#[test]
fn a_program_that_goes_on_after_a_stop_is_reported() {
    let swb = with_shell();
    let mut client = swb.chat_in("sh");
    client.answer_to("true");
    let ignores =
        "import signal; signal.signal(2, lambda *_: 0); print(3 * 7); [signal.pause() for _ in iter(int, 1)]";
    let id = client.prompt(&format!("python3 -c '{ignores}'"));
    client.until("21");
    client.ok("chat_stop", json!({}));
    let end = client.generation(&id);
    assert_eq!(end.status(), "stopped");
    let notice = end.answer["data"]["notice"].as_str().unwrap_or_default().to_owned();
    assert!(notice.contains("python3 has not stopped") && notice.contains("swb attach sh"), "{notice}");
    let evidence = swb.json(&["explain", "sh"]);
    assert_eq!((&evidence["state"], &evidence["foreground"]), (&json!("working"), &json!("python3")));
    let asked = swb.run(&["ask", "sh", "echo more"]);
    let said = String::from_utf8_lossy(&asked.stderr).into_owned();
    assert!(said.contains("python3 runs there") && said.contains("swb attach sh"), "{said}");
}

#[test]
fn an_ended_terminal_is_created_again() {
    let swb = with_shell();
    let mut client = swb.chat_in("sh");
    assert_eq!(client.answer_to("gone=no; echo set"), "set");
    let first = pid(&swb, "sh").unwrap();
    let ended = client.chat("exit 3");
    assert_ne!(ended.status(), "completed", "{ended:?}");
    assert!(ended.answer["error"]["message"].as_str().unwrap().contains("ended"), "{}", ended.answer);
    assert_eq!(client.answer_to("echo ${gone-yes}"), "yes");
    let second = pid(&swb, "sh").unwrap();
    assert_ne!(first, second);
    // Also when it ends between two prompts.
    signal(second, rustix::process::Signal::KILL);
    gone(&swb, "sh");
    assert_eq!(client.answer_to("echo back"), "back");
}

#[test]
fn a_terminal_is_removed_with_its_conversation() {
    let swb = with_shell();
    let mut client = swb.chat_in("sh");
    client.answer_to("true");
    assert!(pid(&swb, "sh").is_some());
    client.ok("session_delete", json!({"session_id": "sh"}));
    gone(&swb, "sh");
}

#[test]
fn an_agent_forgets_a_conversation_that_is_cleared() {
    let swb = with_shell();
    let mut client = swb.chat_in("sh");
    assert_eq!(client.answer_to("kept=yes; echo set"), "set");
    client.ok("chat_clear", json!({}));
    assert_eq!(client.answer_to("echo ${kept-gone}; kept=again"), "gone");
    assert_eq!(client.answer_to("echo $kept"), "again", "it is forgotten once");
    client.ok("chat_clear", json!({}));
    swb.kill_daemon();
    let mut client = swb.chat_at("sh");
    assert_eq!(client.answer_to("echo ${kept-gone}"), "gone", "also by the next daemon");
    client.ok("chat_clear", json!({}));
    client.ok("session_delete", json!({"session_id": "sh"}));
    gone(&swb, "sh");
    // A terminal that was there before belongs to another user.
    start(&swb, "mine", &["sh"], "ready");
    let mut client = swb.chat_at("mine");
    client.answer_to("kept=yes");
    client.ok("chat_clear", json!({}));
    assert_eq!(client.answer_to("echo $kept"), "yes");
}

#[test]
fn an_existing_terminal_is_used_and_never_removed() {
    let swb = with_shell();
    start(&swb, "mine", &["sh"], "ready");
    let process = pid(&swb, "mine");
    let mut client = swb.chat_at("mine");
    assert_eq!(client.answer_to("echo hello"), "hello");
    // SS-45 and the like hold for it as for others; deleting the conversation is not deleting the terminal.
    client.ok("session_delete", json!({"session_id": "mine"}));
    assert_eq!(pid(&swb, "mine"), process);
    assert_eq!(swb.ok(&["ask", "mine", "echo still"]).trim(), "still");
    let mut client = swb.chat_at("mine");
    assert_eq!(client.answer_to("echo again"), "again");
    swb.ok(&["kill", "mine"]);
    assert_ne!(client.chat("echo gone").status(), "completed");
}

#[test]
fn the_same_agent_is_a_terminal_and_a_conversation() {
    let swb = with_shell();
    let mut client = swb.chat_in("both");
    client.answer_to("true");
    let mut terminal = Terminal::start(swb.command(&["attach", "both"]), 100, 30);
    terminal.until("true");
    assert_eq!(client.answer_to("echo from the chat"), "from the chat");
    terminal.until("from the chat");
    terminal.type_in(b"kept=here\r");
    terminal.until("kept=here");
    becomes(&swb, "both", "ready");
    assert_eq!(client.answer_to("echo $kept"), "here");
}

#[test]
fn concurrent_prompts_get_their_own_answers() {
    let swb = with_shell();
    let mut client = swb.chat_in("sh");
    client.answer_to("true");
    let id = client.prompt("sleep 1; echo chat");
    let asked = swb.ok(&["ask", "sh", "echo ask"]);
    assert_eq!(asked.trim(), "ask");
    let generation = client.generation(&id);
    assert_eq!((generation.status(), generation.text().as_str()), ("completed", "chat"));
}

/// A prompt that is answered in three steps, and a client that has seen two of them.
const STEPS: &str = "echo begun; sleep 1; echo goes on; sleep 2; echo finished";

#[test]
fn an_answer_in_a_terminal_goes_on_after_a_daemon_crash() {
    let swb = with_shell();
    let mut client = swb.chat_in("sh");
    client.answer_to("true");
    client.prompt(STEPS);
    // The second line shows that the daemon has had the time to note that the program works.
    client.until("goes on");
    swb.kill_daemon();
    let mut client = swb.chat_at("sh");
    assert_eq!(client.until("finished"), "begun\ngoes on\nfinished");
    let last = wait_for("the end of the answer", || {
        let loaded = client.ok("session_load", json!({"session_id": "sh"}));
        loaded["messages"].as_array()?.last().filter(|message| message["role"] == "assistant").cloned()
    });
    assert_eq!((last["content"].as_str(), last["ending"].as_str()), (Some("begun\ngoes on\nfinished"), None));
}

#[test]
fn an_answer_that_goes_on_after_a_daemon_crash_can_be_stopped() {
    let swb = with_shell();
    let mut client = swb.chat_in("sh");
    client.prompt("echo begun; sleep 1; echo goes on; sleep 1000; echo finished");
    client.until("goes on");
    swb.kill_daemon();
    let mut client = swb.chat_at("sh");
    client.ok("chat_stop", json!({}));
    while client.event("chat_message")["is_final"] == false {}
    assert_eq!(client.answer_to("echo next"), "next");
}

#[test]
fn a_terminal_keeps_its_conversation_after_a_daemon_crash() {
    let swb = with_shell();
    let mut client = swb.chat_in("sh");
    assert_eq!(client.answer_to("kept=yes; echo set"), "set");
    let process = pid(&swb, "sh");
    client.prompt(STEPS);
    client.until("goes on");
    swb.kill_daemon();
    let mut client = swb.chat_at("sh");
    let id = client.prompt("echo $kept");
    let generation = client.generation(&id);
    assert_eq!(
        generation.status(),
        "completed",
        "the prompt waits for the end of the answer: {generation:?}"
    );
    let own =
        |chunk: &&Value| chunk["stream_id"] == generation.all("chat_message").last().unwrap()["stream_id"];
    let chunks = generation.all("chat_message");
    let text: String = chunks.iter().filter(own).filter_map(|chunk| chunk["content"].as_str()).collect();
    assert_eq!(text, "yes", "it is the same shell: {generation:?}");
    assert_eq!(pid(&swb, "sh"), process);
    swb.kill_daemon();
    // No prompt was sent since; the terminal is removed all the same.
    let mut client = swb.chat_at("sh");
    client.ok("session_delete", json!({"session_id": "sh"}));
    gone(&swb, "sh");
}

#[test]
fn changing_the_agent_replaces_the_terminal() {
    let swb =
        with(&["/bin/sh"], "[[agents]]\nname = \"py\"\nkind = \"pty\"\ncommand = [\"python3\", \"-q\"]");
    let mut client = swb.chat_in("it");
    assert_eq!(client.answer_to("echo $((1 + 1))"), "2");
    client.ok("config_set", json!({"agent": "py"}));
    assert_eq!(client.answer_to("'py' + 'thon'"), "'python'");
    client.ok("config_set", json!({"agent": "it"}));
    assert_eq!(client.answer_to("echo sh"), "sh");
}

#[test]
fn changed_defaults_keep_the_terminal() {
    const PYTHON: &str = "[[agents]]\nname = \"py\"\nkind = \"pty\"\ncommand = [\"python3\", \"-q\"]";
    let swb = with(&["/bin/sh"], PYTHON);
    let mut client = swb.chat_in("it");
    assert_eq!(client.answer_to("kept=yes; echo set"), "set");
    let shell = "[[agents]]\nname = \"it\"\nkind = \"pty\"\ncommand = [\"/bin/sh\"]\n";
    swb.configure(&format!("[chat]\nbackend = \"py\"\n{shell}{PYTHON}"));
    swb.ok(&["upgrade"]);
    let mut client = swb.chat_at("it");
    assert_eq!(client.answer_to("echo $kept"), "yes");
}

#[test]
fn the_agent_of_an_existing_terminal_is_its_program() {
    let swb = with(&["python3", "-q"], "");
    swb.script("cat", "exec cat");
    let mut client = swb.chat_at("cat");
    assert_eq!(client.ok("config_get", json!({"keys": ["agent"]}))["config"], json!({"agent": "sh"}));
    assert_eq!(client.ok("session_load", json!({"session_id": "cat"}))["terminal"], true);
    let mut client = swb.chat_in("new");
    assert_eq!(client.ok("config_get", json!({"keys": ["agent"]}))["config"], json!({"agent": "it"}));
}

#[test]
fn a_screen_agent_answers() {
    let swb = with_painter();
    let mut client = swb.chat_in("painter");
    assert_eq!(client.answer_to("say hello there"), "hello there");
    let long = client.chat("lines 5");
    assert_eq!(long.text(), "line 1\nline 2\nline 3\nline 4\nline 5", "{long:?}");
    assert!(long.all("chat_message").len() > 3, "it was sent in parts: {long:?}");
    // The parts of an answer come from the screen, so all of it does.
    assert_eq!(client.answer_to("note a **bold** word"), "a bold word");
    assert_eq!(client.answer_to("say bye"), "bye");
    assert_ne!(client.chat("end").status(), "completed");
    assert_eq!(client.answer_to("say again"), "again");
}

#[test]
fn a_command_without_output_has_an_empty_answer() {
    let program =
        "while printf '> '; read -r line; do case $line in quiet) ;; *) echo got $line;; esac; done";
    let swb = with(&["sh", "-c", program], "profile = \"generic\"");
    let mut client = swb.chat_in("it");
    assert_eq!(client.answer_to("something"), "got something");
    assert_eq!(client.answer_to("quiet"), "");
    assert_eq!(client.answer_to("more"), "got more");
}

// SS-60
#[test]
fn a_dialog_is_an_approval_and_the_decision_presses_its_key() {
    let swb = with_painter();
    let mut client = swb.chat_in("painter");
    for (decision, said) in [
        (json!({"approved": true}), "ran once"),
        (json!({"approved": false}), "was denied"),
        (json!({"approved": true, "always": true}), "runs always"),
        (json!({"approved": true, "option": "2"}), "runs always"),
    ] {
        let id = client.prompt("ask touch made.txt");
        let request = client.event("authorization_request");
        assert_eq!(request["tool_name"], "Bash command", "{request}");
        assert_eq!(request["reason"], "Do you want to proceed?");
        assert!(request["parameters"]["detail"].as_str().unwrap().contains("touch made.txt"));
        assert!(request["auth_id"].as_str().unwrap().starts_with("auth-"));
        decide(&mut client, &request, decision.clone());
        let generation = client.generation(&id);
        assert_eq!(generation.status(), "completed", "{decision}");
        let text: String =
            generation.all("chat_message").iter().filter_map(|chunk| chunk["content"].as_str()).collect();
        assert!(text.ends_with(&format!("it {said}")), "{decision}: {text}");
        assert!(!text.contains("Waiting"), "what still changes is not sent: {text}");
    }
}

#[test]
fn enter_after_a_prompt_does_not_answer_a_dialog() {
    let swb = with_painter();
    let mut client = swb.chat_in("painter");
    client.answer_to("say ready");
    let refused = client.chat("trap");
    assert_ne!(refused.status(), "completed", "{refused:?}");
    let why = refused.answer["error"]["message"].as_str().unwrap();
    assert!(why.contains("is waiting for an answer"), "{why}");
    becomes(&swb, "painter", "asking");
    assert_eq!(swb.run(&["ask", "painter", "say more"]).status.code(), Some(5));
    let relayed = swb.run(&["relay", "painter:1", "painter", "--submit"]);
    let why = String::from_utf8_lossy(&relayed.stderr);
    assert!(!relayed.status.success() && why.contains("is waiting for an answer"), "{why}");
    shows(&swb, "painter", "Do you want to proceed?");
    swb.ok(&["send", "painter", "3"]);
    assert!(!swb.ok(&["screen", "painter"]).contains("ran once"));
}

#[test]
fn an_answer_of_an_agent_in_a_terminal_goes_on_after_the_daemons_death() {
    let swb = with_painter();
    let mut command = swb.command(&["chat", "painter", "--new", "-m", "lines 8"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a child");
    becomes(&swb, "painter", "working");
    shows(&swb, "painter", "line 2");
    swb.kill_daemon();
    let told = child.wait_with_output().expect("its end");
    let text = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(told.status.success(), "{told:?}");
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("line ")).collect();
    assert_eq!(lines, (1..=8).map(|n| format!("line {n}")).collect::<Vec<_>>(), "{text}");
}

#[test]
fn a_dialog_answered_in_the_terminal_withdraws_its_approval() {
    let swb = with_painter();
    let mut client = swb.chat_in("painter");
    let id = client.prompt("twice touch made.txt");
    let first = client.event("authorization_request");
    swb.ok(&["send", "painter", "1"]);
    let second = client.event("authorization_request");
    assert_ne!(first["auth_id"], second["auth_id"]);
    decide(&mut client, &first, json!({"approved": true}));
    let error = client.so_far().into_iter().find(|message| message["type"] == "error").unwrap();
    assert_eq!(refusal(&error), "INVALID_REQUEST", "it was settled elsewhere");
    decide(&mut client, &second, json!({"approved": false}));
    let generation = client.generation(&id);
    assert_eq!(generation.status(), "completed");
    shows(&swb, "painter", "it ran once, and then was denied");
    assert_eq!(client.answer_to("say on"), "on", "and nothing else was typed");
}

#[test]
fn a_dialog_of_a_terminal_is_listed_and_answered_alone() {
    let swb = with_painter();
    swb.ok(&["run", "-d", "-n", "mine", "--profile", "claude", "--", "python3", PAINTER]);
    becomes(&swb, "mine", "ready");
    let queue = || swb.json(&["approvals"]).as_array().unwrap().clone();
    let asked = |command: &str| {
        swb.ok(&["send", "mine", "--enter", &format!("ask {command}")]);
        let waiting = wait_for("the dialog", || queue().first().cloned());
        assert_eq!(
            (&waiting["session"], &waiting["kind"]),
            (&json!("mine"), &json!("terminal")),
            "{waiting}"
        );
        waiting["id"].as_str().unwrap().to_owned()
    };
    let first = asked("touch one");
    swb.ok(&["approvals", "approve", &first]);
    shows(&swb, "mine", "it ran once");
    becomes(&swb, "mine", "ready");
    let second = asked("touch two");
    assert_ne!(first, second);
    assert_ne!(swb.run(&["approvals", "approve", &first]).status.code(), Some(0), "that is another dialog");
    assert_eq!(queue().len(), 1, "and it still waits");
    swb.ok(&["approvals", "deny", &second]);
    shows(&swb, "mine", "it was denied");
}

// SS-62
#[test]
fn a_dialog_without_an_owner_is_denied() {
    let swb = with_painter();
    let mut client = swb.chat_in("painter");
    client.prompt("ask touch made.txt");
    client.event("authorization_request");
    drop(client);
    shows(&swb, "painter", "it was denied");
    let mut client = swb.chat_at("painter");
    let said = wait_for("the answer to be over", || {
        let generation = client.chat("say on");
        // What is left of the answer before may come first.
        let last = generation.all("chat_message").iter().rev().find_map(|chunk| {
            let text = chunk["content"].as_str().unwrap_or_default();
            (!text.is_empty()).then(|| text.to_owned())
        });
        (generation.status() == "completed").then_some(last)
    });
    assert_eq!(said.as_deref(), Some("on"));
}

#[test]
fn a_dialog_outlives_the_daemon_and_is_asked_about_again() {
    let swb = with_painter();
    let mut client = swb.chat_in("painter");
    client.prompt("ask touch made.txt");
    client.event("authorization_request");
    swb.kill_daemon();
    let mut client = swb.chat_at("painter");
    let id = client.prompt("say next");
    let request = client.event("authorization_request");
    shows(&swb, "painter", "Do you want to proceed?");
    decide(&mut client, &request, json!({"approved": true}));
    let generation = client.generation(&id);
    assert_eq!(generation.status(), "completed", "{generation:?}");
    let chunks = generation.all("chat_message");
    let has = |text: &str| chunks.iter().any(|chunk| chunk["content"].as_str().unwrap().contains(text));
    assert!(has("it ran once") && has("next"), "{generation:?}");
}

#[test]
fn a_dialog_with_several_answers_is_a_question() {
    let swb = with_painter();
    let mut client = swb.chat_in("painter");
    let id = client.prompt("choose");
    let asked = client.event("question_request");
    assert!(asked["question"].as_str().unwrap().contains("Which one?"), "{asked}");
    client.send(&json!({"type": "question_response", "data": {"question_id": asked["question_id"], "answer": "Green"}}));
    assert!(
        client.generation(&id).all("chat_message").iter().any(|chunk| chunk["content"] == "chosen: Green")
    );
}

// SS-55
#[test]
fn a_prompt_stopped_while_typing_is_removed() {
    let swb = with_painter();
    let mut client = swb.chat_in("painter");
    client.answer_to("say ready");
    let id = client.prompt("clock");
    shows(&swb, "painter", "❯ clock");
    client.ok("chat_stop", json!({}));
    assert_eq!(client.generation(&id).status(), "stopped");
    assert_eq!(client.answer_to("say on"), "on");
    assert!(!swb.ok(&["screen", "painter"]).contains("clocksay"), "nothing was left in the box");
}

// SS-55
#[test]
fn a_prompt_restored_by_the_agent_is_removed() {
    let swb = with_painter();
    let mut client = swb.chat_in("painter");
    client.answer_to("say ready");
    let id = client.prompt("think");
    shows(&swb, "painter", "Working…");
    client.ok("chat_stop", json!({}));
    assert_eq!(client.generation(&id).status(), "stopped");
    assert_eq!(client.answer_to("say on"), "on");
    assert!(!swb.ok(&["screen", "painter"]).contains("thinksay"), "nothing was left in the box");
}

// SS-55
#[test]
fn a_screen_agent_can_be_stopped_working_or_asking() {
    let swb = with_painter();
    let mut client = swb.chat_in("painter");
    client.answer_to("say ready");
    for what in ["work", "ask rm -r ."] {
        let id = client.prompt(what);
        match what {
            "work" => shows(&swb, "painter", "● begun"),
            _ => drop(client.event("authorization_request")),
        }
        let asked = Instant::now();
        client.ok("chat_stop", json!({}));
        assert_eq!(client.generation(&id).status(), "stopped", "{what}");
        assert!(asked.elapsed() < Duration::from_secs(2), "{what}: {:?}", asked.elapsed());
        assert_eq!(client.answer_to("say on"), "on", "after {what}");
    }
    let log = swb.ok(&["screen", "painter"]);
    assert!(log.contains("interrupted") && log.contains("was denied"), "{log}");
}
