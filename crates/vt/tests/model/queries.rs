//! What is answered, and what is taken out of history.

use crate::common::{self, screen};
use proptest::prelude::*;
use swb_vt::QueryFilter;

fn reply(before: &str, query: &str) -> String {
    let mut screen = screen(80, 24, 0);
    screen.feed(before.as_bytes());
    screen.take_replies();
    screen.feed(query.as_bytes());
    screen.take_replies().escape_ascii().to_string()
}

fn filter(pieces: &[&[u8]]) -> Vec<u8> {
    let (mut filter, mut out) = (QueryFilter::new(), Vec::new());
    for piece in pieces {
        filter.feed(piece, &mut out);
    }
    filter.finish(&mut out);
    out
}

/// What is before, the question, and the answer; an empty one is a refusal by silence.
const ANSWERS: &[(&str, &str, &str)] = &[
    ("", "\x1b[c", r"\x1b[?62;22c"),
    ("", "\x1b[0c", r"\x1b[?62;22c"),
    ("", "\x1bZ", r"\x1b[?62;22c"),
    ("", "\x1b[>c", r"\x1b[>1;10;0c"),
    ("", "\x1b[=c", r"\x1bP!|00000000\x1b\\"),
    ("", "\x1b[5n", r"\x1b[0n"),
    ("\x1b[3;7H", "\x1b[6n", r"\x1b[3;7R"),
    ("\x1b[3;9r\x1b[?6h\x1b[2;7H", "\x1b[6n", r"\x1b[2;7R"),
    ("", "\x1b[?6n", r"\x1b[?1;1R"),
    ("", "\x1b[>q", r"\x1bP>|switchboard(0.1.0)\x1b\\"),
    ("", "\x1b[?2026$p", r"\x1b[?2026;2$y"),
    ("\x1b[?2026h", "\x1b[?2026$p", r"\x1b[?2026;1$y"),
    ("", "\x1b[?2004$p", r"\x1b[?2004;2$y"),
    ("\x1b[?1049h", "\x1b[?1049$p", r"\x1b[?1049;1$y"),
    ("", "\x1b[?9999$p", r"\x1b[?9999;0$y"),
    ("\x1b[4h", "\x1b[4$p", r"\x1b[4;1$y"),
    ("", "\x1b]11;?\x07", r"\x1b]11;rgb:1818/1818/1818\x07"),
    ("", "\x1b]10;?;?\x1b\\", r"\x1b]10;rgb:d8d8/d8d8/d8d8\x1b\\\x1b]11;rgb:1818/1818/1818\x1b\\"),
    ("\x1b]12;#eeeeee\x07", "\x1b]12;?\x07", r"\x1b]12;rgb:eeee/eeee/eeee\x07"),
    ("", "\x1b]4;1;?\x07", r"\x1b]4;1;rgb:cdcd/0000/0000\x07"),
    ("\x1b[>5u", "\x1b[?u", r"\x1b[?5u"),
    ("\x1b[>4;2m", "\x1b[?4m", r"\x1b[>4;2m"),
    ("\x1b[1;31m", "\x1bP$qm\x1b\\", r"\x1bP1$r0;1;31m\x1b\\"),
    ("\x1b[2;5r", "\x1bP$qr\x1b\\", r"\x1bP1$r2;5r\x1b\\"),
    ("\x1b[4 q", "\x1bP$q q\x1b\\", r"\x1bP1$r4 q\x1b\\"),
    ("", "\x1bP$qx\x1b\\", r"\x1bP0$r\x1b\\"),
    ("", "\x1bP+q4d73\x1b\\", r"\x1bP0+r4d73\x1b\\"),
    ("", "\x1b[18t", r"\x1b[8;24;80t"),
    ("", "\x1b]7501;?\x1b\\", r"\x1b]7501;?\x1b\\"),
    ("", "\x1b]52;c;?\x07", ""),
    ("", "\x1b[21t", ""),
    ("", "\x1b[14t", ""),
    ("", "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\", ""),
    ("", "\x1b]1337;Capabilities\x07", ""),
    ("", "\x1b]99;i=x:p=?;\x1b\\", ""),
    ("", "\x05", ""),
];

#[test]
fn questions_have_their_answers() {
    for (before, query, answer) in ANSWERS {
        assert_eq!(&reply(before, query), answer, "{}", query.escape_debug());
    }
}

#[test]
fn no_question_passes_the_filter_at_any_split() {
    for (_, query, _) in ANSWERS {
        let stream = format!("one\x1b[1m{query}two");
        let stream = stream.as_bytes();
        for at in 0..=stream.len() {
            let out = filter(&[&stream[..at], &stream[at..]]);
            assert_eq!(out, b"one\x1b[1mtwo", "{}", query.escape_debug());
        }
    }
}

#[test]
fn a_command_that_sets_and_asks_keeps_what_it_sets() {
    let out = filter(&[b"\x1b]4;1;#ff0000;2;?;3;#00ff00\x07"]);
    assert_eq!(out, b"\x1b]4;1;#ff0000;3;#00ff00\x07");
}

#[test]
fn an_unfinished_query_goes_to_the_client_that_gets_the_rest() {
    assert_eq!(filter(&[b"a\x1b[6"]), b"a\x1b[6");
    assert_eq!(filter(&[b"a\x1b]11;"]), b"a\x1b]11;");
}

#[test]
fn other_sequences_pass_byte_for_byte() {
    let stream: Vec<&[u8]> = vec![
        b"\x1b[1;2H\x1b[38:2::1:2:3mtext\x1b[0 q",
        b"\x1b]0;title?\x07\x1b]8;;http://x/?\x1b\\",
        b"\x1b[1\nm\x1b[1\x7f;\r2H",
        b"\x1b]52;c;aGk=\x07\x1bPq#0;2;0;0;0\x1b\\\x1b_Gq=2,i=1;AAAA\x1b\\",
        b"\xff\xc3\x28\xe5\xad\x1b[?1;;;;;;;;;h\x1b[0?0x\x1b    Z",
        b"\x1b[22;0t\x1b[>4;1m\x1b[=1;1u\x1b[>1u\x1b[<u",
        b"\x1b]7501;state=idle:app=x\x1b\\\x1b]9;done\x07",
    ];
    let all = stream.concat();
    assert_eq!(filter(&[&all]).escape_ascii().to_string(), all.escape_ascii().to_string());
    let long = [b"\x1b]52;c;".to_vec(), vec![b'A'; 100_000], b"\x07rest".to_vec()].concat();
    for size in [1, 7, 4096, 9000] {
        assert_eq!(filter(&long.chunks(size).collect::<Vec<_>>()), long);
    }
}

proptest! {
    // With every question gone, nothing is answered; what is shown stays the same.
    #[test]
    fn filtered_programs_ask_nothing((cols, rows, steps) in common::program(40), at in any::<prop::sample::Index>()) {
        let mut bytes = Vec::new();
        for step in &steps {
            if let common::Step::Bytes(more) = step {
                bytes.extend_from_slice(more);
            }
        }
        let at = at.index(bytes.len() + 1);
        let filtered = filter(&[&bytes[..at], &bytes[at..]]);
        prop_assert_eq!(&filtered, &filter(&[&bytes]));
        prop_assert_eq!(&filtered, &filter(&[&filtered]));
        let (mut with, mut without) = (screen(cols, rows, 9), screen(cols, rows, 9));
        with.feed(&bytes);
        without.feed(&filtered);
        prop_assert_eq!(without.take_replies(), b"");
        prop_assert_eq!(with.contents(9), without.contents(9));
    }

    // Bytes that contain no question come out as they went in.
    #[test]
    fn arbitrary_bytes_lose_only_questions(bytes in prop::collection::vec(any::<u8>(), 0..300), size in 1..50usize) {
        let pieces: Vec<&[u8]> = bytes.chunks(size).collect();
        let out = filter(&pieces);
        let without_enq: Vec<u8> = bytes.iter().copied().filter(|byte| *byte != 5).collect();
        if !bytes.contains(&0x1b) {
            prop_assert_eq!(out, without_enq);
        } else {
            prop_assert!(out.len() <= bytes.len());
        }
    }
}

// REP repeats the same with and without a question before it.
#[test]
fn a_question_changes_nothing_that_follows() {
    for asks in ["\x1b[?6n", "\x05", "\x1b]11;?\x07", "\x1bP$qm\x1b\\", "\x1b[c"] {
        let bytes = format!("a{asks}\x1b[2b");
        let mut shown = screen(20, 2, 9);
        shown.feed(bytes.as_bytes());
        assert_eq!(shown.contents(0).lines[0].runs[0].text, "aaa", "{asks:?}");
    }
}

fn replayed(output: &[u8]) -> String {
    let run = |pieces: [&[u8]; 2]| {
        let (mut filter, mut out) = (QueryFilter::for_replay(), Vec::new());
        for piece in pieces {
            filter.feed(piece, &mut out);
        }
        filter.finish(&mut out);
        String::from_utf8(out).unwrap()
    };
    let whole = run([output, b""]);
    for cut in 0..=output.len() {
        assert_eq!(run([&output[..cut], &output[cut..]]), whole, "cut at {cut}");
    }
    whole
}

#[test]
fn a_replay_has_neither_queries_nor_effects_of_the_moment() {
    for question in [
        "\x1b[c",
        "\x1b[0c",
        "\x1b[>c",
        "\x1b[=c",
        "\x1b[5n",
        "\x1b[6n",
        "\x1b[?6n",
        "\x1b[?996n",
        "\x1b[?2026$p",
        "\x1b[?u",
        "\x1b[>0q",
        "\x1b[14t",
        "\x1b[18t",
        "\x1b[?4m",
        "\x1b]11;?\x07",
        "\x1b]4;1;?\x1b\\",
        "\x1b]52;c;?\x07",
        "\x1bP+q544e\x1b\\",
        "\x1bP$qm\x1b\\",
        "\x1b_Gi=1,a=q;AAAA\x1b\\",
        "\x1bZ",
        "\x05",
        "\x07",
        "\x1b]9;done\x07",
        "\x1b]777;notify;a;b\x07",
        "\x1b]21;foreground=?\x07",
        "\x1b]50;?\x07",
        "\x1b]52;c;aGk=\x07",
        "\x1b]60\x07",
        "\x1b]99;i=1;hello\x1b\\",
        "\x1b]1337;RequestAttention=yes\x07",
        "\x1b[#|",
        "\x1b[#R",
        "\x1b[?4g",
        "\x1b[1$w",
        "\x1bP+Q666f6e74\x1b\\",
        "\x1b_Gi=1;AAAA\x1b\\",
    ] {
        assert_eq!(replayed(format!("a{question}b").as_bytes()), "ab", "{question:?}");
    }
}

#[test]
fn a_replay_draws_the_same() {
    for drawing in [
        "\x1b[1;31mred\x1b[m",
        "\x1b[2J\x1b[H",
        "\x1b[>4;2m",
        "\x1b[>1u",
        "\x1b[?25h",
        "\x1b[22;0t",
        "\x1b]0;what?\x07",
        "\x1b]8;;http://x/?\x1b\\",
        "\x1b]9;4;1;50\x07",
        "\x1b]11;#000\x07",
        "\x1bPq#0\x1b\\",
        "\x1b[4 q",
        "\x1b[!p",
        "\x1b[?6c",
        "\x1b]4;1;#ff0000\x07",
        "\x1b]66;s=2;?\x07",
        "\x1b]104;1\x07",
        "\x1b_Gq=2,i=1;AAAA\x1b\\",
    ] {
        assert_eq!(replayed(drawing.as_bytes()), drawing, "{drawing:?}");
    }
}

#[test]
fn a_replay_ends_in_the_sequence_that_live_output_continues() {
    assert_eq!(replayed(b"text\x1b[6"), "text\x1b[6");
}
