//! A connection in command mode: handshake, then one reply per operation.

use super::terminal::Stream;
use super::{Control, Protocol};
use crate::incomplete_frames::{FrameReader, IncompleteFrames, ReadOutcome};
use crate::limits;
use crate::outlet::Outlet;
use crate::peer;
use crate::places::ConnectionPermit;
use serde::Serialize;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use swb_engine::file_access;
use swb_operations::{
    Caller, EventStream, HostAction, OpenTerminal, Outcome, Then, TunnelEvents, accesses_files, waits,
};
use swb_types::Scope;
use swb_wire::control::{
    ErrorCode, ErrorReply, HandshakeReply, MAX_FRAME, Operation, VERSION, command_frames, encode_body,
    encode_control, encode_frame, encode_json, parse_caller, parse_handshake,
};
use swb_wire::frame::{FrameError, LengthPrefixed};
use tokio::net::UnixStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub(super) struct ControlConnection {
    control: Control,
    protocol: Protocol,
    stream: UnixStream,
    frames: LengthPrefixed,
    place: ConnectionPlace,
}

/// A connection's place on its socket.
pub(super) struct ConnectionPlace {
    pub(super) room: ConnectionPermit,
    /// The places for connections that last: open terminals, streams of events, waits.
    pub(super) lasting: Arc<Semaphore>,
    /// Places of all kinds.
    pub(super) most: usize,
    /// The half-sent messages of all connections of the socket.
    pub(super) incomplete: Arc<IncompleteFrames>,
}

/// Events that a client follows.
enum Followed {
    Events(Box<EventStream>),
    Tunnel(Box<TunnelEvents>),
}

impl Followed {
    /// The next event as a frame; `None` after the last one.
    async fn next(&mut self) -> Option<Vec<u8>> {
        let mut frame = Vec::new();
        match self {
            Self::Events(events) => encode_control(&events.next().await?, &mut frame).ok()?,
            Self::Tunnel(events) => encode_control(&events.next().await?, &mut frame).ok()?,
        }
        Some(frame)
    }
}

/// How command mode ends.
enum Next {
    Close,
    Terminal(Box<OpenTerminal>),
    Events(Followed),
    Tunnel(Followed),
    Chat,
    Host(HostAction),
}

impl ControlConnection {
    pub(super) fn new(
        control: Control,
        protocol: Protocol,
        stream: UnixStream,
        place: ConnectionPlace,
    ) -> Self {
        Self { control, protocol, stream, frames: command_frames(), place }
    }

    pub(super) async fn run(mut self) {
        let stop = self.control.fronts.stop.clone();
        let handshake = tokio::time::timeout(limits::COOP_HANDSHAKE, self.handshake());
        let welcome = tokio::select! {
            welcome = handshake => welcome.unwrap_or(false),
            () = stop.cancelled() => false,
        };
        if !welcome {
            return;
        }
        let (next, _lasting) = tokio::select! {
            next = self.commands() => next,
            () = stop.cancelled() => return,
        };
        match next {
            Next::Close => {}
            Next::Terminal(terminal) => {
                let stream = Stream::new(&self.stream, &stop, &self.place.incomplete);
                stream.run(*terminal, &mut self.frames).await;
            }
            Next::Events(events) => tokio::select! {
                () = self.send_events(events) => {}
                () = stop.cancelled() => {}
            },
            // A tunnel ends with the daemon, and reports that.
            Next::Tunnel(events) => self.send_events(events).await,
            Next::Chat => {
                if let Some(conversations) = &self.control.conversations {
                    conversations.serve(self.stream, self.place.room).await;
                }
            }
            Next::Host(action) => {
                drop(self.place);
                if let Some(client) = self.stream.into_std().ok().map(OwnedFd::from) {
                    self.control.stopper.act(action, client);
                }
            }
        }
    }

