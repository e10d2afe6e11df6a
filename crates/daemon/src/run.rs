//! The life of a daemon from start to stop.

use crate::config::Config;
use crate::fronts::{self, OpenFronts};
use crate::host::{DaemonHost, StopReason};
use crate::limits;
use crate::service_manager::{self, PassedSockets};
use crate::{
    agent_connections, conversations, idle, keeper, log, login, notify, place_record, profiles, tunnel, web,
};
use anyhow::{Context, Result};
use rustix::fs::Mode;
use rustix::process::{Resource, Rlimit};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::SystemTime;
use swb_backends::{AgentSocket, Confinement};
use swb_dialects::Fronts;
use swb_dialects::clippy::Clippy;
use swb_dialects::control::Control;
use swb_dialects::scriptschnell::ScriptSchnell;
use swb_engine::Engine;
use swb_engine::chat::Chats;
use swb_keeper::Spec;
use swb_operations::notify::Notifications;
use swb_operations::{Host, Operations, SessionDefaults};
use swb_types::{Paths, Timestamp};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};

/// Environment variable in which a keeper passes the path of the log file to the daemon that it starts.
const LOG_FILE: &str = "SWB_LOG_FILE";
/// The arguments of `swb daemon`.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Configuration file, if not the default one.
    pub config: Option<PathBuf>,
    /// Started by another command: exits when it is no longer needed.
    pub auto: bool,
    /// A service manager restarts it after a crash: the keeper does not.
    pub supervised: bool,
}

/// The environment that the daemon found at its start.
pub(crate) struct DaemonSetup {
    options: Options,
    config: Config,
    /// The file that the configuration is in, or would be.
    config_file: PathBuf,
    pub(crate) paths: Paths,
    exe: PathBuf,
    pub(crate) umask: u32,
}

/// The program that guards run: this very file, even if an agent has replaced it at its path.
const GUARD_EXE: &str = "/proc/self/exe";

/// Runs the daemon until a signal or a request stops it.
pub fn run(options: Options) -> Result<()> {
    let passed = PassedSockets::take();
    let paths = Paths::from_env(|key| std::env::var_os(key))
        .context("HOME is not set; set it to your home directory")?;
    let file = options.config.clone().unwrap_or_else(|| paths.config_file());
    let config = Config::load(&file, options.config.is_some())?;
    fronts::check_places(&config, &paths, options.auto)?;
    let log_file = std::env::var_os(LOG_FILE).map(PathBuf::from);
    let chats = format!("swb_dialects::scriptschnell={}", config.scriptschnell.log_level);
    let log = log::begin([&config.daemon.log_level, &chats], log_file.as_deref());
    let exe = std::env::current_exe().context("cannot find the path of the running program")?;
    // From here on everything that the daemon creates is private from its first moment (CO-2).
    let umask = rustix::process::umask(Mode::from_raw_mode(0o177)).as_raw_mode();
    raise_file_limit();
    let setting = DaemonSetup { options, config, config_file: file, paths, exe, umask };
    // One thread: moving bytes between sockets and shared memory gains nothing from several, and a key is
    // delivered fastest if no other thread has to be woken.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let end = runtime.block_on(setting.serve(passed))?;
    // Everything that has to be saved has been; what is left may wait for a disk forever.
    runtime.shutdown_timeout(limits::LEFT_WORK);
    drop(log);
    match end {
        DaemonEnd::Stopped => Ok(()),
        DaemonEnd::Again(exe) => Err(setting.become_program(&exe)),
    }
}

/// Sockets that clients connect to.
struct Listeners {
    control: OwnedFd,
    coop: Option<OwnedFd>,
    clippy: Option<OwnedFd>,
    scriptschnell: Option<OwnedFd>,
}

pub(crate) enum DaemonEnd {
    Stopped,
    /// This process has to execute a program: the same one again, or another.
    Again(PathBuf),
}

