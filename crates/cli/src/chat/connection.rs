//! The connection to the daemon: lines out, lines in, never waiting for the other side unless asked to.

use super::endpoint::ChatEndpoint;
use super::messages::ServerItem;
use crate::attach::follow::timespec;
use crate::error::{Failure, FailureKind};
use crate::limits;
use hmac::{Hmac, Mac};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use sha2::Sha256;
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};
use swb_wire::scriptschnell::{
    Auth, ErrorCode, ErrorInfo, LineError, Lines, Received, Request, ServerMessage, VERSION, encode_request,
    parse_server,
};

/// What this client can take.
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
    /// The daemon has said something.
    heard: bool,
}

/// Why a question was not answered.
#[derive(Debug)]
pub(super) enum RequestError {
    /// The connection is gone, or something is wrong with it.
    Lost(Failure),
    /// The daemon says no.
    Refused(ErrorInfo),
}

impl RequestError {
    /// An answer that makes no sense.
    pub(super) fn odd() -> Self {
        let text = "the daemon gave an answer this program does not understand";
        Self::Lost(
            Failure::general(text).hint("`swb upgrade` brings the daemon to the version of this program"),
        )
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
        let text = crate::table::printable(&error.message);
        let text = if text.is_empty() { error.code.to_string() } else { text };
        match error.code {
            ErrorCode::SessionNotFound => Self::new(FailureKind::NoSession, text)
                .hint("`swb chat` without a name goes on where you were; `--new` makes a session"),
            ErrorCode::SessionExists => {
                Self::new(FailureKind::Exists, text).hint("`swb chat NAME` without --new goes there")
            }
            ErrorCode::AuthFailed | ErrorCode::AuthRequired => Self::general(text).hint(
                "set token under [scriptschnell], or $SCRIPTSCHNELL_SOCKET_TOKEN, to the daemon's secret",
            ),
            ErrorCode::NotImplemented => {
                Self::general(text).hint("docs/agents.md says how agents are configured")
            }
            _ => Self::general(text),
        }
    }
}

impl ChatConnection {
    /// Connects and says who we are.
    pub(super) fn open(endpoint: &ChatEndpoint) -> Result<Self, Failure> {
        let socket = UnixStream::connect(&endpoint.socket).map_err(|error| {
            let text = format!("cannot connect to {}: {error}", endpoint.socket.display());
            let failure = Failure::new(FailureKind::Disconnected, text);
            if endpoint.ours {
                return failure.hint("`swb status` shows which fronts the daemon offers");
            }
            failure
        })?;
        socket.set_nonblocking(true)?;
        let mut link = Self::over(socket);
        match link.authenticate(endpoint) {
            Err(_) if link.closed && !link.heard => Err(turned_away(endpoint)),
            result => result.map(|()| link),
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
            heard: false,
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

    /// Sends a request; gives the name by which its answer will be known.
    pub(super) fn send(&mut self, request: &Request) -> String {
        self.requests += 1;
        let id = self.requests.to_string();
        encode_request(request, Some(&id), &mut self.outbox);
        self.flush();
        id
    }

    /// Sends something that is not answered.
    pub(super) fn tell(&mut self, request: &Request) {
        encode_request(request, None, &mut self.outbox);
        self.flush();
    }

    /// Asks and waits for the answer; what comes before it is kept for [`ChatConnection::next`].
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
                let text = "the daemon does not answer";
                return Err(RequestError::Lost(Failure::new(FailureKind::Disconnected, text)));
            }
            self.wait(left).map_err(RequestError::Lost)?;
        }
    }

    /// Waits for something to come.
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

    /// Whether the other side is gone, and everything it said was given.
    pub(super) fn is_closed(&self) -> bool {
        self.closed && self.arrived.is_empty()
    }

    /// What came, in order.
    pub(super) fn next(&mut self) -> Option<ServerItem> {
        self.arrived.pop_front()
    }

    /// Writes what the socket takes.
    pub(super) fn flush(&mut self) {
        while !self.outbox.is_empty() {
            match (&self.socket).write(&self.outbox) {
                Ok(count) => drop(self.outbox.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => {
                    // What the daemon said before it went is still to be read; that brings the end as well.
                    self.outbox.clear();
                }
            }
        }
    }

    /// Reads what is there.
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
        self.heard = true;
        self.lines.push(bytes);
        loop {
            match self.lines.next() {
                Ok(Some(line)) => {
                    // A message that this version does not understand is none for it.
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

    /// Keeps what came; whoever asks whether we are there is told at once (SS-24).
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

/// A daemon that has as many clients as it takes closes the connection of another without a word.
fn turned_away(endpoint: &ChatEndpoint) -> Failure {
    let limit = endpoint.most.map(|most| format!(" = {most}")).unwrap_or_default();
    closed().hint(format!("too many clients may be connected: max_connections{limit} under [scriptschnell]"))
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
    fn an_answer_is_found_among_events() {
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
    fn a_ping_is_answered_and_is_no_event() {
        let (mut link, mut other) = pair();
        other.write_all(b"{\"type\":\"ping\"}\n").unwrap();
        link.fill();
        assert_eq!(link.next(), None);
        let mut told = [0; 256];
        other.set_nonblocking(true).unwrap();
        let count = other.read(&mut told).unwrap();
        assert!(String::from_utf8_lossy(&told[..count]).contains("\"pong\""));
    }

    #[test]
    fn an_end_is_no_answer() {
        let (mut link, other) = pair();
        drop(other);
        assert!(matches!(link.ask(&Request::Ping), Err(RequestError::Lost(_))));
    }

    #[test]
    fn a_secret_that_is_to_be_proved_is_not_told() {
        let (mut link, other) = pair();
        let daemon = std::thread::spawn(move || {
            let (mut told, mut lines) = (String::new(), BufReader::new(&other));
            for answer in [
                r#"{"type":"auth_challenge","request_id":"1","data":{"nonce":"n","timestamp":1}}"#,
                r#"{"type":"pong","request_id":"2"}"#,
            ] {
                lines.read_line(&mut told).unwrap();
                (&other).write_all(format!("{answer}\n").as_bytes()).unwrap();
            }
            told
        });
        let endpoint = ChatEndpoint {
            socket: PathBuf::new(),
            token: Some("the secret".into()),
            ours: true,
            most: None,
            proved: true,
        };
        link.authenticate(&endpoint).unwrap();
        let told = daemon.join().unwrap();
        assert!(told.contains(&signature("the secret", "n")) && !told.contains("the secret"), "{told}");
    }

    // SS-20
    #[test]
    fn the_proof_is_that_of_the_document() {
        let expected = "f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8";
        assert_eq!(signature("key", "The quick brown fox jumps over the lazy dog"), expected);
    }
}
