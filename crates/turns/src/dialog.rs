//! Dialogs: what a program asks on its screen, the options, and the keys that choose them.
//!
//! Nothing is guessed: a dialog whose options the profile cannot read has none, and only the terminal can answer it.

use crate::limits;
use crate::look::{self, Shows};
use crate::profile::{Dialogs, Profile, ProgramKind};
use crate::verdict::cursor_line;
use regex::Regex;
use serde::{Deserialize, Serialize};
use swb_vt::{Color, Screen};

/// Parts of questions that do not name what they are about.
const GENERAL: [&str; 8] = [
    "proceed",
    "following",
    "execution",
    "permission required",
    "this change",
    "shell command",
    "new file",
    "allow",
];

/// The id of the option that stands for Escape.
const CANCEL: &str = "esc";

/// What choosing an option means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Meaning {
    /// Allow from now on.
    AllowAlways,
    /// Allow once.
    AllowOnce,
    /// Neither: one of several answers.
    Other,
    /// Deny from now on.
    RejectAlways,
    /// Deny once.
    RejectOnce,
}

impl Meaning {
    /// Whether it allows the operation.
    pub fn allows(self) -> bool {
        matches!(self, Self::AllowAlways | Self::AllowOnce)
    }

    /// Whether it denies the operation.
    pub fn rejects(self) -> bool {
        matches!(self, Self::RejectAlways | Self::RejectOnce)
    }
}

/// One option.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DialogOption {
    /// Its id in the dialog: its number or letter, or its position.
    pub id: String,
    /// Its label for users.
    pub label: String,
    /// Its meaning.
    pub meaning: Meaning,
    /// Whether it confirms the decision that was made in the dialog before.
    #[serde(default)]
    pub confirms: bool,
    /// The names of the keys that choose it, in order.
    pub keys: Vec<String>,
}

impl DialogOption {
    /// The leading keys that only move the mark to it; those that choose it follow.
    pub fn moves(&self) -> &[String] {
        let moves = |key: &&String| matches!(key.as_str(), "Up" | "Down" | "Left" | "Right");
        &self.keys[..self.keys.iter().take_while(moves).count()]
    }
}

/// A dialog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dialog {
    /// Derived from its text: the same dialog has the same id.
    pub id: String,
    /// The tool to be used, or the program's profile if unknown.
    pub tool: String,
    /// The question.
    pub question: String,
    /// What it is about, such as the command to be run, if that is not in the question.
    #[serde(default)]
    pub subject: Option<String>,
    /// The text about it.
    pub detail: String,
    /// Whether its beginning is not on the screen.
    #[serde(default)]
    pub cut: bool,
    /// The options. If they cannot be read there is at most one, Escape, and only a user at the terminal can answer.
    pub options: Vec<DialogOption>,
}

impl Dialog {
    /// Whether its own options could be read; Escape is offered in any case.
    pub fn is_readable(&self) -> bool {
        self.options.iter().any(|option| option.id != CANCEL)
    }

    /// Whether an option is the marked one, or is chosen without moving a mark: its remaining keys choose it.
    pub fn is_marked(&self, option: &str) -> bool {
        self.options.iter().any(|known| known.id == option && known.moves().is_empty())
    }

    /// Whether it requests a permission: one option grants it.
    pub fn asks_permission(&self) -> bool {
        self.options.iter().any(|option| option.meaning.allows())
    }
}

/// The dialog shown on a screen; `asks` if the program is known to ask.
pub fn dialog(profile: &Profile, screen: &Screen, asks: bool) -> Option<Dialog> {
    let rows = screen.row_texts();
    let at = match profile.kind {
        ProgramKind::Screen => {
            let sight = look::look(&profile.view, &rows);
            let shown = Some(sight.bottom).filter(|_| sight.shows == Shows::Asking);
            shown.or_else(|| look::menu_row(&profile.view, &rows).filter(|_| asks))
        }
        ProgramKind::Line => {
            let asks = !screen.modes().alternate && profile.prompt.asking.any(&cursor_line(screen));
            asks.then(|| usize::from(screen.cursor().row))
        }
    }?;
    Some(read(profile, screen, &rows, at))
}

/// An option on the screen.
struct Found {
    row: usize,
    /// Number of characters before its label.
    column: usize,
    key: Option<String>,
    label: String,
}

