//! The screen as a picture.

use crate::cell::{Color, Underline};
use crate::data::{CursorShape, Run, Style};
use crate::palette::Rgb;
use crate::screen::Screen;
use std::fmt::Write;

/// Size of a cell in the picture's units, and where the text stands in it.
const CELL: (usize, usize) = (9, 18);
const BASELINE: usize = 14;
/// Numbers of the special colours.
pub(crate) const FOREGROUND: u16 = 10;
pub(crate) const BACKGROUND: u16 = 11;
pub(crate) const CURSOR: u16 = 12;

/// A screen as pieces of an SVG document, for one that shows several screens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SvgPieces {
    /// Width and height in the document's units, which are pixels by default.
    pub size: (usize, usize),
    /// The colour behind everything.
    pub background: String,
    /// What is drawn for each row, at its place.
    pub rows: Vec<String>,
    /// The cursor, at its place; empty if it is hidden.
    pub cursor: String,
}

impl Screen {
    /// The pieces of the screen's picture, below up to this many lines of scrollback.
    pub fn svg_pieces(&self, scrollback: usize) -> SvgPieces {
        let above = self.scrollback(scrollback);
        let mut cursor = String::new();
        self.svg_cursor(&mut cursor, above.len());
        let screen = self.lines();
        let lines = above.iter().chain(&screen);
        let rows: Vec<String> = lines.enumerate().map(|(y, line)| self.svg_row(y, &line.runs)).collect();
        let size = (usize::from(self.size().cols()) * CELL.0, rows.len() * CELL.1);
        SvgPieces { size, background: hex(self.special(BACKGROUND)), rows, cursor }
    }

    fn svg_row(&self, y: usize, runs: &[Run]) -> String {
        let mut out = String::new();
        let mut x = 0;
        for run in runs {
            self.run(&mut out, x, y, usize::from(run.width), &run.text, &run.style);
            x += usize::from(run.width);
        }
        out
    }

    /// The screen as an SVG document, with the cursor if it is shown.
    pub fn to_svg(&self) -> String {
        self.to_svg_with(0)
    }

    /// The same below up to this many lines of scrollback.
    pub fn to_svg_with(&self, scrollback: usize) -> String {
        let SvgPieces { size: (width, height), background, rows, cursor } = self.svg_pieces(scrollback);
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _written = writeln!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"monospace\" font-size=\"15\">\
             <rect width=\"100%\" height=\"100%\" fill=\"{}\"/>",
            background
        );
        out.extend(rows);
        out.push_str(&cursor);
        out.push_str("</svg>\n");
        out
    }

    pub(crate) fn special(&self, number: u16) -> Rgb {
        self.terminal().registers.palette.special(number)
    }

    /// The colour in numbers; `fallback` is the special colour that is the default here.
    pub(crate) fn color(&self, color: Color, fallback: u16) -> Rgb {
        match color {
            Color::Default => self.special(fallback),
            Color::Indexed(n) => self.terminal().registers.palette.indexed(n),
            Color::Rgb(r, g, b) => Rgb(r, g, b),
        }
    }

    fn run(&self, out: &mut String, x: usize, y: usize, width: usize, text: &str, style: &Style) {
        let mut fg = self.color(style.fg, FOREGROUND);
        let mut bg = self.color(style.bg, BACKGROUND);
        if style.inverse {
            std::mem::swap(&mut fg, &mut bg);
        }
        let (left, top, width) = (x * CELL.0, y * CELL.1, width * CELL.0);
        if style.inverse || style.bg != Color::Default {
            let _written = write!(
                out,
                "<rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{}\" fill=\"{}\"/>",
                CELL.1,
                hex(bg)
            );
        }
        if style.hidden || (text.trim().is_empty() && style.underline == Underline::None) {
            return;
        }
        let mut looks = String::new();
        let line = match style.underline {
            Underline::None => "",
            Underline::Single => " underline",
            Underline::Double => " underline double",
            Underline::Curly => " underline wavy",
            Underline::Dotted => " underline dotted",
            Underline::Dashed => " underline dashed",
        };
        let strike = if style.strike { " line-through" } else { "" };
        let over = if style.overline { " overline" } else { "" };
        if !(line.is_empty() && strike.is_empty() && over.is_empty()) {
            let color = if style.underline_color == Color::Default {
                String::new()
            } else {
                format!(" {}", hex(self.color(style.underline_color, FOREGROUND)))
            };
            let _written = write!(looks, " style=\"text-decoration:{line}{strike}{over}{color}\"");
        }
        for (on, attribute) in [
            (style.bold, " font-weight=\"bold\""),
            (style.italic, " font-style=\"italic\""),
            (style.dim, " opacity=\"0.6\""),
        ] {
            if on {
                looks.push_str(attribute);
            }
        }
        let _written = writeln!(
            out,
            "<text x=\"{left}\" y=\"{}\" textLength=\"{width}\" lengthAdjust=\"spacingAndGlyphs\" \
             xml:space=\"preserve\" fill=\"{}\"{looks}>{}</text>",
            top + BASELINE,
            hex(fg),
            escape(text)
        );
    }

    fn svg_cursor(&self, out: &mut String, above: usize) {
        let cursor = self.cursor();
        if !cursor.visible {
            return;
        }
        let (left, top) = (usize::from(cursor.col) * CELL.0, (above + usize::from(cursor.row)) * CELL.1);
        let (width, height, top) = match cursor.shape {
            CursorShape::Bar => (2, CELL.1, top),
            CursorShape::Block => (CELL.0, CELL.1, top),
            CursorShape::Underline => (CELL.0, 2, top + CELL.1 - 2),
        };
        let _written = writeln!(
            out,
            "<rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" fill=\"{}\" \
             fill-opacity=\"0.5\"/>",
            hex(self.special(CURSOR))
        );
    }
}

fn hex(Rgb(r, g, b): Rgb) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // The only other characters a document may not have.
            '\u{fffe}' | '\u{ffff}' => out.push(char::REPLACEMENT_CHARACTER),
            c => out.push(c),
        }
    }
    out
}
