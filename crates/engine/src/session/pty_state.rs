//! The state of one PTY in its session's task: its process, its deadlines, and the callers that wait for its start.

use super::{ProcessPhase, ReplySender};
use crate::error::Error;
use crate::pty::{EndCause, Pty};
use crate::spec::ShellSpec;
use std::sync::Arc;
use tokio::time::Instant;

/// The state of one PTY in its session's task.
pub(super) struct PtyState {
    pub(super) pty: Arc<Pty>,
    pub(super) argv: Arc<[String]>,
    pub(super) shell: Option<ShellSpec>,
    pub(super) pid: i32,
    pub(super) phase: ProcessPhase,
    pub(super) started: Option<Instant>,
    pub(super) short_runs: u32,
    pub(super) starters: Vec<StartWaiter>,
    /// The program could not be run; its process is about to end.
    pub(super) failed: bool,
    /// Not to be started again, regardless of the restart policy.
    pub(super) dismissed: bool,
    /// Why its process ends, if that is for good.
    pub(super) end_cause: EndCause,
    /// To be started again as soon as it has ended.
    pub(super) restart_wanted: bool,
    pub(super) restart_at: Option<Instant>,
    pub(super) kill_at: Option<Instant>,
    pub(super) restore_size_at: Option<Instant>,
}

/// A caller that waits for a process to run.
pub(super) enum StartWaiter {
    First(ReplySender<()>),
    Shell(ReplySender<Arc<Pty>>),
    Restart(ReplySender<i32>),
}

impl PtyState {
    pub(super) fn new(pty: Arc<Pty>, argv: &[String], shell: Option<ShellSpec>, phase: ProcessPhase) -> Self {
        Self {
            pty,
            argv: argv.into(),
            shell,
            pid: 0,
            phase,
            started: None,
            short_runs: 0,
            starters: Vec::new(),
            failed: false,
            dismissed: false,
            end_cause: EndCause::Exit,
            restart_wanted: false,
            restart_at: None,
            kill_at: None,
            restore_size_at: None,
        }
    }

    pub(super) fn has_process(&self) -> bool {
        matches!(self.phase, ProcessPhase::Starting | ProcessPhase::Running)
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        [self.restart_at, self.kill_at, self.restore_size_at].into_iter().flatten().min()
    }

    pub(super) fn notify_starters(&mut self, outcome: Result<(), Error>) {
        for starter in self.starters.drain(..) {
            // The caller may be gone.
            match starter {
                StartWaiter::First(reply) => drop(reply.send(outcome.clone())),
                StartWaiter::Shell(reply) => {
                    drop(reply.send(outcome.clone().map(|()| Arc::clone(&self.pty))))
                }
                StartWaiter::Restart(reply) => drop(reply.send(outcome.clone().map(|()| self.pid))),
            }
        }
    }
}
