//! Decides which typed bytes reach the agent (CO-46). Pure: the caller supplies the time.

use crate::limits;
use std::time::Instant;

/// Lines that end most agents.
const LINES: [&str; 3] = ["exit", "/exit", "quit"];
const END_OF_INPUT: u8 = 0x04;
const QUIT_SIGNAL: u8 = 0x1c;
const INTERRUPT: u8 = 0x03;

/// What was withheld.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Withheld {
    /// Ctrl+D.
    EndOfInput,
    /// Ctrl+\.
    QuitSignal,
    /// A line that consists of this word.
    Line(&'static str),
    /// A further Ctrl+C within a short time.
    Interrupt,
}

impl Withheld {
    /// The notice for the person who typed it.
    pub(crate) fn notice(self) -> String {
        let what = match self {
            Self::EndOfInput => "Ctrl+D".to_owned(),
            Self::QuitSignal => "Ctrl+\\".to_owned(),
            Self::Line(word) => format!("'{word}'"),
            Self::Interrupt => {
                return "A second Ctrl+C so soon was not sent: it could end the agent.".to_owned();
            }
        };
        format!("{what} was not sent: it could end the agent. An owner can switch this filter off.")
    }
}

/// What becomes of some input.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Filtered {
    /// Bytes for the program.
    pub(crate) passed: Vec<u8>,
    /// What was withheld last, if anything was.
    pub(crate) withheld: Option<Withheld>,
}

/// Follows the bytes that clients elsewhere type into one terminal.
///
/// Only bytes that may turn out to be a whole forbidden line are held back, until the next byte decides or
/// [`Matcher::release`] gives them up; then only the end of such a line can still be withheld.
#[derive(Debug, Clone, Default)]
pub(crate) struct Matcher {
    line: Line,
    /// How many bytes at the end of the line are held back.
    held: usize,
    /// A carriage return was withheld, so a line feed that follows belongs to it.
    withheld_return: bool,
    /// The last Ctrl+C that was passed on.
    interrupted: Option<Instant>,
}

/// The current line, as far as it matters.
#[derive(Debug, Clone)]
enum Line {
    /// It is the beginning of a forbidden line.
    Begins(Vec<u8>),
    /// It can no longer become one.
    Harmless,
}

impl Default for Line {
    fn default() -> Self {
        Self::Begins(Vec::new())
    }
}

impl Matcher {
    /// Takes typed bytes and returns those for the program; the last ones may be held back.
    pub(crate) fn feed(&mut self, bytes: &[u8], now: Instant) -> Filtered {
        let mut filtered = Filtered::default();
        for &byte in bytes {
            let ends_withheld = std::mem::take(&mut self.withheld_return) && byte == b'\n';
            let withheld = match byte {
                _ if ends_withheld => continue,
                END_OF_INPUT => Some(Withheld::EndOfInput),
                QUIT_SIGNAL => Some(Withheld::QuitSignal),
                INTERRUPT if self.is_repeated(now) => Some(Withheld::Interrupt),
                b'\r' | b'\n' => self.end_line(byte, &mut filtered.passed),
                INTERRUPT => {
                    self.interrupted = Some(now);
                    filtered.passed.extend(self.release());
                    filtered.passed.push(byte);
                    // The program gives up the line.
                    self.line = Line::default();
                    None
                }
                _ => {
                    self.extend_line(byte, &mut filtered.passed);
                    None
                }
            };
            filtered.withheld = withheld.or(filtered.withheld);
        }
        filtered
    }

    /// Gives up the bytes held back.
    pub(crate) fn release(&mut self) -> Vec<u8> {
        let held = std::mem::take(&mut self.held);
        match &self.line {
            Line::Begins(line) => line[line.len() - held..].to_vec(),
            Line::Harmless => Vec::new(),
        }
    }

    /// Whether bytes are held back.
    pub(crate) fn holds(&self) -> bool {
        self.held > 0
    }

    fn is_repeated(&self, now: Instant) -> bool {
        self.interrupted.is_some_and(|last| now.saturating_duration_since(last) < limits::FILTER_INTERRUPTS)
    }

    fn extend_line(&mut self, byte: u8, passed: &mut Vec<u8>) {
        if let Line::Begins(line) = &mut self.line {
            line.push(byte);
            if LINES.iter().any(|word| word.as_bytes().starts_with(line)) {
                self.held += 1;
                return;
            }
            passed.extend_from_slice(&line[line.len() - 1 - self.held..]);
            self.held = 0;
            self.line = Line::Harmless;
            return;
        }
        passed.push(byte);
    }

    /// The line ends with this byte; a forbidden one is withheld as far as it was not passed on.
    fn end_line(&mut self, byte: u8, passed: &mut Vec<u8>) -> Option<Withheld> {
        if let Line::Begins(line) = &mut self.line
            && let Some(word) = LINES.iter().find(|word| word.as_bytes() == line.as_slice())
        {
            // What was passed on is still in the program's line.
            line.truncate(line.len() - self.held);
            self.held = 0;
            self.withheld_return = byte == b'\r';
            return Some(Withheld::Line(word));
        }
        passed.extend(self.release());
        passed.push(byte);
        self.line = Line::default();
        None
    }
}

