//! The plain text of an answer.
//!
//! Programs that write lines are rendered by a screen of their own, fed with the answer alone. The answer of agents that
//! repaint is on the real screen: above the input box, below the echo of the input, including the
//! scrollback. The alternate screen has no scrollback, so its rows are collected while they scroll by.

use crate::collector::GAP;
use crate::limits;
use crate::look::{CHROME, conversation, squeeze};
use crate::profile::View;
use swb_types::{Offset, Size};
use swb_vt::{Options, Screen, ScreenLine};

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
    bounded(&tidy(joined(lines).into_iter().map(Some)))
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
    /// Whether its first line is missing.
    pub(crate) headless: bool,
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
    let changes = lines[start..].iter().position(|line| view.unstable.any(line) || view.undrawn.any(line));
    cut(view, lines, inputs, fallback, changes.map_or(lines.len(), |at| start + at))
}

/// How an answer is cut out of a conversation.
pub(crate) type Cut = fn(&View, &[String], &[&str], usize) -> Answer;

fn cut(view: &View, lines: &[String], inputs: &[&str], fallback: usize, end: usize) -> Answer {
    let echo = cut_from(view, lines, inputs);
    let start = echo.unwrap_or(fallback).min(end);
    let lines = conversation(view, &lines[start..end]);
    let first = lines.iter().find(|line| !line.trim().is_empty());
    let headless = first.is_some_and(|line| continues(view, line));
    let mut gap = false;
    let kept = lines.iter().filter_map(|line| {
        let undrawn = line == GAP || view.undrawn.any(line);
        let repeated = gap && (undrawn || line.trim().is_empty());
        gap = undrawn || repeated;
        let text = if undrawn { GAP.to_owned() } else { unframed(view, line) };
        (!repeated).then_some(Some(text).filter(|_| line != CHROME))
    });
    Answer { text: bounded(&tidy(kept)), echoed: echo.is_some(), headless }
}

/// Marks that agents draw for the items of lists.
const ITEMS: &str = "•◦▪‣";

/// Whether the first line of an answer is none: it is indented like the others, without the mark of the first one. Other
/// marks that are no ASCII, such as those before what a command printed, are the agent's own.
fn continues(view: &View, line: &str) -> bool {
    let text = line.trim_start_matches(' ');
    let indented = line.len() - text.len() >= view.indent && view.indent > 0 && !view.bullets.is_empty();
    let starts = |c: char| c.is_alphanumeric() || c.is_ascii_punctuation() || ITEMS.contains(c);
    indented && text.starts_with(starts)
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

/// Joins lines without trailing blanks, and without blank lines at both ends. `None` is a line that was left out; of the
/// blank lines around it, one is kept.
pub(crate) fn tidy(lines: impl Iterator<Item = Option<String>>) -> String {
    let mut text = String::new();
    let (mut blank, mut left_out) = (0, false);
    for line in lines {
        let line = line.as_deref().map(str::trim_end);
        match line {
            None => left_out = true,
            Some("") => blank += 1,
            Some(line) => {
                if !text.is_empty() {
                    let most = if left_out { 1 } else { limits::BLANK_LINES };
                    text.push_str(&"\n".repeat(1 + blank.min(most)));
                }
                (blank, left_out) = (0, false);
                text.push_str(line);
            }
        }
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

    #[test]
    fn wrapped_lines_are_joined() {
        let size = Size::new(10, 3).unwrap();
        assert_eq!(
            render(b"0123456789abc\r\nx\r\n\r\n\r\ny", Offset::START, size, &[]),
            "0123456789abc\nx\n\n\ny"
        );
        assert_eq!(render(b"50%\r100%\r\n\x1b[31mred\x1b[m", Offset::START, size, &[]), "100%\nred");
    }
}
