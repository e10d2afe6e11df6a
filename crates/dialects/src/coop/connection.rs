//! A coop connection in command mode: handshake, then one answer per request.

use super::following::EventStream;
use super::stream::{Stream, StreamEnd};
use super::{Coop, Door, errors};
use crate::conn::read_some;
use crate::limits;
use crate::outlet::Outlet;
use serde::Serialize;
use swb_engine::Error;
use swb_wire::control::{
    BadMessage, ErrorCode, ErrorReply, HandshakeReply, MAX_FRAME, OkReply, Operation, VERSION,
    command_frames, encode_json, parse_handshake, parse_operation,
};
use swb_wire::frame::{FrameError, LengthPrefixed};
use tokio::net::UnixStream;

pub(super) struct Connection {
    pub(super) coop: Coop,
    pub(super) door: Door,
    pub(super) stream: UnixStream,
    pub(super) frames: LengthPrefixed,
}

/// What follows an answer.
pub(super) enum Next {
    /// The next request.
    Request,
    /// Stream mode.
    Stream(Box<Stream>),
    /// Events, until the client goes.
    Events(Box<EventStream>),
    /// The end of the connection.
    Close,
    /// The end of the daemon.
    ShutDown,
    /// Another program in place of the daemon.
    Upgrade,
}

/// An answer and what follows it; errors leave the connection as it is (CO-15).
pub(super) type Answer = Result<(Vec<u8>, Next), ErrorReply>;

impl Connection {
    pub(super) fn new(coop: Coop, door: Door, stream: UnixStream) -> Self {
        Self { coop, door, stream, frames: command_frames() }
    }

    pub(super) async fn run(mut self) {
        let stop = self.coop.fronts.stop.clone();
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
            Next::Stream(stream) => {
                let end = stream.run(&self.stream, &mut self.frames, &stop).await;
                if end == StreamEnd::Broken {
                    tracing::debug!("a coop client vanished");
                }
            }
            Next::Events(events) => tokio::select! {
                () = self.tell_events(*events) => {}
                () = stop.cancelled() => {}
            },
            Next::ShutDown => {
                self.coop.host.shut_down();
                // Closed by the end of the process, so that whoever asked for it sees when it is done.
                std::mem::forget(self.stream);
            }
            Next::Upgrade => self.coop.host.upgrade(),
            Next::Request | Next::Close => {}
        }
    }

    /// The next frame; nothing at the end of the stream or after an impossible length.
    async fn frame(&mut self) -> Option<Vec<u8>> {
        loop {
            match self.frames.next() {
                Ok(Some(frame)) => return Some(frame),
                Ok(None) => {}
                Err(FrameError::TooLarge { len, .. }) => {
                    // CO-14: the payload is never read, so the connection cannot go on.
                    let text = format!("a message of {len} bytes is longer than {MAX_FRAME}");
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
            Ok(version) if version == i128::from(VERSION) => {
                // A client that is gone already may still have asked for something: see `commands`.
                self.send(&HandshakeReply::accepted()).await;
                true
            }
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

    async fn commands(&mut self) -> Next {
        loop {
            let Some(frame) = self.frame().await else {
                return Next::Close;
            };
            let answer = match parse_operation(&frame) {
                Ok(request) => self.answer(request).await,
                Err(bad) => Err(bad.into()),
            };
            let (bytes, next) = match answer {
                Ok(answer) => answer,
                Err(error) => match ok(&error) {
                    Ok(bytes) => (bytes, Next::Request),
                    Err(_) => return Next::Close,
                },
            };
            // A client that left without waiting for the answer has still said what it said (CO-54, CO-60);
            // the end of that is the end of its stream.
            let _sent = Outlet::new(&self.stream).send(&bytes).await;
            if !matches!(next, Next::Request) {
                return next;
            }
        }
    }

    async fn answer(&self, request: Operation) -> Answer {
        match request {
            Operation::Create(create) => self.create(create).await,
            Operation::Attach(attach) => self.attach(attach).await,
            Operation::Shell(shell) => self.shell(shell).await,
            Operation::Ls(ls) => self.list(&ls),
            Operation::Kill(kill) => self.kill(kill).await,
            Operation::Serve(_) => Err(not_yet("serve")),
            Operation::Tunnel(tunnel) => {
                self.resolve(&tunnel.session)?;
                Err(not_yet("tunnel"))
            }
            Operation::Shutdown(shutdown) => self.shut_down(&shutdown).await,
            // CO-50
            Operation::Detach => Ok((ok(&OkReply::default())?, Next::Close)),
            Operation::SessionLs(ls) => self.session_ls(&ls),
            Operation::SessionKill(kill) => self.session_kill(&kill).await,
            Operation::Logs(logs) => self.logs(&logs),
            Operation::Restart(restart) => self.restart(&restart).await,
            Operation::Send(send) => self.send_input(send).await,
            Operation::Status => Ok((ok(&self.coop.host.status())?, Next::Request)),
            Operation::Upgrade(upgrade) => self.upgrade(upgrade).await,
            Operation::Screen(screen) => self.screen(screen).await,
            Operation::Wait(wait) => self.wait(wait).await,
            Operation::Keys(keys) => self.keys(keys).await,
            Operation::Turns(turns) => self.turns(&turns),
            Operation::Turn(turn) => self.turn(&turn),
            Operation::Capture(capture) => self.capture(&capture),
            Operation::Paste(paste) => self.paste(&paste).await,
            Operation::Relay(relay) => self.relay_turn(relay).await,
            Operation::Ask(ask) => self.ask(ask).await,
            Operation::Explain(explain) => self.explain(&explain),
            Operation::Events(events) => self.events(events),
            Operation::Hook(hook) => self.hook(&hook).await,
            Operation::Approvals(_) => self.approvals().await,
            Operation::Approval(approval) => self.approval(approval).await,
            Operation::History(history) => self.history(history).await,
            Operation::Conversation(conversation) => self.conversation(conversation).await,
            Operation::Forget(forget) => self.forget(forget).await,
            Operation::Workspaces(_) => self.workspaces().await,
            Operation::Workspace(workspace) => self.workspace(workspace).await,
            Operation::Agents(_) => self.agents(),
        }
    }

    async fn send(&self, value: &impl Serialize) -> bool {
        let Ok(bytes) = ok(value) else { return false };
        let outlet = Outlet::new(&self.stream);
        let sent = outlet.send(&bytes);
        matches!(tokio::time::timeout(limits::GOODBYE, sent).await, Ok(Ok(())))
    }
}

/// Encodes an answer.
pub(super) fn ok(value: &impl Serialize) -> Result<Vec<u8>, ErrorReply> {
    let mut bytes = Vec::new();
    encode_json(value, &mut bytes).map_err(|error| {
        ErrorReply::new(ErrorCode::InternalError, format!("the answer is too long: {error}"))
    })?;
    Ok(bytes)
}

pub(super) fn refused(error: Error) -> ErrorReply {
    errors::reply(&error)
}

pub(super) fn invalid(text: impl Into<String>) -> ErrorReply {
    BadMessage(text.into()).into()
}

fn not_yet(what: &str) -> ErrorReply {
    ErrorReply::new(ErrorCode::NotImplemented, format!("this version of the daemon does not offer '{what}'"))
}
