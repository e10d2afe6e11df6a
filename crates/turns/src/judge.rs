//! Weighs the evidence: what is the program doing, and is the turn over?
//!
//! Evidence expires. That a program is ready counts only if it was said after the submission; that it works
//! counts only while something moves. A dialog is never the end of a turn.

use crate::capture::{Capture, Content};
use crate::detector::{Detector, Event, Heard, Open};
use crate::keys::Keys;
use crate::limits;
use crate::look::{Shows, squeeze};
use crate::profile::Kind;
use crate::status::State;
use crate::text::{self, Answer};
use crate::time::Time;
use crate::turn::{Signal, Turn};
use std::time::Duration;
use swb_types::Offset;
use swb_vt::Screen;

/// What the evidence says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) state: State,
    /// Whether a short silence is enough to believe it.
    pub(crate) strong: bool,
    pub(crate) signal: Signal,
    pub(crate) detail: String,
}

impl Verdict {
    fn new(state: State, strong: bool, signal: Signal, detail: &str) -> Self {
        Self { state, strong, signal, detail: detail.to_owned() }
    }
}

impl Detector {
    /// Weighs the evidence after so much silence.
    pub(crate) fn weigh(&mut self, screen: &Screen, now: Time, quiet: Duration) {
        if self.profile.kind == Kind::Screen {
            // Half a picture says nothing.
            if self.live.drawing.is_some_and(|since| now.since(since) < limits::DRAWING) {
                return;
            }
            self.see(screen, now);
            match self.verdict(quiet) {
                Some(verdict) => self.act(screen, &verdict, now, quiet),
                None => self.consider(false, false, now),
            }
        } else if let Some(verdict) = self.prompt_verdict(screen) {
            self.act(screen, &verdict, now, quiet);
        }
    }

    fn act(&mut self, screen: &Screen, verdict: &Verdict, now: Time, quiet: Duration) {
        match verdict.state {
            State::Ready | State::Error => self.ready(screen, verdict, now, quiet),
            State::Asking => {
                self.consider(false, false, now);
                self.asking(verdict, now);
            }
            state => {
                self.consider(false, false, now);
                if self.live.turn.is_some() || self.live.status.state != State::Starting {
                    self.set_status(state, verdict.signal, &verdict.detail, now);
                }
            }
        }
    }

    pub(crate) fn asking(&mut self, verdict: &Verdict, now: Time) {
        let dialog = self.live.sight.as_ref().map(|sight| sight.dialog.clone()).unwrap_or_default();
        // One dialog may follow another without anything in between.
        let next = self.live.answered && !dialog.is_empty() && dialog != self.live.dialog;
        if self.live.status.state == State::Asking && !next {
            return;
        }
        self.live.answered = false;
        self.live.dialog = dialog;
        let offset = Offset(self.live.offset);
        self.live.status.state = State::Working;
        self.set_status(State::Asking, verdict.signal, &verdict.detail, now);
        if let Some(turn) = self.live.turn.as_mut() {
            turn.worked = true;
            if turn.dialogs.len() < limits::DIALOGS {
                turn.dialogs.push(offset);
            }
            self.push(Event::Dialog { offset });
        }
    }

    pub(crate) fn end_in_dialog(&mut self, screen: &Screen, now: Time) {
        let Some(turn) = &mut self.live.turn else { return };
        // The question at the end is not one in mid-turn.
        let at = turn.dialogs.pop();
        let detail = self.live.status.evidence.as_ref().map(|seen| seen.detail.clone()).unwrap_or_default();
        let verdict = Verdict::new(State::Asking, true, Signal::End, &detail);
        self.end_turn(screen, at.map_or(self.live.offset, |at| at.0), &verdict, now);
    }

