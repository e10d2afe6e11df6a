//! Clients with windows of several sizes on one program: the terminal has the size of one of them, and none of the others is
//! ever sent output for another width.

use super::window::{difference, size};
use super::{EXE, environment, known, script, wait_for_text, waiting};
use serde_json::json;
use std::time::{Duration, Instant};
use swb_testkit::{LIMIT, ScreenClient, Swb, Terminal, stays, wait_for};
use swb_types::Size;
use swb_vt::{Options, Screen};

/// Leaves a session.
const DETACH: &[u8] = b"\x1d";

/// A window of fixed size with `swb attach` in it, and the screen of that window.
struct Window {
    terminal: Terminal,
    screen: Screen,
    /// Bytes that are on the screen.
    shown: usize,
}

impl Window {
    fn attach(swb: &Swb, (cols, rows): (u16, u16)) -> Self {
        Self::run(swb, &["attach", "x"], (cols, rows))
    }

    fn run(swb: &Swb, args: &[&str], (cols, rows): (u16, u16)) -> Self {
        let terminal = Terminal::start(swb.command(args), cols, rows);
        let screen = Screen::new(Size::new(cols, rows).unwrap(), Options::default());
        Self { terminal, screen, shown: 0 }
    }

    fn type_in(&self, keys: &[u8]) {
        self.terminal.type_in(keys);
    }

    /// Shows what has arrived.
    fn read(&mut self) -> &Screen {
        // Never shown: reads for a moment.
        self.terminal.shows("\u{0}", Duration::from_millis(10));
        self.screen.feed(&self.terminal.seen()[self.shown..]);
        self.shown = self.terminal.seen().len();
        // A terminal replies to queries.
        let replies = self.screen.take_replies();
        self.terminal.type_in(&replies);
        &self.screen
    }

    #[track_caller]
    fn until_text(&mut self, text: &str) {
        let end = Instant::now() + LIMIT;
        while !self.read().text().contains(text) {
            assert!(Instant::now() < end, "{text:?} is not there, but {:?}", self.screen.text());
        }
    }

    #[track_caller]
    fn detach(mut self) {
        self.type_in(DETACH);
        assert_eq!(self.terminal.wait(), 0);
        assert!(self.terminal.seen().ends_with(b"[detached]\r\n"));
    }
}

#[track_caller]
fn until_size(swb: &Swb, wanted: (u64, u64)) {
    wait_for(&format!("the size {wanted:?}"), || (size(swb) == wanted).then_some(()));
}

/// Waits until every window shows the session's screen cell by cell, or the part of it that fits, and still does when
/// everything has come to rest.
#[track_caller]
fn until_same(swb: &Swb, windows: &mut [&mut Window], when: &str) {
    let end = Instant::now() + LIMIT;
    let mut rounds = 0;
    while rounds < 3 {
        for window in windows.iter_mut() {
            window.read();
        }
        let session = known(swb, "x").0;
        let wrong = windows.iter().enumerate().find_map(|(n, window)| {
            difference(&window.screen, &session).map(|difference| format!("window {n}: {difference}"))
        });
        match wrong {
            None => rounds += 1,
            Some(wrong) => {
                rounds = 0;
                assert!(Instant::now() < end, "{when}: {wrong}\n--- session ---\n{}", session.text());
            }
        }
    }
}

fn configured(policy: &str) -> Swb {
    let mut swb = Swb::new(EXE);
    let file = swb.paths().config_file();
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, format!("[screen]\nwindow_size = \"{policy}\"\n")).unwrap();
    swb.start_daemon();
    swb
}

/// A vim with coloured text in many columns and rows.
fn vim(swb: &Swb) {
    let workspace = swb.workspace("x");
    let line = |n: usize| {
        format!("let row_{n} = \"{}\"; // {}\n", "wörter 漢字 ".repeat(1 + n % 9), "x".repeat(n % 70))
    };
    let text: String = (1..=200).map(line).collect();
    std::fs::write(workspace.join("text.rs"), text).unwrap();
    let argv = ["vim", "--clean", "-n", "+syntax on", "+set number mouse=a", "text.rs"];
    swb.control().ok(&json!({
        "cmd": "create", "name": "x", "workspace": workspace, "argv": argv, "env": environment(&workspace),
        "cols": 80, "rows": 24,
    }));
    wait_for_text(swb, "x", "row_1 ");
}

