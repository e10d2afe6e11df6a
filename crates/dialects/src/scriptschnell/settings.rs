//! What the daemon configures for this front.

use serde::Deserialize;
use std::path::PathBuf;
use std::time::Duration;

/// How clients prove who they are, if they have to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AuthMethod {
    /// By an answer that only who knows the secret can give (SS-20).
    Challenge,
    /// By being able to open the socket.
    File,
    /// By what the system says of them (SS-21).
    Peercred,
    /// By telling the secret (SS-19).
    Token,
}

/// The settings of the front, with the defaults of the protocol's document.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Whether clients have to prove who they are.
    pub require_auth: bool,
    /// How they do.
    pub auth_method: AuthMethod,
    /// The secret.
    pub token: Option<String>,
    /// Users that may connect; the daemon's own if neither users nor groups are named.
    pub allowed_uids: Vec<u32>,
    /// Groups that may connect.
    pub allowed_gids: Vec<u32>,
    /// Connections at a time.
    pub max_connections: usize,
    /// Sessions that one connection is attached to at a time.
    pub max_sessions_per_connection: usize,
    /// Silence after which a connection is closed.
    pub connection_timeout: Duration,
    /// Whether messages are sent together to clients that ask for it.
    pub batching: bool,
    /// Messages sent together at most.
    pub batch_size: usize,
    /// Messages a second that one connection may send before it is slowed down.
    pub messages_per_second: u32,
    /// Generations that one connection may have running.
    pub max_generations: usize,
    /// The user's home directory, which `~` stands for.
    pub home: PathBuf,
    /// File mode creation mask for what is made for the user.
    pub umask: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            require_auth: false,
            auth_method: AuthMethod::File,
            token: None,
            allowed_uids: Vec::new(),
            allowed_gids: Vec::new(),
            max_connections: 10,
            max_sessions_per_connection: 1,
            connection_timeout: Duration::from_secs(300),
            batching: true,
            batch_size: 10,
            messages_per_second: 200,
            max_generations: 4,
            home: PathBuf::from("/"),
            umask: 0o022,
        }
    }
}

impl Settings {
    /// SS-21: whether a peer may connect.
    pub(super) fn admits(&self, uid: u32, gid: u32, ours: u32) -> bool {
        if self.allowed_uids.is_empty() && self.allowed_gids.is_empty() {
            return uid == ours;
        }
        self.allowed_uids.contains(&uid) || self.allowed_gids.contains(&gid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // SS-21
    #[test]
    fn only_who_is_listed_gets_in() {
        let open = Settings::default();
        assert!(open.admits(1000, 1000, 1000) && !open.admits(1001, 1000, 1000) && !open.admits(0, 0, 1000));
        let listed = Settings { allowed_uids: vec![1001], allowed_gids: vec![50], ..Settings::default() };
        assert!(listed.admits(1001, 7, 1000) && listed.admits(7, 50, 1000));
        assert!(!listed.admits(1000, 1000, 1000) && !listed.admits(50, 1001, 1000));
    }
}
