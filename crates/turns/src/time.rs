//! Time as the caller measures it.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A moment, in microseconds since the Unix epoch, or since any other point the caller chooses.
///
/// The crate has no clock: every moment comes from the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(pub u64);

impl Time {
    /// This many milliseconds after the epoch.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1000))
    }

    /// Whole milliseconds since the epoch, as turns are stamped (CT-19).
    pub const fn millis(self) -> u64 {
        self.0 / 1000
    }

    /// The duration since `earlier`; zero if that is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

impl std::ops::Add<Duration> for Time {
    type Output = Self;

    fn add(self, later: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(later.as_micros()).unwrap_or(u64::MAX)))
    }
}
