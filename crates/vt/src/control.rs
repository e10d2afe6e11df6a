//! Controls, escape sequences and control sequences.

use crate::csi::Csi;
use crate::grammar::{ENQ, Sequence};
use crate::modes;
use crate::parser::Sink;
use crate::query::{is_csi_query, only_asks};
use crate::sgr;
use crate::terminal::{CursorStyle, SavedCursor, Terminal, default_tab};

impl Sink for Terminal {
    fn text(&mut self, text: &str) {
        self.print(text);
    }

    fn invalid(&mut self) {
        self.print_char(char::REPLACEMENT_CHARACTER);
    }

    fn control(&mut self, byte: u8) {
        if byte != ENQ {
            self.last = None;
        }
        match byte {
            0x07 => self.events.push(crate::event::ScreenEvent::Bell),
            0x08 => {
                let at = self.position();
                self.go(at.x.saturating_sub(1), at.y);
            }
            b'\t' => self.tab(1),
            b'\n' | 0x0b | 0x0c => {
                self.index();
                if self.registers.modes.newline {
                    self.carriage_return();
                }
            }
            b'\r' => self.carriage_return(),
            0x0e => self.registers.charsets.active = 1,
            0x0f => self.registers.charsets.active = 0,
            _ => {}
        }
        self.settle();
    }

    fn sequence(&mut self, sequence: &Sequence<'_>) {
        if let Sequence::Csi(csi) = sequence {
            return self.control_sequence(csi);
        }
        let last = self.last.take();
        // A question changes nothing, so that what is shown is the same with and without it.
        let asks = last.is_some() && only_asks(sequence);
        match sequence {
            Sequence::Escape(intermediates, action) => self.escape(intermediates, *action),
            Sequence::Osc(content, bel) => self.osc(content, *bel),
            Sequence::Dcs(content) => self.dcs(content),
            Sequence::Csi(_) | Sequence::Apc(_) | Sequence::Other => {}
        }
        if asks {
            self.last = last;
        }
        self.settle();
    }

    fn run(&mut self, bytes: &[u8]) -> usize {
        self.take_run(bytes)
    }
}

impl Terminal {
    pub(crate) fn control_sequence(&mut self, csi: &Csi) {
        let last = self.last.take();
        match (csi.private, csi.intermediate, csi.action) {
            (0, 0, b'm') => {
                sgr::apply(csi, &mut self.registers.pen);
                self.pen_changed();
            }
            // A screen full of it is as good as any more, and takes bounded time.
            (0, 0, b'b') => self.repeat(last, csi.count(0).min(self.cols() * self.rows())),
            _ => self.csi(csi),
        }
        let changes_style = (csi.private, csi.action) == (0, b'm');
        if !changes_style && last.is_some() && is_csi_query(csi) {
            self.last = last;
        }
        self.settle();
    }

    fn escape(&mut self, intermediates: &[u8], action: u8) {
        match (intermediates, action) {
            ([], b'7') => self.save_cursor(),
            ([], b'8') => self.restore_cursor(),
            ([], b'=') => self.registers.modes.set(modes::APP_KEYPAD, true),
            ([], b'>') => self.registers.modes.set(modes::APP_KEYPAD, false),
            ([], b'D') => self.index(),
            ([], b'E') => {
                self.index();
                self.carriage_return();
            }
            ([], b'H') => {
                let x = self.position().x;
                self.registers.tabs[x] = true;
            }
            ([], b'M') => self.reverse_index(),
            ([], b'Z') => self.reply_attributes(),
            ([], b'c') => self.reset(),
            ([], b'n') => self.registers.charsets.active = 2,
            ([], b'o') => self.registers.charsets.active = 3,
            ([b'#'], b'8') => {
                self.registers.region = 0..self.rows();
                self.buffer().align();
                self.go(0, 0);
            }
            (&[slot @ b'('..=b'+'], _) => {
                // Other sets are national variants of ASCII; agents and shells have none.
                let set = if matches!(action, b'0' | b'A') { action } else { b'B' };
                self.registers.charsets.sets[usize::from(slot - b'(')] = set;
            }
            _ => {}
        }
    }

    fn repeat(&mut self, last: Option<char>, count: usize) {
        let Some(c) = last else { return };
        // More would only scroll the same away.
        for _ in 0..count.min(self.cols() * self.rows()) {
            self.print_char(c);
        }
    }

