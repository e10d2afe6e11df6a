//! The database file and its directory: created when needed, accessible by their owner alone (SS-47).

use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

const FILE: &str = "conversations.db";
const PRIVATE_DIR: u32 = 0o700;
const PRIVATE_FILE: u32 = 0o600;

/// The path of a database, which need not exist.
#[derive(Debug)]
pub(crate) struct DatabaseFile {
    dir: PathBuf,
    file: PathBuf,
}

/// Identifies a file, even if another one takes its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity(u64, u64);

impl DatabaseFile {
    pub(crate) fn new(dir: PathBuf) -> Self {
        Self { file: dir.join(FILE), dir }
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// The identity of the file, if it exists; an error if others can access it and that cannot be changed.
    pub(crate) fn check(&self) -> io::Result<Option<Identity>> {
        let Some(dir) = known(&self.dir)? else { return Ok(None) };
        own(&self.dir, &dir, dir.is_dir(), "directory", PRIVATE_DIR)?;
        let Some(file) = known(&self.file)? else { return Ok(None) };
        own(&self.file, &file, file.is_file(), "file", PRIVATE_FILE)?;
        Ok(Some(Identity(file.dev(), file.ino())))
    }

    /// Creates what is missing. An empty file is an empty database.
    pub(crate) fn make(&self) -> io::Result<()> {
        make_dir(&self.dir)?;
        let made = OpenOptions::new().write(true).create_new(true).mode(PRIVATE_FILE).open(&self.file);
        match made {
            // The file's name has to be on disk before its content counts.
            Ok(_) => File::open(&self.dir)?.sync_all(),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Creates a directory and its parents. The mode is set explicitly: with the process's umask they might be
/// inaccessible.
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
    // The name has to be on disk as well.
    dir.parent().map_or(Ok(()), |above| File::open(above)?.sync_all())
}

fn known(path: &Path) -> io::Result<Option<Metadata>> {
    match path.symlink_metadata() {
        Ok(meta) => Ok(Some(meta)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Checks that a file or directory is of the right kind and ours, and makes it private.
fn own(path: &Path, meta: &Metadata, fits: bool, what: &str, mode: u32) -> io::Result<()> {
    let refuse = |why: String| Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    let shown = path.display();
    if meta.is_symlink() {
        return refuse(format!("{shown} is a symbolic link; replace it with a plain {what}"));
    }
    if !fits {
        return refuse(format!("{shown} is not a {what}"));
    }
    if meta.uid() != rustix::process::geteuid().as_raw() {
        return refuse(format!("{shown} belongs to another user; change its owner or remove it"));
    }
    match meta.mode() & 0o7777 == mode {
        true => Ok(()),
        false => std::fs::set_permissions(path, Permissions::from_mode(mode)),
    }
}
