//! `swb attach` restores the screen: its content, its scrollback, and the user's own terminal.

use crate::support::view::{all_text, screen, until_text, until_view, view};
use std::process::Command;
use swb_testkit::{QUIET, Swb, Terminal, wait_for};
use swb_vt::Screen;

const EXE: &str = env!("CARGO_BIN_EXE_swb");

/// Ctrl+] as a plain byte.
const CTRL_BRACKET: &[u8] = b"\x1d";

#[test]
fn the_screen_is_restored_with_colours_modes_and_scrollback() {
    let swb = Swb::start(EXE);
    let script =
        r"stty -echo; seq 1 100; printf '\033]2;my title\007\033[1;31mred\033[m \033[?2004h'; exec cat";
    running(&swb, "main", script, "red");
    let mut terminal = attach(&swb, &["main"]);
    until_text(&mut terminal, "red");
    terminal.type_in(b"new\r");
    until_text(&mut terminal, "red new");
    let shown = view(&terminal);
    let numbers: String = (1..=100).map(|n| format!("{n}\n")).collect();
    assert_eq!(all_text(&shown), format!("{numbers}red new"));
    assert!(shown.title().ends_with("my title"), "{}", shown.title());
    assert!(shown.modes().bracketed_paste);
    // Exactly as if the terminal had been there from the beginning.
    let log = swb.run(&["logs", "main"]).stdout;
    let expected = screen(&log, 80, 24);
    assert_eq!(styled(&shown), styled(&expected));
}

#[test]
fn the_scrollback_can_be_left_out() {
    let swb = Swb::start(EXE);
    running(&swb, "main", "stty -echo; seq 1 100; exec cat", "100");
    let mut terminal = attach(&swb, &["main", "--no-scrollback"]);
    until_text(&mut terminal, "100");
    let numbers: Vec<String> = (78..=100).map(|n| n.to_string()).collect();
    assert_eq!(all_text(&view(&terminal)), numbers.join("\n"));
}

#[test]
fn the_users_own_lines_stay_in_the_scrollback() {
    let swb = Swb::start(EXE);
    running(&swb, "main", "stty -echo; echo of the session; exec cat", "of the session");
    let mut terminal = Terminal::start(swb.shell("seq 1 30; echo 'my own'"), 80, 24);
    assert_eq!(terminal.wait(), 0);
    terminal.until("my own");
    let before = terminal.seen().to_vec();
    terminal.next(swb.command(&["attach", "main"]));
    terminal.until("of the session");
    let mut shown = screen(&before, 80, 24);
    shown.feed(terminal.seen());
    assert_eq!(shown.text(), "of the session");
    let own: String = (1..=30).map(|n| format!("{n}\n")).collect();
    assert!(all_text(&shown).starts_with(&format!("{own}my own\n")), "{}", all_text(&shown));
}

#[test]
fn a_full_screen_program_is_restored_and_leaves_nothing_behind() {
    let swb = Swb::start(EXE);
    let script = r"stty raw -echo; printf 'prompt\r\n\033[?1049h\033[5;10Hfull screen\033[?25l'; exec cat";
    running(&swb, "main", script, "full screen");
    let mut terminal = attach(&swb, &["main"]);
    until_text(&mut terminal, "full screen");
    let shown = view(&terminal);
    assert!(shown.modes().alternate && !shown.cursor().visible);
    assert_eq!(shown.row_texts()[4], "         full screen");
    terminal.type_in(CTRL_BRACKET);
    assert_eq!(terminal.wait(), 0);
    let left = view(&terminal);
    assert!(!left.modes().alternate && left.cursor().visible);
    assert!(left.text().starts_with("prompt\n") && left.text().ends_with("[detached]"), "{}", left.text());
}

#[test]
fn reattaching_in_the_same_terminal_loses_nothing() {
    let swb = Swb::start(EXE);
    running(&swb, "main", "stty -echo; echo ready; exec cat", "ready");
    for n in 0..3 {
        let mut terminal = attach(&swb, &["main"]);
        until_view(&mut terminal, |screen| screen.text().lines().count() == n + 1);
        terminal.type_in(format!("line {n}\r").as_bytes());
        until_text(&mut terminal, &format!("line {n}"));
        terminal.type_in(CTRL_BRACKET);
        assert_eq!(terminal.wait(), 0);
        terminal.assert_modes_restored();
    }
    assert_eq!(swb.ok(&["screen", "main"]), "ready\nline 0\nline 1\nline 2\n");
}

#[test]
fn a_watcher_of_another_size_sees_the_part_with_the_cursor() {
    let swb = Swb::start(EXE);
    let script = r"stty -echo; printf '\033[30;90Hcorner\033[1;1H'; exec cat";
    let mut writer = Terminal::start(run(&swb, "main", script), 100, 30);
    writer.until("corner");
    let mut watcher = Terminal::start(swb.command(&["attach", "main", "--watch"]), 40, 10);
    wait_for("the watcher", || (swb.session("main")?["clients"] == 2).then_some(()));
    writer.type_in(b"top\r");
    until(&mut watcher, (40, 10), |screen| screen.text() == "top");
    // Its own size is its own matter, and it sees what there is room for.
    watcher.resize(100, 30);
    until(&mut watcher, (100, 30), |screen| screen.text().ends_with("corner"));
    watcher.forget();
    watcher.resize(20, 5);
    until(&mut watcher, (20, 5), |screen| screen.text().contains("top"));
    let session = swb.session("main").expect("it runs");
    assert_eq!((&session["cols"], &session["rows"]), (&100.into(), &30.into()));
    assert!(!writer.shows("\x1b[?2026h", QUIET), "the writer is left alone");
}

#[test]
fn without_a_terminal_the_output_is_unchanged() {
    let swb = Swb::start(EXE);
    let script = r"stty raw -echo; printf 'a\033[31mb\033[m\r\nc'; dd bs=1 count=1 >/dev/null 2>&1";
    running(&swb, "main", script, "c");
    let mut command = swb.command(&["attach", "main"]);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().expect("a child");
    std::io::Write::write_all(child.stdin.as_mut().expect("a pipe"), b"x").expect("written");
    let output = child.wait_with_output().expect("its output");
    assert_eq!(output.stdout, b"a\x1b[31mb\x1b[m\r\nc");
}

// ---- helpers ----

/// Runs a script in a session up to where `until` is on the screen.
#[track_caller]
fn running(swb: &Swb, name: &str, script: &str, until: &str) {
    swb.script(name, script);
    wait_for(until, || swb.ok(&["logs", name]).contains(until).then_some(()));
}

fn run(swb: &Swb, name: &str, script: &str) -> Command {
    swb.command(&["run", "-n", name, "--", "sh", "-c", script])
}

fn attach(swb: &Swb, args: &[&str]) -> Terminal {
    Terminal::start(swb.command(&[&["attach"], args].concat()), 80, 24)
}

/// Text and style of what is shown.
fn styled(screen: &Screen) -> String {
    format!("{:?}{:?}", screen.lines(), screen.cursor())
}

/// Waits until a terminal of some size shows something.
#[track_caller]
fn until(terminal: &mut Terminal, (cols, rows): (u16, u16), condition: impl Fn(&Screen) -> bool) {
    let end = std::time::Instant::now() + swb_testkit::LIMIT;
    loop {
        let now = screen(terminal.seen(), cols, rows);
        if condition(&now) {
            return;
        }
        assert!(std::time::Instant::now() < end, "the terminal shows {:?}", now.text());
        terminal.shows("\u{0}", std::time::Duration::from_millis(20));
    }
}
