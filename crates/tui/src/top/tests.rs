//! What the list looks like, and what keys do.

use super::*;
use crate::input::keys::Key;

/// 2026-11-18, 12:00 UTC.
const NOW: u64 = 1_795_003_200_000;

fn row(name: &str, workspace: &str, state: SessionState, minutes: u64, line: &str) -> SessionRow {
    SessionRow {
        name: name.into(),
        workspace: workspace.into(),
        command: "claude".into(),
        state,
        since: NOW - minutes * 60_000,
        created: NOW / 1000 - minutes * 60,
        last_line: line.into(),
        ..SessionRow::default()
    }
}

fn rows() -> Vec<SessionRow> {
    vec![
        SessionRow {
            turns: 12,
            clients: 1,
            ..row("api", "~/src/shop", SessionState::Asking, 2, "Do you want to proceed?")
        },
        SessionRow { turns: 1, ..row("web", "~/src/shop", SessionState::Working, 4, "Reading src/cart.ts") },
        SessionRow {
            turns: 3,
            clients: 2,
            web_clients: 1,
            ..row("review", "~/src/shop", SessionState::Ready, 65, "12 findings")
        },
        SessionRow {
            command: "make watch".into(),
            ..row("build", "/srv/build", SessionState::Unknown, 3000, "gcc -O2 -c main.c")
        },
        SessionRow {
            exit_code: Some(2),
            ..row("tests", "/srv/build", SessionState::Exited, 30, "error: test failed")
        },
    ]
}

fn approval() -> ApprovalRow {
    ApprovalRow {
        id: "term-1".into(),
        session: "api".into(),
        workspace: "~/src/shop".into(),
        title: "Bash command: rm -rf build".into(),
        details: ["Bash command", "rm -rf build", "Removes the build directory", "Do you want to proceed?"]
            .map(Into::into)
            .into(),
        choices: [
            "Yes",
            "Yes, and don't ask again for rm commands",
            "No, and tell Claude what to do differently",
        ]
        .into_iter()
        .enumerate()
        .map(|(at, label)| ApprovalChoice { id: at.to_string(), label: label.into() })
        .collect(),
        asked: NOW - 120_000,
    }
}

fn list() -> Top {
    let mut top = Top::new(None, None, false);
    top.set_sessions(rows());
    top.set_approvals(vec![approval()]);
    top
}

fn screen(cols: u16, rows: u16) -> Option<swb_vt::Screen> {
    let area = preview_area(Rect::new(0, 0, cols, rows))?;
    let size = swb_types::Size::new(area.width, area.height)?;
    let mut screen = swb_vt::Screen::new(size, swb_vt::Options { scrollback: 0 });
    screen.feed("\x1b[1mBash command\x1b[m\r\n\r\n  rm -rf build\r\n  日本 größe\r\n\x1b[33mDo you want to proceed?\x1b[m\r\n❯ 1. Yes\r\n  2. No".as_bytes());
    Some(screen)
}

fn drawn(top: &mut Top, cols: u16, rows: u16) -> String {
    let mut buffer = Buffer::empty(Rect::new(0, 0, cols, rows));
    let screen = screen(cols, rows);
    draw(top, Preview { screen: screen.as_ref(), note: "" }, NOW, &mut buffer);
    text(&buffer)
}

fn text(buffer: &Buffer) -> String {
    let row = |y| {
        let mut line = String::new();
        let mut x = 0;
        while x < buffer.area.width {
            let symbol = buffer[(x, y)].symbol();
            line.push_str(symbol);
            x += u16::try_from(crate::text::columns(symbol)).unwrap_or(1).max(1);
        }
        line.trim_end().to_owned()
    };
    (0..buffer.area.height).map(row).collect::<Vec<_>>().join("\n")
}

fn press(top: &mut Top, keys: &str) -> Option<TopAction> {
    keys.chars().fold(None, |done, c| {
        let key = match c {
            '\r' => Key::Enter,
            '\x1b' => Key::Escape,
            '\t' => Key::Tab,
            c => Key::Char(c),
        };
        done.or(top.handle_key(&key))
    })
}

