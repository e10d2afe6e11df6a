//! What the control protocol can request of the daemon as a whole.

use crate::limits;
use crate::upgrade::{ProgramUpgrade, check_program};
use std::future::Future;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use swb_backends::Confinement;
use swb_dialects::control::Stopper;
use swb_engine::{Engine, file_access};
use swb_operations::{Host, HostAction};
use swb_wire::control::{DaemonStatus, DialectStatus, KeeperStatus, StatusReply};
use tokio::sync::mpsc;

/// Connections of clients that requested a shutdown or an upgrade. They are closed when the process ends, which
/// shows the clients that it has ended; hence a static. At most as many as the control socket serves.
static LEAVING: Mutex<Vec<OwnedFd>> = Mutex::new(Vec::new());

/// Why the daemon stops.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StopReason {
    Asked,
    Upgrade(ProgramUpgrade),
}

pub(crate) struct DaemonHost {
    pub(crate) engine: Engine,
    pub(crate) dialects: Vec<DialectStatus>,
    pub(crate) warnings: Vec<String>,
    pub(crate) confinement: Confinement,
    pub(crate) exe: PathBuf,
    pub(crate) auto: bool,
    pub(crate) started: u64,
    pub(crate) stop: mpsc::Sender<StopReason>,
    pub(crate) prepared: Mutex<Option<ProgramUpgrade>>,
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
            // What the kernel can do is known only some time after the start.
            warnings: self
                .warnings
                .iter()
                .cloned()
                .chain(self.confinement.warnings().map(str::to_owned))
                .chain(self.engine.left_out())
                .collect(),
        }
    }

    fn prepare_upgrade(
        &self,
        exe: Option<PathBuf>,
        keeper: bool,
    ) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send + '_>> {
        Box::pin(async move {
            let exe = exe.unwrap_or_else(|| self.exe.clone());
            let checked = file_access::run_within(limits::PROGRAM_CHECK, &exe, check_program).await;
            checked.map_err(|error| format!("cannot upgrade: {error}"))??;
            *self.prepared.lock().unwrap_or_else(PoisonError::into_inner) =
                Some(ProgramUpgrade { exe, keeper });
            Ok(())
        })
    }
}

impl Stopper for DaemonHost {
    fn act(&self, action: HostAction, client: OwnedFd) {
        // If the queue is full, the daemon is stopping already.
        let _sent = match action {
            HostAction::ShutDown => {
                LEAVING.lock().unwrap_or_else(PoisonError::into_inner).push(client);
                self.stop.try_send(StopReason::Asked)
            }
            HostAction::Upgrade => {
                let prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner).take();
                prepared.map_or(Ok(()), |upgrade| self.stop.try_send(StopReason::Upgrade(upgrade)))
            }
        };
    }
}
