//! Names on the command line: beginnings of names, suggestions, and hints with the real name.

use crate::support::agents::{AGENT, said, start};
use swb_testkit::{Swb, wait_for};

const EXE: &str = env!("CARGO_BIN_EXE_swb");

#[track_caller]
fn refused(swb: &Swb, args: &[&str], code: i32) -> String {
    let output = swb.run(args);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {}", said(&output));
    said(&output)
}

#[test]
fn the_beginning_of_a_name_is_enough() {
    let swb = Swb::start(EXE);
    start(&swb, "banana", &["sh", "-c", AGENT], "ready");
    start(&swb, "ban", &["sh", "-c", AGENT], "ready");
    start(&swb, "apple", &["sh", "-c", AGENT], "ready");
    assert_eq!(swb.ok(&["ask", "app", "hello"]), "you said: hello\n");
    assert_eq!(swb.ok(&["ask", "bana", "hello"]), "you said: hello\n");
    assert_eq!(swb.json(&["turn", "app:1"])["turn_id"], "apple:1");
    assert_eq!(swb.json(&["turns", "a"])[0]["turn_id"], "apple:1");
    assert_eq!(swb.json(&["wait", "a", "--until", "ready"])["session"], "apple");
    assert_eq!(swb.json(&["send", "a", "x", "--enter"])["session"], "apple");
    // A user who types into a session learns which one it is.
    for args in [&["send", "a", "x"][..], &["keys", "a", "x"]] {
        assert_eq!(said(&swb.run(args)), "swb: session apple\n", "{args:?}");
        assert_eq!(said(&swb.run(&[&["--json"], args].concat())), "", "{args:?}");
    }
    assert_eq!(said(&swb.run(&["send", "apple", "x"])), "", "the whole name says it");
    for args in [&["logs", "a"][..], &["screen", "a"], &["explain", "a"], &["capture", "a"]] {
        swb.ok(args);
    }
    assert_eq!(swb.json(&["notify", "mute", "a"])["session"], "apple");
    assert_eq!(swb.json(&["notify", "unmute", "a"])["session"], "apple");
    swb.ok(&["relay", "app:1", "bana", "--submit"]);
    wait_for("the relayed text", || {
        swb.ok(&["logs", "banana"]).contains("[from apple, turn 1]").then_some(())
    });
    // The exact name wins over those that begin with it.
    assert_eq!(swb.json(&["keys", "ban", "x"])["session"], "ban");
    let message = refused(&swb, &["screen", "b"], 3);
    assert!(message.contains("'b' is the beginning of several names: ban, banana"), "{message}");
    // Killing needs the whole name.
    let message = refused(&swb, &["kill", "app"], 3);
    assert!(
        message.contains("no session named 'app'") && message.contains("did you mean 'apple'?"),
        "{message}"
    );
    assert_eq!(swb.session("apple").expect("it runs")["status"], "running");
}

#[test]
fn a_mistyped_name_is_suggested() {
    let swb = Swb::start(EXE);
    swb.script("backend", "sleep 1000");
    for args in
        [&["attach", "bakcend"][..], &["send", "bakcend", "x"], &["logs", "bakcend"], &["events", "bakcend"]]
    {
        let message = refused(&swb, args, 3);
        assert!(
            message.contains("'bakcend'") && message.contains("did you mean 'backend'?"),
            "{args:?}: {message}"
        );
    }
    let message = refused(&swb, &["run", "-d", "--profile", "cluade", "--", "sleep", "1000"], 1);
    assert!(message.contains("did you mean 'claude'?"), "{message}");
    let message = refused(&swb, &["workspace", "add", "--agent", "shel"], 1);
    assert!(message.contains("did you mean 'shell'?"), "{message}");
}

