//! A connection in command mode: handshake, then one reply per operation.

use super::terminal::Stream;
use super::{Control, Protocol};
use crate::conn::read_some;
use crate::limits;
use crate::outlet::Outlet;
use crate::peer;
use serde::Serialize;
use std::os::fd::OwnedFd;
use swb_operations::{Caller, EventStream, HostAction, OpenTerminal, Outcome, Then, waits};
use swb_engine::file_access;
use swb_types::Scope;
use swb_wire::control::{
    ErrorCode, ErrorReply, HandshakeReply, MAX_FRAME, Operation, VERSION, command_frames, encode_body,
    encode_control, encode_frame, encode_json, parse_caller, parse_handshake,
};
use swb_wire::frame::{FrameError, LengthPrefixed};
use tokio::net::UnixStream;

pub(super) struct Connection {
    control: Control,
    protocol: Protocol,
    stream: UnixStream,
    frames: LengthPrefixed,
}

/// How command mode ends.
enum Next {
    Close,
    Terminal(Box<OpenTerminal>),
    Events(Box<EventStream>),
    Host(HostAction),
}

impl Connection {
    pub(super) fn new(control: Control, protocol: Protocol, stream: UnixStream) -> Self {
        Self { control, protocol, stream, frames: command_frames() }
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
        let next = tokio::select! {
            next = self.commands() => next,
            () = stop.cancelled() => return,
        };
        match next {
            Next::Close => {}
            Next::Terminal(terminal) => {
                Stream::new(&self.stream, &stop).run(*terminal, &mut self.frames).await;
            }
            Next::Events(events) => tokio::select! {
                () = self.send_events(*events) => {}
                () = stop.cancelled() => {}
            },
            Next::Host(action) => {
                if let Some(client) = self.stream.into_std().ok().map(OwnedFd::from) {
                    self.control.stopper.act(action, client);
                }
            }
        }
    }

    /// The next frame; `None` at the end of the stream or after an invalid length.
    async fn frame(&mut self) -> Option<Vec<u8>> {
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
            if !read_some(&self.stream, |bytes| frames.push(bytes)).await {
                return None;
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
                Ok(Some((role, scope))) => self.protocol.caller = Caller::new(role, resolved(scope).await),
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

    async fn commands(&mut self) -> Next {
        loop {
            let Some(frame) = self.frame().await else {
                return Next::Close;
            };
            let outcome = match (self.protocol.parse)(&frame) {
                Ok(operation) => self.execute(operation).await,
                Err(bad) => Some(Err(bad.into())),
            };
            let Some(outcome) = outcome else { return Next::Close };
            let Outcome { reply, then } = match outcome {
                Ok(outcome) => outcome,
                Err(error) => Outcome { reply: error_body(&error), then: Then::Nothing },
            };
            // The request of a client that left without waiting for the reply is executed all the same (CO-54, CO-60);
            // the end of its stream is read next.
            let _sent = Outlet::new(&self.stream).send(&encode_frame(&reply)).await;
            match then {
                Then::Nothing => {}
                Then::Close => return Next::Close,
                Then::Terminal(terminal) => return Next::Terminal(terminal),
                Then::Events(events) => return Next::Events(events),
                Then::Host(action) => return Next::Host(action),
            }
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
    async fn send_events(&self, mut events: EventStream) {
        let sending = async {
            while let Some(event) = events.next().await {
                let mut frame = Vec::new();
                let encoded = encode_control(&event, &mut frame).is_ok();
                if !encoded || Outlet::new(&self.stream).send(&frame).await.is_err() {
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

/// An error as a reply; errors leave the connection as it is (CO-15).
fn error_body(error: &ErrorReply) -> Vec<u8> {
    // Its texts are short, so it fits a frame.
    encode_body(error).unwrap_or_default()
}