    /// The next frame; `None` if there is none: at the end of the stream, after an invalid length, or because the
    /// connection was idle for too long or its place is needed.
    async fn frame(&mut self) -> Option<Vec<u8>> {
        let (idle, limit, most) = (self.place.room.idle(), self.protocol.idle_limit, self.place.most);
        let too_long = async {
            match limit {
                Some(limit) => tokio::time::sleep(limit).await,
                None => std::future::pending().await,
            }
        };
        let why = tokio::select! {
            biased;
            () = idle.displaced() => {
                let taken = all_taken(most);
                format!("{taken}, and this one has been idle longest; connect again")
            }
            frame = self.read_frame() => return frame,
            () = too_long => {
                let seconds = limit.unwrap_or_default().as_secs();
                format!("closed after {seconds} s without a request; connect again")
            }
        };
        // It may still be of use to a client that sends its next request now.
        let _sent = self.stream.try_write(&refusal(&why));
        None
    }

    async fn read_frame(&mut self) -> Option<Vec<u8>> {
        let mut reader = FrameReader::new(&self.place.incomplete);
        loop {
            match self.frames.next() {
                Ok(Some(frame)) => return Some(frame),
                Ok(None) => {}
                Err(FrameError::TooLarge { len, .. }) => {
                    // CO-14: the payload is never read, so the connection cannot continue.
                    let text = format!("message too long: {len} bytes, the maximum is {MAX_FRAME}");
                    self.send(&ErrorReply::new(ErrorCode::MessageTooLarge, text)).await;
                    return None;
                }
                Err(_) => return None,
            }
            let frames = &mut self.frames;
            match reader.read(&self.stream, frames.capacity(), |bytes| frames.push(bytes)).await {
                ReadOutcome::More => {}
                ReadOutcome::End => return None,
                ReadOutcome::Evicted => {
                    let text = "half-sent requests of other clients need the memory; send it again";
                    let _sent = self.stream.try_write(&refusal(text));
                    return None;
                }
            }
        }
    }

    async fn handshake(&mut self) -> bool {
        let Some(frame) = self.frame().await else {
            return false;
        };
        match parse_handshake(&frame) {
            Ok(version) if version == i128::from(VERSION) => self.welcome(&frame).await,
            Ok(other) => {
                // CO-12
                self.send(&HandshakeReply::refused(other)).await;
                false
            }
            Err(bad) => {
                // CO-13
                self.send(&ErrorReply::from(bad)).await;
                false
            }
        }
    }

    /// Applies the role and scope that the client limits itself to, if any.
    async fn welcome(&mut self, frame: &[u8]) -> bool {
        if self.protocol.roles {
            match parse_caller(frame) {
                Ok(None) => {}
                Ok(Some((role, scope))) => {
                    let pid = self.protocol.caller.pid();
                    self.protocol.caller = Caller::new(role, resolved(scope).await).in_process(pid);
                }
                Err(bad) => {
                    self.send(&ErrorReply::from(bad)).await;
                    return false;
                }
            }
        }
        // A client that has left already may still have sent a request: see `commands`.
        self.send(&HandshakeReply::accepted()).await;
        true
    }

    /// Executes operations until the connection becomes a stream or ends; also returns the place of a stream.
    async fn commands(&mut self) -> (Next, Option<OwnedSemaphorePermit>) {
        loop {
            let Some(frame) = self.frame().await else {
                return (Next::Close, None);
            };
            let (outcome, lasting) = match self.prepare(&frame) {
                Ok((operation, lasting)) => (self.execute(operation).await, lasting),
                Err(error) => (Some(Err(error)), None),
            };
            let Some(outcome) = outcome else { return (Next::Close, None) };
            let Outcome { reply, then } = match outcome {
                Ok(outcome) => outcome,
                Err(error) => Outcome { reply: error_body(&error), then: Then::Nothing },
            };
            // The request of a client that left without waiting for the reply is executed all the same (CO-54, CO-60);
            // the end of its stream is read next.
            if !self.send_reply(&encode_frame(&reply)).await {
                return (Next::Close, None);
            }
            let next = match then {
                Then::Nothing => continue,
                Then::Close => Next::Close,
                Then::Terminal(terminal) => Next::Terminal(terminal),
                Then::Events(events) => Next::Events(Followed::Events(events)),
                Then::Tunnel(events) => Next::Tunnel(Followed::Tunnel(events)),
                Then::Chat => Next::Chat,
                Then::Host(action) => Next::Host(action),
            };
            return (next, lasting);
        }
    }

