//! The detector: output, input and time go in; status and turns come out.
//!
//! It trusts the program's own reports most, then the line editor's modes with the line that has the
//! cursor, then the screen, then the last line of the output. Silence alone completes nothing: it only chooses the
//! moment at which the evidence is weighed. `live.rs` stores it, `verdict.rs` reads it, `judge.rs` acts on it.
//!
//! The caller owns the screen and passes it to each call; the detector feeds it, so that it can look between
//! two frames of one read. The order of calls: [`Detector::output`] and [`Detector::input`] as they occur,
//! [`Detector::tick`] at [`Detector::deadline`], [`Detector::take_events`] after any of them.

use crate::keys::{TurnKey, TurnKeys};
use crate::limits;
use crate::live::{Pending, SavedDetector};
use crate::look::{self, Shows};
use crate::profile::{Profile, ProgramKind};
use crate::scan::{Report, Scanner};
use crate::status::{Evidence, ProgramState, Status};
use crate::time::Time;
use crate::turn::{CompletedTurn, Signal};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;
use swb_types::{Offset, Size};
use swb_vt::Screen;

/// A report of an agent's hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Hook {
    /// It works.
    Working,
    /// It waits for input.
    Ready,
    /// It asks for a permission or an answer.
    Asking,
    /// It has failed.
    Error,
}

/// An event of the detector.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum DetectorEvent {
    /// The status changed.
    Status(Status),
    /// Input was submitted.
    TurnStarted {
        /// The number of the turn if it is completed.
        seq: u64,
        /// The output offset.
        submit: Offset,
    },
    /// The program asks in the middle of a turn.
    Dialog {
        /// The output offset.
        offset: Offset,
    },
    /// A turn is complete.
    TurnEnded(Box<CompletedTurn>),
}

/// Detects turns and status of one program.
#[derive(Debug)]
pub struct Detector {
    pub(crate) profile: Arc<Profile>,
    pub(crate) live: SavedDetector,
    events: Vec<DetectorEvent>,
}

impl Detector {
    /// A detector for a program that has written nothing yet.
    pub fn new(profile: Arc<Profile>, size: Size) -> Self {
        Self { profile, live: SavedDetector::new(size), events: Vec::new() }
    }

    /// Continues where another detector stopped, with the screen as it was then.
    ///
    /// The bytes of an open turn are not stored; [`Detector::refill`] restores them.
    pub fn restore(profile: Arc<Profile>, saved: SavedDetector) -> Self {
        let mut live = saved;
        if let Some(turn) = &mut live.turn {
            turn.capture.lose(0);
        }
        Self { profile, live, events: Vec::new() }
    }

    /// The part of the output that [`Detector::refill`] needs: where it begins, and its length.
    pub fn open_output(&self) -> Option<(Offset, u64)> {
        Some(self.live.turn.as_ref()?.capture.extent())
    }

    /// Restores the bytes of the open turn, as requested by [`Detector::open_output`]. Without
    /// them the turn has no raw bytes, and for programs that write lines no text.
    pub fn refill(&mut self, bytes: &[u8]) {
        if let Some(turn) = &mut self.live.turn {
            turn.capture.refill(bytes);
        }
    }

    /// What [`Detector::restore`] needs.
    pub fn saved(&self) -> &SavedDetector {
        &self.live
    }

    /// The profile in use.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// The program's status.
    pub fn status(&self) -> &Status {
        &self.live.status
    }

    /// Whether the program is known to work. That something was submitted is not enough, unless its prompts were
    /// recognised before.
    pub fn is_known_to_work(&self) -> bool {
        let status = &self.live.status;
        let only_submitted = status.evidence.as_ref().is_some_and(|seen| seen.signal == Signal::Input);
        status.state == ProgramState::Working && (self.live.seq > 0 || !only_submitted)
    }

    /// The output offset at which the program was first ready.
    pub fn first_ready(&self) -> Option<Offset> {
        self.live.ready0
    }

    /// The current output offset.
    pub fn offset(&self) -> Offset {
        self.live.offset
    }

