//! A conversation as a file: Markdown for people, JSON for programs.

use crate::args::ExportFormat;
use crate::console::{print_json_text, print_text};
use crate::error::Failure;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use swb_types::Timestamp;
use swb_vt::{printable, printable_json, printable_lines};
use swb_wire::control::{ConversationReply, MessageItem, PartItem};

/// Writes a conversation to a file, or to standard output.
pub(super) fn write(
    whole: &ConversationReply,
    format: ExportFormat,
    file: Option<&Path>,
) -> Result<(), Failure> {
    let text = match format {
        ExportFormat::Json => printable_json(&(serde_json::to_string_pretty(whole)? + "\n")).into_owned(),
        ExportFormat::Markdown => markdown(whole),
    };
    let Some(file) = file.filter(|file| *file != Path::new("-")) else {
        return if format == ExportFormat::Json { print_json_text(&text) } else { print_text(&text) };
    };
    // A conversation is private.
    let mut options = File::options();
    options.write(true).create(true).truncate(true).mode(0o600);
    let written = options.open(file).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| Failure::io(format!("cannot write {}", file.display()), &error))
}

/// A conversation as Markdown.
fn markdown(whole: &ConversationReply) -> String {
    let about = &whole.conversation;
    let title = if about.title.trim().is_empty() { &about.session } else { &about.title };
    // Writing to a string cannot fail.
    let mut text = format!("# {}\n\n- Conversation: {}\n", line(title), line(&about.session));
    let _ = writeln!(text, "- Directory: {}", line(&about.workspace));
    if let Some(agent) = &about.agent {
        let _ = writeln!(text, "- Agent: {}", line(agent));
    }
    let _ = writeln!(text, "- Changed: {}", Timestamp(about.updated));
    let _ = write!(text, "- Messages: {}", about.messages);
    if about.tokens > 0 {
        let _ = write!(text, ", {} tokens", about.tokens);
    }
    if let Some(cost) = about.cost {
        let _ = write!(text, ", ${cost:.4}");
    }
    text.push('\n');
    whole.messages.iter().for_each(|message| add(&mut text, message));
    text
}

fn add(text: &mut String, message: &MessageItem) {
    let mut role = printable(&message.role).into_owned();
    if let Some(first) = role.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    let _ = write!(text, "\n## {role}, {}\n", Timestamp(message.at));
    for part in &message.parts {
        text.push('\n');
        match part {
            PartItem::Text { text: said } => {
                let _ = writeln!(text, "{}", printable_lines(said.trim_end()));
            }
            PartItem::Thought { text: thought } => {
                for thought in printable_lines(thought.trim_end()).lines() {
                    let _ = writeln!(text, "{}", format!("> {thought}").trim_end());
                }
            }
            PartItem::Tool { name, description, parameters, status, output, cut } => {
                let what = description.as_ref().map_or_else(String::new, |what| format!(": {}", line(what)));
                let status = status.as_deref().unwrap_or("outcome unknown");
                let _ = writeln!(text, "**{}**{what} ({})", line(name), printable(status));
                if !parameters.is_null() {
                    let parameters = serde_json::to_string_pretty(parameters).unwrap_or_default();
                    fenced(text, "json", &printable_json(&parameters));
                }
                if !output.trim().is_empty() {
                    fenced(text, "text", &printable_lines(output));
                }
                if *cut {
                    text.push_str("\nParts of this tool call were left out.\n");
                }
            }
            PartItem::Attachment { mime_type, name } => {
                let name = name.as_deref().unwrap_or("attachment");
                let _ = writeln!(text, "*{}* ({})", line(name), printable(mime_type));
            }
            _ => text.push_str("*content of a newer version*\n"),
        }
    }
    let _ = match (message.ending.as_str(), &message.error) {
        ("complete", _) => Ok(()),
        ("failed", Some(error)) => write!(text, "\n*failed: {}*\n", line(error)),
        (ending, _) => write!(text, "\n*{}*\n", printable(ending)),
    };
}

/// Adds a block of code. Its fence is longer than any in the text.
fn fenced(text: &mut String, language: &str, code: &str) {
    let longest = code.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let _ = write!(text, "\n{fence}{language}\n{}\n{fence}\n", code.trim_end_matches('\n'));
}

fn line(text: &str) -> String {
    printable(text.lines().next().unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use swb_wire::control::ConversationItem;

    #[test]
    fn a_conversation_is_a_markdown_document() {
        let message = |number, role: &str, parts, ending: &str| MessageItem {
            number,
            role: role.into(),
            at: 1_705_314_600_123,
            ending: ending.into(),
            parts,
            ..MessageItem::default()
        };
        let tool = PartItem::Tool {
            name: "read_file".into(),
            description: Some("reads x".into()),
            parameters: json!({"path": "x"}),
            status: Some("completed".into()),
            output: "```\ncode\x1b[2J\n```\n".into(),
            cut: false,
        };
        let whole = ConversationReply {
            conversation: ConversationItem {
                session: "api".into(),
                title: "a race".into(),
                workspace: "/w".into(),
                agent: Some("claude".into()),
                messages: 2,
                tokens: 12,
                updated: 1_705_314_600_123,
                ..ConversationItem::default()
            },
            messages: vec![
                message(1, "user", vec![PartItem::Text { text: "fix *it*\n".into() }], "complete"),
                message(
                    2,
                    "assistant",
                    vec![
                        PartItem::Thought { text: "hm\nso".into() },
                        tool,
                        PartItem::Text { text: "done".into() },
                    ],
                    "stopped",
                ),
            ],
            ..ConversationReply::default()
        };
        insta::assert_snapshot!(markdown(&whole), @r#"
        # a race

        - Conversation: api
        - Directory: /w
        - Agent: claude
        - Changed: 2024-01-15T10:30:00.123Z
        - Messages: 2, 12 tokens

        ## User, 2024-01-15T10:30:00.123Z

        fix *it*

        ## Assistant, 2024-01-15T10:30:00.123Z

        > hm
        > so

        **read_file**: reads x (completed)

        ```json
        {
          "path": "x"
        }
        ```

        ````text
        ```
        code\u{1b}[2J
        ```
        ````

        done

        *stopped*
        "#);
    }
}
