//! One look at the screen of an agent that repaints: is it busy, does it ask, is its input box ready?
//!
//! The text of an answer must not be taken for the agent's own marks. So marks count only where answers
//! cannot be: below the input box, in the first column right above it, or in a dialog that has replaced it.

use crate::limits;
use crate::profile::{Patterns, Profile, View};
use serde::{Deserialize, Serialize};
use swb_vt::Screen;

/// What the screen shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Shows {
    /// A dialog waits for an answer.
    Asking,
    /// A mark shows that the agent is working.
    Busy,
    /// The input box, and no other evidence.
    Ready,
    /// Neither; another program has the screen at the moment.
    Nothing,
}

/// The result of a look.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sight {
    pub(crate) shows: Shows,
    /// The rows above this one are the conversation.
    pub(crate) bottom: usize,
    /// The text in the input box, its first row only.
    pub(crate) input: String,
    /// A counter below the box that changes when an answer is complete.
    pub(crate) count: Option<String>,
    /// A mark above the box shows that the answer is over.
    pub(crate) done: bool,
    /// Without an input box and other evidence: one of several rows is marked, as in a list to choose from.
    #[serde(default)]
    pub(crate) marked: bool,
    /// The text of the dialog, without the mark of the option.
    pub(crate) dialog: String,
    /// The row the state was read from.
    pub(crate) evidence: String,
}

/// Looks at the rows of a screen.
pub(crate) fn look(view: &View, rows: &[String]) -> Sight {
    let used = rows.iter().rposition(|row| !row.trim().is_empty()).map_or(0, |y| y + 1);
    let anchor = anchor_row(view, rows, used);
    let known = asking_row(&view.asking, rows, anchor).or_else(|| asking_row(&view.menu, rows, anchor));
    let overlay = overlay_row(view, &rows[..used], anchor).filter(|_| known.is_none());
    let asking = known.or(overlay);
    let bottom = match (asking, anchor) {
        (Some(y), _) => y,
        (None, Some(y)) => box_top(view, rows, y),
        (None, None) => rows.len(),
    };
    let above = rows[..bottom].iter().rev().filter(|row| !row.trim().is_empty()).take(limits::ROWS_ABOVE);
    let below = rows.iter().skip(anchor.map_or(rows.len(), |y| y + 1));
    let busy_below = below.clone().find(|row| view.busy_below.any(row));
    let busy = busy_below.or_else(|| above.clone().find(|row| view.busy_above.any(row)));
    let (shows, evidence) = match (asking, busy, anchor) {
        // Marks of work may be explained by the keys that stop it.
        (Some(_), Some(row), _) if known.is_none() => (Shows::Busy, row.trim()),
        (Some(y), ..) => (Shows::Asking, rows[y].trim()),
        (None, Some(row), _) => (Shows::Busy, row.trim()),
        (None, None, Some(y)) => (Shows::Ready, rows[y].trim()),
        (None, None, None) => (Shows::Nothing, ""),
    };
    Sight {
        shows,
        bottom,
        input: anchor.map(|y| input_text(view, rows, y)).unwrap_or_default(),
        count: view.counter_below.as_ref().and_then(|regex| {
            below
                .clone()
                .find_map(|row| regex.captures(row))
                .and_then(|found| found.name("count"))
                .map(|m| m.as_str().to_owned())
        }),
        done: above.take(3).any(|row| view.done_above.any(row)),
        marked: shows == Shows::Nothing && marked_row(&rows[..used]).is_some(),
        dialog: asking
            .map(|y| dialog_text(&rows[y.saturating_sub(limits::QUESTION_ROWS)..]))
            .unwrap_or_default(),
        evidence: evidence.chars().take(limits::EVIDENCE).collect(),
    }
}

/// Stands for a row that is not part of the conversation; blank, so that it places nothing.
pub(crate) const CHROME: &str = "\u{2028}";

/// The rows of a conversation, with [`CHROME`] in place of those that are not part of it.
pub(crate) fn conversation(view: &View, rows: &[String]) -> Vec<String> {
    let mut note = None;
    let keep = |(y, row): (usize, &String)| {
        let indent = row.chars().take_while(|c| *c == ' ').count();
        if view.notes.any(row) {
            note = Some(indent);
        } else if note.is_some_and(|above| indent <= above || row.trim().is_empty()) {
            note = None;
        }
        let ends = || rows.get(y + 1).is_none_or(|below| below.trim().is_empty()) && view.footer.any(row);
        let left_out = note.is_some() || view.chrome.any(row) || ends();
        if left_out { CHROME.to_owned() } else { row.clone() }
    };
    rows.iter().enumerate().map(keep).collect()
}

/// The row by which the input box is found, among the first `used` rows.
pub(crate) fn anchor_row(view: &View, rows: &[String], used: usize) -> Option<usize> {
    let regex = view.anchor.as_ref()?;
    (used.saturating_sub(limits::ROWS_BELOW)..used).rev().find(|y| {
        let above = y.checked_sub(1).and_then(|y| rows.get(y)).map_or("", String::as_str);
        regex.is_match(&rows[*y]) && view.anchor_above.as_ref().is_none_or(|border| border.is_match(above))
    })
}

