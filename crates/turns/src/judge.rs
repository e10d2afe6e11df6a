//! Weighs the evidence at quiet moments, and opens and closes turns accordingly.
//!
//! Neither a dialog nor silence ends a turn: silence only chooses the moment.

use crate::capture::Capture;
use crate::collector::{Collector, GAP};
use crate::detector::{Detector, DetectorEvent};
use crate::erased;
use crate::keys::TurnKeys;
use crate::limits;
use crate::live::Open;
use crate::look::{self, Shows, squeeze};
use crate::profile::ProgramKind;
use crate::status::ProgramState;
use crate::text::{self, Answer};
use crate::time::Time;
use crate::turn::{CompletedTurn, Signal, SoFar};
use crate::verdict::{Verdict, cursor_line};
use std::time::Duration;
use swb_types::Offset;
use swb_vt::Screen;

impl Detector {
    /// Weighs the evidence after this much silence.
    pub(crate) fn weigh(&mut self, screen: &Screen, now: Time, quiet: Duration) {
        if self.profile.kind == ProgramKind::Screen {
            // An incomplete frame is no evidence.
            if self.live.drawing.is_some_and(|since| now.since(since) < limits::DRAWING) {
                return;
            }
            self.see(screen, now);
            match self.verdict(quiet) {
                Some(verdict) => self.act(screen, &verdict, now, quiet),
                None => self.consider(false, false, now),
            }
        } else if let Some(verdict) = self.prompt_verdict(screen, quiet) {
            // The next of several lines is read at any moment.
            let over = verdict.state != ProgramState::Ready || quiet >= limits::LINGER || !self.reads_on();
            if over {
                self.act(screen, &verdict, now, quiet);
            }
        }
    }

    fn act(&mut self, screen: &Screen, verdict: &Verdict, now: Time, quiet: Duration) {
        match verdict.state {
            ProgramState::Ready | ProgramState::Error => self.ready(screen, verdict, now, quiet),
            ProgramState::Asking => {
                self.consider(false, false, now);
                self.asking(verdict, now);
            }
            state => {
                self.consider(false, false, now);
                if self.live.turn.is_some() || self.live.status.state != ProgramState::Starting {
                    self.set_status(state, verdict.signal, &verdict.detail, now);
                }
            }
        }
    }

    pub(crate) fn asking(&mut self, verdict: &Verdict, now: Time) {
        let dialog = self.live.sight.as_ref().map(|sight| sight.dialog.clone()).unwrap_or_default();
        // One dialog may follow another without anything in between.
        let next = self.live.answered && !dialog.is_empty() && dialog != self.live.dialog;
        if self.live.status.state == ProgramState::Asking && !next {
            return;
        }
        self.live.answered = false;
        self.live.dialog = dialog;
        let offset = self.live.offset;
        self.live.status.state = ProgramState::Working;
        self.set_status(ProgramState::Asking, verdict.signal, &verdict.detail, now);
        if let Some(turn) = self.live.turn.as_mut() {
            // A list of settings to choose from is no work.
            turn.worked |= !self.profile.is_command(&turn.typed);
            if turn.dialogs.len() < limits::DIALOGS {
                turn.dialogs.push(offset);
            }
            self.push(DetectorEvent::Dialog { offset });
        }
    }

    pub(crate) fn end_in_dialog(&mut self, screen: &Screen, now: Time) {
        let Some(turn) = &mut self.live.turn else { return };
        // A dialog at the end is not one in mid-turn.
        let at = turn.dialogs.pop();
        let detail = self.live.status.evidence.as_ref().map(|seen| seen.detail.clone()).unwrap_or_default();
        let verdict = Verdict::new(ProgramState::Asking, true, Signal::End, &detail);
        self.end_turn(screen, at.unwrap_or(self.live.offset), &verdict, now);
    }

