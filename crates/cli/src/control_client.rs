//! The blocking client of the control socket: handshake, then requests with one reply each.
//!
//! The handshake is sent with the first request, so that a command takes one round trip: [`ControlClient::greet`] waits for
//! its reply before that. A daemon executes no request before it has replied to the handshake, so a request that was sent
//! on a connection that is not [`ControlClient::is_greeted`] was not executed.
//!
//! Reads exactly the bytes of each reply and not one more, so that the socket can be passed on when the
//! connection becomes a stream.

use crate::error::{Failure, FailureKind};
use crate::inherited_connection;
use crate::limits;
use crate::own_socket;
use serde::de::DeserializeOwned;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;
use swb_wire::control::{self, Handshake, HandshakeReply, Operation};

/// A connection in command mode.
#[derive(Debug)]
pub(crate) struct ControlClient {
    stream: UnixStream,
    /// How long to wait for the reply to the handshake, until it has arrived.
    greeting: Option<Duration>,
    /// How long to wait for other replies.
    limit: Option<Duration>,
}

impl ControlClient {
    /// Connects and performs the handshake; `None` if no daemon is listening.
    pub(crate) fn open(socket: &Path) -> Result<Option<Self>, Failure> {
        Self::open_within(socket, limits::HANDSHAKE)
    }

    /// The same with another limit for the reply to the handshake.
    pub(crate) fn open_within(socket: &Path, limit: Duration) -> Result<Option<Self>, Failure> {
        let Some(mut control) = Self::connect(socket)? else { return Ok(None) };
        control.greeting = Some(limit);
        control.greet()?;
        Ok(Some(control))
    }

    /// Connects, and waits for the reply to the handshake only with that to the first request; `None` if no daemon is
    /// listening.
    pub(crate) fn connect(socket: &Path) -> Result<Option<Self>, Failure> {
        let stream = match own_socket::connect(socket) {
            Ok(stream) => stream,
            Err(error) if means_no_listener(&error) => return Ok(None),
            Err(error) if own_socket::is_foreign(&error) => return Err(Failure::general(error.to_string())),
            // Length is the only thing that can be wrong with our path.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                return Err(Failure::general(format!("the socket path {} is too long", socket.display()))
                    .hint("set XDG_RUNTIME_DIR to a directory with a shorter path"));
            }
            Err(error) => {
                return Err(Failure::io(format!("cannot connect to {}", socket.display()), &error));
            }
        };
        Ok(Some(Self::new(stream)))
    }

    fn new(stream: UnixStream) -> Self {
        Self { stream, greeting: Some(limits::HANDSHAKE), limit: None }
    }

    /// Opens a connection over the socket that a program of an agent inherits; `None` if this process has none.
    pub(crate) fn inherited() -> Result<Option<Self>, Failure> {
        let Some(stream) = inherited_connection::open()? else { return Ok(None) };
        let mut control = Self::new(stream);
        control.greet()?;
        Ok(Some(control))
    }

    /// Performs the handshake now, if it has not been.
    pub(crate) fn greet(&mut self) -> Result<(), Failure> {
        if self.is_greeted() {
            return Ok(());
        }
        let sent = self.send(&handshake()?);
        self.receive_after(sent, Self::receive_greeting)
    }

    /// Whether the daemon has replied to the handshake: it has executed no request before.
    pub(crate) fn is_greeted(&self) -> bool {
        self.greeting.is_none()
    }

    /// Sends a request and waits for the reply.
    pub(crate) fn request<T: DeserializeOwned>(&mut self, request: &Operation) -> Result<T, Failure> {
        let mut message = if self.is_greeted() { Vec::new() } else { handshake()? };
        control::encode_json(request, &mut message)
            .map_err(|error| Failure::general(format!("cannot encode the request: {error}")))?;
        let sent = self.send(&message);
        let reply = self.receive_after(sent, |control| {
            control.receive_greeting()?;
            control.receive()
        })?;
        Ok(control::parse_reply(&reply)?)
    }

    /// Sends a request and waits for the reply, for `limit` at most if it is set.
    ///
    /// The connection must not be used after a failure: the reply may still arrive.
    pub(crate) fn request_within<T: DeserializeOwned>(
        &mut self,
        request: &Operation,
        limit: Option<Duration>,
    ) -> Result<T, Failure> {
        self.set_limit(limit)?;
        let reply = self.request(request);
        self.set_limit(None)?;
        reply
    }

    fn set_limit(&mut self, limit: Option<Duration>) -> io::Result<()> {
        self.limit = limit;
        self.stream.set_read_timeout(limit)
    }

    /// Waits until the daemon closes the connection, for `limit` at most; true if it did.
    pub(crate) fn wait_for_end(mut self, limit: Duration) -> bool {
        let ended = |stream: &mut UnixStream| stream.read(&mut [0; 256]).map(|count| count == 0);
        if self.stream.set_read_timeout(Some(limit)).is_err() {
            return false;
        }
        match ended(&mut self.stream) {
            Ok(ended) => ended,
            Err(error) => !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut),
        }
    }

    /// Returns the socket, positioned right after the last reply.
    pub(crate) fn into_stream(self) -> UnixStream {
        self.stream
    }

    /// Reads the reply to the handshake, if that has not been done.
    fn receive_greeting(&mut self) -> Result<(), Failure> {
        let Some(limit) = self.greeting else { return Ok(()) };
        let limit = self.limit.map_or(limit, |other| other.min(limit));
        self.stream.set_read_timeout(Some(limit))?;
        control::parse_reply::<HandshakeReply>(&self.receive()?)?;
        self.greeting = None;
        Ok(self.stream.set_read_timeout(self.limit)?)
    }

    /// Reads a reply. A daemon that has closed the connection may have sent the reason before.
    fn receive_after<T>(
        &mut self,
        sent: Result<(), Failure>,
        receive: impl FnOnce(&mut Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        match (sent, receive(self)) {
            // Without a reply, the failure to send says more.
            (Err(failure), Err(unread)) if unread.kind() == FailureKind::Disconnected => Err(failure),
            (_, reply) => reply,
        }
    }

    fn send(&mut self, message: &[u8]) -> Result<(), Failure> {
        self.stream.write_all(message).map_err(|error| lost(&error))
    }

    fn receive(&mut self) -> Result<Vec<u8>, Failure> {
        let mut length = [0; 4];
        self.stream.read_exact(&mut length).map_err(|error| lost(&error))?;
        let length = u32::from_be_bytes(length) as usize;
        if length > control::MAX_FRAME {
            return Err(Failure::general(format!("the daemon sent an invalid frame length {length}")));
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).map_err(|error| lost(&error))?;
        Ok(body)
    }
}

