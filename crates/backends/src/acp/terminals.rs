//! Terminals that an agent creates: commands that run in the workspace while the agent does something else.

use super::limits;
use crate::command::{BoundedOutput, Guarded, GuardedOutput};
use agent_client_protocol_schema::v1::{TerminalExitStatus, TerminalOutputResponse};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Prefix of a terminal's name.
const PREFIX: &str = "terminal-";

/// The terminals of one agent; dropping them kills everything in them.
#[derive(Debug, Default)]
pub(super) struct AcpTerminals {
    /// By number; the name is derived from it.
    open: BTreeMap<u64, AcpTerminal>,
    /// The tasks that run them.
    tasks: JoinSet<()>,
    created: u64,
}

/// A terminal that was not released.
#[derive(Debug)]
struct AcpTerminal {
    kept: Arc<Mutex<BoundedOutput>>,
    kill: CancellationToken,
    status: watch::Receiver<Option<i32>>,
}

impl AcpTerminals {
    /// Whether another one may be created.
    pub(super) fn has_room(&mut self) -> bool {
        // A command that could not be started has no status and gets none.
        self.open.retain(|_, terminal| {
            terminal.status.has_changed().is_ok() || terminal.status.borrow().is_some()
        });
        self.open.len() < limits::TERMINALS
    }

    /// Creates a terminal for the command that `start` starts; returns its name, and the outcome of the start. That may
    /// take a while: the directory of the command can be on a disk that does not respond.
    pub(super) fn create<E: Send + 'static>(
        &mut self,
        output_limit: Option<u64>,
        start: impl Future<Output = Result<(Guarded, GuardedOutput), E>> + Send + 'static,
    ) -> (String, oneshot::Receiver<Result<(), E>>) {
        // Finished tasks stay in the set until they are joined.
        while self.tasks.try_join_next().is_some() {}
        let [usual, most] = limits::TERMINAL_OUTPUT;
        let limit = output_limit.map_or(usual, |limit| usize::try_from(limit).unwrap_or(most));
        let kept = Arc::new(Mutex::new(BoundedOutput::new(0, limit.min(most))));
        let (kill, (tell, status)) = (CancellationToken::new(), watch::channel(None));
        let (report, started) = oneshot::channel();
        let terminal = AcpTerminal { kept: Arc::clone(&kept), kill: kill.clone(), status };
        self.tasks.spawn(async move {
            // Nothing waits for the report if the answer has ended meanwhile.
            match start.await {
                Ok((guarded, output)) => {
                    let _reported = report.send(Ok(()));
                    attend(guarded, output, kept, kill, tell).await;
                }
                Err(error) => drop(report.send(Err(error))),
            }
        });
        self.created += 1;
        self.open.insert(self.created, terminal);
        (format!("{PREFIX}{}", self.created), started)
    }

    /// Its output, and its exit status if it has ended.
    pub(super) fn output(&self, name: &str) -> Option<TerminalOutputResponse> {
        let terminal = self.open.get(&number(name)?)?;
        // Read the status first, so that the output of an ended command is complete.
        let status = *terminal.status.borrow();
        let (output, truncated) = lock(&terminal.kept).plain();
        Some(TerminalOutputResponse::new(output, truncated).exit_status(status.map(exit_status)))
    }

    /// Waits until its command has ended.
    pub(super) fn wait(
        &self,
        name: &str,
    ) -> Option<impl Future<Output = TerminalExitStatus> + Send + 'static> {
        let mut status = self.open.get(&number(name)?)?.status.clone();
        Some(async move {
            // The sender is dropped without a status if the command could not be started, or if all terminals are
            // dropped while it runs.
            let ended = status.wait_for(Option::is_some).await.ok().and_then(|status| *status);
            ended.map_or_else(TerminalExitStatus::new, exit_status)
        })
    }

    /// The number of terminals created so far.
    pub(super) fn count(&self) -> u64 {
        self.created
    }

    /// Kills what runs in the terminals created after the first `count`.
    pub(super) fn kill_after(&self, count: u64) {
        for (_, terminal) in self.open.range(count + 1..) {
            terminal.kill.cancel();
        }
    }

    /// Kills what runs in it; its output can still be read.
    pub(super) fn kill(&self, name: &str) -> Option<()> {
        self.open.get(&number(name)?)?.kill.cancel();
        Some(())
    }

    /// Kills what runs in it, and removes it.
    pub(super) fn release(&mut self, name: &str) -> Option<()> {
        self.open.remove(&number(name)?)?.kill.cancel();
        Some(())
    }
}

fn number(name: &str) -> Option<u64> {
    name.strip_prefix(PREFIX)?.parse().ok()
}

async fn attend(
    mut guarded: Guarded,
    mut output: GuardedOutput,
    kept: Arc<Mutex<BoundedOutput>>,
    kill: CancellationToken,
    tell: watch::Sender<Option<i32>>,
) {
    let mut killed = false;
    loop {
        tokio::select! {
            () = kill.cancelled(), if !killed => {
                killed = true;
                guarded.kill();
            }
            text = output.next() => match text {
                Ok(Some(text)) => lock(&kept).push(&text),
                _ => break,
            },
        }
    }
    let status = guarded.wait().await;
    tell.send_replace(Some(status.unwrap_or(-1)));
}

fn exit_status(code: i32) -> TerminalExitStatus {
    TerminalExitStatus::new().exit_code(u32::try_from(code).ok())
}

fn lock(kept: &Mutex<BoundedOutput>) -> MutexGuard<'_, BoundedOutput> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}
