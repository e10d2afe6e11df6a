//! Commands that agents run: under a guard, confined to the workspace, with limits on time and output.

mod bounded_output;
mod guard_exit;
pub(crate) mod limits;
mod process;

pub(crate) use bounded_output::BoundedOutput;
pub(crate) use process::{Guarded, GuardedOutput, Launch};

use crate::BackendContext;
use std::io;
use std::time::Duration;
use swb_engine::chat::Exchange;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The limits of a command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// How long it may run.
    pub(crate) time: Duration,
    /// Bytes of output to keep, half of them from the beginning and half from the end.
    pub(crate) output: usize,
}

/// The result of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommandResult {
    /// Its exit status, 128 + N if signal N killed it; `None` if unknown.
    pub(crate) status: Option<i32>,
    /// Its standard output and error, without the middle if they exceed the limit.
    pub(crate) output: String,
    /// It was killed because it timed out.
    pub(crate) timed_out: bool,
    /// It was killed because it was cancelled.
    pub(crate) stopped: bool,
}

/// Runs a shell command of an agent to its end. Its output is also sent to `follow` as it arrives; the receiver may be dropped.
///
/// Every process of the command is gone when this returns, and soon after the future is dropped.
pub(crate) async fn run(
    context: &BackendContext,
    exchange: &Exchange,
    command: &str,
    limits: Limits,
    follow: mpsc::Sender<String>,
) -> io::Result<CommandResult> {
    let workspace = exchange.workspace();
    let connection = context.connection(&workspace.path)?;
    let launch = Launch::shell(command, exchange.working_dir());
    let launch = launch.confined(&workspace, exchange.written(), &context.confinement).await?;
    let launch = launch.with_connection(connection);
    let (guarded, output) = launch.start(&context.into())?;
    let end = Instant::now() + limits.time;
    RunningCommand {
        guarded,
        output,
        follow: Some(follow),
        kept: BoundedOutput::new(limits.output / 2, limits.output / 2),
    }
    .finish(end, exchange.stop())
    .await
}

/// A running command.
struct RunningCommand {
    guarded: Guarded,
    output: GuardedOutput,
    /// `None` once the follower is gone.
    follow: Option<mpsc::Sender<String>>,
    kept: BoundedOutput,
}

impl RunningCommand {
    async fn finish(mut self, end: Instant, stop: &CancellationToken) -> io::Result<CommandResult> {
        let (mut timed_out, mut stopped) = (false, false);
        let mut pending = String::new();
        let mut last = None;
        loop {
            let follow = self.follow.clone().filter(|_| !pending.is_empty());
            let room = pending.len() < limits::PENDING || self.follow.is_none() || last.is_some();
            tokio::select! {
                biased;
                () = stop.cancelled(), if last.is_none() => {
                    stopped = true;
                    last = Some(self.end());
                }
                () = tokio::time::sleep_until(end), if last.is_none() => {
                    timed_out = true;
                    last = Some(self.end());
                }
                () = until(last) => break,
                sent = reserved(follow) => match sent {
                    Some(permit) => self.follow = Some(permit.send(std::mem::take(&mut pending))),
                    None => self.follow = None,
                },
                text = self.output.next(), if room => match text? {
                    Some(text) => {
                        self.kept.push(&text);
                        if self.follow.is_some() && last.is_none() {
                            pending.push_str(&text);
                        }
                    }
                    None => break,
                },
            }
        }
        if let Some(follow) = self.follow.filter(|_| !pending.is_empty() && last.is_none()) {
            // The follower may be gone.
            tokio::select! {
                () = stop.cancelled() => {}
                () = tokio::time::sleep_until(end) => {}
                _sent = follow.send(pending) => {}
            }
        }
        let status = tokio::time::timeout(limits::ENDING, self.guarded.wait()).await.ok().flatten();
        Ok(CommandResult { status, output: self.kept.take(), timed_out, stopped })
    }

    /// Kills it; returns the deadline for its processes to end.
    fn end(&self) -> Instant {
        self.guarded.kill();
        Instant::now() + limits::ENDING
    }
}

async fn reserved(follow: Option<mpsc::Sender<String>>) -> Option<mpsc::OwnedPermit<String>> {
    match follow {
        Some(follow) => follow.reserve_owned().await.ok(),
        None => std::future::pending().await,
    }
}

async fn until(last: Option<Instant>) {
    match last {
        Some(last) => tokio::time::sleep_until(last).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
