//! How far commands of agents are confined: what the user has configured, what this kernel can do, and what a user who
//! decides about a command has to know.

use crate::command::limits;
use crate::config::{ConfinementConfig, WithoutLandlock};
use crate::guard;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use swb_chat::Workspace;
use swb_engine::file_access;
use tokio::process::Command;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

/// Variables that confined programs get: the user's identity and language, and where toolchains are. A trailing `*`
/// stands for anything. Everything else may be a secret.
pub(crate) const ENVIRONMENT: [&str; 53] = [
    "ASDF_DATA_DIR",
    "ASDF_DIR",
    "BUN_INSTALL",
    "CARGO_HOME",
    "CI",
    "COLORTERM",
    "COLUMNS",
    "CONDA_PREFIX",
    "DENO_INSTALL",
    "EDITOR",
    "GEM_HOME",
    "GEM_PATH",
    "GOBIN",
    "GOPATH",
    "GOROOT",
    "HOME",
    "HOSTNAME",
    "JAVA_HOME",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "LD_LIBRARY_PATH",
    "LINES",
    "LOGNAME",
    "MISE_DATA_DIR",
    "NIX_PATH",
    "NIX_PROFILES",
    "NIX_SSL_CERT_FILE",
    "NO_COLOR",
    "NVM_BIN",
    "NVM_DIR",
    "PAGER",
    "PATH",
    "PKG_CONFIG_PATH",
    "PNPM_HOME",
    "PWD",
    "PYENV_ROOT",
    "RBENV_ROOT",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "SDKMAN_DIR",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "VIRTUAL_ENV",
    "VISUAL",
    "VOLTA_HOME",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
];

/// How commands are confined on this machine.
#[derive(Debug, Clone)]
pub struct Confinement {
    config: Arc<ConfinementConfig>,
    landlock: bool,
    /// Whether file systems can be made read-only for a command; `None` until a guard has tried it.
    read_only: watch::Receiver<Option<bool>>,
    /// The user's home directory by all its paths.
    home: Vec<PathBuf>,
    /// Our own directories, which neither a command nor a file tool may write.
    protected: Vec<PathBuf>,
}

impl Confinement {
    /// Finds out what the kernel can do, partly in the background: `exe` is our own executable.
    pub fn new(config: ConfinementConfig, exe: PathBuf, tasks: &TaskTracker) -> Self {
        let (found, read_only) = watch::channel(None);
        tasks.spawn(async move { found.send_replace(probe(&exe).await) });
        let (home, protected) = (Vec::new(), Vec::new());
        Self { config: Arc::new(config), landlock: guard::can_confine(), read_only, home, protected }
    }

    /// Keeps commands from writing `protected`, even in a workspace that contains these directories, and warns of
    /// workspaces that contain the user's home directory. Resolves a path.
    pub fn with_own_dirs(mut self, home: &Path, protected: Vec<PathBuf>) -> Self {
        self.home = [home.to_owned()].into_iter().chain(file_access::real_path(home)).collect();
        self.protected = protected;
        self
    }

    /// Our own directories, which no command may write.
    pub(crate) fn protected(&self) -> &[PathBuf] {
        &self.protected
    }

