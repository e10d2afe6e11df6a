//! The tokenizer finds the same tokens however the output is cut.

use crate::common;
use proptest::prelude::*;
use swb_vt::{Sequence, Token, Tokenizer};

/// Tokens with neighbouring pieces of text joined, because these may be cut anywhere.
fn tokens(pieces: &[&[u8]]) -> (Vec<(String, Vec<u8>)>, Tokenizer) {
    let (mut found, mut tokenizer): (Vec<(String, Vec<u8>)>, _) = (Vec::new(), Tokenizer::default());
    for piece in pieces {
        let mut rest = *piece;
        while let Some(token) = tokenizer.next(&mut rest) {
            let (name, bytes) = match token {
                Token::Text(bytes) => ("text".to_owned(), bytes),
                Token::Control(byte, at) => (format!("control at {at}"), &[byte][..]),
                Token::Sequence(bytes) => (name_of(bytes).to_owned(), bytes),
                Token::Cut(bytes) => ("cut".to_owned(), bytes),
                Token::Ignored(bytes) => ("ignored".to_owned(), bytes),
            };
            match found.last_mut() {
                Some((last, joined)) if *last == name && (name == "text" || name == "ignored") => {
                    joined.extend_from_slice(bytes);
                }
                _ => found.push((name, bytes.to_vec())),
            }
        }
    }
    (found, tokenizer)
}

fn name_of(raw: &[u8]) -> &'static str {
    match Sequence::parse(raw) {
        Sequence::Apc(_) => "apc",
        Sequence::Csi(_) => "csi",
        Sequence::Dcs(_) => "dcs",
        Sequence::Escape(..) => "escape",
        Sequence::Osc(..) => "osc",
        Sequence::Other => "other",
    }
}

const SAMPLE: &[u8] =
    b"a\x1b[1;31mb\x1b]0;t\x07c\x1b]8;;x\x1b\\d\x1bPq#\x1b\\\x1b(Be\x1b[3\x18f\x1b[\x1b[2Jg\
    \x1b_G\x1bMh\x1b[1\xc3\xb6\x1b[1\n2Hi\x1b[1?2hj\x1b]!k\x1b\\l\x1b]!m\x1b[n";

#[test]
fn sequences_are_distinguished() {
    let expected: Vec<(&str, &[u8])> = vec![
        ("text", b"a"),
        ("csi", b"\x1b[1;31m"),
        ("text", b"b"),
        ("osc", b"\x1b]0;t\x07"),
        ("text", b"c"),
        ("osc", b"\x1b]8;;x\x1b\\"),
        ("text", b"d"),
        ("dcs", b"\x1bPq#\x1b\\"),
        ("escape", b"\x1b(B"),
        ("text", b"e"),
        ("cut", b"\x1b[3\x18"),
        ("text", b"f"),
        ("cut", b"\x1b["),
        ("csi", b"\x1b[2J"),
        ("text", b"g"),
        ("cut", b"\x1b_G"),
        ("escape", b"\x1bM"),
        ("text", b"h"),
        ("cut", b"\x1b[1"),
        ("text", "ö".as_bytes()),
        ("control at 3", b"\n"),
        ("csi", b"\x1b[12H"),
        ("text", b"i"),
        ("ignored", b"\x1b[1?2h"),
        ("text", b"j"),
        ("ignored", b"\x1b]!k\x1b\\"),
        ("text", b"l"),
        ("ignored", b"\x1b]!m"),
        ("csi", b"\x1b[n"),
    ];
    let expected: Vec<(String, Vec<u8>)> =
        expected.into_iter().map(|(name, bytes)| (name.to_owned(), bytes.to_vec())).collect();
    assert_eq!(tokens(&[SAMPLE]).0, expected);
    for at in 0..=SAMPLE.len() {
        assert_eq!(tokens(&[&SAMPLE[..at], &SAMPLE[at..]]).0, expected, "cut at {at}");
    }
    assert_eq!(tokens(&SAMPLE.chunks(1).collect::<Vec<_>>()).0, expected);
}

/// Bytes before and after a cut that are looked at: more than the sequences of real programs have.
const AROUND: usize = 160;

#[test]
fn recordings_have_the_same_tokens_cut_at_every_byte() {
    for recording in common::recordings() {
        let bytes = recording.bytes();
        let (mut grounds, mut tokenizer) = (vec![0], Tokenizer::default());
        for at in 0..bytes.len() {
            let start = *grounds.iter().rev().find(|start| **start + AROUND <= at).unwrap_or(&0);
            let end = bytes.len().min(at + AROUND);
            let whole = tokens(&[&bytes[start..end]]);
            assert_eq!(tokens(&[&bytes[start..at], &bytes[at..end]]), whole, "{} at {at}", recording.name);
            let mut rest = &bytes[at..=at];
            while tokenizer.next(&mut rest).is_some() {}
            if tokenizer.is_ground() {
                grounds.push(at + 1);
            }
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(tokens(&single), tokens(&[&bytes]), "{}", recording.name);
    }
}

#[test]
fn overlong_strings_pass_in_pieces_and_end() {
    let mut long = b"\x1bPq".to_vec();
    long.resize(100_000, b'x');
    long.extend_from_slice(b"\x1b\\after\x1b[m");
    for size in [1, 7, 4096, long.len()] {
        let (found, _) = tokens(&long.chunks(size).collect::<Vec<_>>());
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["ignored", "text", "csi"], "pieces of {size}");
        assert_eq!(found.iter().map(|(_, bytes)| bytes.len()).sum::<usize>(), long.len());
    }
}

fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        4 => Just(0x1b),
        8 => prop::sample::select(b"[]PX^_;?!m\\1 $\x07\x18\x1a\n\x7f\xe5\xad\x97".to_vec()),
        1 => any::<u8>(),
    ];
    prop::collection::vec(byte, 0..120)
}

proptest! {
    #[test]
    fn pieces_do_not_matter(bytes in hostile(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8)) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect();
        let (whole, end) = tokens(&[&bytes]);
        let (found, cut_end) = tokens(&pieces);
        prop_assert_eq!(&found, &whole);
        prop_assert_eq!(&cut_end, &end);
        // The pending bytes lead to the same place, which is how a tokenizer is saved.
        let saved: Vec<u8> = end.clone().into();
        prop_assert_eq!(Tokenizer::from(saved), end);
    }

    #[test]
    fn no_byte_is_lost(bytes in hostile()) {
        let (found, tokenizer) = tokens(&[&bytes]);
        let given: usize = found.iter().map(|(_, bytes)| bytes.len()).sum();
        if found.iter().all(|(name, _)| name != "ignored") {
            prop_assert!(given <= bytes.len());
            let pending = tokenizer.pending();
            let is_stand_in = [&b"\x1b[0?"[..], b"\x1b    ", b"\x1b]!", b"\x1bP!z"].contains(&pending);
            prop_assert!(is_stand_in || given + pending.len() == bytes.len());
        }
    }
}
