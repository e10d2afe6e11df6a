//! The codec of STUN messages, which TURN uses as well.
//!
//! A [`StunMessage`] borrows a datagram whose structure was checked once: every attribute lies within it. What the attributes
//! mean is read when it is needed. Attributes behind MESSAGE-INTEGRITY are not covered by it and do not count, except
//! FINGERPRINT.

use crate::crc::crc32;
use crate::integrity::{IntegrityKey, TAG};
use crate::limits;
use core::net::SocketAddr;
use std::fmt;
use std::ops::Range;

/// The value that distinguishes STUN messages from other datagrams.
pub const COOKIE: u32 = 0x2112_A442;
const HEADER: usize = 20;
/// What the checksum is combined with, so that it differs from that of a protocol within.
const FINGERPRINT_XOR: u32 = 0x5354_554e;

/// Methods of requests and indications.
pub mod method {
    /// Which address do you see?
    pub const BINDING: u16 = 0x001;
    /// Create an allocation.
    pub const ALLOCATE: u16 = 0x003;
    /// Set the lifetime of the allocation.
    pub const REFRESH: u16 = 0x004;
    /// A datagram to a peer.
    pub const SEND: u16 = 0x006;
    /// A datagram from a peer.
    pub const DATA: u16 = 0x007;
    /// Allow an address to send.
    pub const CREATE_PERMISSION: u16 = 0x008;
    /// Bind a channel to a peer.
    pub const CHANNEL_BIND: u16 = 0x009;
}

/// Types of attributes.
#[expect(missing_docs, reason = "their names are those of the RFCs")]
pub mod attribute {
    pub const MAPPED_ADDRESS: u16 = 0x0001;
    pub const USERNAME: u16 = 0x0006;
    pub const MESSAGE_INTEGRITY: u16 = 0x0008;
    pub const ERROR_CODE: u16 = 0x0009;
    pub const CHANNEL_NUMBER: u16 = 0x000c;
    pub const LIFETIME: u16 = 0x000d;
    pub const XOR_PEER_ADDRESS: u16 = 0x0012;
    pub const DATA: u16 = 0x0013;
    pub const REALM: u16 = 0x0014;
    pub const NONCE: u16 = 0x0015;
    pub const XOR_RELAYED_ADDRESS: u16 = 0x0016;
    pub const REQUESTED_ADDRESS_FAMILY: u16 = 0x0017;
    pub const REQUESTED_TRANSPORT: u16 = 0x0019;
    pub const XOR_MAPPED_ADDRESS: u16 = 0x0020;
    pub const ALTERNATE_SERVER: u16 = 0x8023;
    pub const FINGERPRINT: u16 = 0x8028;
}

/// What a message is, besides its method.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Class {
    /// Expects a reply.
    Request,
    /// Expects none.
    Indication,
    /// A reply: the request was granted.
    Success,
    /// A reply: it was not.
    Error,
}

/// 96 bits that belong to one request and its reply. Random, so that only those who see the request can forge a reply.
#[derive(Clone, Copy, Eq, PartialEq)]
pub struct TransactionId(pub [u8; 12]);

impl TransactionId {
    /// The bits as the low ones of a number.
    pub(crate) fn bits(&self) -> u128 {
        self.0.iter().fold(0, |bits, byte| bits << 8 | u128::from(*byte))
    }
}

impl fmt::Debug for TransactionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:024x}", self.bits())
    }
}

/// Why bytes are no STUN message.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Malformed {
    /// Neither length nor cookie are those of STUN.
    #[error("not a STUN message")]
    Header,
    /// An attribute ends beyond the message.
    #[error("an attribute is longer than the message")]
    Attribute,
    /// The checksum is wrong.
    #[error("the fingerprint does not match")]
    Fingerprint,
}

/// Whether a datagram claims to be a STUN message: its first two bits are zero, and the cookie is in its place.
pub fn is_stun(datagram: &[u8]) -> bool {
    let header = datagram.first_chunk::<HEADER>();
    header.is_some_and(|header| header[0] & 0xc0 == 0 && header[4..8] == COOKIE.to_be_bytes())
}

/// Whether a datagram from a TURN server claims to be ChannelData: its first byte is that of a channel number.
pub fn is_channel_data(datagram: &[u8]) -> bool {
    datagram.len() >= 4 && datagram.first().is_some_and(|first| (0x40..=0x4f).contains(first))
}

/// The number and the payload's place of ChannelData. Bytes behind the payload are padding.
pub(crate) fn channel_data(datagram: &[u8]) -> Option<(u16, Range<usize>)> {
    let (&[n1, n2, l1, l2], rest) = datagram.split_first_chunk().filter(|_| is_channel_data(datagram))?;
    let length = usize::from(u16::from_be_bytes([l1, l2]));
    (length <= rest.len()).then(|| (u16::from_be_bytes([n1, n2]), 4..4 + length))
}

