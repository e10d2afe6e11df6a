//! Restarting the daemon: whether, when and how often the keeper starts another one.
//!
//! A pure state machine; the loop passes events to it and asks what is due.

use crate::limits::{FAILURES, FIRST_PAUSE, FORMER_DAEMONS, HELLO, LONGEST_PAUSE, PAUSE_AFTER_LIFE, STABLE};
use crate::pty::Child;
use rustix::process::Signal;
use std::time::{Duration, Instant};

#[derive(Debug, Default)]
pub(crate) struct Successor {
    /// When to start the next daemon, if one is to be started.
    due: Option<Instant>,
    /// The daemon this keeper started last, while it lives.
    process: Option<Child>,
    /// Those before it that are still to be reaped. The connection of a daemon ends a moment before the process does, and
    /// one that waits for a device may take any time to end.
    former: [Option<Child>; FORMER_DAEMONS],
    came: Option<Instant>,
    /// Daemons in a row that came up and did not live long.
    short_lives: u32,
    /// Daemons in a row that ended before they sent `Hello`.
    stillbirths: u32,
    restarts: u64,
    served: bool,
    said_goodbye: bool,
}

impl Successor {
    /// Continues the count of a former image of this process; `process` is the daemon if that started it.
    pub(crate) fn resumed(restarts: u64, process: Option<Child>) -> Self {
        Self { restarts, process, served: true, ..Self::default() }
    }

    pub(crate) fn daemon_came(&mut self, now: Instant) {
        self.due = None;
        self.came = Some(now);
        self.stillbirths = 0;
        self.served = true;
        self.said_goodbye = false;
    }

    pub(crate) fn goodbye(&mut self) {
        self.due = None;
        self.came = None;
        self.said_goodbye = true;
    }

    /// The daemon announces that it will be back by itself within `wait`.
    pub(crate) fn expect_back(&mut self, wait: Duration, now: Instant) {
        self.due = Some(after(now, wait));
    }

    /// The connection ended without a goodbye; `served`: the daemon had adopted everything and accepted clients.
    pub(crate) fn daemon_left(&mut self, welcomed: bool, served: bool, now: Instant) {
        if !welcomed {
            return;
        }
        let lived = self.came.take().map_or(Duration::ZERO, |came| now.duration_since(came));
        let stable = served && lived >= STABLE;
        self.short_lives = if stable { 0 } else { self.short_lives.saturating_add(1) };
        if self.due.is_none_or(|due| due <= now) {
            // The first failure is repaired at once; only a series of them is slowed down.
            let pause = if self.short_lives <= 2 { Duration::ZERO } else { pause(self.short_lives) };
            let longest = if served { PAUSE_AFTER_LIFE } else { LONGEST_PAUSE };
            self.due = Some(after(now, pause.min(longest)));
        }
    }

    pub(crate) fn due(&self, now: Instant) -> bool {
        self.due.is_some_and(|due| due <= now)
    }

    pub(crate) fn until_due(&self, now: Instant) -> Option<Duration> {
        self.due.map(|due| due.saturating_duration_since(now))
    }

    pub(crate) fn started(&mut self, process: Option<Child>, now: Instant) {
        self.restarts = self.restarts.saturating_add(1);
        let wait = if process.is_some() { HELLO } else { pause(self.stillbirths) };
        self.due = Some(after(now, wait));
        if let Some(process) = std::mem::replace(&mut self.process, process) {
            self.add_former(process);
        }
    }

    /// Keeps a daemon to be reaped. If there are too many, the oldest one is left to the next parent.
    fn add_former(&mut self, process: Child) {
        if self.former.iter().all(Option::is_some) {
            self.former.rotate_left(1);
            self.former.last_mut().and_then(Option::take);
        }
        if let Some(place) = self.former.iter_mut().find(|place| place.is_none()) {
            *place = Some(process);
        }
    }

    /// The daemon this keeper started last, while it lives.
    pub(crate) fn process(&self) -> Option<&Child> {
        self.process.as_ref()
    }

    /// Sends a signal to the daemon this keeper started last, if it lives.
    pub(crate) fn signal_process(&self, signal: Signal) {
        if let Some(process) = &self.process {
            // It may have ended meanwhile.
            let _sent = rustix::process::pidfd_send_signal(&process.pidfd, signal);
        }
    }

    /// Reaps daemons that have ended; `connected`: a daemon serves now, `needed`: something is held for one.
    pub(crate) fn reap(
        &mut self,
        has_ended: impl Fn(&Child) -> bool,
        connected: bool,
        needed: bool,
        now: Instant,
    ) -> [Option<Child>; FORMER_DAEMONS + 1] {
        let mut ended = [const { None }; FORMER_DAEMONS + 1];
        let started = self.former.iter_mut().chain([&mut self.process]);
        for (place, process) in ended.iter_mut().zip(started) {
            *place = process.take_if(|process| has_ended(process));
        }
        if matches!(ended, [.., Some(_)]) {
            self.process_ended(connected, needed, now);
        }
        ended
    }

    fn process_ended(&mut self, connected: bool, needed: bool, now: Instant) {
        if connected || self.said_goodbye {
            return;
        }
        if self.came.is_none() && self.due.is_some_and(|due| due > after(now, LONGEST_PAUSE)) {
            // It ended before it sent `Hello`.
            self.stillbirths = self.stillbirths.saturating_add(1);
            self.due = Some(after(now, pause(self.stillbirths)));
        }
        if self.short_lives.max(self.stillbirths) >= FAILURES && !needed {
            self.due = None;
        }
    }

