//! Reads and writes one file that the agent may access.

use super::{AgentPath, WorkspaceFs, WorkspaceFsError, beneath};
use crate::workspace_fs::limits;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

impl WorkspaceFs {
    /// The text of a file.
    pub(crate) fn read(&self, path: &str) -> Result<String, WorkspaceFsError> {
        let (spot, fd) = self.open(self.spot(path)?, OFlags::RDONLY)?;
        read_text(&spot, fd)
    }

    /// Replaces the text of a file, in one step; returns the old text, if it existed. Missing directories are created.
    /// A file that is not text is not replaced either: the user could not see what is lost.
    pub(crate) fn write(&self, path: &str, text: &str) -> Result<Option<String>, WorkspaceFsError> {
        let spot = self.writable_spot(path)?;
        if text.len() as u64 > limits::FILE {
            let (path, len) = (path.to_owned(), text.len() as u64);
            return Err(WorkspaceFsError::TooLarge { path, len, max: limits::FILE });
        }
        let spot = match self.open(self.spot(path)?, OFlags::PATH) {
            // Links are resolved here once, so that the file is replaced and not the link.
            Ok((_, fd)) => self.spot_of(path, &fd)?,
            Err(WorkspaceFsError::Io { error, .. }) if error.kind() == std::io::ErrorKind::NotFound => spot,
            Err(error) => return Err(error),
        };
        let Some(name) = spot.beneath.file_name() else {
            return Err(WorkspaceFsError::NotAFile(path.to_owned()));
        };
        let dir = self.parent(&spot)?;
        // Once more, as links may lead there.
        let real = beneath::path_of(&dir).map_err(|error| spot.io(error))?;
        self.check_git(path, &real.strip_prefix(&spot.root.real).unwrap_or(&real).join(name))?;
        self.check_real(path, &real.join(name))?;
        let old = match beneath::open_in(dir.as_fd(), Path::new(name), OFlags::RDONLY, UNLINKED) {
            Ok(fd) => Some(fd),
            Err(Errno::NOENT) => None,
            Err(Errno::LOOP) => return Err(WorkspaceFsError::Outside(path.to_owned())),
            Err(error) => return Err(spot.io(error)),
        };
        let mode = match &old {
            Some(fd) => rustix::fs::fstat(fd).map_err(|error| spot.io(error))?.st_mode & 0o777,
            None => 0o666 & !self.umask,
        };
        let old = old.map(|fd| read_text(&spot, fd)).transpose()?;
        replace(&dir, name, text, Mode::from_raw_mode(mode)).map_err(|error| spot.io(error))?;
        Ok(old)
    }

    /// The path of an open file, after links.
    fn spot_of<'a>(&'a self, shown: &'a str, fd: &OwnedFd) -> Result<AgentPath<'a>, WorkspaceFsError> {
        let real = beneath::path_of(fd).map_err(|_| WorkspaceFsError::Outside(shown.to_owned()))?;
        match self.real_spot(shown, &real)? {
            spot if spot.root.writable => Ok(spot),
            _ => Err(WorkspaceFsError::ReadOnly(shown.to_owned())),
        }
    }

    /// The directory of a file, created if it is missing.
    fn parent(&self, spot: &AgentPath<'_>) -> Result<OwnedFd, WorkspaceFsError> {
        let failed = |error: Errno| match beneath::leaves(&error) {
            true => WorkspaceFsError::Outside(spot.shown.to_owned()),
            false => spot.io(error),
        };
        let dir_flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let mut dir = beneath::open(&spot.root.real, Path::new(""), dir_flags).map_err(failed)?;
        let above = spot.beneath.parent().unwrap_or(Path::new(""));
        match beneath::open(&spot.root.real, above, dir_flags) {
            Err(Errno::NOENT) => {}
            other => return other.map_err(failed),
        }
        for name in above.components() {
            let name = Path::new(name.as_os_str());
            dir = match beneath::open_in(dir.as_fd(), name, dir_flags, UNLINKED) {
                Err(Errno::NOENT) => self.make_dir(&dir, name),
                other => other,
            }
            .map_err(failed)?;
        }
        Ok(dir)
    }

    fn make_dir(&self, dir: &OwnedFd, name: &Path) -> Result<OwnedFd, Errno> {
        let made = match rustix::fs::mkdirat(dir, name, Mode::RWXU) {
            Ok(()) => true,
            // Another process created it first, and its mode is theirs.
            Err(Errno::EXIST) => false,
            Err(error) => return Err(error),
        };
        let opened = beneath::open_in(dir.as_fd(), name, OFlags::RDONLY | OFlags::DIRECTORY, UNLINKED)?;
        if made {
            // The daemon's umask removed more than it should.
            rustix::fs::fchmod(&opened, Mode::from_raw_mode(0o777 & !self.umask))?;
        }
        Ok(opened)
    }
}

/// For names in directories that are already open.
const UNLINKED: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS).union(ResolveFlags::NO_SYMLINKS);

/// Replaces a file: readers see the old text or the new one, even after a crash.
fn replace(dir: &OwnedFd, name: &OsStr, text: &str, mode: Mode) -> std::io::Result<()> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let temporary = format!(".swb-{}-{number}.tmp", std::process::id());
    // A killed daemon with our process id may have left one behind.
    let _stale = rustix::fs::unlinkat(dir, &temporary, AtFlags::empty());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(dir, &temporary, flags, Mode::RUSR | Mode::WUSR)?;
    let put = || -> std::io::Result<()> {
        let mut file = File::from(fd);
        file.write_all(text.as_bytes())?;
        rustix::fs::fchmod(&file, mode)?;
        file.sync_all()?;
        rustix::fs::renameat(dir, &temporary, dir, name)?;
        Ok(rustix::fs::fsync(dir)?)
    };
    put().inspect_err(|_| {
        let _removed = rustix::fs::unlinkat(dir, &temporary, AtFlags::empty());
    })
}

/// The text of an open file, if it is text.
pub(super) fn read_text(spot: &AgentPath<'_>, fd: OwnedFd) -> Result<String, WorkspaceFsError> {
    let stat = rustix::fs::fstat(&fd).map_err(|error| spot.io(error))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(WorkspaceFsError::NotAFile(spot.shown.to_owned()));
    }
    let too_large =
        |len: u64| WorkspaceFsError::TooLarge { path: spot.shown.to_owned(), len, max: limits::FILE };
    let len = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
    if len > limits::FILE {
        return Err(too_large(len));
    }
    // It may have grown since, and files in /proc have no length.
    let mut bytes = Vec::new();
    let read =
        File::from(fd).take(limits::FILE + 1).read_to_end(&mut bytes).map_err(|error| spot.io(error))?;
    if read as u64 > limits::FILE {
        return Err(too_large(read as u64));
    }
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(text),
        _ => Err(WorkspaceFsError::Binary(spot.shown.to_owned())),
    }
}