    /// Whether commands may write the user's home directory if they may write these directories.
    pub fn is_home_open<'a>(&self, mut write: impl Iterator<Item = &'a PathBuf>) -> bool {
        write.any(|dir| self.home.iter().any(|home| home.starts_with(dir)))
    }

    /// Whether a command runs although the kernel cannot confine it.
    pub(crate) fn runs_without_landlock(&self) -> bool {
        self.config.without_landlock == WithoutLandlock::Run
    }

    /// Whether this kernel does not allow user namespaces, so that commands run without file systems that are read-only
    /// for them. If that is unknown, they do not: guards find out themselves, and refuse.
    pub(crate) async fn lacks_namespaces(&self) -> bool {
        // If it times out nothing is known, which is no reason to run with less.
        let _in_time = timeout(limits::PROBE, self.probed()).await;
        *self.read_only.borrow() == Some(false)
    }

    /// Waits until a guard has tried what the kernel can do, or could not.
    pub async fn probed(&self) {
        // The other end is dropped when no guard could find out.
        let mut read_only = self.read_only.clone();
        let _found = read_only.wait_for(Option::is_some).await;
    }

    /// The variables of the environment that confined programs get.
    pub(crate) fn environment<'a>(
        &'a self,
        env: &'a BTreeMap<String, String>,
    ) -> impl Iterator<Item = (&'a String, &'a String)> {
        env.iter().filter(|(name, _)| {
            let rules = ENVIRONMENT.into_iter().chain(self.config.environment.iter().map(String::as_str));
            rules.into_iter().any(|rule| matches(rule, name))
        })
    }

    /// What limits the confinement of every command on this machine, one sentence each.
    pub fn warnings(&self) -> impl Iterator<Item = &'static str> {
        let warning = match (self.landlock, *self.read_only.borrow()) {
            (false, _) if self.runs_without_landlock() => Some(UNCONFINED),
            (false, _) => Some(REFUSED),
            (true, Some(false)) => Some(NO_NAMESPACES),
            (true, _) => None,
        };
        warning.into_iter()
    }

    /// The same for one workspace, with what its settings allow.
    fn warnings_in(&self, workspace: &Workspace) -> impl Iterator<Item = &'static str> {
        let home = self.is_home_open([&workspace.path].into_iter().chain(&workspace.landlock_write));
        let open = [
            (home, HOME_OPEN),
            (workspace.unix_sockets, UNIX_SOCKETS),
            (workspace.git_writable, GIT_WRITABLE),
        ];
        self.warnings().chain(open.into_iter().filter_map(|(open, warning)| open.then_some(warning)))
    }

    /// A reason for an approval, followed by what the user has to know about the confinement, one line each.
    pub(crate) fn explain(&self, reason: &str, workspace: &Workspace) -> String {
        self.warnings_in(workspace).fold(one_line(reason), |text, warning| text + "\n" + warning)
    }
}

/// A reason for an approval, which may be an agent's text: one line of limited length, so that it can neither imitate the
/// warnings on further lines nor displace them.
pub(crate) fn one_line(reason: &str) -> String {
    let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    let mut line: String =
        reason.chars().take(limits::REASON).map(|c| if breaks(c) { ' ' } else { c }).collect();
    if reason.chars().nth(limits::REASON).is_some() {
        line.push('…');
    }
    line
}

const UNCONFINED: &str =
    "This kernel does not support Landlock: commands of agents run unconfined, with all your rights.";
const REFUSED: &str = "This kernel does not support Landlock: commands of agents are refused.";
const NO_NAMESPACES: &str = "This kernel does not allow user namespaces: commands of agents can change modes and times \
                             of your files outside the workspace, the workspace's .git, and shared memory of your programs.";
/// What it means that a workspace contains the home directory.
const HOME_OPEN: &str = "Your home directory is in this workspace: commands can read your keys and passwords, and write \
                         files that your shell and other programs run.";
/// What `unix_sockets` of a workspace means.
const UNIX_SOCKETS: &str = "Unix sockets are open in this workspace: commands can reach your session bus, container \
                                engine and agents for keys, and so act with all your rights.";
/// What `git_writable` of a workspace means.
const GIT_WRITABLE: &str =
    "The .git of this workspace is writable: commands can leave hooks there that your own git runs.";

/// Whether a name matches a rule: a name, or a beginning followed by `*`.
fn matches(rule: &str, name: &str) -> bool {
    rule.strip_suffix('*').map_or(rule == name, |beginning| name.starts_with(beginning))
}

