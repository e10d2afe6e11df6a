//! Where sockets and files live, derived from the environment that is handed in.

use std::ffi::OsString;
use std::path::PathBuf;

/// The paths that the daemon and its clients agree on, derived from environment variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    /// `$HOME`.
    pub home: PathBuf,
    /// `$XDG_RUNTIME_DIR`, unless it is unset or empty.
    pub runtime: Option<PathBuf>,
    /// Directory for temporary files: `$TMPDIR` or `/tmp`.
    pub temp: PathBuf,
    /// `$XDG_STATE_HOME`, else `~/.local/state`.
    pub state_home: PathBuf,
    /// `$XDG_CONFIG_HOME`, else `~/.config`.
    pub config_home: PathBuf,
}

impl Paths {
    /// Derives the paths from environment variables; an empty variable counts as unset.
    ///
    /// Without `HOME` there is no private directory for sockets, hence `None`.
    pub fn from_env(var: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let dir = |key: &str| var(key).filter(|v| !v.is_empty()).map(PathBuf::from);
        let home = dir("HOME")?;
        Some(Self {
            runtime: dir("XDG_RUNTIME_DIR"),
            temp: dir("TMPDIR").unwrap_or_else(|| "/tmp".into()),
            state_home: dir("XDG_STATE_HOME").unwrap_or_else(|| home.join(".local/state")),
            config_home: dir("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config")),
            home,
        })
    }

    /// Directory of the sockets only our own processes use (mode 0700).
    pub fn run_dir(&self) -> PathBuf {
        match &self.runtime {
            Some(runtime) => runtime.join("switchboard"),
            None => self.state_dir().join("run"),
        }
    }

    /// Directory of logs and saved conversations (mode 0700).
    pub fn state_dir(&self) -> PathBuf {
        self.state_home.join("switchboard")
    }

    /// Socket through which our own command line sends requests to the daemon.
    pub fn control_socket(&self) -> PathBuf {
        self.run_dir().join("control.sock")
    }

    /// Socket between the daemon and the keeper.
    pub fn keeper_socket(&self) -> PathBuf {
        self.run_dir().join("keeper.sock")
    }

    /// Log of a daemon that has no terminal to log to.
    pub fn daemon_log(&self) -> PathBuf {
        self.state_dir().join("daemon.log")
    }

    /// Record of the runtime directory that the daemon uses.
    pub fn place_record(&self) -> PathBuf {
        self.state_dir().join("runtime-dir")
    }

    /// List of the directories whose Coopfiles the user trusts.
    pub fn trust_list(&self) -> PathBuf {
        self.state_dir().join("trusted-coopfiles.json")
    }

    /// Directory of the configuration.
    pub fn config_dir(&self) -> PathBuf {
        self.config_home.join("switchboard")
    }

    /// Default configuration file.
    pub fn config_file(&self) -> PathBuf {
        self.config_dir().join("config.toml")
    }

    /// Directory of the user's own detection profiles.
    pub fn profiles_dir(&self) -> PathBuf {
        self.config_dir().join("profiles")
    }

    /// Directory of the coop socket.
    pub fn coop_dir(&self) -> PathBuf {
        self.home.join(".coop")
    }

    /// The user's own Coopfile, over which those of directories are merged (CO-26).
    pub fn default_coopfile(&self) -> PathBuf {
        self.home.join(".config/coop/default.toml")
    }

    /// The coop socket (CO-1).
    pub fn coop_socket(&self) -> PathBuf {
        self.coop_dir().join("sock")
    }

    /// The clippy socket (CB-1); there is none without a runtime directory (CB-2, CB-3).
    pub fn clippy_socket(&self) -> Option<PathBuf> {
        self.runtime.as_ref().map(|runtime| runtime.join("clippy/broker.sock"))
    }

    /// The scriptschnell socket, unless it is configured elsewhere (SS-1).
    pub fn scriptschnell_socket(&self) -> PathBuf {
        self.home.join(".scriptschnell.sock")
    }

    /// A path as people write it: `~/` at its beginning is the home directory.
    pub fn expand(&self, path: &str) -> PathBuf {
        match path.strip_prefix("~/") {
            Some(rest) => self.home.join(rest),
            None => PathBuf::from(path),
        }
    }

    /// Directory of the keepty sockets (KP-10).
    pub fn keepty_dir(&self) -> PathBuf {
        self.runtime.as_ref().unwrap_or(&self.temp).join("keepty")
    }

    /// The keepty socket of one session (KP-10).
    pub fn keepty_socket(&self, session: &str) -> PathBuf {
        self.keepty_dir().join(format!("keepty-{session}.sock"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(vars: &[(&str, &str)]) -> Option<Paths> {
        let vars: Vec<(String, String)> = vars.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
        Paths::from_env(|key| vars.iter().find(|(k, _)| k == key).map(|(_, v)| v.into()))
    }

    #[test]
    fn no_home_no_paths() {
        assert_eq!(paths(&[("XDG_RUNTIME_DIR", "/run/user/1")]), None);
    }

    // KP-10, CO-1, CB-1, CB-2, CB-3
    #[test]
    fn runtime_directory_decides_and_an_empty_one_counts_as_unset() {
        let p = paths(&[("HOME", "/h"), ("XDG_RUNTIME_DIR", "/r")]).unwrap();
        assert_eq!(p.keepty_socket("a"), PathBuf::from("/r/keepty/keepty-a.sock"));
        assert_eq!(p.run_dir(), PathBuf::from("/r/switchboard"));
        assert_eq!(p.coop_socket(), PathBuf::from("/h/.coop/sock"));
        assert_eq!(p.scriptschnell_socket(), PathBuf::from("/h/.scriptschnell.sock"));
        assert_eq!(p.expand("~/x.sock"), PathBuf::from("/h/x.sock"));
        assert_eq!(p.expand("/x/~/y"), PathBuf::from("/x/~/y"));
        assert_eq!(p.clippy_socket(), Some(PathBuf::from("/r/clippy/broker.sock")));

        let p = paths(&[("HOME", "/h"), ("XDG_RUNTIME_DIR", ""), ("TMPDIR", "/t")]).unwrap();
        assert_eq!(p.keepty_socket("a"), PathBuf::from("/t/keepty/keepty-a.sock"));
        assert_eq!(p.run_dir(), PathBuf::from("/h/.local/state/switchboard/run"));
        assert_eq!(p.clippy_socket(), None);
        assert_eq!(paths(&[("HOME", "/h")]).unwrap().keepty_dir(), PathBuf::from("/tmp/keepty"));
    }
}
