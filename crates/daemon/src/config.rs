//! The configuration file.
//!
//! Every key is listed in `docs/configuration.md`. An unknown key is an error that names its line, so that a
//! misspelt key is not silently ignored.

mod scriptschnell;

use crate::limits;
pub use scriptschnell::ScriptschnellConfig;

use anyhow::{Context, Result};
use serde::Deserialize;
use std::io;
use std::path::Path;
use swb_backends::config::{AgentConfig, ChatConfig};
use swb_engine::file_access;
use swb_operations::notify::NotificationsConfig;
use swb_types::SizePolicy;

/// The whole configuration file; every section is optional.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Config {
    /// The daemon itself.
    pub daemon: DaemonConfig,
    /// How screens are kept.
    pub screen: ScreenConfig,
    /// How turns are kept.
    pub turns: TurnsConfig,
    /// The clippy front.
    pub clippy: FrontConfig,
    /// The coop front.
    pub coop: FrontConfig,
    /// The keepty front.
    pub keepty: FrontConfig,
    /// The scriptschnell front.
    pub scriptschnell: ScriptschnellConfig,
    /// Which agent answers in conversations, and what agents may do.
    pub chat: ChatConfig,
    /// The configured agents.
    pub agents: Vec<AgentConfig>,
    /// What is reported when an agent asks, finishes or ends.
    pub notifications: NotificationsConfig,
    /// The command line.
    pub cli: CliConfig,
    /// The web servers.
    pub web: WebConfig,
    /// `[tunnel]`
    pub tunnel: TunnelConfig,
}

/// `[daemon]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct DaemonConfig {
    /// What is logged: `error`, `warn`, `info`, `debug`, `trace`, or a filter per module.
    pub log_level: String,
    /// Bytes of output kept per terminal.
    pub ring_bytes: usize,
}

impl Default for DaemonConfig {
    fn default() -> Self {
        Self { log_level: "info".to_owned(), ring_bytes: swb_engine::limits::RING }
    }
}

/// `[screen]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct ScreenConfig {
    /// Scrollback lines kept per terminal.
    pub scrollback: usize,
    /// Whether screens are kept up to date all the time, and the daemon replies to terminal queries while no
    /// terminal is attached.
    pub follow: bool,
    /// Which of several windows decides the size of a terminal.
    #[serde(alias = "window-size")]
    pub window_size: SizePolicy,
}

impl Default for ScreenConfig {
    fn default() -> Self {
        Self { scrollback: swb_engine::limits::SCROLLBACK, follow: true, window_size: SizePolicy::default() }
    }
}

/// `[turns]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct TurnsConfig {
    /// Whether turns are detected in the output of our own sessions.
    pub detect: bool,
    /// Turns kept per session.
    pub keep: usize,
    /// Bytes kept per turn.
    pub turn_bytes: usize,
}

impl Default for TurnsConfig {
    fn default() -> Self {
        Self { detect: true, keep: swb_engine::limits::TURNS, turn_bytes: swb_engine::limits::TURN_BYTES }
    }
}

/// A front that can be disabled.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct FrontConfig {
    /// Whether the front is enabled.
    pub enabled: bool,
}

impl Default for FrontConfig {
    fn default() -> Self {
        Self { enabled: true }
    }
}

/// `[web]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct WebConfig {
    /// Addresses to serve from the start of the daemon.
    pub listen: Vec<WebAddress>,
    /// Whether these are served over TLS.
    pub tls: bool,
    /// Names under which the servers may be addressed, besides their addresses and `localhost`.
    pub hosts: Vec<String>,
}

/// `[tunnel]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct TunnelConfig {
    /// Servers that report the public address of a machine behind a router.
    pub stun: Vec<String>,
    /// A server that passes packets on where there is no other way.
    pub turn: Option<String>,
    /// Where the page for tunnels is, when no web server of this daemon has it.
    pub page: String,
    /// A server that passes offers and answers on without being able to read them (`swb rendezvous`).
    pub rendezvous: Option<String>,
}

impl Default for TunnelConfig {
    fn default() -> Self {
        Self {
            stun: vec!["stun:stun.l.google.com:19302".to_owned()],
            turn: None,
            page: "http://127.0.0.1:8888/connect".to_owned(),
            rendezvous: None,
        }
    }
}

