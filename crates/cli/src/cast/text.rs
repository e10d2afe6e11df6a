//! Bytes as text: an incomplete character waits for its rest, invalid bytes are replaced.

/// Turns a stream of bytes, cut anywhere, into text.
#[derive(Debug, Default)]
pub(super) struct CastDecoder {
    /// The beginning of a character whose rest has not arrived; three bytes at most.
    held: Vec<u8>,
}

impl CastDecoder {
    /// Appends the text of `bytes`, as far as it is complete.
    pub(super) fn feed(&mut self, bytes: &[u8], out: &mut String) {
        if self.held.is_empty() {
            self.held = decode(bytes, out).to_vec();
            return;
        }
        // A character has four bytes at most, so a few more complete it.
        let (first, rest) = bytes.split_at(bytes.len().min(4));
        let mut joined = std::mem::take(&mut self.held);
        joined.extend_from_slice(first);
        self.held = decode(&joined, out).to_vec();
        if !rest.is_empty() {
            self.feed(rest, out);
        }
    }

    /// Ends the text: replaces an incomplete character.
    pub(super) fn finish(&mut self, out: &mut String) {
        if !self.held.is_empty() {
            self.held.clear();
            out.push(char::REPLACEMENT_CHARACTER);
        }
    }
}

/// Appends the text of `bytes` and returns the incomplete character at its end.
fn decode<'a>(bytes: &'a [u8], out: &mut String) -> &'a [u8] {
    let mut chunks = bytes.utf8_chunks().peekable();
    while let Some(chunk) = chunks.next() {
        out.push_str(chunk.valid());
        let invalid = chunk.invalid();
        if invalid.is_empty() {
            continue;
        }
        let unfinished = std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none());
        if unfinished && chunks.peek().is_none() {
            return invalid;
        }
        out.push(char::REPLACEMENT_CHARACTER);
    }
    &[]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(pieces: &[&[u8]]) -> String {
        let mut decoder = CastDecoder::default();
        let mut out = String::new();
        for piece in pieces {
            decoder.feed(piece, &mut out);
        }
        decoder.finish(&mut out);
        out
    }

    #[test]
    fn cuts_change_nothing() {
        let bytes = "aé漢🦀z\u{1b}[m".as_bytes();
        let broken = b"\xff\xe6\xbca\xf0\x9f\xa6\xe6\xbc\xa2\xc3\x28\xed\xa0\x80\xf0\x9f";
        for stream in [bytes, broken] {
            let whole = String::from_utf8_lossy(stream);
            for first in 0..=stream.len() {
                for second in first..=stream.len() {
                    let pieces = [&stream[..first], &stream[first..second], &stream[second..]];
                    assert_eq!(decoded(&pieces), whole, "{first} {second}");
                }
            }
            let bytewise: Vec<&[u8]> = stream.chunks(1).collect();
            assert_eq!(decoded(&bytewise), whole);
        }
    }

    #[test]
    fn half_a_character_waits() {
        let mut decoder = CastDecoder::default();
        let mut out = String::new();
        decoder.feed(b"a\xf0\x9f", &mut out);
        assert_eq!(out, "a");
        decoder.feed(b"\xa6", &mut out);
        assert_eq!(out, "a");
        decoder.feed(b"\x80b", &mut out);
        assert_eq!(out, "a🦀b");
    }
}
