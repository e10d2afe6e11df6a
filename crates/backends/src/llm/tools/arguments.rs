//! The arguments of tools, and their descriptions for models.

use crate::llm::limits;
use crate::llm::model_message::ToolSpec;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use swb_chat::limits::{OPTIONS, QUESTIONS};
use swb_chat::{Location, ToolKind};

/// A tool with its arguments.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ToolArguments {
    Ask(AskUser),
    Edit(EditFile),
    Execute(ExecuteCommand),
    List(ListFiles),
    Read(ReadFile),
    Search(Search),
    Write(WriteFile),
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct ReadFile {
    pub(super) path: String,
    #[serde(default)]
    pub(super) first_line: Option<usize>,
    #[serde(default)]
    pub(super) lines: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct WriteFile {
    pub(super) path: String,
    pub(super) content: String,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct EditFile {
    pub(super) path: String,
    pub(super) old_text: String,
    pub(super) new_text: String,
    #[serde(default)]
    pub(super) all: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct ListFiles {
    #[serde(default)]
    pub(super) path: Option<String>,
    #[serde(default)]
    pub(super) pattern: Option<String>,
    #[serde(default)]
    pub(super) depth: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Search {
    pub(super) pattern: String,
    #[serde(default)]
    pub(super) literal: Option<bool>,
    #[serde(default)]
    pub(super) ignore_case: Option<bool>,
    #[serde(default)]
    pub(super) path: Option<String>,
    #[serde(default)]
    pub(super) files: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct ExecuteCommand {
    pub(super) command: String,
    #[serde(default)]
    pub(super) timeout_seconds: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct AskUser {
    #[serde(default)]
    pub(super) question: Option<String>,
    #[serde(default)]
    pub(super) options: Option<Vec<String>>,
    #[serde(default)]
    pub(super) questions: Option<Vec<QuestionItem>>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct QuestionItem {
    pub(super) question: String,
    #[serde(default)]
    pub(super) options: Option<Vec<String>>,
}

impl ToolArguments {
    /// Parses a tool call; an error message for the model if it is invalid.
    pub(super) fn parse(name: &str, parameters: &Map<String, Value>) -> Result<Self, String> {
        let value = Value::Object(parameters.clone());
        let tool = match name {
            "ask_user" => serde_json::from_value(value).map(Self::Ask),
            "edit_file" => serde_json::from_value(value).map(Self::Edit),
            "execute_command" => serde_json::from_value(value).map(Self::Execute),
            "list_files" => serde_json::from_value(value).map(Self::List),
            "read_file" => serde_json::from_value(value).map(Self::Read),
            "search" => serde_json::from_value(value).map(Self::Search),
            "write_file" => serde_json::from_value(value).map(Self::Write),
            _ => return Err(format!("there is no tool named '{name}'")),
        };
        let tool = tool.map_err(|error| format!("these arguments do not fit {name}: {error}"))?;
        tool.check().map(|()| tool)
    }

    /// Checks beyond the types.
    fn check(&self) -> Result<(), String> {
        match self {
            Self::Ask(ask) => ask.check(),
            Self::Edit(edit) if edit.old_text.is_empty() => Err("old_text must not be empty".to_owned()),
            Self::Edit(edit) if edit.old_text == edit.new_text => {
                Err("old_text and new_text are the same".to_owned())
            }
            Self::Execute(execute) if execute.command.trim().is_empty() => {
                Err("command must not be empty".to_owned())
            }
            Self::Execute(execute) if execute.command.contains('\0') => {
                Err("there is a NUL in the command".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// Its kind.
    pub(super) fn kind(&self) -> ToolKind {
        match self {
            Self::Ask(_) => ToolKind::Other,
            Self::Edit(_) | Self::Write(_) => ToolKind::Edit,
            Self::Execute(_) => ToolKind::Execute,
            Self::List(_) | Self::Search(_) => ToolKind::Search,
            Self::Read(_) => ToolKind::Read,
        }
    }

    /// A description of the call for users.
    pub(super) fn description(&self) -> String {
        let words = match self {
            Self::Ask(_) => "Asks you".to_owned(),
            Self::Edit(edit) => format!("Edits {}", edit.path),
            Self::Execute(execute) => execute.command.clone(),
            Self::List(list) => format!("Lists {}", list.path.as_deref().unwrap_or("the files")),
            Self::Read(read) => format!("Reads {}", read.path),
            Self::Search(search) => format!("Searches for {}", search.pattern),
            Self::Write(write) => format!("Writes {}", write.path),
        };
        brief(&words)
    }

    /// The files it works on.
    pub(super) fn locations(&self) -> Vec<Location> {
        let (path, line) = match self {
            Self::Edit(edit) => (&edit.path, None),
            Self::Read(read) => (&read.path, read.first_line.and_then(|line| u32::try_from(line).ok())),
            Self::Write(write) => (&write.path, None),
            _ => return Vec::new(),
        };
        vec![Location { path: PathBuf::from(path), line }]
    }
}

impl AskUser {
    fn check(&self) -> Result<(), String> {
        let items = self.questions.as_deref().unwrap_or_default();
        let blank = |text: &str| text.trim().is_empty();
        if self.question.as_deref().is_none_or(blank) && items.is_empty() {
            return Err("there is nothing to ask: give question or questions".to_owned());
        }
        if items.iter().any(|item| blank(&item.question)) {
            return Err("one of the questions is empty".to_owned());
        }
        let options = items.iter().map(|item| item.options.as_deref()).chain([self.options.as_deref()]);
        let most = options.map(|options| options.unwrap_or_default().len()).max().unwrap_or(0);
        if items.len() > QUESTIONS || most > OPTIONS {
            let (questions, options) = (QUESTIONS, OPTIONS);
            return Err(format!(
                "at most {questions} questions with {options} options each can be asked at once"
            ));
        }
        Ok(())
    }
}

/// Text short enough for a screen.
pub(super) fn brief(words: &str) -> String {
    let mut brief: String = words.chars().take(limits::DESCRIPTION_CHARS).collect();
    if brief.len() < words.len() {
        brief.push('…');
    }
    brief
}

/// The tools as they are described to models.
pub(in crate::llm) fn specs() -> Vec<ToolSpec> {
    let text = |words: &str| json!({"type": "string", "description": words});
    let number = |words: &str| json!({"type": "integer", "minimum": 1, "description": words});
    let flag = |words: &str| json!({"type": "boolean", "description": words});
    let options = json!({"type": "array", "items": {"type": "string"}, "description": "Answers to choose from; any answer is possible without."});
    let item = object(&["question"], json!({"question": text("The question."), "options": options}));
    let path = text("The path, absolute or seen from the working directory.");
    vec![
        spec(
            "read_file",
            READ,
            &["path"],
            json!({
                "path": path,
                "first_line": number("The first line to read, from 1 on."),
                "lines": number("How many lines to read."),
            }),
        ),
        spec(
            "write_file",
            WRITE,
            &["path", "content"],
            json!({
                "path": path,
                "content": text("The whole text of the file."),
            }),
        ),
        spec(
            "edit_file",
            EDIT,
            &["path", "old_text", "new_text"],
            json!({
                "path": path,
                "old_text": text("The text to be replaced, exactly as it is in the file."),
                "new_text": text("The text that takes its place."),
                "all": flag("Replace every occurrence instead of the only one."),
            }),
        ),
        spec(
            "list_files",
            LIST,
            &[],
            json!({
                "path": text("The directory; the working directory by default."),
                "pattern": text("Only files that match, such as *.rs or src/**/mod.rs."),
                "depth": number("How many levels deep; 1 is the directory alone. All by default."),
            }),
        ),
        spec(
            "search",
            SEARCH,
            &["pattern"],
            json!({
                "pattern": text("A regular expression."),
                "literal": flag("The pattern is plain text."),
                "ignore_case": flag("Upper and lower case are the same."),
                "path": text("The directory or file to search; the working directory by default."),
                "files": text("Only files that match, such as *.rs."),
            }),
        ),
        spec(
            "execute_command",
            EXECUTE,
            &["command"],
            json!({
                "command": text("The command, for /bin/sh."),
                "timeout_seconds": number("How long it may take."),
            }),
        ),
        spec(
            "ask_user",
            ASK,
            &[],
            json!({
                "question": text("The question, or what several questions are about."),
                "options": options,
                "questions": {"type": "array", "items": item, "description": "Several questions at once."},
            }),
        ),
    ]
}

const READ: &str = "Reads a text file. Long files are cut; read the rest by first_line.";
const WRITE: &str = "Writes a text file, in place of one that is there; missing directories are made. The user may be asked first.";
const EDIT: &str = "Replaces a piece of text in a file. It must occur exactly once unless all is set, so include enough around it. The user may be asked first.";
const LIST: &str = "Lists files and directories, without those that git ignores.";
const SEARCH: &str = "Searches the lines of text files, without those that git ignores.";
const EXECUTE: &str = "Runs a command in the working directory and gives its output and exit status. There is no terminal and no input; only the workspace can be written. The user may be asked first.";
const ASK: &str =
    "Asks the user: one question, or several at once. Use it only when you cannot go on without an answer.";

fn spec(name: &'static str, description: &'static str, required: &[&str], properties: Value) -> ToolSpec {
    ToolSpec { name, description, schema: object(required, properties) }
}

fn object(required: &[&str], properties: Value) -> Value {
    json!({"type": "object", "properties": properties, "required": required})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(name: &str, arguments: Value) -> Result<ToolArguments, String> {
        ToolArguments::parse(name, arguments.as_object().unwrap())
    }

    #[test]
    fn every_tool_that_is_described_can_be_used() {
        let specs = specs();
        assert_eq!(specs.len(), 7);
        for spec in specs {
            let mut arguments = Map::new();
            for key in spec.schema["required"].as_array().unwrap() {
                arguments.insert(key.as_str().unwrap().to_owned(), json!(key));
            }
            let parsed = ToolArguments::parse(spec.name, &arguments);
            // What to ask is not required in one form only.
            assert!(parsed.is_ok() || spec.name == "ask_user", "{}: {parsed:?}", spec.name);
            for key in spec.schema["required"].as_array().unwrap() {
                assert!(spec.schema["properties"].get(key.as_str().unwrap()).is_some());
                let mut less = arguments.clone();
                less.remove(key.as_str().unwrap());
                assert!(ToolArguments::parse(spec.name, &less).unwrap_err().contains(key.as_str().unwrap()));
            }
        }
    }

    #[test]
    fn bad_arguments_get_an_error_for_the_model() {
        for (name, arguments, words) in [
            ("rm", json!({}), "no tool named 'rm'"),
            ("read_file", json!({"path": 5}), "do not fit read_file"),
            ("read_file", json!({"path": "x", "lines": -1}), "do not fit"),
            ("edit_file", json!({"path": "x", "old_text": "", "new_text": "y"}), "must not be empty"),
            ("edit_file", json!({"path": "x", "old_text": "y", "new_text": "y"}), "the same"),
            ("execute_command", json!({"command": " "}), "must not be empty"),
            ("execute_command", json!({"command": "a\0b"}), "NUL"),
            ("ask_user", json!({}), "nothing to ask"),
            ("ask_user", json!({"questions": [{"question": " "}]}), "is empty"),
            ("ask_user", json!({"question": "x", "options": vec!["o"; 65]}), "at most"),
            ("ask_user", json!({"questions": vec![json!({"question": "x"}); 17]}), "at most"),
        ] {
            let error = parse(name, arguments.clone()).unwrap_err();
            assert!(error.contains(words), "{name} {arguments}: {error}");
        }
        assert!(parse("read_file", json!({"path": "x", "lines": null, "more": 1})).is_ok());
    }
}
