//! Frames to messages.

use super::message::{Message, PeerRole, Reason, Request, Response, SessionItem, Sink, TurnItem};
use super::pack::{Bad, Fields, Value, uints};

/// The frame contains no message of this protocol: the connection has to be closed (CB-13).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("malformed message")]
pub struct Malformed;

impl From<Bad> for Malformed {
    fn from(_: Bad) -> Self {
        Self
    }
}

/// Why a frame is not a valid request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// No reply is possible: the connection has to be closed (CB-13).
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// The reply is an error with this reason; the connection stays usable (CB-26 to CB-28).
    #[error("{reason}")]
    Refused {
        /// Id to echo.
        id: u32,
        /// The reason to reply with.
        reason: Reason,
    },
}

/// Reads a message of a peer: its id and the request.
pub fn parse_request(payload: &[u8]) -> Result<(u32, Request<'_>), RequestError> {
    let (fields, kind, id) = envelope(payload)?;
    request(kind, &fields).map(|request| (id, request)).map_err(|reason| RequestError::Refused { id, reason })
}

/// Reads a message of the broker.
pub fn parse_message(payload: &[u8]) -> Result<Message<'_>, Malformed> {
    let (fields, kind, id) = envelope(payload)?;
    Ok(match kind {
        "hello_ack" => Message::HelloAck { error: error(&fields)? },
        "inject" => Message::Inject { content: fields.get("content").bytes().ok_or(Malformed)? },
        "response" => Message::Response(response(id, &fields)?),
        _ => Message::Unknown,
    })
}

/// Reads the fields that every message has. Bytes after the map are ignored.
fn envelope(mut payload: &[u8]) -> Result<(Fields<'_>, &str, u32), Malformed> {
    let fields = Fields::read(&mut payload)?;
    let kind = fields.get("type").str().ok_or(Malformed)?;
    let id = fields.get("id").u32().ok_or(Malformed)?;
    Ok((fields, kind, id))
}

fn request<'a>(kind: &str, fields: &Fields<'a>) -> Result<Request<'a>, Reason> {
    let text = |key| required(fields.get(key).str());
    let request = match kind {
        "hello" => Request::Hello {
            version: required(fields.get("version").u32())?,
            role: fields.get("role").str().and_then(PeerRole::parse),
        },
        "register" => Request::Register {
            session: text("session")?,
            pid: required(fields.get("pid").u32())?,
            pattern: text("pattern")?,
        },
        "deregister" => Request::Deregister { session: text("session")? },
        "turn_completed" => Request::TurnCompleted {
            session: text("session")?,
            content: required(fields.get("content").bytes())?,
            interrupted: required(fields.get("interrupted").bool())?,
            timestamp: optional(fields.get("timestamp"), Value::u64)?,
            // Our addition must not make a message of other peers invalid: a value of the wrong type counts as absent.
            byte_length: fields.get("byte_length").u32(),
        },
        "capture" => Request::Capture { session: text("session")? },
        "paste" => Request::Paste { session: text("session")? },
        "list_sessions" => Request::ListSessions,
        "get_turn" => Request::GetTurn { turn_id: text("turn_id")? },
        "list_turns" => Request::ListTurns {
            session: text("session")?,
            limit: optional(fields.get("limit"), Value::u32)?,
        },
        "capture_by_id" => Request::CaptureById { turn_id: text("turn_id")? },
        "deliver" => Request::Deliver(sink(fields)?),
        // CB-27: message types that only the broker sends are as unknown here as any other.
        _ => return Err(Reason::UnknownType),
    };
    Ok(request)
}

fn sink<'a>(fields: &Fields<'a>) -> Result<Sink<'a>, Reason> {
    let session = optional(fields.get("session"), Value::str)?;
    let path = optional(fields.get("path"), Value::str)?;
    match required(fields.get("sink").str())? {
        "clipboard" => Ok(Sink::Clipboard),
        // CR-20
        "file" => path.map(|path| Sink::File { path }).ok_or(Reason::MissingField),
        "inject" => session.map(|session| Sink::Inject { session }).ok_or(Reason::MissingField),
        _ => Err(Reason::UnknownSink),
    }
}

/// CB-28: a missing field or one of the wrong type makes the whole request unknown.
fn required<T>(value: Option<T>) -> Result<T, Reason> {
    value.ok_or(Reason::UnknownType)
}

fn optional<'a, T>(value: Value<'a>, read: impl Fn(Value<'a>) -> Option<T>) -> Result<Option<T>, Reason> {
    if value.is_nil() { Ok(None) } else { required(read(value)).map(Some) }
}

/// Any status other than `ok` is an error, with or without a reason.
fn error<'a>(fields: &Fields<'a>) -> Result<Option<&'a str>, Malformed> {
    let status = fields.get("status").str().ok_or(Malformed)?;
    Ok((status != "ok").then(|| fields.get("error").str().unwrap_or("unspecified")))
}

fn response<'a>(id: u32, fields: &Fields<'a>) -> Result<Response<'a>, Malformed> {
    Ok(Response {
        id,
        error: error(fields)?,
        size: fields.get("size").u32(),
        turn_id: fields.get("turn_id").str(),
        timestamp: fields.get("timestamp").u64(),
        byte_length: fields.get("byte_length").u32(),
        interrupted: fields.get("interrupted").bool(),
        truncated: fields.get("truncated").bool(),
        sessions: items(fields.get("sessions"), session_item)?,
        turns: items(fields.get("turns"), turn_item)?,
        content: fields.get("content").bytes(),
    })
}

/// Reads a list of maps. It grows with the items that exist, with any declared length.
fn items<'a, T>(
    value: Value<'a>,
    read: impl Fn(&Fields<'a>) -> Option<T>,
) -> Result<Option<Vec<T>>, Malformed> {
    let Value::Array { count, mut items } = value else {
        return if value.is_nil() { Ok(None) } else { Err(Malformed) };
    };
    let mut list = Vec::new();
    for _ in 0..count {
        list.push(read(&Fields::read(&mut items)?).ok_or(Malformed)?);
    }
    Ok(Some(list))
}

fn session_item<'a>(fields: &Fields<'a>) -> Option<SessionItem<'a>> {
    Some(SessionItem {
        session: fields.get("session").str()?,
        pid: fields.get("pid").u32()?,
        has_turn: fields.get("has_turn").bool()?,
        // Our addition must not make a message of other brokers invalid.
        client_pids: uints(fields.get("client_pids")),
    })
}

fn turn_item<'a>(fields: &Fields<'a>) -> Option<TurnItem<'a>> {
    Some(TurnItem {
        turn_id: fields.get("turn_id").str()?,
        timestamp: fields.get("timestamp").u64()?,
        byte_length: fields.get("byte_length").u32()?,
        interrupted: fields.get("interrupted").bool()?,
        truncated: fields.get("truncated").bool()?,
    })
}