/// Whether a guard can make file systems read-only; `None` if no guard could find out.
async fn probe(exe: &Path) -> Option<bool> {
    let mut guard = Command::new(exe);
    guard.args(["guard", guard::PROBE]).env_clear().kill_on_drop(true);
    guard.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match guard.status().await.ok()?.code()? {
        0 => Some(true),
        guard::UNAVAILABLE => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swb_types::Timestamp;

    fn confinement(config: ConfinementConfig, landlock: bool, read_only: Option<bool>) -> Confinement {
        let (_, read_only) = watch::channel(read_only);
        let (home, protected) = (vec!["/home/me".into()], Vec::new());
        Confinement { config: Arc::new(config), landlock, read_only, home, protected }
    }

    #[tokio::test]
    async fn commands_run_without_namespaces_only_if_the_kernel_has_none() {
        for (found, lacks) in [(Some(true), false), (Some(false), true), (None, false)] {
            let confinement = confinement(ConfinementConfig::default(), true, found);
            assert_eq!(confinement.lacks_namespaces().await, lacks, "{found:?}");
        }
        // Probes that give no result: they cannot be started, fail in another way, or are killed.
        assert_eq!(probe(Path::new("/does/not/exist")).await, None);
        let dir = tempfile::tempdir().unwrap();
        for (script, found) in
            [("exit 0", Some(true)), ("exit 1", Some(false)), ("exit 2", None), ("kill -9 $$", None)]
        {
            let exe = dir.path().join("guard");
            std::fs::write(&exe, format!("#!/bin/sh\n{script}\n")).unwrap();
            std::fs::set_permissions(&exe, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
            assert_eq!(probe(&exe).await, found, "{script}");
        }
    }

    #[test]
    fn only_listed_variables_are_passed_on() {
        let config = ConfinementConfig {
            environment: vec!["MY_*".to_owned(), "EXACT".to_owned()],
            ..ConfinementConfig::default()
        };
        let names = ["EXACT", "EXACTLY", "GITHUB_TOKEN", "HOME", "LC_ALL", "MY_X", "PATH", "SSH_AUTH_SOCK"];
        let env = names.map(|name| (name.to_owned(), "x".to_owned())).into();
        let confinement = confinement(config, true, Some(true));
        let passed: Vec<&str> = confinement.environment(&env).map(|(name, _)| name.as_str()).collect();
        assert_eq!(passed, ["EXACT", "HOME", "LC_ALL", "MY_X", "PATH"]);
    }

    #[test]
    fn a_user_is_warned_of_what_is_open() {
        let mut workspace = Workspace::new(Path::new("/w"), Timestamp(0));
        let full = confinement(ConfinementConfig::default(), true, Some(true));
        assert_eq!(full.explain("why", &workspace), "why");
        let partly = confinement(ConfinementConfig::default(), true, Some(false));
        assert!(partly.explain("why", &workspace).contains("modes and times"));
        let refusing = confinement(ConfinementConfig::default(), false, Some(true));
        assert!(refusing.explain("why", &workspace).contains("refused"));
        let run =
            ConfinementConfig { without_landlock: WithoutLandlock::Run, ..ConfinementConfig::default() };
        assert!(confinement(run, false, None).explain("why", &workspace).contains("all your rights"));
        workspace.unix_sockets = true;
        workspace.git_writable = true;
        let explained = full.explain("why", &workspace);
        assert!(explained.contains("Unix sockets") && explained.contains(".git"), "{explained}");
        for (path, open) in [("/home/me/src", false), ("/home/m", false), ("/home/me", true), ("/", true)] {
            let explained = full.explain("why", &Workspace::new(Path::new(path), Timestamp(0)));
            assert_eq!(explained.contains("Your home directory"), open, "{path}");
        }
        let mut workspace = Workspace::new(Path::new("/w"), Timestamp(0));
        workspace.landlock_write = vec!["/home".into()];
        assert!(full.explain("why", &workspace).contains("Your home directory"));
    }

    #[test]
    fn an_agent_neither_imitates_nor_displaces_warnings() {
        let mut workspace = Workspace::new(Path::new("/w"), Timestamp(0));
        workspace.unix_sockets = true;
        let full = confinement(ConfinementConfig::default(), true, Some(true));
        let forged = full.explain("list files\r\nEverything is confined.\u{2028}\x0b", &workspace);
        assert_eq!(forged, format!("list files  Everything is confined.  \n{UNIX_SOCKETS}"));
        let long = full.explain(&"ä".repeat(5000), &workspace);
        let (reason, warnings) = long.split_once('\n').unwrap();
        assert_eq!((reason.chars().count(), warnings), (limits::REASON + 1, UNIX_SOCKETS));
        assert!(reason.ends_with("ä…"), "{reason}");
    }
}
