//! Text as bytes for a program: in a bracketed paste if the program supports it, and never such that it presses a key, nor
//! such that text of another session is a command.

use std::sync::Arc;
use swb_turns::{Profile, is_command};

/// Start and end of a bracketed paste.
const PASTE: (&[u8], &[u8]) = (b"\x1b[200~", b"\x1b[201~");

/// Warning when several lines were typed into a program where each may have been submitted.
const LINES: &str =
    "the target does not support bracketed paste, so each line may have been submitted separately";

/// Whether a program takes several lines as one paste.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasteSupport {
    /// It has bracketed paste on.
    On,
    /// It has not: a line break submits what is before it.
    Off,
    /// Its terminal is that of a wrapper, which reports no modes.
    Unknown,
}

/// Input to type.
#[derive(Debug, Clone)]
pub enum TypedText {
    /// Text; it cannot press keys.
    Text(String),
    /// Text of another session, which must not be a command here either.
    Relayed(RelayedText),
    /// Bytes as they are.
    Raw(Vec<u8>),
}

/// Text of another session for a program.
#[derive(Debug, Clone)]
pub struct RelayedText {
    /// Its origin, in front of it; without one the text is refused if it would be a command.
    pub origin: Option<String>,
    /// The text.
    pub text: String,
    /// The detection profile of the program, if known.
    pub profile: Option<Arc<Profile>>,
    /// The name of the program if it runs what it reads.
    pub interpreter: Option<String>,
    /// Whether its lines may be submitted one by one, where the program has no bracketed paste.
    pub line_by_line: bool,
}

/// Why text of another session is not typed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunsText {
    /// The program's commands begin so.
    #[error("the text begins like a command of {program}")]
    Command {
        /// The name of the program's profile.
        program: String,
    },
    /// Without bracketed paste each line is submitted by itself, and this one would be a command.
    #[error(
        "{program} does not support bracketed paste, and line {line} of the text begins like a command of it"
    )]
    Line {
        /// The name of the program's profile.
        program: String,
        /// The number of the line.
        line: usize,
    },
    /// Each line would be submitted by itself.
    #[error(
        "the text has several lines, and each would be submitted by itself: its program does not support bracketed paste"
    )]
    Lines,
    /// Each line might be submitted by itself.
    #[error(
        "the text has several lines, and each could be submitted by itself: the program may not support bracketed paste"
    )]
    LinesPerhaps,
    /// It runs everything.
    #[error("{0} would run the text")]
    Interpreter(String),
}

