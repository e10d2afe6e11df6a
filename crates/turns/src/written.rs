//! The answer of a program that writes lines: the output between the echo of the input and the prompt.
//!
//! Output that does not end its line is on the line of the prompt, and lines that were submitted at once are echoed
//! between the answers, each behind a prompt.

use crate::capture::Content;
use crate::detector::Detector;
use crate::limits;
use crate::live::Open;
use crate::look::squeeze;
use crate::profile::ProgramKind;
use crate::strip::{strip, strip_text};
use crate::text;
use crate::verdict::is_distinctive;
use swb_types::Offset;
use swb_vt::Screen;

/// Length of the sequence that turns pastes on.
const PASTE_MODE: u64 = 8;

impl Open {
    /// Records a line that was submitted while the program works.
    pub(crate) fn later_line(&mut self, typed: &str) {
        let room = limits::LATER_LINES.saturating_sub(self.later.len());
        let lines = if typed.is_empty() { vec![""] } else { typed.lines().collect() };
        self.later.extend(lines.into_iter().take(room).map(str::to_owned));
    }
}

impl Detector {
    /// The output between echo and prompt; `ended` if the prompt is there.
    pub(crate) fn line_content(&self, turn: &Open, ended: bool) -> Content {
        let reports = &self.live.reports;
        if let (Some(from), Some(to)) =
            (reports.output_from.filter(|from| *from >= turn.submit), reports.output_to)
        {
            return turn.capture.between(from, to);
        }
        let pasting =
            Some(reports.pasting_from).filter(|from| reports.pasting == Some(true) && *from > turn.submit);
        let end = match pasting {
            // Bracketed paste is turned on right before the prompt is drawn, or right after it.
            Some(from) if self.is_text_after(turn, from) => from.saturating_sub(PASTE_MODE),
            Some(_) => self.prompt_start(turn),
            None if ended => self.prompt_start(turn),
            None => self.live.tail.start(),
        };
        let content = turn.capture.content(end);
        match turn.edited_to.filter(|from| *from <= end) {
            // What a line editor draws before it submits is not output.
            Some(from) if redraws(turn, content.start, from) => turn.capture.between(from, end),
            _ => content,
        }
    }

    /// Whether lines were submitted that the program has not echoed yet.
    pub(crate) fn reads_on(&self) -> bool {
        let Some(turn) = &self.live.turn else { return false };
        let last = turn.later.iter().rev().find(|line| !line.trim().is_empty());
        last.is_some_and(|last| !turn.capture.contains(last.trim().as_bytes()))
    }

    fn is_text_after(&self, turn: &Open, from: Offset) -> bool {
        has_text(&turn.capture.between(from, self.live.offset).bytes)
    }

    /// Where the prompt begins: after output that does not end its line, or at the start of the line.
    fn prompt_start(&self, turn: &Open) -> Offset {
        let (tail, raw) = (&self.live.tail, self.live.tail.bytes());
        if let Some(mark) = &self.profile.prompt.unfinished {
            // The prompt may have several lines.
            let end =
                turn.capture.between(self.live.offset.saturating_sub(limits::MARK_BYTES), self.live.offset);
            if let Some(found) = mark.find_iter(&end.bytes).last() {
                return end.start + found.start() as u64;
            }
        }
        let start = self.live.prompt.as_deref().and_then(|prompt| known_start(raw, prompt));
        match start.filter(|start| has_text(&raw[..*start])) {
            Some(start) => tail.offset_of(start),
            None => tail.start(),
        }
    }

    /// The text of an answer.
    pub(crate) fn written(&self, turn: &Open, content: &Content) -> String {
        let rendered = text::render(&content.bytes, content.start, turn.size, &turn.resizes);
        let mut lines: Vec<&str> = rendered.lines().collect();
        let shown = squeeze(&turn.shown);
        if !shown.is_empty() && lines.first().is_some_and(|first| squeeze(first) == shown) {
            lines.remove(0);
        }
        let header = self.profile.prompt.header.as_ref();
        if let Some(at) = header.and_then(|header| lines.iter().rposition(|line| header.is_match(line))) {
            lines.truncate(at);
        }
        let mut submitted: Vec<&str> =
            turn.typed.lines().skip(1).chain(turn.later.iter().map(String::as_str)).collect();
        let kept = lines.into_iter().map(|line| {
            let line = self
                .unechoed(line, &mut submitted)
                .map_or(Some(line), |before| Some(before).filter(|before| !before.trim().is_empty()));
            line.filter(|line| !self.profile.view.chrome.any(line)).map(str::to_owned)
        });
        text::tidy(kept)
    }

