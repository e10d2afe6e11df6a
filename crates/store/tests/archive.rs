//! Saved conversations can be loaded and searched, and only their owner can access them.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod support;

use rusqlite::Connection;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use support::{rich, talk};
use swb_chat::{Archive, Author, Ending, Message, SavedConversation, SearchHit, Workspace};
use swb_store::Store;
use swb_types::Timestamp;

fn store() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::new(dir.path().join("state/switchboard"));
    (dir, store)
}

fn names(store: &Store, workspace: Option<&str>) -> Vec<String> {
    store.list(workspace.map(Path::new)).unwrap().iter().map(|one| one.name.to_string()).collect()
}

fn found(store: &Store, words: &str) -> Vec<(String, u64)> {
    let hits = store.search(words, None, 100).unwrap();
    hits.iter().map(|hit: &SearchHit| (hit.summary.name.to_string(), hit.number)).collect()
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o7777
}

// SS-44, SS-45, SS-46
#[test]
fn what_is_saved_comes_back() {
    let (dir, store) = store();
    for saved in [rich(), talk("empty", "/ws", &[])] {
        store.save(&saved).unwrap();
        assert_eq!(store.load(saved.name.as_str()).unwrap(), Some(saved.clone()));
        // Also to another process, after this one is gone.
        let other = Store::new(dir.path().join("state/switchboard"));
        assert_eq!(other.load(saved.name.as_str()).unwrap().as_ref(), Some(&saved));
        let listed = other.list(None).unwrap().into_iter().find(|one| one.name == saved.name);
        assert_eq!(listed, Some(saved.summary()));
    }
    assert_eq!(store.load("another").unwrap(), None);
}

#[test]
fn paths_need_not_be_text() {
    use std::os::unix::ffi::OsStringExt;
    let (_dir, store) = store();
    let path = PathBuf::from(std::ffi::OsString::from_vec(b"/ws/\xff".to_vec()));
    let saved = SavedConversation { workspace: path.clone(), ..talk("bytes", "/ws", &["x"]) };
    store.save(&saved).unwrap();
    assert_eq!(store.load("bytes").unwrap(), Some(saved));
    assert_eq!(store.list(Some(&path)).unwrap().len(), 1);
    let error = store.keep_workspace(&Workspace::new(&path, Timestamp(1))).unwrap_err();
    assert!(error.to_string().contains("not UTF-8"), "{error}");
}

// SS-47, XS-8
#[test]
fn nothing_is_written_before_the_first_save() {
    let (dir, store) = store();
    assert_eq!(store.load("a").unwrap(), None);
    assert!(store.list(None).unwrap().is_empty() && store.workspaces().unwrap().is_empty());
    assert!(store.search("a", None, 9).unwrap().is_empty() && !store.delete("a").unwrap());
    assert_eq!(dir.path().read_dir().unwrap().count(), 0);
}

// SS-47
#[test]
fn only_the_owner_can_access_the_store() {
    let (_dir, store) = store();
    store.save(&talk("a", "/ws", &["x"])).unwrap();
    let dir = store.file().parent().unwrap().to_owned();
    assert_eq!((mode(&dir), mode(dir.parent().unwrap()), mode(store.file())), (0o700, 0o700, 0o600));
    // Looser permissions are corrected.
    std::fs::set_permissions(&dir, PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::set_permissions(store.file(), PermissionsExt::from_mode(0o644)).unwrap();
    store.save(&talk("b", "/ws", &["x"])).unwrap();
    assert_eq!((mode(&dir), mode(store.file())), (0o700, 0o600));
    for entry in dir.read_dir().unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o600);
    }
}

#[test]
fn the_journal_of_a_change_is_private_too() {
    let (_dir, store) = store();
    store.save(&talk("a", "/ws", &["x"])).unwrap();
    let other = Connection::open(store.file()).unwrap();
    other.execute_batch("BEGIN; UPDATE conversation SET title = 'y'").unwrap();
    let journal = store.file().with_extension("db-journal");
    assert_eq!(mode(&journal), 0o600);
}

