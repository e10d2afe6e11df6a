//! STUN and TURN servers: what they are, and what one socket has to do with one server.

use crate::random;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::task::{Context, Poll};
use std::time::Instant;
use swb_stun::{
    Allocation, AllocationEvent, Binding, Credentials, RelayFamily, ServerKind, ServerUrl, TurnError,
    keepalive,
};
use tokio::io::ReadBuf;
use tokio::net::UdpSocket;

/// The servers that a tunnel uses.
#[derive(Debug, Clone, Default)]
pub(crate) struct Servers {
    pub(crate) stun: Vec<ServerUrl>,
    pub(crate) turn: Option<ServerUrl>,
}

impl Servers {
    /// Reads the addresses of servers; the error names the one that is wrong.
    pub(crate) fn parse(stun: &[String], turn: Option<&str>) -> Result<Self, String> {
        let parse = |text: &str, kind: ServerKind| {
            let server = ServerUrl::parse(text).map_err(|error| format!("'{text}': {error}"))?;
            let wrong = || format!("'{text}' is not the address of a {} server", name(kind));
            (server.kind == kind).then_some(server).ok_or_else(wrong)
        };
        let stun = stun.iter().map(|text| parse(text, ServerKind::Stun)).collect::<Result<_, _>>()?;
        let turn = turn.map(|text| parse(text, ServerKind::Turn)).transpose()?;
        Ok(Self { stun, turn })
    }

    /// The STUN servers that the peer should ask. A TURN server is one, too, and has to know the peer's public address
    /// before it lets its packets in.
    pub(crate) fn for_peer(&self) -> Vec<String> {
        let turn = self.turn.iter().map(|turn| ServerUrl {
            kind: ServerKind::Stun,
            credentials: None,
            ..turn.clone()
        });
        self.stun.iter().cloned().chain(turn).map(|server| server.to_string()).collect()
    }
}

/// Checks addresses of STUN servers and of a TURN server; the error names the one that is wrong.
pub fn check(stun: &[String], turn: Option<&str>) -> Result<(), String> {
    Servers::parse(stun, turn).map(drop)
}

fn name(kind: ServerKind) -> &'static str {
    match kind {
        ServerKind::Stun => "STUN",
        ServerKind::Turn => "TURN",
    }
}

/// One socket's address outside, as a STUN server sees it, for as long as packets keep the way open.
pub(crate) struct Mapping {
    /// Number of the socket.
    pub(crate) socket: usize,
    pub(crate) server: SocketAddr,
    binding: Binding,
    keepalive: Instant,
}

impl Mapping {
    pub(crate) fn new(socket: usize, server: SocketAddr, now: Instant) -> Self {
        let keepalive = now + swb_stun::limits::KEEPALIVE;
        Self { socket, server, binding: Binding::new(random::bytes(), now), keepalive }
    }

    /// What is to be sent to the server now.
    pub(crate) fn transmit(&mut self, now: Instant) -> Option<Vec<u8>> {
        if let Some(request) = self.binding.poll_transmit(now) {
            return Some(request);
        }
        if now < self.keepalive || !self.is_found() {
            return None;
        }
        self.keepalive = now + swb_stun::limits::KEEPALIVE;
        Some(keepalive(random::bytes()))
    }

    /// When it is to be asked next.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.binding.poll_timeout().or_else(|| self.is_found().then_some(self.keepalive))
    }

    pub(crate) fn handle(&mut self, datagram: &[u8]) {
        self.binding.handle(datagram);
    }

    /// The address outside.
    pub(crate) fn mapped(&self) -> Option<SocketAddr> {
        self.binding.outcome().and_then(|outcome| outcome.as_ref().ok()).copied()
    }

    /// Whether the server has replied, or never will.
    pub(crate) fn is_settled(&self) -> bool {
        self.binding.outcome().is_some()
    }

    fn is_found(&self) -> bool {
        self.mapped().is_some()
    }
}

/// An address at a TURN server, which passes packets on.
pub(crate) struct TurnRelay {
    socket: UdpSocket,
    server: SocketAddr,
    allocation: Allocation,
    failure: Option<TurnError>,
}

