//! The screen as a picture of pixels.
//!
//! One row of cells is painted and compressed at a time, so that a giant screen costs no giant memory. Text is drawn with
//! DejaVu Sans Mono; lines, blocks and braille are drawn by hand ([`drawn`]), so that they meet. What the
//! font does not have, Chinese and most emoji above all, comes from a font of the caller, or is an empty box.

mod drawn;
mod glyphs;
mod stripe;

use crate::cell::{Attrs, Cell, Color, Underline};
use crate::data::CursorShape;
use crate::palette::Rgb;
use crate::screen::Screen;
use crate::svg::{BACKGROUND, CURSOR, FOREGROUND};
use glyphs::Glyphs;
use std::io::{self, Write};
use stripe::Stripe;

/// Pixels of a cell. Their ratio is that of the font, its size such that text is read without effort.
const WIDTH: usize = 10;
const HEIGHT: usize = 20;
/// The row of pixels below the one that letters stand on.
const BASELINE: usize = 16;
/// Rows of pixels of the lines through, above and below text.
const OVERLINE: usize = 0;
const STRIKE: usize = 11;
const UNDERLINE: usize = 18;
/// How much of the colour is left of faint text, and how much the cursor covers, of 255.
const DIM: u8 = 153;
const CURSOR_OPACITY: u8 = 128;

/// What a picture shows besides the screen, and how.
#[derive(Debug, Clone, Copy, Default)]
pub struct PngOptions<'a> {
    /// Lines of scrollback above the screen; as many as there are, at most.
    pub scrollback: usize,
    /// A font file for characters that DejaVu Sans Mono lacks; of a collection, its first font. One that cannot be read is
    /// ignored.
    pub font: Option<&'a [u8]>,
}

/// Whether the built-in font lacks a character that is not drawn in another way.
pub fn needs_font(c: char) -> bool {
    glyphs::is_lacking(c)
}

impl Screen {
    /// The screen as a PNG file, with the cursor if it is shown.
    ///
    /// # Errors
    ///
    /// None in practice: the picture is written to memory.
    pub fn to_png(&self) -> io::Result<Vec<u8>> {
        self.to_png_with(PngOptions::default())
    }

