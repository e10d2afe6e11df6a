//! The lines of a view that scrolls by itself, joined from the pictures of it.
//!
//! The alternate screen has no scrollback, so what an agent shows there is collected while it scrolls by. A picture is
//! placed by its distance to the one before. Rows that stay while the rest moves, such as a pinned question, a spinner
//! or a frame, place nothing; so rows at the top that are the same in both pictures do not count, and of the others most
//! must fit. After a resize the rows are wrapped anew, and the pictures are compared without their line ends.

use crate::limits;
use crate::look::squeeze;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Stands for lines that were never shown.
pub(crate) const GAP: &str = "[lines not shown]";

/// The lines that were shown so far.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Collector {
    lines: Vec<String>,
    /// The line shown in the first row when last seen.
    top: usize,
    /// The rows when last seen, and their width.
    shown: Vec<String>,
    #[serde(default)]
    columns: u16,
    /// Whether lines are missing.
    pub(crate) truncated: bool,
}

/// How a view has moved, in rows.
#[derive(Debug, Clone, Copy)]
enum Movement {
    Forward(usize),
    Back(usize),
}

impl Collector {
    /// Takes the rows that are shown now, on a screen of this width.
    pub(crate) fn see(&mut self, rows: &[String], columns: u16) {
        let used = rows.iter().rposition(|row| !row.trim().is_empty()).map_or(0, |y| y + 1);
        // A picture that does not fill the view has not scrolled.
        let room = rows.len().saturating_sub(used.max(self.shown.len()));
        let rows = &rows[..used];
        if rows.is_empty() {
            return;
        }
        let rewrapped = self.columns != columns && !self.shown.is_empty();
        self.columns = columns;
        let pinned = rows.iter().zip(&self.shown).take_while(|(new, old)| new == old).count();
        if rewrapped && self.rewrap(rows, 0..rows.len()) {
            // Placed.
        } else if let Some(moved) = self.moved(rows, pinned, room) {
            match moved {
                Movement::Forward(by) => {
                    self.top += by;
                    let stays = self.stays(rows, pinned, by);
                    self.replace(self.top + stays, &rows[stays..]);
                }
                Movement::Back(by) => self.move_back(rows, pinned, by),
            }
        } else if let Some(at) = self.known_place(rows) {
            // The user scrolls back: the lines that follow still exist.
            self.top = at;
        } else {
            let first = rows.iter().skip(pinned).position(|row| !row.trim().is_empty()).unwrap_or(0);
            if !self.rewrap(rows, pinned..pinned + first + 1) {
                self.jump(rows, pinned);
            }
        }
        self.shown = rows.to_vec();
        if self.lines.len() > limits::COLLECTED_LINES {
            let excess = limits::COLLECTED_LINES / 10;
            self.lines.drain(..excess);
            self.top = self.top.saturating_sub(excess);
            self.truncated = true;
        }
    }

    /// How the view has moved since the last picture, if both have lines in common.
    fn moved(&self, rows: &[String], pinned: usize, room: usize) -> Option<Movement> {
        let old = &self.shown;
        if pinned == rows.len() || pinned == old.len() {
            return Some(Movement::Forward(0));
        }
        let score = |new: &[String], old: &[String]| {
            let pairs = new.iter().zip(old);
            let pairs = pairs.filter(|(new, old)| !new.trim().is_empty() || !old.trim().is_empty());
            // Marks alone, such as those of items whose text is still to be drawn, fit anywhere.
            let pairs =
                pairs.filter(|(new, old)| has_text(new) && has_text(old) || new != old && !grows(old, new));
            let (mut all, mut fit, mut grown) = (0, 0, 0);
            for (new, old) in pairs {
                all += 1;
                fit += usize::from(new == old);
                grown += usize::from(new != old && grows(old, new));
            }
            (fit, grown, all)
        };
        let forward = (0..old.len() - pinned)
            .map(|by| (Movement::Forward(by), score(&rows[pinned..], &old[pinned + by..])));
        let back = (1..rows.len() - pinned)
            .map(|by| (Movement::Back(by), score(&rows[pinned + by..], &old[pinned..])));
        // Of equals the first, which is the smallest movement; a row that grew is only a hint.
        let best = forward.chain(back).rev().max_by_key(|(_, (fit, grown, _))| 2 * fit + grown);
        let (moved, (fit, grown, all)) = best?;
        let witness = if matches!(moved, Movement::Forward(0)) { fit + grown } else { fit };
        let fits = witness > 0 && 2 * (fit + grown) >= all;
        // Where most rows stay, the others were changed in place, unless several have moved.
        let texts = |rows: &[String]| rows.iter().filter(|row| !row.trim().is_empty()).count();
        let stay = texts(&rows[..pinned]);
        let in_place = (stay > 0 && room > limits::MARGIN_ROWS) || 2 * stay >= texts(rows).max(texts(old));
        match (fits, in_place) {
            (true, true) if fit < limits::WITNESS_ROWS => Some(Movement::Forward(0)),
            (true, _) => Some(moved),
            (false, in_place) => in_place.then_some(Movement::Forward(0)),
        }
    }