impl DaemonSetup {
    async fn serve(&self, passed: PassedSockets) -> Result<DaemonEnd> {
        // Handled from the beginning: for the keeper, a daemon that a signal kills during its start has crashed.
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        // The terminal that it was started from may close; clients that are attached elsewhere must not notice.
        let _ignored = signal(SignalKind::hangup())?;
        let fronts = Fronts::default();
        let mut opened = OpenFronts::with(passed);
        let endpoints = opened.endpoints(&self.config, &self.paths, &fronts);
        let (profiles, mut warnings) = profiles::load(&self.paths.profiles_dir());
        let (engine, new_keeper) =
            keeper::connect(&self.paths, &self.exe, &self.config, profiles, endpoints).await?;
        login::offer_to_oom_killer(engine.keeper_pid());
        fronts.report_connections(engine.connection_reporter());
        let listeners = match self.listeners(&mut opened, &engine) {
            Ok(listeners) => listeners,
            Err(error) => {
                opened.close(&engine);
                engine.shutdown().await;
                return Err(error);
            }
        };
        warnings.extend(opened.warnings());
        warnings.extend(opened.leave_passed());
        warnings.extend(self.leave_terminal(&engine, new_keeper).await);
        self.arrange_restart(&engine)?;
        let confinement =
            Confinement::new(self.config.chat.confinement.clone(), GUARD_EXE.into(), &fronts.tasks)
                .with_own_dirs(&self.paths.home, self.own_dirs());
        let workspaces = &self.config.chat.workspaces;
        warnings.extend(conversations::open_workspaces(workspaces, &self.paths, &confinement));
        let (agents, agent_sockets) = agent_connections::channel();
        let (chats, warning) = self.conversations(&engine, confinement.clone(), agents).await;
        warnings.extend(warning);
        let (stop, mut stops) = mpsc::channel(1);
        let host = Arc::new(DaemonHost {
            engine: engine.clone(),
            dialects: opened.dialects.clone(),
            warnings,
            confinement,
            exe: self.exe.clone(),
            auto: self.options.auto,
            config: std::path::absolute(&self.config_file).unwrap_or_else(|_| self.config_file.clone()),
            started: Timestamp::of(SystemTime::now()).0,
            stop,
            prepared: Mutex::new(None),
            tokens: Arc::default(),
            web: OnceLock::new(),
            tunnels: OnceLock::new(),
            web_warnings: OnceLock::new(),
            web_open: watch::Sender::new(false),
        });
        let operations = Operations::new(engine.clone(), host.clone(), self.settings(), fronts.tasks.clone());
        let operations = operations
            .with_chats(chats.clone())
            .with_tokens(Arc::clone(&host.tokens))
            .with_notifications(self.notifications(&engine, &fronts, &host));
        tunnel::open(&self.config.tunnel, &self.paths, &fronts, &operations, &host);
        let mut control = Control::new(operations.clone(), fronts.clone(), host.clone());
        let conversations = self.serve_conversations(listeners.scriptschnell, &chats, &fronts)?;
        if let Some(scriptschnell) = &conversations {
            control = control.with_conversations(scriptschnell.clone());
        }
        place_record::write(&self.paths).await;
        OpenFronts::serve(&control, listeners.control, listeners.coop)?;
        agent_connections::serve(control, &fronts, agent_sockets);
        if let Some(listener) = listeners.clippy {
            Clippy::new(engine.relay(), fronts.clone()).listen(listener)?;
        }
        // After the sockets on this machine: finding the address of a host may take a while.
        self.open_web(&fronts, operations, conversations, &host).await;
        engine.ready();
        service_manager::notify("READY=1");
        tracing::info!(
            pid = std::process::id(),
            keeper = engine.keeper_pid(),
            sessions = engine.count(),
            "ready"
        );
        let why = tokio::select! {
            _ = terminate.recv() => StopReason::Asked,
            _ = interrupt.recv() => StopReason::Asked,
            Some(stop) = stops.recv() => stop,
            () = idle::nothing_to_do(&engine, &chats, &fronts, &host), if self.options.auto => StopReason::Asked,
            () = engine.keeper_lost() => {
                chats.shutdown(false).await;
                return Ok(self.after_keeper_loss(&opened, &engine).await);
            }
        };
        match why {
            StopReason::Asked => {
                if let Some(servers) = host.web.get() {
                    web::forget(servers, &host.tokens);
                }
                self.stop(&fronts, &opened, &engine, &chats).await
            }
            StopReason::Upgrade(upgrade) => {
                // Agents are children of this process; the next program in it would not know them.
                chats.shutdown(false).await;
                self.hand_over(&engine, &upgrade).await
            }
        }
    }

