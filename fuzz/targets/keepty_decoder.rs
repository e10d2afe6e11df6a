//! Arbitrary bytes on a keepty connection: no panic, no hunger for memory, the same messages however the
//! bytes arrive, and every message survives being written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use swb_wire::keepty::{DecodeError, Decoder, Message, encode};

type Outcome = (Vec<Message>, Option<DecodeError>);

fuzz_target!(|data: &[u8]| {
    let whole = decode([data], data.len());
    assert_eq!(decode(data.chunks(1), data.len()), whole);
    let (a, b) = data.split_at(data.len() / 2);
    assert_eq!(decode([a, b], data.len()), whole);

    let messages: Vec<Message> = whole
        .0
        .into_iter()
        .filter(|message| !matches!(message, Message::Malformed(_)))
        .collect();
    let mut bytes = Vec::new();
    for message in &messages {
        encode(message, &mut bytes);
    }
    assert_eq!(decode([&bytes[..]], bytes.len()), (messages, None));
});

fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, total: usize) -> Outcome {
    let mut decoder = Decoder::new();
    let mut messages = Vec::new();
    for piece in pieces {
        decoder.push(piece);
        assert!(
            decoder.capacity() <= 2 * total + 64,
            "more memory than bytes that arrived"
        );
        loop {
            match decoder.next() {
                Ok(Some(message)) => messages.push(message),
                Ok(None) => break,
                Err(error) => {
                    assert_eq!(decoder.next(), Err(error), "errors are final");
                    return (messages, Some(error));
                }
            }
        }
    }
    (messages, None)
}
