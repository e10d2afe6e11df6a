//! However an attachment ends, the user's terminal is restored: its modes, and the modes that the program has set in it.
//! Modes that were not set are not reset either.

use crate::support::view::{screen, until_view, view, without_titles};
use rustix::process::Signal;
use rustix::termios::{InputModes, LocalModes, OutputModes, SpecialCodeIndex};
use std::process::Command;
use swb_testkit::{QUIET, Swb, Terminal, is_alive, signal, wait_for};
use swb_vt::Screen;

const EXE: &str = env!("CARGO_BIN_EXE_swb");

/// Leaves a session.
const CTRL_BRACKET: &[u8] = b"\x1d";

/// Something visible that changes nothing: a program is that far.
const READY: &str = "\x1b]0;ready\x07";

/// What a program can switch on, and exactly what switches it off.
const SWITCHES: [(&str, &str, &str); 24] = [
    ("nothing", "", ""),
    ("text on whole lines", "hello\r\n", ""),
    ("a line that is not ended", "hello", "\r\n"),
    ("alternate screen", "\x1b[?1049h", "\x1b[?1049l"),
    ("older alternate screen", "\x1b[?47h", "\x1b[?47l\r\n"),
    ("hidden cursor", "\x1b[?25l", "\x1b[?25h"),
    ("mouse", "\x1b[?1000h\x1b[?1002h\x1b[?1006h", "\x1b[?1000;1002;1006l"),
    ("bracketed paste", "\x1b[?2004h", "\x1b[?2004l"),
    ("focus reports", "\x1b[?1004h", "\x1b[?1004l"),
    ("kitty keyboard", "\x1b[>1u", "\x1b[<1u"),
    (
        "kitty keyboard, twice and on both screens",
        "\x1b[>1u\x1b[?1049h\x1b[>1u\x1b[>3u",
        "\x1b[<2u\x1b[?1049l\x1b[<1u",
    ),
    ("kitty keyboard without a stack", "\x1b[=1u", "\x1b[=0u"),
    ("modifyOtherKeys", "\x1b[>4;2m", "\x1b[>4m"),
    ("application keys", "\x1b[?1h\x1b=", "\x1b>\x1b[?1l"),
    ("no wrapping", "\x1b[?7l", "\x1b[?7h"),
    ("insert mode", "\x1b[4h", "\x1b[4l"),
    ("colours of text", "\x1b[1;31m", "\x1b[m"),
    ("line drawing", "\x1b(0", "\x1b(B"),
    ("cursor shape", "\x1b[5 q", "\x1b[0 q"),
    ("scroll region", "\x1b[2;10r", "\x1b[r\x1b[999B\r\n"),
    ("synchronised output", "\x1b[?2026h", "\x1b[?2026l"),
    ("hyperlink", "\x1b]8;;http://x/\x1b\\", "\x1b]8;;\x1b\\"),
    ("colours of the terminal", "\x1b]11;#000000\x07", "\x1b]111\x1b\\"),
    ("title stack", "\x1b[22;2t", "\x1b[23;2t"),
];

/// Everything a full-screen program with a modern keyboard switches on, and what undoes it.
const ALL: (&str, &str) = (
    "\x1b[>4;2m\x1b[?1049h\x1b[>1u\x1b[?25l\x1b[?1h\x1b=\x1b[?1000;1002;1006h\x1b[?2004h\x1b[?1004h\x1b[1;7m\x1b[2;10r",
    "\x1b>\x1b[?1;1000;1002;1004;1006;2004l\x1b[?25h\x1b[>4m\x1b[r\x1b[<1u\x1b[?1049l\x1b[m",
);

// ---- each of them ----

#[test]
fn detaching_resets_exactly_the_modes_that_were_on() {
    let swb = Swb::start(EXE);
    for (what, on, off) in SWITCHES {
        let mut terminal = run(&swb, "main", on);
        terminal.type_in(CTRL_BRACKET);
        assert_eq!(terminal.wait(), 0, "{what}");
        assert_eq!(shown(&terminal), format!("{off}[detached]\r\n"), "{what}");
        swb.ok(&["kill", "-f", "main"]);
    }
}

#[test]
fn the_end_of_the_program_resets_exactly_the_modes_that_were_on() {
    let swb = Swb::start(EXE);
    for (what, on, off) in SWITCHES {
        let mut terminal = run(&swb, "main", on);
        terminal.type_in(b"x");
        assert_eq!(terminal.wait(), 5, "{what}");
        assert_eq!(shown(&terminal), off, "{what}");
    }
}

