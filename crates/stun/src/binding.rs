//! One question to a STUN server: which address do you see? A NAT on the way lets replies through to that address.
//!
//! The mapping of a NAT lasts while datagrams are sent: repeat the question every [`limits::KEEPALIVE`] with a new
//! [`Binding`], which also finds that the address has changed, or send a [`keepalive`], to which there is no reply.
//!
//! [`limits::KEEPALIVE`]: crate::limits::KEEPALIVE

use crate::address;
use crate::error::StunError;
use crate::message::{Class, MessageWriter, StunMessage, TransactionId, attribute, method};
use crate::schedule::{Due, Schedule};
use core::net::SocketAddr;
use std::time::Instant;

/// A request to one server, sent up to four times within five seconds.
#[derive(Debug)]
pub struct Binding {
    transaction: TransactionId,
    schedule: Schedule,
    outcome: Option<Result<SocketAddr, StunError>>,
}

impl Binding {
    /// A request with random bytes of the caller, which must be different for every one.
    pub fn new(transaction: [u8; 12], now: Instant) -> Self {
        Self { transaction: TransactionId(transaction), schedule: Schedule::new(now), outcome: None }
    }

    /// The datagram to be sent to the server now, if one is due. Call it when [`poll_timeout`](Self::poll_timeout) says
    /// so; it is also what notices that the time is over.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Vec<u8>> {
        if self.outcome.is_some() {
            return None;
        }
        match self.schedule.due(now) {
            Due::Nothing => None,
            Due::Transmission => {
                Some(MessageWriter::new(Class::Request, method::BINDING, self.transaction).finish())
            }
            Due::Failure => {
                self.outcome = Some(Err(StunError::TimedOut));
                None
            }
        }
    }

    /// When to call [`poll_transmit`](Self::poll_transmit) next; `None` when there is an outcome.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.outcome.is_none().then(|| self.schedule.next())
    }

    /// Takes a datagram from the server: the outcome if it is the reply to this request, else `None`.
    pub fn handle(&mut self, datagram: &[u8]) -> Option<Result<SocketAddr, StunError>> {
        let message = StunMessage::parse(datagram).ok()?;
        let is_reply = message.method() == method::BINDING && message.transaction() == self.transaction;
        let outcome = match message.class() {
            _ if !is_reply || self.outcome.is_some() => return None,
            Class::Request | Class::Indication => return None,
            Class::Success => mapped(&message),
            Class::Error => Err(match message.error() {
                Some(error) => StunError::Refused(error),
                None => StunError::Invalid("an error without code"),
            }),
        };
        self.outcome = Some(outcome.clone());
        Some(outcome)
    }

    /// What came of it: the mapped address, or why there is none. `None` while the request is under way.
    pub fn outcome(&self) -> Option<&Result<SocketAddr, StunError>> {
        self.outcome.as_ref()
    }
}

/// A datagram that keeps the mapping of a NAT and gets no reply.
pub fn keepalive(transaction: [u8; 12]) -> Vec<u8> {
    MessageWriter::new(Class::Indication, method::BINDING, TransactionId(transaction)).finish()
}

/// Old servers have the plain attribute only.
fn mapped(message: &StunMessage<'_>) -> Result<SocketAddr, StunError> {
    let plain = || message.attribute(attribute::MAPPED_ADDRESS).and_then(address::read);
    let mapped = message.xor_address(attribute::XOR_MAPPED_ADDRESS).or_else(plain);
    mapped.filter(address::is_usable).ok_or(StunError::Invalid("it has no address"))
}
