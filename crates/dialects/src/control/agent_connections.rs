//! The connections of agents' programs, which inherit a socket instead of opening one (`swb_wire::control::inherited`).
//!
//! The peers are untrusted. A descriptor that they send is used for one reply that does not wait, and the connection
//! is a pair of sockets that the daemon creates: a peer could make one of its own block the daemon, as both sides
//! would share its flags. A thread for each agent receives such descriptors and closes them, and threads read the
//! connections (`bridge.rs`), because closing what a peer has sent can block, too.

use super::connection::{ConnectionPlace, ControlConnection};
use super::{Control, Protocol, bridge};
use crate::limits;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, Shutdown, SocketType, recvmsg, sendmsg, sockopt,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use swb_operations::Caller;
use swb_types::{Role, Scope};
use swb_wire::control::inherited::{CONNECT, CONNECTED, FULL, PACKET};
use swb_wire::control::parse_operation;
use tokio::net::UnixStream;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

impl Control {
    /// Serves the connections that an agent's programs request on `socket`, with the role `agent` and limited to
    /// `workspace`, until `ended`.
    pub fn serve_agent(&self, socket: OwnedFd, workspace: PathBuf, ended: CancellationToken) {
        let mut control = self.clone();
        // The agent's connections end with the agent, and with the daemon.
        control.fronts.stop = self.fronts.stop.child_token();
        let stop = control.fronts.stop.clone();
        let socket = Arc::new(socket);
        let agent = AgentConnections {
            control,
            caller: Caller::new(Role::Agent, Scope::Workspace(workspace)),
            socket: Arc::clone(&socket),
            places: Arc::new(Semaphore::new(limits::AGENT_CONNECTIONS)),
            bridges: Arc::new(Semaphore::new(limits::AGENT_CONNECTIONS)),
            runtime: Handle::current(),
        };
        let thread = std::thread::Builder::new().name("swb-agent".to_owned()).stack_size(limits::AGENT_STACK);
        if let Err(error) = thread.spawn(move || agent.run()) {
            tracing::warn!(%error, "cannot serve the connections of an agent");
            return;
        }
        self.fronts.tasks.spawn(async move {
            tokio::select! {
                () = ended.cancelled() => stop.cancel(),
                () = stop.cancelled() => {}
            }
            // Wakes the thread, which closes the socket. It may have ended with the last of the agent's programs.
            let _woken = rustix::net::shutdown(&socket, Shutdown::Both);
        });
    }
}

/// The connections of one agent.
struct AgentConnections {
    control: Control,
    caller: Caller,
    socket: Arc<OwnedFd>,
    places: Arc<Semaphore>,
    /// Counts the bridges: either of a connection and its bridge may end before the other.
    bridges: Arc<Semaphore>,
    runtime: Handle,
}

impl AgentConnections {
    /// Serves requests until the socket is shut down, or no program has the other end any more.
    fn run(self) {
        while !self.control.fronts.stop.is_cancelled() {
            match receive(&self.socket) {
                Ok(Received::Request(reply_to)) => {
                    if let Err(error) = self.connect(&reply_to) {
                        tracing::debug!(%error, "cannot connect a program of an agent");
                    }
                }
                Ok(Received::Invalid) => tracing::debug!("ignoring an invalid packet of an agent"),
                Ok(Received::End) => return,
                Err(error) => {
                    tracing::debug!(%error, "cannot receive requests of an agent");
                    return;
                }
            }
        }
    }

    fn connect(&self, reply_to: &OwnedFd) -> io::Result<()> {
        let free = [&self.places, &self.bridges].map(|places| Arc::clone(places).try_acquire_owned());
        let [Ok(place), Ok(bridge)] = free else {
            return Ok(reply(reply_to, FULL, None)?);
        };
        let (outer, theirs) = StdUnixStream::pair()?;
        let (inner, ours) = StdUnixStream::pair()?;
        ours.set_nonblocking(true)?;
        bridge::connect(outer, inner, limits::REPLY, bridge)?;
        self.serve(ours, place);
        Ok(reply(reply_to, CONNECTED, Some(theirs.into()))?)
    }

    fn serve(&self, stream: StdUnixStream, place: OwnedSemaphorePermit) {
        let control = self.control.clone();
        // Its handshake cannot change the role.
        let (caller, idle_limit) = (self.caller.clone(), Some(limits::COMMAND_IDLE));
        let protocol = Protocol { parse: parse_operation, caller, roles: false, idle_limit };
        // An agent locks out only itself, so all of its connections may last.
        let (most, lasting) = (limits::AGENT_CONNECTIONS, Arc::new(Semaphore::new(1)));
        // Their half-sent messages take 32 MiB at most, so they need no common bound.
        let incomplete = Arc::default();
        let place = ConnectionPlace { room: control.fronts.room(place), lasting, most, incomplete };
        let serving = async move {
            match UnixStream::from_std(stream) {
                Ok(stream) => ControlConnection::new(control, protocol, stream, place).run().await,
                Err(error) => tracing::warn!(%error, "cannot serve a connection of an agent"),
            }
        };
        self.control.fronts.tasks.spawn_on(serving, &self.runtime);
    }
}

/// What has arrived on the socket.
enum Received {
    /// A request for a connection, and where to reply.
    Request(OwnedFd),
    Invalid,
    End,
}

/// Waits for the next packet.
fn receive(socket: &OwnedFd) -> rustix::io::Result<Received> {
    let mut bytes = [0; PACKET];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let got = loop {
        match recvmsg(socket, &mut [IoSliceMut::new(&mut bytes)], &mut control, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => {}
            got => break got?,
        }
    };
    let rights = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(rights) => Some(rights),
        _ => None,
    });
    let mut descriptors = rights.flatten();
    let (first, more) = (descriptors.next(), descriptors.next());
    Ok(match (bytes.get(..got.bytes), first, more) {
        (Some([]), None, None) if has_ended(socket) => Received::End,
        (Some(CONNECT), Some(reply_to), None) if is_packet_socket(&reply_to) => Received::Request(reply_to),
        _ => Received::Invalid,
    })
}

/// Distinguishes the end of the socket from an empty packet.
fn has_ended(socket: &OwnedFd) -> bool {
    let mut sockets = [PollFd::new(socket, PollFlags::RDHUP)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut sockets, Some(&now)).map_or(true, |ready| ready > 0)
}

/// Whether a descriptor is a socket to which a send without waiting returns at once.
fn is_packet_socket(descriptor: impl AsFd) -> bool {
    sockopt::socket_domain(&descriptor) == Ok(AddressFamily::UNIX)
        && sockopt::socket_type(&descriptor) == Ok(SocketType::SEQPACKET)
}

/// Sends a reply, and a descriptor with it. Nothing waits for a peer that does not read.
fn reply(to: &OwnedFd, packet: &[u8], descriptor: Option<OwnedFd>) -> rustix::io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors = descriptor.as_ref().map(AsFd::as_fd);
    if let Some(descriptor) = &descriptors {
        control.push(SendAncillaryMessage::ScmRights(std::slice::from_ref(descriptor)));
    }
    sendmsg(to, &[IoSlice::new(packet)], &mut control, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)?;
    Ok(())
}
