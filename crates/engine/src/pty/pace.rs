//! Pacing: output is lossless for readers that keep reading, and never waits for one that does not.
//!
//! Each cursor publishes its position. The keeper's gate is half a ring after the slowest live reader, or most of a ring
//! for a reader that copies; output does not wait for a reader that fell off the ring until it has caught up once, nor for
//! readers over a network if there are many. How
//! long the keeper respects a gate is its own decision (`swb_keeper::Doorbell`).

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
    /// Whether its client comes over a network.
    remote: AtomicBool,
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

    /// Notes that the reader's client comes over a network.
    pub(super) fn set_remote(&self) {
        self.remote.store(true, Ordering::Relaxed);
    }

    fn is_remote(&self) -> bool {
        self.remote.load(Ordering::Relaxed)
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
        let (lagging, remote) = (AtomicBool::new(false), AtomicBool::new(false));
        let place = Arc::new(ReaderPosition { reach, offset, lagging, remote });
        self.lock().push(Arc::clone(&place));
        place
    }

    pub(super) fn leave(&self, place: &Arc<ReaderPosition>) {
        self.lock().retain(|other| !Arc::ptr_eq(other, place));
    }

    /// The offset up to which the keeper may write in a ring of `keep` bytes whose first is `oldest`; nothing if there is
    /// no live reader.
    pub(super) fn gate(&self, oldest: Offset, keep: u64) -> Option<Offset> {
        let places = self.lock();
        let crowd = is_crowd(&places);
        let live = places.iter().filter(|place| !place.lagging.load(Ordering::Relaxed));
        let live = live.filter(|place| !(crowd && place.is_remote()));
        let offsets = live.map(|place| (Offset(place.offset.load(Ordering::Relaxed)), place.reach));
        offsets
            .filter(|(offset, _)| *offset >= oldest)
            .map(|(offset, reach)| (offset + reach.bytes(keep)).saturating_sub(1 << limits::GATE_STEP_BITS))
            .min()
    }

    /// Whether there are so many readers over a network that the output waits for none of them.
    pub(super) fn is_crowded(&self) -> bool {
        is_crowd(&self.lock())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Arc<ReaderPosition>>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Each byte is copied for each reader over a network: with many, the output would wait for the copies, not for a slow one.
fn is_crowd(places: &[Arc<ReaderPosition>]) -> bool {
    places.iter().filter(|place| place.is_remote()).count() > limits::PACED_REMOTE_READERS
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEEP: u64 = 1 << 20;

    fn gate(pace: &Pace) -> Option<u64> {
        pace.gate(Offset(0), KEEP).map(|gate| gate.0)
    }

    #[test]
    fn output_waits_for_the_slowest_live_reader() {
        let pace = Pace::default();
        assert_eq!(gate(&pace), None);
        let slow = pace.enter(Offset(1000), Reach::Half);
        let quick = pace.enter(Offset(500_000), Reach::Half);
        assert_eq!(gate(&pace), Some(1000 + KEEP / 2 - (1 << limits::GATE_STEP_BITS)));
        slow.set_lagging(true);
        assert_eq!(gate(&pace), Some(500_000 + KEEP / 2 - (1 << limits::GATE_STEP_BITS)));
        pace.leave(&quick);
        assert_eq!(gate(&pace), None);
    }

    #[test]
    fn output_waits_for_a_few_readers_over_a_network_and_not_for_many() {
        let pace = Pace::default();
        let mut readers = Vec::new();
        for _ in 0..limits::PACED_REMOTE_READERS {
            readers.push(pace.enter(Offset(0), Reach::Half));
        }
        readers.iter().for_each(|reader| reader.set_remote());
        assert!(gate(&pace).is_some());
        let one_more = pace.enter(Offset(0), Reach::Half);
        assert!(gate(&pace).is_some() && !pace.is_crowded(), "a local reader counts");
        one_more.set_remote();
        assert!(gate(&pace).is_none() && pace.is_crowded());
        pace.leave(&one_more);
        assert!(gate(&pace).is_some());
    }
}
