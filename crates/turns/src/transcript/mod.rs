//! Session files of agents: where an agent writes its conversation, and in which form.
//!
//! An agent knows its answer as the model sent it: as Markdown, with every line, even those that a screen did not show. Some
//! agents write it to a session file while they work. This module reads such files, and [`agreed`] compares an exchange with
//! the screen. It does no I/O: a caller searches a [`TranscriptPlace`] and passes the bytes. A report of the agent
//! itself, with the same [`Exchange`]s, needs the same comparison.
//!
//! The files belong to other programs, whose next release may write them in another way: a line that is not understood
//! is skipped, and a text that does not agree with the screen is not used.

mod agreement;
mod claude;
mod codex;
mod gemini;
mod opencode;
mod sqlite;

pub use agreement::{Disagreement, Shown, agreed};
pub use sqlite::ReadPart;

use crate::limits;
use crate::strip::strip_text;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlite::Database;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// How an agent writes its session files, named after the agent that does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TranscriptFormat {
    /// Claude Code: one file per session, one JSON object per line.
    Claude,
    /// codex: one rollout per session, one JSON object per line.
    Codex,
    /// gemini: one file per session, one JSON object per line; in older versions one object.
    Gemini,
    /// opencode: one SQLite database for all sessions.
    Opencode,
}

/// Where session files are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptPlace {
    /// The directory below which they are.
    pub directory: PathBuf,
    /// Levels of directories between it and the files.
    pub depth: usize,
    /// How their names end.
    pub suffixes: &'static [&'static str],
    /// What follows the name of a database in the name of its write-ahead log. Other files have none.
    pub log: Option<&'static str>,
}

impl TranscriptFormat {
    /// Where an agent that was started in `directory`, a path without links, writes its session files. `variable` looks up its environment.
    pub fn place(
        self,
        variable: impl Fn(&str) -> Option<String>,
        directory: &Path,
    ) -> Option<TranscriptPlace> {
        let own = |name: &str, default: &str| {
            let named = variable(name).filter(|path| !path.is_empty()).map(PathBuf::from);
            let root = named.or_else(|| Some(Path::new(&variable("HOME")?).join(default)))?;
            // A relative path would be relative to the daemon's directory.
            root.is_absolute().then_some(root)
        };
        Some(match self {
            Self::Claude => TranscriptPlace {
                directory: own("CLAUDE_CONFIG_DIR", ".claude")?
                    .join("projects")
                    .join(claude::project_name(directory.to_str()?)),
                depth: 0,
                suffixes: &[".jsonl"],
                log: None,
            },
            // By year, month and day.
            Self::Codex => TranscriptPlace {
                directory: own("CODEX_HOME", ".codex")?.join("sessions"),
                depth: 3,
                suffixes: &[".jsonl"],
                log: None,
            },
            // By project, in a directory `chats`.
            Self::Gemini => TranscriptPlace {
                directory: Path::new(&variable("HOME")?).join(".gemini/tmp"),
                depth: 2,
                suffixes: &[".jsonl", ".json"],
                log: None,
            }
            .absolute()?,
            Self::Opencode => {
                let named = variable("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
                let data = named.or_else(|| Some(Path::new(&variable("HOME")?).join(".local/share")))?;
                TranscriptPlace {
                    directory: data.join("opencode"),
                    depth: 0,
                    suffixes: &[".db"],
                    log: Some("-wal"),
                }
                .absolute()?
            }
        })
    }

    /// The newest exchanges in the last bytes of a session file, oldest first. `whole` if these are all of its bytes.
    pub fn exchanges(self, bytes: &[u8], whole: bool) -> Vec<Exchange> {
        // The first line may have lost its beginning.
        let from = if whole { 0 } else { memchr::memchr(b'\n', bytes).map_or(bytes.len(), |end| end + 1) };
        let bytes = bytes.get(from..).unwrap_or_default();
        let mut exchanges = Exchanges::default();
        match self {
            Self::Claude => objects(bytes).for_each(|line| claude::read(&line, &mut exchanges)),
            Self::Codex => {
                let mut task = false;
                objects(bytes).for_each(|line| codex::read(&line, &mut task, &mut exchanges));
            }
            Self::Gemini => gemini::read(bytes, &mut exchanges),
            // A database has no lines.
            Self::Opencode => {}
        }
        exchanges.finish()
    }

    /// The newest exchanges in a database and its write-ahead log: those of each session that was active `since` then, in Unix
    /// seconds, the oldest exchange first.
    pub fn stored_exchanges(self, database: ReadPart<'_>, log: &[u8], since: i64) -> Vec<Vec<Exchange>> {
        let database = Database::open(database, log);
        match (self, database) {
            (Self::Opencode, Some(database)) => opencode::conversations(&database, since),
            _ => Vec::new(),
        }
    }
}

impl TranscriptPlace {
    fn absolute(self) -> Option<Self> {
        self.directory.is_absolute().then_some(self)
    }
}

/// A prompt and the agent's answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exchange {
    /// The prompt, as far as it is kept.
    pub prompt: String,
    /// The answer as Markdown, without escape sequences.
    pub answer: String,
    /// Whether the agent used tools, whose output is not part of the answer.
    pub tools: bool,
    /// Whether the last thing known of it is text of the agent.
    pub complete: bool,
    /// Whether the user interrupted it: nothing more will be known of it.
    pub interrupted: bool,
}

