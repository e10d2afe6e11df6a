//! The state behind the relay's lock: wrappers, the turns of all sessions, and the buffer.

use super::turn::{NewTurn, TurnId};
use super::turn_ring::{KeptTurn, TurnNote, TurnRing};
use super::turn_store::{Extent, TurnStore};
use super::{Injector, RelayError, TurnLimits};
use crate::limits;
use crate::registry::{WrapperId, WrapperName};
use crate::session::SessionUid;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

/// An entry of the journal.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum JournalNote {
    Turn(Box<TurnNote>),
    /// The entry at this place is in the relay buffer.
    Relay {
        at: u64,
    },
}

/// A session that a wrapper runs.
pub(super) struct EnrolledWrapper {
    /// Its name in the registry, which dropping this entry frees.
    pub(super) _name: WrapperName,
    pub(super) pid: u32,
    pub(super) pattern: String,
    pub(super) injector: Arc<dyn Injector>,
    pub(super) ring: TurnRing,
}

/// The turns of a session of ours.
#[derive(Debug, Default)]
struct SessionTurns {
    ring: TurnRing,
    /// Pasted bytes that its program has not read yet.
    waiting: Arc<AtomicUsize>,
}

/// The turn in the relay buffer.
#[derive(Debug)]
struct RelayBuffer {
    turn: KeptTurn,
    /// The journal entry by which the next daemon finds it.
    _entry: Option<Arc<Extent>>,
}

/// The owner of a ring of turns, by an id that is never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TurnOwner {
    /// The session of ours with this uid.
    Session(SessionUid),
    Wrapper(WrapperId),
}

pub(super) struct RelayState {
    /// First, so that it is dropped before what is in it: see its `drop`.
    store: TurnStore,
    turn_limits: TurnLimits,
    /// Sessions of ours by their uid, if they have turns or pastes.
    native: BTreeMap<SessionUid, SessionTurns>,
    pub(super) enrolled: BTreeMap<WrapperId, EnrolledWrapper>,
    buffer: Option<RelayBuffer>,
}

impl RelayState {
    pub(super) fn new(store: TurnStore, turn_limits: TurnLimits) -> Self {
        Self { store, turn_limits, native: BTreeMap::new(), enrolled: BTreeMap::new(), buffer: None }
    }

    /// Restores what an earlier daemon kept: the turns of its own sessions, and the buffer.
    pub(super) fn restore(&mut self, entries: Vec<Arc<Extent>>) {
        let mut turns = BTreeMap::new();
        let mut relayed = None;
        for extent in entries {
            let note = extent.note().ok().and_then(|note| serde_json::from_slice(&note).ok());
            match note {
                Some(JournalNote::Turn(note)) => {
                    let kept = KeptTurn { info: note.info(), extent: Arc::clone(&extent) };
                    turns.insert(extent.at(), (note.uid, kept));
                }
                // The latest entry wins.
                Some(JournalNote::Relay { at }) => relayed = Some((at, extent)),
                None => tracing::warn!("skipping an unreadable turn"),
            }
        }
        self.buffer = relayed.and_then(|(at, entry)| {
            let (_, turn) = turns.get(&at)?;
            Some(RelayBuffer { turn: turn.clone(), _entry: Some(entry) })
        });
        for (uid, turn) in turns.into_values().filter(|(uid, _)| *uid != SessionUid::NONE) {
            self.native.entry(uid).or_default().ring.push(turn, self.turn_limits.depth);
        }
    }

    /// Forgets the turns of all sessions of ours but those that are `live`.
    pub(super) fn keep_native(&mut self, live: impl Fn(SessionUid) -> bool) {
        self.native.retain(|uid, _| live(*uid));
    }

    /// Forgets the turns of a session of ours.
    pub(super) fn forget_native(&mut self, uid: SessionUid) {
        self.native.remove(&uid);
    }

    /// Counter of the pasted bytes that a session's program has not read yet.
    pub(super) fn waiting(&mut self, uid: SessionUid) -> Arc<AtomicUsize> {
        Arc::clone(&self.native.entry(uid).or_default().waiting)
    }

