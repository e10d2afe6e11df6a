//! A raw clippy peer.

use crate::coop::{connect, read_more};
use crate::{LIMIT, NO_PROCESS, QUIET, Swb};
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};
use swb_wire::clippy::{
    Message, PeerRole, Request, Response, VERSION, encode_request, frames, parse_message,
};
use swb_wire::frame::LengthPrefixed;

/// A message received on a clippy connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClippyItem {
    /// The reply to a hello, with the reason if it is rejected.
    Ack(Option<String>),
    /// The reply to a request.
    Answer(ClippyReply),
    /// Bytes for a session.
    Inject(Vec<u8>),
    /// The end of the connection.
    End,
}

/// The reply to a request; fields that do not apply are absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are those of `swb_wire::clippy::Response`")]
pub struct ClippyReply {
    pub id: u32,
    pub error: Option<String>,
    pub size: Option<u32>,
    pub turn_id: Option<String>,
    pub timestamp: Option<u64>,
    pub byte_length: Option<u32>,
    pub interrupted: Option<bool>,
    pub truncated: Option<bool>,
    /// Session, process id, whether it has a turn; sorted by name.
    pub sessions: Option<Vec<(String, u32, bool)>>,
    pub turns: Option<Vec<ClippyTurn>>,
    pub content: Option<Vec<u8>>,
}

/// A turn in a list: its name, its time, its length, whether it was interrupted, whether it was cut.
pub type ClippyTurn = (String, u64, u32, bool, bool);

impl From<Response<'_>> for ClippyReply {
    fn from(response: Response<'_>) -> Self {
        let session = |s: &swb_wire::clippy::SessionItem<'_>| (s.session.to_owned(), s.pid, s.has_turn);
        let sessions = response.sessions.map(|list| {
            let mut list: Vec<_> = list.iter().map(session).collect();
            list.sort();
            list
        });
        let turn = |t: &swb_wire::clippy::TurnItem<'_>| {
            (t.turn_id.to_owned(), t.timestamp, t.byte_length, t.interrupted, t.truncated)
        };
        Self {
            id: response.id,
            error: response.error.map(str::to_owned),
            size: response.size,
            turn_id: response.turn_id.map(str::to_owned),
            timestamp: response.timestamp,
            byte_length: response.byte_length,
            interrupted: response.interrupted,
            truncated: response.truncated,
            sessions,
            turns: response.turns.map(|list| list.iter().map(turn).collect()),
            content: response.content.map(<[u8]>::to_vec),
        }
    }
}

/// A clippy connection that sends and shows exactly what is on the wire.
#[derive(Debug)]
pub struct ClippyClient {
    stream: UnixStream,
    frames: LengthPrefixed,
    next_id: u32,
}

impl ClippyClient {
    /// Connects without sending anything.
    pub fn connect(path: &Path) -> io::Result<Self> {
        Ok(Self { stream: connect(path)?, frames: frames(), next_id: 1 })
    }

    /// The socket, for operations that this client lacks.
    pub fn socket(&self) -> &UnixStream {
        &self.stream
    }

    /// Sends raw bytes; ignores a closed connection.
    pub fn send_raw(&mut self, bytes: &[u8]) {
        let _sent = self.stream.write_all(bytes);
    }

    /// Sends a request.
    pub fn send(&mut self, id: u32, request: &Request<'_>) {
        let mut bytes = Vec::new();
        encode_request(id, request, &mut bytes).expect("a request that fits");
        self.send_raw(&bytes);
    }

    /// Sends a hello and requires that it is accepted.
    #[track_caller]
    pub fn hello(&mut self, role: PeerRole) {
        self.send(0, &Request::Hello { version: VERSION, role: Some(role) });
        assert_eq!(self.item(LIMIT), Some(ClippyItem::Ack(None)));
    }

