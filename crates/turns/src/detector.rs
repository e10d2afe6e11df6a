//! The detector: output, input and time go in; status and turns come out.
//!
//! It trusts what the program itself reports most, then the line editor's modes with the line that has the
//! cursor, then the screen, then the last line of the output. Silence alone completes nothing: it only chooses the moment at
//! which the evidence is weighed. `judge.rs` weighs it; this file keeps it.
//!
//! The caller owns the screen and hands it over with each call; the detector feeds it, so that it can look between
//! two pictures of one read. The order of calls: [`Detector::output`] and [`Detector::input`] as things happen,
//! [`Detector::tick`] when [`Detector::deadline`] has come, [`Detector::take_events`] after any of them.

use crate::capture::Capture;
use crate::keys::{Key, Keys};
use crate::limits;
use crate::look::{self, Shows, Sight};
use crate::profile::{Kind, Profile};
use crate::scan::{Report, Scanner};
use crate::status::{Evidence, State, Status};
use crate::tail::Tail;
use crate::text::Collector;
use crate::time::Time;
use crate::turn::{Signal, Turn};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;
use swb_types::{Offset, Size};
use swb_vt::Screen;

/// What an agent's hook reports.
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

/// Something the detector found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// The status changed.
    Status(Status),
    /// Input was submitted.
    TurnStarted {
        /// The number the turn will have if it is completed.
        seq: u64,
        /// Where the output stood.
        submit: Offset,
    },
    /// The program asks in the middle of a turn.
    Dialog {
        /// Where the output stood.
        offset: Offset,
    },
    /// A turn is complete.
    TurnEnded(Box<Turn>),
}

/// A report that was heard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Heard {
    pub(crate) state: State,
    pub(crate) detail: String,
    pub(crate) at: Time,
    pub(crate) offset: u64,
}

/// The latest report of each kind.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Reports {
    pub(crate) hook: Option<Heard>,
    pub(crate) status: Option<Heard>,
    pub(crate) notify: Option<Heard>,
    pub(crate) progress: Option<Heard>,
    pub(crate) title: Option<Heard>,
    /// OSC 133, with the places that bound a command's output.
    pub(crate) mark: Option<Heard>,
    pub(crate) output_from: Option<u64>,
    pub(crate) output_to: Option<u64>,
    /// `?2004`, once it was used, and where it was last turned on.
    pub(crate) pasting: Option<bool>,
    pub(crate) pasting_from: u64,
}

/// A turn that is not complete.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Open {
    pub(crate) submit: u64,
    /// Where the output stood when something was last entered, an answer to a question included.
    pub(crate) entered: u64,
    pub(crate) at: Time,
    /// What was typed, and what the input line or box showed.
    pub(crate) typed: String,
    pub(crate) shown: String,
    pub(crate) capture: Capture,
    pub(crate) interrupted: bool,
    pub(crate) escapes: u8,
    /// Something said since the submission that the program works.
    pub(crate) worked: bool,
    pub(crate) dialogs: Vec<Offset>,
    pub(crate) count: Option<String>,
    pub(crate) size: Size,
    pub(crate) resizes: Vec<(u64, Size)>,
    pub(crate) collector: Collector,
    /// The line after the conversation, counted since the screen began; of the collector where that is used.
    pub(crate) first_line: u64,
}

/// A moment at which the program looked ready, not yet long enough to be believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pending {
    pub(crate) at: Time,
    pub(crate) offset: u64,
    /// The user has typed since: what was written after `offset` is no answer.
    pub(crate) touched: bool,
    pub(crate) strong: bool,
}

/// Everything that changes; can be stored and taken up again by a restarted daemon. The raw bytes of an open turn
/// are not part of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Saved {
    pub(crate) offset: u64,
    pub(crate) size: Size,
    pub(crate) scanner: Scanner,
    pub(crate) tail: Tail,
    pub(crate) keys: Keys,
    pub(crate) reports: Reports,
    pub(crate) sight: Option<Sight>,
    /// Whether the screen has changed since it was looked at.
    pub(crate) dirty: bool,
    /// Since when a picture is being drawn (`?2026`).
    pub(crate) drawing: Option<Time>,
    pub(crate) last_output: Time,
    /// How many of the moments of silence after the last output have passed.
    pub(crate) stage: usize,
    pub(crate) looks: u32,
    pub(crate) looked_at: Time,
    pub(crate) asked_at_input: bool,
    /// The user did something about the dialog that is shown.
    pub(crate) answered: bool,
    /// The dialog that is shown, to tell the next one from it.
    pub(crate) dialog: String,
    pub(crate) pending: Option<Pending>,
    pub(crate) status: Status,
    pub(crate) turn: Option<Open>,
    pub(crate) seq: u64,
    /// What the input line or box looks like when nothing is typed.
    pub(crate) prompt: Option<String>,
    pub(crate) ready0: Option<Offset>,
}

