//! Coopfiles: what to run in a workspace, merged from three layers (CO-26, CO-27).
//!
//! Two layouts exist: `[agent] command, args` and the newer `[sandbox] agent, args, shell`. Both are read
//! in every layer. Sections that describe a sandbox we do not build are checked to be well-formed TOML
//! and reported as unused.

use crate::errors::{file_access_error, invalid};
use crate::trust::Digest;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use swb_engine::{RestartPolicy, file_access};
use swb_wire::control::ErrorReply;
use toml::{Table, Value};

/// Sections that belong to the original's root file system.
const UNUSED: [&str; 5] = ["network", "base", "packages", "setup", "mounts"];

/// The result of merging the layers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Coopfile {
    pub(super) command: Option<String>,
    pub(super) args: Vec<String>,
    /// What `shell` starts if its client names no command.
    pub(super) shell: Option<String>,
    pub(super) env: BTreeMap<String, String>,
    auto_restart: Option<bool>,
    restart_delay_ms: Option<u64>,
    pub(super) unused: Vec<String>,
}

impl Coopfile {
    /// Merges the text of a further Coopfile over the earlier ones; the error explains what is invalid.
    pub(super) fn merge(&mut self, text: &str) -> Result<(), String> {
        let table: Table = text.parse().map_err(|error: toml::de::Error| error.to_string())?;
        self.merge_command(&table, "agent", "command")?;
        self.merge_command(&table, "sandbox", "agent")?;
        if let Some(shell) = section(&table, "sandbox")?.and_then(|sandbox| sandbox.get("shell")) {
            self.shell = Some(non_empty(shell, "sandbox", "shell")?);
        }
        for (key, value) in section(&table, "env")?.into_iter().flatten() {
            let value = match value {
                Value::String(text) => text.clone(),
                Value::Integer(_) | Value::Float(_) | Value::Boolean(_) => value.to_string(),
                _ => return Err(format!("[env] {key} must be a string")),
            };
            self.env.insert(key.clone(), value);
        }
        if let Some(session) = section(&table, "session")? {
            if let Some(auto) = session.get("auto_restart") {
                self.auto_restart =
                    Some(auto.as_bool().ok_or("[session] auto_restart must be true or false")?);
            }
            if let Some(delay) = session.get("restart_delay_ms") {
                let delay = delay.as_integer().and_then(|delay| u64::try_from(delay).ok());
                self.restart_delay_ms =
                    Some(delay.ok_or("[session] restart_delay_ms must be a number of milliseconds")?);
            }
        }
        self.unused
            .extend(UNUSED.iter().filter(|name| table.contains_key(**name)).map(|name| (*name).to_owned()));
        Ok(())
    }

    fn merge_command(&mut self, table: &Table, section_name: &str, key: &str) -> Result<(), String> {
        let Some(section) = section(table, section_name)? else {
            return Ok(());
        };
        if let Some(command) = section.get(key) {
            self.command = Some(non_empty(command, section_name, key)?);
            // Arguments belong to a command: those of an overridden command would not fit the new one.
            self.args.clear();
        }
        if let Some(args) = section.get("args") {
            let args =
                args.as_array().map(|args| args.iter().map(|arg| arg.as_str().map(str::to_owned)).collect());
            let wrong = || format!("[{section_name}] args must be a list of strings");
            self.args = args.flatten().ok_or_else(wrong)?;
        }
        Ok(())
    }

