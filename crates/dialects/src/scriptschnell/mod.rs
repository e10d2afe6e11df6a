//! The scriptschnell front: conversations with agents, one JSON object per line.
//!
//! A `connection::ScriptschnellConnection` reads, writes and watches timeouts; a `request_handler::RequestHandler` handles the
//! requests in order. For each session that the client is attached to, an `attachment::SessionAttachment` sends the
//! events, as an `event_mapper::EventMapper` translates them. All messages are sent through one `outbound::Outbound`.
//! Conversations are the engine's ([`Chats`]).

mod attachment;
mod attempts;
mod auth;
mod chat;
mod config;
mod connection;
mod errors;
mod event_mapper;
mod history;
mod idle;
mod line_queue;
mod outbound;
mod rate_limit;
mod request_handler;
mod sessions;
mod settings;
mod workspaces;

pub use settings::{AuthMethod, ScriptschnellSettings};

use crate::conn::{ConnectionLimits, Fronts};
use crate::incomplete_frames::IncompleteFrames;
use crate::limits;
use crate::places::ConnectionPermit;
use attempts::Attempts;
use connection::ScriptschnellConnection;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use swb_engine::chat::Chats;
use tokio::net::UnixStream;
use tokio::sync::OwnedSemaphorePermit;

/// Label of this front.
pub const LABEL: &str = "scriptschnell";

/// The scriptschnell front.
#[derive(Debug, Clone)]
pub struct ScriptSchnell {
    chats: Chats,
    fronts: Fronts,
    settings: Arc<ScriptschnellSettings>,
    attempts: Arc<Attempts>,
    /// The half-sent lines of all connections.
    incomplete: Arc<IncompleteFrames>,
}

impl ScriptSchnell {
    /// Creates the front; [`ScriptSchnell::listen`] opens its socket.
    pub fn new(chats: Chats, fronts: Fronts, settings: ScriptschnellSettings) -> Self {
        let settings = Arc::new(settings);
        Self { chats, fronts, settings, attempts: Arc::default(), incomplete: Arc::default() }
    }

    /// Serves the connections of a listening socket until the daemon stops.
    pub fn listen(&self, listener: OwnedFd) -> io::Result<()> {
        let settings = Arc::clone(&self.settings);
        let admit = move |uid, gid, ours| settings.admits(uid, gid, ours);
        let front = self.clone();
        let serve = move |stream, room| front.serve(stream, room);
        let most = self.settings.max_connections;
        let allowed =
            ConnectionLimits { most, grace: limits::FIRST_MESSAGE, refusal: Box::new(connection::refusal) };
        self.fronts.accept_if(listener, self.fronts.stop.clone(), allowed, admit, serve)
    }

    /// Serves a connection of another transport, which has a `place` there, to its end. It takes none of the socket's own
    /// places.
    pub fn converse(
        &self,
        stream: UnixStream,
        place: OwnedSemaphorePermit,
    ) -> impl Future<Output = ()> + Send + use<> {
        self.serve(stream, self.fronts.room(place))
    }

    /// Serves one connection to its end.
    pub(crate) fn serve(
        &self,
        stream: UnixStream,
        room: ConnectionPermit,
    ) -> impl Future<Output = ()> + Send + use<> {
        ScriptschnellConnection::new(self.clone(), stream, room).run()
    }
}
