//! The rows of a table while it arrives.

use super::inline::spans;
use crate::limits;
use crate::text::{Alignment, StyledLine, Table, TextStyle};

/// The rows so far.
#[derive(Debug, Clone, Default)]
pub(super) struct TableLines(Vec<String>);

/// Whether a line is a row of a table.
pub(super) fn is_row(line: &str) -> bool {
    let body = line.trim();
    body.len() > 1 && body.starts_with('|')
}

impl TableLines {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a row; returns a table if that was its last one.
    pub(super) fn push(&mut self, line: &str) -> Vec<StyledLine> {
        self.0.push(line.trim().to_owned());
        let bytes: usize = self.0.iter().map(String::len).sum();
        let has_room = self.0.len() < limits::TABLE_ROWS && bytes < limits::TABLE_BYTES;
        if has_room { Vec::new() } else { self.end() }
    }

    /// The table; or its rows as they are, if they are no table.
    pub(super) fn end(&mut self) -> Vec<StyledLine> {
        let rows = std::mem::take(&mut self.0);
        let Some(alignments) = rows.get(1).and_then(|row| delimiters(row)) else {
            return rows.iter().map(|row| StyledLine::new(TextStyle::PLAIN, row).verbatim()).collect();
        };
        let styled = |style: TextStyle| {
            move |row: &String| -> Vec<StyledLine> {
                cells(row).iter().map(|cell| spans(style, cell, StyledLine::default())).collect()
            }
        };
        let head = rows.first().map(styled(TextStyle::BOLD)).unwrap_or_default();
        let body = rows.iter().skip(2).map(styled(TextStyle::PLAIN)).collect();
        vec![StyledLine::table(Table::new(head, body, alignments))]
    }
}

/// The alignments of the columns, if a row is the line below a head.
fn delimiters(row: &str) -> Option<Vec<Alignment>> {
    let alignment = |cell: &String| {
        let dashes = cell.trim_matches(':');
        let valid = !dashes.is_empty() && dashes.chars().all(|c| c == '-');
        valid.then(|| match (cell.starts_with(':'), cell.ends_with(':')) {
            (true, true) => Alignment::Centre,
            (false, true) => Alignment::Right,
            (_, false) => Alignment::Left,
        })
    };
    cells(row).iter().map(alignment).collect()
}

/// The cells of a row. A bar within code or after a backslash separates none.
fn cells(row: &str) -> Vec<String> {
    let body = row.strip_prefix('|').unwrap_or(row);
    let mut cells = vec![String::new()];
    let (mut in_code, mut escaped) = (false, false);
    for c in body.chars() {
        if c == '|' && !escaped && !in_code {
            cells.push(String::new());
        } else if let Some(cell) = cells.last_mut() {
            if c == '|' && escaped {
                cell.pop();
            }
            cell.push(c);
        }
        in_code ^= c == '`';
        escaped = c == '\\' && !escaped;
    }
    if cells.last().is_some_and(|last| last.trim().is_empty()) && cells.len() > 1 {
        cells.pop();
    }
    cells.truncate(limits::TABLE_COLUMNS);
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_separated_by_bars() {
        assert_eq!(cells("| a | b |"), ["a", "b"]);
        assert_eq!(cells("|a|b"), ["a", "b"]);
        assert_eq!(cells("| `x | y` | a \\| b |"), ["`x | y`", "a | b"]);
        assert_eq!(cells("||"), [""]);
        assert_eq!(cells("| |x|"), ["", "x"]);
    }

    #[test]
    fn the_line_below_the_head_aligns_columns() {
        let wanted = vec![Alignment::Left, Alignment::Right, Alignment::Centre, Alignment::Left];
        assert_eq!(delimiters("|---|--:|:-:|:--|"), Some(wanted));
        assert_eq!((delimiters("| a | --- |"), delimiters("|---||")), (None, None));
    }

    #[test]
    fn a_table_without_end_is_shown_in_parts() {
        let mut table = TableLines::default();
        let shown = (0..limits::TABLE_ROWS).map(|_| table.push("| x |").len()).sum::<usize>();
        assert!(shown > 0 && table.is_empty());
        let row = format!("| {} |", "x".repeat(limits::LINE - 4));
        let held = (0..limits::TABLE_ROWS).take_while(|_| table.push(&row).is_empty()).count();
        assert!(held <= limits::TABLE_BYTES / limits::LINE, "{held}");
    }
}
