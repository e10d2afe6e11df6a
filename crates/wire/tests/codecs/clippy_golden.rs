//! The clippy codec against golden bytes.

use crate::reading::read_pieces;
use crate::vectors::{self, Case, Step, cuts, hex};
use serde_json::{Value, json};
use swb_wire::clippy::{
    self, MAX_FRAME, Malformed, Message, PeerRole, Reason, Request, RequestError, Response, Sink,
    encode_message, encode_request, parse_message, parse_request,
};
use swb_wire::{FrameError, LengthPrefixed};

/// Bytes as written in the vectors.
fn bin(bytes: &[u8]) -> Value {
    let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    json!({ "$bin_hex": text })
}

/// The meaning of a request, as written in the vectors. Absent fields are left out.
fn described(id: u32, request: &Request<'_>) -> Value {
    let mut value = match *request {
        Request::Capture { session } => json!({"type": "capture", "session": session}),
        Request::CaptureById { turn_id } => json!({"type": "capture_by_id", "turn_id": turn_id}),
        Request::Deliver(sink) => match sink {
            Sink::Clipboard => json!({"type": "deliver", "sink": "clipboard"}),
            Sink::File { path } => json!({"type": "deliver", "sink": "file", "path": path}),
            Sink::Inject { session } => json!({"type": "deliver", "sink": "inject", "session": session}),
        },
        Request::Deregister { session } => json!({"type": "deregister", "session": session}),
        Request::GetTurn { turn_id } => json!({"type": "get_turn", "turn_id": turn_id}),
        Request::Hello { version, role } => {
            json!({"type": "hello", "version": version, "role": role.map(PeerRole::as_str)})
        }
        Request::ListSessions => json!({"type": "list_sessions"}),
        Request::ListTurns { session, limit } => {
            json!({"type": "list_turns", "session": session, "limit": limit})
        }
        Request::Paste { session } => json!({"type": "paste", "session": session}),
        Request::Register { session, pid, pattern } => {
            json!({"type": "register", "session": session, "pid": pid, "pattern": pattern})
        }
        Request::TurnCompleted { session, content, interrupted, timestamp, byte_length: _ } => json!({
            "type": "turn_completed", "session": session, "content": bin(content),
            "interrupted": interrupted, "timestamp": timestamp,
        }),
    };
    value["id"] = json!(id);
    without_nil(value)
}

fn described_message(message: &Message<'_>) -> Value {
    match message {
        Message::HelloAck { error } => {
            let status = if error.is_some() { "error" } else { "ok" };
            without_nil(json!({"type": "hello_ack", "id": 0, "status": status, "error": error}))
        }
        Message::Inject { content } => json!({"type": "inject", "id": 0, "content": bin(content)}),
        Message::Response(response) => described_response(response),
        Message::Unknown => json!("unknown"),
    }
}

fn described_response(response: &Response<'_>) -> Value {
    let sessions = response.sessions.as_ref().map(|sessions| {
        let item = |item: &clippy::SessionItem<'_>| json!({"session": item.session, "pid": item.pid, "has_turn": item.has_turn});
        sessions.iter().map(item).collect::<Vec<_>>()
    });
    let turns = response.turns.as_ref().map(|turns| {
        let item = |item: &clippy::TurnItem<'_>| {
            json!({
                "turn_id": item.turn_id, "timestamp": item.timestamp, "byte_length": item.byte_length,
                "interrupted": item.interrupted, "truncated": item.truncated,
            })
        };
        turns.iter().map(item).collect::<Vec<_>>()
    });
    without_nil(json!({
        "type": "response", "id": response.id, "status": if response.error.is_some() { "error" } else { "ok" },
        "error": response.error, "size": response.size, "turn_id": response.turn_id,
        "timestamp": response.timestamp, "byte_length": response.byte_length,
        "interrupted": response.interrupted, "truncated": response.truncated, "sessions": sessions,
        "turns": turns, "content": response.content.map(bin),
    }))
}

fn without_nil(mut value: Value) -> Value {
    value.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    value
}

