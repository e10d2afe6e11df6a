//! What the control protocol may ask of the daemon as a whole.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use swb_dialects::coop::Host;
use swb_engine::Engine;
use swb_wire::control::{DaemonStatus, DialectStatus, KeeperStatus, StatusReply};
use tokio::sync::mpsc;

/// How long a new program may take to say its version.
const VERSION_PATIENCE: Duration = Duration::from_secs(5);

/// Why the daemon stops.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stop {
    Asked,
    Upgrade(Upgrade),
}

/// A program that is to take over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Upgrade {
    pub(crate) exe: PathBuf,
    pub(crate) keeper: bool,
}

pub(crate) struct DaemonHost {
    pub(crate) engine: Engine,
    pub(crate) dialects: Vec<DialectStatus>,
    pub(crate) warnings: Vec<String>,
    pub(crate) exe: PathBuf,
    pub(crate) auto: bool,
    pub(crate) started: u64,
    pub(crate) stop: mpsc::Sender<Stop>,
    pub(crate) prepared: Mutex<Option<Upgrade>>,
}

impl Host for DaemonHost {
    fn status(&self) -> StatusReply {
        StatusReply {
            ok: true,
            keeper: KeeperStatus { pid: self.engine.keeper_pid() as u32 },
            daemon: DaemonStatus {
                pid: std::process::id(),
                restarts: u32::try_from(self.engine.restarts()).unwrap_or(u32::MAX),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                auto: self.auto,
                started: self.started,
            },
            dialects: self.dialects.clone(),
            sessions: self.engine.count() as u32,
            warnings: self.warnings.clone(),
        }
    }

    fn shut_down(&self) {
        // If one is waiting already, that is the same wish.
        let _sent = self.stop.try_send(Stop::Asked);
    }

    fn prepare_upgrade(
        &self,
        exe: Option<PathBuf>,
        keeper: bool,
    ) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send + '_>> {
        Box::pin(async move {
            let exe = exe.unwrap_or_else(|| self.exe.clone());
            let checked = exe.clone();
            let outcome = tokio::task::spawn_blocking(move || check_program(&checked)).await;
            outcome.map_err(|error| error.to_string())??;
            *self.prepared.lock().unwrap_or_else(PoisonError::into_inner) = Some(Upgrade { exe, keeper });
            Ok(())
        })
    }

    fn upgrade(&self) {
        if let Some(upgrade) = self.prepared.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _sent = self.stop.try_send(Stop::Upgrade(upgrade));
        }
    }
}

/// Makes sure that a program runs here and is one of ours before the old one makes way for it.
fn check_program(exe: &Path) -> Result<(), String> {
    let cannot = |why: &str| format!("{} cannot take over: {why}", exe.display());
    if !exe.is_absolute() {
        return Err(cannot("its path is not absolute"));
    }
    let mut command = Command::new(exe);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| cannot(&error.to_string()))?;
    let deadline = Instant::now() + VERSION_PATIENCE;
    while child.try_wait().map_err(|error| cannot(&error.to_string()))?.is_none() {
        if Instant::now() > deadline {
            let _killed = child.kill();
            let _reaped = child.wait();
            return Err(cannot("it does not say its version"));
        }
        std::thread::park_timeout(Duration::from_millis(10));
    }
    let output = child.wait_with_output().map_err(|error| cannot(&error.to_string()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    if output.status.success() && text.starts_with("swb ") { Ok(()) } else { Err(cannot("it is not swb")) }
}
