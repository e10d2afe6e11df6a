//! The coop codec against golden bytes.

use crate::vectors::{self, Case, Step, cuts, raw};
use serde_json::{Value, json};
use swb_wire::control::{
    self, Attached, BadMessage, Created, ErrorCode, ErrorReply, Handshake, HandshakeReply, LsReply, OkReply,
    Operation, ServeReply, StreamEvent, StreamFrame,
};
use swb_wire::{FrameError, LengthPrefixed};

/// What one side of a connection sent, as decoded.
#[derive(Debug, Clone, PartialEq)]
enum Item {
    Handshake(Result<i128, BadMessage>),
    Operation(Result<Operation, BadMessage>),
    Stream(StreamFrame),
    Failed(FrameError),
}

/// A connection as the daemon reads it.
struct Reader {
    frames: LengthPrefixed,
    greeted: bool,
    streaming: bool,
    /// Whether the daemon grants an `attach` or `shell`.
    grants: bool,
}

impl Reader {
    fn for_case(case: &Case) -> Self {
        let streaming = case.name.starts_with("stream_") || case.name.starts_with("bad_stream_");
        let mut frames = control::command_frames();
        if streaming {
            control::enter_stream(&mut frames);
        }
        let grants = !["attach_unknown", "attach_bad_pty"].contains(&case.name.as_str());
        Self { frames, greeted: streaming, streaming, grants }
    }

    fn push(&mut self, bytes: &[u8], items: &mut Vec<Item>) {
        self.frames.push(bytes);
        loop {
            match self.frames.next() {
                Ok(Some(body)) => items.push(self.read(body)),
                Ok(None) => return,
                Err(error) => {
                    items.push(Item::Failed(error));
                    return;
                }
            }
        }
    }

    fn read(&mut self, body: Vec<u8>) -> Item {
        if self.streaming {
            return Item::Stream(control::parse_stream(body));
        }
        if !self.greeted {
            self.greeted = true;
            return Item::Handshake(control::parse_handshake(&body));
        }
        let request = control::parse_operation(&body);
        if self.grants && matches!(request, Ok(Operation::Attach(_) | Operation::Shell(_))) {
            self.streaming = true;
            control::enter_stream(&mut self.frames);
        }
        Item::Operation(request)
    }
}

/// Decodes pieces that arrive one after the other, up to the first framing error.
fn read<'a>(case: &Case, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Item> {
    let mut reader = Reader::for_case(case);
    let mut items = Vec::new();
    for piece in pieces {
        reader.push(piece, &mut items);
        if matches!(items.last(), Some(Item::Failed(_))) {
            break;
        }
    }
    items
}

fn framed(value: &impl serde::Serialize) -> Vec<u8> {
    let mut out = Vec::new();
    control::encode_json(value, &mut out).unwrap();
    out
}

fn control(value: &impl serde::Serialize) -> Vec<u8> {
    let mut out = Vec::new();
    control::encode_control(value, &mut out).unwrap();
    out
}

fn find(name: &str) -> Case {
    vectors::coop().into_iter().find(|case| case.name == name).unwrap_or_else(|| panic!("no case {name}"))
}

fn items_of(name: &str) -> Vec<Item> {
    let case = find(name);
    let steps = case.steps.clone();
    read(&case, steps.iter().filter(|step| step.to_daemon).map(|step| &step.bytes[..]))
}

/// Checks one message of a client against its step; returns whether it encodes to the same bytes.
fn check_item(name: &str, item: &Item, step: &Step) -> bool {
    let Step { bytes, decoded, .. } = step;
    match item {
        Item::Handshake(Ok(version)) => {
            assert_eq!(decoded["version"], *version as i64, "{name}");
            assert_eq!(
                framed(&Handshake { version: *version as u32, ..Handshake::full() }),
                *bytes,
                "{name}"
            );
        }
        Item::Operation(Ok(request)) => {
            if decoded.get("pad").is_some() {
                assert_eq!(*request, Operation::Ls(control::Ls::default())); // CO-16
                return false;
            }
            assert_eq!(serde_json::to_value(request).unwrap(), *decoded, "{name}");
            assert_eq!(framed(request), *bytes, "{name}");
        }
        Item::Stream(StreamFrame::Data(data)) => {
            assert_eq!((decoded["tag"].as_u64(), &raw(decoded)), (Some(0), data), "{name}");
            let mut out = Vec::new();
            control::encode_data(data, &mut out);
            assert_eq!(out, *bytes, "{name}");
        }
        Item::Stream(StreamFrame::Control(body)) if decoded.get("json").is_some() => {
            let said = control::parse_client_control(body).unwrap_or_else(|| panic!("{name}: {decoded}"));
            assert_eq!(serde_json::to_value(said).unwrap(), decoded["json"], "{name}");
            assert_eq!(control(&said), *bytes, "{name}");
        }
        _ => return false,
    }
    true
}