/// The bytes to type, and a warning for the user.
type Encoded = (Vec<u8>, Option<&'static str>);

impl TypedText {
    /// The bytes to type; `submit` if Enter follows.
    ///
    /// # Errors
    /// If it is text of another session that the program would execute.
    pub fn encode(self, paste: PasteSupport, submit: bool) -> Result<Encoded, RunsText> {
        let text = match self {
            Self::Raw(bytes) => return Ok((bytes, None)),
            Self::Text(text) => harmless(&text),
            Self::Relayed(relayed) => relayed.prompt(paste, submit)?,
        };
        if paste == PasteSupport::On {
            return Ok(([PASTE.0, text.as_bytes(), PASTE.1].concat(), None));
        }
        let warning = text.contains('\n').then_some(LINES);
        Ok((text.into_bytes(), warning))
    }
}

impl RelayedText {
    /// Text that came through a pipe, for a program that is no interpreter. Where it would be a command of the program, a
    /// line of origin is in front of it.
    pub fn piped(text: String, profile: Arc<Profile>) -> Self {
        let origin = profile.is_command(&text).then(|| "[from standard input]".to_owned());
        // It is the user's own text, and most programs without bracketed paste read a line at a time.
        Self { origin, text, profile: Some(profile), interpreter: None, line_by_line: true }
    }

    /// The text to type, which is no command of the program.
    fn prompt(self, paste: PasteSupport, submit: bool) -> Result<String, RunsText> {
        let bracketed = paste == PasteSupport::On;
        let text = harmless(&self.text);
        let text = match self.origin {
            // Where a line break submits, the origin is not a line of its own.
            Some(origin) => format!("{}{}{text}", one_line(&origin), if bracketed { '\n' } else { ' ' }),
            None => text,
        };
        let runs = self.interpreter.is_some();
        if let Some(program) = self.interpreter.filter(|_| submit) {
            return Err(RunsText::Interpreter(program));
        }
        let line_by_line = self.line_by_line && !runs;
        match paste {
            PasteSupport::Unknown if text.contains('\n') => return Err(RunsText::LinesPerhaps),
            PasteSupport::Off if text.contains('\n') && !line_by_line => return Err(RunsText::Lines),
            _ => {}
        }
        let profile = self.profile.as_deref();
        let program = || profile.map_or("the program", Profile::name).to_owned();
        if is_command(profile, &text) {
            return Err(RunsText::Command { program: program() });
        }
        let lines = if bracketed { "" } else { text.as_str() };
        match lines.lines().position(|line| is_command(profile, line)) {
            Some(line) => Err(RunsText::Line { program: program(), line: line + 1 }),
            None => Ok(text),
        }
    }
}

/// Text without control characters.
fn one_line(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

/// Text that presses no keys: of control characters only line breaks and tabs are left, and no line break at the end.
/// Without escapes it cannot end a paste, either.
fn harmless(text: &str) -> String {
    let lines = text.replace("\r\n", "\n").replace('\r', "\n");
    let kept: String = lines.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect();
    kept.trim_end_matches('\n').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use swb_turns::Profiles;

    fn support(bracketed: bool) -> PasteSupport {
        if bracketed { PasteSupport::On } else { PasteSupport::Off }
    }

    fn typed(text: &str, bracketed: bool) -> (String, bool) {
        let (bytes, warning) = TypedText::Text(text.to_owned()).encode(support(bracketed), true).unwrap();
        (String::from_utf8(bytes).unwrap(), warning.is_some())
    }

    #[test]
    fn text_presses_no_keys() {
        let hostile = "a\x03\x1b[201~\x1b[A\u{9b}201~b\r\nc\td\x7f\r\n";
        assert_eq!(typed(hostile, false), ("a[201~[A201~b\nc\td".to_owned(), true));
        assert_eq!(typed(hostile, true), ("\x1b[200~a[201~[A201~b\nc\td\x1b[201~".to_owned(), false));
        assert_eq!(typed("one line\n", false), ("one line".to_owned(), false));
        let (raw, _) = TypedText::Raw(b"\x1b[A\r".to_vec()).encode(PasteSupport::On, true).unwrap();
        assert_eq!(raw, b"\x1b[A\r");
    }

    fn relayed(origin: Option<&str>, text: &str, bracketed: bool) -> Result<String, RunsText> {
        let profile = Profiles::built_in().unwrap().named("codex");
        let (origin, text) = (origin.map(str::to_owned), text.to_owned());
        let relayed = RelayedText { origin, text, profile, interpreter: None, line_by_line: true };
        relayed.prompt(support(bracketed), true)
    }

    #[test]
    fn text_of_another_session_is_no_command() {
        let origin = Some("[from api, turn 3]");
        assert_eq!(relayed(origin, "!ls\n/quit", true).unwrap(), "[from api, turn 3]\n!ls\n/quit");
        assert_eq!(relayed(origin, "!ls", false).unwrap(), "[from api, turn 3] !ls");
        assert_eq!(relayed(None, "see !ls", true).unwrap(), "see !ls");
        assert_eq!(relayed(Some("[from a\n!b, turn 1]"), "", false).unwrap(), "[from a!b, turn 1] ");
        let program = "codex".to_owned();
        let command = Err(RunsText::Command { program: program.clone() });
        for text in ["!ls", "\n /quit", "\x1b!ls"] {
            assert_eq!(relayed(None, text, true), command, "{text:?}");
        }
        assert_eq!(relayed(origin, "one\n\n!two", false), Err(RunsText::Line { program, line: 3 }));
    }

    #[test]
    fn several_lines_are_not_typed_where_each_may_be_submitted() {
        let into = |text: &str, paste| {
            let text = text.to_owned();
            let relayed =
                RelayedText { origin: None, text, profile: None, interpreter: None, line_by_line: false };
            TypedText::Relayed(relayed).encode(paste, false)
        };
        assert_eq!(into("one\ntwo", PasteSupport::Unknown), Err(RunsText::LinesPerhaps));
        assert_eq!(into("one\ntwo", PasteSupport::Off), Err(RunsText::Lines));
        assert!(into("one\ntwo", PasteSupport::On).is_ok());
        for paste in [PasteSupport::Unknown, PasteSupport::Off] {
            assert_eq!(into("one\n", paste).unwrap(), (b"one".to_vec(), None));
        }
    }

    #[test]
    fn a_program_that_runs_what_it_reads_gets_only_what_is_not_submitted() {
        let into = |text: &str, bracketed, submit| {
            let (origin, text) = (None, text.to_owned());
            let interpreter = Some("bash".to_owned());
            let relayed = RelayedText { origin, text, profile: None, interpreter, line_by_line: true };
            relayed.prompt(support(bracketed), submit)
        };
        let refused = Err(RunsText::Interpreter("bash".to_owned()));
        assert_eq!(into("ls", true, true), refused);
        assert_eq!(into("ls\nls", false, false), Err(RunsText::Lines));
        assert_eq!(into("ls\nls", true, false).unwrap(), "ls\nls");
        assert_eq!(into("ls", false, false).unwrap(), "ls");
    }
}
