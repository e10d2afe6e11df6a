//! A terminal's state as bytes that bring a fresh terminal of the same size into it.
//!
//! The order matters: what is saved is set up before the cells are painted, because it can
//! need a stray character; cells are painted while every mode is as in a fresh terminal; modes
//! that change what text does come last. Nothing in it asks the terminal anything.

use crate::buffer::{Buffer, Position};
use crate::cell::{Cell, Color, Pen};
use crate::emoji;
use crate::event::Mark;
use crate::modes;
use crate::sgr;
use crate::terminal::{Charsets, Keyboard, SavedCursor, Terminal, default_tab};
use std::io::Write;

/// Blank cells that are cheaper to skip than to write.
const SKIP: usize = 5;

/// Changes nothing while the cells are painted (SI: the first character set, as in a fresh terminal), and keeps apart
/// what would be one emoji if it was written at once.
const NOTHING: &str = "\x0f";

/// The state as bytes, with at most `scrollback` lines above the screen.
pub(crate) fn write(terminal: &Terminal, scrollback: usize) -> Vec<u8> {
    let mut writer = SnapshotWriter::default();
    writer.titles(terminal);
    terminal.registers.palette.write(&mut writer.out);
    let primary = &terminal.primary;
    writer.keyboard(&primary.keyboard);
    match &terminal.alternate {
        None => {
            writer.save(&primary.saved);
            writer.paint(&primary.buffer, scrollback);
        }
        Some(page) => {
            writer.below_alternate(terminal, scrollback);
            writer.keyboard(&page.keyboard);
            writer.save(&page.saved);
            writer.paint(&page.buffer, 0);
        }
    }
    writer.registers(terminal);
    writer.cursor(terminal);
    writer.out
}

/// Bytes under way, and what the terminal that gets them has as its pen.
#[derive(Default)]
pub(crate) struct SnapshotWriter {
    pub(crate) out: Vec<u8>,
    pen: Pen,
}

