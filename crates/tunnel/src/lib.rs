//! The tunnel transport: sessions from anywhere, over a WebRTC connection without a server between the two ends.
//!
//! It carries operations and terminals between a peer and the daemon, and holds no policy: what a tunnel's peer may do is
//! decided where operations are executed. Each tunnel has a thread of its own, so that none of them delays a terminal.
//!
//! A tour in the order in which a tunnel lives:
//!
//! 1. `tunnels.rs` knows all tunnels: it makes offers, takes answers, and ends them.
//! 2. `network.rs` has the sockets of one tunnel and knows at which addresses the other end may find them; `servers.rs`
//!    asks STUN and TURN servers for more.
//! 3. `link.rs` is one WebRTC connection: datagrams one way, messages of channels the other.
//! 4. `host.rs` is the daemon's end of a tunnel: it waits for an answer, demands a proof, and serves the peer.
//! 5. `commands.rs` executes what the peer requests, `terminal.rs` carries one terminal.
//! 6. `rendezvous.rs` passes offer and answer on through a server that cannot read them (`sealed.rs`), if there is one.
//! 7. `guest.rs` is the other end, for a peer that is a command line.

mod commands;
pub mod guest;
mod host;
pub mod http;
mod limits;
mod link;
mod network;
mod random;
pub mod rendezvous;
mod sealed;
mod servers;
mod terminal;
mod tunnels;

pub use servers::check as check_servers;
pub use tunnels::{TunnelContext, Tunnels};
