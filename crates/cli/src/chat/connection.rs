//! The connection to the daemon: lines out, lines in, without blocking unless asked to.

use super::endpoint::ChatEndpoint;
use super::messages::ServerItem;
use crate::attach::follow::timespec;
use crate::control_client::ControlClient;
use crate::error::{Failure, FailureKind};
use crate::limits;
use crate::own_socket;
use hmac::{Hmac, Mac};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use sha2::Sha256;
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};
use swb_wire::control::{OkReply, Operation};
use swb_wire::scriptschnell::{
    Auth, ErrorCode, ErrorInfo, LineError, Lines, Received, Request, ServerMessage, VERSION, encode_request,
    parse_server,
};

/// The capabilities of this client.
const CAPABILITIES: [&str; 8] =
    ["progress", "authorization", "questions", "sessions", "workspaces", "chat", "seats", "settled"];

/// A connection.
#[derive(Debug)]
pub(super) struct ChatConnection {
    socket: UnixStream,
    lines: Lines,
    outbox: Vec<u8>,
    arrived: VecDeque<ServerItem>,
    requests: u64,
    closed: bool,
}

/// Why a request failed.
#[derive(Debug)]
pub(super) enum RequestError {
    /// The connection failed.
    Lost(Failure),
    /// The daemon replied with an error.
    Refused(ErrorInfo),
}

impl RequestError {
    /// The daemon sent an invalid reply.
    pub(super) fn odd() -> Self {
        let text = "cannot parse the daemon's reply";
        Self::Lost(Failure::general(text).hint("`swb upgrade` replaces the daemon with this version"))
    }
}

impl From<RequestError> for Failure {
    fn from(unanswered: RequestError) -> Self {
        match unanswered {
            RequestError::Lost(failure) => failure,
            RequestError::Refused(refusal) => refusal.into(),
        }
    }
}

impl From<ErrorInfo> for Failure {
    fn from(error: ErrorInfo) -> Self {
        let text = if error.message.is_empty() { error.code.to_string() } else { error.message };
        match error.code {
            ErrorCode::SessionNotFound => Self::new(FailureKind::NoSession, text)
                .hint("`swb chat` without a name continues your latest conversation; `--new` starts one"),
            ErrorCode::SessionExists => {
                Self::new(FailureKind::Exists, text).hint("the same command without --new continues it")
            }
            ErrorCode::AuthFailed | ErrorCode::AuthRequired => Self::general(text).hint(
                "set token under [scriptschnell], or $SCRIPTSCHNELL_SOCKET_TOKEN, to the daemon's secret",
            ),
            ErrorCode::NotImplemented => {
                Self::general(text).hint("docs/agents.md explains how to configure agents")
            }
            _ => Self::general(text),
        }
    }
}

impl ChatConnection {
    /// Connects and authenticates. A place that a silent client has is free soon, so a server that has none is asked
    /// again for a while.
    pub(super) fn open(endpoint: &ChatEndpoint) -> Result<Self, Failure> {
        let deadline = Instant::now() + limits::CHAT_PLACE;
        loop {
            if let Some(link) = Self::try_open(endpoint)? {
                return Ok(link);
            }
            if Instant::now() >= deadline {
                return Err(turned_away(endpoint));
            }
            let _timed_out = poll(&mut [], Some(&timespec(limits::CHAT_PLACE_PAUSE)));
        }
    }

    /// Connects and authenticates; `None` if there is no place for this client.
    pub(super) fn try_open(endpoint: &ChatEndpoint) -> Result<Option<Self>, Failure> {
        match Self::open_socket(endpoint) {
            Ok(Some(link)) => Ok(Some(link)),
            Ok(None) => Self::open_through_control(endpoint),
            // The daemon has no such socket where it cannot create one: in a home directory that cannot be written.
            Err(failure) if failure.kind() == FailureKind::Disconnected => {
                Self::open_through_control(endpoint)?.map(Some).ok_or(failure)
            }
            Err(failure) => Err(failure),
        }
    }

    /// Connects to the control socket of our own daemon and continues in the protocol of conversations; `None` if the
    /// daemon is another or an older one.
    fn open_through_control(endpoint: &ChatEndpoint) -> Result<Option<Self>, Failure> {
        let Some(socket) = &endpoint.control else { return Ok(None) };
        let Some(mut control) = ControlClient::open(socket)? else { return Ok(None) };
        if control.request_within::<OkReply>(&Operation::Chat, Some(limits::CHAT_REPLY)).is_err() {
            return Ok(None);
        }
        Self::authenticated(control.into_stream(), endpoint)
    }

