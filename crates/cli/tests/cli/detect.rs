//! `swb detect`: turns in recordings.

use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn recordings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../turns/tests/recordings")
}

/// Runs it in a home of its own.
fn detect(home: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_swb"));
    command.arg("detect").args(args).env("HOME", home).env_remove("XDG_CONFIG_HOME");
    command.env("XDG_RUNTIME_DIR", home).output().expect("it runs")
}

fn ok(output: Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("an object a line")).collect()
}

fn expected(recording: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(recording.join("expected.json")).expect("a file"))
        .expect("JSON")
}

#[test]
fn output_is_one_json_object_per_turn_and_a_summary() {
    let home = tempfile::tempdir().expect("a directory");
    let recording = recordings().join("bash/04-question");
    let text = ok(detect(home.path(), &[recording.to_str().expect("a path"), "--json"]));
    let lines = lines(&text);
    let expected = expected(&recording);
    let wanted = expected["turns"].as_array().expect("turns");
    let (last, turns) = lines.split_last().expect("a summary");
    assert_eq!(turns.len(), wanted.len());
    for (n, (turn, wanted)) in turns.iter().zip(wanted).enumerate() {
        assert_eq!((&turn["turn"], &turn["profile"]), (&json!(n + 1), &json!("shell")));
        assert_eq!(turn["interrupted"], wanted["interrupted"]);
        assert!(turn["end_offset"].as_u64() <= wanted["ready_offset"].as_u64(), "{turn}");
        assert!(turn["end_offset"].as_u64() > wanted["submit_offset"].as_u64(), "{turn}");
        for marker in wanted["markers_on_screen"].as_array().into_iter().flatten() {
            assert!(
                turn["text"].as_str().is_some_and(|text| text.contains(marker.as_str().expect("a word"))),
                "{turn}"
            );
        }
        let keys: BTreeSet<&str> = turn.as_object().expect("an object").keys().map(String::as_str).collect();
        let known = ["turn", "submit_offset", "end_offset", "interrupted", "text", "profile", "signal"];
        assert_eq!(keys, BTreeSet::from(known));
    }
    assert_eq!(last["turns"], wanted.len());
    assert!(last["ready0_offset"].is_u64() && last["dialogs"].is_array(), "{last}");
}

#[test]
fn a_stream_alone_is_a_recording_named_by_its_directory() {
    let home = tempfile::tempdir().expect("a directory");
    let whole = recordings().join("codex/03-long");
    let folder = home.path().join("codex-0.99/some");
    std::fs::create_dir_all(&folder).expect("a directory");
    let stream = folder.join("stream.jsonl");
    std::fs::copy(whole.join("stream.jsonl"), &stream).expect("a copy");
    let alone = lines(&ok(detect(home.path(), &[stream.to_str().expect("a path"), "--json"])));
    assert_eq!(alone, lines(&ok(detect(home.path(), &[whole.to_str().expect("a path"), "--json"]))));
    assert_eq!(alone[0]["profile"], "codex");
    let nowhere = home.path().join("stream.jsonl");
    std::fs::copy(&stream, &nowhere).expect("a copy");
    let greeted = lines(&ok(detect(home.path(), &[nowhere.to_str().expect("a path"), "--json"])));
    assert_eq!(alone, greeted, "it is known by its greeting");
    let path = stream.to_str().expect("a path");
    let other = lines(&ok(detect(home.path(), &[path, "--json", "--profile", "generic"])));
    assert!(
        other.last().is_some_and(|last| last["turns"] != alone.last().expect("a line")["turns"]),
        "{other:?}"
    );
    let text = ok(detect(home.path(), &[path]));
    assert!(
        text.starts_with("profile codex, first ready at ") && text.contains("turn 1: submitted at"),
        "{text}"
    );
}

#[test]
fn the_score_is_a_table_per_program() {
    let home = tempfile::tempdir().expect("a directory");
    let dir = recordings();
    let folder = home.path().join("r");
    for program in ["bash", "claude-code"] {
        std::fs::create_dir_all(&folder).expect("a directory");
        std::os::unix::fs::symlink(dir.join(program), folder.join(program)).expect("a link");
    }
    let table = ok(detect(home.path(), &["--score", folder.to_str().expect("a path")]));
    let rows: Vec<&str> = table.lines().filter(|line| line.starts_with('|')).collect();
    assert_eq!(rows.len(), 5, "a head, two programs and all of them: {table}");
    assert!(rows[0].contains("found") && rows[0].contains("early") && rows[0].contains("missed"), "{table}");
    assert!(rows[2].starts_with("| bash |") && rows[3].starts_with("| claude-code |"), "{table}");
    let json = ok(detect(home.path(), &["--score", folder.to_str().expect("a path"), "--json"]));
    let score = &lines(&json)[0];
    assert_eq!(
        (&score["early"], &score["missed"], &score["extra"]),
        (&json!(0), &json!(0), &json!(0)),
        "{score}"
    );
    assert_eq!(score["found"], score["turns"]);
}

#[test]
fn unreadable_recordings_are_reported() {
    let home = tempfile::tempdir().expect("a directory");
    let stream = home.path().join("stream.jsonl");
    std::fs::write(&stream, "{\"t\":1,\"d\":\"x\"}\n").expect("a file");
    let path = stream.to_str().expect("a path").to_owned();
    for (args, code, word) in [
        (vec!["/nowhere"], 1, "/nowhere"),
        (vec![path.as_str()], 1, "line 1"),
        (vec!["--score", home.path().to_str().expect("a path")], 1, "no recordings"),
        (vec![], 2, "required"),
    ] {
        let output = detect(home.path(), &args);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
        assert!(said.contains(word), "{args:?}: {said}");
    }
    std::fs::write(&stream, "").expect("a file");
    let output = detect(home.path(), &[&path, "--profile", "nobody"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("available: "), "it lists the profiles");
}

#[test]
fn profiles_of_the_user_are_used_and_checked() {
    let home = tempfile::tempdir().expect("a directory");
    let dir = home.path().join(".config/switchboard/profiles");
    std::fs::create_dir_all(&dir).expect("a directory");
    let mine = "name = \"mine\"\ncommands = [\"bash\"]\nkind = \"line\"\n[prompt]\nready = ['^[$] $']\n";
    std::fs::write(dir.join("mine.toml"), mine).expect("a file");
    std::fs::write(dir.join("bad.toml"), "name = 1").expect("a file");
    let recording = recordings().join("bash/04-question");
    let output = detect(home.path(), &[recording.to_str().expect("a path"), "--json"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("bad.toml"), "{said}");
    assert_eq!(lines(&ok(output))[0]["profile"], "mine");
}
