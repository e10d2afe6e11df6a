//! The coop front: JSON commands, then a terminal stream on the same connection.
//!
//! It also is the control protocol of our own command line, on a socket of its own; what that needs
//! beyond coop is optional fields and commands (`docs/protocols/coop.md`). One connection is one
//! [`connection::Connection`]; commands are in `commands.rs`, `screen.rs`, `turns.rs`, `typing.rs`, `following.rs` and
//! `chat.rs`, stream mode is in `stream.rs`.

mod chat;
mod commands;
mod connection;
mod coopfile;
mod errors;
mod following;
mod items;
mod screen;
mod stream;
mod turns;
mod typing;

use crate::conn::Fronts;
use crate::limits;
use connection::Connection;
use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use swb_engine::Engine;
use swb_engine::chat::Chats;
use swb_wire::control::StatusReply;

/// Label of this front, and of the sessions it makes from Coopfiles.
pub const LABEL: &str = "coop";
/// Label of sessions made from a command line.
pub const RUN: &str = "run";

/// Whose socket a connection came through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// That of coop's clients.
    Coop,
    /// That of our own command line, from which no session is hidden.
    Control,
}

/// What the front asks of the daemon around it.
pub trait Host: Send + Sync {
    /// How the daemon is doing.
    fn status(&self) -> StatusReply;

    /// Begins an orderly stop; returns at once.
    fn shut_down(&self);

    /// Checks that the program at `exe` (or the present one) can take over, and keeps it in mind.
    fn prepare_upgrade(
        &self,
        exe: Option<PathBuf>,
        keeper: bool,
    ) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send + '_>>;

    /// Lets it take over; returns at once.
    fn upgrade(&self);
}

/// What all connections of the front share.
#[derive(Clone)]
pub struct Coop {
    engine: Engine,
    fronts: Fronts,
    host: Arc<dyn Host>,
    settings: Arc<Settings>,
    /// Conversations, for our own command line.
    chats: Option<Chats>,
}

/// What the daemon knows and the front needs.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Settings {
    /// Environment of the daemon; agents get it (CO-28).
    pub env: BTreeMap<String, String>,
    /// File mode creation mask of agents.
    pub umask: u32,
    /// The user's own Coopfile.
    pub default_coopfile: PathBuf,
}

impl Settings {
    /// Puts the settings together.
    pub fn new(env: BTreeMap<String, String>, umask: u32, default_coopfile: PathBuf) -> Self {
        Self { env, umask, default_coopfile }
    }
}

impl Coop {
    /// Makes the front; [`Coop::listen`] opens its sockets.
    pub fn new(engine: Engine, fronts: Fronts, host: Arc<dyn Host>, settings: Settings) -> Self {
        Self { engine, fronts, host, settings: Arc::new(settings), chats: None }
    }

    /// Adds the conversations with agents, which our own command line can look after.
    #[must_use]
    pub fn with_chats(mut self, chats: Chats) -> Self {
        self.chats = Some(chats);
        self
    }

    /// Serves the connections of a listening socket until the daemon stops.
    pub fn listen(&self, listener: OwnedFd, door: Door) -> io::Result<()> {
        let coop = self.clone();
        let serve = move |stream, room| {
            let connection = Connection::new(coop.clone(), door, stream);
            async move {
                connection.run().await;
                drop(room);
            }
        };
        self.fronts.accept(listener, self.fronts.stop.clone(), limits::CONNECTIONS, serve)
    }
}
