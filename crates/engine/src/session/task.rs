//! The task that owns a session: it alone decides what happens to its processes.
//!
//! It waits for commands from handles, events from the keeper and the detector, and deadlines. Handling one of these
//! never waits for a process, a client or the keeper, so a session that hangs blocks nothing else.

use super::ending::{SessionEnding, ask_to_end, end_stragglers};
use super::pty_state::{PtyState, StartWaiter};
use super::record::{PtyRecord, RecordBody};
use super::{ProcessPhase, PtyView, ReplySender, Session, SessionCommand, SessionShared, SessionView};
use crate::endpoint::SessionEndpoint;
use crate::error::Error;
use crate::event::{EventKind, Events};
use crate::keeper::{KEY_ENDPOINT, KEY_RECORD, Keeper, KeeperEvent, SlotOwner};
use crate::limits;
use crate::process;
use crate::pty::Pty;
use crate::registry::Registry;
use crate::relay::{NewTurn, Relay, TurnDetails};
use crate::screen::{Checkpoint, ObserverStart, Screens};
use crate::spec::{SessionSpec, ShellSpec, Start};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use swb_keeper::{SlotId, Spec};
use swb_turns::{Event as Finding, Profile, Profiles, Status, Turn};
use swb_types::{ExitStatus, Offset, PtyId, SessionName};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// What the tasks of all sessions share.
#[derive(Clone)]
pub(crate) struct SessionContext {
    pub(crate) keeper: Keeper,
    pub(crate) screens: Screens,
    /// This daemon replaces one that did not stop in order, and continues with its turns.
    pub(crate) continues: bool,
    /// Detection profiles, if turns are detected.
    pub(crate) profiles: Option<Arc<Profiles>>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) events: Arc<Events>,
    pub(crate) relay: Relay,
    pub(crate) endpoints: Arc<[Arc<dyn SessionEndpoint>]>,
    pub(crate) ring: usize,
    /// Sessions that are being killed, until all their processes have ended.
    pub(crate) endings: TaskTracker,
    /// Cancelled when the daemon stops: sessions that are being killed get SIGKILL at once.
    pub(crate) stopping: CancellationToken,
}

pub(crate) struct SessionTask {
    pub(super) session: Session,
    pub(super) context: SessionContext,
    pub(super) view: watch::Sender<SessionView>,
    pub(super) commands: mpsc::Receiver<SessionCommand>,
    pub(super) keeper_events: mpsc::Receiver<(SlotId, KeeperEvent)>,
    pub(super) keeper_event_sender: mpsc::Sender<(SlotId, KeeperEvent)>,
    /// Findings of the detector about the agent.
    pub(super) findings: mpsc::Receiver<Finding>,
    pub(super) findings_sender: mpsc::Sender<Finding>,
    pub(super) status: Status,
    /// Turns that ended before this offset of the agent's output are stored already, or were dropped (CB-57); nothing if
    /// the turns of a former daemon are yet to be looked up.
    pub(super) turns_to: Option<Offset>,
    pub(super) terminals: BTreeMap<PtyId, PtyState>,
    pub(super) next_pty: u32,
    pub(super) ending: Option<SessionEnding>,
    /// Its command could not be started, so its creator got an error and the session counts as never created.
    pub(super) stillborn: bool,
}

impl SessionTask {
    /// Creates a session that is not in the registry yet.
    pub(crate) fn new(
        name: SessionName,
        spec: SessionSpec,
        uid: u64,
        created: u64,
        context: SessionContext,
    ) -> Result<(Session, Self), Error> {
        let slot = context.keeper.reserve_slot()?;
        let spec = Arc::new(SessionSpec { name: name.clone(), ..spec });
        let mut task = Self::bare(name, Arc::clone(&spec), uid, created, context);
        let known = task.known(None);
        let (keeper, screens) = (task.context.keeper.clone(), &task.context.screens);
        let pty = Pty::new((PtyId::AGENT, slot, spec.size), keeper, screens, known);
        task.add_terminal(PtyState::new(pty, &spec.argv, None, ProcessPhase::Waiting));
        task.publish();
        Ok((task.session.clone(), task))
    }

