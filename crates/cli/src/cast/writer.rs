//! Writes events as lines of an asciicast, version 3.

use super::text::CastDecoder;
use crate::limits;
use serde::Serialize;
use std::time::Duration;
use swb_vt::printable_json;

/// The first line.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct CastHeader {
    /// Always 3.
    pub(crate) version: u8,
    /// The terminal that is recorded.
    pub(crate) term: Term,
    /// When the recording began, in Unix seconds.
    pub(crate) timestamp: u64,
    /// The recorded command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) command: Option<String>,
    /// The title of the recording.
    pub(crate) title: String,
}

/// A terminal.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Term {
    /// Columns.
    pub(crate) cols: u16,
    /// Rows.
    pub(crate) rows: u16,
    /// The value of TERM for the program.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<String>,
}

impl CastHeader {
    /// The line, with its newline.
    pub(crate) fn line(&self) -> String {
        format!("{}\n", json(self))
    }
}

/// Creates the lines after the header. Times are counted from the beginning of the recording.
#[derive(Debug, Default)]
pub(crate) struct CastWriter {
    decoder: CastDecoder,
    /// The time of the last line in microseconds, as it was written: rounding must not add up.
    last: u128,
}

impl CastWriter {
    /// Output; no line while only half a character has arrived.
    pub(crate) fn output(&mut self, at: Duration, bytes: &[u8], lines: &mut Vec<String>) {
        for chunk in bytes.chunks(limits::CAST_OUTPUT) {
            let mut text = String::with_capacity(chunk.len() + 3);
            self.decoder.feed(chunk, &mut text);
            self.text(at, &text, lines);
        }
    }

    /// The following output does not continue the previous output.
    pub(crate) fn gap(&mut self, at: Duration, lines: &mut Vec<String>) {
        let mut text = String::new();
        self.decoder.finish(&mut text);
        self.text(at, &text, lines);
    }

    /// From here on the output is for a terminal of this size.
    pub(crate) fn resized(&mut self, at: Duration, cols: u16, rows: u16, lines: &mut Vec<String>) {
        lines.push(self.line(at, "r", &format!("{cols}x{rows}")));
    }

    /// The program has ended.
    pub(crate) fn exited(&mut self, at: Duration, code: i32, lines: &mut Vec<String>) {
        self.gap(at, lines);
        lines.push(self.line(at, "x", &code.to_string()));
    }

    fn text(&mut self, at: Duration, text: &str, lines: &mut Vec<String>) {
        if !text.is_empty() {
            lines.push(self.line(at, "o", text));
        }
    }

    fn line(&mut self, at: Duration, code: &str, data: &str) -> String {
        let now = at.as_micros().max(self.last);
        let interval = now - self.last;
        self.last = now;
        format!("[{}.{:06}, \"{code}\", {}]\n", interval / 1_000_000, interval % 1_000_000, json(&data))
    }
}

/// A value without characters that act on a terminal, in case the recording goes to one.
fn json(value: &impl Serialize) -> String {
    let json = serde_json::to_string(value).expect("texts and numbers have a JSON form");
    printable_json(&json).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn the_header_is_that_of_version_3() {
        let mut header = CastHeader {
            version: 3,
            term: Term { cols: 80, rows: 24, kind: Some("xterm-256color".into()) },
            timestamp: 1_700_000_000,
            command: Some("sh -c 'a b'".into()),
            title: "api".into(),
        };
        insta::assert_snapshot!(header.line(), @r#"{"version":3,"term":{"cols":80,"rows":24,"type":"xterm-256color"},"timestamp":1700000000,"command":"sh -c 'a b'","title":"api"}"#);
        (header.term.kind, header.command) = (None, None);
        insta::assert_snapshot!(header.line(), @r#"{"version":3,"term":{"cols":80,"rows":24},"timestamp":1700000000,"title":"api"}"#);
    }

    #[test]
    fn events_are_lines() {
        let mut writer = CastWriter::default();
        let mut lines = Vec::new();
        writer.output(millis(1), b"\x1b[1mhi\r\n\"\\\xff", &mut lines);
        writer.output(millis(1), b"\xc3", &mut lines);
        writer.resized(millis(1501), 100, 30, &mut lines);
        writer.output(millis(1502), b"\xa9", &mut lines);
        writer.output(millis(2000), b"\xe6", &mut lines);
        writer.exited(millis(2500), 130, &mut lines);
        insta::assert_snapshot!(lines.concat(), @r#"
        [0.001000, "o", "\u001b[1mhi\r\n\"\\�"]
        [1.500000, "r", "100x30"]
        [0.001000, "o", "é"]
        [0.998000, "o", "�"]
        [0.000000, "x", "130"]
        "#);
    }

    #[test]
    fn rounding_does_not_add_up() {
        let mut writer = CastWriter::default();
        let mut lines = Vec::new();
        for step in 1..=10_000_u64 {
            writer.output(Duration::from_nanos(step * 1_500), b"x", &mut lines);
        }
        let interval = |line: &String| line[1..line.find(',').unwrap()].parse::<f64>().unwrap();
        let total: f64 = lines.iter().map(interval).sum();
        assert!((total - 0.015).abs() < 0.000_01, "{total}");
    }

    #[test]
    fn no_line_is_endless() {
        let mut writer = CastWriter::default();
        let mut lines = Vec::new();
        // Cut in the middle of characters.
        let output = "漢".repeat(limits::CAST_OUTPUT);
        writer.output(millis(1), output.as_bytes(), &mut lines);
        assert!(lines.len() >= 3);
        assert!(
            lines.iter().all(|line| line.len() <= limits::CAST_OUTPUT + 100 && !line.contains('\u{fffd}'))
        );
    }

    #[test]
    fn a_clock_that_goes_back_stands_still() {
        let mut writer = CastWriter::default();
        let mut lines = Vec::new();
        writer.output(millis(5), b"a", &mut lines);
        writer.output(millis(3), b"b", &mut lines);
        assert!(lines[1].starts_with("[0.000000, "), "{}", lines[1]);
    }
}
