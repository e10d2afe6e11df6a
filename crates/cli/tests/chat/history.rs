//! `swb history` and `swb workspace`.

use crate::support::agents::said;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use swb_testkit::{ChatClient, Swb};

const EXE: &str = env!("CARGO_BIN_EXE_swb");

fn history(swb: &Swb, args: &[&str]) -> Vec<Value> {
    swb.json(&[&["history"], args].concat()).as_array().unwrap().clone()
}

/// What programs read does not depend on where they say that they are programs.
#[test]
fn options_may_precede_the_subcommand() {
    let swb = Swb::scripted(EXE, "");
    swb.ok(&["chat", "one", "--new", "-m", "say:x"]);
    let list = swb.ok(&["history", "--json", "ls"]);
    assert_eq!(serde_json::from_str::<Value>(&list).unwrap()[0]["session"], "one", "{list}");
    assert!(swb.ok(&["history", "--all", "ls"]).contains("one"));
    assert_eq!(swb.ok(&["approvals", "--json", "ls"]).trim(), "[]");
    let refused = swb.run(&["approvals", "--json", "show", "nothing"]);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    for args in [["history", "--all", "show", "one"], ["approvals", "--watch", "show", "one"]] {
        assert_eq!(swb.run(&args).status.code(), Some(2), "{args:?}");
    }
}

fn names(list: &[Value]) -> Vec<&str> {
    list.iter().map(|one| one["session"].as_str().unwrap()).collect()
}

fn talk(swb: &Swb, dir: &str, name: &str, said: &[&str]) -> ChatClient {
    let mut client = swb.chat();
    client.create(json!({"workspace": swb.workspace(dir), "session_id": name}));
    for text in said {
        client.answer_to(text);
    }
    client
}

// SS-39, SS-44, SS-46
#[test]
fn conversations_are_listed_live_and_saved() {
    let mut swb = Swb::scripted(EXE, "");
    let (p, q) = (swb.workspace("p"), swb.workspace("q"));
    let (p, q) = (p.to_str().unwrap(), q.to_str().unwrap());
    assert_eq!(swb.ok(&["history", "--all"]), "No conversations. `swb chat` starts one.\n");
    let mut one = talk(&swb, "p", "one", &["hello there", "say:again"]);
    let _two = talk(&swb, "q", "two", &["something else"]);
    let _silent = talk(&swb, "q", "silent", &[]);
    one.ok("session_save", json!({"name": "greetings"}));
    let all = history(&swb, &["--all"]);
    // What was saved under a title has changed last; a conversation without messages is not in the history.
    assert_eq!(names(&all), ["one", "two"]);
    assert_eq!((&all[0]["title"], &all[0]["messages"]), (&json!("greetings"), &json!(4)));
    assert_eq!(names(&history(&swb, &["-w", p])), ["one"]);
    assert_eq!(names(&history(&swb, &["ls", "-w", q])), ["two"]);
    let list = swb.ok(&["history", "--all"]);
    assert!(
        list.lines().count() == 3 && list.contains("greetings") && list.contains("live, saved "),
        "{list}"
    );
    assert_eq!((&all[0]["saved"], &all[1]["saved"]), (&json!(true), &json!(false)));
    // What was not saved is gone with the daemon.
    drop(one);
    let told = "The daemon has stopped; sessions keep running, an unsaved conversation was lost.\n";
    assert_eq!(swb.ok(&["shutdown"]), told);
    swb.start_daemon();
    let all = history(&swb, &["--all"]);
    assert!(names(&all).contains(&"one"), "{all:?}");
    let kept = all.iter().find(|one| one["session"] == "one").unwrap();
    assert_eq!(
        (&kept["live"], &kept["messages"], &kept["title"]),
        (&json!(false), &json!(4), &json!("greetings"))
    );
}

// SS-45, SS-46: the terminal outlives the daemon, and so do the messages in it.
#[test]
fn a_saved_conversation_continues_with_its_terminal() {
    let mut swb = Swb::new(EXE);
    swb.configure(
        "[chat]\nbackend = \"sh\"\n[[agents]]\nname = \"sh\"\nkind = \"pty\"\ncommand = [\"/bin/sh\"]\n",
    );
    swb.start_daemon();
    let mut client = talk(&swb, "p", "term", &["echo one", "x=kept"]);
    client.ok("session_save", json!({"name": "in a shell"}));
    drop(client);
    swb.stop_daemon();
    swb.start_daemon();
    let all = history(&swb, &["--all"]);
    assert_eq!((names(&all), &all[0]["messages"], &all[0]["live"]), (vec!["term"], &json!(4), &json!(true)));
    let mut client = swb.chat();
    let loaded = client.ok("session_load", json!({"session_id": "term"}));
    assert_eq!((loaded["messages"].as_array().unwrap().len(), &loaded["title"]), (4, &json!("in a shell")));
    assert_eq!(client.answer_to("echo $x"), "kept", "it is the same shell");
    client.ok("session_save", json!({}));
    assert_eq!(swb.json(&["history", "show", "term"])["messages"].as_array().unwrap().len(), 6);
}

