//! The event stream of the daemon, followed across restarts of the daemon.

use crate::context::Context;
use crate::control_client::ControlClient;
use crate::error::{Failure, FailureKind};
use crate::limits;
use crate::terminal::signals::Signals;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};
use swb_wire::LengthPrefixed;
use swb_wire::control::{self, EventBody, EventItem, Events, EventsReply, Operation, StreamFrame};

/// An item of the stream.
#[derive(Debug)]
pub(crate) enum StreamItem {
    /// An event: as received, and decoded.
    Event(Vec<u8>, EventItem),
    /// The connection was lost and restored, so anything may have changed.
    Again,
    /// The wait timed out.
    Quiet,
    /// This process was asked to end.
    Signalled,
}

/// A connection that follows events and reconnects when it is lost.
#[derive(Debug)]
pub(crate) struct EventStream<'a> {
    context: &'a Context,
    request: Events,
    link: Option<(UnixStream, LengthPrefixed)>,
    signals: Option<Signals>,
}

impl<'a> EventStream<'a> {
    /// Begins to follow; starts the daemon if none is running. With `signals`, those end the wait.
    pub(crate) fn open(
        context: &'a Context,
        request: Events,
        signals: Option<Signals>,
    ) -> Result<Self, Failure> {
        let mut events = Self { context, request, link: None, signals };
        let control = context.connect()?;
        match events.begin(control) {
            Err(failure) if failure.kind() == FailureKind::Invalid => {
                Err(Failure::usage(failure.to_string()))
            }
            begun => begun.map(|()| events),
        }
    }

    fn begin(&mut self, mut control: ControlClient) -> Result<(), Failure> {
        let reply: EventsReply = control.request(&Operation::Events(self.request.clone()))?;
        self.request.since.get_or_insert(reply.cursor);
        let stream = control.into_stream();
        stream.set_nonblocking(true)?;
        let mut frames = control::command_frames();
        control::enter_stream(&mut frames);
        self.link = Some((stream, frames));
        Ok(())
    }

    /// Waits for the next event, for `limit` at most if it is set.
    pub(crate) fn next(&mut self, limit: Option<Duration>) -> Result<StreamItem, Failure> {
        let deadline = limit.map(|limit| Instant::now() + limit);
        loop {
            if let Some(heard) = self.arrived()? {
                return Ok(heard);
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return Ok(StreamItem::Quiet);
            }
            let lost = self.link.is_none();
            let pause = if lost {
                Some(left.map_or(limits::EVENTS_PAUSE, |left| left.min(limits::EVENTS_PAUSE)))
            } else {
                left
            };
            self.wait(pause)?;
            if self.signals.as_mut().is_some_and(|signals| !signals.take().is_empty()) {
                return Ok(StreamItem::Signalled);
            }
            if lost && self.come_back()? {
                return Ok(StreamItem::Again);
            }
        }
    }

    /// The next event that has already arrived.
    fn arrived(&mut self) -> Result<Option<StreamItem>, Failure> {
        while let Some((_, frames)) = &mut self.link {
            let Some(frame) = frames.next().map_err(|error| Failure::general(error.to_string()))? else {
                return Ok(None);
            };
            let StreamFrame::Control(body) = control::parse_stream(frame) else { continue };
            if let Some(happening) = control::parse_event_item(&body) {
                if happening.what != EventBody::Missed {
                    self.request.since = Some(happening.cursor.clone());
                }
                return Ok(Some(StreamItem::Event(body, happening)));
            }
        }
        Ok(None)
    }

    /// Waits for bytes or a signal, and reads the bytes.
    fn wait(&mut self, limit: Option<Duration>) -> Result<(), Failure> {
        let mut fds: Vec<PollFd<'_>> = Vec::with_capacity(2);
        fds.extend(self.link.as_ref().map(|(stream, _)| PollFd::new(stream, PollFlags::IN)));
        fds.extend(self.signals.as_ref().map(|signals| PollFd::new(signals, PollFlags::IN)));
        let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
        match poll(&mut fds, limit.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let Some((stream, frames)) = &mut self.link else { return Ok(()) };
        let mut bytes = [0; limits::EVENTS_READ];
        match stream.read(&mut bytes) {
            Ok(0) => self.link = None,
            Ok(count) => frames.push(bytes.get(..count).unwrap_or_default()),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(_) => self.link = None,
        }
        Ok(())
    }

    /// Tries once to reconnect; does not start a daemon that was shut down on purpose.
    fn come_back(&mut self) -> Result<bool, Failure> {
        let found = self.context.connect_if_running().and_then(|control| match control {
            Some(control) => self.begin(control).map(|()| true),
            None => Ok(false),
        });
        match found {
            Err(failure) if failure.kind() == FailureKind::Disconnected => Ok(false),
            found => found,
        }
    }
}
