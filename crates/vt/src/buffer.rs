//! One page of cells, the primary or the alternate one, and everything that edits it.
//!
//! The rows of the screen are cells, lines above it the text of `scrollback.rs`. Keeps what makes a page
//! expressible as bytes: wide characters are whole, a wrapped line has a line below it, and the flags of
//! `cell.rs` stand only where they mean something.

use crate::cell::{Cell, Color, Pen};
use crate::reflow::Reflow;
use crate::scrollback::Scrollback;
use alacritty_terminal::term::cell::Flags;
use std::borrow::Cow;
use std::ops::Range;

pub(crate) const WRAPPED: Flags = Flags::WRAPLINE.union(Flags::LEADING_WIDE_CHAR_SPACER);

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
    cols: usize,
    rows: Vec<Row>,
    history: Scrollback,
    position: Position,
    /// The background of new lines.
    fill: Color,
    scrolled: u64,
}

/// A row of the screen.
#[derive(Clone)]
pub(crate) struct Row {
    cells: Box<[Cell]>,
    /// All cells from here on are equal blanks, so that erasing and keeping a short line costs little.
    used: usize,
    /// All cells before are ASCII in the default style, so that keeping them costs even less.
    plain: bool,
}

impl Row {
    fn new(cols: usize) -> Self {
        Self { cells: std::iter::repeat_n(Cell::default(), cols).collect(), used: 0, plain: true }
    }

    /// Makes a row of these cells, of which there is at least one.
    pub(crate) fn from_cells(cells: Vec<Cell>) -> Self {
        let mut row = Self { used: cells.len(), cells: cells.into(), plain: false };
        row.used = row.last().map_or(0, |last| {
            let blank = Cell::blank(last.bg);
            row.cells.iter().rposition(|cell| *cell != blank).map_or(0, |x| x + 1)
        });
        row
    }

    fn last(&self) -> Option<&Cell> {
        self.cells.last()
    }

    /// Cells to be changed.
    #[inline]
    fn edit(&mut self, columns: Range<usize>) -> &mut [Cell] {
        self.used = self.used.max(columns.end);
        self.plain = false;
        &mut self.cells[columns]
    }

    /// Cells to become text, plain or not.
    #[inline]
    fn write(&mut self, columns: Range<usize>, plain: bool) -> &mut [Cell] {
        self.plain &= plain && (columns.start <= self.used || self.rest() == Color::Default);
        self.used = self.used.max(columns.end);
        &mut self.cells[columns]
    }

    /// The background of the blanks at the end, if there are any.
    fn rest(&self) -> Color {
        self.last().filter(|_| self.used < self.cells.len()).map_or(Color::Default, |last| last.bg)
    }

    /// Makes the cells from `x` on blank.
    fn erase_from(&mut self, x: usize, fill: Color) {
        let rest = self.rest();
        let same_fill = self.used < self.cells.len() && rest == fill;
        let end = if same_fill { self.used } else { self.cells.len() };
        if x < end {
            self.cells[x..end].iter_mut().for_each(|cell| cell.erase(fill));
        }
        // Without text, or with the same blanks behind it, a line is as plain as before.
        self.plain = x == 0 || self.plain && (x <= self.used || rest == Color::Default);
        self.used = if same_fill { self.used.min(x) } else { x };
    }

    /// Adds the line to the scrollback.
    fn keep(&self, history: &mut Scrollback) {
        let used = &self.cells[..self.used];
        if self.plain {
            history.push_plain(used, self.rest());
        } else {
            history.push(used, self.rest());
        }
    }
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}x{}+{}", self.cols(), self.rows(), self.history())
    }
}

impl Buffer {
    pub(crate) fn new(cols: usize, rows: usize, history: usize) -> Self {
        Self {
            cols,
            rows: std::iter::repeat_with(|| Row::new(cols)).take(rows).collect(),
            history: Scrollback::new(history),
            position: Position::default(),
            fill: Color::Default,
            scrolled: 0,
        }
    }

    #[inline]
    pub(crate) fn cols(&self) -> usize {
        self.cols
    }

    #[inline]
    pub(crate) fn rows(&self) -> usize {
        self.rows.len()
    }

    /// Lines of scrollback there are.
    pub(crate) fn history(&self) -> usize {
        self.history.len()
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

    /// A row of the screen.
    #[inline]
    pub(crate) fn line(&self, y: usize) -> &[Cell] {
        &self.rows[y].cells
    }

    #[inline]
    fn line_mut(&mut self, y: usize, columns: Range<usize>) -> &mut [Cell] {
        self.rows[y].edit(columns)
    }

    /// The newest `n` lines of the scrollback, oldest first.
    pub(crate) fn scrollback(&self, n: usize) -> impl Iterator<Item = Vec<Cell>> {
        self.history.lines(self.history().saturating_sub(n), self.cols)
    }

    /// The newest `n` lines of the scrollback and those of the screen.
    pub(crate) fn lines(&self, n: usize) -> impl Iterator<Item = Cow<'_, [Cell]>> {
        let screen = self.rows.iter().map(|row| Cow::Borrowed(&row.cells[..]));
        self.scrollback(n).map(Cow::Owned).chain(screen)
    }