#[test]
fn two_windows_of_different_sizes_never_show_a_wrong_cell_of_one_vim() {
    let swb = Swb::start(EXE);
    vim(&swb);
    let mut wide = Window::attach(&swb, (110, 30));
    until_size(&swb, (110, 30));
    until_same(&swb, &mut [&mut wide], "alone");
    let mut small = Window::attach(&swb, (60, 15));
    until_size(&swb, (60, 15));
    until_same(&swb, &mut [&mut wide, &mut small], "a smaller window comes");

    // The window in which a person types has the size.
    for round in 0..3 {
        wide.type_in(b"\x06");
        until_size(&swb, (110, 30));
        until_same(&swb, &mut [&mut wide, &mut small], &format!("the wide one scrolls, {round}"));
        small.type_in(b"25jo typed in the small one \x1b");
        until_size(&swb, (60, 15));
        until_same(&swb, &mut [&mut wide, &mut small], &format!("the small one inserts, {round}"));
        // Cursor keys in the mode that vim has set, although this window is sent pictures.
        wide.type_in(b"\x1bOA\x1bOB$");
        until_size(&swb, (110, 30));
        until_same(&swb, &mut [&mut wide, &mut small], &format!("the wide one moves, {round}"));
    }
    // The first key of a window that was not in use is effective at once, although a resize comes with it. vim has to come to
    // rest in between: it takes two sizes within a moment for none, and draws on what is no longer there.
    for _ in 0..2 {
        small.type_in(b"G");
        until_size(&swb, (60, 15));
        small.until_text("row_200 ");
        until_same(&swb, &mut [&mut wide, &mut small], "the small one goes to the end");
        wide.type_in(b"1G");
        until_size(&swb, (110, 30));
        wide.until_text("row_1 ");
        until_same(&swb, &mut [&mut wide, &mut small], "the wide one goes to the beginning");
    }
    small.type_in(b"G");
    until_size(&swb, (60, 15));
    small.until_text("row_200 ");

    // After a crash of the daemon both come back as they were, in any order.
    swb.kill_daemon();
    until_same(&swb, &mut [&mut wide, &mut small], "another daemon");
    stays("the size", || size(&swb) == (60, 15));

    // The one that leaves gives the size back at once.
    small.detach();
    until_size(&swb, (110, 30));
    until_same(&swb, &mut [&mut wide], "alone again");
    // From here on it is sent output, not pictures.
    wide.type_in(b"gg");
    wide.until_text("row_1 ");
    until_same(&swb, &mut [&mut wide], "and it scrolls");
    wide.detach();
    stays("the size of the last one", || size(&swb) == (110, 30));
}

#[test]
fn a_killed_client_gives_the_size_back_too() {
    let swb = Swb::start(EXE);
    script(&swb, "x", "printf ready; exec cat");
    let mut first = Window::attach(&swb, (100, 20));
    first.until_text("ready");
    let mut second = Window::attach(&swb, (50, 10));
    second.until_text("ready");
    until_size(&swb, (50, 10));
    second.terminal.signal(rustix::process::Signal::KILL);
    until_size(&swb, (100, 20));
    until_same(&swb, &mut [&mut first], "alone");
}

#[test]
fn a_window_that_watches_or_only_reports_changes_no_size() {
    let swb = Swb::start(EXE);
    script(&swb, "x", "stty -echo; printf ready; exec cat -v");
    let mut person = Window::attach(&swb, (90, 20));
    person.until_text("ready");
    let mut watcher = Window::run(&swb, &["attach", "--watch", "x"], (40, 10));
    watcher.until_text("ready");
    let mut other = Window::attach(&swb, (70, 12));
    until_size(&swb, (70, 12));
    // A reply of its terminal, a report of the mouse and of focus are not typed by the person.
    person.type_in(b"\x1b[?62;22c\x1b[I\x1b[<0;1;1M\x1b[O");
    watcher.type_in(b"xyz");
    stays("the size", || size(&swb) == (70, 12));
    person.type_in(b"k");
    until_size(&swb, (90, 20));
    until_same(&swb, &mut [&mut person, &mut watcher, &mut other], "all three");
}

#[test]
fn the_smallest_window_decides_if_configured() {
    let swb = configured("smallest");
    vim(&swb);
    let mut wide = Window::attach(&swb, (120, 20));
    until_size(&swb, (120, 20));
    let mut high = Window::attach(&swb, (70, 40));
    until_size(&swb, (70, 20));
    until_same(&swb, &mut [&mut wide, &mut high], "columns of one, rows of the other");
    // Both type in pictures, with the keys that vim has asked for.
    wide.type_in(b"10j");
    high.type_in(b"\x1bOBGo pasted: \x1b[200~a\tb\x1b[201~\x1b");
    high.until_text("a b");
    until_same(&swb, &mut [&mut wide, &mut high], "both have typed");
    stays("the size", || size(&swb) == (70, 20));
    high.terminal.resize(80, 25);
    until_size(&swb, (80, 20));
    wide.detach();
    until_size(&swb, (80, 25));
}

#[test]
fn the_largest_window_decides_if_configured() {
    let swb = configured("largest");
    vim(&swb);
    let mut wide = Window::attach(&swb, (120, 20));
    let mut high = Window::attach(&swb, (70, 40));
    until_size(&swb, (120, 40));
    high.type_in(b"G$");
    until_same(&swb, &mut [&mut wide, &mut high], "the part with the cursor");
    high.detach();
    until_size(&swb, (120, 20));
    until_same(&swb, &mut [&mut wide], "all of it");
}

