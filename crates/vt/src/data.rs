//! The screen as text and as plain data.

use crate::cell::{Attrs, Cell, Color, Hyperlink, Underline};
use crate::event::{Mark, Progress};
use crate::modes;
use crate::screen::Screen;
use crate::snapshot::SnapshotWriter;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// How text looks. Fields that are at their default are left out of the data.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Style {
    /// Colour of the text.
    #[serde(skip_serializing_if = "is_default")]
    pub fg: Color,
    /// Colour behind it.
    #[serde(skip_serializing_if = "is_default")]
    pub bg: Color,
    /// Bold.
    #[serde(skip_serializing_if = "is_default")]
    pub bold: bool,
    /// Faint.
    #[serde(skip_serializing_if = "is_default")]
    pub dim: bool,
    /// Italic.
    #[serde(skip_serializing_if = "is_default")]
    pub italic: bool,
    /// Blinking.
    #[serde(skip_serializing_if = "is_default")]
    pub blink: bool,
    /// With text and background colour exchanged.
    #[serde(skip_serializing_if = "is_default")]
    pub inverse: bool,
    /// Not to be seen.
    #[serde(skip_serializing_if = "is_default")]
    pub hidden: bool,
    /// Struck through.
    #[serde(skip_serializing_if = "is_default")]
    pub strike: bool,
    /// With a line above.
    #[serde(skip_serializing_if = "is_default")]
    pub overline: bool,
    /// How it is underlined.
    #[serde(skip_serializing_if = "is_default")]
    pub underline: Underline,
    /// The colour of that line; the text's when default.
    #[serde(skip_serializing_if = "is_default")]
    pub underline_color: Color,
    /// Where the link leads it is part of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Style {
    fn of(cell: &Cell) -> Self {
        let pen = cell.pen();
        let has = |bit| pen.attrs.has(bit);
        Self {
            fg: pen.fg,
            bg: pen.bg,
            bold: has(Attrs::BOLD),
            dim: has(Attrs::DIM),
            italic: has(Attrs::ITALIC),
            blink: has(Attrs::BLINK),
            inverse: has(Attrs::INVERSE),
            hidden: has(Attrs::HIDDEN),
            strike: has(Attrs::STRIKE),
            overline: has(Attrs::OVERLINE),
            underline: pen.attrs.underline(),
            underline_color: pen.underline_color(),
            link: pen.link().map(|link: &std::sync::Arc<Hyperlink>| link.uri.clone()),
        }
    }
}

/// Neighbouring cells that look the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Their characters.
    pub text: String,
    /// Columns they take.
    pub width: u16,
    /// Their looks.
    #[serde(flatten)]
    pub style: Style,
}

/// One line; blank cells at its end are left out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ScreenLine {
    /// The line from its first column on.
    pub runs: Vec<Run>,
    /// Whether the text goes on in the next line.
    pub wrapped: bool,
}

impl ScreenLine {
    fn of(cells: &[Cell]) -> Self {
        let used = cells.iter().rposition(|cell| !cell.is_default());
        let mut runs: Vec<Run> = Vec::new();
        for cell in &cells[..used.map_or(0, |x| x + 1)] {
            if cell.is_spacer() {
                if let Some(run) = runs.last_mut() {
                    run.width += 1;
                }
                continue;
            }
            let style = Style::of(cell);
            if runs.last().is_none_or(|run| run.style != style) {
                runs.push(Run { text: String::new(), width: 0, style });
            }
            if let Some(run) = runs.last_mut() {
                run.width += 1;
                run.text.push(cell.c);
                run.text.extend(cell.zero_width());
            }
        }
        Self { runs, wrapped: cells.last().is_some_and(Cell::is_wrapped) }
    }

    /// The characters, without blanks at the end.
    pub fn text(&self) -> String {
        let text: String = self.runs.iter().map(|run| run.text.as_str()).collect();
        text.trim_end_matches(' ').to_owned()
    }
}