/// An address with a port: `127.0.0.1:8888`, `[::1]:8888` or `localhost:8888`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
#[non_exhaustive]
pub struct WebAddress {
    /// The host.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl TryFrom<String> for WebAddress {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let split = text.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
        let bare = |host: &str| !host.is_empty() && (!host.contains(':') || host.starts_with('['));
        match split.filter(|(host, _)| bare(host)) {
            Some((host, port)) => Ok(Self { host: host.to_owned(), port }),
            None => Err(format!("'{text}' is not an address with a port, such as 127.0.0.1:8888")),
        }
    }
}

/// `[cli]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct CliConfig {
    /// The key that detaches: `C-]`, another control key, a sequence of characters, or `none`.
    pub detach_key: String,
}

impl Default for CliConfig {
    fn default() -> Self {
        Self { detach_key: "C-]".to_owned() }
    }
}

/// Reads a configuration file, for a limited time: it may be on a mount that does not respond. One that the user has
/// named may be a pipe or a device; anything else than a file in the place of the usual one is an error.
fn read(path: &Path, named: bool) -> io::Result<String> {
    let (sender, text) = std::sync::mpsc::sync_channel(1);
    let owned = path.to_owned();
    #[allow(clippy::disallowed_methods, reason = "on a thread of its own")]
    let read = move || {
        let text = match named {
            true => std::fs::read_to_string(&owned),
            false => file_access::read_text(&owned, limits::CONFIG),
        };
        // The caller may have given up.
        let _sent = sender.send(text);
    };
    std::thread::Builder::new().name("config".into()).spawn(read)?;
    text.recv_timeout(limits::CONFIG_READ)
        .unwrap_or_else(|_| Err(io::Error::new(io::ErrorKind::TimedOut, "it does not respond")))
}

/// The line in which `chat.backend` is set.
fn backend_line(text: &str) -> Option<usize> {
    #[derive(Deserialize)]
    struct File {
        chat: Chat,
    }
    #[derive(Deserialize)]
    struct Chat {
        backend: toml::Spanned<String>,
    }
    let file: File = toml::from_str(text).ok()?;
    let before = text.get(..file.chat.backend.span().start)?;
    Some(before.matches('\n').count() + 1)
}

