//! An allocation at a TURN server: a relayed address, kept while it is used, and datagrams through it.
//!
//! [`Allocation`] owns the requests under way and everything the server is believed to know. It is driven like this: after
//! each call, and when [`poll_timeout`](Allocation::poll_timeout) has come and [`handle_timeout`](Allocation::handle_timeout)
//! was called, send what [`poll_transmit`](Allocation::poll_transmit) returns and take the events.
//!
//! Invariant: once the credentials were used, nothing is believed that the server did not sign, except that the nonce is
//! stale. Another unsigned error only explains why the first request timed out.

mod lease;
mod peers;
mod request;

use crate::address;
use crate::error::TurnError;
use crate::integrity::Credentials;
use crate::limits;
use crate::message::{
    Class, MessageWriter, StunMessage, attribute, channel_data, is_channel_data, method, write_channel_data,
};
use crate::schedule::Due;
use core::net::{IpAddr, SocketAddr};
use lease::Lease;
use peers::{Channels, Permissions, Permit, Way, earlier};
use request::{Purpose, Request, Signer};
use std::collections::VecDeque;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Which addresses a relayed address can exchange datagrams with.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum RelayFamily {
    /// IPv4, which every server has.
    #[default]
    V4,
    /// IPv6.
    V6,
}

/// What happened to an allocation.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum AllocationEvent {
    /// It exists.
    Allocated {
        /// Where peers send to.
        relayed: SocketAddr,
        /// The caller's address as the server sees it.
        mapped: SocketAddr,
    },
    /// Datagrams to a peer are not relayed. Those that waited are dropped; they are refused for a while.
    PeerRefused {
        /// Whose permission was requested.
        peer: IpAddr,
        /// Why.
        error: TurnError,
    },
    /// It does not exist, or no longer. Nothing follows.
    Failed(TurnError),
    /// It was closed. Nothing follows.
    Closed,
}

/// Why a datagram is not sent. A full queue is a lost datagram, as a network may have.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum SendError {
    /// There is no relayed address yet, or no longer.
    #[error("there is no relayed address")]
    NotReady,
    /// IPv4 and IPv6 do not mix.
    #[error("the peer's address is of another family than the relayed address")]
    Family,
    /// Port 0, or no address of a peer.
    #[error("not an address of a peer")]
    Address,
    /// See [`limits::PAYLOAD`].
    #[error("the datagram is longer than {} bytes", limits::PAYLOAD)]
    TooLong,
    /// See [`limits::OUTGOING`] and [`limits::WAITING`].
    #[error("the queue is full")]
    QueueFull,
    /// See [`limits::PERMISSIONS`].
    #[error("more than {} peers", limits::PERMISSIONS)]
    TooManyPeers,
    /// By the server, a short while ago.
    #[error("the TURN server does not relay to this peer")]
    Refused,
}

/// A datagram of a peer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Received {
    /// Who sent it.
    pub from: SocketAddr,
    /// Where it lies in the server's datagram.
    pub payload: Range<usize>,
}

/// A relayed address at one server.
#[derive(Debug)]
pub struct Allocation {
    signer: Signer,
    phase: Phase,
    requests: Vec<Request>,
    permissions: Permissions,
    channels: Channels,
    /// Datagrams whose peers have no permission yet.
    waiting: Vec<(SocketAddr, Vec<u8>)>,
    /// First in line, so that a flood of datagrams does not delay them.
    outgoing_requests: VecDeque<Vec<u8>>,
    outgoing: VecDeque<Vec<u8>>,
    events: VecDeque<AllocationEvent>,
}

#[derive(Debug)]
enum Phase {
    Allocating,
    Allocated(Lease),
    Closing,
    Over,
}

impl Allocation {
    /// Requests a relayed address. `secret` has random bytes, from which the identifiers of transactions are derived.
    pub fn new(
        credentials: Option<Credentials>,
        family: RelayFamily,
        secret: [u8; 32],
        now: Instant,
    ) -> Self {
        let mut allocation = Self {
            signer: Signer::new(credentials, &secret),
            phase: Phase::Allocating,
            requests: Vec::new(),
            permissions: Permissions::default(),
            channels: Channels::new(),
            waiting: Vec::new(),
            outgoing_requests: VecDeque::new(),
            outgoing: VecDeque::new(),
            events: VecDeque::new(),
        };
        allocation.start(Purpose::Allocate(family), 0, now);
        allocation
    }

