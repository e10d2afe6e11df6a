//! The list: what it shows, and what its keys do.

use crate::stage::{EXE, Stage, agent, asks};
use crate::support::agents::{becomes, said, wrote};
use swb_testkit::{Swb, text, wait_for};

#[test]
fn sessions_are_listed_with_the_selected_one_beside_them() {
    let swb = Swb::start(EXE);
    swb.script("quiet", "echo the quiet one; exec sleep 600");
    asks(&swb, "api", "shop");
    let mut stage = Stage::top(&swb, 120, 40);
    stage.until("the dialog", |screen| screen.contains("Waiting for you") && screen.contains("❯ 1. Yes"));
    let shown = stage.text();
    let place =
        |what: &str| shown.find(what).unwrap_or_else(|| panic!("{what} is not on the screen:\n{shown}"));
    assert!(place("api") < place("quiet"), "the one that asks comes first:\n{shown}");
    assert!(shown.contains("1 waiting for you") && shown.contains("asking now"), "{shown}");
    stage.press("j");
    stage.until("the other session", |screen| {
        !screen.contains("❯ 1. Yes") && screen.matches("the quiet one").count() > 1
    });
    stage.press("n");
    stage.until_text("❯ 1. Yes");
    stage.press("q");
    assert_eq!(stage.terminal.wait(), 0);
    stage.terminal.assert_modes_restored();
    assert!(!stage.screen().modes().alternate && stage.screen().cursor().visible);
}

#[test]
fn what_happens_is_shown_at_once() {
    let swb = Swb::start(EXE);
    let mut stage = Stage::top(&swb, 100, 30);
    stage.until_text("No sessions.");
    agent(&swb, "main");
    stage.until("a new session", |screen| screen.contains("main") && screen.contains("ready"));
    swb.ok(&["send", "main", "slow", "--enter"]);
    stage.until_text("working now");
    swb.ok(&["send", "main", "done", "--enter"]);
    stage.until("the answer", |screen| screen.contains("1 turn") && screen.contains("at last: done"));
    swb.ok(&["send", "main", "end", "--enter"]);
    stage.until("its end", |screen| screen.contains("Ended") && screen.contains("exit 3"));
}

#[test]
fn what_a_program_prints_is_shown_without_a_key() {
    let swb = Swb::start(EXE);
    let go = swb.dir().join("go");
    let printed = format!(
        "echo line one; until [ -e {} ]; do sleep 0.1; done; echo line two; exec sleep 600",
        go.display()
    );
    swb.script("watch", &printed);
    asks(&swb, "api", "shop");
    let mut stage = Stage::top(&swb, 100, 30);
    stage.until("the first line", |screen| screen.contains("❯ 1. Yes") && screen.contains("line one"));
    std::fs::write(go, "").unwrap();
    stage.until_text("line two");
}

#[test]
fn enter_attaches_and_the_detach_key_leaves() {
    let swb = Swb::start(EXE);
    agent(&swb, "main");
    let mut stage = Stage::top(&swb, 100, 30);
    stage.until_text("main");
    stage.press("\r");
    wait_for("the attachment", || (swb.session("main")?["clients"] == 1).then_some(()));
    stage.press("hello\r");
    stage.until_text("you said: hello");
    stage.press("\x1dd");
    assert_eq!(stage.terminal.wait(), 0);
    assert!(stage.text().contains("detached"), "{}", stage.text());
    stage.terminal.assert_modes_restored();
}

#[test]
fn an_approval_is_answered_in_the_list() {
    let swb = Swb::start(EXE);
    asks(&swb, "api", "shop");
    let mut stage = Stage::top(&swb, 80, 24);
    stage.until_text("Waiting for you");
    stage.until_text("y answer");
    stage.press("y");
    stage.until("its options", |screen| {
        screen.contains("api asks") && screen.contains("3 No, and tell Claude")
    });
    stage.press("3");
    wrote(&swb, "api", "3");
    stage.until_text("answered");
}

#[test]
fn a_line_asks_and_a_turn_is_relayed() {
    let swb = Swb::start(EXE);
    agent(&swb, "from");
    agent(&swb, "to");
    let mut stage = Stage::top(&swb, 100, 30);
    stage.until("both", |screen| screen.contains("from") && screen.contains("to "));
    stage.press("/from\r");
    stage.until("one session", |screen| !screen.contains("○ to"));
    stage.press("a");
    stage.until_text("Ask from");
    stage.press("words\r");
    stage.until_text("'from' has answered");
    stage.press("r");
    stage.until_text("Relay the latest answer");
    stage.press("s");
    stage.until_text("typed turn from:1 into 'to'");
    wrote(&swb, "to", "you said: [from from, turn 1] you said: words");
}

