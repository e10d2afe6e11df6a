//! Terminals that an agent creates: commands that run in the workspace while the agent does something else.

use super::limits;
use crate::BackendContext;
use crate::command::{BoundedOutput, Guarded, GuardedOutput, Launch};
use agent_client_protocol_schema::v1::{CreateTerminalRequest, TerminalExitStatus, TerminalOutputResponse};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use swb_chat::Workspace;
use tokio::sync::watch;
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
    pub(super) fn has_room(&self) -> bool {
        self.open.len() < limits::TERMINALS
    }

    /// Runs a command; returns the terminal's name.
    pub(super) fn create(
        &mut self,
        context: &BackendContext,
        workspace: &Workspace,
        directory: &Path,
        request: CreateTerminalRequest,
    ) -> io::Result<String> {
        // Finished tasks stay in the set until they are joined.
        while self.tasks.try_join_next().is_some() {}
        let [usual, most] = limits::TERMINAL_OUTPUT;
        let limit = request.output_byte_limit.map_or(usual, |limit| usize::try_from(limit).unwrap_or(most));
        let kept = Arc::new(Mutex::new(BoundedOutput::new(0, limit.min(most))));
        let env = request.env.into_iter().map(|variable| (variable.name, variable.value));
        let launch = match request.args.is_empty() {
            // Most agents send a whole command line here.
            true => Launch::shell(&request.command, directory),
            false => Launch::new([request.command].into_iter().chain(request.args), directory),
        };
        let launch = launch.with_env(env).confined(workspace);
        let launch = launch.with_connection(context.connection(&workspace.path)?);
        let (guarded, output) = launch.start(&context.into())?;
        let (kill, (tell, status)) = (CancellationToken::new(), watch::channel(None));
        self.tasks.spawn(attend(guarded, output, Arc::clone(&kept), kill.clone(), tell));
        self.created += 1;
        self.open.insert(self.created, AcpTerminal { kept, kill, status });
        Ok(format!("{PREFIX}{}", self.created))
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
            // The sender is dropped only after it has sent the status.
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
