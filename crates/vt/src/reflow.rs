//! A page that changes its size: lines are wrapped anew by the grid of `alacritty_terminal`.
//!
//! Wrapping anew is rare and intricate, and that grid has done it on many screens for years. It lives only as long as
//! the page changes.

use crate::buffer::{Position, Row, WRAPPED};
use crate::cell::Cell;
use alacritty_terminal::grid::{Dimensions, Grid};
use alacritty_terminal::index::{Column, Line};
use std::borrow::Cow;

pub(crate) struct Reflow {
    grid: Grid<Cell>,
}

impl Reflow {
    /// Takes the lines of a page, its scrollback first, of which there may be `history`.
    pub(crate) fn new<'a>(
        (cols, rows): (usize, usize),
        history: usize,
        lines: impl Iterator<Item = Cow<'a, [Cell]>>,
    ) -> Self {
        let mut grid: Grid<Cell> = Grid::new(rows, cols, history);
        for (n, line) in lines.enumerate() {
            if n >= rows {
                grid.scroll_up(&(Line(0)..Line(rows as i32)), 1);
            }
            let row = &mut grid[Line(n.min(rows - 1) as i32)];
            let blank = Cell::default();
            let used = line.iter().rposition(|cell| *cell != blank).map_or(0, |x| x + 1);
            if used > 0 {
                row[Column(0)..Column(used)].clone_from_slice(&line[..used]);
            }
        }
        Self { grid }
    }

    /// Lines of scrollback there are.
    pub(crate) fn history(&self) -> usize {
        self.grid.history_size()
    }

    /// Changes the size, wrapping lines anew if `reflow`; where the cursor is then.
    pub(crate) fn resize(&mut self, cols: usize, rows: usize, at: Position, reflow: bool) -> Position {
        let cursor = &mut self.grid.cursor;
        cursor.point.column = Column(at.x);
        cursor.point.line = Line(at.y as i32);
        cursor.input_needs_wrap = at.wrap_pending;
        self.grid.resize(reflow, rows, cols);
        let cursor = &self.grid.cursor;
        let (x, y) = (cursor.point.column.0, cursor.point.line.0.max(0) as usize);
        if cursor.input_needs_wrap && x + 1 < cols {
            return Position { x: x + 1, y, wrap_pending: false };
        }
        Position { x, y, wrap_pending: cursor.input_needs_wrap }
    }

    /// Gives the newest `history` lines of the scrollback to `keep`, oldest first, and returns the rows of the screen.
    pub(crate) fn finish(mut self, history: usize, mut keep: impl FnMut(Vec<Cell>)) -> Vec<Row> {
        self.grid.update_history(history);
        self.repair();
        let line = |y: i32| self.grid[Line(y)][..].to_vec();
        (-(self.history() as i32)..0).map(line).for_each(&mut keep);
        (0..self.grid.screen_lines() as i32).map(|y| Row::from_cells(line(y))).collect()
    }

    /// Brings back what wrapping may have broken.
    fn repair(&mut self) {
        let (cols, rows) = (self.grid.columns(), self.grid.screen_lines() as i32);
        for y in -(self.history() as i32)..rows {
            let cells = &mut self.grid[Line(y)][..];
            let mut x = 0;
            while x < cols {
                let whole = cells[x].is_wide() && cells.get(x + 1).is_some_and(Cell::is_spacer);
                if whole {
                    x += 1;
                } else if cells[x].is_wide() || cells[x].is_spacer() {
                    cells[x].unwiden();
                }
                let last = x + 1 == cols && y + 1 < rows;
                if !(last && cells[x].is_wrapped()) {
                    cells[x].flags.remove(WRAPPED);
                }
                x += 1;
            }
            if let Some(last) = cells.last_mut().filter(|_| y + 1 == rows) {
                last.flags.remove(WRAPPED);
            }
        }
    }
}
