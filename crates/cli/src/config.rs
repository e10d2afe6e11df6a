//! The part of the configuration file that concerns the command line.
//!
//! Read leniently: the daemon checks the file and reports its errors; a client must work all the same, if only to
//! stop a daemon whose configuration is broken.

use crate::limits;
use crate::regular_file;
use crate::terminal::detach::{DetachKey, KeyError};
use serde::Deserialize;
use std::path::Path;
use swb_wire::control::TerminalMeans;

/// The user's settings for the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Config {
    /// The key that detaches from a session.
    pub(crate) detach_key: DetachKey,
    /// How the user's terminal is notified.
    pub(crate) terminal: TerminalMeans,
}

impl Default for Config {
    fn default() -> Self {
        Self { detach_key: DetachKey::ctrl(']'), terminal: TerminalMeans::default() }
    }
}

#[derive(Deserialize)]
struct ConfigFile {
    cli: Option<CliSection>,
    notifications: Option<NotificationsSection>,
}

#[derive(Deserialize)]
struct CliSection {
    detach_key: Option<String>,
}

#[derive(Deserialize)]
struct NotificationsSection {
    terminal: Option<toml::Value>,
}

impl Config {
    /// Reads the file; a setting that cannot be read keeps its default. An invalid detach key is an error,
    /// because the user would otherwise lack the key they expect.
    pub(crate) fn load(path: &Path) -> Result<Self, KeyError> {
        let text = regular_file::read_text(path, limits::CONFIG_FILE);
        text.map_or_else(|_| Ok(Self::default()), |text| Self::parse(&text))
    }

    fn parse(text: &str) -> Result<Self, KeyError> {
        let Ok(ConfigFile { cli, notifications }) = toml::from_str(text) else { return Ok(Self::default()) };
        let mut config = Self::default();
        if let Some(key) = cli.and_then(|cli| cli.detach_key) {
            config.detach_key = DetachKey::parse(&key)?;
        }
        let terminal = notifications.and_then(|section| section.terminal);
        config.terminal = terminal.and_then(|terminal| terminal.try_into().ok()).unwrap_or_default();
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_part_is_read() {
        let config = Config::parse("[sessions]\nnew = 1\n[cli]\ndetach_key = \"C-a\"\nother = 2\n").unwrap();
        assert_eq!(config.detach_key, DetachKey::ctrl('a'));
        let quiet = "[notifications]\nterminal = \"none\"\nother = 2\n";
        assert_eq!(Config::parse(quiet).unwrap().terminal, TerminalMeans::None);
        let broken = "[cli]\ndetach_key = \"C-a\"\n[notifications]\nterminal = 3\n";
        assert_eq!(Config::parse(broken).unwrap().detach_key, DetachKey::ctrl('a'));
        assert_eq!(Config::parse("not toml at all").unwrap(), Config::default());
        assert_eq!(Config::parse("").unwrap(), Config::default());
        assert!(Config::parse("[cli]\ndetach_key = \"C-\"").is_err());
        assert_eq!(Config::load(Path::new("/nowhere/config.toml")).unwrap(), Config::default());
    }
}