/// Whether a text would be withheld if a client typed and submitted it.
pub(crate) fn forbidden(text: &[u8]) -> Option<Withheld> {
    let mut matcher = Matcher::default();
    let now = Instant::now();
    matcher.feed(text, now).withheld.or_else(|| matcher.feed(b"\r", now).withheld)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    /// What reaches the program of pieces that arrive one after the other, and the last thing withheld.
    fn typed(pieces: &[&str]) -> (String, Option<Withheld>) {
        let (mut matcher, now) = (Matcher::default(), Instant::now());
        let (mut passed, mut withheld) = (Vec::new(), None);
        for piece in pieces {
            let filtered = matcher.feed(piece.as_bytes(), now);
            passed.extend(filtered.passed);
            withheld = filtered.withheld.or(withheld);
        }
        passed.extend(matcher.release());
        (String::from_utf8(passed).unwrap(), withheld)
    }

    // CO-46
    #[test]
    fn lines_that_end_agents_are_withheld_however_they_are_cut() {
        for word in LINES {
            for end in ["\r", "\n", "\r\n"] {
                let whole = format!("{word}{end}ls\r");
                assert_eq!(typed(&[&whole]), ("ls\r".to_owned(), Some(Withheld::Line(word))), "{whole:?}");
                let bytes: Vec<String> = whole.chars().map(String::from).collect();
                let bytes: Vec<&str> = bytes.iter().map(String::as_str).collect();
                assert_eq!(typed(&bytes), ("ls\r".to_owned(), Some(Withheld::Line(word))), "{whole:?}");
            }
        }
    }

    // CO-46: a line counts when it consists of the word alone
    #[test]
    fn other_lines_pass_unchanged() {
        for text in [
            "exits\r",
            "exit now\r",
            " exit\r",
            "echo exit\r",
            "/exits\r",
            "/\r",
            "e\r",
            "quitx\n",
            "Exit\r",
            "x\x7fexit\r",
            "\r\r\n",
            "exi\x7ft\r",
            "ex",
            "exit",
            "qu\u{e9}\r",
        ] {
            assert_eq!(typed(&[text]), (text.to_owned(), None), "{text:?}");
        }
    }

    // CO-46
    #[test]
    fn control_keys_that_end_programs_are_withheld() {
        assert_eq!(typed(&["a\x04b"]), ("ab".to_owned(), Some(Withheld::EndOfInput)));
        assert_eq!(typed(&["a\x1cb"]), ("ab".to_owned(), Some(Withheld::QuitSignal)));
        assert_eq!(typed(&["abc\x03exit\r"]), ("abc\x03".to_owned(), Some(Withheld::Line("exit"))));
        // They do not divide a word.
        assert_eq!(typed(&["ex\x04it\r"]), (String::new(), Some(Withheld::Line("exit"))));
    }

    // CO-46: Ctrl+C counts from the last one passed on
    #[test]
    fn repeated_interrupts_are_dropped() {
        let (mut matcher, begin) = (Matcher::default(), Instant::now());
        let mut passes = |millis| {
            let filtered = matcher.feed(b"\x03", begin + Duration::from_millis(millis));
            assert_eq!(filtered.passed.is_empty(), filtered.withheld == Some(Withheld::Interrupt));
            !filtered.passed.is_empty()
        };
        assert_eq!([0, 300, 499, 500, 900, 1001].map(&mut passes), [true, false, false, true, false, true]);
    }

    #[test]
    fn after_a_pause_only_the_end_of_a_line_can_be_withheld() {
        let (mut matcher, now) = (Matcher::default(), Instant::now());
        assert!(matcher.feed(b"exi", now).passed.is_empty() && matcher.holds());
        assert_eq!(matcher.release(), b"exi");
        let end = matcher.feed(b"t\r", now);
        assert_eq!((end.passed, end.withheld), (Vec::new(), Some(Withheld::Line("exit"))));
        // The program has "exi" in its line; the same end is withheld again, another one passes.
        assert_eq!(matcher.feed(b"t\r", now).withheld, Some(Withheld::Line("exit")));
        assert_eq!(matcher.feed(b"le\r", now).passed, b"le\r");
    }

    #[test]
    fn a_text_is_forbidden_if_a_line_of_it_is() {
        assert_eq!(forbidden(b"exit"), Some(Withheld::Line("exit")));
        assert_eq!(forbidden(b"one\nquit\ntwo"), Some(Withheld::Line("quit")));
        assert_eq!(forbidden(b"please exit"), None);
    }

    proptest! {
        // CO-46: what reaches the program does not depend on how the network cuts the bytes.
        #[test]
        fn input_is_filtered_alike_however_it_is_cut(
            pieces in prop::collection::vec("[exitqu/a\\r\\n\x03\x04\x1c\x7f]{0,6}", 0..12),
        ) {
            let whole = pieces.concat();
            let cut: Vec<&str> = pieces.iter().map(String::as_str).collect();
            let bytes: Vec<String> = whole.chars().map(String::from).collect();
            let bytes: Vec<&str> = bytes.iter().map(String::as_str).collect();
            let expected = typed(&[&whole]);
            prop_assert_eq!(&typed(&cut), &expected);
            prop_assert_eq!(&typed(&bytes), &expected);
            let lines = expected.0.split(['\r', '\n']).rev().skip(1);
            prop_assert!(!lines.into_iter().any(|line| LINES.contains(&line)), "{:?}", expected.0);
        }
    }
}
