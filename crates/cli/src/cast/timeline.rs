//! Maps recorded times to playing times.

use std::time::Duration;

/// Recorded times to playing times, both counted from the beginning.
#[derive(Debug)]
pub(crate) struct Timeline {
    speed: f64,
    idle_limit: Option<Duration>,
    recorded: Duration,
    playing: Duration,
}

impl Timeline {
    /// Plays `speed` times as fast, with pauses of `idle_limit` at most.
    pub(crate) fn new(speed: f64, idle_limit: Option<Duration>) -> Self {
        Self { speed, idle_limit, recorded: Duration::ZERO, playing: Duration::ZERO }
    }

    /// The playing time for the recorded time `at`. A time before the previous one counts as equal to it.
    pub(crate) fn playing(&mut self, at: Duration) -> Duration {
        let pause = at.saturating_sub(self.recorded);
        self.recorded = self.recorded.max(at);
        let pause = self.idle_limit.map_or(pause, |limit| pause.min(limit));
        // A speed close to zero gives a very long time, not a panic.
        let pause = Duration::try_from_secs_f64(pause.as_secs_f64() / self.speed).unwrap_or(Duration::MAX);
        self.playing = self.playing.saturating_add(pause);
        self.playing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    #[test]
    fn pauses_are_cut_and_time_runs_faster() {
        let mut plain = Timeline::new(1.0, None);
        assert_eq!([1, 1, 100].map(|at| plain.playing(seconds(at))), [1, 1, 100].map(seconds));
        let mut fast = Timeline::new(2.0, Some(seconds(10)));
        assert_eq!([4, 100, 102].map(|at| fast.playing(seconds(at))), [2, 7, 8].map(seconds));
    }

    #[test]
    fn invalid_times_do_no_harm() {
        let mut line = Timeline::new(1.0, None);
        assert_eq!([5, 3, 6].map(|at| line.playing(seconds(at))), [5, 5, 6].map(seconds));
        let mut slow = Timeline::new(f64::MIN_POSITIVE, None);
        assert_eq!(slow.playing(seconds(5)), Duration::MAX);
        assert_eq!(slow.playing(seconds(6)), Duration::MAX);
    }
}
