//! A save that is interrupted leaves the old or the new state (SS-47).
//!
//! The process to be killed is this program again, running the same test; an environment variable makes it the one
//! that acts.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod support;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use support::talk;
use swb_chat::{Archive, SavedConversation};
use swb_store::Store;

const PLACE: &str = "STORE_TEST_DIR";
const MESSAGES: usize = 20;

/// A state in which every message is another than in any other state.
fn state(n: u64) -> SavedConversation {
    let texts: Vec<String> =
        (0..MESSAGES).map(|m| format!("state{n} message {m} {}", "padding ".repeat(100))).collect();
    let said: Vec<&str> = texts.iter().map(String::as_str).collect();
    SavedConversation { title: n.to_string(), ..talk("crash", "/ws", &said) }
}

fn number_of(saved: &SavedConversation) -> u64 {
    saved.title.parse().unwrap()
}

/// This program, with one test only, behind some words of the shell.
fn child(test: &str, dir: &Path, before: &str) -> Child {
    let script = format!("{before} exec \"$0\" --exact {test} --nocapture");
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &script]).arg(std::env::current_exe().unwrap()).env(PLACE, dir);
    command.stdout(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap()
}

/// The store to act on, if this is the process that is to act.
fn place() -> Option<Store> {
    std::env::var_os(PLACE).map(|dir| Store::new(dir.into()))
}

fn intact(store: &Store) {
    let database = rusqlite::Connection::open(store.file()).unwrap();
    let report: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(report, "ok");
    database.execute("INSERT INTO words (words) VALUES ('integrity-check')", []).unwrap();
    let count = |query| database.query_row(query, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count("SELECT count(*) FROM words"), count("SELECT count(*) FROM message"));
}

fn save_until_killed(store: &Store) {
    let first = store.load("crash").unwrap().map_or(0, |saved| number_of(&saved));
    for n in first + 1.. {
        store.save(&state(n)).unwrap();
        println!("saved {n}");
    }
}

// SS-46, SS-47
#[test]
fn a_kill_leaves_the_old_or_the_new_state() {
    if let Some(store) = place() {
        return save_until_killed(&store);
    }
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("store");
    let mut last = 0;
    for round in 0..25 {
        let mut child = child("a_kill_leaves_the_old_or_the_new_state", &dir, "");
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut saved = lines.filter_map(|line| line.rsplit_once("saved ")?.1.parse::<u64>().ok());
        let seen = saved.by_ref().nth(round % 4).unwrap();
        // Some time within a save, another one each round.
        (0..round * 40_000).for_each(|n| {
            std::hint::black_box(n);
        });
        child.kill().unwrap();
        child.wait().unwrap();
        let seen = saved.last().unwrap_or(seen);
        let store = Store::new(dir.clone());
        let found = store.load("crash").unwrap().unwrap();
        let n = number_of(&found);
        assert!(n == seen || n == seen + 1, "round {round}: said {seen}, kept {n}, before {last}");
        assert_eq!(found, state(n), "round {round}");
        assert_eq!(store.search(&format!("state{n}"), None, 100).unwrap().len(), MESSAGES);
        assert!(store.search(&format!("state{}", n - 1), None, 100).unwrap().is_empty());
        intact(&store);
        last = n;
    }
}

fn save_until_there_is_no_room(store: &Store) {
    let mut kept = 0;
    let error = loop {
        let text = "no room for this ".repeat(2000);
        let said: Vec<&str> = vec![&text; kept + 1];
        match store.save(&talk("full", "/ws", &said)) {
            Ok(()) => kept += 1,
            Err(error) => break error,
        }
    };
    assert!(kept > 0, "{error}");
    let found = store.load("full").unwrap().unwrap();
    assert_eq!(found.messages.len(), kept);
    // There is room again after something was removed.
    assert!(store.delete("full").unwrap());
    store.save(&talk("after", "/ws", &["x"])).unwrap();
    println!("kept {kept}, then: {error}");
}

#[test]
fn a_full_disk_leaves_the_old_state() {
    if let Some(store) = place() {
        return save_until_there_is_no_room(&store);
    }
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("store");
    // Blocks of 512 bytes; the signal would end the process before it sees the error.
    let child = child("a_full_disk_leaves_the_old_state", &dir, "trap '' XFSZ; ulimit -f 2000;");
    let output = child.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}");
    assert!(told.contains("then: ") && told.contains("conversations.db"), "{told}");
    let store = Store::new(dir);
    assert_eq!(store.list(None).unwrap().len(), 1);
    intact(&store);
}

// SS-47
#[test]
fn a_strict_mask_does_not_lock_the_owner_out() {
    use std::os::unix::fs::PermissionsExt;
    if let Some(store) = place() {
        store.save(&state(1)).unwrap();
        return println!("saved 1");
    }
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("a/b/store");
    let test = "a_strict_mask_does_not_lock_the_owner_out";
    let output = child(test, &place, "umask 0177;").wait_with_output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("saved 1"));
    for made in [&place, place.parent().unwrap(), &dir.path().join("a")] {
        assert_eq!(made.metadata().unwrap().permissions().mode() & 0o777, 0o700, "{}", made.display());
    }
}
