//! Operations over `/api/control`: each message is one, with an id that its reply and its events carry.

use crate::control::{BadMessage, ErrorReply, Operation, operation_name, parse_operation};
use crate::limits;
use serde::Deserialize;
use serde_json::value::RawValue;

/// The id of a request: a number or a string, as the client wrote it.
pub type Id = String;

/// A message of the client.
#[derive(Debug, Clone, PartialEq)]
pub enum WebRequest {
    /// Executes an operation.
    Operation(Operation),
    /// Ends a wait or a stream of events.
    Cancel(Id),
}

/// Reads a message: its id, and what it requests.
pub fn read_request(text: &str) -> Result<(Id, WebRequest), (Option<Id>, ErrorReply)> {
    #[derive(Deserialize)]
    struct Head<'a> {
        #[serde(borrow)]
        id: Option<&'a RawValue>,
        #[serde(borrow)]
        request: Option<&'a RawValue>,
    }
    let head: Head<'_> = serde_json::from_str(text)
        .map_err(|error| (None, invalid(&format!("a message has to be a JSON object: {error}"))))?;
    let id = head.id.and_then(valid_id);
    let id = id.ok_or_else(|| (None, invalid("a message needs an 'id', a number or a short string")))?;
    let bad = |error: ErrorReply| (Some(id.clone()), error);
    if operation_name(text.as_bytes()).is_ok_and(|name| name == "cancel") {
        let other = head.request.and_then(valid_id);
        let other =
            other.ok_or_else(|| bad(invalid("'cancel' needs 'request', the id of another request")))?;
        return Ok((id, WebRequest::Cancel(other)));
    }
    let operation = parse_operation(text.as_bytes()).map_err(|error| bad(error.into()))?;
    Ok((id, WebRequest::Operation(operation)))
}

/// Whether a message has an id, valid or not. Something that is no JSON object has none.
pub fn has_id(text: &str) -> bool {
    id_of(text).is_some()
}

/// The id of a message, as it was written.
pub fn id_of(text: &str) -> Option<Id> {
    #[derive(Deserialize)]
    struct Head<'a> {
        #[serde(borrow)]
        id: Option<&'a RawValue>,
    }
    serde_json::from_str::<Head<'_>>(text).ok()?.id.map(|id| id.get().to_owned())
}

/// A number or a string, as it was written.
fn valid_id(value: &RawValue) -> Option<Id> {
    let text = value.get();
    let kind = text.starts_with(['"', '-']) || text.starts_with(|first: char| first.is_ascii_digit());
    (kind && text.len() <= limits::WEB_ID).then(|| text.to_owned())
}

/// A JSON object with an id in front of its fields.
pub fn with_id(id: Option<&str>, body: &[u8]) -> String {
    let body = String::from_utf8_lossy(body);
    match (id, body.strip_prefix('{')) {
        (Some(id), Some("}")) => format!("{{\"id\":{id}}}"),
        (Some(id), Some(rest)) => format!("{{\"id\":{id},{rest}"),
        _ => body.into_owned(),
    }
}

fn invalid(text: &str) -> ErrorReply {
    BadMessage::new(text).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id_of(text: &str) -> Result<Id, Option<Id>> {
        read_request(text).map(|(id, _)| id).map_err(|(id, _)| id)
    }

    #[test]
    fn ids_are_numbers_or_strings_and_come_back_as_written() {
        assert_eq!(id_of(r#"{"id":7,"cmd":"ls"}"#), Ok("7".to_owned()));
        assert_eq!(id_of(r#"{"cmd":"ls","id":"a\"b"}"#), Ok(r#""a\"b""#.to_owned()));
        assert_eq!(id_of(r#"{"id":-1.5,"cmd":"ls"}"#), Ok("-1.5".to_owned()));
        for without in [
            r#"{"cmd":"ls"}"#,
            r#"{"id":null,"cmd":"ls"}"#,
            r#"{"id":[1],"cmd":"ls"}"#,
            r#"{"id":true}"#,
            "[1]",
            "x",
            "",
        ] {
            assert_eq!(id_of(without), Err(None), "{without}");
        }
        let long = format!(r#"{{"id":"{}","cmd":"ls"}}"#, "x".repeat(limits::WEB_ID));
        assert_eq!(id_of(&long), Err(None));
    }

    #[test]
    fn errors_about_an_operation_have_its_id() {
        for bad in [
            r#"{"id":7}"#,
            r#"{"id":7,"cmd":"nope"}"#,
            r#"{"id":7,"cmd":"kill","session":5}"#,
            r#"{"id":7,"cmd":"cancel"}"#,
        ] {
            assert_eq!(id_of(bad), Err(Some("7".to_owned())), "{bad}");
        }
    }

    #[test]
    fn replies_carry_the_id() {
        assert_eq!(with_id(Some("7"), br#"{"ok":true}"#), r#"{"id":7,"ok":true}"#);
        assert_eq!(with_id(Some("\"a\""), b"{}"), r#"{"id":"a"}"#);
        assert_eq!(with_id(None, br#"{"ok":false}"#), r#"{"ok":false}"#);
    }
}