    /// Takes output that begins at `offset`, and feeds the screen with it.
    ///
    /// When `offset` is not where the last output ended, bytes were lost: the current line and escape sequence
    /// are dropped, and of an open turn only what follows is kept.
    pub fn output(&mut self, screen: &mut Screen, bytes: &[u8], offset: Offset, now: Time) {
        self.tick(screen, now);
        self.end_if_held(screen, now);
        self.glance(screen, now);
        self.begin(bytes, offset);
        let (mut read, mut fed) = (0, 0);
        while let Some((len, report)) = self.live.scanner.next(&bytes[read..]) {
            read += len;
            self.live.offset = offset + read as u64;
            let frame = report == Report::Sync(false) && self.follows_pictures();
            self.report(report, now);
            if frame {
                screen.feed(&bytes[fed..read]);
                fed = read;
                self.live.dirty = true;
                self.redrawn(now);
                self.frame(screen, now);
            }
        }
        screen.feed(&bytes[fed..]);
        self.finish_output(bytes, offset, now);
    }

    /// Takes output that the caller's screen has skipped because it is no longer visible ([`Screen::skip`]).
    ///
    /// The screen is not read: it is empty until the rest is fed. Call [`Detector::tick`] before
    /// skipping.
    pub fn passed(&mut self, bytes: &[u8], offset: Offset, now: Time) {
        self.begin(bytes, offset);
        let mut read = 0;
        while let Some((len, report)) = self.live.scanner.next(&bytes[read..]) {
            read += len;
            self.live.offset = offset + read as u64;
            self.report(report, now);
        }
        self.finish_output(bytes, offset, now);
    }

    /// Records where output begins, and keeps it for the turn.
    fn begin(&mut self, bytes: &[u8], offset: Offset) {
        let lost = offset - self.live.offset;
        if offset != self.live.offset {
            self.live.offset = offset;
            self.live.scanner = Scanner::default();
            self.live.tail.begin(offset);
        }
        if let Some(turn) = &mut self.live.turn {
            if lost > 0 {
                turn.capture.lose(lost);
            }
            turn.capture.push(bytes);
        }
    }

    fn finish_output(&mut self, bytes: &[u8], start: Offset, now: Time) {
        self.live.tail.feed(bytes, start);
        self.live.offset = start + bytes.len() as u64;
        self.live.dirty = true;
        self.live.last_output = now;
        self.live.stage = 0;
        self.redrawn(now);
    }

    /// Output came after a resize; what was drawn for the former size may still be on its way.
    fn redrawn(&mut self, now: Time) {
        self.live.resized_at = self.live.resized_at.filter(|at| now.since(*at) < limits::REDRAWN);
    }

    fn follows_pictures(&self) -> bool {
        self.profile.kind == ProgramKind::Screen && self.live.turn.is_some()
    }

    /// Takes input to the program: keys, pastes, and the terminal's replies, which are distinguished.
    pub fn input(&mut self, screen: &Screen, bytes: &[u8], now: Time) {
        self.tick(screen, now);
        // The user answers what is shown now, so read the screen now. A reply of the terminal is not such an answer.
        if self.live.dirty && self.live.keys.would_press(bytes, now) {
            let quiet = now.since(self.live.last_output);
            // A key pressed at the known prompt shows that the user sees it as one.
            let at_prompt = self.profile.kind == ProgramKind::Line && self.is_at_known_prompt(screen);
            self.weigh(screen, now, if at_prompt { quiet.max(limits::LINGER) } else { quiet });
        }
        self.live.asked_at_input = self.live.status.state == ProgramState::Asking;
        if let Some(pending) = &mut self.live.pending {
            pending.touched = true;
        }
        let mut keys = std::mem::take(&mut self.live.keys);
        keys.feed(bytes, now, |keys, key| {
            self.live.keys_at = Some(self.live.offset);
            self.key(screen, keys, key, now);
        });
        self.live.answered |= self.live.asked_at_input && !keys.typed().is_empty();
        if self.live.asked_at_input {
            // An answer to a dialog is not part of the next submission.
            keys.take_typed();
        }
        self.live.keys = keys;
    }

    /// The program's terminal was resized; resizes the screen.
    pub fn resize(&mut self, screen: &mut Screen, size: Size, now: Time) {
        self.tick(screen, now);
        self.keep_answer(screen, now);
        screen.resize(size);
        self.live.size = size;
        self.live.resized_at = Some(now);
        let offset = self.live.offset;
        if let Some(turn) = self.live.turn.as_mut().filter(|turn| turn.resizes.len() < limits::RESIZES) {
            turn.resizes.push((offset, size));
        }
        self.live.dirty = true;
    }

