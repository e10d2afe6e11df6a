//! Peers of an allocation: which addresses may send to it, and which peers have a channel.
//!
//! These lists decide when something is to be requested from the server; they request nothing themselves. Both are bounded,
//! and forget peers to which nothing is sent any more.

use crate::limits;
use core::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

/// The numbers of channels (RFC 8656).
const NUMBERS: RangeInclusive<u16> = 0x4000..=0x4fff;

/// Whether datagrams to an address are relayed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Permit {
    Granted,
    /// The server has been asked.
    Requested,
    /// It has to be asked now; this is returned once.
    Missing,
    Refused,
    /// The list has no room.
    Full,
}

/// Addresses with a permission.
#[derive(Debug, Default)]
pub(super) struct Permissions(Vec<Permission>);

#[derive(Debug)]
struct Permission {
    ip: IpAddr,
    state: PermissionState,
    used: Instant,
}

#[derive(Debug)]
enum PermissionState {
    Requested,
    /// `renew` is `None` while a renewal is under way, or if there is to be none.
    Granted {
        renew: Option<Instant>,
        until: Instant,
    },
    Refused {
        until: Instant,
    },
}

impl Permissions {
    /// Looks up an address that is about to be used.
    pub(super) fn look_up(&mut self, ip: IpAddr, now: Instant) -> Permit {
        self.expire(now);
        if let Some(permission) = self.find(ip) {
            permission.used = now;
            return match permission.state {
                PermissionState::Requested => Permit::Requested,
                PermissionState::Granted { .. } => Permit::Granted,
                PermissionState::Refused { .. } => Permit::Refused,
            };
        }
        if self.0.len() >= limits::PERMISSIONS {
            return Permit::Full;
        }
        self.0.push(Permission { ip, state: PermissionState::Requested, used: now });
        Permit::Missing
    }

    /// Whether datagrams from an address are expected.
    pub(super) fn allow(&self, ip: IpAddr) -> bool {
        let is_allowed = |state: &PermissionState| !matches!(state, PermissionState::Refused { .. });
        self.0.iter().any(|permission| permission.ip == ip && is_allowed(&permission.state))
    }

    pub(super) fn grant(&mut self, ip: IpAddr, now: Instant) {
        if let Some(permission) = self.find(ip) {
            let until = now + limits::PERMISSION;
            permission.state =
                PermissionState::Granted { renew: Some(until - limits::REFRESH_BEFORE), until };
        }
    }

    /// Whether a granted permission is left, for which the renewal is tried again after a pause.
    pub(super) fn retry(&mut self, ip: IpAddr, pause: Duration, now: Instant) -> bool {
        match self.find(ip).map(|permission| &mut permission.state) {
            Some(PermissionState::Granted { renew, until }) if *until > now => {
                *renew = Some(now + pause);
                true
            }
            _ => false,
        }
    }

    pub(super) fn refuse(&mut self, ip: IpAddr, now: Instant) {
        if let Some(permission) = self.find(ip) {
            permission.state = PermissionState::Refused { until: now + limits::REFUSED };
        }
    }

    pub(super) fn forget(&mut self, ip: IpAddr) {
        self.0.retain(|permission| permission.ip != ip);
    }

    /// The next address whose permission has to be renewed now.
    pub(super) fn renewal(&mut self, now: Instant) -> Option<IpAddr> {
        self.expire(now);
        self.0.iter_mut().find_map(|permission| {
            let PermissionState::Granted { renew, .. } = &mut permission.state else { return None };
            renew.take_if(|renew| *renew <= now)?;
            is_busy(permission.used, now).then_some(permission.ip)
        })
    }

    pub(super) fn timeouts(&self) -> impl Iterator<Item = Instant> {
        self.0.iter().filter_map(|permission| match permission.state {
            PermissionState::Requested => None,
            PermissionState::Granted { renew, until } => Some(earlier(renew, until)),
            PermissionState::Refused { until } => Some(until),
        })
    }

