//! Which conversations are saved, searched and exported.

use serde_json::{Value, json};
use swb_testkit::{Swb, Terminal, scripted_agent, wait_for};

const EXE: &str = env!("CARGO_BIN_EXE_swb");

/// A daemon with `[chat] save` set, or without that key.
fn saving(policy: Option<&str>) -> Swb {
    let mut swb = Swb::new(EXE);
    let key = policy.map_or_else(String::new, |policy| format!("save = \"{policy}\"\n"));
    swb.configure(&scripted_agent(&[]).replace("[chat]\n", &format!("[chat]\n{key}")));
    swb.start_daemon();
    swb
}

fn is_saved(swb: &Swb, name: &str) -> bool {
    let all = swb.json(&["history", "--all"]);
    all.as_array().unwrap().iter().any(|one| one["session"] == name && one["saved"] == true)
}

fn terminal(swb: &Swb, name: &str) -> Terminal {
    let mut terminal = Terminal::start(swb.command(&["chat", name, "--new"]), 80, 24);
    terminal.until_screen("a prompt", |text| text.ends_with('›'));
    terminal.type_in(b"say:x\r");
    terminal.until_screen("the end", |text| text.contains("\n— "));
    terminal
}

#[test]
fn conversations_of_our_own_chat_are_saved() {
    let swb = saving(None);
    swb.ok(&["chat", "one", "--new", "-m", "say:x"]);
    wait_for("one to be saved", || is_saved(&swb, "one").then_some(()));
    // What a client of the protocol does not ask for is not written for it.
    let mut client = swb.chat_in("two");
    client.answer_to("say:x");
    drop(client);
    // Unless our chat continues it.
    let mut client = swb.chat_in("three");
    client.answer_to("say:x");
    drop(client);
    swb.ok(&["chat", "three", "-m", "say:y"]);
    wait_for("three to be saved", || is_saved(&swb, "three").then_some(()));
    assert!(!is_saved(&swb, "two"));
    let mut terminal = terminal(&swb, "four");
    terminal.type_in(b"\x04");
    assert_eq!(terminal.wait(), 0);
    terminal.until("is kept; ");
    wait_for("four to be saved", || is_saved(&swb, "four").then_some(()));
}

#[test]
fn what_will_be_saved_is_not_reported_as_lost() {
    let mut swb = saving(None);
    swb.ok(&["chat", "one", "--new", "-m", "say:x"]);
    assert_eq!(swb.ok(&["shutdown"]), "The daemon has stopped; sessions keep running.\n");
    swb.start_daemon();
    assert!(is_saved(&swb, "one"));
}

#[test]
fn nothing_is_saved_if_the_user_wants_that() {
    let swb = saving(Some("never"));
    swb.ok(&["chat", "one", "--new", "-m", "say:x"]);
    let mut left = terminal(&swb, "two");
    left.type_in(b"\x04");
    assert_eq!(left.wait(), 0);
    left.until("stays in memory, not on disk (/save)");
    assert!(!is_saved(&swb, "one") && !is_saved(&swb, "two"));
    assert!(!swb.paths().state_dir().join("conversations.db").exists());
}

#[test]
fn the_user_is_asked_on_leaving_if_wanted() {
    let swb = saving(Some("ask"));
    for (name, keys, saved) in [("yes", &b"y"[..], true), ("no", b"n", false)] {
        let mut terminal = terminal(&swb, name);
        terminal.type_in(b"\x04");
        terminal.until_screen("the question", |text| text.contains("save this conversation?"));
        terminal.type_in(b"\x1b");
        terminal.until_screen("the prompt again", |text| text.ends_with('›'));
        terminal.type_in(b"/quit\r");
        terminal.until_screen("the question", |text| text.contains("save this conversation?"));
        terminal.type_in(keys);
        assert_eq!(terminal.wait(), 0);
        assert_eq!(is_saved(&swb, name), saved, "{name}");
    }
    // A conversation without a message is not worth a question.
    let mut empty = Terminal::start(swb.command(&["chat", "--new"]), 80, 24);
    empty.until_screen("a prompt", |text| text.ends_with('›'));
    empty.type_in(b"\x04");
    assert_eq!(empty.wait(), 0);
}

#[test]
fn an_unknown_policy_is_an_error() {
    let swb = Swb::new(EXE);
    swb.configure("[chat]\nsave = \"sometimes\"\n");
    let output = swb.run(&["daemon"]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && error.contains("sometimes") && error.contains("always"), "{error}");
}

#[test]
fn search_covers_live_and_saved_conversations() {
    let swb = saving(Some("never"));
    swb.ok(&["chat", "live", "--new", "-m", "say:a quick brown fox"]);
    swb.ok(&["chat", "kept", "--new", "--save", "-m", "say:a quick red fox"]);
    let sessions = |words: &[&str]| -> Vec<String> {
        let hits = swb.json(&[&["history", "search"], words].concat());
        let mut names: Vec<String> = hits
            .as_array()
            .unwrap()
            .iter()
            .map(|hit| hit["conversation"]["session"].as_str().unwrap().to_owned())
            .collect();
        names.sort();
        names.dedup();
        names
    };
    assert_eq!(sessions(&["FOX", "quick"]), ["kept", "live"]);
    assert_eq!(sessions(&["brown"]), ["live"]);
    let text = swb.ok(&["history", "search", "brown"]);
    assert!(text.contains("live #1 user") && text.contains("quick brown fox"), "{text}");
    let prompts = swb.control().ok(&json!({"cmd": "history", "prompts": true, "limit": 1}));
    assert_eq!(
        (&prompts["prompts"][0]["text"], &prompts["more"]),
        (&json!("say:a quick red fox"), &json!(true))
    );
}

#[test]
fn a_conversation_is_exported() {
    let swb = saving(None);
    swb.ok(&["chat", "one", "--new", "-m", "think:hm;tool:read:notes.txt;say:# Done\\n\\n**indeed**"]);
    let markdown = swb.ok(&["history", "export", "one"]);
    for wanted in [
        "- Conversation: one\n",
        "- Agent: scripted\n",
        "## User, ",
        "## Assistant, ",
        "> hm\n",
        "**indeed**",
    ] {
        assert!(markdown.contains(wanted), "{wanted}:\n{markdown}");
    }
    let json: Value =
        serde_json::from_str(&swb.ok(&["history", "export", "one", "--format", "json"])).unwrap();
    assert_eq!(json["messages"][1]["role"], "assistant");
    assert_eq!(json, swb.json(&["history", "export", "one"]));
    let file = swb.dir().join("one.md");
    assert_eq!(swb.ok(&["history", "export", "one", "-o", file.to_str().unwrap()]), "");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), markdown);
    assert_eq!(swb.run(&["history", "export", "one", "-f", "markdown", "--json"]).status.code(), Some(2));
    assert_eq!(swb.run(&["history", "export", "nobody"]).status.code(), Some(3));
    // The beginning of its name is enough, and a mistyped one is suggested.
    assert_eq!(swb.ok(&["history", "export", "on"]), markdown);
    let mistyped = swb.run(&["history", "show", "noe"]);
    let message = String::from_utf8_lossy(&mistyped.stderr);
    assert!(mistyped.status.code() == Some(3) && message.contains("did you mean 'one'?"), "{message}");
    assert_eq!(swb.run(&["history", "export", "one", "-o", "/nowhere/x.md"]).status.code(), Some(1));
}
