//! The socket to connect to, and the secret for it.

use crate::args;
use crate::context::Context;
use crate::error::Failure;
use crate::limits;
use crate::own_socket;
use crate::regular_file;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use swb_types::SavePolicy;

/// The environment variable that may hold the secret.
const TOKEN: &str = "SCRIPTSCHNELL_SOCKET_TOKEN";

/// The socket to connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChatEndpoint {
    /// The socket.
    pub(super) socket: PathBuf,
    /// The user that the server has to run as.
    pub(super) owner: u32,
    /// The secret, if there is one.
    pub(super) token: Option<String>,
    /// Whether it is the socket of our own daemon, which can be started.
    pub(super) ours: bool,
    /// The control socket of our own daemon, where there is a place for us if other clients have taken all of `socket`.
    pub(super) control: Option<PathBuf>,
    /// The limit of clients, if it is known.
    pub(super) most: Option<u64>,
    /// Whether the secret is proved and never sent.
    pub(super) proved: bool,
    /// Whether conversations are saved. With the daemon of another project, only on request.
    pub(super) save: SavePolicy,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ConfigFile {
    chat: ChatKeys,
    scriptschnell: ScriptschnellKeys,
}

/// The keys of `[chat]` that concern a client.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ChatKeys {
    save: SavePolicy,
}

/// The keys that concern a client. Read leniently: the daemon reports errors in the file.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ScriptschnellKeys {
    enabled: Option<bool>,
    auto_connect: Option<bool>,
    path: Option<String>,
    token: Option<String>,
    auth_method: Option<String>,
    max_connections: Option<u64>,
}

impl ChatEndpoint {
    /// The socket given by the user, else the configured one.
    pub(super) fn find(context: &Context, args: &args::ChatArgs) -> Result<Self, Failure> {
        let file = regular_file::read_text(&context.config_path(), limits::CONFIG_FILE)
            .map(|text| parse(&text))
            .unwrap_or_default();
        let (keys, save) = (file.scriptschnell, file.chat.save);
        let secret = std::env::var(TOKEN).ok().filter(|token| !token.is_empty());
        let token = secret.or(keys.token);
        let owner = args.socket_owner.unwrap_or_else(own_socket::our_uid);
        if let Some(socket) = args.socket.clone() {
            let save = SavePolicy::Never;
            return Ok(Self {
                socket,
                owner,
                token,
                ours: false,
                control: None,
                most: None,
                proved: false,
                save,
            });
        }
        if keys.enabled == Some(false) {
            return Err(Failure::general("chat is disabled: [scriptschnell] enabled is false")
                .hint("enable it in the configuration, or give a socket with --socket"));
        }
        if keys.auto_connect == Some(false) {
            return Err(Failure::general("no socket given, and [scriptschnell] auto_connect is false")
                .hint("give a socket with --socket"));
        }
        let socket = match keys.path.as_deref().filter(|path| !path.is_empty()) {
            Some(path) => at_home(path, &context.paths.home),
            None => context.paths.scriptschnell_socket(),
        };
        let most = Some(keys.max_connections.unwrap_or(limits::CHAT_CLIENTS));
        let proved = keys.auth_method.as_deref() == Some("challenge");
        let control = Some(context.paths.control_socket());
        Ok(Self { socket, owner, token, ours: true, control, most, proved, save })
    }
}

fn parse(text: &str) -> ConfigFile {
    toml::from_str(text).unwrap_or_default()
}

fn at_home(path: &str, home: &Path) -> PathBuf {
    match path.strip_prefix("~/") {
        Some(below) => home.join(below),
        None => home.join(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_part_is_read() {
        let parse_keys = |text: &str| parse(text).scriptschnell;
        let keys =
            parse_keys("[daemon]\nnew = 1\n[scriptschnell]\npath = \"~/x.sock\"\ntoken = \"t\"\nother = 2\n");
        assert_eq!((keys.path.as_deref(), keys.token.as_deref()), (Some("~/x.sock"), Some("t")));
        assert!(parse_keys("not toml").path.is_none());
        assert_eq!(parse("").chat.save, SavePolicy::Always);
        assert_eq!(parse("[chat]\nsave = \"ask\"\n").chat.save, SavePolicy::Ask);
        assert_eq!(at_home("~/x.sock", Path::new("/h")), PathBuf::from("/h/x.sock"));
        assert_eq!(at_home("/run/x", Path::new("/h")), PathBuf::from("/run/x"));
    }
}
