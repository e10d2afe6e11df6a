//! Processes of a session: starting them, and what the keeper reports about them.

use super::ProcessPhase;
use super::ending::ask_to_end;
use super::pty_state::StartWaiter;
use super::task::SessionTask;
use crate::error::Error;
use crate::event::EventKind;
use crate::keeper::KeeperEvent;
use crate::pty::EndCause;
use rustix::process::Signal;
use std::sync::Arc;
use swb_keeper::{SlotId, Spec};
use swb_types::{ExitStatus, PtyId};
use tokio::time::Instant;

impl SessionTask {
    pub(super) fn handle_keeper_event(&mut self, slot: SlotId, event: KeeperEvent) {
        let Some(id) = self.terminals.values().find(|t| t.pty.slot() == slot).map(|t| t.pty.id()) else {
            return;
        };
        let Some(terminal) = self.terminals.get_mut(&id) else {
            return;
        };
        match event {
            KeeperEvent::Spawned { pid, ring, master } => {
                terminal.pid = pid;
                terminal.phase = ProcessPhase::Running;
                terminal.started = Some(Instant::now());
                if let Some(ring) = ring {
                    terminal.pty.opened(ring, master);
                }
                terminal.notify_starters(Ok(()));
                if let Some(ending) = &mut self.ending {
                    ending.note(pid);
                }
                if terminal.dismissed {
                    // It was dismissed while it started, when there may have been no process to signal.
                    ask_to_end(&self.context.keeper, terminal);
                }
                self.context.events.emit(&self.session, EventKind::Started(id));
            }
            KeeperEvent::SpawnFailed { reason, over } => {
                let command = terminal.argv.first().cloned().unwrap_or_default();
                terminal.failed = true;
                if terminal.starters.iter().any(|starter| matches!(starter, StartWaiter::First(_))) {
                    self.stillborn = true;
                    // The creator may use the name again at once, and then its endpoints must be free.
                    self.close_endpoints();
                }
                if let Ok(terminal) = self.terminal(id) {
                    terminal.notify_starters(Err(Error::CannotStart { command, reason }));
                }
                if over {
                    self.end_terminal(id, ExitStatus::NOT_STARTED);
                }
            }
            KeeperEvent::Exited { status } => {
                if id == PtyId::AGENT {
                    self.publish_turn_now();
                }
                self.process_ended(id, status);
            }
            KeeperEvent::KeeperLost => {
                terminal.dismissed = true;
                terminal.end_cause = EndCause::KeeperLost;
                // The kernel sends SIGHUP to children whose terminal closes.
                self.end_terminal(id, ExitStatus::Signal(Signal::HUP.as_raw()));
            }
        }
    }

    fn process_ended(&mut self, id: PtyId, status: ExitStatus) {
        let policy = self.spec().restart;
        let Some(terminal) = self.terminals.get_mut(&id) else {
            return;
        };
        terminal.kill_at = None;
        if terminal.failed {
            return self.end_terminal(id, ExitStatus::NOT_STARTED);
        }
        if std::mem::take(&mut terminal.restart_wanted) && self.ending.is_none() {
            terminal.pty.restarting(0);
            terminal.phase = ProcessPhase::Restarting;
            return self.start(id, None);
        }
        let ran = terminal.started.map(|started| started.elapsed());
        let is_agent = id == PtyId::AGENT && !terminal.dismissed && self.ending.is_none();
        let delay = policy.after_exit(ran, &mut terminal.short_runs).filter(|_| is_agent);
        match delay {
            Some(delay) => {
                terminal.phase = ProcessPhase::Restarting;
                terminal.restart_at = Some(Instant::now() + delay);
                terminal.pty.restarting(policy.delay_ms);
            }
            None => self.end_terminal(id, status),
        }
    }

    /// The process on a PTY has ended and will not restart.
    pub(super) fn end_terminal(&mut self, id: PtyId, status: ExitStatus) {
        let Some(terminal) = self.terminals.get_mut(&id) else {
            return;
        };
        if matches!(terminal.phase, ProcessPhase::Exited(_)) {
            return;
        }
        terminal.notify_starters(Err(Error::Ended(self.session.name().clone())));
        terminal.phase = ProcessPhase::Exited(status);
        terminal.restart_at = None;
        terminal.dismissed = true;
        terminal.pty.ended(status, terminal.end_cause);
        self.context.events.emit(&self.session, EventKind::Exited(id, status));
        if id == PtyId::AGENT {
            self.close_endpoints();
            // The next daemon must not restart it.
            self.store();
        } else if let Some(terminal) = self.terminals.remove(&id) {
            // A shell's entry goes with it; its readers still have the ring mapped.
            self.context.keeper.free_slot(terminal.pty.slot());
        }
    }

    pub(super) fn start_agent(&mut self, starter: Option<StartWaiter>) {
        self.start(PtyId::AGENT, starter);
    }

    pub(super) fn start(&mut self, id: PtyId, starter: Option<StartWaiter>) {
        let session = Arc::clone(self.spec());
        let ring = self.context.ring;
        let Some(terminal) = self.terminals.get_mut(&id) else {
            return;
        };
        terminal.starters.extend(starter);
        let shell_env = terminal.shell.as_ref().and_then(|shell| shell.env.as_ref());
        let env = shell_env.unwrap_or(&session.env);
        let spec = Spec {
            argv: terminal.argv.iter().map(Into::into).collect(),
            env: env.iter().map(|(key, value)| (key.into(), value.into())).collect(),
            dir: session.workspace.clone(),
            umask: session.umask,
        };
        terminal.failed = false;
        terminal.phase = ProcessPhase::Starting;
        let sent = self.context.keeper.spawn(terminal.pty.slot(), &spec, terminal.pty.size(), ring);
        let failure = match sent {
            Err(error) => Some(error.to_string()),
            Ok(()) if self.context.keeper.is_lost() => Some("the keeper has ended".to_owned()),
            Ok(()) => None,
        };
        if let Some(reason) = failure {
            self.handle_keeper_event(
                self.terminals[&id].pty.slot(),
                KeeperEvent::SpawnFailed { reason, over: true },
            );
        }
    }
}