    pub(super) fn bare(
        name: SessionName,
        spec: Arc<SessionSpec>,
        uid: u64,
        created: u64,
        context: SessionContext,
    ) -> Self {
        let (command_sender, commands) = mpsc::channel(limits::COMMANDS);
        let (keeper_event_sender, keeper_events) = mpsc::channel(limits::KEEPER_EVENTS);
        let (findings_sender, findings) = mpsc::channel(limits::FINDINGS);
        let view = watch::Sender::new(SessionView::default());
        let shared = SessionShared {
            name,
            uid,
            spec,
            created,
            commands: command_sender,
            view: view.subscribe(),
            clients: Mutex::default(),
            typing: tokio::sync::Mutex::default(),
            asking: tokio::sync::Mutex::default(),
        };
        Self {
            session: Session { shared: Arc::new(shared) },
            context,
            view,
            commands,
            keeper_events,
            keeper_event_sender,
            findings,
            findings_sender,
            status: Status::default(),
            turns_to: Some(Offset::START),
            terminals: BTreeMap::new(),
            next_pty: 1,
            ending: None,
            stillborn: false,
        }
    }

    /// Starting state of PTY 0's observer: turns are detected for the agent only, not for shells.
    pub(super) fn known(&self, checkpoint: Option<Checkpoint>) -> ObserverStart {
        let follow_turns = self.profile().map(|profile| (profile, self.findings_sender.clone()));
        ObserverStart { checkpoint, follow_turns }
    }

    /// Opens the endpoints and stores the session's record with the keeper. `kept` has the descriptors that an earlier
    /// daemon left; without `strict` an endpoint that cannot be opened is only logged, as the session exists anyway.
    pub(super) fn enter(&self, kept: &mut BTreeMap<u16, OwnedFd>, strict: bool) -> Result<(), Error> {
        let slot = self.agent_slot();
        // First, so that the next daemon finds and removes what is opened here if this one dies.
        self.store();
        let required = |label: &str| strict && self.spec().required.iter().any(|required| required == label);
        for (index, endpoint) in self.context.endpoints.iter().enumerate() {
            let label = endpoint.label();
            if !self.session.is_offered_to(label) {
                continue;
            }
            let key = KEY_ENDPOINT + index as u16;
            match endpoint.open(&self.session, kept.remove(&key)) {
                Ok(fd) => self.context.keeper.hold(slot, key, fd),
                Err(reason) if required(label) => {
                    self.close_endpoints();
                    return Err(Error::Endpoint(reason));
                }
                Err(reason) => {
                    tracing::warn!(session = %self.session.name(), front = label, reason, "cannot open its endpoint");
                }
            }
        }
        Ok(())
    }

    /// Removes the endpoints that an earlier daemon left of a session that has ended.
    pub(super) fn clear_endpoints(&self, slot: SlotId, kept: &mut BTreeMap<u16, OwnedFd>) {
        for (index, endpoint) in self.context.endpoints.iter().enumerate() {
            if self.session.is_offered_to(endpoint.label()) {
                let key = KEY_ENDPOINT + index as u16;
                endpoint.clear(&self.session, kept.remove(&key));
                self.context.keeper.drop_held(slot, key);
            }
        }
    }

    pub(super) fn add_terminal(&mut self, terminal: PtyState) {
        let owner = SlotOwner { pty: Arc::clone(&terminal.pty), events: self.keeper_event_sender.clone() };
        self.context.keeper.own_slot(terminal.pty.slot(), owner);
        self.terminals.insert(terminal.pty.id(), terminal);
    }

    /// Opens the endpoints of a new session; fails if a required one cannot be opened.
    pub(crate) fn open(&self) -> Result<(), Error> {
        let offered = |label: &String| {
            self.session.is_offered_to(label)
                && self.context.endpoints.iter().any(|endpoint| endpoint.label() == label)
        };
        let missing = self.spec().required.iter().find(|label| !offered(label));
        let outcome = match missing {
            Some(label) => Err(Error::Endpoint(format!("the {label} front is not offered by this daemon"))),
            None => self.enter(&mut BTreeMap::new(), true),
        };
        outcome.inspect_err(|_| self.context.keeper.free_slot(self.agent_slot()))
    }

