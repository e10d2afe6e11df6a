//! Long-term credentials, and the keys made of them (RFC 8489, section 9.2).
//!
//! MD5 and SHA-1 are what TURN servers have in common; the stronger algorithms of RFC 8489 are hardly implemented. What a
//! tunnel carries is encrypted end to end anyway: these credentials guard the relay's bandwidth, not its content.

use crate::limits;
use hmac::{Hmac, Mac};
use md5::{Digest, Md5};
use sha1::Sha1;
use std::fmt;

/// Bytes of an HMAC-SHA1.
pub(crate) const TAG: usize = 20;

/// A user name and a password. `Debug` leaves the password out.
#[derive(Clone, Eq, PartialEq)]
pub struct Credentials {
    username: String,
    password: String,
}

impl Credentials {
    /// `None` if one of them is empty or too long.
    pub fn new(username: impl Into<String>, password: impl Into<String>) -> Option<Self> {
        let (username, password) = (username.into(), password.into());
        let fits = (1..=limits::USERNAME).contains(&username.len())
            && (1..=limits::PASSWORD).contains(&password.len());
        fits.then_some(Self { username, password })
    }

    /// The user name, which requests contain as it is.
    pub fn username(&self) -> &str {
        &self.username
    }

    /// The password, which never leaves this machine.
    pub fn password(&self) -> &str {
        &self.password
    }

    /// The key for requests to a server with this realm.
    pub fn key(&self, realm: &[u8]) -> IntegrityKey {
        let mut digest = Md5::new();
        for part in [self.username.as_bytes(), b":", realm, b":", self.password.as_bytes()] {
            digest.update(part);
        }
        IntegrityKey::new(&digest.finalize())
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("username", &self.username).finish_non_exhaustive()
    }
}

/// What signs messages and verifies signatures. `Debug` shows nothing of it.
#[derive(Clone)]
pub struct IntegrityKey(Hmac<Sha1>);

impl IntegrityKey {
    /// A key of any length: of long-term credentials, or a password between peers (short-term credentials).
    pub fn new(bytes: &[u8]) -> Self {
        // HMAC takes keys of any length; the empty one stands for a failure that it does not have.
        Self(Hmac::new_from_slice(bytes).unwrap_or_else(|_| Hmac::new(&Default::default())))
    }

    pub(crate) fn tag(&self, pieces: &[&[u8]]) -> [u8; TAG] {
        self.over(pieces).finalize().into_bytes().into()
    }

    /// Compares in constant time.
    pub(crate) fn verify(&self, pieces: &[&[u8]], tag: &[u8]) -> bool {
        self.over(pieces).verify_slice(tag).is_ok()
    }

    fn over(&self, pieces: &[&[u8]]) -> Hmac<Sha1> {
        let mut mac = self.0.clone();
        for piece in pieces {
            mac.update(piece);
        }
        mac
    }
}

impl fmt::Debug for IntegrityKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IntegrityKey")
    }
}
