//! The scriptschnell front: conversations with agents, one JSON object per line.
//!
//! One connection is one `connection::Connection`, which reads, writes and keeps time independently of one another. A
//! `peer::Peer` obeys the requests in order; a `seat::Seat` is its place at a session, whose task passes on what
//! happens there in the words of a `teller::Teller`. What is sent waits in an `outbox::Outbox`. Conversations are the
//! engine's ([`Chats`]).

mod auth;
mod clock;
mod config;
mod connection;
mod errors;
mod history;
mod outbox;
mod peer;
mod seat;
mod sessions;
mod settings;
mod talk;
mod teller;
mod throttle;
mod voice;
mod workspaces;

pub use settings::{AuthMethod, Settings};

use crate::conn::Fronts;
use connection::Connection;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use swb_engine::chat::Chats;

/// Label of this front.
pub const LABEL: &str = "scriptschnell";

/// The scriptschnell front.
#[derive(Debug, Clone)]
pub struct ScriptSchnell {
    chats: Chats,
    fronts: Fronts,
    settings: Arc<Settings>,
}

impl ScriptSchnell {
    /// Makes the front; [`ScriptSchnell::listen`] opens its socket.
    pub fn new(chats: Chats, fronts: Fronts, settings: Settings) -> Self {
        Self { chats, fronts, settings: Arc::new(settings) }
    }

    /// Serves the connections of a listening socket until the daemon stops.
    pub fn listen(&self, listener: OwnedFd) -> io::Result<()> {
        let settings = Arc::clone(&self.settings);
        let admit = move |uid, gid, ours| settings.admits(uid, gid, ours);
        let front = self.clone();
        let serve = move |stream, room| {
            let connection = Connection::new(front.clone(), stream);
            async move {
                connection.run().await;
                drop(room);
            }
        };
        let most = self.settings.max_connections;
        self.fronts.accept_if(listener, self.fronts.stop.clone(), most, admit, serve)
    }
}
