//! Distinguishes what a terminal sends by itself, replies to queries and reports, from what a person types.

use crate::input::{Input, InputParser};
use std::borrow::Cow;

/// Takes a terminal's answers (device attributes, status, cursor position, modes, colours, versions and
/// the like) out of what a person typed at it. An answer that is not complete stays, as keys do.
///
/// For all but one of several terminals on the same program: it asked once and wants one answer. What looks
/// like a cursor position is taken for one, although some terminals send F3 with a modifier so. Pasted text stays.
pub fn without_replies(input: &[u8]) -> Cow<'_, [u8]> {
    let (mut parser, mut rest, mut from) = (InputParser::default(), input, 0);
    let mut kept: Option<Vec<u8>> = None;
    loop {
        let start = input.len() - rest.len() - parser.pending().len();
        match parser.next(&mut rest) {
            None => break,
            Some(Input::Reply) => {
                kept.get_or_insert_default().extend_from_slice(&input[from..start]);
                from = input.len() - rest.len();
            }
            Some(_) => {}
        }
    }
    match kept {
        Some(mut kept) => {
            kept.extend_from_slice(&input[from..]);
            Cow::Owned(kept)
        }
        None => Cow::Borrowed(input),
    }
}

/// Whether a person has typed or pasted something of `input`; not answers, reports of the mouse and of focus, nor keys that
/// are let go.
pub fn has_keys(input: &[u8]) -> bool {
    let (mut parser, mut rest) = (InputParser::default(), input);
    loop {
        match parser.next(&mut rest) {
            // A lone Escape is not complete: most likely it is the key.
            None => return parser.pending() == b"\x1b",
            Some(Input::Press(_) | Input::PasteStart | Input::Pasted(_) | Input::PasteEnd) => return true,
            Some(Input::Reply | Input::Release(_) | Input::Report) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_distinguished_from_reports() {
        for keys in [&b"x"[..], b"\x1b", b"\x1b[A", b"\x1b[?62;22cx", b"\x1b[200~a", "ä".as_bytes(), b"\r"] {
            assert!(has_keys(keys), "{}", keys.escape_ascii());
        }
        for none in [&b""[..], b"\x1b[?62;22c", b"\x1b[I", b"\x1b[O", b"\x1b[<0;3;4M", b"\x1b[1;1R"] {
            assert!(!has_keys(none), "{}", none.escape_ascii());
        }
    }
    use crate::{Options, Screen};
    use proptest::prelude::*;
    use swb_types::Size;

    #[test]
    fn every_answer_of_the_model_is_one() {
        let questions = "\x1b[c|\x1b[>c|\x1b[=c|\x1b[5n|\x1b[6n|\x1b[?6n|\x1b[?996n|\x1b[>q|\x1b[?2026$p|\x1b[4$p|\x1b[?u|\x1b[?4m|\
             \x1b[18t|\x1b]10;?\x07|\x1b]11;?\x1b\\|\x1b]4;1;?\x07|\x1b]7501;?\x1b\\|\x1bP$qm\x1b\\|\x1bP+q544e\x1b\\";
        for question in questions.split('|') {
            let mut screen = Screen::new(Size::DEFAULT, Options::default());
            screen.feed(question.as_bytes());
            let answer = screen.take_replies();
            let typed = [b"a", &answer[..], b"b"].concat();
            assert_eq!(
                &*without_replies(&typed),
                b"ab",
                "{question:?} {:?}",
                String::from_utf8_lossy(&answer)
            );
        }
    }

    #[test]
    fn keys_stay() {
        for keys in [
            "text",
            "\x1b",
            "\x1b[A",
            "\x1bOA",
            "\x1b[1;5C",
            "\x1b[15~",
            "\x1b[200~pasted\x1b[201~",
            "\x1b[97;5u",
            "\x1b[<0;3;4M",
            "\x1b[<0;3;4m",
            "\x1b[I",
            "\x1b[O",
            "\x1b[M !!",
            "\x1bx",
            "\x1b[6",
            "\x1b]unfinished",
        ] {
            assert_eq!(&*without_replies(keys.as_bytes()), keys.as_bytes(), "{keys:?}");
        }
    }

    #[test]
    fn only_the_answers_go() {
        assert_eq!(
            &*without_replies(b"ls\x1b[3;1R -l\x1b]11;rgb:0/0/0\x07\x1b[A\x1b[?1;2c\r"),
            b"ls -l\x1b[A\r"
        );
    }

    proptest! {
        #[test]
        fn nothing_else_changes(input in prop::collection::vec(prop_oneof![Just(0x1b), Just(b'['), Just(b']'), any::<u8>()], 0..60)) {
            let kept = without_replies(&input);
            prop_assert!(kept.len() <= input.len());
            if !input.contains(&0x1b) {
                prop_assert_eq!(&*kept, &input[..]);
            }
        }
    }
}