#[test]
fn reattaching_sets_modes_again_and_detaching_resets_them() {
    let swb = Swb::start(EXE);
    for (what, on, _) in SWITCHES {
        let mut terminal = run(&swb, "main", on);
        terminal.type_in(CTRL_BRACKET);
        assert_eq!(terminal.wait(), 0, "{what}");
        terminal.next(swb.command(&["attach", "main"]));
        until_view(&mut terminal, |screen| screen.title() == "ready");
        let with = screen(format!("{on}{READY}").as_bytes(), 80, 24);
        assert_eq!(view(&terminal).modes(), with.modes(), "{what}");
        terminal.type_in(CTRL_BRACKET);
        assert_eq!(terminal.wait(), 0, "{what}");
        assert!(shown(&terminal).ends_with("[detached]\r\n"), "{what}");
        assert_plain(&terminal, what);
        swb.ok(&["kill", "-f", "main"]);
    }
}

#[test]
fn modes_reset_by_the_program_are_not_reset_again() {
    let swb = Swb::start(EXE);
    for (what, on, off) in SWITCHES {
        let mut terminal = run(&swb, "main", &format!("{on}{off}"));
        terminal.type_in(b"x");
        assert_eq!(terminal.wait(), 5, "{what}");
        assert_eq!(shown(&terminal), "", "{what}");
    }
}

#[test]
fn an_unfinished_sequence_is_aborted() {
    let swb = Swb::start(EXE);
    for (half, abort) in [("\x1b[?10", "\x18"), ("\x1b]2;half a title", "\x1b\\")] {
        let script = format!("stty raw -echo; printf '{}'; dd bs=1 count=1 >/dev/null 2>&1", octal(half));
        let mut terminal = Terminal::start(swb.command(&["run", "--", "/bin/sh", "-c", &script]), 80, 24);
        terminal.until(half);
        terminal.forget();
        terminal.type_in(b"x");
        assert_eq!(terminal.wait(), 0);
        assert_eq!(shown(&terminal), abort);
    }
}

// ---- each ending ----

/// A name, the cause, the exit code, and what is printed.
type Ending = (&'static str, fn(&Swb, &Terminal), i32, &'static str);

#[test]
fn every_ending_restores_the_terminal() {
    let swb = Swb::start(EXE);
    let (on, off) = ALL;
    let endings: [Ending; 9] = [
        ("exit", |_, terminal| terminal.type_in(b"x"), 5, ""),
        ("detach", |_, terminal| terminal.type_in(CTRL_BRACKET), 0, "[detached]\r\n"),
        ("kitty detach", |_, terminal| terminal.type_in(b"\x1b[93;5u"), 0, "[detached]\r\n"),
        ("SIGTERM", |_, terminal| terminal.signal(Signal::TERM), 143, ""),
        ("SIGHUP", |_, terminal| terminal.signal(Signal::HUP), 129, ""),
        ("SIGINT", |_, terminal| terminal.signal(Signal::INT), 130, ""),
        ("SIGQUIT", |_, terminal| terminal.signal(Signal::QUIT), 131, ""),
        ("kill", |swb, _| drop(swb.ok(&["kill", "main"])), 143, "[session killed]\r\n"),
        ("forced kill", |swb, _| drop(swb.ok(&["kill", "-f", "main"])), 137, "[session killed]\r\n"),
    ];
    for (what, end, code, message) in endings {
        let mut terminal = odd_terminal(&swb);
        let before = modes(&terminal);
        terminal.next(program(&swb, "main", on));
        terminal.until(READY);
        assert_ne!(modes(&terminal), before, "{what}");
        terminal.forget();
        end(&swb, &terminal);
        assert_eq!(terminal.wait(), code, "{what}");
        assert_eq!(shown(&terminal), format!("{off}{message}"), "{what}");
        assert_eq!(modes(&terminal), before, "{what}");
        swb.run(&["kill", "-f", "main"]);
    }
}

#[test]
fn a_shutdown_of_the_daemon_restores_the_terminal() {
    let swb = Swb::start(EXE);
    let (on, off) = ALL;
    let mut terminal = odd_terminal(&swb);
    let before = modes(&terminal);
    terminal.next(program(&swb, "main", on));
    terminal.until(READY);
    terminal.forget();
    swb.ok(&["shutdown"]);
    assert_eq!(terminal.wait(), 0);
    let said = "[daemon shut down; sessions live on]\r\n";
    assert_eq!(shown(&terminal), format!("{off}{said}"));
    assert_eq!(modes(&terminal), before);
}

#[test]
fn a_lost_daemon_restores_the_terminal() {
    let swb = Swb::start(EXE);
    let (on, off) = ALL;
    let mut terminal = odd_terminal(&swb);
    let before = modes(&terminal);
    terminal.next(program(&swb, "main", on));
    terminal.until(READY);
    terminal.forget();
    let (daemon, keeper) = (swb.daemon_pid(), swb.keeper_pid());
    signal(keeper, Signal::STOP);
    signal(daemon, Signal::KILL);
    assert_eq!(terminal.wait(), 1);
    signal(keeper, Signal::CONT);
    assert!(
        shown(&terminal).starts_with(&format!("{off}swb: the connection to the daemon was lost")),
        "{:?}",
        shown(&terminal)
    );
    assert_eq!(modes(&terminal), before);
}

