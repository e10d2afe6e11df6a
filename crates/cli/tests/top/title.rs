//! The title of the terminal: session, state, and what the program has set.

use crate::stage::{EXE, Stage, agent};
use swb_testkit::{Swb, wait_for};

/// Waits until the terminal has this title.
#[track_caller]
fn until_title(stage: &mut Stage, title: &str) {
    wait_for(&format!("the title {title:?}"), || {
        stage.terminal.shows("\u{0}", std::time::Duration::from_millis(20));
        (stage.screen().title() == title).then_some(())
    });
}

#[test]
fn the_title_shows_the_session_and_its_state() {
    let swb = Swb::start(EXE);
    agent(&swb, "main");
    let mut stage = Stage::start(swb.shell(r"printf '\033]2;my shell\033\\'; exec $SWB attach main"), 80, 24);
    until_title(&mut stage, "main: ready");
    stage.press("ask\r");
    until_title(&mut stage, "main: asking");
    stage.press("yes\r");
    until_title(&mut stage, "main: ready");
    stage.press("\x1dd");
    assert_eq!(stage.terminal.wait(), 0);
    assert_eq!(stage.screen().title(), "my shell");
}

#[test]
fn the_title_of_the_program_stays_in_it() {
    let swb = Swb::start(EXE);
    let script = r"say() { printf '\033]7501;state=%s\033\\' $1; }
printf '\033]2;my program\007'; say idle; echo go; read x; say working; read x; printf '\033]0;new title\007'; echo set; read x; say idle; read x";
    swb.ok(&["run", "-d", "-n", "main", "--", "sh", "-c", script]);
    swb.ok(&["wait", "main", "--text", "go", "--timeout", "60"]);
    let mut stage = Stage::start(swb.command(&["attach", "main"]), 80, 24);
    until_title(&mut stage, "main: ready — my program");
    stage.press("\r");
    until_title(&mut stage, "main: working — my program");
    // What the program sets is shown untouched until the state changes.
    stage.press("\r");
    stage.until_text("set");
    assert_eq!(stage.screen().title(), "new title");
    stage.press("\r");
    until_title(&mut stage, "main: ready — new title");
}

#[test]
fn a_program_without_states_gets_a_title_too() {
    let swb = Swb::start(EXE);
    swb.script("main", "echo go; exec sleep 600");
    let mut stage = Stage::start(swb.command(&["attach", "main"]), 80, 24);
    stage.until_text("go");
    until_title(&mut stage, "main: running");
}
