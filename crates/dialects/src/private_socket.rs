//! Listening on Unix sockets without stepping on anybody: no symlinks, no live neighbours, no wide modes.
//!
//! The process's umask is expected to be 0177 (the daemon sets it once at its start), so that a socket
//! never exists with wider permissions than 0600, not even for a moment.

use rustix::fs::{FileType, Mode};
use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use rustix::process::Pid;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Why a socket cannot be offered at a path.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// Somebody answers there.
    #[error("{} is already running: somebody answers on its socket", .0.display())]
    Live(PathBuf),
    /// The path is a symbolic link.
    #[error("{} is a symbolic link; remove it to go on", .0.display())]
    Symlink(PathBuf),
    /// It belongs to another user.
    #[error("{} belongs to another user", .0.display())]
    Foreign(PathBuf),
    /// Something else than a socket or a directory is in the way.
    #[error("{} is in the way; remove it to go on", .0.display())]
    InTheWay(PathBuf),
    /// Socket paths can have only so many bytes.
    #[error("the socket path {} is too long ({len} bytes, less than {max} are possible)", path.display())]
    TooLong {
        /// The path.
        path: PathBuf,
        /// Its length in bytes.
        len: usize,
        /// The limit.
        max: usize,
    },
    /// The system says no.
    #[error("{}: {error}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// What it says.
        error: io::Error,
    },
}

impl BindError {
    fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        |error| Self::Io { path: path.to_owned(), error }
    }
}

/// Makes sure that `dir` is a directory of ours which nobody else can enter.
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
    if meta.uid() != rustix::process::getuid().as_raw() {
        return Err(BindError::Foreign(dir.to_owned()));
    }
    // KP-11: also when it existed with another mode.
    rustix::fs::chmod(dir, Mode::RWXU).map_err(|error| BindError::io(dir)(error.into()))
}

/// Listens at `path`, replacing a socket nobody answers on.
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
    // CO-5: neither the link nor what it points to is touched.
    if meta.is_symlink() {
        return Err(BindError::Symlink(path.to_owned()));
    }
    if meta.uid() != rustix::process::getuid().as_raw() {
        return Err(BindError::Foreign(path.to_owned()));
    }
    if FileType::from_raw_mode(meta.mode()) != FileType::Socket {
        return Err(BindError::InTheWay(path.to_owned()));
    }
    // CO-6, KP-14: a socket somebody listens on stays theirs.
    if UnixStream::connect(path).is_ok() {
        return Err(BindError::Live(path.to_owned()));
    }
    std::fs::remove_file(path).map_err(BindError::io(path))
}

/// Whether a socket of this user is at `path`, and no link.
pub fn is_ours(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|meta| {
        FileType::from_raw_mode(meta.mode()) == FileType::Socket
            && meta.uid() == rustix::process::getuid().as_raw()
    })
}

/// Whether `path` leads to `listener`. It may have been removed since, or be somebody else's by now.
pub fn leads_to(path: &Path, listener: impl AsFd) -> bool {
    // Both sides name the process that called `listen`, which need not be this one.
    is_ours(path)
        && match who_listens(path) {
            Ok(pid) => socket_peercred(listener).is_ok_and(|listener| listener.pid == pid),
            // So many wait there that nobody can be asked; nobody but us leaves them waiting.
            Err(Errno::AGAIN) => true,
            Err(_) => false,
        }
}

/// Whether there is a socket of this user at `path` that nobody listens on.
pub fn is_stale(path: &Path) -> bool {
    is_ours(path) && who_listens(path) == Err(Errno::CONNREFUSED)
}

fn who_listens(path: &Path) -> rustix::io::Result<Pid> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket_peercred(&socket)?.pid)
}

/// Removes a socket file of ours, if it is still one.
pub fn unlink(path: &Path) {
    if is_ours(path) {
        // Somebody else may have removed it first.
        let _removed = std::fs::remove_file(path);
    }
}
