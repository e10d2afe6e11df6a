//! Offers and answers that a rendezvous server passes on without being able to read them.
//!
//! AES-256-GCM, which browsers have, too. The key comes from the tunnel's secret; what is sealed names its purpose and the short
//! code, so that the server cannot return an offer as an answer, or another tunnel's.

use crate::random;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use serde::Serialize;
use serde::de::DeserializeOwned;
use swb_wire::tunnel::{Secret, pack, unpack};

/// What is sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Offer,
    Answer,
}

/// Something sealed that cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the data from the rendezvous server is not sealed with this tunnel's secret, or is damaged")]
pub struct NotOurs;

/// Seals a message.
pub(crate) fn seal(secret: &Secret, purpose: Purpose, code: &str, message: &impl Serialize) -> String {
    let nonce: [u8; NONCE_LEN] = random::bytes();
    let mut bytes = pack(message).into_bytes();
    let sealed = key(secret).and_then(|key| {
        let aad = Aad::from(associated(purpose, code));
        key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), aad, &mut bytes).ok()
    });
    // It fails only for messages of gigabytes; nothing is sent then that could be read.
    match sealed {
        Some(()) => URL_SAFE_NO_PAD.encode([&nonce[..], &bytes].concat()),
        None => String::new(),
    }
}

/// Opens a message.
pub(crate) fn open<T: DeserializeOwned>(
    secret: &Secret,
    purpose: Purpose,
    code: &str,
    sealed: &str,
) -> Result<T, NotOurs> {
    let bytes = URL_SAFE_NO_PAD.decode(sealed.trim()).map_err(|_| NotOurs)?;
    let (nonce, rest) = bytes.split_first_chunk::<NONCE_LEN>().ok_or(NotOurs)?;
    let mut rest = rest.to_vec();
    let aad = Aad::from(associated(purpose, code));
    let key = key(secret).ok_or(NotOurs)?;
    let opened =
        key.open_in_place(Nonce::assume_unique_for_key(*nonce), aad, &mut rest).map_err(|_| NotOurs)?;
    let text = std::str::from_utf8(opened).map_err(|_| NotOurs)?;
    unpack(text).map_err(|_| NotOurs)
}

fn key(secret: &Secret) -> Option<LessSafeKey> {
    UnboundKey::new(&AES_256_GCM, &secret.derived_key("seal\n")).ok().map(LessSafeKey::new)
}

fn associated(purpose: Purpose, code: &str) -> String {
    let purpose = match purpose {
        Purpose::Offer => "offer",
        Purpose::Answer => "answer",
    };
    format!("{purpose}\n{code}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use swb_wire::tunnel::{Answer, TunnelId, VERSION};

    fn answer() -> Answer {
        let tunnel = TunnelId::new("tunnel-1").unwrap();
        Answer { version: VERSION, tunnel, sdp: "v=0\r\na=fingerprint:sha-256 AB:CD\r\n".to_owned() }
    }

    #[test]
    fn only_the_secret_opens_it_and_only_as_what_it_is() {
        let (secret, other) = (Secret::new([7; 32]), Secret::new([8; 32]));
        let sealed = seal(&secret, Purpose::Answer, "abc123", &answer());
        assert_eq!(open(&secret, Purpose::Answer, "abc123", &sealed), Ok(answer()));
        assert_eq!(open::<Answer>(&other, Purpose::Answer, "abc123", &sealed), Err(NotOurs));
        assert_eq!(open::<Answer>(&secret, Purpose::Offer, "abc123", &sealed), Err(NotOurs));
        assert_eq!(open::<Answer>(&secret, Purpose::Answer, "abc124", &sealed), Err(NotOurs));
        let mut damaged = sealed.clone().into_bytes();
        damaged[30] = if damaged[30] == b'A' { b'B' } else { b'A' };
        let damaged = String::from_utf8(damaged).unwrap();
        for bad in ["", "AAAA", "not base64", &damaged, &sealed[..sealed.len() - 4]] {
            assert_eq!(open::<Answer>(&secret, Purpose::Answer, "abc123", bad), Err(NotOurs), "{bad}");
        }
    }

    #[test]
    fn nothing_of_it_can_be_read_and_no_two_are_the_same() {
        let secret = Secret::new([7; 32]);
        let [one, two] = [(); 2].map(|()| seal(&secret, Purpose::Offer, "abc123", &answer()));
        assert_ne!(one, two);
        let bytes = URL_SAFE_NO_PAD.decode(&one).unwrap();
        let packed = URL_SAFE_NO_PAD.decode(pack(&answer())).unwrap();
        for plain in [pack(&answer()).as_bytes(), &packed, b"fingerprint", b"tunnel-1"] {
            assert!(!bytes.windows(plain.len()).any(|window| window == plain));
        }
    }

    #[test]
    fn the_format_is_the_one_of_the_protocol() {
        // Made with Python's cryptography module: AESGCM(hmac.digest(bytes([7] * 32), b"swb-tunnel-1 seal\n", "sha256")),
        // nonce bytes(range(12)), associated data "answer\nabc123\n".
        let sealed = "AAECAwQFBgcICQoLm-nWGxnUqMSksYEycPzVNjAGE93mbsgrjbW4-saX_eEhvTgvCbsTu8p9HCPBulmaspKNKUfSIxXjfpZqtBS1\
             0oYq0Ut7uSL2P6BtL4itvoycwixH7nUq4kELqeja5vl-rXrAt0-vGJq6gvr9OCYiSbOwHMU";
        let secret = Secret::new([7; 32]);
        assert_eq!(open(&secret, Purpose::Answer, "abc123", sealed), Ok(answer()));
    }
}
