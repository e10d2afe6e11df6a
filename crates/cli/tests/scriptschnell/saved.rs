//! Saved sessions on the scriptschnell socket: what is written to disk, when, and what is loaded again.

use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use swb_testkit::{ChatClient, Swb, wait_for};
use swb_types::Timestamp;

const EXE: &str = env!("CARGO_BIN_EXE_swb");

/// Everything below a directory.
fn below(dir: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            all.extend(below(&path));
        }
        all.push(path);
    }
    all
}

/// The files that hold this text, in the home and the runtime directory.
fn files_with(swb: &Swb, text: &str) -> Vec<PathBuf> {
    let holds = |path: &PathBuf| {
        let plain = std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file());
        plain
            && std::fs::read(path)
                .is_ok_and(|data| data.windows(text.len()).any(|part| part == text.as_bytes()))
    };
    ["h", "r", "w"].iter().flat_map(|dir| below(&swb.dir().join(dir))).filter(holds).collect()
}

fn messages_of(loaded: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    loaded["messages"].as_array().unwrap().iter().map(|m| (text(&m["role"]), text(&m["content"]))).collect()
}

fn pairs(wanted: &[(&str, &str)]) -> Vec<(String, String)> {
    wanted.iter().map(|(role, content)| ((*role).to_owned(), (*content).to_owned())).collect()
}

#[track_caller]
fn load(client: &mut ChatClient, name: &str) -> Value {
    client.ok("session_load", json!({"session_id": name}))
}

fn item(client: &mut ChatClient, name: &str) -> Option<Value> {
    let listed = client.ok_as("session_list", json!({}), "session_list_response");
    let mut found = listed["sessions"].as_array().unwrap().iter().filter(|item| item["session_id"] == name);
    let item = found.next().cloned();
    assert!(found.next().is_none(), "{name} is listed twice");
    item
}

fn restart(swb: &mut Swb) {
    swb.stop_daemon();
    swb.start_daemon();
}

// SS-44
#[test]
fn a_session_can_be_saved() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat();
    assert_eq!(client.refused("session_save", json!({"name": "x"})), "OPERATION_NOT_ALLOWED");
    client.create(json!({"workspace": swb.dir().join("w"), "session_id": "talk"}));
    client.answer_to("say:hello");
    let saved = client.ok("session_save", json!({}));
    assert_eq!((&saved["session_id"], &saved["status"]), (&json!("talk"), &json!("saved")));
    assert_eq!(saved["title"], "say:hello", "nobody has given it another one");
    Timestamp::parse(saved["saved_at"].as_str().unwrap()).unwrap();
    let saved = client.ok("session_save", json!({"name": "Implement a parser"}));
    assert_eq!(saved["title"], "Implement a parser");
    assert_eq!(item(&mut client, "talk").unwrap()["title"], "Implement a parser");
    assert_eq!(client.ok("session_save", json!({"name": null}))["title"], "Implement a parser");
}

// SS-45, SS-46
#[test]
fn a_saved_session_survives_a_restart() {
    let mut swb = Swb::scripted(EXE, "");
    let dir = swb.dir().join("w");
    let mut client = swb.chat_in("talk");
    client.answer_to("say:hello ä🐔\\nsecond line");
    client.answer_to("think:hm;tool:read:x;say:again");
    client.ok("session_save", json!({"name": "A title"}));
    let before = item(&mut client, "talk").unwrap();
    let messages = load(&mut client, "talk")["messages"].clone();
    restart(&mut swb);
    let mut client = swb.chat();
    let after = item(&mut client, "talk").unwrap();
    for key in ["title", "created_at", "updated_at", "message_count", "workspace", "working_dir", "status"] {
        assert_eq!(before[key], after[key], "{key}");
    }
    let loaded = load(&mut client, "talk");
    assert_eq!((&loaded["session_id"], &loaded["status"]), (&json!("talk"), &json!("loaded")));
    assert_eq!((&loaded["workspace"], &loaded["working_dir"]), (&json!(dir), &json!(dir)));
    assert_eq!(loaded["title"], "A title");
    assert_eq!(loaded["messages"], messages);
    let wanted = [
        ("user", "say:hello ä🐔\\nsecond line"),
        ("assistant", "hello ä🐔\nsecond line"),
        ("user", "think:hm;tool:read:x;say:again"),
        ("assistant", "again"),
    ];
    assert_eq!(messages_of(&loaded), pairs(&wanted));
    for message in loaded["messages"].as_array().unwrap() {
        Timestamp::parse(message["timestamp"].as_str().unwrap()).unwrap();
    }
    // It is attached, and goes on.
    assert_eq!(client.answer_to("say:and on"), "and on");
    assert_eq!(item(&mut client, "talk").unwrap()["message_count"], 6);
}

