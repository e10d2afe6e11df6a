//! The clippy front: wrappers report turns, clients capture them and paste them elsewhere.
//!
//! One connection is one `connection::ClippyConnection`, which performs the handshake and reads requests; a
//! `request_handler::RequestHandler` handles them in order; replies and injects are queued in one
//! `frame_queue::FrameQueue`. Turns and the relay buffer are the engine's ([`Relay`]): it contains our own sessions
//! always, those of wrappers as long as their connection lives.

mod connection;
mod frame_queue;
mod request_handler;

use crate::conn::{self, ConnectionLimits, Fronts};
use crate::incomplete_frames::IncompleteFrames;
use connection::ClippyConnection;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;
use swb_engine::Relay;
use swb_wire::clippy::{Message, encode_message};

/// Label of this front.
pub const LABEL: &str = "clippy";

/// Why a connection is refused; the protocol defines no code for it.
const FULL: &str = "too_many_connections";

/// The clippy front.
#[derive(Debug, Clone)]
pub struct Clippy {
    relay: Relay,
    fronts: Fronts,
}

impl Clippy {
    /// Creates the front; [`Clippy::listen`] opens its socket.
    pub fn new(relay: &Relay, fronts: Fronts) -> Self {
        Self { relay: relay.seen_by(LABEL), fronts }
    }

    /// Serves the connections of a listening socket until the daemon stops.
    pub fn listen(&self, listener: OwnedFd) -> io::Result<()> {
        let front = self.clone();
        let incomplete = Arc::<IncompleteFrames>::default();
        let serve = move |stream, room| {
            let connection =
                ClippyConnection::new(front.relay.clone(), stream, room, Arc::clone(&incomplete));
            let stop = front.fronts.stop.clone();
            async move {
                // CB-56: when the daemon ends, the connection ends without a message.
                let _ended = stop.run_until_cancelled(connection.run()).await;
            }
        };
        let refusal = || {
            let mut refusal = Vec::new();
            // A few bytes, which fit a frame.
            let _encoded = encode_message(&Message::HelloAck { error: Some(FULL) }, &mut refusal);
            refusal
        };
        let (most, refusal) = (conn::most_connections(), Box::new(refusal));
        let allowed = ConnectionLimits { most, grace: Duration::ZERO, refusal };
        self.fronts.accept(listener, self.fronts.stop.clone(), allowed, serve)
    }
}
