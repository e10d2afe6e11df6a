//! What to attach to, how, and how to resume after the connection was lost.

use super::position::Position;
use super::stream_protocol::StreamProtocol;
use crate::terminal::detach::DetachKey;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use swb_types::{Offset, PtyId, Size};
use swb_wire::control::{self, Attach, Handshake, Operation};

/// What to attach to, and how.
pub(crate) struct AttachOptions {
    /// The name of the session, for messages.
    pub(crate) session: String,
    /// The protocol of `socket`.
    pub(crate) speech: &'static dyn StreamProtocol,
    /// A connection that is in stream mode.
    pub(crate) socket: UnixStream,
    /// How to come back when the connection is lost; without it that is the end.
    pub(crate) resume: Option<ResumePoint>,
    /// Position of the first byte that comes.
    pub(crate) position: Position,
    /// How much of what comes first is old.
    pub(crate) old: ReplayedOutput,
    /// The keys that detach.
    pub(crate) keys: Vec<DetachKey>,
    /// Whether and how the keyboard is used.
    pub(crate) keyboard: KeyboardUse,
    /// The size the session was told.
    pub(crate) size: Size,
}

/// What the user's keyboard is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyboardUse {
    /// It types into the session.
    Types,
    /// It only leaves.
    Leaves,
    /// It is left alone, and so is the terminal.
    Unused,
}

/// How much of the first output was shown before, to somebody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplayedOutput {
    /// So many bytes.
    Bytes(u64),
    /// The first frame, as keepty replays it (KP-30).
    FirstFrame,
}

/// How to come back to a stream.
#[derive(Debug, Clone)]
pub(crate) struct ResumePoint {
    /// The control socket.
    pub(crate) socket: PathBuf,
    /// The session's name.
    pub(crate) session: String,
    /// Which of its terminals.
    pub(crate) pty: PtyId,
    /// Whether only to look on.
    pub(crate) watch: bool,
    /// Pictures of the screen instead of output that is gone.
    pub(crate) pictures: Option<Pictures>,
    /// Whether to be told where the terminal changes its size.
    pub(crate) sizes: bool,
}

/// How a client wants pictures of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pictures {
    /// Lines of scrollback before the picture at most; all if there is none.
    pub(crate) scrollback: Option<u64>,
}

impl ResumePoint {
    /// Connects without waiting and asks for the stream from `from` on, or for one that begins with a picture;
    /// the answers are still to come.
    pub(crate) fn connect(&self, from: Option<Offset>, size: Option<Size>) -> io::Result<UnixStream> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        connect(&socket, &SocketAddrUnix::new(&self.socket)?)?;
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

    /// The request for the stream. Without a size of its own a client leaves the terminal as it is, and sees
    /// it as it is.
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
            // Who comes back has the scrollback already.
            scrollback: if from.is_some() {
                self.pictures.map(|_| 0)
            } else {
                self.pictures.and_then(|pictures| pictures.scrollback)
            },
            sizes: self.sizes,
            ..Attach::default()
        }
    }
}
