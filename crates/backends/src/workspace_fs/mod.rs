//! The files an agent may access: its workspace, and for reading also the workspace's context directories.
//!
//! Paths come from agents, which may be misled by what they read. Nothing is opened by its full path: every file is
//! opened beneath one of the roots (`beneath.rs`), so that neither `..`, nor an absolute path, nor a link, nor a link
//! that appears at the last moment leads out of it. Everything here blocks on the disk.

#![allow(clippy::disallowed_methods, reason = "called on threads of file_access")]

mod beneath;
mod files;
mod ignored;
pub(crate) mod limits;
mod route;
mod walk;

pub(crate) use beneath::open_path as open_unlinked;
pub(crate) use route::{is_beneath, resolve};
pub(crate) use walk::{ListQuery, SearchQuery};

use crate::guard::own_repository;
use rustix::fs::OFlags;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};
use swb_chat::Workspace;

/// Why an agent cannot access a file. Agents and users both see the messages.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkspaceFsError {
    /// It is not text.
    #[error("{0} is not a text file")]
    Binary(String),
    /// The system reports an error.
    #[error("{path}: {error}")]
    Io {
        /// The path as the agent gave it.
        path: String,
        /// The error.
        error: io::Error,
    },
    /// It is a directory, a device or a pipe.
    #[error("{0} is not a regular file")]
    NotAFile(String),
    /// It is not a directory.
    #[error("{0} is not a directory")]
    NotADirectory(String),
    /// It may be read, but not written.
    #[error("{0} may be read, but not changed: it is outside the workspace")]
    ReadOnly(String),
    /// Git runs what is there.
    #[error(
        "{0} belongs to git, which runs what its files name; a person has to change it, or set git_writable"
    )]
    OfGit(String),
    /// It decides what our processes do.
    #[error("{0} belongs to Switchboard, whose files no agent changes; a person has to do it")]
    OfOurs(String),
    /// A directory may have been replaced.
    #[error(
        "{} leads through a symbolic link in a directory that agents can write; remove the link, or set up the \
         workspace with the real path", .0.display()
    )]
    Moved(PathBuf),
    /// It is elsewhere.
    #[error("{0} is outside the workspace")]
    Outside(String),
    /// The path is invalid.
    #[error("invalid path: {0}")]
    BadPath(&'static str),
    /// The pattern is invalid.
    #[error("invalid pattern: {0}")]
    BadPattern(String),
    /// It is too large.
    #[error("{path} has {len} bytes; the maximum is {max}")]
    TooLarge {
        /// The path as the agent gave it.
        path: String,
        /// Its size.
        len: u64,
        /// The maximum.
        max: u64,
    },
}

/// The files an agent may access.
#[derive(Debug)]
pub(crate) struct WorkspaceFs {
    /// The workspace first.
    roots: Vec<Root>,
    /// Directories that would be roots, if it were known where they are.
    moved: Vec<PathBuf>,
    working_dir: PathBuf,
    umask: u32,
    /// Whether the files of git may be written.
    git_writable: bool,
    /// What git uses as repositories of the writable roots, wherever in them that is.
    repositories: Vec<PathBuf>,
    /// Our own directories, which are not written even if they are in the workspace.
    protected: Vec<PathBuf>,
}

/// A directory that the agent may access, with everything beneath it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Root {
    path: PathBuf,
    /// The same without links: agents that ask the system for their directory get this path. It is the one to open,
    /// so that no link that appears later leads elsewhere.
    real: PathBuf,
    writable: bool,
}

/// The destination of an agent's path, before links are resolved.
#[derive(Debug)]
struct AgentPath<'a> {
    /// As the agent gave it.
    shown: &'a str,
    root: &'a Root,
    /// Beneath the root; empty for the root itself. There is no `..` in it.
    beneath: PathBuf,
}

impl AgentPath<'_> {
    fn full(&self) -> PathBuf {
        self.root.path.join(&self.beneath)
    }

    /// The same without links in the path of the root.
    fn real(&self) -> PathBuf {
        self.root.real.join(&self.beneath)
    }

    fn io(&self, error: impl Into<io::Error>) -> WorkspaceFsError {
        WorkspaceFsError::Io { path: self.shown.to_owned(), error: error.into() }
    }
}