    /// Accepts clients of the scriptschnell dialect, if that is enabled. Where its socket cannot be created, as in a home
    /// directory that cannot be written, the control socket and the web still lead there.
    fn serve_conversations(
        &self,
        listener: Option<OwnedFd>,
        chats: &Chats,
        fronts: &Fronts,
    ) -> Result<Option<ScriptSchnell>> {
        if !self.config.scriptschnell.enabled {
            return Ok(None);
        }
        let settings = fronts::scriptschnell_settings(&self.config.scriptschnell, &self.paths, self.umask);
        let scriptschnell = ScriptSchnell::new(chats.clone(), fronts.clone(), settings);
        if let Some(listener) = listener {
            scriptschnell.listen(listener)?;
        }
        Ok(Some(scriptschnell))
    }

    async fn open_web(
        &self,
        fronts: &Fronts,
        operations: Operations,
        conversations: Option<ScriptSchnell>,
        host: &Arc<DaemonHost>,
    ) {
        let tokens = Arc::clone(&host.tokens);
        let (config, paths) = (&self.config.web, &self.paths);
        let setup = web::WebSetup { config, paths, fronts, operations, tokens, conversations };
        let warnings = web::open(setup, &host.engine, host).await;
        // Set once, here.
        let _set = host.web_warnings.set(warnings);
        host.web_open.send_replace(true);
    }

    /// Moves a new keeper, and a daemon that the user does not run in the foreground, away from what started them. Before
    /// any session starts, as children stay where they were started. Returns a warning for the user.
    async fn leave_terminal(&self, engine: &Engine, new_keeper: bool) -> Option<String> {
        let keeper = u32::try_from(engine.keeper_pid()).ok().filter(|_| new_keeper);
        // One that the keeper has restarted is where the keeper is, and its clients wait.
        let parent = rustix::process::getppid().map(|parent| parent.as_raw_nonzero().get());
        let restarted = parent == Some(engine.keeper_pid());
        let daemon = (self.options.auto && !restarted).then(std::process::id);
        login::move_to_own_scope(&self.paths, keeper.into_iter().chain(daemon).collect()).await
    }

    /// What decides what our processes do: the configuration, the lists of what the user trusts, and the keeper's key.
    fn own_dirs(&self) -> Vec<PathBuf> {
        let dirs = [self.paths.config_dir(), self.paths.state_dir(), self.paths.run_dir()];
        let file = self.options.config.as_ref().and_then(|file| std::path::absolute(file).ok());
        dirs.into_iter().chain(file).collect()
    }

    /// Opens all listening sockets; clients are accepted later.
    fn listeners(&self, opened: &mut OpenFronts, engine: &Engine) -> Result<Listeners> {
        let clippy = opened.clippy(&self.config, &self.paths, engine, self.options.auto)?;
        let coop = opened.coop(&self.config, &self.paths, engine)?;
        let control = opened.control(&self.paths, engine)?;
        let scriptschnell = opened.scriptschnell(&self.config, &self.paths, engine);
        Ok(Listeners { control, coop, clippy, scriptschnell })
    }

    async fn conversations(
        &self,
        engine: &Engine,
        confinement: Confinement,
        connections: mpsc::Sender<AgentSocket>,
    ) -> (Chats, Option<String>) {
        let chat = conversations::ChatContext {
            config: &self.config,
            paths: &self.paths,
            exe: Path::new(GUARD_EXE),
            env: environment(),
            umask: self.umask,
            confinement,
            connections,
        };
        conversations::open(engine, chat).await
    }

