//! Another terminal, that of `alacritty_terminal` with its own parser, understands our snapshots as we do.

use crate::common::{self, recordings};
use alacritty_terminal::event::VoidListener;
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::cell::Flags;
use alacritty_terminal::term::test::TermSize;
use alacritty_terminal::term::{Config, Term, TermMode};
use alacritty_terminal::vte::ansi::Processor;
use swb_vt::{Screen, limits};

struct Other {
    term: Term<VoidListener>,
    parser: Processor,
}

impl Other {
    fn new(screen: &Screen) -> Self {
        let size = TermSize::new(screen.size().cols().into(), screen.size().rows().into());
        let config = Config {
            scrolling_history: limits::DEFAULT_SCROLLBACK,
            kitty_keyboard: true,
            ..Config::default()
        };
        Self { term: Term::new(config, &size, VoidListener), parser: Processor::new() }
    }

    fn feed(&mut self, bytes: &[u8]) {
        self.parser.advance(&mut self.term, bytes);
        // What the other terminal holds back of a synchronized update.
        self.parser.stop_sync(&mut self.term);
    }

    fn rows(&self, from: i32, to: i32) -> Vec<String> {
        let row = |y: i32| {
            let cells = &self.term.grid()[Line(y)];
            let mut text = String::new();
            for x in 0..cells.len() {
                let cell = &cells[Column(x)];
                if !cell.flags.contains(Flags::WIDE_CHAR_SPACER) {
                    text.push(if cell.c == '\t' { ' ' } else { cell.c });
                    text.extend(cell.zerowidth().into_iter().flatten());
                }
            }
            text.trim_end().to_owned()
        };
        (from..to).map(row).collect()
    }
}

fn compare(screen: &Screen, other: &Other) -> Result<(), String> {
    let rows = i32::from(screen.size().rows());
    let same = |what: &str, ours: &dyn std::fmt::Debug, theirs: &dyn std::fmt::Debug| {
        let (ours, theirs) = (format!("{ours:?}"), format!("{theirs:?}"));
        if ours == theirs { Ok(()) } else { Err(format!("{what}: ours {ours}, theirs {theirs}")) }
    };
    let ours: Vec<String> = screen.row_texts().iter().map(|row| row.trim_end().to_owned()).collect();
    let theirs = other.rows(0, rows);
    // The other terminal gives each part of an emoji its own columns.
    let alike =
        |row: &usize| !common::has_joined_emoji(&ours[*row]) && !common::has_joined_emoji(&theirs[*row]);
    let rows: Vec<usize> = (0..ours.len()).filter(alike).collect();
    let pick = |all: &[String]| -> Vec<String> { rows.iter().map(|row| all[*row].clone()).collect() };
    same("rows", &pick(&ours), &pick(&theirs))?;
    let (cursor, point) = (screen.cursor(), other.term.grid().cursor.point);
    let theirs = (point.line.0, point.column.0, other.term.grid().cursor.input_needs_wrap);
    if rows.contains(&usize::from(cursor.row)) {
        same("cursor", &(cursor.row, cursor.col, cursor.wrap_pending), &theirs)?;
    }
    let (modes, mode) = (screen.modes(), *other.term.mode());
    let ours = (
        (modes.alternate, modes.app_cursor, modes.bracketed_paste, modes.focus),
        (cursor.visible, modes.mouse != 0, modes.keyboard),
    );
    let keyboard = mode.intersection(TermMode::KITTY_KEYBOARD_PROTOCOL).bits() >> 18;
    let theirs = (
        (
            mode.contains(TermMode::ALT_SCREEN),
            mode.contains(TermMode::APP_CURSOR),
            mode.contains(TermMode::BRACKETED_PASTE),
            mode.contains(TermMode::FOCUS_IN_OUT),
        ),
        (mode.contains(TermMode::SHOW_CURSOR), mode.intersects(TermMode::MOUSE_MODE), keyboard),
    );
    same("modes", &ours, &theirs)
}

fn compare_scrollback(screen: &Screen, other: &Other) -> Result<(), String> {
    if screen.modes().alternate {
        return Ok(());
    }
    let history = i32::try_from(screen.scrollback_len()).unwrap();
    let ours: Vec<String> =
        screen.scrollback(usize::MAX).iter().map(|line| line.text().trim_end().to_owned()).collect();
    let theirs = other.rows(-history, 0);
    let alike = ours.len() == theirs.len()
        && ours.iter().zip(&theirs).all(|(ours, theirs)| ours == theirs || common::has_joined_emoji(ours));
    if alike { Ok(()) } else { Err(format!("scrollback: ours {ours:?}, theirs {theirs:?}")) }
}

#[test]
fn another_terminal_shows_the_same_from_our_snapshots() {
    let mut places = 0;
    for recording in recordings() {
        let all = recording.bytes();
        let mut screen = common::screen(recording.cols, recording.rows, limits::DEFAULT_SCROLLBACK);
        let offsets = (0..all.len()).step_by(1500).chain([all.len()]);
        recording.play(&mut screen, offsets, |screen, offset| {
            let mut other = Other::new(screen);
            other.feed(&screen.snapshot());
            let result = compare(screen, &other).and_then(|()| compare_scrollback(screen, &other));
            if let Err(difference) = result {
                panic!("{} at {offset}: {difference}", recording.name);
            }
            places += 1;
        });
    }
    eprintln!("{places} places");
}

#[test]
fn another_terminal_shows_the_same_from_the_same_bytes() {
    let (mut places, mut same) = (0, 0);
    for recording in recordings() {
        let all = recording.bytes();
        let (mut screen, mut done) = (common::screen(recording.cols, recording.rows, 2000), 0);
        let mut other = Other::new(&screen);
        for piece in all.chunks(1500) {
            screen.feed(piece);
            other.feed(piece);
            done += piece.len();
            places += 1;
            match compare(&screen, &other) {
                Ok(()) => same += 1,
                Err(difference) => eprintln!("{} at {done}: {difference}", recording.name),
            }
        }
    }
    eprintln!("{same} of {places} places");
    assert!(same * 100 >= places * 98, "{same} of {places} places");
}
