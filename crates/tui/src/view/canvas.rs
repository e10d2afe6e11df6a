//! The lower end of a terminal: a few rows that change, below those that stay.
//!
//! Rows are written once and scroll like those of any program; only the changing rows are erased and redrawn. Each
//! change is a synchronized update, so that terminals that support it do not flicker.
//!
//! A terminal that cannot move its cursor to another row gets the rows that stay and one row that changes: the one in
//! which the cursor is.

use crate::text::{StyledRow, ascii};
use std::borrow::Cow;
use std::fmt::Write;

const BEGIN: &str = "\x1b[?2026h";
const END: &str = "\x1b[?2026l";

/// What a terminal can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalAbilities {
    /// It has colours, and the user has not disabled them.
    pub coloured: bool,
    /// It can move its cursor to another row, and erase.
    pub moves: bool,
    /// It shows more characters than those of ASCII.
    pub unicode: bool,
}

/// The rows drawn below those that stay.
#[derive(Debug, Clone)]
pub struct Canvas {
    /// Columns of each row that is drawn.
    drawn: Vec<usize>,
    /// The row and the column of those in which the cursor is.
    cursor: (usize, usize),
    abilities: TerminalAbilities,
    /// The only row that changes on a terminal that cannot move its cursor, and the column of the cursor.
    line: (String, usize),
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
    pub fn new(abilities: TerminalAbilities) -> Self {
        Self { drawn: Vec::new(), cursor: (0, 0), abilities, line: (String::new(), 0) }
    }

