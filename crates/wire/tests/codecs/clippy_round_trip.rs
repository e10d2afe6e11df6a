//! clippy messages decode as they were encoded, and no bytes make the decoder panic or allocate without bound.

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use swb_wire::clippy::{
    Malformed, Message, PeerRole, Request, RequestError, Response, SessionItem, Sink, TurnItem,
    encode_message, encode_request, parse_message, parse_request,
};

#[derive(Debug, Clone)]
struct Words {
    session: String,
    other: String,
    content: Vec<u8>,
    flags: (bool, bool),
    numbers: (u32, u32, u64),
    limit: Option<u32>,
    time: Option<u64>,
}

/// Short content, or long enough for each of the three forms of a length.
fn content() -> impl Strategy<Value = Vec<u8>> {
    let long = (0..70_000_usize, any::<u8>()).prop_map(|(len, byte)| vec![byte; len]);
    prop_oneof![vec(any::<u8>(), 0..300), long]
}

fn words() -> impl Strategy<Value = Words> {
    let text = || "\\PC{0,300}";
    let numbers = any::<(u32, u32, u64)>();
    (text(), text(), content(), any::<(bool, bool)>(), numbers, of(any::<u32>()), of(any::<u64>())).prop_map(
        |(session, other, content, flags, numbers, limit, time)| Words {
            session,
            other,
            content,
            flags,
            numbers,
            limit,
            time,
        },
    )
}

fn requests(words: &Words) -> Vec<Request<'_>> {
    let Words { session, other, content, flags, numbers, limit, time } = words;
    vec![
        Request::Capture { session },
        Request::CaptureById { turn_id: other },
        Request::Deliver(Sink::Clipboard),
        Request::Deliver(Sink::File { path: other }),
        Request::Deliver(Sink::Inject { session }),
        Request::Deregister { session },
        Request::GetTurn { turn_id: other },
        Request::Hello {
            version: numbers.0,
            role: Some(if flags.0 { PeerRole::Client } else { PeerRole::Wrapper }),
        },
        Request::ListSessions,
        Request::ListTurns { session, limit: *limit },
        Request::Paste { session },
        Request::Register { session, pid: numbers.0, pattern: other },
        Request::TurnCompleted {
            session,
            content,
            interrupted: flags.0,
            timestamp: *time,
            byte_length: *limit,
        },
    ]
}

fn messages(words: &Words) -> Vec<Message<'_>> {
    let Words { session, other, content, flags, numbers, limit, time } = words;
    let item = SessionItem {
        session,
        pid: numbers.0,
        has_turn: flags.0,
        client_pids: limit.iter().copied().collect(),
    };
    let turn = TurnItem {
        turn_id: other,
        timestamp: numbers.2,
        byte_length: numbers.1,
        interrupted: flags.0,
        truncated: flags.1,
    };
    vec![
        Message::HelloAck { error: None },
        Message::HelloAck { error: Some(other) },
        Message::Inject { content },
        Message::Response(Response {
            id: numbers.0,
            error: flags.0.then_some(other),
            size: *limit,
            turn_id: flags.1.then_some(other),
            timestamp: *time,
            byte_length: *limit,
            interrupted: flags.0.then_some(flags.1),
            truncated: flags.1.then_some(flags.0),
            sessions: flags.0.then(|| vec![item; 20]),
            turns: flags.1.then(|| vec![turn; 3]),
            content: flags.0.then_some(content),
        }),
    ]
}

proptest! {
    // CB-7, CB-10, CB-15, CB-16, CB-17
    #[test]
    fn encoded_messages_decode_to_themselves(words in words(), id: u32) {
        for request in requests(&words) {
            let mut out = Vec::new();
            encode_request(id, &request, &mut out).unwrap();
            prop_assert_eq!(parse_request(&out[4..]), Ok((id, request)));
            prop_assert_eq!(u32::from_be_bytes(out[..4].try_into().unwrap()) as usize, out.len() - 4);
        }
        for message in messages(&words) {
            let mut out = Vec::new();
            encode_message(&message, &mut out).unwrap();
            prop_assert_eq!(parse_message(&out[4..]), Ok(message));
        }
    }

    // CB-13
    #[test]
    fn a_message_cut_anywhere_is_malformed(words in words(), cut: prop::sample::Index) {
        for request in requests(&words) {
            let mut out = Vec::new();
            encode_request(1, &request, &mut out).unwrap();
            let cut = 4 + cut.index(out.len() - 4);
            prop_assert_eq!(parse_request(&out[4..cut]), Err(RequestError::Malformed(Malformed)));
        }
    }

    // CB-13
    #[test]
    fn arbitrary_bytes_do_no_harm(bytes in vec(any::<u8>(), 0..200)) {
        if let Ok((id, request)) = parse_request(&bytes) {
            prop_assert!(encode_request(id, &request, &mut Vec::new()).is_ok());
        }
        // With a plausible beginning, the rest is parsed too.
        let mut likely = b"\x8f\xa4type\xa8response\xa2id\x01\xa6status\xa2ok\xa8sessions".to_vec();
        likely.extend_from_slice(&bytes);
        if let Ok(message) = parse_message(&likely) {
            prop_assert!(encode_message(&message, &mut Vec::new()).is_ok());
        }
    }
}

// CB-13: sixteen megabytes of brackets are neither recursion nor memory.
#[test]
fn deep_nesting_costs_no_memory() {
    let mut deep = b"\x83\xa4type\xadlist_sessions\xa2id\x01\xa1x".to_vec();
    deep.resize(16 * 1024 * 1024 - 1, 0x91);
    deep.push(0xc0);
    assert_eq!(parse_request(&deep), Ok((1, Request::ListSessions)));
    deep.pop();
    assert_eq!(parse_request(&deep), Err(RequestError::Malformed(Malformed)));
}

// CB-13: announced counts cost nothing.
#[test]
fn announced_counts_are_not_allocated() {
    let mut sessions = b"\x84\xa4type\xa8response\xa2id\x01\xa6status\xa2ok\xa8sessions\xdd".to_vec();
    sessions.extend_from_slice(&u32::MAX.to_be_bytes());
    assert_eq!(parse_message(&sessions), Err(Malformed));
    let map = b"\xdf\xff\xff\xff\xff\xa4type\xa1x\xa2id\x01";
    assert_eq!(parse_request(map), Err(RequestError::Malformed(Malformed)));
}
