//! The sockets of one tunnel, and where the other end may find them.

use crate::limits;
use crate::servers::{Mapping, Passed, Servers, TurnRelay};
use std::future::{Future, poll_fn};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;
use str0m::Candidate;
use swb_operations::reachable_addresses;
use tokio::io::ReadBuf;
use tokio::net::UdpSocket;
use tokio::time::{Sleep, sleep_until, timeout};

/// A datagram that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Datagram {
    pub(crate) from: SocketAddr,
    /// Our address that it was sent to.
    pub(crate) to: SocketAddr,
    pub(crate) length: usize,
}

/// The sockets of one tunnel: one for each address of this machine, and one for each TURN server.
pub(crate) struct Network {
    sockets: Vec<(SocketAddr, UdpSocket)>,
    /// The socket that is asked next, so that none is favoured.
    next: usize,
    mappings: Vec<Mapping>,
    relays: Vec<TurnRelay>,
    /// When servers are to be asked again.
    timer: Pin<Box<Sleep>>,
}

impl Network {
    /// Opens a socket at each address at which another machine may reach this one.
    pub(crate) fn open() -> io::Result<Self> {
        let mut sockets = Vec::new();
        let mut failed = None;
        for address in reachable_addresses()?.into_iter().take(limits::ADDRESSES) {
            match bind(address) {
                Ok(socket) => sockets.push(socket),
                // An address may be on its way in or out.
                Err(error) => failed = Some(error),
            }
        }
        match (sockets.is_empty(), failed) {
            (true, Some(error)) => return Err(error),
            (true, None) => return Err(io::Error::other("this machine has no address but its own loopback")),
            (false, _) => {}
        }
        let timer = Box::pin(sleep_until(tokio::time::Instant::now()));
        Ok(Self { sockets, next: 0, mappings: Vec::new(), relays: Vec::new(), timer })
    }

    /// Asks servers for further addresses, for a limited time. The error has the reason why a TURN server gives none.
    pub(crate) async fn gather(&mut self, servers: &Servers) -> Result<(), String> {
        let begun = Instant::now();
        let resolving = async {
            for server in &servers.stun {
                for address in resolve(&server.host, server.port).await.unwrap_or_default() {
                    self.ask(address);
                }
            }
        };
        // A STUN server that cannot be found is one way less.
        let _resolved = timeout(limits::GATHER, resolving).await;
        if let Some(server) = &servers.turn {
            let found = timeout(limits::GATHER, resolve(&server.host, server.port)).await;
            let address = found.ok().and_then(Result::ok).and_then(|found| found.first().copied());
            let unknown = || format!("the address of the TURN server '{}' cannot be found", server.host);
            let relay =
                TurnRelay::open(address.ok_or_else(unknown)?, server.credentials.clone(), Instant::now());
            self.relays.push(relay.map_err(|error| format!("cannot reach the TURN server: {error}"))?);
        }
        let limit = if self.relays.is_empty() { limits::GATHER } else { limits::GATHER_RELAY };
        let mut buffer = vec![0; limits::DATAGRAM];
        let settled = poll_fn(|context| {
            // Only the servers know these sockets yet.
            while self.poll_receive(context, &mut buffer).is_ready() {}
            if self.is_settled() { Poll::Ready(()) } else { Poll::Pending }
        });
        let _settled = timeout(limit.saturating_sub(begun.elapsed()), settled).await;
        match self.relays.iter().find(|relay| relay.relayed().is_none()) {
            Some(relay) => Err(relay
                .failure()
                .map_or_else(|| "the TURN server did not reply in time".to_owned(), ToString::to_string)),
            None => Ok(()),
        }
    }

    /// Asks a STUN server how it sees each of our sockets.
    fn ask(&mut self, server: SocketAddr) {
        let now = Instant::now();
        for (socket, (address, _)) in self.sockets.iter().enumerate() {
            if address.is_ipv4() == server.is_ipv4() && self.mappings.len() < limits::MAPPINGS {
                self.mappings.push(Mapping::new(socket, server, now));
            }
        }
    }

    fn is_settled(&self) -> bool {
        let allocated = |relay: &TurnRelay| relay.relayed().is_some() || relay.failure().is_some();
        self.mappings.iter().all(Mapping::is_settled) && self.relays.iter().all(allocated)
    }

    /// The addresses as candidates for the other end.
    pub(crate) fn candidates(&self) -> Vec<Candidate> {
        let hosts = self.sockets.iter().map(|(address, _)| Candidate::host(*address, "udp"));
        let mapped = self.mappings.iter().filter_map(|mapping| {
            let (base, _) = self.sockets.get(mapping.socket)?;
            let outside = mapping.mapped().filter(|outside| outside != base)?;
            Some(Candidate::server_reflexive(outside, *base, "udp"))
        });
        let relayed = self.relays.iter().filter_map(|relay| {
            let relayed = relay.relayed()?;
            let (local, _) =
                self.sockets.iter().find(|(address, _)| address.is_ipv4() == relayed.is_ipv4())?;
            Some(Candidate::relayed(relayed, *local, "udp"))
        });
        hosts.chain(mapped).chain(relayed).filter_map(Result::ok).collect()
    }

