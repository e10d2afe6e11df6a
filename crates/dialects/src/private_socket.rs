//! Listens on Unix sockets safely: follows no symlinks, replaces no socket in use, sets no wide modes.
//!
//! The process's umask is expected to be 0177 (the daemon sets it at its start), so that a socket never exists with
//! wider permissions than 0600, not even for a moment.

#![allow(clippy::disallowed_methods, reason = "directories of our own sockets, which no client names")]

use rustix::fs::{FileType, Mode};
use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use rustix::process::Pid;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// Why a socket cannot be opened at a path.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// Another process is listening there.
    #[error("already running: another process is listening on {}", .0.display())]
    Live(PathBuf),
    /// The path is a symbolic link.
    #[error("{} is a symbolic link; remove it and try again", .0.display())]
    Symlink(PathBuf),
    /// The path belongs to another user.
    #[error("{} belongs to another user (uid {uid}); remove it or have it removed", path.display())]
    Foreign {
        /// The path.
        path: PathBuf,
        /// Its owner.
        uid: u32,
    },
    /// The path exists, but is not a socket or a directory.
    #[error("{} exists and is neither a socket nor a directory; move it away and try again", .0.display())]
    InTheWay(PathBuf),
    /// The path is longer than the system allows.
    #[error("the socket path {} is too long ({len} bytes; it must be shorter than {max})", path.display())]
    TooLong {
        /// The path.
        path: PathBuf,
        /// Its length in bytes.
        len: usize,
        /// The limit.
        max: usize,
    },
    /// A system call failed.
    #[error("{}: {error}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// Its error.
        error: io::Error,
    },
}

impl BindError {
    fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        |error| Self::Io { path: path.to_owned(), error }
    }
}

/// Ensures that `dir` is a directory that only this user can enter.
pub fn private_dir(dir: &Path) -> Result<(), BindError> {
    let mut builder = std::fs::DirBuilder::new();
    if let Some(parent) = dir.parent().filter(|parent| !parent.exists()) {
        private_dir(parent)?;
    }
    match std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700).create(dir) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(BindError::io(dir)(error)),
        _ => {}
    }
    let meta = dir.symlink_metadata().map_err(BindError::io(dir))?;
    if meta.is_symlink() {
        return Err(BindError::Symlink(dir.to_owned()));
    }
    if !meta.is_dir() {
        return Err(BindError::InTheWay(dir.to_owned()));
    }
    owned(dir, &meta)?;
    // KP-11: also if it existed with another mode.
    rustix::fs::chmod(dir, Mode::RWXU).map_err(|error| BindError::io(dir)(error.into()))
}

fn owned(path: &Path, meta: &std::fs::Metadata) -> Result<(), BindError> {
    match meta.uid() {
        uid if uid == rustix::process::getuid().as_raw() => Ok(()),
        uid => Err(BindError::Foreign { path: path.to_owned(), uid }),
    }
}

/// Listens at `path`, replacing a socket on which no process listens.
pub fn bind(path: &Path) -> Result<OwnedFd, BindError> {
    let (len, max) = (path.as_os_str().len(), 108);
    if len >= max {
        return Err(BindError::TooLong { path: path.to_owned(), len, max });
    }
    make_room(path)?;
    let listener = UnixListener::bind(path).map_err(BindError::io(path))?;
    listener.set_nonblocking(true).map_err(BindError::io(path))?;
    Ok(listener.into())
}

fn make_room(path: &Path) -> Result<(), BindError> {
    let meta = match path.symlink_metadata() {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(BindError::io(path)(error)),
    };
    // CO-5: neither the link nor its target is touched.
    if meta.is_symlink() {
        return Err(BindError::Symlink(path.to_owned()));
    }
    owned(path, &meta)?;
    if FileType::from_raw_mode(meta.mode()) != FileType::Socket {
        return Err(BindError::InTheWay(path.to_owned()));
    }
    // CO-6, KP-14: a socket on which a process listens is kept.
    match who_listens(path) {
        // A full backlog is that of a process that listens.
        Ok(_) | Err(Errno::AGAIN) => return Err(BindError::Live(path.to_owned())),
        Err(_) => {}
    }
    std::fs::remove_file(path).map_err(BindError::io(path))
}

/// Whether a socket of this user, not a link, is at `path`.
pub fn is_ours(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|meta| {
        FileType::from_raw_mode(meta.mode()) == FileType::Socket
            && meta.uid() == rustix::process::getuid().as_raw()
    })
}

/// Whether `path` leads to `listener`. The socket may have been removed since, or replaced by another process.
pub fn leads_to(path: &Path, listener: impl AsFd) -> bool {
    // Both credentials are those of the process that called `listen`, which need not be this one.
    is_ours(path)
        && match who_listens(path) {
            Ok(pid) => socket_peercred(listener).is_ok_and(|listener| listener.pid == pid),
            // The backlog is full, so the peer cannot be determined; only our own socket gets that full.
            Err(Errno::AGAIN) => true,
            Err(_) => false,
        }
}

/// Whether a socket of this user is at `path` on which no process listens.
pub fn is_stale(path: &Path) -> bool {
    is_ours(path) && who_listens(path) == Err(Errno::CONNREFUSED)
}

fn who_listens(path: &Path) -> rustix::io::Result<Pid> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket_peercred(&socket)?.pid)
}

/// Removes our socket file, if it is still a socket.
pub fn unlink(path: &Path) {
    if is_ours(path) {
        // Another process may have removed it first.
        let _removed = std::fs::remove_file(path);
    }
}
