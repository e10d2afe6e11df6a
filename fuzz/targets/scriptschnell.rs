//! Arbitrary bytes on a scriptschnell connection, from either side: no panic, no hunger for memory, the same lines
//! however the bytes arrive, and every request survives being written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use swb_wire::scriptschnell::{Envelope, LineError, Lines, encode_request, parse_server};

fuzz_target!(|data: &[u8]| {
    let whole = lines([data], data.len());
    assert_eq!(lines(data.chunks(1), data.len()), whole);
    let (a, b) = data.split_at(data.len() / 2);
    assert_eq!(lines([a, b], data.len()), whole);
    for line in whole.iter().flatten() {
        check(line);
    }
    // Mutation rarely keeps the end of a line, so everything is also read as one.
    if let Ok(text) = std::str::from_utf8(data) {
        check(text);
    }
});

fn lines<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
    total: usize,
) -> Vec<Result<String, LineError>> {
    let mut reader = Lines::default();
    let mut lines = Vec::new();
    for piece in pieces {
        reader.push(piece);
        assert!(
            reader.capacity() <= 2 * total + 64,
            "more memory than bytes that arrived"
        );
        loop {
            match reader.next() {
                Ok(Some(line)) => lines.push(Ok(line)),
                Ok(None) => break,
                Err(LineError::TooLong) => return lines,
                Err(error) => lines.push(Err(error)),
            }
        }
    }
    lines
}

fn check(line: &str) {
    if let Ok(envelope) = Envelope::parse(line)
        && let Ok(request) = envelope.request()
    {
        let mut out = Vec::new();
        encode_request(&request, envelope.request_id.as_deref(), &mut out);
        let text = String::from_utf8(out).expect("JSON is text");
        let again = Envelope::parse(text.trim_end()).expect("what we write we can read");
        assert_eq!(again.request_id, envelope.request_id);
        assert_eq!(again.request().expect("a request stays one"), request);
    }
    // A message of a daemon is only looked at: floating-point numbers need not be the same again.
    let _read = parse_server(line);
}
