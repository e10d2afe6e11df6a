//! Requests of an allocation: what they contain, how they are signed, and what a server may demand.

use super::RelayFamily;
use crate::error::TurnError;
use crate::integrity::{Credentials, IntegrityKey};
use crate::limits;
use crate::message::{Class, ErrorReply, MessageWriter, StunMessage, TransactionId, attribute, method};
use crate::schedule::Schedule;
use core::net::{IpAddr, SocketAddr};
use std::fmt;
use std::time::Instant;

/// The number of UDP in the attribute REQUESTED-TRANSPORT.
const UDP: u8 = 17;
/// The number of IPv6 in the attribute REQUESTED-ADDRESS-FAMILY.
const IPV6: u8 = 2;

/// What a request is for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Purpose {
    Allocate(RelayFamily),
    Refresh,
    /// A refresh with no lifetime.
    Close,
    Permit(IpAddr),
    Bind(SocketAddr, u16),
}

impl Purpose {
    pub(super) fn method(self) -> u16 {
        match self {
            Self::Allocate(_) => method::ALLOCATE,
            Self::Refresh | Self::Close => method::REFRESH,
            Self::Permit(_) => method::CREATE_PERMISSION,
            Self::Bind(..) => method::CHANNEL_BIND,
        }
    }

    fn write(self, transaction: TransactionId) -> MessageWriter {
        let message = MessageWriter::new(Class::Request, self.method(), transaction);
        match self {
            Self::Allocate(family) => {
                let message = message.attribute(attribute::REQUESTED_TRANSPORT, &[UDP, 0, 0, 0]);
                match family {
                    // The default, which servers without IPv6 understand as well.
                    RelayFamily::V4 => message,
                    RelayFamily::V6 => {
                        message.attribute(attribute::REQUESTED_ADDRESS_FAMILY, &[IPV6, 0, 0, 0])
                    }
                }
            }
            Self::Refresh => message,
            Self::Close => message.attribute(attribute::LIFETIME, &[0; 4]),
            // The port does not count.
            Self::Permit(ip) => message.xor_address(attribute::XOR_PEER_ADDRESS, SocketAddr::new(ip, 0)),
            Self::Bind(peer, number) => {
                let [high, low] = number.to_be_bytes();
                let message = message.attribute(attribute::CHANNEL_NUMBER, &[high, low, 0, 0]);
                message.xor_address(attribute::XOR_PEER_ADDRESS, peer)
            }
        }
    }
}

/// A request that waits for its reply.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) purpose: Purpose,
    pub(super) transaction: TransactionId,
    pub(super) datagram: Vec<u8>,
    pub(super) schedule: Schedule,
    /// With what it was signed; a later challenge may have changed that of the allocation.
    pub(super) signature: Option<Signature>,
    /// How many requests for the same purpose a challenge has ended.
    pub(super) challenges: u8,
    /// An error that was not signed as it should be. It is believed if nothing better arrives.
    pub(super) unverified: Option<TurnError>,
}

impl Request {
    /// Whether the reply comes from the server that the request was signed for; unsigned requests get unsigned replies.
    pub(super) fn verifies(&self, reply: &StunMessage<'_>) -> bool {
        self.signature.as_ref().is_none_or(|signature| reply.verify(&signature.key) == Some(true))
    }
}

/// What signs requests: the key, and the nonce that the server gave.
#[derive(Clone, Debug)]
pub(super) struct Signature {
    key: IntegrityKey,
    realm: Vec<u8>,
    nonce: Vec<u8>,
}

/// Signs requests with long-term credentials, as soon as the server has sent realm and nonce.
#[derive(Debug)]
pub(super) struct Signer {
    credentials: Option<Credentials>,
    signature: Option<Signature>,
    /// Whether the server has granted a signed request: the credentials are right.
    pub(super) accepted: bool,
    transactions: Transactions,
}

impl Signer {
    pub(super) fn new(credentials: Option<Credentials>, secret: &[u8; 32]) -> Self {
        let transactions = Transactions { key: IntegrityKey::new(secret), next: 0 };
        Self { credentials, signature: None, accepted: false, transactions }
    }

    /// Whether requests are signed by now.
    pub(super) fn signs(&self) -> bool {
        self.signature.is_some()
    }

    /// A new request.
    pub(super) fn request(&mut self, purpose: Purpose, challenges: u8, now: Instant) -> Request {
        let transaction = self.transactions.next();
        let mut message = purpose.write(transaction);
        if let (Some(credentials), Some(signature)) = (&self.credentials, &self.signature) {
            message = message
                .attribute(attribute::USERNAME, credentials.username().as_bytes())
                .attribute(attribute::REALM, &signature.realm)
                .attribute(attribute::NONCE, &signature.nonce)
                .integrity(&signature.key);
        }
        Request {
            purpose,
            transaction,
            datagram: message.finish(),
            schedule: Schedule::new(now),
            signature: self.signature.clone(),
            challenges,
            unverified: None,
        }
    }

    /// The identifier of an indication, which nothing refers to.
    pub(super) fn transaction(&mut self) -> TransactionId {
        self.transactions.next()
    }

    /// Takes the realm and nonce of an error 401 or 438; fails if signing again is no use.
    pub(super) fn challenge(
        &mut self,
        request: &Request,
        message: &StunMessage<'_>,
        error: ErrorReply,
    ) -> Result<(), TurnError> {
        let credentials = self.credentials.as_ref().ok_or(TurnError::CredentialsMissing)?;
        let value = |kind| message.attribute(kind).filter(|value| (1..=limits::REALM).contains(&value.len()));
        let nonce = value(attribute::NONCE).ok_or(TurnError::Invalid("it has no nonce"))?;
        let known = self.signature.as_ref().map(|signature| &*signature.realm);
        let realm = value(attribute::REALM).or(known).ok_or(TurnError::Invalid("it has no realm"))?;
        if let (401, Some(signature)) = (error.code, &request.signature) {
            // A server that was restarted has another nonce and knows none of ours.
            let is_restarted = self.accepted && signature.nonce != nonce;
            if !is_restarted {
                return Err(TurnError::Credentials);
            }
        }
        if request.challenges >= limits::NEW_NONCES {
            return Err(error.into());
        }
        self.signature =
            Some(Signature { key: credentials.key(realm), realm: realm.to_vec(), nonce: nonce.to_vec() });
        Ok(())
    }
}

/// Identifiers that only the holder of the caller's random bytes can foresee.
struct Transactions {
    key: IntegrityKey,
    next: u64,
}

impl Transactions {
    fn next(&mut self) -> TransactionId {
        let tag = self.key.tag(&[&self.next.to_be_bytes()]);
        self.next = self.next.wrapping_add(1);
        TransactionId(tag.first_chunk().copied().unwrap_or_default())
    }
}

impl fmt::Debug for Transactions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Transactions({})", self.next)
    }
}