    /// Takes rows of which some above those that were shown last appear again, or for the first time after a jump.
    fn move_back(&mut self, rows: &[String], pinned: usize, by: usize) {
        let first = self.top + pinned;
        let known =
            first.checked_sub(by).is_some_and(|at| self.lines[at..].starts_with(&rows[pinned..pinned + by]));
        if known {
            self.top -= by;
        } else {
            self.lines.splice(first..first, rows[pinned..pinned + by].iter().cloned());
        }
        let shown = self.top + pinned..self.top + rows.len();
        // What follows is out of sight for a moment.
        if self.lines.get(shown.clone()).is_none_or(|lines| lines != &rows[pinned..]) {
            self.replace(shown.start, &rows[pinned..]);
        }
    }

    /// How many rows at the top hide lines that have moved there: those before the first one that has moved. A question
    /// that reaches the top may stay there.
    fn stays(&self, rows: &[String], pinned: usize, moved: usize) -> usize {
        let pairs = || rows.iter().zip(self.shown.iter().skip(moved));
        let fits = pairs().skip(pinned).position(|(new, old)| new == old && !new.trim().is_empty());
        match fits.filter(|_| moved > 0) {
            Some(first) => pinned + first,
            None => pinned,
        }
    }

    /// Where all rows are known already.
    fn known_place(&self, rows: &[String]) -> Option<usize> {
        let back = self.top.saturating_sub(limits::PAGES_BACK * rows.len());
        let fits = |at: &usize| self.lines[*at..].starts_with(rows);
        (back..self.lines.len().saturating_sub(rows.len() - 1)).rev().find(fits)
    }

    /// Places rows that were wrapped anew by the text of one of them; `false` if it is not known.
    fn rewrap(&mut self, rows: &[String], among: Range<usize>) -> bool {
        let from = self.lines.len().saturating_sub(limits::PAGES_BACK * (rows.len() + self.shown.len()));
        let (mut text, mut starts) = (String::new(), Vec::new());
        for line in &self.lines[from..] {
            starts.push(text.len());
            text.push_str(&squeeze(line));
        }
        let found = [3, 2, 1].iter().find_map(|count| {
            (among.start..among.end.min(rows.len().saturating_sub(count - 1))).find_map(|y| {
                let needle: String = rows[y..y + count].iter().map(|row| squeeze(row)).collect();
                let enough = needle.chars().filter(|c| c.is_alphanumeric()).count() >= limits::WITNESS_CHARS;
                Some((y, text.rfind(&needle).filter(|_| enough)?))
            })
        });
        let Some((y, place)) = found else { return false };
        let line = starts.partition_point(|start| *start <= place) - 1;
        // What precedes it in the same line is known only there.
        let before = text[starts[line]..place].chars().count();
        let kept = unsqueezed(&self.lines[from + line], before).to_owned();
        self.lines.truncate(from + line);
        if !kept.is_empty() {
            self.lines.push(kept);
        }
        self.top = self.lines.len().saturating_sub(y);
        self.lines.extend_from_slice(&rows[y..]);
        true
    }