/// Only debug builds can be asked to panic.
#[cfg(debug_assertions)]
#[test]
fn a_panic_restores_the_terminal_before_its_message() {
    let swb = Swb::start(EXE);
    let (on, off) = ALL;
    let mut terminal = odd_terminal(&swb);
    let before = modes(&terminal);
    let mut command = program(&swb, "main", on);
    command.env("SWB_TEST_PANIC", "P");
    terminal.next(command);
    terminal.until(READY);
    terminal.forget();
    terminal.type_in(b"P");
    assert_eq!(terminal.wait(), 101);
    let said = shown(&terminal).strip_prefix(off).map(str::to_owned);
    let said = said.unwrap_or_else(|| panic!("{:?}", shown(&terminal)));
    assert!(said.starts_with("swb: internal error: "), "{said:?}");
    assert!(said.contains("SWB_TEST_PANIC asked for it") && said.contains("hint: "), "{said:?}");
    assert_eq!(modes(&terminal), before);
    // The session never noticed.
    let session = swb.session("main").expect("it runs on");
    assert_eq!(session["status"], "running");
}

#[test]
fn a_watcher_restores_the_terminal() {
    let swb = Swb::start(EXE);
    let (on, _) = ALL;
    let mut writer = run(&swb, "main", on);
    for key in [CTRL_BRACKET, b"q", b"\x03"] {
        let mut terminal = odd_terminal(&swb);
        let before = modes(&terminal);
        terminal.next(swb.command(&["attach", "main", "--watch"]));
        until_view(&mut terminal, |screen| screen.title() == "ready");
        terminal.type_in(key);
        assert_eq!(terminal.wait(), 0);
        assert!(shown(&terminal).ends_with("[detached]\r\n"), "{key:?}");
        assert_plain(&terminal, "a watcher");
        assert_eq!(modes(&terminal), before);
    }
    writer.type_in(b"x");
    assert_eq!(writer.wait(), 5);
}

#[test]
fn a_shell_restores_the_terminal() {
    let swb = Swb::start(EXE);
    let (on, off) = ALL;
    swb.script("main", "sleep 600");
    let mut terminal = odd_terminal(&swb);
    let before = modes(&terminal);
    terminal.next(swb.command(&["shell", "main", "--", "/bin/sh", "-c", &script(on)]));
    terminal.until(READY);
    terminal.forget();
    terminal.type_in(b"x");
    assert_eq!(terminal.wait(), 5);
    assert_eq!(shown(&terminal), off);
    assert_eq!(modes(&terminal), before);
}

#[test]
fn a_slow_terminal_is_restored_too() {
    let swb = Swb::start(EXE);
    let flood = r"printf '\033[?1049h\033[?25l'; while :; do echo flood; done";
    let mut terminal = Terminal::start(swb.command(&["run", "-n", "main", "--", "sh", "-c", flood]), 80, 24);
    let before = modes(&terminal);
    terminal.until("flood");
    // The program is further than client and terminal can hold, so both are full.
    wait_for("a full terminal", || (swb.session("main")?["offset"].as_u64()? > 4 << 20).then_some(()));
    // The client does not read for longer than leaving waits for the rest of the output.
    terminal.type_in(CTRL_BRACKET);
    std::thread::park_timeout(QUIET * 4);
    assert_eq!(terminal.wait(), 0);
    let shown = shown(&terminal);
    let end = &shown[shown.len().saturating_sub(100)..];
    assert!(end.contains("\x1b[?25h\x1b[?1049l"), "{end:?}");
    assert!(end.ends_with("[detached]\r\n"), "{end:?}");
    assert_eq!(modes(&terminal), before);
}

// ---- in between ----

#[test]
fn the_terminal_is_raw_while_attached_and_after_a_stop() {
    let swb = Swb::start(EXE);
    let mut terminal = odd_terminal(&swb);
    let cooked = terminal.modes();
    terminal.next(program(&swb, "main", ""));
    terminal.until(READY);
    let is_raw = |terminal: &Terminal| {
        let modes = terminal.modes();
        !modes
            .local_modes
            .intersects(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN)
            && !modes.input_modes.intersects(InputModes::ICRNL | InputModes::IXON | InputModes::ISTRIP)
            && !modes.output_modes.contains(OutputModes::OPOST)
    };
    assert!(is_raw(&terminal));
    // A shell with job control stops it, takes the terminal, and brings it back.
    terminal.signal(Signal::STOP);
    terminal.set_modes(&cooked);
    terminal.signal(Signal::CONT);
    wait_for("raw mode", || is_raw(&terminal).then_some(()));
    terminal.forget();
    terminal.type_in(CTRL_BRACKET);
    assert_eq!(terminal.wait(), 0);
    assert_eq!(modes(&terminal), format!("{cooked:?}"));
}

