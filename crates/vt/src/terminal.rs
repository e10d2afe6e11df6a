//! The state of a terminal, and what text and controls do to it.
//!
//! `control.rs` knows the sequences, `osc.rs` the commands, `reply.rs` the questions; they all end in
//! the methods here or in those of a [`Buffer`].

use crate::buffer::{Buffer, Position};
use crate::cell::Pen;
use crate::emoji;
use crate::event::{Mark, PendingEvents, Progress, ScreenEvent};
use crate::limits;
use crate::link::Links;
use crate::modes::{self, TerminalModes};
use crate::palette::Palette;
use crate::width;
use std::ops::Range;

/// The four character sets, by the byte that designates them, and which one is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Charsets {
    pub(crate) sets: [u8; 4],
    pub(crate) active: usize,
}

impl Default for Charsets {
    fn default() -> Self {
        Self { sets: [b'B'; 4], active: 0 }
    }
}

impl Charsets {
    fn is_ascii(&self) -> bool {
        self.sets[self.active] == b'B'
    }

    pub(crate) fn map(&self, c: char) -> char {
        const LINES: [char; 32] = [
            ' ', '◆', '▒', '␉', '␌', '␍', '␊', '°', '±', '␤', '␋', '┘', '┐', '┌', '└', '┼', '⎺', '⎻', '─',
            '⎼', '⎽', '├', '┤', '┴', '┬', '│', '≤', '≥', 'π', '≠', '£', '·',
        ];
        match (self.sets[self.active], c) {
            (b'0', '_'..='~') => LINES[c as usize - '_' as usize],
            (b'A', '#') => '£',
            _ => c,
        }
    }
}

/// What DECSC keeps.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct SavedCursor {
    pub(crate) position: Position,
    pub(crate) pen: Pen,
    pub(crate) charsets: Charsets,
    pub(crate) origin: bool,
}

/// Flags of the kitty keyboard protocol: those in force, and those below them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Keyboard {
    pub(crate) stack: Vec<u8>,
    pub(crate) flags: u8,
}

impl Keyboard {
    pub(crate) fn push(&mut self, flags: u8) {
        if self.stack.len() >= limits::KEYBOARD_STACK {
            self.stack.remove(0);
        }
        self.stack.push(self.flags);
        self.flags = flags;
    }

    pub(crate) fn pop(&mut self, n: usize) {
        for _ in 0..n.min(limits::KEYBOARD_STACK + 1) {
            self.flags = self.stack.pop().unwrap_or(0);
        }
    }
}

/// What the primary and the alternate screen each have.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    pub(crate) buffer: Buffer,
    pub(crate) saved: SavedCursor,
    pub(crate) keyboard: Keyboard,
}

/// Shape of the cursor, as DECSCUSR numbers it without the blinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct CursorStyle {
    /// 0 block, 1 underline, 2 bar; none until the program sets one.
    pub(crate) shape: Option<u8>,
    pub(crate) blink: Option<bool>,
}

/// Everything that is not cells.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Registers {
    pub(crate) region: Range<usize>,
    pub(crate) tabs: Vec<bool>,
    pub(crate) modes: TerminalModes,
    pub(crate) charsets: Charsets,
    pub(crate) pen: Pen,
    pub(crate) cursor: CursorStyle,
    pub(crate) title: String,
    pub(crate) titles: Vec<String>,
    pub(crate) cwd: String,
    pub(crate) status: String,
    pub(crate) mark: Option<Mark>,
    pub(crate) progress: Option<Progress>,
    pub(crate) palette: Palette,
    /// xterm's modifyOtherKeys and its kin, by resource.
    pub(crate) key_modifiers: [Option<u8>; 8],
}

#[derive(Debug, Clone)]
pub(crate) struct Terminal {
    pub(crate) primary: Page,
    /// Exists only while it is shown: entering it clears it anyway.
    pub(crate) alternate: Option<Page>,
    pub(crate) registers: Registers,
    /// The character REP would repeat.
    pub(crate) last: Option<char>,
    pub(crate) links: Links,
    pub(crate) events: PendingEvents,
    pub(crate) replies: Vec<u8>,
    scrollback: usize,
}

