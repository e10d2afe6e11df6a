//! Commands of handles to a session's task.

use super::ending::ask_to_end;
use super::pty_state::{PtyState, StartWaiter};
use super::task::SessionTask;
use super::{ProcessPhase, ReplySender, SessionCommand};
use crate::error::Error;
use crate::limits;
use crate::pty::{EndCause, Pty};
use crate::screen::ObserverStart;
use crate::spec::ShellSpec;
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::sync::Arc;
use swb_types::{ExitStatus, PtyId};
use tokio::time::Instant;

impl SessionTask {
    pub(super) fn handle_command(&mut self, command: SessionCommand) {
        match command {
            SessionCommand::Start { size, reply } => {
                let waits =
                    self.terminals.get(&PtyId::AGENT).is_some_and(|t| t.phase == ProcessPhase::Waiting);
                if waits {
                    if let (Some(size), Some(terminal)) = (size, self.terminals.get(&PtyId::AGENT)) {
                        terminal.pty.resize(size, false);
                    }
                    self.start_agent(None);
                }
                drop(reply.send(Ok(())));
            }
            SessionCommand::OpenShell { spec, reply } => self.open_shell(spec, reply),
            SessionCommand::Resize { pty, size, only_if_changed, reply } => {
                let outcome = self.terminal(pty).map(|terminal| {
                    terminal.restore_size_at = None;
                    terminal.pty.resize(size, !only_if_changed || terminal.pty.size() != size);
                });
                drop(reply.send(outcome));
            }
            SessionCommand::Nudge { pty } => self.nudge(pty),
            SessionCommand::Winch { pty, generation } => {
                if let Ok(terminal) = self.terminal(pty)
                    && terminal.pty.generation() == generation
                {
                    terminal.pty.winch();
                }
            }
            SessionCommand::Restart { pty, reply } => self.restart(pty, reply),
            SessionCommand::KillPty { pty, reply } => {
                let outcome = self.terminal(pty).map(|terminal| terminal.end_cause = EndCause::Kill);
                self.dismiss(pty);
                self.store();
                drop(reply.send(outcome));
            }
            SessionCommand::Kill { grace, done } => self.begin_ending(grace, Some(done)),
        }
    }

    pub(super) fn terminal(&mut self, id: PtyId) -> Result<&mut PtyState, Error> {
        let missing = || Error::NoPty { session: self.session.name().clone(), pty: id };
        self.terminals.get_mut(&id).map(AsMut::as_mut).ok_or_else(missing)
    }

    fn open_shell(&mut self, spec: ShellSpec, reply: ReplySender<Arc<Pty>>) {
        let refuse = |reply: ReplySender<Arc<Pty>>, error| drop(reply.send(Err(error)));
        if self.ending.is_some() {
            return refuse(reply, Error::Ended(self.session.name().clone()));
        }
        if self.terminals.len() >= limits::PTYS_PER_SESSION {
            return refuse(
                reply,
                Error::Limit("too many terminals in this session; close some of them first".into()),
            );
        }
        self.context.make_room();
        let slot = match self.context.keeper.reserve_slot() {
            Ok(slot) => slot,
            Err(error) => return refuse(reply, error),
        };
        let id = PtyId(self.next_pty);
        // Numbers are never reused, so that a late client cannot attach to another shell (CO-35).
        self.next_pty += 1;
        let (keeper, screens) = (self.context.keeper.clone(), &self.context.screens);
        let pty = Pty::new((id, slot, spec.size), keeper, screens, ObserverStart::default());
        let argv = spec.argv.clone();
        self.add_terminal(PtyState::new(pty, &argv, Some(spec), ProcessPhase::Waiting));
        self.store();
        self.start(id, Some(StartWaiter::Shell(reply)));
    }

    fn nudge(&mut self, id: PtyId) {
        let Ok(terminal) = self.terminal(id) else { return };
        if terminal.phase == ProcessPhase::Running
            && let Some(narrower) = terminal.pty.size().narrower()
        {
            terminal.pty.apply_size(narrower);
            terminal.restore_size_at = Some(Instant::now() + limits::NUDGE);
        }
    }

    fn restart(&mut self, id: PtyId, reply: ReplySender<i32>) {
        if self.ending.is_some() {
            return drop(reply.send(Err(Error::Ended(self.session.name().clone()))));
        }
        let terminal = match self.terminal(id) {
            Ok(terminal) => terminal,
            Err(error) => return drop(reply.send(Err(error))),
        };
        terminal.short_runs = 0;
        terminal.dismissed = false;
        terminal.end_cause = EndCause::Exit;
        match terminal.phase {
            ProcessPhase::Starting | ProcessPhase::Running => {
                terminal.restart_wanted = true;
                terminal.starters.push(StartWaiter::Restart(reply));
                self.end_process(id);
            }
            ProcessPhase::Waiting | ProcessPhase::Restarting => {
                terminal.restart_at = None;
                self.start(id, Some(StartWaiter::Restart(reply)));
            }
            ProcessPhase::Exited(_) => {
                // Its end is no longer the last mark, and its endpoints open again.
                terminal.pty.restarting(0);
                let _entered = self.enter(&mut BTreeMap::new(), false);
                self.start(id, Some(StartWaiter::Restart(reply)));
            }
        }
        self.store();
    }

    /// Ends the process on a PTY for good.
    pub(super) fn dismiss(&mut self, id: PtyId) {
        if let Ok(terminal) = self.terminal(id) {
            terminal.dismissed = true;
            self.end_process(id);
        }
    }

    /// Sends SIGTERM to the process on a PTY, and SIGKILL if it has not ended by the deadline.
    pub(super) fn end_process(&mut self, id: PtyId) {
        let Some(terminal) = self.terminals.get_mut(&id) else {
            return;
        };
        match terminal.phase {
            ProcessPhase::Starting | ProcessPhase::Running => {
                terminal.kill_at = Some(Instant::now() + limits::KILL_GRACE);
                ask_to_end(&self.context.keeper, terminal);
            }
            ProcessPhase::Waiting | ProcessPhase::Restarting => {
                self.end_terminal(id, ExitStatus::Signal(Signal::TERM.as_raw()))
            }
            ProcessPhase::Exited(_) => {}
        }
    }
}
