//! The keepty codec against golden bytes.

use crate::reading::read_pieces;
use crate::vectors::{self, Case, cuts, raw};
use serde_json::Value;
use swb_wire::FrameError;
use swb_wire::keepty::{DecodeError, Decoder, KeeptyRole, MAX_PAYLOAD, Message, encode, output_header};

type Outcome = (Vec<Message>, Option<DecodeError>);

/// Decodes pieces that arrive one after the other, up to the first error.
fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Outcome {
    read_pieces(Decoder::new(), Decoder::push, Decoder::next, pieces)
}

fn encoded(message: &Message) -> Vec<u8> {
    let mut out = Vec::new();
    encode(message, &mut out);
    out
}

/// Builds the message a golden step describes.
fn expected(decoded: &Value, bytes: &[u8]) -> Message {
    let number = |key: &str| decoded[key].as_i64().unwrap_or_else(|| panic!("{key} in {decoded}"));
    let size = || (number("cols") as u16, number("rows") as u16);
    match decoded["kind"].as_str().unwrap() {
        "Hello" => {
            let role = match number("role") {
                1 => KeeptyRole::Writer,
                2 => KeeptyRole::Watcher,
                3 => KeeptyRole::Monitor,
                other => panic!("role {other}"),
            };
            Message::Hello { role, cols: size().0, rows: size().1 }
        }
        "HelloAck" => Message::HelloAck { pid: number("pid") as u32, cols: size().0, rows: size().1 },
        "Input" => Message::Input(raw(decoded)),
        // One step only specifies that it is output.
        "Output" if decoded.get("bytes").is_none() => Message::Output(bytes[6..].to_vec()),
        "Output" => Message::Output(raw(decoded)),
        "Resize" if decoded["short"] == true => Message::Malformed(5),
        "Resize" => Message::Resize { cols: size().0, rows: size().1 },
        "ResizeAck" => {
            Message::ResizeAck { generation: number("gen") as u32, cols: size().0, rows: size().1 }
        }
        "Exit" => Message::Exit { code: number("code") as i32 },
        "Shutdown" => Message::Shutdown,
        "Ping" => Message::Ping,
        "Pong" => Message::Pong,
        "Error" => Message::Error(decoded["text"].as_str().unwrap().to_owned()),
        other => panic!("kind {other}"),
    }
}

/// The last step of each malformed case, with the expected result of the decoder.
fn malformed() -> Vec<(&'static str, Option<DecodeError>)> {
    let too_large = FrameError::TooLarge { len: MAX_PAYLOAD + 3, max: MAX_PAYLOAD + 2 };
    let too_short = |len| DecodeError::Frame(FrameError::TooShort { len, min: 2 });
    vec![
        ("bad_oversize", Some(DecodeError::Frame(too_large))), // KP-2
        ("bad_length_1", Some(too_short(1))),
        ("bad_length_0", Some(too_short(0))),
        ("bad_version_2", Some(DecodeError::Version(2))), // KP-3
        ("bad_version_later", Some(DecodeError::Version(99))),
        ("bad_kind_0", Some(DecodeError::Kind(0))), // KP-4
        ("bad_kind_7", Some(DecodeError::Kind(7))),
        ("bad_kind_9", Some(DecodeError::Kind(9))),
        ("bad_kind_14", Some(DecodeError::Kind(14))),
        ("bad_kind_126", Some(DecodeError::Kind(126))),
        ("bad_kind_128", Some(DecodeError::Kind(128))),
        ("bad_kind_255", Some(DecodeError::Kind(255))),
        ("bad_role_0", Some(DecodeError::Role(0))), // KP-8
        ("bad_role_4", Some(DecodeError::Role(4))),
        ("bad_role_255", Some(DecodeError::Role(255))),
        ("bad_hello_short", Some(DecodeError::Hello)), // KP-7
        ("bad_truncated", None),                       // KP-46: the peer's end decides, not the decoder
    ]
}

fn is_malformed(case: &Case) -> bool {
    // A well-formed first message of the wrong kind is for the connection to judge (KP-18).
    case.name.starts_with("bad_") && case.name != "bad_first_not_hello"
}

// KP-1, KP-5, KP-6, KP-7
#[test]
fn golden_bytes_decode_to_the_message_and_encode_back() {
    // Accepted forms that a peer may send but we never do: trailing bytes, and a payload too short.
    let not_canonical = ["hello_extra_bytes", "resize_short", "max_frame"];
    let mut checked = 0;
    for case in vectors::keepty().iter().filter(|case| !is_malformed(case)) {
        for (i, step) in case.steps.iter().enumerate() {
            let message = expected(&step.decoded, &step.bytes);
            let name = &case.name;
            assert_eq!(decode([&step.bytes[..]]), (vec![message.clone()], None), "{name}, step {i}");
            let special = not_canonical.contains(&name.as_str()) && encoded(&message) != step.bytes;
            if !special {
                assert_eq!(encoded(&message), step.bytes, "{name}, step {i}");
                checked += 1;
            }
        }
    }
    assert!(checked > 30, "only {checked} steps went both ways");
}