impl Saved {
    fn new(size: Size) -> Self {
        Self {
            offset: 0,
            size,
            scanner: Scanner::default(),
            tail: Tail::default(),
            keys: Keys::default(),
            reports: Reports::default(),
            sight: None,
            dirty: false,
            drawing: None,
            last_output: Time::default(),
            stage: usize::MAX,
            looks: limits::LOOKS,
            looked_at: Time::default(),
            asked_at_input: false,
            answered: false,
            dialog: String::new(),
            pending: None,
            status: Status::default(),
            turn: None,
            seq: 0,
            prompt: None,
            ready0: None,
        }
    }
}

/// Finds turns and status of one program.
#[derive(Debug)]
pub struct Detector {
    pub(crate) profile: Arc<Profile>,
    pub(crate) live: Saved,
    events: Vec<Event>,
}

impl Detector {
    /// A detector for a program that has written nothing yet.
    pub fn new(profile: Arc<Profile>, size: Size) -> Self {
        Self { profile, live: Saved::new(size), events: Vec::new() }
    }

    /// Goes on where another detector stopped, with the screen as it was then.
    ///
    /// The bytes of an open turn are not stored; [`Detector::refill`] brings them back.
    pub fn restore(profile: Arc<Profile>, saved: Saved) -> Self {
        let mut live = saved;
        if let Some(turn) = &mut live.turn {
            turn.capture.lose(0);
        }
        Self { profile, live, events: Vec::new() }
    }

    /// The part of the output that [`Detector::refill`] wants: where it begins, and its length.
    pub fn open_output(&self) -> Option<(Offset, u64)> {
        let (start, len) = self.live.turn.as_ref()?.capture.extent();
        Some((Offset(start), len))
    }

    /// Gives the bytes of the open turn back to a restored detector, as [`Detector::open_output`] says. Without
    /// them the turn has no raw bytes, and for programs that write lines no text.
    pub fn refill(&mut self, bytes: &[u8]) {
        if let Some(turn) = &mut self.live.turn {
            turn.capture.refill(bytes);
        }
    }

    /// What [`Detector::restore`] needs.
    pub fn saved(&self) -> &Saved {
        &self.live
    }

    /// The profile in use.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// What the program is doing.
    pub fn status(&self) -> &Status {
        &self.live.status
    }

    /// Where the output stood when the program was first ready.
    pub fn first_ready(&self) -> Option<Offset> {
        self.live.ready0
    }

    /// Where the output stands.
    pub fn offset(&self) -> Offset {
        Offset(self.live.offset)
    }

    /// Takes output that begins at `offset`, and feeds the screen with it.
    ///
    /// When `offset` is not where the last output ended, bytes were lost: the line and the sequence at hand
    /// are forgotten, and an open turn is cut short there.
    pub fn output(&mut self, screen: &mut Screen, bytes: &[u8], offset: Offset, now: Time) {
        self.tick(screen, now);
        self.end_if_held(screen, now);
        let start = self.begin(bytes, offset);
        let (mut read, mut fed) = (0, 0);
        while let Some((len, report)) = self.live.scanner.next(&bytes[read..]) {
            read += len;
            self.live.offset = start + read as u64;
            let frame = report == Report::Sync(false) && self.follows_pictures();
            self.report(report, now);
            if frame {
                screen.feed(&bytes[fed..read]);
                fed = read;
                self.live.dirty = true;
                self.frame(screen, now);
            }
        }
        screen.feed(&bytes[fed..]);
        self.finish_output(bytes, start, now);
    }

