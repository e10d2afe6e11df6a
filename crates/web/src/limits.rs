//! Bounds of the web transport, with their reasons.

use std::time::Duration;

/// Web servers at once; a person needs one or two.
pub(crate) const SERVERS: usize = 16;
/// Open connections of all servers that have shown a valid token: a browser opens a handful for each page.
pub(crate) const CONNECTIONS: usize = 1024;
/// Connections that one token may have, an owner's apart: all pages of a person and a script, and not all places.
pub(crate) const TOKEN_CONNECTIONS: usize = 256;
/// Connections that have not shown a valid token. A further one displaces another, so that peers without a token cannot
/// lock out the rest; enough for hundreds that connect at once.
pub(crate) const STRANGERS: usize = 512;
/// How long a peer may take to send the body of a request.
pub(crate) const REQUEST_BODY: Duration = Duration::from_secs(10);
/// How long a peer may take for a TLS handshake or for the head of a request.
pub(crate) const REQUEST_HEAD: Duration = Duration::from_secs(10);
/// Bytes of a request's head.
pub(crate) const REQUEST_HEAD_BYTES: usize = 64 * 1024;
/// Bytes of a request's body or of a WebSocket message: as much as a frame of the control socket.
pub(crate) const MESSAGE: usize = swb_wire::control::MAX_FRAME;
/// Bytes of a message of a conversation, as on its own socket (SS-7).
pub(crate) const CHAT_MESSAGE: usize = 16 << 20;
/// Conversations over the web at once.
pub(crate) const CONVERSATIONS: usize = 64;
/// Replies and events that wait for one connection.
pub(crate) const OUTBOUND: usize = 64;
/// How long a peer may read nothing although replies or events wait for it.
pub(crate) const STALL: Duration = Duration::from_secs(30);
/// Pause after an error of `accept`, such as too many open files: soon enough for a client, too seldom to use a core.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Bytes of a token that a user has chosen: it has to fit into a header and an address.
pub(crate) const TOKEN: usize = 256;
/// Pause between two pings.
pub(crate) const PING: Duration = Duration::from_secs(30);
/// A WebSocket on which nothing arrives for this long, not even the reply to a ping, is closed.
pub(crate) const SILENCE: Duration = Duration::from_secs(95);
/// How long a closing message may take.
pub(crate) const GOODBYE: Duration = Duration::from_secs(2);
/// How long a browser keeps a sign-in: a phone should not ask for a token each morning. Revoking the token ends it at once.
pub(crate) const COOKIE: Duration = Duration::from_secs(30 * 24 * 3600);
/// First delay after a wrong token; it doubles with each further one of the same address.
pub(crate) const FAILURE_DELAY: Duration = Duration::from_millis(100);
/// Longest delay after a wrong token: the reply comes within two seconds, with room for a busy machine.
pub(crate) const FAILURE_DELAY_MOST: Duration = Duration::from_millis(1500);
/// After this time without a wrong token, an address is forgotten.
pub(crate) const FAILURE_MEMORY: Duration = Duration::from_secs(600);
/// Addresses whose wrong tokens are remembered.
pub(crate) const FAILURE_ADDRESSES: usize = 1024;
/// Addresses of this machine that a reply names: more than a person would try.
pub(crate) const ADDRESSES: usize = 8;
/// How long the name of a host may take to resolve.
pub(crate) const RESOLVE: Duration = Duration::from_secs(5);
/// Pieces of output sent to one client before others are served.
pub(crate) const PIECES_PER_TURN: u32 = 16;
/// Bytes of a picture in one message.
pub(crate) const PICTURE_PIECE: usize = 256 * 1024;
/// How long the files of the certificate may take to read or write.
pub(crate) const CERTIFICATE: Duration = Duration::from_secs(5);
/// Bytes of such a file.
pub(crate) const CERTIFICATE_BYTES: u64 = 64 * 1024;