    /// Receives a datagram on any socket, and does meanwhile what servers need.
    pub(crate) fn poll_receive(&mut self, context: &mut Context<'_>, buffer: &mut [u8]) -> Poll<Datagram> {
        self.attend_servers(context);
        let count = self.sockets.len();
        for step in 0..count {
            let index = (self.next + step) % count;
            if let Poll::Ready(datagram) = self.poll_socket(index, context, buffer) {
                self.next = index;
                return Poll::Ready(datagram);
            }
        }
        for relay in &mut self.relays {
            if let Poll::Ready(Passed { from, payload }) = relay.poll_receive(context, buffer) {
                let (length, Some(to)) = (payload.len(), relay.relayed()) else { continue };
                buffer.copy_within(payload, 0);
                return Poll::Ready(Datagram { from, to, length });
            }
        }
        Poll::Pending
    }

    fn poll_socket(&mut self, index: usize, context: &mut Context<'_>, buffer: &mut [u8]) -> Poll<Datagram> {
        let Some((to, socket)) = self.sockets.get(index) else { return Poll::Pending };
        loop {
            let mut read = ReadBuf::new(buffer);
            let from = match socket.poll_recv_from(context, &mut read) {
                Poll::Ready(Ok(from)) => from,
                // An earlier datagram did not arrive, which needs no handling here.
                Poll::Ready(Err(_)) => continue,
                Poll::Pending => return Poll::Pending,
            };
            let asked = |mapping: &&mut Mapping| mapping.socket == index && mapping.server == from;
            match self.mappings.iter_mut().find(asked) {
                Some(mapping) => mapping.handle(read.filled()),
                None => return Poll::Ready(Datagram { from, to: *to, length: read.filled().len() }),
            }
        }
    }

    /// Sends servers what is due, and sees to it that this is done again in time.
    fn attend_servers(&mut self, context: &mut Context<'_>) {
        if self.mappings.is_empty() && self.relays.is_empty() {
            return;
        }
        loop {
            let now = Instant::now();
            let mut due = None;
            for mapping in &mut self.mappings {
                while let Some(datagram) = mapping.transmit(now) {
                    if let Some((_, socket)) = self.sockets.get(mapping.socket) {
                        // Lost if the kernel has no room; requests are repeated.
                        let _sent = socket.try_send_to(&datagram, mapping.server);
                    }
                }
                due = earlier(due, mapping.due());
            }
            for relay in &mut self.relays {
                due = earlier(due, relay.attend(now));
            }
            let Some(due) = due else { return };
            self.timer.as_mut().reset(due.into());
            if self.timer.as_mut().poll(context).is_pending() {
                return;
            }
        }
    }

    /// Sends a datagram from one of our addresses. One that cannot be sent is lost, as any other may be.
    pub(crate) fn poll_send(
        &mut self,
        context: &mut Context<'_>,
        from: SocketAddr,
        to: SocketAddr,
        bytes: &[u8],
    ) -> Poll<()> {
        if let Some((_, socket)) = self.sockets.iter().find(|(address, _)| *address == from) {
            return socket.poll_send_to(context, bytes, to).map(drop);
        }
        if let Some(relay) = self.relays.iter_mut().find(|relay| relay.relayed() == Some(from)) {
            relay.send(to, bytes, Instant::now());
        }
        Poll::Ready(())
    }

    /// Gives back what servers hold for us.
    pub(crate) fn close(&mut self) {
        for relay in &mut self.relays {
            relay.close();
        }
    }
}

fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// The addresses of a server, one of each family.
async fn resolve(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let found: Vec<SocketAddr> = tokio::net::lookup_host((host, port)).await?.collect();
    let first = |v4: bool| found.iter().find(|address| address.is_ipv4() == v4).copied();
    Ok([first(true), first(false)].into_iter().flatten().collect())
}

fn bind(address: IpAddr) -> io::Result<(SocketAddr, UdpSocket)> {
    let socket = std::net::UdpSocket::bind((address, 0))?;
    // As much as the kernel allows; less works, too.
    let _set = rustix::net::sockopt::set_socket_recv_buffer_size(&socket, limits::SOCKET_BUFFER);
    let _set = rustix::net::sockopt::set_socket_send_buffer_size(&socket, limits::SOCKET_BUFFER);
    socket.set_nonblocking(true)?;
    let local = socket.local_addr()?;
    Ok((local, UdpSocket::from_std(socket)?))
}