/// The frames in a stream, and how it ends.
fn frames<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Vec<u8>>, Option<FrameError>) {
    read_pieces(clippy::frames(), LengthPrefixed::push, LengthPrefixed::next, pieces)
}

fn payload(step: &Step) -> Vec<u8> {
    let (mut frames, error) = frames([&step.bytes[..]]);
    assert_eq!((frames.len(), error), (1, None), "{}", step.decoded);
    frames.remove(0)
}

fn find(name: &str) -> Case {
    vectors::clippy().into_iter().find(|case| case.name == name).unwrap_or_else(|| panic!("{name}"))
}

/// The last message a peer sends in a case.
fn last_sent(name: &str) -> Vec<u8> {
    payload(find(name).steps.iter().rfind(|step| step.to_daemon).unwrap())
}

// CB-7, CB-10, CB-11, CB-12, CB-13, CB-17, CB-18, CB-26, CB-27, CB-28, CR-20, CR-22
#[test]
fn golden_requests_decode_to_their_meaning() {
    let refused = [
        ("register_missing_pid", 1, Reason::UnknownType),
        ("unknown_type", 77, Reason::UnknownType),
        ("broker_only_type", 5, Reason::UnknownType),
        ("pipelined_requests", 2, Reason::UnknownType),
        ("max_length_accepted", 1, Reason::UnknownType),
        ("deliver_missing_field", 1, Reason::MissingField),
        ("deliver_missing_field", 2, Reason::MissingField),
        ("deliver_unknown_sink", 1, Reason::UnknownSink),
    ];
    let (mut understood, mut seen) = (0, Vec::new());
    let cases = vectors::clippy();
    for case in cases.iter().filter(|case| !case.name.starts_with("bad_")) {
        let stream: Vec<&[u8]> =
            case.steps.iter().filter(|step| step.to_daemon).map(|step| &step.bytes[..]).collect();
        for frame in frames(stream).0 {
            match parse_request(&frame) {
                Ok((id, request)) => {
                    let Some(mut want) = description_of(case, &frame) else { continue };
                    if case.name == "turn_content_as_str" && want["content"] == "abc" {
                        want["content"] = bin(b"abc");
                    }
                    // Unknown values are not encoded: an extra key, another role.
                    for (name, key) in [("hello_extra_key", "agent"), ("hello_unknown_role", "role")] {
                        if case.name == name {
                            want.as_object_mut().unwrap().remove(key);
                        }
                    }
                    assert_eq!(described(id, &request), want, "{}", case.name);
                    understood += 1;
                }
                Err(RequestError::Refused { id, reason }) => seen.push((&*case.name, id, reason)),
                Err(other) => panic!("{}: {other}", case.name),
            }
        }
    }
    seen.sort_by_key(|(name, id, _)| (refused.iter().position(|(other, ..)| other == name), *id));
    assert_eq!(seen, refused);
    assert!(understood > 70, "only {understood} requests");
}

/// What the vectors specify for a frame; several frames in one step are only remarked upon.
fn description_of(case: &Case, frame: &[u8]) -> Option<Value> {
    let mut steps = case.steps.iter().filter(|step| step.to_daemon && step.decoded.is_object());
    steps.find(|step| step.bytes.ends_with(frame)).map(|step| without_nil(step.decoded.clone()))
}

// CB-15, CB-16, CB-17
#[test]
fn golden_replies_decode_and_encode_back() {
    let (mut read, mut same) = (0, 0);
    for case in vectors::clippy() {
        for step in case.steps.iter().filter(|step| !step.to_daemon && !step.bytes.is_empty()) {
            let frame = payload(step);
            let message = parse_message(&frame).unwrap();
            assert_eq!(described_message(&message), step.decoded, "{}", case.name);
            let mut out = Vec::new();
            encode_message(&message, &mut out).unwrap();
            assert_eq!(out.len(), step.bytes.len(), "{}: as short as it can be", case.name);
            assert_eq!(parse_message(&out[4..]), Ok(message), "{}", case.name);
            read += 1;
            same += usize::from(out == step.bytes);
        }
    }
    // The reply to `get_turn` has its content last, so that it can be sent without a copy.
    assert!(read > 60 && read - same <= 2, "{same} of {read} byte for byte");
}

