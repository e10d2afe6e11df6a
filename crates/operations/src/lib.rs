//! The operations of Switchboard, executed for a caller.
//!
//! The operations are a closed list of types ([`swb_wire::control::Operation`]). A transport (the control socket, later
//! the web, a tunnel, MCP, editors) reads an operation, calls [`Operations::execute`] for its [`Caller`], and carries
//! the [`Outcome`] back: a reply, and for some operations an open terminal or a stream of events. Whatever two
//! transports would otherwise both decide is decided here.
//!
//! A tour in the order in which an operation travels:
//!
//! 1. `execute.rs` checks the caller against the table in `roles.rs` and calls the one method for the operation.
//! 2. `find.rs` looks up sessions and turns within the caller's scope.
//! 3. One file per subject does the work: `create.rs`, `sessions.rs`, `attach.rs`, `input.rs`, `screen.rs`, `wait.rs`,
//!    `ask.rs`, `turns.rs`, `relay.rs`, `events.rs`, `approvals.rs`, `conversations/`, `workspaces.rs`, `tokens.rs`,
//!    `filter/`, `notify/`, `tunnels.rs`, `daemon.rs`.
//! 4. `reply.rs` builds the reply and keeps it within the size of a frame.
//! 5. `requests.rs` has what transports share whose clients have many requests under way.
//! 6. `terminal/` is what follows an `attach`: output, pictures and events one way, input and resizes the other.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests have threads of their own"))]

mod addresses;
mod approvals;
mod ask;
mod attach;
mod caller;
mod conversations;
mod coopfile;
mod create;
mod daemon;
mod errors;
mod events;
mod execute;
mod filter;
mod find;
mod input;
mod items;
pub mod limits;
pub mod notify;
mod refusals;
mod relay;
mod reply;
pub mod requests;
mod roles;
mod screen;
mod sessions;
mod terminal;
pub mod tokens;
pub mod trust;
mod tunnels;
mod turns;
mod wait;
mod workspaces;

pub use addresses::reachable_addresses;
pub use caller::Caller;
pub use daemon::{Host, HostAction};
pub use events::EventStream;
pub use execute::{accesses_files, waits};
pub use filter::withheld_prompt;
pub use reply::{Outcome, Then};
pub use terminal::{OpenTerminal, Piece, TerminalInput, TerminalOutput};
pub use tunnels::{AnswerError, Later, OpenedTunnel, TunnelEvents, TunnelHost, TunnelRequest};

use filter::InputFilters;
use notify::Notifications;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use swb_engine::chat::Chats;
use swb_engine::{Engine, SessionUid};
use tokens::TokenRegistry;
use tokio_util::task::TaskTracker;

/// Origin of sessions created from Coopfiles, and the front that other coop clients see sessions through.
pub const COOP: &str = "coop";
/// Origin of sessions created from a command line.
pub const RUN: &str = "run";

/// Everything that operations work on.
#[derive(Clone)]
pub struct Operations {
    engine: Engine,
    /// Conversations with agents, if the daemon holds any.
    chats: Option<Chats>,
    host: Arc<dyn Host>,
    settings: Arc<SessionDefaults>,
    tokens: Arc<TokenRegistry>,
    filters: Arc<InputFilters>,
    notifications: Arc<Notifications>,
    /// Owns tasks that outlive their caller, such as the end of a killed session.
    tasks: TaskTracker,
}

/// What new sessions start from.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SessionDefaults {
    /// Environment of the daemon; agents get it (CO-28).
    pub env: BTreeMap<String, String>,
    /// File mode creation mask of agents.
    pub umask: u32,
    /// The user's own Coopfile.
    pub default_coopfile: PathBuf,
    /// The list of directories whose Coopfiles the user trusts.
    pub trust_list: PathBuf,
}

impl SessionDefaults {
    /// Puts the settings together.
    pub fn new(
        env: BTreeMap<String, String>,
        umask: u32,
        default_coopfile: PathBuf,
        trust_list: PathBuf,
    ) -> Self {
        Self { env, umask, default_coopfile, trust_list }
    }
}

impl Operations {
    /// Creates the operations of a daemon.
    pub fn new(engine: Engine, host: Arc<dyn Host>, settings: SessionDefaults, tasks: TaskTracker) -> Self {
        let (tokens, filters, notifications) = Default::default();
        let settings = Arc::new(settings);
        Self { engine, chats: None, host, settings, tokens, filters, notifications, tasks }
    }

    /// Uses these tokens, which transports share.
    #[must_use]
    pub fn with_tokens(mut self, tokens: Arc<TokenRegistry>) -> Self {
        self.tokens = tokens;
        self
    }

    /// The sessions whose input from the web is not filtered, by their unique numbers.
    pub fn unfiltered(&self) -> Vec<SessionUid> {
        self.filters.switched_off()
    }

    /// Restores what [`Operations::unfiltered`] returned in an earlier daemon.
    pub fn restore_unfiltered(&self, sessions: Vec<SessionUid>) {
        self.filters.restore(sessions);
    }

    /// Sends these notifications.
    #[must_use]
    pub fn with_notifications(mut self, notifications: Arc<Notifications>) -> Self {
        self.notifications = notifications;
        self
    }

    /// The notifications.
    pub fn notifications(&self) -> &Notifications {
        &self.notifications
    }

    /// Adds the conversations with agents.
    #[must_use]
    pub fn with_chats(mut self, chats: Chats) -> Self {
        self.chats = Some(chats);
        self
    }
}
