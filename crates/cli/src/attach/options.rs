//! What to attach to, how, and how to resume after the connection was lost.

use super::notification::TerminalNotifier;
use super::position::Position;
use super::stream_protocol::StreamProtocol;
use crate::error::{Failure, FailureKind};
use crate::own_socket;
use crate::terminal::detach::DetachKey;
use crate::via;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use swb_tunnel::guest::Ended;
use swb_types::{Offset, PtyId, Size};
use swb_vt::ColourFilter;
use swb_wire::control::{self, Attach, Handshake, Operation, TunnelEnd};

/// What to attach to, and how.
pub(crate) struct AttachOptions {
    /// The name of the session, for messages.
    pub(crate) session: String,
    /// The protocol of `socket`.
    pub(crate) protocol: &'static dyn StreamProtocol,
    /// A connection that is in stream mode.
    pub(crate) socket: UnixStream,
    /// How to reconnect; without it, losing the connection ends the attachment.
    pub(crate) resume: Option<ResumePoint>,
    /// Position of the first byte of the stream.
    pub(crate) position: Position,
    /// How much of the first output is old.
    pub(crate) old: ReplayedOutput,
    /// The keys that detach.
    pub(crate) keys: Vec<DetachKey>,
    /// Whether and how the keyboard is used.
    pub(crate) keyboard: KeyboardUse,
    /// Removes all but text and colours; without it, the output is shown as it is.
    pub(crate) filter: Option<ColourFilter>,
    /// The size sent to the session.
    pub(crate) size: Size,
    /// How the user's terminal is notified.
    pub(crate) notify: TerminalNotifier,
    /// What only `swb` itself does around a session.
    pub(crate) around: AroundSession,
}

/// What `swb` does around a session and the other programs that attach do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct AroundSession {
    /// The detach key is a prefix, which also opens the list of sessions.
    pub(crate) prefix: bool,
    /// The title of the terminal shows the session and its state.
    pub(crate) title: bool,
    /// A session was shown here before: nothing of the user's is on the screen.
    pub(crate) returning: bool,
}

/// What the user's keyboard is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyboardUse {
    /// Its input goes to the session.
    Types,
    /// It can only detach.
    Leaves,
    /// It is not read, and the terminal's modes stay as they are.
    Unused,
}

/// How much of the first output may have been shown before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplayedOutput {
    /// This many bytes.
    Bytes(u64),
    /// The first frame, as keepty replays it (KP-30).
    FirstFrame,
}

/// How to reconnect to a stream.
#[derive(Debug, Clone)]
pub(crate) struct ResumePoint {
    /// The control socket.
    pub(crate) socket: PathBuf,
    /// The session's name.
    pub(crate) session: String,
    /// Which of its terminals.
    pub(crate) pty: PtyId,
    /// Whether to watch only.
    pub(crate) watch: bool,
    /// Pictures of the screen in place of output that is no longer available.
    pub(crate) pictures: Option<Pictures>,
    /// Whether the daemon reports changes of the terminal's size.
    pub(crate) sizes: bool,
    /// The stream that the input belongs to, so that none of it is lost or doubled.
    pub(crate) input: Option<u64>,
    /// Whether the client has a terminal, whose size it sends.
    pub(crate) sized: bool,
    /// The tunnel whose end the socket is.
    pub(crate) remote: Option<Ended>,
    /// Whether to read the output from shared memory where the daemon offers that.
    pub(crate) direct: bool,
}

/// Which pictures of the screen a client asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pictures {
    /// Maximum number of scrollback lines before the picture; `None` for all.
    pub(crate) scrollback: Option<u64>,
}

impl ResumePoint {
    /// Connects without waiting and requests the stream from `from` on, or one that begins with a picture;
    /// the replies are still to come.
    pub(crate) fn connect(&self, from: Option<Offset>, size: Option<Size>) -> io::Result<UnixStream> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        connect(&socket, &SocketAddrUnix::new(&self.socket)?)?;
        own_socket::check_server(&socket, &self.socket, own_socket::our_uid())?;
        let socket = UnixStream::from(socket);
        let mut message = Vec::new();
        let request = Operation::Attach(self.request(from, size));
        control::encode_json(&Handshake::full(), &mut message)
            .and_then(|()| control::encode_json(&request, &mut message))
            .map_err(io::Error::other)?;
        // A fresh socket takes a few hundred bytes at once.
        let sent = rustix::io::write(&socket, &message)?;
        if sent == message.len() { Ok(socket) } else { Err(io::ErrorKind::WriteZero.into()) }
    }

    /// The error of a client whose tunnel has ended, if that is why connecting failed: it does not come back, unlike a daemon.
    pub(crate) fn tunnel_ended(&self, error: &io::Error) -> Option<Failure> {
        let ended = self.remote.as_ref().filter(|_| Self::is_gone(error))?;
        let failure = Failure::new(FailureKind::Disconnected, via::why(ended));
        Some(match ended.get() {
            Some(TunnelEnd::Session) => failure,
            _ => failure.hint(format!(
                "session '{}' lives on; `swb tunnel` on the other machine opens a new way to it",
                self.session
            )),
        })
    }

    /// Whether a failed connect means that nothing listens.
    pub(crate) fn is_gone(error: &io::Error) -> bool {
        matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound)
    }

    /// The request for the stream. A client without a size of its own does not resize the terminal and receives
    /// all of it.
    pub(crate) fn request(&self, from: Option<Offset>, size: Option<Size>) -> Attach {
        Attach {
            session: self.session.clone(),
            pty: Some(self.pty),
            cols: Some(size.map_or(0, Size::cols)),
            rows: Some(size.map_or(0, Size::rows)),
            resume: from,
            watch: self.watch,
            offsets: true,
            repaint: self.pictures.is_some(),
            // A client that reconnects has the scrollback already.
            scrollback: if from.is_some() {
                self.pictures.map(|_| 0)
            } else {
                self.pictures.and_then(|pictures| pictures.scrollback)
            },
            sizes: self.sizes,
            input: self.input,
            notify: self.pictures.is_some() && !self.sizes,
            direct: self.direct,
            ..Attach::default()
        }
    }
}
