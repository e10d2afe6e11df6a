//! Turns and status of the program on a PTY, found while its screen is followed.

use crate::pty::Pty;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use swb_turns::{Detector, Dialog, Event, Hook, Profile, Saved, SoFar, State, Time};
use swb_types::{Offset, Size};
use swb_vt::Screen;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// Follows what a program does for whoever owns its session.
pub(super) struct Detection {
    detector: Detector,
    profile: Arc<Profile>,
    findings: mpsc::Sender<Event>,
    /// Something was found that the next daemon could not find again by itself.
    pub(super) unsaved: bool,
    /// What a former daemon knew has not been told yet.
    resumed: bool,
}

impl Detection {
    pub(super) fn new(profile: Arc<Profile>, size: Size, findings: mpsc::Sender<Event>) -> Self {
        Self {
            detector: Detector::new(Arc::clone(&profile), size),
            profile,
            findings,
            unsaved: false,
            resumed: false,
        }
    }

    /// Goes on where a former daemon stopped, as far as the output it knew is still there.
    pub(super) fn resume(&mut self, saved: Saved, pty: &Pty) {
        self.detector = Detector::restore(Arc::clone(&self.profile), saved);
        self.resumed = true;
        let Some((from, length)) = self.detector.open_output() else { return };
        let mut bytes = Vec::new();
        if pty.ring().is_some_and(|ring| ring.copy(from, from + length, &mut bytes)) {
            self.detector.refill(&bytes);
        }
    }

    pub(super) fn saved(&self) -> &Saved {
        self.detector.saved()
    }

    /// Output that the screen shows from now on.
    pub(super) fn output(&mut self, screen: &mut Screen, bytes: &[u8], offset: Offset) {
        self.detector.output(screen, bytes, offset, now());
    }

    /// Output that the screen passes over.
    pub(super) fn passed(&mut self, bytes: &[u8], offset: Offset) {
        self.detector.passed(bytes, offset, now());
    }

    pub(super) fn input(&mut self, screen: &Screen, bytes: &[u8], at: SystemTime) {
        self.detector.input(screen, bytes, time(at));
    }

    pub(super) fn resize(&mut self, screen: &mut Screen, size: Size) {
        self.detector.resize(screen, size, now());
    }

    pub(super) fn hook(&mut self, screen: &Screen, hook: Hook) {
        self.detector.hook(screen, hook, now());
    }

    /// The dialog that is shown.
    pub(super) fn dialog(&self, screen: &Screen) -> Option<Dialog> {
        let asks = self.detector.status().state == State::Asking;
        swb_turns::dialog(&self.profile, screen, asks)
    }

    /// The answer that is being given.
    pub(super) fn so_far(&mut self, screen: &Screen) -> Option<SoFar> {
        self.detector.so_far(screen, now())
    }

    pub(super) fn exited(&mut self) {
        self.detector.exited(now());
    }

    /// Another process takes the place of the one that was followed.
    pub(super) fn restarted(&mut self, size: Size) {
        self.detector = Detector::new(Arc::clone(&self.profile), size);
        self.unsaved = true;
    }

    pub(super) fn tick(&mut self, screen: &Screen) {
        self.detector.tick(screen, now());
    }

    /// When [`Detection::tick`] will be due.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let left = self.detector.deadline()?.since(now());
        // A little late rather than a little early, which would be in vain.
        Some(Instant::now() + left + Duration::from_millis(1))
    }

    /// Whether [`Detection::tick`] is due.
    pub(super) fn is_due(&self) -> bool {
        self.detector.deadline().is_some_and(|deadline| deadline <= now())
    }

    /// Tells the session's owner what was found.
    pub(super) async fn tell(&mut self) {
        if std::mem::take(&mut self.resumed) {
            let _told = self.findings.send(Event::Status(self.detector.status().clone())).await;
        }
        for event in self.detector.take_events() {
            self.unsaved = true;
            // The owner is gone when the session is.
            let _told = self.findings.send(event).await;
        }
    }
}

fn now() -> Time {
    time(SystemTime::now())
}

fn time(at: SystemTime) -> Time {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    Time(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}
