//! Arbitrary bytes on a coop connection, from either side and in both modes: no panic, no hunger for
//! memory, the same messages however the bytes arrive, small answers to mistakes, and every request
//! survives being written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use swb_wire::coop::{self, BadMessage, ErrorReply, Request, StreamFrame};
use swb_wire::{FrameError, LengthPrefixed};

#[derive(Debug, PartialEq)]
enum Item {
    Handshake(Result<i128, BadMessage>),
    Request(Result<Request, BadMessage>),
    Stream(StreamFrame),
    Failed(FrameError),
}

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Handshake,
    Command,
    Stream,
}

fuzz_target!(|data: &[u8]| {
    for mode in [Mode::Handshake, Mode::Command, Mode::Stream] {
        let whole = read(mode, [data], data.len());
        assert_eq!(read(mode, data.chunks(1), data.len()), whole);
        let (a, b) = data.split_at(data.len() / 2);
        assert_eq!(read(mode, [a, b], data.len()), whole);
        whole.into_iter().for_each(check);
    }
    read_as_client(data);
    // Mutation rarely keeps a length right, so the rest is also read as a message of just that length.
    let body = data.get(4..).unwrap_or_default();
    check(Item::Handshake(coop::parse_handshake(body)));
    check(Item::Request(coop::parse_request(body)));
    check(Item::Stream(StreamFrame::Control(body.to_vec())));
    check_answer(body);
});

fn read<'a>(mut mode: Mode, pieces: impl IntoIterator<Item = &'a [u8]>, total: usize) -> Vec<Item> {
    let mut frames = coop::command_frames();
    if mode == Mode::Stream {
        coop::enter_stream(&mut frames);
    }
    let mut items = Vec::new();
    for piece in pieces {
        frames.push(piece);
        assert!(
            frames.capacity() <= 2 * total + 64,
            "more memory than bytes that arrived"
        );
        loop {
            match frames.next() {
                Ok(Some(body)) => items.push(one(&mut mode, body, &mut frames)),
                Ok(None) => break,
                Err(error) => {
                    assert_eq!(frames.next(), Err(error), "errors are final");
                    items.push(Item::Failed(error));
                    return items;
                }
            }
        }
    }
    items
}

fn one(mode: &mut Mode, body: Vec<u8>, frames: &mut LengthPrefixed) -> Item {
    match mode {
        Mode::Handshake => {
            *mode = Mode::Command;
            Item::Handshake(coop::parse_handshake(&body))
        }
        Mode::Command => {
            let request = coop::parse_request(&body);
            if matches!(request, Ok(Request::Attach(_) | Request::Shell(_))) {
                *mode = Mode::Stream;
                coop::enter_stream(frames);
            }
            Item::Request(request)
        }
        Mode::Stream => Item::Stream(coop::parse_stream(body)),
    }
}

fn check(item: Item) {
    let mut out = Vec::new();
    match item {
        Item::Request(Ok(request)) => {
            coop::encode_json(&request, &mut out).expect("it came in a frame, so it fits one");
            assert_eq!(coop::parse_request(&out[4..]), Ok(request));
        }
        Item::Handshake(Err(bad)) | Item::Request(Err(bad)) => {
            coop::encode_json(&ErrorReply::from(bad), &mut out).expect("explanations are short");
            assert!(out.len() < 8192);
        }
        Item::Stream(StreamFrame::Data(data)) => {
            coop::encode_data(&data, &mut out);
            assert_eq!(coop::parse_stream(out[4..].to_vec()), StreamFrame::Data(data));
        }
        Item::Stream(StreamFrame::Control(body)) => {
            if let Some(said) = coop::parse_client_control(&body) {
                coop::encode_control(&said, &mut out).expect("it came in a frame, so it fits one");
                assert_eq!(coop::parse_client_control(&out[5..]), Some(said));
            }
        }
        Item::Stream(StreamFrame::Unknown(_)) | Item::Handshake(Ok(_)) | Item::Failed(_) => {}
    }
}

/// Reads the same bytes as a client would read answers and events.
fn read_as_client(data: &[u8]) {
    let mut frames = coop::command_frames();
    frames.push(data);
    while let Ok(Some(body)) = frames.next() {
        check_answer(&body);
        check_answer(body.get(1..).unwrap_or_default());
    }
}

/// Reads one answer or event; for answers all that matters is that it ends.
fn check_answer(body: &[u8]) {
    drop(coop::parse_reply::<coop::HandshakeReply>(body));
    drop(coop::parse_reply::<coop::LsReply>(body));
    drop(coop::parse_reply::<coop::Attached>(body));
    drop(coop::parse_reply::<coop::LogsReply>(body));
    drop(coop::parse_reply::<coop::StatusReply>(body));
    if let Some(event) = coop::parse_event(body) {
        let mut out = Vec::new();
        coop::encode_control(&event, &mut out).expect("an event is short");
        assert_eq!(coop::parse_event(&out[5..]), Some(event));
    }
}
