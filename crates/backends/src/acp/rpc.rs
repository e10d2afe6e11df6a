//! JSON-RPC 2.0 messages, one a line.

use agent_client_protocol_schema::v1::{Error, RequestId};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What an agent sent.
#[derive(Debug)]
pub(super) enum RpcMessage {
    /// It says something.
    Notification(String, Value),
    /// It asks for something.
    Request(RequestId, String, Value),
    /// It answers.
    Response(i64, Result<Value, Error>),
}

#[derive(Deserialize)]
struct RpcEnvelope {
    #[serde(default)]
    id: Option<RequestId>,
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    params: Value,
    #[serde(default)]
    result: Option<Value>,
    #[serde(default)]
    error: Option<Error>,
}

/// Reads a line; nothing if it is none of the protocol's.
pub(super) fn read(line: &[u8]) -> Option<RpcMessage> {
    let envelope: RpcEnvelope = serde_json::from_slice(line).ok()?;
    Some(match (envelope.method, envelope.id) {
        (Some(method), None | Some(RequestId::Null)) => RpcMessage::Notification(method, envelope.params),
        (Some(method), Some(id)) => RpcMessage::Request(id, method, envelope.params),
        // `"result": null` is an answer, too, and reads as none.
        (None, Some(RequestId::Number(id))) => RpcMessage::Response(
            id,
            envelope.error.map_or_else(|| Ok(envelope.result.unwrap_or_default()), Err),
        ),
        (None, _) => return None,
    })
}

/// A request as a line.
pub(super) fn request(id: i64, method: &str, params: &impl Serialize) -> String {
    line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
}

/// A notification as a line.
pub(super) fn notification(method: &str, params: &impl Serialize) -> String {
    line(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
}

/// An answer as a line.
pub(super) fn response(id: &RequestId, answer: Result<Value, Error>) -> String {
    line(&match answer {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
    })
}

fn line(message: &Value) -> String {
    format!("{message}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_told_apart() {
        let read = |text: &str| read(text.as_bytes());
        assert!(matches!(
            read(r#"{"jsonrpc":"2.0","id":1,"result":null}"#),
            Some(RpcMessage::Response(1, Ok(_)))
        ));
        assert!(matches!(
            read(r#"{"id":2,"error":{"code":-32000,"message":"no"}}"#),
            Some(RpcMessage::Response(2, Err(error))) if error.message == "no"
        ));
        assert!(matches!(read(r#"{"method":"a","params":[]}"#), Some(RpcMessage::Notification(..))));
        assert!(matches!(
            read(r#"{"method":"a","id":"x"}"#),
            Some(RpcMessage::Request(RequestId::Str(_), ..))
        ));
        for garbage in
            ["", "[]", "{}", "17", "null", "\"x\"", "{\"id\":1", "hello", r#"{"id":"x","result":1}"#]
        {
            assert!(read(garbage).is_none(), "{garbage}");
        }
    }

    #[test]
    fn lines_have_one_end() {
        let line = request(1, "m", &json!({"text": "a\nb"}));
        assert!(line.ends_with('\n') && line.matches('\n').count() == 1);
    }
}