    fn ready(&mut self, screen: &Screen, verdict: &Verdict, now: Time, quiet: Duration) {
        if self.live.turn.is_none() {
            self.set_status(verdict.state, verdict.signal, &verdict.detail, now);
            if self.live.keys.typed().is_empty() {
                self.live.prompt = Some(self.input_line(screen));
            }
            return;
        }
        if self.profile.kind == Kind::Line {
            return self.end_turn(screen, self.live.offset, verdict, now);
        }
        self.consider(true, verdict.strong, now);
        let enough = match (verdict.strong, verdict.signal) {
            (true, Signal::Screen) => limits::SCREEN_QUIET,
            (true, _) => limits::REPORT_QUIET,
            (false, _) if self.lingers(screen) => limits::LINGER,
            (false, _) => limits::ABANDON,
        };
        if quiet >= enough {
            let pending = self.live.pending.filter(|pending| pending.touched);
            self.conclude(screen, pending.map_or(self.live.offset, |pending| pending.offset), verdict, now);
        }
    }

    /// Whether a longer silence is enough: it was seen at work, or has answered, and does not show a count that would have
    /// changed by the end.
    fn lingers(&self, screen: &Screen) -> bool {
        let counted = self.live.sight.as_ref().is_some_and(|sight| sight.count.is_some());
        if self.live.turn.as_ref().is_some_and(|turn| turn.worked) { !counted } else { self.answered(screen) }
    }

    /// Whether something stands below the echo of what was submitted.
    fn answered(&self, screen: &Screen) -> bool {
        let answer = self.screen_answer(screen);
        answer.echoed && !answer.text.is_empty()
    }

    /// Ends the turn of an agent that repaints, if there was one: commands without an answer, and keys that submitted
    /// nothing, leave no trace.
    fn conclude(&mut self, screen: &Screen, end: u64, verdict: &Verdict, now: Time) {
        if self.worked() || self.answered(screen) {
            return self.end_turn(screen, end, verdict, now);
        }
        self.live.turn = None;
        self.live.pending = None;
        self.set_status(verdict.state, verdict.signal, &verdict.detail, now);
    }

    /// Ends a turn whose program has looked ready for long while the user went on typing.
    pub(crate) fn end_if_held(&mut self, screen: &Screen, now: Time) {
        let held = |at: Time| now.since(at) >= limits::HELD;
        let Some(pending) = self.live.pending.filter(|pending| pending.strong && held(pending.at)) else {
            return;
        };
        if self.live.turn.is_none() {
            return;
        }
        self.see(screen, now);
        if let Some(verdict) = self.verdict(Duration::ZERO).filter(|verdict| verdict.state == State::Ready) {
            self.end_turn(screen, pending.offset, &verdict, now);
        }
    }

    /// What the most trusted evidence says that has not expired; nothing when there is none.
    pub(crate) fn verdict(&self, quiet: Duration) -> Option<Verdict> {
        let told = self.own_verdict(quiet).or_else(|| self.title_verdict(quiet));
        told.unwrap_or_else(|| self.screen_verdict(quiet))
    }

    /// What the program itself says, if it says something: that it is too early to tell is an answer too.
    fn own_verdict(&self, quiet: Duration) -> Option<Option<Verdict>> {
        let reports = &self.live.reports;
        let own = [(&reports.hook, Signal::Hook), (&reports.status, Signal::Status)];
        for (heard, signal) in own.iter().filter_map(|(heard, signal)| Some((heard.as_ref()?, *signal))) {
            match heard.state {
                State::Working if quiet >= limits::REPORT => {}
                State::Working => {
                    return Some(Some(Verdict::new(State::Working, true, signal, &heard.detail)));
                }
                _ if !self.fresh(heard) => {}
                // The report comes before the last picture.
                _ if self.shows() == Shows::Busy && quiet < limits::LINGER => return Some(None),
                state => {
                    let strong = state == State::Asking || signal == Signal::Hook || self.worked();
                    return Some(Some(Verdict::new(state, strong, signal, &heard.detail)));
                }
            }
        }
        None
    }

    /// What the title says, if it is to be believed: nothing is an answer too.
    fn title_verdict(&self, quiet: Duration) -> Option<Option<Verdict>> {
        let heard = self.live.reports.title.as_ref()?;
        let verdict = |state, strong| Some(Some(Verdict::new(state, strong, Signal::Title, &heard.detail)));
        match heard.state {
            State::Working if quiet < limits::STILL_BUSY => verdict(State::Working, true),
            State::Asking if self.fresh(heard) && self.shows() != Shows::Busy => verdict(State::Asking, true),
            // Idle titles are also shown during dialogs, and before the last picture.
            State::Ready if self.fresh(heard) && self.shows() == Shows::Ready => {
                verdict(State::Ready, self.worked())
            }
            _ => None,
        }
    }

