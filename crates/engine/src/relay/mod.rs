//! Turns as objects: the newest of each session, one buffer that passes them on, and its sinks.
//!
//! A [`Relay`] is a handle to one table of turns. Sessions of ours are in it while they live; a session that a wrapper
//! runs is in it from [`Relay::enroll`] until its [`Enrolment`] is dropped. All operations are serialised by one short
//! lock and never wait; only the slow sinks ([`Relay::to_file`], [`Relay::to_clipboard`]) are asynchronous, and hold no
//! lock.
//!
//! Bytes live in a journal in shared memory (`turn_store.rs`), so turns of our sessions and the buffer survive a crash of
//! the daemon; an orderly stop drops it. `state.rs` is the state, `turn_ring.rs` the turns of one session.

mod error;
mod sinks;
mod state;
mod turn;
mod turn_ring;
mod turn_store;

pub use error::RelayError;
pub use turn::{BadTurnId, NewTurn, StoredTurn, TextSource, TurnDetails, TurnId, TurnInfo};

use crate::event::{EventHub, EventKind};
use crate::keeper::Keeper;
use crate::limits;
use crate::optional_state::OptionalState;
use crate::pty::{Pty, QueuedInput};
use crate::registry::{Registry, TurnSource, WrapperId};
use crate::session::{Session, SessionUid};
pub use sinks::ClipboardSink;
use sinks::ClipboardThreads;
use state::{RelayState, TurnOwner};
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use swb_types::PtyId;
use tokio_util::task::TaskTracker;
use turn_ring::KeptTurn;
use turn_store::TurnStore;

/// How many turns are kept, and how much of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnLimits {
    /// Turns per session (CR-2).
    pub depth: usize,
    /// Bytes per turn (CR-8).
    pub turn_bytes: usize,
    /// Bytes of all turns together.
    pub total_bytes: u64,
}

impl Default for TurnLimits {
    fn default() -> Self {
        Self { depth: limits::TURNS, turn_bytes: limits::TURN_BYTES, total_bytes: limits::TURN_MEMORY }
    }
}

/// Delivers input to a session that a wrapper runs.
pub trait Injector: Send + Sync {
    /// Queues `content` as input for the session, without waiting; `false` if it cannot be delivered. Called with the
    /// relay locked: it must not call the relay.
    fn inject(&self, content: &Arc<Vec<u8>>) -> bool;
}

/// A session in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelaySession {
    /// Its name.
    pub id: String,
    /// Its process id, 0 before the first process.
    pub pid: u32,
    /// Whether it has a completed turn.
    pub has_turn: bool,
    /// Its prompt pattern, if a wrapper runs it.
    pub pattern: Option<String>,
    /// Processes of the attached clients on this machine.
    pub client_pids: Vec<u32>,
}

/// The turn that was put into the buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedTurn {
    /// The turn.
    pub id: TurnId,
    /// Bytes in the buffer: those that are kept of the turn.
    pub size: u64,
}

/// A handle to the turns of all sessions; cheap to clone.
#[derive(Clone)]
pub struct Relay {
    shared: Arc<RelayShared>,
    /// Sessions hidden from this front are not found through this handle.
    label: Option<&'static str>,
}

struct RelayShared {
    state: Mutex<RelayState>,
    registry: Arc<Registry>,
    events: Arc<EventHub>,
    keeper: Option<Keeper>,
    clipboard_threads: ClipboardThreads,
    clipboard: Option<Arc<dyn ClipboardSink>>,
    /// Pastes that programs have not read yet.
    pastes: TaskTracker,
}

impl std::fmt::Debug for Relay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Relay").field("label", &self.label).finish_non_exhaustive()
    }
}

impl Relay {
    /// The relay of a daemon, with the turns that an earlier daemon left in `journal`. [`Relay::settle`] drops the turns
    /// of sessions that were not adopted.
    pub(crate) fn new(
        keeper: &Keeper,
        registry: Arc<Registry>,
        events: Arc<EventHub>,
        turn_limits: TurnLimits,
        journal: Option<OwnedFd>,
        clipboard: Option<Arc<dyn ClipboardSink>>,
    ) -> Self {
        let hold = |keeper: Keeper| move |memory: OwnedFd| keeper.hold_turns(memory);
        let restore = |journal| -> io::Result<RelayState> {
            let (store, entries) = TurnStore::reopen(journal, hold(keeper.clone()))?;
            let mut state = RelayState::new(store, turn_limits);
            state.restore(entries);
            Ok(state)
        };
        let restored = journal.and_then(|journal| keeper.adopt_state(OptionalState::Turns, journal, restore));
        let restored = restored.and_then(|restored| {
            restored
                .inspect_err(|error| tracing::warn!(%error, "cannot read the turns of the former daemon"))
                .ok()
        });
        let fresh = || RelayState::new(TurnStore::new(hold(keeper.clone())), turn_limits);
        let state = restored.unwrap_or_else(fresh);
        Self::with(state, registry, events, Some(keeper.clone()), clipboard)
    }