    /// The operation in a frame, and the place that it needs.
    fn prepare(&self, frame: &[u8]) -> Result<(Operation, Option<OwnedSemaphorePermit>), ErrorReply> {
        let operation = (self.protocol.parse)(frame)?;
        if operation == Operation::Chat && self.control.conversations.is_none() {
            let text = "conversations are disabled: [scriptschnell] enabled is false";
            return Err(ErrorReply::new(ErrorCode::NotImplemented, text));
        }
        let lasting = self.lasting_place(&operation)?;
        Ok((operation, lasting))
    }

    /// A place for an operation after which the connection lasts, or which waits for a program or a disk, if it is one. The
    /// other places are left to commands.
    fn lasting_place(&self, operation: &Operation) -> Result<Option<OwnedSemaphorePermit>, ErrorReply> {
        let lasts = match operation {
            Operation::Attach(_) | Operation::Chat | Operation::Events(_) | Operation::Shell(_) => true,
            Operation::Tunnel(tunnel) => tunnel.follow,
            // A program that does not read keeps those waiting who type.
            Operation::Send(_) | Operation::Keys(_) | Operation::Relay(_) | Operation::Paste(_) => true,
            Operation::Logs(logs) => logs.follow,
            operation => waits(operation) || accesses_files(operation),
        };
        if !lasts {
            return Ok(None);
        }
        let full = |_| {
            let text = "too many open terminals, conversations, event streams and waiting commands on this socket; close some";
            ErrorReply::new(ErrorCode::LimitReached, text)
        };
        Arc::clone(&self.place.lasting).try_acquire_owned().map(Some).map_err(full)
    }

    /// Sends a reply; `false` for a client that does not read it.
    async fn send_reply(&self, reply: &[u8]) -> bool {
        let (idle, outlet) = (self.place.room.idle(), Outlet::new(&self.stream));
        tokio::select! {
            biased;
            // One that has left is noticed at the next read.
            sent = tokio::time::timeout(limits::REPLY, outlet.send(reply)) => sent.is_ok(),
            () = idle.displaced() => false,
        }
    }

    /// Executes an operation; `None` if the client leaves while it waits.
    async fn execute(&self, operation: Operation) -> Option<Result<Outcome, ErrorReply>> {
        let waits = waits(&operation);
        let executed = self.control.operations.execute(&self.protocol.caller, operation);
        tokio::select! {
            biased;
            outcome = executed => Some(outcome),
            () = peer::closes(&self.stream), if waits => None,
        }
    }

    /// Sends events until the client leaves.
    async fn send_events(&self, mut events: Followed) {
        let sending = async {
            while let Some(frame) = events.next().await {
                let outlet = Outlet::new(&self.stream);
                let sent = outlet.send(&frame);
                if !matches!(tokio::time::timeout(limits::EVENTS_STALL, sent).await, Ok(Ok(()))) {
                    return;
                }
            }
        };
        tokio::select! {
            () = sending => {}
            () = peer::closes(&self.stream) => {}
        }
    }

    async fn send(&self, value: &impl Serialize) {
        let mut bytes = Vec::new();
        if encode_json(value, &mut bytes).is_ok() {
            let _sent = tokio::time::timeout(limits::GOODBYE, Outlet::new(&self.stream).send(&bytes)).await;
        }
    }
}

/// Sessions have the real path of their workspace; a scope may name a link to it.
async fn resolved(scope: Scope) -> Scope {
    let Scope::Workspace(path) = scope else { return scope };
    let real = file_access::run(&path, file_access::real_path).await;
    Scope::Workspace(real.ok().and_then(Result::ok).unwrap_or(path))
}

/// States that there is no place for another connection.
pub(super) fn all_taken(most: usize) -> String {
    format!("all {most} connections of this socket are in use")
}

/// The message to a connection that cannot be served.
pub(super) fn refusal(text: &str) -> Vec<u8> {
    encode_frame(&error_body(&ErrorReply::new(ErrorCode::LimitReached, text)))
}

/// An error as a reply; errors leave the connection as it is (CO-15).
fn error_body(error: &ErrorReply) -> Vec<u8> {
    // Its texts are short, so it fits a frame.
    encode_body(error).unwrap_or_default()
}
