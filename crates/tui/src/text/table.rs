//! A table: cells in columns between lines, as wide as the terminal allows.
//!
//! Columns that do not fit share what is left and wrap their cells; where not even that fits, each row becomes a list of
//! its cells.

use super::{StyledLine, StyledRow, TextStyle, columns};
use crate::limits;

/// Where the text of a column stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Alignment {
    /// In the middle.
    Centre,
    /// On the left.
    #[default]
    Left,
    /// On the right.
    Right,
}

/// A table whose rows all have as many cells as its head.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Table {
    head: Vec<StyledLine>,
    rows: Vec<Vec<StyledLine>>,
    alignments: Vec<Alignment>,
}

/// The lines of a border: left end, crossing, right end.
type Border = [&'static str; 3];

const TOP: Border = ["┌", "┬", "┐"];
const MIDDLE: Border = ["├", "┼", "┤"];
const BOTTOM: Border = ["└", "┴", "┘"];

impl Table {
    /// A table; rows that are too short get empty cells, and cells beyond the head are left out.
    pub fn new(
        head: Vec<StyledLine>,
        mut rows: Vec<Vec<StyledLine>>,
        mut alignments: Vec<Alignment>,
    ) -> Self {
        rows.iter_mut().for_each(|row| row.resize(head.len(), StyledLine::default()));
        alignments.resize(head.len(), Alignment::default());
        Self { head, rows, alignments }
    }

    /// Its text without lines and styles.
    pub fn plain(&self) -> String {
        let line = |row: &Vec<StyledLine>| {
            let cells: Vec<String> = row.iter().map(StyledLine::plain).collect();
            format!("| {} |", cells.join(" | "))
        };
        std::iter::once(&self.head).chain(&self.rows).map(line).collect::<Vec<_>>().join("\n")
    }

    /// Its rows on a terminal of this many columns.
    pub fn draw(&self, width: usize) -> Vec<StyledRow> {
        let Some(widths) = self.widths(width) else { return self.listed(width) };
        let body: Vec<_> = self.rows.iter().map(|row| self.lines(row, &widths)).collect();
        // Rows of several lines could not be distinguished without a line between them.
        let ruled = body.iter().any(|lines| lines.len() > 1);
        let mut all = vec![border(&widths, TOP)];
        all.extend(self.lines(&self.head, &widths));
        for (n, lines) in body.into_iter().enumerate() {
            if n == 0 || ruled {
                all.push(border(&widths, MIDDLE));
            }
            all.extend(lines);
        }
        all.push(border(&widths, BOTTOM));
        all
    }

    /// The width of each column; `None` if there is no room for columns.
    fn widths(&self, width: usize) -> Option<Vec<usize>> {
        let count = self.head.len();
        let natural: Vec<usize> = (0..count)
            .map(|column| {
                let cells = std::iter::once(&self.head).chain(&self.rows);
                cells.filter_map(|row| row.get(column)).map(StyledLine::columns).max().unwrap_or(0).max(1)
            })
            .collect();
        let room = width.checked_sub(3 * count + 1)?;
        if natural.iter().sum::<usize>() <= room {
            return Some(natural);
        }
        let widths = shared(&natural, room);
        let least = |(width, natural): (&usize, &usize)| *width >= limits::TABLE_COLUMN.min(*natural);
        widths.iter().zip(&natural).all(least).then_some(widths)
    }

    /// The lines of one row.
    fn lines(&self, row: &[StyledLine], widths: &[usize]) -> Vec<StyledRow> {
        let cells: Vec<Vec<StyledRow>> =
            row.iter().zip(widths).map(|(cell, width)| cell.clone().trimmed().fold(*width)).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        let line = |n: usize| {
            let mut line = StyledRow::default();
            for ((cell, width), alignment) in cells.iter().zip(widths).zip(&self.alignments) {
                line.add(TextStyle::DIM, "│");
                line.add(TextStyle::PLAIN, " ");
                let empty = StyledRow::default();
                let part = cell.get(n).unwrap_or(&empty).trimmed();
                let free = width.saturating_sub(part.width);
                let before = match alignment {
                    Alignment::Centre => free / 2,
                    Alignment::Left => 0,
                    Alignment::Right => free,
                };
                line.add(TextStyle::PLAIN, &" ".repeat(before));
                part.spans.iter().for_each(|span| line.add(span.style, &span.text));
                line.add(TextStyle::PLAIN, &" ".repeat(free - before + 1));
            }
            line.add(TextStyle::DIM, "│");
            line
        };
        (0..height).map(line).collect()
    }

    /// Each row as a list of its cells.
    fn listed(&self, width: usize) -> Vec<StyledRow> {
        let mut all = Vec::new();
        for (n, row) in self.rows.iter().enumerate() {
            if n > 0 {
                all.push(StyledRow::default());
            }
            for (head, cell) in self.head.iter().zip(row) {
                let mut line = StyledLine::new(TextStyle::DIM, &format!("{}: ", head.plain()));
                cell.spans.iter().for_each(|span| line.push(span.style, &span.text));
                all.extend(line.hanging(2).fold(width));
            }
        }
        if self.rows.is_empty() {
            all.extend(StyledLine::new(TextStyle::PLAIN, &self.plain()).fold(width));
        }
        all
    }
}

/// Shares `room` columns: those that need less than an equal share get what they need, and the others the rest.
fn shared(natural: &[usize], room: usize) -> Vec<usize> {
    let mut widths = vec![0; natural.len()];
    let mut open: Vec<usize> = (0..natural.len()).collect();
    let mut left = room;
    loop {
        let share = left / open.len().max(1);
        let (small, large): (Vec<usize>, Vec<usize>) = open.iter().partition(|n| natural[**n] <= share);
        if small.is_empty() || large.is_empty() {
            let surplus = left - share * large.len().max(open.len());
            for (n, column) in open.into_iter().enumerate() {
                widths[column] = (share + usize::from(n < surplus)).min(natural[column]);
            }
            return widths;
        }
        for column in small {
            widths[column] = natural[column];
            left -= natural[column];
        }
        open = large;
    }
}

fn border(widths: &[usize], [left, cross, right]: Border) -> StyledRow {
    let lines: Vec<String> = widths.iter().map(|width| "─".repeat(width + 2)).collect();
    let mut row = StyledRow::default();
    row.add(TextStyle::DIM, &format!("{left}{}{right}", lines.join(cross)));
    debug_assert_eq!(row.width, columns(&format!("{left}{}{right}", lines.join(cross))));
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[&[&str]]) -> Table {
        let cells = |row: &&[&str]| row.iter().map(|cell| StyledLine::new(TextStyle::PLAIN, cell)).collect();
        let mut rows: Vec<Vec<StyledLine>> = rows.iter().map(cells).collect();
        let head = rows.remove(0);
        Table::new(head, rows, vec![Alignment::Left, Alignment::Right])
    }

    fn drawn(table: &Table, width: usize) -> String {
        let rows = table.draw(width);
        assert!(rows.iter().all(|row| row.width <= width), "{rows:?}");
        rows.iter().map(StyledRow::plain).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn columns_are_as_wide_as_their_cells() {
        let table = table(&[&["Name", "Size"], &["日本", "7"], &["b", "1024", "beyond"], &["c"]]);
        insta::assert_snapshot!(drawn(&table, 80), @r"
        ┌──────┬──────┐
        │ Name │ Size │
        ├──────┼──────┤
        │ 日本 │    7 │
        │ b    │ 1024 │
        │ c    │      │
        └──────┴──────┘
        ");
        assert_eq!(table.plain(), "| Name | Size |\n| 日本 | 7 |\n| b | 1024 |\n| c |  |");
    }

    #[test]
    fn cells_that_do_not_fit_wrap_between_words() {
        let table = table(&[
            &["Key", "Meaning"],
            &["a", "several words that do not fit into one row"],
            &["b", "short"],
        ]);
        insta::assert_snapshot!(drawn(&table, 30), @r"
        ┌─────┬──────────────────────┐
        │ Key │              Meaning │
        ├─────┼──────────────────────┤
        │ a   │   several words that │
        │     │  do not fit into one │
        │     │                  row │
        ├─────┼──────────────────────┤
        │ b   │                short │
        └─────┴──────────────────────┘
        ");
    }

    #[test]
    fn a_table_without_room_for_columns_is_a_list() {
        let table = table(&[&["Key", "Meaning"], &["first one", "several words"], &["b", "x"]]);
        assert_eq!(drawn(&table, 14), "Key: first one\nMeaning: \n  several \n  words\n\nKey: b\nMeaning: x");
        let narrow = drawn(&table, 1);
        assert!(!narrow.is_empty());
    }

    #[test]
    fn every_width_is_kept() {
        let words = ["x", "some words here", "averyveryverylongword", ""];
        let rows: Vec<Vec<&str>> =
            (0..4).map(|n| words.iter().cycle().skip(n).take(7).copied().collect()).collect();
        let rows: Vec<&[&str]> = rows.iter().map(Vec::as_slice).collect();
        let table = table(&rows);
        for width in 1..120 {
            drawn(&table, width);
        }
    }
}