    /// The output before the echo of one of the submitted lines, which are echoed in order; `None` if the line is no
    /// echo.
    fn unechoed<'a>(&self, line: &'a str, submitted: &mut Vec<&str>) -> Option<&'a str> {
        let (at, before) = submitted
            .iter()
            .enumerate()
            .find_map(|(at, typed)| Some((at, self.before_prompt(line, typed)?)))?;
        submitted.drain(..=at);
        Some(before)
    }

    /// What precedes a prompt with this text typed behind it.
    fn before_prompt<'a>(&self, line: &'a str, typed: &str) -> Option<&'a str> {
        let shown = line.trim_end().strip_suffix(typed.trim_end())?.trim_end();
        let known = self.live.prompt.as_deref().map(str::trim_end).filter(|prompt| !prompt.is_empty());
        if let Some(before) = known.and_then(|prompt| shown.strip_suffix(prompt))
            && (before.is_empty() || known.is_some_and(is_distinctive))
        {
            return Some(before);
        }
        let prompt = &self.profile.prompt;
        let is_prompt = [&prompt.continuation, &prompt.ready]
            .iter()
            .any(|patterns| patterns.prefix(shown).is_some_and(|end| end == shown.len()));
        (is_prompt && !shown.is_empty()).then_some("")
    }

    /// Remembers the input line or box, if nothing is typed.
    pub(crate) fn learn_prompt(&mut self, screen: &Screen) {
        if !self.live.keys.typed().is_empty() {
            return;
        }
        // An earlier line that a key has brought back is not part of the prompt.
        let line = self.profile.kind == ProgramKind::Line;
        if line && self.live.keys.touched() && self.live.prompt.is_some() {
            return;
        }
        let shown = self.input_line(screen);
        if self.profile.kind == ProgramKind::Screen {
            self.live.prompt = Some(shown);
            return;
        }
        // Output may be on the same line.
        let known = self
            .live
            .prompt
            .take()
            .filter(|prompt| shown.ends_with(prompt.as_str()) && !prompt.trim().is_empty());
        self.live.prompt = known.or_else(|| Some(self.written_prompt().unwrap_or(shown)));
    }

    /// The prompt where bracketed paste is turned on before it, within the line.
    fn written_prompt(&self) -> Option<String> {
        let (reports, tail) = (&self.live.reports, &self.live.tail);
        let from = reports.pasting_from.0.checked_sub(tail.offset_of(0).0)?;
        let prompt = strip_text(tail.bytes().get(usize::try_from(from).ok()?..)?);
        (reports.pasting == Some(true) && !prompt.trim().is_empty()).then_some(prompt)
    }
}

/// Whether a line editor redrew the input before it submitted it, wherever it wrapped the lines: they end like the
/// input.
fn redraws(turn: &Open, from: Offset, to: Offset) -> bool {
    let drawn = turn.capture.between(from, to).bytes;
    let last = turn.typed.split_whitespace().next_back();
    let drawn = has_text(&drawn).then(|| text::render(&drawn, from, turn.size, &[]));
    drawn.zip(last).is_some_and(|(drawn, last)| drawn.trim_end().ends_with(last))
}

/// Where the prompt begins at the end of a line.
fn known_start(raw: &[u8], prompt: &str) -> Option<usize> {
    let prompt = prompt.trim();
    let first = *prompt.as_bytes().first().filter(|_| is_distinctive(prompt))?;
    let from = raw.len().saturating_sub(limits::PROMPT_BYTES);
    let places = memchr::memrchr_iter(first, &raw[from..]).map(|at| from + at);
    places.into_iter().find(|at| strip_text(&raw[*at..]).trim_end() == prompt)
}

/// Whether output shows something, also if it is overwritten later.
fn has_text(bytes: &[u8]) -> bool {
    let mut parts = bytes.split(|byte| matches!(byte, b'\r' | b'\n'));
    parts.any(|part| strip(part).iter().any(|byte| !byte.is_ascii_whitespace()))
}
