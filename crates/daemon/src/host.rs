//! What the control protocol can request of the daemon as a whole.

use crate::limits;
use crate::upgrade::{ProgramUpgrade, check_program};
use crate::web;
use std::future::Future;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use swb_backends::Confinement;
use swb_dialects::control::Stopper;
use swb_engine::{Engine, file_access};
use swb_operations::tokens::TokenRegistry;
use swb_operations::{Host, HostAction, TunnelHost};
use swb_tunnel::Tunnels;
use swb_web::Servers;
use swb_wire::control::{
    DaemonStatus, DialectStatus, ErrorCode, ErrorReply, KeeperStatus, Serve, ServeReply, StatusReply,
};
use tokio::sync::{mpsc, watch};

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
    pub(crate) config: PathBuf,
    pub(crate) started: u64,
    pub(crate) stop: mpsc::Sender<StopReason>,
    pub(crate) prepared: Mutex<Option<ProgramUpgrade>>,
    pub(crate) tokens: Arc<TokenRegistry>,
    /// The web servers; set before clients are accepted.
    pub(crate) web: OnceLock<Servers>,
    /// The tunnels; set before clients are accepted.
    pub(crate) tunnels: OnceLock<Tunnels>,
    /// Warnings about the web servers, which are known later than the others.
    pub(crate) web_warnings: OnceLock<Vec<String>>,
    /// Whether the web servers of the configuration run, or failed to.
    pub(crate) web_open: watch::Sender<bool>,
}

impl DaemonHost {
    /// Leaves with the keeper what a later daemon has to know about the web.
    pub(crate) fn keep_web(&self) {
        if let Some(servers) = self.web.get() {
            web::keep(servers, &self.tokens, &self.engine);
        }
    }

    /// Stops or upgrades the daemon for a client on the web.
    pub(crate) fn act_for_web(&self, action: HostAction) {
        self.stop_for(action, None);
    }

    fn stop_for(&self, action: HostAction, client: Option<OwnedFd>) {
        LEAVING.lock().unwrap_or_else(PoisonError::into_inner).extend(client);
        // If the queue is full, the daemon is stopping already.
        let _sent = match action {
            HostAction::ShutDown => self.stop.try_send(StopReason::Asked),
            HostAction::Upgrade => {
                let prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner).take();
                prepared.map_or(Ok(()), |upgrade| self.stop.try_send(StopReason::Upgrade(upgrade)))
            }
        };
    }
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
                config: Some(self.config.to_string_lossy().into_owned()),
            },
            dialects: self.dialects.clone(),
            sessions: self.engine.count() as u32,
            web: self.web.get().map(Servers::status).unwrap_or_default(),
            warnings: self
                .warnings
                .iter()
                .cloned()
                .chain(self.confinement.warnings().map(str::to_owned))
                .chain(self.engine.left_out())
                .chain(self.web_warnings.get().into_iter().flatten().cloned())
                .collect(),
        }
    }

    fn settled(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async move {
            let known = async {
                // The sender is in `self`, so the wait cannot fail.
                let mut open = self.web_open.subscribe();
                let _open = open.wait_for(|open| *open).await.is_ok();
                self.confinement.probed().await;
            };
            // The name server that knows an address of [web] may not respond: then there is less to report.
            let _in_time = tokio::time::timeout(limits::SETTLING, known).await;
        })
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

    fn serve(
        &self,
        serve: Serve,
    ) -> Pin<Box<dyn Future<Output = Result<ServeReply, ErrorReply>> + Send + '_>> {
        Box::pin(async move {
            self.settled().await;
            let starting = || ErrorReply::new(ErrorCode::InternalError, "the daemon is starting; try again");
            Ok(self.web.get().ok_or_else(starting)?.serve(serve).await?)
        })
    }

    fn stop_serving(&self) -> u32 {
        self.web.get().map_or(0, Servers::stop)
    }

    fn remote_access_changed(&self) {
        self.keep_web();
    }

    fn tunnels(&self) -> Option<&dyn TunnelHost> {
        self.tunnels.get().map(|tunnels| -> &dyn TunnelHost { tunnels })
    }

    fn machine(&self) -> String {
        rustix::system::uname().nodename().to_string_lossy().into_owned()
    }
}

impl Stopper for DaemonHost {
    fn act(&self, action: HostAction, client: OwnedFd) {
        self.stop_for(action, Some(client));
    }
}