    /// The same with scrollback and another font.
    ///
    /// # Errors
    ///
    /// If the picture has more rows of pixels than a PNG file can have.
    pub fn to_png_with(&self, options: PngOptions<'_>) -> io::Result<Vec<u8>> {
        let size = self.size();
        let mut file = Vec::new();
        let above = options.scrollback.min(self.scrollback_len());
        let rows = above + usize::from(size.rows());
        let height = u32::try_from(rows * HEIGHT).map_err(io::Error::other)?;
        let width = u32::from(size.cols()) * WIDTH as u32;
        let mut encoder = png::Encoder::new(&mut file, width, height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header()?;
        let mut pixels = writer.stream_writer()?;
        let mut glyphs = Glyphs::new(options.font)?;
        // Scrollback is that of the main screen, even while a program shows the other one.
        for cells in self.terminal().primary.buffer.scrollback(above) {
            let mut stripe = Stripe::new(size.cols().into(), self.special(BACKGROUND));
            self.paint_cells(&cells, &mut stripe, &mut glyphs);
            pixels.write_all(stripe.bytes())?;
        }
        for y in 0..usize::from(size.rows()) {
            let mut stripe = Stripe::new(size.cols().into(), self.special(BACKGROUND));
            self.paint_cells(self.cells(y), &mut stripe, &mut glyphs);
            self.paint_cursor(y, &mut stripe);
            pixels.write_all(stripe.bytes())?;
        }
        pixels.finish()?;
        writer.finish()?;
        Ok(file)
    }

    fn paint_cells(&self, cells: &[Cell], stripe: &mut Stripe, glyphs: &mut Glyphs<'_>) {
        for (x, cell) in cells.iter().enumerate().filter(|(_, cell)| !cell.is_spacer()) {
            self.paint_cell(x * WIDTH, cell, stripe, glyphs);
        }
    }

    fn paint_cursor(&self, y: usize, stripe: &mut Stripe) {
        let cursor = self.cursor();
        if cursor.visible && usize::from(cursor.row) == y {
            let left = usize::from(cursor.col) * WIDTH;
            let (columns, rows) = match cursor.shape {
                CursorShape::Bar => (left..left + 2, 0..HEIGHT),
                CursorShape::Block => (left..left + WIDTH, 0..HEIGHT),
                CursorShape::Underline => (left..left + WIDTH, HEIGHT - 2..HEIGHT),
            };
            stripe.fill(columns, rows, self.special(CURSOR), CURSOR_OPACITY);
        }
    }

    fn paint_cell(&self, left: usize, cell: &Cell, stripe: &mut Stripe, glyphs: &mut Glyphs<'_>) {
        let has = |bit| cell.attrs.has(bit);
        let mut fg = self.color(cell.fg, FOREGROUND);
        let mut bg = self.color(cell.bg, BACKGROUND);
        if has(Attrs::INVERSE) {
            std::mem::swap(&mut fg, &mut bg);
        }
        if has(Attrs::DIM) {
            fg = fg.over(bg, DIM);
        }
        let cells = if cell.is_wide() { 2 } else { 1 };
        stripe.fill(left..left + cells * WIDTH, 0..HEIGHT, bg, u8::MAX);
        if has(Attrs::HIDDEN) {
            return;
        }
        for c in std::iter::once(&cell.c).chain(cell.zero_width()).filter(|c| **c != ' ') {
            let mask = glyphs.mask(*c, cells, has(Attrs::BOLD));
            stripe.blend(left, mask, fg, has(Attrs::ITALIC));
        }
        let line = match cell.pen().underline_color() {
            Color::Default => fg,
            color => self.color(color, FOREGROUND),
        };
        paint_lines(left..left + cells * WIDTH, cell, fg, line, stripe);
    }
}

/// Paints the lines below, through and above a cell's text.
fn paint_lines(columns: std::ops::Range<usize>, cell: &Cell, fg: Rgb, below: Rgb, stripe: &mut Stripe) {
    for (bit, y) in [(Attrs::STRIKE, STRIKE), (Attrs::OVERLINE, OVERLINE)] {
        if cell.attrs.has(bit) {
            stripe.fill(columns.clone(), y..y + 1, fg, u8::MAX);
        }
    }
    /// The rows of a wave, from its first pixel on; a cell has whole waves.
    const WAVE: [usize; WIDTH] = [1, 0, 0, 0, 1, 2, 2, 2, 1, 1];
    for x in columns {
        let mut dot = |y| stripe.fill(x..x + 1, y..y + 1, below, u8::MAX);
        match cell.attrs.underline() {
            Underline::None => {}
            Underline::Single => dot(UNDERLINE),
            Underline::Double => {
                dot(UNDERLINE - 1);
                dot(UNDERLINE + 1);
            }
            Underline::Curly => dot(UNDERLINE - 1 + WAVE[x % WIDTH]),
            Underline::Dotted if x % 2 == 0 => dot(UNDERLINE),
            Underline::Dashed if x % WIDTH < WIDTH * 3 / 5 => dot(UNDERLINE),
            Underline::Dotted | Underline::Dashed => {}
        }
    }
}

impl Rgb {
    /// This colour over another, covering `alpha` of 255.
    fn over(self, below: Self, alpha: u8) -> Self {
        let part = |above: u8, below: u8| {
            let (above, below, alpha) = (u32::from(above), u32::from(below), u32::from(alpha));
            ((above * alpha + below * (255 - alpha) + 127) / 255) as u8
        };
        Self(part(self.0, below.0), part(self.1, below.1), part(self.2, below.2))
    }
}