#[test]
fn workspaces_are_removed_by_name_or_directory() {
    let swb = Swb::start(EXE);
    let (one, two) = (swb.workspace("one"), swb.workspace("two"));
    for dir in [&one, &two] {
        swb.ok(&["workspace", "add", dir.to_str().expect("text")]);
    }
    let message = refused(&swb, &["workspace", "rm", "onee"], 1);
    assert!(message.contains("no workspace 'onee'") && message.contains("did you mean 'one'?"), "{message}");
    assert!(swb.ok(&["workspace", "rm", "one"]).contains("Removed"));
    std::fs::remove_dir(&two).expect("it is empty");
    swb.ok(&["workspace", "rm", two.to_str().expect("text")]);
    assert!(one.exists(), "the directory stays");
    swb.kill_daemon();
    let left = swb.json(&["workspace", "ls"]);
    let left: Vec<&str> =
        left.as_array().expect("a list").iter().filter_map(|one| one["name"].as_str()).collect();
    assert!(!left.contains(&"one") && !left.contains(&"two"), "{left:?}");
}

#[test]
fn a_configuration_without_effect_is_reported() {
    let swb = Swb::start(EXE);
    let file = swb.dir().join("other.toml");
    std::fs::write(&file, "").expect("a file");
    let output = swb.run(&["ls", "--config", file.to_str().expect("text")]);
    let message = said(&output);
    assert!(output.status.success() && message.contains("has no effect on the daemon"), "{message}");
    assert!(message.contains("other.toml") && message.contains("switchboard/config.toml"), "{message}");
    let used = swb.paths().config_file();
    std::fs::create_dir_all(used.parent().expect("a directory")).expect("a directory");
    std::fs::write(&used, "").expect("a file");
    let output = swb.run(&["ls", "--config", used.to_str().expect("text")]);
    assert_eq!(said(&output), "", "that is the file it uses");
}

#[test]
fn an_unknown_default_agent_is_reported_with_its_place() {
    let swb = Swb::new(EXE);
    let file = swb.paths().config_file();
    std::fs::create_dir_all(file.parent().expect("a directory")).expect("a directory");
    std::fs::write(&file, "[chat]\nbackend = \"shel\"\n").expect("a file");
    let output = swb.run(&["ls"]);
    let message = said(&output);
    for part in
        ["chat.backend = \"shel\"", "line 2 of", "config.toml", "did you mean 'shell'?", "known: ", "none"]
    {
        assert!(message.contains(part), "{part}: {message}");
    }
    let output = swb.run(&["chat", "-m", "hello"]);
    let message = said(&output);
    assert!(message.contains("chat.backend = \"shel\" (line 2 of"), "{message}");
}

#[test]
fn a_wait_without_a_condition_lists_them() {
    let swb = Swb::new(EXE);
    let message = refused(&swb, &["wait", "api"], 2);
    for part in ["--until ready|asking|turn|exit", "--text REGEX", "--stable MS", "--exit", "`swb wait api "]
    {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert!(!swb.paths().control_socket().exists(), "nothing was started for it");
}

#[test]
fn a_list_fits_the_terminal_and_ended_sessions_are_apart() {
    let swb = Swb::start(EXE);
    swb.ok(&[
        "run",
        "-d",
        "-n",
        "long",
        "--",
        "sh",
        "-c",
        "sleep 1000 # a command that is much too long for the line",
    ]);
    swb.ok(&["run", "-d", "-n", "gone", "--", "true"]);
    wait_for("the end", || (swb.session("gone")?["status"] == "exited").then_some(()));
    let all = swb.ok(&["ls"]);
    let ended = all.find("Ended (").expect("a section of its own");
    assert!(
        all.find("long").is_some_and(|at| at < ended) && all.rfind("gone").is_some_and(|at| at > ended),
        "{all}"
    );
    assert!(all.contains("too long for the line'"), "a pipe gets everything: {all}");
    let mut terminal = swb_testkit::Terminal::start(swb.command(&["ls"]), 60, 24);
    assert_eq!(terminal.wait(), 0);
    let seen = swb_testkit::text(terminal.seen());
    assert!(seen.contains('…') && seen.lines().all(|line| line.trim_end().chars().count() <= 60), "{seen}");
}
