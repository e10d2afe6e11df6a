//! The process of the active window (CH-7), as EWMH defines it.

use super::super::desktop::{FocusLookup, FocusedWindow, PressedAt};
use super::lost;
use crate::error::Failure;
use std::rc::Rc;
use x11rb::errors::ReplyError;
use x11rb::protocol::xproto::{AtomEnum, ConnectionExt, GetPropertyReply, Window};
use x11rb::rust_connection::RustConnection;

x11rb::atom_manager! {
    /// The properties that are read.
    FocusAtoms: FocusAtomCookies {
        _NET_ACTIVE_WINDOW,
        _NET_WM_PID,
    }
}

/// Reads the properties that a window manager and the programs maintain.
pub(super) struct X11Focus {
    connection: Rc<RustConnection>,
    atoms: FocusAtoms,
    host: String,
}

impl X11Focus {
    pub(super) fn new(connection: Rc<RustConnection>) -> Result<Self, Failure> {
        let cookies = FocusAtoms::new(&*connection).map_err(|error| lost(&error))?;
        let atoms = cookies.reply().map_err(|error| Failure::general(format!("no display: {error}")))?;
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        Ok(Self { connection, atoms, host })
    }

    /// A property of a window, of any type: some programs give them others than EWMH demands. `None` if there is no
    /// such window.
    fn property(
        &self,
        window: Window,
        property: impl Into<u32>,
    ) -> Result<Option<GetPropertyReply>, Failure> {
        // More than any host name has, in units of four bytes.
        const LENGTH: u32 = 64;
        let cookie = self.connection.get_property(false, window, property.into(), AtomEnum::ANY, 0, LENGTH);
        match cookie.map_err(|error| lost(&error))?.reply() {
            Ok(reply) => Ok(Some(reply)),
            Err(ReplyError::X11Error(_)) => Ok(None),
            Err(ReplyError::ConnectionError(error)) => Err(lost(&error)),
        }
    }

    fn number(&self, window: Window, property: u32) -> Result<Option<u32>, Failure> {
        let reply = self.property(window, property)?;
        Ok(reply.and_then(|reply| reply.value32()?.next()).filter(|number| *number != 0))
    }
}

impl FocusLookup for X11Focus {
    fn focused(&mut self, PressedAt(root): PressedAt) -> Result<FocusedWindow, Failure> {
        let Some(window) = self.number(root, self.atoms._NET_ACTIVE_WINDOW)? else {
            return Ok(FocusedWindow::Unknown("no window is active"));
        };
        let Some(pid) = self.number(window, self.atoms._NET_WM_PID)? else {
            return Ok(FocusedWindow::Unknown("it does not name its process"));
        };
        let machine = self.property(window, AtomEnum::WM_CLIENT_MACHINE)?;
        let machine = machine.map(|reply| reply.value).unwrap_or_default();
        if is_elsewhere(&String::from_utf8_lossy(&machine), &self.host) {
            return Ok(FocusedWindow::Unknown("it belongs to a program on another machine"));
        }
        Ok(FocusedWindow::Process(pid))
    }
}

/// Whether a window's machine is another one: a process id from there means nothing here. Names may have a domain.
fn is_elsewhere(machine: &str, host: &str) -> bool {
    let first = |name: &str| name.split(['.', '\0']).next().unwrap_or_default().to_ascii_lowercase();
    let machine = first(machine);
    !machine.is_empty() && machine != "localhost" && machine != first(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    // CH-7
    #[test]
    fn windows_of_other_machines_have_no_process_here() {
        for machine in ["", "desk", "Desk.example.org", "desk\0", "localhost"] {
            assert!(!is_elsewhere(machine, "desk.local"), "{machine:?}");
        }
        assert!(is_elsewhere("server.example.org", "desk"));
    }
}
