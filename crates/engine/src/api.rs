//! The [`Engine`] handle: the only way to create, find and end sessions.

use crate::endpoint::SessionEndpoint;
use crate::error::Error;
use crate::event::{ChatActivity, EventCursor, EventFollower, EventHub, EventKind, SessionEvent};
use crate::keeper::{AdoptedState, KEY_CHATS, KEY_EVENTS, KEY_RECORD, KEY_TURNS, Keeper};
use crate::limits;
use crate::optional_state::OptionalState;
use crate::registry::{Registry, SessionClaim};
use crate::relay::{ClipboardSink, Relay, TurnLimits};
use crate::screen::Screens;
use crate::session::{
    PtyRecord, Session, SessionAdoption, SessionContext, SessionTask, SessionUid, free_slots,
};
use crate::spec::SessionSpec;
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use swb_keeper::Spec;
use swb_turns::{Profile, Profiles};
use swb_types::{SessionName, SizePolicy};
use tokio::sync::{broadcast, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Options of an engine.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct EngineOptions {
    /// Socket of the keeper.
    pub keeper_socket: PathBuf,
    /// Bytes of output kept per PTY.
    pub ring: usize,
    /// Which of several windows decides the size of a terminal.
    pub size_policy: SizePolicy,
    /// Lines kept that scrolled off a screen.
    pub scrollback: usize,
    /// Whether screens are updated all the time. Otherwise a screen is drawn from the output in the ring when a client
    /// requests it, and queries of a program stay unanswered while no terminal is attached.
    pub follow: bool,
    /// Detection profiles; without them no turns are detected.
    pub profiles: Option<Arc<Profiles>>,
    /// How many turns are kept, and how much of each.
    pub turns: TurnLimits,
    /// Where captured turns are copied to on request; without one that fails.
    pub clipboard: Option<Arc<dyn ClipboardSink>>,
}

impl EngineOptions {
    /// The usual options with the keeper behind `keeper_socket`.
    pub fn new(keeper_socket: PathBuf) -> Self {
        Self {
            keeper_socket,
            ring: limits::RING,
            size_policy: SizePolicy::default(),
            scrollback: limits::SCROLLBACK,
            follow: true,
            profiles: None,
            turns: TurnLimits::default(),
            clipboard: None,
        }
    }
}

/// A cloneable handle to the engine.
#[derive(Clone)]
pub struct Engine {
    context: SessionContext,
    tasks: TaskTracker,
    fronts: Arc<Mutex<BTreeMap<u16, OwnedFd>>>,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("sessions", &self.count()).finish_non_exhaustive()
    }
}

impl Engine {
    /// Connects to the keeper and adopts all its sessions.
    pub async fn connect(
        options: EngineOptions,
        endpoints: Vec<Arc<dyn SessionEndpoint>>,
    ) -> Result<Self, Error> {
        let (keeper, mut left) = Keeper::connect(&options.keeper_socket).await?;
        let screens = Screens::start(swb_vt::Options { scrollback: options.scrollback }, options.follow);
        if let Some(hangs) = keeper.vitals().map(|vitals| vitals.hangs()).filter(|hangs| *hangs > 0) {
            tracing::warn!(hangs, "the keeper has replaced daemons that did not respond");
        }
        let adopted = left.global.remove(&KEY_EVENTS).and_then(|memory| {
            keeper.adopt_state(OptionalState::Events, memory, |memory| EventHub::new(Some(memory)))
        });
        let (events, log) = adopted.unwrap_or_else(|| EventHub::new(None));
        if let Some(log) = log {
            keeper.hold_events(log);
        }
        let (registry, events) = (Arc::default(), Arc::new(events));
        let journal = left.global.remove(&KEY_TURNS);
        let relay = Relay::new(
            &keeper,
            Arc::clone(&registry),
            Arc::clone(&events),
            options.turns,
            journal,
            options.clipboard,
        );
        let context = SessionContext {
            keeper: keeper.clone(),
            continues: left.global.contains_key(&Keeper::front_key(0)),
            profiles: options.profiles,
            screens: screens.map_err(|error| Error::Screens(error.to_string()))?,
            registry,
            events,
            relay,
            endpoints: endpoints.into(),
            ring: options.ring,
            size_policy: options.size_policy,
            endings: TaskTracker::new(),
            stopping: CancellationToken::new(),
        };
        let tasks = TaskTracker::new();
        tasks.spawn(keeper.clone().answer_doorbell());
        let engine = Self { context, tasks, fronts: Arc::default() };
        engine.adopt(left);
        engine.context.relay.settle();
        engine.tasks.spawn(keeper.serve());
        Ok(engine)
    }