    /// Runs the session; `first` gets the outcome of its first start.
    pub(crate) async fn run(mut self, first: Option<ReplySender<()>>) {
        let opened = if first.is_some() { EventKind::Opened } else { EventKind::Found };
        self.context.events.emit(self.session.name(), opened);
        if let Some(first) = first {
            match self.spec().start {
                Start::Now => self.start_agent(Some(StartWaiter::First(first))),
                Start::FirstClient => drop(first.send(Ok(()))),
            }
        }
        let stopping = self.context.stopping.clone();
        while !self.is_over() {
            let deadline = self.next_deadline();
            let sleep = async {
                match deadline {
                    Some(deadline) => tokio::time::sleep_until(deadline).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                Some((slot, event)) = self.keeper_events.recv() => self.handle_keeper_event(slot, event),
                Some(command) = self.commands.recv() => self.obey(command),
                Some(finding) = self.findings.recv() => self.note(finding),
                () = sleep => self.meet_deadlines(Instant::now()),
                () = stopping.cancelled(), if self.is_ending_slowly() => self.hurry(Instant::now()),
            }
            self.publish();
        }
        self.finish().await;
    }

    fn spec(&self) -> &Arc<SessionSpec> {
        &self.session.shared.spec
    }

    fn agent_slot(&self) -> SlotId {
        self.terminals.get(&PtyId::AGENT).map_or(SlotId::GLOBAL, |terminal| terminal.pty.slot())
    }

    /// PTY 0 has no process and will get none; shells may still run.
    pub(super) fn agent_is_over(&self) -> bool {
        self.terminals.get(&PtyId::AGENT).is_none_or(|agent| matches!(agent.phase, ProcessPhase::Exited(_)))
    }

    /// No PTY has a process, and none will get one.
    fn is_over(&self) -> bool {
        self.terminals.values().all(|terminal| matches!(terminal.phase, ProcessPhase::Exited(_)))
    }

    async fn finish(mut self) {
        self.close_endpoints();
        self.view.send_modify(|view| view.ended = true);
        self.context.events.emit(self.session.name(), EventKind::Closed);
        self.context.registry.remove(&self.session);
        self.context.relay.forget(&self.session);
        match self.ending.take() {
            None if self.stillborn => free_slots(&self.context.keeper, &self.session),
            None => {
                for forgotten in self.context.registry.remember(&self.session) {
                    free_slots(&self.context.keeper, &forgotten);
                }
            }
            Some(mut ending) => {
                free_slots(&self.context.keeper, &self.session);
                for waiting in ending.waiting.drain(..) {
                    // The caller may be gone.
                    let _told = waiting.send(());
                }
                end_stragglers(&ending, &self.context.stopping).await;
            }
        }
    }

    pub(super) fn close_endpoints(&self) {
        for (index, endpoint) in self.context.endpoints.iter().enumerate() {
            if self.session.is_offered_to(endpoint.label()) {
                endpoint.close(&self.session);
                self.context.keeper.drop_held(self.agent_slot(), KEY_ENDPOINT + index as u16);
            }
        }
    }

    pub(super) fn publish(&self) {
        let ptys = self.terminals.values().map(|terminal| PtyView {
            pty: Arc::clone(&terminal.pty),
            argv: Arc::clone(&terminal.argv),
            pid: terminal.pid,
            phase: terminal.phase,
        });
        let ptys = ptys.collect();
        self.view.send_modify(|view| {
            view.ptys = ptys;
            view.status.clone_from(&self.status);
        });
    }

    /// Stores the records of the session and its shells with the keeper.
    pub(super) fn store(&self) {
        for terminal in self.terminals.values() {
            let body = match &terminal.shell {
                Some(spec) => RecordBody::Shell { spec: spec.clone() },
                None => RecordBody::Session {
                    spec: Arc::clone(self.spec()),
                    created: self.session.created(),
                    next_pty: self.next_pty,
                    ending: self.ending.is_some(),
                },
            };
            let (uid, pty) = (self.session.shared.uid, terminal.pty.id());
            match PtyRecord::new(uid, pty, terminal.dismissed, body).to_memfd() {
                Ok(record) => self.context.keeper.hold(terminal.pty.slot(), KEY_RECORD, record),
                Err(error) => {
                    tracing::error!(session = %self.session.name(), %error, "cannot store the session's record")
                }
            }
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        let ending = self.ending.as_ref().map(|ending| ending.deadline);
        self.terminals.values().filter_map(PtyState::next_deadline).chain(ending).min()
    }

    pub(super) fn meet_deadlines(&mut self, now: Instant) {
        let due = |at: &mut Option<Instant>| at.is_some_and(|at| at <= now).then(|| *at = None).is_some();
        let mut restarts = Vec::new();
        for (id, terminal) in &mut self.terminals {
            if due(&mut terminal.restore_size_at) {
                terminal.pty.apply_size(terminal.pty.size());
            }
            if due(&mut terminal.kill_at) && terminal.has_process() {
                self.context.keeper.signal(terminal.pty.slot(), Signal::KILL.as_raw());
            }
            if due(&mut terminal.restart_at) {
                restarts.push(*id);
            }
        }
        for id in restarts {
            self.start(id, None);
        }
        if let Some(ending) = &mut self.ending
            && ending.deadline <= now
        {
            // Again if the process still lives, which happens only while it is blocked in the kernel.
            ending.deadline = now + limits::KILL_GRACE;
            for sid in &ending.sids {
                process::signal_session(*sid, Signal::KILL);
            }
            for terminal in self.terminals.values().filter(|terminal| terminal.has_process()) {
                self.context.keeper.signal(terminal.pty.slot(), Signal::KILL.as_raw());
            }
        }
    }

    /// Handles a finding of the detector about the agent.
    fn note(&mut self, finding: Finding) {
        let event = match finding {
            Finding::Status(status) => {
                self.status = status.clone();
                EventKind::Status(status)
            }
            Finding::TurnStarted { submit, .. } => EventKind::TurnStarted(submit),
            Finding::Dialog { offset } => EventKind::Asked(offset),
            Finding::TurnEnded(turn) => return self.complete(*turn),
        };
        self.context.events.emit(self.session.name(), event);
    }

    /// Stores a turn of the agent. After a crash of the daemon it may be detected a second time.
    fn complete(&mut self, turn: Turn) {
        let relay = &self.context.relay;
        let known = self.turns_to.get_or_insert_with(|| {
            relay
                .latest(self.session.name().as_str())
                .ok()
                .and_then(|latest| latest.details.end)
                .unwrap_or(Offset::START)
        });
        if turn.end <= *known {
            return;
        }
        *known = turn.end;
        let details = TurnDetails {
            text: Some(turn.text),
            submit: Some(turn.submit),
            start: Some(turn.start),
            end: Some(turn.end),
            submitted_at: Some(turn.submitted_at.millis()),
            dialogs: turn.dialogs,
            profile: self.profile().map(|profile| profile.name().to_owned()),
            signal: Some(turn.signal.name().to_owned()),
            evidence: self.status.evidence.iter().map(|evidence| evidence.detail.clone()).collect(),
        };
        let turn = NewTurn {
            content: turn.raw.into(),
            byte_length: turn.byte_length,
            interrupted: turn.interrupted,
            timestamp: turn.ended_at.millis(),
            details,
        };
        if let Err(error) = self.context.relay.complete(&self.session, turn) {
            tracing::warn!(session = %self.session.name(), %error, "cannot store a turn");
        }
    }

    /// The agent's detection profile, if turns are detected.
    fn profile(&self) -> Option<Arc<Profile>> {
        self.spec().profile_in(self.context.profiles.as_deref()?)
    }

    // ---- commands ----

    fn obey(&mut self, command: SessionCommand) {
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
                let outcome = self.terminal(pty).map(drop);
                self.dismiss(pty);
                self.store();
                drop(reply.send(outcome));
            }
            SessionCommand::Kill { grace, done } => self.begin_ending(grace, Some(done)),
        }
    }