// CO-10, CO-11, CO-16, CO-19, CO-29, CO-34, CO-42, CO-52, CO-58, CO-59
#[test]
fn client_messages_decode_and_encode_back() {
    let mut checked = 0;
    for case in vectors::coop() {
        let steps: Vec<&Step> = case.steps.iter().filter(|step| step.to_daemon).collect();
        let items = read(&case, steps.iter().map(|step| &step.bytes[..]));
        for (item, step) in items.iter().zip(&steps) {
            checked += usize::from(check_item(&case.name, item, step));
        }
    }
    assert!(checked > 50, "only {checked} messages went both ways");
}

/// Decodes a reply as `T` and returns its encoding.
fn reply_again<T: serde::de::DeserializeOwned + serde::Serialize>(bytes: &[u8]) -> Vec<u8> {
    framed(&control::parse_reply::<T>(&bytes[4..]).unwrap())
}

// CO-11, CO-29, CO-34, CO-37, CO-42, CO-48, CO-50, CO-59, CO-61, CO-62, CO-66
#[test]
fn daemon_messages_decode_and_encode_back() {
    let mut checked = 0;
    for case in vectors::coop() {
        for step in case.steps.iter().filter(|step| !step.to_daemon && !step.bytes.is_empty()) {
            let Step { bytes, decoded, .. } = step;
            let again = if decoded.get("version").is_some() {
                reply_again::<HandshakeReply>(bytes)
            } else if decoded.get("sessions").is_some() {
                reply_again::<LsReply>(bytes)
            } else if decoded.get("token").is_some() {
                reply_again::<ServeReply>(bytes)
            } else if decoded["json"].get("event").is_some() {
                let event: StreamEvent = control::parse_event(&bytes[5..]).unwrap();
                assert_eq!(serde_json::to_value(&event).unwrap(), decoded["json"], "{}", case.name);
                control(&event)
            } else if decoded.get("tag").is_some() {
                control(&control::parse_reply::<OkReply>(&bytes[5..]).unwrap())
            } else if case.name == "shell" || case.name == "attach_stream_detach" {
                reply_again::<Attached>(bytes)
            } else {
                reply_again::<OkReply>(bytes)
            };
            assert_eq!(again, *bytes, "{}", case.name);
            checked += 1;
        }
    }
    assert!(checked > 30, "only {checked} replies");
}