// SS-47
#[test]
fn links_and_irregular_files_in_its_place_are_rejected() {
    let (dir, store) = store();
    let target = dir.path().join("elsewhere");
    std::fs::create_dir(&target).unwrap();
    std::fs::create_dir(dir.path().join("state")).unwrap();
    symlink(&target, dir.path().join("state/switchboard")).unwrap();
    let error = store.save(&talk("a", "/ws", &["x"])).unwrap_err().to_string();
    assert!(error.contains("symbolic link"), "{error}");
    std::fs::remove_file(dir.path().join("state/switchboard")).unwrap();
    std::fs::create_dir(dir.path().join("state/switchboard")).unwrap();
    std::fs::write(target.join("file"), "mine").unwrap();
    symlink(target.join("file"), store.file()).unwrap();
    let error = store.save(&talk("a", "/ws", &["x"])).unwrap_err().to_string();
    assert!(error.contains("symbolic link"), "{error}");
    assert_eq!(std::fs::read_to_string(target.join("file")).unwrap(), "mine");
    std::fs::remove_file(store.file()).unwrap();
    std::fs::create_dir(store.file()).unwrap();
    assert!(store.list(None).unwrap_err().to_string().contains("not a file"));
}

// SS-44
#[test]
fn a_save_takes_the_place_of_the_one_before() {
    let (_dir, store) = store();
    store.save(&talk("a", "/ws", &["one", "two", "three"])).unwrap();
    let mut after = talk("a", "/other", &["one", "deux"]);
    after.title = "renamed".into();
    store.save(&after).unwrap();
    assert_eq!(store.load("a").unwrap(), Some(after));
    assert_eq!(names(&store, None), ["a"]);
    assert_eq!(found(&store, "deux"), [("a".into(), 2)]);
    assert!(found(&store, "two").is_empty() && found(&store, "three").is_empty());
}

