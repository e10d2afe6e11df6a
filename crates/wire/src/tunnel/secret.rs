//! The secret of a tunnel, and the codes that prove that a peer knows it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::Sha256;
use std::borrow::Cow;
use std::fmt;

/// Names a tunnel: 8 to 64 letters, digits, `-` and `_`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct TunnelId(String);

impl TunnelId {
    /// Checks a name.
    pub fn new(text: &str) -> Option<Self> {
        let valid = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        ((8..=64).contains(&text.len()) && text.bytes().all(valid)).then(|| Self(text.to_owned()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TunnelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for TunnelId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        Self::new(&text)
            .ok_or_else(|| de::Error::custom("a tunnel's name has 8 to 64 letters, digits, '-' and '_'"))
    }
}

/// 32 random bytes that only the two ends of a tunnel know. It is never printed by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret([u8; 32]);

impl Secret {
    /// Takes random bytes.
    pub fn new(random: [u8; 32]) -> Self {
        Self(random)
    }

    /// Reads a secret from a URL.
    pub fn parse(text: &str) -> Option<Self> {
        URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok().map(Self)
    }

    /// The secret as it stands in a URL.
    pub fn reveal(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }

    /// What proves that a request for the offer comes from a peer that knows the secret.
    pub fn offer_code(&self, tunnel: &TunnelId) -> String {
        self.code(&format!("offer\n{tunnel}\n"))
    }

    /// What proves the same of an answer.
    pub fn answer_code(&self, tunnel: &TunnelId) -> String {
        self.code(&format!("answer\n{tunnel}\n"))
    }

    /// What the host shows a rendezvous server, to get the answer that waits under this short code.
    pub fn rendezvous_host_code(&self, short_code: &str) -> String {
        self.code(&format!("rendezvous-host\n{short_code}\n"))
    }

    /// What the peer shows there, to get the offer.
    pub fn rendezvous_peer_code(&self, short_code: &str) -> String {
        self.code(&format!("rendezvous-peer\n{short_code}\n"))
    }

    /// The peer's proof; the fingerprints are those of the certificates in offer and answer.
    pub fn peer_code(&self, offered: &str, answered: &str) -> String {
        self.code(&format!("peer\n{offered}\n{answered}\n"))
    }

    /// The host's proof.
    pub fn host_code(&self, offered: &str, answered: &str) -> String {
        self.code(&format!("host\n{offered}\n{answered}\n"))
    }

    /// Whether a code is that of a request for the offer.
    pub fn is_offer_code(&self, tunnel: &TunnelId, code: &str) -> bool {
        same_code(&self.offer_code(tunnel), code)
    }

    /// Whether a code is that of an answer.
    pub fn is_answer_code(&self, tunnel: &TunnelId, code: &str) -> bool {
        same_code(&self.answer_code(tunnel), code)
    }

    /// A key for another purpose that reveals nothing about the secret.
    pub fn derived_key(&self, purpose: &str) -> [u8; 32] {
        self.keyed(purpose).finalize().into_bytes().into()
    }

    fn code(&self, text: &str) -> String {
        URL_SAFE_NO_PAD.encode(self.keyed(text).finalize().into_bytes())
    }

    fn keyed(&self, text: &str) -> Hmac<Sha256> {
        // A short key counts as if zeros followed it up to the length of a block.
        let mut block = [0; 64];
        if let Some(key) = block.first_chunk_mut() {
            *key = self.0;
        }
        let mut mac = <Hmac<Sha256> as Mac>::new(&block.into());
        mac.update(b"swb-tunnel-1 ");
        mac.update(text.as_bytes());
        mac
    }
}

/// Compares codes in a time that does not depend on where they differ.
pub(super) fn same_code(expected: &str, given: &str) -> bool {
    use subtle::ConstantTimeEq;
    expected.as_bytes().ct_eq(given.as_bytes()).into()
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.reveal())
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| de::Error::custom("a secret is 32 bytes in base64url"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_follow_the_contract() {
        let secret = Secret::new([7; 32]);
        let id = TunnelId::new("abcdefgh").unwrap();
        // HMAC-SHA256 of "swb-tunnel-1 offer\nabcdefgh\n" with 32 bytes 0x07, computed with Python's hmac module.
        assert_eq!(secret.offer_code(&id), "EKf9djz_QNH6FvAe4MSLfVZPZyuFVlqcee9AgwCG3IQ");
        let codes = [
            secret.offer_code(&id),
            secret.answer_code(&id),
            secret.peer_code("A", "B"),
            secret.host_code("A", "B"),
        ];
        assert!((0..4).all(|a| (0..4).all(|b| a == b || codes[a] != codes[b])));
        assert!(codes.iter().all(|code| code.len() == 43));
    }

    #[test]
    fn a_secret_is_shown_only_on_request() {
        let secret = Secret::new([255; 32]);
        assert_eq!(format!("{secret:?}"), "Secret(..)");
        assert_eq!(Secret::parse(&secret.reveal()), Some(secret));
        assert_eq!(Secret::parse("short"), None);
    }

    #[test]
    fn names_of_tunnels_can_stand_in_a_path() {
        assert!(TunnelId::new("a-b_C123").is_some());
        for bad in ["", "short", "with/slash", "has space1", &"x".repeat(65)] {
            assert_eq!(TunnelId::new(bad), None, "{bad}");
        }
    }
}
