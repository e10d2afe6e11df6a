//! A conversation as text for people.

use crate::limits;
use crate::table::{count, short_path};
use std::fmt::Write;
use std::path::Path;
use swb_types::Timestamp;
use swb_vt::printable;
use swb_wire::control::{ConversationReply, MessageItem, PartItem};

/// All messages, oldest first.
pub(super) fn text(whole: &ConversationReply, home: &Path) -> String {
    let about = &whole.conversation;
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{}: {}", printable(&about.session), printable(&about.title));
    let workspace = short_path(&about.workspace, home);
    let _ = write!(text, "{}, {}", printable(&workspace), count(about.messages, "message"));
    if about.tokens > 0 {
        let _ = write!(text, ", {}", count(about.tokens, "token"));
    }
    if let Some(cost) = about.cost {
        let _ = write!(text, ", ${cost:.4}");
    }
    text.push('\n');
    whole.messages.iter().for_each(|message| add(&mut text, message));
    text
}

fn add(text: &mut String, message: &MessageItem) {
    let (role, at) = (printable(&message.role), Timestamp(message.at));
    let _ = writeln!(text, "\n--- #{} {role}, {at}", message.number);
    for part in &message.parts {
        match part {
            PartItem::Text { text: said } => lines(text, "", said.trim_end()),
            PartItem::Thought { text: thought } => lines(text, "~ ", thought.trim_end()),
            PartItem::Tool { name, description, status, output, .. } => {
                let mark = match status.as_deref() {
                    Some("completed") => "done",
                    Some("failed") => "failed",
                    _ => "outcome unknown",
                };
                let what =
                    description.as_ref().map_or_else(String::new, |what| format!(" ({})", one_line(what)));
                let _ = writeln!(text, "[{}{what}: {mark}]", printable(name));
                let said: Vec<&str> = output.lines().take(limits::TOOL_LINES + 1).collect();
                let cut = said.len() > limits::TOOL_LINES;
                lines(text, "  ", &said[..said.len().min(limits::TOOL_LINES)].join("\n"));
                text.push_str(if cut { "  …\n" } else { "" });
            }
            PartItem::Attachment { mime_type, name } => {
                let name = name.as_deref().map_or_else(String::new, |name| format!(" {}", one_line(name)));
                let _ = writeln!(text, "[{}{name}]", printable(mime_type));
            }
            _ => text.push_str("[content of a newer version]\n"),
        }
    }
    let _ = match (message.ending.as_str(), &message.error) {
        ("complete", _) => Ok(()),
        ("failed", Some(error)) => writeln!(text, "[failed: {}]", one_line(error)),
        (ending, _) => writeln!(text, "[{}]", printable(ending)),
    };
}

/// Adds lines from agents and users with control characters made harmless.
fn lines(text: &mut String, before: &str, said: &str) {
    for line in said.lines() {
        let line = line.replace('\t', "    ");
        let line = printable(&line);
        let _ = writeln!(text, "{}", format!("{before}{line}").trim_end());
    }
}

fn one_line(text: &str) -> String {
    printable(text.lines().next().unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use swb_wire::control::ConversationItem;

    #[test]
    fn people_get_a_transcript() {
        let text_part = |text: &str| PartItem::Text { text: text.into() };
        let tool = PartItem::Tool {
            name: "read_file".into(),
            description: Some("reads x".into()),
            parameters: serde_json::Value::Null,
            status: Some("completed".into()),
            output: "1\n2\x1b[2J\n3\n4\n".into(),
            cut: false,
        };
        let message = |number, role: &str, parts, ending: &str| MessageItem {
            number,
            role: role.into(),
            at: 1_705_314_600_123,
            ending: ending.into(),
            parts,
            ..MessageItem::default()
        };
        let whole = ConversationReply {
            conversation: ConversationItem {
                session: "api".into(),
                title: "a race".into(),
                workspace: "/home/u/api".into(),
                messages: 2,
                tokens: 12,
                cost: Some(0.5),
                ..ConversationItem::default()
            },
            messages: vec![
                message(1, "user", vec![text_part("fix\tit\n")], "complete"),
                message(
                    2,
                    "assistant",
                    vec![PartItem::Thought { text: "hm".into() }, tool, text_part("done\n\nindeed")],
                    "stopped",
                ),
            ],
            ..ConversationReply::default()
        };
        insta::assert_snapshot!(text(&whole, Path::new("/home/u")), @r"
        api: a race
        ~/api, 2 messages, 12 tokens, $0.5000

        --- #1 user, 2024-01-15T10:30:00.123Z
        fix    it

        --- #2 assistant, 2024-01-15T10:30:00.123Z
        ~ hm
        [read_file (reads x): done]
          1
          2\u{1b}[2J
          3
          …
        done

        indeed
        [stopped]
        ");
    }
}