    /// A relay without a keeper and a clipboard: nothing of it survives the process. Fronts are tested with it.
    pub fn detached(turn_limits: TurnLimits) -> Self {
        let state = RelayState::new(TurnStore::new(drop), turn_limits);
        Self::with(state, Arc::default(), Arc::new(EventHub::new(None).0), None, None)
    }

    fn with(
        state: RelayState,
        registry: Arc<Registry>,
        events: Arc<EventHub>,
        keeper: Option<Keeper>,
        clipboard: Option<Arc<dyn ClipboardSink>>,
    ) -> Self {
        let shared = RelayShared {
            state: Mutex::new(state),
            registry,
            events,
            keeper,
            clipboard_threads: ClipboardThreads::default(),
            clipboard,
            pastes: TaskTracker::new(),
        };
        Self { shared: Arc::new(shared), label: None }
    }

    /// The same relay without the sessions that are hidden from the front of this label.
    pub fn seen_by(&self, label: &'static str) -> Self {
        Self { shared: Arc::clone(&self.shared), label: Some(label) }
    }

    fn state(&self) -> MutexGuard<'_, RelayState> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops the turns of sessions that do not live, once all sessions are adopted.
    pub(crate) fn settle(&self) {
        let live: Vec<SessionUid> = self.shared.registry.live().iter().map(Session::uid).collect();
        self.state().keep_native(|uid| live.contains(&uid));
    }

    /// Drops the turns of a session that has ended; its name must be free already.
    pub(crate) fn forget(&self, session: &Session) {
        self.state().forget_native(session.uid());
    }

    /// Drops everything that is held for the next daemon, for an orderly stop.
    pub(crate) fn clear(&self) {
        if let Some(keeper) = &self.shared.keeper {
            keeper.drop_turns();
        }
    }

    // ---- sessions ----

    /// Enrolls a session that a wrapper runs, until the result is dropped.
    pub fn enroll(
        &self,
        id: &str,
        pid: u32,
        pattern: &str,
        injector: Arc<dyn Injector>,
    ) -> Result<Enrolment, RelayError> {
        let mut state = self.state();
        if state.enrolled.len() >= limits::ENROLLED || id.len() > limits::ENROLLED_ID {
            return Err(RelayError::Limit("too many wrapped sessions, or the session's name is too long"));
        }
        let name = self.shared.registry.claim_for_wrapper(id).ok_or(RelayError::Taken)?;
        let wrapper = name.id();
        state.enter(name, pid, pattern, injector);
        Ok(Enrolment { relay: self.clone(), id: id.to_owned(), wrapper })
    }

    /// Removes a wrapper's session and its turns; returns whether there was one.
    pub fn withdraw(&self, id: &str) -> bool {
        let mut state = self.state();
        match self.shared.registry.turn_source(id) {
            Some(TurnSource::Wrapper(wrapper)) => state.enrolled.remove(&wrapper).is_some(),
            Some(TurnSource::Session(_)) | None => false,
        }
    }

    /// All sessions by name: ours, then those of wrappers.
    pub fn sessions(&self) -> Vec<RelaySession> {
        let state = self.state();
        let native = self.shared.registry.live().into_iter().filter(|session| self.sees(session));
        let native = native.map(|session| RelaySession {
            id: session.name().to_string(),
            pid: session.pty(PtyId::AGENT).map_or(0, |agent| agent.pid.unsigned_abs()),
            has_turn: state.ring(TurnOwner::Session(session.uid())).is_some_and(|ring| ring.len() > 0),
            pattern: None,
            client_pids: session.client_pids(),
        });
        let wrappers = self.shared.registry.wrappers().into_iter();
        let enrolled = wrappers.filter_map(|(id, wrapper)| Some((id, state.enrolled.get(&wrapper)?)));
        let enrolled = enrolled.map(|(id, entry)| RelaySession {
            id,
            pid: entry.pid,
            has_turn: entry.ring.len() > 0,
            pattern: Some(entry.pattern.clone()),
            client_pids: Vec::new(),
        });
        native.chain(enrolled).collect()
    }