    fn ready(&mut self, screen: &Screen, verdict: &Verdict, now: Time, quiet: Duration) {
        if self.live.turn.is_none() {
            self.set_status(verdict.state, verdict.signal, &verdict.detail, now);
            self.learn_prompt(screen);
            return;
        }
        if self.profile.kind == ProgramKind::Line {
            return self.end_turn(screen, self.live.offset, verdict, now);
        }
        self.consider(true, verdict.strong, now);
        let enough = match (verdict.strong, verdict.signal) {
            (true, Signal::Screen) => self.profile.view.quiet,
            (true, _) => limits::REPORT_QUIET,
            (false, _) if self.is_command() => self.profile.view.quiet.max(limits::COMMAND_QUIET),
            (false, _) if self.lingers(screen) => limits::LINGER,
            (false, _) => limits::ABANDON,
        };
        let enough = if self.draws_on(screen) { enough.max(limits::LINGER) } else { enough };
        if quiet >= enough {
            let pending = self.live.pending.filter(|pending| pending.touched);
            self.conclude(screen, pending.map_or(self.live.offset, |pending| pending.offset), verdict, now);
        }
    }

    /// Whether text is still to be drawn.
    fn draws_on(&self, screen: &Screen) -> bool {
        let undrawn = &self.profile.view.undrawn;
        !undrawn.is_empty() && screen.row_texts().iter().any(|row| undrawn.any(row))
    }

    /// Whether a longer silence is enough: the program was seen working, or has answered, and does not show a counter
    /// that would have changed by the end.
    fn lingers(&self, screen: &Screen) -> bool {
        let counted = self.live.sight.as_ref().is_some_and(|sight| sight.count.is_some());
        if self.live.turn.as_ref().is_some_and(|turn| turn.worked) { !counted } else { self.answered(screen) }
    }

    /// Whether the agent itself executes what was submitted, and was not seen working on it.
    fn is_command(&self) -> bool {
        let command = |turn: &Open| !turn.worked && self.profile.is_command(&turn.typed);
        self.live.turn.as_ref().is_some_and(command)
    }

    /// Whether the input never left the input box. An interrupted turn may return there; others do not.
    fn refused(&self, screen: &Screen) -> bool {
        let Some(turn) = self.live.turn.as_ref().filter(|turn| !turn.interrupted) else { return false };
        let input = self.live.sight.as_ref().map(|sight| squeeze(&sight.input)).unwrap_or_default();
        let typed = squeeze(turn.typed.lines().next().unwrap_or_default());
        !typed.is_empty() && input.starts_with(&typed) && !self.screen_answer(screen).echoed
    }

    /// Whether there is text below the echo of the input.
    fn answered(&self, screen: &Screen) -> bool {
        let answer = self.screen_answer(screen);
        answer.echoed && !answer.text.is_empty()
    }

    /// Ends the turn of an agent that repaints, if there was one: commands without an answer, and keys that submitted
    /// nothing, leave no trace.
    fn conclude(&mut self, screen: &Screen, end: Offset, verdict: &Verdict, now: Time) {
        if (self.worked() || self.answered(screen)) && !self.refused(screen) {
            return self.end_turn(screen, end, verdict, now);
        }
        self.live.turn = None;
        self.live.pending = None;
        self.set_status(verdict.state, verdict.signal, &verdict.detail, now);
    }

    /// Ends a turn whose program has looked ready for long while the user continued typing.
    pub(crate) fn end_if_held(&mut self, screen: &Screen, now: Time) {
        let held = |at: Time| now.since(at) >= limits::HELD;
        let Some(pending) = self.live.pending.filter(|pending| pending.strong && held(pending.at)) else {
            return;
        };
        if self.live.turn.is_none() {
            return;
        }
        self.see(screen, now);
        if let Some(verdict) =
            self.verdict(Duration::ZERO).filter(|verdict| verdict.state == ProgramState::Ready)
        {
            self.end_turn(screen, pending.offset, &verdict, now);
        }
    }

    /// Whether the input is still in the input box, without any effect: Enter was a newline there.
    fn still_edited(&self, turn: &Open) -> bool {
        let input = self.live.sight.as_ref().map(|sight| squeeze(&sight.input)).unwrap_or_default();
        let first = squeeze(turn.typed.lines().next().unwrap_or_default());
        let first = first.trim_end_matches('\\');
        !turn.worked && self.shows() == Shows::Ready && !first.is_empty() && input.starts_with(first)
    }

