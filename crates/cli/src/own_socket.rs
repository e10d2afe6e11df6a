//! Connections to servers of our own user.
//!
//! Some sockets have a path below a directory that all users share: any of them can create it there and wait for
//! a password. Every client therefore asks the kernel which user listens before it sends the first byte, and does not
//! use a directory that another user could have prepared.

use rustix::net::sockopt::socket_peercred;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};
use rustix::process::geteuid;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Connects to a server of this user at `path`, in a directory that only this user can write to.
pub(crate) fn connect(path: &Path) -> io::Result<UnixStream> {
    check_place(path)?;
    connect_to(path, our_uid())
}

/// Connects likewise, to a socket that never blocks; fails if the server does not accept connections at the moment.
pub(crate) fn connect_at_once(path: &Path) -> io::Result<OwnedFd> {
    check_place(path)?;
    let address = SocketAddrUnix::new(path)?;
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::connect(&socket, &address)?;
    check_server(&socket, path, our_uid())?;
    Ok(socket)
}

/// Connects to a server of the user `uid`.
pub(crate) fn connect_to(path: &Path, uid: u32) -> io::Result<UnixStream> {
    let stream = UnixStream::connect(path)?;
    check_server(&stream, path, uid)?;
    Ok(stream)
}

/// Checks that a connected socket leads to a server of the user `uid`.
pub(crate) fn check_server(socket: impl AsFd, path: &Path, uid: u32) -> io::Result<()> {
    let server = socket_peercred(socket)?.uid.as_raw();
    if server == uid {
        return Ok(());
    }
    Err(refused(format!(
        "the server at {} runs as another user (uid {server}, not {uid}), so nothing was sent to it",
        path.display()
    )))
}

/// Checks the directory of a socket; a missing one is left to `connect`.
pub(crate) fn check_place(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(dir) => check_dir(dir),
        None => Ok(()),
    }
}

/// Checks that no other user can have prepared a directory; a missing one is no error.
pub(crate) fn check_dir(dir: &Path) -> io::Result<()> {
    let metadata = match std::fs::symlink_metadata(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        metadata => metadata?,
    };
    let why = if metadata.uid() != our_uid() {
        format!("belongs to another user (uid {})", metadata.uid())
    } else if metadata.is_symlink() {
        "is a symbolic link".to_owned()
    } else if !metadata.is_dir() {
        "is not a directory".to_owned()
    } else if metadata.mode() & 0o022 != 0 {
        format!("can be written by other users (mode {:o})", metadata.mode() & 0o7777)
    } else {
        return Ok(());
    };
    Err(refused(format!("the socket directory {} {why}, so its sockets are not used", dir.display())))
}

/// Whether an error is that of a server or directory of another user.
pub(crate) fn is_foreign(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied && error.get_ref().is_some()
}

/// The user of this process.
pub(crate) fn our_uid() -> u32 {
    geteuid().as_raw()
}

fn refused(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_server_of_this_user_is_accepted_and_any_other_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let _listener = UnixListener::bind(&path).unwrap();
        assert!(connect(&path).is_ok());
        let error = connect_to(&path, our_uid() + 1).unwrap_err();
        assert!(is_foreign(&error));
        let expected = format!("uid {}, not {}", our_uid(), our_uid() + 1);
        assert!(error.to_string().contains(&expected), "{error}");
    }

    #[test]
    fn directories_that_others_could_have_prepared_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        assert!(check_dir(&at("missing")).is_ok());
        std::fs::create_dir(at("own")).unwrap();
        std::os::unix::fs::symlink(at("own"), at("link")).unwrap();
        std::fs::write(at("file"), "").unwrap();
        assert!(check_dir(&at("own")).is_ok());
        for name in ["link", "file"] {
            let error = check_dir(&at(name)).unwrap_err();
            assert!(is_foreign(&error) && error.to_string().contains(name), "{error}");
        }
        std::fs::set_permissions(at("own"), std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(check_dir(&at("own")).unwrap_err().to_string().contains("mode 777"));
        assert!(check_place(&at("own/s")).is_err());
    }
}