    /// Takes output that the caller's screen has passed over because nobody can see it any more ([`Screen::skip`]).
    ///
    /// The screen is not looked at: until the rest is fed there is nothing on it. Call [`Detector::tick`] before
    /// it is made to skip.
    pub fn passed(&mut self, bytes: &[u8], offset: Offset, now: Time) {
        let start = self.begin(bytes, offset);
        let mut read = 0;
        while let Some((len, report)) = self.live.scanner.next(&bytes[read..]) {
            read += len;
            self.live.offset = start + read as u64;
            self.report(report, now);
        }
        self.finish_output(bytes, start, now);
    }

    /// Takes note of where output begins, and keeps it for the turn.
    fn begin(&mut self, bytes: &[u8], offset: Offset) -> u64 {
        let lost = offset.0.checked_sub(self.live.offset).filter(|lost| *lost > 0);
        if offset.0 != self.live.offset {
            self.live.offset = offset.0;
            self.live.scanner = Scanner::default();
            self.live.tail.begin(offset.0);
        }
        if let Some(turn) = &mut self.live.turn {
            if let Some(lost) = lost {
                turn.capture.lose(lost);
            }
            turn.capture.push(bytes);
        }
        offset.0
    }

    fn finish_output(&mut self, bytes: &[u8], start: u64, now: Time) {
        self.live.tail.feed(bytes, start);
        self.live.offset = start + bytes.len() as u64;
        self.live.dirty = true;
        self.live.last_output = now;
        self.live.stage = 0;
    }

    fn follows_pictures(&self) -> bool {
        self.profile.kind == Kind::Screen && self.live.turn.is_some()
    }

    /// Takes input to the program: keys, pastes, and the terminal's answers, which are told apart.
    pub fn input(&mut self, screen: &Screen, bytes: &[u8], now: Time) {
        self.tick(screen, now);
        // The user answers what is shown now, so now is the time to know what that is.
        if self.live.dirty {
            self.weigh(screen, now, now.since(self.live.last_output));
        }
        self.live.asked_at_input = self.live.status.state == State::Asking;
        if let Some(pending) = &mut self.live.pending {
            pending.touched = true;
        }
        let mut keys = std::mem::take(&mut self.live.keys);
        keys.feed(bytes, now, |keys, key| self.key(screen, keys, key, now));
        self.live.answered |= self.live.asked_at_input && !keys.typed().is_empty();
        if self.live.asked_at_input {
            // An answer is no part of what will be submitted next.
            keys.take_typed();
        }
        self.live.keys = keys;
    }

    /// The program's terminal has another size; the screen is given it.
    pub fn resize(&mut self, screen: &mut Screen, size: Size, now: Time) {
        self.tick(screen, now);
        screen.resize(size);
        self.live.size = size;
        let offset = self.live.offset;
        if let Some(turn) = self.live.turn.as_mut().filter(|turn| turn.resizes.len() < limits::RESIZES) {
            turn.resizes.push((offset, size));
        }
        self.live.dirty = true;
    }

