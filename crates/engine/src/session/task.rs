//! The task that owns a session: it alone decides what happens to its processes.
//!
//! It waits for commands from handles, events from the keeper and the detector, and deadlines. Handling one of these
//! never waits for a process, a client or the keeper, so a session that hangs blocks nothing else.

use super::ending::{SessionEnding, end_stragglers};
use super::pty_state::{PtyState, StartWaiter};
use super::record::{PtyRecord, RecordBody};
use super::transcript::{LookUp, LookedUp, NoText};
use super::{ProcessPhase, PtyView, ReplySender, Session, SessionCommand, SessionShared, SessionView};
use crate::endpoint::SessionEndpoint;
use crate::error::Error;
use crate::event::{EventHub, EventKind};
use crate::keeper::{KEY_RECORD, Keeper, KeeperEvent, SlotOwner};
use crate::pty::Pty;
use crate::registry::Registry;
use crate::relay::{NewTurn, Relay, TextSource, TurnDetails};
use crate::screen::{Checkpoint, Finding, ObserverStart, Screens, UnstoredTurn};
use crate::session::SessionUid;
use crate::spec::{SessionSpec, Start};
use crate::{limits, process};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use swb_keeper::SlotId;
use swb_turns::transcript::TranscriptPlace;
use swb_turns::{CompletedTurn, DetectorEvent, Profile, Profiles, Status};
use swb_types::{Offset, PtyId, SessionName, SizePolicy};
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
    pub(crate) events: Arc<EventHub>,
    pub(crate) relay: Relay,
    pub(crate) endpoints: Arc<[Arc<dyn SessionEndpoint>]>,
    pub(crate) ring: usize,
    pub(crate) size_policy: SizePolicy,
    /// Sessions that are being killed, until all their processes have ended.
    pub(crate) endings: TaskTracker,
    /// Cancelled when the daemon stops: sessions that are being killed get SIGKILL at once.
    pub(crate) stopping: CancellationToken,
}

pub(crate) struct SessionTask {
    pub(super) session: Session,
    pub(super) context: SessionContext,
    pub(super) view: watch::Sender<SessionView>,
    pub(super) commands: mpsc::Receiver<Box<SessionCommand>>,
    pub(super) keeper_events: mpsc::Receiver<Box<(SlotId, KeeperEvent)>>,
    pub(super) keeper_event_sender: mpsc::Sender<Box<(SlotId, KeeperEvent)>>,
    /// Findings of the detector about the agent.
    pub(super) findings: mpsc::Receiver<Box<Finding>>,
    pub(super) findings_sender: mpsc::Sender<Box<Finding>>,
    pub(super) status: Status,
    /// Turns that ended before this offset of the agent's output are stored already, or were dropped (CB-57); nothing if
    /// the turns of a former daemon are yet to be looked up.
    pub(super) turns_to: Option<Offset>,
    /// A completed turn whose text is being looked up.
    unpublished: Option<UnpublishedTurn>,
    /// Where its agent's session files are, once that was found out.
    transcripts: Option<Arc<TranscriptPlace>>,
    /// The files did not respond, and are not read until then.
    transcripts_avoided: Option<Instant>,
    /// Boxed, because a map has room for several from the start.
    pub(super) terminals: BTreeMap<PtyId, Box<PtyState>>,
    pub(super) next_pty: u32,
    pub(super) ending: Option<SessionEnding>,
    /// Its command could not be started, so its creator got an error and the session counts as never created.
    pub(super) stillborn: bool,
}

/// A completed turn whose text is being looked up in a file of its agent.
///
/// Findings that follow the turn wait in their queue until it is stored, so that a turn is stored and its event emitted
/// before the status and the prompt after it, and once only. The queue holds more than a program shows in that time; if it
/// were full, only the observer of this session would wait, for no longer than the look-up.
struct UnpublishedTurn {
    turn: CompletedTurn,
    look_up: Pin<Box<dyn Future<Output = LookedUp> + Send>>,
    _unstored: Option<UnstoredTurn>,
}

/// Waits for the text of a turn, if there is such a turn.
async fn looked_up(unpublished: &mut Option<UnpublishedTurn>) -> LookedUp {
    match unpublished {
        Some(unpublished) => unpublished.look_up.as_mut().await,
        None => std::future::pending().await,
    }
}

