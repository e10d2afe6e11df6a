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
        "user" if !is_true(line, "isMeta") && is_prompt(message) => exchanges.prompt(),
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

/// Results of tools and the note that the user interrupted the answer come as messages of the user, too.
fn is_prompt(message: &Value) -> bool {
    let own = |text: &str| !text.starts_with("[Request interrupted by user");
    match message.get("content") {
        Some(Value::String(text)) => own(text),
        Some(Value::Array(blocks)) => {
            blocks.iter().any(|block| text(block, "type") == "text" && own(text(block, "text")))
                && !blocks.iter().any(|block| text(block, "type") == "tool_result")
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Exchange, TranscriptFormat};

    const RECORDED: &[u8] = include_bytes!("../../tests/transcripts/claude-2.1.jsonl");

    #[test]
    fn answers_are_read_as_they_were_sent() {
        let found = TranscriptFormat::Claude.exchanges(RECORDED, true);
        let [plain, tool, denied] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(plain.answer, super::super::codex::tests::ANSWER.replace("NAME", "claude"));
        assert!(plain.complete && !plain.tools);
        assert!(tool.answer.starts_with("I will make it.\n\nThe claude answer"), "{tool:?}");
        assert!(tool.complete && tool.tools);
        let left = Exchange { answer: "I will make it.".to_owned(), tools: true, complete: false };
        assert_eq!(*denied, left);
    }

    #[test]
    fn a_tail_begins_with_its_first_whole_exchange() {
        let whole = TranscriptFormat::Claude.exchanges(RECORDED, true);
        let tail = TranscriptFormat::Claude.exchanges(&RECORDED[10..], false);
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
        let answer = Exchange { answer: "hello".to_owned(), tools: false, complete: true };
        assert_eq!(TranscriptFormat::Claude.exchanges(lines.as_bytes(), true), [answer]);
    }
}
