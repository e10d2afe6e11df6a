//! The protocol between a service manager (systemd) and the daemon: sockets that the manager has opened, and the message
//! that the daemon is ready.
//!
//! The variables of this protocol are for this process alone. No child gets them: not the keeper, not the next daemon, no
//! session.

use crate::{limits, sys};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, getsockname, sendto, socket_with, sockopt,
};
use rustix::process::Pid;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Number of the first descriptor that a manager passes.
const FIRST: RawFd = 3;
/// Variables that describe the service that this process is.
const VARIABLES: [&str; 12] = [
    "FDSTORE",
    "INVOCATION_ID",
    "JOURNAL_STREAM",
    "LISTEN_FDNAMES",
    "LISTEN_FDS",
    "LISTEN_PID",
    "MAINPID",
    "MANAGERPID",
    "NOTIFY_SOCKET",
    "SYSTEMD_EXEC_PID",
    "WATCHDOG_PID",
    "WATCHDOG_USEC",
];

/// Whether a variable of the environment is for this process alone.
pub(crate) fn is_variable(key: &OsStr) -> bool {
    VARIABLES.iter().any(|name| key == *name)
}

/// Keeps the variables from a child.
pub(crate) fn hide_from(command: &mut Command) -> &mut Command {
    VARIABLES.iter().fold(command, |command, name| command.env_remove(name))
}

/// Listening sockets that the service manager has opened, with their paths.
#[derive(Debug, Default)]
pub(crate) struct PassedSockets(Vec<(PathBuf, OwnedFd)>);

impl PassedSockets {
    /// Takes what the environment announces for this process. Call it once, before anything opens a descriptor.
    pub(crate) fn take() -> Self {
        let numbers = announced(|key| std::env::var_os(key), std::process::id());
        let mut sockets = Vec::new();
        // Beyond all of them: no duplicate may be taken for a passed one.
        let least = numbers.end;
        for number in numbers {
            let passed = sys::take(number, least);
            match passed.as_ref().and_then(listening_path) {
                Some(path) => sockets.extend(passed.map(|socket| (path, socket))),
                None => tracing::warn!(number, "the service manager passed no listening Unix socket"),
            }
        }
        Self(sockets)
    }

    /// The socket at `path`, ready for the runtime.
    pub(crate) fn at(&mut self, path: &Path) -> Option<OwnedFd> {
        let index = self.0.iter().position(|(own, _)| own == path)?;
        let (_, socket) = self.0.swap_remove(index);
        rustix::io::ioctl_fionbio(&socket, true).ok()?;
        Some(socket)
    }

    /// Closes the sockets that no front has taken; returns a warning for each.
    pub(crate) fn leave(self) -> Vec<String> {
        let paths = self.0.into_iter().map(|(path, _)| path.display().to_string());
        paths
            .map(|path| {
                format!("systemd listens on {path}, but no front serves it; remove it from swb.socket")
            })
            .collect()
    }
}

/// The descriptors that are announced for the process `pid`.
fn announced(var: impl Fn(&str) -> Option<OsString>, pid: u32) -> std::ops::Range<RawFd> {
    let number = |key: &str| var(key)?.to_str()?.parse::<u32>().ok();
    if number("LISTEN_PID") != Some(pid) {
        return FIRST..FIRST;
    }
    let count = number("LISTEN_FDS").unwrap_or(0).min(limits::PASSED_SOCKETS);
    FIRST..FIRST + RawFd::try_from(count).unwrap_or(0)
}

/// The path of a socket of the right kind to which clients may connect.
fn listening_path(socket: &OwnedFd) -> Option<PathBuf> {
    let stream = sockopt::socket_type(socket).ok()? == SocketType::STREAM;
    if !stream || !sockopt::socket_acceptconn(socket).ok()? {
        return None;
    }
    let address = SocketAddrUnix::try_from(getsockname(socket).ok()?).ok()?;
    Some(PathBuf::from(OsString::from_vec(address.path_bytes()?.to_vec())))
}

/// Whether another process that still lives has opened this listening socket: then its path is not ours to remove.
pub(crate) fn is_foreign(listener: impl AsFd) -> bool {
    let own = rustix::process::getpid();
    sockopt::socket_peercred(listener).is_ok_and(|owner| owner.pid != own && is_alive(owner.pid))
}

/// Whether a process exists and has not ended: an earlier daemon may still wait for its parent to notice.
#[expect(clippy::disallowed_methods, reason = "the kernel answers for /proc at once")]
fn is_alive(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    let state = stat.ok().and_then(|stat| stat.rsplit_once(") ")?.1.chars().next());
    state.is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

/// Reports a state to the service manager, such as `READY=1`; does nothing without one.
pub(crate) fn notify(state: &str) {
    let Some(address) = std::env::var_os("NOTIFY_SOCKET").filter(|path| !path.is_empty()) else { return };
    if let Err(error) = send(&address, state) {
        tracing::warn!(%error, "cannot report the state to the service manager");
    }
}

fn send(address: &OsStr, state: &str) -> rustix::io::Result<()> {
    let address = match address.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddrUnix::new_abstract_name(name)?,
        None => SocketAddrUnix::new(Path::new(address))?,
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::DGRAM, flags, None)?;
    sendto(&socket, state.as_bytes(), rustix::net::SendFlags::NOSIGNAL, &address).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};

    fn range(vars: &[(&str, &str)]) -> std::ops::Range<RawFd> {
        announced(|key| vars.iter().find(|(name, _)| *name == key).map(|(_, value)| value.into()), 17)
    }

    #[test]
    fn only_the_sockets_of_this_process_are_taken() {
        assert_eq!(range(&[("LISTEN_PID", "17"), ("LISTEN_FDS", "2")]), 3..5);
        assert_eq!(range(&[("LISTEN_PID", "18"), ("LISTEN_FDS", "2")]), 3..3, "those of another process");
        assert_eq!(range(&[("LISTEN_FDS", "2")]), 3..3);
        for bad in ["", "-1", "x"] {
            assert_eq!(range(&[("LISTEN_PID", "17"), ("LISTEN_FDS", bad)]), 3..3, "{bad}");
        }
        let most = range(&[("LISTEN_PID", "17"), ("LISTEN_FDS", "4000000000")]);
        assert_eq!(most.len(), limits::PASSED_SOCKETS as usize);
    }

    #[test]
    fn a_socket_is_known_by_its_path() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let listener = OwnedFd::from(UnixListener::bind(&path).unwrap());
        assert_eq!(listening_path(&listener), Some(path.clone()));
        let connected = OwnedFd::from(UnixStream::connect(&path).unwrap());
        assert_eq!(listening_path(&connected), None);
        let file = OwnedFd::from(std::fs::File::open("/dev/null").unwrap());
        assert_eq!(listening_path(&file), None);
        assert!(!is_foreign(&listener), "this process has opened it");
        let mut passed = PassedSockets(vec![(path.clone(), listener)]);
        assert!(passed.at(Path::new("/elsewhere")).is_none());
        let taken = passed.at(&path).unwrap();
        let rest = PassedSockets(vec![(path, taken)]).leave();
        assert!(rest.len() == 1 && rest[0].contains("no front serves it"), "{rest:?}");
    }

    #[test]
    fn a_state_is_one_datagram() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("n");
        let manager = UnixDatagram::bind(&path).unwrap();
        send(path.as_os_str(), "READY=1").unwrap();
        let mut message = [0; 64];
        let count = manager.recv(&mut message).unwrap();
        assert_eq!(&message[..count], b"READY=1");
        assert!(send(OsStr::new("/nowhere/at/all"), "READY=1").is_err());
    }
}
