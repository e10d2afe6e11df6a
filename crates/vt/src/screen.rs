//! [`Screen`], the terminal model as the other crates use it.

use crate::event::ScreenEvent;
use crate::limits;
use crate::parser::Parser;
use crate::snapshot;
use crate::state::ScreenState;
use crate::terminal::Terminal;
use swb_types::Size;

/// Brings a terminal that has shown something else of ours close to fresh, before a snapshot: leaves the
/// alternate screen, turns off what a program may have turned on, and clears the screen, but neither
/// the user's scrollback nor the palette. Asks nothing.
pub const RESET: &[u8] = b"\x1b\\\x1b[?2026l\x1b[?1049l\x1b[!p\x1b[<99u\x1b[=0;1u\x1b[>4m\
    \x1b>\x1b[?1;5;6;9;12;45;1000;1002;1003;1004;1005;1006;1015;1016;2004;2027;2031l\
    \x1b[?7;25;1007h\x1b[4;20l\x1b[0 q\x1b(B\x1b)B\x1b*B\x1b+B\x0f\x1b]8;;\x1b\\\x1b[m\x1b[r\x1b[?5W\x1b[H\x1b[J";

/// How a screen is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Lines of scrollback to keep at most.
    pub scrollback: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { scrollback: limits::DEFAULT_SCROLLBACK }
    }
}

/// A terminal's screen, fed with what a program writes.
#[derive(Debug, Clone)]
pub struct Screen {
    parser: Parser,
    terminal: Terminal,
}

impl Screen {
    /// Makes the screen of a fresh terminal. Sizes beyond [`limits`] are cut down to them.
    pub fn new(size: Size, options: Options) -> Self {
        let (cols, rows) = bounded(size);
        Self { parser: Parser::default(), terminal: Terminal::new(cols, rows, options.scrollback) }
    }

    /// Takes more of what the program wrote, cut anywhere.
    pub fn feed(&mut self, bytes: &[u8]) {
        let skipped = self.skip_before_feeding(bytes);
        self.draw(&bytes[skipped..]);
    }

    /// Takes bytes one by one, seen or not.
    pub(crate) fn draw(&mut self, bytes: &[u8]) {
        self.parser.feed(bytes, &mut self.terminal);
    }

    /// Changes the size; lines of the primary screen and the scrollback are wrapped anew.
    pub fn resize(&mut self, size: Size) {
        let (cols, rows) = bounded(size);
        self.terminal.resize(cols, rows);
    }

    /// Goes on counting the lines that left the screen ([`Screen::scrolled`]) from there, for a copy of another one.
    pub fn count_scrolled_from(&mut self, lines: u64) {
        self.terminal.primary.buffer.count_scrolled_from(lines);
    }

    /// The size in force.
    pub fn size(&self) -> Size {
        let side = |n: usize| u16::try_from(n).unwrap_or(u16::MAX);
        Size::new(side(self.terminal.cols()), side(self.terminal.rows())).unwrap_or(Size::DEFAULT)
    }

    /// Bytes that bring a fresh terminal of the same size into the same state, scrollback included.
    ///
    /// They ask the terminal nothing. When the program's output so far ends in the middle of a
    /// sequence or character, so do they: the rest of the output continues exactly here.
    pub fn snapshot(&self) -> Vec<u8> {
        self.snapshot_limited(usize::MAX)
    }

    /// The same with at most `scrollback` lines of scrollback, the newest; 0 leaves it out.
    pub fn snapshot_limited(&self, scrollback: usize) -> Vec<u8> {
        let mut bytes = snapshot::write(&self.terminal, scrollback);
        bytes.extend_from_slice(self.parser.pending());
        bytes
    }

    /// Everything there is, for comparison.
    pub fn state(&self) -> ScreenState {
        ScreenState::new(self)
    }

    /// Takes what happened since the last call.
    pub fn take_events(&mut self) -> Vec<ScreenEvent> {
        self.terminal.events.take()
    }

    /// Events that were dropped since the last [`Screen::take_events`], because no caller took them.
    pub fn lost_events(&self) -> usize {
        self.terminal.events.lost()
    }

    /// Takes the answers to what the program asked since the last call. To be written to the program
    /// if no other terminal answers it, else to be thrown away.
    pub fn take_replies(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.terminal.replies)
    }

    pub(crate) fn terminal(&self) -> &Terminal {
        &self.terminal
    }

    pub(crate) fn terminal_mut(&mut self) -> &mut Terminal {
        &mut self.terminal
    }

    pub(crate) fn parser(&self) -> &Parser {
        &self.parser
    }
}

fn bounded(size: Size) -> (usize, usize) {
    (size.cols().clamp(limits::MIN_COLS, limits::MAX_COLS).into(), size.rows().min(limits::MAX_ROWS).into())
}
