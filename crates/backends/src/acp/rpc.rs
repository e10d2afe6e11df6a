//! JSON-RPC 2.0 messages, one per line.

use agent_client_protocol_schema::v1::{Error, RequestId};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A message from an agent.
#[derive(Debug)]
pub(super) enum RpcMessage {
    /// A notification.
    Notification(String, Value),
    /// A request.
    Request(RequestId, String, Value),
    /// A reply.
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

/// Parses a line; `None` if it is not a message of the protocol.
pub(super) fn read(line: &[u8]) -> Option<RpcMessage> {
    let envelope: RpcEnvelope = serde_json::from_slice(line).ok()?;
    Some(match (envelope.method, envelope.id) {
        (Some(method), None | Some(RequestId::Null)) => RpcMessage::Notification(method, envelope.params),
        (Some(method), Some(id)) => RpcMessage::Request(id, method, envelope.params),
        // `"result": null` is a reply, too, and deserializes as `None`.
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

/// A reply as a line.
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
    fn messages_are_distinguished() {
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
    fn a_message_is_exactly_one_line() {
        let line = request(1, "m", &json!({"text": "a\nb"}));
        assert!(line.ends_with('\n') && line.matches('\n').count() == 1);
    }
}
