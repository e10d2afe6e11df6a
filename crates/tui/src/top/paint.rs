//! The bytes that bring a terminal from one buffer to the next.

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};
use std::fmt::Write;
use swb_vt::acts;

/// What the user's terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalLook {
    /// Colours.
    pub colours: bool,
    /// Characters beyond ASCII.
    pub unicode: bool,
}

/// What a cell looks like.
type Pen = (Color, Color, Modifier);

const PLAIN: Pen = (Color::Reset, Color::Reset, Modifier::empty());

/// Modifiers that are drawn, with their codes. Nothing blinks.
const MODIFIERS: [(Modifier, u8); 6] = [
    (Modifier::BOLD, 1),
    (Modifier::DIM, 2),
    (Modifier::ITALIC, 3),
    (Modifier::UNDERLINED, 4),
    (Modifier::REVERSED, 7),
    (Modifier::CROSSED_OUT, 9),
];

/// The bytes after which a terminal that shows `before` shows `after`; empty if both are the same. Without `before`, or if
/// it has another size, the whole screen is drawn.
pub fn changes(before: Option<&Buffer>, after: &Buffer, look: TerminalLook) -> String {
    let known = before.filter(|before| before.area == after.area);
    let blank = Buffer::empty(after.area);
    let cells = known.unwrap_or(&blank).diff(after);
    if known.is_some() && cells.is_empty() {
        return String::new();
    }
    // One picture at a time, for terminals that can wait for its end.
    let mut out = String::from("\x1b[?2026h");
    if known.is_none() {
        out.push_str("\x1b[m\x1b[2J");
    }
    let (mut pen, mut next) = (PLAIN, None);
    for (x, y, cell) in cells {
        if next != Some((x, y)) {
            let _ = write!(out, "\x1b[{};{}H", y + 1, x + 1);
        }
        let wanted = pen_of(cell, look);
        if pen != wanted {
            put_pen(&mut out, wanted);
            pen = wanted;
        }
        let shown = symbol(cell, look);
        // Terminals disagree about the width of other characters, so that the cursor is placed again behind them.
        next = (shown.len() == 1).then_some((x + 1, y));
        out.push_str(&shown);
    }
    if pen != PLAIN {
        out.push_str("\x1b[m");
    }
    out.push_str("\x1b[?2026l");
    out
}

fn pen_of(cell: &Cell, look: TerminalLook) -> Pen {
    let colour = |colour| if look.colours { colour } else { Color::Reset };
    (colour(cell.fg), colour(cell.bg), cell.modifier)
}

fn put_pen(out: &mut String, (fg, bg, modifier): Pen) {
    out.push_str("\x1b[0");
    for (flag, code) in MODIFIERS {
        if modifier.contains(flag) {
            let _ = write!(out, ";{code}");
        }
    }
    put_colour(out, fg, 30);
    put_colour(out, bg, 40);
    out.push('m');
}

/// Appends a colour; `base` is 30 for text and 40 for what is behind it.
fn put_colour(out: &mut String, colour: Color, base: u8) {
    let plain = |at: u8| if at < 8 { base + at } else { base + 52 + at };
    let number = match colour {
        Color::Reset => return,
        Color::Black => plain(0),
        Color::Red => plain(1),
        Color::Green => plain(2),
        Color::Yellow => plain(3),
        Color::Blue => plain(4),
        Color::Magenta => plain(5),
        Color::Cyan => plain(6),
        Color::Gray => plain(7),
        Color::DarkGray => plain(8),
        Color::LightRed => plain(9),
        Color::LightGreen => plain(10),
        Color::LightYellow => plain(11),
        Color::LightBlue => plain(12),
        Color::LightMagenta => plain(13),
        Color::LightCyan => plain(14),
        Color::White => plain(15),
        Color::Indexed(at) => {
            let _ = write!(out, ";{};5;{at}", base + 8);
            return;
        }
        Color::Rgb(r, g, b) => {
            let _ = write!(out, ";{};2;{r};{g};{b}", base + 8);
            return;
        }
    };
    let _ = write!(out, ";{number}");
}

/// The text of a cell, as this terminal can show it.
fn symbol(cell: &Cell, look: TerminalLook) -> String {
    let symbol = cell.symbol();
    if symbol.chars().any(acts) || symbol.is_empty() {
        return " ".to_owned();
    }
    if look.unicode || symbol.is_ascii() {
        return symbol.to_owned();
    }
    let first = symbol.chars().next().unwrap_or(' ');
    let plain = match first {
        '─' | '━' | '╌' => "-",
        '│' | '┃' | '▌' => "|",
        '╭' | '╮' | '╰' | '╯' | '┌' | '┐' | '└' | '┘' | '├' | '┤' => "+",
        '·' => ".",
        '○' => "o",
        '◌' => ":",
        '●' => "*",
        '◆' => "?",
        '▲' => "!",
        '×' => "x",
        '…' => "~",
        '↑' => "^",
        '↓' => "v",
        '›' => ">",
        _ => "?",
    };
    plain.repeat(crate::text::columns(symbol).clamp(1, 2))
}
