//! What every command needs: the paths, the connection to the daemon, and the output format.

use crate::config::Config;
use crate::console::{eprint_line, print_coloured, print_json_text, print_text};
use crate::control_client::ControlClient;
use crate::daemon_place::{self, SudoUser};
use crate::error::{Failure, FailureKind};
use crate::limits;
use crate::start_daemon;
use crate::via;
use serde::{Serialize, de::DeserializeOwned};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;
use swb_tunnel::guest::Ended;
use swb_types::{Paths, SessionName};
use swb_wire::control::{
    AgentItem, AgentState, Ls, LsReply, Operation, SessionItem, SessionStatus, StatusReply,
};

/// The environment of one command.
#[derive(Debug)]
pub(crate) struct Context {
    /// The name this program was started as, for messages.
    pub(crate) program: &'static str,
    /// The paths of sockets and files.
    pub(crate) paths: Paths,
    /// The configuration file given by the user.
    pub(crate) config_file: Option<PathBuf>,
    /// Whether to print JSON.
    pub(crate) json: bool,
    /// Whether the daemon's configuration was compared with that file.
    pub(crate) config_checked: Cell<bool>,
    /// The tunnel at whose other end the daemon is, on another machine: no command here starts it.
    pub(crate) remote: Option<Ended>,
}

impl Context {
    /// Reads the environment of this process.
    pub(crate) fn from_env(
        program: &'static str,
        config_file: Option<PathBuf>,
        json: bool,
    ) -> Result<Self, Failure> {
        let paths = Paths::from_env(|key| std::env::var_os(key)).ok_or_else(|| {
            Failure::general("HOME is not set, but the paths of the sockets depend on it")
                .hint("set HOME to your home directory")
        })?;
        if let Some(user) = SudoUser::current().filter(|user| user.owns(&paths.home)) {
            let name = user.name();
            let text =
                format!("this is root with the home directory of {name}, whose sessions root does not use");
            return Err(Failure::general(text).hint(format!(
                "run it without sudo, or as `sudo -u {name} swb`; `sudo -H swb` has the sessions of root"
            )));
        }
        let paths = daemon_place::find(paths);
        // The daemon may run with another file already, and would not report that this one is missing.
        if let Some(file) = config_file.as_deref().filter(|file| !file.exists()) {
            return Err(Failure::general(format!("there is no configuration file {}", file.display()))
                .hint("create it, or leave out --config"));
        }
        Ok(Self { program, paths, config_file, json, config_checked: Cell::new(false), remote: None })
    }

    /// Connects to the daemon; starts it, and reports that, if none is running.
    pub(crate) fn connect(&self) -> Result<ControlClient, Failure> {
        // An agent's program never starts a daemon: that would not be the one whose connection it has inherited.
        if let Some(control) = ControlClient::inherited()? {
            return Ok(control);
        }
        if let Some(ended) = &self.remote {
            let ended = || Failure::new(FailureKind::NoDaemon, via::why(ended));
            return ControlClient::open(&self.paths.control_socket())?.ok_or_else(ended);
        }
        let running = start_daemon::ensure(&self.paths, self.config_file.as_deref())?;
        let mut control = running.control;
        if let Some(file) = self.config_file.as_deref().filter(|_| running.started.is_none()) {
            self.check_config(&mut control, file);
        }
        if let Some(pid) = running.started {
            eprint_line(format_args!("{}: started the daemon (pid {pid})", self.program));
            self.note_sudo();
            // The command that starts a daemon reports its warnings (XS-1).
            if let Ok(status) = control.request::<StatusReply>(&Operation::Status) {
                for warning in status.warnings {
                    eprint_line(format_args!("{}: {warning}", self.program));
                }
            }
        }
        Ok(control)
    }