    /// The bytes that add rows which stay and redraw those that change, on a terminal of this width.
    pub fn draw(&mut self, staying: &[StyledRow], changing: &Changing, width: usize) -> String {
        if !self.abilities.moves {
            return self.draw_line(staying, changing);
        }
        let mut out = String::from(BEGIN);
        self.take_back(width, &mut out);
        for row in staying {
            out.push_str(&self.bytes(row));
            out.push_str("\r\n");
        }
        for (n, row) in changing.rows.iter().enumerate() {
            if n > 0 {
                out.push_str("\r\n");
            }
            out.push_str(&self.bytes(row));
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
        self.cursor = (row.min(last), column);
        out.push_str(END);
        out
    }

    fn bytes(&self, row: &StyledRow) -> String {
        let text = row.ansi(self.abilities.coloured);
        if self.abilities.unicode { text } else { ascii(&text).into_owned() }
    }

    /// The same on a terminal that cannot move its cursor to another row.
    fn draw_line(&mut self, staying: &[StyledRow], changing: &Changing) -> String {
        let mut out = String::new();
        let (row, column) = changing.cursor;
        let typed = changing.rows.get(row).filter(|row| row.width > 0);
        // Where nothing can be typed, what to press is above.
        let shown = typed.or_else(|| changing.rows.iter().take(row).rev().find(|row| row.width > 0));
        let text = shown.map(|row| self.plain(row)).unwrap_or_default().into_owned();
        let column = if typed.is_some() { column } else { crate::text::columns(&text) };
        if staying.is_empty() && self.line == (text.clone(), column) {
            return out;
        }
        self.take_back(0, &mut out);
        for row in staying {
            out.push_str(&self.plain(row));
            out.push_str("\r\n");
        }
        out.push_str(&text);
        if column < crate::text::columns(&text) {
            // Writing its beginning again brings the cursor there.
            out.push('\r');
            out.push_str(crate::text::beginning(&text, column));
        }
        self.line = (text, column);
        out
    }

    fn plain<'r>(&self, row: &'r StyledRow) -> Cow<'r, str> {
        let text = row.ansi(false);
        Cow::Owned(if self.abilities.unicode { text } else { ascii(&text).into_owned() })
    }

    /// The bytes that erase the changing rows and leave the cursor where they began.
    pub fn clear(&mut self, width: usize) -> String {
        let mut out = String::new();
        self.take_back(width, &mut out);
        out
    }

    fn take_back(&mut self, width: usize, out: &mut String) {
        if !self.abilities.moves {
            let (text, _) = std::mem::take(&mut self.line);
            if !text.is_empty() {
                let _ = write!(out, "\r{}\r", " ".repeat(crate::text::columns(&text)));
            }
            return;
        }
        // A terminal that has become narrower has folded the rows above the cursor, and the one it is in.
        let (row, column) = self.cursor;
        let above = self.drawn.iter().take(row).map(|columns| columns.div_ceil(width.max(1)).max(1));
        let above = above.sum::<usize>() + column / width.max(1);
        out.push('\r');
        if above > 0 {
            let _ = write!(out, "\x1b[{above}A");
        }
        out.push_str("\x1b[J");
        self.drawn.clear();
        self.cursor = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{StyledLine, TextStyle};
    use swb_types::Size;

    const FULL: TerminalAbilities = TerminalAbilities { coloured: true, moves: true, unicode: true };

    fn rows(lines: &[&str]) -> Vec<StyledRow> {
        lines.iter().flat_map(|line| StyledLine::new(TextStyle::PLAIN, line).fold(80)).collect()
    }

    /// Rows that stay, rows that change, and the cursor in those.
    type Step<'s> = (&'s [&'s str], &'s [&'s str], (usize, usize));

    fn screen(steps: &[Step<'_>]) -> (String, (u16, u16)) {
        let mut terminal = swb_vt::Screen::new(Size::new(20, 8).unwrap(), swb_vt::Options::default());
        let mut canvas = Canvas::new(FULL);
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
    fn resizing_leaves_nothing_behind() {
        let mut terminal = swb_vt::Screen::new(Size::new(60, 12).unwrap(), swb_vt::Options::default());
        let mut canvas = Canvas::new(FULL);
        let mut draw = |terminal: &mut swb_vt::Screen, width: usize, staying: &[&str]| {
            let fold = |line: &str| StyledLine::new(TextStyle::PLAIN, line).fold(width - 1);
            let staying: Vec<StyledRow> = staying.iter().flat_map(|line| fold(line)).collect();
            let mut rows = fold("working on something that takes a while, and says so");
            let typed = fold("> some text that is being typed, quite long indeed");
            let cursor = (rows.len() + typed.len() - 1, typed.last().unwrap().width);
            rows.extend(typed);
            terminal.feed(canvas.draw(&staying, &Changing { rows, cursor }, width).as_bytes());
        };
        draw(&mut terminal, 60, &["one", "two"]);
        for width in [59, 31, 24, 60, 23, 22, 48, 60] {
            terminal.resize(Size::new(width, 12).unwrap());
            draw(&mut terminal, width.into(), &[]);
            let text = terminal.text();
            for once in ["working", "typed"] {
                assert_eq!(text.matches(once).count(), 1, "{width}: {once} in\n{text}");
            }
            // A terminal that gets narrower may scroll.
            let above: Vec<&str> = text.lines().take_while(|line| !line.starts_with("working")).collect();
            assert!(["one\ntwo", "two", ""].contains(&above.join("\n").as_str()), "{width}:\n{text}");
        }
    }

    #[test]
    fn a_terminal_that_only_prints_gets_one_changing_row() {
        let mut canvas = Canvas::new(TerminalAbilities { coloured: false, moves: false, unicode: false });
        let changing = |lines: &[&str], cursor| Changing { rows: rows(lines), cursor };
        let first = canvas.draw(&rows(&["› one — “two”"]), &changing(&["working", "> ab"], (1, 3)), 20);
        assert_eq!(first, "> one - \"two\"\r\n> ab\r> a");
        assert_eq!(canvas.draw(&[], &changing(&["working on", "> ab"], (1, 3)), 20), "", "nothing to redraw");
        assert_eq!(canvas.draw(&[], &changing(&["> abc"], (0, 5)), 20), "\r    \r> abc");
        let asked = canvas.draw(&rows(&["? may it"]), &changing(&["y yes · n no", ""], (1, 0)), 20);
        assert_eq!(asked, "\r     \r? may it\r\ny yes - n no");
        assert_eq!(canvas.clear(20), "\r            \r");
    }

    #[test]
    fn a_narrower_terminal_has_folded_rows() {
        let mut canvas = Canvas::new(TerminalAbilities { coloured: false, ..FULL });
        let row = rows(&["12345678901234567890", "> "]);
        canvas.draw(&[], &Changing { rows: row, cursor: (1, 2) }, 20);
        assert!(canvas.clear(10).starts_with("\r\x1b[2A"));
        assert_eq!(canvas.clear(10), "\r\x1b[J");
    }
}
