//! Detection of turns and status of the program on a PTY, while the observer follows its output.

use super::InputState;
use crate::limits;
use crate::pty::Pty;
use crate::session::AgentBusy;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use swb_turns::{Detector, DetectorEvent, Dialog, Hook, Profile, ProgramState, SavedDetector, SoFar, Time};
use swb_types::{Offset, Size};
use swb_vt::Screen;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// A finding about a program, for its session's task.
#[derive(Debug)]
pub(crate) struct Finding {
    /// What was found.
    pub(crate) event: DetectorEvent,
    /// With a completed turn.
    pub(crate) unstored: Option<UnstoredTurn>,
}

/// A completed turn that is not stored yet. No checkpoint is stored as long as it lives, so that the next daemon detects
/// the turn again if this one dies.
#[derive(Debug)]
pub(crate) struct UnstoredTurn(#[expect(dead_code, reason = "counts as long as it lives")] Arc<()>);

/// Runs the detector of a program and sends its findings to the session's task.
pub(super) struct Detection {
    detector: Detector,
    profile: Arc<Profile>,
    findings: mpsc::Sender<Box<Finding>>,
    /// Shared with every turn that is not stored yet.
    unstored: Arc<()>,
    /// It has findings that the next daemon could not make again by itself.
    pub(super) unsaved: bool,
    /// Findings of a former daemon have not been sent yet.
    resumed: bool,
}

impl Detection {
    pub(super) fn new(profile: Arc<Profile>, size: Size, findings: mpsc::Sender<Box<Finding>>) -> Self {
        Self {
            detector: Detector::new(Arc::clone(&profile), size),
            profile,
            findings,
            unstored: Arc::default(),
            unsaved: false,
            resumed: false,
        }
    }

    /// Continues where a former daemon stopped, if the output from there on is still kept.
    pub(super) fn resume(&mut self, saved: SavedDetector, pty: &Pty) {
        self.detector = Detector::restore(Arc::clone(&self.profile), saved);
        self.resumed = true;
        let Some((from, length)) = self.detector.open_output() else { return };
        let mut bytes = Vec::new();
        if pty.ring().is_some_and(|ring| ring.copy(from, from + length, &mut bytes)) {
            self.detector.refill(&bytes);
        }
    }

    pub(super) fn saved(&self) -> &SavedDetector {
        self.detector.saved()
    }

    /// Feeds output that the screen has drawn.
    pub(super) fn output(&mut self, screen: &mut Screen, bytes: &[u8], offset: Offset) {
        self.detector.output(screen, bytes, offset, now());
    }

    /// Feeds output that the screen has skipped.
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
        let asks = self.detector.status().state == ProgramState::Asking;
        swb_turns::dialog(&self.profile, screen, asks)
    }

    /// The state of the program's input.
    pub(super) fn input_state(&self, screen: &Screen) -> InputState {
        InputState {
            input: swb_turns::input_box(&self.profile, screen),
            half_typed: self.detector.half_typed(screen),
            asks: self.dialog(screen).is_some(),
            continuation: swb_turns::continuation(&self.profile, screen),
            busy: self.busy(),
            shown: last_rows(screen),
        }
    }

    /// Why the program takes no prompt at present. One whose prompts are not recognised is not known to work.
    fn busy(&self) -> Option<AgentBusy> {
        match self.detector.status().state {
            ProgramState::Asking => Some(AgentBusy::Asking),
            _ => self.detector.is_known_to_work().then_some(AgentBusy::Working),
        }
    }

    /// The agent's answer so far.
    pub(super) fn so_far(&mut self, screen: &Screen) -> Option<SoFar> {
        self.detector.so_far(screen, now())
    }

    pub(super) fn exited(&mut self) {
        self.detector.exited(now());
    }

    /// The program was restarted.
    pub(super) fn restarted(&mut self, size: Size) {
        self.detector = Detector::new(Arc::clone(&self.profile), size);
        self.unsaved = true;
    }

    pub(super) fn tick(&mut self, screen: &Screen) {
        self.detector.tick(screen, now());
    }

    /// Whether a turn was completed that is not stored yet.
    pub(super) fn has_unstored_turn(&self) -> bool {
        Arc::strong_count(&self.unstored) > 1
    }

    /// When [`Detection::tick`] will be due.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let left = self.detector.deadline()?.since(now());
        // Slightly late rather than early, when it would not be due yet.
        Some(Instant::now() + left + Duration::from_millis(1))
    }

    /// Whether [`Detection::tick`] is due.
    pub(super) fn is_due(&self) -> bool {
        self.detector.deadline().is_some_and(|deadline| deadline <= now())
    }

    /// Sends the findings to the session's task.
    pub(super) async fn send_findings(&mut self) {
        if std::mem::take(&mut self.resumed) {
            let event = DetectorEvent::Status(self.detector.status().clone());
            let _sent = self.findings.send(Box::new(Finding { event, unstored: None })).await;
        }
        for event in self.detector.take_events() {
            self.unsaved = true;
            let ended = matches!(event, DetectorEvent::TurnEnded(_));
            let unstored = ended.then(|| UnstoredTurn(Arc::clone(&self.unstored)));
            // The task is gone when the session has ended.
            let _sent = self.findings.send(Box::new(Finding { event, unstored })).await;
        }
    }
}

/// The last rows of a screen with text.
fn last_rows(screen: &Screen) -> String {
    let rows = screen.row_texts();
    let rows: Vec<&str> = rows.iter().map(|row| row.trim_end()).filter(|row| !row.is_empty()).collect();
    rows[rows.len().saturating_sub(limits::SHOWN_ROWS)..].join("\n")
}

fn now() -> Time {
    time(SystemTime::now())
}

fn time(at: SystemTime) -> Time {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    Time(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}
