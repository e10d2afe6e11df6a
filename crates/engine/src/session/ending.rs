//! Killing a session: SIGTERM, then SIGKILL to everything that is left of it.

use super::pty_state::PtyState;
use super::task::SessionTask;
use super::{ProcessPhase, Session};
use crate::keeper::Keeper;
use crate::limits;
use crate::process;
use crate::pty::EndCause;
use rustix::process::Signal;
use std::time::Duration;
use swb_types::PtyId;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// A session that is being killed.
pub(super) struct SessionEnding {
    pub(super) deadline: Instant,
    pub(super) waiting: Vec<oneshot::Sender<()>>,
    /// Terminal sessions, by the pid of their leader, whose remaining processes are killed at the deadline.
    pub(super) sids: Vec<i32>,
    /// The daemon stops, and the deadline was moved because of that.
    hurried: bool,
    /// Keeps the daemon from stopping before this is over.
    _counted: TaskTrackerToken,
}

impl SessionEnding {
    pub(super) fn note(&mut self, sid: i32) {
        if !self.sids.contains(&sid) {
            self.sids.push(sid);
        }
    }
}

impl SessionTask {
    pub(super) fn begin_ending(&mut self, grace: Duration, done: Option<oneshot::Sender<()>>) {
        self.publish_turn_now();
        self.context.registry.remove(&self.session);
        self.context.relay.forget(&self.session);
        // The name is free, and so must be its endpoints; connected clients stay to the end.
        self.close_endpoints();
        // Without time to react, SIGTERM would only change the exit status (CO-41).
        let polite = !grace.is_zero();
        let deadline = Instant::now() + grace;
        let ending = self.ending.get_or_insert_with(|| SessionEnding {
            deadline,
            waiting: Vec::new(),
            sids: Vec::new(),
            hurried: false,
            _counted: self.context.endings.token(),
        });
        ending.deadline = ending.deadline.min(deadline);
        ending.waiting.extend(done);
        self.store();
        let ids: Vec<PtyId> = self.terminals.keys().copied().collect();
        for id in ids {
            let Some(terminal) = self.terminals.get_mut(&id) else {
                continue;
            };
            terminal.dismissed = true;
            terminal.end_cause = EndCause::Kill;
            // Only of a live process: the pid of a dead one may belong to another process by now.
            if terminal.phase == ProcessPhase::Running
                && let Some(ending) = &mut self.ending
            {
                ending.note(terminal.pid);
                let background = process::sessions_below(terminal.pid);
                background.iter().for_each(|sid| ending.note(*sid));
                if polite {
                    process::signal_jobs(terminal.pid, Signal::TERM);
                    background.iter().for_each(|sid| process::signal_session(*sid, Signal::TERM));
                }
            }
            if polite || !terminal.has_process() {
                self.end_process(id);
            }
        }
        if !polite {
            self.meet_deadlines(Instant::now());
        }
    }

    pub(super) fn is_ending_slowly(&self) -> bool {
        self.ending.as_ref().is_some_and(|ending| !ending.hurried)
    }

    /// The daemon stops: processes that have not ended yet are killed now, as no daemon will do it later.
    pub(super) fn hurry(&mut self, now: Instant) {
        if let Some(ending) = &mut self.ending {
            ending.hurried = true;
            ending.deadline = now;
        }
        self.meet_deadlines(now);
    }
}

impl Session {
    /// Ends the processes that the programs of an ended session left behind in its terminals.
    pub async fn end_leftovers(&self, grace: Duration) {
        let pids = self.view().ptys.iter().map(|terminal| terminal.pid).collect::<Vec<_>>();
        let deadline = Instant::now() + grace;
        let left = || pids.iter().copied().filter(|sid| process::is_orphaned(*sid));
        left().for_each(|sid| process::signal_session(sid, Signal::TERM));
        while left().next().is_some() && Instant::now() < deadline {
            tokio::time::sleep(limits::LEFTOVERS_LOOK).await;
        }
        left().for_each(|sid| process::signal_session(sid, Signal::KILL));
    }
}

/// Sends SIGTERM. A process that ignores it, as interactive shells do, gets SIGHUP, as from a closing terminal.
pub(super) fn ask_to_end(keeper: &Keeper, terminal: &PtyState) {
    keeper.signal(terminal.pty.slot(), Signal::TERM.as_raw());
    if process::ignores_sigterm(terminal.pid) {
        keeper.signal(terminal.pty.slot(), Signal::HUP.as_raw());
    }
    keeper.signal(terminal.pty.slot(), Signal::CONT.as_raw());
}

/// Kills the remaining processes of terminal sessions at the deadline, or as soon as the daemon stops.
pub(super) async fn end_stragglers(ending: &SessionEnding, stopping: &CancellationToken) {
    if process::sessions_live(&ending.sids).await {
        tokio::select! {
            () = tokio::time::sleep_until(ending.deadline) => {}
            () = stopping.cancelled() => {}
        }
        for sid in &ending.sids {
            process::signal_session(*sid, Signal::KILL);
        }
    }
}