#[test]
fn messages_that_did_not_change_are_not_written_again() {
    let (_dir, store) = store();
    let mut saved = talk("a", "/ws", &["one", "two", "three"]);
    store.save(&saved).unwrap();
    let rows = || -> Vec<i64> {
        let database = Connection::open(store.file()).unwrap();
        let mut statement = database.prepare("SELECT id FROM message ORDER BY number").unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let before = rows();
    saved.messages[1] = Message::text_of(2, Author::Assistant, "zwei", Timestamp(1));
    saved.messages.push(Message::text_of(4, Author::User, "four", Timestamp(4)));
    store.save(&saved).unwrap();
    let after = rows();
    assert_eq!((before[0], before[2]), (after[0], after[2]));
    assert_ne!(before[1], after[1]);
    assert_eq!(store.load("a").unwrap(), Some(saved));
}

// SS-42
#[test]
fn what_is_deleted_is_gone_from_the_disk() {
    let (_dir, store) = store();
    store.save(&talk("a", "/ws", &["unmistakable", "words"])).unwrap();
    store.save(&talk("b", "/ws", &["others"])).unwrap();
    let there = || {
        let bytes = std::fs::read(store.file()).unwrap();
        bytes.windows(12).any(|window| window == b"unmistakable")
    };
    assert!(there());
    assert!(store.delete("a").unwrap() && !store.delete("a").unwrap());
    assert!(!there());
    assert_eq!((store.load("a").unwrap(), found(&store, "unmistakable")), (None, vec![]));
    assert_eq!(found(&store, "others").len(), 1);
}

// SS-39
#[test]
fn lists_are_of_a_workspace_and_the_newest_come_first() {
    let (_dir, store) = store();
    for (name, workspace, updated) in [("old", "/p", 1), ("new", "/p", 3), ("other", "/q", 2)] {
        store
            .save(&SavedConversation { updated: Timestamp(updated), ..talk(name, workspace, &["x"]) })
            .unwrap();
    }
    assert_eq!(names(&store, None), ["new", "other", "old"]);
    assert_eq!(names(&store, Some("/p")), ["new", "old"]);
    assert!(names(&store, Some("/")).is_empty());
    assert_eq!(names(&store, Some("/q/.//")), ["other"]);
}

#[test]
fn words_are_found_and_shown() {
    let (_dir, store) = store();
    store.save(&talk("a", "/ws", &["the quick brown fox", "a brown dog; a Fox too"])).unwrap();
    store
        .save(&talk(
            "b",
            "/ws",
            &["Füchse are quick", &format!("{} needle {}", "x ".repeat(500), "y ".repeat(500))],
        ))
        .unwrap();
    // Short texts with the word come before long ones.
    assert_eq!(found(&store, "quick"), [("b".into(), 1), ("a".into(), 1)]);
    assert_eq!(found(&store, "fox brown"), [("a".into(), 1), ("a".into(), 2)]);
    assert_eq!(found(&store, "FUCHSE"), [("b".into(), 1)]);
    assert!(found(&store, "quick dog").is_empty());
    let hit = store.search("needle", None, 9).unwrap().remove(0);
    assert!(hit.excerpt.contains("\u{2}needle\u{3}") && hit.excerpt.len() < 200, "{:?}", hit.excerpt);
    assert_eq!((hit.role, hit.at, hit.summary.message_count), (Author::Assistant, Timestamp(1001), 2));
    assert_eq!(store.search("quick", None, 1).unwrap().len(), 1);
    for name in ["older", "newer"] {
        store.save(&talk(name, "/ws", &["twice said"])).unwrap();
    }
    assert_eq!(found(&store, "twice"), [("newer".into(), 1), ("older".into(), 1)]);
    // Those of other directories do not displace those that are requested.
    store.save(&talk("c", "/other", &["a quick and long story about something else altogether"])).unwrap();
    let there = store.search("quick", Some(Path::new("/other")), 1).unwrap();
    assert_eq!(there.iter().map(|hit| hit.summary.name.as_str()).collect::<Vec<_>>(), ["c"]);
    assert!(store.search("quick", Some(Path::new("/nowhere")), 9).unwrap().is_empty());
}

#[test]
fn the_newest_prompts_come_first() {
    let (_dir, store) = store();
    assert!(store.prompts(9).unwrap().is_empty());
    store.save(&talk("a", "/ws", &["first", "an answer", "third"])).unwrap();
    store.save(&talk("b", "/other", &["second"])).unwrap();
    let prompts = store.prompts(2).unwrap();
    let texts: Vec<&str> = prompts.iter().map(|prompt| prompt.text.as_str()).collect();
    assert_eq!(texts, ["third", "second"]);
    assert_eq!((prompts[1].name.as_str(), prompts[1].workspace.as_path()), ("b", Path::new("/other")));
}

#[test]
fn text_cannot_forge_search_marks() {
    let (_dir, store) = store();
    store.save(&talk("a", "/ws", &["\u{2}false\u{3} and true"])).unwrap();
    assert_eq!(store.search("true", None, 1).unwrap()[0].excerpt, " false  and \u{2}true\u{3}");
}

#[test]
fn a_megabyte_of_the_same_word_has_an_excerpt_at_once() {
    let (_dir, store) = store();
    // An agent may say so; `snippet` of the database takes minutes for it.
    store.save(&talk("a", "/ws", &[&"Word or ".repeat(1 << 17)])).unwrap();
    let hit = store.search("word", None, 1).unwrap().remove(0);
    assert!(hit.excerpt.starts_with("\u{2}Word\u{3} or \u{2}Word\u{3}") && hit.excerpt.ends_with('…'));
    assert!(hit.excerpt.chars().filter(|c| c.is_alphanumeric() || *c == ' ').count() <= 400);
}

#[test]
fn the_length_of_a_list_is_limited() {
    let (_dir, store) = store();
    store.save(&talk("a", "/ws", &["x"])).unwrap();
    let database = Connection::open(store.file()).unwrap();
    let copies = "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 10000)
        INSERT INTO conversation (name, title, workspace, working_dir, created, updated, settings, usage)
        SELECT 'copy-' || n, title, workspace, working_dir, created, updated + n, settings, usage
        FROM conversation, n";
    assert_eq!(database.execute(copies, []).unwrap(), 10_000);
    let listed = names(&store, None);
    assert_eq!((listed.len(), listed[0].as_str()), (10_000, "copy-10000"));
    assert!(!listed.contains(&"a".to_owned()), "the oldest is left out");
}

#[test]
fn any_search_text_is_valid() {
    let (_dir, store) = store();
    store
        .save(&talk("a", "/ws", &["NEAR and AND or text: col-umn it's \"quoted\" 100% a_b \u{2}mark\u{3}"]))
        .unwrap();
    for words in ["NEAR", "AND", "\"quoted\"", "it's", "col-umn", "text:", "mark"] {
        assert_eq!(found(&store, words).len(), 1, "{words}");
    }
    let strange = [
        "\"",
        "\"\"\"",
        "'",
        "*",
        "a*",
        "^a",
        "(",
        ")",
        "NOT",
        "text : x",
        "{text}: x",
        "a AND",
        "OR OR OR",
        "-a",
        "+",
        "NEAR(a b, 1)",
        "\0",
        "a\0b",
        "%",
        ";",
        "--",
        "/* */",
        "\u{2}\u{3}",
        "\u{fffd}",
        "'; DROP TABLE message; --",
    ];
    for words in strange {
        store.search(words, None, 9).unwrap();
    }
    store.search(&"\"a\" ".repeat(50_000), None, 9).unwrap();
    store.search("and", None, usize::MAX).unwrap();
    assert_eq!(store.load("a").unwrap().unwrap().messages.len(), 1);
}

#[test]
fn workspaces_are_kept_by_path() {
    let (_dir, store) = store();
    let mut first = Workspace::new(Path::new("/ws/b"), Timestamp(1));
    first.commands_approved = vec!["cargo test".into()];
    first.context_dirs = vec!["/doc".into()];
    store.keep_workspace(&first).unwrap();
    let second = Workspace::new(Path::new("/ws/a"), Timestamp(2));
    store.keep_workspace(&second).unwrap();
    first.agent = Some("claude".into());
    store.keep_workspace(&first).unwrap();
    assert_eq!(store.workspaces().unwrap(), [second, first]);
}

#[test]
fn two_stores_share_a_directory() {
    let (dir, one) = store();
    let two = Store::new(dir.path().join("state/switchboard"));
    let count = 25;
    std::thread::scope(|scope| {
        for (store, name) in [(&one, "one"), (&two, "two")] {
            scope.spawn(move || {
                for n in 0..count {
                    store.save(&talk(&format!("{name}-{n}"), "/ws", &["x"])).unwrap();
                    store.load(&format!("{name}-{n}")).unwrap().unwrap();
                }
            });
        }
    });
    assert_eq!((names(&one, None).len(), names(&two, None).len()), (2 * count, 2 * count));
}

#[test]
fn a_removed_file_is_created_again() {
    let (_dir, store) = store();
    store.save(&talk("a", "/ws", &["x"])).unwrap();
    std::fs::remove_dir_all(store.file().parent().unwrap()).unwrap();
    assert!(names(&store, None).is_empty());
    store.save(&talk("b", "/ws", &["x"])).unwrap();
    assert_eq!(names(&store, None), ["b"]);
    assert!(store.file().exists());
}

// SS-46
#[test]
fn a_database_of_the_first_version_can_be_read() {
    let (_dir, store) = store();
    std::fs::create_dir_all(store.file().parent().unwrap()).unwrap();
    Connection::open(store.file()).unwrap().execute_batch(include_str!("version_1.sql")).unwrap();
    let mut old = store.load("old").unwrap().unwrap();
    assert_eq!((old.title.as_str(), old.settings.temperature), ("from long ago", Some(0.5)));
    assert_eq!(
        (old.usage.total_tokens(), old.resume.as_ref().unwrap()["session"].as_str()),
        (8, Some("abc"))
    );
    let texts: Vec<String> = old.messages.iter().map(Message::text).collect();
    assert_eq!(texts, ["the quick fox", "slow dogs"]);
    assert_eq!(old.messages[1].ending, Ending::Failed("it broke".into()));
    assert_eq!(found(&store, "dogs"), [("old".into(), 2)]);
    assert_eq!(store.workspaces().unwrap()[0].commands_approved, ["ls"]);
    // And it can be gone on with.
    old.messages.push(Message::text_of(3, Author::User, "new", Timestamp(9)));
    store.save(&old).unwrap();
    assert_eq!(store.load("old").unwrap(), Some(old));
    assert_eq!(found(&store, "dogs").len(), 1);
}

/// Every operation fails with these words, and the file stays as it is.
fn refused(store: &Store, words: &str) {
    let before = std::fs::read(store.file()).unwrap();
    let errors = [
        store.save(&talk("b", "/ws", &["x"])).unwrap_err(),
        store.load("a").unwrap_err(),
        store.list(None).unwrap_err(),
        store.search("x", None, 1).unwrap_err(),
        store.delete("a").unwrap_err(),
        store.workspaces().unwrap_err(),
    ];
    for error in errors {
        let error = error.to_string();
        assert!(error.contains(words) && error.contains("conversations.db"), "{error}");
    }
    assert_eq!(std::fs::read(store.file()).unwrap(), before);
}

#[test]
fn foreign_files_are_rejected_and_not_changed() {
    let (_dir, store) = store();
    store.save(&talk("a", "/ws", &["x"])).unwrap();
    let good = std::fs::read(store.file()).unwrap();
    std::fs::write(store.file(), "this is somebody's diary, and not a database at all\n".repeat(100))
        .unwrap();
    refused(&store, "not a database");
    std::fs::remove_file(store.file()).unwrap();
    Connection::open(store.file()).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
    refused(&store, "another program");
    std::fs::remove_file(store.file()).unwrap();
    std::fs::write(store.file(), &good).unwrap();
    Connection::open(store.file()).unwrap().execute_batch("PRAGMA user_version = 99").unwrap();
    refused(&store, "version 99");
}

#[test]
fn invalid_data_fails_only_its_conversation() {
    for (column, value) in [("settings", "{"), ("resume", "[1"), ("usage", "7")] {
        let (_dir, store) = store();
        store.save(&talk("a", "/ws", &["x"])).unwrap();
        store.save(&talk("b", "/ws", &["y"])).unwrap();
        let change = format!("UPDATE conversation SET {column} = '{value}' WHERE name = 'a'");
        Connection::open(store.file()).unwrap().execute_batch(&change).unwrap();
        store.load("a").unwrap_err();
        assert!(store.load("b").unwrap().is_some(), "{column}");
    }
    let (_dir, store) = store();
    store.save(&talk("a", "/ws", &["x"])).unwrap();
    Connection::open(store.file()).unwrap().execute_batch("UPDATE message SET parts = '{'").unwrap();
    let error = store.load("a").unwrap_err().to_string();
    assert!(error.contains("invalid data") && error.contains("conversations.db"), "{error}");
}

/// Damage at any place gives an error or an answer, and never a panic.
#[test]
fn damage_is_an_error_at_worst() {
    let (_dir, store) = store();
    let long = "words ".repeat(3000);
    store.save(&talk("a", "/ws", &[&long, "x", &long])).unwrap();
    let good = std::fs::read(store.file()).unwrap();
    let mut errors = 0;
    for page in 0..good.len() / 4096 {
        let mut bad = good.clone();
        bad[page * 4096..][..512].fill(0xa5);
        std::fs::remove_file(store.file()).unwrap();
        std::fs::write(store.file(), &bad).unwrap();
        let results = [
            store.load("a").map(drop),
            store.search("words", None, 9).map(drop),
            store.save(&talk("a", "/ws", &["y"])),
            store.list(None).map(drop),
        ];
        errors += results.iter().filter(|result| result.is_err()).count();
    }
    assert!(errors > 0);
    std::fs::remove_file(store.file()).unwrap();
    std::fs::write(store.file(), &good[..good.len() / 2]).unwrap();
    assert!(store.load("a").is_err());
}
