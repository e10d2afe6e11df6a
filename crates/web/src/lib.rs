//! The web transport: sessions from a browser, and operations for scripts.
//!
//! It carries operations between clients elsewhere and the daemon, and holds no policy: what a token allows is decided
//! where operations are executed. Requests are read, checked and answered on a thread of its own, so that none of them
//! delays a terminal; operations run where those of all other transports run.
//!
//! A tour in the order in which a request travels:
//!
//! 1. `server.rs` accepts connections, with TLS if asked (`certificate.rs`); `places.rs` bounds their number.
//! 2. `access.rs` checks every request: is it meant for this server (`origin.rs`), and who sends it? `failures.rs`
//!    delays answers to wrong tokens.
//! 3. `site.rs` has the paths: `pages.rs` the page and its files, `rest.rs` coop's REST, `control.rs` operations over a
//!    WebSocket, `terminal.rs` an open terminal, `chat.rs` a conversation,
//!    `signalling.rs` what the peers of tunnels need before they are connected.
//! 4. `servers.rs` knows which addresses are served, and what a later daemon needs to continue.
//!
//! Apart from all this, `rendezvous` is a server of its own, for tunnels between other machines.

mod access;
mod certificate;
mod chat;
mod control;
mod failures;
mod limits;
#[cfg(test)]
mod openapi;
mod origin;
mod pages;
mod places;
pub mod rendezvous;
mod rest;
mod server;
mod servers;
mod signalling;
mod site;
mod socket;
mod terminal;

pub use servers::{KeptServer, KeptServers, ServeError, Servers, WebKeeping};
pub use site::{Converse, Signalling, WebContext};
