//! The client's half: requests to lines, lines to messages of the daemon.

use super::encode::append;
use super::error::ErrorInfo;
use super::request::Request;
use super::server::ServerMessage;
use super::time::Time;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Appends a request as one line.
pub fn encode_request(request: &Request, request_id: Option<&str>, out: &mut Vec<u8>) {
    #[derive(Serialize)]
    struct RequestLine<'a> {
        #[serde(flatten)]
        request: &'a Request,
        #[serde(skip_serializing_if = "Option::is_none")]
        request_id: Option<&'a str>,
    }
    append(&RequestLine { request, request_id }, out);
}

/// A message of the daemon with its envelope.
#[derive(Debug, Clone, PartialEq)]
pub struct Received {
    /// The request that it replies to.
    pub request_id: Option<String>,
    /// When it was sent.
    pub timestamp: Option<Time>,
    /// The message.
    pub message: ServerMessage,
}

/// An invalid line of the daemon.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unexpected message: {0}")]
pub struct BadServerMessage(String);

/// Reads a line of the daemon: one message, or those of a batch.
pub fn parse_server(line: &str) -> Result<Vec<Received>, BadServerMessage> {
    #[derive(Deserialize)]
    struct Batch {
        messages: Vec<Box<RawValue>>,
    }
    let head: ServerHead<'_> = read(line)?;
    if head.kind != "batch" {
        return Ok(vec![message(&head)?]);
    }
    let batch: Batch = head.fields()?;
    let messages = batch.messages.iter().map(|line| read(line.get()).and_then(|head| message(&head)));
    messages.collect()
}

#[derive(Deserialize)]
struct ServerHead<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(default)]
    request_id: Option<String>,
    #[serde(default)]
    timestamp: Option<Time>,
    #[serde(default, borrow)]
    data: Option<&'a RawValue>,
    #[serde(default)]
    error: Option<ErrorInfo>,
}

impl ServerHead<'_> {
    fn fields<T: DeserializeOwned>(&self) -> Result<T, BadServerMessage> {
        read(self.data.map_or("{}", RawValue::get))
    }
}

fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, BadServerMessage> {
    serde_json::from_str(text).map_err(|error| BadServerMessage(error.to_string()))
}

fn message(head: &ServerHead<'_>) -> Result<Received, BadServerMessage> {
    // Any message with an error is an error reply, of any type.
    let message = match &head.error {
        Some(error) => ServerMessage::Error(error.clone()),
        None => said(head)?,
    };
    Ok(Received { request_id: head.request_id.clone(), timestamp: head.timestamp, message })
}

fn said(head: &ServerHead<'_>) -> Result<ServerMessage, BadServerMessage> {
    use ServerMessage as M;
    Ok(match head.kind.as_ref() {
        "auth_challenge" => M::AuthChallenge(head.fields()?),
        "auth_response" => M::AuthResponse(head.fields()?),
        "authorization_request" => M::AuthorizationRequest(head.fields()?),
        "authorization_settled" => M::AuthorizationSettled(head.fields()?),
        "chat_clear" => M::ChatClear(head.fields()?),
        "chat_message" => M::ChatMessage(head.fields()?),
        "chat_send" => M::ChatSend(head.fields()?),
        "chat_stop" => M::ChatStop(head.fields()?),
        "closed" => M::Closed(head.fields()?),
        "config_get" => M::ConfigGet(head.fields()?),
        "config_set" => M::ConfigSet(head.fields()?),
        "flow_control" => M::FlowControl(head.fields()?),
        "ping" => M::Ping,
        "pong" => M::Pong,
        "progress" => M::Progress(head.fields()?),
        "question_request" => M::QuestionRequest(head.fields()?),
        "question_settled" => M::QuestionSettled(head.fields()?),
        "session_attach" => M::SessionAttach(head.fields()?),
        "session_create_response" => M::SessionCreateResponse(head.fields()?),
        "session_delete" => M::SessionDelete(head.fields()?),
        "session_detach" => M::SessionDetach(head.fields()?),
        "session_list_response" => M::SessionListResponse(head.fields()?),
        "session_load" => M::SessionLoad(head.fields()?),
        "session_save" => M::SessionSave(head.fields()?),
        "session_seat" => M::SessionSeat(head.fields()?),
        "tool_call" => M::ToolCall(head.fields()?),
        "tool_compact" => M::ToolCompact(head.fields()?),
        "tool_result" => M::ToolResult(head.fields()?),
        "workspace_create" => M::WorkspaceCreate(head.fields()?),
        "workspace_list_response" => M::WorkspaceListResponse(head.fields()?),
        "workspace_set" => M::WorkspaceSet(head.fields()?),
        _ => M::Unknown,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scriptschnell::{ChatSend, Envelope, encode, encode_batch};
    use swb_types::Timestamp;

    #[test]
    fn the_daemon_reads_requests_of_the_client() {
        let request = Request::ChatSend(ChatSend { content: Some("a\nb".into()), ..ChatSend::default() });
        for request in [request, Request::Ping, Request::WorkspaceList] {
            let mut line = Vec::new();
            encode_request(&request, Some("r"), &mut line);
            let line = String::from_utf8(line).unwrap();
            let envelope = Envelope::parse(line.trim_end()).unwrap();
            assert_eq!((envelope.request_id.as_deref(), envelope.request()), (Some("r"), Ok(request)));
        }
    }

    #[test]
    fn the_client_reads_messages_of_the_daemon() {
        let (mut a, mut b, mut both) = (Vec::new(), Vec::new(), Vec::new());
        encode(&ServerMessage::Pong, Some("r"), Timestamp(1), &mut a);
        encode(&ServerMessage::Ping, None, Timestamp(2), &mut b);
        encode_batch([a.as_slice(), b.as_slice()], Timestamp(3), &mut both);
        let read = parse_server(std::str::from_utf8(&both).unwrap()).unwrap();
        assert_eq!(read.len(), 2);
        assert_eq!((read[0].request_id.as_deref(), &read[1].message), (Some("r"), &ServerMessage::Ping));
        assert_eq!(parse_server(r#"{"type":"news","data":[]}"#).unwrap()[0].message, ServerMessage::Unknown);
        assert!(parse_server("[]").is_err() && parse_server(r#"{"type":"chat_message"}"#).is_err());
    }
}
