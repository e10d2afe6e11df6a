//! The output of a turn, from the submission on, without the echo of the input.
//!
//! It is not known what echoes: the terminal driver at once, a line editor key by key, some programs not at
//! all. So the echo is recognised: the part of it that is already on the line at Enter will not come again.

use crate::limits;
use crate::strip::strip_text;
use serde::{Deserialize, Serialize};
use swb_types::Offset;

/// The output since a submission.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Capture {
    start: Offset,
    len: u64,
    /// The beginning of the output, or what follows the last gap in it; lost after a restart of the daemon.
    #[serde(skip)]
    bytes: Vec<u8>,
    /// Number of bytes before these, and how many of them were the echo.
    #[serde(skip)]
    skipped: u64,
    #[serde(skip)]
    skipped_echo: u64,
    #[serde(skip)]
    limit: Option<usize>,
    /// The part of the input whose echo is still to come.
    submitted: String,
    pending: String,
    /// The line at the submission without the input: the prompt.
    prompt: String,
}

/// A part of the output, cut out for a turn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) start: Offset,
    pub(crate) bytes: Vec<u8>,
    /// Length before any cut.
    pub(crate) len: u64,
}

impl Content {
    pub(crate) fn truncated(&self) -> bool {
        (self.bytes.len() as u64) < self.len
    }
}