    /// A hook of the agent reports.
    pub fn hook(&mut self, screen: &Screen, hook: Hook, now: Time) {
        self.tick(screen, now);
        let state = match hook {
            Hook::Working => State::Working,
            Hook::Ready => State::Ready,
            Hook::Asking => State::Asking,
            Hook::Error => State::Error,
        };
        let detail = format!("{hook:?}").to_lowercase();
        self.live.reports.hook = Some(self.heard(state, &detail, now));
        self.working_if(state == State::Working, Signal::Hook, &detail, now);
        // Nothing may follow, so this counts as a change of its own.
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

    /// The program is gone: an open turn will never be complete (CT-16).
    pub fn exited(&mut self, now: Time) {
        self.live.turn = None;
        self.live.stage = usize::MAX;
        self.set_status(State::Exited, Signal::Process, "exited", now);
    }

    /// When [`Detector::tick`] has something to do.
    pub fn deadline(&self) -> Option<Time> {
        let quiet = self.stages().get(self.live.stage).map(|quiet| self.live.last_output + *quiet);
        [quiet, self.live.keys.deadline()].into_iter().flatten().min()
    }

    /// Time has passed. Calls that bring something do this first, so a late call changes nothing.
    pub fn tick(&mut self, screen: &Screen, now: Time) {
        while let Some(due) = self.deadline().filter(|due| *due <= now) {
            if self.live.keys.settle(due) {
                self.escape();
            }
            let quiet = self.stages().get(self.live.stage).copied();
            if let Some(quiet) = quiet.filter(|quiet| self.live.last_output + *quiet <= due) {
                self.live.stage += 1;
                self.weigh(screen, due, quiet);
            }
        }
    }

    /// A recording is over: nothing will be answered any more. A turn that waits in a dialog at its end is
    /// reported as it stands; live sessions never do this, since a dialog is not the end of a turn.
    pub(crate) fn finish(&mut self, screen: &Screen, now: Time) {
        self.tick(screen, now);
        if self.live.status.state == State::Asking {
            self.end_in_dialog(screen, now);
        }
    }

    /// Takes what was found since the last call.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// The moments of silence at which the evidence is weighed. Without a turn one is enough.
    fn stages(&self) -> &'static [Duration] {
        const LINE: [Duration; 2] = [limits::PROMPT_QUIET, limits::LINGER];
        const SCREEN: [Duration; 5] =
            [limits::REPORT_QUIET, limits::SCREEN_QUIET, limits::LINGER, limits::STILL_BUSY, limits::ABANDON];
        match (self.profile.kind, self.live.turn.is_some()) {
            (Kind::Line, true) => &LINE,
            (Kind::Line, false) => &LINE[..1],
            (Kind::Screen, true) => &SCREEN,
            (Kind::Screen, false) => &SCREEN[..3],
        }
    }

    fn key(&mut self, screen: &Screen, keys: &mut Keys, key: Key, now: Time) {
        match key {
            Key::Enter => self.submit(screen, keys, now),
            Key::LineFeed if self.profile.kind == Kind::Line => self.submit(screen, keys, now),
            Key::Escape => self.escape(),
            Key::Interrupt => {
                if !self.live.asked_at_input {
                    self.interrupt();
                }
            }
            Key::LineFeed | Key::Other => {}
        }
    }

    fn escape(&mut self) {
        let presses = self.profile.escape_presses;
        if let Some(turn) = self.live.turn.as_mut().filter(|_| presses > 0 && !self.live.asked_at_input) {
            turn.escapes = turn.escapes.saturating_add(1);
            turn.interrupted |= turn.escapes >= presses;
        }
    }

    fn report(&mut self, report: Report, now: Time) {
        let profile = Arc::clone(&self.profile);
        match report {
            Report::Sync(on) => self.live.drawing = on.then_some(now),
            Report::Alternate(_) => {}
            Report::Paste(on) => {
                self.live.reports.pasting = Some(on);
                if on {
                    self.live.reports.pasting_from = self.live.offset;
                }
            }
            Report::Title(title) => {
                let says = classify(&profile.title, &title);
                self.live.reports.title = says.map(|state| self.heard(state, &title, now));
                self.working_if(says == Some(State::Working), Signal::Title, &title, now);
            }
            Report::Notify(text) => {
                if let Some(state) = classify(&profile.notify, &text) {
                    self.live.reports.notify = Some(self.heard(state, &text, now));
                }
            }
            Report::Progress(busy) => {
                self.live.reports.progress = busy.then(|| self.heard(State::Working, "busy", now));
                self.working_if(busy, Signal::Progress, "busy", now);
            }
            Report::Status(text) => {
                let says = status_state(&text);
                self.live.reports.status = says.map(|state| self.heard(state, &text, now));
                self.working_if(says == Some(State::Working), Signal::Status, &text, now);
            }
            Report::Mark(text) => self.mark(&text, now),
        }
    }

    fn mark(&mut self, text: &str, now: Time) {
        let offset = self.live.offset;
        // What precedes the mark's own bytes: ESC ] 133 ; … and one or two bytes of ending.
        let before = offset.saturating_sub(text.len() as u64 + 7);
        let state = match text.as_bytes().first() {
            Some(b'A') => {
                self.live.reports.output_to.get_or_insert(before);
                State::Unknown
            }
            Some(b'B') => State::Ready,
            Some(b'C') => {
                self.live.reports.output_from = Some(offset);
                self.live.reports.output_to = None;
                State::Working
            }
            Some(b'D') => {
                self.live.reports.output_to.get_or_insert(before);
                State::Unknown
            }
            _ => return,
        };
        self.live.reports.mark = Some(self.heard(state, text, now));
        self.working_if(state == State::Working, Signal::Mark, text, now);
    }