/// Shape of the cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CursorShape {
    /// A line left of the character.
    Bar,
    /// The whole cell.
    Block,
    /// A line below the character.
    Underline,
}

/// The cursor; rows and columns count from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    /// The row it is in.
    pub row: u16,
    /// The column it is in.
    pub col: u16,
    /// The last column is written and the next character goes to the next line.
    pub wrap_pending: bool,
    /// Whether it is shown.
    pub visible: bool,
    /// Its shape.
    pub shape: CursorShape,
    /// Whether it blinks.
    pub blink: bool,
}

/// The modes that matter to a client that sends input or draws the screen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Modes {
    /// The alternate screen is shown.
    pub alternate: bool,
    /// Cursor keys send application sequences (DECCKM).
    pub app_cursor: bool,
    /// The keypad sends application sequences.
    pub app_keypad: bool,
    /// Pasted text is to be bracketed.
    pub bracketed_paste: bool,
    /// Focus changes are to be reported.
    pub focus: bool,
    /// Number of the mouse mode, 0 when the mouse is not reported.
    pub mouse: u16,
    /// Number of the mode that sets how the mouse is reported, 0 for the oldest way.
    pub mouse_encoding: u16,
    /// Flags of the kitty keyboard protocol in force.
    pub keyboard: u8,
    /// xterm's modifyOtherKeys.
    pub modify_other_keys: u8,
    /// The program is in the middle of drawing (mode 2026): what is seen now is not a whole picture.
    pub synchronized: bool,
    /// Numbers of all private modes that are on.
    pub private: Vec<u16>,
}

/// Everything there is to see, as data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contents {
    /// Columns.
    pub cols: u16,
    /// Rows.
    pub rows: u16,
    /// The cursor.
    pub cursor: Cursor,
    /// The window title.
    pub title: String,
    /// The working directory as the program wrote it, or empty.
    pub cwd: String,
    /// The program's status as it wrote it (OSC 7501), or empty.
    pub status: String,
    /// The last mark of the shell (OSC 133).
    pub mark: Option<Mark>,
    /// Progress the program reports (OSC 9;4).
    pub progress: Option<Progress>,
    /// The modes.
    pub modes: Modes,
    /// Lines of scrollback, oldest first, as many as were asked for.
    pub scrollback: Vec<ScreenLine>,
    /// The lines of the screen.
    pub lines: Vec<ScreenLine>,
}

impl Screen {
    /// The text of the screen: one line a row, without blanks at the ends, and blank rows at the bottom.
    pub fn text(&self) -> String {
        let rows: Vec<String> = (0..self.rows()).map(|y| text(self.cells(y))).collect();
        rows.join("\n").trim_end_matches('\n').to_owned()
    }

    /// The text of every row, without blanks at the end.
    pub fn row_texts(&self) -> Vec<String> {
        (0..self.rows()).map(|y| text(self.cells(y))).collect()
    }

    /// The rows of the screen.
    pub fn lines(&self) -> Vec<ScreenLine> {
        (0..self.rows()).map(|y| ScreenLine::of(self.cells(y))).collect()
    }

    /// The newest `n` lines of scrollback, or as many as there are, oldest first.
    ///
    /// The alternate screen has none; it is the primary one's then.
    pub fn scrollback(&self, n: usize) -> Vec<ScreenLine> {
        let buffer = &self.terminal().primary.buffer;
        buffer.scrollback(n).map(|line| ScreenLine::of(&line)).collect()
    }

    /// Lines of scrollback there are.
    pub fn scrollback_len(&self) -> usize {
        self.terminal().primary.buffer.history()
    }

    /// Lines that left the top of the primary screen so far, whether the scrollback still has them or not.
    ///
    /// Never less than before. Counted roughly where [`Screen::skip`] took them (wrapped lines are missed) and by
    /// [`Screen::resize`] (as many as the scrollback grew by); not part of the state or a snapshot: see
    /// [`Screen::count_scrolled_from`].
    pub fn scrolled(&self) -> u64 {
        self.terminal().primary.buffer.scrolled()
    }

