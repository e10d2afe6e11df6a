//! Finds in the output what programs report about themselves: titles, status, marks, modes.
//!
//! The screen model reads the same sequences, but what happened *between* two looks at it, and at which byte,
//! is only known here. Plain text costs one search for ESC.

use crate::limits;
use serde::{Deserialize, Serialize};

/// Something a program said besides what to show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Report {
    /// The window title (OSC 0, OSC 2).
    Title(String),
    /// Its status, `key=value` pairs joined by colons (OSC 7501).
    Status(String),
    /// OSC 133: what comes after the number.
    Mark(String),
    /// Something for the user to read (OSC 9, OSC 777).
    Notify(String),
    /// Progress (OSC 9;4): whether something is going on.
    Progress(bool),
    /// `?2004`: the input line takes pastes, or no longer.
    Paste(bool),
    /// `?2026`: a picture begins (true) or is complete.
    Sync(bool),
    /// `?1049`, `?1047`, `?47`: the alternate screen, or back.
    Alternate(bool),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
enum State {
    #[default]
    Ground,
    Escape,
    Csi,
    Osc,
    OscEscape,
    /// DCS, APC, PM, SOS: of no interest, but what is in them must not be taken for something else.
    Other,
    OtherEscape,
}

/// Reads output, cut anywhere.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Scanner {
    state: State,
    buffer: Vec<u8>,
}

impl Scanner {
    /// Reads on to the next report; gives it with the number of bytes that were read. Everything was read
    /// when there is none.
    pub(crate) fn next(&mut self, bytes: &[u8]) -> Option<(usize, Report)> {
        let mut at = 0;
        while at < bytes.len() {
            if self.state == State::Ground {
                at += memchr::memchr(0x1b, &bytes[at..])?;
            }
            let found = self.byte(bytes[at]);
            at += 1;
            if let Some(report) = found {
                return Some((at, report));
            }
        }
        None
    }

    fn byte(&mut self, byte: u8) -> Option<Report> {
        match (self.state, byte) {
            // CAN and SUB end everything, ESC begins anew except in strings, where it may be half of ST.
            (_, 0x18 | 0x1a) => self.state = State::Ground,
            (State::Osc, 0x1b) => self.state = State::OscEscape,
            (State::Other, 0x1b) => self.state = State::OtherEscape,
            (State::Osc, 0x07) | (State::OscEscape, b'\\') => {
                self.state = State::Ground;
                return command(&self.buffer);
            }
            (State::Other, 0x07) | (State::OtherEscape, b'\\') => self.state = State::Ground,
            (State::OscEscape | State::OtherEscape | State::Escape, _) => self.begin(byte),
            (State::Ground | State::Csi, 0x1b) => self.state = State::Escape,
            (State::Csi, 0x40..=0x7e) => {
                self.state = State::Ground;
                return mode(&self.buffer, byte);
            }
            (State::Csi | State::Osc, _) => {
                if self.buffer.len() < limits::STRING_BYTES {
                    self.buffer.push(byte);
                }
            }
            (State::Ground | State::Other, _) => {}
        }
        None
    }

    fn begin(&mut self, byte: u8) {
        self.buffer.clear();
        self.state = match byte {
            b'[' => State::Csi,
            b']' => State::Osc,
            b'P' | b'X' | b'^' | b'_' => State::Other,
            0x1b => State::Escape,
            _ => State::Ground,
        };
    }
}

/// The modes a sequence sets or resets; of several in one, the one that matters most.
fn mode(buffer: &[u8], action: u8) -> Option<Report> {
    let on = match action {
        b'h' => true,
        b'l' => false,
        _ => return None,
    };
    let numbers = buffer.strip_prefix(b"?")?;
    let has = |number: &[u8]| numbers.split(|byte| *byte == b';').any(|part| part == number);
    if has(b"2026") {
        Some(Report::Sync(on))
    } else if has(b"2004") {
        Some(Report::Paste(on))
    } else if has(b"1049") || has(b"1047") || has(b"47") {
        Some(Report::Alternate(on))
    } else {
        None
    }
}

fn command(buffer: &[u8]) -> Option<Report> {
    let split = memchr::memchr(b';', buffer)?;
    let (number, rest) = (&buffer[..split], &buffer[split + 1..]);
    let text = || clean(rest);
    match number {
        b"0" | b"2" => Some(Report::Title(text())),
        b"9" => match rest.strip_prefix(b"4;") {
            Some(progress) => Some(Report::Progress(!progress.starts_with(b"0"))),
            None => Some(Report::Notify(text())),
        },
        b"133" => Some(Report::Mark(text())),
        b"777" => Some(Report::Notify(clean(rest.strip_prefix(b"notify;")?))),
        b"7501" if rest != b"?" => Some(Report::Status(text())),
        _ => None,
    }
}

fn clean(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).chars().filter(|c| !c.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(output: &[u8], cut: usize) -> Vec<(usize, Report)> {
        let mut scanner = Scanner::default();
        let mut found = Vec::new();
        let mut at = 0;
        for part in output.chunks(cut) {
            let mut rest = part;
            while let Some((len, report)) = scanner.next(rest) {
                rest = &rest[len..];
                found.push((at + part.len() - rest.len(), report));
            }
            at += part.len();
        }
        found
    }

    #[test]
    fn reports_are_found_at_their_byte_however_the_output_is_cut() {
        let output =
            "text\x1b]0;✳ title\x07\x1b[?2026hx\x1b[1;31mred\x1b[?25;2004l\x1b]7501;state=idle:app=x\x1b\\\
            \x1b]9;4;3\x07\x1b]9;4;0\x07\x1b]9;done\x07\x1b]133;D;1\x07\x1bP\x1b]0;no\x07\x1b\\\x1b[?2026l"
                .as_bytes();
        let whole = all(output, output.len());
        let reports: Vec<&Report> = whole.iter().map(|(_, report)| report).collect();
        assert_eq!(
            reports[..8],
            [
                &Report::Title("✳ title".into()),
                &Report::Sync(true),
                &Report::Paste(false),
                &Report::Status("state=idle:app=x".into()),
                &Report::Progress(true),
                &Report::Progress(false),
                &Report::Notify("done".into()),
                &Report::Mark("D;1".into()),
            ]
        );
        assert_eq!(whole.last().unwrap(), &(output.len(), Report::Sync(false)));
        for cut in 1..output.len() {
            assert_eq!(all(output, cut), whole, "cut at {cut}");
        }
    }

    #[test]
    fn the_question_for_the_status_is_no_status() {
        assert_eq!(all(b"\x1b]7501;?\x1b\\", 99), []);
    }
}
