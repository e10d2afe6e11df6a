//! Arbitrary bytes on a clippy connection, from either side: no panic, no hunger for memory, the same frames
//! however the bytes arrive, and every message survives being written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use swb_wire::FrameError;
use swb_wire::clippy::{self, Message, Request};

fuzz_target!(|data: &[u8]| {
    let whole = frames([data], data.len());
    assert_eq!(frames(data.chunks(1), data.len()), whole);
    let (a, b) = data.split_at(data.len() / 2);
    assert_eq!(frames([a, b], data.len()), whole);
    for frame in &whole.0 {
        check(frame);
    }
    // Mutation rarely keeps a length right, so the rest is also read as a message of just that length.
    check(data.get(4..).unwrap_or_default());
});

fn frames<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
    total: usize,
) -> (Vec<Vec<u8>>, Option<FrameError>) {
    let mut reader = clippy::frames();
    let mut frames = Vec::new();
    for piece in pieces {
        reader.push(piece);
        assert!(
            reader.capacity() <= 2 * total + 64,
            "more memory than bytes that arrived"
        );
        loop {
            match reader.next() {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(error) => {
                    assert_eq!(reader.next(), Err(error), "errors are final");
                    return (frames, Some(error));
                }
            }
        }
    }
    (frames, None)
}

fn check(payload: &[u8]) {
    let mut out = Vec::new();
    if let Ok((id, request)) = clippy::parse_request(payload) {
        clippy::encode_request(id, &request, &mut out).expect("it came in a frame, so it fits one");
        // A role that is not known is not kept, so it is not the same again.
        if !matches!(request, Request::Hello { role: None, .. }) {
            assert_eq!(clippy::parse_request(&out[4..]), Ok((id, request)));
        }
    }
    out.clear();
    if let Ok(message) = clippy::parse_message(payload) {
        clippy::encode_message(&message, &mut out).expect("it came in a frame, so it fits one");
        if message != Message::Unknown {
            assert_eq!(clippy::parse_message(&out[4..]), Ok(message));
        }
    }
}