    fn adopt(&self, left: AdoptedState) {
        let mut sessions: BTreeMap<SessionUid, SessionAdoption> = BTreeMap::new();
        for (slot, adopted) in left.slots {
            let record = adopted.held.get(&KEY_RECORD).map(PtyRecord::from_memfd);
            match record {
                Some(Ok(record)) => {
                    let uid = record.uid;
                    let adoption = sessions
                        .entry(uid)
                        .or_insert_with(|| SessionAdoption { uid, slots: BTreeMap::new() });
                    adoption.slots.insert(record.pty, (slot, record, adopted));
                }
                Some(Err(error)) => {
                    tracing::warn!(%slot, %error, "skipping session: unreadable record")
                }
                None => match OptionalState::in_slot(&adopted.held) {
                    Some(state) => self.context.keeper.note_aside(slot, state),
                    None => self.context.keeper.free_slot(slot),
                },
            }
        }
        for (_, adoption) in sessions {
            // With thousands of sessions this takes a while.
            self.context.keeper.beat();
            if let Some(task) = SessionTask::adopt(adoption, self.context.clone()) {
                self.tasks.spawn(Box::new(task).run(None));
            }
        }
        *self.fronts.lock().unwrap_or_else(PoisonError::into_inner) = left.global;
    }

    /// Creates a session. When this returns, its process runs (or waits for the first client) and its endpoints are
    /// open.
    pub async fn create(&self, spec: SessionSpec) -> Result<Session, Error> {
        let claim = if spec.unique { SessionClaim::Numbered } else { SessionClaim::Exact };
        self.create_as(claim, spec).await
    }

    /// Creates the session that a conversation is held with; both have the same name.
    pub async fn create_for_conversation(&self, spec: SessionSpec) -> Result<Session, Error> {
        self.create_as(SessionClaim::OfConversation, spec).await
    }

