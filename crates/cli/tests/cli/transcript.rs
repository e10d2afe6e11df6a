//! The text of turns from the session files of agents.

use crate::support::agents::becomes;
use crate::support::hung_mount::HungMount;
use crate::support::needs;
use std::path::Path;
use swb_testkit::{Swb, stays, wait_for};

const EXE: &str = env!("CARGO_BIN_EXE_swb");

/// An agent that writes session files on command: see the file.
const PAINTER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/screen_agent.py");

fn run_painter(swb: &Swb, name: &str, config: Option<&Path>) {
    let workspace = swb.workspace(name);
    let workspace = workspace.to_str().unwrap();
    let mut run = swb.command(&[
        "run",
        "-d",
        "-n",
        name,
        "-w",
        workspace,
        "--profile",
        "claude",
        "--",
        "python3",
        PAINTER,
    ]);
    run.envs(config.map(|config| ("CLAUDE_CONFIG_DIR", config)));
    assert!(run.status().unwrap().success());
    becomes(swb, name, "ready");
}

fn explained(swb: &Swb, name: &str) -> String {
    let text = swb.ok(&["explain", name]);
    text.lines().last().unwrap_or_default().to_owned()
}

#[test]
fn the_text_of_a_turn_is_the_markdown_that_its_agent_wrote_down() {
    let swb = Swb::start(EXE);
    run_painter(&swb, "main", None);
    assert_eq!(swb.ok(&["ask", "main", "note a **bold** `word`"]), "a **bold** `word`\n");
    assert!(explained(&swb, "main").ends_with("text from the agent's session file"));
    // The file has nothing about this one.
    assert_eq!(swb.ok(&["ask", "main", "say something else"]), "something else\n");
    assert!(
        explained(&swb, "main").contains("does not agree with the screen"),
        "{}",
        explained(&swb, "main")
    );
    let check = || {
        let turns = swb.json(&["turns", "main"]);
        assert_eq!((&turns[0]["source"], &turns[1]["source"]), (&"screen".into(), &"transcript".into()));
        let turn = swb.json(&["turn", "main:1"]);
        assert_eq!((&turn["text"], &turn["source"]), (&"a **bold** `word`".into(), &"transcript".into()));
    };
    check();
    swb.kill_daemon();
    check();
    // The next daemon finds the file, too.
    becomes(&swb, "main", "ready");
    assert_eq!(swb.ok(&["ask", "main", "note **again**"]), "**again**\n");
}

#[test]
fn a_session_file_with_another_text_is_not_used() {
    let swb = Swb::start(EXE);
    run_painter(&swb, "main", None);
    assert_eq!(swb.ok(&["ask", "main", "foreign a **bold** word"]), "a bold word\n");
    assert_eq!(swb.json(&["turn", "main"])["source"], "screen");
    assert!(explained(&swb, "main").ends_with("because the session file does not agree with the screen"));
    // Nor is one that only a link leads to.
    run_painter(&swb, "linked", None);
    assert_eq!(swb.ok(&["ask", "linked", "linked a **bold** word"]), "a bold word\n");
    assert!(explained(&swb, "linked").ends_with("no session file of the agent was written during the turn"));
}

#[test]
#[ignore = "needs root and FUSE: run by cargo xtask ci"]
fn session_files_that_do_not_respond_delay_a_turn_for_a_moment() {
    needs::root();
    needs::fuse();
    let swb = Swb::start(EXE);
    let hung = HungMount::new(&swb.dir().join("hung"));
    run_painter(&swb, "main", Some(&hung.path()));
    run_painter(&swb, "other", None);
    assert_eq!(swb.ok(&["ask", "main", "say hello"]), "hello\n");
    assert!(explained(&swb, "main").ends_with("cannot be read in time"), "{}", explained(&swb, "main"));
    // Now they are not tried again for a while.
    assert_eq!(swb.ok(&["ask", "main", "say hello again"]), "hello again\n");
    assert_eq!(swb.ok(&["ask", "other", "note **fine**"]), "**fine**\n");
}

#[test]
#[ignore = "needs root and FUSE: run by cargo xtask ci"]
fn a_turn_whose_text_is_being_looked_up_survives_the_daemon() {
    needs::root();
    needs::fuse();
    let swb = Swb::start(EXE);
    let hung = HungMount::new(&swb.dir().join("hung"));
    run_painter(&swb, "main", Some(&hung.path()));
    let number = || swb.json(&["turns", "main"]).as_array().map(Vec::len);
    swb.ok(&["send", "main", "say hello", "--enter"]);
    swb.ok(&["wait", "main", "--text", "● hello"]);
    // The turn is complete after 850 ms, and its text is looked up for a second after that.
    for _ in 0..4 {
        stays("time", || true);
    }
    swb.kill_daemon();
    wait_for("the turn", || (number() == Some(1)).then_some(()));
    assert_eq!(swb.ok(&["turn", "main"]), "hello\n");
    stays("one turn", || number() == Some(1));
}
