//! The directory and the database file in it: made when needed, readable by their owner alone (SS-47).

use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

const FILE: &str = "conversations.db";
const PRIVATE_DIR: u32 = 0o700;
const PRIVATE_FILE: u32 = 0o600;

/// Where a database is or will be.
#[derive(Debug)]
pub(crate) struct DatabaseFile {
    dir: PathBuf,
    file: PathBuf,
}

/// Tells a file from any other that has its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity(u64, u64);

impl DatabaseFile {
    pub(crate) fn new(dir: PathBuf) -> Self {
        Self { file: dir.join(FILE), dir }
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// Which file there is, if there is one; an error if it is not for its owner alone and cannot be made so.
    pub(crate) fn check(&self) -> io::Result<Option<Identity>> {
        let Some(dir) = known(&self.dir)? else { return Ok(None) };
        own(&self.dir, &dir, dir.is_dir(), "directory", PRIVATE_DIR)?;
        let Some(file) = known(&self.file)? else { return Ok(None) };
        own(&self.file, &file, file.is_file(), "file", PRIVATE_FILE)?;
        Ok(Some(Identity(file.dev(), file.ino())))
    }

    /// Makes what is missing. An empty file is an empty database.
    pub(crate) fn make(&self) -> io::Result<()> {
        make_dir(&self.dir)?;
        let made = OpenOptions::new().write(true).create_new(true).mode(PRIVATE_FILE).open(&self.file);
        match made {
            // The file's name has to be on disk before anything in it counts.
            Ok(_) => File::open(&self.dir)?.sync_all(),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Makes a directory and those above it. Each gets its mode by name: what the process's mask would leave could not be
/// entered.
fn make_dir(dir: &Path) -> io::Result<()> {
    if known(dir)?.is_some() {
        return Ok(());
    }
    if let Some(above) = dir.parent().filter(|above| !above.exists()) {
        make_dir(above)?;
    }
    match DirBuilder::new().mode(PRIVATE_DIR).create(dir) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        made => made?,
    }
    std::fs::set_permissions(dir, Permissions::from_mode(PRIVATE_DIR))?;
    // Its name has to be on disk as well.
    dir.parent().map_or(Ok(()), |above| File::open(above)?.sync_all())
}

fn known(path: &Path) -> io::Result<Option<Metadata>> {
    match path.symlink_metadata() {
        Ok(meta) => Ok(Some(meta)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Makes sure that something is what it ought to be, ours, and nobody else's to read.
fn own(path: &Path, meta: &Metadata, fits: bool, what: &str, mode: u32) -> io::Result<()> {
    let refuse = |why: String| Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    let shown = path.display();
    if meta.is_symlink() {
        return refuse(format!("{shown} is a symbolic link; what is saved is kept in a plain {what}"));
    }
    if !fits {
        return refuse(format!("{shown} is not a {what}"));
    }
    if meta.uid() != rustix::process::geteuid().as_raw() {
        return refuse(format!("{shown} belongs to another user"));
    }
    match meta.mode() & 0o7777 == mode {
        true => Ok(()),
        false => std::fs::set_permissions(path, Permissions::from_mode(mode)),
    }
}
