//! Operations for tunnels: connections from anywhere, without a server between the two ends.

use super::Base64;
use super::operation::{is_false, null_as_default};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use swb_types::Role;

/// Creates a tunnel (CO-47).
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Tunnel {
    /// Name or workspace. *Addition*: without it, the tunnel reaches all sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// *Addition*: what the peer may do; `drive` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// *Addition*: STUN servers to use instead of the configured ones; an empty list for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stun: Option<Vec<String>>,
    /// *Addition*: a TURN server to use instead of the configured one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// *Addition*: seconds to wait for a peer; 300 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
    /// *Addition*: send an event when a peer connects and when the tunnel ends, and end it with this connection.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "is_false")]
    pub follow: bool,
}

/// Reply to `tunnel` (CO-47).
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct TunnelReply {
    /// Always true.
    pub ok: bool,
    /// *Addition*: the tunnel's name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tunnel: String,
    /// The SDP offer.
    pub offer_sdp: Base64,
    /// Code to type.
    pub short_code: String,
    /// Text to show as a QR code: a URL that contains the whole offer.
    pub qr_data: String,
    /// *Addition*: a shorter URL for the same, if a web server of ours or a rendezvous server has the offer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub short_url: Option<String>,
    /// *Addition*: until when the tunnel waits for a peer, in Unix milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
}

/// *Addition*: events after the reply to `tunnel` with `follow`.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum TunnelEvent {
    /// A peer has proved that it knows the secret.
    Connected {
        /// The tunnel.
        tunnel: String,
        /// Who connected: its name, or its address.
        peer: String,
    },
    /// The tunnel has ended.
    Closed {
        /// The tunnel.
        tunnel: String,
        /// Why.
        reason: TunnelEnd,
        /// The same for people, where there is more to say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
}

/// Why a tunnel ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TunnelEnd {
    /// The peer has left.
    Peer,
    /// No peer connected in time.
    Expired,
    /// It was revoked.
    Revoked,
    /// The peer did not prove that it knows the secret, or sent more than can be handled.
    Refused,
    /// Its session has ended.
    Session,
    /// The daemon stops.
    Daemon,
}

impl fmt::Display for TunnelEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Peer => "the peer has left",
            Self::Expired => "no peer connected in time",
            Self::Revoked => "it was revoked",
            Self::Refused => "the peer was refused",
            Self::Session => "the session has ended",
            Self::Daemon => "the daemon stops",
        })
    }
}

/// *Addition*: gives a tunnel the answer of its peer.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct TunnelAnswer {
    /// The answer, as the peer shows it.
    pub answer: String,
}

/// *Addition*: lists tunnels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Tunnels {}

/// *Addition*: reply to `tunnels`.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct TunnelsReply {
    /// Always true.
    pub ok: bool,
    /// Tunnels, oldest first.
    pub tunnels: Vec<TunnelItem>,
}

/// *Addition*: one tunnel in a list.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct TunnelItem {
    /// Its name.
    pub tunnel: String,
    /// The one session that it reaches.
    pub session: Option<String>,
    /// What the peer may do.
    pub role: Role,
    /// Whether a peer is connected.
    pub state: TunnelState,
    /// Who is connected.
    pub peer: Option<String>,
}

/// *Addition*: whether a tunnel has a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TunnelState {
    /// It waits for one.
    Waiting,
    /// One has proved that it knows the secret.
    Connected,
}

impl fmt::Display for TunnelState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Waiting => "waiting",
            Self::Connected => "connected",
        })
    }
}

/// *Addition*: ends a tunnel.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct TunnelRevoke {
    /// Its name.
    pub tunnel: String,
}