// CO-11, CO-29, CO-34
#[test]
fn plain_answers_have_exactly_the_fields_other_clients_know() {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes[4..].to_vec()).unwrap();
    assert_eq!(text(framed(&HandshakeReply::accepted())), r#"{"version":1,"ok":true}"#);
    assert_eq!(text(framed(&Attached::default())), r#"{"ok":true}"#);
    assert_eq!(text(framed(&OkReply::default())), r#"{"ok":true}"#);
    let shell = Attached { pty: Some(swb_types::PtyId(1)), ..Attached::default() };
    assert_eq!(text(framed(&shell)), r#"{"ok":true,"pty":1}"#);
}

// CO-12, CO-14, CO-15, CO-18, CO-19, CO-21, CO-31
#[test]
fn answers_with_varying_values_have_the_expected_shape() {
    let mut checked = 0;
    for case in vectors::coop() {
        for pattern in case.steps.iter().filter_map(|step| step.pattern.clone()) {
            let mut sample: Value = pattern;
            for (key, value) in sample.as_object_mut().unwrap() {
                if value == "*" {
                    *value = if key == "pid" { json!(7) } else { json!("text") };
                }
            }
            if sample["sessions"] == "text" {
                continue; // the reply itself is checked above
            }
            let again = if sample.get("version").is_some() {
                serde_json::to_value(serde_json::from_value::<HandshakeReply>(sample.clone()).unwrap())
            } else if sample["ok"] == false {
                let reply: ErrorReply = serde_json::from_value(sample.clone()).unwrap();
                assert_ne!(reply.error, ErrorCode::Unknown, "{sample}");
                serde_json::to_value(reply)
            } else if sample.get("event").is_some() {
                serde_json::to_value(serde_json::from_value::<StreamEvent>(sample.clone()).unwrap())
            } else {
                serde_json::to_value(serde_json::from_value::<Created>(sample.clone()).unwrap())
            };
            assert_eq!(again.unwrap(), sample, "{}", case.name);
            checked += 1;
        }
    }
    assert!(checked > 15, "only {checked} patterns");
}

// CO-15, CO-23, CO-49: what the codec itself must reject, and what it must leave to the daemon
#[test]
fn malformed_requests_do_not_break_the_framing() {
    let refused = [
        "create_no_workspace",
        "resize_outside_stream",
        "unknown_command",
        "bad_invalid_utf8",
        "bad_invalid_json",
        "bad_not_an_object",
        "bad_empty_message",
        "bad_missing_cmd",
        "bad_wrong_type",
    ];
    for name in refused {
        let case = find(name);
        let mut reader = Reader::for_case(&case);
        let mut items = Vec::new();
        for step in case.steps.iter().filter(|step| step.to_daemon) {
            reader.push(&step.bytes, &mut items);
        }
        let Some(Item::Operation(Err(BadMessage(text)))) = items.last() else {
            panic!("{name}: {items:?}");
        };
        assert!(!text.is_empty());
        reader.push(&framed(&Operation::Detach), &mut items);
        assert_eq!(items.last(), Some(&Item::Operation(Ok(Operation::Detach))), "{name}");
    }
    let accepted = items_of("create_slash_in_name");
    assert!(matches!(accepted[..], [_, Item::Operation(Ok(Operation::Create(_)))]), "{accepted:?}");
}

// CO-10, CO-12, CO-13
#[test]
fn malformed_handshakes_differ_from_other_versions() {
    assert_eq!(items_of("handshake_version_2"), [Item::Handshake(Ok(2))]);
    let items = items_of("handshake_not_an_object");
    assert!(matches!(items[..], [Item::Handshake(Err(_))]), "{items:?}");
    let error = FrameError::TooLarge { len: 0x7b22_7665, max: control::MAX_FRAME };
    assert_eq!(items_of("handshake_without_prefix"), [Item::Failed(error)]);
}

// CO-14, CO-53
#[test]
fn lengths_out_of_bounds_are_framing_errors() {
    let too_large = Item::Failed(FrameError::TooLarge { len: 1_048_577, max: 1_048_576 });
    assert_eq!(items_of("bad_oversize"), [Item::Handshake(Ok(1)), too_large.clone()]);
    assert_eq!(items_of("bad_stream_oversize"), [too_large]);
    let too_short = Item::Failed(FrameError::TooShort { len: 0, min: 1 });
    assert_eq!(items_of("bad_stream_zero_length"), [too_short]);
    assert_eq!(items_of("max_size_accepted").len(), 2);
}

// CO-55
#[test]
fn stream_frames_without_meaning_are_ignored_not_errors() {
    assert_eq!(items_of("bad_stream_unknown_tag"), [Item::Stream(StreamFrame::Unknown(127))]);
    let items = items_of("bad_stream_control_json");
    let [Item::Stream(StreamFrame::Control(body))] = &items[..] else {
        panic!("{items:?}");
    };
    assert_eq!(body, b"{nope");
    assert_eq!(control::parse_client_control(body), None);
}

// CO-10
#[test]
fn a_truncated_frame_is_an_error_at_the_end() {
    let case = find("bad_truncated");
    let mut reader = Reader::for_case(&case);
    let mut items = Vec::new();
    for step in case.steps.iter().filter(|step| step.to_daemon) {
        reader.push(&step.bytes, &mut items);
    }
    assert_eq!(items, [Item::Handshake(Ok(1))]);
    assert!(!reader.frames.is_empty());
}

// CO-10, CO-17, CO-54
#[test]
fn every_split_gives_the_same_messages() {
    for case in vectors::coop() {
        let steps = case.steps.iter().filter(|step| step.to_daemon);
        let stream: Vec<u8> = steps.flat_map(|step| step.bytes.iter().copied()).collect();
        let whole = read(&case, [&stream[..]]);
        for cut in cuts(stream.len()) {
            let (a, b) = stream.split_at(cut);
            assert_eq!(read(&case, [a, b]), whole, "{} cut at {cut}", case.name);
        }
        assert_eq!(read(&case, stream.chunks(1)), whole, "{} byte by byte", case.name);
    }
}

// CO-54
#[test]
fn keys_sent_together_with_the_attach_are_stream_frames() {
    let items = items_of("attach_stream_detach");
    let whole = find("attach_stream_detach");
    let bytes: Vec<u8> = whole.steps.iter().filter(|s| s.to_daemon).flat_map(|s| s.bytes.clone()).collect();
    let at_once = read(&whole, [&bytes[..]]);
    assert_eq!(at_once, items);
    assert_eq!(at_once[3], Item::Stream(StreamFrame::Data(b"hi\r".to_vec())));
}
