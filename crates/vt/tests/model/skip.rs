//! Output that is skipped leaves no trace but what lasts: random floods on random screens, and recordings.
//!
//! `SWB_VT_CASES` sets how many, `SWB_VT_SEED` picks other ones.

use crate::common::{self, SCROLLBACK, Step, program, recordings, run, runner, screen, step};
use proptest::prelude::*;
use std::cell::Cell;
use swb_vt::{Screen, ScreenEvent};

/// A piece of a flood. All but the last few kinds are simple; line feeds are frequent.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let simple: Vec<&'static str> = vec![
        "\n",
        "\r",
        "\t",
        "\x08",
        "\x07",
        "\x0b",
        "\x0c",
        "\0",
        "\x7f",
        "\x1b[K",
        "\x1b[1K",
        "\x1b[3C",
        "\x1b[2D",
        "\x1b[5G",
        "\x1b[2P",
        "\x1b[X",
        "\x1b[4@",
        "\x1b(B",
        "\u{301}",
        "字",
        "漢字漢字漢字漢字",
        "─",
        "e\u{301}",
    ];
    let other: Vec<&'static str> = vec![
        "\x0e",
        "\x0f",
        "\x1b[H",
        "\x1b[2J",
        "\x1b]0;t\x07",
        "\x1b]0;t\n\x07",
        "\x1b]8;;http://a\x07",
        "\x1b[2;3r",
        "\x1b[r",
        "\x1b[?1049h",
        "\x1b[?1049l",
        "\x1b[?7l",
        "\x1b[?7h",
        "\x1b[4h",
        "\x1b[20h",
        "\x1b(0",
        "\x1bc",
        "\x1b[?6h",
        "\x1b",
        "\x1b[",
        "\x1b[3\r\n1m",
        "\x1b[6n",
        "\x1b7",
        "\x1b8",
        "\x1b]0;",
        "\x1b[b",
    ];
    let fixed = |all: Vec<&'static str>| prop::sample::select(all).prop_map(|text| text.as_bytes().to_vec());
    prop_oneof![
        60 => Just(b"\r\n".to_vec()),
        20 => "[ -~]{0,30}".prop_map(String::into_bytes),
        2 => "[ -~]{50,300}".prop_map(String::into_bytes),
        20 => common::sgr(),
        10 => fixed(simple),
        2 => prop::collection::vec(any::<u8>(), 0..4),
        1 => fixed(other),
    ]
}

/// Pieces, repeated: a flood has more lines than its strategy should have choices to make.
fn flood() -> impl Strategy<Value = Vec<u8>> {
    let part = (prop::collection::vec(piece(), 0..12), 1..40usize);
    prop::collection::vec(part, 1..8).prop_map(|parts| {
        let parts: Vec<u8> = parts.into_iter().flat_map(|(pieces, n)| pieces.concat().repeat(n)).collect();
        parts
    })
}

/// Skips and feeds, checks everything that is promised, and returns how much was skipped.
fn check(start: &mut Screen, bytes: &[u8], scrollback: usize) -> Result<usize, TestCaseError> {
    start.take_events();
    start.take_replies();
    let (mut whole, mut skipped) = (start.clone(), start.clone());
    let blank = whole.scrolled();
    for piece in bytes.chunks(1000) {
        whole.feed(piece);
    }
    let n = skipped.skip(bytes);
    let mut copy = screen(skipped.size().cols(), skipped.size().rows(), scrollback);
    copy.feed(&skipped.snapshot());
    for piece in bytes[n..].chunks(1000) {
        skipped.feed(piece);
        copy.feed(piece);
    }
    if let Some(difference) = skipped.state().difference(&whole.state()) {
        return Err(TestCaseError::fail(format!("{difference}{n} of {}", bytes.escape_ascii())));
    }
    if let Some(difference) = copy.state().difference(&whole.state()) {
        return Err(TestCaseError::fail(format!("checkpoint: {difference}{n} of {}", bytes.escape_ascii())));
    }
    prop_assert_eq!(whole.take_events(), skipped.take_events());
    prop_assert_eq!(whole.take_replies(), skipped.take_replies());
    prop_assert!(skipped.scrolled() >= blank);
    Ok(n)
}

