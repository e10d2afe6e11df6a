//! The daemon as a whole: status, upgrade, shutdown.

use crate::errors::invalid;
use crate::execute::Call;
use crate::limits;
use crate::reply::{OperationResult, Then, done, follow};
use crate::tunnels::TunnelHost;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use swb_types::Scope;
use swb_wire::control::{
    ErrorReply, OkReply, Serve, ServeReply, Shutdown, StatusReply, StopServeReply, Upgrade, WhoamiReply,
};

/// What operations need from the daemon.
pub trait Host: Send + Sync {
    /// The status of the daemon, as far as it is known.
    fn status(&self) -> StatusReply;

    /// Waits, for a limited time, until a daemon that has just started knows what its status has to say.
    fn settled(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;

    /// Checks that the program at `exe` (by default the running one) can replace this one, and remembers it.
    fn prepare_upgrade(
        &self,
        exe: Option<PathBuf>,
        keeper: bool,
    ) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send + '_>>;

    /// Starts a web server, or returns the one that serves this address already.
    fn serve(
        &self,
        serve: Serve,
    ) -> Pin<Box<dyn Future<Output = Result<ServeReply, ErrorReply>> + Send + '_>>;

    /// Stops all web servers and closes their connections; returns their number.
    fn stop_serving(&self) -> u32;

    /// Tokens or filters have changed, and with them what a later daemon has to know.
    fn remote_access_changed(&self);

    /// The transport of tunnels, once the daemon has one.
    fn tunnels(&self) -> Option<&dyn TunnelHost>;

    /// The name of this machine.
    fn machine(&self) -> String;
}

/// What the daemon does once the reply has been sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostAction {
    /// Stop in an orderly way.
    ShutDown,
    /// Execute the program that was prepared.
    Upgrade,
}

impl Call<'_> {
    pub(crate) async fn status(&self) -> OperationResult {
        self.operations.host.settled().await;
        done(&self.operations.host.status())
    }

    /// CO-42
    pub(crate) async fn serve(&self, serve: Serve) -> OperationResult {
        if serve.stop {
            return done(&StopServeReply { ok: true, stopped: self.operations.host.stop_serving() });
        }
        done(&self.operations.host.serve(serve).await?)
    }

    pub(crate) fn whoami(&self) -> OperationResult {
        let (session, workspace) = match self.caller.scope() {
            Scope::All => (None, None),
            Scope::Session(name) => (Some(name.to_string()), None),
            Scope::Workspace(path) => (None, Some(path.to_string_lossy().into_owned())),
        };
        let host = &self.operations.host;
        let (machine, version) = (host.machine(), env!("CARGO_PKG_VERSION").to_owned());
        done(&WhoamiReply { ok: true, role: self.caller.role(), session, workspace, machine, version })
    }

    pub(crate) async fn shut_down(&self, shutdown: &Shutdown) -> OperationResult {
        if shutdown.kill {
            let sessions = self.engine().sessions();
            self.end(&sessions, swb_engine::limits::KILL_GRACE).await;
            let all_ended = async {
                for session in &sessions {
                    session.ended().await;
                }
            };
            // A process that waits for a dead disk cannot be killed; it ends with the disk.
            let _in_time = tokio::time::timeout(limits::SHUTDOWN_KILL, all_ended).await;
        }
        follow(&OkReply::default(), Then::Host(HostAction::ShutDown))
    }

    pub(crate) async fn upgrade(&self, upgrade: Upgrade) -> OperationResult {
        let exe = upgrade.exe.map(PathBuf::from);
        self.operations.host.prepare_upgrade(exe, upgrade.keeper).await.map_err(invalid)?;
        follow(&OkReply::default(), Then::Host(HostAction::Upgrade))
    }
}