fn read(profile: &Profile, screen: &Screen, rows: &[String], at: usize) -> Dialog {
    let dialogs = &profile.dialogs;
    let found = match (&dialogs.option, profile.kind) {
        (None, _) => Vec::new(),
        (Some(option), ProgramKind::Line) => in_row(option, rows, at),
        (Some(option), _) if dialogs.select.is_some() => {
            let row = (at..rows.len()).rev().find(|y| in_row(option, rows, *y).len() > 1);
            row.map(|y| in_row(option, rows, y)).unwrap_or_default()
        }
        (Some(option), _) => listed(option, rows, at),
    };
    let is_menu = found.is_empty() && dialogs.menu.is_some();
    let found = match &dialogs.menu {
        Some(menu) if is_menu && may_choose(profile, &rows[at]) => menu_around(menu, rows, at),
        _ => found,
    };
    let first = found.first().map_or(at, |option| option.row);
    let top = first.saturating_sub(limits::DIALOG_ROWS);
    let border = dialogs.top.as_ref().map(|border| (top..first).rev().find(|y| border.is_match(&rows[*y])));
    let (top, cut) = match border {
        Some(Some(y)) => (y + 1, false),
        // It begins above the screen, unless something else begins there.
        Some(None) => (top, top == 0 && may_begin_above(profile, screen) && !plain(&rows[0]).is_empty()),
        None => (first.saturating_sub(limits::QUESTION_ROWS), false),
    };
    // The question itself precedes options in one row.
    let lead = found.first().filter(|_| profile.kind == ProgramKind::Line).map(|option| {
        let before: String = rows[first].chars().take(option.column).collect();
        plain(&before)
    });
    let above = rows[top..first].iter().map(|row| plain(row));
    let mut said: Vec<(usize, String)> = (top..).zip(above.chain(lead)).collect();
    said.retain(|(_, row)| !row.is_empty());
    if found.is_empty() {
        said.push((at, plain(&rows[at])));
    }
    let raw = || (top..).zip(&rows[top..=first.min(rows.len() - 1)]);
    let tool = dialogs.tool.as_ref().and_then(|tool| raw().find_map(|(_, row)| named(tool, row, "tool")));
    let (asked_at, question) = question(dialogs, raw(), &said);
    let subject = subject(profile, &rows[top..first], &question, cut);
    let everything = said.iter().map(|(_, row)| row.as_str()).collect::<Vec<_>>().join("\n");
    // Only the question itself is left out; otherwise its subject could be hidden in rows that look like it.
    let detail = said.iter().filter(|(y, row)| *y != asked_at || !row.ends_with(&question));
    let detail = detail.map(|(_, row)| row.as_str()).collect::<Vec<_>>().join("\n");
    let options = match found.iter().position(|option| option.row == at) {
        Some(marked) if is_menu => menu_options(dialogs, found, marked),
        _ => options(dialogs, screen, found),
    };
    let options = with_denial(profile, options);
    Dialog {
        id: fingerprint(&question, &everything, &options),
        tool: tool.unwrap_or_else(|| profile.name().to_owned()),
        question: bounded(&question),
        subject: subject.as_deref().map(bounded),
        detail: bounded_end(&detail),
        cut: cut || detail.chars().count() > limits::DIALOG_TEXT,
        options,
    }
}

/// Whether anything may have been shown above the screen.
fn may_begin_above(profile: &Profile, screen: &Screen) -> bool {
    profile.kind == ProgramKind::Screen && (screen.modes().alternate || screen.scrolled() > 0)
}

/// Whether a row can be an option. One that is not marked and names keys is so only if Enter goes on from there.
fn may_choose(profile: &Profile, row: &str) -> bool {
    let is_marked = profile.view.menu.iter().next().is_some_and(|first| first.is_match(row));
    is_marked || !profile.view.overlay.any(row) || row.to_lowercase().contains("enter")
}

/// What the question is about, unless the question itself names it.
fn subject(profile: &Profile, rows: &[String], question: &str, cut: bool) -> Option<String> {
    let dialogs = &profile.dialogs;
    if !GENERAL.iter().any(|words| question.to_lowercase().contains(words)) {
        return None;
    }
    let framed = dialogs.block.as_ref().and_then(|border| {
        let first = rows.iter().position(|row| border.is_match(row))?;
        let second = (first + 1..rows.len()).find(|y| border.is_match(&rows[*y]));
        let (inside, mark) = match second {
            Some(second) => (&rows[first + 1..second], ""),
            // Only its end is on the screen.
            None if cut => (&rows[..first], "…"),
            None => return None,
        };
        let text = inside.iter().map(|row| plain(row)).filter(|row| !row.is_empty()).collect::<Vec<_>>();
        Some(text.join(" ")).filter(|text| !text.is_empty()).map(|text| format!("{mark}{text}"))
    });
    let in_row = |row: &String| dialogs.subject.as_ref().and_then(|regex| named(regex, row, "text"));
    // Lines end with it, pictures of a dialog begin with it.
    let named = || match profile.kind {
        ProgramKind::Line => rows.iter().rev().find_map(in_row),
        ProgramKind::Screen => rows.iter().find_map(in_row),
    };
    framed.or_else(named)
}

