//! Slows down failed authentication, per peer.
//!
//! A peer is a user: connections are free, so a limit per connection would limit nothing. After each failure the peer's
//! next attempt is judged later, on any connection; attempts that arrive at the same time wait one after
//! the other. A success clears the record. Other peers do not wait.

use crate::limits;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// The failed attempts of all peers.
#[derive(Debug, Default)]
pub(super) struct Attempts(Mutex<BTreeMap<u32, FailedAttempts>>);

/// The failed attempts of one peer.
#[derive(Debug, Clone, Copy)]
struct FailedAttempts {
    count: u32,
    /// When the next attempt may be judged.
    next: Instant,
    /// When the last one failed.
    last: Instant,
}

impl Attempts {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u32, FailedAttempts>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When an attempt of a user may be judged; `None` if too many are waiting already.
    pub(super) fn turn(&self, user: u32, now: Instant) -> Option<Instant> {
        let mut peers = self.lock();
        let Some(failed) = peers.get_mut(&user) else { return Some(now) };
        if now.duration_since(failed.last) > limits::AUTH_FORGIVEN {
            peers.remove(&user);
            return Some(now);
        }
        let turn = failed.next.max(now);
        if turn.duration_since(now) > limits::AUTH_WAIT {
            return None;
        }
        failed.next = turn + pause(failed.count);
        Some(turn)
    }

    /// An attempt of a user has failed; returns how many have.
    pub(super) fn failed(&self, user: u32, now: Instant) -> u32 {
        let mut peers = self.lock();
        if peers.len() >= limits::AUTH_PEERS && !peers.contains_key(&user) {
            let oldest = peers.iter().min_by_key(|(_, failed)| failed.last).map(|(user, _)| *user);
            oldest.map(|user| peers.remove(&user));
        }
        let failed = peers.entry(user).or_insert(FailedAttempts { count: 0, next: now, last: now });
        failed.count = failed.count.saturating_add(1);
        failed.last = now;
        failed.next = failed.next.max(now + pause(failed.count));
        failed.count
    }

    /// A user has authenticated.
    pub(super) fn succeeded(&self, user: u32) {
        self.lock().remove(&user);
    }
}

/// The pause after a number of failures: it doubles with each.
fn pause(failures: u32) -> Duration {
    let factor = 2_u32.checked_pow(failures.saturating_sub(1)).unwrap_or(u32::MAX);
    limits::AUTH_PAUSE.saturating_mul(factor).min(limits::AUTH_PAUSE_MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MALLORY: u32 = 1;

    #[test]
    fn each_failure_delays_the_next_attempt_of_that_peer_more() {
        let (attempts, start) = (Attempts::default(), Instant::now());
        let mut now = start;
        let mut waits = Vec::new();
        for count in 1..=12 {
            let turn = attempts.turn(MALLORY, now).unwrap();
            waits.push(turn.duration_since(now));
            now = turn;
            assert_eq!(attempts.failed(MALLORY, now), count);
        }
        assert_eq!(waits[..4], [0, 100, 200, 400].map(Duration::from_millis));
        assert!(waits.is_sorted() && waits[11] == limits::AUTH_PAUSE_MOST, "{waits:?}");
        assert_eq!(attempts.turn(2, now), Some(now), "another peer does not wait");
        attempts.succeeded(MALLORY);
        assert_eq!(attempts.turn(MALLORY, now), Some(now));
    }

    #[test]
    fn attempts_at_the_same_time_wait_one_after_the_other() {
        let (attempts, now) = (Attempts::default(), Instant::now());
        for _ in 0..8 {
            attempts.failed(MALLORY, now);
        }
        let turns: Vec<_> = (0..9).map_while(|_| attempts.turn(MALLORY, now)).collect();
        let waits: Vec<u64> = turns.iter().map(|turn| turn.duration_since(now).as_secs()).collect();
        assert_eq!(waits, [10, 20, 30], "the rest is refused");
    }

    #[test]
    fn failures_are_forgotten_and_limited_in_number() {
        let (attempts, start) = (Attempts::default(), Instant::now());
        attempts.failed(MALLORY, start);
        let late = start + limits::AUTH_FORGIVEN + Duration::from_secs(1);
        assert_eq!(attempts.turn(MALLORY, late), Some(late));
        for user in 0..2 * limits::AUTH_PEERS as u32 {
            attempts.failed(user, start + Duration::from_millis(user.into()));
        }
        assert_eq!(attempts.lock().len(), limits::AUTH_PEERS);
        assert!(attempts.lock().contains_key(&(2 * limits::AUTH_PEERS as u32 - 1)));
    }
}
