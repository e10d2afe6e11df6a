//! Server-sent events: takes bytes, returns the data of events.
//!
//! Other fields are ignored: no model API needs them. Bytes may be split anywhere.

use super::limits;

/// Why a stream cannot be read any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum SseError {
    /// An event exceeds the limit.
    #[error("an event of the answer is longer than {} MiB", limits::EVENT_BYTES >> 20)]
    TooLong,
}

/// Parses a stream.
#[derive(Debug, Default)]
pub(super) struct SseDecoder {
    /// Bytes that are not yet lines.
    buffer: Vec<u8>,
    /// How far the buffer was searched for the end of a line.
    seen: usize,
    /// How much of the buffer was consumed.
    read: usize,
    /// The data of the current event: several lines are joined by line feeds; empty data counts as data.
    data: Option<String>,
    /// Whether a line was read: a byte order mark may precede the first.
    begun: bool,
}

impl SseDecoder {
    /// Appends bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let read = std::mem::take(&mut self.read);
        self.buffer.drain(..read);
        self.seen = self.seen.saturating_sub(read);
        self.buffer.extend_from_slice(bytes);
    }

    /// The data of the next event; `None` when more bytes are needed.
    pub(super) fn poll(&mut self) -> Result<Option<String>, SseError> {
        while let Some(line) = self.line()? {
            if line.is_empty() {
                // Events without data are ignored.
                if let Some(data) = self.data.take() {
                    return Ok(Some(data));
                }
                continue;
            }
            self.field(&line);
            if self.data.as_ref().is_some_and(|data| data.len() > limits::EVENT_BYTES) {
                return Err(SseError::TooLong);
            }
        }
        Ok(None)
    }

    /// The stream has ended, and with it its last event: not every server terminates that.
    pub(super) fn end(&mut self) {
        self.push(b"\n\n");
    }

    /// The next line without its line ending, LF or CR LF. A lone carriage return ends no line: no API sends it.
    fn line(&mut self) -> Result<Option<String>, SseError> {
        let from = self.seen.max(self.read);
        let Some(at) = self.buffer[from..].iter().position(|byte| *byte == b'\n') else {
            self.seen = self.buffer.len();
            let long = self.buffer.len() - self.read > limits::EVENT_BYTES;
            return if long { Err(SseError::TooLong) } else { Ok(None) };
        };
        let end = from + at;
        let mut line = &self.buffer[self.read..end];
        if !std::mem::replace(&mut self.begun, true) {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        let line = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)).into_owned();
        self.read = end + 1;
        self.seen = self.read;
        Ok(Some(line))
    }

    /// Handles a line: data is kept; comments, which begin with a colon, and other fields are ignored.
    fn field(&mut self, line: &str) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match &mut self.data {
            _ if name != "data" => {}
            Some(data) => {
                data.push('\n');
                data.push_str(value);
            }
            none => *none = Some(value.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = "\u{feff}: hello\r\nevent: one\r\ndata: {\"a\":\r\ndata:1}\r\n\r\n\nevent: none\n\nid: 7\ndata: größer\n\ndata\n\n";

    const WANTED: [&str; 3] = ["{\"a\":\n1}", "größer", ""];

    fn events(decoder: &mut SseDecoder) -> Vec<String> {
        std::iter::from_fn(|| decoder.poll().unwrap()).collect()
    }

    #[test]
    fn bytes_may_be_split_anywhere() {
        for at in 0..=STREAM.len() {
            let mut decoder = SseDecoder::default();
            let (one, two) = STREAM.as_bytes().split_at(at);
            let mut found = Vec::new();
            for bytes in [one, two] {
                decoder.push(bytes);
                found.extend(events(&mut decoder));
            }
            assert_eq!(found, WANTED, "split at {at}");
            decoder.end();
            assert_eq!(decoder.poll(), Ok(None), "split at {at}");
        }
        let mut decoder = SseDecoder::default();
        let mut found = Vec::new();
        for byte in STREAM.bytes() {
            decoder.push(&[byte]);
            found.extend(events(&mut decoder));
        }
        assert_eq!(found, WANTED);
    }

    #[test]
    fn bytes_may_arrive_before_all_events_are_read() {
        let mut decoder = SseDecoder::default();
        decoder.push(b"data: 1\n\ndata: 2\n\ndata: 3");
        assert_eq!(decoder.poll(), Ok(Some("1".to_owned())));
        decoder.push(b"\n\n");
        assert_eq!(events(&mut decoder), ["2", "3"]);
    }

    #[test]
    fn the_last_event_ends_with_the_stream() {
        for (stream, last) in [
            ("data: [DONE]\n", Some("[DONE]")),
            ("data: [DONE]", Some("[DONE]")),
            ("data: 1\n\ndata: 2\r", Some("2")),
            ("data: {\"a\"", Some("{\"a\"")),
            ("ev", None),
            ("", None),
            ("data: 1\n\n", None),
            ("event: x\n\n: end\n", None),
        ] {
            let mut decoder = SseDecoder::default();
            decoder.push(stream.as_bytes());
            events(&mut decoder);
            decoder.end();
            assert_eq!(events(&mut decoder), Vec::from_iter(last), "{stream:?}");
        }
    }

    #[test]
    fn the_length_of_an_event_is_limited() {
        let mut line = SseDecoder::default();
        line.push(&vec![b'x'; limits::EVENT_BYTES + 1]);
        assert_eq!(line.poll(), Err(SseError::TooLong));
        let mut lines = SseDecoder::default();
        let piece = format!("data: {}\n", "x".repeat(1 << 20));
        let error = (0..9).find_map(|_| {
            lines.push(piece.as_bytes());
            lines.poll().err()
        });
        assert_eq!(error, Some(SseError::TooLong));
    }

    #[test]
    fn invalid_utf8_is_replaced() {
        let mut decoder = SseDecoder::default();
        decoder.push(b"data: \xff\xfe\x00\n\n\x80:\x80\n\n");
        assert_eq!(events(&mut decoder).len(), 1);
    }
}
