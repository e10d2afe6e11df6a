//! The newest turns of one session.

use super::turn::{TurnDetails, TurnId, TurnInfo};
use super::turn_store::Extent;
use super::{RelayError, StoredTurn};
use crate::session::SessionUid;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::Arc;

/// The journal's note about a turn, beside its bytes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct TurnNote {
    pub(super) session: String,
    /// The uid of its session; `NONE` for a wrapper's, which no later daemon can adopt.
    pub(super) uid: SessionUid,
    pub(super) seq: u64,
    pub(super) timestamp: u64,
    pub(super) byte_length: u64,
    pub(super) interrupted: bool,
    pub(super) truncated: bool,
    #[serde(default)]
    pub(super) incomplete: bool,
    #[serde(default)]
    pub(super) details: TurnDetails,
}

impl TurnNote {
    pub(super) fn info(&self) -> TurnInfo {
        TurnInfo {
            id: TurnId::new(&self.session, self.seq),
            timestamp: self.timestamp,
            byte_length: self.byte_length,
            interrupted: self.interrupted,
            truncated: self.truncated,
            incomplete: self.incomplete,
            source: self.details.source,
        }
    }
}

/// A kept turn: its info here, its bytes and details in the store.
#[derive(Debug, Clone)]
pub(super) struct KeptTurn {
    pub(super) info: TurnInfo,
    pub(super) extent: Arc<Extent>,
}

impl KeptTurn {
    /// Reads its bytes and details.
    pub(super) fn read(&self) -> Result<StoredTurn, RelayError> {
        let content = self.extent.content().map_err(RelayError::memory)?;
        let note = self.extent.note().map_err(RelayError::memory)?;
        let details = match serde_json::from_slice(&note) {
            Ok(super::state::JournalNote::Turn(note)) => note.details,
            _ => TurnDetails::default(),
        };
        Ok(StoredTurn { info: self.info.clone(), content, details })
    }
}

/// The newest turns of one session, oldest first. A new one pushes the oldest out (CR-2, CR-3).
#[derive(Debug)]
pub(super) struct TurnRing {
    turns: VecDeque<KeptTurn>,
    next: u64,
    bytes: u64,
}

impl Default for TurnRing {
    fn default() -> Self {
        Self { turns: VecDeque::new(), next: 1, bytes: 0 }
    }
}

impl TurnRing {
    /// The number of the next turn (CR-4).
    pub(super) fn next_seq(&self) -> u64 {
        self.next
    }

    /// Adds a turn and keeps the `depth` newest.
    pub(super) fn push(&mut self, turn: KeptTurn, depth: usize) {
        let seq = turn.info.id.seq();
        self.bytes += turn.extent.pages();
        // Turns come in order, except when those of an earlier daemon are read back in the order of the memory.
        let place = self.turns.partition_point(|kept| kept.info.id.seq() <= seq);
        self.turns.insert(place, turn);
        self.next = self.next.max(seq + 1);
        while self.turns.len() > depth.max(1) {
            self.drop_oldest();
        }
    }

    /// Forgets the oldest turn; returns whether there was one.
    pub(super) fn drop_oldest(&mut self) -> bool {
        let oldest = self.turns.pop_front();
        self.bytes -= oldest.as_ref().map_or(0, |oldest| oldest.extent.pages());
        oldest.is_some()
    }

    /// Memory its turns take.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn len(&self) -> usize {
        self.turns.len()
    }

    pub(super) fn latest(&self) -> Option<&KeptTurn> {
        self.turns.back()
    }

    pub(super) fn find(&self, seq: u64) -> Option<&KeptTurn> {
        self.turns.iter().rev().find(|kept| kept.info.id.seq() == seq)
    }

    /// At most the `limit` newest, newest first (CR-12, CR-13).
    pub(super) fn list(&self, limit: Option<usize>) -> Vec<TurnInfo> {
        let newest = self.turns.iter().rev().take(limit.unwrap_or(usize::MAX));
        newest.map(|kept| kept.info.clone()).collect()
    }
}