pub(crate) fn default_tab(column: usize) -> bool {
    column.is_multiple_of(8)
}

/// Lines of scrollback that fit into the bound at this width.
fn history_limit(cols: usize, scrollback: usize) -> usize {
    scrollback.min(limits::SCROLLBACK_CELLS / cols)
}

impl Terminal {
    pub(crate) fn new(cols: usize, rows: usize, scrollback: usize) -> Self {
        Self {
            primary: Page {
                buffer: Buffer::new(cols, rows, history_limit(cols, scrollback)),
                saved: SavedCursor::default(),
                keyboard: Keyboard::default(),
            },
            alternate: None,
            registers: Registers {
                region: 0..rows,
                tabs: (0..cols).map(default_tab).collect(),
                ..Registers::default()
            },
            last: None,
            links: Links::default(),
            events: PendingEvents::default(),
            replies: Vec::new(),
            scrollback,
        }
    }

    pub(crate) fn page(&self) -> &Page {
        self.alternate.as_ref().unwrap_or(&self.primary)
    }

    pub(crate) fn page_mut(&mut self) -> &mut Page {
        self.alternate.as_mut().unwrap_or(&mut self.primary)
    }

    pub(crate) fn buffer(&mut self) -> &mut Buffer {
        &mut self.page_mut().buffer
    }

    pub(crate) fn cols(&self) -> usize {
        self.primary.buffer.cols()
    }

    pub(crate) fn rows(&self) -> usize {
        self.primary.buffer.rows()
    }

    /// Lines of scrollback the page that is shown keeps at most.
    pub(crate) fn history_limit(&self) -> usize {
        if self.alternate.is_some() { 0 } else { history_limit(self.cols(), self.scrollback) }
    }

    pub(crate) fn position(&self) -> Position {
        self.page().buffer.position()
    }

    pub(crate) fn mode(&self, mode: u16) -> bool {
        self.registers.modes.has(mode)
    }

    /// After every change of the pen: new lines get its background.
    pub(crate) fn pen_changed(&mut self) {
        let bg = self.registers.pen.bg;
        self.buffer().set_fill(bg);
    }

    /// After every control: text that may go on in the next line has not done so yet.
    pub(crate) fn settle(&mut self) {
        let at = self.position();
        if at.wrap_pending {
            self.buffer().unwrap_line(at.y);
        }
    }

    pub(crate) fn print(&mut self, text: &str) {
        let mut narrow = ['\0'; limits::PRINTED_AT_ONCE];
        let mut len = 0;
        let plain = self.prints_plainly();
        for c in text.chars() {
            if plain && width::is_narrow(c) {
                narrow[len] = c;
                len += 1;
                if len == narrow.len() {
                    self.print_narrow(&narrow);
                    len = 0;
                }
                continue;
            }
            self.print_narrow(&narrow[..len]);
            len = 0;
            self.print_char(self.registers.charsets.map(c));
        }
        self.print_narrow(&narrow[..len]);
    }

    /// Whether characters are shown as they are, over what is there.
    #[inline]
    pub(crate) fn prints_plainly(&self) -> bool {
        self.registers.charsets.is_ascii() && !self.registers.modes.insert
    }

    /// Shows characters that are one column wide and no part of an emoji before them.
    fn print_narrow(&mut self, text: &[char]) {
        let Some((first, rest)) = text.split_first() else { return };
        if first.is_ascii() || self.buffer().cell_before().is_none_or(|cell| cell.extra.is_none()) {
            self.print_run(text, false);
        } else {
            // What was combined with the character before may take this one as well.
            self.print_char(*first);
            self.print_run(rest, false);
        }
    }