    /// The next item; `None` if none arrives within `limit`.
    #[track_caller]
    pub fn item(&mut self, limit: Duration) -> Option<ClippyItem> {
        let end = Instant::now() + limit;
        loop {
            if let Some(frame) = self.frames.next().expect("a frame of the protocol") {
                return Some(match parse_message(&frame).expect("a message of the protocol") {
                    Message::HelloAck { error } => ClippyItem::Ack(error.map(str::to_owned)),
                    Message::Inject { content } => ClippyItem::Inject(content.to_vec()),
                    Message::Response(response) => ClippyItem::Answer(response.into()),
                    Message::Unknown => panic!("a message of an unknown type"),
                });
            }
            let mut bytes = Vec::new();
            if read_more(&mut self.stream, &mut bytes, end)? == 0 {
                return Some(ClippyItem::End);
            }
            self.frames.push(&bytes);
        }
    }

    /// The next item, which must be a reply.
    #[track_caller]
    pub fn answer(&mut self) -> ClippyReply {
        match self.item(LIMIT) {
            Some(ClippyItem::Answer(answer)) => answer,
            other => panic!("{other:?} instead of a reply"),
        }
    }

    /// The next item, which must be an inject.
    #[track_caller]
    pub fn injected(&mut self) -> Vec<u8> {
        match self.item(LIMIT) {
            Some(ClippyItem::Inject(content)) => content,
            other => panic!("{other:?} instead of an inject"),
        }
    }

    /// Sends a request with an id of its own and returns the reply, which must have that id.
    #[track_caller]
    pub fn ask(&mut self, request: &Request<'_>) -> ClippyReply {
        let id = self.next_id;
        self.next_id += 1;
        self.send(id, request);
        let answer = self.answer();
        assert_eq!(answer.id, id);
        answer
    }

    /// The same for a request that must succeed.
    #[track_caller]
    pub fn ok(&mut self, request: &Request<'_>) -> ClippyReply {
        let answer = self.ask(request);
        assert_eq!(answer.error, None, "{request:?}");
        answer
    }

    /// The same for one that must be rejected; returns the reason.
    #[track_caller]
    pub fn refused(&mut self, request: &Request<'_>) -> String {
        self.ask(request).error.unwrap_or_else(|| panic!("{request:?} was not rejected"))
    }

    /// Registers a session.
    #[track_caller]
    pub fn register(&mut self, session: &str) {
        self.ok(&Request::Register { session, pid: NO_PROCESS, pattern: "generic" });
    }

    /// Reports a turn; returns its id.
    #[track_caller]
    pub fn turn(&mut self, session: &str, content: &[u8]) -> String {
        let request = Request::TurnCompleted {
            session,
            content,
            interrupted: false,
            timestamp: None,
            byte_length: None,
        };
        self.ok(&request).turn_id.expect("the id of the turn")
    }

    /// All sessions by name: process id, whether there is a turn.
    #[track_caller]
    pub fn sessions(&mut self) -> Vec<(String, u32, bool)> {
        self.ok(&Request::ListSessions).sessions.expect("a list")
    }

    /// Requires that the daemon closes the connection without a further message.
    #[track_caller]
    pub fn closed(&mut self) {
        assert_eq!(self.item(LIMIT), Some(ClippyItem::End));
    }

    /// Requires that nothing arrives for a while, and that the connection stays open.
    #[track_caller]
    pub fn quiet(&mut self) {
        assert_eq!(self.item(QUIET), None, "nothing should arrive");
    }
}

impl Swb {
    /// A connection to the clippy socket before the hello.
    pub fn clippy_raw(&self) -> ClippyClient {
        let socket = self.paths().clippy_socket().expect("a runtime directory");
        ClippyClient::connect(&socket).expect("the clippy socket")
    }

    /// A connection to the clippy socket after the hello.
    #[track_caller]
    pub fn clippy(&self, role: PeerRole) -> ClippyClient {
        let mut client = self.clippy_raw();
        client.hello(role);
        client
    }
}