    /// Takes rows that have nothing in common with what was shown before.
    fn jump(&mut self, rows: &[String], pinned: usize) {
        if !self.lines.is_empty() {
            self.lines.push(GAP.to_owned());
        }
        // What was shown before is pinned, or was shown for long enough.
        let known = rows[pinned..].iter().take_while(|row| row.trim().is_empty() || self.shown.contains(row));
        let first = pinned + known.count();
        self.top = self.lines.len().saturating_sub(first);
        self.lines.extend_from_slice(&rows[first..]);
    }

    fn replace(&mut self, from: usize, rows: &[String]) {
        self.lines.truncate(from);
        // Lines that are hidden behind rows that stay.
        self.lines.resize(from.max(self.lines.len()), String::new());
        self.lines.extend_from_slice(rows);
    }

    pub(crate) fn lines(&self) -> &[String] {
        &self.lines
    }
}

/// Whether a row has text, and not only marks.
fn has_text(row: &str) -> bool {
    row.contains(char::is_alphanumeric)
}

/// Whether a row is the beginning of another: answers grow word by word.
fn grows(old: &str, new: &str) -> bool {
    let (old, new) = (old.trim_end(), new.trim_end());
    !old.is_empty() && !new.is_empty() && (new.starts_with(old) || old.starts_with(new))
}

