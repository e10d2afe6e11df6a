//! Session files of gemini: `tmp/PROJECT/chats/session-TIME-SESSION.jsonl` below `~/.gemini`, `.json` in older versions.
//!
//! A line is a message or a change of the session. A message is written again when it has changed, and so are all of them
//! when the history was rewritten. Older versions write one object with all messages.

use super::{Exchanges, list, objects, text};
use serde_json::Value;

pub(super) fn read(bytes: &[u8], exchanges: &mut Exchanges) {
    let mut messages: Vec<Value> = Vec::new();
    if let Ok(Value::Object(session)) = serde_json::from_slice::<Value>(bytes) {
        messages = list(&Value::Object(session), "messages").to_vec();
    } else {
        for line in objects(bytes) {
            let replaced = line.get("$set").and_then(|set| set.get("messages")).and_then(Value::as_array);
            match replaced {
                Some(all) => messages.clone_from(all),
                None if !text(&line, "type").is_empty() => add(&mut messages, line),
                None => {}
            }
        }
    }
    messages.iter().for_each(|message| read_message(message, exchanges));
}

/// Adds a message, or replaces the one with its id, which is one of the last.
fn add(messages: &mut Vec<Value>, message: Value) {
    let id = text(&message, "id");
    let same = |other: &&mut Value| !id.is_empty() && text(other, "id") == id;
    match messages.iter_mut().rev().take(crate::limits::MESSAGES_BACK).find(same) {
        Some(former) => *former = message,
        None => messages.push(message),
    }
}

fn read_message(message: &Value, exchanges: &mut Exchanges) {
    let parts = list(message, "content");
    let has = |part: &Value, field: &str| part.get(field).is_some();
    match text(message, "type") {
        // Results of tools come as messages of the user, too.
        "user" if !parts.iter().any(|part| has(part, "functionResponse")) => {
            exchanges.prompt(text(message, "content"));
            parts.iter().for_each(|part| exchanges.more_of_prompt(text(part, "text")));
        }
        "gemini" => {
            match message.get("content") {
                Some(Value::String(answer)) => exchanges.text(answer),
                _ => parts.iter().for_each(|part| exchanges.text(text(part, "text"))),
            }
            let calls = !list(message, "toolCalls").is_empty();
            if calls || parts.iter().any(|part| has(part, "functionCall")) {
                exchanges.tool();
            }
        }
        "info" if text(message, "content") == "Request cancelled." => exchanges.interrupt(),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Exchange, TranscriptFormat, complete};

    #[test]
    fn a_rewritten_history_replaces_the_former() {
        let lines = concat!(
            r#"{"sessionId":"s","kind":"main"}"#,
            "\n",
            r#"{"id":"1","type":"user","content":[{"text":"hi"}]}"#,
            "\n",
            r#"{"id":"2","type":"gemini","content":"old"}"#,
            "\n",
            r#"{"$set":{"messages":[{"id":"3","type":"user","content":"hi"},{"id":"4","type":"gemini","content":[{"text":"new"}]}]}}"#,
            "\n",
            r#"{"id":"4","type":"gemini","content":"newer"}"#,
        );
        let answer = Exchange { answer: "newer".to_owned(), ..complete("hi\n") };
        assert_eq!(TranscriptFormat::Gemini.exchanges(lines.as_bytes(), true), std::slice::from_ref(&answer));
        let object = r#"{"sessionId":"s","messages":[
            {"id":"1","type":"user","content":"hi"}, {"id":"2","type":"gemini","content":"newer"}]}"#;
        assert_eq!(TranscriptFormat::Gemini.exchanges(object.as_bytes(), true), [answer]);
    }
}
