//! Sessions of opencode: the tables `message` and `part` of a database that all its sessions share.
//!
//! A row has the object in JSON in its column `data`. A message has no text: its parts have it, one for each text and each use
//! of a tool, in the order of their row ids. Parts are written again when they have changed.

use super::sqlite::Database;
use super::{Exchange, Exchanges, is_true, text};
use crate::limits;
use serde_json::Value;
use std::collections::HashMap;

/// The newest exchanges of the sessions that were active since then, in Unix seconds, the most recent session first.
pub(super) fn conversations(database: &Database<'_>, since: i64) -> Vec<Vec<Exchange>> {
    let messages = database.newest("message", ["id", "session_id", "data"]).unwrap_or_default();
    let message = |[id, session, data]: [String; 3]| Message {
        id,
        session,
        content: serde_json::from_str(&data).unwrap_or_default(),
    };
    let messages: Vec<Message> = messages.into_iter().map(message).collect();
    let mut parts: HashMap<String, Vec<Value>> = HashMap::new();
    for [message, data] in database.newest("part", ["message_id", "data"]).unwrap_or_default() {
        parts.entry(message).or_default().extend(serde_json::from_str(&data));
    }
    let mut sessions: Vec<&str> = Vec::new();
    for message in messages.iter().rev().filter(|message| message.created() >= since) {
        let session = message.session.as_str();
        if !sessions.contains(&session) && sessions.len() < limits::CONVERSATIONS {
            sessions.push(session);
        }
    }
    let read = |session: &&str| {
        let mut exchanges = Exchanges::default();
        for message in messages.iter().filter(|message| message.session == *session) {
            message.read(parts.get(&message.id).map(Vec::as_slice).unwrap_or_default(), &mut exchanges);
        }
        exchanges.finish()
    };
    sessions.iter().map(read).collect()
}

/// A row of the table `message`.
struct Message {
    id: String,
    session: String,
    content: Value,
}

impl Message {
    fn time(&self, field: &str) -> Option<&Value> {
        self.content.get("time")?.get(field)
    }

    /// In Unix seconds.
    fn created(&self) -> i64 {
        self.time("created").and_then(Value::as_i64).unwrap_or(0) / 1000
    }

    fn read(&self, parts: &[Value], exchanges: &mut Exchanges) {
        // Texts that the user did not write are such as the content of a file.
        let written = |part: &&Value| text(part, "type") == "text" && !is_true(part, "synthetic");
        match text(&self.content, "role") {
            "user" => {
                exchanges.prompt("");
                parts.iter().filter(written).for_each(|part| exchanges.more_of_prompt(text(part, "text")));
            }
            "assistant" => {
                for part in parts {
                    match text(part, "type") {
                        "text" => exchanges.text(text(part, "text")),
                        "tool" => {
                            exchanges.tool();
                            if is_denied(part) {
                                exchanges.interrupt();
                            }
                        }
                        _ => {}
                    }
                }
                if self.time("completed").is_none() {
                    exchanges.goes_on();
                }
                let error = self.content.get("error").map(|error| text(error, "name"));
                if error == Some("MessageAbortedError") {
                    exchanges.interrupt();
                }
            }
            _ => {}
        }
    }
}

/// Whether the user denied the use of a tool, which ends the answer.
fn is_denied(part: &Value) -> bool {
    let error = part.get("state").map(|state| text(state, "error")).unwrap_or_default();
    error.starts_with("The user rejected permission")
}

#[cfg(test)]
mod tests {
    use super::super::{Exchange, TranscriptFormat, complete};
    use rusqlite::Connection;

    /// The recorded database after some changes.
    fn exchanges(changes: &str, since: i64) -> Vec<Vec<Exchange>> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("opencode.db");
        let database = Connection::open(&path).unwrap();
        database.execute_batch(include_str!("../../tests/transcripts/opencode-1.18.sql")).unwrap();
        database.execute_batch(changes).unwrap();
        let file = std::fs::read(&path).unwrap();
        let part = |offset: u64, bytes: &mut [u8]| {
            let from = usize::try_from(offset).unwrap();
            file.get(from..from + bytes.len()).map(|found| bytes.copy_from_slice(found)).is_some()
        };
        TranscriptFormat::Opencode.stored_exchanges(&part, b"", since)
    }

    #[test]
    fn recorded_sessions_are_read_as_they_were_sent() {
        let sessions = exchanges("", 0);
        let [second, first] = sessions.as_slice() else { panic!("{sessions:?}") };
        let [lists, cjk, approved] = first.as_slice() else { panic!("{first:?}") };
        assert!(lists.answer.starts_with(
            "Three lists follow here.\n\n- alpha item of the first list\n- beta item with **bold**"
        ));
        assert!(lists.complete && !lists.tools && lists.prompt.contains("QLISTSQ"), "{lists:?}");
        assert!(cjk.answer.ends_with("한국어 문장도 하나 있습니다. 끝.") && cjk.complete, "{cjk:?}");
        let answer = "I will make it now.\n\nIt is made, said **afterwards**.\n\n- twice".to_owned();
        assert_eq!(*approved, Exchange { answer, tools: true, ..complete("\nPlease answer QAPPROVEDQ\n") });
        let [denied] = second.as_slice() else { panic!("{second:?}") };
        assert_eq!((denied.answer.as_str(), denied.tools), ("I would like to make it.", true));
        assert!(denied.interrupted && !denied.complete, "{denied:?}");
    }

    #[test]
    fn sessions_that_were_not_active_since_then_are_left_out() {
        assert_eq!(exchanges("", 1_795_100_782).len(), 1);
        assert_eq!(exchanges("", 1_795_100_783).len(), 0);
    }

    #[test]
    fn an_answer_that_goes_on_is_not_complete() {
        let ends = "json_remove(data, '$.time.completed') WHERE id = 'msg_1f457ebf40013bxesgGqlNdXIf'";
        let open = exchanges(&format!("UPDATE message SET data = {ends}"), 0);
        let last = open[1].last().unwrap();
        assert!(last.answer.ends_with("- twice") && !last.complete, "{last:?}");
        let aborted = "json_set(data, '$.error.name', 'MessageAbortedError') WHERE id = 'msg_1f457ebf40013bxesgGqlNdXIf'";
        let aborted = exchanges(&format!("UPDATE message SET data = {aborted}"), 0);
        assert!(aborted[1].last().unwrap().interrupted);
    }

    #[test]
    fn other_tables_are_no_sessions() {
        assert_eq!(exchanges("DROP TABLE part", 0).len(), 2, "prompts and answers without text");
        assert_eq!(exchanges("ALTER TABLE message RENAME COLUMN data TO body", 0).len(), 0);
        assert_eq!(exchanges("UPDATE message SET data = '['; UPDATE part SET data = x'00'", 1).len(), 0);
    }
}
