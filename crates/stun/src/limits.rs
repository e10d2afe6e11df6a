//! Every limit and timeout of the client, with its reason. A server is a stranger: it may send anything.

use std::time::Duration;

/// When a request is sent again if there is no reply: RFC 8489 begins with half a second and doubles it. It would go on for
/// 39 s; a user who waits for a tunnel is better served by an error.
pub const RETRANSMISSIONS: [Duration; 3] =
    [Duration::from_millis(500), Duration::from_millis(1500), Duration::from_millis(3500)];
/// When a request without reply has failed. The last retransmission has as long as the first two together.
pub const REQUEST: Duration = Duration::from_secs(5);
/// How often a binding is repeated to keep it: NATs forget one of UDP after 30 s at the earliest, and one may get lost.
pub const KEEPALIVE: Duration = Duration::from_secs(15);

/// Bytes of a user name: RFC 8489 has fewer than 509.
pub const USERNAME: usize = 508;
/// Bytes of a password: as for the user name, of which TURN services derive it.
pub const PASSWORD: usize = 508;
/// Bytes of a realm or a nonce: RFC 8489 has at most 763. They are sent back with every request.
pub const REALM: usize = 763;
/// Characters kept of the reason that a server gives for an error: RFC 8489 has fewer than 128.
pub const REASON: usize = 127;
/// Characters of a URL: a host name has 253 at most, and user and password may be escaped.
pub const URL: usize = 4096;
/// Characters of a host name, as DNS has it.
pub const HOST: usize = 253;

/// How often one request is signed anew because the nonce is stale: a nonce is fresh when it is given, so a second time is
/// already odd.
pub const NEW_NONCES: u8 = 3;
/// Lifetime of an allocation that is believed: a server that promises more is asked again after this time.
pub const LONGEST_LIFETIME: Duration = Duration::from_secs(3600);
/// Lifetime below which an allocation is of no use: it would be refreshed all the time.
pub const SHORTEST_LIFETIME: Duration = Duration::from_secs(10);
/// How long before its end a lifetime is refreshed, unless half of it is less: time for a dozen attempts.
pub const REFRESH_BEFORE: Duration = Duration::from_secs(60);
/// Pause after a refresh, renewal or binding that the server did not grant for a passing reason.
pub const RETRY: Duration = Duration::from_secs(5);
/// How long a permission lasts at the server (RFC 8656).
pub const PERMISSION: Duration = Duration::from_secs(300);
/// How long a channel stays bound at the server (RFC 8656).
pub const CHANNEL: Duration = Duration::from_secs(600);
/// How long after its end a channel's number and peer must not be combined otherwise (RFC 8656).
pub const CHANNEL_REST: Duration = Duration::from_secs(300);
/// How long nothing was sent to a peer whose permission and channel are no longer renewed. ICE sends every few seconds.
pub const PEER_IDLE: Duration = Duration::from_secs(180);
/// How long a peer that the server refused is not requested again: datagrams to it would each cause a request.
pub const REFUSED: Duration = Duration::from_secs(60);

/// Addresses with a permission, requested, granted or refused: peers of a tunnel have a dozen candidates at most, and a
/// server allows not many more.
pub const PERMISSIONS: usize = 64;
/// Peers with a channel; others are sent to with indications, which works as well with 32 bytes more.
pub const CHANNELS: usize = 64;
/// Bytes of one datagram to a peer: more than fits the paths on which DTLS is used.
pub const PAYLOAD: usize = 2048;
/// Datagrams that wait for permissions: the checks that ICE sends at once, or a flight of DTLS.
pub const WAITING: usize = 32;
/// Datagrams for peers that wait to be sent: the caller takes them after each call.
pub const OUTGOING: usize = 256;
/// Requests that wait to be sent: each peer's two and the allocation's own. What exceeds it is retransmitted later.
pub const OUTGOING_REQUESTS: usize = 2 * PERMISSIONS + 4;
/// Events that wait to be taken: one for each permission, and the allocation's own two.
pub const EVENTS: usize = PERMISSIONS + 2;
