//! The daemon's end of the connection to the keeper.

use crate::id::SlotId;
use crate::key;
use crate::proto::{self, Packet, PacketKind, Received};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::io;
use std::path::Path;

/// A connection to a keeper. Neither sending nor receiving waits; use [`KeeperLink::as_fd`] to wait.
#[derive(Debug)]
pub struct KeeperLink {
    socket: OwnedFd,
}

impl KeeperLink {
    /// Connects and sends a hello; the reply is the first packet received.
    pub fn connect(path: &Path) -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
        let peer = rustix::net::sockopt::socket_peercred(&socket)?;
        if peer.uid != rustix::process::getuid() {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "the keeper belongs to another user",
            ));
        }
        match proto::send(
            &socket,
            Packet::new(PacketKind::Hello, SlotId::GLOBAL).args(proto::VERSION, key::read(path)),
            &[],
        ) {
            // A keeper that serves another daemon reports that and closes at once; the report can still be read.
            Ok(()) | Err(Errno::PIPE) => Ok(Self { socket }),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends a packet; `WouldBlock` when the keeper has not caught up.
    pub fn send(&self, packet: Packet, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
        Ok(proto::send(&self.socket, packet, fds)?)
    }

    /// Receives a packet; `WouldBlock` when there is none.
    pub fn receive(&self) -> io::Result<Received> {
        let received = match proto::receive(&self.socket) {
            // The kernel reports once, before the keeper's packets, that it closed without reading ours.
            Err(Errno::CONNRESET) => proto::receive(&self.socket),
            received => received,
        };
        Ok(received?)
    }
}

impl AsFd for KeeperLink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl std::os::fd::AsRawFd for KeeperLink {
    fn as_raw_fd(&self) -> std::os::fd::RawFd {
        std::os::fd::AsRawFd::as_raw_fd(&self.socket)
    }
}