    fn csi(&mut self, csi: &Csi) {
        match (csi.private, csi.intermediate) {
            (0, 0) => self.csi_plain(csi),
            (b'?', 0) => self.csi_private(csi),
            (b'>', 0) => self.csi_greater(csi),
            (b'<', 0) if csi.action == b'u' => self.page_mut().keyboard.pop(csi.count(0)),
            (b'=', 0) if csi.action == b'u' => self.set_keyboard(csi.param(0) as u8, csi.param(1)),
            (0, b' ') if csi.action == b'q' => self.set_cursor_style(csi.param(0)),
            (0, b'!') if csi.action == b'p' => self.soft_reset(),
            _ => {}
        }
        self.reply_csi(csi);
    }

    fn csi_plain(&mut self, csi: &Csi) {
        let n = csi.count(0);
        let lines = n as isize;
        let at = self.position();
        match csi.action {
            b'@' if !at.wrap_pending => self.buffer().insert_cells(n),
            b'A' => self.go_vertically(at.x, -lines),
            b'B' | b'e' => self.go_vertically(at.x, lines),
            b'C' | b'a' => self.go(at.x.saturating_add(n), at.y),
            b'D' => self.go(at.x.saturating_sub(n), at.y),
            b'E' => self.go_vertically(0, lines),
            b'F' => self.go_vertically(0, -lines),
            b'G' | b'`' => self.go(n - 1, at.y),
            b'H' | b'f' => self.go_origin(csi.count(1) - 1, n - 1),
            b'I' => self.tab(n),
            b'J' => self.erase_display(csi.param(0)),
            b'K' => self.erase_line(csi.param(0)),
            b'L' => self.shift_lines(lines),
            b'M' => self.shift_lines(-lines),
            b'P' if !at.wrap_pending => self.buffer().delete_cells(n),
            b'S' => {
                let region = self.registers.region.clone();
                self.buffer().scroll_up(&region, n);
            }
            // With more parameters it is a mouse sequence of old.
            b'T' | b'^' if csi.params().len() <= 1 => {
                let region = self.registers.region.clone();
                self.buffer().scroll_down(&region, n);
            }
            b'X' if !at.wrap_pending => {
                let end = at.x.saturating_add(n).min(self.cols());
                self.buffer().erase(at.y, at.x..end);
            }
            b'Z' => self.back_tab(n),
            b'd' => self.go_origin(at.x, n - 1),
            b'g' => self.clear_tabs(csi.param(0)),
            b'h' | b'l' => self.set_ansi_modes(csi),
            b'r' => self.set_region(csi),
            b's' if csi.params().is_empty() => self.save_cursor(),
            b't' => self.title_stack(csi),
            b'u' if csi.params().is_empty() => self.restore_cursor(),
            _ => {}
        }
    }

    fn csi_private(&mut self, csi: &Csi) {
        match csi.action {
            b'J' => self.erase_display(csi.param(0)),
            b'K' => self.erase_line(csi.param(0)),
            b'W' if csi.param(0) == 5 => {
                self.registers.tabs = (0..self.cols()).map(default_tab).collect();
            }
            b'h' | b'l' => {
                for &mode in csi.params() {
                    self.set_private_mode(mode, csi.action == b'h');
                }
            }
            _ => {}
        }
    }

    fn csi_greater(&mut self, csi: &Csi) {
        match csi.action {
            b'u' => self.page_mut().keyboard.push(csi.param(0) as u8),
            b'm' | b'n' => {
                let (resource, value) = (usize::from(csi.param(0)), csi.params().get(1));
                let value = value.filter(|_| csi.action == b'm').map(|value| *value as u8);
                if csi.params().is_empty() {
                    self.registers.key_modifiers = [None; 8];
                } else if let Some(place) = self.registers.key_modifiers.get_mut(resource) {
                    *place = value;
                }
            }
            _ => {}
        }
    }

    fn set_keyboard(&mut self, flags: u8, how: u16) {
        let keyboard = &mut self.page_mut().keyboard;
        match how {
            0 | 1 => keyboard.flags = flags,
            2 => keyboard.flags |= flags,
            3 => keyboard.flags &= !flags,
            _ => {}
        }
    }