    /// Shows characters, each in a column of its own; whether they are ASCII.
    pub(crate) fn print_run<T: Copy + Into<char>>(&mut self, text: &[T], ascii: bool) {
        let Some(end) = text.last() else { return };
        let plain = ascii && self.registers.pen.is_default();
        let wraps = self.registers.modes.wraps();
        let Self { primary, alternate, registers, .. } = self;
        let buffer = &mut alternate.as_mut().unwrap_or(primary).buffer;
        let mut rest = text;
        while !rest.is_empty() {
            let at = buffer.position();
            if at.wrap_pending && wraps {
                buffer.wrap(&registers.region);
            } else if at.wrap_pending {
                // Each character overwrites the one before in the last column.
                buffer.put_run(&[*end], &registers.pen, plain);
                break;
            }
            let room = buffer.cols() - buffer.position().x;
            let (now, later) = rest.split_at(rest.len().min(room));
            buffer.put_run(now, &registers.pen, plain);
            rest = later;
        }
        self.last = Some((*end).into());
    }

    pub(crate) fn print_char(&mut self, c: char) {
        if self.joins(c) {
            return;
        }
        let width = match width::of(c) {
            // Controls of the C1 set.
            None => return,
            Some(0) => return self.buffer().combine(c),
            Some(width) => width.min(2),
        };
        let wraps = self.registers.modes.wraps();
        let insert = self.registers.modes.insert;
        let Self { primary, alternate, registers, .. } = self;
        let buffer = &mut alternate.as_mut().unwrap_or(primary).buffer;
        if buffer.position().wrap_pending && wraps {
            buffer.wrap(&registers.region);
        }
        if buffer.position().x + width > buffer.cols() {
            if !wraps {
                return;
            }
            buffer.put_leading_spacer(&registers.pen);
            buffer.wrap(&registers.region);
        }
        if insert {
            buffer.insert_cells(width);
        }
        buffer.put(c, width, &registers.pen);
        self.last = Some(c);
    }

    /// Adds a character to the emoji that was written right before it, if it is part of it.
    fn joins(&mut self, c: char) -> bool {
        let Some(last) = self.last.filter(|_| !c.is_ascii()) else { return false };
        let insert = self.registers.modes.insert;
        let buffer = self.buffer();
        let same = |cell: &&crate::cell::Cell| cell.c == last && emoji::may_join(cell, c);
        let Some(cell) = buffer.cell_before().filter(same) else { return false };
        let (joins, widens) = (emoji::joins(cell, c), emoji::widens(cell, c));
        // Without room for a second column, letters stay apart and other characters narrow.
        let joins = joins && !(widens && buffer.position().wrap_pending);
        if widens {
            buffer.widen(insert);
        }
        if joins {
            buffer.combine(c);
        }
        joins
    }

    /// Moves without regard to origin mode or margins.
    pub(crate) fn go(&mut self, x: usize, y: usize) {
        self.buffer().go(Position { x, y, wrap_pending: false });
    }

    /// Moves as CUP does: within the margins in origin mode.
    pub(crate) fn go_origin(&mut self, x: usize, y: usize) {
        let region = &self.registers.region;
        if self.registers.modes.origin() {
            self.go(x, (region.start + y).min(region.end - 1));
        } else {
            self.go(x, y);
        }
    }

    /// Moves up or down and stops at a margin, if it was on the inner side of it.
    pub(crate) fn go_vertically(&mut self, x: usize, lines: isize) {
        let (at, region, rows) = (self.position(), self.registers.region.clone(), self.rows());
        let top = if at.y >= region.start { region.start } else { 0 };
        let bottom = if at.y < region.end { region.end } else { rows } - 1;
        let y = at.y.saturating_add_signed(lines).clamp(top, bottom);
        self.go(x, y);
    }

    /// Line feed.
    pub(crate) fn index(&mut self) {
        let (mut at, region, rows) = (self.position(), self.registers.region.clone(), self.rows());
        if at.y + 1 == region.end {
            self.buffer().scroll_up(&region, 1);
        } else if at.y + 1 < rows {
            at.y += 1;
            self.buffer().go(at);
        }
    }

    pub(crate) fn reverse_index(&mut self) {
        let (mut at, region) = (self.position(), self.registers.region.clone());
        if at.y == region.start {
            self.buffer().scroll_down(&region, 1);
        } else if at.y > 0 {
            at.y -= 1;
            self.buffer().go(at);
        }
    }

    pub(crate) fn carriage_return(&mut self) {
        let y = self.position().y;
        self.go(0, y);
    }

