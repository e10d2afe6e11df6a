//! Sessions about which the user gets no notifications.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use swb_engine::SessionUid;

/// A muted session as a later daemon gets to know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredMute {
    session: SessionUid,
    /// In Unix milliseconds; none as long as the session lives.
    until: Option<u64>,
}

/// The muted sessions, by their uids.
#[derive(Debug, Default)]
pub(crate) struct Mutes {
    sessions: Mutex<BTreeMap<SessionUid, Option<u64>>>,
}

impl Mutes {
    /// Mutes a session until a time, or as long as it lives.
    pub(crate) fn set(&self, session: SessionUid, until: Option<u64>) {
        self.lock().insert(session, until);
    }

    /// Allows notifications again.
    pub(crate) fn clear(&self, session: SessionUid) {
        self.lock().remove(&session);
    }

    /// Until when a session is muted; the outer `None` if it is not.
    pub(crate) fn until(&self, session: SessionUid, now: u64) -> Option<Option<u64>> {
        self.lock().get(&session).copied().filter(|until| until.is_none_or(|until| until > now))
    }

    /// Forgets mutes that are over, and those of sessions that do not live.
    pub(crate) fn prune(&self, live: &[SessionUid], now: u64) {
        let is_over = |until: &Option<u64>| until.is_some_and(|until| until <= now);
        self.lock().retain(|session, until| live.contains(session) && !is_over(until));
    }

    pub(crate) fn stored(&self) -> Vec<StoredMute> {
        self.lock().iter().map(|(session, until)| StoredMute { session: *session, until: *until }).collect()
    }

    pub(crate) fn restore(&self, stored: Vec<StoredMute>) {
        self.lock().extend(stored.into_iter().map(|mute| (mute.session, mute.until)));
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<SessionUid, Option<u64>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn uid(number: u64) -> SessionUid {
        SessionUid::created_at(Duration::from_nanos(number))
    }

    #[test]
    fn a_mute_ends_at_its_time_or_with_the_session() {
        let mutes = Mutes::default();
        mutes.set(uid(1), Some(100));
        mutes.set(uid(2), None);
        assert_eq!(mutes.until(uid(1), 99), Some(Some(100)));
        assert_eq!(mutes.until(uid(1), 100), None);
        assert_eq!(mutes.until(uid(2), u64::MAX), Some(None));
        let later = Mutes::default();
        later.restore(mutes.stored());
        assert_eq!(later.stored(), mutes.stored());
        mutes.prune(&[uid(1), uid(2)], 100);
        assert_eq!(mutes.stored(), [StoredMute { session: uid(2), until: None }]);
        mutes.prune(&[], 100);
        assert!(mutes.stored().is_empty());
        later.clear(uid(1));
        assert_eq!(later.until(uid(1), 0), None);
    }
}
