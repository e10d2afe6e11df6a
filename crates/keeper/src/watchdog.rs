//! Distinguishes a daemon that hangs from one that is idle, busy, or short of processor time.
//!
//! A pure state machine. It is at rest while nothing waits for the daemon, and costs nothing then. It is armed when the
//! keeper rings the doorbell, a terminal has output or a client connects. From then on it compares the daemon's beats
//! once in a while. A daemon that does not answer the bell is silent; the time of its silence counts unless its thread
//! was waiting for a processor, and after [`limits::SILENCE`] of it the daemon hangs.
//!
//! Time is the monotonic clock, which stands still while the machine sleeps. A check counts at most the planned interval,
//! so a keeper that was itself delayed does not count its own delay as silence of the daemon.

use crate::limits;
use crate::proc;
use std::time::{Duration, Instant};

/// What a check has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Findings {
    /// The daemon's sign of life.
    pub(crate) beats: u64,
    /// The doorbell was rung and not answered.
    pub(crate) unanswered: bool,
    /// There is something that only the daemon can handle: output, a connection that is not accepted, or one that is open.
    pub(crate) waiting: bool,
    /// The daemon's main thread.
    pub(crate) thread: ThreadState,
}

/// What a thread has been doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ThreadState {
    /// It runs or waits for a processor, and has used this much processor time since it began.
    Runnable(Duration),
    /// It waits for something else.
    Blocked,
    /// A signal has stopped it.
    Stopped,
    /// A debugger has stopped it.
    Traced,
}

impl ThreadState {
    fn used(self) -> Option<Duration> {
        match self {
            Self::Runnable(used) => Some(used),
            Self::Blocked | Self::Stopped | Self::Traced => None,
        }
    }
}

/// What is to be done after a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WatchdogVerdict {
    /// Nothing for now.
    Fine,
    /// Ring, so that the daemon shows that it lives.
    Ask,
    /// It hangs.
    Hangs,
}

#[derive(Debug, Default)]
pub(crate) struct Watchdog {
    watch: Option<Watch>,
}

#[derive(Debug)]
struct Watch {
    /// When the last check was, and how long after it the next one is due.
    last: Instant,
    wait: Duration,
    beats: u64,
    /// How long the daemon has been silent although it could have answered.
    silence: Duration,
    /// Processor time that the daemon's thread had used at the last check.
    used: Option<Duration>,
}

impl Watchdog {
    /// Something waits for a daemon whose sign of life is `beats`. Call this before ringing.
    pub(crate) fn arm(&mut self, beats: u64) {
        if self.watch.is_none() {
            self.watch = Some(Watch::begin(beats, None, Instant::now(), limits::FIRST_CHECK));
        }
    }

    /// Forgets the daemon, which is gone.
    pub(crate) fn disarm(&mut self) {
        self.watch = None;
    }

    /// Whether a check is due.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.watch.as_ref().is_some_and(|watch| watch.left(now).is_zero())
    }

    /// When the next check is due, if there is to be one.
    pub(crate) fn until_check(&self, now: Instant) -> Option<Duration> {
        self.watch.as_ref().map(|watch| watch.left(now))
    }

    /// Judges the daemon by what is found.
    pub(crate) fn check(&mut self, found: Findings, now: Instant) -> WatchdogVerdict {
        let Some(watch) = &mut self.watch else { return WatchdogVerdict::Fine };
        let lives = found.beats != watch.beats;
        if lives || !found.unanswered {
            if found.waiting {
                // What waits may wait for good reasons, such as a terminal that is attached and idle.
                let wait = if lives { limits::ASK_AGAIN } else { limits::CHECK };
                *watch = Watch::begin(found.beats, found.thread.used(), now, wait);
                return WatchdogVerdict::Ask;
            }
            self.watch = None;
            return WatchdogVerdict::Fine;
        }
        watch.count(found.thread, now);
        if watch.silence >= limits::SILENCE { WatchdogVerdict::Hangs } else { WatchdogVerdict::Fine }
    }
}

impl Watch {
    fn begin(beats: u64, used: Option<Duration>, now: Instant, wait: Duration) -> Self {
        Self { last: now, wait, beats, silence: Duration::ZERO, used }
    }

    /// Time until the next check.
    fn left(&self, now: Instant) -> Duration {
        self.wait.saturating_sub(now.saturating_duration_since(self.last))
    }

    /// Adds the time since the last check to the silence, as far as the thread could have answered in it.
    fn count(&mut self, thread: ThreadState, now: Instant) {
        let passed = now.saturating_duration_since(self.last).min(self.wait);
        let counts = match (thread, self.used) {
            (ThreadState::Traced, _) => Duration::ZERO,
            (ThreadState::Blocked | ThreadState::Stopped, _) => passed,
            // Only what it has used counts: a busy machine is not the daemon's fault.
            (ThreadState::Runnable(used), Some(before)) => used.saturating_sub(before).min(passed),
            (ThreadState::Runnable(_), None) => Duration::ZERO,
        };
        self.used = thread.used();
        self.silence = self.silence.saturating_add(counts);
        self.last = now;
        self.wait = limits::CHECK;
    }
}