    /// Connects to the endpoint itself and authenticates; `None` if the server closes the connection instead.
    fn open_socket(endpoint: &ChatEndpoint) -> Result<Option<Self>, Failure> {
        let socket = own_socket::connect_to(&endpoint.socket, endpoint.owner).map_err(|error| {
            if own_socket::is_foreign(&error) {
                return Failure::general(error.to_string())
                    .hint("to use it all the same, name its user: --socket PATH --socket-owner UID");
            }
            let text = format!("cannot connect to {}: {error}", endpoint.socket.display());
            let failure = Failure::new(FailureKind::Disconnected, text);
            if endpoint.ours {
                return failure.hint("`swb status` shows the sockets of the daemon");
            }
            failure
        })?;
        Self::authenticated(socket, endpoint)
    }

    /// Authenticates; `None` if the server closes the connection instead.
    fn authenticated(socket: UnixStream, endpoint: &ChatEndpoint) -> Result<Option<Self>, Failure> {
        socket.set_nonblocking(true)?;
        let mut link = Self::over(socket);
        match link.authenticate(endpoint) {
            Err(_) if link.closed => Ok(None),
            result => result.map(|()| Some(link)),
        }
    }

    fn over(socket: UnixStream) -> Self {
        Self {
            socket,
            lines: Lines::default(),
            outbox: Vec::new(),
            arrived: VecDeque::new(),
            requests: 0,
            closed: false,
        }
    }

    fn authenticate(&mut self, endpoint: &ChatEndpoint) -> Result<(), Failure> {
        let token = endpoint.token.as_deref();
        let mut hello = Auth {
            client_type: Some("cli".to_owned()),
            version: Some(VERSION.to_owned()),
            capabilities: Some(CAPABILITIES.map(str::to_owned).to_vec()),
            token: token.filter(|_| !endpoint.proved).map(str::to_owned),
            ..Auth::default()
        };
        if let ServerMessage::AuthChallenge(challenge) = self.ask(&Request::AuthRequest(hello.clone()))? {
            hello.token = None;
            hello.signature = Some(signature(token.unwrap_or_default(), &challenge.nonce));
            hello.nonce = Some(challenge.nonce);
            self.ask(&Request::AuthRequest(hello))?;
        }
        Ok(())
    }

    /// Sends a request; returns the id of its reply.
    pub(super) fn send(&mut self, request: &Request) -> String {
        self.requests += 1;
        let id = self.requests.to_string();
        encode_request(request, Some(&id), &mut self.outbox);
        self.flush();
        id
    }

    /// Sends a request that gets no reply.
    pub(super) fn notify(&mut self, request: &Request) {
        encode_request(request, None, &mut self.outbox);
        self.flush();
    }

    /// Sends a request and waits for the reply; messages that arrive before it are kept for [`ChatConnection::next`].
    pub(super) fn ask(&mut self, request: &Request) -> Result<ServerMessage, RequestError> {
        let wanted = self.send(request);
        let deadline = Instant::now() + limits::CHAT_REPLY;
        loop {
            let is_wanted =
                |incoming: &ServerItem| matches!(incoming, ServerItem::Answer { id, .. } if *id == wanted);
            let found = self.arrived.iter().position(is_wanted);
            if let Some(ServerItem::Answer { result, .. }) = found.and_then(|at| self.arrived.remove(at)) {
                return result.map_err(RequestError::Refused);
            }
            if self.closed {
                return Err(RequestError::Lost(closed()));
            }
            if self.arrived.len() > limits::CHAT_KEPT {
                return Err(RequestError::odd());
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let text = "timed out waiting for the daemon to reply";
                return Err(RequestError::Lost(Failure::new(FailureKind::Disconnected, text)));
            }
            self.wait(left).map_err(RequestError::Lost)?;
        }
    }

    /// Waits for input.
    pub(super) fn wait(&mut self, time: Duration) -> Result<(), Failure> {
        let mut fds = [PollFd::new(&self.socket, self.interest())];
        match poll(&mut fds, Some(&timespec(time))) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        self.flush();
        self.fill();
        Ok(())
    }

    /// What to wait for.
    pub(super) fn interest(&self) -> PollFlags {
        if self.outbox.is_empty() { PollFlags::IN } else { PollFlags::IN | PollFlags::OUT }
    }

    /// Whether the daemon has closed the connection and all its messages were taken.
    pub(super) fn is_closed(&self) -> bool {
        self.closed && self.arrived.is_empty()
    }

    /// The next message, in order of arrival.
    pub(super) fn next(&mut self) -> Option<ServerItem> {
        self.arrived.pop_front()
    }