impl Capture {
    /// Begins at `start`; `line` is the unfinished line on which `submitted` was typed.
    pub(crate) fn new(start: Offset, submitted: &str, line: &str, limit: usize) -> Self {
        let submitted = submitted.trim_end_matches(['\r', '\n']).to_owned();
        let (prompt, pending) = split_echo(line, &submitted);
        Self {
            start,
            len: 0,
            bytes: Vec::new(),
            skipped: 0,
            skipped_echo: 0,
            limit: Some(limit),
            prompt: prompt.to_owned(),
            pending: pending.to_owned(),
            submitted,
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.len += bytes.len() as u64;
        let room = self.limit.unwrap_or(limits::TURN_BYTES).saturating_sub(self.bytes.len());
        self.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// Records a gap in the output. What follows cannot be appended to what is kept; it is kept instead, as the end of an
    /// answer is more useful than its beginning.
    pub(crate) fn lose(&mut self, bytes: u64) {
        self.skipped_echo += self.echo_len(&self.bytes) as u64;
        self.len += bytes;
        self.skipped = self.len;
        self.bytes.clear();
    }

    /// Where the output begins, and its length.
    pub(crate) fn extent(&self) -> (Offset, u64) {
        (self.start, self.len)
    }

    /// Restores the bytes that were not stored, if they are complete.
    pub(crate) fn refill(&mut self, bytes: &[u8]) {
        if bytes.len() as u64 == self.len {
            (self.bytes, self.len, self.limit) = (Vec::new(), 0, None);
            (self.skipped, self.skipped_echo) = (0, 0);
            self.push(bytes);
        }
    }

    /// Whether the output has these bytes.
    pub(crate) fn contains(&self, bytes: &[u8]) -> bool {
        memchr::memmem::find(&self.bytes, bytes).is_some()
    }

    /// Where the output after the echo begins.
    pub(crate) fn answer_start(&self) -> Offset {
        self.start + self.skipped + self.echo_len(&self.bytes) as u64
    }

    /// The output up to `end`, an absolute offset, without the echo.
    pub(crate) fn content(&self, end: Offset) -> Content {
        let len = (end - self.start).min(self.len);
        let kept = &self.bytes[..self.index(end)];
        let echo = self.echo_len(kept);
        Content {
            start: self.start + self.skipped + echo as u64,
            bytes: kept[echo..].to_vec(),
            len: len.saturating_sub(self.skipped_echo + echo as u64),
        }
    }

    /// The output up to `end`, echo included.
    pub(crate) fn all(&self, end: Offset) -> Content {
        self.between(self.start, end)
    }

    /// The output between two absolute offsets.
    pub(crate) fn between(&self, from: Offset, to: Offset) -> Content {
        let from = from.clamp(self.start, self.start + self.len);
        let to = to.clamp(from, self.start + self.len);
        let start = from.max(self.start + self.skipped);
        Content { start, bytes: self.bytes[self.index(from)..self.index(to)].to_vec(), len: to - from }
    }

    /// The place of an absolute offset in the bytes that are kept.
    fn index(&self, offset: Offset) -> usize {
        let at = (offset - self.start).saturating_sub(self.skipped);
        usize::try_from(at).unwrap_or(usize::MAX).min(self.bytes.len())
    }

    /// The length of the echo at the start, with its line endings.
    fn echo_len(&self, bytes: &[u8]) -> usize {
        if self.skipped > 0 {
            // It was before the gap.
            return 0;
        }
        let mut pending: Vec<&str> = self.pending.split('\n').collect();
        let mut at = 0;
        while let Some(len) = memchr::memchr(b'\n', &bytes[at..]) {
            let raw = &bytes[at..at + len];
            let line = strip_text(raw);
            if moves_behind_prompt(raw) && Some(line.trim()) == self.submitted.lines().next().map(str::trim) {
                at += len + 1;
                pending = self.submitted.split('\n').skip(1).collect();
                match pending.is_empty() {
                    true => break,
                    false => continue,
                }
            }
            let (line, expected) = (line.trim(), pending.first().map_or("", |line| line.trim()));
            let whole = self.prompt.trim().len() + self.submitted.len();
            // A line editor may redraw prompt and input once more before it submits them.
            let redrawn = !self.prompt.trim().is_empty()
                && line.len() >= whole
                && line.starts_with(self.prompt.trim())
                && line.ends_with(self.submitted.trim());
            if !(line.is_empty() || redrawn || self.echoes(line, expected, at == 0)) {
                break;
            }
            at += len + 1;
            if !pending.is_empty() {
                pending.remove(0);
            }
            if pending.is_empty() || redrawn {
                break;
            }
        }
        at
    }
}

impl Capture {
    /// Whether a line is the echo of the input. Only the prompt may precede the first line of an echo; any other line
    /// that ends in the same words is an answer. Continuation prompts may precede the further lines.
    fn echoes(&self, line: &str, expected: &str, first: bool) -> bool {
        let before = line.strip_suffix(expected).filter(|_| !expected.is_empty());
        before.is_some_and(|before| !first || self.prompt.trim().ends_with(before.trim()))
    }
}

/// Whether a line is redrawn behind a prompt that stays: line editors do that to a paste they had highlighted.
fn moves_behind_prompt(line: &[u8]) -> bool {
    let Some(start) = line.strip_prefix(b"\r\x1b[") else { return line.starts_with(b"\x08") };
    start.iter().find(|byte| !byte.is_ascii_digit()) == Some(&b'C')
}

/// Splits the line at a submission into the prompt and the part of the input that is not yet echoed.
fn split_echo<'a>(line: &'a str, submitted: &'a str) -> (&'a str, &'a str) {
    let lengths = submitted.char_indices().map(|(at, _)| at).chain([submitted.len()]);
    let shown = lengths.rev().find(|len| line.ends_with(&submitted[..*len])).unwrap_or(0);
    if shown > 0 || submitted.is_empty() {
        return (&line[..line.len() - shown], &submitted[shown..]);
    }
    // A wrapped line shows only the end of the input.
    let end: String = submitted.chars().rev().take(8).collect::<Vec<_>>().into_iter().rev().collect();
    if submitted.chars().count() > 8 && line.trim_end().ends_with(end.trim_end()) {
        ("", "")
    } else {
        (line, submitted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(submitted: &str, line: &str, output: &str) -> String {
        let mut capture = Capture::new(Offset::START, submitted, line, 1 << 20);
        capture.push(output.as_bytes());
        String::from_utf8(capture.content(Offset(output.len() as u64)).bytes).unwrap()
    }

    // CT-14
    #[test]
    fn an_echo_before_and_after_enter_is_removed() {
        assert_eq!(content("abc", "$ abc", "\r\nabc\r\n"), "abc\r\n");
        assert_eq!(content("abc", "", "abc\r\nabc\r\n"), "abc\r\n");
        assert_eq!(content("abc", "$ ", "abc\r\nabc\r\n"), "abc\r\n");
        assert_eq!(content("abc", "$ a", "bc\r\nabc\r\n"), "abc\r\n");
        assert_eq!(content("secret", "password: ", "\r\nwelcome\r\n"), "welcome\r\n");
        assert_eq!(content("abc", "> abc", "\r\x1b[K> abc\r\r\nanswer\r\n"), "answer\r\n");
    }

    #[test]
    fn a_paste_redrawn_behind_its_prompt_is_an_echo() {
        assert_eq!(content("abc", "$ \x1b[7mabc\x1b[27m", "\r\x1b[C\x1b[Cabc\r\nabc\r\n"), "abc\r\n");
        assert_eq!(content("abc", "$ abc", "\r\x1b[2Cabc\r\nabc\r\n"), "abc\r\n");
        assert_eq!(content("abc", "$ abc", "\x08\x08\x08abc\r\nabc\r\n"), "abc\r\n");
        assert_eq!(content("a\nb", "$ a\nb", "\r\x1b[2Ca\r\nb\r\nanswer\r\n"), "answer\r\n");
        assert_eq!(
            content("abc", "$ abc", "\r\n\r\x1b[2Cabc\r\n"),
            "\r\x1b[2Cabc\r\n",
            "an answer may look so"
        );
    }

    #[test]
    fn a_program_that_does_not_echo_loses_nothing() {
        assert_eq!(content("abc", "$ ", "xyz\r\n"), "xyz\r\n");
        assert_eq!(content("abc", "$ abc", "xyz"), "xyz");
    }

    #[test]
    fn lines_submitted_together_are_echoed_together() {
        assert_eq!(content("a\nb", "$ ", "a\r\nb\r\nanswer\r\n"), "answer\r\n");
    }

    #[test]
    fn the_end_is_kept_after_a_gap() {
        let mut capture = Capture::new(Offset(10), "abc", "$ abc", 1 << 20);
        capture.push(b"\r\nbegin");
        capture.lose(1000);
        capture.push(b"abc\r\nend\r\n$ ");
        let end = capture.content(Offset(10 + 7 + 1000 + 10));
        assert_eq!((end.bytes.as_slice(), end.start), (&b"abc\r\nend\r\n"[..], Offset(1017)));
        assert!(end.truncated());
        assert_eq!(capture.between(Offset(1022), Offset(1025)).bytes, b"end");
        assert_eq!(capture.between(Offset(0), Offset(20)).bytes, b"");
        capture.lose(5);
        assert_eq!(capture.content(Offset(9999)).bytes, b"", "nothing has come since");
    }

    #[test]
    fn bytes_beyond_the_limit_are_counted() {
        let mut capture = Capture::new(Offset(10), "", "", 4);
        capture.push(b"abcdef");
        let content = capture.content(Offset(16));
        assert_eq!((content.bytes.as_slice(), content.len, content.truncated()), (&b"abcd"[..], 6, true));
    }
}
