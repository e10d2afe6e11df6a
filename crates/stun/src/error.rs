//! What can go wrong, in words for users.

use crate::limits;
use crate::message::ErrorReply;
use core::net::SocketAddr;

/// Why a STUN server did not report an address.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum StunError {
    /// No reply to any of the retransmissions.
    #[error(
        "the STUN server did not reply within {} s: check its address, and that no firewall blocks UDP",
        limits::REQUEST.as_secs()
    )]
    TimedOut,
    /// An error instead of an address.
    #[error("the STUN server replied with {0}")]
    Refused(ErrorReply),
    /// An invalid reply.
    #[error("the STUN server sent an invalid reply: {0}")]
    Invalid(&'static str),
}

/// Why there is no relayed address, or why a peer cannot be reached through it.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum TurnError {
    /// No reply to any of the retransmissions.
    #[error(
        "the TURN server did not reply within {} s: check its address, and that no firewall blocks UDP",
        limits::REQUEST.as_secs()
    )]
    TimedOut,
    /// 401, and there are no credentials.
    #[error("the TURN server requires a user name and a password: write turn:USER:PASSWORD@HOST")]
    CredentialsMissing,
    /// 401 to a signed request.
    #[error("the TURN server rejected the user name or the password")]
    Credentials,
    /// 437 to the first request.
    #[error("the TURN server already has an allocation for this port: try again with another local port")]
    Mismatch,
    /// 300.
    #[error("the TURN server refers to another one{}", .0.map(|to| format!(": use {to}")).unwrap_or_default())]
    Alternate(Option<SocketAddr>),
    /// 440.
    #[error("the TURN server has no relayed addresses of the requested family (IPv4 or IPv6)")]
    Family,
    /// 486.
    #[error("the TURN server's quota for this user is used up: close other tunnels, or try again later")]
    Quota,
    /// 508.
    #[error("the TURN server has no free relayed addresses: try again later, or another server")]
    Capacity,
    /// 403 to a request about a peer: one that the server does not relay to.
    #[error("the TURN server does not relay to this peer")]
    Forbidden,
    /// Any other error.
    #[error("the TURN server replied with {0}")]
    Refused(ErrorReply),
    /// An invalid reply.
    #[error("the TURN server sent an invalid reply: {0}")]
    Invalid(&'static str),
    /// The server no longer has the allocation, or did not refresh it in time.
    #[error("the relayed address at the TURN server is lost: connect again")]
    Lost,
}

impl From<ErrorReply> for TurnError {
    fn from(reply: ErrorReply) -> Self {
        match reply.code {
            401 => Self::Credentials,
            437 => Self::Mismatch,
            440 => Self::Family,
            486 => Self::Quota,
            508 => Self::Capacity,
            _ => Self::Refused(reply),
        }
    }
}