    fn screen_verdict(&self, quiet: Duration) -> Option<Verdict> {
        let sight = self.live.sight.as_ref()?;
        let verdict = |state, strong| Some(Verdict::new(state, strong, Signal::Screen, &sight.evidence));
        match sight.shows {
            Shows::Asking => verdict(State::Asking, true),
            // Marks that mean it move.
            Shows::Busy if quiet >= limits::STILL_BUSY => verdict(State::Unknown, false),
            Shows::Busy => verdict(State::Working, true),
            Shows::Nothing => None,
            Shows::Ready => {
                let Some(turn) = &self.live.turn else { return verdict(State::Ready, true) };
                let told = self
                    .live
                    .reports
                    .notify
                    .as_ref()
                    .filter(|heard| heard.state == State::Ready && self.fresh(heard));
                if let Some(heard) = told {
                    return Some(Verdict::new(State::Ready, true, Signal::Notify, &heard.detail));
                }
                let counts = self.profile.view.counter_below.is_some();
                let done = !counts || sight.done || sight.count != turn.count;
                match (turn.worked, self.holds(turn)) {
                    (true, holds) => verdict(State::Ready, done || holds),
                    (false, true) => None,
                    (false, false) => verdict(State::Ready, false),
                }
            }
        }
    }

    /// Whether it was seen at work since the submission; without a turn there is nothing to see.
    fn worked(&self) -> bool {
        self.live.turn.as_ref().is_none_or(|turn| turn.worked)
    }

    /// Whether something was said after the submission.
    fn fresh(&self, heard: &Heard) -> bool {
        self.live.turn.as_ref().is_none_or(|turn| heard.offset > turn.submit || heard.at > turn.at)
    }

    fn shows(&self) -> Shows {
        self.live.sight.as_ref().map_or(Shows::Nothing, |sight| sight.shows)
    }

    /// Whether the input box still holds, or holds again, what was submitted.
    fn holds(&self, turn: &Open) -> bool {
        let input = self.live.sight.as_ref().map(|sight| squeeze(&sight.input)).unwrap_or_default();
        let same = |text: &str| squeeze(text).starts_with(&input);
        !input.is_empty() && (same(&turn.typed) || same(&turn.shown))
    }

    /// Enter was pressed.
    pub(crate) fn submit(&mut self, screen: &Screen, keys: &mut Keys, now: Time) {
        let typed = keys.take_typed();
        let blank = typed.trim().is_empty();
        if self.live.status.state == State::Asking {
            self.live.answered = true;
            if self.profile.kind == Kind::Line {
                self.set_status(State::Working, Signal::Input, "answered", now);
            }
            return;
        }
        if let Some(pending) = self.live.pending.filter(|_| self.live.turn.is_some() && !blank)
            && let Some(verdict) = self.verdict(limits::LINGER).filter(|said| said.state == State::Ready)
        {
            self.conclude(screen, pending.offset, &verdict, now);
        }
        let shown = self.input_line(screen);
        let changed = self.live.prompt.as_deref().is_some_and(|prompt| prompt.trim() != shown.trim());
        let ready = matches!(self.live.status.state, State::Ready | State::Error | State::Unknown);
        if self.live.turn.is_none() && ready && (!blank || changed) {
            // A hint in an empty box, or a bare prompt, was not submitted.
            let mine = changed && (blank || shows_typed(&shown, &typed));
            self.open_turn(screen, typed, if mine { shown } else { String::new() }, now);
        }
    }