    /// Reports, once, that a daemon that was running before has another configuration than the one the user has given.
    fn check_config(&self, control: &mut ControlClient, given: &Path) {
        if self.config_checked.replace(true) {
            return;
        }
        let status = control.request_within::<StatusReply>(&Operation::Status, Some(limits::NAMES));
        let Some(used) = status.ok().and_then(|status| status.daemon.config).map(PathBuf::from) else {
            return;
        };
        let full = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path)).ok();
        if full(&used) == full(given) {
            return;
        }
        eprint_line(format_args!(
            "{}: --config {} has no effect on the daemon, which is running with {}\nhint: `swb shutdown` stops it, and \
             sessions keep running; the next command starts it with the file it is given",
            self.program,
            given.display(),
            used.display()
        ));
    }

    /// Connects to the daemon if it is running.
    pub(crate) fn connect_if_running(&self) -> Result<Option<ControlClient>, Failure> {
        if let Some(control) = ControlClient::inherited()? {
            return Ok(Some(control));
        }
        let found = start_daemon::find(&self.paths)?;
        if found.is_none() {
            self.note_sudo();
        }
        Ok(found)
    }

    /// Reports whose sessions root sees, where the user may have meant their own.
    fn note_sudo(&self) {
        if let Some(user) = SudoUser::current() {
            eprint_line(format_args!("{}: {}", self.program, user.note()));
        }
    }

    /// Sends a request that may be repeated without harm.
    pub(crate) fn query<T: DeserializeOwned>(&self, request: &Operation) -> Result<T, Failure> {
        let deadline = Instant::now() + limits::REQUEST_RETRY;
        loop {
            match self.connect().and_then(|mut control| control.request(request)) {
                Err(failure) if failure.kind() == FailureKind::Disconnected && Instant::now() < deadline => {
                    start_daemon::pause_before_retry();
                }
                result => return result.map_err(|failure| self.explained(failure)),
            }
        }
    }

    /// Sends a request with side effects; not repeated once it may have been executed in part.
    pub(crate) fn execute<T: DeserializeOwned>(&self, request: &Operation) -> Result<T, Failure> {
        self.begin(request).map(|(_, reply)| reply).map_err(|failure| self.explained(failure))
    }

    /// The same, for requests that are followed by others on the same connection.
    pub(crate) fn begin<T: DeserializeOwned>(
        &self,
        request: &Operation,
    ) -> Result<(ControlClient, T), Failure> {
        let deadline = Instant::now() + limits::REQUEST_RETRY;
        loop {
            let mut control = self.connect()?;
            match control.request(request) {
                // The daemon died before it read the request: its keeper restarts it.
                Err(failure) if is_unread(&failure, &control) && Instant::now() < deadline => {
                    start_daemon::pause_before_retry();
                }
                result => return result.map(|reply| (control, reply)),
            }
        }
    }

    /// Adds the likely cause: a daemon that does not restart may be unable to read its configuration.
    fn explained(&self, failure: Failure) -> Failure {
        let config = swb_daemon::Config::load(&self.config_path(), self.config_file.is_some());
        match config {
            Err(error) if failure.kind() == FailureKind::Disconnected => {
                Failure::new(FailureKind::Disconnected, format!("the daemon is not running: {error:#}"))
                    .hint("correct the file; the daemon then restarts, and sessions are not affected")
            }
            _ => failure,
        }
    }

    /// The one session of another machine, where this directory means nothing.
    fn only_session(&self) -> Result<String, Failure> {
        let sessions = self.sessions()?;
        let mut running = sessions.into_iter().filter(|session| status(session) == SessionStatus::Running);
        match (running.next(), running.next()) {
            (Some(session), None) => Ok(session.name),
            (None, _) => Err(Failure::new(FailureKind::NoSession, "no session runs on the other machine")),
            (Some(one), Some(other)) => {
                let names: Vec<String> =
                    [one, other].into_iter().chain(running).map(|session| session.name).collect();
                Err(Failure::usage(format!("name the session: {}", names.join(", "))))
            }
        }
    }

    /// All sessions, including ended ones that are still listed.
    pub(crate) fn sessions(&self) -> Result<Vec<SessionItem>, Failure> {
        let reply: LsReply = self.query(&Operation::Ls(Ls { details: true, all: true }))?;
        if reply.sessions.is_empty() {
            self.note_sudo();
        }
        Ok(reply.sessions)
    }

    /// The given name, or that of this directory's session.
    pub(crate) fn session_or_here(&self, name: Option<String>) -> Result<String, Failure> {
        if self.remote.is_some() && name.is_none() {
            return self.only_session();
        }
        if let Some(name) = name {
            return self.session(name);
        }
        let here = workspace(None)?;
        newest_in(self.sessions()?, &here).map(|session| session.name).ok_or_else(|| {
            Failure::new(FailureKind::NoSession, format!("there is no session in {here}"))
                .hint("`swb` without arguments starts one; `swb ls` lists the others")
        })
    }

    /// The same for a command whose output does not name the session: reports which one was chosen.
    pub(crate) fn session_or_reported(&self, name: Option<String>) -> Result<String, Failure> {
        let chosen = name.is_none() && !self.json;
        let session = self.session_or_here(name)?;
        if chosen {
            eprint_line(format_args!("{}: session {session}", self.program));
        }
        Ok(session)
    }

    /// The path of the configuration file: the one given by the user, else the default.
    pub(crate) fn config_path(&self) -> PathBuf {
        self.config_file.clone().unwrap_or_else(|| self.paths.config_file())
    }

    /// The user's settings for the command line.
    pub(crate) fn config(&self) -> Result<Config, Failure> {
        let path = self.config_path();
        Config::load(&path).map_err(|error| {
            Failure::general(format!("{}: [cli] detach_key: {error}", path.display()))
                .hint("correct the file")
        })
    }

    /// Prints a result: as JSON, or as the text made from the same data.
    pub(crate) fn print_result<T: Serialize>(
        &self,
        data: &T,
        text: impl FnOnce(&T) -> String,
    ) -> Result<(), Failure> {
        match self.json {
            true => self.print_json_result(data),
            false => print_text(&with_newline(text(data))),
        }
    }

    /// Prints a result like [`Context::print_result`]; the text has colours of its own.
    pub(crate) fn print_coloured_result<T: Serialize>(
        &self,
        data: &T,
        text: impl FnOnce(&T) -> String,
    ) -> Result<(), Failure> {
        match self.json {
            true => self.print_json_result(data),
            false => print_coloured(with_newline(text(data)).as_bytes()),
        }
    }

    fn print_json_result<T: Serialize>(&self, data: &T) -> Result<(), Failure> {
        print_json_text(&(serde_json::to_string_pretty(data)? + "\n"))
    }
}

