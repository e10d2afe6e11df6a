//! Reads the lines of an asciicast, version 2 or 3, as events.

use crate::limits;
use serde::Deserialize;
use std::io::{self, BufRead, Read};
use std::time::Duration;
use swb_types::Size;

/// Why a recording cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CastError {
    /// A line is invalid.
    #[error("line {line}: {what}")]
    Bad {
        /// Number of the line, from 1.
        line: u64,
        /// What is wrong with it.
        what: String,
    },
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// An event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CastEvent {
    /// When, counted from the beginning.
    pub(crate) at: Duration,
    /// The output of the program; empty for other kinds of event.
    pub(crate) output: String,
    /// The new size of the terminal.
    pub(crate) size: Option<Size>,
}

/// A recording that is being read.
#[derive(Debug)]
pub(crate) struct Cast<R> {
    lines: CastLines<R>,
    version: u8,
    idle_limit: Option<Duration>,
    size: Option<Size>,
    at: Duration,
}

impl<R: BufRead> Cast<R> {
    /// Reads the header.
    pub(crate) fn open(input: R) -> Result<Self, CastError> {
        #[derive(Deserialize)]
        struct CastHeader {
            version: i64,
            idle_time_limit: Option<f64>,
            width: Option<u16>,
            height: Option<u16>,
            term: Option<CastTerminal>,
        }
        #[derive(Deserialize, Default)]
        #[serde(default)]
        struct CastTerminal {
            cols: u16,
            rows: u16,
        }
        let mut lines = CastLines { input, number: 0 };
        let Some(line) = lines.next()? else {
            return Err(CastError::Bad { line: 1, what: "the file is empty".to_owned() });
        };
        // An array would pass for a struct.
        let text = if line.text.starts_with('{') { &line.text } else { "" };
        let header: CastHeader = serde_json::from_str(text)
            .map_err(|error| lines.bad(format_args!("not an asciicast header ({error})")))?;
        let version = match header.version {
            2 => 2,
            3 => 3,
            other => return Err(lines.bad(format_args!("asciicast version {other} is not supported"))),
        };
        let idle_limit = match header.idle_time_limit {
            Some(limit) => Some(lines.seconds(limit)?),
            None => None,
        };
        let term = header.term.unwrap_or_default();
        let (cols, rows) = header.width.zip(header.height).unwrap_or((term.cols, term.rows));
        Ok(Self { lines, version, idle_limit, size: Size::new(cols, rows), at: Duration::ZERO })
    }

    /// Size of the terminal at the beginning, if the recording names one.
    pub(crate) fn size(&self) -> Option<Size> {
        self.size
    }

    /// Maximum length of a pause, if the recording sets one.
    pub(crate) fn idle_limit(&self) -> Option<Duration> {
        self.idle_limit
    }

    /// Reads the next event; `None` at the end. An incomplete last line counts as the end.
    pub(crate) fn next_event(&mut self) -> Result<Option<CastEvent>, CastError> {
        loop {
            let Some(line) = self.lines.next()? else {
                return Ok(None);
            };
            let text = line.text.trim_ascii();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            return match serde_json::from_str::<(f64, String, String)>(text) {
                Ok((time, code, data)) => self.event(time, &code, data).map(Some),
                Err(error) if error.is_eof() && !line.whole => Ok(None),
                Err(error) => Err(self.lines.bad(format_args!("not an event ({error})"))),
            };
        }
    }

    fn event(&mut self, time: f64, code: &str, data: String) -> Result<CastEvent, CastError> {
        let time = self.lines.seconds(time)?;
        // Version 2 counts from the beginning, version 3 from the previous event.
        self.at = if self.version == 2 { time } else { self.at.saturating_add(time) };
        let size = (code == "r").then(|| parse_size(&data)).flatten();
        let output = if code == "o" { data } else { String::new() };
        Ok(CastEvent { at: self.at, output, size })
    }
}

/// A size such as `80x24`; anything else is ignored, as other players do.
fn parse_size(text: &str) -> Option<Size> {
    let (cols, rows) = text.split_once('x')?;
    Size::new(cols.parse().ok()?, rows.parse().ok()?)
}

/// A line of the file.
struct CastLine {
    text: String,
    /// Whether it ends with a newline.
    whole: bool,
}

#[derive(Debug)]
struct CastLines<R> {
    input: R,
    number: u64,
}