    /// Takes a report of the agent's hook.
    pub fn hook(&mut self, screen: &Screen, hook: Hook, now: Time) {
        self.tick(screen, now);
        let state = match hook {
            Hook::Working => ProgramState::Working,
            Hook::Ready => ProgramState::Ready,
            Hook::Asking => ProgramState::Asking,
            Hook::Error => ProgramState::Error,
        };
        let detail = format!("{hook:?}").to_lowercase();
        self.live.reports.hook = Some(self.heard(state, &detail, now));
        self.working_if(state == ProgramState::Working, Signal::Hook, &detail, now);
        // No output may follow, so this counts as a change of its own.
        self.live.dirty = true;
        self.live.last_output = self.live.last_output.max(now);
        self.live.stage = 0;
    }

    /// SIGINT was delivered to the program (CT-17).
    pub fn interrupt(&mut self) {
        if let Some(turn) = &mut self.live.turn {
            turn.interrupted = true;
        }
    }

    /// The program has exited: an open turn will never be complete (CT-16).
    pub fn exited(&mut self, now: Time) {
        self.live.turn = None;
        self.live.stage = usize::MAX;
        self.set_status(ProgramState::Exited, Signal::Process, "exited", now);
    }

    /// When [`Detector::tick`] has to be called.
    pub fn deadline(&self) -> Option<Time> {
        let quiet = self.stage().map(|quiet| self.live.last_output + quiet);
        [quiet, self.live.keys.deadline()].into_iter().flatten().min()
    }

    /// Takes the time. Other calls do this first, so a late call changes nothing.
    pub fn tick(&mut self, screen: &Screen, now: Time) {
        while let Some(due) = self.deadline().filter(|due| *due <= now) {
            if self.live.keys.settle(due) {
                self.escape();
            }
            if let Some(quiet) = self.stage().filter(|quiet| self.live.last_output + *quiet <= due) {
                self.live.stage += 1;
                self.weigh(screen, due, quiet);
            }
        }
    }

    /// Ends a recording: no further input follows. A turn that ends in a dialog is reported as it is;
    /// live sessions never do this, since a dialog is not the end of a turn.
    pub(crate) fn finish(&mut self, screen: &Screen, now: Time) {
        self.tick(screen, now);
        if self.live.status.state == ProgramState::Asking {
            self.end_in_dialog(screen, now);
        }
    }

    /// Takes the events since the last call.
    pub fn take_events(&mut self) -> Vec<DetectorEvent> {
        std::mem::take(&mut self.events)
    }

    /// The next moment of silence at which the evidence is weighed. Without a turn there are fewer.
    fn stage(&self) -> Option<Duration> {
        let mut line =
            [limits::PROMPT_QUIET, limits::SCREEN_QUIET, self.profile.prompt.quiet, limits::LINGER];
        line.sort_unstable();
        let quiet = self.profile.view.quiet;
        let command = quiet.max(limits::COMMAND_QUIET);
        let screen =
            [limits::REPORT_QUIET, quiet, command, limits::LINGER, limits::STILL_BUSY, limits::ABANDON];
        let moments = match (self.profile.kind, self.live.turn.is_some()) {
            (ProgramKind::Line, true) => &line[..],
            (ProgramKind::Line, false) => &line[..1],
            (ProgramKind::Screen, true) => &screen[..],
            (ProgramKind::Screen, false) => &screen[..4],
        };
        moments.get(self.live.stage).copied()
    }

    fn key(&mut self, screen: &Screen, keys: &mut TurnKeys, key: TurnKey, now: Time) {
        match key {
            TurnKey::Enter => self.submit(screen, keys, now),
            TurnKey::LineFeed if self.profile.kind == ProgramKind::Line => self.submit(screen, keys, now),
            TurnKey::Escape => self.escape(),
            TurnKey::Interrupt => {
                if self.live.turn.is_none() {
                    // Without anything to interrupt it empties the input.
                    keys.take_typed();
                }
                if !self.live.asked_at_input {
                    self.interrupt();
                }
            }
            TurnKey::LineFeed | TurnKey::Other => {}
        }
    }

    fn escape(&mut self) {
        let presses = self.profile.escape_presses;
        if let Some(turn) = self.live.turn.as_mut().filter(|_| presses > 0 && !self.live.asked_at_input) {
            turn.escapes = turn.escapes.saturating_add(1);
            turn.interrupted |= turn.escapes >= presses;
        }
    }