/// Reads the state of a thread from its line in `/proc`, where processor time is counted in ticks of 10 ms.
pub(crate) fn thread_state(stat: &[u8]) -> Option<ThreadState> {
    let mut fields = proc::fields_after_name(stat)?;
    match fields.next()? {
        "R" => {
            // utime and stime are the 14th and 15th field, and the next one is the 4th.
            let mut times = fields.skip(10).map_while(|field| field.parse::<u64>().ok());
            let ticks = times.next()?.saturating_add(times.next()?);
            Some(ThreadState::Runnable(Duration::from_millis(ticks.saturating_mul(10))))
        }
        "T" => Some(ThreadState::Stopped),
        "t" => Some(ThreadState::Traced),
        _ => Some(ThreadState::Blocked),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{ASK_AGAIN, CHECK, SILENCE};

    const SILENT: Findings =
        Findings { beats: 5, unanswered: true, waiting: true, thread: ThreadState::Blocked };

    /// A watchdog for a daemon with five beats, and the time of its first check.
    fn armed() -> (Watchdog, Instant) {
        let mut watchdog = Watchdog::default();
        watchdog.arm(5);
        let wait = watchdog.until_check(Instant::now()).expect("a check");
        (watchdog, Instant::now() + wait + Duration::from_millis(1))
    }

    /// Time until the daemon counts as hanging, if `found` is all there is to see for a minute.
    fn hangs_after(found: impl Fn(u32) -> Findings, step: Duration) -> Option<Duration> {
        let (mut watchdog, first) = armed();
        (0..60).find_map(|check| {
            let now = first + step * check;
            (watchdog.check(found(check), now) == WatchdogVerdict::Hangs).then(|| now - first + CHECK)
        })
    }

    #[test]
    fn a_daemon_that_does_not_answer_hangs_after_about_five_seconds() {
        let time = hangs_after(|_| SILENT, CHECK).expect("it hangs");
        assert!(time >= SILENCE && time <= SILENCE + CHECK, "{time:?}");
        let stuck = |check| Findings { thread: ThreadState::Runnable(CHECK * check), ..SILENT };
        assert!(hangs_after(stuck, CHECK).expect("it hangs") <= SILENCE + 2 * CHECK, "an endless loop");
    }

    #[test]
    fn a_daemon_that_gets_no_processor_does_not_hang() {
        let starved = |_| Findings { thread: ThreadState::Runnable(Duration::from_secs(3)), ..SILENT };
        assert_eq!(hangs_after(starved, CHECK), None);
        let traced = |_| Findings { thread: ThreadState::Traced, ..SILENT };
        assert_eq!(hangs_after(traced, CHECK), None);
    }

    #[test]
    fn one_late_check_is_no_proof() {
        let (mut watchdog, first) = armed();
        assert_eq!(watchdog.check(SILENT, first + Duration::from_secs(3600)), WatchdogVerdict::Fine);
    }

    #[test]
    fn a_daemon_that_answers_is_kept_and_asked_again_while_clients_wait() {
        let (mut watchdog, first) = armed();
        let lives = Findings { beats: 6, ..SILENT };
        assert_eq!(watchdog.check(lives, first), WatchdogVerdict::Ask);
        assert_eq!(watchdog.until_check(first), Some(ASK_AGAIN));
        assert_eq!(
            watchdog.check(Findings { beats: 7, waiting: false, ..SILENT }, first + ASK_AGAIN),
            WatchdogVerdict::Fine
        );
        assert_eq!(watchdog.until_check(first), None, "nothing waits");
    }

    #[test]
    fn a_daemon_that_was_asked_nothing_is_asked_first() {
        let (mut watchdog, first) = armed();
        let unasked = Findings { unanswered: false, ..SILENT };
        assert_eq!(watchdog.check(unasked, first), WatchdogVerdict::Ask);
        assert_eq!(watchdog.check(SILENT, first + CHECK), WatchdogVerdict::Fine);
        let (mut watchdog, first) = armed();
        assert_eq!(watchdog.check(Findings { waiting: false, ..unasked }, first), WatchdogVerdict::Fine);
        assert_eq!(watchdog.until_check(first), None);
    }

    #[test]
    fn an_answer_ends_the_silence() {
        let (mut watchdog, first) = armed();
        let mut now = first;
        for beats in [5, 5, 5, 5, 6, 6, 6, 6, 7] {
            assert_ne!(watchdog.check(Findings { beats, ..SILENT }, now), WatchdogVerdict::Hangs);
            now += CHECK;
        }
    }

    #[test]
    fn the_state_of_a_thread_is_read() {
        let line = |state| format!("17 (a) b) {state} 1 17 17 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 4 0 99");
        let state = |letter| thread_state(line(letter).as_bytes());
        assert_eq!(state("R"), Some(ThreadState::Runnable(Duration::from_secs(3))));
        for blocked in ["S", "D"] {
            assert_eq!(state(blocked), Some(ThreadState::Blocked));
        }
        assert_eq!(state("T"), Some(ThreadState::Stopped));
        assert_eq!(state("t"), Some(ThreadState::Traced));
        for broken in ["", "17", "17 (x", "17 (x)", "17 (x) R 1"] {
            assert_eq!(thread_state(broken.as_bytes()), None, "{broken}");
        }
    }
}