    /// Where peers send to; `None` unless it is allocated.
    pub fn relayed(&self) -> Option<SocketAddr> {
        self.lease().map(|lease| lease.relayed)
    }

    /// The caller's address as the server sees it; `None` unless there is an allocation.
    pub fn mapped(&self) -> Option<SocketAddr> {
        self.lease().map(|lease| lease.mapped)
    }

    /// Whether it has failed or is closed: nothing happens any more.
    pub fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over)
    }

    /// Sends a datagram to a peer. The first one to an address waits for a permission, which is requested now.
    pub fn send(&mut self, peer: SocketAddr, payload: &[u8], now: Instant) -> Result<(), SendError> {
        let peer = canonical(peer);
        if payload.len() > limits::PAYLOAD {
            return Err(SendError::TooLong);
        }
        if !address::is_usable(&peer) {
            return Err(SendError::Address);
        }
        if self.permit(peer.ip(), now)? {
            return self.relay(peer, payload, now);
        }
        if self.waiting.len() >= limits::WAITING {
            return Err(SendError::QueueFull);
        }
        self.waiting.push((peer, payload.to_vec()));
        Ok(())
    }

    /// Lets an address send to the relayed address, before anything is sent to it. Returns whether it may already. The
    /// permission ends some minutes after the last call of this or [`send`](Self::send) for the address.
    pub fn permit(&mut self, peer: IpAddr, now: Instant) -> Result<bool, SendError> {
        let peer = peer.to_canonical();
        let relayed = self.relayed().ok_or(SendError::NotReady)?;
        if relayed.is_ipv4() != peer.is_ipv4() {
            return Err(SendError::Family);
        }
        match self.permissions.look_up(peer, now) {
            Permit::Granted => Ok(true),
            Permit::Requested => Ok(false),
            Permit::Missing => {
                self.start(Purpose::Permit(peer), 0, now);
                Ok(false)
            }
            Permit::Refused => Err(SendError::Refused),
            Permit::Full => Err(SendError::TooManyPeers),
        }
    }

    /// Takes a datagram from the server; returns what a peer has sent, if it is that.
    pub fn handle(&mut self, datagram: &[u8], now: Instant) -> Option<Received> {
        if is_channel_data(datagram) {
            let (number, payload) = channel_data(datagram).filter(|_| self.lease().is_some())?;
            return self.channels.peer(number).map(|from| Received { from, payload });
        }
        let message = StunMessage::parse(datagram).ok()?;
        match message.class() {
            Class::Request => None,
            Class::Indication => self.indication(&message),
            Class::Success | Class::Error => {
                self.reply(&message, now);
                None
            }
        }
    }

    /// Does what is due: retransmissions, refreshes, failures.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.retransmit(now);
        if let Phase::Allocated(lease) = &mut self.phase {
            if lease.expires <= now {
                return self.fail(TurnError::Lost);
            }
            if lease.refresh.take_if(|refresh| *refresh <= now).is_some() {
                self.start(Purpose::Refresh, 0, now);
            }
            while let Some(ip) = self.permissions.renewal(now) {
                self.start(Purpose::Permit(ip), 0, now);
            }
            while let Some((peer, number)) = self.channels.renewal(now) {
                self.start(Purpose::Bind(peer, number), 0, now);
            }
        }
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) next; `None` when it is over.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let requests = self.requests.iter().map(|request| request.schedule.next());
        let lease = self.lease().map(|lease| earlier(lease.refresh, lease.expires));
        let peers = self.permissions.timeouts().chain(self.channels.timeouts()).filter(|_| lease.is_some());
        requests.chain(lease).chain(peers).min()
    }

    /// The next datagram to be sent to the server.
    pub fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.outgoing_requests.pop_front().or_else(|| self.outgoing.pop_front())
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<AllocationEvent> {
        self.events.pop_front()
    }

    /// Gives the relayed address back. [`AllocationEvent::Closed`] follows when the server has confirmed it; a caller
    /// without time for that sends what [`poll_transmit`](Self::poll_transmit) returns and forgets the allocation. The next
    /// allocation at this server needs another local port: coturn, for one, keeps the old one in mind.
    pub fn close(&mut self, now: Instant) {
        match self.phase {
            Phase::Closing | Phase::Over => return,
            // A signed request may have been granted, only we do not know it yet.
            Phase::Allocating if !self.signer.signs() => return self.end(AllocationEvent::Closed),
            Phase::Allocating | Phase::Allocated(_) => {}
        }
        self.phase = Phase::Closing;
        self.requests.clear();
        self.waiting.clear();
        self.start(Purpose::Close, 0, now);
    }

    fn lease(&self) -> Option<&Lease> {
        match &self.phase {
            Phase::Allocated(lease) => Some(lease),
            _ => None,
        }
    }

    fn indication(&self, message: &StunMessage<'_>) -> Option<Received> {
        if message.method() != method::DATA || self.lease().is_none() {
            return None;
        }
        let from = message.xor_address(attribute::XOR_PEER_ADDRESS)?;
        let payload = message.attribute_range(attribute::DATA)?;
        self.permissions.allow(from.ip()).then_some(Received { from, payload })
    }

    fn reply(&mut self, message: &StunMessage<'_>, now: Instant) {
        let is_for = |request: &Request| {
            request.transaction == message.transaction() && request.purpose.method() == message.method()
        };
        let Some(index) = self.requests.iter().position(is_for) else { return };
        let Some(request) = self.requests.get_mut(index) else { return };
        let is_verified = request.verifies(message);
        let outcome = match (message.class(), message.error()) {
            (Class::Success, _) => Ok(()),
            (_, Some(error)) => Err(error),
            // An error without code is none.
            (_, None) => return,
        };
        match outcome {
            Err(error) if matches!(error.code, 401 | 438) => {
                let request = self.requests.swap_remove(index);
                match self.signer.challenge(&request, message, error) {
                    Ok(()) => self.start(request.purpose, request.challenges + 1, now),
                    Err(error) => self.refused(request.purpose, error, now),
                }
            }
            Err(error) => {
                let error = match (error.code, request.purpose) {
                    (300, _) => {
                        let alternate =
                            message.attribute(attribute::ALTERNATE_SERVER).and_then(address::read);
                        TurnError::Alternate(alternate)
                    }
                    (403, Purpose::Permit(_) | Purpose::Bind(..)) => TurnError::Forbidden,
                    _ => error.into(),
                };
                if !is_verified {
                    request.unverified = Some(error);
                    return;
                }
                let request = self.requests.swap_remove(index);
                self.refused(request.purpose, error, now);
            }
            Ok(()) if is_verified => {
                let request = self.requests.swap_remove(index);
                self.granted(request.purpose, message, now);
            }
            Ok(()) => {}
        }
    }

    fn granted(&mut self, purpose: Purpose, message: &StunMessage<'_>, now: Instant) {
        match purpose {
            Purpose::Allocate(family) => match Lease::read(message, family, now) {
                Ok(lease) => {
                    self.signer.accepted = true;
                    let (relayed, mapped) = (lease.relayed, lease.mapped);
                    self.phase = Phase::Allocated(lease);
                    self.emit(AllocationEvent::Allocated { relayed, mapped });
                }
                Err(error) => self.fail(error),
            },
            Purpose::Refresh => {
                let Phase::Allocated(lease) = &mut self.phase else { return };
                if lease.renew(message, now).is_err() {
                    // No lifetime is left: the server ends the allocation.
                    self.fail(TurnError::Lost);
                }
            }
            Purpose::Close => self.end(AllocationEvent::Closed),
            Purpose::Permit(ip) => {
                self.permissions.grant(ip, now);
                let ready = self.waiting.extract_if(.., |(peer, _)| peer.ip() == ip).collect::<Vec<_>>();
                for (peer, payload) in ready {
                    // A full queue is a lost datagram.
                    let _sent = self.relay(peer, &payload, now);
                }
            }
            Purpose::Bind(peer, _) => self.channels.bind(peer, now),
        }
    }

    fn refused(&mut self, purpose: Purpose, error: TurnError, now: Instant) {
        let pause = if error == TurnError::TimedOut { Duration::ZERO } else { limits::RETRY };
        match purpose {
            Purpose::Allocate(_) => self.fail(error),
            Purpose::Close => self.end(AllocationEvent::Closed),
            // The server knows of no allocation.
            _ if error == TurnError::Mismatch => self.fail(TurnError::Lost),
            Purpose::Refresh => {
                if let Phase::Allocated(lease) = &mut self.phase {
                    lease.refresh = Some(now + pause);
                }
            }
            Purpose::Permit(ip) => {
                if error != TurnError::Forbidden && self.permissions.retry(ip, pause, now) {
                    return;
                }
                match error {
                    // It was not refused: the next datagram may ask again.
                    TurnError::TimedOut => self.permissions.forget(ip),
                    _ => self.permissions.refuse(ip, now),
                }
                self.waiting.retain(|(peer, _)| peer.ip() != ip);
                self.emit(AllocationEvent::PeerRefused { peer: ip, error });
            }
            Purpose::Bind(peer, _) => {
                let pause = if error == TurnError::TimedOut { limits::RETRY } else { limits::REFUSED };
                self.channels.retry(peer, pause, now);
            }
        }
    }

    /// Sends to a peer that has a permission.
    fn relay(&mut self, peer: SocketAddr, payload: &[u8], now: Instant) -> Result<(), SendError> {
        if self.outgoing.len() >= limits::OUTGOING {
            return Err(SendError::QueueFull);
        }
        let datagram = match self.channels.look_up(peer, now) {
            Way::Channel(number) => write_channel_data(number, payload),
            Way::Indication(unbound) => {
                if let Some(number) = unbound {
                    self.start(Purpose::Bind(peer, number), 0, now);
                }
                MessageWriter::new(Class::Indication, method::SEND, self.signer.transaction())
                    .xor_address(attribute::XOR_PEER_ADDRESS, peer)
                    .attribute(attribute::DATA, payload)
                    .finish_plain()
            }
        };
        self.outgoing.push_back(datagram);
        Ok(())
    }

    fn start(&mut self, purpose: Purpose, challenges: u8, now: Instant) {
        let mut request = self.signer.request(purpose, challenges, now);
        if request.schedule.due(now) == Due::Transmission {
            transmit(&mut self.outgoing_requests, &request);
        }
        self.requests.push(request);
    }

    /// Sends requests that are due, and gives those up whose time is over.
    fn retransmit(&mut self, now: Instant) {
        let mut failed = Vec::new();
        self.requests.retain_mut(|request| match request.schedule.due(now) {
            Due::Nothing => true,
            Due::Transmission => {
                transmit(&mut self.outgoing_requests, request);
                true
            }
            Due::Failure => {
                failed.push((request.purpose, request.unverified.take()));
                false
            }
        });
        for (purpose, unverified) in failed {
            let explanation = unverified.filter(|_| matches!(purpose, Purpose::Allocate(_)));
            self.refused(purpose, explanation.unwrap_or(TurnError::TimedOut), now);
        }
    }

    fn fail(&mut self, error: TurnError) {
        self.end(AllocationEvent::Failed(error));
    }

    fn end(&mut self, event: AllocationEvent) {
        if self.is_over() {
            return;
        }
        self.phase = Phase::Over;
        self.requests.clear();
        self.waiting.clear();
        self.outgoing.clear();
        self.outgoing_requests.clear();
        self.emit(event);
    }

    /// A caller that never takes events loses the oldest.
    fn emit(&mut self, event: AllocationEvent) {
        if self.events.len() >= limits::EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }
}

fn transmit(outgoing: &mut VecDeque<Vec<u8>>, request: &Request) {
    if outgoing.len() < limits::OUTGOING_REQUESTS {
        outgoing.push_back(request.datagram.clone());
    }
}

/// An IPv4 address in the form of IPv6, as sockets for both have it, is an IPv4 address.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}