/// A datagram with ChannelData.
pub(crate) fn write_channel_data(number: u16, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(payload.len()).unwrap_or(u16::MAX);
    let mut datagram = Vec::with_capacity(4 + usize::from(length));
    datagram.extend(number.to_be_bytes());
    datagram.extend(length.to_be_bytes());
    datagram.extend(payload.iter().take(usize::from(length)));
    datagram
}

/// A message in a datagram.
#[derive(Clone, Copy, Debug)]
pub struct StunMessage<'a> {
    bytes: &'a [u8],
    kind: u16,
    transaction: TransactionId,
    /// Where the attribute MESSAGE-INTEGRITY begins, and its value.
    integrity: Option<(usize, &'a [u8])>,
}

impl<'a> StunMessage<'a> {
    /// Checks the structure of a datagram, and its fingerprint if it has one.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (header, body) = bytes.split_first_chunk::<HEADER>().ok_or(Malformed::Header)?;
        let [k1, k2, l1, l2, _, _, _, _, transaction @ ..] = *header;
        let length = usize::from(u16::from_be_bytes([l1, l2]));
        if !is_stun(bytes) || length != body.len() || !length.is_multiple_of(4) {
            return Err(Malformed::Header);
        }
        let kind = u16::from_be_bytes([k1, k2]);
        let mut message = Self { bytes, kind, transaction: TransactionId(transaction), integrity: None };
        let mut attributes = Attributes { body, at: 0 };
        let mut fingerprint = None;
        for (at, kind, value) in attributes.by_ref() {
            match kind {
                attribute::MESSAGE_INTEGRITY if message.integrity.is_none() => {
                    message.integrity = Some((HEADER + at, value));
                }
                attribute::FINGERPRINT => fingerprint = Some((HEADER + at, value)),
                _ => {}
            }
        }
        if attributes.at != body.len() {
            return Err(Malformed::Attribute);
        }
        match fingerprint {
            Some((at, value)) if !message.has_fingerprint(at, value) => Err(Malformed::Fingerprint),
            _ => Ok(message),
        }
    }

    /// What kind of message it is.
    pub fn class(&self) -> Class {
        match (self.kind & 0x0100 != 0, self.kind & 0x0010 != 0) {
            (false, false) => Class::Request,
            (false, true) => Class::Indication,
            (true, false) => Class::Success,
            (true, true) => Class::Error,
        }
    }

    /// One of [`method`], or another.
    pub fn method(&self) -> u16 {
        self.kind & 0x000f | (self.kind & 0x00e0) >> 1 | (self.kind & 0x3e00) >> 2
    }

    /// The transaction it belongs to.
    pub fn transaction(&self) -> TransactionId {
        self.transaction
    }

    /// The attributes that count, in their order.
    pub fn attributes(&self) -> impl Iterator<Item = (u16, &'a [u8])> {
        self.counted().map(|(_, kind, value)| (kind, value))
    }

    fn counted(&self) -> Attributes<'a> {
        let end = self.integrity.map_or(self.bytes.len(), |(at, _)| at);
        Attributes { body: self.bytes.get(HEADER..end).unwrap_or_default(), at: 0 }
    }

    /// The value of the first attribute of a type: others of the same type do not count.
    pub fn attribute(&self, kind: u16) -> Option<&'a [u8]> {
        self.attributes().find(|(found, _)| *found == kind).map(|(_, value)| value)
    }

    /// Where the value of the first attribute of a type lies in the datagram.
    pub fn attribute_range(&self, kind: u16) -> Option<Range<usize>> {
        let (at, _, value) = self.counted().find(|(_, found, _)| *found == kind)?;
        Some(HEADER + at + 4..HEADER + at + 4 + value.len())
    }

    /// The value of an attribute that is a number.
    pub(crate) fn number(&self, kind: u16) -> Option<u32> {
        self.attribute(kind).and_then(|value| value.try_into().ok()).map(u32::from_be_bytes)
    }

    /// The address in an attribute like XOR-MAPPED-ADDRESS.
    pub fn xor_address(&self, kind: u16) -> Option<SocketAddr> {
        crate::address::read_xor(self.attribute(kind)?, &self.transaction)
    }

    /// The error that a server reports.
    pub fn error(&self) -> Option<ErrorReply> {
        let (&[_, _, hundreds, rest], reason) = self.attribute(attribute::ERROR_CODE)?.split_first_chunk()?;
        let code = u16::from(hundreds & 7) * 100 + u16::from(rest % 100);
        Some(ErrorReply { code, reason: ErrorReply::printable(reason) })
    }

    /// Whether the sender knows the key; `None` without MESSAGE-INTEGRITY.
    pub fn verify(&self, key: &IntegrityKey) -> Option<bool> {
        let (at, tag) = self.integrity?;
        let header = self.header_as_if(at + 4 + TAG)?;
        Some(key.verify(&[&header, self.bytes.get(HEADER..at)?], tag))
    }

    fn has_fingerprint(&self, at: usize, value: &[u8]) -> bool {
        let (Some(header), Some(body)) = (self.header_as_if(at + 8), self.bytes.get(HEADER..at)) else {
            return false;
        };
        // It covers all that precedes it, so it has to be the last attribute.
        self.bytes.len() == at + 8 && value == (crc32(&[&header, body]) ^ FINGERPRINT_XOR).to_be_bytes()
    }

    /// The header that the message had when it was this long.
    fn header_as_if(&self, length: usize) -> Option<[u8; HEADER]> {
        let mut header = *self.bytes.first_chunk::<HEADER>()?;
        let length = u16::try_from(length.checked_sub(HEADER)?).ok()?.to_be_bytes();
        header[2..4].copy_from_slice(&length);
        Some(header)
    }
}