    fn sees(&self, session: &Session) -> bool {
        self.label.is_none_or(|label| session.is_offered_to(label))
    }

    fn source(&self, id: &str) -> Result<TurnSource, RelayError> {
        match self.shared.registry.turn_source(id).ok_or(RelayError::NoSession)? {
            TurnSource::Session(session) if !self.sees(&session) => Err(RelayError::NoSession),
            source => Ok(source),
        }
    }

    fn owner(&self, id: &str) -> Result<TurnOwner, RelayError> {
        Ok(match self.source(id)? {
            TurnSource::Session(session) => TurnOwner::Session(session.uid()),
            TurnSource::Wrapper(wrapper) => TurnOwner::Wrapper(wrapper),
        })
    }

    // ---- turns ----

    /// Stores a turn of a session of ours, and emits an event.
    pub fn complete(&self, session: &Session, turn: NewTurn<'_>) -> Result<TurnId, RelayError> {
        let name = session.name();
        let id = {
            let mut state = self.state();
            // Its turns were dropped when it ended, so it must not get any after that.
            if !self.shared.registry.get(name.as_str()).is_some_and(|live| live.is(session)) {
                return Err(RelayError::NoSession);
            }
            state.complete(TurnOwner::Session(session.uid()), name.as_str(), turn, now())?
        };
        let kind = EventKind::TurnCompleted { pty: PtyId::AGENT, turn: id.clone() };
        self.shared.events.emit(session, kind);
        Ok(id)
    }

    /// Stores a turn of a session that a wrapper runs.
    pub fn complete_enrolled(&self, id: &str, turn: NewTurn<'_>) -> Result<TurnId, RelayError> {
        let mut state = self.state();
        match self.shared.registry.turn_source(id) {
            Some(TurnSource::Wrapper(wrapper)) => {
                state.complete(TurnOwner::Wrapper(wrapper), id, turn, now())
            }
            Some(TurnSource::Session(_)) | None => Err(RelayError::NoSession),
        }
    }

    /// The latest turn of a session.
    pub fn latest(&self, session: &str) -> Result<StoredTurn, RelayError> {
        self.latest_kept(&self.state(), session)?.read()
    }

    fn latest_kept(&self, state: &RelayState, session: &str) -> Result<KeptTurn, RelayError> {
        let latest = state.ring(self.owner(session)?).and_then(|ring| ring.latest());
        latest.cloned().ok_or(RelayError::NoTurn)
    }

    /// A turn by its id.
    pub fn turn(&self, id: &TurnId) -> Result<StoredTurn, RelayError> {
        self.kept(&self.state(), id)?.read()
    }

    fn kept(&self, state: &RelayState, id: &TurnId) -> Result<KeptTurn, RelayError> {
        // CR-11: also when the session is gone.
        let owner = self.owner(id.session()).map_err(|_| RelayError::NoSuchTurn)?;
        let found = state.ring(owner).and_then(|ring| ring.find(id.seq()));
        found.cloned().ok_or(RelayError::NoSuchTurn)
    }

    /// At most the `limit` newest turns of a session, newest first.
    pub fn turns(&self, session: &str, limit: Option<usize>) -> Result<Vec<TurnInfo>, RelayError> {
        let state = self.state();
        Ok(state.ring(self.owner(session)?).map(|ring| ring.list(limit)).unwrap_or_default())
    }

    // ---- the buffer ----

    /// Puts the latest turn of a session into the buffer.
    pub fn capture(&self, session: &str) -> Result<CapturedTurn, RelayError> {
        let mut state = self.state();
        let turn = self.latest_kept(&state, session)?;
        Ok(capture(&mut state, turn))
    }

    /// Puts a turn into the buffer.
    pub fn capture_by_id(&self, id: &TurnId) -> Result<CapturedTurn, RelayError> {
        let mut state = self.state();
        let turn = self.kept(&state, id)?;
        Ok(capture(&mut state, turn))
    }

    /// The turn in the buffer, which outlives its session (CR-16).
    pub fn relayed(&self) -> Result<StoredTurn, RelayError> {
        self.state().relayed().ok_or(RelayError::Empty)?.read()
    }