    /// Merges a Coopfile over the earlier ones if the file exists; `max` is its maximum length in bytes. Returns the
    /// digest of the text that was merged.
    pub(super) async fn merge_file(&mut self, path: &Path, max: u64) -> Result<Option<Digest>, ErrorReply> {
        let in_file = |error: String| invalid(format!("{}: {error}", path.display()));
        let text = file_access::run(path, move |path| file_access::read_text(path, max)).await;
        match text.map_err(|error| file_access_error(&error))? {
            Ok(text) => {
                self.merge(&text).map_err(in_file)?;
                Ok(Some(Digest::of(text.as_bytes())))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(in_file(error.to_string())),
        }
    }

    /// Whether both lead to the same commands with the same environment.
    pub(super) fn runs_the_same_as(&self, other: &Self) -> bool {
        (&self.command, &self.args, &self.shell, &self.env)
            == (&other.command, &other.args, &other.shell, &other.env)
    }

    /// What happens when the agent exits; it is restarted unless a Coopfile disables that (CO-62).
    pub(super) fn restart(&self) -> RestartPolicy {
        let default = RestartPolicy::ALWAYS;
        RestartPolicy {
            auto: self.auto_restart.unwrap_or(default.auto),
            delay_ms: self.restart_delay_ms.unwrap_or(default.delay_ms),
        }
    }
}

fn non_empty(value: &Value, section: &str, key: &str) -> Result<String, String> {
    let text = value.as_str().filter(|text| !text.is_empty());
    text.map(str::to_owned).ok_or_else(|| format!("[{section}] {key} must be a non-empty string"))
}

fn section<'a>(table: &'a Table, name: &str) -> Result<Option<&'a Table>, String> {
    match table.get(name) {
        None => Ok(None),
        Some(Value::Table(section)) => Ok(Some(section)),
        Some(_) => Err(format!("{name} must be a section")),
    }
}

/// Expands the value of an `[env]` entry: `$NAME` and `${NAME}` are replaced by variables of `daemon` (CO-28).
pub(super) fn env_value(value: &str, daemon: &BTreeMap<String, String>) -> String {
    let Some(name) = value.strip_prefix('$') else {
        return value.to_owned();
    };
    let name = name.strip_prefix('{').and_then(|name| name.strip_suffix('}')).unwrap_or(name);
    daemon.get(name).cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(layers: &[&str]) -> Coopfile {
        let mut coopfile = Coopfile::default();
        layers.iter().for_each(|layer| coopfile.merge(layer).unwrap());
        coopfile
    }

    // CO-26, CO-27
    #[test]
    fn later_layers_override_earlier_ones_in_both_layouts() {
        let both = merged(&["[agent]\ncommand = 'a'\nargs = ['1']", "[sandbox]\nagent = 'b'\nargs = ['2']"]);
        assert_eq!((both.command.as_deref(), both.args), (Some("b"), vec!["2".to_owned()]));
        let back =
            merged(&["[sandbox]\nagent = 'b'\nargs = ['2']\nshell = '/bin/zsh'", "[agent]\ncommand = 'c'"]);
        assert_eq!((back.command.as_deref(), back.args), (Some("c"), vec![]));
        assert_eq!(back.shell.as_deref(), Some("/bin/zsh"));
        let only_args = merged(&["[agent]\ncommand = 'a'\nargs = ['1']", "[agent]\nargs = ['2', '3']"]);
        assert_eq!((only_args.command.as_deref(), only_args.args.len()), (Some("a"), 2));
    }

    // CO-62
    #[test]
    fn restart_policy() {
        assert_eq!(merged(&[]).restart(), RestartPolicy::ALWAYS);
        let policy = merged(&["[session]\nauto_restart = false\nrestart_delay_ms = 5"]).restart();
        assert_eq!(policy, RestartPolicy { auto: false, delay_ms: 5 });
    }

    // CO-28
    #[test]
    fn env_values_may_come_from_the_daemon() {
        let daemon = BTreeMap::from([("HOME".to_owned(), "/h".to_owned())]);
        assert_eq!(env_value("$HOME", &daemon), "/h");
        assert_eq!(env_value("${HOME}", &daemon), "/h");
        assert_eq!(env_value("$NOPE", &daemon), "");
        assert_eq!(env_value("a$HOME", &daemon), "a$HOME");
    }

    #[test]
    fn errors_name_the_invalid_key() {
        let wrong = |text: &str| Coopfile::default().merge(text).unwrap_err();
        assert!(wrong("[agent").contains("TOML parse error"));
        assert_eq!(wrong("[agent]\ncommand = 5"), "[agent] command must be a non-empty string");
        assert_eq!(wrong("[sandbox]\nargs = [1]"), "[sandbox] args must be a list of strings");
        assert_eq!(wrong("[sandbox]\nshell = ''"), "[sandbox] shell must be a non-empty string");
        assert_eq!(wrong("env = 1"), "env must be a section");
        assert_eq!(merged(&["[network]\nmode = 'none'"]).unused, ["network"]);
    }
}