// SS-45
#[test]
fn messages_can_be_shown() {
    let swb = Swb::scripted(EXE, "");
    let mut client = talk(&swb, "p", "one", &["think:hm;tool:read:notes.txt;say:done\\nindeed"]);
    let whole = swb.json(&["history", "show", "one"]);
    let messages = whole["messages"].as_array().unwrap();
    assert_eq!(
        (messages.len(), &messages[0]["role"], &messages[1]["role"]),
        (2, &json!("user"), &json!("assistant"))
    );
    let kinds: Vec<&str> =
        messages[1]["parts"].as_array().unwrap().iter().map(|part| part["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["thought", "tool", "text"]);
    let text = swb.ok(&["history", "show", "one"]);
    assert!(
        text.contains("\n~ hm\n") && text.contains("result of notes.txt") && text.contains("done\nindeed\n"),
        "{text}"
    );
    client.ok("session_save", json!({}));
    let unknown = swb.run(&["history", "show", "nobody"]);
    assert_eq!(unknown.status.code(), Some(3));
    assert!(said(&unknown).contains("history --all"), "{}", said(&unknown));
}

#[test]
fn long_conversations_are_shown_completely() {
    let swb = Swb::scripted(EXE, "");
    let _client = talk(&swb, "p", "long", &["big:3000000", "flood:600", "say:the end"]);
    let whole = swb.json(&["history", "show", "long"]);
    let length = |n: usize| -> usize {
        let parts = whole["messages"][n]["parts"].as_array().unwrap();
        assert_eq!(parts.len(), 1);
        parts[0]["text"].as_str().unwrap().len()
    };
    assert_eq!((length(1), length(3)), (3_000_000, 600_000));
    assert_eq!(whole["messages"][5]["parts"][0]["text"], "the end");
    assert!(whole.get("next").is_none());
}

// SS-42, SS-47
#[test]
fn search_finds_words_until_the_conversation_is_removed() {
    let swb = Swb::scripted(EXE, "");
    let mut one = talk(&swb, "p", "one", &["the quick brown fox", "say:slow dogs"]);
    assert_eq!(swb.json(&["history", "search", "fox"])[0]["number"], 1, "it is live");
    one.ok("session_save", json!({}));
    let hits = swb.json(&["history", "search", "fox", "QUICK"]);
    assert_eq!(hits[0]["conversation"]["session"], "one");
    assert_eq!(hits[0]["number"], 1);
    assert!(hits[0]["excerpt"].as_str().unwrap().contains("\u{2}quick\u{3} brown \u{2}fox\u{3}"), "{hits}");
    let text = swb.ok(&["history", "search", "fox"]);
    assert!(
        text.starts_with("one #1 user") && text.contains("brown fox") && !text.contains('\u{2}'),
        "{text}"
    );
    let (here, elsewhere) = (swb.workspace("p"), swb.workspace("other"));
    swb.ok(&["history", "search", "fox", "-w", here.to_str().unwrap()]);
    let missed = swb.run(&["history", "search", "fox", "-w", elsewhere.to_str().unwrap()]);
    assert_eq!(missed.status.code(), Some(1));
    for hostile in ["\"", "a AND", "--", "--json", "'; DROP TABLE message; --", "fox*", "NEAR("] {
        let output = swb.run(&["history", "search", "--", hostile]);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{hostile}: {}", said(&output));
        assert!(said(&output).is_empty(), "{hostile}: {}", said(&output));
    }
    swb.ok(&["history", "rm", "one"]);
    assert_eq!(swb.run(&["history", "search", "fox"]).status.code(), Some(1));
    assert_eq!(swb.run(&["history", "rm", "one"]).status.code(), Some(3));
    assert!(history(&swb, &["--all"]).is_empty());
}

// XS-8, SS-47
#[test]
fn nothing_is_on_disk_before_something_is_saved() {
    let swb = Swb::scripted(EXE, "");
    let mut client = talk(&swb, "p", "one", &["hello"]);
    swb.ok(&["history", "--all"]);
    swb.run(&["history", "search", "hello"]);
    let dir = swb.paths().state_dir();
    assert!(!dir.join("conversations.db").exists());
    client.ok("session_save", json!({}));
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&dir), mode(&dir.join("conversations.db"))), (0o700, 0o600));
}

#[test]
fn a_damaged_file_is_reported_and_not_changed() {
    let swb = Swb::scripted(EXE, "");
    let file = swb.paths().state_dir().join("conversations.db");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "not a database at all, but somebody's notes\n".repeat(50)).unwrap();
    let mut client = swb.chat();
    client.create(json!({"workspace": swb.workspace("p")}));
    client.answer_to("hello");
    let output = swb.run(&["history", "--all"]);
    assert_eq!(output.status.code(), Some(1));
    let words = said(&output);
    assert!(words.contains("conversations.db") && words.contains("not a database"), "{words}");
    assert_eq!(client.ask("session_save", json!({}))["type"], "error");
    assert!(std::fs::read_to_string(&file).unwrap().starts_with("not a database"));
}

