//! A connection to the daemon that never blocks: requests go out, frames come in.

use crate::context::Context;
use crate::error::Failure;
use crate::limits;
use rustix::event::{PollFd, PollFlags};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use swb_wire::LengthPrefixed;
use swb_wire::control::{self, ClientControl, Operation};

/// A connection after the handshake.
#[derive(Debug)]
pub(super) struct TopLink {
    stream: UnixStream,
    frames: LengthPrefixed,
    /// What the socket has not taken yet.
    unsent: Vec<u8>,
    closed: bool,
}

impl TopLink {
    /// Connects; starts the daemon if none is running.
    pub(super) fn open(context: &Context) -> Result<Self, Failure> {
        Self::over(context.connect()?.into_stream())
    }

    /// Connects if the daemon is running.
    pub(super) fn reopen(context: &Context) -> Option<Self> {
        Self::over(context.connect_if_running().ok()??.into_stream()).ok()
    }

    fn over(stream: UnixStream) -> Result<Self, Failure> {
        stream.set_nonblocking(true)?;
        Ok(Self { stream, frames: control::command_frames(), unsent: Vec::new(), closed: false })
    }

    /// Sends a request.
    pub(super) fn send(&mut self, request: &Operation) {
        if self.unsent.len() > limits::TOP_UNSENT || control::encode_json(request, &mut self.unsent).is_err()
        {
            self.closed = true;
        }
        self.flush();
    }

    /// Sends the size of the window, in stream mode.
    pub(super) fn resize(&mut self, cols: u16, rows: u16) {
        if control::encode_control(&ClientControl::Resize { cols, rows }, &mut self.unsent).is_err() {
            self.closed = true;
        }
        self.flush();
    }

    /// The reply that begins a stream has arrived.
    pub(super) fn enter_stream(&mut self) {
        control::enter_stream(&mut self.frames);
    }

    fn flush(&mut self) {
        while !self.unsent.is_empty() && !self.closed {
            match self.stream.write(&self.unsent) {
                Ok(count) => drop(self.unsent.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => self.closed = true,
            }
        }
    }

    /// Sends and reads what is possible now.
    pub(super) fn move_bytes(&mut self) {
        self.flush();
        let mut bytes = [0; limits::EVENTS_READ];
        // Bounded, so that a flood on one connection delays no key.
        for _ in 0..limits::TOP_READS {
            match self.stream.read(&mut bytes) {
                Ok(0) => {
                    self.closed = true;
                    return;
                }
                Ok(count) => self.frames.push(bytes.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => {
                    self.closed = true;
                    return;
                }
            }
        }
    }

    /// The next complete frame.
    pub(super) fn frame(&mut self) -> Option<Vec<u8>> {
        self.frames.next().unwrap_or_else(|_| {
            self.closed = true;
            None
        })
    }

    /// Whether the connection has ended; frames may be left.
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// What to wait for.
    pub(super) fn poll_fd(&self) -> PollFd<'_> {
        let out = if self.unsent.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
        PollFd::new(&self.stream, PollFlags::IN | out)
    }
}
