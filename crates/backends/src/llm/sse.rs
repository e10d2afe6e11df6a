//! Server-sent events: bytes in, events out.
//!
//! Only what the APIs of models use is kept: the name and the data of an event. Bytes may be split anywhere.

use super::limits;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Event {
    /// Its name; empty if it has none.
    pub(super) name: String,
    /// Its data; several lines are joined by line feeds.
    pub(super) data: String,
}

/// Why a stream cannot be read any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum SseError {
    /// An event is longer than it may be.
    #[error("an event of the answer is longer than {} MiB", limits::EVENT_BYTES >> 20)]
    TooLong,
}

/// Reads a stream.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    /// Bytes that are not yet lines.
    buffer: Vec<u8>,
    /// How far the buffer was looked through for the end of a line.
    seen: usize,
    /// How much of the buffer was read.
    read: usize,
    event: Event,
    /// Whether the event has data: empty data is some, too.
    has_data: bool,
    /// Nothing was read yet: the stream may begin with a byte order mark.
    begun: bool,
}

impl Decoder {
    /// Takes more bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.buffer.drain(..std::mem::take(&mut self.read));
        self.seen = self.seen.min(self.buffer.len());
        self.buffer.extend_from_slice(bytes);
    }

    /// The next event; nothing when more bytes are needed.
    pub(super) fn poll(&mut self) -> Result<Option<Event>, SseError> {
        while let Some(line) = self.line()? {
            if line.is_empty() {
                let event = std::mem::take(&mut self.event);
                if std::mem::take(&mut self.has_data) {
                    return Ok(Some(event));
                }
                continue;
            }
            self.field(&line);
            if self.event.data.len() > limits::EVENT_BYTES {
                return Err(SseError::TooLong);
            }
        }
        Ok(None)
    }

    /// The stream has ended, and with it its last event: not every server ends that properly.
    pub(super) fn end(&mut self) {
        self.push(b"\n\n");
    }

    /// The next line without its end: a line feed, or both. A lone carriage return ends nothing: no API sends that.
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

    fn field(&mut self, line: &str) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "event" => self.event.name = value.to_owned(),
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            // Comments, which begin with a colon, and fields that no API uses.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = "\u{feff}: hello\r\nevent: one\r\ndata: {\"a\":\r\ndata:1}\r\n\r\n\nevent: none\n\nid: 7\ndata: größer\n\ndata\n\n";

    fn wanted() -> Vec<Event> {
        let event = |name: &str, data: &str| Event { name: name.into(), data: data.into() };
        vec![event("one", "{\"a\":\n1}"), event("", "größer"), event("", "")]
    }

    fn events(decoder: &mut Decoder) -> Vec<Event> {
        std::iter::from_fn(|| decoder.poll().unwrap()).collect()
    }

    #[test]
    fn bytes_may_be_split_anywhere() {
        for at in 0..=STREAM.len() {
            let mut decoder = Decoder::default();
            let (one, two) = STREAM.as_bytes().split_at(at);
            let mut found = Vec::new();
            for bytes in [one, two] {
                decoder.push(bytes);
                found.extend(events(&mut decoder));
            }
            assert_eq!(found, wanted(), "split at {at}");
            decoder.end();
            assert_eq!(decoder.poll(), Ok(None), "split at {at}");
        }
        let mut decoder = Decoder::default();
        let mut found = Vec::new();
        for byte in STREAM.bytes() {
            decoder.push(&[byte]);
            found.extend(events(&mut decoder));
        }
        assert_eq!(found, wanted());
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
            let mut decoder = Decoder::default();
            decoder.push(stream.as_bytes());
            events(&mut decoder);
            decoder.end();
            let found: Vec<String> = events(&mut decoder).into_iter().map(|event| event.data).collect();
            assert_eq!(found, Vec::from_iter(last), "{stream:?}");
        }
    }

    #[test]
    fn there_is_an_end_to_events() {
        let mut line = Decoder::default();
        line.push(&vec![b'x'; limits::EVENT_BYTES + 1]);
        assert_eq!(line.poll(), Err(SseError::TooLong));
        let mut lines = Decoder::default();
        let piece = format!("data: {}\n", "x".repeat(1 << 20));
        let error = (0..9).find_map(|_| {
            lines.push(piece.as_bytes());
            lines.poll().err()
        });
        assert_eq!(error, Some(SseError::TooLong));
    }

    #[test]
    fn what_is_no_text_harms_nothing() {
        let mut decoder = Decoder::default();
        decoder.push(b"data: \xff\xfe\x00\n\n\x80:\x80\n\n");
        assert_eq!(events(&mut decoder).len(), 1);
    }
}
