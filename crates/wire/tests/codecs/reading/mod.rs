//! Decoders as tests use them: bytes that arrive in pieces, requests encoded and decoded.

#![allow(dead_code, reason = "each test binary uses its own part of this")]

use serde_json::Value;
use swb_wire::control::{Operation, parse_operation};

/// Everything that a decoder returns for pieces that arrive one after the other, up to the first error.
pub(crate) fn read_pieces<'a, R, T, E>(
    mut reader: R,
    push: impl Fn(&mut R, &[u8]),
    next: impl Fn(&mut R) -> Result<Option<T>, E>,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<T>, Option<E>) {
    let mut read = Vec::new();
    for piece in pieces {
        push(&mut reader, piece);
        loop {
            match next(&mut reader) {
                Ok(Some(item)) => read.push(item),
                Ok(None) => break,
                Err(error) => return (read, Some(error)),
            }
        }
    }
    (read, None)
}

/// A coop request, which must encode to the same bytes again.
#[track_caller]
pub(crate) fn round_trip(text: &Value) -> Operation {
    let request = parse_operation(text.to_string().as_bytes()).unwrap_or_else(|bad| panic!("{text}: {bad}"));
    assert_eq!(serde_json::to_value(&request).expect("it has a JSON form"), *text);
    request
}
