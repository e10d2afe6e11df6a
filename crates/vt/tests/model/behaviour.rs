//! What sequences do, where terminals differ or programs depend on it.

use crate::common::screen;
use swb_types::Size;
use swb_vt::{Color, CursorShape, Mark, Progress, Screen, ScreenEvent, Underline};

fn shown(cols: u16, rows: u16, text: &str) -> Screen {
    let mut screen = screen(cols, rows, 100);
    screen.feed(text.as_bytes());
    screen
}

fn at(screen: &Screen) -> (u16, u16) {
    (screen.cursor().row, screen.cursor().col)
}

#[test]
fn the_last_column_waits_for_the_next_character() {
    let mut screen = shown(4, 3, "abcd");
    assert_eq!((at(&screen), screen.cursor().wrap_pending), ((0, 3), true));
    screen.feed(b"\x1b[K");
    assert_eq!(screen.text(), "abcd", "what is before the cursor is not erased");
    screen.feed(b"e");
    assert_eq!(screen.text(), "abcd\ne");
    assert!(screen.lines()[0].wrapped);
    assert_eq!(shown(4, 3, "\x1b[?7labcdef").text(), "abcf");
}

#[test]
fn wide_characters_are_whole_or_blank() {
    assert_eq!(shown(6, 2, "a字b\x1b[2Gx").text(), "ax b");
    assert_eq!(shown(6, 2, "a字b\x1b[3Gx").text(), "a xb");
    assert_eq!(shown(6, 2, "字字\x1b[2G\x1b[P").text(), " 字");
    assert_eq!(shown(3, 2, "ab字").text(), "ab\n字", "a wide character does not fit into one column");
    assert_eq!(shown(6, 2, "👩\u{200d}💻e\u{301}").text(), "👩\u{200d}💻e\u{301}");
}

#[test]
fn emoji_of_several_code_points_take_two_columns() {
    let family = "👩\u{200d}👩\u{200d}👧\u{200d}👦";
    for emoji in [
        family,
        "👩🏽\u{200d}💻",
        "🏳\u{fe0f}\u{200d}🌈",
        "👩\u{200d}⚕\u{fe0f}",
        "🇩🇪",
        "❤\u{fe0f}",
        "1\u{fe0f}\u{20e3}",
        "👍🏽",
    ] {
        let screen = shown(9, 2, &format!("a{emoji}b"));
        assert_eq!((screen.text(), at(&screen)), (format!("a{emoji}b"), (0, 4)), "{emoji}");
        assert_eq!(shown(9, 2, &format!("a{emoji}b\x1b[3Gx")).text(), "a xb", "{emoji} is whole or blank");
        assert_eq!(shown(4, 2, &format!("ab{emoji}c")).text(), format!("ab{emoji}\nc"));
    }
    assert_eq!(shown(9, 2, "🇩🇪🇯🇵x\x1b[5Gy").text(), "🇩🇪🇯🇵y", "two letters are a flag");
    assert_eq!(at(&shown(9, 2, "a\u{200d}💻")), (0, 3), "letters are joined to nothing");
    assert_eq!(at(&shown(9, 2, "👩\u{200d}\x1b[m💻")), (0, 4), "only what is written at once is joined");
    assert_eq!(at(&shown(9, 2, "a🏽")), (0, 3));
    assert_eq!(shown(3, 2, "ab❤\u{fe0f}c").text(), "ab❤\u{fe0f}\nc", "there is no room in the last column");
}

#[test]
fn a_region_scrolls_alone_and_only_the_top_is_kept() {
    let text = "1\r\n2\r\n3\r\n4";
    let screen = shown(5, 4, &format!("{text}\x1b[2;3r\x1b[3;1H\n\nx"));
    assert_eq!(screen.text(), "1\n\nx\n4");
    assert_eq!(screen.scrollback_len(), 0);
    let screen = shown(5, 4, &format!("{text}\x1b[1;3r\x1b[3;1H\n"));
    assert_eq!((screen.text().as_str(), screen.scrollback(9)[0].text().as_str()), ("2\n3\n\n4", "1"));
    let screen = shown(5, 4, &format!("{text}\x1b[H\x1b[2M"));
    assert_eq!((screen.text().as_str(), screen.scrollback_len()), ("3\n4", 0));
    assert_eq!(shown(5, 4, &format!("{text}\x1b[2H\x1b[L")).text(), "1\n\n2\n3");
}