/// The newest exchanges of a conversation, in the order in which they are read.
#[derive(Debug, Default)]
struct Exchanges {
    done: VecDeque<Exchange>,
    /// `None` before the first prompt: the beginning of that answer may be missing.
    open: Option<Exchange>,
}

impl Exchanges {
    /// The user submits a prompt, or a further part of one.
    fn prompt(&mut self, text: &str) {
        let begun = |open: &Exchange| !open.answer.is_empty() || open.tools || open.interrupted;
        if self.open.as_ref().is_none_or(begun) {
            self.done.extend(self.open.replace(Exchange::default()));
        }
        if self.done.len() > limits::EXCHANGES {
            self.done.pop_front();
        }
        self.more_of_prompt(text);
    }

    /// The prompt has this text, too.
    fn more_of_prompt(&mut self, text: &str) {
        let Some(open) = &mut self.open else { return };
        let left = limits::TYPED_BYTES.saturating_sub(open.prompt.len());
        let mut characters = text.chars();
        let mut used = 0;
        open.prompt.extend(characters.by_ref().take_while(|c| {
            used += c.len_utf8();
            used < left
        }));
        open.prompt.push('\n');
    }

    /// The agent writes a text.
    fn text(&mut self, text: &str) {
        let Some(open) = &mut self.open else { return };
        let text = plain(text);
        if text.is_empty() {
            return;
        }
        if open.answer.len() + text.len() > limits::TEXT_BYTES {
            // Nothing after it makes the answer complete again.
            open.answer.clear();
            self.open = None;
            return;
        }
        if !open.answer.is_empty() {
            open.answer.push_str("\n\n");
        }
        open.answer.push_str(&text);
        open.complete = true;
    }

    /// The agent uses a tool.
    fn tool(&mut self) {
        if let Some(open) = &mut self.open {
            (open.tools, open.complete) = (true, false);
        }
    }

    /// The agent has not written all of what it writes now.
    fn goes_on(&mut self) {
        if let Some(open) = &mut self.open {
            open.complete = false;
        }
    }

    /// The user interrupts the answer.
    fn interrupt(&mut self) {
        if let Some(open) = &mut self.open {
            open.interrupted = true;
        }
    }

    fn finish(mut self) -> Vec<Exchange> {
        self.done.extend(self.open.take());
        self.done.into()
    }
}

/// Text of an agent without escape sequences and other controls, which a screen would not have shown either.
fn plain(text: &str) -> String {
    let lines = text.split('\n').map(|line| strip_text(line.as_bytes()));
    let lines: Vec<String> =
        lines.map(|line| line.chars().filter(|c| *c == '\t' || !c.is_control()).collect()).collect();
    lines.join("\n").trim_matches('\n').trim_end().to_owned()
}

