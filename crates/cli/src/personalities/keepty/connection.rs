//! A blocking connection to one keepty session.

use crate::attach::follow::timespec;
use crate::attach::inbox::Inbox;
use crate::attach::stream_protocol::{KeeptyStream, StreamNotice, StreamProtocol};
use crate::context::Context;
use crate::control_client::means_no_listener;
use crate::error::{Failure, FailureKind};
use crate::limits;
use crate::own_socket;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};
use swb_types::Size;
use swb_wire::keepty::{Decoder, KeeptyRole, Message, encode};

/// A connection after the handshake.
#[derive(Debug)]
pub(super) struct KeeptyConnection {
    stream: UnixStream,
}

impl KeeptyConnection {
    /// Connects in a role; returns the connection and the pid of the session, 0 if it has not started.
    pub(super) fn open(
        context: &Context,
        id: &str,
        role: KeeptyRole,
        size: Size,
    ) -> Result<(Self, u32), Failure> {
        Self::try_open(context, id, role, size)?.ok_or_else(|| full(id))
    }

    /// The same; `None` if the session closes the connection without a reply, as one with too many clients does.
    pub(super) fn try_open(
        context: &Context,
        id: &str,
        role: KeeptyRole,
        size: Size,
    ) -> Result<Option<(Self, u32)>, Failure> {
        let hello = Message::Hello { role, cols: size.cols(), rows: size.rows() };
        let deadline = Instant::now() + limits::KEEPTY_PLACE;
        loop {
            let stream = connect(context, id)?;
            stream.set_read_timeout(Some(limits::KEEPTY_REPLY))?;
            let mut link = Self::over(stream);
            // A session that has closed the connection may have sent the reason before.
            let sent = link.send(&hello);
            match link.receive() {
                Ok(Some(Message::HelloAck { pid, .. })) => {
                    link.stream.set_read_timeout(None)?;
                    return Ok(Some((link, pid)));
                }
                Ok(Some(Message::Error(text))) => {
                    return Err(Failure::general(format!("Session '{id}' refused: {text}")));
                }
                // KP-19: closed without a reply, as there is no place. One that a silent client has is free soon.
                Err(error) if is_closed(&error) && Instant::now() < deadline => {
                    pause(limits::KEEPTY_PLACE_PAUSE)
                }
                Err(error) if is_closed(&error) => return Ok(None),
                Ok(_) | Err(_) => {
                    sent?;
                    return Err(silent(id));
                }
            }
        }
    }

    /// A connection over a socket, before the handshake.
    pub(super) fn over(stream: UnixStream) -> Self {
        Self { stream }
    }

    /// Sends a message.
    pub(super) fn send(&mut self, message: &Message) -> Result<(), Failure> {
        let mut bytes = Vec::new();
        encode(message, &mut bytes);
        self.stream.write_all(&bytes).map_err(|error| {
            Failure::new(FailureKind::Disconnected, format!("Session disconnected: {error}"))
        })
    }

    /// Waits until the session has read everything sent so far, as far as can be known.
    ///
    /// A message may be lost if its sender closes the connection right after it: a peer that is busy
    /// writing sees the broken connection first.
    pub(super) fn settle(&mut self) {
        let deadline = Instant::now() + limits::KEEPTY_SETTLE;
        let mut inbox = Inbox::new(KeeptyStream.layout());
        if self.send(&Message::Ping).is_err() {
            return;
        }
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || self.stream.set_read_timeout(Some(left)).is_err() {
                return;
            }
            match inbox.fill(&self.stream) {
                Ok(count) if count > 0 => {}
                _ => return,
            }
            loop {
                while let Ok(Some(_)) = inbox.next_data() {}
                let Ok(Some(message)) = inbox.next_message() else {
                    break;
                };
                if matches!(KeeptyStream.understand(&message), StreamNotice::Pong | StreamNotice::Exited(..))
                {
                    return;
                }
            }
        }
    }

    /// Returns the socket, positioned right after the last message received.
    pub(super) fn into_stream(self) -> UnixStream {
        self.stream
    }

    /// Receives one message, reading not one byte more; `None` at the end of the stream.
    fn receive(&mut self) -> io::Result<Option<Message>> {
        let mut length = [0; 4];
        self.stream.read_exact(&mut length)?;
        let count = u32::from_be_bytes(length) as usize;
        if count > limits::KEEPTY_HELLO {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut body = vec![0; count];
        self.stream.read_exact(&mut body)?;
        let mut decoder = Decoder::new();
        decoder.push(&length);
        decoder.push(&body);
        decoder.next().map_err(io::Error::other)
    }
}

impl AsFd for KeeptyConnection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

fn silent(id: &str) -> Failure {
    Failure::general(format!("Session '{id}' does not respond"))
}

/// A session that closes connections without a reply.
pub(super) fn full(id: &str) -> Failure {
    silent(id).hint(format!("it may have too many clients; close some, or use `swb attach {id}`"))
}

fn is_closed(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), UnexpectedEof | ConnectionReset | BrokenPipe)
}

fn pause(time: Duration) {
    let _timed_out = rustix::event::poll(&mut [], Some(&timespec(time)));
}

fn connect(context: &Context, id: &str) -> Result<UnixStream, Failure> {
    let path = context.paths.keepty_socket(id);
    let not_running = || {
        Failure::general(format!("Session '{id}' is not running")).hint("`keepty list` shows those that are")
    };
    let failed = |error: &io::Error| match own_socket::is_foreign(error) {
        true => Failure::general(error.to_string()),
        false => not_running(),
    };
    match own_socket::connect(&path) {
        Ok(stream) => Ok(stream),
        // The session may still run in the keeper while no daemon serves it.
        Err(error) if means_no_listener(&error) && context.paths.keeper_socket().exists() => {
            drop(context.connect()?);
            own_socket::connect(&path).map_err(|error| failed(&error))
        }
        Err(error) => Err(failed(&error)),
    }
}
