//! What distinguishes two sessions that had the same name one after the other.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Identifies a session for good: no session before or after it has the same one, also across daemons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionUid(u64);

impl SessionUid {
    /// Stands for a session that is not ours.
    pub(crate) const NONE: Self = Self(0);

    /// The uid of a session that is created at this time since the epoch.
    pub fn created_at(since_epoch: Duration) -> Self {
        Self(since_epoch.as_nanos() as u64)
    }

    #[cfg(test)]
    pub(crate) fn test(number: u64) -> Self {
        Self(number)
    }
}