// SS-45: also a live one; and what there is none of.
#[test]
fn a_live_session_can_be_loaded() {
    let swb = Swb::scripted(EXE, "");
    let mut owner = swb.chat_in("talk");
    owner.answer_to("say:hello");
    let mut other = swb.chat();
    assert_eq!(other.refused("session_load", json!({"session_id": "nobody"})), "SESSION_NOT_FOUND");
    assert_eq!(other.refused("session_load", json!({})), "INVALID_REQUEST");
    let loaded = load(&mut other, "talk");
    assert_eq!(messages_of(&loaded), pairs(&[("user", "say:hello"), ("assistant", "hello")]));
    assert_eq!(
        other.refused("chat_send", json!({"content": "x"})),
        "OPERATION_NOT_ALLOWED",
        "it has an owner"
    );
    drop(owner);
    wait_for("ownership", || (other.ask("chat_stop", json!({}))["type"] == "chat_stop").then_some(()));
}

// SS-39, SS-42, SS-32: saved sessions are listed once, keep their names, and can be deleted.
#[test]
fn saved_sessions_are_listed() {
    let mut swb = Swb::scripted(EXE, "");
    let (a, b) = (swb.workspace("a"), swb.workspace("b"));
    let mut client = swb.chat();
    for (name, dir) in [("one", &a), ("two", &b)] {
        client.create(json!({"workspace": dir, "session_id": name}));
        client.answer_to("say:hello");
        client.ok("session_save", json!({}));
        assert!(item(&mut client, name).is_some());
    }
    restart(&mut swb);
    let mut client = swb.chat();
    client.ok("workspace_set", json!({"workspace": a}));
    assert!(item(&mut client, "one").is_some() && item(&mut client, "two").is_none());
    let taken = json!({"workspace": a, "session_id": "one"});
    assert_eq!(client.refused("session_create", taken), "SESSION_EXISTS");
    load(&mut client, "one");
    assert!(item(&mut client, "one").is_some());
    client.ok("session_delete", json!({"session_id": "one", "workspace": a}));
    client.ok("session_delete", json!({"session_id": "two"}));
    assert_eq!(client.refused("session_load", json!({"session_id": "one"})), "SESSION_NOT_FOUND");
    restart(&mut swb);
    let mut client = swb.chat();
    assert!(item(&mut client, "one").is_none() && item(&mut client, "two").is_none());
    assert_eq!(client.refused("session_delete", json!({"session_id": "two"})), "SESSION_NOT_FOUND");
}

// SS-47, XS-8
#[test]
fn nothing_is_written_before_the_first_save() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    client.answer_to("say:unsaid-words;think:unthought-words;tool:read:unread-words");
    client.ok("config_set", json!({"max_tokens": 5}));
    client.ok("session_detach", json!({}));
    for words in ["unsaid-words", "unthought-words", "unread-words"] {
        assert_eq!(files_with(&swb, words), [] as [PathBuf; 0]);
    }
    client.ok("session_attach", json!({"session_id": "talk"}));
    client.ok("session_save", json!({}));
    let files = files_with(&swb, "unsaid-words");
    assert!(!files.is_empty());
    let state = swb.dir().join("h/.local/state/switchboard");
    for path in &files {
        assert!(path.starts_with(&state), "{path:?}");
        assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600, "{path:?}");
        let dir = std::fs::metadata(path.parent().unwrap()).unwrap();
        assert_eq!(dir.permissions().mode() & 0o777, 0o700, "{path:?}");
    }
    assert_eq!(std::fs::metadata(&state).unwrap().permissions().mode() & 0o777, 0o700);
    // Later messages are not written either.
    client.answer_to("say:later-words");
    assert_eq!(files_with(&swb, "later-words"), [] as [PathBuf; 0]);
}

// SS-46: what was not saved is gone after an orderly stop; a conversation that was saved is saved again, also if the save was
// that of an earlier daemon.
#[test]
fn unsaved_sessions_do_not_survive() {
    let mut swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("saved");
    client.answer_to("say:one");
    client.ok("session_save", json!({}));
    client.answer_to("say:two");
    client.create(json!({"workspace": swb.dir().join("w"), "session_id": "unsaved"}));
    client.answer_to("say:three");
    restart(&mut swb);
    let mut client = swb.chat();
    assert!(item(&mut client, "unsaved").is_none());
    let said = |words: &[&'static str]| -> Vec<(String, String)> {
        let pair = |word: &&str| pairs(&[("user", &format!("say:{word}")), ("assistant", word)]);
        words.iter().flat_map(pair).collect()
    };
    assert_eq!(messages_of(&load(&mut client, "saved")), said(&["one", "two"]));
    client.answer_to("say:four");
    swb.kill_daemon();
    let mut client = swb.chat();
    load(&mut client, "saved");
    client.answer_to("say:five");
    restart(&mut swb);
    assert_eq!(messages_of(&load(&mut swb.chat(), "saved")), said(&["one", "two", "four", "five"]));
}

