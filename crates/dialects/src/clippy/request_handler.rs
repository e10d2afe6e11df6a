//! Executes the requests of a peer and builds the replies.

use super::frame_queue::{Frame, QueueInjector};
use crate::limits;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use swb_engine::{
    CapturedTurn, Enrolment, NewTurn, Relay, RelayError, RelaySession, StoredTurn, TurnId, TurnInfo,
};
use swb_wire::clippy::{
    Message, PeerRole, Reason, Request, Response, SessionItem, Sink, TurnItem, encode_message, response_head,
};

/// A peer after its handshake.
pub(super) struct RequestHandler {
    relay: Relay,
    role: PeerRole,
    /// Where its injects are sent.
    injector: Arc<QueueInjector>,
    /// Sessions that it registered; removed when it is dropped (CB-37).
    sessions: BTreeMap<String, Enrolment>,
}

/// The result of a request.
enum Done {
    Nothing,
    Stored(TurnId),
    Captured(CapturedTurn),
    Found(Box<StoredTurn>),
    Sessions(Vec<RelaySession>),
    Turns(Vec<TurnInfo>),
}

/// An error code of the protocol.
struct Refusal(String);

impl From<Reason> for Refusal {
    fn from(reason: Reason) -> Self {
        Self(reason.as_str().to_owned())
    }
}

impl From<RelayError> for Refusal {
    fn from(error: RelayError) -> Self {
        let reason = match error {
            RelayError::NoSession => Reason::SessionNotFound,
            RelayError::NoTurn => Reason::NoTurn,
            RelayError::NoSuchTurn => Reason::TurnNotFound,
            RelayError::Empty => Reason::BufferEmpty,
            RelayError::Disconnected => Reason::SessionDisconnected,
            RelayError::Taken => Reason::DuplicateSession,
            RelayError::File(_) => Reason::FileWriteFailed,
            // CR-19: the text after the code is for people.
            RelayError::Clipboard(why) => return Self(format!("{}: {why}", Reason::ClipboardFailed)),
            // The protocol defines no codes for these three.
            RelayError::Busy => return Self("session_busy".to_owned()),
            RelayError::Limit(_) => return Self("limit_reached".to_owned()),
            RelayError::Memory(_) => return Self("internal_error".to_owned()),
        };
        reason.into()
    }
}

impl RequestHandler {
    pub(super) fn new(relay: Relay, role: PeerRole, injector: QueueInjector) -> Self {
        Self { relay, role, injector: Arc::new(injector), sessions: BTreeMap::new() }
    }

    /// Whether the peer has registered sessions that exist as long as its connection.
    pub(super) fn has_sessions(&self) -> bool {
        !self.sessions.is_empty()
    }

    /// Executes a request and builds its reply.
    pub(super) async fn answer(&mut self, id: u32, request: Request<'_>) -> Frame {
        match self.obey(request).await {
            Ok(done) => frame(id, done),
            Err(Refusal(reason)) => refused(id, &reason),
        }
    }

    async fn obey(&mut self, request: Request<'_>) -> Result<Done, Refusal> {
        Ok(match request {
            // CB-29
            Request::Register { .. } | Request::Deregister { .. } | Request::TurnCompleted { .. }
                if self.role != PeerRole::Wrapper =>
            {
                return Err(Reason::UnknownType.into());
            }
            Request::Register { session, pid, pattern } => self.register(session, pid, pattern)?,
            Request::Deregister { session } => self.deregister(session),
            Request::TurnCompleted { session, content, interrupted, timestamp, byte_length } => {
                let turn = NewTurn {
                    content: content.into(),
                    byte_length: byte_length.unwrap_or(0).into(),
                    interrupted,
                    timestamp: timestamp.unwrap_or(0),
                    ..NewTurn::default()
                };
                Done::Stored(self.relay.complete_enrolled(session, turn)?)
            }
            Request::Capture { session } => Done::Captured(self.relay.capture(session)?),
            Request::CaptureById { turn_id } => Done::Captured(self.relay.capture_by_id(&named(turn_id)?)?),
            Request::Paste { session } | Request::Deliver(Sink::Inject { session }) => {
                self.relay.paste(session)?;
                Done::Nothing
            }
            Request::Deliver(Sink::File { path }) => {
                self.relay.to_file(PathBuf::from(path)).await?;
                Done::Nothing
            }
            Request::Deliver(Sink::Clipboard) => {
                self.relay.to_clipboard().await?;
                Done::Nothing
            }
            Request::GetTurn { turn_id } => Done::Found(Box::new(self.relay.turn(&named(turn_id)?)?)),
            Request::ListSessions => Done::Sessions(self.relay.sessions()),
            Request::ListTurns { session, limit } => {
                Done::Turns(self.relay.turns(session, limit.map(|limit| limit as usize))?)
            }
            // Handled by the connection.
            Request::Hello { .. } => return Err(Reason::UnknownType.into()),
        })
    }