    fn open_turn(&mut self, screen: &Screen, typed: String, shown: String, now: Time) {
        let offset = self.live.offset;
        let bottom = self.live.sight.as_ref().map_or(0, |sight| sight.bottom);
        let mut collector = text::Collector::default();
        if self.profile.kind == Kind::Screen && screen.modes().alternate {
            let rows = screen.row_texts();
            collector.see(&rows[..bottom.min(rows.len())]);
        }
        let first_line = match collector.lines().len() {
            0 => screen.scrolled() + bottom as u64,
            lines => lines as u64,
        };
        self.live.turn = Some(Open {
            submit: offset,
            at: now,
            capture: Capture::new(offset, &typed, &self.live.tail.text(), limits::TURN_BYTES),
            typed,
            shown,
            interrupted: false,
            escapes: 0,
            worked: false,
            dialogs: Vec::new(),
            count: self.live.sight.as_ref().and_then(|sight| sight.count.clone()),
            size: self.live.size,
            resizes: Vec::new(),
            collector,
            first_line,
        });
        self.live.pending = None;
        self.live.answered = false;
        self.push(Event::TurnStarted { seq: self.live.seq + 1, submit: Offset(offset) });
        self.set_status(State::Working, Signal::Input, "submitted", now);
    }

    fn end_turn(&mut self, screen: &Screen, end: u64, verdict: &Verdict, now: Time) {
        let answer = self.screen_answer(screen);
        let Some(turn) = self.live.turn.take() else { return };
        self.live.pending = None;
        let line = self.profile.kind == Kind::Line;
        // Its beginning has left the scrollback.
        let headless = !line && !answer.echoed && !answer.text.is_empty();
        let content = if line { self.line_content(&turn) } else { turn.capture.all(end) };
        let text = if line {
            let rendered = text::render(&content.bytes, content.start, turn.size, &turn.resizes);
            text::written(&self.profile, &rendered, &turn.shown)
        } else {
            answer.text
        };
        if line && !self.profile.prompt.empty_turns && text.trim().is_empty() {
            return self.set_status(verdict.state, verdict.signal, &verdict.detail, now);
        }
        self.live.seq += 1;
        let turn = Turn {
            seq: self.live.seq,
            byte_length: content.len,
            truncated: content.truncated() || turn.collector.truncated || headless,
            submit: Offset(turn.submit),
            start: Offset(content.start),
            raw: content.bytes,
            end: Offset(end),
            text,
            submitted_at: turn.at,
            ended_at: now,
            interrupted: turn.interrupted,
            dialogs: turn.dialogs,
            signal: verdict.signal,
        };
        self.push(Event::TurnEnded(Box::new(turn)));
        self.set_status(verdict.state, verdict.signal, &verdict.detail, now);
        if self.live.keys.typed().is_empty() {
            self.live.prompt = Some(self.input_line(screen));
        }
    }

    /// The answer of an agent that repaints, from the screen as it is.
    fn screen_answer(&self, screen: &Screen) -> Answer {
        let (Some(turn), Some(sight), Kind::Screen) = (&self.live.turn, &self.live.sight, self.profile.kind)
        else {
            return Answer::default();
        };
        let inputs = [turn.typed.as_str(), turn.shown.as_str()];
        let input = squeeze(&sight.input);
        // It took the turn back: nothing of it is left.
        if !input.is_empty() && inputs.iter().any(|submitted| squeeze(submitted) == input) {
            return Answer::default();
        }
        let view = &self.profile.view;
        if screen.modes().alternate {
            let first = usize::try_from(turn.first_line).unwrap_or(usize::MAX);
            return text::answer(view, turn.collector.lines(), &inputs, first);
        }
        let scrollback = screen.scrollback(usize::MAX);
        let mut lines: Vec<String> = scrollback.iter().map(swb_vt::Line::text).collect();
        lines.extend(screen.row_texts().into_iter().take(sight.bottom));
        let gone = screen.scrolled().saturating_sub(scrollback.len() as u64);
        let first = usize::try_from(turn.first_line.saturating_sub(gone)).unwrap_or(usize::MAX);
        text::answer(view, &lines, &inputs, first)
    }

