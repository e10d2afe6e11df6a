//! Bounds of a rendezvous server, with their reasons. Together they bound its memory to about 50 MiB.

use std::time::Duration;

/// Offers that wait at once.
pub(super) const OFFERS: usize = 1024;
/// Offers of one address: as many as a daemon has tunnels, for two daemons.
pub(super) const OFFERS_OF_ADDRESS: usize = 32;
/// Characters of a sealed offer or answer: several times what they have.
pub(super) const SEALED: usize = 16 * 1024;
/// Bytes of a request: a sealed offer with its two codes.
pub(super) const BODY: usize = SEALED + 1024;
/// How long an offer waits for its peer and its answer.
pub(super) const LIFETIME: Duration = Duration::from_secs(300);
/// How long a request for an answer waits until the reply is that there is none yet: less than what proxies allow.
pub(super) const POLL: Duration = Duration::from_secs(25);
/// Pause between two looks for offers that have expired.
pub(super) const SWEEP: Duration = Duration::from_secs(10);
/// Open connections: one for each host that waits, and those of peers.
pub(super) const CONNECTIONS: usize = 4096;
/// Open connections of one address.
pub(super) const CONNECTIONS_OF_ADDRESS: usize = 128;
/// Characters of a code that proves something: those of a SHA-256 in base64.
pub(super) const CODE: usize = 64;