/// The first message of a connection.
fn handshake() -> Result<Vec<u8>, Failure> {
    let mut message = Vec::new();
    control::encode_json(&Handshake::full(), &mut message)
        .map_err(|error| Failure::general(error.to_string()))?;
    Ok(message)
}

/// Whether a failed connect means that no daemon is running.
pub(crate) fn means_no_listener(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused)
}

fn lost(error: &io::Error) -> Failure {
    let (what, hint) = match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => (
            "timed out waiting for the daemon to reply",
            "try again; a daemon that hangs is replaced after some seconds, and sessions are not affected",
        ),
        _ => ("the daemon closed the connection before it replied", "try again; sessions are not affected"),
    };
    Failure::new(FailureKind::Disconnected, what).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;
    use swb_wire::control::{Created, ErrorReply, Ls, LsReply, OkReply};

    /// Replies to the handshake and then to each request with the next of `answers`.
    fn daemon(answers: Vec<Vec<u8>>) -> (tempfile::TempDir, std::path::PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let listener = UnixListener::bind(&path).unwrap();
        std::thread::spawn(move || {
            let (mut peer, _) = listener.accept().unwrap();
            let mut hello = Vec::new();
            control::encode_json(&HandshakeReply::accepted(), &mut hello).unwrap();
            for answer in std::iter::once(hello).chain(answers) {
                let mut length = [0; 4];
                peer.read_exact(&mut length).unwrap();
                let mut body = vec![0; u32::from_be_bytes(length) as usize];
                peer.read_exact(&mut body).unwrap();
                peer.write_all(&answer).unwrap();
            }
        });
        (dir, path)
    }

    fn frame(value: &impl serde::Serialize) -> Vec<u8> {
        let mut out = Vec::new();
        control::encode_json(value, &mut out).unwrap();
        out
    }

    #[test]
    fn replies_and_errors_are_returned() {
        let refusal = ErrorReply::new(control::ErrorCode::SessionNotFound, "no session 'x'");
        let (_dir, path) = daemon(vec![frame(&LsReply { ok: true, sessions: Vec::new() }), frame(&refusal)]);
        let mut control = ControlClient::open(&path).unwrap().unwrap();
        let list: LsReply = control.request(&Operation::Ls(Ls::default())).unwrap();
        assert!(list.sessions.is_empty());
        let refused = control.request::<Created>(&Operation::Create(control::Create::default())).unwrap_err();
        assert_eq!(refused.kind(), FailureKind::NoSession);
        let gone = control.request::<OkReply>(&Operation::Status).unwrap_err();
        assert_eq!(gone.kind(), FailureKind::Disconnected);
    }

    #[test]
    fn a_daemon_that_does_not_reply_is_left_to_the_keeper() {
        let shown = format!("{:?}", lost(&io::ErrorKind::TimedOut.into()));
        assert!(shown.contains("try again") && !shown.contains("kill"), "{shown}");
    }

    #[test]
    fn a_missing_daemon_is_not_a_failure() {
        let dir = tempfile::tempdir().unwrap();
        assert!(ControlClient::open(&dir.path().join("none")).unwrap().is_none());
        let path = dir.path().join("stale");
        drop(UnixListener::bind(&path).unwrap());
        assert!(ControlClient::open(&path).unwrap().is_none());
    }
}
