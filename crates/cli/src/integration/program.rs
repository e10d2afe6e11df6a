//! Where programs are: this one, and the agents.

use crate::error::Failure;
use rustix::fs::{Access, access};
use std::path::{Path, PathBuf};

/// How hooks call this program: by its name if that leads here, so that a newer one in its place is used.
pub(crate) fn in_hooks() -> Result<String, Failure> {
    let own = own_path()?;
    let same = in_path("swb").and_then(|found| found.canonicalize().ok());
    Ok(if same.as_deref() == Some(Path::new(&own)) { "swb".to_owned() } else { own })
}

/// The path of this program.
pub(crate) fn own_path() -> Result<String, Failure> {
    let path = std::env::current_exe().and_then(|path| path.canonicalize());
    let path = path.map_err(|error| Failure::io("cannot find the path of this program", &error))?;
    path.into_os_string().into_string().map_err(|_| Failure::general("the path of this program is not UTF-8"))
}

/// The file of a program in PATH. Entries that depend on the current directory are left out: a repository may have a program of
/// any name.
pub(crate) fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let dirs = std::env::split_paths(&path).filter(|dir| dir.is_absolute());
    let mut files = dirs.map(|dir| dir.join(name));
    files.find(|file| file.is_file() && access(file, Access::EXEC_OK).is_ok())
}