/// Whether a request has failed because the connection was lost before the daemon read it.
fn is_unread(failure: &Failure, control: &ControlClient) -> bool {
    failure.kind() == FailureKind::Disconnected && !control.is_greeted()
}

fn with_newline(mut text: String) -> String {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// The newest running session of a directory.
pub(crate) fn newest_in(sessions: Vec<SessionItem>, workspace: &str) -> Option<SessionItem> {
    sessions
        .into_iter()
        .filter(|session| session.workspace == workspace && status(session) != SessionStatus::Exited)
        .max_by_key(|session| session.created)
}

/// The status of a session; one that is listed without a status is running.
pub(crate) fn status(session: &SessionItem) -> SessionStatus {
    session.details.as_ref().map_or(SessionStatus::Running, |details| details.status)
}

/// Whether a program that has never been ready is one that will not be: no profile of an agent fits it, or it runs for a while
/// already. Agents take a few seconds. Times are in Unix seconds.
pub(crate) fn is_no_agent(agent: &AgentItem, created: u64, now: u64) -> bool {
    let plain = agent.profile.as_deref().is_none_or(|profile| ["generic", "shell"].contains(&profile));
    agent.state == AgentState::Starting && (plain || now.saturating_sub(created) >= STARTING)
}

/// Seconds after which a program that was never ready is no agent.
const STARTING: u64 = 60;

/// The full path of a directory, by default the current one.
pub(crate) fn workspace(dir: Option<&Path>) -> Result<String, Failure> {
    let dir = dir.unwrap_or(Path::new("."));
    let full =
        dir.canonicalize().map_err(|error| Failure::io(format!("cannot use {}", dir.display()), &error))?;
    if !full.is_dir() {
        return Err(Failure::general(format!("{} is not a directory", full.display())));
    }
    full.into_os_string().into_string().map_err(|_| {
        Failure::general("the name of the directory is not valid UTF-8")
            .hint("rename it, or choose another one with `-w`")
    })
}

/// Derives a session name from the last component of a directory.
pub(crate) fn name_for(workspace: &str) -> SessionName {
    SessionName::from_path_component(workspace.rsplit('/').next().unwrap_or_default())
}

/// Checks a name chosen by the user.
pub(crate) fn checked_name(name: &str) -> Result<(), Failure> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let valid = name.chars().all(plain) && !name.starts_with('-') && SessionName::new(name).is_ok();
    if valid {
        return Ok(());
    }
    Err(Failure::usage(format!("'{name}' is not a valid session name"))
        .hint("use letters, digits, '.', '_' and '-', 200 characters at most"))
}