    /// The output of a program that writes lines, between echo and prompt.
    fn line_content(&self, turn: &Open) -> Content {
        let reports = &self.live.reports;
        if let (Some(from), Some(to)) =
            (reports.output_from.filter(|from| *from >= turn.submit), reports.output_to)
        {
            return turn.capture.between(from, to);
        }
        // Pastes are turned on right before the prompt is drawn, or right after it.
        let pasting = reports.pasting_from.saturating_sub(PASTE_MODE);
        let pasting = Some(pasting).filter(|from| reports.pasting == Some(true) && *from > turn.submit);
        let line = self.live.tail.start();
        turn.capture.content(pasting.map_or(line, |from| from.min(line)))
    }

    /// What the line with the cursor, or the input box, shows.
    fn input_line(&self, screen: &Screen) -> String {
        if self.profile.kind == Kind::Screen {
            return self.live.sight.as_ref().map(|sight| sight.input.clone()).unwrap_or_default();
        }
        cursor_line(screen)
    }

    /// What the line with the cursor says, for programs that write lines.
    fn prompt_verdict(&self, screen: &Screen) -> Option<Verdict> {
        let reports = &self.live.reports;
        if let Some(told) = self.own_verdict(limits::PROMPT_QUIET) {
            return told;
        }
        // Editors and pagers take the whole screen, and pastes too.
        if screen.modes().alternate {
            return None;
        }
        let line = cursor_line(screen);
        let submit = self.live.turn.as_ref().map(|turn| turn.submit);
        if let Some(mark) = &reports.mark {
            // A shell that marks its prompts is believed, and nothing else about them.
            let prompt =
                mark.state == State::Ready || (mark.detail.starts_with('A') && !line.trim().is_empty());
            let fresh = submit.is_none_or(|submit| mark.offset > submit);
            return (prompt && fresh).then(|| Verdict::new(State::Ready, true, Signal::Mark, &mark.detail));
        }
        let (signal, from) = match reports.pasting {
            Some(true) => (Signal::Paste, reports.pasting_from),
            Some(false) => return None,
            None => (Signal::Line, self.live.tail.start()),
        };
        if submit.is_some_and(|submit| from <= submit) {
            return None;
        }
        let prompt = &self.profile.prompt;
        let learned = self.live.prompt.as_deref() == Some(line.as_str());
        if prompt.asking.prefix(&line).is_some() || prompt.asking.any(&line) {
            return Some(Verdict::new(State::Asking, true, signal, &line));
        }
        if submit.is_some() && !learned && prompt.continuation.prefix(&line).is_some() {
            return None;
        }
        let raw = prompt.raw.as_ref().is_none_or(|raw| raw.is_match(self.live.tail.bytes()));
        let any =
            signal == Signal::Paste && (learned || (prompt.any_while_pasting && self.like_prompt(&line)));
        let known = prompt.ready.prefix(&line).is_some() && raw;
        (any || known).then(|| Verdict::new(State::Ready, true, signal, &line))
    }

    /// Whether a line with a line editor on it may be a prompt: programs ask questions that way too.
    fn like_prompt(&self, line: &str) -> bool {
        let last = |line: &str| line.trim_end().chars().next_back();
        let question = last(line).is_none_or(|c| matches!(c, '?' | ':' | ']'));
        !question || self.live.prompt.as_deref().and_then(last).is_some_and(|known| Some(known) == last(line))
    }
}

/// Whether an input line shows what was typed: all of it, or its beginning when the program lags behind.
fn shows_typed(shown: &str, typed: &str) -> bool {
    let (shown, typed) = (squeeze(shown), squeeze(typed));
    shown.contains(&typed) || typed.starts_with(&shown)
}

/// Length of the sequence that turns pastes on.
const PASTE_MODE: u64 = 8;

/// The row with the cursor, up to the cursor.
fn cursor_line(screen: &Screen) -> String {
    let cursor = screen.cursor();
    let row = screen.row_texts().into_iter().nth(cursor.row.into()).unwrap_or_default();
    let mut line: String = row.chars().take(cursor.col.into()).collect();
    // Blanks at the end of a row are not part of its text, but those before the cursor are the prompt's.
    let missing = usize::from(cursor.col).saturating_sub(line.chars().count());
    line.extend(std::iter::repeat_n(' ', missing));
    line
}
