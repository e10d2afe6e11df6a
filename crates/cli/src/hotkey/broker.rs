//! The connection to the broker, without waiting.

use crate::error::{Failure, FailureKind};
use crate::limits;
use crate::own_socket;
use rustix::event::PollFlags;
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use swb_wire::LengthPrefixed;
use swb_wire::clippy::frames;

/// An open connection.
pub(super) struct BrokerSocket {
    socket: OwnedFd,
    reader: LengthPrefixed,
    /// Bytes that the broker has not accepted yet.
    out: Vec<u8>,
    buffer: Box<[u8]>,
}

impl BrokerSocket {
    /// Connects to a running broker; starts none (CH-1).
    pub(super) fn connect() -> Result<Self, Failure> {
        let path = crate::wrap::broker_socket().ok_or_else(|| {
            unreachable("XDG_RUNTIME_DIR is not set, but the path of the broker's socket depends on it")
        })?;
        let socket = own_socket::connect_at_once(&path).map_err(|error| {
            if own_socket::is_foreign(&error) {
                return unreachable(error.to_string());
            }
            unreachable(format!("no broker at {}: {error}", path.display()))
                .hint("`swb daemon` runs one; so does any `swb` command that starts the daemon")
        })?;
        let buffer = vec![0; limits::BROKER_READ].into();
        Ok(Self { socket, reader: frames(), out: Vec::new(), buffer })
    }

    /// The events to wait for.
    pub(super) fn interest(&self) -> PollFlags {
        let mut flags = PollFlags::IN;
        flags.set(PollFlags::OUT, !self.out.is_empty());
        flags
    }

    /// Sends a frame, as soon as the broker accepts it.
    pub(super) fn send(&mut self, frame: &[u8]) -> Result<(), Failure> {
        self.out.extend_from_slice(frame);
        self.write()
    }

    /// Sends what the broker accepts.
    pub(super) fn write(&mut self) -> Result<(), Failure> {
        while !self.out.is_empty() {
            match rustix::io::write(&self.socket, &self.out) {
                Ok(count) => drop(self.out.drain(..count)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(error) => return Err(lost(&error.into())),
            }
        }
        Ok(())
    }

    /// Reads what has arrived; returns the complete frames.
    pub(super) fn read(&mut self) -> Result<Vec<Vec<u8>>, Failure> {
        match rustix::io::read(&self.socket, &mut *self.buffer) {
            Ok(0) => return Err(lost(&io::ErrorKind::UnexpectedEof.into())),
            Ok(count) => self.reader.push(self.buffer.get(..count).unwrap_or_default()),
            Err(Errno::INTR | Errno::AGAIN) => return Ok(Vec::new()),
            Err(error) => return Err(lost(&error.into())),
        }
        let mut frames = Vec::new();
        while let Some(frame) = self.reader.next().map_err(|error| garbled(&error))? {
            frames.push(frame);
        }
        Ok(frames)
    }
}

impl AsFd for BrokerSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The failure of a broker that cannot be used at all.
pub(super) fn unreachable(why: impl Into<String>) -> Failure {
    Failure::new(FailureKind::NoDaemon, why)
}

/// The failure of an invalid message.
pub(super) fn garbled(error: &dyn std::error::Error) -> Failure {
    Failure::general(format!("cannot parse the broker's reply ({error})"))
}

fn lost(error: &io::Error) -> Failure {
    let what = match error.kind() {
        io::ErrorKind::UnexpectedEof => "the broker closed the connection".to_owned(),
        _ => format!("the connection to the broker was lost: {error}"),
    };
    // CH-10: it ends rather than connecting again.
    Failure::new(FailureKind::Disconnected, what).hint(
        "the daemon was stopped or replaced: start `swb hotkey` again; docs/hotkeys.md has a systemd unit that does",
    )
}
