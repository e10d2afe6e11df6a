//! What keys send, in every mode that makes a difference.

use crate::common::screen;
use swb_vt::Key;

/// What the key sends after a program has written `setup`.
fn sent(setup: &str, name: &str) -> String {
    let mut screen = screen(80, 24, 0);
    screen.feed(setup.as_bytes());
    let mut out = Vec::new();
    Key::parse(name).unwrap_or_else(|| panic!("{name}")).encode(&screen.modes(), &mut out);
    String::from_utf8(out).unwrap()
}

fn check(setup: &str, table: &[(&str, &str)]) {
    for (names, expected) in table {
        for name in names.split(' ') {
            assert_eq!(sent(setup, name), *expected, "{name} after {setup:?}");
        }
    }
}

#[test]
fn legacy() {
    check(
        "",
        &[
            ("a", "a"),
            ("A S-a S-A", "A"),
            ("é", "é"),
            ("S-é É", "É"),
            ("字", "字"),
            ("ß S-ß", "ß"),
            ("-", "-"),
            ("C-c C-C C-S-c", "\x03"),
            ("C-@ C-Space C-2", "\0"),
            ("C-[ C-3", "\x1b"),
            ("C-\\ C-4", "\x1c"),
            ("C-] C-5", "\x1d"),
            ("C-^ C-6 C-~", "\x1e"),
            ("C-_ C-/ C-7", "\x1f"),
            ("C-? C-8", "\x7f"),
            ("C--", "-"),
            ("C-1", "1"),
            ("M-x A-x", "\x1bx"),
            ("M-X M-S-x", "\x1bX"),
            ("C-M-a M-C-a", "\x1b\x01"),
            ("M--", "\x1b-"),
            ("Enter enter ENTER C-Enter S-Enter", "\r"),
            ("M-Enter", "\x1b\r"),
            ("Escape Esc", "\x1b"),
            ("M-Escape", "\x1b\x1b"),
            ("Tab C-Tab", "\t"),
            ("S-Tab BTab C-S-Tab", "\x1b[Z"),
            ("M-BTab", "\x1b\x1b[Z"),
            ("Space S-Space", " "),
            ("M-Space", "\x1b "),
            ("BSpace Backspace S-BSpace", "\x7f"),
            ("C-BSpace", "\x08"),
            ("M-BSpace", "\x1b\x7f"),
            ("Up", "\x1b[A"),
            ("Down", "\x1b[B"),
            ("Right", "\x1b[C"),
            ("Left", "\x1b[D"),
            ("Home", "\x1b[H"),
            ("End", "\x1b[F"),
            ("S-Up", "\x1b[1;2A"),
            ("M-Left", "\x1b[1;3D"),
            ("C-Right", "\x1b[1;5C"),
            ("C-M-S-Home", "\x1b[1;8H"),
            ("Insert IC", "\x1b[2~"),
            ("Delete DC", "\x1b[3~"),
            ("PageUp PPage PgUp", "\x1b[5~"),
            ("PageDown NPage PgDn", "\x1b[6~"),
            ("C-Delete", "\x1b[3;5~"),
            ("F1 f1", "\x1bOP"),
            ("F4", "\x1bOS"),
            ("S-F3", "\x1b[1;2R"),
            ("F5", "\x1b[15~"),
            ("F6", "\x1b[17~"),
            ("F10", "\x1b[21~"),
            ("F11", "\x1b[23~"),
            ("F12", "\x1b[24~"),
            ("C-F12", "\x1b[24;5~"),
            ("F13", "\x1b[1;2P"),
            ("F24 S-F12", "\x1b[24;2~"),
        ],
    );
}

#[test]
fn application_cursor_keys() {
    check(
        "\x1b[?1h",
        &[
            ("Up", "\x1bOA"),
            ("Left", "\x1bOD"),
            ("Home", "\x1bOH"),
            ("End", "\x1bOF"),
            ("C-Up", "\x1b[1;5A"),
            ("PageUp", "\x1b[5~"),
            ("F1", "\x1bOP"),
        ],
    );
    check("\x1b[?1h\x1b[?1l", &[("Up", "\x1b[A")]);
}

#[test]
fn backspace_as_the_program_wants_it() {
    check("\x1b[?67h", &[("BSpace", "\x08"), ("C-BSpace", "\x7f")]);
}

