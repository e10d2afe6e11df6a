//! Pacing: output is lossless for readers that keep reading, and never waits for one that does not.
//!
//! Each cursor shows its place. The gate for the keeper is half a ring behind the slowest of those that
//! are live; a reader that fell off the ring is no longer waited for until it has caught up once. How
//! long the keeper respects a gate is its own decision (`swb_keeper::Doorbell`).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use swb_keeper::Reader;

/// Progress after which the gate is looked at again, as a power of two: often enough for the keeper never
/// to stand before it, seldom enough to cost nothing.
const STEP_BITS: u32 = 16;

/// Where one reader is.
#[derive(Debug)]
pub(super) struct Place {
    offset: AtomicU64,
    lagging: AtomicBool,
}

impl Place {
    /// Notes progress; says whether the gate is due.
    pub(super) fn advance(&self, to: u64) -> bool {
        let from = self.offset.swap(to, Ordering::Relaxed);
        from >> STEP_BITS != to >> STEP_BITS
    }

    /// Notes that the reader lost its place, or has caught up; says whether that is news.
    pub(super) fn set_lagging(&self, lagging: bool) -> bool {
        self.lagging.swap(lagging, Ordering::Relaxed) != lagging
    }
}

/// The places of all readers of a PTY.
#[derive(Debug, Default)]
pub(super) struct Pace {
    places: Mutex<Vec<Arc<Place>>>,
}

impl Pace {
    pub(super) fn enter(&self, offset: u64) -> Arc<Place> {
        let place = Arc::new(Place { offset: AtomicU64::new(offset), lagging: AtomicBool::new(false) });
        self.lock().push(Arc::clone(&place));
        place
    }

    pub(super) fn leave(&self, place: &Arc<Place>) {
        self.lock().retain(|other| !Arc::ptr_eq(other, place));
    }

    /// The offset up to which the keeper may write; nothing when nobody needs to be waited for.
    pub(super) fn gate(&self, ring: &Reader) -> Option<u64> {
        let oldest = ring.oldest(ring.head());
        let places = self.lock();
        let live = places.iter().filter(|place| !place.lagging.load(Ordering::Relaxed));
        let offsets = live.map(|place| place.offset.load(Ordering::Relaxed));
        // Below half of the ring, so that bytes can be sent in place without being overrun meanwhile.
        offsets
            .filter(|offset| *offset >= oldest)
            .min()
            .map(|slowest| slowest + ring.keep() / 2 - (1 << STEP_BITS))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Place>>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