    /// Whether a daemon is expected, so that the keeper has to stay.
    pub(crate) fn awaited(&self) -> bool {
        self.due.is_some()
    }

    /// Whether a daemon has ever connected.
    pub(crate) fn was_served(&self) -> bool {
        self.served
    }

    pub(crate) fn restarts(&self) -> u64 {
        self.restarts
    }
}

/// The moment `wait` after `now`; at once if the clock cannot express it.
fn after(now: Instant, wait: Duration) -> Instant {
    now.checked_add(wait).unwrap_or(now)
}

fn pause(failures: u32) -> Duration {
    FIRST_PAUSE.saturating_mul(1 << failures.min(16)).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Pid, PidfdFlags};

    #[test]
    fn a_crash_is_repaired_at_once_and_a_series_soon() {
        let mut now = Instant::now();
        let mut successor = Successor::default();
        let mut pauses = Vec::new();
        for _ in 0..12 {
            successor.daemon_came(now);
            successor.daemon_left(true, true, now);
            let pause = successor.until_due(now).unwrap();
            pauses.push(pause);
            now += pause;
            assert!(successor.due(now));
            successor.started(None, now);
        }
        assert_eq!(pauses[0], Duration::ZERO);
        assert!(pauses.is_sorted());
        assert_eq!(*pauses.last().unwrap(), PAUSE_AFTER_LIFE);
        successor.daemon_came(now);
        successor.daemon_left(true, true, now + STABLE);
        assert_eq!(successor.until_due(now + STABLE), Some(Duration::ZERO), "a long life ends the series");
    }

    #[test]
    fn one_that_never_came_up_is_tried_again_ever_more_slowly_however_many_lived_before() {
        let mut now = Instant::now();
        let mut successor = Successor::default();
        for _ in 0..20 {
            successor.daemon_came(now);
            successor.daemon_left(true, true, now);
        }
        let mut pauses = Vec::new();
        for _ in 0..8 {
            successor.started(None, now);
            // What `started` does when there is a process.
            successor.due = Some(now + HELLO);
            successor.process_ended(false, true, now);
            let pause = successor.until_due(now).unwrap();
            pauses.push(pause);
            now += pause;
        }
        assert_eq!(pauses[0], FIRST_PAUSE * 2);
        assert!(pauses.is_sorted());
        assert_eq!(*pauses.last().unwrap(), LONGEST_PAUSE);
        successor.process_ended(false, false, now);
        assert!(!successor.awaited(), "nobody needs it");
    }

    #[test]
    fn one_that_dies_before_it_serves_is_tried_again_ever_more_slowly() {
        let mut now = Instant::now();
        let mut successor = Successor::default();
        let mut pauses = Vec::new();
        for _ in 0..12 {
            successor.daemon_came(now);
            // However long it took: it was of no use.
            now += STABLE * 2;
            successor.daemon_left(true, false, now);
            pauses.push(successor.until_due(now).unwrap());
        }
        assert_eq!(pauses[0], Duration::ZERO);
        assert!(pauses.is_sorted());
        assert_eq!(*pauses.last().unwrap(), LONGEST_PAUSE);
    }

    /// A child that is given only by a number.
    fn child(number: i32) -> Child {
        let pidfd = rustix::process::pidfd_open(rustix::process::getpid(), PidfdFlags::empty()).unwrap();
        Child { pid: Pid::from_raw(number).unwrap(), pidfd, started: None }
    }

    #[test]
    fn daemons_that_take_long_to_end_are_reaped_as_well() {
        let now = Instant::now();
        let mut successor = Successor::default();
        let last = FORMER_DAEMONS as i32 + 2;
        for number in 1..=last {
            successor.started(Some(child(number)), now);
        }
        let reaped = |successor: &mut Successor, ended: fn(u64) -> bool| -> Vec<u64> {
            let ended = successor.reap(|child| ended(child.number()), true, true, now);
            ended.iter().flatten().map(Child::number).collect()
        };
        assert_eq!(reaped(&mut successor, |number| number == 3), [3]);
        let rest: Vec<u64> = [2].into_iter().chain(4..=last as u64).collect();
        assert_eq!(reaped(&mut successor, |_| true), rest, "all but the oldest, which found no place");
        assert!(successor.process().is_none());
    }

    #[test]
    fn after_a_goodbye_no_daemon_is_awaited() {
        let now = Instant::now();
        let mut successor = Successor::default();
        successor.daemon_came(now);
        successor.goodbye();
        assert!(!successor.awaited());
        assert!(successor.was_served());
    }

    #[test]
    fn a_daemon_that_replaces_itself_is_waited_for() {
        let now = Instant::now();
        let mut successor = Successor::default();
        successor.daemon_came(now);
        successor.expect_back(Duration::from_secs(3), now);
        successor.daemon_left(true, true, now);
        assert!(!successor.due(now + Duration::from_secs(2)));
        assert!(successor.due(now + Duration::from_secs(3)));
        successor.daemon_came(now + Duration::from_secs(1));
        assert!(!successor.awaited());
    }

    #[test]
    fn a_stranger_that_never_sent_hello_changes_nothing() {
        let now = Instant::now();
        let mut successor = Successor::default();
        successor.daemon_left(false, true, now);
        assert!(!successor.awaited());
    }
}
