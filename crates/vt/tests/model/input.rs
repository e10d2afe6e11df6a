//! The parser of input finds the keys that `Key::encode` sends, however the bytes are cut.

use crate::common;
use proptest::prelude::*;
use swb_vt::{Input, InputParser, Key, KeyCode};

/// What is found, with neighbouring pieces of pasted text joined.
fn inputs(pieces: &[&[u8]]) -> (Vec<String>, InputParser) {
    let (mut found, mut pasted, mut parser) = (Vec::new(), Vec::new(), InputParser::default());
    for piece in pieces {
        let mut rest = *piece;
        while let Some(input) = parser.next(&mut rest) {
            if let Input::Pasted(text) = input {
                pasted.extend_from_slice(text);
                continue;
            }
            if !pasted.is_empty() {
                found.push(format!("pasted {}", pasted.escape_ascii()));
                pasted.clear();
            }
            found.push(format!("{input:?}"));
        }
    }
    (found, parser)
}

fn only_key(bytes: &[u8]) -> Option<Key> {
    let (mut parser, mut rest) = (InputParser::default(), bytes);
    let first = parser.next(&mut rest).or_else(|| parser.give_up());
    match first {
        Some(Input::Press(press)) if rest.is_empty() && parser.pending().is_empty() => Some(press.key),
        _ => None,
    }
}

#[test]
fn keys_are_read_as_they_are_sent() {
    let names = "a A ä C-a C-] M-x M-X Enter M-Enter Tab S-Tab Backspace Escape Up C-Left S-Home End Delete PageUp \
        F1 F2 F4 F5 F12 S-F5 C-F1";
    let modes = ["", "\x1b[?1h", "\x1b[>4;2m", "\x1b[>1u", "\x1b[>8u"];
    for (name, mode) in names.split_whitespace().flat_map(|name| modes.map(|mode| (name, mode))) {
        let mut screen = common::screen(80, 24, 0);
        screen.feed(mode.as_bytes());
        let key = Key::parse(name).unwrap();
        let mut bytes = Vec::new();
        key.encode(&screen.modes(), &mut bytes);
        let found = only_key(&bytes).unwrap_or_else(|| panic!("{name} is no key: {}", bytes.escape_ascii()));
        assert_eq!(found, key, "{name} in {mode:?}: {}", bytes.escape_ascii());
    }
}

#[test]
fn a_paste_is_text_whatever_is_in_it() {
    let pasted = b"\x1b[200~a\x1b[A\x1b\x1b[20\r\x1b[201~b";
    let (whole, _) = inputs(&[pasted]);
    assert_eq!(whole.len(), 4, "{whole:?}");
    assert_eq!(whole[1], r"pasted a\x1b[A\x1b\x1b[20\r");
    for at in 0..=pasted.len() {
        assert_eq!(inputs(&[&pasted[..at], &pasted[at..]]).0, whole, "cut at {at}");
    }
}

#[test]
fn what_waits_may_be_a_key() {
    let held = |bytes: &[u8]| {
        let (found, mut parser) = inputs(&[bytes]);
        assert_eq!(found, [] as [String; 0]);
        match parser.give_up() {
            Some(Input::Press(press)) => Some(press.key),
            _ => None,
        }
    };
    assert_eq!(held(b"\x1b"), Key::parse("Escape"));
    assert_eq!(held(b"\x1bP"), Key::parse("M-P"));
    assert_eq!(held(b"\x1b["), Key::parse("M-["));
    assert_eq!(held(b"\x1b[1;"), None);
    assert_eq!(held(b"\x1b]11;rgb"), None);
}

#[test]
fn endless_sequences_cost_little() {
    let endless = [b"\x1b[".to_vec(), vec![b'9'; 100_000], b"~".to_vec()].concat();
    let (found, _) = inputs(&[&endless[..50_000], &endless[50_000..]]);
    assert_eq!(found.len(), 1);
    assert_eq!(only_key(&endless).map(|key| key.code), Some(KeyCode::Other));
    let string = [b"\x1b]52;c;".to_vec(), vec![b'A'; 100_000], b"\x07".to_vec()].concat();
    assert_eq!(inputs(&[&string]).0, ["Reply"]);
}

proptest! {
    #[test]
    fn pieces_do_not_matter(
        bytes in prop::collection::vec(
            prop_oneof![
                4 => Just(0x1b),
                8 => prop::sample::select(b"[]OP_;:?<201~uAMR\\\x07\x18\r\xc3\xa4".to_vec()),
                1 => any::<u8>(),
            ],
            0..80,
        ),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect();
        prop_assert_eq!(inputs(&pieces), inputs(&[&bytes]));
    }
}
