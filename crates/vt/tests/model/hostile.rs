//! Output that means harm costs little and breaks nothing.

use crate::common::{round_trip, screen};
use swb_types::Size;
use swb_vt::{Options, Screen, ScreenEvent, limits};

fn fed(cols: u16, rows: u16, bytes: &[u8]) -> Screen {
    let mut screen = screen(cols, rows, 100);
    for piece in bytes.chunks(65_536) {
        screen.feed(piece);
    }
    round_trip(&screen, 100).unwrap();
    screen
}

#[test]
fn endless_strings_end_and_leave_the_screen_alone() {
    for start in ["\x1b]0;", "\x1b]8;;http://", "\x1bP1$r", "\x1b_G", "\x1b^", "\x1bX", "\x1b]"] {
        let mut bytes = [start.as_bytes(), &vec![b'x'; 5 << 20]].concat();
        let screen = fed(80, 24, &bytes);
        assert!(screen.snapshot().len() < 1000, "{start:?}");
        bytes.extend_from_slice(b"\x1b\\after");
        assert_eq!(fed(80, 24, &bytes).text(), "after");
    }
}

#[test]
fn giant_and_endless_parameters() {
    let endless = ["\x1b[", &"99999999999;".repeat(200_000), "mafter"].concat();
    assert_eq!(fed(80, 24, endless.as_bytes()).text(), "after");
    for action in "@ABCDEFGHIJKLMPSTXZ`abcdefghijklmnopqrstuxyz".chars() {
        let bytes = format!("x\x1b[999999999999;99999999999999{action}\x1b[;;;;{action}y");
        fed(80, 24, bytes.as_bytes());
    }
}

#[test]
fn deep_stacks_stay_shallow() {
    let screen = fed(80, 24, "\x1b]2;t\x07\x1b[22t\x1b[>1u\x1b7".repeat(100_000).as_bytes());
    assert!(screen.snapshot().len() < 2000);
    assert_eq!(screen.modes().keyboard, 1);
}

#[test]
fn repeats_are_bounded_by_the_screen() {
    let bytes = "x\x1b[65535b\x1b[65535S\x1b[65535T\x1b[65535L\x1b[65535@".repeat(200);
    fed(80, 24, bytes.as_bytes());
}

#[test]
fn piles_of_combining_characters_are_cut() {
    let bytes = ["e", &"\u{301}".repeat(100_000)].concat();
    assert!(fed(80, 24, bytes.as_bytes()).text().chars().count() < 20);
}

#[test]
fn many_links_become_text() {
    let mut bytes = String::new();
    for n in 0..20_000 {
        bytes += &format!("\x1b]8;;http://host/{n}/{}\x07x", "y".repeat(200));
    }
    let screen = fed(200, 100, bytes.as_bytes());
    let links: usize =
        screen.lines().iter().flat_map(|line| &line.runs).filter(|run| run.style.link.is_some()).count();
    assert!(links <= limits_of_links(), "{links}");
    assert!(screen.snapshot().len() < 3 << 20);
}

fn limits_of_links() -> usize {
    512 * 1024 / 200
}

#[test]
fn sizes_beyond_reason_are_cut_down() {
    let mut screen = Screen::new(Size::new(10_000, 10_000).unwrap(), Options { scrollback: usize::MAX });
    assert_eq!(screen.size(), Size::new(limits::MAX_COLS, limits::MAX_ROWS).unwrap());
    screen.feed(b"text\r\n\x1b[8;10000;10000t\x1b[10000;10000Hx");
    screen.resize(Size::new(1, 1).unwrap());
    screen.resize(Size::new(u16::MAX, u16::MAX).unwrap());
    assert!(screen.text().contains("text"));
}

#[test]
fn events_and_replies_need_not_be_taken() {
    let mut screen = fed(80, 24, "\x1b[c\x07\x1b]0;a\x07\x1b]9;n\x07".repeat(50_000).as_bytes());
    assert!(screen.take_replies().len() <= 4096);
    assert!(screen.lost_events() > 0);
    assert!(screen.take_events().len() <= 256);
    assert_eq!(screen.lost_events(), 0);
    screen.feed(&[7; 1000]);
    assert_eq!(screen.take_events(), [ScreenEvent::Bell]);
}

#[test]
fn invalid_utf8_shows_replacement_characters() {
    assert_eq!(fed(80, 24, b"a\xffb\xc3(\xf0\x9f\x1b[mc\xe5").text(), "a\u{fffd}b\u{fffd}(\u{fffd}c");
}
