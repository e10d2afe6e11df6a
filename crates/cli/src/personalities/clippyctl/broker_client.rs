//! One request to a broker.

use crate::error::{Failure, FailureKind};
use crate::limits;
use crate::own_socket;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use swb_wire::LengthPrefixed;
use swb_wire::clippy::{
    Message, PeerRole, Request, Response, VERSION, encode_request, frames, parse_message,
};

/// Id of the only request.
const ID: u32 = 1;

/// A connection after the handshake.
#[derive(Debug)]
pub(super) struct BrokerClient {
    stream: UnixStream,
    reader: LengthPrefixed,
}

impl BrokerClient {
    /// Connects to the broker (CB-1, CB-19).
    pub(super) fn open() -> Result<Self, Failure> {
        let path = crate::wrap::broker_socket().ok_or_else(|| {
            Failure::general("XDG_RUNTIME_DIR is not set, but the path of the broker's socket depends on it")
        })?;
        let stream = own_socket::connect(&path).map_err(|error| {
            if own_socket::is_foreign(&error) {
                return Failure::general(error.to_string());
            }
            Failure::general(format!("no broker at {}: {error}", path.display()))
                .hint("`swb daemon` runs one; so does any `swb` command that starts the daemon")
        })?;
        stream.set_read_timeout(Some(limits::CLIPPYCTL_REPLY))?;
        stream.set_write_timeout(Some(limits::CLIPPYCTL_REPLY))?;
        let mut link = Self { stream, reader: frames() };
        link.send(0, &Request::Hello { version: VERSION, role: Some(PeerRole::Client) })?;
        loop {
            let frame = link.receive()?;
            match understand(&frame)? {
                Message::HelloAck { error: None } => return Ok(link),
                Message::HelloAck { error: Some(reason) } => return Err(refused(reason)),
                _ => {}
            }
        }
    }

    /// Sends a request, and passes the frame of a reply that is not an error to `read`.
    pub(super) fn ask<T>(
        mut self,
        request: &Request<'_>,
        read: impl FnOnce(&Response<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.send(ID, request)?;
        loop {
            let frame = self.receive()?;
            match understand(&frame)? {
                Message::Response(Response { error: Some(reason), .. }) => return Err(refused(reason)),
                Message::Response(response) if response.id == ID => return read(&response),
                _ => {}
            }
        }
    }

    fn send(&mut self, id: u32, request: &Request<'_>) -> Result<(), Failure> {
        let mut bytes = Vec::new();
        encode_request(id, request, &mut bytes).map_err(|error| Failure::general(error.to_string()))?;
        self.stream.write_all(&bytes).map_err(|error| lost(&error))
    }

    fn receive(&mut self) -> Result<Vec<u8>, Failure> {
        let mut buffer = vec![0; limits::CLIPPYCTL_READ];
        loop {
            if let Some(frame) = self.reader.next().map_err(|error| garbled(&error))? {
                return Ok(frame);
            }
            match self.stream.read(&mut buffer) {
                Ok(0) => return Err(lost(&io::ErrorKind::UnexpectedEof.into())),
                Ok(count) => self.reader.push(buffer.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(lost(&error)),
            }
        }
    }
}

fn understand(frame: &[u8]) -> Result<Message<'_>, Failure> {
    parse_message(frame).map_err(|error| garbled(&error))
}

/// The failure of an invalid reply.
pub(super) fn garbled(error: &dyn std::error::Error) -> Failure {
    Failure::general(format!("cannot parse the broker's reply ({error})"))
}

fn lost(error: &io::Error) -> Failure {
    let what = match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            "timed out waiting for the broker to reply".to_owned()
        }
        io::ErrorKind::UnexpectedEof => "the broker closed the connection".to_owned(),
        _ => format!("the connection to the broker was lost: {error}"),
    };
    Failure::new(FailureKind::Disconnected, what)
}

/// The reason as the broker gives it, which scripts look for, with a hint.
fn refused(reason: &str) -> Failure {
    let failure = Failure::general(reason);
    match reason {
        "session_not_found" => failure.hint("`clippyctl list-sessions` lists the sessions"),
        "turn_not_found" => failure.hint("`clippyctl list-turns SESSION` lists the turns"),
        "no_turn" => failure.hint("the session has no completed turn yet"),
        "buffer_empty" => failure.hint("`clippyctl capture SESSION` fills it"),
        _ => failure,
    }
}
