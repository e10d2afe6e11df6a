//! Opens files beneath a directory and nowhere else.
//!
//! The kernel does it in one step (`openat2`), so there is no gap between checking a path and opening it. Where it
//! cannot, the path is walked one directory at a time and links are rejected altogether.

use crate::workspace_fs::limits;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS);

/// Opens an existing file; links beneath the root are followed as long as they stay there.
pub(super) fn open(root: &Path, beneath: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    open_in(open_root(root)?.as_fd(), beneath, flags, BENEATH)
}

/// Opens an existing file; its path must not contain links.
pub(super) fn open_unlinked(root: &Path, beneath: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    open_in(open_root(root)?.as_fd(), beneath, flags, BENEATH.union(ResolveFlags::NO_SYMLINKS))
}

/// Whether an error means that a path leaves its root, at least by its form.
pub(super) fn leaves(error: &Errno) -> bool {
    matches!(*error, Errno::XDEV | Errno::LOOP)
}

/// Opens the root itself, whose path was resolved: if it contains a link by now, that is an error.
pub(super) fn open_root(root: &Path) -> Result<OwnedFd, Errno> {
    open_resolved(root, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC)
}

/// Opens a path that was resolved, a directory or not, to refer to it: if it contains a link by now, that is an error.
pub(crate) fn open_path(path: &Path) -> Result<OwnedFd, Errno> {
    open_resolved(path, OFlags::PATH | OFlags::CLOEXEC)
}

fn open_resolved(root: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    for _ in 0..limits::OPEN_TRIES {
        match openat2(CWD, root, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(Errno::NOSYS | Errno::PERM) => {
                return rustix::fs::open(root, flags | OFlags::NOFOLLOW, Mode::empty());
            }
            other => return other,
        }
    }
    Err(Errno::AGAIN)
}

/// Opens a file beneath an open directory, without creating it. Never blocks, not even on a pipe.
pub(super) fn open_in(
    dir: BorrowedFd<'_>,
    beneath: &Path,
    flags: OFlags,
    resolve: ResolveFlags,
) -> Result<OwnedFd, Errno> {
    let beneath = if beneath.as_os_str().is_empty() { Path::new(".") } else { beneath };
    let waiting =
        if flags.contains(OFlags::PATH) { OFlags::empty() } else { OFlags::NONBLOCK | OFlags::NOCTTY };
    let flags = flags | OFlags::CLOEXEC | waiting;
    for _ in 0..limits::OPEN_TRIES {
        match openat2(dir, beneath, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            // Seccomp filters of containers return EPERM for unknown calls.
            Err(Errno::NOSYS | Errno::PERM) => return walk_in(dir, beneath, flags),
            other => return other,
        }
    }
    Err(Errno::AGAIN)
}

/// As [`open_in`] for kernels without `openat2`; no link is followed.
pub(super) fn walk_in(dir: BorrowedFd<'_>, beneath: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let mut at = openat(dir, ".", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let mut components = beneath.components().peekable();
    while let Some(component) = components.next() {
        let name = match component {
            std::path::Component::Normal(name) => name,
            std::path::Component::CurDir => continue,
            _ => return Err(Errno::XDEV),
        };
        if components.peek().is_none() {
            let fd = openat(&at, name, flags | OFlags::NOFOLLOW, Mode::empty())?;
            return match is_link(&fd)? {
                true => Err(Errno::LOOP),
                false => Ok(fd),
            };
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        at = openat(&at, name, flags, Mode::empty())?;
    }
    openat(&at, ".", flags, Mode::empty())
}

/// `O_PATH` opens links themselves.
fn is_link(fd: &OwnedFd) -> Result<bool, Errno> {
    let stat = rustix::fs::fstat(fd)?;
    Ok(rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Symlink)
}

/// The path of an open file.
pub(super) fn path_of(fd: &OwnedFd) -> io::Result<PathBuf> {
    std::fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd()))
}