#[test]
fn kitty_disambiguated() {
    check(
        "\x1b[?1h\x1b[>1u",
        &[
            ("a", "a"),
            ("A", "A"),
            ("Space", " "),
            ("Enter", "\r"),
            ("Tab", "\t"),
            ("BSpace", "\x7f"),
            ("Escape", "\x1b[27u"),
            ("C-c C-C", "\x1b[99;5u"),
            ("C-S-c", "\x1b[99;6u"),
            ("M-x", "\x1b[120;3u"),
            ("M-X", "\x1b[120;4u"),
            ("C-M-a", "\x1b[97;7u"),
            ("C-Space", "\x1b[32;5u"),
            ("C-[", "\x1b[91;5u"),
            ("S-Enter", "\x1b[13;2u"),
            ("M-Enter", "\x1b[13;3u"),
            ("BTab S-Tab", "\x1b[9;2u"),
            ("C-BSpace", "\x1b[127;5u"),
            ("Up", "\x1b[A"),
            ("S-Up", "\x1b[1;2A"),
            ("Delete", "\x1b[3~"),
            ("F1", "\x1b[P"),
            ("C-F2", "\x1b[1;5Q"),
            ("F3", "\x1b[13~"),
            ("F5", "\x1b[15~"),
            ("F13", "\x1b[57376u"),
            ("S-F24", "\x1b[57387;2u"),
        ],
    );
    check("\x1b[>1u\x1b[<u", &[("C-c", "\x03"), ("Escape", "\x1b")]);
}

#[test]
fn kitty_with_all_keys_as_sequences() {
    check(
        "\x1b[=9;1u",
        &[
            ("a", "\x1b[97u"),
            ("A S-a", "\x1b[97;2u"),
            ("!", "\x1b[33u"),
            ("é", "\x1b[233u"),
            ("Space", "\x1b[32u"),
            ("Enter", "\x1b[13u"),
            ("Tab", "\x1b[9u"),
            ("BSpace", "\x1b[127u"),
            ("Escape", "\x1b[27u"),
            ("C-c", "\x1b[99;5u"),
            ("Up", "\x1b[A"),
        ],
    );
    // Alternates, and the text that is typed.
    check("\x1b[=13;1u", &[("a", "\x1b[97u"), ("A", "\x1b[97:65;2u"), ("C-S-a", "\x1b[97:65;6u")]);
    check(
        "\x1b[=29;1u",
        &[("a", "\x1b[97;;97u"), ("A", "\x1b[97:65;2;65u"), ("C-a", "\x1b[97;5u"), ("Enter", "\x1b[13u")],
    );
    // Flags that change nothing by themselves.
    check("\x1b[=22;1u", &[("a", "a"), ("C-c", "\x03"), ("Escape", "\x1b"), ("Up", "\x1b[A")]);
}

#[test]
fn modify_other_keys() {
    check(
        "\x1b[>4;1m",
        &[
            ("a", "a"),
            ("C-c", "\x03"),
            ("M-x", "\x1bx"),
            ("C-1", "\x1b[27;5;49~"),
            ("S-Enter", "\x1b[27;2;13~"),
            ("C-Tab", "\t"),
            ("BTab", "\x1b[Z"),
            ("C-BSpace", "\x08"),
        ],
    );
    check(
        "\x1b[>4;2m",
        &[
            ("a", "a"),
            ("A", "A"),
            ("Enter", "\r"),
            ("C-c", "\x1b[27;5;99~"),
            ("C-S-c", "\x1b[27;6;67~"),
            ("M-x", "\x1b[27;3;120~"),
            ("C-Tab", "\x1b[27;5;9~"),
            ("C-Up", "\x1b[1;5A"),
        ],
    );
    check("\x1b[>4;2m\x1b[>1u", &[("C-c", "\x1b[99;5u")]);
}

#[test]
fn other_text_is_no_key() {
    for text in [
        "", "C-", "C-S-", "hello", "F0", "F25", "F01", "F+1", "C-hello", "ab", "\x03", "C-\n", "e\u{301}",
        "c-c",
    ] {
        assert_eq!(Key::parse(text), None, "{text:?}");
    }
}