impl WorkspaceFs {
    /// The files of an agent that works in `working_dir`. New files get their mode by `umask`. `agents` are the
    /// directories that agents of any workspace can write.
    pub(crate) fn new(workspace: &Workspace, working_dir: &Path, umask: u32, agents: &[PathBuf]) -> Self {
        let mut moved = Vec::new();
        let mut root = |path: &Path, written: &[PathBuf], writable| {
            let path = normal(path);
            // A link that an agent's command has put in the place of a directory is ignored.
            let real = route::resolve(&path, written);
            if real.is_none() {
                moved.push(path.clone());
            }
            Some(Root { path, real: real?, writable })
        };
        let mut written = agents.to_vec();
        let mut roots: Vec<Root> = root(&workspace.path, &written, true).into_iter().collect();
        written.extend(roots.iter().map(|root| root.real.clone()));
        let working_dir = normal(working_dir);
        if !working_dir.starts_with(normal(&workspace.path)) {
            roots.extend(root(&working_dir, &written, true));
        }
        written.extend(roots.last().map(|root| root.real.clone()));
        written.extend(workspace.landlock_write.iter().filter_map(|dir| dir.canonicalize().ok()));
        let context = workspace.context_dirs.iter().filter(|dir| dir.is_absolute());
        roots.extend(context.filter_map(|dir| root(dir, &written, false)));
        let (git_writable, protected) = (workspace.git_writable, Vec::new());
        let writable = roots.iter().filter(|root| root.writable);
        let repositories = writable.flat_map(|root| own_repository(&root.real));
        let repositories = repositories.map(|path| real_or_future(&path)).collect();
        Self { roots, moved, working_dir, umask, git_writable, repositories, protected }
    }

    /// Does not write these directories and what is in them.
    pub(crate) fn with_protected(mut self, dirs: &[PathBuf]) -> Self {
        self.protected = dirs.iter().map(|dir| real_or_future(dir)).collect();
        self
    }

    /// The resolved path of something that may be read.
    pub(crate) fn resolve_read(&self, path: &str) -> Result<PathBuf, WorkspaceFsError> {
        let spot = self.spot(path)?;
        let (spot, fd) = self.open(spot, OFlags::PATH)?;
        beneath::path_of(&fd).map_err(|error| spot.io(error))
    }

    /// Whether a file may be written; it need not exist.
    pub(crate) fn check_write(&self, path: &str) -> Result<(), WorkspaceFsError> {
        match self.open(self.writable_spot(path)?, OFlags::PATH) {
            Ok((found, _)) if !found.root.writable => Err(WorkspaceFsError::ReadOnly(path.to_owned())),
            Ok((found, fd)) => {
                let real = beneath::path_of(&fd).map_err(|error| found.io(error))?;
                self.check_real(path, &real)
            }
            Err(WorkspaceFsError::Io { error, .. }) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// A path as shown to the agent: relative to its working directory, if it is beneath that.
    fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.working_dir).unwrap_or(path).to_string_lossy().into_owned()
    }

    /// Finds the root of a path, which is relative to the agent's working directory.
    ///
    /// `..` is resolved in the text alone: a link before it then does not matter, and a path shown to users means
    /// what they read.
    fn spot<'a>(&'a self, path: &'a str) -> Result<AgentPath<'a>, WorkspaceFsError> {
        match path {
            "" => return Err(WorkspaceFsError::BadPath("it is empty")),
            long if long.len() > limits::PATH => return Err(WorkspaceFsError::BadPath("it is too long")),
            nul if nul.contains('\0') => return Err(WorkspaceFsError::BadPath("there is a NUL in it")),
            _ => {}
        }
        let full = normal(&self.working_dir.join(path));
        let rooted = self.roots.iter().find_map(|root| {
            let beneath = full.strip_prefix(&root.path).or_else(|_| full.strip_prefix(&root.real)).ok()?;
            Some(AgentPath { shown: path, root, beneath: beneath.to_owned() })
        });
        rooted.ok_or_else(|| match self.moved.iter().find(|dir| full.starts_with(dir)) {
            Some(moved) => WorkspaceFsError::Moved(moved.clone()),
            None => WorkspaceFsError::Outside(path.to_owned()),
        })
    }

