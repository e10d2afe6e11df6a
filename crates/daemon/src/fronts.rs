//! Opens the fronts and records the state of each.

use anyhow::{Context, Result, bail};
use rustix::fs::Mode;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use swb_dialects::control::Control;
use swb_dialects::keepty::Keepty;
use swb_dialects::scriptschnell::ScriptschnellSettings;
use swb_dialects::{Fronts, private_socket};
use swb_engine::{Engine, SessionEndpoint, file_access};
use swb_types::Paths;
use swb_wire::control::{DialectState, DialectStatus};

use crate::config::{Config, ScriptschnellConfig};
use crate::limits;
use crate::service_manager::{self, PassedSockets};

/// Keeper keys of the listening sockets.
const FRONT_CONTROL: u16 = 0;
const FRONT_COOP: u16 = 1;
const FRONT_CLIPPY: u16 = 2;
const FRONT_SCRIPTSCHNELL: u16 = 3;

/// Why the clippy socket has no path.
const NO_RUNTIME_DIR: &str = "XDG_RUNTIME_DIR is not set";

/// CB-2: a daemon that the user starts explicitly does not run without an enabled clippy front.
pub(crate) fn check_places(config: &Config, paths: &Paths, auto: bool) -> Result<()> {
    if !auto && config.clippy.enabled && paths.clippy_socket().is_none() {
        bail!(
            "{NO_RUNTIME_DIR}, and the clippy front needs it; set it, or disable the front with clippy.enabled = false"
        );
    }
    Ok(())
}

/// The fronts of a daemon, and which of them could be opened.
#[derive(Debug, Default)]
pub(crate) struct OpenFronts {
    pub(crate) dialects: Vec<DialectStatus>,
    /// Sockets to remove at the end.
    sockets: Vec<(u16, PathBuf, OwnedFd)>,
    pid_file: Option<PathBuf>,
    /// Sockets that the service manager has opened and no front has taken yet.
    passed: PassedSockets,
}

impl OpenFronts {
    /// No front yet, and the sockets that the service manager has opened.
    pub(crate) fn with(passed: PassedSockets) -> Self {
        Self { passed, ..Self::default() }
    }

    /// Gives up the passed sockets that no front serves; returns warnings for the user.
    pub(crate) fn leave_passed(&mut self) -> Vec<String> {
        std::mem::take(&mut self.passed).leave()
    }

    fn note(&mut self, name: &str, socket: &Path, state: DialectState) {
        if let DialectState::Failed(reason) = &state {
            tracing::error!(front = name, reason, "cannot open a front");
        }
        let socket = socket.to_string_lossy().into_owned();
        self.dialects.push(DialectStatus { name: name.to_owned(), socket, state });
    }

    /// Warnings for the user who starts the daemon: fronts that could not be opened (XS-1).
    pub(crate) fn warnings(&self) -> Vec<String> {
        let failed = self.dialects.iter().filter_map(|dialect| match &dialect.state {
            DialectState::Failed(reason) => Some((&dialect.name, reason)),
            _ => None,
        });
        failed.map(|(name, reason)| format!("{name} clients cannot connect: {reason}")).collect()
    }

    /// Prepares the fronts that give every session an endpoint of its own.
    pub(crate) fn endpoints(
        &mut self,
        config: &Config,
        paths: &Paths,
        fronts: &Fronts,
    ) -> Vec<Arc<dyn SessionEndpoint>> {
        let dir = paths.keepty_dir();
        if !config.keepty.enabled {
            self.note("keepty", &dir, DialectState::Off);
            return Vec::new();
        }
        match Keepty::new(dir.clone(), fronts.clone()) {
            Ok(keepty) => {
                self.note("keepty", &dir, DialectState::Listening);
                vec![Arc::new(keepty)]
            }
            Err(error) => {
                self.note("keepty", &dir, DialectState::Failed(error.to_string()));
                Vec::new()
            }
        }
    }

    /// Creates the directory of the coop socket and listens there, if the front is enabled.
    pub(crate) fn coop(
        &mut self,
        config: &Config,
        paths: &Paths,
        engine: &Engine,
    ) -> Result<Option<OwnedFd>> {
        let socket = paths.coop_socket();
        if !config.coop.enabled {
            self.note("coop", &socket, DialectState::Off);
            return Ok(None);
        }
        let opened = coop_dir(paths).and_then(|()| self.listener(FRONT_COOP, &socket, engine));
        match opened {
            Ok(listener) => {
                self.note("coop", &socket, DialectState::Listening);
                self.write_pid_file(paths);
                Ok(Some(listener))
            }
            Err(error) => {
                self.note("coop", &socket, DialectState::Failed(format!("{error:#}")));
                let others = self.dialects.iter().any(|dialect| dialect.state == DialectState::Listening);
                // CO-5
                if !others {
                    bail!("cannot open the coop front, and no other front is open: {error:#}");
                }
                Ok(None)
            }
        }
    }

