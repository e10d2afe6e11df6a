//! Bounds of the tunnel transport, with their reasons.

use std::time::Duration;

/// Tunnels at once.
pub(crate) const TUNNELS: usize = 16;
/// Terminals that one peer has open.
pub(crate) const TERMINALS: usize = 32;
/// Bytes of a message, either way: what every implementation of data channels can take.
pub(crate) const MESSAGE: usize = 65_536;
/// Bytes of a message that a peer has to take: the texts of errors fit.
pub(crate) const MESSAGE_LEAST: usize = 1024;
/// Bytes of a message that we let arrive, so that a longer one than allowed gets an error and not the end of everything.
pub(crate) const MESSAGE_RECEIVED: u32 = 262_144;
/// Bytes of output of one terminal that the peer has not acknowledged: a slow peer is repainted instead of served late.
pub(crate) const UNACKNOWLEDGED: u64 = 1 << 20;
/// Bytes that wait in the connection for all channels together: enough to keep a fast link busy, and little enough that a key's
/// echo does not wait long behind them.
pub(crate) const BUFFERED: usize = 512 * 1024;
/// Messages of terminals that wait for room in the connection.
pub(crate) const OUTPUT_QUEUE: usize = 4;
/// Replies and events that wait for the peer.
pub(crate) const REPLIES: usize = 64;
/// Bytes of commands and of input that wait, for all channels together: a large paste fits.
pub(crate) const INPUT: usize = 16 << 20;
/// Commands, or messages of one terminal, that wait: as many as there is room for, since each counts for 64 bytes at least.
pub(crate) const COMMANDS: usize = INPUT / 64;
/// How long a peer may take to connect after its answer was accepted: slow phones and several attempts of ICE.
pub(crate) const CONNECT: Duration = Duration::from_secs(60);
/// How long a peer looks for a host that does not reply, before it begins again: less than ICE and DTLS take to give up.
pub(crate) const ATTEMPT: Duration = Duration::from_secs(10);
/// How long a peer may take for its proof.
pub(crate) const PROOF: Duration = Duration::from_secs(10);
/// How long a peer is waited for that cannot be reached any more. ICE takes about 20 s to notice, which makes 60 s in all.
pub(crate) const UNREACHABLE: Duration = Duration::from_secs(40);
/// How long the last words to a peer may take.
pub(crate) const GOODBYE: Duration = Duration::from_secs(2);
/// How long input may take to be delivered after the peer has left: a program may be busy, and what was typed counts.
pub(crate) const DELIVER: Duration = Duration::from_secs(10);
/// How long a channel has to be quiet before it is closed, and how long that is awaited at most.
pub(crate) const LINGER: Duration = Duration::from_millis(200);
pub(crate) const LINGER_MOST: Duration = Duration::from_secs(3);
/// Datagrams read before anything else is done.
pub(crate) const DATAGRAMS: u32 = 64;
/// Bytes of a datagram: more than any path carries in one piece.
pub(crate) const DATAGRAM: usize = 2048;
/// Bytes that the kernel may hold for a socket, as far as it lets us.
pub(crate) const SOCKET_BUFFER: usize = 4 << 20;
/// Addresses of this machine that are offered.
pub(crate) const ADDRESSES: usize = 16;
/// How long STUN servers may take to reply before an offer is made without them.
pub(crate) const GATHER: Duration = Duration::from_secs(2);
/// The same for a TURN server, without which there may be no way at all.
pub(crate) const GATHER_RELAY: Duration = Duration::from_secs(8);
/// Questions to STUN servers: those of a few servers about a few addresses.
pub(crate) const MAPPINGS: usize = 32;
/// Pieces of output sent for one terminal before others are served.
pub(crate) const PIECES_PER_TURN: u32 = 16;
/// Bytes of the file with the machine's id.
pub(crate) const MACHINE_ID: u64 = 256;
/// Messages of the host that wait for a program of this machine: what it may send unacknowledged, in small messages.
pub(crate) const GUEST_MESSAGES: usize = 4096;
/// Bytes of output after which a program that reads all the time acknowledges them.
pub(crate) const ACKNOWLEDGE: u64 = 64 * 1024;
/// How long a rendezvous server may take to reply.
pub(crate) const RENDEZVOUS: Duration = Duration::from_secs(5);
/// How long it may take to say that there is no answer yet: more than it waits itself.
pub(crate) const RENDEZVOUS_POLL: Duration = Duration::from_secs(40);
/// Pause before a server is asked again that could not be reached.
pub(crate) const RENDEZVOUS_PAUSE: Duration = Duration::from_secs(2);
/// Bytes of its reply.
pub(crate) const RENDEZVOUS_REPLY: usize = 64 * 1024;
/// Short codes that are tried when others are in use.
pub(crate) const RENDEZVOUS_CODES: u32 = 3;
