//! A broker controlled by the test, built from the codec alone.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;
use swb_testkit::{LIMIT, Swb, wait_for};
use swb_wire::LengthPrefixed;
use swb_wire::clippy::{Message, Request, Response, encode_message, frames, parse_request};

/// Listens where a broker does.
pub(crate) struct Broker {
    listener: UnixListener,
    path: PathBuf,
}

impl Broker {
    /// Takes the place of the broker of an installation.
    pub(crate) fn listen(swb: &Swb) -> Self {
        let path = swb.paths().clippy_socket().expect("a runtime directory");
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        Self::at(&path)
    }

    fn at(path: &Path) -> Self {
        let listener = UnixListener::bind(path).expect("a socket");
        listener.set_nonblocking(true).expect("a socket");
        Self { listener, path: path.to_owned() }
    }

    /// Waits for a peer.
    #[track_caller]
    pub(crate) fn accept(&self) -> Peer {
        wait_for("a peer", || self.try_accept())
    }

    /// A peer, if one is there.
    pub(crate) fn try_accept(&self) -> Option<Peer> {
        let (stream, _) = self.listener.accept().ok()?;
        stream.set_nonblocking(false).expect("a socket");
        stream.set_read_timeout(Some(LIMIT)).expect("a socket");
        Some(Peer { stream, reader: frames() })
    }

    /// Waits for a wrapper and takes its registration.
    #[track_caller]
    pub(crate) fn registered(&self) -> (Peer, Registered) {
        let mut peer = self.accept();
        let registered = peer.register();
        (peer, registered)
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        // A broker that ends takes its socket along.
        let _gone = std::fs::remove_file(&self.path);
    }
}

/// What a peer sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    Hello { id: u32, version: u32, role: String },
    Register { id: u32, registered: Registered },
    Turn { id: u32, turn: Turn },
    Deregister { id: u32, session: String },
    Other(String),
    End,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Registered {
    pub(crate) session: String,
    pub(crate) pid: u32,
    pub(crate) pattern: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Turn {
    pub(crate) session: String,
    pub(crate) content: Vec<u8>,
    pub(crate) interrupted: bool,
    pub(crate) timestamp: Option<u64>,
    pub(crate) byte_length: Option<u32>,
}

/// One connection.
pub(crate) struct Peer {
    pub(crate) stream: UnixStream,
    reader: LengthPrefixed,
}

impl Peer {
    /// The next message, or the end; nothing after `limit`.
    pub(crate) fn within(&mut self, limit: Duration) -> Option<Said> {
        self.stream.set_read_timeout(Some(limit)).expect("a socket");
        let mut buffer = [0; 65536];
        loop {
            if let Some(frame) = self.reader.next().expect("frames") {
                return Some(understand(&frame));
            }
            match self.stream.read(&mut buffer) {
                Ok(0) => return Some(Said::End),
                Ok(count) => self.reader.push(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
                Err(_) => return Some(Said::End),
            }
        }
    }

    /// The next message, or the end.
    #[track_caller]
    pub(crate) fn hear(&mut self) -> Said {
        self.within(LIMIT).expect("the peer says something")
    }

    /// Sends a message.
    pub(crate) fn send(&mut self, message: &Message<'_>) {
        let mut bytes = Vec::new();
        encode_message(message, &mut bytes).expect("it fits");
        self.stream.write_all(&bytes).expect("the peer listens");
    }

    /// Answers that all is well.
    pub(crate) fn ok(&mut self, id: u32) {
        self.send(&Message::Response(Response::ok(id)));
    }

    /// Types into the session.
    pub(crate) fn inject(&mut self, content: &[u8]) {
        self.send(&Message::Inject { content });
    }

    /// Takes a request of a client; returns its id and its content.
    #[track_caller]
    pub(crate) fn request(&mut self) -> (u32, String) {
        let Said::Other(said) = self.hear() else { panic!("no request of a client") };
        let (id, request) = said.split_once(' ').expect("an id and a request");
        (id.parse().expect("an id"), request.to_owned())
    }

    /// Takes the greeting.
    #[track_caller]
    pub(crate) fn greet(&mut self, role: &str) {
        assert_eq!(self.hear(), Said::Hello { id: 0, version: 1, role: role.into() });
        self.send(&Message::HelloAck { error: None });
    }

    /// Takes greeting and registration.
    #[track_caller]
    pub(crate) fn register(&mut self) -> Registered {
        self.greet("wrapper");
        match self.hear() {
            Said::Register { id, registered } => {
                self.ok(id);
                registered
            }
            other => panic!("{other:?} instead of a registration"),
        }
    }

    /// Takes a turn.
    #[track_caller]
    pub(crate) fn turn(&mut self) -> Turn {
        match self.hear() {
            Said::Turn { id, turn } => {
                self.ok(id);
                turn
            }
            other => panic!("{other:?} instead of a turn"),
        }
    }
}

fn understand(frame: &[u8]) -> Said {
    let (id, request) = parse_request(frame).expect("a request");
    match request {
        Request::Hello { version, role } => {
            Said::Hello { id, version, role: role.map(|role| role.as_str().to_owned()).unwrap_or_default() }
        }
        Request::Register { session, pid, pattern } => {
            let registered = Registered { session: session.into(), pid, pattern: pattern.into() };
            Said::Register { id, registered }
        }
        Request::TurnCompleted { session, content, interrupted, timestamp, byte_length } => {
            let content = content.to_vec();
            Said::Turn {
                id,
                turn: Turn { session: session.into(), content, interrupted, timestamp, byte_length },
            }
        }
        Request::Deregister { session } => Said::Deregister { id, session: session.into() },
        other => Said::Other(format!("{id} {other:?}")),
    }
}