// SS-48: on shutdown.
#[test]
fn auto_save_saves_on_shutdown() {
    let mut swb = Swb::scripted(EXE, "");
    let dir = swb.dir().join("w");
    let mut client = swb.chat();
    let options = json!({"auto_save": true, "save_interval_seconds": 3600});
    client.create(json!({"workspace": dir, "session_id": "kept", "options": options}));
    client.answer_to("say:hello");
    let options = json!({"auto_save": false, "save_interval_seconds": 1});
    client.create(json!({"workspace": dir, "session_id": "lost", "options": options}));
    client.answer_to("say:hello");
    assert_eq!(files_with(&swb, "hello").len(), 0, "not yet");
    restart(&mut swb);
    let mut client = swb.chat();
    assert_eq!(
        messages_of(&load(&mut client, "kept")),
        pairs(&[("user", "say:hello"), ("assistant", "hello")])
    );
    assert!(item(&mut client, "lost").is_none());
}

// SS-48: at its interval.
#[test]
fn auto_save_saves_by_itself() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat();
    let options = json!({"auto_save": true, "save_interval_seconds": 1});
    client.create(json!({"workspace": swb.dir().join("w"), "session_id": "talk", "options": options}));
    for words in ["first-words", "second-words"] {
        client.answer_to(&format!("say:{words}"));
        wait_for("a save", || (!files_with(&swb, words).is_empty()).then_some(()));
    }
}

// SS-47: a kill at any moment leaves what was saved before or what was being saved.
#[test]
fn a_kill_during_a_save_leaves_the_old_or_the_new_state() {
    let mut swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    client.answer_to("big:2000000");
    client.ok("session_save", json!({"name": "0"}));
    let mut saved = 0;
    for round in 1..=6_u64 {
        let mut client = swb.chat();
        load(&mut client, "talk");
        client.send(&json!({"type": "session_save", "data": {"name": round.to_string()}}));
        std::thread::park_timeout(std::time::Duration::from_millis(round * 4));
        swb.kill_daemon();
        // What the keeper remembers is forgotten in an orderly stop; what is on disk is what counts here.
        restart(&mut swb);
        let loaded = load(&mut swb.chat(), "talk");
        let title: u64 = loaded["title"].as_str().unwrap().parse().unwrap();
        assert!(title == saved || title == round, "{title} after {saved}, {round}");
        saved = title;
        let messages = loaded["messages"].as_array().unwrap();
        assert_eq!((messages.len(), messages[1]["content"].as_str().unwrap().len()), (2, 2_000_000));
    }
}

// SS-44: a file that another program has damaged is reported, and nothing else fails with it.
#[test]
fn a_disk_that_cannot_be_written_is_an_error() {
    let mut swb = Swb::new(EXE);
    swb.configure(&swb_testkit::scripted_agent(&[]));
    // A file where the directory of saved sessions would be, of any name.
    let probe = Swb::scripted(EXE, "");
    let mut client = probe.chat_in("talk");
    client.answer_to("say:probe-words");
    client.ok("session_save", json!({}));
    let file = files_with(&probe, "probe-words").remove(0);
    let file = file.strip_prefix(probe.dir()).unwrap();
    let (base, _) = file.to_str().unwrap().split_once(".db").unwrap();
    let path = swb.dir().join(format!("{base}.db"));
    std::fs::create_dir_all(&path).unwrap();
    std::fs::write(path.join("in the way"), "").unwrap();
    swb.start_daemon();
    let mut client = swb.chat();
    let name = client.create(json!({"workspace": swb.dir().join("w")}));
    assert_eq!(client.answer_to("say:hello"), "hello");
    assert_eq!(client.refused("session_save", json!({})), "INTERNAL_ERROR");
    assert_eq!(client.answer_to("say:and on"), "and on");
    // A copy that cannot be removed is no reason to lose what is in memory.
    assert_eq!(swb.run(&["history", "rm", &name]).status.code(), Some(1));
    assert_eq!(client.answer_to("say:still"), "still");
}

// SS-45, XS-14
#[test]
fn a_loaded_session_has_all_its_messages_after_a_kill() {
    let mut swb = Swb::scripted(EXE, "");
    let mut client = swb.chat();
    client.create(json!({"workspace": swb.dir().join("w"), "session_id": "talk"}));
    client.answer_to("say:one");
    client.ok("session_save", json!({}));
    drop(client);
    restart(&mut swb);
    let before = messages_of(&load(&mut swb.chat(), "talk"));
    assert_eq!(before, pairs(&[("user", "say:one"), ("assistant", "one")]));
    swb.kill_daemon();
    let mut client = swb.chat();
    assert_eq!(messages_of(&load(&mut client, "talk")), before);
    client.answer_to("say:two");
    assert_eq!(item(&mut client, "talk").unwrap()["message_count"], 4);
}