/// Walks over attributes; stops at the end or at one that does not fit.
struct Attributes<'a> {
    body: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Attributes<'a> {
    /// Where the attribute begins, its type, its value.
    type Item = (usize, u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.at;
        let (&[k1, k2, l1, l2], rest) = self.body.get(at..)?.split_first_chunk()?;
        let length = usize::from(u16::from_be_bytes([l1, l2]));
        let padded = length.next_multiple_of(4);
        let value = rest.get(..padded)?.get(..length)?;
        self.at = at + 4 + padded;
        Some((at, u16::from_be_bytes([k1, k2]), value))
    }
}

/// An error that a server reports, with a reason that is safe to print.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ErrorReply {
    /// 300 to 699.
    pub code: u16,
    /// In the words of the server, without control characters; may be empty.
    pub reason: String,
}

impl ErrorReply {
    fn printable(reason: &[u8]) -> String {
        let reason = String::from_utf8_lossy(reason);
        let kept = reason.chars().filter(|c| c.is_ascii_graphic() || c.is_alphanumeric() || *c == ' ');
        kept.take(limits::REASON).collect::<String>().trim().to_owned()
    }
}

impl fmt::Display for ErrorReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.reason {
            "" => write!(f, "error {}", self.code),
            reason => write!(f, "error {} ({reason})", self.code),
        }
    }
}

/// Writes a message, attribute by attribute.
#[derive(Debug)]
pub struct MessageWriter {
    bytes: Vec<u8>,
    transaction: TransactionId,
}

impl MessageWriter {
    /// A message without attributes.
    pub fn new(class: Class, method: u16, transaction: TransactionId) -> Self {
        let class = match class {
            Class::Request => 0x0000,
            Class::Indication => 0x0010,
            Class::Success => 0x0100,
            Class::Error => 0x0110,
        };
        let kind = class | method & 0x000f | (method & 0x0070) << 1 | (method & 0x0f80) << 2;
        let mut bytes = Vec::with_capacity(128);
        bytes.extend(kind.to_be_bytes());
        bytes.extend([0, 0]);
        bytes.extend(COOKIE.to_be_bytes());
        bytes.extend(transaction.0);
        Self { bytes, transaction }
    }

    /// Appends an attribute. The values of a message have 65,000 bytes together at most; one that does not fit is left
    /// out.
    #[must_use]
    pub fn attribute(mut self, kind: u16, value: &[u8]) -> Self {
        let end = self.bytes.len() + 4 + value.len().next_multiple_of(4);
        let (Ok(length), Ok(total)) = (u16::try_from(value.len()), u16::try_from(end - HEADER)) else {
            debug_assert!(false, "an attribute of {} bytes does not fit", value.len());
            return self;
        };
        self.bytes.extend(kind.to_be_bytes());
        self.bytes.extend(length.to_be_bytes());
        self.bytes.extend(value);
        self.bytes.resize(end, 0);
        self.set_length(total);
        self
    }

    /// Appends an attribute like XOR-MAPPED-ADDRESS.
    #[must_use]
    pub fn xor_address(self, kind: u16, address: SocketAddr) -> Self {
        let value = crate::address::write_xor(address, &self.transaction);
        self.attribute(kind, &value)
    }

    /// Appends MESSAGE-INTEGRITY.
    #[must_use]
    pub fn integrity(mut self, key: &IntegrityKey) -> Self {
        let before = self.bytes.len();
        let length = u16::try_from(before + 4 + TAG - HEADER).unwrap_or(u16::MAX);
        self.set_length(length);
        let tag = key.tag(&[&self.bytes]);
        self.attribute(attribute::MESSAGE_INTEGRITY, &tag)
    }

    /// The message with FINGERPRINT as its last attribute.
    pub fn finish(mut self) -> Vec<u8> {
        let length = u16::try_from(self.bytes.len() + 8 - HEADER).unwrap_or(u16::MAX);
        self.set_length(length);
        let fingerprint = crc32(&[&self.bytes]) ^ FINGERPRINT_XOR;
        self.attribute(attribute::FINGERPRINT, &fingerprint.to_be_bytes()).bytes
    }

    /// The message as it is, for indications, in which every byte counts.
    pub fn finish_plain(self) -> Vec<u8> {
        self.bytes
    }

    fn set_length(&mut self, length: u16) {
        if let Some(place) = self.bytes.get_mut(2..4) {
            place.copy_from_slice(&length.to_be_bytes());
        }
    }
}