    /// Listens for clippy's peers, if the front is enabled. If another process listens there already, only a
    /// daemon that a command started, or that replaces one that was killed, runs without this front (CB-54,
    /// XS-1).
    pub(crate) fn clippy(
        &mut self,
        config: &Config,
        paths: &Paths,
        engine: &Engine,
        auto: bool,
    ) -> Result<Option<OwnedFd>> {
        let Some(socket) = paths.clippy_socket() else {
            let state = match config.clippy.enabled {
                true => DialectState::Failed(NO_RUNTIME_DIR.to_owned()),
                false => DialectState::Off,
            };
            self.note("clippy", Path::new("$XDG_RUNTIME_DIR/clippy/broker.sock"), state);
            return Ok(None);
        };
        if !config.clippy.enabled {
            self.note("clippy", &socket, DialectState::Off);
            return Ok(None);
        }
        // CB-4
        let made = socket.parent().map_or(Ok(()), private_socket::private_dir).map_err(anyhow::Error::new);
        match made.and_then(|()| self.listener(FRONT_CLIPPY, &socket, engine)) {
            Ok(listener) => {
                self.note("clippy", &socket, DialectState::Listening);
                Ok(Some(listener))
            }
            Err(error) => {
                let live = matches!(error.downcast_ref(), Some(private_socket::BindError::Live(_)));
                if live && !auto && !engine.continues() {
                    bail!("{error:#}");
                }
                self.note("clippy", &socket, DialectState::Failed(format!("{error:#}")));
                Ok(None)
            }
        }
    }

    /// Listens for scriptschnell's clients, if the front is enabled.
    pub(crate) fn scriptschnell(
        &mut self,
        config: &Config,
        paths: &Paths,
        engine: &Engine,
    ) -> Option<OwnedFd> {
        let config = &config.scriptschnell;
        let socket = paths.expand(&config.path);
        if !config.enabled {
            self.note("scriptschnell", &socket, DialectState::Off);
            return None;
        }
        let opened = self.listener(FRONT_SCRIPTSCHNELL, &socket, engine).and_then(|listener| {
            // SS-1: the umask keeps other users out until the mode is set.
            let mode = Mode::from_raw_mode(config.mode().unwrap_or(0o600));
            rustix::fs::chmod(&socket, mode).with_context(|| socket.display().to_string())?;
            Ok(listener)
        });
        match opened {
            Ok(listener) => {
                self.note("scriptschnell", &socket, DialectState::Listening);
                Some(listener)
            }
            Err(error) => {
                self.note("scriptschnell", &socket, DialectState::Failed(format!("{error:#}")));
                None
            }
        }
    }

    /// Listens on the socket of our own command line; the daemon does not run without it.
    pub(crate) fn control(&mut self, paths: &Paths, engine: &Engine) -> Result<OwnedFd> {
        self.listener(FRONT_CONTROL, &paths.control_socket(), engine)
            .context("cannot open the control socket")
    }

    fn listener(&mut self, front: u16, path: &Path, engine: &Engine) -> Result<OwnedFd> {
        // A listener whose file was removed cannot be reached; bind a new one, if the path is free.
        let kept = engine.take_front(front).filter(|kept| private_socket::leads_to(path, kept));
        let passed = self.passed.at(path).filter(|passed| private_socket::leads_to(path, passed));
        let listener = match passed.or(kept) {
            Some(kept) => kept,
            None => private_socket::bind(path)?,
        };
        engine.keep_front(front, listener.try_clone()?);
        self.sockets.push((front, path.to_owned(), listener.try_clone()?));
        Ok(listener)
    }

    /// CO-9
    fn write_pid_file(&mut self, paths: &Paths) {
        let path = paths.coop_dir().join("daemon.pid");
        match file_access::write(&path, format!("{}\n", std::process::id()).as_bytes()) {
            Ok(()) => self.pid_file = Some(path),
            Err(error) => tracing::warn!(%error, "cannot write {}", path.display()),
        }
    }

    /// Starts accepting clients.
    pub(crate) fn serve(control: &Control, listener: OwnedFd, coop: Option<OwnedFd>) -> Result<()> {
        if let Some(coop) = coop {
            swb_dialects::coop::listen(control, coop)?;
        }
        Ok(control.listen(listener)?)
    }

    /// Removes the sockets.
    pub(crate) fn close(&self, engine: &Engine) {
        for (front, path, listener) in &self.sockets {
            engine.drop_front(*front);
            // Another daemon may have bound the path meanwhile, and a service manager goes on listening.
            if private_socket::leads_to(path, listener) && !service_manager::is_foreign(listener) {
                private_socket::unlink(path);
            }
        }
        let own = std::process::id().to_string();
        let is_own = |path: &&PathBuf| {
            file_access::read_text(path, limits::PID_FILE).is_ok_and(|pid| pid.trim() == own)
        };
        if let Some(path) = self.pid_file.as_ref().filter(is_own) {
            let _removed = rustix::fs::unlink(path);
        }
    }
}

/// The settings of the scriptschnell front.
pub(crate) fn scriptschnell_settings(
    config: &ScriptschnellConfig,
    paths: &Paths,
    umask: u32,
) -> ScriptschnellSettings {
    let token = std::env::var("SCRIPTSCHNELL_SOCKET_TOKEN").ok().filter(|token| !token.is_empty());
    ScriptschnellSettings {
        require_auth: config.require_auth,
        auth_method: config.auth_method,
        token: config.token.clone().or(token),
        allowed_uids: config.allowed_uids.clone(),
        allowed_gids: config.allowed_gids.clone(),
        max_connections: config.max_connections,
        max_sessions_per_connection: config.max_sessions_per_connection,
        connection_timeout: Duration::from_secs(config.connection_timeout_seconds),
        batching: config.enable_batching,
        batch_size: config.batch_size,
        messages_per_second: config.messages_per_second,
        max_generations: config.max_generations,
        home: paths.home.clone(),
        umask,
    }
}

/// Creates `~/.coop` and in it an empty `rootfs/base`; without it the original client starts to build one (CO-3,
/// CO-68).
fn coop_dir(paths: &Paths) -> Result<()> {
    private_socket::private_dir(&paths.coop_dir())?;
    let base = paths.coop_dir().join("rootfs/base");
    if let Err(error) = private_socket::private_dir(&base) {
        tracing::warn!(%error, "cannot create the directory that coop clients expect");
    }
    Ok(())
}
