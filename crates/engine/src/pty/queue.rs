//! The queue of writers of a terminal. A place is taken synchronously, so that the order is the order of
//! arrival and not the order in which futures are polled.

use std::sync::{Mutex, PoisonError};
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;

#[derive(Debug, Default)]
pub(super) struct InputQueue {
    last: Mutex<Option<Predecessor>>,
}

/// The place before another one. It sends when it leaves the queue: nothing if it was the first, else its own
/// predecessor, which the other one then waits for.
#[derive(Debug)]
struct Predecessor(oneshot::Receiver<Option<Predecessor>>);

/// A place in a queue, until it is dropped.
#[derive(Debug)]
pub(super) struct QueuePlace {
    before: Option<Predecessor>,
    after: Option<oneshot::Sender<Option<Predecessor>>>,
}

impl InputQueue {
    /// Takes the last place.
    pub(super) fn join(&self) -> QueuePlace {
        let (after, left) = oneshot::channel();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        QueuePlace { before: last.replace(Predecessor(left)), after: Some(after) }
    }
}

impl QueuePlace {
    /// Whether all places before it were dropped.
    pub(super) fn is_first(&mut self) -> bool {
        while let Some(Predecessor(left)) = &mut self.before {
            match left.try_recv() {
                Ok(before) => self.before = before,
                Err(TryRecvError::Closed) => self.before = None,
                Err(TryRecvError::Empty) => return false,
            }
        }
        true
    }

    /// Waits until all places before it were dropped. Dropping the wait loses nothing.
    pub(super) async fn first(&mut self) {
        while let Some(Predecessor(left)) = &mut self.before {
            self.before = left.await.ok().flatten();
        }
    }
}

impl Drop for QueuePlace {
    fn drop(&mut self) {
        // Skips places that were dropped already, so that no chain of them grows behind a place that stays.
        self.is_first();
        if let Some(after) = self.after.take() {
            // There may be no place after this one yet; the next one to be taken receives this.
            let _received = after.send(self.before.take());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_the_order_of_arrival() {
        let queue = InputQueue::default();
        let (mut a, mut b, mut c) = (queue.join(), queue.join(), queue.join());
        assert_eq!([a.is_first(), b.is_first(), c.is_first()], [true, false, false]);
        drop(a);
        assert_eq!([b.is_first(), c.is_first()], [true, false]);
        drop(b);
        assert!(c.is_first());
        drop(c);
        assert!(queue.join().is_first());
    }

    #[test]
    fn a_place_that_is_given_up_changes_no_order() {
        let queue = InputQueue::default();
        let (a, b, mut c) = (queue.join(), queue.join(), queue.join());
        drop(b);
        assert!(!c.is_first());
        for _ in 0..100_000 {
            assert!(!queue.join().is_first());
        }
        let mut last = queue.join();
        drop(a);
        assert!(c.is_first() && !last.is_first());
        drop(c);
        assert!(last.is_first());
    }

    #[tokio::test]
    async fn waiters_are_woken_in_order() {
        let queue = InputQueue::default();
        let (a, b, mut c) = (queue.join(), queue.join(), queue.join());
        let leave = async {
            drop(b);
            tokio::task::yield_now().await;
            drop(a);
        };
        tokio::join!(c.first(), leave);
        assert!(c.is_first());
    }
}
