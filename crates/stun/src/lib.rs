//! A client of STUN (RFC 8489) and TURN (RFC 8656) servers over UDP, without sockets, clock, threads or random numbers of
//! its own: the caller passes datagrams, the time and random bytes, and sends what it gets.
//!
//! * [`url`]: addresses of servers as users write them;
//! * [`Binding`]: asks a STUN server which address it sees;
//! * [`Allocation`]: a relayed address at a TURN server, and datagrams to and from peers through it;
//! * [`message`]: the codec of both.
//!
//! One instance is for one server address and one local socket. Its caller passes only datagrams that came from that
//! server's address: replies are recognised by their transaction, but what a TURN server relays has no other mark.

pub mod address;
mod allocation;
mod binding;
mod crc;
mod error;
pub mod integrity;
pub mod limits;
pub mod message;
mod schedule;
pub mod url;

pub use allocation::{Allocation, AllocationEvent, Received, RelayFamily, SendError};
pub use binding::{Binding, keepalive};
pub use error::{StunError, TurnError};
pub use integrity::Credentials;
pub use message::{ErrorReply, TransactionId, is_channel_data, is_stun};
pub use url::{ServerKind, ServerUrl, UrlError};