    /// Writes what the socket accepts.
    pub(super) fn flush(&mut self) {
        while !self.outbox.is_empty() {
            match (&self.socket).write(&self.outbox) {
                Ok(count) => drop(self.outbox.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => {
                    // Messages the daemon sent before it closed are still to be read; the read finds the end.
                    self.outbox.clear();
                }
            }
        }
    }

    /// Reads what has arrived.
    pub(super) fn fill(&mut self) {
        let mut buffer = vec![0; limits::CHAT_READ];
        match (&self.socket).read(&mut buffer) {
            Ok(0) => self.closed = true,
            Ok(count) => self.take(buffer.get(..count).unwrap_or_default()),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(_) => self.closed = true,
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        self.lines.push(bytes);
        loop {
            match self.lines.next() {
                Ok(Some(line)) => {
                    // A message that this version does not know is ignored.
                    for received in parse_server(&line).unwrap_or_default() {
                        self.receive(received);
                    }
                }
                Ok(None) => return,
                Err(LineError::TooLong) => {
                    self.closed = true;
                    return;
                }
                Err(_) => {}
            }
        }
    }

    /// Keeps a message; replies to a ping at once (SS-24).
    fn receive(&mut self, received: Received) {
        if received.message != ServerMessage::Ping {
            self.arrived.extend(ServerItem::of(received));
        } else if self.outbox.len() < limits::CHAT_UNSENT {
            encode_request(&Request::Pong, received.request_id.as_deref(), &mut self.outbox);
            self.flush();
        }
    }
}

impl AsFd for ChatConnection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn closed() -> Failure {
    Failure::new(FailureKind::Disconnected, "the daemon closed the connection")
}

/// A daemon with the maximum number of clients closes further connections.
fn turned_away(endpoint: &ChatEndpoint) -> Failure {
    let limit = endpoint.most.map(|most| format!(" = {most}")).unwrap_or_default();
    closed().hint(format!(
        "there may be too many clients; the limit is max_connections{limit} under [scriptschnell]"
    ))
}

fn signature(secret: &str, nonce: &str) -> String {
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else { return String::new() };
    mac.update(nonce.as_bytes());
    mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::path::PathBuf;

    fn pair() -> (ChatConnection, UnixStream) {
        let (socket, other) = UnixStream::pair().unwrap();
        socket.set_nonblocking(true).unwrap();
        (ChatConnection::over(socket), other)
    }

    #[test]
    fn a_reply_is_found_among_events() {
        let (mut link, mut other) = pair();
        let lines = "{\"type\":\"closed\",\"data\":{}}\r\n\n{\"type\":\"pong\",\"request_id\":\"1\"}\n{\"ty";
        other.write_all(lines.as_bytes()).unwrap();
        assert_eq!(link.ask(&Request::Ping).unwrap(), ServerMessage::Pong);
        assert!(matches!(link.next(), Some(ServerItem::Event(_))));
        other.write_all(b"pe\":\"closed\"}\n").unwrap();
        drop(other);
        link.fill();
        link.fill();
        assert!(!link.is_closed(), "there is something left to take");
        assert!(matches!(link.next(), Some(ServerItem::Event(_))));
        assert!(link.is_closed());
    }

    // SS-24
    #[test]
    fn a_ping_gets_a_reply_and_is_not_an_event() {
        let (mut link, mut other) = pair();
        other.write_all(b"{\"type\":\"ping\"}\n").unwrap();
        link.fill();
        assert_eq!(link.next(), None);
        let mut received = [0; 256];
        other.set_nonblocking(true).unwrap();
        let count = other.read(&mut received).unwrap();
        assert!(String::from_utf8_lossy(&received[..count]).contains("\"pong\""));
    }

    #[test]
    fn a_closed_connection_is_an_error() {
        let (mut link, other) = pair();
        drop(other);
        assert!(matches!(link.ask(&Request::Ping), Err(RequestError::Lost(_))));
    }

    #[test]
    fn a_secret_that_is_to_be_proved_is_not_sent() {
        let (mut link, other) = pair();
        let daemon = std::thread::spawn(move || {
            let (mut received, mut lines) = (String::new(), BufReader::new(&other));
            for answer in [
                r#"{"type":"auth_challenge","request_id":"1","data":{"nonce":"n","timestamp":1}}"#,
                r#"{"type":"pong","request_id":"2"}"#,
            ] {
                lines.read_line(&mut received).unwrap();
                (&other).write_all(format!("{answer}\n").as_bytes()).unwrap();
            }
            received
        });
        let endpoint = ChatEndpoint {
            socket: PathBuf::new(),
            owner: 0,
            token: Some("the secret".into()),
            control: None,
            ours: true,
            most: None,
            proved: true,
            save: swb_types::SavePolicy::Never,
        };
        link.authenticate(&endpoint).unwrap();
        let received = daemon.join().unwrap();
        assert!(
            received.contains(&signature("the secret", "n")) && !received.contains("the secret"),
            "{received}"
        );
    }

    // SS-20
    #[test]
    fn the_proof_is_that_of_the_document() {
        let expected = "f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8";
        assert_eq!(signature("key", "The quick brown fox jumps over the lazy dog"), expected);
    }
}