    fn register(&mut self, session: &str, pid: u32, pattern: &str) -> Result<Done, Refusal> {
        if self.sessions.len() >= limits::CLIPPY_SESSIONS {
            return Err(RelayError::Limit("too many sessions on one connection").into());
        }
        let injector = Arc::<QueueInjector>::clone(&self.injector);
        let enrolment = self.relay.enroll(session, pid, pattern, injector)?;
        self.sessions.insert(session.to_owned(), enrolment);
        Ok(Done::Nothing)
    }

    /// CB-35: succeeds whichever peer registered the session, and even if it does not exist. Our own sessions cannot be
    /// removed like this.
    fn deregister(&mut self, session: &str) -> Done {
        self.sessions.remove(session);
        self.relay.withdraw(session);
        Done::Nothing
    }
}

/// CR-11: an invalid id of a turn matches no turn.
fn named(turn_id: &str) -> Result<TurnId, Reason> {
    turn_id.parse().map_err(|_| Reason::TurnNotFound)
}

fn frame(id: u32, done: Done) -> Frame {
    let response = Response::ok(id);
    match done {
        Done::Nothing => plain(&response),
        // CR-6
        Done::Stored(turn) => plain(&Response { turn_id: Some(&turn.to_string()), ..response }),
        // CB-44, CR-7
        Done::Captured(CapturedTurn { id, size }) => {
            plain(&Response { turn_id: Some(&id.to_string()), size: Some(short(size)), ..response })
        }
        Done::Found(turn) => found(&turn.info, turn.content, response),
        // CB-40
        Done::Sessions(list) => {
            plain(&Response { sessions: Some(list.iter().map(session_item).collect()), ..response })
        }
        // CR-12
        Done::Turns(list) => {
            let names: Vec<String> = list.iter().map(|turn| turn.id.to_string()).collect();
            let items = list.iter().zip(&names).map(|(turn, name)| turn_item(turn, name));
            plain(&Response { turns: Some(items.collect()), ..response })
        }
    }
}

fn session_item(listed: &RelaySession) -> SessionItem<'_> {
    SessionItem {
        session: &listed.id,
        pid: listed.pid,
        has_turn: listed.has_turn,
        client_pids: listed.client_pids.clone(),
    }
}

fn turn_item<'a>(turn: &TurnInfo, name: &'a str) -> TurnItem<'a> {
    TurnItem {
        turn_id: name,
        timestamp: turn.timestamp,
        byte_length: short(turn.byte_length),
        interrupted: turn.interrupted,
        truncated: turn.truncated,
    }
}

/// CR-10
fn found(info: &TurnInfo, content: Arc<Vec<u8>>, response: Response<'_>) -> Frame {
    let name = info.id.to_string();
    let response = Response {
        turn_id: Some(&name),
        timestamp: Some(info.timestamp),
        byte_length: Some(short(info.byte_length)),
        interrupted: Some(info.interrupted),
        truncated: Some(info.truncated),
        ..response
    };
    let mut head = Vec::new();
    match response_head(&response, Some(content.len()), &mut head) {
        Ok(()) => Frame { head, content: Some(content), reply: true },
        Err(_) => refused(response.id, Reason::PayloadTooLarge.as_str()),
    }
}

fn plain(response: &Response<'_>) -> Frame {
    let mut head = Vec::new();
    match response_head(response, None, &mut head) {
        Ok(()) => Frame { head, content: None, reply: true },
        Err(_) => refused(response.id, Reason::PayloadTooLarge.as_str()),
    }
}

fn refused(id: u32, reason: &str) -> Frame {
    let mut head = Vec::new();
    let response = Response { error: Some(reason), ..Response::ok(id) };
    // A short text always fits into a frame.
    let _fits = encode_message(&Message::Response(response), &mut head);
    Frame { head, content: None, reply: true }
}

/// Lengths have 32 bits on the wire.
fn short(length: u64) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
