//! The screen for a terminal of another size, or one that cannot keep up: what changed since the last look.
//!
//! A watcher smaller than the session sees a part of it, the one with the cursor; nothing wraps, scrolls
//! or reaches its own scrollback. Each call to [`View::paint`] brings it from what it shows to
//! what the screen shows now, however much happened in between.

use crate::cell::{Cell, Pen};
use crate::data::CursorShape;
use crate::screen::Screen;
use crate::snapshot::SnapshotWriter;
use std::io::Write;
use swb_types::Size;

/// What one watching terminal shows.
#[derive(Debug)]
pub struct View {
    size: Size,
    /// The cells it shows; nothing is known before the first look.
    shown: Option<Vec<Vec<Cell>>>,
    title: String,
}

impl View {
    /// Makes a view for a terminal of this size, whatever it shows now.
    pub fn new(size: Size) -> Self {
        Self { size, shown: None, title: String::new() }
    }

    /// Changes the size; the next look paints everything.
    pub fn resize(&mut self, size: Size) {
        self.size = size;
        self.shown = None;
    }

    /// Bytes after which the terminal shows the screen as it is now; they ask nothing.
    pub fn paint(&mut self, screen: &Screen) -> Vec<u8> {
        let (left, top) = self.corner(screen);
        let rows: Vec<Vec<Cell>> =
            (0..usize::from(self.size.rows())).map(|y| self.cut(screen, left, top + y)).collect();
        let mut writer = SnapshotWriter::default();
        // One picture at a time, without its cursor running about.
        writer.out.extend_from_slice(b"\x1b[?2026h\x1b[?25l");
        if self.shown.is_none() {
            writer.out.extend_from_slice(b"\x1b[r\x1b[?6;69l\x1b[4l\x1b[?7l\x1b[m\x1b[H\x1b[2J");
        }
        let before = self.shown.take().unwrap_or_default();
        for (y, row) in rows.iter().enumerate() {
            if before.get(y).map_or(&[][..], Vec::as_slice) != row {
                paint_row(&mut writer, y, row);
            }
        }
        self.shown = Some(rows);
        if self.title != screen.title() {
            screen.title().clone_into(&mut self.title);
            let _written = write!(writer.out, "\x1b]2;{}\x1b\\", self.title);
        }
        self.cursor(&mut writer.out, screen, left, top);
        writer.out.extend_from_slice(b"\x1b[?2026l");
        writer.out
    }

    /// The corner of the part that is shown: the first column and row, unless the cursor is elsewhere.
    fn corner(&self, screen: &Screen) -> (usize, usize) {
        let cursor = screen.cursor();
        let start = |at: u16, len: u16| usize::from((at + 1).saturating_sub(len));
        (start(cursor.col, self.size.cols()), start(cursor.row, self.size.rows()))
    }

    /// The part of a row that is shown, without blanks at its end.
    fn cut(&self, screen: &Screen, left: usize, y: usize) -> Vec<Cell> {
        if y >= usize::from(screen.size().rows()) {
            return Vec::new();
        }
        let cells = screen.cells(y).iter().skip(left);
        let mut row: Vec<Cell> = cells.take(self.size.cols().into()).cloned().collect();
        // Half a wide character cannot be shown.
        if let Some(first) = row.first_mut().filter(|cell| cell.is_spacer()) {
            first.unwiden();
        }
        if let Some(last) = row.last_mut().filter(|cell| cell.is_wide()) {
            last.unwiden();
        }
        for cell in &mut row {
            cell.unwrap();
        }
        row.truncate(row.iter().rposition(|cell| !cell.is_default()).map_or(0, |x| x + 1));
        row
    }

    fn cursor(&self, out: &mut Vec<u8>, screen: &Screen, left: usize, top: usize) {
        let cursor = screen.cursor();
        if !cursor.visible {
            return;
        }
        let (y, x) = (usize::from(cursor.row) - top + 1, usize::from(cursor.col) - left + 1);
        let style = match cursor.shape {
            CursorShape::Block => 1,
            CursorShape::Underline => 3,
            CursorShape::Bar => 5,
        } + u8::from(!cursor.blink);
        let _written = write!(out, "\x1b[{y};{x}H\x1b[{style} q\x1b[?25h");
    }
}

fn paint_row(writer: &mut SnapshotWriter, y: usize, row: &[Cell]) {
    let _written = write!(writer.out, "\x1b[{};1H\x1b[2K", y + 1);
    for x in 0..row.len() {
        writer.cell_of(row, x);
    }
    writer.set_pen(&Pen::default());
}
