//! Offers and answers as text: JSON, compressed, in the alphabet of URLs.

use super::{Secret, TunnelId};
use crate::limits;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use base64::{DecodeError, Engine as _};
use flate2::read::{DeflateDecoder, DeflateEncoder};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::Read;

/// The only version of envelopes and answers.
pub const VERSION: u32 = 1;

/// What the peer needs to connect: the offer, and who makes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Envelope {
    /// [`VERSION`].
    pub version: u32,
    /// The offer.
    pub sdp: String,
    /// Identifies this machine.
    pub machine_id: String,
    /// Its name, for people.
    pub hostname: String,
    /// The tunnel.
    pub tunnel: TunnelId,
    /// Its secret; absent where the peer has it already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<Secret>,
    /// *Addition*: servers that help the peer to find a way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ice: Vec<IceServer>,
}

/// A STUN or TURN server, as browsers name it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IceServer {
    /// Its address.
    pub urls: String,
    /// Name of a user of a TURN server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
    /// The user's password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<String>,
}

impl IceServer {
    /// A STUN server.
    pub fn stun(urls: String) -> Self {
        Self { urls, username: None, credential: None }
    }
}

/// What the peer returns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// [`VERSION`].
    pub version: u32,
    /// The tunnel that it is for.
    pub tunnel: TunnelId,
    /// The answer.
    pub sdp: String,
}

/// Text that is no envelope or answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadPack {
    /// Other characters than those of base64url.
    #[error("it contains invalid characters; copy all of it, and nothing else")]
    Alphabet,
    /// The compressed data is damaged.
    #[error("it is damaged or incomplete")]
    Damaged,
    /// Too long, or too long when inflated.
    #[error("it is too long")]
    TooLong,
    /// The content is not what was expected.
    #[error("{0}")]
    Content(String),
}

/// Packs a message for a URL.
pub fn pack(value: &impl Serialize) -> String {
    // Types of ours: they always have a JSON form, and reading from memory does not fail.
    let json = serde_json::to_vec(value).unwrap_or_default();
    let mut packed = Vec::new();
    let _read = DeflateEncoder::new(json.as_slice(), flate2::Compression::best()).read_to_end(&mut packed);
    URL_SAFE_NO_PAD.encode(packed)
}

/// Unpacks a message; a small text cannot become a large one.
pub fn unpack<T: DeserializeOwned>(text: &str) -> Result<T, BadPack> {
    if text.len() > limits::TUNNEL_PACK * 2 {
        return Err(BadPack::TooLong);
    }
    // Lines may have been broken on the way.
    let text: String = text.split_whitespace().collect();
    let packed = URL_SAFE_NO_PAD.decode(text).map_err(|error| match error {
        DecodeError::InvalidByte(..) => BadPack::Alphabet,
        _ => BadPack::Damaged,
    })?;
    let mut json = Vec::new();
    let inflated = DeflateDecoder::new(packed.as_slice());
    inflated.take(limits::TUNNEL_PACK as u64 + 1).read_to_end(&mut json).map_err(|_| BadPack::Damaged)?;
    if json.len() > limits::TUNNEL_PACK {
        return Err(BadPack::TooLong);
    }
    #[derive(Deserialize)]
    struct Version {
        version: u64,
    }
    let content =
        |error: serde_json::Error| BadPack::Content(format!("it is not what was expected: {error}"));
    let Version { version } = serde_json::from_slice(&json).map_err(content)?;
    if version != u64::from(VERSION) {
        return Err(BadPack::Content(format!(
            "it has version {version}; this program knows version {VERSION}"
        )));
    }
    serde_json::from_slice(&json).map_err(content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn answer(sdp: &str) -> Answer {
        Answer { version: VERSION, tunnel: TunnelId::new("tunnel-1").unwrap(), sdp: sdp.to_owned() }
    }

    #[test]
    fn what_is_packed_can_be_unpacked() {
        let packed = pack(&answer("v=0\r\n"));
        let (begin, end) = packed.split_at(20);
        assert_eq!(
            unpack::<Answer>(&format!(" {begin}\r\n {end}\n")),
            Ok(answer("v=0\r\n")),
            "as a mail breaks it"
        );
    }

    #[test]
    fn a_bomb_does_not_inflate() {
        let bomb = pack(&answer(&"0".repeat(4 << 20)));
        assert!(bomb.len() < 8192, "{}", bomb.len());
        assert_eq!(unpack::<Answer>(&bomb), Err(BadPack::TooLong));
        let most = pack(&answer(&"0".repeat(limits::TUNNEL_PACK - 100)));
        assert!(unpack::<Answer>(&most).is_ok());
    }

    #[test]
    fn anything_else_is_explained() {
        assert_eq!(unpack::<Answer>("a+b/"), Err(BadPack::Alphabet));
        assert_eq!(unpack::<Answer>("____"), Err(BadPack::Damaged));
        let packed = pack(&answer("v=0\r\n"));
        assert!(unpack::<Answer>(&packed[..packed.len() / 2]).is_err());
        let later = pack(&Answer { version: 2, ..answer("") });
        let error = unpack::<Answer>(&later).unwrap_err().to_string();
        assert!(error.contains("version 2"), "{error}");
        let other = pack(&serde_json::json!({"version": 1, "tunnel": "x"}));
        assert!(matches!(unpack::<Answer>(&other), Err(BadPack::Content(_))));
        assert_eq!(unpack::<Answer>(&"A".repeat(limits::TUNNEL_PACK * 3)), Err(BadPack::TooLong));
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in "\\PC{0,200}") {
            let _result = unpack::<Envelope>(&text);
        }
    }
}
