//! The envelope of every line, and how a line becomes a request.
//!
//! A line is read in two passes: one for the envelope, which leaves `data` unparsed, one for the fields that the type
//! defines. Unknown fields never become a tree many times the size of the line.

use super::request::{Request, Scalar};
use crate::limits::SCRIPTSCHNELL_EXPLANATION;
use crate::text::clip;
use serde::de::{self, DeserializeOwned, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::fmt;

/// Maximum bytes of a `request_id`: several times what clients use, since each is kept until its reply is sent.
pub const MAX_REQUEST_ID: usize = 256;

/// Maximum number of messages in one batch of a client.
pub const MAX_BATCH: usize = 4096;

/// An invalid line (SS-8, SS-9).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct BadRequest {
    /// The id of the request, if it could be read.
    pub request_id: Option<String>,
    /// What is invalid.
    pub message: String,
}

impl BadRequest {
    /// An overlong message is cut: it quotes the invalid text.
    fn new(request_id: Option<String>, message: &str) -> Self {
        Self { request_id, message: clip(message, SCRIPTSCHNELL_EXPLANATION).to_owned() }
    }
}

/// A line whose type is known (SS-3).
#[derive(Debug)]
pub struct Envelope<'a> {
    /// Its type.
    pub kind: String,
    /// The id that its reply has to contain.
    pub request_id: Option<String>,
    data: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct EnvelopeLine<'a> {
    #[serde(default, rename = "type")]
    kind: Option<Scalar>,
    #[serde(default)]
    request_id: Option<Scalar>,
    #[serde(default, borrow)]
    data: Option<&'a RawValue>,
}

impl<'a> Envelope<'a> {
    /// Reads a line.
    pub fn parse(line: &'a str) -> Result<Self, BadRequest> {
        let bad = |request_id, message: String| Err(BadRequest::new(request_id, &message));
        // An array would be accepted for a struct.
        if !line.trim_ascii_start().starts_with('{') {
            return bad(None, "the message is not a JSON object".to_owned());
        }
        let line: EnvelopeLine<'a> = match serde_json::from_str(line) {
            Ok(line) => line,
            Err(error) => return bad(None, format!("the message is not valid JSON: {error}")),
        };
        let request_id = match line.request_id {
            None => None,
            Some(Scalar::Text(id)) if id.len() <= MAX_REQUEST_ID => Some(id),
            Some(Scalar::Text(_)) => {
                return bad(None, format!("request_id has more than {MAX_REQUEST_ID} bytes"));
            }
            Some(_) => return bad(None, "request_id is not a string".to_owned()),
        };
        let kind = match line.kind {
            Some(Scalar::Text(kind)) if !kind.is_empty() => kind,
            Some(Scalar::Text(_)) | None => return bad(request_id, "type is missing".to_owned()),
            Some(_) => return bad(request_id, "type is not a string".to_owned()),
        };
        if line.data.is_some_and(|data| !data.get().starts_with('{')) {
            return bad(request_id, "data is not an object".to_owned());
        }
        Ok(Self { kind, request_id, data: line.data })
    }

    /// The request in this envelope.
    pub fn request(&self) -> Result<Request, BadRequest> {
        let request = match self.kind.as_str() {
            "auth_request" => Request::AuthRequest(self.fields()?),
            "authorization_ack" => Request::AuthorizationAck(self.fields()?),
            "authorization_response" => Request::AuthorizationResponse(self.fields()?),
            "batch" => Request::Batch(self.fields::<RequestBatch>()?.messages),
            "chat_clear" => Request::ChatClear(self.fields()?),
            // SS-49: the alias may be that of the type, or that of the field.
            "chat_send" | "prompt" => Request::ChatSend(self.fields()?),
            "chat_stop" => Request::ChatStop(self.fields()?),
            "close" => Request::Close(self.fields()?),
            "config_get" => Request::ConfigGet(self.fields()?),
            "config_set" => Request::ConfigSet(self.fields()?),
            "flow_control" => Request::FlowControl(self.fields()?),
            "ping" => Request::Ping,
            "pong" => Request::Pong,
            "question_response" => Request::QuestionResponse(self.fields()?),
            "session_attach" => Request::SessionAttach(self.fields()?),
            "session_create" => Request::SessionCreate(self.fields()?),
            "session_delete" => Request::SessionDelete(self.fields()?),
            "session_detach" => Request::SessionDetach(self.fields()?),
            "session_list" => Request::SessionList(self.fields()?),
            "session_load" => Request::SessionLoad(self.fields()?),
            "session_save" => Request::SessionSave(self.fields()?),
            "workspace_create" => Request::WorkspaceCreate(self.fields()?),
            "workspace_list" => Request::WorkspaceList,
            "workspace_set" => Request::WorkspaceSet(self.fields()?),
            // SS-10
            _ => return Err(self.bad("unknown message type".to_owned())),
        };
        Ok(request)
    }

    fn fields<T: DeserializeOwned>(&self) -> Result<T, BadRequest> {
        let data = self.data.map_or("{}", RawValue::get);
        serde_json::from_str(data).map_err(|error| self.bad(format!("invalid {}: {error}", self.kind)))
    }

    fn bad(&self, message: String) -> BadRequest {
        BadRequest::new(self.request_id.clone(), &message)
    }
}

/// The messages of a batch; each is parsed when it is handled.
#[derive(Deserialize)]
struct RequestBatch {
    #[serde(deserialize_with = "bounded")]
    messages: Vec<Box<RawValue>>,
}

