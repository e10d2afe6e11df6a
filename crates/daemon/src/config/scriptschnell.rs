//! `[scriptschnell]`: the keys of scriptschnell's own configuration, under the same names.

use anyhow::{Result, ensure};
use serde::Deserialize;
use swb_dialects::scriptschnell::AuthMethod;

/// `[scriptschnell]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct ScriptschnellConfig {
    /// Whether the front is enabled.
    pub enabled: bool,
    /// Whether `swb chat` finds the socket by itself.
    pub auto_connect: bool,
    /// Path of the socket; `~/` is the home directory.
    pub path: String,
    /// Mode of the socket, as octal text.
    pub permissions: String,
    /// Whether clients have to authenticate.
    pub require_auth: bool,
    /// How clients authenticate.
    pub auth_method: AuthMethod,
    /// The secret; `$SCRIPTSCHNELL_SOCKET_TOKEN` if it is not set here.
    pub token: Option<String>,
    /// Users that may connect; the daemon's own user if the list is empty.
    pub allowed_uids: Vec<u32>,
    /// Groups that may connect; compared with the primary group of the peer.
    pub allowed_gids: Vec<u32>,
    /// Maximum number of connections.
    pub max_connections: usize,
    /// Maximum number of sessions that one connection is attached to.
    pub max_sessions_per_connection: usize,
    /// Seconds of silence after which a connection is closed.
    pub connection_timeout_seconds: u64,
    /// Whether messages are batched for clients that support it.
    pub enable_batching: bool,
    /// Maximum number of messages in a batch.
    pub batch_size: usize,
    /// Log level of this front.
    pub log_level: String,
    /// Messages per second that one connection may send; more are delayed.
    pub messages_per_second: u32,
    /// Maximum number of generations that one connection has running.
    pub max_generations: usize,
}

impl Default for ScriptschnellConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            auto_connect: true,
            path: "~/.scriptschnell.sock".to_owned(),
            permissions: "0600".to_owned(),
            require_auth: false,
            auth_method: AuthMethod::File,
            token: None,
            allowed_uids: Vec::new(),
            allowed_gids: Vec::new(),
            max_connections: 10,
            max_sessions_per_connection: 1,
            connection_timeout_seconds: 300,
            enable_batching: true,
            batch_size: 10,
            log_level: "info".to_owned(),
            messages_per_second: 200,
            max_generations: 4,
        }
    }
}

impl ScriptschnellConfig {
    /// The mode of the socket.
    pub fn mode(&self) -> Option<u32> {
        let digits = self.permissions.strip_prefix("0o").unwrap_or(&self.permissions);
        u32::from_str_radix(digits, 8).ok().filter(|mode| *mode <= 0o777)
    }

    pub(super) fn check(&self) -> Result<()> {
        let mode = &self.permissions;
        ensure!(
            self.mode().is_some(),
            "scriptschnell.permissions must be an octal mode such as \"0600\", not {mode:?}"
        );
        let between = |key: &str, value: u64, least: u64, most: u64| {
            ensure!(
                (least..=most).contains(&value),
                "scriptschnell.{key} must be between {least} and {most}, not {value}"
            );
            Ok(())
        };
        between("max_connections", self.max_connections as u64, 1, 4096)?;
        between("max_sessions_per_connection", self.max_sessions_per_connection as u64, 1, 64)?;
        between("connection_timeout_seconds", self.connection_timeout_seconds, 1, 7 * 24 * 3600)?;
        between("batch_size", self.batch_size as u64, 1, 256)?;
        between("messages_per_second", u64::from(self.messages_per_second), 1, 1_000_000)?;
        between("max_generations", self.max_generations as u64, 1, 64)?;
        ensure!(!self.path.is_empty(), "scriptschnell.path must not be empty");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // SS-1
    #[test]
    fn permissions_are_octal_text() {
        let with =
            |permissions: &str| ScriptschnellConfig { permissions: permissions.into(), ..Default::default() };
        assert_eq!(with("0600").mode(), Some(0o600));
        assert_eq!(with("660").mode(), Some(0o660));
        for wrong in ["", "rw", "0888", "7777"] {
            assert!(with(wrong).check().is_err(), "{wrong}");
        }
        assert!(ScriptschnellConfig::default().check().is_ok());
    }
}
