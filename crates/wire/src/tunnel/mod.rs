//! The tunnel: what its two ends exchange before and after they are connected.
//!
//! An [`Envelope`] takes the offer to the other end, in the fragment of a URL; an [`Answer`] comes back. Both ends then
//! prove over the connection that they know the tunnel's [`Secret`], and which certificates they see. From there on, a control
//! channel carries commands as JSON, and each terminal has a channel of its own, whose messages are frames ([`frame`]).
//!
//! Specified in `docs/protocols/tunnel.md`.

mod envelope;
pub mod frame;
mod proof;
pub mod sdp;
mod secret;

pub use envelope::{Answer, BadPack, Envelope, IceServer, VERSION, pack, unpack};
pub use proof::{HostProof, PeerProof, failed_proof};
pub use secret::{Secret, TunnelId};

/// Label of the channel for commands, which the host opens.
pub const CONTROL_LABEL: &str = "coop-control";

/// Label of a terminal's channel.
pub fn terminal_label(session: &str, pty: swb_types::PtyId) -> String {
    format!("coop-pty-{session}-{pty}")
}