/// The options, and Escape if none of them denies: it closes the dialogs of all agents that repaint.
fn with_denial(profile: &Profile, mut options: Vec<DialogOption>) -> Vec<DialogOption> {
    let denies = options.iter().any(|option| option.meaning.rejects());
    if profile.kind == ProgramKind::Screen && !denies {
        options.push(DialogOption {
            id: CANCEL.to_owned(),
            label: "Cancel".to_owned(),
            meaning: Meaning::RejectOnce,
            confirms: false,
            keys: vec!["Escape".to_owned()],
        });
    }
    options
}

/// Numbered options below each other, around the marked one.
fn listed(option: &Regex, rows: &[String], at: usize) -> Vec<Found> {
    let number = |y: usize| {
        let found = in_row(option, rows, y).into_iter().next()?;
        // A wide screen may show any number, and each needs a successor.
        let number = found.key.as_deref()?.parse::<u16>().ok()?;
        Some((u32::from(number), found))
    };
    let near = |wanted: u32, from: usize, up: bool| {
        let rows_between = (1..=limits::OPTION_ROWS).map_while(|n| {
            let y = if up { from.checked_sub(n)? } else { from + n };
            // A blank row may separate the options; what is far above them may be anything.
            rows.get(y).filter(|row| !up || !plain(row).is_empty()).map(|_| y)
        });
        rows_between.filter_map(number).find(|(number, _)| *number == wanted)
    };
    let Some((marked, found)) = number(at) else { return Vec::new() };
    let mut all = vec![found];
    for wanted in (1..marked).rev().take(limits::OPTIONS) {
        match near(wanted, all[0].row, true) {
            Some((_, found)) => all.insert(0, found),
            None => break,
        }
    }
    for wanted in (marked + 1..).take(limits::OPTIONS) {
        match near(wanted, all[all.len() - 1].row, false) {
            Some((_, found)) => all.push(found),
            None => break,
        }
    }
    join_rows(&mut all, rows);
    all
}

/// Options without numbers: adjacent rows around the marked one, whose labels begin in the same column.
fn menu_around(menu: &Regex, rows: &[String], at: usize) -> Vec<Found> {
    let choice = |y: usize| in_row(menu, rows, y).into_iter().next();
    let Some(marked) = choice(at) else { return Vec::new() };
    let column = marked.column;
    let up = (0..at).rev().map_while(choice).take_while(|found| found.column >= column);
    let down = (at + 1..rows.len()).map_while(choice).take_while(|found| found.column >= column);
    let mut all: Vec<Found> = up.take(limits::OPTIONS).collect();
    all.reverse();
    all.push(marked);
    all.extend(down.take(limits::OPTIONS));
    // A row that is indented further continues the option above it.
    all.retain(|found| found.column == column);
    join_rows(&mut all, rows);
    all
}

/// Options with the keys that move the mark to them, and Enter.
fn menu_options(dialogs: &Dialogs, found: Vec<Found>, marked: usize) -> Vec<DialogOption> {
    let choices = found.into_iter().enumerate().map(|(place, found)| {
        let step = if place < marked { "Up" } else { "Down" };
        let moves = std::iter::repeat_n(step.to_owned(), place.abs_diff(marked));
        let meaning = dialogs.meaning(&found.label);
        let keys = match dialogs.deny_keys.as_deref().filter(|_| meaning == Meaning::RejectOnce) {
            Some(deny) => deny.split_whitespace().map(str::to_owned).collect(),
            None => moves.chain(["Enter".to_owned()]).collect(),
        };
        let confirms = dialogs.confirms(&found.label);
        DialogOption { id: (place + 1).to_string(), label: bounded(&found.label), meaning, confirms, keys }
    });
    choices.collect()
}

