//! The first messages over a tunnel: each end proves that it knows the secret and sees the certificates that were agreed on.

use super::Secret;
use super::secret::same_code;
use crate::control::{ErrorCode, ErrorReply};
use crate::text::clip;
use serde::{Deserialize, Deserializer, Serialize};
use swb_types::Role;

/// Characters of a peer's name.
const NAME: usize = 64;

/// The peer's first message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerProof {
    proof: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// *Addition*: whether the peer wants to be told why the tunnel ends.
    #[serde(default, deserialize_with = "flag", skip_serializing_if = "std::ops::Not::not")]
    events: bool,
}

impl PeerProof {
    /// The proof of a peer that sees these certificates, and wants to be told why the tunnel ends.
    pub fn new(secret: &Secret, offered: &str, answered: &str, name: Option<String>) -> Self {
        Self { proof: secret.peer_code(offered, answered), name, events: true }
    }

    /// Reads a first message; `None` if it is none.
    pub fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Whether it proves what it should.
    pub fn holds(&self, secret: &Secret, offered: &str, answered: &str) -> bool {
        same_code(&secret.peer_code(offered, answered), &self.proof)
    }

    /// Whether the peer wants to be told why the tunnel ends.
    pub fn wants_events(&self) -> bool {
        self.events
    }

    /// The peer's name, as far as it can be shown: no control characters, and not too long.
    pub fn name(&self) -> Option<String> {
        let plain: String =
            self.name.as_deref()?.chars().filter(|char| !char.is_control()).take(NAME).collect();
        let plain = clip(plain.trim(), NAME * 4).to_owned();
        (!plain.is_empty()).then_some(plain)
    }
}

/// Anything but `true` counts as its absence: a proof is not wrong for the sake of an addition.
fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(serde_json::Value::deserialize(deserializer)? == serde_json::Value::Bool(true))
}

/// The host's reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostProof {
    ok: bool,
    proof: String,
    /// What the peer may do.
    pub role: Role,
    /// The one session that it is limited to.
    pub session: Option<String>,
}

impl HostProof {
    /// The proof of the host.
    pub fn new(secret: &Secret, offered: &str, answered: &str, role: Role, session: Option<String>) -> Self {
        Self { ok: true, proof: secret.host_code(offered, answered), role, session }
    }

    /// Whether it proves what it should.
    pub fn holds(&self, secret: &Secret, offered: &str, answered: &str) -> bool {
        self.ok && same_code(&secret.host_code(offered, answered), &self.proof)
    }
}

/// The reply to a peer that proves nothing.
pub fn failed_proof(why: &str) -> ErrorReply {
    ErrorReply::new(ErrorCode::ProofFailed, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_holds_for_its_certificates_and_direction_only() {
        let secret = Secret::new([1; 32]);
        let peer = PeerProof::new(&secret, "AA", "BB", None);
        assert!(peer.holds(&secret, "AA", "BB"));
        assert!(!peer.holds(&secret, "AA", "CC") && !peer.holds(&secret, "BB", "AA"));
        assert!(!peer.holds(&Secret::new([2; 32]), "AA", "BB"));
        let host = HostProof::new(&secret, "AA", "BB", Role::Watch, None);
        assert!(host.holds(&secret, "AA", "BB") && !host.holds(&secret, "AA", "CC"));
        let reflected = PeerProof { proof: host.proof, name: None, events: false };
        assert!(!reflected.holds(&secret, "AA", "BB"), "a proof of the host is none of the peer");
    }

    #[test]
    fn names_lose_control_characters() {
        let named = |name: &str| {
            PeerProof { proof: String::new(), name: Some(name.to_owned()), events: false }.name()
        };
        assert_eq!(named("phone\u{1b}[31m\n\u{9b}"), Some("phone[31m".to_owned()));
        assert_eq!(named("\n \u{7}"), None);
        assert_eq!(named(&"é".repeat(500)).map(|name| name.chars().count()), Some(64));
    }

    #[test]
    fn a_peer_asks_for_the_reason_of_the_end() {
        let asks = |text: &str| PeerProof::parse(text).map(|proof| proof.wants_events());
        assert_eq!(asks(r#"{"proof":"x","events":true}"#), Some(true));
        for other in [r#"{"proof":"x"}"#, r#"{"proof":"x","events":false}"#, r#"{"proof":"x","events":[1]}"#]
        {
            assert_eq!(asks(other), Some(false), "{other}");
        }
    }

    #[test]
    fn only_an_object_with_a_proof_is_a_first_message() {
        assert!(PeerProof::parse(r#"{"proof":"x","name":"phone","more":1}"#).is_some());
        for other in ["", "{}", r#"{"cmd":"ls"}"#, r#"{"proof":1}"#, "[]", "null"] {
            assert_eq!(PeerProof::parse(other), None, "{other}");
        }
    }
}
