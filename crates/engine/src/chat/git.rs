//! What conversations need to know of git repositories.

use super::Boxed;
use std::fmt;
use std::path::{Path, PathBuf};

/// What git knows of a directory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GitFacts {
    /// The top of the working tree it is in.
    pub repository_root: Option<PathBuf>,
    /// The branch checked out there; none if no branch is.
    pub current_branch: Option<String>,
    /// Whether it is a further working tree of another repository.
    pub is_worktree: bool,
    /// What git calls that working tree.
    pub worktree_name: Option<String>,
}

/// Access to git repositories.
pub trait Git: fmt::Debug + Send + Sync {
    /// What git knows of a directory; nothing if it is in no repository. Reads files, so it may block.
    fn facts(&self, path: &Path) -> GitFacts;

    /// Makes a further working tree beside the repository that `base` is in, `<repository>-<name>`, on a new branch
    /// `name`. `umask` is what its files are made with.
    fn create_worktree<'a>(
        &'a self,
        base: &'a Path,
        name: &'a str,
        umask: u32,
    ) -> Boxed<'a, Result<PathBuf, String>>;
}