    /// Enter was pressed.
    pub(crate) fn submit(&mut self, screen: &Screen, keys: &mut TurnKeys, now: Time) {
        let typed = keys.take_typed();
        let blank = typed.trim().is_empty();
        if self.live.status.state == ProgramState::Asking {
            self.live.answered = true;
            if self.profile.kind == ProgramKind::Line {
                let offset = self.live.offset;
                self.live.turn.iter_mut().for_each(|turn| turn.entered = offset);
                self.set_status(ProgramState::Working, Signal::Input, "answered", now);
            }
            return;
        }
        if let Some(pending) = self.live.pending.filter(|_| self.live.turn.is_some() && !blank)
            && let Some(verdict) =
                self.verdict(limits::LINGER).filter(|said| said.state == ProgramState::Ready)
        {
            let prompt = self.live.prompt.take();
            self.conclude(screen, pending.offset, &verdict, now);
            self.live.prompt = prompt;
        }
        let shown = self.input_line(screen);
        if let Some(turn) = self.live.turn.as_mut().filter(|_| self.profile.kind == ProgramKind::Line) {
            turn.later_line(&typed);
        }
        if !blank && self.live.turn.as_ref().is_some_and(|turn| self.still_edited(turn)) {
            let before = self.live.turn.take().map(|turn| turn.typed).unwrap_or_default();
            let typed = format!("{}\n{typed}", before.trim_end_matches('\\'));
            return self.open_turn(screen, typed, shown, now);
        }
        let changed = self.live.prompt.as_deref().is_some_and(|prompt| prompt.trim() != shown.trim());
        let ready = matches!(
            self.live.status.state,
            ProgramState::Ready | ProgramState::Error | ProgramState::Unknown
        );
        if self.live.turn.is_none() && ready && (!blank || changed) {
            // A hint in an empty box, or a bare prompt, was not submitted.
            let mine = changed && (blank || shows_typed(&shown, &typed));
            self.open_turn(screen, typed, if mine { shown } else { String::new() }, now);
        }
    }

    fn open_turn(&mut self, screen: &Screen, typed: String, shown: String, now: Time) {
        let offset = self.live.offset;
        let bottom = self.live.sight.as_ref().map_or(0, |sight| sight.bottom);
        let mut collector = Collector::default();
        if self.profile.kind == ProgramKind::Screen && screen.modes().alternate {
            let rows = screen.row_texts();
            let rows = look::conversation(&self.profile.view, &rows[..bottom.min(rows.len())]);
            collector.see(&rows, self.live.size.cols());
        }
        let first_line = match collector.lines().len() {
            0 => screen.scrolled() + bottom as u64,
            lines => lines as u64,
        };
        self.live.turn = Some(Open {
            submit: offset,
            entered: offset,
            at: now,
            capture: Capture::new(offset, &typed, &self.live.tail.text(), limits::TURN_BYTES),
            typed,
            shown,
            later: Vec::new(),
            edited_to: None,
            interrupted: false,
            escapes: 0,
            worked: false,
            dialogs: Vec::new(),
            count: self.live.sight.as_ref().and_then(|sight| sight.count.clone()),
            size: self.live.size,
            resizes: Vec::new(),
            collector,
            before_resize: Vec::new(),
            first_line,
        });
        self.live.pending = None;
        self.live.answered = false;
        self.push(DetectorEvent::TurnStarted { seq: self.live.seq + 1, submit: offset });
        self.set_status(ProgramState::Working, Signal::Input, "submitted", now);
    }

    fn end_turn(&mut self, screen: &Screen, end: Offset, verdict: &Verdict, now: Time) {
        let answer = self.screen_answer(screen);
        let Some(turn) = self.live.turn.take() else { return };
        self.live.pending = None;
        let line = self.profile.kind == ProgramKind::Line;
        // Its beginning has left the scrollback, or lines of it were never shown.
        let headless = !line && !answer.echoed && !answer.text.is_empty();
        let gaps = !line && answer.text.lines().any(|line| line == GAP);
        let content = if line { self.line_content(&turn, true) } else { turn.capture.all(end) };
        let text = match turn.before_resize.as_slice() {
            _ if line => self.written(&turn, &content),
            [] => answer.text,
            before => {
                let lines: Vec<String> = answer.text.lines().map(str::to_owned).collect();
                erased::restored(before, &lines).join("\n")
            }
        };
        if line && !self.profile.prompt.empty_turns && text.trim().is_empty() {
            return self.set_status(verdict.state, verdict.signal, &verdict.detail, now);
        }
        self.live.seq += 1;
        let turn = CompletedTurn {
            seq: self.live.seq,
            byte_length: content.len,
            truncated: content.truncated() || turn.collector.truncated || headless || gaps,
            submit: turn.submit,
            start: content.start,
            raw: content.bytes,
            end,
            text,
            submitted_at: turn.at,
            ended_at: now,
            interrupted: turn.interrupted,
            dialogs: turn.dialogs,
            signal: verdict.signal,
        };
        self.push(DetectorEvent::TurnEnded(Box::new(turn)));
        self.set_status(verdict.state, verdict.signal, &verdict.detail, now);
        self.learn_prompt(screen);
    }

