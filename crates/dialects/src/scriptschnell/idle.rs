//! When a connection is due for a ping, and when it has been idle for too long (SS-23, SS-24).

use crate::limits;
use std::time::Duration;
use tokio::time::Instant;

/// The times of the last traffic on one connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct IdleClock {
    /// Last sign of life of the client: anything it sent, or anything of ours that it waits for.
    pub(super) alive: Instant,
    /// Last time that anything was sent to the client.
    pub(super) sent: Instant,
}

/// What has to be done now.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Due {
    Ping,
    Timeout,
    Wait(Instant),
}

impl IdleClock {
    pub(super) fn new(now: Instant) -> Self {
        Self { alive: now, sent: now }
    }

    pub(super) fn due(&self, now: Instant, timeout: Duration) -> Due {
        let (end, ping) = (self.alive + timeout, self.sent + limits::CHAT_PING);
        if now >= end {
            Due::Timeout
        } else if now >= ping {
            Due::Ping
        } else {
            Due::Wait(end.min(ping))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // SS-23, SS-24
    #[test]
    fn a_silent_client_gets_pings_and_then_a_timeout() {
        let start = Instant::now();
        let mut clock = IdleClock::new(start);
        let (timeout, after) = (Duration::from_secs(300), |seconds| start + Duration::from_secs(seconds));
        let Due::Wait(first) = clock.due(start, timeout) else { panic!("nothing is due") };
        assert!(first <= after(54));
        assert_eq!(clock.due(first, timeout), Due::Ping);
        clock.sent = first;
        assert!(
            matches!(clock.due(first, timeout), Due::Wait(next) if next <= first + Duration::from_secs(54))
        );
        assert_eq!(clock.due(after(300), timeout), Due::Timeout);
        clock.alive = after(299);
        assert_eq!(clock.due(after(300), timeout), Due::Ping);
        assert_eq!(IdleClock::new(start).due(after(2), Duration::from_secs(2)), Due::Timeout);
    }
}