    async fn create_as(&self, claim: SessionClaim, mut spec: SessionSpec) -> Result<Session, Error> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let bound_to = spec.bind_workspace.then(|| spec.workspace.clone());
        let name = spec.name.clone();
        let mut made = None;
        self.context.make_room();
        let session = self.context.registry.insert(&name, claim, bound_to.as_deref(), |name| {
            let uid = SessionUid::created_at(now);
            if let Some(variable) = &spec.name_variable {
                spec.env.insert(variable.clone(), name.to_string());
            }
            let (session, task) = SessionTask::new(name, spec, uid, now.as_secs(), self.context.clone())?;
            made = Some(task);
            Ok(session)
        })?;
        let gone = || Error::Ended(session.name().clone());
        let task = made.ok_or_else(gone)?;
        if let Err(error) = task.open() {
            self.context.registry.remove(&session);
            return Err(error);
        }
        let (started, outcome) = oneshot::channel();
        self.tasks.spawn(Box::new(task).run(Some(started)));
        let outcome = outcome.await.map_err(|_| gone())?;
        if outcome.is_err() {
            // Its task ends it and frees everything else; the name is free now.
            self.context.registry.remove(&session);
        }
        outcome.map(|()| session)
    }

    /// A live session by name.
    pub fn find(&self, name: &str) -> Result<Session, Error> {
        self.context.registry.get(name).ok_or_else(|| Error::NoSession(name.to_owned()))
    }

    /// A live session by name, or the newest ended one that is still remembered.
    pub fn find_remembered(&self, name: &str) -> Result<Session, Error> {
        self.context.registry.get_remembered(name).ok_or_else(|| Error::NoSession(name.to_owned()))
    }

    /// The live session of a directory among those that are `offered`: the one bound to it, else the
    /// newest.
    pub fn of_workspace(&self, workspace: &Path, offered: impl Fn(&Session) -> bool) -> Option<Session> {
        self.context.registry.of_workspace(workspace, offered)
    }

    /// All live sessions by name.
    pub fn sessions(&self) -> Vec<Session> {
        self.context.registry.live()
    }

    /// Keeps the sizes of all terminals from here on: clients are about to be sent away.
    pub fn keep_sizes(&self) {
        for session in self.sessions() {
            session.view().ptys.iter().for_each(|view| view.pty.keep_size());
        }
    }

    /// Ended sessions that are still remembered, oldest first.
    pub fn remembered(&self) -> Vec<Session> {
        self.context.registry.ended()
    }

    /// Number of live sessions.
    pub fn count(&self) -> usize {
        self.context.registry.count()
    }

    /// Forgets the ended sessions for which `chosen` is true; returns their number.
    pub fn forget(&self, chosen: impl Fn(&Session) -> bool) -> usize {
        let gone = self.context.registry.forget(chosen);
        gone.iter().for_each(|session| free_slots(&self.context.keeper, session));
        gone.len()
    }

    /// Subscribes to events.
    pub fn subscribe(&self) -> broadcast::Receiver<SessionEvent> {
        self.context.events.subscribe()
    }

    /// The detection profiles, if turns are detected.
    pub fn profiles(&self) -> Option<&Profiles> {
        self.context.profiles.as_deref()
    }

    /// The detection profile of a session's agent, if turns are detected.
    pub fn profile_of(&self, session: &Session) -> Option<Arc<Profile>> {
        session.profile_in(self.profiles()?)
    }

    /// The relay: completed turns, and the buffer that passes them on.
    pub fn relay(&self) -> &Relay {
        &self.context.relay
    }

    /// Follows the events after `cursor`, or from now on without one.
    pub fn follow(&self, cursor: Option<EventCursor>) -> EventFollower {
        self.context.events.follow(cursor)
    }

    /// Emits an event about a conversation, which need not have a session.
    pub(crate) fn emit_conversation(&self, name: &SessionName, workspace: &Path, activity: ChatActivity) {
        self.context.events.log(name, workspace, EventKind::Conversation(activity));
    }

    pub(crate) fn keeper(&self) -> &Keeper {
        &self.context.keeper
    }

    /// The journal in which an earlier daemon left its conversations.
    pub(crate) fn take_chats(&self) -> Option<OwnedFd> {
        self.fronts.lock().unwrap_or_else(PoisonError::into_inner).remove(&KEY_CHATS)
    }

    pub(crate) fn registry(&self) -> &Arc<Registry> {
        &self.context.registry
    }

    /// Process id of the keeper.
    pub fn keeper_pid(&self) -> i32 {
        self.context.keeper.pid
    }

    /// How often the keeper has started a daemon.
    pub fn restarts(&self) -> u64 {
        self.context.keeper.restarts
    }

    /// Notes that all state is adopted and clients are accepted: a daemon that dies before this has failed to start.
    pub fn ready(&self) {
        if let Some(vitals) = self.context.keeper.vitals() {
            vitals.set_ready();
        }
        crate::sys::unmap_code();
    }

    /// Reports the number of open connections to the keeper, which replaces a daemon that hangs while clients wait.
    pub fn connection_reporter(&self) -> impl Fn(usize) + Send + Sync + 'static + use<> {
        let keeper = self.context.keeper.clone();
        move |connections| keeper.set_clients(connections)
    }

    /// State of earlier daemons that was left out because daemons died at their start or while they read it, as text for
    /// people.
    pub fn left_out(&self) -> Vec<String> {
        let text = |state: OptionalState| {
            format!(
                "left out {state}: the daemon died again and again, at its start or while it read it; the keeper holds the \
                 data until {}",
                if matches!(state, OptionalState::Screen(_)) { "the session ends" } else { "`swb shutdown`" },
            )
        };
        self.context.keeper.aside().into_iter().map(text).collect()
    }

    /// Whether this daemon replaces one that did not stop in order: that one left its first front with the keeper.
    pub fn continues(&self) -> bool {
        self.context.continues
    }

    /// Waits until the keeper is gone.
    pub async fn keeper_lost(&self) {
        self.context.keeper.lost.cancelled().await;
    }

    /// The listening socket that an earlier daemon's front `index` left.
    pub fn take_front(&self, index: u16) -> Option<OwnedFd> {
        self.fronts.lock().unwrap_or_else(PoisonError::into_inner).remove(&Keeper::front_key(index))
    }

    /// Leaves the listening socket of front `index` with the keeper, so that connects wait during a restart.
    pub fn keep_front(&self, index: u16, listener: OwnedFd) {
        self.context.keeper.hold_front(index, listener);
    }

    /// Takes the listening socket of front `index` back from the keeper.
    pub fn drop_front(&self, index: u16) {
        self.context.keeper.drop_front(index);
    }

    /// Stores with the keeper how to start the next daemon if this one dies.
    pub fn leave_successor(&self, spec: &Spec) -> std::io::Result<()> {
        self.context.keeper.leave_successor(spec)
    }

    /// Leaves the restart of a daemon that dies to the program that has started it.
    pub fn drop_successor(&self) {
        self.context.keeper.drop_successor();
    }

    /// Replaces the keeper's program under its running children.
    pub fn replace_keeper(&self, spec: &Spec) -> std::io::Result<()> {
        self.context.keeper.replace_keeper(spec)
    }

    /// Announces to the keeper that this process replaces its own program and reconnects.
    pub async fn hand_over(&self, limit: Duration) {
        self.context.keeper.hand_over(limit.as_millis() as u64);
        self.context.keeper.flush().await;
    }

    /// Stops in order: sessions live on in the keeper, endpoints close, and the keeper starts no other daemon.
    pub async fn shutdown(&self) {
        self.context.stopping.cancel();
        self.context.endings.close();
        // A process that does not end even when it is killed is left to the next daemon.
        let _ended = tokio::time::timeout(limits::ENDINGS, self.context.endings.wait()).await;
        self.forget(|_| true);
        for session in self.sessions() {
            for endpoint in self.context.endpoints.iter().filter(|e| session.is_offered_to(e.label())) {
                endpoint.close(&session);
            }
            session.leave_endpoints(&self.context);
        }
        // CB-57
        self.context.relay.clear();
        self.context.keeper.drop_aside();
        self.context.keeper.goodbye();
        self.context.keeper.flush().await;
    }
}