impl SessionTask {
    /// Creates a session that is not in the registry yet.
    pub(crate) fn new(
        name: SessionName,
        spec: SessionSpec,
        uid: SessionUid,
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
        uid: SessionUid,
        created: u64,
        context: SessionContext,
    ) -> Self {
        // A channel has room for 32 messages from the start, which are boxed so that an idle session has little of them.
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
            unpublished: None,
            transcripts: None,
            transcripts_avoided: None,
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

    pub(super) fn add_terminal(&mut self, terminal: PtyState) {
        let owner = SlotOwner { pty: Arc::clone(&terminal.pty), events: self.keeper_event_sender.clone() };
        self.context.keeper.own_slot(terminal.pty.slot(), owner);
        terminal.pty.set_size_policy(self.context.size_policy);
        self.terminals.insert(terminal.pty.id(), Box::new(terminal));
    }

    /// Runs the session; `first` gets the outcome of its first start. Boxed, because a future that owns a task has room for
    /// it twice.
    pub(crate) async fn run(mut self: Box<Self>, first: Option<ReplySender<()>>) {
        let opened = if first.is_some() { EventKind::Opened } else { EventKind::Found };
        self.context.events.emit(&self.session, opened);
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
                Some(event) = self.keeper_events.recv() => {
                    let (slot, event) = *event;
                    self.handle_keeper_event(slot, event);
                }
                Some(command) = self.commands.recv() => self.handle_command(*command),
                Some(finding) = self.findings.recv(), if self.unpublished.is_none() => self.note(*finding),
                found = looked_up(&mut self.unpublished) => self.publish_turn(found),
                () = sleep => self.meet_deadlines(Instant::now()),
                () = stopping.cancelled(), if self.is_ending_slowly() => self.hurry(Instant::now()),
            }
            self.publish();
        }
        self.finish().await;
    }

    pub(super) fn spec(&self) -> &Arc<SessionSpec> {
        &self.session.shared.spec
    }

    pub(super) fn agent_slot(&self) -> SlotId {
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

    async fn finish(mut self: Box<Self>) {
        self.close_endpoints();
        self.view.send_modify(|view| view.ended = true);
        self.context.events.emit(&self.session, EventKind::Closed);
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
        self.terminals.values().filter_map(|terminal| terminal.next_deadline()).chain(ending).min()
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
        let event = match finding.event {
            DetectorEvent::Status(status) => {
                self.status = status.clone();
                EventKind::Status(status)
            }
            DetectorEvent::TurnStarted { submit, .. } => EventKind::TurnStarted(submit),
            DetectorEvent::Dialog { offset } => EventKind::Asked(offset),
            DetectorEvent::TurnEnded(turn) => return self.complete(*turn, finding.unstored),
        };
        self.context.events.emit(&self.session, event);
    }

    /// Handles a completed turn of the agent. After a crash of the daemon it may be detected a second time.
    fn complete(&mut self, turn: CompletedTurn, unstored: Option<UnstoredTurn>) {
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
        let format = self.profile().and_then(|profile| profile.transcript());
        let avoided = self.transcripts_avoided.is_some_and(|until| Instant::now() < until);
        match format {
            None => self.store_turn(turn, Ok(None)),
            Some(_) if avoided => self.store_turn(turn, Err(NoText::NotResponding)),
            Some(_) if self.agent_is_over() => self.store_turn(turn, Err(NoText::Ended)),
            Some(format) => {
                let look_up = LookUp::new(self.spec(), format, self.transcripts.clone(), &turn).run();
                let look_up = Box::pin(look_up);
                self.unpublished = Some(UnpublishedTurn { turn, look_up, _unstored: unstored });
            }
        }
    }

    /// Stores the turn whose text was looked up.
    fn publish_turn(&mut self, found: LookedUp) {
        let Some(unpublished) = self.unpublished.take() else { return };
        self.transcripts = found.place;
        if found.text == Err(NoText::NotResponding) {
            self.transcripts_avoided = Some(Instant::now() + limits::TRANSCRIPT_AVOIDED);
        }
        self.store_turn(unpublished.turn, found.text.map(Some));
    }

    /// Stores the turn whose text is being looked up with what the screen showed, because the session may end now.
    pub(super) fn publish_turn_now(&mut self) {
        if let Some(unpublished) = self.unpublished.take() {
            self.store_turn(unpublished.turn, Err(NoText::Ended));
        }
    }

    /// Stores a turn, with the text that its agent has written down if there is one.
    fn store_turn(&mut self, turn: CompletedTurn, written: Result<Option<String>, NoText>) {
        let reason = written.as_ref().err().map(ToString::to_string);
        let (text, shown, source) = match written {
            Ok(Some(written)) => (written, Some(turn.text), TextSource::Transcript),
            Ok(None) | Err(_) => (turn.text, None, TextSource::Screen),
        };
        // What the session file has is not missing.
        let incomplete = turn.truncated && source == TextSource::Screen;
        let details = TurnDetails {
            text: Some(text),
            source,
            source_reason: reason,
            shown,
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
            incomplete,
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
}

impl SessionContext {
    /// Forgets ended sessions, the oldest first, until the limits of open files allow another terminal.
    pub(crate) fn make_room(&self) {
        while !self.keeper.has_room() {
            let Some(oldest) = self.registry.forget_oldest() else { return };
            free_slots(&self.keeper, &oldest);
        }
    }
}

/// Frees the slots of a session that is forgotten.
pub(crate) fn free_slots(keeper: &Keeper, session: &Session) {
    for view in session.view().ptys {
        keeper.free_slot(view.pty.slot());
    }
}