impl Config {
    /// Reads the file at `path`; it may be missing unless it is `required`.
    pub fn load(path: &Path, required: bool) -> Result<Self> {
        let text = match read(path, required) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !required => {
                return Ok(Self::default());
            }
            text => text.with_context(|| format!("cannot read the configuration file {}", path.display()))?,
        };
        let config = Self::parse(&text);
        let mut config = config.with_context(|| format!("invalid configuration file {}", path.display()))?;
        let line = config.chat.backend.is_some().then(|| backend_line(&text)).flatten();
        config.chat.backend_place = line.map(|line| format!("line {line} of {}", path.display()));
        Ok(config)
    }

    fn parse(text: &str) -> Result<Self> {
        let config: Self = toml::from_str(text)?;
        let ring = config.daemon.ring_bytes;
        // The upper bound keeps a typing error from using up the memory; the lower bound is promised by a dialect.
        anyhow::ensure!(
            (swb_engine::limits::RING..=64 << 20).contains(&ring),
            "daemon.ring_bytes must be between 1048576 and 67108864, not {ring}"
        );
        let scrollback = config.screen.scrollback;
        anyhow::ensure!(
            scrollback <= limits::SCROLLBACK,
            "screen.scrollback must be at most {}, not {scrollback}",
            limits::SCROLLBACK
        );
        let turns = &config.turns;
        // CR-2
        anyhow::ensure!(
            (1..=limits::TURNS).contains(&turns.keep),
            "turns.keep must be between 1 and {}, not {}",
            limits::TURNS,
            turns.keep
        );
        anyhow::ensure!(
            (1..=limits::TURN_BYTES).contains(&turns.turn_bytes),
            "turns.turn_bytes must be between 1 and {}, not {}",
            limits::TURN_BYTES,
            turns.turn_bytes
        );
        config.scriptschnell.check()?;
        if let Some(problem) = config.notifications.problem() {
            anyhow::bail!("{problem}");
        }
        config.check_agents()?;
        Ok(config)
    }

    /// Checks that each agent has a unique name and its required fields, and that the paths of workspaces are absolute.
    fn check_agents(&self) -> Result<()> {
        for (n, agent) in self.agents.iter().enumerate() {
            anyhow::ensure!(!agent.name.trim().is_empty(), "agents[{n}].name must not be empty");
            let again = self.agents[..n].iter().any(|other| other.name == agent.name);
            anyhow::ensure!(!again, "two agents are named '{}'; give each its own name", agent.name);
            if let Some(problem) = agent.problem() {
                anyhow::bail!("{problem}");
            }
        }
        for workspace in &self.chat.workspaces {
            let path = &workspace.path;
            let absolute = path.is_absolute() || path.starts_with("~");
            anyhow::ensure!(absolute, "the path of a workspace must be absolute, not {}", path.display());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fifo_in_the_place_of_the_file_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        let error = format!("{:#}", Config::load(&path, false).unwrap_err());
        assert!(error.contains("config.toml") && error.contains("FIFO"), "{error}");
        assert_eq!(Config::load(Path::new("/dev/null"), true).unwrap(), Config::default());
    }

    #[test]
    fn an_empty_file_gives_the_defaults() {
        let config = Config::parse("").unwrap();
        assert_eq!(config, Config::default());
        assert!(config.clippy.enabled && config.coop.enabled && config.keepty.enabled);
        assert_eq!((config.turns.keep, config.turns.turn_bytes), (32, 4_194_304));
        assert_eq!(config.cli.detach_key, "C-]");
    }

    #[test]
    fn an_unknown_key_is_an_error_with_its_line() {
        let error = Config::parse("[coop]\nenabled = true\nenable = false\n").unwrap_err().to_string();
        assert!(error.contains("line 3") && error.contains("enable"), "{error}");
        assert!(Config::parse("[nonsense]\n").is_err());
        assert!(Config::parse("[daemon]\nring_bytes = 5\n").is_err());
        assert!(Config::parse("[screen]\nscrollback = 25000\n").is_ok());
        let window_size = |word: &str| Config::parse(&format!("[screen]\nwindow_size = \"{word}\"\n"));
        assert_eq!(Config::default().screen.window_size, SizePolicy::Latest);
        for policy in [SizePolicy::Latest, SizePolicy::Smallest, SizePolicy::Largest, SizePolicy::Manual] {
            assert_eq!(window_size(policy.as_str()).unwrap().screen.window_size, policy);
        }
        let error = window_size("newest").unwrap_err().to_string();
        assert!(error.contains("`latest`") && error.contains("`manual`"), "{error}");
        assert!(Config::parse("[screen]\nscrollback = 25001\n").is_err());
        assert!(Config::parse("[turns]\nkeep = 1\nturn_bytes = 15728640\n").is_ok());
        for wrong in ["keep = 0", "keep = 10001", "turn_bytes = 0", "turn_bytes = 15728641"] {
            assert!(Config::parse(&format!("[turns]\n{wrong}\n")).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_line_of_the_default_agent_is_known() {
        assert_eq!(backend_line("# a\n[chat]\n\nbackend = \"x\"\n"), Some(4));
        assert_eq!(backend_line("chat.backend = 'x'"), Some(1));
        assert_eq!(backend_line("[chat]\n"), None);
    }

    #[test]
    fn agents_have_unique_names_and_required_fields() {
        let agents = "[chat]\nbackend = \"a\"\n[[agents]]\nname = \"a\"\nkind = \"acp\"\ncommand = [\"x\", \"--acp\"]\n";
        let config = Config::parse(agents).unwrap();
        assert_eq!((config.agents.len(), config.chat.backend.as_deref()), (1, Some("a")));
        let twice = format!("{agents}[[agents]]\nname = \"a\"\nkind = \"pty\"\ncommand = [\"y\"]\n");
        assert!(Config::parse(&twice).unwrap_err().to_string().contains("two agents are named 'a'"));
        for wrong in
            ["kind = \"acp\"", "kind = \"llm\"", "kind = \"other\"", "kind = \"pty\"\ncomand = [\"y\"]"]
        {
            assert!(Config::parse(&format!("[[agents]]\nname = \"b\"\n{wrong}\n")).is_err(), "{wrong}");
        }
    }
}