    /// The cursor.
    pub fn cursor(&self) -> Cursor {
        let terminal = self.terminal();
        let at = terminal.position();
        Cursor {
            row: at.y as u16,
            col: at.x as u16,
            wrap_pending: at.wrap_pending,
            visible: terminal.mode(modes::SHOW_CURSOR),
            shape: match terminal.registers.cursor.shape {
                Some(1) => CursorShape::Underline,
                Some(2) => CursorShape::Bar,
                _ => CursorShape::Block,
            },
            blink: terminal.registers.cursor.blink == Some(true),
        }
    }

    /// The modes.
    pub fn modes(&self) -> Modes {
        let terminal = self.terminal();
        let modes = &terminal.registers.modes;
        Modes {
            alternate: terminal.alternate.is_some(),
            app_cursor: modes.has(modes::APP_CURSOR),
            app_keypad: modes.has(modes::APP_KEYPAD),
            bracketed_paste: modes.has(modes::BRACKETED_PASTE),
            focus: modes.has(modes::FOCUS),
            mouse: modes.mouse(),
            mouse_encoding: modes.mouse_encoding(),
            keyboard: terminal.page().keyboard.flags,
            modify_other_keys: terminal.registers.key_modifiers[4].unwrap_or(0),
            synchronized: modes.has(modes::SYNCHRONIZED),
            private: modes.on(),
        }
    }

    /// The window title, empty while there is none.
    pub fn title(&self) -> &str {
        &self.terminal().registers.title
    }

    /// The working directory as the program wrote it (a URL in most cases), or empty.
    pub fn cwd(&self) -> &str {
        &self.terminal().registers.cwd
    }

    /// The program's status as it wrote it (OSC 7501), or empty.
    pub fn status(&self) -> &str {
        &self.terminal().registers.status
    }

    /// Everything there is to see, with at most `scrollback` lines of scrollback.
    pub fn contents(&self, scrollback: usize) -> Contents {
        let registers = &self.terminal().registers;
        Contents {
            cols: self.size().cols(),
            rows: self.size().rows(),
            cursor: self.cursor(),
            title: registers.title.clone(),
            cwd: registers.cwd.clone(),
            status: registers.status.clone(),
            mark: registers.mark,
            progress: registers.progress,
            modes: self.modes(),
            scrollback: self.scrollback(scrollback),
            lines: self.lines(),
        }
    }

    /// The screen as lines with colours and nothing else, to be printed anywhere; at most `scrollback`
    /// lines of scrollback come first.
    pub fn to_ansi(&self, scrollback: usize) -> Vec<u8> {
        let buffer = &self.terminal().primary.buffer;
        let above = buffer.scrollback(scrollback).map(Cow::Owned);
        let shown = (0..self.rows()).map(|y| Cow::Borrowed(self.cells(y)));
        let mut writer = SnapshotWriter::default();
        let mut blank = 0;
        for cells in above.chain(shown) {
            let used = cells.iter().rposition(|cell| !cell.is_default());
            let Some(used) = used else {
                blank += 1;
                continue;
            };
            writer.out.extend(std::iter::repeat_n(b'\n', std::mem::take(&mut blank)));
            for cell in &cells[..=used] {
                writer.text(cell);
            }
            writer.set_pen(&Default::default());
            writer.out.push(b'\n');
        }
        writer.out
    }

    fn rows(&self) -> usize {
        self.terminal().rows()
    }

    pub(crate) fn cells(&self, y: usize) -> &[Cell] {
        self.terminal().page().buffer.line(y)
    }
}

fn text(cells: &[Cell]) -> String {
    let mut text = String::with_capacity(cells.len());
    for cell in cells.iter().filter(|cell| !cell.is_spacer()) {
        text.push(cell.c);
        text.extend(cell.zero_width());
    }
    text.truncate(text.trim_end_matches(' ').len());
    text
}