    /// Enters a session that a wrapper runs.
    pub(super) fn enter(&mut self, name: WrapperName, pid: u32, pattern: &str, injector: Arc<dyn Injector>) {
        let pattern = pattern.chars().take(limits::PATTERN).collect();
        let id = name.id();
        self.enrolled
            .insert(id, EnrolledWrapper { _name: name, pid, pattern, injector, ring: TurnRing::default() });
    }

    pub(super) fn ring(&self, owner: TurnOwner) -> Option<&TurnRing> {
        match owner {
            TurnOwner::Session(uid) => self.native.get(&uid).map(|native| &native.ring),
            TurnOwner::Wrapper(id) => self.enrolled.get(&id).map(|entry| &entry.ring),
        }
    }

    /// Stores a turn of the session that is called `name`.
    pub(super) fn complete(
        &mut self,
        owner: TurnOwner,
        name: &str,
        mut turn: NewTurn<'_>,
        now: u64,
    ) -> Result<TurnId, RelayError> {
        let byte_length = turn.byte_length.max(turn.content.len() as u64);
        let content = &turn.content[..turn.content.len().min(self.turn_limits.turn_bytes)];
        let mut incomplete = turn.incomplete;
        if let Some(text) = &mut turn.details.text {
            incomplete |= text.len() > self.turn_limits.turn_bytes;
            let mut end = text.len().min(self.turn_limits.turn_bytes);
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            text.truncate(end);
        }
        let note = TurnNote {
            session: name.to_owned(),
            uid: if let TurnOwner::Session(uid) = owner { uid } else { SessionUid::NONE },
            seq: self.ring(owner).map_or(1, TurnRing::next_seq),
            timestamp: if turn.timestamp == 0 { now } else { turn.timestamp },
            byte_length,
            interrupted: turn.interrupted,
            truncated: byte_length > content.len() as u64,
            incomplete,
            details: turn.details,
        };
        let info = note.info();
        let extent = self.put(&JournalNote::Turn(Box::new(note)), content)?;
        let depth = self.turn_limits.depth;
        let ring = match owner {
            TurnOwner::Session(uid) => &mut self.native.entry(uid).or_default().ring,
            TurnOwner::Wrapper(id) => match self.enrolled.get_mut(&id) {
                Some(entry) => &mut entry.ring,
                None => return Err(RelayError::NoSession),
            },
        };
        let id = info.id.clone();
        ring.push(KeptTurn { info, extent }, depth);
        self.make_room();
        Ok(id)
    }

    fn put(&mut self, note: &JournalNote, content: &[u8]) -> Result<Arc<Extent>, RelayError> {
        let note = serde_json::to_vec(note).map_err(|error| RelayError::memory(error.into()))?;
        self.store.put(&note, content).map_err(RelayError::memory)
    }

    /// Keeps all turns within their memory: the session that takes most loses its oldest turn first. The only turn of a
    /// session goes last, and of those the oldest.
    fn make_room(&mut self) {
        while self.store.live() > self.turn_limits.total_bytes {
            let enrolled = self.enrolled.values_mut().map(|entry| &mut entry.ring);
            let native = self.native.values_mut().map(|native| &mut native.ring);
            let rings = native.chain(enrolled).filter(|ring| ring.len() > 0);
            let victim = rings.max_by_key(|ring| match ring.latest() {
                Some(only) if ring.len() == 1 => (false, u64::MAX - only.extent.at()),
                _ => (true, ring.bytes()),
            });
            // What is left is in the buffer or in use, and bounded by that.
            if !victim.is_some_and(TurnRing::drop_oldest) {
                return;
            }
        }
    }

    /// Puts a turn into the relay buffer in place of what was there.
    pub(super) fn relay(&mut self, turn: KeptTurn) {
        let note = JournalNote::Relay { at: turn.extent.at() };
        // Without the entry only the next daemon lacks the buffer.
        let entry = self
            .put(&note, b"")
            .inspect_err(|error| tracing::warn!(%error, "cannot store the relay buffer for the next daemon"));
        self.buffer = Some(RelayBuffer { turn, _entry: entry.ok() });
    }

    /// The turn in the relay buffer.
    pub(super) fn relayed(&self) -> Option<&KeptTurn> {
        self.buffer.as_ref().map(|buffer| &buffer.turn)
    }
}
