//! The verdict of the evidence, the most trusted first.
//!
//! Evidence expires. A report that a program is ready counts only if it came after the submission; a report that it
//! works counts only while there is output.

use crate::detector::Detector;
use crate::limits;
use crate::live::{Heard, Open};
use crate::look::{Shows, squeeze};
use crate::status::ProgramState;
use crate::turn::Signal;
use std::time::Duration;
use swb_vt::Screen;

/// What the evidence shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) state: ProgramState,
    /// Whether a short silence is enough to trust it.
    pub(crate) strong: bool,
    pub(crate) signal: Signal,
    pub(crate) detail: String,
}

impl Verdict {
    pub(crate) fn new(state: ProgramState, strong: bool, signal: Signal, detail: &str) -> Self {
        Self { state, strong, signal, detail: detail.to_owned() }
    }
}

impl Detector {
    /// The verdict of the most trusted evidence that has not expired; `None` if there is none.
    pub(crate) fn verdict(&self, quiet: Duration) -> Option<Verdict> {
        let verdict = self.own_verdict(quiet).or_else(|| self.title_verdict(quiet));
        verdict.unwrap_or_else(|| self.screen_verdict(quiet))
    }

    /// The program's own report, if it sends any: "too early to decide" is a verdict, too.
    fn own_verdict(&self, quiet: Duration) -> Option<Option<Verdict>> {
        let reports = &self.live.reports;
        let own = [(&reports.hook, Signal::Hook), (&reports.status, Signal::Status)];
        for (heard, signal) in own.iter().filter_map(|(heard, signal)| Some((heard.as_ref()?, *signal))) {
            match heard.state {
                ProgramState::Working if quiet >= limits::REPORT => {}
                ProgramState::Working => {
                    return Some(Some(Verdict::new(ProgramState::Working, true, signal, &heard.detail)));
                }
                _ if !self.fresh(heard) => {}
                // A program that waits for a choice may call itself idle.
                ProgramState::Ready if self.shows() == Shows::Asking || self.may_ask() => {}
                // A report about a dialog that was answered and is gone. In a turn the next report comes soon.
                ProgramState::Asking
                    if self.live.answered && self.live.turn.is_none() && self.shows() == Shows::Ready => {}
                // The report comes before the last frame.
                _ if self.shows() == Shows::Busy && quiet < limits::LINGER => return Some(None),
                state => {
                    let strong = state == ProgramState::Asking || signal == Signal::Hook || self.worked();
                    return Some(Some(Verdict::new(state, strong, signal, &heard.detail)));
                }
            }
        }
        None
    }

    /// The verdict of the title, if it is to be trusted: no state is a verdict, too.
    fn title_verdict(&self, quiet: Duration) -> Option<Option<Verdict>> {
        let heard = self.live.reports.title.as_ref()?;
        let verdict = |state, strong| Some(Some(Verdict::new(state, strong, Signal::Title, &heard.detail)));
        match heard.state {
            ProgramState::Working if quiet < limits::STILL_BUSY => verdict(ProgramState::Working, true),
            ProgramState::Asking if self.fresh(heard) && self.shows() != Shows::Busy => {
                verdict(ProgramState::Asking, true)
            }
            // Idle titles are also shown during dialogs, and before the last frame.
            ProgramState::Ready if self.fresh(heard) && self.shows() == Shows::Ready => {
                verdict(ProgramState::Ready, self.worked())
            }
            _ => None,
        }
    }

    fn screen_verdict(&self, quiet: Duration) -> Option<Verdict> {
        let sight = self.live.sight.as_ref()?;
        let verdict = |state, strong| Some(Verdict::new(state, strong, Signal::Screen, &sight.evidence));
        match sight.shows {
            Shows::Asking => verdict(ProgramState::Asking, true),
            // Marks of running work are animated.
            Shows::Busy if quiet >= limits::STILL_BUSY => verdict(ProgramState::Unknown, false),
            Shows::Busy => verdict(ProgramState::Working, true),
            Shows::Nothing if sight.marked && quiet >= limits::LINGER => verdict(ProgramState::Asking, true),
            Shows::Nothing => None,
            Shows::Ready => {
                let Some(turn) = &self.live.turn else { return verdict(ProgramState::Ready, true) };
                let heard = self
                    .live
                    .reports
                    .notify
                    .as_ref()
                    .filter(|heard| heard.state == ProgramState::Ready && self.fresh(heard));
                if let Some(heard) = heard {
                    return Some(Verdict::new(ProgramState::Ready, true, Signal::Notify, &heard.detail));
                }
                let counts = self.profile.view.counter_below.is_some();
                let done = !counts || sight.done || sight.count != turn.count;
                match (turn.worked, self.holds(turn)) {
                    (true, holds) => verdict(ProgramState::Ready, done || holds),
                    // It may be submitted later, as when the program has started completely.
                    (false, true) if quiet < limits::ABANDON => None,
                    (false, true) => verdict(ProgramState::Unknown, false),
                    (false, false) => verdict(ProgramState::Ready, false),
                }
            }
        }
    }

    /// Whether a list to choose from may have replaced the input box, and nothing was submitted.
    fn may_ask(&self) -> bool {
        self.live.turn.is_none() && self.live.sight.as_ref().is_some_and(|sight| sight.marked)
    }

    /// Whether the program was seen working since the submission; without a turn it was not.
    pub(crate) fn worked(&self) -> bool {
        self.live.turn.as_ref().is_none_or(|turn| turn.worked)
    }

    /// Whether a report came after the submission.
    fn fresh(&self, heard: &Heard) -> bool {
        self.live.turn.as_ref().is_none_or(|turn| heard.offset > turn.submit || heard.at > turn.at)
    }

