//! Pacing: output is lossless for readers that keep reading, and never waits for one that does not.
//!
//! Each cursor publishes its position. The keeper's gate is half a ring after the slowest live reader, or most of a ring
//! for a reader that copies; output does not wait for a reader that fell off the ring until it has caught up once. How
//! long the keeper respects a gate is its own decision (`swb_keeper::Doorbell`).

use super::OutputRing;
use crate::limits;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use swb_types::Offset;

/// The position of one reader.
#[derive(Debug)]
pub(super) struct ReaderPosition {
    /// How far behind the newest output it may be.
    reach: Reach,
    offset: AtomicU64,
    lagging: AtomicBool,
}

/// How much of the ring may lie between a reader and the newest output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Half, so that bytes can be sent from the ring without being overwritten meanwhile.
    Half,
    /// Nearly all: for a reader that copies bytes before it uses them.
    Most,
}

impl Reach {
    fn bytes(self, keep: u64) -> u64 {
        match self {
            Self::Half => keep / 2,
            Self::Most => keep - keep / 8,
        }
    }
}

impl ReaderPosition {
    /// Notes progress; returns whether the gate must be computed again.
    pub(super) fn advance(&self, to: Offset) -> bool {
        let from = self.offset.swap(to.0, Ordering::Relaxed);
        from >> limits::GATE_STEP_BITS != to.0 >> limits::GATE_STEP_BITS
    }

    /// Notes that the reader fell off the ring, or has caught up; returns whether that is a change.
    pub(super) fn set_lagging(&self, lagging: bool) -> bool {
        self.lagging.swap(lagging, Ordering::Relaxed) != lagging
    }
}

/// The positions of all readers of a PTY.
#[derive(Debug, Default)]
pub(super) struct Pace {
    places: Mutex<Vec<Arc<ReaderPosition>>>,
}

impl Pace {
    pub(super) fn enter(&self, offset: Offset, reach: Reach) -> Arc<ReaderPosition> {
        let offset = AtomicU64::new(offset.0);
        let place = Arc::new(ReaderPosition { reach, offset, lagging: AtomicBool::new(false) });
        self.lock().push(Arc::clone(&place));
        place
    }

    pub(super) fn leave(&self, place: &Arc<ReaderPosition>) {
        self.lock().retain(|other| !Arc::ptr_eq(other, place));
    }

    /// The offset up to which the keeper may write; nothing if there is no live reader.
    pub(super) fn gate(&self, ring: &OutputRing) -> Option<Offset> {
        let oldest = ring.oldest(ring.head());
        let places = self.lock();
        let live = places.iter().filter(|place| !place.lagging.load(Ordering::Relaxed));
        let offsets = live.map(|place| (Offset(place.offset.load(Ordering::Relaxed)), place.reach));
        offsets
            .filter(|(offset, _)| *offset >= oldest)
            .map(|(offset, reach)| {
                (offset + reach.bytes(ring.keep())).saturating_sub(1 << limits::GATE_STEP_BITS)
            })
            .min()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Arc<ReaderPosition>>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
