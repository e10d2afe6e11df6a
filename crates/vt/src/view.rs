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
    /// What it was sent to make its keyboard and mouse those of the program, if a person types there.
    input: Option<Vec<u8>>,
}

/// Undoes what [`input_modes`] has set.
const NO_INPUT_MODES: &[u8] =
    b"\x1b[=0;1u\x1b[>4m\x1b>\x1b[?1;1000;1002;1003;1004;1005;1006;1015;1016;2004l\x1b[?1007h";

impl View {
    /// Makes a view for a terminal of this size, which may show anything now.
    pub fn new(size: Size) -> Self {
        Self { size, shown: None, title: String::new(), input: None }
    }

    /// Makes a view for a terminal in which a person types: its keys, its mouse and what is pasted there are sent as the
    /// program has asked for.
    pub fn with_input(size: Size) -> Self {
        Self { input: Some(Vec::new()), ..Self::new(size) }
    }

    /// The size of the terminal.
    pub fn size(&self) -> Size {
        self.size
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
        self.input_modes(&mut writer.out, screen, (left, top) == (0, 0));
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

    /// Passes on a change of the modes that decide what the terminal sends. Where the mouse is, is right only in a part
    /// that begins in the screen's corner.
    fn input_modes(&mut self, out: &mut Vec<u8>, screen: &Screen, mouse: bool) {
        let Some(before) = &mut self.input else { return };
        let now = input_modes(screen, mouse);
        if *before != now {
            out.extend_from_slice(NO_INPUT_MODES);
            out.extend_from_slice(&now);
            *before = now;
        }
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

/// Bytes that set the modes of a fresh terminal's keyboard and mouse as the program has set them.
fn input_modes(screen: &Screen, mouse: bool) -> Vec<u8> {
    let terminal = screen.terminal();
    let (registers, mut out) = (&terminal.registers, Vec::new());
    let flags = terminal.page().keyboard.flags;
    if flags != 0 {
        let _written = write!(out, "\x1b[={flags};1u");
    }
    if let Some(value) = registers.key_modifiers[4] {
        let _written = write!(out, "\x1b[>4;{value}m");
    }
    registers.modes.write_input(mouse, &mut out);
    out
}

fn paint_row(writer: &mut SnapshotWriter, y: usize, row: &[Cell]) {
    let _written = write!(writer.out, "\x1b[{};1H\x1b[2K", y + 1);
    for x in 0..row.len() {
        writer.cell_of(row, x);
    }
    writer.set_pen(&Pen::default());
}
