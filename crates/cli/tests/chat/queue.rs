//! `swb approvals`: one queue for the approvals of all sessions.

use crate::support::agents::{becomes, said, wrote};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use swb_testkit::{ChatClient, LIMIT, Swb, wait_for};

const EXE: &str = env!("CARGO_BIN_EXE_swb");
const PAINTER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/screen_agent.py");

fn queue(swb: &Swb) -> Vec<Value> {
    swb.json(&["approvals"]).as_array().unwrap().clone()
}

/// Has an agent ask for a permission; gives the request and the approval.
fn asks(swb: &Swb, client: &mut ChatClient, what: &str) -> (String, Value) {
    let id = client.prompt(&format!("permit:{what}"));
    let asked = client.event("authorization_request");
    let found = queue(swb).into_iter().find(|one| one["id"] == asked["auth_id"]);
    (id, found.unwrap_or_else(|| panic!("{asked} is not listed")))
}

// SS-60
#[test]
fn approvals_are_listed_shown_and_decided() {
    let swb = Swb::scripted(EXE, "");
    assert_eq!(swb.ok(&["approvals"]), "No pending approvals.\n");
    assert!(queue(&swb).is_empty());
    let (mut one, mut two) = (swb.chat_in("one"), swb.chat_in("two"));
    let (first, approval) = asks(&swb, &mut one, "cargo test");
    let (second, other) = asks(&swb, &mut two, "rm -r target");
    assert_eq!((&approval["session"], &approval["kind"]), (&json!("one"), &json!("chat")));
    assert_eq!(approval["parameters"]["command"], "cargo test");
    assert_eq!(approval["options"].as_array().unwrap().len(), 3);
    let list = swb.ok(&["approvals", "ls"]);
    let lines: Vec<&str> = list.lines().collect();
    assert!(
        lines.len() == 3 && lines[1].contains("cargo test") && lines[2].contains("rm -r target"),
        "{list}"
    );

    let id = approval["id"].as_str().unwrap();
    let shown = swb.ok(&["approvals", "show", id]);
    assert!(shown.contains("command: cargo test") && shown.contains("always"), "{shown}");
    let seen = queue(&swb).into_iter().find(|one| one["id"] == id).unwrap();
    assert_eq!((&seen["seen"], &other["seen"]), (&json!(true), &json!(false)));

    assert_eq!(swb.json(&["approvals", "approve", id])["approved"], true);
    assert_eq!(one.generation(&first).text(), "permit: yes\n");
    swb.ok(&["approvals", "deny", "two"]);
    assert_eq!(two.generation(&second).text(), "permit: no\n");
    assert!(queue(&swb).is_empty());
}

// SS-60, SS-63
#[test]
fn a_decision_can_be_permanent_and_use_the_agents_options() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    for (args, said) in [
        (&["--always"][..], "permit: always\n"),
        (&["--option", "always"], "permit: always\n"),
        (&["--option", "yes"], "permit: yes\n"),
    ] {
        let (id, approval) = asks(&swb, &mut client, "ls");
        // The beginning of its name is enough.
        let name = &approval["id"].as_str().unwrap()["auth-".len()..][..8];
        swb.ok(&[&["approvals", "approve", name], args].concat());
        assert_eq!(client.generation(&id).text(), said, "{args:?}");
    }
    let (id, approval) = asks(&swb, &mut client, "ls");
    let name = approval["id"].as_str().unwrap();
    for (args, words) in [
        (&["approve", name, "--option", "perhaps"][..], "available: "),
        (&["approve", name, "--option", "no"], "contradicts the decision"),
        (&["approve", "nobody"], "no pending approval 'nobody'"),
        (&["show", "auth-0000000000000000"], "no pending approval"),
    ] {
        let output = swb.run(&[&["approvals"], args].concat());
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(said(&output).contains(words), "{args:?}: {}", said(&output));
    }
    assert_eq!(queue(&swb).len(), 1);
    swb.ok(&["approvals", "deny", name, "--option", "no"]);
    assert_eq!(client.generation(&id).text(), "permit: no\n");
    // The first decision counts.
    assert_eq!(swb.run(&["approvals", "approve", name]).status.code(), Some(1));
}

#[test]
fn an_ambiguous_name_is_rejected() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    let id = client.prompt("permits:2");
    wait_for("two approvals", || (queue(&swb).len() == 2).then_some(()));
    let output = swb.run(&["approvals", "approve", "talk"]);
    assert_eq!(output.status.code(), Some(2));
    for approval in queue(&swb) {
        assert!(said(&output).contains(approval["id"].as_str().unwrap()), "{}", said(&output));
        swb.ok(&["approvals", "approve", approval["id"].as_str().unwrap()]);
    }
    assert_eq!(client.generation(&id).status(), "completed");
}

