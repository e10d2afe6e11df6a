//! Directories that agents work in.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use swb_types::Timestamp;

/// A directory that agents work in, and what they may do there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workspace {
    /// The directory, absolute.
    pub path: PathBuf,
    /// Further directories that agents may read.
    #[serde(default)]
    pub context_dirs: Vec<PathBuf>,
    /// Further directories that commands may read.
    #[serde(default)]
    pub landlock_read: Vec<PathBuf>,
    /// Further directories that commands may write.
    #[serde(default)]
    pub landlock_write: Vec<PathBuf>,
    /// Commands that need no approval here.
    #[serde(default)]
    pub commands_approved: Vec<String>,
    /// Domains that need no approval here.
    #[serde(default)]
    pub domains_approved: Vec<String>,
    /// The agent used here unless a session has another.
    #[serde(default)]
    pub agent: Option<String>,
    /// Whether commands can reach Unix sockets, and with them programs that are not confined.
    #[serde(default)]
    pub unix_sockets: bool,
    /// Whether commands can write `.git`, and with it hooks that the user's own git runs.
    #[serde(default)]
    pub git_writable: bool,
    /// When it was first used.
    pub created: Timestamp,
    /// When it was last used.
    pub last_accessed: Timestamp,
}

impl Workspace {
    /// A workspace with only its directory set.
    pub fn new(path: &Path, now: Timestamp) -> Self {
        Self {
            path: path.to_owned(),
            context_dirs: Vec::new(),
            landlock_read: Vec::new(),
            landlock_write: Vec::new(),
            commands_approved: Vec::new(),
            domains_approved: Vec::new(),
            agent: None,
            unix_sockets: false,
            git_writable: false,
            created: now,
            last_accessed: now,
        }
    }

    /// A short id where a path is too long: 16 hexadecimal digits derived from the path (SS-70).
    pub fn id(&self) -> String {
        let hash = Sha256::digest(self.path.as_os_str().as_encoded_bytes());
        hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }

    /// Its name for users.
    pub fn name(&self) -> String {
        self.path.file_name().map_or_else(|| "/".to_owned(), |name| name.to_string_lossy().into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // SS-70
    #[test]
    fn the_id_follows_from_the_path() {
        let workspace = Workspace::new(Path::new("/tmp/ws/p1"), Timestamp(0));
        assert_eq!((workspace.id().as_str(), workspace.name().as_str()), ("044a834717e70cbd", "p1"));
        assert_eq!(Workspace::new(Path::new("/"), Timestamp(0)).name(), "/");
    }
}