// CB-7, CB-12, CB-15
#[test]
fn our_requests_are_the_golden_bytes() {
    let odd = ["hello_keys_in_other_order", "hello_extra_key", "hello_wide_integers", "turn_content_as_str"];
    let mut same = 0;
    for case in vectors::clippy().iter().filter(|case| !odd.contains(&case.name.as_str())) {
        for step in case.steps.iter().filter(|step| step.to_daemon && step.decoded.is_object()) {
            let (frames, _) = frames([&step.bytes[..]]);
            let [frame] = &frames[..] else { continue };
            let Ok((id, request)) = parse_request(frame) else { continue };
            if matches!(request, Request::Hello { role: None, .. })
                || step.decoded.get("limit").is_some_and(Value::is_null)
            {
                continue;
            }
            let mut out = Vec::new();
            encode_request(id, &request, &mut out).unwrap();
            assert_eq!(out, step.bytes, "{}", case.name);
            same += 1;
        }
    }
    assert!(same > 70, "only {same}");
}

// CB-13
#[test]
fn a_message_without_type_or_id_is_malformed() {
    for name in [
        "bad_zero_length",
        "bad_not_a_map_int",
        "bad_not_a_map_array",
        "bad_no_id",
        "bad_id_is_text",
        "bad_id_negative",
        "bad_truncated_msgpack",
        "bad_reserved_msgpack_byte",
    ] {
        let error = parse_request(&last_sent(name)).unwrap_err();
        assert_eq!(error, RequestError::Malformed(Malformed), "{name}");
        assert_eq!(parse_message(&last_sent(name)), Err(Malformed), "{name}");
    }
    // A type that is not a string, an id that does not fit, text that is not UTF-8, and bytes that end in mid-value
    // after both were read.
    for bytes in [
        "82a4747970650ba2696401",
        "82a474797065a474797065a26964cf0000000100000000",
        "82a474797065a1ffa2696401",
        "83a474797065a568656c6c6fa2696400a1",
        "83a474797065a568656c6c6fa2696400a178c4",
    ] {
        assert_eq!(parse_request(&hex(bytes)), Err(RequestError::Malformed(Malformed)), "{bytes}");
    }
}

// CB-8
#[test]
fn a_length_above_the_limit_fails_the_frames_on_its_header() {
    for (name, len) in [("bad_oversize_length", MAX_FRAME + 1), ("bad_huge_length", u32::MAX as usize)] {
        let case = find(name);
        let (frames, error) =
            frames(case.steps.iter().filter(|step| step.to_daemon).map(|step| &step.bytes[..]));
        assert_eq!((frames.len(), error), (1, Some(FrameError::TooLarge { len, max: MAX_FRAME })), "{name}");
    }
}

// CB-14
#[test]
fn a_truncated_frame_is_not_a_message() {
    let case = find("bad_truncated_frame");
    let (frames, error) = frames(case.steps.iter().filter(|step| step.to_daemon).map(|step| &step.bytes[..]));
    assert_eq!((frames.len(), error), (1, None));
}

// CB-7
#[test]
fn every_split_gives_the_same_frames() {
    for case in vectors::clippy() {
        for to_daemon in [true, false] {
            let steps = case.steps.iter().filter(|step| step.to_daemon == to_daemon);
            let stream: Vec<u8> = steps.flat_map(|step| step.bytes.iter().copied()).collect();
            let whole = frames([&stream[..]]);
            let huge = stream.len() > MAX_FRAME;
            for cut in cuts(stream.len()).into_iter().step_by(if huge { 16 } else { 1 }) {
                let (a, b) = stream.split_at(cut);
                assert!(frames([a, b]) == whole, "{} cut at {cut}", case.name);
            }
            if !huge {
                assert!(frames(stream.chunks(1)) == whole, "{} byte by byte", case.name);
            }
        }
    }
}

// CB-12: every form of a small integer, the signed ones too.
#[test]
fn integers_of_any_width_are_read() {
    for one in [
        "01",
        "cc01",
        "cd0001",
        "ce00000001",
        "cf0000000000000001",
        "d001",
        "d10001",
        "d200000001",
        "d30000000000000001",
    ] {
        let bytes = hex(&format!("82a474797065ad6c6973745f73657373696f6e73a26964{one}"));
        assert_eq!(parse_request(&bytes), Ok((1, Request::ListSessions)), "{one}");
    }
}