    fn heard(&self, state: State, detail: &str, now: Time) -> Heard {
        Heard { state, detail: detail.to_owned(), at: now, offset: self.live.offset }
    }

    /// Work is believed at once; only its end needs a quiet moment.
    fn working_if(&mut self, working: bool, signal: Signal, detail: &str, now: Time) {
        if !working {
            return;
        }
        self.live.pending = None;
        if let Some(turn) = &mut self.live.turn {
            turn.worked = true;
        }
        if self.live.turn.is_some() || self.live.status.state != State::Starting {
            self.set_status(State::Working, signal, detail, now);
        }
    }

    /// A picture is complete.
    fn frame(&mut self, screen: &Screen, now: Time) {
        if self.may_look(now) {
            self.see(screen, now);
            let verdict = self.verdict(Duration::ZERO);
            let ready = verdict.as_ref().is_some_and(|said| said.state == State::Ready && said.strong);
            self.consider(ready, ready, now);
            if let Some(verdict) = verdict.filter(|said| said.state == State::Asking) {
                self.asking(&verdict, now);
            }
        }
    }

    /// Remembers since when the program has looked ready.
    pub(crate) fn consider(&mut self, ready: bool, strong: bool, now: Time) {
        let fresh = Pending { at: now, offset: self.live.offset, touched: false, strong };
        self.live.pending = match self.live.pending {
            _ if !ready => None,
            Some(pending) if pending.strong || !strong => {
                // What was written until the user typed on belongs to the answer.
                let offset = if pending.touched { pending.offset } else { fresh.offset };
                Some(Pending { offset, ..pending })
            }
            _ => Some(fresh),
        };
    }

    /// Looks at the screen, if it has changed.
    pub(crate) fn see(&mut self, screen: &Screen, now: Time) {
        if !std::mem::take(&mut self.live.dirty) || self.profile.kind != Kind::Screen {
            return;
        }
        let rows = screen.row_texts();
        let sight = look::look(&self.profile.view, &rows);
        if let Some(turn) = &mut self.live.turn {
            turn.worked |= sight.shows == Shows::Busy;
            if screen.modes().alternate && sight.shows != Shows::Nothing {
                turn.collector.see(&rows[..sight.bottom.min(rows.len())]);
            }
        }
        if sight.shows == Shows::Busy && self.live.turn.is_some() {
            let detail = sight.evidence.clone();
            self.set_status(State::Working, Signal::Screen, &detail, now);
        }
        self.live.sight = Some(sight);
    }

    /// Whether there is a look left: a program that floods pictures is looked at now and then.
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

    pub(crate) fn set_status(&mut self, state: State, signal: Signal, detail: &str, now: Time) {
        let before = self.live.status.state;
        if state == State::Ready {
            self.live.ready0.get_or_insert(Offset(self.live.offset));
        }
        if before == state && self.live.status.evidence.as_ref().is_some_and(|seen| seen.signal == signal) {
            return;
        }
        let detail = detail.chars().take(200).collect();
        let evidence = Evidence { signal, detail, at: now, offset: Offset(self.live.offset) };
        let since = if before == state { self.live.status.since } else { now };
        self.live.status = Status { state, since, evidence: Some(evidence) };
        if before != state {
            self.push(Event::Status(self.live.status.clone()));
        }
    }

    pub(crate) fn push(&mut self, event: Event) {
        if self.events.len() >= limits::EVENTS {
            self.events.remove(0);
        }
        self.events.push(event);
    }
}

fn classify(says: &crate::profile::Says, text: &str) -> Option<State> {
    if says.asking.any(text) {
        Some(State::Asking)
    } else if says.working.any(text) {
        Some(State::Working)
    } else if says.ready.any(text) {
        Some(State::Ready)
    } else {
        None
    }
}

/// The state in a program's status: `state=working:app=…`.
fn status_state(text: &str) -> Option<State> {
    let state = text.split(':').find_map(|pair| pair.strip_prefix("state="))?;
    Some(match state {
        "working" => State::Working,
        "idle" | "done" => State::Ready,
        "blocked" => State::Asking,
        "error" => State::Error,
        _ => return None,
    })
}