    #[inline]
    pub(crate) fn position(&self) -> Position {
        self.position
    }

    /// Moves to a place on the page.
    #[inline]
    pub(crate) fn go(&mut self, to: Position) {
        self.position = Position { x: to.x.min(self.cols - 1), y: to.y.min(self.rows() - 1), ..to };
    }

    /// What scrolled-in lines are filled with from now on.
    #[inline]
    pub(crate) fn set_fill(&mut self, bg: Color) {
        self.fill = bg;
    }

    /// A wide character never lies across the left edge of column `x`: if one does, it becomes blanks.
    #[inline]
    fn split(&mut self, y: usize, x: usize) {
        if x > 0 && x < self.cols() && self.line(y)[x].is_spacer() {
            for cell in self.line_mut(y, x - 1..x + 1) {
                cell.unwiden();
            }
        }
    }

    /// Writes characters of one column from the cursor's column on; all of them fit on the line. `plain` ones are ASCII in
    /// the default style.
    pub(crate) fn put_run<T: Copy + Into<char>>(&mut self, text: &[T], pen: &Pen, plain: bool) {
        let Position { x, y, .. } = self.position;
        let end = x + text.len();
        self.split(y, x);
        self.split(y, end);
        for (cell, c) in self.rows[y].write(x..end, plain).iter_mut().zip(text) {
            cell.set(*c, pen);
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
        self.position.x = end.min(self.cols - 1);
        self.position.wrap_pending = end >= self.cols;
    }

    /// The column of the character before the cursor.
    fn before(&self) -> Option<usize> {
        let Position { x, y, wrap_pending } = self.position();
        let x = if wrap_pending { x } else { x.checked_sub(1)? };
        Some(if self.line(y)[x].is_spacer() { x - 1 } else { x })
    }

    /// The character before the cursor, if there is one.
    pub(crate) fn cell_before(&self) -> Option<&Cell> {
        let y = self.position().y;
        self.before().map(|x| &self.line(y)[x])
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
        if self.line(y)[last].flags.intersects(WRAPPED)
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
        let (fill, row) = (self.fill, &mut self.rows[y]);
        if columns.end == self.cols {
            row.erase_from(columns.start, fill);
        } else {
            row.edit(columns).iter_mut().for_each(|cell| cell.erase(fill));
        }
    }

    pub(crate) fn erase_lines(&mut self, lines: Range<usize>) {
        for y in lines {
            self.erase(y, 0..self.cols());
        }
    }

    pub(crate) fn clear_history(&mut self) {
        self.history.clear();
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
        let fill = self.fill;
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
        let fill = self.fill;
        let cells = self.line_mut(y, x..cols);
        cells.rotate_left(n);
        let kept = cells.len() - n;
        cells[kept..].fill(Cell::blank(fill));
    }

    /// Moves lines up; those that leave the top of the page go to the scrollback.
    pub(crate) fn scroll_up(&mut self, region: &Range<usize>, n: usize) {
        let n = n.min(region.len());
        if region.start == 0 {
            for row in &self.rows[..n] {
                row.keep(&mut self.history);
            }
            self.count_scrolled(n as u64);
        }
        self.shift_up(region, n);
    }

    /// Moves the lines above `end` up by `n`; those that leave the page are lost.
    pub(crate) fn drop_top(&mut self, end: usize, n: usize) {
        self.shift_up(&(0..end), n.min(end));
    }

    fn shift_up(&mut self, region: &Range<usize>, n: usize) {
        self.rows[region.clone()].rotate_left(n);
        self.erase_lines(region.end - n..region.end);
    }

    /// Moves lines down.
    pub(crate) fn scroll_down(&mut self, region: &Range<usize>, n: usize) {
        let n = n.min(region.len());
        self.rows[region.clone()].rotate_right(n);
        self.erase_lines(region.start..region.start + n);
        self.unwrap_line(self.rows() - 1);
    }

    /// Changes the size, wrapping lines anew if `reflow`.
    pub(crate) fn resize(&mut self, cols: usize, rows: usize, history: usize, reflow: bool) {
        let lines = self.lines(usize::MAX);
        let mut page = Reflow::new((self.cols, self.rows()), self.history.limit(), lines);
        let before = self.history();
        let at = page.resize(cols, rows, self.position, reflow);
        self.count_scrolled(page.history().saturating_sub(before) as u64);
        self.cols = cols;
        self.history = Scrollback::new(history);
        self.rows = page.finish(history, |line| {
            Row::from_cells(line).keep(&mut self.history);
        });
        self.go(at);
    }
}