    /// Sends the buffer's bytes to a session as input: unchanged, and in order with all other input. They are queued when
    /// this returns, and may not be read yet.
    ///
    /// Must be called on the runtime on which terminals are served.
    pub fn paste(&self, session: &str) -> Result<(), RelayError> {
        let mut state = self.state();
        // CB-48: before looking for the session.
        let content =
            state.relayed().ok_or(RelayError::Empty)?.extent.content().map_err(RelayError::memory)?;
        self.give(&mut state, session, content)
    }

    /// Sends bytes to a session as input, as [`Relay::paste`] does with the buffer's.
    pub fn inject(&self, session: &str, content: Vec<u8>) -> Result<(), RelayError> {
        self.give(&mut self.state(), session, Arc::new(content))
    }

    fn give(&self, state: &mut RelayState, session: &str, content: Arc<Vec<u8>>) -> Result<(), RelayError> {
        match self.source(session)? {
            TurnSource::Wrapper(wrapper) => {
                let injector = state.enrolled.get(&wrapper).map(|entry| Arc::clone(&entry.injector));
                let taken = injector.is_some_and(|injector| injector.inject(&content));
                taken.then_some(()).ok_or(RelayError::Disconnected)
            }
            TurnSource::Session(session) => {
                let agent = session.pty(PtyId::AGENT).map_err(|_| RelayError::Disconnected)?;
                self.shared.queue_input(agent.pty, content, state.waiting(session.uid()))
            }
        }
    }

    /// Writes the buffer's bytes to a file; the path must be absolute (CR-23).
    pub async fn to_file(&self, path: PathBuf) -> Result<(), RelayError> {
        let content = self.relayed()?.content;
        if !path.is_absolute() {
            return Err(RelayError::File("the path is not absolute".to_owned()));
        }
        sinks::write_file(&path, content).await
    }

    /// Sets the clipboard to the buffer's bytes.
    pub async fn to_clipboard(&self) -> Result<(), RelayError> {
        let content = self.relayed()?.content;
        let clipboard = self.shared.clipboard.clone();
        let clipboard =
            clipboard.ok_or_else(|| RelayError::Clipboard("this daemon has no clipboard".to_owned()))?;
        self.shared
            .clipboard_threads
            .run(move || clipboard.set(&content).map_err(RelayError::Clipboard))
            .await
    }
}

impl RelayShared {
    /// Queues input for a terminal of ours; `waiting` counts the pasted bytes that its program has not read yet.
    fn queue_input(
        &self,
        pty: Arc<Pty>,
        content: Arc<Vec<u8>>,
        waiting: Arc<AtomicUsize>,
    ) -> Result<(), RelayError> {
        let len = content.len();
        let before = waiting.fetch_add(len, Ordering::Relaxed);
        let waiting = QueuedPaste(waiting, len);
        if before + len > limits::PASTES_WAITING {
            return Err(RelayError::Busy);
        }
        if content.is_empty() {
            return Ok(());
        }
        let mut input = QueuedInput::join(pty)?;
        let written = input.try_write(&content)?;
        if written < len {
            self.pastes.spawn(async move {
                let _waiting = waiting;
                let rest = content.get(written..).unwrap_or_default();
                // A program that ends meanwhile does not read the rest.
                let _delivered = input.write(rest).await;
            });
        }
        Ok(())
    }
}

/// Counts pasted bytes until the program has read them.
struct QueuedPaste(Arc<AtomicUsize>, usize);

impl Drop for QueuedPaste {
    fn drop(&mut self) {
        self.0.fetch_sub(self.1, Ordering::Relaxed);
    }
}

/// A wrapper's session; it is enrolled as long as this lives, unless it is withdrawn before.
#[derive(Debug)]
pub struct Enrolment {
    relay: Relay,
    id: String,
    wrapper: WrapperId,
}

impl Enrolment {
    /// The session's name.
    pub fn id(&self) -> &str {
        &self.id
    }
}

impl Drop for Enrolment {
    fn drop(&mut self) {
        self.relay.state().enrolled.remove(&self.wrapper);
    }
}

fn capture(state: &mut RelayState, turn: KeptTurn) -> CapturedTurn {
    let captured = CapturedTurn { id: turn.info.id.clone(), size: turn.extent.len() };
    state.relay(turn);
    captured
}

/// Unix milliseconds.
fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
