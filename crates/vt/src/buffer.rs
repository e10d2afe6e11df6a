//! One page of cells, the primary or the alternate one, and everything that edits it.
//!
//! Built on the grid of `alacritty_terminal`, whose cursor holds our position. Keeps what makes a page
//! expressible as bytes: wide characters are whole, a wrapped line has a line below it, and the flags of
//! `cell.rs` stand only where they mean something.

use crate::cell::{Cell, Color, Pen};
use alacritty_terminal::grid::{Dimensions, Grid};
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::cell::Flags;
use std::ops::Range;

const WRAPPED: Flags = Flags::WRAPLINE.union(Flags::LEADING_WIDE_CHAR_SPACER);

/// A place on the page, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Position {
    pub(crate) x: usize,
    pub(crate) y: usize,
    /// The last column is written and the next character goes to the next line.
    pub(crate) wrap_pending: bool,
}

#[derive(Clone)]
pub(crate) struct Buffer {
    grid: Grid<Cell>,
    scrolled: u64,
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}x{}+{}", self.cols(), self.rows(), self.history())
    }
}

impl Buffer {
    pub(crate) fn new(cols: usize, rows: usize, history: usize) -> Self {
        Self { grid: Grid::new(rows, cols, history), scrolled: 0 }
    }

    pub(crate) fn cols(&self) -> usize {
        self.grid.columns()
    }

    pub(crate) fn rows(&self) -> usize {
        self.grid.screen_lines()
    }

    /// Lines of scrollback there are.
    pub(crate) fn history(&self) -> usize {
        self.grid.history_size()
    }

    /// Lines that ever left the top of the page, whether the scrollback took them or not.
    pub(crate) fn scrolled(&self) -> u64 {
        self.scrolled
    }

    /// Counts lines that left the page unseen.
    pub(crate) fn count_scrolled(&mut self, lines: u64) {
        self.scrolled = self.scrolled.saturating_add(lines);
    }

    /// Goes on counting from there.
    pub(crate) fn count_scrolled_from(&mut self, lines: u64) {
        self.scrolled = lines;
    }

    /// A line; those of the scrollback are negative, -1 being the newest.
    pub(crate) fn line(&self, y: isize) -> &[Cell] {
        &self.grid[Line(y as i32)][..]
    }

    fn line_mut(&mut self, y: usize, columns: Range<usize>) -> &mut [Cell] {
        &mut self.grid[Line(y as i32)][Column(columns.start)..Column(columns.end)]
    }