/// Joins options that wrap over several rows.
fn join_rows(options: &mut [Found], rows: &[String]) {
    let nexts: Vec<usize> = options.iter().skip(1).map(|option| option.row).chain([rows.len()]).collect();
    for (option, next) in options.iter_mut().zip(nexts) {
        for row in rows[option.row + 1..next].iter().take(limits::OPTION_ROWS - 1) {
            let text = plain(row);
            let indent = row.chars().take_while(|c| c.is_whitespace() || is_frame(*c)).count();
            if text.is_empty() || indent < option.column {
                break;
            }
            option.label.push(' ');
            option.label.push_str(&text);
        }
    }
}

/// Options in one row.
fn in_row(option: &Regex, rows: &[String], y: usize) -> Vec<Found> {
    let Some(row) = rows.get(y) else { return Vec::new() };
    let found = option.captures_iter(row).filter_map(|found| {
        let label = found.name("label")?;
        let from = found.name("key").map_or(label.start(), |key| key.start().min(label.start()));
        // A key in brackets belongs to its word: `(Y)es`.
        let from = if row[..from].ends_with('(') { from - 1 } else { from };
        let start = if option.as_str().starts_with('^') { label.start() } else { from };
        Some(Found {
            row: y,
            column: row[..start].chars().count(),
            key: found.name("key").map(|key| key.as_str().to_owned()),
            label: label.as_str().trim().to_owned(),
        })
    });
    found.take(limits::OPTIONS).collect()
}

fn options(dialogs: &Dialogs, screen: &Screen, found: Vec<Found>) -> Vec<DialogOption> {
    let selected = dialogs.select.as_ref().and_then(|_| highlighted(screen, &found));
    let mut options = Vec::new();
    for (place, found) in found.into_iter().enumerate() {
        let (mut key, mut label) = (found.key.unwrap_or_default(), found.label);
        if let Some(shortcut) = dialogs.shortcut.as_ref().and_then(|regex| regex.captures(&label))
            && let (Some(whole), Some(named)) = (shortcut.get(0), shortcut.name("key"))
        {
            key = named.as_str().to_owned();
            label = label[..whole.start()].trim_end().to_owned();
        }
        if dialogs.spelled {
            label = format!("{key}{label}");
            key = key.to_lowercase();
        }
        let meaning = dialogs.meaning(&label);
        let keys = keys(dialogs, &key, meaning, place, selected);
        if label.is_empty() || keys.is_empty() {
            continue;
        }
        let id = if key.is_empty() { (place + 1).to_string() } else { key };
        let confirms = dialogs.confirms(&label);
        options.push(DialogOption { id, label: bounded(&label), meaning, confirms, keys });
    }
    options
}

/// The keys that choose an option.
fn keys(
    dialogs: &Dialogs,
    key: &str,
    meaning: Meaning,
    place: usize,
    selected: Option<usize>,
) -> Vec<String> {
    let words = |keys: &str| -> Vec<String> {
        let key = if key == "esc" { "Escape" } else { key };
        keys.split_whitespace()
            .map(|word| word.replace("{key}", key))
            .filter(|word| !word.is_empty())
            .collect()
    };
    if let Some(deny) = dialogs.deny_keys.as_deref().filter(|_| meaning == Meaning::RejectOnce) {
        return words(deny);
    }
    let Some([back, forth]) = &dialogs.select else { return words(&dialogs.keys) };
    let Some(selected) = selected else { return Vec::new() };
    let step = if place < selected { back } else { forth };
    let moves = std::iter::repeat_n(step.clone(), place.abs_diff(selected));
    moves.chain(words(&dialogs.keys)).collect()
}

/// The option with another background than its row.
fn highlighted(screen: &Screen, found: &[Found]) -> Option<usize> {
    let line = screen.lines().into_iter().nth(found.first()?.row)?;
    let background = |column: usize| -> Option<Color> {
        let cells = line.runs.iter().flat_map(|run| run.text.chars().map(|_| run.style.bg));
        cells.into_iter().nth(column)
    };
    // After the last option and the blank it may be padded with.
    let last = found.last()?;
    let row = background(last.column + last.label.chars().count() + 1);
    let mut marked = found.iter().enumerate().filter(|(_, option)| background(option.column) != row);
    let (place, _) = marked.next()?;
    marked.next().is_none().then_some(place)
}

/// The question, and its row.
fn question<'a>(
    dialogs: &Dialogs,
    mut raw: impl Iterator<Item = (usize, &'a String)>,
    said: &[(usize, String)],
) -> (usize, String) {
    let by_pattern = dialogs
        .question
        .as_ref()
        .and_then(|regex| raw.find_map(|(y, row)| Some((y, named(regex, row, "text")?))));
    let ends = || said.iter().rev().find(|(_, row)| row.ends_with('?')).cloned();
    let holds = || {
        let (y, row) = said.iter().rev().find(|(_, row)| row.contains("? "))?;
        row.split_once("? ").map(|(question, _)| (*y, format!("{question}?")))
    };
    by_pattern.or_else(ends).or_else(holds).or_else(|| said.last().cloned()).unwrap_or_default()
}