    /// Reads the last frame before new output arrives: programs that do not mark the end of a frame
    /// pause between two of them.
    fn glance(&mut self, screen: &Screen, now: Time) {
        let paused = now.since(self.live.last_output) >= limits::PAUSE;
        if paused
            && self.live.dirty
            && self.live.drawing.is_none()
            && self.follows_pictures()
            && self.may_look(now)
        {
            self.see(screen, now);
        }
    }

    /// A frame is complete.
    fn frame(&mut self, screen: &Screen, now: Time) {
        if self.may_look(now) {
            self.see(screen, now);
            let verdict = self.verdict(Duration::ZERO);
            let ready = verdict.as_ref().is_some_and(|said| said.state == ProgramState::Ready && said.strong);
            self.consider(ready, ready, now);
            if let Some(verdict) = verdict.filter(|said| said.state == ProgramState::Asking) {
                self.asking(&verdict, now);
            }
        }
    }

    /// Records since when the program has looked ready.
    pub(crate) fn consider(&mut self, ready: bool, strong: bool, now: Time) {
        let fresh = Pending { at: now, offset: self.live.offset, touched: false, strong };
        self.live.pending = match self.live.pending {
            _ if !ready => None,
            Some(pending) if pending.strong || !strong => {
                // Output before the user continued typing belongs to the answer.
                let offset = if pending.touched { pending.offset } else { fresh.offset };
                Some(Pending { offset, ..pending })
            }
            _ => Some(fresh),
        };
    }

    /// Reads the screen, if it has changed.
    pub(crate) fn see(&mut self, screen: &Screen, now: Time) {
        if !std::mem::take(&mut self.live.dirty) || self.profile.kind != ProgramKind::Screen {
            return;
        }
        let rows = screen.row_texts();
        let sight = look::look(&self.profile.view, &rows);
        if let Some(turn) = &mut self.live.turn {
            turn.worked |= sight.shows == Shows::Busy;
            // A dialog replaces the input box, and restores it afterwards.
            let shown = matches!(sight.shows, Shows::Busy | Shows::Ready) && self.live.resized_at.is_none();
            if screen.modes().alternate && shown {
                let rows = look::conversation(&self.profile.view, &rows[..sight.bottom.min(rows.len())]);
                turn.collector.see(&rows, self.live.size.cols());
            }
        }
        if sight.shows == Shows::Busy && self.live.turn.is_some() {
            let detail = sight.evidence.clone();
            self.set_status(ProgramState::Working, Signal::Screen, &detail, now);
        }
        self.live.sight = Some(sight);
    }

    /// Whether another look is allowed: a program that floods the terminal with frames is read only now and then.
    fn may_look(&mut self, now: Time) -> bool {
        let earned =
            now.since(self.live.looked_at).as_millis().saturating_mul(limits::LOOKS_PER_SECOND.into()) / 1000;
        if earned > 0 {
            self.live.looked_at = now;
            let looks = u128::from(self.live.looks).saturating_add(earned).min(limits::LOOKS.into());
            self.live.looks = u32::try_from(looks).unwrap_or(limits::LOOKS);
        }
        let may = self.live.looks > 0;
        self.live.looks = self.live.looks.saturating_sub(1);
        may
    }

    pub(crate) fn set_status(&mut self, state: ProgramState, signal: Signal, detail: &str, now: Time) {
        let before = self.live.status.state;
        if state == ProgramState::Ready {
            self.live.ready0.get_or_insert(self.live.offset);
        }
        if before == state && self.live.status.evidence.as_ref().is_some_and(|seen| seen.signal == signal) {
            return;
        }
        let detail = detail.chars().take(limits::EVIDENCE).collect();
        let evidence = Evidence { signal, detail, at: now, offset: self.live.offset };
        let since = if before == state { self.live.status.since } else { now };
        self.live.status = Status { state, since, evidence: Some(evidence) };
        if before != state {
            self.push(DetectorEvent::Status(self.live.status.clone()));
        }
    }

    pub(crate) fn push(&mut self, event: DetectorEvent) {
        if self.events.len() >= limits::EVENTS {
            self.events.remove(0);
        }
        self.events.push(event);
    }
}