// CB-11
#[test]
fn unknown_keys_of_every_kind_are_skipped() {
    for value in [
        "c0",
        "c2",
        "ff",
        "ca00000000",
        "cb0000000000000000",
        "d40161",
        "d5016161",
        "d60161616161",
        "d7016161616161616161",
        "d80161616161616161616161616161616161",
        "c7020161ff",
        "c800020161ff",
        "c9000000020161ff",
        "93010203",
        "dc0001c0",
        "dd00000001c0",
        "8101c0",
        "de0001a161c0",
        "df00000001a16193c0c090",
        "d903616161",
        "da0001ff",
    ] {
        let bytes = hex(&format!("84a17a{value}a474797065ad6c6973745f73657373696f6e73{value}c0a2696401"));
        assert_eq!(parse_request(&bytes), Ok((1, Request::ListSessions)), "{value}");
    }
}

// CB-28
#[test]
fn mistyped_fields_are_refused_with_the_id() {
    let refused = |bytes: &str| parse_request(&hex(bytes)).unwrap_err();
    let unknown = RequestError::Refused { id: 3, reason: Reason::UnknownType };
    for bytes in [
        "83a474797065a763617074757265a2696403a773657373696f6e01", // capture, session: 1
        "82a474797065a763617074757265a2696403",                   // capture, no session
        "83a474797065a763617074757265a2696403a773657373696f6ea1ff", // session: not UTF-8
        "82a474797065a764656c69766572a2696403",                   // deliver, no sink
        "84a474797065a764656c69766572a2696403a473696e6ba466696c65a47061746801", // path: 1
        "84a474797065aa6c6973745f7475726e73a2696403a773657373696f6ea173a56c696d6974a131", // limit: "1"
        "82a474797065a568656c6c6fa2696403",                       // hello, no version
    ] {
        assert_eq!(refused(bytes), unknown, "{bytes}");
    }
}

// CB-20, CB-23
#[test]
fn a_hello_with_an_unknown_role_still_has_its_version() {
    let hello = Request::Hello { version: 1, role: None };
    assert_eq!(parse_request(&last_sent("hello_unknown_role")), Ok((0, hello)));
}

// CB-8: content that does not fit is rejected, and nothing is left in the buffer.
#[test]
fn messages_too_long_for_a_frame_are_not_encoded() {
    let content = vec![0; MAX_FRAME];
    let mut out = b"before".to_vec();
    let turn = |content| Request::TurnCompleted {
        session: "s",
        content,
        interrupted: false,
        timestamp: None,
        byte_length: None,
    };
    assert!(encode_request(1, &turn(&content), &mut out).is_err());
    assert!(encode_message(&Message::Inject { content: &content }, &mut out).is_err());
    let response = Response { content: Some(&content), ..Response::ok(1) };
    assert!(encode_message(&Message::Response(response), &mut out).is_err());
    assert_eq!(out, b"before");
    assert!(encode_request(1, &turn(&content[200..]), &mut out).is_ok());
}

// CB-46: a head and the content after it make the same frame.
#[test]
fn content_can_be_sent_without_a_copy() {
    for len in [0, 1, 255, 256, 65_536] {
        let content = vec![7; len];
        let mut whole = Vec::new();
        encode_message(&Message::Inject { content: &content }, &mut whole).unwrap();
        let mut parts = Vec::new();
        clippy::inject_head(len, &mut parts).unwrap();
        parts.extend_from_slice(&content);
        assert_eq!(parts, whole);

        let response = Response { turn_id: Some("s:1"), truncated: Some(false), ..Response::ok(9) };
        let mut parts = Vec::new();
        clippy::response_head(&response, Some(len), &mut parts).unwrap();
        parts.extend_from_slice(&content);
        let whole = Message::Response(Response { content: Some(&content), ..response });
        assert_eq!(parse_message(&parts[4..]), Ok(whole));
    }
}