#[test]
fn a_session_is_killed_after_a_confirmation() {
    let swb = Swb::start(EXE);
    agent(&swb, "main");
    let mut stage = Stage::top(&swb, 80, 24);
    stage.until_text("main");
    stage.press("x");
    stage.until_text("Kill session 'main'?");
    stage.press("n");
    stage.until("no question", |screen| !screen.contains("Kill session"));
    becomes(&swb, "main", "ready");
    stage.press("xy");
    stage.until_text("killed 'main'");
    wait_for("its end", || swb.session("main").is_none_or(|main| main["status"] == "exited").then_some(()));
}

#[test]
fn a_shell_opens_beside_a_session() {
    let swb = Swb::start(EXE);
    agent(&swb, "main");
    let mut stage = Stage::top(&swb, 80, 24);
    stage.until_text("main");
    stage.press("s");
    stage.until("a shell", |screen| !screen.contains("Switchboard"));
    stage.press("echo $((6*7))\r");
    stage.until_text("42");
    stage.press("exit 7\r");
    assert_eq!(stage.terminal.wait(), 7);
}

#[test]
fn a_tiny_plain_terminal_is_enough() {
    let swb = Swb::start(EXE);
    asks(&swb, "api", "shop");
    let mut plain = swb.command(&["top"]);
    plain.env("NO_COLOR", "1").env("LC_ALL", "C").env("TERM", "vt100");
    let mut stage = Stage::start(plain, 80, 24);
    stage.until_text("y answer");
    stage.resize(20, 5);
    stage.until("a sign without colours", |screen| {
        screen.contains("? api") && !screen.contains("Switchboard")
    });
    stage.press("y");
    stage.until_text("1 Yes");
    stage.press("3");
    wrote(&swb, "api", "3");
    let seen = text(stage.terminal.seen());
    assert!(seen.is_ascii() && !seen.contains("33m") && !seen.contains("36m"), "{seen:?}");
    for (cols, rows) in [(1, 1), (3, 2), (200, 60), (2, 40), (20, 5)] {
        stage.resize(cols, rows);
    }
    // Escape and the key after it may be read as one.
    stage.press("\x1b?\x1bjkGg\t/a\x1bq");
    stage.press("\x03\x03");
    assert_eq!(stage.terminal.wait(), 0);
}

#[test]
fn without_a_terminal_there_is_a_list_to_print() {
    let swb = Swb::start(EXE);
    agent(&swb, "main");
    assert_eq!(swb.json(&["top"])[0]["name"], "main");
    let refused = swb.run(&["top"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(said(&refused).contains("`swb ls` prints the list"), "{}", said(&refused));
    let mut dumb = swb.command(&["top"]);
    dumb.env("TERM", "dumb");
    let mut stage = Stage::start(dumb, 80, 24);
    assert_eq!(stage.terminal.wait(), 2);
}

#[test]
fn swb_alone_opens_the_list_if_several_sessions_run_here() {
    let swb = Swb::start(EXE);
    let place = swb.workspace("two");
    for name in ["one", "other"] {
        swb.ok(&[
            "run",
            "-d",
            "-n",
            name,
            "-w",
            place.to_str().unwrap(),
            "--",
            "sh",
            "-c",
            "echo here; exec sleep 600",
        ]);
        let mut here = swb.command(&[]);
        here.current_dir(&place);
        let mut stage = Stage::start(here, 80, 24);
        if name == "one" {
            wait_for("one session to be attached", || (swb.session("one")?["clients"] == 1).then_some(()));
        } else {
            stage.until("both", |screen| screen.contains("one") && screen.contains("other"));
            stage.press("q");
            assert_eq!(stage.terminal.wait(), 0);
        }
    }
}

#[test]
fn the_list_survives_the_daemon() {
    let swb = Swb::start(EXE);
    agent(&swb, "main");
    let mut stage = Stage::top(&swb, 100, 30);
    stage.until_text("ready");
    swb.kill_daemon();
    agent(&swb, "late");
    stage.until_text("late");
    stage.press("/late\r\r");
    wait_for("the attachment", || (swb.session("late")?["clients"] == 1).then_some(()));
}