impl<R: BufRead> CastLines<R> {
    fn next(&mut self) -> Result<Option<CastLine>, CastError> {
        let mut bytes = Vec::new();
        self.number += 1;
        let count = (&mut self.input).take(limits::CAST_LINE).read_until(b'\n', &mut bytes)?;
        if count == 0 {
            return Ok(None);
        }
        let whole = bytes.ends_with(b"\n");
        if !whole && count as u64 == limits::CAST_LINE {
            return Err(self.bad(format_args!("the line is longer than {} bytes", limits::CAST_LINE)));
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(CastLine { text, whole })),
            // Cut in the middle of a character.
            Err(error) if !whole && error.utf8_error().error_len().is_none() => {
                Ok(Some(CastLine { text: String::from_utf8_lossy(error.as_bytes()).into_owned(), whole }))
            }
            Err(_) => Err(self.bad(format_args!("the line is not valid UTF-8"))),
        }
    }

    fn seconds(&self, seconds: f64) -> Result<Duration, CastError> {
        Duration::try_from_secs_f64(seconds)
            .map_err(|_| self.bad(format_args!("{seconds} is not a number of seconds")))
    }

    fn bad(&self, what: std::fmt::Arguments<'_>) -> CastError {
        CastError::Bad { line: self.number, what: what.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> Result<Vec<(u64, String)>, String> {
        let mut cast = Cast::open(text).map_err(|error| error.to_string())?;
        let mut events = Vec::new();
        while let Some(event) = cast.next_event().map_err(|error| error.to_string())? {
            events.push((u64::try_from(event.at.as_millis()).unwrap(), event.output));
        }
        Ok(events)
    }

    fn out(at: u64, text: &str) -> (u64, String) {
        (at, text.to_owned())
    }

    #[test]
    fn version_3_counts_from_event_to_event() {
        let text = "{\"version\":3,\"term\":{\"cols\":80,\"rows\":24}}\n# a comment\n[0.5,\"o\",\"a\"]\n\n\
            [0.25, \"r\", \"80x24\"]\n[1,\"m\",\"\"]\n[0.25, \"o\", \"\\u001b[m\"]\n[0,\"x\",\"0\"]\n";
        let expected = [out(500, "a"), out(750, ""), out(1750, ""), out(2000, "\u{1b}[m"), out(2000, "")];
        assert_eq!(read(text.as_bytes()).unwrap(), expected);
    }

    #[test]
    fn version_2_counts_from_the_beginning() {
        let text = "{\"version\":2,\"width\":80,\"height\":24,\"idle_time_limit\":1.5}\n[0.5,\"o\",\"a\"]\n\
            [0.75,\"i\",\"key\"]\n[2,\"o\",\"b\"]";
        assert_eq!(read(text.as_bytes()).unwrap(), [out(500, "a"), out(750, ""), out(2000, "b")]);
        let cast = Cast::open(text.as_bytes()).unwrap();
        assert_eq!(cast.idle_limit(), Some(Duration::from_millis(1500)));
    }

    #[test]
    fn sizes_are_known_in_both_versions() {
        let three =
            "{\"version\":3,\"term\":{\"cols\":80,\"rows\":24}}\n[1,\"r\",\"100x30\"]\n[1,\"r\",\"bad\"]\n";
        let mut cast = Cast::open(three.as_bytes()).unwrap();
        assert_eq!(cast.size(), Size::new(80, 24));
        assert_eq!(cast.next_event().unwrap().unwrap().size, Size::new(100, 30));
        assert_eq!(cast.next_event().unwrap().unwrap().size, None);
        let two = "{\"version\":2,\"width\":90,\"height\":20}\n";
        assert_eq!(Cast::open(two.as_bytes()).unwrap().size(), Size::new(90, 20));
        assert_eq!(Cast::open("{\"version\":3}\n".as_bytes()).unwrap().size(), None);
    }

    #[test]
    fn bad_lines_are_named() {
        let header = "{\"version\":3}\n";
        for (text, complaint) in [
            (String::new(), "line 1: the file is empty"),
            ("[1,2]\n".into(), "line 1: not an asciicast header"),
            ("#!/bin/sh\n".into(), "line 1: not an asciicast header"),
            ("{\"version\":1}\n".into(), "line 1: asciicast version 1 is not supported"),
            ("{\"version\":3,\"idle_time_limit\":-1}\n".into(), "line 1: -1 is not a number of seconds"),
            (format!("{header}[0,\"o\",\"a\"]\nnonsense\n"), "line 3: not an event"),
            (format!("{header}[0,\"o\"]\n"), "line 2: not an event"),
            (format!("{header}[\"0\",\"o\",\"a\"]\n"), "line 2: not an event"),
            (format!("{header}[-1,\"o\",\"a\"]\n"), "line 2: -1 is not a number of seconds"),
            (format!("{header}[1e300,\"o\",\"a\"]\n"), "line 2: 1"),
            (format!("{header}[0,\"o\",\"a\""), ""),
        ] {
            match read(text.as_bytes()) {
                Ok(events) => assert!(complaint.is_empty() && events.is_empty(), "{text}: {events:?}"),
                Err(error) => {
                    assert!(error.starts_with(complaint) && !complaint.is_empty(), "{text}: {error}")
                }
            }
        }
        assert!(read(b"{\"version\":3}\n[0,\"o\",\"\xff\"]\n").unwrap_err().starts_with("line 2: "));
    }

    #[test]
    fn a_file_may_be_cut_anywhere_after_its_header() {
        let header = "{\"version\":3}\n";
        let text = format!("{header}[0.5,\"o\",\"aé\"]\n[0.5,\"o\",\"b\"]\n");
        let all = read(text.as_bytes()).unwrap();
        for end in header.len()..=text.len() {
            let events = read(&text.as_bytes()[..end]).unwrap_or_else(|error| panic!("{end}: {error}"));
            assert_eq!(events, all[..events.len()]);
        }
    }

    #[test]
    fn an_endless_line_is_not_read_to_its_end() {
        let text = [b"{\"version\":3}\n".as_slice(), &vec![b' '; 17 << 20]].concat();
        assert!(read(&text).unwrap_err().contains("longer than"));
    }

    #[test]
    fn what_is_written_can_be_read() {
        use crate::cast::{CastHeader, CastWriter, Term};
        let header = CastHeader {
            version: 3,
            term: Term { cols: 80, rows: 24, kind: None },
            timestamp: 0,
            command: None,
            title: "t".into(),
        };
        let mut lines = vec![header.line()];
        let mut writer = CastWriter::default();
        writer.output(Duration::from_millis(10), "é\u{1b}[m\"".as_bytes(), &mut lines);
        writer.exited(Duration::from_millis(30), 0, &mut lines);
        assert_eq!(read(lines.concat().as_bytes()).unwrap(), [out(10, "é\u{1b}[m\""), out(30, "")]);
    }
}
