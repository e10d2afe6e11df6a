//! The daemon as a whole: status, upgrade, shutdown.

use crate::errors::invalid;
use crate::execute::Call;
use crate::limits;
use crate::reply::{OperationResult, Then, done, follow};
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use swb_wire::control::{OkReply, Shutdown, StatusReply, Upgrade};

/// What operations need from the daemon.
pub trait Host: Send + Sync {
    /// The status of the daemon.
    fn status(&self) -> StatusReply;

    /// Checks that the program at `exe` (by default the running one) can replace this one, and remembers it.
    fn prepare_upgrade(
        &self,
        exe: Option<PathBuf>,
        keeper: bool,
    ) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send + '_>>;
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
    pub(crate) fn status(&self) -> OperationResult {
        done(&self.operations.host.status())
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