#[test]
fn random_floods_on_random_screens() {
    let (all, skipped) = (Cell::new(0), Cell::new(0));
    let input = (program(20), flood(), prop::collection::vec(step(), 0..6));
    runner(400)
        .run(&input, |((cols, rows, steps), mut flood, more)| {
            let mut start = screen(cols, rows, SCROLLBACK);
            run(&mut start, &steps);
            for step in &more {
                if let Step::Bytes(bytes) = step {
                    flood.extend_from_slice(bytes);
                }
            }
            let n = check(&mut start, &flood, SCROLLBACK)?;
            all.set(all.get() + 1);
            skipped.set(skipped.get() + usize::from(n > 0));
            Ok(())
        })
        .unwrap();
    assert!(4 * skipped.get() > all.get(), "{skipped:?} of {all:?}: these are no floods");
}

/// Without anything in the way, most is skipped, and the snapshot in between is short.
#[test]
fn a_flood_of_lines_is_skipped_up_to_what_is_seen() {
    let line =
        |n: usize| format!("\x1b[3{}mline {n}\x1b[0m of \x1b[1;48;5;{}mmany\x1b[m\r\n", n % 8, n % 256);
    let flood: String = (0..5000).map(line).collect();
    let tail: usize = (5000 - 2 * 24 - 100 - 3..5000).map(|n| line(n).len()).sum();
    for (start, least) in [("", flood.len() - tail), ("\x1b[?1049h", flood.len() - tail), ("\x1b[2;9r", 0)] {
        let mut screen = screen(80, 24, 100);
        screen.feed(start.as_bytes());
        let n = check(&mut screen, flood.as_bytes(), 100).unwrap();
        assert!(n >= least, "{start:?} {n} of {}", flood.len());
        assert_eq!(n > 1000, least > 0, "{start:?}");
        screen.skip(flood.as_bytes());
        assert!(least == 0 || screen.snapshot().len() < 100, "{start:?}");
    }
}

#[test]
fn long_lines_count_as_the_rows_they_take() {
    let flood = ("x".repeat(8000) + "\r\n").repeat(20);
    let mut screen = screen(80, 24, 500);
    assert_eq!(check(&mut screen, flood.as_bytes(), 500).unwrap(), 14 * 8002);
    screen.feed(b"\x1b[?7l");
    assert_eq!(check(&mut screen, flood.as_bytes(), 500).unwrap(), 0);
}

#[test]
fn nothing_is_skipped_that_can_be_seen() {
    let mut screen = screen(80, 24, 100);
    assert_eq!(screen.skip(b""), 0);
    assert_eq!(screen.skip("hello\r\n".repeat(100).as_bytes()), 0);
    // A column that is not known.
    assert_eq!(check(&mut screen, "hello\n".repeat(5000).as_bytes(), 100).unwrap(), 0);
    // A string that swallows lines.
    screen.feed(b"\x1b]0;title");
    check(&mut screen, "hello\r\n".repeat(1000).as_bytes(), 100).unwrap();
    check(&mut screen, &[&b"a\r\n\x07"[..], &b"hello\r\n".repeat(1000)].concat(), 100).unwrap();
}

#[test]
fn what_lasts_is_not_skipped() {
    let lines = "hello\r\n".repeat(1000);
    let long = "1;".repeat(300);
    for between in
        ["\x0f", "\x1b(0", "\x1b[5;9r", "\x1b[?7l", &format!("\x1b[{long}m"), &format!("\x1b[{long}K")]
    {
        let mut screen = screen(80, 24, 10);
        screen.feed(b"\x1b)0\x0e");
        check(&mut screen, [&lines, between, &lines].concat().as_bytes(), 10).unwrap();
    }
}

