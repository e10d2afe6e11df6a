//! What a server grants: a relayed address, for some time.

use super::RelayFamily;
use crate::address;
use crate::error::TurnError;
use crate::limits;
use crate::message::{StunMessage, attribute};
use core::net::SocketAddr;
use std::time::{Duration, Instant};

#[derive(Debug)]
pub(super) struct Lease {
    pub(super) relayed: SocketAddr,
    pub(super) mapped: SocketAddr,
    pub(super) expires: Instant,
    /// `None` while it is being refreshed.
    pub(super) refresh: Option<Instant>,
}

impl Lease {
    /// Reads the reply to the request for an allocation.
    pub(super) fn read(
        message: &StunMessage<'_>,
        family: RelayFamily,
        now: Instant,
    ) -> Result<Self, TurnError> {
        let address = |kind, missing| {
            message.xor_address(kind).filter(address::is_usable).ok_or(TurnError::Invalid(missing))
        };
        let relayed = address(attribute::XOR_RELAYED_ADDRESS, "it has no relayed address")?;
        let mapped = address(attribute::XOR_MAPPED_ADDRESS, "it has no mapped address")?;
        if relayed.is_ipv4() != (family == RelayFamily::V4) {
            return Err(TurnError::Family);
        }
        let mut lease = Self { relayed, mapped, expires: now, refresh: None };
        lease.renew(message, now)?;
        Ok(lease)
    }

    /// Reads the lifetime in the reply to a request for an allocation or a refresh.
    pub(super) fn renew(&mut self, message: &StunMessage<'_>, now: Instant) -> Result<(), TurnError> {
        let seconds = message.number(attribute::LIFETIME).ok_or(TurnError::Invalid("it has no lifetime"))?;
        let lifetime = Duration::from_secs(seconds.into()).min(limits::LONGEST_LIFETIME);
        if lifetime < limits::SHORTEST_LIFETIME {
            return Err(TurnError::Invalid("the lifetime is too short"));
        }
        let before = limits::REFRESH_BEFORE.min(lifetime / 2);
        self.expires = now + lifetime;
        self.refresh = Some(now + (lifetime - before));
        Ok(())
    }
}