#[test]
fn the_list_fits_a_small_window() {
    insta::assert_snapshot!(drawn(&mut list(), 80, 24), @r#"
     Switchboard  4 sessions  1 waiting for you  1 working

     Waiting for you                  │ api  ~/src/shop                   asking 2m
    ▌◆ api                  asking 2m │ claude                12 turns · 1 attached
    ▌  Bash command: rm -rf build     │ ───────────────────────────────────────────
                                      │ Bash command
     /srv/build                       │
     · build               running 2d │   rm -rf build
       gcc -O2 -c main.c              │   日本 größe
                                      │ Do you want to proceed?
     ~/src/shop                       │ ❯ 1. Yes
     ○ review                ready 1h │   2. No
       12 findings                    │
     ● web                 working 4m │
       Reading src/cart.ts            │
                                      │
     Ended                            │
     × tests               exit 2 30m │
       error: test failed             │
                                      │
                                      │
                                      │
                                      │
     y answer  Enter attach  a ask  r relay  s shell  x kill  ? keys  q quit
    "#);
}

#[test]
fn the_list_has_room_in_a_large_window() {
    insta::assert_snapshot!(drawn(&mut list(), 120, 40), @r#"
     Switchboard  4 sessions  1 waiting for you  1 working

     Waiting for you                                │ api  ~/src/shop                                             asking 2m
    ▌◆ api                                asking 2m │ claude                                          12 turns · 1 attached
    ▌  Bash command: rm -rf … 12 turns · 1 attached │ ─────────────────────────────────────────────────────────────────────
                                                    │ Bash command
     /srv/build                                     │
     · build                             running 2d │   rm -rf build
       gcc -O2 -c main.c                            │   日本 größe
                                                    │ Do you want to proceed?
     ~/src/shop                                     │ ❯ 1. Yes
     ○ review                              ready 1h │   2. No
       12 findi… 3 turns · 2 attached, 1 on the web │
     ● web                               working 4m │
       Reading src/cart.ts                   1 turn │
                                                    │
     Ended                                          │
     × tests                             exit 2 30m │
       error: test failed                           │
                                                    │
                                                    │
                                                    │
                                                    │
                                                    │
                                                    │
                                                    │
                                                    │
                                                    │
                                                    │
                                                    │
                                                    │
                                                    │
                                                    │
                                                    │
                                                    │
                                                    │
                                                    │
                                                    │
                                                    │
     y answer  Enter attach  a ask  r relay  s shell  x kill  / filter  ? keys  q quit
    "#);
}

#[test]
fn the_list_is_usable_in_a_tiny_window() {
    let mut top = list();
    insta::assert_snapshot!(drawn(&mut top, 20, 5), @r#"
     Waiting for you
    ▌◆ api    asking 2m
     /srv/build
     · build running 2d
     ? keys  q quit
    "#);
    press(&mut top, "y");
    assert!(drawn(&mut top, 20, 5).contains("1 Yes"), "{}", drawn(&mut top, 20, 5));
}

#[test]
fn an_approval_is_shown_with_its_options() {
    let mut top = list();
    assert_eq!(press(&mut top, "y"), None);
    insta::assert_snapshot!(drawn(&mut top, 80, 24), @r#"
     Switchboard  4 sessions  1 waiting for you  1 working

     Waiting for you                  │ api  ~/src/shop                   asking 2m
    ▌◆ api                  asking 2m │ claude                12 turns · 1 attached
    ▌ ╭─ api asks ───────────────────────────────────────────────────────────────╮─
      │ Bash command                                                             │
     /│ rm -rf build                                                             │
     ·│ Removes the build directory                                              │
      │ Do you want to proceed?                                                  │
      │                                                                          │
     ~│ ▌ 1 Yes                                                                  │
     ○│   2 Yes, and don't ask again for rm commands                             │
      │   3 No, and tell Claude what to do differently                           │
     ●│                                                                          │
      │ y allow  n deny  Enter choose  Esc later                                 │
      ╰──────────────────────────────────────────────────────────────────────────╯
     Ended                            │
     × tests               exit 2 30m │
       error: test failed             │
                                      │
                                      │
                                      │
                                      │
     y answer  Enter attach  a ask  r relay  s shell  x kill  ? keys  q quit
    "#);
}

#[test]
fn what_of_an_approval_does_not_fit_is_announced_and_can_be_reached() {
    let long = format!("  command: make{}; rm -rf everything", " clean".repeat(400));
    let details = vec!["! a warning".to_owned(), long, "last".to_owned()];
    for (cols, rows) in [(80, 24), (60, 12), (24, 8), (20, 5), (16, 4)] {
        let mut top = list();
        top.set_approvals(vec![ApprovalRow { details: details.clone(), ..approval() }]);
        press(&mut top, "y");
        let first = drawn(&mut top, cols, rows);
        assert!(first.contains("! a warn"), "{first}");
        let more = |text: &str| text.contains("NOT shown: Space") || text.contains('↓');
        assert!(more(&first) && !first.contains("last"), "{first}");
        let mut seen = first;
        for _ in 0..2000 {
            if !more(&seen) {
                break;
            }
            press(&mut top, " ");
            seen = drawn(&mut top, cols, rows);
        }
        assert!(seen.contains("last") && !more(&seen), "{cols}x{rows}: {seen}");
        top.handle_key(&Key::Ctrl('u'));
        assert!(more(&drawn(&mut top, cols, rows)), "it goes back at once, however often Space was pressed");
    }
}

#[test]
fn marks_above_a_character_hide_nothing_behind_it() {
    let mut top = list();
    let details = vec![format!("a{}; rm -rf everything", "\u{301}".repeat(2000))];
    top.set_approvals(vec![ApprovalRow { details, ..approval() }]);
    press(&mut top, "y");
    assert!(drawn(&mut top, 80, 24).contains("; rm -rf everything"));
}

#[test]
fn nothing_is_drawn_outside_of_any_window() {
    for keys in ["", "y", "a", "r", "x", "?", "/web"] {
        for (cols, rows) in
            [(1, 1), (2, 1), (1, 9), (3, 2), (20, 5), (33, 7), (63, 8), (64, 8), (66, 9), (300, 3), (200, 60)]
        {
            let mut top = list();
            press(&mut top, keys);
            drawn(&mut top, cols, rows);
            top.set_sessions(Vec::new());
            drawn(&mut top, cols, rows);
        }
    }
}

#[test]
fn keys_choose_what_is_done() {
    let name = |top: &Top| top.selected().map(|row| row.name.clone()).unwrap_or_default();
    let mut top = list();
    assert_eq!(name(&top), "api", "the one that asks is on top");
    assert_eq!(press(&mut top, "\r"), Some(TopAction::Attach("api".into())));
    assert_eq!(press(&mut top, "js"), Some(TopAction::Shell("build".into())), "the oldest workspace follows");
    assert_eq!(press(&mut top, "n"), None);
    assert_eq!(name(&top), "api");
    assert_eq!(press(&mut top, "xn"), None, "no is no");
    assert_eq!(press(&mut top, "xy"), Some(TopAction::Kill("api".into())));
    let ask = TopAction::Ask { session: "api".into(), text: "go on".into() };
    assert_eq!(press(&mut top, "ago on\r"), Some(ask));
    assert_eq!(press(&mut top, "a\r"), None, "an empty line asks nothing");
    let relay = |to: &str, submit| Some(TopAction::Relay { from: "api".into(), to: to.into(), submit });
    assert_eq!(press(&mut top, "rj\r"), relay("review", false));
    assert_eq!(press(&mut top, "rjjs"), relay("web", true));
    assert_eq!(press(&mut top, "r\x1bq"), Some(TopAction::Quit));
}

#[test]
fn an_approval_is_answered_by_key_and_by_number() {
    let answer = |decision| Some(TopAction::Answer { approval: "term-1".into(), decision });
    let mut top = list();
    assert_eq!(press(&mut top, "yy"), answer(Decision::Allow));
    assert_eq!(press(&mut top, "yn"), answer(Decision::Deny));
    assert_eq!(press(&mut top, "y2"), answer(Decision::Choice("1".into())));
    assert_eq!(press(&mut top, "yjj\r"), answer(Decision::Choice("2".into())));
    assert_eq!(press(&mut top, "y9"), None, "there is no ninth option");
    assert_eq!(press(&mut top, "\x1b"), None);
    press(&mut top, "y");
    top.set_approvals(Vec::new());
    assert_eq!(press(&mut top, "y"), None, "what is no longer pending cannot be answered");
    assert!(top.notice.is_some(), "nor can a session that does not ask");
}

#[test]
fn a_filter_narrows_the_list_until_escape() {
    let mut top = list();
    press(&mut top, "/build run\r");
    assert_eq!(top.selected().map(|row| row.name.as_str()), Some("build"));
    assert_eq!(top.entries.len(), 2);
    press(&mut top, "/nothing at all\r");
    assert!(top.selected().is_none() && press(&mut top, "\r").is_none());
    press(&mut top, "\x1b");
    let session = |entry: &&super::list::ListEntry| matches!(entry, super::list::ListEntry::Session(_));
    assert_eq!(top.entries.iter().filter(session).count(), 5);
}

#[test]
fn the_selection_stays_when_the_list_changes() {
    let mut top = list();
    press(&mut top, "G");
    assert_eq!(top.selected().map(|row| row.name.as_str()), Some("tests"));
    let mut changed = rows();
    changed.insert(0, row("new", "~/a", SessionState::Asking, 1, ""));
    top.set_sessions(changed.clone());
    assert_eq!(top.selected().map(|row| row.name.as_str()), Some("tests"));
    changed.retain(|row| row.name != "tests");
    top.set_sessions(changed);
    assert!(top.selected().is_some(), "its neighbour is selected");
}

#[test]
fn over_a_session_escape_and_q_return() {
    let mut top = Top::new(Some("web".into()), None, false);
    top.set_sessions(rows());
    assert_eq!(top.selected().map(|row| row.name.as_str()), Some("web"));
    assert!(drawn(&mut top, 80, 24).contains("over web"));
    assert_eq!(press(&mut top, "\x1b"), Some(TopAction::Quit));
    let mut keys = Top::new(Some("web".into()), None, true);
    assert_eq!(press(&mut keys, " "), Some(TopAction::Quit), "the keys were all that was asked for");
}

#[test]
fn five_hundred_sessions_scroll() {
    let many: Vec<_> =
        (0..500).map(|at| row(&format!("s{at:03}"), "~/w", SessionState::Ready, 1000 - at, "")).collect();
    let mut top = Top::new(None, None, false);
    top.set_sessions(many);
    drawn(&mut top, 80, 24);
    press(&mut top, "G");
    let end = drawn(&mut top, 80, 24);
    assert!(end.contains("s499") && end.contains("s490"), "{end}");
    press(&mut top, "g");
    assert!(drawn(&mut top, 80, 24).contains("s000"));
}

#[test]
fn text_of_programs_cannot_act_on_the_terminal() {
    let mut top = Top::new(None, None, false);
    let evil = "x\x1b]0;owned\x07\u{202e}\u{9b}2J";
    top.set_sessions(vec![SessionRow {
        workspace: evil.into(),
        command: evil.into(),
        ..row(evil, "", SessionState::Ready, 1, evil)
    }]);
    top.set_approvals(vec![ApprovalRow {
        session: evil.into(),
        title: evil.into(),
        details: vec![evil.into()],
        ..approval()
    }]);
    for keys in ["", "y", "\x1ba", "\x1bx"] {
        press(&mut top, keys);
        let mut buffer = Buffer::empty(Rect::new(0, 0, 120, 40));
        draw(&mut top, Preview::default(), NOW, &mut buffer);
        let bytes = changes(None, &buffer, TerminalLook { colours: true, unicode: true });
        for acting in ["\x1b]", "\x07", "\u{202e}", "\u{9b}"] {
            assert!(!bytes.contains(acting), "{keys:?}: {bytes:?}");
        }
    }
}

#[test]
fn only_changes_are_written() {
    let look = TerminalLook { colours: true, unicode: true };
    let mut top = list();
    let mut before = Buffer::empty(Rect::new(0, 0, 80, 24));
    draw(&mut top, Preview::default(), NOW, &mut before);
    assert!(changes(None, &before, look).len() > 1000);
    assert_eq!(changes(Some(&before), &before, look), "");
    let mut after = Buffer::empty(before.area);
    press(&mut top, "j");
    draw(&mut top, Preview::default(), NOW, &mut after);
    let moved = changes(Some(&before), &after, look);
    assert!(!moved.is_empty() && moved.len() < 1200, "{}", moved.len());
}

#[test]
fn a_terminal_shows_what_was_drawn() {
    let mut top = list();
    let mut buffer = Buffer::empty(Rect::new(0, 0, 80, 24));
    let screen = screen(80, 24);
    draw(&mut top, Preview { screen: screen.as_ref(), note: "" }, NOW, &mut buffer);
    let mut terminal =
        swb_vt::Screen::new(swb_types::Size::new(80, 24).unwrap(), swb_vt::Options { scrollback: 0 });
    terminal.feed(b"\x1b[?7l");
    terminal.feed(changes(None, &buffer, TerminalLook { colours: true, unicode: true }).as_bytes());
    assert_eq!(terminal.text().trim_end(), text(&buffer).trim_end());
    let mut plain = swb_vt::Screen::new(terminal.size(), swb_vt::Options { scrollback: 0 });
    let bytes = changes(None, &buffer, TerminalLook { colours: false, unicode: false });
    plain.feed(bytes.as_bytes());
    assert!(bytes.is_ascii(), "{bytes}");
    assert!(!bytes.contains("33m") && !bytes.contains("36m"), "{bytes:?}");
    assert!(plain.text().contains("? api") && plain.text().contains("asking 2m"), "{}", plain.text());
}

#[test]
fn the_most_useful_line_is_shown() {
    let shown = "Claude\n\n  Bash(rm)\n  Do you want to proceed?\n ❯ 1. Yes\n╰──────╯\n  ? for shortcuts\n";
    assert_eq!(last_line(shown, true), "Do you want to proceed?");
    assert_eq!(last_line(shown, false), "? for shortcuts");
    assert_eq!(last_line("│ > ready │\n╰────╯\n\n", false), "> ready");
    assert_eq!(last_line("a\x1b[2J", false), "a\\u{1b}[2J");
    assert_eq!(last_line("", true), "");
}