#[test]
fn a_queue_can_be_watched() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    let mut watch = swb.command(&["approvals", "--watch", "--json"]);
    let mut watch = watch.stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(watch.stdout.take().unwrap()).lines().map_while(Result::ok);
    let (sender, told) = std::sync::mpsc::sync_channel(16);
    let reader = std::thread::spawn(move || lines.map(|line| sender.send(line)).all(|sent| sent.is_ok()));
    let next = || serde_json::from_str::<Value>(&told.recv_timeout(LIMIT).unwrap()).unwrap();
    assert_eq!(next(), json!([]));
    let id = client.prompt("permit:ls");
    assert_eq!(next()[0]["session"], "talk");
    swb.ok(&["approvals", "approve", "talk"]);
    assert_eq!(next(), json!([]));
    assert_eq!(client.generation(&id).status(), "completed");
    watch.kill().unwrap();
    watch.wait().unwrap();
    reader.join().unwrap();
}

/// Long parameters: every approval is in the list, and one alone is shown with more of them.
#[test]
fn long_approvals_fit_into_a_reply() {
    let swb = Swb::scripted(EXE, "");
    let mut clients: Vec<ChatClient> = (0..8).map(|n| swb.chat_in(&format!("c{n}"))).collect();
    let long = "x".repeat(300_000);
    for client in &mut clients {
        client.prompt(&format!("permit:{long}"));
        client.event("authorization_request");
    }
    let list = queue(&swb);
    assert_eq!(list.len(), 8);
    assert!(list.iter().all(|one| one["cut"] == true));
    let shown = swb.json(&["approvals", "show", "c3"]);
    assert_eq!(
        (&shown["cut"], shown["parameters"]["command"].as_str().unwrap().len()),
        (&json!(false), long.len())
    );
}

// ---- terminals ----

/// A session whose agent asks in a dialog that belongs to no conversation.
fn painter(swb: &Swb, name: &str, prompt: &str) -> Value {
    // The command's name does not reveal it.
    swb.ok(&["run", "-d", "-n", name, "--profile", "claude", "--", "python3", PAINTER]);
    becomes(swb, name, "ready");
    swb.ok(&["send", name, prompt, "--enter"]);
    becomes(swb, name, "asking");
    wait_for("its dialog in the queue", || {
        queue(swb)
            .into_iter()
            .find(|one| one["session"] == name && !one["options"].as_array().unwrap().is_empty())
    })
}

#[test]
fn a_dialog_on_a_terminal_is_in_the_same_queue() {
    let swb = Swb::start(EXE);
    let approval = painter(&swb, "term", "ask touch made.txt");
    assert_eq!(approval["kind"], "terminal");
    assert!(approval["id"].as_str().unwrap().starts_with("term-"), "{approval}");
    let shown = swb.ok(&["approvals", "show", "term"]);
    assert!(shown.contains("touch made.txt"), "{shown}");
    swb.ok(&["approvals", "approve", "term"]);
    wrote(&swb, "term", "ran once");
    wait_for("an empty queue", || queue(&swb).is_empty().then_some(()));
    let gone = swb.run(&["approvals", "deny", approval["id"].as_str().unwrap()]);
    assert_eq!(gone.status.code(), Some(1));
    for (args, said) in
        [(&["deny", "term"][..], "was denied"), (&["approve", "term", "--always"], "runs always")]
    {
        swb.ok(&["send", "term", "ask rm x", "--enter"]);
        wait_for("the next dialog", || queue(&swb).first().cloned());
        swb.ok(&[&["approvals"], args].concat());
        wrote(&swb, "term", said);
        wait_for("an empty queue", || queue(&swb).is_empty().then_some(()));
    }
}

#[test]
fn a_dialog_with_several_answers_is_answered_by_an_option() {
    let swb = Swb::start(EXE);
    let approval = painter(&swb, "term", "choose");
    let options = approval["options"].as_array().unwrap();
    let refused = swb.run(&["approvals", "approve", "term"]);
    assert_eq!(refused.status.code(), Some(1), "{approval}");
    assert_eq!(options[0]["kind"], "other", "{approval}");
    swb.ok(&["approvals", "approve", "term", "--option", options[0]["id"].as_str().unwrap()]);
    wait_for("an empty queue", || queue(&swb).is_empty().then_some(()));
}

/// What a conversation asks about a terminal is asked once.
#[test]
fn a_terminal_in_a_conversation_is_listed_once() {
    let mut swb = Swb::new(EXE);
    let command = json!(["python3", PAINTER]);
    swb.configure(&format!(
        "[chat]\nbackend = \"it\"\n[[agents]]\nname = \"it\"\nkind = \"pty\"\ncommand = {command}\nprofile = \"claude\""
    ));
    swb.start_daemon();
    let mut client = swb.chat_in("talk");
    let id = client.prompt("ask touch made.txt");
    let asked = client.event("authorization_request");
    let list = queue(&swb);
    assert_eq!((list.len(), &list[0]["id"], &list[0]["kind"]), (1, &asked["auth_id"], &json!("chat")));
    swb.ok(&["approvals", "approve", "talk"]);
    assert!(client.generation(&id).text().contains("ran once"));
    assert!(queue(&swb).is_empty());
}
