//! The settings of this front.

use serde::Deserialize;
use std::path::PathBuf;
use std::time::Duration;

/// How clients authenticate, if they have to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AuthMethod {
    /// By signing a challenge with the secret (SS-20).
    Challenge,
    /// By being able to open the socket.
    File,
    /// By their credentials from the kernel (SS-21).
    Peercred,
    /// By sending the secret (SS-19).
    Token,
}

/// The settings of the front, with the defaults of the protocol's document.
#[derive(Debug, Clone)]
pub struct ScriptschnellSettings {
    /// Whether clients have to authenticate.
    pub require_auth: bool,
    /// How clients authenticate.
    pub auth_method: AuthMethod,
    /// The secret.
    pub token: Option<String>,
    /// Users that may connect; the daemon's own if neither users nor groups are named.
    pub allowed_uids: Vec<u32>,
    /// Groups that may connect.
    pub allowed_gids: Vec<u32>,
    /// Maximum number of connections.
    pub max_connections: usize,
    /// Maximum number of sessions that one connection is attached to.
    pub max_sessions_per_connection: usize,
    /// Time of silence after which a connection is closed.
    pub connection_timeout: Duration,
    /// Whether messages are batched for clients that support it.
    pub batching: bool,
    /// Maximum number of messages in a batch.
    pub batch_size: usize,
    /// Messages per second that one connection may send; more are delayed.
    pub messages_per_second: u32,
    /// Maximum number of generations that one connection has running.
    pub max_generations: usize,
    /// The user's home directory, which `~` stands for.
    pub home: PathBuf,
    /// File mode creation mask for files that are created for the user.
    pub umask: u32,
}

impl Default for ScriptschnellSettings {
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

impl ScriptschnellSettings {
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
    fn only_listed_users_and_groups_may_connect() {
        let open = ScriptschnellSettings::default();
        assert!(open.admits(1000, 1000, 1000) && !open.admits(1001, 1000, 1000) && !open.admits(0, 0, 1000));
        let listed = ScriptschnellSettings {
            allowed_uids: vec![1001],
            allowed_gids: vec![50],
            ..ScriptschnellSettings::default()
        };
        assert!(listed.admits(1001, 7, 1000) && listed.admits(7, 50, 1000));
        assert!(!listed.admits(1000, 1000, 1000) && !listed.admits(50, 1001, 1000));
    }
}
