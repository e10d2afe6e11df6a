//! Frames to messages and back.
//!
//! Requests are read in two passes over the text: one for the command's name, one for its fields. A single pass
//! through a tagged enum would have to buffer every field, known or not, in a tree many times the size of the message.

use super::error::{BadMessage, ErrorReply};
use super::operation::{Handshake, Kill, Operation, Send};
use super::screen::Wait;
use super::stream::{ClientControl, StreamEvent};
use super::turns::{Capture, EventItem, Turn};
use crate::frame::{LengthPrefixed, PREFIX, prefix};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::borrow::Cow;
use swb_types::{Offset, Role, Scope, SessionName};

/// The only protocol version (CO-11).
pub const VERSION: u32 = 1;

/// Maximum bytes in a frame, prefix not counted (CO-14, CO-53).
pub const MAX_FRAME: usize = 1_048_576;

/// Maximum bytes of terminal data in one frame; the tag takes one.
pub const MAX_DATA: usize = MAX_FRAME - 1;

/// Tag of terminal data (CO-52).
const TAG_DATA: u8 = 0;
/// Tag of a control message (CO-52).
const TAG_CONTROL: u8 = 1;

/// Creates the frame reader of a new connection: command mode, where an empty frame is an invalid message.
pub fn command_frames() -> LengthPrefixed {
    LengthPrefixed::new(0, MAX_FRAME)
}

/// Switches a connection to stream mode, where a frame contains at least its tag (CO-53).
///
/// Bytes that arrived together with the request stay and are read as stream frames (CO-54).
pub fn enter_stream(frames: &mut LengthPrefixed) {
    frames.set_limits(1, MAX_FRAME);
}

/// Reads the first message of a client: the version that it requests (CO-11).
///
/// Wider than any real version, so that every integer gets the error that names it (CO-12).
pub fn parse_handshake(body: &[u8]) -> Result<i128, BadMessage> {
    #[derive(Deserialize)]
    struct Version {
        version: i128,
    }
    fields::<Version>(object(body)?, "handshake").map(|handshake| handshake.version)
}

/// Reads the role and the scope that a client limits itself to in its handshake; `None` if it does not.
pub fn parse_caller(body: &[u8]) -> Result<Option<(Role, Scope)>, BadMessage> {
    let limits: Handshake = fields(object(body)?, "handshake")?;
    let scope = match (limits.session, limits.workspace) {
        (None, None) if limits.role.is_none() => return Ok(None),
        (None, None) => Scope::All,
        (Some(name), None) => {
            let name = SessionName::new(&name).map_err(|error| BadMessage::new(error.to_string()))?;
            Scope::Session(name)
        }
        (None, Some(path)) => Scope::Workspace(path.into()),
        (Some(_), Some(_)) => {
            return Err(BadMessage::new("invalid handshake: `session` and `workspace` exclude each other"));
        }
    };
    let role = limits.role.unwrap_or(Role::Owner);
    if role == Role::Agent && !matches!(scope, Scope::Workspace(_)) {
        return Err(BadMessage::new("invalid handshake: the role 'agent' needs `workspace`"));
    }
    Ok(Some((role, scope)))
}

/// Returns the name of the operation that a message requests.
pub fn operation_name(body: &[u8]) -> Result<Cow<'_, str>, BadMessage> {
    command_name(object(body)?)
}