#[test]
fn origin_mode_counts_from_the_region() {
    let mut screen = shown(9, 9, "\x1b[3;5r\x1b[?6h");
    assert_eq!(at(&screen), (2, 0));
    screen.feed(b"\x1b[9;9H");
    assert_eq!(at(&screen), (4, 8));
    screen.feed(b"\x1b[?6l\x1b[9;9H");
    assert_eq!(at(&screen), (8, 8));
}

#[test]
fn a_late_resize_loses_no_text() {
    let mut screen = screen(40, 4, 5000);
    let words: Vec<String> = (0..60).map(|n| format!("word{n:03} 漢字 and more text in line {n}")).collect();
    screen.feed(words.join("\r\n").as_bytes());
    // Without blanks: a wide character that does not fit leaves one.
    let whole = |screen: &Screen| {
        let mut text = String::new();
        for line in screen.scrollback(usize::MAX).iter().chain(&screen.lines()) {
            text += &line.text().replace(' ', "");
            if !line.wrapped {
                text.push('\n');
            }
        }
        text.trim_end().to_owned()
    };
    for (cols, rows) in [(40, 4), (11, 3), (80, 24), (2, 1), (33, 50), (40, 4)] {
        screen.resize(Size::new(cols, rows).unwrap());
        assert_eq!(whole(&screen), words.join("\n").replace(' ', ""), "{cols}x{rows}");
    }
}

#[test]
fn the_alternate_screen_leaves_the_primary_alone() {
    let mut screen = shown(10, 3, "one\r\ntwo\x1b[31m\x1b[?1049h\x1b[Hvim\x1b[2;2H");
    assert!(screen.modes().alternate);
    assert_eq!(screen.text(), "vim");
    screen.feed(b"\n\n\n\n");
    assert_eq!(screen.scrollback_len(), 0);
    screen.feed(b"\x1b[?1049lx");
    assert_eq!(screen.text(), "one\ntwox");
    assert_eq!(screen.lines()[1].runs[1].style.fg, Color::Indexed(1));
}

#[test]
fn the_cursor_follows_its_text_through_a_resize_below_vim() {
    let mut screen = shown(10, 4, "a long line wraps$ \x1b[?1049hvim");
    screen.resize(Size::new(20, 4).unwrap());
    screen.feed(b"\x1b[?1049lx");
    assert_eq!(screen.text(), "a long line wraps$ x");
}

#[test]
fn tabs_can_be_moved() {
    assert_eq!(at(&shown(30, 2, "\ta\t")), (0, 16));
    assert_eq!(at(&shown(30, 2, "\x1b[3g\x1b[5G\x1bH\r\t")), (0, 4));
    assert_eq!(at(&shown(30, 2, "\x1b[20G\x1b[2Z")), (0, 8));
    assert_eq!(at(&shown(30, 2, "\x1b[99I")), (0, 29));
}

#[test]
fn line_drawing_comes_out_as_lines() {
    assert_eq!(shown(9, 2, "\x1b(0lqk\x1b(Bq\x1b)0\x0eq\x0fq").text(), "┌─┐q─q");
}