    /// All lines from the oldest of the scrollback on.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &[Cell]> {
        (-(self.history() as isize)..self.rows() as isize).map(|y| self.line(y))
    }

    pub(crate) fn position(&self) -> Position {
        let cursor = &self.grid.cursor;
        Position {
            x: cursor.point.column.0,
            y: cursor.point.line.0.max(0) as usize,
            wrap_pending: cursor.input_needs_wrap,
        }
    }

    /// Moves to a place on the page.
    pub(crate) fn go(&mut self, to: Position) {
        let (x, y) = (to.x.min(self.cols() - 1), to.y.min(self.rows() - 1));
        let cursor = &mut self.grid.cursor;
        cursor.point.column = Column(x);
        cursor.point.line = Line(y as i32);
        cursor.input_needs_wrap = to.wrap_pending;
    }

    /// What scrolled-in lines are filled with from now on.
    pub(crate) fn set_fill(&mut self, bg: Color) {
        self.grid.cursor.template.bg = bg;
    }

    pub(crate) fn fill(&self) -> Color {
        self.grid.cursor.template.bg
    }

    /// A wide character never lies across the left edge of column `x`: if one does, it becomes blanks.
    fn split(&mut self, y: usize, x: usize) {
        if x > 0 && x < self.cols() && self.line(y as isize)[x].is_spacer() {
            for cell in self.line_mut(y, x - 1..x + 1) {
                cell.unwiden();
            }
        }
    }

    /// Writes ASCII from the cursor's column on; all of it fits on the line.
    pub(crate) fn put_ascii(&mut self, text: &[u8], pen: &Pen) {
        let Position { x, y, .. } = self.position();
        let end = x + text.len();
        self.split(y, x);
        self.split(y, end);
        for (cell, byte) in self.line_mut(y, x..end).iter_mut().zip(text) {
            *cell = Cell::new(char::from(*byte), pen, Flags::empty());
        }
        self.advance(end);
    }

    /// Writes one character of `width` 1 or 2 at the cursor; it fits on the line.
    pub(crate) fn put(&mut self, c: char, width: usize, pen: &Pen) {
        let Position { x, y, .. } = self.position();
        let end = x + width;
        self.split(y, x);
        self.split(y, end);
        let cells = self.line_mut(y, x..end);
        match cells {
            [cell] => *cell = Cell::new(c, pen, Flags::empty()),
            [cell, spacer] => {
                *cell = Cell::new(c, pen, Flags::WIDE_CHAR);
                *spacer = Cell::new(' ', pen, Flags::WIDE_CHAR_SPACER);
            }
            _ => {}
        }
        self.advance(end);
    }

    fn advance(&mut self, end: usize) {
        let cols = self.cols();
        let cursor = &mut self.grid.cursor;
        cursor.point.column = Column(end.min(cols - 1));
        cursor.input_needs_wrap = end >= cols;
    }

    /// The column of the character before the cursor.
    fn before(&self) -> Option<usize> {
        let Position { x, y, wrap_pending } = self.position();
        let x = if wrap_pending { x } else { x.checked_sub(1)? };
        Some(if self.line(y as isize)[x].is_spacer() { x - 1 } else { x })
    }

    /// The character before the cursor, if there is one.
    pub(crate) fn cell_before(&self) -> Option<&Cell> {
        let y = self.position().y;
        self.before().map(|x| &self.line(y as isize)[x])
    }

    /// Adds a character to the one before the cursor, if there is one.
    pub(crate) fn combine(&mut self, c: char) {
        let (x, y) = (self.before(), self.position().y);
        if let Some([cell]) = x.map(|x| self.line_mut(y, x..x + 1)) {
            cell.push_zero_width(c);
        }
    }

    /// Gives the narrow character before the cursor the cursor's column as well. In the last column it stays narrow.
    pub(crate) fn widen(&mut self, insert: bool) {
        let Position { x, y, wrap_pending } = self.position();
        if wrap_pending || x == 0 {
            return;
        }
        if insert {
            self.insert_cells(1);
        }
        self.split(y, x + 1);
        if let [cell, spacer] = self.line_mut(y, x - 1..x + 1) {
            cell.flags.insert(Flags::WIDE_CHAR);
            *spacer = Cell::new(' ', &cell.pen(), Flags::WIDE_CHAR_SPACER);
        }
        self.advance(x + 1);
    }

    /// Leaves a blank in the last column because the wide character that comes does not fit.
    pub(crate) fn put_leading_spacer(&mut self, pen: &Pen) {
        let (y, last) = (self.position().y, self.cols() - 1);
        self.split(y, last);
        if let [cell] = self.line_mut(y, last..last + 1) {
            *cell = Cell::new(' ', pen, Flags::LEADING_WIDE_CHAR_SPACER);
        }
    }

    /// Goes to the start of the next line because the text goes on there.
    pub(crate) fn wrap(&mut self, region: &Range<usize>) {
        let (y, last) = (self.position().y, self.cols() - 1);
        let at_margin = y + 1 == region.end;
        let has_next = at_margin || y + 1 < self.rows();
        if let [cell] = self.line_mut(y, last..last + 1) {
            cell.flags.set(Flags::WRAPLINE, has_next);
            if !has_next {
                cell.flags.remove(WRAPPED);
            }
        }
        if at_margin {
            self.scroll_up(region, 1);
        }
        let y = if at_margin || !has_next { y } else { y + 1 };
        self.go(Position { x: 0, y, wrap_pending: false });
    }

    /// The line at `y` does not go on in the next one.
    pub(crate) fn unwrap_line(&mut self, y: usize) {
        let last = self.cols() - 1;
        if self.line(y as isize)[last].flags.intersects(WRAPPED)
            && let [cell] = self.line_mut(y, last..last + 1)
        {
            cell.flags.remove(WRAPPED);
        }
    }

    /// Makes cells blank.
    pub(crate) fn erase(&mut self, y: usize, columns: Range<usize>) {
        if columns.is_empty() {
            return;
        }
        self.split(y, columns.start);
        self.split(y, columns.end);
        let fill = self.fill();
        if columns.len() == self.cols() {
            // Costs nothing for a line that is blank already.
            let template = Cell::blank(fill);
            self.grid[Line(y as i32)].reset(&template);
        } else {
            self.line_mut(y, columns).fill(Cell::blank(fill));
        }
    }

    pub(crate) fn erase_lines(&mut self, lines: Range<usize>) {
        for y in lines {
            self.erase(y, 0..self.cols());
        }
    }

    pub(crate) fn clear_history(&mut self) {
        self.grid.clear_history();
    }

    /// Fills the page with `E`.
    pub(crate) fn align(&mut self) {
        let (cols, cell) = (self.cols(), Cell::new('E', &Pen::default(), Flags::empty()));
        for y in 0..self.rows() {
            self.line_mut(y, 0..cols).fill(cell.clone());
        }
    }

    /// Shifts the rest of the cursor's line right by `n`.
    pub(crate) fn insert_cells(&mut self, n: usize) {
        let (Position { x, y, .. }, cols) = (self.position(), self.cols());
        let n = n.min(cols - x);
        self.split(y, x);
        self.split(y, cols - n);
        self.unwrap_line(y);
        let fill = self.fill();
        let cells = self.line_mut(y, x..cols);
        cells.rotate_right(n);
        cells[..n].fill(Cell::blank(fill));
    }

    /// Shifts the rest of the cursor's line left by `n`.
    pub(crate) fn delete_cells(&mut self, n: usize) {
        let (Position { x, y, .. }, cols) = (self.position(), self.cols());
        let n = n.min(cols - x);
        self.split(y, x);
        self.split(y, x + n);
        self.unwrap_line(y);
        let fill = self.fill();
        let cells = self.line_mut(y, x..cols);
        cells.rotate_left(n);
        let kept = cells.len() - n;
        cells[kept..].fill(Cell::blank(fill));
    }

    /// Moves lines up; those that leave the top of the page go to the scrollback.
    pub(crate) fn scroll_up(&mut self, region: &Range<usize>, n: usize) {
        let n = n.min(region.len());
        self.grid.scroll_up(&lines(region), n);
        if region.start == 0 {
            self.count_scrolled(n as u64);
        }
    }

    /// Moves the lines above `end` up by `n`; those that leave the page are lost.
    pub(crate) fn drop_top(&mut self, end: usize, n: usize) {
        let n = n.min(end);
        for y in 0..end - n {
            let row = std::mem::take(&mut self.grid[Line((y + n) as i32)]);
            let gone = std::mem::replace(&mut self.grid[Line(y as i32)], row);
            self.grid[Line((y + n) as i32)] = gone;
        }
        self.erase_lines(end - n..end);
    }

    /// Moves lines down.
    pub(crate) fn scroll_down(&mut self, region: &Range<usize>, n: usize) {
        let n = n.min(region.len());
        self.grid.scroll_down(&lines(region), n);
        self.unwrap_line(self.rows() - 1);
    }

    /// Changes the size, wrapping lines anew if `reflow`.
    pub(crate) fn resize(&mut self, cols: usize, rows: usize, history: usize, reflow: bool) {
        let before = self.history();
        self.grid.resize(reflow, rows, cols);
        self.count_scrolled(self.history().saturating_sub(before) as u64);
        self.grid.update_history(history);
        self.repair();
        let mut to = self.position();
        if to.wrap_pending && to.x + 1 < cols {
            to.x += 1;
            to.wrap_pending = false;
        }
        self.go(to);
    }

    /// Brings back what a resize may have broken.
    fn repair(&mut self) {
        let (cols, rows) = (self.cols(), self.rows());
        for y in -(self.history() as i32)..rows as i32 {
            let cells = &mut self.grid[Line(y)][..];
            let mut x = 0;
            while x < cols {
                let whole = cells[x].is_wide() && cells.get(x + 1).is_some_and(Cell::is_spacer);
                if whole {
                    x += 1;
                } else if cells[x].is_wide() || cells[x].is_spacer() {
                    cells[x].unwiden();
                }
                let last = x + 1 == cols && y + 1 < rows as i32;
                if !(last && cells[x].is_wrapped()) {
                    cells[x].flags.remove(WRAPPED);
                }
                x += 1;
            }
            if let Some(last) = cells.last_mut().filter(|_| y + 1 == rows as i32) {
                last.flags.remove(WRAPPED);
            }
        }
    }
}

fn lines(region: &Range<usize>) -> Range<Line> {
    Line(region.start as i32)..Line(region.end as i32)
}