    fn expire(&mut self, now: Instant) {
        self.0.retain(|permission| match permission.state {
            PermissionState::Requested => true,
            PermissionState::Granted { until, .. } | PermissionState::Refused { until } => until > now,
        });
    }

    fn find(&mut self, ip: IpAddr) -> Option<&mut Permission> {
        self.0.iter_mut().find(|permission| permission.ip == ip)
    }
}

/// How a datagram is sent to a peer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Way {
    Channel(u16),
    /// With an indication; if there is a number, the server is to be asked to bind it.
    Indication(Option<u16>),
}

/// Peers with a channel. A peer keeps its number until the server has forgotten it.
#[derive(Debug)]
pub(super) struct Channels {
    channels: Vec<Channel>,
    /// Where the search for a free number begins, so that numbers rest as long as possible.
    next: u16,
}

#[derive(Debug)]
struct Channel {
    peer: SocketAddr,
    number: u16,
    state: ChannelState,
    used: Instant,
    /// When number and peer are free again.
    free: Instant,
}

#[derive(Debug)]
enum ChannelState {
    Unbound {
        retry: Instant,
    },
    Requested,
    /// `renew` as for permissions.
    Bound {
        renew: Option<Instant>,
        until: Instant,
    },
}

impl Channels {
    pub(super) fn new() -> Self {
        Self { channels: Vec::new(), next: *NUMBERS.start() }
    }

    /// Looks up a peer that is about to be sent to.
    pub(super) fn look_up(&mut self, peer: SocketAddr, now: Instant) -> Way {
        self.expire(now);
        let Some(channel) = self.find(peer) else { return Way::Indication(self.add(peer, now)) };
        channel.used = now;
        match channel.state {
            ChannelState::Bound { .. } => Way::Channel(channel.number),
            ChannelState::Requested => Way::Indication(None),
            ChannelState::Unbound { retry } if retry > now => Way::Indication(None),
            ChannelState::Unbound { .. } => {
                channel.state = ChannelState::Requested;
                channel.free = free_after(now);
                Way::Indication(Some(channel.number))
            }
        }
    }

    /// The peer of a number. A channel counts even if there was no reply to the request that bound it: the reply may be
    /// lost.
    pub(super) fn peer(&self, number: u16) -> Option<SocketAddr> {
        self.channels.iter().find(|channel| channel.number == number).map(|channel| channel.peer)
    }

    pub(super) fn bind(&mut self, peer: SocketAddr, now: Instant) {
        if let Some(channel) = self.find(peer) {
            let until = now + limits::CHANNEL;
            channel.state = ChannelState::Bound { renew: Some(until - limits::REFRESH_BEFORE), until };
            channel.free = free_after(now);
        }
    }

    /// A request was not granted: it is tried again after a pause, when the peer is sent to.
    pub(super) fn retry(&mut self, peer: SocketAddr, pause: Duration, now: Instant) {
        match self.find(peer).map(|channel| &mut channel.state) {
            Some(ChannelState::Bound { renew, .. }) => *renew = Some(now + pause),
            Some(state) => *state = ChannelState::Unbound { retry: now + pause },
            None => {}
        }
    }

    /// The next channel that has to be bound again now.
    pub(super) fn renewal(&mut self, now: Instant) -> Option<(SocketAddr, u16)> {
        self.expire(now);
        self.channels.iter_mut().find_map(|channel| {
            let ChannelState::Bound { renew, .. } = &mut channel.state else { return None };
            renew.take_if(|renew| *renew <= now)?;
            let is_renewed = is_busy(channel.used, now);
            if is_renewed {
                channel.free = free_after(now);
            }
            is_renewed.then_some((channel.peer, channel.number))
        })
    }