    fn terminal(&mut self, id: PtyId) -> Result<&mut PtyState, Error> {
        let missing = || Error::NoPty { session: self.session.name().clone(), pty: id };
        self.terminals.get_mut(&id).ok_or_else(missing)
    }

    fn open_shell(&mut self, spec: ShellSpec, reply: ReplySender<Arc<Pty>>) {
        let refuse = |reply: ReplySender<Arc<Pty>>, error| drop(reply.send(Err(error)));
        if self.ending.is_some() {
            return refuse(reply, Error::Ended(self.session.name().clone()));
        }
        if self.terminals.len() >= limits::PTYS_PER_SESSION {
            return refuse(
                reply,
                Error::Limit("too many terminals in this session; close some of them first"),
            );
        }
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

    // ---- events from the keeper ----

    fn handle_keeper_event(&mut self, slot: SlotId, event: KeeperEvent) {
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
                self.context.events.emit(self.session.name(), EventKind::Started(id));
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
            KeeperEvent::Exited { status } => self.process_ended(id, status),
            KeeperEvent::KeeperLost => {
                terminal.dismissed = true;
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

    /// The process on a PTY is gone for good.
    fn end_terminal(&mut self, id: PtyId, status: ExitStatus) {
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
        terminal.pty.ended(status);
        self.context.events.emit(self.session.name(), EventKind::Exited(id, status));
        if id == PtyId::AGENT {
            self.close_endpoints();
            // The next daemon must not restart it.
            self.store();
        } else if let Some(terminal) = self.terminals.remove(&id) {
            // A shell's entry goes with it; its readers still have the ring mapped.
            self.context.keeper.free_slot(terminal.pty.slot());
        }
    }

    fn start_agent(&mut self, starter: Option<StartWaiter>) {
        self.start(PtyId::AGENT, starter);
    }

    fn start(&mut self, id: PtyId, starter: Option<StartWaiter>) {
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

/// Frees the slots of a session that is forgotten.
pub(crate) fn free_slots(keeper: &Keeper, session: &Session) {
    for view in session.view().ptys {
        keeper.free_slot(view.pty.slot());
    }
}
