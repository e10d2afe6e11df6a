//! Where daemons find the keeper: a lock, a socket and a key in one directory.
//!
//! The process that holds the lock owns the path of the socket. A directory that was emptied, by a clean-up of old files or by hand, would hide
//! a keeper from the next daemon, and all sessions with it; so the keeper restores what is missing before that daemon looks.

use crate::key;
use crate::limits;
use crate::server::Keeper;
use crate::source::Source;
use rustix::event::epoll::{self, EventFlags};
use rustix::fd::OwnedFd;
use rustix::fs::{FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::io;
use std::path::{Path, PathBuf};

/// Locks the directory of `socket`; nothing if another keeper has it.
pub(crate) fn lock(socket: &Path) -> io::Result<Option<OwnedFd>> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let lock = rustix::fs::open(lock_file(socket), flags, Mode::RUSR | Mode::WUSR)?;
    let locked = rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok();
    Ok(locked.then_some(lock))
}

pub(crate) fn lock_file(socket: &Path) -> PathBuf {
    socket.with_extension("lock")
}

/// Listens at `path`, for the one that has the lock.
pub(crate) fn listen(path: &Path) -> io::Result<OwnedFd> {
    // A process that bound this path before us has lost the lock, and the path with it.
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    let umask = rustix::process::umask(Mode::from_raw_mode(0o177));
    let bound = rustix::net::bind(&socket, &SocketAddrUnix::new(path)?);
    rustix::process::umask(umask);
    bound?;
    rustix::net::listen(&socket, limits::BACKLOG)?;
    Ok(socket)
}

impl Keeper {
    /// Restores what is missing of lock, socket and key. Call this when a daemon is about to look for them.
    pub(crate) fn restore_address(&mut self) {
        // Without a path, as in tests, or without room on the disk, the present socket is as good as it gets.
        let _restored = key::path_of(&self.listener).and_then(|socket| self.restore(&socket));
    }

    fn restore(&mut self, socket: &Path) -> io::Result<()> {
        if let Some(dir) = socket.parent() {
            match rustix::fs::mkdir(dir, Mode::RWXU) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            // Below a shared place another user may have taken the name meanwhile; a link is no directory of ours either.
            let found = rustix::fs::lstat(dir)?;
            let is_dir = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
            if !is_dir || found.st_uid != rustix::process::getuid().as_raw() {
                return Err(io::ErrorKind::PermissionDenied.into());
            }
        }
        if !self.holds_lock_of(socket) {
            // Where another keeper has the lock the path is that keeper's.
            let Some(lock) = lock(socket)? else { return Ok(()) };
            self.lock = lock;
        }
        if is_missing(socket) {
            let listener = listen(socket)?;
            epoll::add(&self.epoll, &listener, Source::Listener.data(), EventFlags::IN)?;
            // No process can connect to the former one any more; closing it removes it from the epoll.
            self.listener = listener;
        }
        if key::read(socket) != self.key {
            key::store(self.key, socket)?;
        }
        Ok(())
    }

    fn holds_lock_of(&self, socket: &Path) -> bool {
        let place = |stat: rustix::fs::Stat| (stat.st_dev, stat.st_ino);
        let (ours, there) = (rustix::fs::fstat(&self.lock), rustix::fs::lstat(lock_file(socket)));
        matches!((ours, there), (Ok(ours), Ok(there)) if place(ours) == place(there))
    }
}

fn is_missing(path: &Path) -> bool {
    matches!(rustix::fs::lstat(path), Err(Errno::NOENT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::KeeperLink;
    use rustix::process::Rlimit;

    const KEY: u64 = 7;

    fn keeper(socket: &Path) -> Keeper {
        let (lock, listener) = (lock(socket).unwrap().unwrap(), listen(socket).unwrap());
        key::store(KEY, socket).unwrap();
        Keeper::new(listener, lock, KEY, Rlimit { current: None, maximum: None }).unwrap()
    }

    #[test]
    fn what_was_removed_is_restored_and_what_is_there_stays() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("run/keeper.sock");
        let inside = [socket.clone(), lock_file(&socket), key::key_file(&socket)];
        std::fs::create_dir(dir.path().join("run")).unwrap();
        let mut keeper = keeper(&socket);
        let inodes = || inside.clone().map(|path| rustix::fs::lstat(path).unwrap().st_ino);
        let before = inodes();
        keeper.restore_address();
        assert_eq!(inodes(), before);
        for missing in [&inside[..1], &inside[1..2], &inside[2..], &inside] {
            missing.iter().for_each(|path| std::fs::remove_file(path).unwrap());
            if missing.len() == inside.len() {
                std::fs::remove_dir(dir.path().join("run")).unwrap();
            }
            keeper.restore_address();
            assert!(lock(&socket).unwrap().is_none(), "the path is still this keeper's");
            assert_eq!(key::read(&socket), KEY);
            let _daemon = KeeperLink::connect(&socket).unwrap();
            keeper.accept();
            keeper.serve_daemon();
            assert!(keeper.is_served(), "without {missing:?}");
            keeper.daemon = None;
        }
    }

    #[test]
    fn nothing_is_restored_behind_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let (run, elsewhere) = (dir.path().join("run"), dir.path().join("elsewhere"));
        [&run, &elsewhere].iter().for_each(|dir| std::fs::create_dir(dir).unwrap());
        let mut keeper = keeper(&run.join("keeper.sock"));
        std::fs::remove_dir_all(&run).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &run).unwrap();
        keeper.restore_address();
        assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
    }

    #[test]
    fn the_path_of_another_keeper_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("keeper.sock");
        let mut first = keeper(&socket);
        std::fs::remove_file(lock_file(&socket)).unwrap();
        let _second = keeper(&socket);
        let inode = rustix::fs::lstat(&socket).unwrap().st_ino;
        first.restore_address();
        assert_eq!(rustix::fs::lstat(&socket).unwrap().st_ino, inode);
    }
}
