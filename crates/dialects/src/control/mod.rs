//! The control socket: the transport between our own command line and the operations.
//!
//! It reads operations, has them executed for a caller, and sends the results: replies, terminal frames, events.
//! `swb_operations` decides what an operation does and which callers may request it. Coop's clients use the same
//! framing on a socket of their own ([`crate::coop`]), with fewer commands.

mod agent_connections;
mod bridge;
mod connection;
mod terminal;

use crate::conn::{self, ConnectionLimits, Fronts};
use crate::incomplete_frames::IncompleteFrames;
use crate::limits;
use crate::scriptschnell::ScriptSchnell;
use connection::{ConnectionPlace, ControlConnection};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;
use swb_operations::{Caller, HostAction, Operations};
use swb_wire::control::{BadMessage, Operation, parse_operation};
use tokio::net::UnixStream;
use tokio::sync::Semaphore;

/// What the daemon does on behalf of a client of the control socket.
pub trait Stopper: Send + Sync {
    /// Starts an orderly stop or an upgrade; returns at once. `client` is the connection that requested it: closing it
    /// shows the client that the daemon has ended, so it stays open until then.
    fn act(&self, action: HostAction, client: OwnedFd);
}

/// What all connections of the socket share.
#[derive(Clone)]
pub struct Control {
    operations: Operations,
    fronts: Fronts,
    stopper: Arc<dyn Stopper>,
    conversations: Option<ScriptSchnell>,
}

/// How the messages of one socket are read, and for which caller.
#[derive(Clone)]
pub(crate) struct Protocol {
    /// Reads an operation.
    pub(crate) parse: fn(&[u8]) -> Result<Operation, BadMessage>,
    /// On whose behalf operations are executed.
    pub(crate) caller: Caller,
    /// Whether the handshake may request a lesser role.
    pub(crate) roles: bool,
    /// How long a connection may be without a request.
    pub(crate) idle_limit: Option<Duration>,
}

impl Control {
    /// Creates the transport; [`Control::listen`] opens its socket.
    pub fn new(operations: Operations, fronts: Fronts, stopper: Arc<dyn Stopper>) -> Self {
        Self { operations, fronts, stopper, conversations: None }
    }

    /// Offers conversations on this socket, too. Connections to it are not counted as scriptschnell's own, so that other
    /// clients cannot lock out `swb chat` (SS-22).
    pub fn with_conversations(self, conversations: ScriptSchnell) -> Self {
        Self { conversations: Some(conversations), ..self }
    }

    /// Serves the connections of the control socket until the daemon stops. A peer of our own user is an owner.
    pub fn listen(&self, listener: OwnedFd) -> io::Result<()> {
        let (caller, idle_limit) = (Caller::owner(), Some(limits::COMMAND_IDLE));
        self.serve(listener, Protocol { parse: parse_operation, caller, roles: true, idle_limit })
    }

    /// Serves the connections of a socket with this framing.
    pub(crate) fn serve(&self, listener: OwnedFd, protocol: Protocol) -> io::Result<()> {
        let control = self.clone();
        let most = conn::most_connections();
        let lasting = Arc::new(Semaphore::new(most - limits::COMMAND_PLACES.min(most / 2)));
        let incomplete = Arc::<IncompleteFrames>::default();
        let serve = move |stream: UnixStream, room| {
            let (lasting, incomplete) = (Arc::clone(&lasting), Arc::clone(&incomplete));
            let place = ConnectionPlace { room, lasting, most, incomplete };
            let caller = protocol.caller.clone().in_process(conn::peer_pid(&stream));
            ControlConnection::new(control.clone(), Protocol { caller, ..protocol.clone() }, stream, place)
                .run()
        };
        let refusal = move || connection::refusal(&connection::all_taken(most));
        let allowed = ConnectionLimits { most, grace: Duration::ZERO, refusal: Box::new(refusal) };
        self.fronts.accept(listener, self.fronts.stop.clone(), allowed, serve)
    }
}