    pub(super) fn timeouts(&self) -> impl Iterator<Item = Instant> {
        self.channels.iter().filter_map(|channel| match channel.state {
            ChannelState::Bound { renew, until } => Some(earlier(renew, until)),
            ChannelState::Unbound { .. } => Some(channel.free),
            ChannelState::Requested => None,
        })
    }

    fn add(&mut self, peer: SocketAddr, now: Instant) -> Option<u16> {
        if self.channels.len() >= limits::CHANNELS {
            return None;
        }
        let used = |number: &u16| self.channels.iter().any(|channel| channel.number == *number);
        let number = (self.next..=*NUMBERS.end()).chain(NUMBERS).find(|number| !used(number))?;
        self.next = if number == *NUMBERS.end() { *NUMBERS.start() } else { number + 1 };
        let state = ChannelState::Requested;
        self.channels.push(Channel { peer, number, state, used: now, free: free_after(now) });
        Some(number)
    }

    fn expire(&mut self, now: Instant) {
        for channel in &mut self.channels {
            if let ChannelState::Bound { until, .. } = channel.state
                && until <= now
            {
                channel.state = ChannelState::Unbound { retry: now };
            }
        }
        let is_requested = |channel: &Channel| matches!(channel.state, ChannelState::Requested);
        self.channels.retain(|channel| channel.free > now || is_requested(channel));
    }

    fn find(&mut self, peer: SocketAddr) -> Option<&mut Channel> {
        self.channels.iter_mut().find(|channel| channel.peer == peer)
    }
}

/// When number and peer are free, if the server binds them upon a request that is sent now.
fn free_after(now: Instant) -> Instant {
    now + limits::REQUEST + limits::CHANNEL + limits::CHANNEL_REST
}

/// The time of the next renewal, if there is one, or of the end.
pub(super) fn earlier(renewal: Option<Instant>, end: Instant) -> Instant {
    renewal.map_or(end, |renewal| renewal.min(end))
}

fn is_busy(used: Instant, now: Instant) -> bool {
    now.saturating_duration_since(used) < limits::PEER_IDLE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(index: u16) -> SocketAddr {
        SocketAddr::new(IpAddr::from([192, 0, 2, 1]), index)
    }

    #[test]
    fn numbers_of_channels_rest_before_they_are_used_again() {
        let mut now = Instant::now();
        let mut channels = Channels::new();
        let mut last_used = std::collections::HashMap::new();
        for index in 1..10_000 {
            let Way::Indication(Some(number)) = channels.look_up(peer(index), now) else {
                panic!("no number")
            };
            assert!(NUMBERS.contains(&number));
            if let Some(before) = last_used.insert(number, now) {
                assert!(now - before >= limits::CHANNEL + limits::CHANNEL_REST);
            }
            channels.bind(peer(index), now);
            now += Duration::from_secs(20);
        }
        assert_eq!(last_used.len(), 4096);
    }

    #[test]
    fn a_peer_that_returns_has_its_number_again() {
        let now = Instant::now();
        let mut channels = Channels::new();
        assert_eq!(channels.look_up(peer(1), now), Way::Indication(Some(0x4000)));
        channels.bind(peer(1), now);
        assert_eq!(channels.look_up(peer(2), now), Way::Indication(Some(0x4001)));
        assert_eq!(channels.look_up(peer(1), now), Way::Channel(0x4000));
        let later = now + limits::CHANNEL;
        assert_eq!(channels.look_up(peer(1), later), Way::Indication(Some(0x4000)));
        assert_eq!(channels.look_up(peer(1), later), Way::Indication(None), "it has been requested");
    }

    #[test]
    fn a_full_list_of_channels_leaves_indications() {
        let now = Instant::now();
        let mut channels = Channels::new();
        for index in 0..64 {
            assert_eq!(channels.look_up(peer(index), now), Way::Indication(Some(0x4000 + index)));
        }
        assert_eq!(channels.look_up(peer(64), now), Way::Indication(None));
        assert_eq!(channels.look_up(peer(65), now), Way::Indication(None));
    }
}