fn bounded<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Box<RawValue>>, D::Error> {
    struct Bounded;
    impl<'de> Visitor<'de> for Bounded {
        type Value = Vec<Box<RawValue>>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an array of messages")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
            let mut messages = Vec::new();
            while let Some(message) = items.next_element()? {
                if messages.len() == MAX_BATCH {
                    return Err(de::Error::custom(format!("more than {MAX_BATCH} messages in a batch")));
                }
                messages.push(message);
            }
            Ok(messages)
        }
    }
    deserializer.deserialize_seq(Bounded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scriptschnell::{ErrorCode, ErrorInfo, SessionAttach, SessionFilter};

    fn request(line: &str) -> Result<Request, BadRequest> {
        Envelope::parse(line)?.request()
    }

    fn refused(line: &str) -> (Option<String>, String) {
        let bad = request(line).unwrap_err();
        (bad.request_id, bad.message)
    }

    // SS-3
    #[test]
    fn unknown_keys_are_ignored_and_null_counts_as_absent() {
        let list = Ok(Request::SessionList(SessionFilter { workspace: None }));
        for line in [
            r#"{"type":"session_list"}"#,
            r#"{"type":"session_list","data":null}"#,
            r#" {"type":"session_list","data":{"workspace":null,"more":[1,{}]},"error":null,"x":{"y":[]}}"#,
        ] {
            assert_eq!(request(line), list, "{line}");
        }
    }

    // SS-8, SS-9
    #[test]
    fn errors_of_invalid_requests_contain_their_id() {
        for line in [
            "",
            "x",
            "[1,2]",
            "\"x\"",
            "5",
            "{",
            "{\"type\":\"ping\"",
            "{\"type\":\"ping\"}}",
            "{\"type\":\"\\ud800\"}",
        ] {
            assert_eq!(refused(line).0, None, "{line}");
        }
        for line in [
            r#"{"request_id":"r"}"#,
            r#"{"type":"","request_id":"r"}"#,
            r#"{"type":null,"request_id":"r"}"#,
            r#"{"type":5,"request_id":"r"}"#,
            r#"{"type":["a"],"request_id":"r"}"#,
            r#"{"type":{"a":1.5},"request_id":"r"}"#,
            r#"{"type":"ping","request_id":"r","data":"x"}"#,
            r#"{"type":"session_list","request_id":"r","data":[]}"#,
            r#"{"type":"session_attach","request_id":"r","data":{"session_id":5}}"#,
            r#"{"type":"nonsense","request_id":"r"}"#,
            r#"{"type":"batch","request_id":"r","data":{"messages":5}}"#,
        ] {
            assert_eq!(refused(line).0.as_deref(), Some("r"), "{line}");
        }
        for line in [r#"{"type":"ping","request_id":5}"#, r#"{"type":"ping","request_id":{}}"#] {
            assert_eq!(refused(line).0, None, "{line}");
        }
    }

    #[test]
    fn request_ids_are_bounded() {
        let line = |n| format!(r#"{{"type":"ping","request_id":"{}"}}"#, "a".repeat(n));
        assert_eq!(Envelope::parse(&line(MAX_REQUEST_ID)).unwrap().request_id.unwrap().len(), MAX_REQUEST_ID);
        assert_eq!(refused(&line(MAX_REQUEST_ID + 1)).0, None);
    }

    // SS-9: an explanation quotes the peer, but the reply stays small.
    #[test]
    fn a_huge_invalid_request_gets_a_small_error() {
        let long = "\\u0001".repeat(100_000);
        for line in [
            format!(
                r#"{{"type":"session_create","request_id":"r","data":{{"options":{{"auto_save":"{long}"}}}}}}"#
            ),
            format!(r#"{{"type":"{long}","request_id":"r"}}"#),
        ] {
            let (request_id, message) = refused(&line);
            assert_eq!(request_id.as_deref(), Some("r"));
            assert!(message.len() <= SCRIPTSCHNELL_EXPLANATION, "{}", message.len());
        }
        let error = ErrorInfo::new(ErrorCode::SessionNotFound, format!("there is no session '{long}'"));
        assert_eq!(error.message.len(), SCRIPTSCHNELL_EXPLANATION);
    }

    // SS-75
    #[test]
    fn messages_of_a_batch_are_parsed_one_by_one() {
        let attach = r#"{"type":"session_attach","data":{"session_id":"a"}}"#;
        let line = format!(r#"{{"type":"batch","data":{{"messages":[{attach},5,{attach}]}}}}"#);
        let Ok(Request::Batch(messages)) = request(&line) else { panic!("no batch") };
        assert_eq!(messages.len(), 3);
        let expected = SessionAttach { session_id: Some("a".into()), takeover: None };
        assert_eq!(request(messages[2].get()), Ok(Request::SessionAttach(expected)));
        assert_eq!(refused(messages[1].get()).0, None);
        let many = vec!["5"; MAX_BATCH + 1].join(",");
        assert!(request(&format!(r#"{{"type":"batch","data":{{"messages":[{many}]}}}}"#)).is_err());
    }

    #[test]
    fn deep_nesting_is_rejected() {
        let deep = format!(r#"{{"type":"chat_send","data":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
        assert!(request(&deep).is_err());
        let deep = format!(r#"{{"type":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
        assert!(request(&deep).is_err());
    }
}