/// The beginning of a line with this many characters that are not blank.
fn unsqueezed(line: &str, count: usize) -> &str {
    let mut left = count;
    let end = line.char_indices().find(|(_, c)| {
        let blank = squeeze(c.encode_utf8(&mut [0; 4])).is_empty();
        let done = left == 0;
        left -= usize::from(!blank && !done);
        done
    });
    line[..end.map_or(line.len(), |(at, _)| at)].trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &[&str]) -> Vec<String> {
        text.iter().map(|row| (*row).to_owned()).collect()
    }

    fn numbered(count: usize) -> Vec<String> {
        (0..count).map(|n| format!("line {n}")).collect()
    }

    #[test]
    fn rows_that_scroll_by_are_joined_and_lines_never_shown_leave_a_mark() {
        let all = numbered(100);
        let mut collector = Collector::default();
        for step in [0, 3, 5, 5, 12, 14, 20, 26, 30, 60, 66] {
            collector.see(&all[step..step + 8], 80);
        }
        // 30 to 60 is more than a page.
        let shown: Vec<String> =
            all[..38].iter().chain([&GAP.to_owned()]).chain(&all[60..74]).cloned().collect();
        assert_eq!(collector.lines(), shown);
    }

    #[test]
    fn scrolling_back_loses_nothing_and_changes_replace_the_end() {
        let mut collector = Collector::default();
        collector.see(&rows(&["a", "b", "c", "d"]), 80);
        collector.see(&rows(&["c", "d", "e", "wor"]), 80);
        collector.see(&rows(&["a", "b", "c"]), 80);
        collector.see(&rows(&["c", "d", "e", "word", "f"]), 80);
        assert_eq!(collector.lines().concat(), "abcdewordf");
    }

    #[test]
    fn a_pinned_row_is_not_part_of_the_scrolled_text() {
        let all = numbered(50);
        let mut collector = Collector::default();
        collector.see(&[&["question".to_owned(), String::new()], &all[..8]].concat(), 80);
        for step in [3, 5, 5, 9, 14, 14] {
            collector.see(&[&["question".to_owned(), String::new()], &all[step..step + 8]].concat(), 80);
        }
        assert_eq!(collector.lines()[..2], ["question", ""]);
        assert_eq!(collector.lines()[2..], all[..22]);
    }

    #[test]
    fn a_question_that_stays_when_it_reaches_the_top_cuts_nothing() {
        let all = numbered(50);
        let whole = [&rows(&["header", "", "question", ""]), &all[..]].concat();
        let mut collector = Collector::default();
        collector.see(&whole[..10], 80);
        for step in [5, 7, 12] {
            collector.see(&[&["question".to_owned()], &whole[step + 1..step + 10]].concat(), 80);
        }
        assert_eq!(collector.lines(), &whole[..22]);
    }

    #[test]
    fn a_view_that_moves_back_after_a_jump_shows_further_lines() {
        let all = numbered(60);
        let mut collector = Collector::default();
        collector.see(&all[..8], 80);
        collector.see(&all[32..40], 80);
        collector.see(&all[30..40], 80);
        let expected: Vec<String> =
            all[..8].iter().chain([&GAP.to_owned()]).chain(&all[30..40]).cloned().collect();
        assert_eq!(collector.lines(), expected);
        // The user scrolls back and forth again.
        collector.see(&all[31..37], 80);
        collector.see(&all[36..44], 80);
        assert_eq!(collector.lines()[9..], all[30..44]);
    }

    #[test]
    fn rows_that_change_in_place_replace_the_former_ones() {
        let mut collector = Collector::default();
        let filled = |text: &[&str]| -> Vec<String> { [rows(text), vec![String::new(); 9]].concat() };
        collector.see(&filled(&["question", "", "~ Writing"]), 80);
        collector.see(&filled(&["question", "", "One", "Two", "", "Three"]), 80);
        assert_eq!(collector.lines(), rows(&["question", "", "One", "Two", "", "Three"]));
        // Lines are inserted and changed where most stay.
        collector.see(&rows(&["question", "", "One", "Two", "", "And", "Thr"]), 80);
        collector.see(&rows(&["question", "", "One", "Two", "", "Thr"]), 80);
        assert_eq!(collector.lines(), rows(&["question", "", "One", "Two", "", "Thr"]));
    }

    #[test]
    fn rows_that_stay_do_not_place_a_picture() {
        let all = numbered(60);
        let frame = |step: usize| {
            let (head, foot) = (rows(&["╭ agent ╮", "question"]), rows(&["", "* Working", "tip of the day"]));
            [&head, &all[step..step + 6], &foot[..]].concat()
        };
        let mut collector = Collector::default();
        for step in [0, 2, 5, 9, 12, 40] {
            collector.see(&frame(step), 80);
        }
        let text = collector.lines().join("\n");
        for line in all[..18].iter().chain(&all[40..46]) {
            assert_eq!(text.matches(&format!("{line}\n")).count(), 1, "{line}: {text}");
        }
        assert!(text.contains(GAP));
    }

    #[test]
    fn marks_whose_text_is_drawn_later_do_not_place_a_picture() {
        let item = |n: usize| format!("- item {n}");
        let bare = |n: usize| if n.is_multiple_of(3) { item(n) } else { "-".to_owned() };
        let mut collector = Collector::default();
        collector.see(&(0..8).map(item).chain(["- it".to_owned()]).collect::<Vec<_>>(), 80);
        collector.see(&(30..39).map(bare).collect::<Vec<_>>(), 80);
        collector.see(&(30..39).map(item).collect::<Vec<_>>(), 80);
        let shown = (0..8).map(item).chain(["- it".to_owned(), GAP.to_owned()]);
        assert_eq!(collector.lines(), shown.chain((30..39).map(item)).collect::<Vec<_>>());
    }

    #[test]
    fn a_margin_above_the_input_box_is_no_room() {
        let all = numbered(90);
        let page = |from: usize| [&rows(&["question"]), &all[from..from + 8], &rows(&["", ""])].concat();
        let mut collector = Collector::default();
        for from in [0, 30, 60, 62] {
            collector.see(&page(from), 80);
        }
        let gap = rows(&[GAP]);
        let shown = [&rows(&["question"]), &all[..8], &gap, &all[30..38], &gap, &all[60..70]].concat();
        assert_eq!(collector.lines(), shown);
    }

    #[test]
    fn rows_wrapped_anew_after_a_resize_are_not_repeated() {
        let words: Vec<String> = (0..40).map(|n| format!("word{n:02}")).collect();
        let wrapped =
            |count: usize| -> Vec<String> { words.chunks(count).map(|row| row.join(" ")).collect() };
        let (wide, narrow) = (wrapped(8), wrapped(3));
        let mut collector = Collector::default();
        collector.see(&wide[..4], 80);
        collector.see(&narrow[5..11], 30);
        collector.see(&narrow[7..13], 30);
        let text = collector.lines().join(" ");
        let found: Vec<&str> = text.split_whitespace().collect();
        assert_eq!(found, words[..39], "{:?}", collector.lines());
    }
}
