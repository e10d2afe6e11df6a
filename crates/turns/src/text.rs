//! The plain text of an answer.
//!
//! Programs that write lines are rendered by a screen of their own, fed with the answer alone. The answer of agents that
//! repaint is on the real screen: above the input box, below the echo of the input, including the
//! scrollback. The alternate screen has no scrollback, so its rows are collected while they scroll by.

use crate::limits;
use crate::look::squeeze;
use crate::profile::{Profile, View};
use serde::{Deserialize, Serialize};
use swb_types::{Offset, Size};
use swb_vt::{Options, Screen, ScreenLine};

/// The lines of a view that scrolls by itself, joined from its rows.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Collector {
    lines: Vec<String>,
    /// The line shown in the first row when last seen.
    top: usize,
    /// The rows when last seen, and how many of them do not scroll.
    shown: Vec<String>,
    pins: usize,
    /// Whether lines were dropped at the beginning.
    pub(crate) truncated: bool,
}

impl Collector {
    /// Takes the rows that are shown now.
    pub(crate) fn see(&mut self, rows: &[String]) {
        let used = rows.iter().rposition(|row| !row.is_empty()).map_or(0, |y| y + 1);
        let rows = &rows[..used];
        if rows.is_empty() {
            return;
        }
        let at = self.align(rows);
        let same = rows.iter().zip(self.lines.iter().skip(at)).filter(|(new, old)| new == old).count();
        // The user scrolls back: these lines are known, and those that follow still exist.
        self.pins = self.pinned(rows, at);
        if same < rows.len() {
            let pins = self.pins.min(self.lines.len() - at);
            self.lines.truncate(at + pins);
            self.lines.extend_from_slice(&rows[pins..]);
        }
        self.top = at;
        self.shown = rows.to_vec();
        if self.lines.len() > limits::COLLECTED_LINES {
            let excess = limits::COLLECTED_LINES / 10;
            self.lines.drain(..excess);
            self.top = self.top.saturating_sub(excess);
            self.truncated = true;
        }
    }

    /// The line at which the rows fit best; the end if they fit nowhere.
    fn align(&self, rows: &[String]) -> usize {
        let back = self.top.saturating_sub(4 * rows.len());
        // The view usually moves forward or stays.
        let places = (self.top..self.lines.len()).chain((back..self.top).rev());
        let mut best = (0, self.lines.len());
        for at in places {
            let pairs = rows.iter().zip(&self.lines[at..]);
            let matches = pairs.filter(|(new, old)| new == old && !new.trim().is_empty()).count();
            if matches > best.0 {
                best = (matches, at);
            }
        }
        best.1
    }

    /// Rows at the top that stay in place while the rest scrolls, such as the question that is being answered.
    fn pinned(&self, rows: &[String], at: usize) -> usize {
        let same = rows.iter().zip(&self.shown).take_while(|(new, old)| new == old).count();
        // Without a movement nothing new is known about them.
        if at > self.top { same } else { same.min(self.pins) }
    }

    pub(crate) fn lines(&self) -> &[String] {
        &self.lines
    }
}

/// Renders the output of a program that writes lines.
pub(crate) fn render(bytes: &[u8], start: Offset, size: Size, resizes: &[(Offset, Size)]) -> String {
    let mut screen = Screen::new(size, Options { scrollback: limits::SCRATCH_LINES });
    let mut rest = bytes;
    let mut at = start;
    for (offset, size) in resizes {
        let len = usize::try_from(*offset - at).unwrap_or(usize::MAX).min(rest.len());
        screen.feed(&rest[..len]);
        screen.resize(*size);
        rest = &rest[len..];
        at += len as u64;
    }
    screen.feed(rest);
    let lines = screen.scrollback(limits::SCRATCH_LINES).into_iter().chain(screen.lines());
    bounded(&tidy(&joined(lines)))
}

/// A program's output without its input line, if the program redrew that, without frame, and
/// without the lines above its prompt.
pub(crate) fn written(profile: &Profile, text: &str, asked: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let asked = squeeze(asked);
    if !asked.is_empty() && lines.first().is_some_and(|first| squeeze(first) == asked) {
        lines.remove(0);
    }
    let header = profile.prompt.header.as_ref();
    if let Some(at) = header.and_then(|header| lines.iter().rposition(|line| header.is_match(line))) {
        lines.truncate(at);
    }
    let kept = lines.into_iter().filter(|line| !profile.view.chrome.any(line));
    tidy(&kept.map(str::to_owned).collect::<Vec<_>>())
}

/// Lines as they were before the screen wrapped them.
fn joined(lines: impl Iterator<Item = ScreenLine>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in lines {
        // A wrapped line is full; blanks at its end are part of it.
        let text: String = line.runs.iter().map(|run| run.text.as_str()).collect();
        match all.last_mut().filter(|_| goes_on) {
            Some(last) => last.push_str(&text),
            None => all.push(text),
        }
        goes_on = line.wrapped;
    }
    all
}

/// An answer cut out of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) text: String,
    /// Whether the echo of the input was found before it.
    pub(crate) echoed: bool,
}

/// Cuts the answer out of a conversation: what follows the echo of the input, without frame.
///
/// `inputs` are the possible texts of the input: as typed, and as the input box showed it. Without an echo
/// the answer begins at line `fallback`.
pub(crate) fn answer(view: &View, lines: &[String], inputs: &[&str], fallback: usize) -> Answer {
    cut(view, lines, inputs, fallback, lines.len())
}

