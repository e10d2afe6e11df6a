//! A clippy connection: a handshake, then one reply per request.

use super::frame_queue::{self, Frame, FrameQueue, QueueInjector};
use super::request_handler::RequestHandler;
use crate::incomplete_frames::{FrameReader, IncompleteFrames, ReadOutcome};
use crate::limits;
use crate::outbound::OutboundQueue;
use crate::places::{ConnectionPermit, displaced};
use std::sync::Arc;
use swb_engine::Relay;
use swb_wire::clippy::{
    Message, PeerRole, Reason, Request, RequestError, Response, VERSION, encode_message, frames,
    parse_request,
};
use swb_wire::frame::{FrameError, LengthPrefixed};
use tokio::net::UnixStream;

pub(super) struct ClippyConnection {
    relay: Relay,
    stream: Arc<UnixStream>,
    room: ConnectionPermit,
    outbound: Arc<OutboundQueue<FrameQueue>>,
    incomplete: Arc<IncompleteFrames>,
}

/// The connection has to be closed; everything to be sent has been queued.
pub(super) struct Close;

impl ClippyConnection {
    pub(super) fn new(
        relay: Relay,
        stream: UnixStream,
        room: ConnectionPermit,
        incomplete: Arc<IncompleteFrames>,
    ) -> Self {
        Self { relay, stream: Arc::new(stream), room, outbound: Arc::default(), incomplete }
    }

    pub(super) async fn run(self) {
        // Requests of a peer that left without waiting for replies are handled all the same.
        let sending = async {
            self.outbound.serve(&self.stream).await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            _close = self.converse() => {}
            () = sending => {}
            () = self.outbound.given_up() => {
                tracing::info!("closing a clippy connection: the peer does not read");
                return;
            }
        }
        self.outbound.lock().close();
        // Replies to earlier requests are sent, if the peer still reads.
        let _sent = tokio::time::timeout(limits::GOODBYE, self.outbound.drain(&self.stream)).await;
    }

    /// Handles requests after a handshake until the peer leaves or sends an invalid message. The sessions that it
    /// registered are removed when this returns or is dropped (CB-37).
    async fn converse(&self) -> Close {
        let mut frames = frames();
        let idle = self.room.idle();
        let greeting = tokio::time::timeout(limits::CLIPPY_HANDSHAKE, self.greet(&mut frames));
        let greeting = tokio::select! {
            greeting = greeting => greeting,
            () = idle.displaced() => {
                let _queued = self.send(&Message::HelloAck { error: Some(super::FULL) });
                return Close;
            }
        };
        drop(idle);
        let Ok(Ok(role)) = greeting else { return Close };
        let injector =
            QueueInjector { outbound: Arc::clone(&self.outbound), stream: Arc::clone(&self.stream) };
        let mut handler = RequestHandler::new(self.relay.clone(), role, injector);
        let mut since_yield = 0;
        loop {
            // A peer that does not read its replies counts as idle. A wrapper is never idle: its session lives as long as its
            // connection.
            let idle = (!handler.has_sessions()).then(|| self.room.idle());
            let next = async {
                self.outbound.wait_until(FrameQueue::has_room).await;
                self.frame(&mut frames).await
            };
            let frame = tokio::select! {
                frame = next => frame,
                () = displaced(idle.as_ref()) => Err(Close),
            };
            drop(idle);
            let Ok(frame) = frame else {
                return Close;
            };
            if self.handle(&mut handler, &frame).await.is_err() {
                return Close;
            }
            // Bounded work: CLIPPY_TURN bytes of requests, then the other connections are served.
            since_yield += frame.len() + limits::CLIPPY_REQUEST;
            if since_yield >= limits::CLIPPY_TURN {
                since_yield = 0;
                tokio::task::yield_now().await;
            }
        }
    }

    /// The next frame.
    async fn frame(&self, frames: &mut LengthPrefixed) -> Result<Vec<u8>, Close> {
        let mut reader = FrameReader::new(&self.incomplete);
        loop {
            match frames.next() {
                Ok(Some(frame)) => return Ok(frame),
                Ok(None) => {}
                Err(FrameError::TooLarge { .. }) => {
                    // CB-8, CB-9: the request's own id is in the part that is not read.
                    self.send(&Message::Response(Response::error(0, Reason::PayloadTooLarge)))?;
                    return Err(Close);
                }
                Err(_) => return Err(Close),
            }
            let held = frames.capacity();
            // CB-14: an incomplete frame at the end is ignored.
            if reader.read(&self.stream, held, |bytes| frames.push(bytes)).await != ReadOutcome::More {
                return Err(Close);
            }
        }
    }

    /// CB-19 to CB-23
    async fn greet(&self, frames: &mut LengthPrefixed) -> Result<PeerRole, Close> {
        let frame = self.frame(frames).await?;
        match parse_request(&frame) {
            Ok((id, Request::Hello { version, role })) => self.welcome(id, version, role),
            _ => Err(Close),
        }
    }

    fn welcome(&self, id: u32, version: u32, role: Option<PeerRole>) -> Result<PeerRole, Close> {
        let wrong = match (id, version) {
            (0, VERSION) => None,
            (0, _) => Some(Reason::VersionMismatch),
            _ => Some(Reason::InvalidHelloId),
        };
        if let Some(wrong) = wrong {
            self.send(&Message::HelloAck { error: Some(wrong.as_str()) })?;
            return Err(Close);
        }
        // CB-23: closes without a reply, as the original does.
        let role = role.ok_or(Close)?;
        self.send(&Message::HelloAck { error: None })?;
        Ok(role)
    }

    /// Handles one request and queues its reply (CB-25).
    async fn handle(&self, handler: &mut RequestHandler, frame: &[u8]) -> Result<(), Close> {
        match parse_request(frame) {
            // CB-24
            Ok((id, Request::Hello { version, role })) => self.welcome(id, version, role).map(drop),
            Ok((id, request)) => {
                let answer = handler.answer(id, request).await;
                self.push(answer)
            }
            Err(RequestError::Refused { id, reason }) => {
                self.send(&Message::Response(Response::error(id, reason)))
            }
            // CB-13
            Err(_) => Err(Close),
        }
    }

    fn send(&self, message: &Message<'_>) -> Result<(), Close> {
        let mut head = Vec::new();
        encode_message(message, &mut head).map_err(|_| Close)?;
        self.push(Frame { head, content: None, reply: true })
    }

    fn push(&self, frame: Frame) -> Result<(), Close> {
        frame_queue::push(&self.outbound, frame).then_some(()).ok_or(Close)
    }
}
