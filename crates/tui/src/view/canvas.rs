//! The lower end of a terminal: a few rows that change, below those that stay.
//!
//! Rows are written once and scroll like those of any program; only the changing rows are erased and redrawn. Each
//! change is a synchronized update, so that terminals that support it do not flicker.

use crate::text::StyledRow;
use std::fmt::Write;

const BEGIN: &str = "\x1b[?2026h";
const END: &str = "\x1b[?2026l";

/// The rows drawn below those that stay.
#[derive(Debug, Clone, Default)]
pub struct Canvas {
    /// Columns of each row that is drawn.
    drawn: Vec<usize>,
    /// The row of those in which the cursor is.
    cursor: usize,
    coloured: bool,
}

/// The rows that change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changing {
    /// The rows.
    pub rows: Vec<StyledRow>,
    /// Row and column of the cursor.
    pub cursor: (usize, usize),
}

impl Canvas {
    /// A canvas on which nothing is drawn.
    pub fn new(coloured: bool) -> Self {
        Self { coloured, ..Self::default() }
    }

    /// The bytes that add rows which stay and redraw those that change, on a terminal of this width.
    pub fn draw(&mut self, staying: &[StyledRow], changing: &Changing, width: usize) -> String {
        let mut out = String::from(BEGIN);
        self.take_back(width, &mut out);
        for row in staying {
            out.push_str(&row.ansi(self.coloured));
            out.push_str("\r\n");
        }
        for (n, row) in changing.rows.iter().enumerate() {
            if n > 0 {
                out.push_str("\r\n");
            }
            out.push_str(&row.ansi(self.coloured));
        }
        let (row, column) = changing.cursor;
        let last = changing.rows.len().saturating_sub(1);
        out.push('\r');
        let mut step = |count: usize, direction: char| {
            if count > 0 {
                // Writing to a string cannot fail.
                let _ = write!(out, "\x1b[{count}{direction}");
            }
        };
        step(last.saturating_sub(row), 'A');
        step(column, 'C');
        self.drawn = changing.rows.iter().map(|row| row.width).collect();
        self.cursor = row.min(last);
        out.push_str(END);
        out
    }

    /// The bytes that erase the changing rows and leave the cursor where they began.
    pub fn clear(&mut self, width: usize) -> String {
        let mut out = String::new();
        self.take_back(width, &mut out);
        out
    }

    fn take_back(&mut self, width: usize, out: &mut String) {
        // A terminal that has become narrower has folded the rows above the cursor.
        let above = self.drawn.iter().take(self.cursor).map(|columns| columns.div_ceil(width.max(1)).max(1));
        let above: usize = above.sum();
        out.push('\r');
        if above > 0 {
            let _ = write!(out, "\x1b[{above}A");
        }
        out.push_str("\x1b[J");
        self.drawn.clear();
        self.cursor = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{StyledLine, TextStyle};
    use swb_types::Size;

    fn rows(lines: &[&str]) -> Vec<StyledRow> {
        lines.iter().flat_map(|line| StyledLine::new(TextStyle::PLAIN, line).fold(80)).collect()
    }

    /// Rows that stay, rows that change, and the cursor in those.
    type Step<'s> = (&'s [&'s str], &'s [&'s str], (usize, usize));

    fn screen(steps: &[Step<'_>]) -> (String, (u16, u16)) {
        let mut terminal = swb_vt::Screen::new(Size::new(20, 8).unwrap(), swb_vt::Options::default());
        let mut canvas = Canvas::new(true);
        for (staying, changing, cursor) in steps {
            let changing = Changing { rows: rows(changing), cursor: *cursor };
            terminal.feed(canvas.draw(&rows(staying), &changing, 20).as_bytes());
        }
        let cursor = terminal.cursor();
        (terminal.text().trim_end().to_owned(), (cursor.row, cursor.col))
    }

    #[test]
    fn changing_rows_are_below_those_that_stay() {
        let (text, cursor) = screen(&[
            (&[], &["partial", "> "], (1, 2)),
            (&["one"], &["part", "status", "> x"], (2, 3)),
            (&["two", "three"], &["> xy", "  z"], (0, 3)),
        ]);
        assert_eq!((text.as_str(), cursor), ("one\ntwo\nthree\n> xy\n  z", (3, 3)));
    }

    #[test]
    fn rows_scroll_and_changing_rows_stay_at_the_end() {
        let many: Vec<String> = (0..30).map(|n| format!("line {n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let (text, _) = screen(&[
            (&[], &["> "], (0, 2)),
            (&many, &["status", "> "], (1, 2)),
            (&["end"], &["> "], (0, 2)),
        ]);
        assert!(text.ends_with("line 28\nline 29\nend\n>"), "{text}");
        assert!(!text.contains("status"), "{text}");
    }

    #[test]
    fn a_narrower_terminal_has_folded_rows() {
        let mut canvas = Canvas::new(false);
        let row = rows(&["12345678901234567890", "> "]);
        canvas.draw(&[], &Changing { rows: row, cursor: (1, 2) }, 20);
        assert!(canvas.clear(10).starts_with("\r\x1b[2A"));
        assert_eq!(canvas.clear(10), "\r\x1b[J");
    }
}
