//! Rollouts of codex: `sessions/YEAR/MONTH/DAY/rollout-TIME-SESSION.jsonl` in its home.
//!
//! A line is written for each item of a conversation (`response_item`) and for events (`event_msg`). Prompts are taken
//! from the events, because items of the user are also the context that codex adds.

use super::{Exchanges, list, text};
use serde_json::Value;

/// `task` is whether a task is running, for which newer versions have events.
pub(super) fn read(line: &Value, task: &mut bool, exchanges: &mut Exchanges) {
    let Some(payload) = line.get("payload") else { return };
    match (text(line, "type"), text(payload, "type")) {
        ("event_msg", "task_started") => {
            *task = true;
            exchanges.prompt("");
        }
        ("event_msg", "task_complete") => *task = false,
        ("event_msg", "turn_aborted") => {
            *task = false;
            exchanges.interrupt();
        }
        // Within a task it is typed while the agent works.
        ("event_msg", "user_message") if !*task => exchanges.prompt(text(payload, "message")),
        ("response_item", "message") if text(payload, "role") == "user" => {
            list(payload, "content").iter().for_each(|part| exchanges.more_of_prompt(text(part, "text")));
        }
        ("response_item", "message") if text(payload, "role") == "assistant" => {
            let parts = list(payload, "content").iter().filter(|part| text(part, "type") == "output_text");
            parts.for_each(|part| exchanges.text(text(part, "text")));
        }
        ("response_item", kind) if kind.ends_with("_call") => exchanges.tool(),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::TranscriptFormat;

    #[test]
    fn a_prompt_without_a_task_begins_an_exchange() {
        let lines = concat!(
            r#"{"type":"event_msg","payload":{"type":"user_message","message":"hi"}}"#,
            "\n",
            r#"{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"one"}]}}"#,
            "\n",
            r#"{"type":"event_msg","payload":{"type":"task_started"}}"#,
            "\n",
            r#"{"type":"event_msg","payload":{"type":"user_message","message":"more"}}"#,
            "\n",
            r#"{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"two"}]}}"#,
            "\n",
            r#"{"type":"event_msg","payload":{"type":"user_message","message":"steers"}}"#,
            "\n",
            r#"{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"three"}]}}"#,
        );
        let found = TranscriptFormat::Codex.exchanges(lines.as_bytes(), true);
        let answers: Vec<_> = found.iter().map(|exchange| exchange.answer.as_str()).collect();
        assert_eq!(answers, ["one", "two\n\nthree"]);
    }
}
