//! Finds in the output what programs report about themselves: titles, status, marks, modes.
//!
//! The screen model reads the same sequences, but what happened *between* two looks at it, and at which byte,
//! is only known here. Plain text costs one search for ESC.

use crate::limits;
use serde::{Deserialize, Serialize};
use swb_vt::{Csi, Sequence, Token, Tokenizer};

/// Something a program sent besides text to show.
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

/// Reads output, cut anywhere.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Scanner {
    // A daemon of another version may have saved something else.
    #[serde(default)]
    tokenizer: Tokenizer,
}

impl Scanner {
    /// Reads on to the next report; gives it with the number of bytes that were read. Everything was read
    /// when there is none.
    pub(crate) fn next(&mut self, bytes: &[u8]) -> Option<(usize, Report)> {
        let mut rest = bytes;
        while let Some(token) = self.tokenizer.next(&mut rest) {
            if let Token::Sequence(raw) = token
                && let Some(report) = report(raw)
            {
                return Some((bytes.len() - rest.len(), report));
            }
        }
        None
    }
}

fn report(raw: &[u8]) -> Option<Report> {
    // Nearly all sequences change colours or move the cursor, and need not be taken apart.
    if !matches!(raw, [_, b'[', b'?', .., b'h' | b'l'] | [_, b']', ..]) {
        return None;
    }
    match Sequence::parse(raw) {
        Sequence::Csi(csi) if csi.intermediate == 0 => mode(&csi),
        Sequence::Osc(content, _) => command(content),
        _ => None,
    }
}

/// The modes a sequence sets or resets; of several in one, the one that matters most.
fn mode(csi: &Csi) -> Option<Report> {
    let on = csi.action == b'h';
    let has = |modes: &[u16]| csi.params().iter().any(|mode| modes.contains(mode));
    if has(&[2026]) {
        Some(Report::Sync(on))
    } else if has(&[2004]) {
        Some(Report::Paste(on))
    } else if has(&[1049, 1047, 47]) {
        Some(Report::Alternate(on))
    } else {
        None
    }
}

fn command(content: &[u8]) -> Option<Report> {
    let split = memchr::memchr(b';', content)?;
    let (number, rest) = (&content[..split], &content[split + 1..]);
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
    let bytes = &bytes[..bytes.len().min(limits::STRING_BYTES)];
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
