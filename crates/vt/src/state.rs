//! Everything a screen is, for comparison.

use crate::cell::Cell;
use crate::parser::Parser;
use crate::terminal::{Keyboard, Page, Registers, SavedCursor};
use crate::{buffer::Position, screen::Screen};
use std::borrow::Cow;
use std::fmt::Write;

/// Everything a screen is; two that are equal behave the same from here on.
#[derive(Clone, PartialEq, Eq)]
pub struct ScreenState {
    primary: PageState,
    alternate: Option<PageState>,
    registers: Registers,
    /// What REP would repeat.
    last: Option<char>,
    parser: Parser,
}

#[derive(Clone, PartialEq, Eq)]
struct PageState {
    lines: Vec<Vec<Cell>>,
    history: usize,
    /// Only where it counts: the primary page has none of its own below the alternate one.
    position: Option<Position>,
    saved: SavedCursor,
    keyboard: Keyboard,
}

impl PageState {
    fn new(page: &Page, shown: bool) -> Self {
        Self {
            lines: page.buffer.lines(usize::MAX).map(Cow::into_owned).collect(),
            history: page.buffer.history(),
            position: shown.then(|| page.buffer.position()),
            saved: page.saved.clone(),
            keyboard: page.keyboard.clone(),
        }
    }

    fn difference(&self, other: &Self, name: &str, out: &mut String) {
        let mut differs = |what: &str, one: &dyn std::fmt::Debug, two: &dyn std::fmt::Debug| {
            let (one, two) = (format!("{one:?}"), format!("{two:?}"));
            if one != two {
                // Writing to a string cannot fail.
                let _written = writeln!(out, "{name} {what}: {one} != {two}");
            }
        };
        differs("history", &self.history, &other.history);
        differs("position", &self.position, &other.position);
        differs("saved", &self.saved, &other.saved);
        differs("keyboard", &self.keyboard, &other.keyboard);
        for (n, (one, two)) in self.lines.iter().zip(&other.lines).enumerate() {
            let y = n as isize - self.history as isize;
            for (x, (one, two)) in one.iter().zip(two).enumerate().filter(|(_, (a, b))| a != b) {
                differs(&format!("cell {y},{x}"), one, two);
            }
        }
    }
}

impl ScreenState {
    pub(crate) fn new(screen: &Screen) -> Self {
        let terminal = screen.terminal();
        let alternate = terminal.alternate.as_ref();
        Self {
            primary: PageState::new(&terminal.primary, alternate.is_none()),
            alternate: alternate.map(|page| PageState::new(page, true)),
            registers: terminal.registers.clone(),
            last: terminal.last,
            parser: screen.parser().clone(),
        }
    }

    /// What differs, one thing a line; nothing when nothing does.
    pub fn difference(&self, other: &Self) -> Option<String> {
        if self == other {
            return None;
        }
        let mut out = String::new();
        self.primary.difference(&other.primary, "primary", &mut out);
        match (&self.alternate, &other.alternate) {
            (Some(one), Some(two)) => one.difference(two, "alternate", &mut out),
            (None, None) => {}
            _ => out.push_str("only one shows the alternate screen\n"),
        }
        if self.registers != other.registers {
            let _written = writeln!(out, "{:?}\n!=\n{:?}", self.registers, other.registers);
        }
        if self.last != other.last {
            let _written = writeln!(out, "last {:?} != {:?}", self.last, other.last);
        }
        if self.parser != other.parser {
            let _written = writeln!(out, "{:?} != {:?}", self.parser, other.parser);
        }
        Some(out)
    }
}

impl std::fmt::Debug for ScreenState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for page in self.alternate.iter().chain([&self.primary]) {
            writeln!(f, "{} lines of scrollback, cursor {:?}", page.history, page.position)?;
            for line in &page.lines {
                let text: String = line.iter().map(|cell| cell.c).collect();
                writeln!(f, "|{text}|")?;
            }
        }
        write!(f, "{:?}", self.registers)
    }
}