/// Reads an operation (CO-15).
pub fn parse_operation(body: &[u8]) -> Result<Operation, BadMessage> {
    let text = object(body)?;
    let name = command_name(text)?;
    let operation = match name.as_ref() {
        "create" => Operation::Create(fields(text, "create")?),
        "attach" => Operation::Attach(fields(text, "attach")?),
        "shell" => Operation::Shell(fields(text, "shell")?),
        "ls" => Operation::Ls(fields(text, "ls")?),
        "kill" => Operation::Kill(checked_kill(fields(text, "kill")?)?),
        "serve" => Operation::Serve(fields(text, "serve")?),
        "tunnel" => Operation::Tunnel(fields(text, "tunnel")?),
        "tunnel_answer" => Operation::TunnelAnswer(fields(text, "tunnel_answer")?),
        "tunnel_revoke" => Operation::TunnelRevoke(fields(text, "tunnel_revoke")?),
        "tunnels" => Operation::Tunnels(fields(text, "tunnels")?),
        "shutdown" => Operation::Shutdown(fields(text, "shutdown")?),
        "detach" => Operation::Detach,
        "sessionls" => Operation::SessionLs(fields(text, "sessionls")?),
        "sessionkill" => Operation::SessionKill(fields(text, "sessionkill")?),
        "logs" => Operation::Logs(fields(text, "logs")?),
        "restart" => Operation::Restart(fields(text, "restart")?),
        "send" => Operation::Send(checked_send(fields(text, "send")?)?),
        "status" => Operation::Status,
        "upgrade" => Operation::Upgrade(fields(text, "upgrade")?),
        "screen" => Operation::Screen(fields(text, "screen")?),
        "wait" => Operation::Wait(checked_wait(fields(text, "wait")?)?),
        "keys" => Operation::Keys(fields(text, "keys")?),
        "turns" => Operation::Turns(fields(text, "turns")?),
        "turn" => {
            let turn: Turn = fields(text, "turn")?;
            one_of_both("turn", turn.turn_id.is_some(), turn.session.is_some())?;
            Operation::Turn(turn)
        }
        "capture" => {
            let capture: Capture = fields(text, "capture")?;
            one_of_both("capture", capture.turn_id.is_some(), capture.session.is_some())?;
            Operation::Capture(capture)
        }
        "paste" => Operation::Paste(fields(text, "paste")?),
        "relay" => Operation::Relay(fields(text, "relay")?),
        "ask" => Operation::Ask(fields(text, "ask")?),
        "explain" => Operation::Explain(fields(text, "explain")?),
        "events" => Operation::Events(fields(text, "events")?),
        "hook" => Operation::Hook(fields(text, "hook")?),
        "approvals" => Operation::Approvals(fields(text, "approvals")?),
        "approval" => Operation::Approval(fields(text, "approval")?),
        "history" => Operation::History(fields(text, "history")?),
        "conversation" => Operation::Conversation(fields(text, "conversation")?),
        "forget" => Operation::Forget(fields(text, "forget")?),
        "workspaces" => Operation::Workspaces(fields(text, "workspaces")?),
        "workspace" => Operation::Workspace(fields(text, "workspace")?),
        "agents" => Operation::Agents(fields(text, "agents")?),
        "chat" => Operation::Chat,
        "token" => Operation::Token(fields(text, "token")?),
        "tokens" => Operation::Tokens(fields(text, "tokens")?),
        "revoke" => Operation::Revoke(fields(text, "revoke")?),
        "whoami" => Operation::Whoami(fields(text, "whoami")?),
        "filter" => Operation::Filter(fields(text, "filter")?),
        "mute" => Operation::Mute(fields(text, "mute")?),
        "notifications" => Operation::Notifications(fields(text, "notifications")?),
        "notify_test" => Operation::NotifyTest(fields(text, "notify_test")?),
        // CO-49: `resize` is valid in stream mode only, so it is an unknown command here.
        unknown => return Err(BadMessage::unknown_command(unknown)),
    };
    Ok(operation)
}