/// The row of a dialog: every pattern must match, below any input box.
fn asking_row(patterns: &Patterns, rows: &[String], anchor: Option<usize>) -> Option<usize> {
    let mut patterns = patterns.iter();
    let first = patterns.next()?;
    let row = (0..rows.len()).rev().find(|y| first.is_match(&rows[*y]))?;
    let below = anchor.is_none_or(|anchor| row >= anchor);
    let all = patterns.all(|regex| rows[row..].iter().any(|text| regex.is_match(text)));
    (below && all).then_some(row)
}

/// The row of something unknown that has replaced the input box, by the keys named below it: its marked row, or the one
/// that names the keys.
fn overlay_row(view: &View, rows: &[String], anchor: Option<usize>) -> Option<usize> {
    let from = match anchor {
        // A window over the screen leaves the input box where it is.
        Some(_) if view.windows => 0,
        // Where a frame separates the input box from other rows, what follows it are hints about the input.
        Some(_) if view.anchor_above.is_some() || view.body.is_some() => return None,
        Some(y) => (y + 1).max(rows.len().saturating_sub(limits::ROWS_BELOW)),
        None => rows.len().saturating_sub(limits::ROWS_BELOW),
    };
    let keys = (from..rows.len()).rev().find(|y| view.overlay.any(&rows[*y]))?;
    let options = &rows[keys.saturating_sub(limits::DIALOG_ROWS)..keys];
    let marked = |patterns: &Patterns| {
        let first = patterns.iter().next()?;
        options.iter().rposition(|row| first.is_match(row)).map(|n| keys - options.len() + n)
    };
    Some(marked(&view.asking).or_else(|| marked(&view.menu)).unwrap_or(keys))
}

/// The marked row of a list at the end of a screen: the row above or below it begins in the same column, without a mark.
fn marked_row(rows: &[String]) -> Option<usize> {
    let label = |row: &str| row.chars().position(|c| c.is_alphanumeric());
    let plain = |row: &String| row.chars().take_while(|c| !c.is_alphanumeric()).all(char::is_whitespace);
    let from = rows.len().saturating_sub(limits::ROWS_BELOW);
    (from..rows.len()).rev().find(|y| {
        let is_marked = rows[*y].trim_start().starts_with(['❯', '›', '▸', '▶', '➜', '→', '◉', '●', '>']);
        let beside = [y.checked_sub(1), y.checked_add(1)].into_iter().flatten().filter_map(|y| rows.get(y));
        is_marked && label(&rows[*y]).is_some() && {
            let column = label(&rows[*y]);
            beside.into_iter().any(|row| plain(row) && label(row) == column)
        }
    })
}

/// The row of a menu on a screen without input box, of a program that is known to ask.
pub(crate) fn menu_row(view: &View, rows: &[String]) -> Option<usize> {
    let used = rows.iter().rposition(|row| !row.trim().is_empty()).map_or(0, |y| y + 1);
    let nothing = look(view, rows).shows == Shows::Nothing;
    let first = view.menu.iter().next().filter(|_| nothing);
    let known = first.and_then(|first| rows.iter().rposition(|row| first.is_match(row)));
    known.or_else(|| marked_row(&rows[..used]).filter(|_| nothing))
}

fn dialog_text(rows: &[String]) -> String {
    rows.concat().chars().filter(|c| c.is_alphanumeric()).take(limits::DIALOG_IDENTITY).collect()
}

pub(crate) fn box_top(view: &View, rows: &[String], anchor: usize) -> usize {
    if view.anchor_above.is_some() {
        return anchor.saturating_sub(1);
    }
    let Some(body) = &view.body else { return anchor };
    (0..anchor).rev().take_while(|y| body.is_match(&rows[*y])).last().unwrap_or(anchor)
}

/// The typed text: the rest of the anchor's row, or the first row of the box's body with text.
fn input_text(view: &View, rows: &[String], anchor: usize) -> String {
    let text = |row: &str| row.trim_start().chars().skip(1).collect::<String>().trim().to_owned();
    if view.body.is_none() {
        return text(&rows[anchor]);
    }
    let body = rows[box_top(view, rows, anchor)..anchor].iter().map(|row| text(row));
    body.into_iter().find(|text| !text.is_empty()).unwrap_or_default()
}

/// Whether a ready input box contains this text, as far as its first row shows.
pub fn box_holds(profile: &Profile, screen: &Screen, text: &str) -> bool {
    let sight = look(&profile.view, &screen.row_texts());
    let input = squeeze(&sight.input);
    sight.shows == Shows::Ready && !input.is_empty() && squeeze(text).starts_with(&input)
}

/// The text without blanks, to compare text that was wrapped, padded or typed.
pub(crate) fn squeeze(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && *c != '\u{a0}').collect()
}