impl SnapshotWriter {
    fn put(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    /// Writing to a vector cannot fail.
    fn put_fmt(&mut self, text: std::fmt::Arguments<'_>) {
        let _written = self.out.write_fmt(text);
    }

    fn titles(&mut self, terminal: &Terminal) {
        let registers = &terminal.registers;
        for title in &registers.titles {
            self.put_fmt(format_args!("\x1b]2;{title}\x1b\\\x1b[22;2t"));
        }
        if !registers.titles.is_empty() || !registers.title.is_empty() {
            self.put_fmt(format_args!("\x1b]2;{}\x1b\\", registers.title));
        }
    }

    fn keyboard(&mut self, keyboard: &Keyboard) {
        let mut all = keyboard.stack.iter().chain([&keyboard.flags]);
        if let Some(first) = all.next().filter(|flags| **flags != 0) {
            self.put_fmt(format_args!("\x1b[={first};1u"));
        }
        for flags in keyboard.stack.iter().chain([&keyboard.flags]).skip(1) {
            self.put_fmt(format_args!("\x1b[>{flags}u"));
        }
    }

    /// Paints the primary screen and switches to the alternate one, which is left blank.
    fn below_alternate(&mut self, terminal: &Terminal, scrollback: usize) {
        let primary = &terminal.primary;
        if primary.saved.position.wrap_pending {
            // Only a saved cursor can be in that state without disturbing the text.
            self.save(&primary.saved);
            self.paint(&primary.buffer, scrollback);
            self.set_pen(&Pen::default());
            self.put("\x1b[?1047h");
        } else {
            self.paint(&primary.buffer, scrollback);
            self.saved_state(&primary.saved);
            // This saves the cursor, and every terminal knows it.
            self.put("\x1b[?1049h");
            self.fresh_state(&primary.saved);
        }
        self.put("\x1b[H\x1b[J");
    }

    /// Makes DECRC lead to `saved`; ends at home on a blank screen.
    fn save(&mut self, saved: &SavedCursor) {
        if *saved == SavedCursor::default() {
            return;
        }
        self.saved_state(saved);
        self.put("\x1b7");
        self.fresh_state(saved);
        self.put("\x1b[H");
        if saved.position.wrap_pending {
            self.put("\x1b[J");
        }
    }

    /// Puts pen, cursor, origin mode and character sets where `saved` has them.
    fn saved_state(&mut self, saved: &SavedCursor) {
        if saved.origin {
            self.put("\x1b[?6h");
        }
        self.go(saved.position);
        if saved.position.wrap_pending {
            self.put("x");
        }
        self.set_pen(&saved.pen);
        self.charsets(&saved.charsets);
    }

    /// Undoes [`SnapshotWriter::saved_state`].
    fn fresh_state(&mut self, saved: &SavedCursor) {
        if saved.origin {
            self.put("\x1b[?6l");
        }
        self.set_pen(&Pen::default());
        for (slot, set) in ['(', ')', '*', '+'].iter().zip(saved.charsets.sets) {
            if set != b'B' {
                self.put_fmt(format_args!("\x1b{slot}B"));
            }
        }
        if saved.charsets.active != 0 {
            self.put("\x0f");
        }
    }

    fn go(&mut self, to: Position) {
        self.put_fmt(format_args!("\x1b[{};{}H", to.y + 1, to.x + 1));
    }

    fn charsets(&mut self, charsets: &Charsets) {
        for (slot, set) in ['(', ')', '*', '+'].iter().zip(charsets.sets) {
            if set != b'B' {
                self.put_fmt(format_args!("\x1b{slot}{}", char::from(set)));
            }
        }
        self.put(["", "\x0e", "\x1bn", "\x1bo"].get(charsets.active).copied().unwrap_or_default());
    }

    pub(crate) fn set_pen(&mut self, pen: &Pen) {
        sgr::change(&mut self.out, &self.pen, pen);
        if self.pen.link() != pen.link() {
            match pen.link() {
                None => self.put("\x1b]8;;\x1b\\"),
                Some(link) if link.id.is_empty() => self.put_fmt(format_args!("\x1b]8;;{}\x1b\\", link.uri)),
                Some(link) => self.put_fmt(format_args!("\x1b]8;id={};{}\x1b\\", link.id, link.uri)),
            }
        }
        self.pen = pen.clone();
    }

    /// Writes one cell; the spacer of a wide character writes itself.
    fn cell(&mut self, cell: &Cell) {
        self.parts(cell, if emoji::was_kept_narrow(cell) { NOTHING } else { "" });
    }

    /// The same for people and files: no terminal has to bring it into the same columns.
    pub(crate) fn text(&mut self, cell: &Cell) {
        self.parts(cell, "");
    }

    /// Writes a cell with `between` behind its first character.
    fn parts(&mut self, cell: &Cell, between: &str) {
        if cell.is_spacer() {
            return;
        }
        if !cell.looks_like(&self.pen) {
            self.set_pen(&cell.pen());
        }
        let mut bytes = [0; 4];
        self.put(cell.c.encode_utf8(&mut bytes));
        self.put(between);
        for c in cell.zero_width() {
            self.put(c.encode_utf8(&mut bytes));
        }
    }

    /// Writes the cell in column `x` of a line behind the one before it.
    pub(crate) fn cell_of(&mut self, line: &[Cell], x: usize) {
        let before = character_before(line, x);
        if before.is_some_and(emoji::is_joined) && !line[x].is_spacer() {
            // Terminals that do not join them are further to the right.
            self.put_fmt(format_args!("\x1b[{}G", x + 1));
        } else if before.is_some_and(|before| emoji::joins(before, line[x].c)) {
            self.put(NOTHING);
        }
        self.cell(&line[x]);
    }

    /// Writes all lines from home on, through the bottom if there is scrollback.
    fn paint(&mut self, buffer: &Buffer, scrollback: usize) {
        let history = buffer.history().min(scrollback);
        // Without scrollback, what is blank at the end is blank already.
        let rows = if history > 0 { history + buffer.rows() } else { used_rows(buffer) };
        let mut above: Option<Cell> = None;
        for (n, line) in buffer.lines(history).take(rows).enumerate() {
            match &above {
                Some(above) => self.wrap(above, &line),
                None if n > 0 => {
                    // A new line at the bottom has the pen's background.
                    if self.pen.bg != Color::Default {
                        self.set_pen(&Pen::default());
                    }
                    self.put("\r\n");
                }
                None => {}
            }
            self.line(&line, above.is_some());
            above = line.last().filter(|cell| cell.is_wrapped()).cloned();
        }
        self.set_pen(&Pen::default());
    }

    /// Goes from the end of a wrapped line to the start of the next by writing over its edge.
    fn wrap(&mut self, above: &Cell, line: &[Cell]) {
        if above.is_leading() {
            self.set_pen(&above.pen());
            self.put("\u{3000}");
            self.set_pen(&Pen::default());
            self.put("\r\x1b[K");
        } else if line.first().is_some_and(|cell| cell.bg != Color::Default) {
            self.set_pen(&Pen::default());
            self.put(" \r");
        } else if self.pen.bg != Color::Default {
            self.set_pen(&Pen::default());
        }
    }

    fn line(&mut self, line: &[Cell], continued: bool) {
        let wrapped = line.last().is_some_and(Cell::is_wrapped);
        let leading = line.last().is_some_and(Cell::is_leading);
        let used = line.iter().rposition(|cell| !cell.is_default()).map_or(0, |x| x + 1);
        let end = match (wrapped, leading) {
            (true, true) => line.len() - 1,
            (true, false) => line.len(),
            // The line above goes on here, so there must be something.
            _ => used.max(usize::from(continued)),
        };
        if continued && !line[0].c.is_ascii() {
            self.put(NOTHING);
        }
        let mut x = 0;
        while x < end {
            let blanks = line[x..end].iter().take_while(|cell| cell.is_default()).count();
            // The first and the last cell are what makes lines wrap.
            let skip = if x == 0 && continued || blanks < SKIP { 0 } else { blanks };
            let skip = if wrapped && !leading && x + skip == end { skip.saturating_sub(1) } else { skip };
            if skip > 0 && character_before(line, x).is_some_and(emoji::is_joined) {
                x += skip;
                self.put_fmt(format_args!("\x1b[{}G", x + 1));
            } else if skip > 0 {
                self.put_fmt(format_args!("\x1b[{skip}C"));
                x += skip;
            } else {
                self.cell_of(line, x);
                x += 1;
            }
        }
    }

    fn registers(&mut self, terminal: &Terminal) {
        let registers = &terminal.registers;
        if registers.tabs.iter().enumerate().any(|(x, stop)| *stop != default_tab(x)) {
            self.put("\x1b[3g");
            for (x, _) in registers.tabs.iter().enumerate().filter(|(_, stop)| **stop) {
                self.put_fmt(format_args!("\x1b[{}G\x1bH", x + 1));
            }
        }
        if registers.region != (0..terminal.rows()) {
            let region = &registers.region;
            self.put_fmt(format_args!("\x1b[{};{}r", region.start + 1, region.end));
        }
        registers.modes.write_early(&mut self.out);
        match (terminal.cursor_style_number(), registers.cursor.blink) {
            (0, Some(on)) => self.put(if on { "\x1b[?12h" } else { "\x1b[?12l" }),
            (0, None) => {}
            (style, _) => self.put_fmt(format_args!("\x1b[{style} q")),
        }
        for (resource, value) in registers.key_modifiers.iter().enumerate() {
            if let Some(value) = value {
                self.put_fmt(format_args!("\x1b[>{resource};{value}m"));
            }
        }
        for (number, text) in [(7, &registers.cwd), (7501, &registers.status)] {
            if !text.is_empty() {
                self.put_fmt(format_args!("\x1b]{number};{text}\x1b\\"));
            }
        }
        if let Some(progress) = registers.progress {
            let (state, percent) = progress.params();
            self.put_fmt(format_args!("\x1b]9;4;{state};{percent}\x1b\\"));
        }
        match registers.mark {
            None => {}
            Some(Mark::Prompt) => self.put("\x1b]133;A\x1b\\"),
            Some(Mark::Input) => self.put("\x1b]133;B\x1b\\"),
            Some(Mark::Output) => self.put("\x1b]133;C\x1b\\"),
            Some(Mark::Done(None)) => self.put("\x1b]133;D\x1b\\"),
            Some(Mark::Done(Some(code))) => self.put_fmt(format_args!("\x1b]133;D;{code}\x1b\\")),
        }
    }

    /// Puts the cursor in its place, and with it the pen and the modes that change what text does.
    fn cursor(&mut self, terminal: &Terminal) {
        let registers = &terminal.registers;
        let mut at = terminal.position();
        let line = terminal.page().buffer.line(at.y);
        if terminal.mode(modes::ORIGIN) {
            self.put("\x1b[?6h");
            at.y -= registers.region.start.min(at.y);
        }
        let before = at.x.checked_sub(usize::from(!at.wrap_pending));
        let before = before.map(|x| if line[x].is_spacer() { x - 1 } else { x });
        let repeats = |x: &usize| terminal.last == Some(line[*x].c) && line[*x].looks_like(&registers.pen);
        let repeated = before.filter(repeats);
        match (repeated, before) {
            (Some(x), _) => self.go(Position { x, ..at }),
            (None, Some(x)) if at.wrap_pending => {
                // The only way to that place is to write the last column once more.
                self.go(Position { x, ..at });
                self.cell(&line[x]);
            }
            _ => self.go(at),
        }
        let written = self.out.len();
        self.set_pen(&registers.pen);
        self.charsets(&registers.charsets);
        registers.modes.write_late(&mut self.out);
        if at.wrap_pending && self.out.len() == written {
            // Any sequence will do: REP must not repeat what was written for the cursor's sake.
            self.put("\x1b[?25");
            self.put(if terminal.mode(modes::SHOW_CURSOR) { "h" } else { "l" });
        }
        if let Some(x) = repeated {
            // REP may follow: the last character must be the last thing that is written.
            if registers.modes.insert {
                let width = if line[x].is_wide() { 2 } else { 1 };
                self.put_fmt(format_args!("\x1b[{width}P"));
            }
            // What was kept narrow is in the last column, and stays so.
            self.text(&line[x]);
        }
    }
}

/// The character that ends before column `x`.
fn character_before(line: &[Cell], x: usize) -> Option<&Cell> {
    let last = x.checked_sub(1)?;
    line.get(if line.get(last)?.is_spacer() { last.checked_sub(1)? } else { last })
}

/// Lines down to the last that is not blank.
fn used_rows(buffer: &Buffer) -> usize {
    let rows = 0..buffer.rows();
    let used = |y: &usize| {
        let goes_on = |y: usize| buffer.line(y).last().is_some_and(Cell::is_wrapped);
        buffer.line(*y).iter().any(|cell| !cell.is_default()) || (*y > 0 && goes_on(*y - 1))
    };
    rows.rev().find(used).map_or(0, |y| y + 1)
}
