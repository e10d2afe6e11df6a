//! The pixels of one row of cells.

use super::glyphs::Mask;
use super::{BASELINE, HEIGHT, WIDTH};
use crate::palette::Rgb;
use std::ops::Range;

/// Rows of pixels for which italic text leans by one.
const SLANT: isize = 5;

pub(super) struct Stripe {
    width: usize,
    bytes: Vec<u8>,
}

impl Stripe {
    /// Makes a stripe of one colour for this many cells.
    pub(super) fn new(cols: usize, color: Rgb) -> Self {
        let width = cols * WIDTH;
        Self { width, bytes: [color.0, color.1, color.2].repeat(width * HEIGHT) }
    }

    /// The pixels row by row, three bytes each.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Lays a rectangle over what is there; what is outside is left out.
    pub(super) fn fill(&mut self, columns: Range<usize>, rows: Range<usize>, color: Rgb, alpha: u8) {
        for y in rows {
            for x in columns.clone() {
                self.dot(x, y, color, alpha);
            }
        }
    }

    /// Lays a glyph over the cell that begins at `left`.
    pub(super) fn blend(&mut self, left: usize, mask: &Mask, color: Rgb, italic: bool) {
        for (y, row) in mask.rows() {
            let lean = if italic { (BASELINE as isize - y).div_euclid(SLANT) } else { 0 };
            for (x, alpha) in row {
                let place = left.checked_add_signed(x + lean).zip(usize::try_from(y).ok());
                if let Some((x, y)) = place.filter(|_| alpha > 0) {
                    self.dot(x, y, color, alpha);
                }
            }
        }
    }

    fn dot(&mut self, x: usize, y: usize, color: Rgb, alpha: u8) {
        let start = 3 * (y * self.width + x);
        if x < self.width
            && let Some([r, g, b]) = self.bytes.get_mut(start..start + 3)
        {
            let mixed = color.over(Rgb(*r, *g, *b), alpha);
            (*r, *g, *b) = (mixed.0, mixed.1, mixed.2);
        }
    }
}