#[test]
fn looks_are_data() {
    let screen =
        shown(20, 2, "\x1b[1;4:3;58:2::1:2:3;38;5;9;53mA\x1b[0m\x1b]8;id=x;http://a\x07B\x1b]8;;\x07");
    let runs = &screen.lines()[0].runs;
    assert_eq!(runs.len(), 2);
    let style = &runs[0].style;
    assert!(style.bold && style.overline && style.underline == Underline::Curly);
    assert_eq!((style.fg, style.underline_color), (Color::Indexed(9), Color::Rgb(1, 2, 3)));
    assert_eq!(runs[1].style.link.as_deref(), Some("http://a"));
    let json = serde_json::to_string(&screen.contents(0)).unwrap();
    assert!(json.contains(r#""text":"B","width":1,"link":"http://a""#), "{json}");
    assert_eq!(serde_json::from_str::<swb_vt::Contents>(&json).unwrap(), screen.contents(0));
}

#[test]
fn modes_and_stacks_are_reported() {
    let mut screen = shown(
        9,
        2,
        "\x1b[?1h\x1b[?2004h\x1b[?1003h\x1b[?1006h\x1b[?1004h\x1b[>7u\x1b[>4;1m\x1b[?2026h\x1b[5 q\x1b[?25l",
    );
    let modes = screen.modes();
    assert!(modes.app_cursor && modes.bracketed_paste && modes.focus && modes.synchronized);
    assert_eq!(
        (modes.mouse, modes.mouse_encoding, modes.keyboard, modes.modify_other_keys),
        (1003, 1006, 7, 1)
    );
    let cursor = screen.cursor();
    assert_eq!((cursor.shape, cursor.blink, cursor.visible), (CursorShape::Bar, true, false));
    screen.feed(b"\x1b[?1049h");
    assert_eq!(screen.modes().keyboard, 0, "each screen has its own stack");
    screen.feed(b"\x1b[?1049l\x1b[<u");
    assert_eq!(screen.modes().keyboard, 0);
}

#[test]
fn events_are_plain_data() {
    let mut screen = shown(
        20,
        2,
        "\x1b]0;t\x07\x1b[22t\x1b]2;u\x1b\\\x1b[23t\x1b]7;file://h/d\x07\x1b]133;A\x07\x1b]133;D;130\x07\x1b]9;hi\x07\x1b]9;4;1;40\x07\
         \x1b]7501;state=working:app=codex\x1b\\\x07",
    );
    let title = |text: &str| ScreenEvent::Title(text.into());
    assert_eq!(
        screen.take_events(),
        [
            title("t"),
            title("u"),
            title("t"),
            ScreenEvent::Cwd("file://h/d".into()),
            ScreenEvent::Mark(Mark::Prompt),
            ScreenEvent::Mark(Mark::Done(Some(130))),
            ScreenEvent::Notify("hi".into()),
            ScreenEvent::Progress(Progress::Percent(40)),
            ScreenEvent::Status("state=working:app=codex".into()),
            ScreenEvent::Bell,
        ]
    );
    assert_eq!(
        (screen.title(), screen.cwd(), screen.status()),
        ("t", "file://h/d", "state=working:app=codex")
    );
    assert_eq!(screen.contents(0).progress, Some(Progress::Percent(40)));
}

#[test]
fn pictures_and_coloured_text() {
    let screen = shown(20, 4, "\x1b[31;7mred <&>\x1b[m\r\n\r\nplain");
    assert_eq!(screen.to_ansi(0), b"\x1b[0;7;31mred <&>\x1b[m\n\nplain\n");
    let svg = screen.to_svg();
    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
    assert!(svg.contains("red &lt;&amp;&gt;") && svg.contains("#cd0000"));
}

#[test]
fn a_snapshot_in_the_middle_of_a_sequence_goes_on_there() {
    for (first, second) in
        [("a\x1b[3", "1mb"), ("a\x1b]0;ti", "tle\x07b"), ("a\u{5b57}", "b"), ("x\x1b", "[1mb")]
    {
        let stream = format!("{first}{second}");
        let bytes = stream.as_bytes();
        let whole = shown(20, 2, &stream);
        for cut in 0..=bytes.len() {
            let mut before = screen(20, 2, 100);
            before.feed(&bytes[..cut]);
            let mut after = screen(20, 2, 100);
            after.feed(&before.snapshot());
            after.feed(&bytes[cut..]);
            assert_eq!(after.state().difference(&whole.state()), None);
        }
    }
}

#[test]
fn the_keypad_mode_is_written_as_every_terminal_knows_it() {
    for output in ["\x1b=", "\x1b[?66h"] {
        let screen = shown(20, 2, output);
        let snapshot = String::from_utf8(screen.snapshot()).unwrap();
        assert!(snapshot.contains("\x1b=") && !snapshot.contains("66"), "{snapshot:?}");
    }
    let mut screen = shown(20, 2, "\x1b=");
    screen.feed(swb_vt::RESET);
    assert!(!screen.modes().app_keypad);
    assert!(swb_vt::RESET.windows(2).any(|bytes| bytes == b"\x1b>"));
}
