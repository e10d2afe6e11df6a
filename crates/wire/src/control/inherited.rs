//! How programs of an agent connect to the daemon: over a socket that they inherit instead of one that they open.
//!
//! The socket is of the kind `SOCK_SEQPACKET`; the environment variable [`swb_types::CONNECTION_VARIABLE`] holds the
//! number of its descriptor. A program sends [`CONNECT`] with one descriptor, an end of a pair of such sockets. The
//! daemon replies over that pair: [`CONNECTED`] with the descriptor of a new stream, which carries the control protocol,
//! or [`FULL`] without one. A packet is whole or not there, so any number of processes can share the socket.

/// Requests a connection; comes with the descriptor to which the daemon replies.
pub const CONNECT: &[u8] = b"connect";
/// The reply: the connection's descriptor comes with it.
pub const CONNECTED: &[u8] = b"connected";
/// The reply if the agent has as many connections as it may have.
pub const FULL: &[u8] = b"full";
/// Bytes that hold each of these packets, and one more, so that a longer one is recognised.
pub const PACKET: usize = 16;
