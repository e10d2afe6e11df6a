//! A stream that is followed without a terminal, across restarts of the daemon.

use super::inbox::Inbox;
use super::stream_protocol::{ControlStream, StreamNotice, StreamProtocol};
use super::{LostDaemon, Position, ResumePoint, broken_stream};
use crate::error::{Failure, FailureKind};
use crate::limits::{RECONNECT, RECONNECT_PAUSE};
use crate::terminal::signals::Signals;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::ops::Range;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// An item of the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FollowedItem {
    /// Bytes for the terminal; [`OutputFollower::bytes`] returns them until the next call of `next_item`.
    Data(Range<usize>),
    /// A picture begins: the next bytes do not continue the previous ones.
    Picture,
    /// The terminal has a new size from here on: columns, rows.
    Resized(u16, u16),
    /// The process has ended.
    Exited(i32),
    /// This process was asked to end.
    Signalled,
}

/// The receiving side of one stream.
#[derive(Debug)]
pub(crate) struct OutputFollower {
    socket: Option<UnixStream>,
    route: ResumePoint,
    position: Position,
    inbox: Inbox,
    lost: Option<LostDaemon>,
    signals: Signals,
}

impl OutputFollower {
    /// Takes over a connection that `route` created and that is in stream mode.
    pub(crate) fn new(
        socket: UnixStream,
        route: ResumePoint,
        position: Position,
        signals: Signals,
    ) -> Result<Self, Failure> {
        socket.set_nonblocking(true)?;
        let inbox = Inbox::new(ControlStream.layout());
        Ok(Self { socket: Some(socket), route, position, inbox, lost: None, signals })
    }

    /// Waits for the next item. Restores a lost connection and continues at the same byte.
    pub(crate) fn next_item(&mut self) -> Result<FollowedItem, Failure> {
        loop {
            if let Some(item) = self.arrived()? {
                return Ok(item);
            }
            if self.wait()? {
                return Ok(FollowedItem::Signalled);
            }
            self.reconnect_if_due()?;
        }
    }

    /// The bytes of the item returned last.
    pub(crate) fn bytes(&self, range: Range<usize>) -> &[u8] {
        self.inbox.bytes(range)
    }

    fn arrived(&mut self) -> Result<Option<FollowedItem>, Failure> {
        loop {
            if let Some(range) = self.inbox.next_data().map_err(broken_stream)? {
                self.position.advance(range.len() as u64);
                return Ok(Some(FollowedItem::Data(range)));
            }
            let Some(message) = self.inbox.next_message().map_err(broken_stream)? else {
                return Ok(None);
            };
            if message.tag.is_empty() {
                self.answered(&message.payload)?;
                continue;
            }
            match ControlStream.understand(&message) {
                StreamNotice::Exited(code, _) => return Ok(Some(FollowedItem::Exited(code))),
                StreamNotice::Lagged(Some(offset)) => {
                    self.position.lagged(offset, self.route.pictures.is_some())
                }
                StreamNotice::Repaint { offset, bytes, whole } => {
                    self.position.repaint(offset, bytes, whole);
                    return Ok(Some(FollowedItem::Picture));
                }
                StreamNotice::Resized(cols, rows) => return Ok(Some(FollowedItem::Resized(cols, rows))),
                // A daemon that announces its end may be replaced by another, just like one that dies.
                _ => {}
            }
        }
    }

    /// Handles a reply on a connection that is being restored.
    fn answered(&mut self, body: &[u8]) -> Result<(), Failure> {
        if self.position.take_answer(&self.inbox, body)?.is_some() {
            self.lost = None;
        }
        Ok(())
    }

    /// Waits until something may have changed; true if a signal arrived.
    fn wait(&mut self) -> Result<bool, Failure> {
        let mut fds = vec![PollFd::new(&self.signals, PollFlags::IN)];
        if let Some(socket) = &self.socket {
            fds.push(PollFd::new(socket, PollFlags::IN));
        }
        match poll(&mut fds, self.timeout().as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let readable = fds.get(1).is_some_and(|fd| !fd.revents().is_empty());
        if !self.signals.take().is_empty() {
            return Ok(true);
        }
        if readable {
            self.read();
        }
        Ok(false)
    }

    fn timeout(&self) -> Option<Timespec> {
        let lost = self.lost?;
        let due = if self.socket.is_some() { lost.since + RECONNECT } else { lost.next_try };
        Some(timespec(due.saturating_duration_since(Instant::now())))
    }

    fn read(&mut self) {
        let Some(socket) = &self.socket else { return };
        match self.inbox.fill(socket) {
            Ok(count) if count > 0 => {}
            Err(error)
                if matches!(
                    error.kind(),
                    std::io::ErrorKind::WouldBlock | std::io::ErrorKind::Interrupted
                ) => {}
            _ => self.disconnected(),
        }
    }

    fn disconnected(&mut self) {
        self.socket = None;
        self.position.disconnected();
        self.inbox.restart(0);
        let now = Instant::now();
        self.lost = Some(match self.lost {
            Some(lost) => LostDaemon { next_try: now + RECONNECT_PAUSE, ..lost },
            None => LostDaemon { since: now, next_try: now },
        });
    }

    fn reconnect_if_due(&mut self) -> Result<(), Failure> {
        let Some(lost) = self.lost else { return Ok(()) };
        let now = Instant::now();
        if now >= lost.since + RECONNECT {
            let text = "the connection to the daemon was lost and could not be restored";
            return Err(Failure::new(FailureKind::Disconnected, text));
        }
        if self.socket.is_some() || now < lost.next_try {
            return Ok(());
        }
        match self.route.connect(self.position.resume(), None) {
            Ok(socket) => {
                self.inbox.restart(2);
                self.socket = Some(socket);
            }
            Err(error) => {
                if let Some(failure) = self.route.tunnel_ended(&error) {
                    return Err(failure);
                }
                self.lost = Some(LostDaemon { next_try: now + RECONNECT_PAUSE, ..lost });
            }
        }
        Ok(())
    }
}

/// A duration as system calls take it.
pub(crate) fn timespec(time: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(time.subsec_nanos()),
    }
}
