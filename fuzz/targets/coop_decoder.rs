//! Arbitrary bytes on a coop connection, from either side and in both modes: no panic, no hunger for
//! memory, the same messages however the bytes arrive, small answers to mistakes, and every request
//! survives being written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use swb_wire::control::{self, BadMessage, ErrorReply, Operation, StreamFrame};
use swb_wire::{FrameError, LengthPrefixed};

#[derive(Debug, PartialEq)]
enum Item {
    Handshake(Result<i128, BadMessage>),
    Operation(Result<Operation, BadMessage>),
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
    check(Item::Handshake(control::parse_handshake(body)));
    check(Item::Operation(control::parse_operation(body)));
    check(Item::Stream(StreamFrame::Control(body.to_vec())));
    check_answer(body);
});

fn read<'a>(mut mode: Mode, pieces: impl IntoIterator<Item = &'a [u8]>, total: usize) -> Vec<Item> {
    let mut frames = control::command_frames();
    if mode == Mode::Stream {
        control::enter_stream(&mut frames);
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
            Item::Handshake(control::parse_handshake(&body))
        }
        Mode::Command => {
            let request = control::parse_operation(&body);
            if matches!(request, Ok(Operation::Attach(_) | Operation::Shell(_))) {
                *mode = Mode::Stream;
                control::enter_stream(frames);
            }
            Item::Operation(request)
        }
        Mode::Stream => Item::Stream(control::parse_stream(body)),
    }
}

fn check(item: Item) {
    let mut out = Vec::new();
    match item {
        Item::Operation(Ok(request)) => {
            control::encode_json(&request, &mut out).expect("it came in a frame, so it fits one");
            assert_eq!(control::parse_operation(&out[4..]), Ok(request));
        }
        Item::Handshake(Err(bad)) | Item::Operation(Err(bad)) => {
            control::encode_json(&ErrorReply::from(bad), &mut out).expect("explanations are short");
            assert!(out.len() < 8192);
        }
        Item::Stream(StreamFrame::Data(data)) => {
            control::encode_data(&data, &mut out);
            assert_eq!(control::parse_stream(out[4..].to_vec()), StreamFrame::Data(data));
        }
        Item::Stream(StreamFrame::Control(body)) => {
            if let Some(said) = control::parse_client_control(&body) {
                control::encode_control(&said, &mut out).expect("it came in a frame, so it fits one");
                assert_eq!(control::parse_client_control(&out[5..]), Some(said));
            }
        }
        Item::Stream(StreamFrame::Unknown(_)) | Item::Handshake(Ok(_)) | Item::Failed(_) => {}
    }
}

/// Reads the same bytes as a client would read answers and events.
fn read_as_client(data: &[u8]) {
    let mut frames = control::command_frames();
    frames.push(data);
    while let Ok(Some(body)) = frames.next() {
        check_answer(&body);
        check_answer(body.get(1..).unwrap_or_default());
    }
}

/// Reads one answer or event; for answers all that matters is that it ends.
fn check_answer(body: &[u8]) {
    drop(control::parse_reply::<control::HandshakeReply>(body));
    drop(control::parse_reply::<control::LsReply>(body));
    drop(control::parse_reply::<control::Attached>(body));
    drop(control::parse_reply::<control::LogsReply>(body));
    drop(control::parse_reply::<control::StatusReply>(body));
    if let Some(event) = control::parse_event(body) {
        let mut out = Vec::new();
        control::encode_control(&event, &mut out).expect("an event is short");
        assert_eq!(control::parse_event(&out[5..]), Some(event));
    }
}
