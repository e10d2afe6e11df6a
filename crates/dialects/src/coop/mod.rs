//! The coop front: coop's commands, in the framing of the control socket.
//!
//! Coop's clients see the sessions that are offered to coop, and can send the commands of
//! [`swb_wire::coop::COMMANDS`]; each of them is one of our operations.

use crate::control::{Control, Protocol};
use std::io;
use std::os::fd::OwnedFd;
use swb_operations::{COOP, Caller};
use swb_wire::coop::parse_command;

/// Serves coop's clients on a listening socket until the daemon stops.
pub fn listen(control: &Control, listener: OwnedFd) -> io::Result<()> {
    let caller = Caller::owner().through(COOP);
    // After its handshake a connection may be idle for any time, as long as there is room for others.
    control.serve(listener, Protocol { parse: parse_command, caller, roles: false, idle_limit: None })
}