    pub(crate) fn shows(&self) -> Shows {
        self.live.sight.as_ref().map_or(Shows::Nothing, |sight| sight.shows)
    }

    /// Whether the input box still, or again, contains the input.
    fn holds(&self, turn: &Open) -> bool {
        let input = self.live.sight.as_ref().map(|sight| squeeze(&sight.input)).unwrap_or_default();
        let same = |text: &str| squeeze(text).starts_with(&input);
        !input.is_empty() && (same(&turn.typed) || same(&turn.shown))
    }

    /// The verdict of the line with the cursor, for programs that write lines.
    pub(crate) fn prompt_verdict(&self, screen: &Screen, quiet: Duration) -> Option<Verdict> {
        let reports = &self.live.reports;
        if let Some(verdict) = self.own_verdict(limits::PROMPT_QUIET) {
            return verdict;
        }
        // Editors and pagers use the whole screen, and accept pastes too.
        if screen.modes().alternate {
            return None;
        }
        let line = untyped(&cursor_line(screen), self.live.keys.typed());
        let entered = self.live.turn.as_ref().map(|turn| turn.entered);
        if let Some(mark) = &reports.mark {
            // A shell that marks its prompts is trusted, unless its line editor shows that something else runs.
            let prompt = mark.state == ProgramState::Ready
                || (mark.detail.starts_with('A') && !line.trim().is_empty());
            let fresh = entered.is_none_or(|entered| mark.offset > entered) && reports.pasting != Some(false);
            return (prompt && fresh)
                .then(|| Verdict::new(ProgramState::Ready, true, Signal::Mark, &mark.detail));
        }
        let (signal, from) = match reports.pasting {
            Some(true) => (Signal::Paste, reports.pasting_from),
            Some(false) => return None,
            None => (Signal::Line, self.live.tail.start()),
        };
        if entered.is_some_and(|entered| from <= entered) {
            return None;
        }
        self.line_verdict(&line, signal, quiet)
    }

    /// The prompt seen before, if a line ends with it: output that does not end its line is before it.
    pub(crate) fn known_prompt(&self, line: &str, signal: Signal) -> Option<&str> {
        let prompt = self.live.prompt.as_deref()?;
        let before = line.strip_suffix(prompt)?;
        (before.is_empty() || signal == Signal::Paste || is_distinctive(prompt)).then_some(prompt)
    }

    /// Whether the cursor is behind the prompt that was seen before, or behind what was typed there.
    pub(crate) fn is_at_known_prompt(&self, screen: &Screen) -> bool {
        let line = untyped(&cursor_line(screen), self.live.keys.typed());
        self.known_prompt(&line, Signal::Line).is_some()
    }

    /// The verdict of a line that may be a prompt.
    fn line_verdict(&self, line: &str, signal: Signal, quiet: Duration) -> Option<Verdict> {
        let prompt = &self.profile.prompt;
        if prompt.asking.any(line) {
            // An answer that quotes a question continues soon.
            let enough = signal == Signal::Paste || quiet >= limits::SCREEN_QUIET;
            return enough.then(|| Verdict::new(ProgramState::Asking, true, signal, line));
        }
        let learned = self.known_prompt(line, signal).is_some();
        if self.live.turn.is_some() && !learned && prompt.continuation.prefix(line).is_some() {
            return None;
        }
        let raw = prompt.raw.as_ref().is_none_or(|raw| raw.is_match(self.live.tail.bytes()));
        let any =
            signal == Signal::Paste && (learned || (prompt.any_while_pasting && self.like_prompt(line)));
        let known = (learned || prompt.ready.prefix(line).is_some()) && raw;
        // An answer may pause after a word that matches; a repetition of the earlier prompt is no coincidence.
        let waits = signal == Signal::Line && prompt.steady && !learned && self.live.prompt.is_some();
        let silence = match signal {
            Signal::Line if waits => limits::LINGER,
            Signal::Line if self.live.turn.is_some() => prompt.quiet,
            _ => Duration::ZERO,
        };
        let enough = quiet >= silence;
        ((any || known) && enough).then(|| Verdict::new(ProgramState::Ready, true, signal, line))
    }

    /// Whether a line with a line editor on it may be a prompt: programs ask questions that way too.
    fn like_prompt(&self, line: &str) -> bool {
        let last = |line: &str| line.trim_end().chars().next_back();
        let question = last(line).is_none_or(|c| matches!(c, '?' | ':' | ']'));
        !question || self.live.prompt.as_deref().and_then(last).is_some_and(|known| Some(known) == last(line))
    }
}

/// Whether output is unlikely to end like this prompt: questions often end with one mark.
pub(crate) fn is_distinctive(prompt: &str) -> bool {
    let mark = prompt.trim();
    matches!(mark, "$" | "#" | "%") || mark.chars().count() > 1
}

/// An input line without the typed text.
fn untyped(line: &str, typed: &[u8]) -> String {
    let typed = String::from_utf8_lossy(typed);
    let typed = typed.trim_end();
    match line.trim_end().strip_suffix(typed) {
        Some(prompt) if !typed.is_empty() => prompt.to_owned(),
        _ => line.to_owned(),
    }
}

/// The row with the cursor, up to the cursor.
pub(crate) fn cursor_line(screen: &Screen) -> String {
    let cursor = screen.cursor();
    let row = screen.row_texts().into_iter().nth(cursor.row.into()).unwrap_or_default();
    let mut line: String = row.chars().take(cursor.col.into()).collect();
    // Trailing blanks of a row are not part of its text, but those before the cursor belong to the prompt.
    let missing = usize::from(cursor.col).saturating_sub(line.chars().count());
    line.extend(std::iter::repeat_n(' ', missing));
    line
}