/// The environment variables of this process that are valid UTF-8.
pub(crate) fn environment() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// The user's shell.
pub(crate) fn shell() -> String {
    std::env::var("SHELL").ok().filter(|shell| !shell.is_empty()).unwrap_or_else(|| "/bin/sh".to_owned())
}

/// The file mode mask of this process.
pub(crate) fn umask() -> u32 {
    // It can only be read by changing it; nothing else runs in this process meanwhile.
    let mask = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    rustix::process::umask(mask);
    mask.as_raw_mode()
}

#[cfg(test)]
mod tests {
    use super::*;
    use swb_wire::control::{Origin, SessionDetails};

    fn session(name: &str, workspace: &str, created: u64, status: SessionStatus) -> SessionItem {
        let details = SessionDetails {
            argv: vec!["sh".into()],
            status,
            exit_code: None,
            cols: 80,
            rows: 24,
            clients: 0,
            origin: Origin::Run,
            offset: swb_types::Offset(0),
            agent: None,
            turns: 0,
        };
        SessionItem {
            name: name.into(),
            workspace: workspace.into(),
            pid: 1,
            created,
            ptys: Vec::new(),
            web_clients: 0,
            local_clients: 0,
            details: Some(details),
        }
    }

    #[test]
    fn the_newest_live_session_of_a_directory_counts() {
        let sessions = vec![
            session("a", "/w", 1, SessionStatus::Running),
            session("b", "/w", 2, SessionStatus::Starting),
            session("c", "/w", 3, SessionStatus::Exited),
            session("d", "/other", 4, SessionStatus::Running),
        ];
        assert_eq!(newest_in(sessions.clone(), "/w").unwrap().name, "b");
        assert!(newest_in(sessions, "/none").is_none());
    }

    #[test]
    fn chosen_names_are_plain() {
        for name in ["a", "api-2", "v1.2_x", ".hidden"] {
            assert!(checked_name(name).is_ok(), "{name}");
        }
        for name in ["", ".", "..", "a b", "a/b", "größe", "-d", "a\n"] {
            assert_eq!(checked_name(name).unwrap_err().kind().exit_code(), 2, "{name:?}");
        }
    }

    #[test]
    fn names_come_from_directories() {
        assert_eq!(name_for("/home/u/my repo").as_str(), "my-repo");
        assert_eq!(name_for("/").as_str(), "session");
    }

    #[test]
    fn reading_the_mask_does_not_change_it() {
        assert_eq!(umask(), umask());
    }
}
