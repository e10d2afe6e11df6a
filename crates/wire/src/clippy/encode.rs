//! Messages to frames: the shortest integers, `str` for text, `bin` for content; fields that do not apply are left out
//! (CB-15, CB-16).

use super::MAX_FRAME;
use super::message::{Message, Request, Response, SessionItem, Sink, TurnItem};
use super::pack::MapWriter;
use crate::frame::{PREFIX, prefix};

/// Why a message cannot be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// It does not fit into a frame, so the peer would reject it.
    #[error("message too long: {len} bytes, the maximum is {max}")]
    TooLarge {
        /// Its length.
        len: usize,
        /// Largest length allowed.
        max: usize,
    },
}

/// Appends a request with this id. After an error `out` is unchanged.
///
/// A [`Request::Hello`] needs id 0 (CB-22) and a role.
pub fn encode_request(id: u32, request: &Request<'_>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    framed(out, 0, |out| write_request(id, request, out))
}

/// Appends a message of the broker. After an error `out` is unchanged.
///
/// [`Message::Unknown`] has no encoding and must not be sent.
pub fn encode_message(message: &Message<'_>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    match message {
        Message::HelloAck { error } => framed(out, 0, |out| {
            status(&mut begin("hello_ack", 0, out), *error);
        }),
        Message::Inject { content } => {
            inject_head(content.len(), out)?;
            out.extend_from_slice(content);
            Ok(())
        }
        Message::Response(response) => {
            response_head(response, response.content.map(<[u8]>::len), out)?;
            out.extend_from_slice(response.content.unwrap_or_default());
            Ok(())
        }
        Message::Unknown => framed(out, 0, |out| {
            begin("unknown", 0, out);
        }),
    }
}

/// Appends everything before the content of a [`Message::Inject`]. After an error `out` is unchanged.
pub fn inject_head(content_len: usize, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    framed(out, content_len, |out| begin("inject", 0, out).bin_head("content", content_len))
}

/// Appends everything before the content of a response, whose `content` is ignored; the whole response if it has none.
/// After an error `out` is unchanged.
pub fn response_head(
    response: &Response<'_>,
    content_len: Option<usize>,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    framed(out, content_len.unwrap_or(0), |out| {
        let mut map = begin("response", response.id, out);
        write_response(response, &mut map);
        if let Some(len) = content_len {
            map.bin_head("content", len);
        }
    })
}

/// Prepends the length of what is written, including `behind` bytes that will follow.
fn framed(out: &mut Vec<u8>, behind: usize, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), EncodeError> {
    let start = out.len();
    out.extend_from_slice(&prefix(0));
    write(out);
    let len = (out.len() - start - PREFIX).saturating_add(behind);
    if len > MAX_FRAME {
        out.truncate(start);
        return Err(EncodeError::TooLarge { len, max: MAX_FRAME });
    }
    if let Some(place) = out.get_mut(start..start + PREFIX) {
        place.copy_from_slice(&prefix(len));
    }
    Ok(())
}

fn begin<'a>(kind: &str, id: u32, out: &'a mut Vec<u8>) -> MapWriter<'a> {
    let mut map = MapWriter::new(out);
    map.str("type", kind);
    map.uint("id", id);
    map
}

fn status(map: &mut MapWriter<'_>, error: Option<&str>) {
    map.str("status", if error.is_some() { "error" } else { "ok" });
    if let Some(reason) = error {
        map.str("error", reason);
    }
}

fn write_request(id: u32, request: &Request<'_>, out: &mut Vec<u8>) {
    let mut map = begin(kind(request), id, out);
    match request {
        Request::Capture { session } | Request::Deregister { session } | Request::Paste { session } => {
            map.str("session", session);
        }
        Request::CaptureById { turn_id } | Request::GetTurn { turn_id } => map.str("turn_id", turn_id),
        Request::Deliver(sink) => write_sink(sink, &mut map),
        Request::Hello { version, role } => {
            map.uint("version", *version);
            map.str("role", role.map_or("", |role| role.as_str()));
        }
        Request::ListSessions => {}
        Request::ListTurns { session, limit } => {
            map.str("session", session);
            if let Some(limit) = limit {
                map.uint("limit", *limit);
            }
        }
        Request::Register { session, pid, pattern } => {
            map.str("session", session);
            map.uint("pid", *pid);
            map.str("pattern", pattern);
        }
        Request::TurnCompleted { session, content, interrupted, timestamp, byte_length } => {
            map.str("session", session);
            map.bin("content", content);
            map.bool("interrupted", *interrupted);
            if let Some(timestamp) = timestamp {
                map.uint("timestamp", *timestamp);
            }
            if let Some(byte_length) = byte_length {
                map.uint("byte_length", *byte_length);
            }
        }
    }
}

fn kind(request: &Request<'_>) -> &'static str {
    match request {
        Request::Capture { .. } => "capture",
        Request::CaptureById { .. } => "capture_by_id",
        Request::Deliver(_) => "deliver",
        Request::Deregister { .. } => "deregister",
        Request::GetTurn { .. } => "get_turn",
        Request::Hello { .. } => "hello",
        Request::ListSessions => "list_sessions",
        Request::ListTurns { .. } => "list_turns",
        Request::Paste { .. } => "paste",
        Request::Register { .. } => "register",
        Request::TurnCompleted { .. } => "turn_completed",
    }
}

fn write_sink(sink: &Sink<'_>, map: &mut MapWriter<'_>) {
    match sink {
        Sink::Clipboard => map.str("sink", "clipboard"),
        Sink::File { path } => {
            map.str("sink", "file");
            map.str("path", path);
        }
        Sink::Inject { session } => {
            map.str("sink", "inject");
            map.str("session", session);
        }
    }
}

/// Writes all but the content, which comes last so that it can be sent from where it is stored.
fn write_response(response: &Response<'_>, map: &mut MapWriter<'_>) {
    status(map, response.error);
    if let Some(sessions) = &response.sessions {
        map.maps("sessions", sessions, write_session);
    }
    if let Some(size) = response.size {
        map.uint("size", size);
    }
    if let Some(turn_id) = response.turn_id {
        map.str("turn_id", turn_id);
    }
    if let Some(timestamp) = response.timestamp {
        map.uint("timestamp", timestamp);
    }
    if let Some(byte_length) = response.byte_length {
        map.uint("byte_length", byte_length);
    }
    if let Some(interrupted) = response.interrupted {
        map.bool("interrupted", interrupted);
    }
    if let Some(truncated) = response.truncated {
        map.bool("truncated", truncated);
    }
    if let Some(turns) = &response.turns {
        map.maps("turns", turns, write_turn);
    }
}

fn write_session(item: &SessionItem<'_>, map: &mut MapWriter<'_>) {
    map.str("session", item.session);
    map.uint("pid", item.pid);
    map.bool("has_turn", item.has_turn);
    if !item.client_pids.is_empty() {
        map.uints("client_pids", &item.client_pids);
    }
}

fn write_turn(item: &TurnItem<'_>, map: &mut MapWriter<'_>) {
    map.str("turn_id", item.turn_id);
    map.uint("timestamp", item.timestamp);
    map.uint("byte_length", item.byte_length);
    map.bool("interrupted", item.interrupted);
    map.bool("truncated", item.truncated);
}