/// Reads a control message of a client; `None` is ignored by its receiver (CO-55).
pub fn parse_client_control(body: &[u8]) -> Option<ClientControl> {
    #[derive(Deserialize)]
    struct Size {
        cols: u16,
        rows: u16,
    }
    #[derive(Deserialize)]
    struct Reached {
        offset: Offset,
    }
    let text = object(body).ok()?;
    match command_name(text).ok()?.as_ref() {
        "resize" => {
            let Size { cols, rows } = fields(text, "resize").ok()?;
            Some(ClientControl::Resize { cols, rows })
        }
        "position" => {
            let Reached { offset } = fields(text, "position").ok()?;
            Some(ClientControl::Position { offset })
        }
        "indirect" => {
            let Reached { offset } = fields(text, "indirect").ok()?;
            Some(ClientControl::Indirect { offset })
        }
        "detach" => Some(ClientControl::Detach),
        _ => None,
    }
}

/// Reads a control message of the daemon; `None` is ignored by its receiver (CO-55).
pub fn parse_event(body: &[u8]) -> Option<StreamEvent> {
    fields(object(body).ok()?, "event").ok()
}

/// Reads an event of the event stream; `None` is ignored by its receiver.
pub fn parse_event_item(body: &[u8]) -> Option<EventItem> {
    fields(object(body).ok()?, "event").ok()
}

/// Why a client got no usable reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplyError {
    /// The daemon replied with an error.
    #[error(transparent)]
    Refused(ErrorReply),
    /// The reply is invalid.
    #[error("unexpected reply: {0}")]
    Bad(BadMessage),
}

/// Reads the reply to a request.
pub fn parse_reply<T: DeserializeOwned>(body: &[u8]) -> Result<T, ReplyError> {
    #[derive(Deserialize)]
    struct Outcome {
        ok: bool,
    }
    let text = object(body).map_err(ReplyError::Bad)?;
    let outcome: Outcome = fields(text, "answer").map_err(ReplyError::Bad)?;
    if outcome.ok {
        return fields(text, "answer").map_err(ReplyError::Bad);
    }
    Err(fields(text, "answer").map_or_else(ReplyError::Bad, ReplyError::Refused))
}

/// Why a message cannot be sent.
#[derive(Debug, thiserror::Error)]
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
    /// The value has no JSON form; cannot happen with the types of this module.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

/// Appends a message of command mode: handshake, request or reply (CO-10).
///
/// After an error `out` is unchanged.
pub fn encode_json(value: &impl Serialize, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    append_json(&[], value, out)
}

/// Encodes a reply without its frame, at most as long as a frame may be.
pub fn encode_body(value: &impl Serialize) -> Result<Vec<u8>, EncodeError> {
    let body = serde_json::to_vec(value)?;
    let len = body.len();
    if len > MAX_FRAME { Err(EncodeError::TooLarge { len, max: MAX_FRAME }) } else { Ok(body) }
}

/// Puts a reply of [`encode_body`] into a frame of command mode.
pub fn encode_frame(body: &[u8]) -> Vec<u8> {
    [prefix(body.len()).as_slice(), body].concat()
}

/// Appends a control frame of stream mode (CO-52).
///
/// After an error `out` is unchanged.
pub fn encode_control(value: &impl Serialize, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    append_json(&[TAG_CONTROL], value, out)
}

/// Puts a control message of stream mode that is JSON already into a frame (CO-52).
pub fn control_frame(body: &[u8]) -> Vec<u8> {
    [prefix(body.len() + 1).as_slice(), &[TAG_CONTROL], body].concat()
}

/// Appends terminal data, as several frames if it is longer than [`MAX_DATA`] (CO-52).
pub fn encode_data(payload: &[u8], out: &mut Vec<u8>) {
    if payload.is_empty() {
        out.extend_from_slice(&data_header(0));
    }
    for chunk in payload.chunks(MAX_DATA) {
        out.extend_from_slice(&data_header(chunk.len()));
        out.extend_from_slice(chunk);
    }
}

/// Returns the bytes before `payload_len` bytes of terminal data, at most [`MAX_DATA`].
///
/// With it, output can be written straight from where it is stored instead of through [`encode_data`].
pub fn data_header(payload_len: usize) -> [u8; 5] {
    debug_assert!(payload_len <= MAX_DATA, "output is cut into frames before it gets here");
    let [a, b, c, d] = prefix(payload_len + 1);
    [a, b, c, d, TAG_DATA]
}