// KP-2, KP-3, KP-4, KP-7, KP-8
#[test]
fn malformed_bytes_give_the_right_error() {
    let table = malformed();
    let cases = vectors::keepty();
    let mut seen = 0;
    for case in cases.iter().filter(|case| is_malformed(case)) {
        let entry = table.iter().find(|(name, _)| *name == case.name);
        let (_, error) = entry.unwrap_or_else(|| panic!("{} is not in the table", case.name));
        let to_daemon: Vec<&[u8]> =
            case.steps.iter().filter(|step| step.to_daemon).map(|step| &step.bytes[..]).collect();
        let (messages, got) = decode(to_daemon.iter().copied());
        assert_eq!(got, *error, "{}", case.name);
        assert_eq!(messages.len(), to_daemon.len() - 1, "{}: what came before is not lost", case.name);
        seen += 1;
    }
    assert_eq!(seen, table.len());
}

// KP-46
#[test]
fn a_truncated_frame_is_an_error_at_the_end() {
    let mut decoder = Decoder::new();
    decoder.push(&vectors::hex("00000008010361626364"));
    assert_eq!(decoder.next(), Ok(None));
    assert!(!decoder.is_empty());
    decoder.push(b"ef");
    assert_eq!(decoder.next(), Ok(Some(Message::Input(b"abcdef".to_vec()))));
    assert!(decoder.is_empty());
}

// KP-1
#[test]
fn every_split_gives_the_same_messages() {
    for case in vectors::keepty() {
        for to_daemon in [true, false] {
            let steps = case.steps.iter().filter(|step| step.to_daemon == to_daemon);
            let stream: Vec<u8> = steps.flat_map(|step| step.bytes.iter().copied()).collect();
            let whole = decode([&stream[..]]);
            for cut in cuts(stream.len()) {
                let (a, b) = stream.split_at(cut);
                assert_eq!(decode([a, b]), whole, "{} cut at {cut}", case.name);
            }
            assert_eq!(decode(stream.chunks(1)), whole, "{} byte by byte", case.name);
        }
    }
}

// KP-2, KP-30
#[test]
fn the_largest_payload_fits_one_frame_and_more_becomes_several() {
    let bytes: Vec<u8> = (0..MAX_PAYLOAD + 1).map(|i| (i % 251) as u8).collect();
    let one = encoded(&Message::Output(bytes[..MAX_PAYLOAD].to_vec()));
    assert_eq!(one[..6], [0x00, 0x10, 0x00, 0x02, 1, 4]);
    assert_eq!(decode([&one[..]]), (vec![Message::Output(bytes[..MAX_PAYLOAD].to_vec())], None));

    for (message, rest) in [
        (Message::Output(bytes.clone()), Message::Output(bytes[MAX_PAYLOAD..].to_vec())),
        (Message::Input(bytes.clone()), Message::Input(bytes[MAX_PAYLOAD..].to_vec())),
    ] {
        let (messages, error) = decode([&encoded(&message)[..]]);
        assert_eq!((messages.len(), error), (2, None));
        assert_eq!(messages[1], rest);
    }
}

// KP-9
#[test]
fn an_error_text_is_cut_between_characters() {
    let text = "ö".repeat(MAX_PAYLOAD);
    let (messages, error) = decode([&encoded(&Message::Error(text))[..]]);
    assert_eq!(error, None);
    assert_eq!(messages, [Message::Error("ö".repeat(MAX_PAYLOAD / 2))]);
}

// KP-6
#[test]
fn an_error_text_that_is_not_utf8_is_still_shown() {
    let bytes = vectors::hex("00000004017f41ff");
    assert_eq!(decode([&bytes[..]]), (vec![Message::Error("A\u{fffd}".into())], None));
}

// KP-6
#[test]
fn the_output_header_is_what_the_encoder_writes() {
    for len in [0, 1, 255, 256, 65_536, MAX_PAYLOAD] {
        let frame = encoded(&Message::Output(vec![b'x'; len]));
        assert_eq!(frame[..6], output_header(len), "{len}");
        assert_eq!(frame.len(), 6 + len);
    }
}

// KP-7
#[test]
fn short_payloads_are_distinguished_from_valid_ones() {
    for (kind, enough) in [(2_u8, 8), (5, 4), (6, 8), (10, 4)] {
        for len in 0..enough + 2 {
            let mut frame = vec![0, 0, 0, 2 + len as u8, 1, kind];
            frame.resize(6 + len, 0);
            let (messages, error) = decode([&frame[..]]);
            assert_eq!(error, None);
            let malformed = messages == [Message::Malformed(kind)];
            assert_eq!(malformed, len < enough, "kind {kind} with {len} bytes: {messages:?}");
        }
    }
}

#[test]
fn errors_are_final_even_when_good_bytes_follow() {
    let mut decoder = Decoder::new();
    decoder.push(&vectors::hex("0000000201ff"));
    decoder.push(&vectors::hex("00000002010c"));
    assert_eq!(decoder.next(), Err(DecodeError::Kind(255)));
    assert_eq!(decoder.next(), Err(DecodeError::Kind(255)));
}