#[test]
fn bells_in_skipped_text_ring_once() {
    let mut screen = screen(80, 24, 10);
    let flood = [&b"\x07a\x07\r\n".repeat(3000)[..], &b"b\r\n".repeat(1000)].concat();
    let n = screen.skip(&flood);
    assert!(n > flood.len() / 2);
    assert_eq!(screen.take_events(), [ScreenEvent::Bell]);
}

#[test]
fn looks_from_long_ago_last() {
    for distinct in [3, 256] {
        let line = |n: usize| format!("\x1b[38;5;{}mline\x1b[1;39m\r\n", n % distinct);
        let flood = "\x1b[3;44;58:5:9m".to_owned() + &(0..5000).map(line).collect::<String>();
        let mut screen = screen(80, 24, 10);
        assert!(check(&mut screen, flood.as_bytes(), 10).unwrap() > flood.len() / 2);
    }
}

#[test]
fn feeding_much_at_once_is_the_same() {
    let mut line = 0;
    let mut text = move || {
        line += 1;
        format!("\x1b[3{}m{line} some text\x1b[1m\x07 and more\r\n", line % 8)
    };
    let flood: String = (0..20_000).map(|_| text()).collect();
    for (start, end) in
        [("", ""), ("\x1b[44m\x1b[5;5H", "\x1b[2Jend"), ("\x1b[?1049h\x1b[?6h", "\x1b[?1049l")]
    {
        let bytes = [start, &flood, end, &flood, end].concat();
        let (mut once, mut pieces) = (screen(80, 24, 100), screen(80, 24, 100));
        once.feed(bytes.as_bytes());
        for piece in bytes.as_bytes().chunks(5000) {
            pieces.feed(piece);
        }
        assert_eq!(once.state().difference(&pieces.state()), None);
        assert_eq!(once.take_events(), pieces.take_events());
    }
}

#[test]
fn recordings_many_times_over() {
    for recording in recordings() {
        let bytes = recording.bytes();
        let flood = bytes.repeat(200_000 / bytes.len() + 2);
        let mut start = screen(recording.cols, recording.rows, 20);
        check(&mut start, &flood, 20).unwrap_or_else(|error| panic!("{}: {error}", recording.name));
        start.feed(&bytes[..bytes.len() / 3]);
        let lines = flood_of(&bytes);
        check(&mut start, &lines, 20).unwrap_or_else(|error| panic!("{}: {error}", recording.name));
    }
}

/// The text of a recording, with its colours, as a long list of lines.
fn flood_of(bytes: &[u8]) -> Vec<u8> {
    let mut screen = screen(200, 100, 1000);
    screen.feed(bytes);
    let ansi = screen.to_ansi(1000);
    let lines = ansi.split(|byte| *byte == b'\n').flat_map(|line| [line, b"\r\n"].concat());
    lines.collect::<Vec<u8>>().repeat(20)
}

#[test]
fn scrolled_counts_lines_that_leave_the_screen() {
    let mut screen = screen(10, 4, 2);
    screen.feed(b"1\r\n2\r\n3\r\n4");
    assert_eq!(screen.scrolled(), 0);
    screen.feed(b"\r\n5\r\n6\r\n7");
    assert_eq!(screen.scrolled(), 3);
    screen.feed(b"0123456789abc\x1b[2S");
    assert_eq!(screen.scrolled(), 6);
    // Neither lines within margins, nor those of the alternate screen, nor deleted ones.
    screen.feed(b"\x1b[2;3r\x1b[3;1H\n\n\n\x1b[r\x1b[?1049h\n\n\n\n\n\n\n\n\x1b[?1049l\x1b[H\x1b[2M\x1b[2J");
    assert_eq!(screen.scrolled(), 6);
    screen.feed(b"\x1bc");
    assert_eq!(screen.scrolled(), 6);
    screen.feed(&b"\r\n".repeat(100_000));
    assert!(screen.scrolled() > 100_000);
}