    fn writable_spot<'a>(&'a self, path: &'a str) -> Result<AgentPath<'a>, WorkspaceFsError> {
        let spot = self.spot(path)?;
        match spot.root.writable {
            true => {
                self.check_git(path, &spot.beneath)?;
                self.check_real(path, &spot.real())?;
                Ok(spot)
            }
            false => Err(WorkspaceFsError::ReadOnly(path.to_owned())),
        }
    }

    /// Refuses to write a path with `.git` in it, in any case of letters: some file systems ignore it.
    fn check_git(&self, shown: &str, path: &Path) -> Result<(), WorkspaceFsError> {
        let mut names = path.components().map(Component::as_os_str);
        match !self.git_writable && names.any(|name| name.eq_ignore_ascii_case(".git")) {
            true => Err(WorkspaceFsError::OfGit(shown.to_owned())),
            false => Ok(()),
        }
    }

    /// Refuses to write our own files, and repositories that are not named `.git`.
    fn check_real(&self, shown: &str, real: &Path) -> Result<(), WorkspaceFsError> {
        let within = |dirs: &[PathBuf]| dirs.iter().any(|dir| real.starts_with(dir));
        if within(&self.protected) {
            return Err(WorkspaceFsError::OfOurs(shown.to_owned()));
        }
        match !self.git_writable && within(&self.repositories) {
            true => Err(WorkspaceFsError::OfGit(shown.to_owned())),
            false => Ok(()),
        }
    }

    /// Opens an existing file in the root that contains it.
    fn open<'a>(
        &'a self,
        spot: AgentPath<'a>,
        flags: OFlags,
    ) -> Result<(AgentPath<'a>, OwnedFd), WorkspaceFsError> {
        match beneath::open(&spot.root.real, &spot.beneath, flags) {
            Ok(fd) => Ok((spot, fd)),
            Err(error) if beneath::leaves(&error) => {
                // A link with an absolute target leaves the root by its form. It may lead back into one of the roots.
                let spot = self.follow(spot)?;
                match beneath::open_unlinked(&spot.root.real, &spot.beneath, flags) {
                    Ok(fd) => Ok((spot, fd)),
                    Err(_) => Err(WorkspaceFsError::Outside(spot.shown.to_owned())),
                }
            }
            Err(error) => Err(spot.io(error)),
        }
    }

    /// Resolves the links of a path. The result may be outdated at once: it must be opened without following links.
    fn follow<'a>(&'a self, spot: AgentPath<'a>) -> Result<AgentPath<'a>, WorkspaceFsError> {
        let real =
            spot.full().canonicalize().map_err(|_| WorkspaceFsError::Outside(spot.shown.to_owned()))?;
        self.real_spot(spot.shown, &real)
    }

    /// The destination of a path without links.
    fn real_spot<'a>(&'a self, shown: &'a str, real: &Path) -> Result<AgentPath<'a>, WorkspaceFsError> {
        let inside = self.roots.iter().find_map(|root| {
            let beneath = real.strip_prefix(&root.real).ok()?.to_owned();
            Some(AgentPath { shown, root, beneath })
        });
        inside.ok_or_else(|| WorkspaceFsError::Outside(shown.to_owned()))
    }
}

/// A path without links, as far as it exists.
fn real_or_future(path: &Path) -> PathBuf {
    let existing = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    let Some((above, real)) = existing else { return path.to_owned() };
    match path.strip_prefix(above) {
        Ok(rest) if !rest.as_os_str().is_empty() => real.join(rest),
        _ => real,
    }
}

/// A path without `.` and `..`, by its text alone.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

#[cfg(test)]
mod tests;