/// The same up to the first line that will still change.
pub(crate) fn steady_answer(view: &View, lines: &[String], inputs: &[&str], fallback: usize) -> Answer {
    let start = cut_from(view, lines, inputs).unwrap_or(fallback.min(lines.len()));
    let changes = lines[start..].iter().position(|line| view.unstable.any(line));
    cut(view, lines, inputs, fallback, changes.map_or(lines.len(), |at| start + at))
}

/// How an answer is cut out of a conversation.
pub(crate) type Cut = fn(&View, &[String], &[&str], usize) -> Answer;

fn cut(view: &View, lines: &[String], inputs: &[&str], fallback: usize, end: usize) -> Answer {
    let echo = cut_from(view, lines, inputs);
    let start = echo.unwrap_or(fallback).min(end);
    let kept =
        lines[start..end].iter().filter(|line| !view.chrome.any(line)).map(|line| unframed(view, line));
    Answer { text: bounded(&tidy(&kept.collect::<Vec<_>>())), echoed: echo.is_some() }
}

fn cut_from(view: &View, lines: &[String], inputs: &[&str]) -> Option<usize> {
    let inputs: Vec<String> =
        inputs.iter().map(|input| squeeze(input)).filter(|input| !input.is_empty()).collect();
    find_echo(view, lines, &inputs)
}

/// The line after the last echo of one of the inputs.
fn find_echo(view: &View, lines: &[String], inputs: &[String]) -> Option<usize> {
    let echo = view.echo.as_ref()?;
    let text = |line: &str| {
        echo.captures(line).and_then(|found| found.name("text")).map(|found| squeeze(found.as_str()))
    };
    let shown = |text: &str, input: &str| {
        !text.is_empty() && (input.starts_with(text) || text.starts_with(input) || text.ends_with(input))
    };
    let (at, first) = lines.iter().enumerate().rev().find_map(|(at, line)| {
        let text = text(line)?;
        let pasted = text.contains("[Pasted") || text.contains("[Image");
        (pasted || inputs.iter().any(|input| shown(&text, input))).then_some((at, text))
    })?;
    // A long input continues in the following lines.
    let rest =
        inputs.iter().filter_map(|input| input.strip_prefix(first.as_str())).max_by_key(|rest| rest.len());
    let (mut rest, mut at) = (rest.unwrap_or_default(), at + 1);
    while let Some(line) = lines.get(at).filter(|_| !rest.is_empty()) {
        let line = squeeze(line.trim_start_matches([' ', '┃', '│']));
        let Some(after) = rest.strip_prefix(line.as_str()) else { break };
        rest = after;
        at += 1;
    }
    Some(at)
}

/// A line without the indentation of all answers, and without the mark of their first line.
fn unframed(view: &View, line: &str) -> String {
    let indent: usize =
        line.chars().take(view.indent).take_while(|c| *c == ' ' || view.bullets.contains(*c)).count();
    let text: String = line.chars().skip(indent).collect();
    text.trim_end().to_owned()
}

/// Joins lines without trailing blanks, without blank lines at both ends, and with at most one in a row.
fn tidy(lines: &[String]) -> String {
    let mut text = String::new();
    let mut blank = 0;
    for line in lines.iter().map(|line| line.trim_end()) {
        if line.is_empty() {
            blank += 1;
            continue;
        }
        if !text.is_empty() {
            text.push_str(if blank > 0 { "\n\n" } else { "\n" });
        }
        blank = 0;
        text.push_str(line);
    }
    text
}

/// The end of the text, where the answer's conclusion is, if it exceeds the limit.
fn bounded(text: &str) -> String {
    let excess = text.len().saturating_sub(limits::TEXT_BYTES);
    let start = (excess..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text[start..].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &[&str]) -> Vec<String> {
        text.iter().map(|row| (*row).to_owned()).collect()
    }

    #[test]
    fn rows_that_scroll_by_are_joined() {
        let all: Vec<String> = (0..100).map(|n| format!("line {n}")).collect();
        let mut collector = Collector::default();
        for step in [0, 3, 5, 5, 12, 14, 20, 26, 30, 60, 66] {
            collector.see(&all[step..step + 8]);
        }
        // 30 to 60 is more than a page: those lines were never shown.
        let shown: Vec<String> = all[..38].iter().chain(&all[60..74]).cloned().collect();
        assert_eq!(collector.lines(), shown);
    }

    #[test]
    fn scrolling_back_loses_nothing_and_changes_replace_the_end() {
        let mut collector = Collector::default();
        collector.see(&rows(&["a", "b", "c", "d"]));
        collector.see(&rows(&["c", "d", "e", "wor"]));
        collector.see(&rows(&["a", "b", "c"]));
        collector.see(&rows(&["c", "d", "e", "word", "f"]));
        assert_eq!(collector.lines().concat(), "abcdewordf");
    }

    #[test]
    fn a_pinned_row_is_not_part_of_the_scrolled_text() {
        let all: Vec<String> = (0..50).map(|n| format!("line {n}")).collect();
        let mut collector = Collector::default();
        collector.see(&[&["question".to_owned(), String::new()], &all[..8]].concat());
        for step in [3, 5, 5, 9, 14, 14] {
            collector.see(&[&["question".to_owned(), String::new()], &all[step..step + 8]].concat());
        }
        assert_eq!(collector.lines()[..2], ["question", ""]);
        assert_eq!(collector.lines()[2..], all[..22]);
    }

    #[test]
    fn wrapped_lines_are_joined() {
        let size = Size::new(10, 3).unwrap();
        assert_eq!(
            render(b"0123456789abc\r\nx\r\n\r\n\r\ny", Offset::START, size, &[]),
            "0123456789abc\nx\n\ny"
        );
        assert_eq!(render(b"50%\r100%\r\n\x1b[31mred\x1b[m", Offset::START, size, &[]), "100%\nred");
    }
}
