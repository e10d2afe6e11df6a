//! Connects to the daemon through a socket that this process has inherited: how programs of an agent, which may not
//! open sockets, use `swb`. What they may do is limited by the daemon.

use crate::error::{Failure, FailureKind};
use crate::{limits, sys};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::unix::net::UnixStream;
use swb_types::CONNECTION_VARIABLE;
use swb_wire::control::inherited::{CONNECT, CONNECTED, FULL, PACKET};

/// Opens a connection if the environment names an inherited socket.
pub(crate) fn open() -> Result<Option<UnixStream>, Failure> {
    let Some(value) = std::env::var_os(CONNECTION_VARIABLE) else { return Ok(None) };
    let number = value.to_str().and_then(|text| text.parse().ok());
    let socket = number.and_then(sys::inherited).filter(is_packet_socket).ok_or_else(|| {
        Failure::new(
            FailureKind::NoDaemon,
            format!(
                "{CONNECTION_VARIABLE} is {}, which is not a descriptor of the connection to the daemon",
                value.to_string_lossy().escape_debug()
            ),
        )
        .hint("the program that started swb has closed it; let its commands inherit its descriptors")
    })?;
    connect(&socket).map(Some)
}

/// Requests a connection.
fn connect(socket: &OwnedFd) -> Result<UnixStream, Failure> {
    let lost = |error: Errno| match error {
        Errno::WOULDBLOCK => {
            Failure::new(FailureKind::NoDaemon, "timed out waiting for the daemon to accept the connection")
                .hint("try again")
        }
        _ => ended(),
    };
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_timeout(socket, Timeout::Send, Some(limits::HANDSHAKE))?;
    sockopt::set_socket_timeout(&ours, Timeout::Recv, Some(limits::HANDSHAKE))?;
    send(socket, CONNECT, theirs).map_err(lost)?;
    let mut bytes = [0; PACKET];
    let (count, connection) = receive(&ours, &mut bytes).map_err(lost)?;
    match (bytes.get(..count), connection) {
        (Some(CONNECTED), Some(connection)) => Ok(connection.into()),
        (Some(FULL), _) => {
            let text = "this agent has as many connections to the daemon as it may have";
            Err(Failure::general(text).hint("wait for another swb command to end"))
        }
        _ => Err(ended()),
    }
}

fn ended() -> Failure {
    Failure::new(FailureKind::NoDaemon, "the daemon has closed the connection of this agent")
        .hint("it ends with the agent's command, and with the daemon")
}

fn is_packet_socket(socket: &OwnedFd) -> bool {
    sockopt::socket_domain(socket) == Ok(AddressFamily::UNIX)
        && sockopt::socket_type(socket) == Ok(SocketType::SEQPACKET)
}

fn send(socket: &OwnedFd, packet: &[u8], descriptor: OwnedFd) -> rustix::io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors = [descriptor.as_fd()];
    control.push(SendAncillaryMessage::ScmRights(&descriptors));
    sendmsg(socket, &[IoSlice::new(packet)], &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// The next packet: its length, and the descriptor that came with it.
fn receive(socket: &OwnedFd, bytes: &mut [u8]) -> rustix::io::Result<(usize, Option<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let got = recvmsg(socket, &mut [IoSliceMut::new(bytes)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let descriptor = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut rights) => rights.next(),
        _ => None,
    });
    Ok((got.bytes, descriptor))
}