// ---- workspaces ----

fn git(dir: &Path, args: &[&str]) {
    let mut command = Command::new("git");
    command.current_dir(dir).args(["-c", "user.name=n", "-c", "user.email=e@example.org"]).args(args);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

// SS-70, SS-71
#[test]
fn workspaces_are_listed_and_stored() {
    let mut swb = Swb::scripted(EXE, "");
    let (p, docs) = (swb.workspace("p"), swb.workspace("docs"));
    let _client = talk(&swb, "q", "one", &["hello"]);
    let [p, docs] = [p.to_str().unwrap(), docs.to_str().unwrap()];
    let added = swb.json(&["workspace", "add", p, "--context", docs, "--agent", "scripted"]);
    assert_eq!((&added["path"], &added["agent"]), (&json!(p), &json!("scripted")));
    assert_eq!(added["context_dirs"], json!([docs]));
    let find = |list: Value, path: &str| -> Option<Value> {
        list.as_array().unwrap().iter().find(|one| one["path"] == path).cloned()
    };
    let q = swb.workspace("q");
    let q = find(swb.json(&["workspace", "ls"]), q.to_str().unwrap()).unwrap();
    assert_eq!(q["sessions"], 1);
    let table = swb.ok(&["workspace"]);
    assert!(table.starts_with("NAME") && table.contains("scripted"), "{table}");
    // Only what was added is known to the next daemon.
    swb.stop_daemon();
    swb.start_daemon();
    let kept = find(swb.json(&["workspace", "ls"]), p).unwrap();
    assert_eq!((&kept["agent"], &kept["context_dirs"]), (&json!("scripted"), &json!([docs])));
    // What is not given stays as it is.
    swb.ok(&["workspace", "add", p]);
    assert_eq!(find(swb.json(&["workspace"]), p).unwrap()["agent"], "scripted");
    let unknown = swb.run(&["workspace", "add", p, "--agent", "nobody"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(said(&unknown).contains("configured agents: scripted"), "{}", said(&unknown));
    assert_eq!(swb.run(&["workspace", "add", "/does/not/exist"]).status.code(), Some(1));
}

// SS-70, SS-73
#[test]
fn a_workspace_can_be_created_as_a_git_worktree() {
    let swb = Swb::scripted(EXE, "");
    let repository = swb.workspace("repo");
    git(&repository, &["init", "-q", "-b", "trunk"]);
    std::fs::write(repository.join("file"), "x").unwrap();
    git(&repository, &["add", "file"]);
    git(&repository, &["commit", "-q", "-m", "first"]);
    let from = repository.to_str().unwrap();
    let made = swb.json(&["workspace", "create", "fix-1", "--from", from]);
    let place = repository.with_file_name("repo-fix-1");
    assert_eq!(made["path"], place.to_str().unwrap());
    assert_eq!((&made["is_worktree"], &made["current_branch"]), (&json!(true), &json!("fix-1")));
    // Made as the user makes files, not as the daemon does.
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&place), mode(&place.join("file"))), (0o755, 0o644));
    let again = swb.run(&["workspace", "create", "fix-1", "--from", from]);
    assert_eq!(again.status.code(), Some(1));
    assert!(said(&again).contains("already exists"), "{}", said(&again));
    let strange = swb.run(&["workspace", "create", "../x", "--from", from]);
    assert!(said(&strange).contains("cannot be named"), "{}", said(&strange));
    let elsewhere = swb.workspace("plain");
    let none = swb.run(&["workspace", "create", "x", "--from", elsewhere.to_str().unwrap()]);
    assert!(said(&none).contains("no git repository"), "{}", said(&none));
}

// CO-49: what coop does not define is unknown on its socket.
#[test]
fn coop_has_exactly_its_own_commands() {
    let swb = Swb::scripted(EXE, "");
    for command in [
        "agents",
        "approval",
        "approvals",
        "ask",
        "capture",
        "conversation",
        "events",
        "explain",
        "forget",
        "history",
        "hook",
        "keys",
        "paste",
        "relay",
        "screen",
        "send",
        "status",
        "turn",
        "turns",
        "upgrade",
        "wait",
        "workspace",
        "workspaces",
    ] {
        let refused = swb.coop().ask(&json!({"cmd": command, "session": "x"}));
        assert_eq!(refused["error"], "INVALID_COMMAND", "{refused}");
        assert_eq!(refused["message"], format!("unknown command '{command}'"));
    }
    for command in ["agents", "approvals", "history", "status", "workspaces"] {
        let answered = swb.control().ask(&json!({"cmd": command}));
        assert_eq!(answered["ok"], true, "{answered}");
    }
    let agents = swb.control().ask(&json!({"cmd": "agents"}));
    assert_eq!(agents["agents"][0]["name"], "scripted");
}
