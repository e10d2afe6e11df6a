//! When a request is sent, sent again, and given up.

use crate::limits;
use std::time::{Duration, Instant};

/// What is to be done with a request now.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Due {
    Nothing,
    Transmission,
    Failure,
}

/// The times of one request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    began: Instant,
    transmissions: usize,
}

impl Schedule {
    pub(crate) fn new(now: Instant) -> Self {
        Self { began: now, transmissions: 0 }
    }

    /// When [`due`](Self::due) has something to do.
    pub(crate) fn next(&self) -> Instant {
        self.began + self.step()
    }

    /// Counts the transmission that it requests. After a long pause only one is due, not all that were missed; and the
    /// first one is always sent, however late.
    pub(crate) fn due(&mut self, now: Instant) -> Due {
        let elapsed = now.saturating_duration_since(self.began);
        if self.transmissions > 0 && elapsed >= limits::REQUEST {
            return Due::Failure;
        }
        if elapsed < self.step() {
            return Due::Nothing;
        }
        if self.transmissions == 0 {
            // The time for replies begins when the request leaves.
            self.began = now;
        }
        self.transmissions += 1;
        while self.transmissions <= limits::RETRANSMISSIONS.len() && now >= self.next() {
            self.transmissions += 1;
        }
        Due::Transmission
    }

    fn step(&self) -> Duration {
        match self.transmissions.checked_sub(1) {
            None => Duration::ZERO,
            Some(index) => limits::RETRANSMISSIONS.get(index).copied().unwrap_or(limits::REQUEST),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_sent_four_times_within_five_seconds() {
        let began = Instant::now();
        let mut schedule = Schedule::new(began);
        let mut sent = Vec::new();
        loop {
            let now = schedule.next();
            match schedule.due(now) {
                Due::Transmission => sent.push((now - began).as_millis()),
                Due::Nothing => panic!("nothing is due at the announced time"),
                Due::Failure => {
                    assert_eq!(now - began, limits::REQUEST);
                    break;
                }
            }
            assert_eq!(schedule.due(now), Due::Nothing);
        }
        assert_eq!(sent, [0, 500, 1500, 3500]);
    }

    #[test]
    fn missed_transmissions_are_not_made_up_for() {
        let began = Instant::now();
        let mut schedule = Schedule::new(began);
        let late = began + Duration::from_secs(60);
        assert_eq!(schedule.due(late), Due::Transmission);
        assert_eq!(schedule.due(late + Duration::from_secs(2)), Due::Transmission);
        assert_eq!(schedule.due(late + Duration::from_secs(2)), Due::Nothing);
        assert_eq!(schedule.next(), late + Duration::from_millis(3500));
        assert_eq!(schedule.due(late + limits::REQUEST), Due::Failure);
    }
}
