//! The connection to the daemon that an agent's programs inherit, if the agent may use `swb`.
//!
//! Confined programs cannot open sockets themselves. The program's end is passed on to everything it starts; the
//! daemon serves the other end with the role `agent`, limited to the workspace, as long as the program's guard lives.

use crate::BackendContext;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::io;
use std::path::{Path, PathBuf};
use tokio_util::sync::{CancellationToken, DropGuard};

/// Lowest number of an inherited descriptor. Some runtimes (Node.js among them) withhold the lowest descriptors that
/// they find open from the programs they start, and stop searching at the first gap.
const LOWEST: i32 = 512;

/// The daemon's end of a connection, for the front that serves it.
#[derive(Debug)]
pub struct AgentSocket {
    /// The end on which programs request connections.
    pub socket: OwnedFd,
    /// The workspace that they are limited to.
    pub workspace: PathBuf,
    /// Cancelled when the program has ended: all its connections end then.
    pub ended: CancellationToken,
}

/// The program's end of a connection, until the program is started.
#[derive(Debug)]
pub(crate) struct AgentConnection {
    pub(crate) descriptor: OwnedFd,
    /// Dropping it ends the connection.
    pub(crate) open: DropGuard,
}

impl AgentConnection {
    /// The descriptor's number, which is the same in the program.
    pub(crate) fn number(&self) -> i32 {
        self.descriptor.as_raw_fd()
    }
}

impl BackendContext {
    /// Opens the connection for a program that works in `workspace`; `None` if its agent may not use `swb`.
    pub(crate) fn connection(&self, workspace: &Path) -> io::Result<Option<AgentConnection>> {
        let Some(connections) = &self.connections else { return Ok(None) };
        let (socket, descriptor) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        // Without room for high numbers, any number is better than none.
        let descriptor = rustix::io::fcntl_dupfd_cloexec(&descriptor, LOWEST).unwrap_or(descriptor);
        let ended = CancellationToken::new();
        let open = ended.clone().drop_guard();
        let served = AgentSocket { socket, workspace: workspace.to_owned(), ended };
        connections.try_send(served).map_err(|_| io::Error::other("the daemon accepts no connections"))?;
        Ok(Some(AgentConnection { descriptor, open }))
    }
}
