//! Limits the messages that a connection may send (SS-78).

use std::time::Duration;
use tokio::time::Instant;

/// Lets the messages of one second through at once, then a fixed number per second.
#[derive(Debug)]
pub(super) struct RateLimit {
    per_second: f64,
    /// Messages that may pass without a delay.
    left: f64,
    at: Instant,
}

impl RateLimit {
    pub(super) fn new(per_second: u32, now: Instant) -> Self {
        let per_second = f64::from(per_second.max(1));
        Self { per_second, left: per_second, at: now }
    }

    /// Counts a message; returns its delay.
    pub(super) fn wait(&mut self, now: Instant) -> Duration {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.at = now;
        self.left = (self.left + passed * self.per_second).min(self.per_second) - 1.0;
        Duration::from_secs_f64((-self.left / self.per_second).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // SS-78
    #[test]
    fn messages_beyond_the_rate_are_delayed() {
        let start = Instant::now();
        let mut rate_limit = RateLimit::new(10, start);
        for _ in 0..10 {
            assert_eq!(rate_limit.wait(start), Duration::ZERO);
        }
        let first = rate_limit.wait(start);
        assert!((0.09..0.11).contains(&first.as_secs_f64()), "{first:?}");
        assert_eq!(rate_limit.wait(start + Duration::from_secs(1)), Duration::ZERO);
        let later = start + Duration::from_secs(100);
        let free = (0..20).filter(|_| rate_limit.wait(later).is_zero()).count();
        assert_eq!(free, 10);
    }
}
