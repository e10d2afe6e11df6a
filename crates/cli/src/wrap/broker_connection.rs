//! The connection to the broker: opened in the background, retried, and never waited for (CP-5).

use super::registration::Registration;
use crate::attach::follow::timespec;
use crate::limits;
use crate::own_socket;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Instant;
use swb_turns::LineTurn;
use swb_wire::LengthPrefixed;
use swb_wire::clippy::frames;

/// A connection to the broker, or the wait for one.
#[derive(Debug)]
pub(super) struct BrokerConnection {
    /// The socket of the broker; `None` without a runtime directory (CB-2).
    path: Option<PathBuf>,
    registration: Registration,
    socket: Option<OwnedFd>,
    reader: LengthPrefixed,
    /// When to try again, or when to give up waiting for a reply.
    due: Instant,
    buffer: Box<[u8]>,
}

impl BrokerConnection {
    pub(super) fn new(path: Option<PathBuf>, registration: Registration) -> Self {
        let buffer = vec![0; limits::BROKER_READ].into();
        Self { path, registration, socket: None, reader: frames(), due: Instant::now(), buffer }
    }

    /// The socket and the events to wait for; `room` if there is room for what may arrive.
    pub(super) fn interest(&self, room: bool) -> Option<(&OwnedFd, PollFlags)> {
        let mut flags = PollFlags::empty();
        flags.set(PollFlags::IN, room);
        flags.set(PollFlags::OUT, !self.registration.waiting().is_empty());
        self.socket.as_ref().filter(|_| !flags.is_empty()).map(|socket| (socket, flags))
    }

    /// When [`BrokerConnection::tick`] has something to do.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let waits =
            if self.socket.is_some() { self.registration.awaits_answer() } else { self.path.is_some() };
        waits.then_some(self.due)
    }

    /// Tries to connect, or gives up on a broker that does not reply, when it is time to.
    pub(super) fn tick(&mut self, now: Instant) {
        if self.deadline().is_none_or(|due| now < due) {
            return;
        }
        if self.socket.is_some() {
            return self.give_up();
        }
        // Even connecting can block for ever if a stuck broker does not accept.
        match self.path.as_ref().and_then(|path| own_socket::connect_at_once(path).ok()) {
            Some(socket) => {
                self.socket = Some(socket);
                self.reader = frames();
                self.due = now + limits::BROKER_REPLY;
                self.registration.connected();
                self.write();
            }
            None => self.due = now + limits::BROKER_RETRY,
        }
    }

    /// A turn is complete.
    pub(super) fn turn(&mut self, turn: LineTurn) {
        match self.registration.turn(turn) {
            Ok(()) => self.write(),
            Err(_) => self.give_up(),
        }
        if self.socket.is_none() {
            // There is a turn to send, so try at once.
            self.due = Instant::now();
        }
    }

    /// Sends what the broker accepts without blocking.
    pub(super) fn write(&mut self) {
        while let Some(socket) = &self.socket {
            let waiting = self.registration.waiting();
            if waiting.is_empty() {
                return;
            }
            match rustix::io::write(socket, waiting) {
                Ok(count) => self.registration.took(count),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(_) => return self.give_up(),
            }
        }
    }

    /// Reads what has arrived, and passes text to type to `inject`, message by message.
    pub(super) fn read(&mut self, mut inject: impl FnMut(&[u8])) {
        let Some(socket) = &self.socket else { return };
        match rustix::io::read(socket, &mut *self.buffer) {
            Ok(0) => return self.give_up(),
            Ok(count) => self.reader.push(self.buffer.get(..count).unwrap_or_default()),
            Err(Errno::INTR | Errno::AGAIN) => return,
            Err(_) => return self.give_up(),
        }
        loop {
            let frame = match self.reader.next() {
                Ok(Some(frame)) => frame,
                Ok(None) => break,
                Err(_) => return self.give_up(),
            };
            match self.registration.handle(&frame) {
                Ok(Some(content)) => inject(content),
                Ok(None) => {}
                Err(_) => return self.give_up(),
            }
        }
        self.write();
    }

    /// Deregisters the session, and waits briefly for the broker's reply.
    pub(super) fn deregister(&mut self) {
        self.registration.leave();
        let end = Instant::now() + limits::BROKER_GOODBYE;
        while !self.registration.has_left() {
            self.write();
            let left = end.saturating_duration_since(Instant::now());
            let Some((socket, flags)) = self.interest(true).filter(|_| !left.is_zero()) else { return };
            let mut fds = [PollFd::new(socket, flags)];
            match poll(&mut fds, Some(&timespec(left))) {
                Ok(0) => return,
                Ok(_) | Err(Errno::INTR) => self.read(|_| {}),
                Err(_) => return,
            }
        }
    }

    fn give_up(&mut self) {
        self.socket = None;
        self.reader = frames();
        self.registration.disconnected();
        self.due = Instant::now() + limits::BROKER_RETRY;
    }
}