    /// The answer of an agent that repaints, from the screen as it is.
    fn screen_answer(&self, screen: &Screen) -> Answer {
        self.cut_answer(screen, text::answer)
    }

    fn cut_answer(&self, screen: &Screen, cut: text::Cut) -> Answer {
        let (Some(turn), Some(sight), ProgramKind::Screen) =
            (&self.live.turn, &self.live.sight, self.profile.kind)
        else {
            return Answer::default();
        };
        let inputs = [turn.typed.as_str(), turn.shown.as_str()];
        let input = squeeze(&sight.input);
        // The agent took the turn back: nothing of it is left.
        if !input.is_empty() && inputs.iter().any(|submitted| squeeze(submitted) == input) {
            return Answer::default();
        }
        let view = &self.profile.view;
        if screen.modes().alternate {
            let first = usize::try_from(turn.first_line).unwrap_or(usize::MAX);
            let mut answer = cut(view, turn.collector.lines(), &inputs, first);
            if answer.headless {
                answer.text = format!("{GAP}\n{}", answer.text);
            }
            return answer;
        }
        let scrollback = screen.scrollback(usize::MAX);
        let mut lines: Vec<String> = scrollback.iter().map(swb_vt::ScreenLine::text).collect();
        lines.extend(screen.row_texts().into_iter().take(sight.bottom));
        let gone = screen.scrolled().saturating_sub(scrollback.len() as u64);
        let first = usize::try_from(turn.first_line.saturating_sub(gone)).unwrap_or(usize::MAX);
        cut(view, &lines, &inputs, first)
    }

    /// Keeps the answer before a resize: the program may erase lines of it.
    pub(crate) fn keep_answer(&mut self, screen: &Screen, now: Time) {
        if self.profile.kind != ProgramKind::Screen || screen.modes().alternate || self.live.drawing.is_some()
        {
            return;
        }
        self.see(screen, now);
        let answer = self.cut_answer(screen, text::answer);
        if let Some(turn) = self.live.turn.as_mut().filter(|_| answer.echoed) {
            let lines: Vec<String> = answer.text.lines().map(str::to_owned).collect();
            turn.before_resize = erased::restored(&turn.before_resize, &lines);
            turn.before_resize.truncate(limits::COLLECTED_LINES);
        }
    }

    /// The answer in progress, without lines that are known to change.
    /// `None` without a turn, or if it is too long to be rendered repeatedly.
    pub fn so_far(&mut self, screen: &Screen, now: Time) -> Option<SoFar> {
        let submit = self.live.turn.as_ref()?.submit;
        if self.profile.kind == ProgramKind::Screen {
            let drawing = self.live.drawing.is_some_and(|since| now.since(since) < limits::DRAWING);
            if !drawing {
                self.see(screen, now);
            }
            let answer = self.cut_answer(screen, text::steady_answer);
            let found = !drawing && answer.echoed && self.shows() != Shows::Nothing;
            return found.then_some(SoFar { submit, text: answer.text });
        }
        let turn = self.live.turn.as_ref()?;
        let content = self.line_content(turn, false);
        if screen.modes().alternate || content.bytes.len() > limits::LOOK_BYTES {
            return None;
        }
        Some(SoFar { submit, text: self.written(turn, &content) })
    }

    /// The text of the line with the cursor, or of the input box.
    pub(crate) fn input_line(&self, screen: &Screen) -> String {
        if self.profile.kind == ProgramKind::Screen {
            return self.live.sight.as_ref().map(|sight| sight.input.clone()).unwrap_or_default();
        }
        cursor_line(screen)
    }
}

/// Whether an input line shows all that was typed: a program that lags behind shows only its beginning.
fn shows_typed(shown: &str, typed: &str) -> bool {
    squeeze(shown).contains(&squeeze(typed))
}