    async fn stop(
        &self,
        fronts: &Fronts,
        opened: &OpenFronts,
        engine: &Engine,
        chats: &Chats,
    ) -> Result<DaemonEnd> {
        tracing::info!(sessions = engine.count(), "stopping; sessions keep running");
        service_manager::notify("STOPPING=1");
        opened.close(engine);
        engine.keep_sizes();
        fronts.stop.cancel();
        fronts.tasks.close();
        if tokio::time::timeout(limits::GOODBYES, fronts.tasks.wait()).await.is_err() {
            tracing::warn!("timed out waiting for connections to close");
        }
        chats.shutdown(true).await;
        engine.shutdown().await;
        Ok(DaemonEnd::Stopped)
    }

    /// All sessions are lost with the keeper: reports that, and starts again.
    async fn after_keeper_loss(&self, opened: &OpenFronts, engine: &Engine) -> DaemonEnd {
        tracing::error!("the keeper has exited and all sessions are lost; restarting");
        // Gives connections time to report the end of their sessions.
        tokio::time::sleep(limits::KEEPER_LOSS).await;
        opened.close(engine);
        DaemonEnd::Again(self.exe.clone())
    }

    pub(crate) fn arguments(&self) -> Vec<OsString> {
        let mut arguments = vec!["daemon".into()];
        if self.options.auto {
            arguments.push("--auto".into());
        }
        if self.options.supervised {
            arguments.push("--supervised".into());
        }
        if let Some(config) = &self.options.config {
            arguments.push("--config".into());
            arguments.push(std::path::absolute(config).unwrap_or_else(|_| config.clone()).into());
        }
        arguments
    }

    /// Decides who starts the next daemon if this one crashes: the keeper, or the program that supervises this one.
    fn arrange_restart(&self, engine: &Engine) -> Result<()> {
        match self.options.supervised {
            true => engine.drop_successor(),
            false => engine.leave_successor(&self.successor()?)?,
        }
        Ok(())
    }

    /// How the keeper has to start the next daemon if this one crashes.
    fn successor(&self) -> Result<Spec> {
        let mut argv = vec![self.exe.clone().into()];
        argv.extend(self.arguments());
        let mut env: Vec<(OsString, OsString)> = own_environment().collect();
        let log = self.paths.daemon_log();
        if let Some(dir) = log.parent()
            && let Err(error) = swb_dialects::private_socket::private_dir(dir)
        {
            tracing::warn!(%error, "no log directory: a daemon that the keeper restarts cannot log");
        }
        env.push((LOG_FILE.into(), log.into()));
        Ok(self.spec(argv, env))
    }

    pub(crate) fn spec(&self, argv: Vec<OsString>, env: Vec<(OsString, OsString)>) -> Spec {
        Spec { argv, env, dir: "/".into(), umask: self.umask }
    }

    fn notifications(&self, engine: &Engine, fronts: &Fronts, host: &DaemonHost) -> Arc<Notifications> {
        let notifications = Notifications::new(self.config.notifications.clone(), host.machine());
        notify::open(notifications, engine, fronts, environment(), self.umask)
    }

    fn settings(&self) -> SessionDefaults {
        let (coopfile, trusted) = (self.paths.default_coopfile(), self.paths.trust_list());
        SessionDefaults::new(environment(), self.umask, coopfile, trusted)
    }
}

/// The environment of sessions and agents.
fn environment() -> BTreeMap<String, String> {
    let own = own_environment();
    let own = own.filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)));
    own.collect()
}

/// The environment of this process without what is for it alone.
pub(crate) fn own_environment() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os().filter(|(key, _)| key != LOG_FILE && !service_manager::is_variable(key))
}

/// Sessions need descriptors; raises the limit as far as the system allows.
fn raise_file_limit() {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    if let Err(error) = rustix::process::setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, "cannot raise the limit of open files");
    }
}