#[test]
fn no_window_decides_if_the_size_is_manual() {
    let swb = configured("manual");
    waiting(&swb, "x", &["/bin/sh", "-c", "stty size; exec cat"], (77, 21));
    let mut window = Window::attach(&swb, (40, 10));
    window.until_text("21 77");
    window.type_in(b"typed\r");
    window.until_text("typed");
    window.terminal.resize(50, 12);
    stays("the size", || size(&swb) == (77, 21));
    let web = swb.web();
    let asked = web.request("POST", "/api/sessions/x/pty/0/resize", r#"{"cols": 66, "rows": 11}"#);
    assert_eq!(asked.status, 200);
    until_size(&swb, (66, 11));
    // A client of coop's own protocol sets the size, as that protocol demands.
    let mut coop = swb.attach("x");
    until_size(&swb, (120, 40));
    coop.control(&json!({"cmd": "resize", "cols": 33, "rows": 9}));
    until_size(&swb, (33, 9));
}

/// A client that is sent pictures does not see a query; the one that sees it replies, even if another one typed last.
#[test]
fn a_query_is_answered_once_with_windows_of_two_sizes() {
    let swb = configured("smallest");
    let script_text =
        "stty -icanon -echo; printf ready; head -c 1 >/dev/null; printf '\\033[c'; exec od -An -v -tx1 -w1";
    script(&swb, "x", script_text);
    // One is sent output, the other pictures, and that one types.
    let mut small = Window::attach(&swb, (40, 40));
    small.until_text("ready");
    let mut large = Window::attach(&swb, (90, 40));
    large.until_text("ready");
    large.type_in(b"q");
    // The reply ends in `c`.
    let end = Instant::now() + LIMIT;
    while !small.read().text().contains("63") {
        large.read();
        assert!(Instant::now() < end, "no reply: {:?}", small.screen.text());
    }
    for _ in 0..20 {
        large.read();
        small.read();
    }
    let bytes: Vec<String> = small.screen.text().lines().map(|line| line.trim().to_owned()).collect();
    assert_eq!(bytes.iter().filter(|byte| byte.ends_with("1b")).count(), 1, "one reply: {bytes:?}");
}

/// A client that reconnects after the terminal was resized twice gets a picture, not output that was for another width.
#[test]
fn output_for_another_width_is_not_sent_again() {
    let swb = Swb::start(EXE);
    script(&swb, "x", "stty -echo; printf ready; exec cat");
    let ask = json!({"repaint": true, "sizes": false, "cols": 50, "rows": 10});
    let mut client = ScreenClient::with(&swb, "x", &ask);
    client.until_text("ready");
    let other = Window::attach(&swb, (90, 20));
    until_size(&swb, (90, 20));
    client.until("a part", |client| client.events().last().is_some_and(|event| event["part"] == true));
    other.type_in(format!("{}\r", "w".repeat(80)).as_bytes());
    client.until_text("www");
    other.detach();
    until_size(&swb, (50, 10));
    client.until("the whole", |client| client.events().last().is_some_and(|event| event["part"] != true));
    let difference = difference(client.screen(), &known(&swb, "x").0);
    assert_eq!(difference, None);
}

#[test]
fn a_window_that_is_resized_alone_is_sent_output_and_no_picture() {
    let swb = Swb::start(EXE);
    script(&swb, "x", "stty -echo; printf ready; exec cat");
    let ask = json!({"repaint": true, "sizes": false, "cols": 50, "rows": 10});
    let mut client = ScreenClient::with(&swb, "x", &ask);
    client.until_text("ready");
    let pictures = client.pictures();
    for cols in [60, 40, 90] {
        client.resize(cols, 12);
        until_size(&swb, (cols.into(), 12));
        client.type_in(format!("now {cols}\n").as_bytes());
        client.until_text(&format!("now {cols}"));
    }
    assert_eq!(client.pictures(), pictures);
}

#[test]
fn every_window_learns_that_its_session_was_killed() {
    let swb = Swb::start(EXE);
    for force in [&["kill", "x"][..], &["kill", "-f", "x"]] {
        script(&swb, "x", "printf ready; exec cat");
        // One after the other: each of them takes the size.
        let mut windows = [(100, 20), (50, 10), (20, 5)].map(|size| {
            let mut window = Window::attach(&swb, size);
            window.until_text("ready");
            until_size(&swb, (size.0.into(), size.1.into()));
            window
        });
        swb.ok(force);
        for window in &mut windows {
            let code = window.terminal.wait();
            let seen = window.terminal.seen();
            assert!(seen.ends_with(b"[session killed]\r\n"), "{force:?}: {}", seen.escape_ascii());
            assert_eq!(code, if force.len() > 2 { 137 } else { 143 });
        }
    }
}

#[test]
fn an_orderly_stop_of_the_daemon_keeps_size_and_screen_together() {
    let swb = Swb::start(EXE);
    script(&swb, "x", "printf ready; exec cat");
    let mut windows = [(100, 30), (70, 20)].map(|size| {
        let mut window = Window::attach(&swb, size);
        window.until_text("ready");
        until_size(&swb, (size.0.into(), size.1.into()));
        window
    });
    swb.ok(&["shutdown"]);
    for window in &mut windows {
        assert_eq!(window.terminal.wait(), 0);
    }
    // The next command starts another daemon.
    swb.ok(&["ls"]);
    assert_eq!(size(&swb), (70, 20));
    assert_eq!(known(&swb, "x").0.size(), Size::new(70, 20).unwrap());
}