    /// To the `n`th tab stop from here, or the last column.
    pub(crate) fn tab(&mut self, n: usize) {
        let at = self.position();
        if at.wrap_pending {
            return;
        }
        let stops = (at.x + 1..self.cols()).filter(|x| self.registers.tabs[*x]);
        let x = stops.take(n).nth(n - 1);
        self.go(x.unwrap_or(self.cols() - 1), at.y);
    }

    /// To the `n`th tab stop before here, or the first column.
    pub(crate) fn back_tab(&mut self, n: usize) {
        let at = self.position();
        let x = (0..at.x).rev().filter(|x| self.registers.tabs[*x]).nth(n - 1);
        self.go(x.unwrap_or(0), at.y);
    }

    pub(crate) fn save_cursor(&mut self) {
        let saved = SavedCursor {
            position: self.position(),
            pen: self.registers.pen.clone().without_link(),
            charsets: self.registers.charsets,
            origin: self.mode(modes::ORIGIN),
        };
        self.page_mut().saved = saved;
    }

    pub(crate) fn restore_cursor(&mut self) {
        let saved = self.page().saved.clone();
        let link = self.registers.pen.link().cloned();
        self.registers.pen = saved.pen;
        self.registers.pen.set_link(link);
        self.pen_changed();
        self.registers.charsets = saved.charsets;
        self.registers.modes.set(modes::ORIGIN, saved.origin);
        let mut to = saved.position;
        if saved.origin {
            let region = &self.registers.region;
            to.y = to.y.clamp(region.start, region.end - 1);
        }
        self.buffer().go(to);
    }

    /// Shows the alternate screen, blank.
    pub(crate) fn enter_alternate(&mut self) {
        let mut buffer = Buffer::new(self.cols(), self.rows(), 0);
        buffer.go(self.position());
        buffer.set_fill(self.registers.pen.bg);
        buffer.erase_lines(0..self.rows());
        self.alternate = Some(Page { buffer, saved: SavedCursor::default(), keyboard: Keyboard::default() });
    }

    /// Shows the primary screen again.
    pub(crate) fn leave_alternate(&mut self) {
        let at = self.position();
        self.alternate = None;
        self.buffer().go(at);
        self.pen_changed();
    }

    pub(crate) fn set_title(&mut self, title: String) {
        self.registers.title.clone_from(&title);
        self.events.push(ScreenEvent::Title(title));
    }

    /// RIS: as new, except for what the program reported about itself.
    pub(crate) fn reset(&mut self) {
        let mut fresh = Self::new(self.cols(), self.rows(), self.scrollback);
        fresh.primary.buffer.count_scrolled(self.primary.buffer.scrolled());
        let old = &mut self.registers;
        fresh.registers.cwd = std::mem::take(&mut old.cwd);
        fresh.registers.status = std::mem::take(&mut old.status);
        fresh.registers.mark = old.mark;
        fresh.registers.progress = old.progress;
        fresh.events = std::mem::take(&mut self.events);
        fresh.replies = std::mem::take(&mut self.replies);
        *self = fresh;
    }

    pub(crate) fn resize(&mut self, cols: usize, rows: usize) {
        if (cols, rows) == (self.cols(), self.rows()) {
            return;
        }
        let history = history_limit(cols, self.scrollback);
        if let Some(page) = &mut self.alternate {
            page.buffer.resize(cols, rows, 0, false);
            // The primary cursor will be put where it was saved: that place must move with the text.
            self.primary.buffer.go(self.primary.saved.position);
        }
        self.primary.buffer.resize(cols, rows, history, true);
        if self.alternate.is_some() {
            self.primary.saved.position = self.primary.buffer.position();
        }
        for page in self.alternate.iter_mut().chain([&mut self.primary]) {
            let to = &mut page.saved.position;
            to.wrap_pending &= to.x + 1 == cols;
            to.x = to.x.min(cols - 1);
            to.y = to.y.min(rows - 1);
        }
        self.registers.region = 0..rows;
        let old = self.registers.tabs.len();
        self.registers.tabs.resize_with(cols, || false);
        for (x, stop) in self.registers.tabs.iter_mut().enumerate().skip(old) {
            *stop = default_tab(x);
        }
        self.last = None;
        self.settle();
    }
}
