//! The key of an installation. A daemon that the keeper has not started itself has to send it to receive the sessions.
//!
//! It lies beside the keeper's socket, in a directory that only the user can enter and that no confined program can
//! read. A process that merely waits for the daemon to die does not get the terminals of all sessions.

use rustix::fd::AsFd;
use rustix::fs::{Mode, OFlags};
use rustix::net::SocketAddrUnix;
use rustix::rand::GetRandomFlags;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Bytes of the file: a number in hexadecimal digits.
const DIGITS: usize = 16;

/// A new key.
pub(crate) fn random() -> io::Result<u64> {
    let mut bytes = [0; 8];
    rustix::rand::getrandom(&mut bytes, GetRandomFlags::empty())?;
    // Zero is what a daemon without a key shows.
    Ok(u64::from_le_bytes(bytes).max(1))
}

/// Stores the key of the keeper that listens at `socket`.
pub(crate) fn store(key: u64, socket: &Path) -> io::Result<()> {
    // A file that is there is of a keeper that has ended; a FIFO would wait for a reader.
    remove(socket);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = rustix::fs::open(key_file(socket), flags, Mode::RUSR | Mode::WUSR)?;
    File::from(file).write_all(format!("{key:0DIGITS$x}").as_bytes())
}

/// The key of the keeper that listens at `socket`; zero if there is none.
pub(crate) fn read(socket: &Path) -> u64 {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let Ok(file) = rustix::fs::open(key_file(socket), flags, Mode::empty()) else { return 0 };
    let mut text = String::new();
    // One byte more than a key has: a longer file is none.
    match File::from(file).take((DIGITS as u64).saturating_add(1)).read_to_string(&mut text) {
        Ok(DIGITS) => u64::from_str_radix(&text, 16).unwrap_or(0),
        _ => 0,
    }
}

/// Removes the key of the keeper that listened at `socket`.
pub(crate) fn remove(socket: &Path) {
    let _removed = std::fs::remove_file(key_file(socket));
}

/// The path that a socket listens at.
pub(crate) fn path_of(listener: impl AsFd) -> io::Result<PathBuf> {
    let address = SocketAddrUnix::try_from(rustix::net::getsockname(listener)?)?;
    let path = address.path().ok_or(io::ErrorKind::InvalidData)?;
    Ok(OsStr::from_bytes(path.to_bytes()).into())
}

/// The file with the key of the keeper that listens at `socket`.
pub fn key_file(socket: &Path) -> PathBuf {
    socket.with_extension("key")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_key_can_be_read_by_its_user_alone_until_it_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("keeper.sock");
        assert_eq!(read(&socket), 0);
        let key = random().unwrap();
        store(key, &socket).unwrap();
        assert_eq!(read(&socket), key);
        let mode = std::fs::metadata(key_file(&socket)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_ne!(random().unwrap(), key, "each keeper has its own");
        remove(&socket);
        assert_eq!(read(&socket), 0);
    }

    #[test]
    fn a_file_that_is_no_key_counts_as_none() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("keeper.sock");
        for text in ["", "12", "not a number, surely", "xxxxxxxxxxxxxxxx", "0123456789abcdef0"] {
            std::fs::write(key_file(&socket), text).unwrap();
            assert_eq!(read(&socket), 0, "{text}");
        }
    }
}