fn named(regex: &Regex, row: &str, group: &str) -> Option<String> {
    let found = regex.captures(row)?.name(group)?;
    Some(plain(found.as_str())).filter(|text| !text.is_empty())
}

/// A row without frame; empty if it is only a frame.
fn plain(row: &str) -> String {
    let text = row.trim_matches(|c: char| c.is_whitespace() || is_frame(c));
    if text.chars().all(|c| c.is_whitespace() || ('\u{2500}'..='\u{259f}').contains(&c)) {
        return String::new();
    }
    text.to_owned()
}

/// Vertical lines of a frame.
fn is_frame(c: char) -> bool {
    matches!(c, '│' | '┃' | '║' | '|')
}

fn bounded(text: &str) -> String {
    text.chars().take(limits::DIALOG_TEXT).collect()
}

/// The end of a long text, next to the question, with a note that it was cut.
fn bounded_end(text: &str) -> String {
    match text.char_indices().rev().nth(limits::DIALOG_TEXT - 1) {
        Some((at, _)) if at > 0 => format!("…{}", &text[at..]),
        _ => text.to_owned(),
    }
}

/// A short id for the text of a dialog (FNV-1a).
fn fingerprint(question: &str, said: &str, options: &[DialogOption]) -> String {
    let labels = options.iter().map(|option| option.label.as_str());
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for text in [question, said].into_iter().chain(labels) {
        for byte in text.bytes().filter(|byte| !byte.is_ascii_whitespace()).chain([0]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use swb_types::Size;
    use swb_vt::Options;

    #[test]
    fn an_indented_row_continues_the_option_above_it() {
        let menu = Regex::new(r"^[> ] +(?P<label>\S.*)$").unwrap();
        let rows = ["> First", "  Second is long", "    and goes on", "  Third"].map(str::to_owned);
        let labels: Vec<String> = menu_around(&menu, &rows, 0).into_iter().map(|found| found.label).collect();
        assert_eq!(labels, ["First", "Second is long and goes on", "Third"]);
    }

    #[test]
    fn only_one_option_can_be_the_highlighted_one() {
        let option = Regex::new(r"(?P<label>[A-Z]\w+)").unwrap();
        let marked = |row: &str| {
            let mut screen = Screen::new(Size::new(40, 3).unwrap(), Options::default());
            screen.feed(row.as_bytes());
            highlighted(&screen, &in_row(&option, &screen.row_texts(), 0))
        };
        let (on, off) = ("\x1b[41m", "\x1b[44m");
        assert_eq!(marked(&format!("{on}Yes{off}  No  ")), Some(0));
        assert_eq!(marked(&format!("{off}Yes  {on}No{off}  ")), Some(1));
        assert_eq!(marked(&format!("{on}Yes{off}  {on}No{off}  ")), None);
        assert_eq!(marked(&format!("{off}Yes  No  ")), None);
    }

    #[test]
    fn the_end_of_a_long_text_is_kept() {
        let long = "é".repeat(limits::DIALOG_TEXT);
        assert_eq!(bounded_end(&long), long);
        assert_eq!(bounded_end(&format!("ab{long}")), format!("…{long}"));
        assert_eq!((bounded_end(""), bounded(&format!("{long}b"))), (String::new(), long));
    }

    #[test]
    fn numbered_options_must_be_consecutive() {
        let option = Regex::new(r"^. (?P<key>\d+)\. (?P<label>.*)$").unwrap();
        let labels = |rows: &[&str], at: usize| -> Vec<String> {
            let rows: Vec<String> = rows.iter().map(|row| (*row).to_owned()).collect();
            listed(&option, &rows, at).into_iter().map(|found| found.label).collect()
        };
        assert_eq!(labels(&["  9. a", "> 10. b", "  12. c", "  11. d"], 1), ["a", "b", "d"]);
        assert_eq!(labels(&["> 65535. a", "  65536. b", "  0. c"], 0), ["a"]);
        assert_eq!(labels(&["> 0. a", "  1. b"], 0), ["a", "b"]);
        for huge in ["4294967295", "99999999999999999999"] {
            assert!(labels(&[&format!("> {huge}. a"), "  0. b"], 0).is_empty());
        }
    }
}
