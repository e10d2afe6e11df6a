//! Session files of Claude Code: `projects/PROJECT/SESSION.jsonl` in its configuration directory.
//!
//! A line is written for each prompt, each block of an answer and each result of a tool, besides much else.

use super::{Exchanges, is_true, list, text};
use serde_json::Value;

/// The name of the directory for sessions in `directory`.
pub(super) fn project_name(directory: &str) -> String {
    directory.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

pub(super) fn read(line: &Value, exchanges: &mut Exchanges) {
    // Conversations with subagents are not on the screen.
    if is_true(line, "isSidechain") {
        return;
    }
    let Some(message) = line.get("message") else { return };
    match text(line, "type") {
        "user" if !is_true(line, "isMeta") => match of_user(message) {
            Some(text) if text.starts_with("[Request interrupted by user") => exchanges.interrupt(),
            Some(text) => exchanges.prompt(text),
            None => {}
        },
        "assistant" => {
            for block in list(message, "content") {
                match text(block, "type") {
                    "text" => exchanges.text(text(block, "text")),
                    "tool_use" => exchanges.tool(),
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

/// The text of a message of the user, unless it is the result of a tool. It may be a note that the user interrupted the answer.
fn of_user(message: &Value) -> Option<&str> {
    match message.get("content")? {
        Value::String(text) => Some(text),
        Value::Array(blocks) if !blocks.iter().any(|block| text(block, "type") == "tool_result") => {
            blocks.iter().find(|block| text(block, "type") == "text").map(|block| text(block, "text"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Exchange, TranscriptFormat, complete};

    const RECORDED: &[u8] = include_bytes!("../../tests/transcripts/claude-2.1.jsonl");

    #[test]
    fn a_tail_begins_with_its_first_whole_exchange() {
        let whole = TranscriptFormat::Claude.exchanges(RECORDED, true);
        let first = RECORDED.windows(6).position(|word| word == b"\"user\"").unwrap();
        let tail = TranscriptFormat::Claude.exchanges(&RECORDED[first..], false);
        assert_eq!(tail, whole[1..]);
        assert_eq!(TranscriptFormat::Claude.exchanges(b"no newline", false), []);
    }

    #[test]
    fn subagents_are_left_out() {
        let lines = concat!(
            r#"{"type":"user","message":{"role":"user","content":"hi"}}"#,
            "\n",
            r#"{"type":"user","isSidechain":true,"message":{"role":"user","content":"sub"}}"#,
            "\n",
            r#"{"type":"assistant","isSidechain":true,"message":{"content":[{"type":"text","text":"secret"}]}}"#,
            "\n",
            r#"{"type":"user","isMeta":true,"message":{"role":"user","content":"caveat"}}"#,
            "\n",
            r#"{"type":"assistant","message":{"content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"hello"}]}}"#,
        );
        let answer = Exchange { answer: "hello".to_owned(), ..complete("hi\n") };
        assert_eq!(TranscriptFormat::Claude.exchanges(lines.as_bytes(), true), [answer]);
    }
}
