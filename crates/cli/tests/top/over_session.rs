//! The prefix key in an attached session, and the list over it.

use crate::stage::{EXE, Stage, agent};
use crate::support::agents::wrote;
use std::time::{Duration, Instant};
use swb_testkit::{Swb, text, wait_for};

/// Shows every byte it is typed, one per line and in decimal.
const SHOW_KEYS: &str = r"stty raw -echo; printf 'ready\r\n'; exec od -An -v -tu1 -w1";

fn attach(swb: &Swb, name: &str) -> Stage {
    Stage::start(swb.command(&["attach", name]), 80, 24)
}

#[test]
fn the_prefix_twice_types_it_once() {
    let swb = Swb::start(EXE);
    swb.script("main", SHOW_KEYS);
    let mut stage = attach(&swb, "main");
    stage.until_text("ready");
    stage.press("\x1d\x1da");
    wrote(&swb, "main", "  29\n  97\n");
    stage.press("\x1bq\x1d\x1d\x1d\x1d");
    wrote(&swb, "main", "  97\n  27\n 113\n  29\n  29\n");
    stage.press("\x1dd");
    assert_eq!(stage.terminal.wait(), 0);
}

#[test]
fn the_prefix_alone_detaches_after_a_pause_and_d_at_once() {
    let swb = Swb::start(EXE);
    swb.script("main", SHOW_KEYS);
    let mut stage = attach(&swb, "main");
    stage.until_text("ready");
    let began = Instant::now();
    stage.press("\x1d");
    assert_eq!(stage.terminal.wait(), 0);
    assert!(began.elapsed() >= Duration::from_millis(500), "there is time for another key");
    let mut stage = attach(&swb, "main");
    stage.until_text("ready");
    // Escape takes it back.
    stage.press("\x1d");
    stage.press("\x1b");
    stage.terminal.shows("\u{0}", Duration::from_secs(1));
    stage.press("x");
    wrote(&swb, "main", " 120\n");
    assert!(!swb.ok(&["logs", "main"]).contains("  29\n"));
    stage.press("\x1dd");
    assert_eq!(stage.terminal.wait(), 0);
}

#[test]
fn the_list_opens_over_a_session_and_returns_to_the_same_picture() {
    let swb = Swb::start(EXE);
    // The alternate screen, a cursor shape, the mouse, bracketed paste, kitty's keyboard, a title.
    let script = r"stty raw -echo
printf '\033[?1049h\033[?1002;1006h\033[?2004h\033[>1u\033[4 q\033]2;my title\033\\\033[2J\033[3;5H\033[1;31mred\033[m'
exec cat";
    swb.script("main", script);
    agent(&swb, "other");
    let mut stage = attach(&swb, "main");
    stage.until_text("red");
    stage.until("its modes", |_| true);
    let before = stage.screen();
    stage.press("\x1b[93;5u\x1b[93;5:3us");
    stage.until("the list", |screen| screen.contains("main (here)") && screen.contains("other"));
    let over = stage.screen().modes();
    assert!(over.mouse == 0 && over.keyboard == 0, "the program's modes are off: {over:?}");
    stage.press("q");
    stage.until("the session", |screen| screen.trim() == "red");
    wait_for("all modes", || {
        stage.terminal.shows("\u{0}", Duration::from_millis(20));
        (stage.screen().modes() == before.modes()).then_some(())
    });
    let after = stage.screen();
    assert_eq!((after.text(), after.cursor()), (before.text(), before.cursor()));
    stage.press("\x1b[93;5u\x1b[93;5:3ud");
    assert_eq!(stage.terminal.wait(), 0);
    stage.terminal.assert_modes_restored();
}

#[test]
fn another_session_can_be_chosen_in_the_list() {
    let swb = Swb::start(EXE);
    agent(&swb, "main");
    agent(&swb, "other");
    let mut stage = attach(&swb, "main");
    stage.until_text(">");
    // Typed at once: the rest of the input is for the list.
    stage.press("first\r");
    stage.until_text("you said: first");
    stage.press("\x1ds/other\r\r");
    wait_for("the other session", || (swb.session("other")?["clients"] == 1).then_some(()));
    assert_eq!(swb.session("main").unwrap()["clients"], 0);
    stage.press("second\r");
    stage.until_text("you said: second");
    wrote(&swb, "other", "you said: second");
    stage.press("\x1d");
    assert_eq!(stage.terminal.wait(), 0);
    assert!(stage.text().contains("detached"), "{}", stage.text());
    assert!(!text(stage.terminal.seen()).contains("panicked"));
}

#[test]
fn the_keys_are_shown_on_request() {
    let swb = Swb::start(EXE);
    agent(&swb, "main");
    let mut stage = attach(&swb, "main");
    stage.until_text(">");
    stage.press("\x1d?");
    stage.until_text("type Ctrl+] into the session");
    stage.press(" ");
    stage.until("the session", |screen| screen.trim_start().starts_with('>'));
    stage.press("hello\r");
    stage.until_text("you said: hello");
}

#[test]
fn a_session_killed_in_the_list_over_it_ends_the_attachment() {
    let swb = Swb::start(EXE);
    agent(&swb, "main");
    let mut stage = attach(&swb, "main");
    stage.until_text(">");
    stage.press("\x1ds");
    stage.until_text("main (here)");
    stage.press("xy");
    stage.until_text("killed 'main'");
    stage.press("q");
    stage.terminal.wait();
    stage.terminal.assert_modes_restored();
}