    fn set_private_mode(&mut self, mode: u16, on: bool) {
        match (mode, on) {
            (modes::ORIGIN, _) => {
                self.registers.modes.set(mode, on);
                self.go_origin(0, 0);
            }
            (modes::BLINK, _) => self.registers.cursor.blink = Some(on),
            (47 | 1047 | 1049, true) if self.alternate.is_none() => {
                if mode == 1049 {
                    self.save_cursor();
                }
                self.enter_alternate();
            }
            (47 | 1047 | 1049, false) if self.alternate.is_some() => {
                self.leave_alternate();
                if mode == 1049 {
                    self.restore_cursor();
                }
            }
            (1048, true) => self.save_cursor(),
            (1048, false) => self.restore_cursor(),
            _ => self.registers.modes.set(mode, on),
        }
    }

    fn set_ansi_modes(&mut self, csi: &Csi) {
        let on = csi.action == b'h';
        for mode in csi.params() {
            match mode {
                4 => self.registers.modes.insert = on,
                20 => self.registers.modes.newline = on,
                _ => {}
            }
        }
    }

    fn set_cursor_style(&mut self, n: u16) {
        self.registers.cursor = match n {
            1..=6 => CursorStyle { shape: Some(((n - 1) / 2) as u8), blink: Some(n % 2 == 1) },
            0 => CursorStyle::default(),
            _ => return,
        };
    }

    fn set_region(&mut self, csi: &Csi) {
        let rows = self.rows();
        let bottom = match csi.param(1) {
            0 => rows,
            n => usize::from(n).min(rows),
        };
        let top = csi.count(0) - 1;
        // A region has two lines at least, as in DEC's terminals.
        if top + 1 < bottom {
            self.registers.region = top..bottom;
            self.go_origin(0, 0);
        }
    }

    fn soft_reset(&mut self) {
        self.registers.modes.soft_reset();
        self.registers.region = 0..self.rows();
        self.registers.pen.reset();
        self.registers.charsets = Default::default();
        self.page_mut().saved = SavedCursor::default();
        self.pen_changed();
    }

    fn clear_tabs(&mut self, which: u16) {
        let x = self.position().x;
        match which {
            0 => self.registers.tabs[x] = false,
            3 => self.registers.tabs.fill(false),
            _ => {}
        }
    }

    fn title_stack(&mut self, csi: &Csi) {
        // The icon's name (1) is not kept.
        let of_title = matches!(csi.param(1), 0 | 2);
        match csi.param(0) {
            22 if of_title => {
                if self.registers.titles.len() >= crate::limits::TITLE_STACK {
                    self.registers.titles.remove(0);
                }
                self.registers.titles.push(self.registers.title.clone());
            }
            23 if of_title => {
                if let Some(title) = self.registers.titles.pop() {
                    self.set_title(title);
                }
            }
            _ => {}
        }
    }

    fn erase_line(&mut self, what: u16) {
        let (at, cols) = (self.position(), self.cols());
        let columns = match what {
            // The character in the last column is before the cursor then.
            0 if at.wrap_pending => return,
            0 => at.x..cols,
            1 => 0..at.x + 1,
            2 => 0..cols,
            _ => return,
        };
        self.buffer().erase(at.y, columns);
    }

    fn erase_display(&mut self, what: u16) {
        let (at, rows) = (self.position(), self.rows());
        match what {
            0 => {
                self.erase_line(0);
                self.buffer().erase_lines(at.y + 1..rows);
            }
            1 => {
                self.buffer().erase_lines(0..at.y);
                self.erase_line(1);
            }
            2 => self.buffer().erase_lines(0..rows),
            3 => self.buffer().clear_history(),
            _ => {}
        }
    }

    /// Inserts lines, or deletes them when `n` is negative.
    fn shift_lines(&mut self, n: isize) {
        let (at, region) = (self.position(), self.registers.region.clone());
        if !region.contains(&at.y) {
            return;
        }
        let (below, count) = (at.y..region.end, n.unsigned_abs());
        if n > 0 {
            self.buffer().scroll_down(&below, count);
        } else if below.start == 0 {
            // Deleted lines are gone: unlike lines that scroll off, they are not history.
            self.buffer().drop_top(below.end, count);
        } else {
            self.buffer().scroll_up(&below, count);
        }
        self.go(0, at.y);
    }
}
