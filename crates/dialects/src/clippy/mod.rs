//! The clippy front: wrappers report turns, clients capture them and paste them elsewhere.
//!
//! One connection is one `connection::Connection`, which performs the handshake and reads requests; a
//! `request_handler::RequestHandler` handles them in order; replies and injects are queued in one
//! `frame_queue::FrameQueue`. Turns and the relay buffer are the engine's ([`Relay`]): it contains our own sessions
//! always, those of wrappers as long as their connection lives.

mod connection;
mod frame_queue;
mod request_handler;

use crate::conn::Fronts;
use crate::limits;
use connection::Connection;
use std::io;
use std::os::fd::OwnedFd;
use swb_engine::Relay;

/// Label of this front.
pub const LABEL: &str = "clippy";

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
        let serve = move |stream, room| {
            let connection = Connection::new(front.relay.clone(), stream);
            let stop = front.fronts.stop.clone();
            async move {
                // CB-56: when the daemon ends, the connection ends without a message.
                let _ended = stop.run_until_cancelled(connection.run()).await;
                drop(room);
            }
        };
        self.fronts.accept(listener, self.fronts.stop.clone(), limits::CONNECTIONS, serve)
    }
}