/// The JSON objects of a file that has one per line; other lines are skipped.
fn objects(bytes: &[u8]) -> impl Iterator<Item = Value> + '_ {
    bytes
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice::<Value>(line).ok().filter(Value::is_object))
}

/// The text of a field.
fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// The elements of a field that is a list.
fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value.get(field).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn is_true(value: &Value, field: &str) -> bool {
    value.get(field).and_then(Value::as_bool).unwrap_or(false)
}

/// An empty answer to a prompt, in tests.
#[cfg(test)]
fn complete(prompt: &str) -> Exchange {
    Exchange { prompt: prompt.to_owned(), complete: true, ..Exchange::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the server sent to an agent when its session file was recorded.
    fn sent_to(agent: &str) -> String {
        let mark = agent.to_uppercase();
        format!(
            "The {agent} answer ask begins with ZA{mark}ASKZ here.\n\n- one item in a list\n\
             - another item with **bold** words\n\n```\na line of code, number ask\n```\n\n\
             The last word is ZB{mark}ASKZ."
        )
    }

    #[test]
    fn recorded_answers_are_read_as_they_were_sent() {
        let recordings: [(TranscriptFormat, &str, &[u8]); 3] = [
            (TranscriptFormat::Claude, "claude", include_bytes!("../../tests/transcripts/claude-2.1.jsonl")),
            (TranscriptFormat::Codex, "codex", include_bytes!("../../tests/transcripts/codex-0.166.jsonl")),
            (TranscriptFormat::Gemini, "gemini", include_bytes!("../../tests/transcripts/gemini-0.61.jsonl")),
        ];
        for (format, agent, recorded) in recordings {
            let found = format.exchanges(recorded, true);
            let [.., plain, tool, denied] = found.as_slice() else { panic!("{agent}: {found:?}") };
            assert_eq!(plain.answer, sent_to(agent));
            assert!(plain.complete && !plain.tools, "{plain:?}");
            assert!(tool.answer.starts_with(&format!("I will make it.\n\nThe {agent} answer")), "{tool:?}");
            assert!(tool.complete && tool.tools, "{tool:?}");
            assert_eq!((denied.answer.as_str(), denied.tools), ("I will make it.", true));
            assert!(!denied.complete && denied.interrupted, "{denied:?}");
            let prompt = format!("Please say something about Q{}DENIEDQ\n", agent.to_uppercase());
            assert!(denied.prompt.contains(&prompt), "{denied:?}");
        }
    }

    fn place(format: TranscriptFormat, environment: &[(&str, &str)]) -> Option<String> {
        let variable = |name: &str| {
            environment.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        };
        let place = format.place(variable, Path::new("/home/ann/my.project_2/a"))?;
        Some(format!("{} {}", place.directory.display(), place.depth))
    }

    #[test]
    fn files_are_searched_where_the_agents_environment_points() {
        use TranscriptFormat::{Claude, Codex, Gemini, Opencode};
        let home = ("HOME", "/home/ann");
        let expected = "/home/ann/.claude/projects/-home-ann-my-project-2-a 0";
        assert_eq!(place(Claude, &[home]).unwrap(), expected);
        let expected = "/c/projects/-home-ann-my-project-2-a 0";
        assert_eq!(place(Claude, &[home, ("CLAUDE_CONFIG_DIR", "/c")]).unwrap(), expected);
        assert_eq!(place(Codex, &[home]).unwrap(), "/home/ann/.codex/sessions 3");
        assert_eq!(place(Codex, &[("CODEX_HOME", "/x")]).unwrap(), "/x/sessions 3");
        assert_eq!(place(Gemini, &[home]).unwrap(), "/home/ann/.gemini/tmp 2");
        assert_eq!(place(Opencode, &[home]).unwrap(), "/home/ann/.local/share/opencode 0");
        assert_eq!(place(Opencode, &[home, ("XDG_DATA_HOME", "/d")]).unwrap(), "/d/opencode 0");
        let expected = "/home/ann/.local/share/opencode 0";
        assert_eq!(place(Opencode, &[home, ("XDG_DATA_HOME", "relative")]).unwrap(), expected);
        for format in [Claude, Codex, Gemini, Opencode] {
            assert_eq!(place(format, &[]), None);
            assert_eq!(place(format, &[("HOME", "relative")]), None);
        }
        assert_eq!(place(Codex, &[home, ("CODEX_HOME", "relative")]), None);
        assert_eq!(place(Codex, &[home, ("CODEX_HOME", "")]).unwrap(), "/home/ann/.codex/sessions 3");
    }

    #[test]
    fn an_exchange_whose_prompt_is_missing_does_not_count() {
        let mut exchanges = Exchanges::default();
        exchanges.text("the end of an answer");
        assert_eq!(exchanges.finish(), []);
    }

    #[test]
    fn texts_of_one_answer_are_joined_and_a_tool_after_them_leaves_it_incomplete() {
        let mut exchanges = Exchanges::default();
        exchanges.prompt("do");
        exchanges.prompt("this");
        exchanges.text("one\n");
        exchanges.tool();
        let open = exchanges.open.clone().unwrap();
        assert_eq!((open.answer.as_str(), open.complete), ("one", false));
        exchanges.text("\ntwo");
        let answer = Exchange { answer: "one\n\ntwo".to_owned(), tools: true, ..complete("do\nthis\n") };
        assert_eq!(exchanges.finish(), [answer]);
    }

    #[test]
    fn answers_and_their_number_are_limited() {
        let mut exchanges = Exchanges::default();
        for n in 0..100 {
            exchanges.prompt("next");
            exchanges.text(&n.to_string());
        }
        let answers: Vec<_> = exchanges.finish().into_iter().map(|exchange| exchange.answer).collect();
        assert_eq!(answers.last().unwrap(), "99");
        assert_eq!(answers.len(), limits::EXCHANGES + 1);
        let mut exchanges = Exchanges::default();
        exchanges.prompt(&"ä".repeat(limits::TYPED_BYTES));
        assert!(exchanges.open.as_ref().unwrap().prompt.len() <= limits::TYPED_BYTES);
        exchanges.text("beginning");
        exchanges.text(&"x".repeat(limits::TEXT_BYTES));
        exchanges.text("end");
        assert_eq!(exchanges.finish(), []);
    }

    #[test]
    fn text_has_no_controls() {
        assert_eq!(plain("\na\x1b[31mred\x1b]0;t\x07\r\n\tb\u{9b}2J\u{7f}\n\n"), "ared\n\tb2J");
        assert_eq!(plain("    code\n"), "    code");
    }

    #[test]
    fn damaged_files_do_no_harm() {
        let lines: &[&[u8]] = &[
            b"",
            b"\n\n",
            b"{",
            b"[1,2]\n\"x\"\n3\nnull",
            b"\xff\xfe\n{\"type\":\"user\"}\n",
            br#"{"type":"user","message":{"content":3}}"#,
            br#"{"type":"assistant","message":[]}"#,
            br#"{"type":"event_msg","payload":"x"}"#,
            br#"{"$set":{"messages":{}}}"#,
            br#"{"messages":[1,{"type":2}]}"#,
        ];
        let deep = [b"[".repeat(200_000), b"{\"a\":".repeat(200_000)];
        for format in [TranscriptFormat::Claude, TranscriptFormat::Codex, TranscriptFormat::Gemini] {
            for bytes in lines.iter().copied().chain(deep.iter().map(Vec::as_slice)) {
                for whole in [true, false] {
                    let exchanges = format.exchanges(bytes, whole);
                    assert!(exchanges.iter().all(|exchange| !exchange.complete), "{format:?} {exchanges:?}");
                }
            }
        }
    }
}