/// A datagram that a TURN server passed on: who sent it, and where its content lies in the buffer.
pub(crate) struct Passed {
    pub(crate) from: SocketAddr,
    pub(crate) payload: std::ops::Range<usize>,
}

impl TurnRelay {
    /// Requests an address.
    pub(crate) fn open(
        server: SocketAddr,
        credentials: Option<Credentials>,
        now: Instant,
    ) -> io::Result<Self> {
        let (any, family): (IpAddr, _) = match server {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED.into(), RelayFamily::V4),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED.into(), RelayFamily::V6),
        };
        let socket = std::net::UdpSocket::bind((any, 0))?;
        socket.set_nonblocking(true)?;
        let socket = UdpSocket::from_std(socket)?;
        let allocation = Allocation::new(credentials, family, random::bytes(), now);
        Ok(Self { socket, server, allocation, failure: None })
    }

    /// The address at which peers reach it.
    pub(crate) fn relayed(&self) -> Option<SocketAddr> {
        self.allocation.relayed()
    }

    /// Why there is none.
    pub(crate) fn failure(&self) -> Option<&TurnError> {
        self.failure.as_ref()
    }

    /// Sends a datagram through the server. One that cannot be sent is lost, as any other may be.
    pub(crate) fn send(&mut self, to: SocketAddr, bytes: &[u8], now: Instant) {
        let _queued = self.allocation.send(to, bytes, now);
        self.flush();
    }

    /// Does what is due; returns when something is next.
    pub(crate) fn attend(&mut self, now: Instant) -> Option<Instant> {
        self.allocation.handle_timeout(now);
        while let Some(event) = self.allocation.poll_event() {
            match event {
                AllocationEvent::Failed(error) => self.failure = Some(error),
                AllocationEvent::Allocated { .. }
                | AllocationEvent::PeerRefused { .. }
                | AllocationEvent::Closed => {}
            }
        }
        self.flush();
        self.allocation.poll_timeout()
    }

    /// Receives what the server sends; returns what it passes on.
    pub(crate) fn poll_receive(&mut self, context: &mut Context<'_>, buffer: &mut [u8]) -> Poll<Passed> {
        loop {
            let mut read = ReadBuf::new(buffer);
            let from = match self.socket.poll_recv_from(context, &mut read) {
                Poll::Ready(Ok(from)) => from,
                // An earlier datagram did not arrive, which is noticed in time.
                Poll::Ready(Err(_)) => continue,
                Poll::Pending => return Poll::Pending,
            };
            if from != self.server {
                continue;
            }
            let received = self.allocation.handle(read.filled(), Instant::now());
            self.flush();
            if let Some(received) = received {
                return Poll::Ready(Passed { from: received.from, payload: received.payload });
            }
        }
    }

    /// Gives the address back.
    pub(crate) fn close(&mut self) {
        self.allocation.close(Instant::now());
        self.flush();
    }

    fn flush(&mut self) {
        while let Some(datagram) = self.allocation.poll_transmit() {
            // Lost if the kernel has no room; requests are repeated.
            let _sent = self.socket.try_send_to(&datagram, self.server);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_servers_are_checked() {
        let parse = |stun: &[&str], turn: Option<&str>| {
            let stun: Vec<String> = stun.iter().map(|text| (*text).to_owned()).collect();
            Servers::parse(&stun, turn)
        };
        let servers = parse(&["stun:a.example", "stun:b.example:1234"], Some("turn:u:p@c.example")).unwrap();
        assert_eq!((servers.stun.len(), servers.turn.is_some()), (2, true));
        let asked = servers.for_peer();
        assert_eq!(asked.last().map(String::as_str), Some("stun:c.example:3478"), "{asked:?}");
        assert!(asked.len() == 3 && !asked.concat().contains("p@"));
        for (stun, turn) in [(&["http://x"][..], None), (&["turn:u:p@x"], None), (&[], Some("stun:x"))] {
            let error = parse(stun, turn).unwrap_err();
            assert!(error.contains(stun.first().copied().or(turn).unwrap()), "{error}");
        }
    }
}