#[test]
fn only_the_keyboard_is_a_terminal() {
    let swb = Swb::start(EXE);
    swb.script("main", &script("\x1b[?1049h"));
    let mut terminal = odd_terminal(&swb);
    let before = modes(&terminal);
    // Output goes elsewhere as it is; there is nothing on the terminal to undo.
    terminal.next(swb.shell(r#""$SWB" attach main > out; echo "code $?""#));
    let out = swb.dir().join("w/out");
    wait_for("output", || std::fs::read_to_string(&out).ok().filter(|text| text.contains(READY)));
    wait_for("raw mode", || (modes(&terminal) != before).then_some(()));
    terminal.type_in(CTRL_BRACKET);
    assert_eq!(terminal.wait(), 0);
    assert_eq!(shown(&terminal), "[detached]\r\ncode 0\r\n");
    assert_eq!(modes(&terminal), before);
    assert_eq!(std::fs::read_to_string(&out).expect("a file"), format!("\x1b[?1049h{READY}"));
}

#[test]
fn commands_that_print_leave_the_terminal_alone() {
    let swb = Swb::start(EXE);
    let pid = swb.script("main", &script(ALL.0));
    wait_for("its output", || swb.ok(&["logs", "main"]).contains(READY).then_some(()));
    let mut terminal = odd_terminal(&swb);
    let before = modes(&terminal);
    for args in [&["ls"][..], &["status"], &["logs", "main"], &["send", "main", ""], &["kill", "main"]] {
        terminal.next(swb.command(args));
        assert_eq!(terminal.wait(), 0, "{args:?}");
        assert_eq!(modes(&terminal), before, "{args:?}");
    }
    assert!(!is_alive(pid));
}

// ---- helpers ----

/// Insists that the terminal is in the state of a fresh one, except for what stands on it.
#[track_caller]
fn assert_plain(terminal: &Terminal, what: &str) {
    let (mut after, mut fresh) = (view(terminal), screen(b"", 80, 24));
    assert_eq!(after.modes(), fresh.modes(), "{what}");
    // Text shows how text is drawn, and that the whole screen scrolls.
    let probe = b"\x1b[24;79Hqq\x1b[24;1Hqq\n\x08\x08";
    after.feed(probe);
    fresh.feed(probe);
    let last = |screen: &Screen| (screen.cursor(), screen.lines().split_off(22));
    assert_eq!(last(&after), last(&fresh), "{what}");
}

/// A program that writes `output` and then a mark, waits for a key and ends with exit code 5.
fn script(output: &str) -> String {
    let output = octal(&format!("{output}{READY}"));
    format!("stty raw -echo; printf '{output}'; dd bs=1 count=1 >/dev/null 2>&1; exit 5")
}

/// A text as an argument of printf.
fn octal(text: &str) -> String {
    text.bytes().map(|byte| format!("\\{byte:03o}")).collect()
}

fn program(swb: &Swb, name: &str, output: &str) -> Command {
    swb.command(&["run", "-n", name, "--", "/bin/sh", "-c", &script(output)])
}

/// Runs such a program up to where it waits for a key; what it has shown is forgotten.
#[track_caller]
fn run(swb: &Swb, name: &str, output: &str) -> Terminal {
    let mut terminal = Terminal::start(program(swb, name, output), 80, 24);
    terminal.until(READY);
    terminal.forget();
    terminal
}

/// A terminal whose modes are not the usual ones.
fn odd_terminal(swb: &Swb) -> Terminal {
    let mut terminal = Terminal::start(swb.shell("true"), 80, 24);
    assert_eq!(terminal.wait(), 0);
    let mut modes = terminal.modes();
    modes.input_modes.remove(InputModes::IXON);
    modes.input_modes.insert(InputModes::IXANY);
    modes.local_modes.remove(LocalModes::ECHOE);
    modes.special_codes[SpecialCodeIndex::VINTR] = 0x18;
    modes.special_codes[SpecialCodeIndex::VMIN] = 3;
    modes.special_codes[SpecialCodeIndex::VTIME] = 2;
    terminal.set_modes(&modes);
    terminal
}

fn modes(terminal: &Terminal) -> String {
    format!("{:?}", terminal.modes())
}

fn shown(terminal: &Terminal) -> String {
    without_titles(&String::from_utf8_lossy(terminal.seen()))
}