/// One frame of stream mode, in either direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamFrame {
    /// Terminal bytes.
    Data(Vec<u8>),
    /// JSON: [`parse_client_control`] or [`parse_event`] reads it.
    Control(Vec<u8>),
    /// An undefined tag; ignored by its receiver (CO-55).
    Unknown(u8),
}

/// Removes the tag of a frame of stream mode.
///
/// The limits of [`enter_stream`] reject empty frames; one would count as empty data.
pub fn parse_stream(mut body: Vec<u8>) -> StreamFrame {
    let tag = body.first().copied().unwrap_or(TAG_DATA);
    match tag {
        TAG_DATA | TAG_CONTROL => {
            body.drain(..body.len().min(1));
            if tag == TAG_DATA { StreamFrame::Data(body) } else { StreamFrame::Control(body) }
        }
        other => StreamFrame::Unknown(other),
    }
}

fn append_json(tag: &[u8], value: &impl Serialize, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let start = out.len();
    let result = write_json(tag, value, out);
    if result.is_err() {
        out.truncate(start);
    }
    result
}

fn write_json(tag: &[u8], value: &impl Serialize, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let start = out.len();
    out.extend_from_slice(&prefix(0));
    out.extend_from_slice(tag);
    serde_json::to_writer(&mut *out, value)?;
    let len = out.len() - start - PREFIX;
    if len > MAX_FRAME {
        return Err(EncodeError::TooLarge { len, max: MAX_FRAME });
    }
    if let Some(place) = out.get_mut(start..start + PREFIX) {
        place.copy_from_slice(&prefix(len));
    }
    Ok(())
}

/// Checks that all of a message is valid UTF-8 and that it is an object: the JSON reader would skip unread fields
/// unchecked, and accept an array for a struct.
fn object(body: &[u8]) -> Result<&str, BadMessage> {
    let text = std::str::from_utf8(body).map_err(|_| BadMessage::new("message is not valid UTF-8"))?;
    if !text.trim_ascii_start().starts_with('{') {
        return Err(BadMessage::new("message is not a JSON object"));
    }
    Ok(text)
}

fn command_name(text: &str) -> Result<Cow<'_, str>, BadMessage> {
    #[derive(Deserialize)]
    struct Command<'a> {
        #[serde(borrow)]
        cmd: Cow<'a, str>,
    }
    serde_json::from_str::<Command<'_>>(text)
        .map(|command| command.cmd)
        .map_err(|error| BadMessage::new(format!("invalid message: {error}")))
}

fn fields<'a, T: Deserialize<'a>>(text: &'a str, what: &str) -> Result<T, BadMessage> {
    serde_json::from_str(text).map_err(|error| BadMessage::new(format!("invalid {what}: {error}")))
}

fn checked_kill(kill: Kill) -> Result<Kill, BadMessage> {
    if kill.session.is_none() && !kill.all {
        return Err(BadMessage::new("invalid kill: missing field `session`"));
    }
    Ok(kill)
}

fn checked_send(send: Send) -> Result<Send, BadMessage> {
    if send.text.is_some() == send.data.is_some() {
        return Err(BadMessage::new("invalid send: exactly one of `text` and `data` is needed"));
    }
    Ok(send)
}

fn checked_wait(wait: Wait) -> Result<Wait, BadMessage> {
    if !wait.has_condition() {
        return Err(BadMessage::new(
            "invalid wait: one of `text`, `stable_ms`, `exit` and `until` is needed",
        ));
    }
    Ok(wait)
}

fn one_of_both(what: &str, turn: bool, session: bool) -> Result<(), BadMessage> {
    if turn == session {
        let text = format!("invalid {what}: exactly one of `turn_id` and `session` is needed");
        return Err(BadMessage::new(text));
    }
    Ok(())
}
