//! What characters look like: from the fonts, or from [`drawn`] where cells have to meet.

use super::{BASELINE, HEIGHT, WIDTH, drawn};
use crate::limits;
use ab_glyph::{Font, FontRef, GlyphId, PxScale, ScaleFont, point};
use std::collections::HashMap;
use std::io;

/// How much higher than a cell a font of another design may be.
const ROOM: f32 = 1.5;

/// Width of the frame around nothing, in pixels from the cell's edge.
const INSET: usize = 1;

/// Characters of programs we know that the font lacks, and what is close to them.
const STAND_INS: [(char, char); 8] =
    [('⏺', '●'), ('⏵', '▶'), ('⏸', '‖'), ('⬝', '▪'), ('✅', '✔'), ('❌', '✘'), ('⟳', '↻'), ('\u{a0}', ' ')];

/// How much of each pixel around a cell's corner is covered.
#[derive(Debug, Default)]
pub(super) struct Mask {
    left: isize,
    top: isize,
    width: usize,
    alpha: Vec<u8>,
}

impl Mask {
    /// Makes a mask of nothing with its corner here.
    pub(super) fn new(left: isize, top: isize, width: usize, height: usize) -> Self {
        Self { left, top, width, alpha: vec![0; width * height] }
    }

    /// Sets how much of a pixel is covered, counted from the mask's own corner; none outside of it.
    pub(super) fn set(&mut self, x: usize, y: usize, alpha: u8) {
        if x < self.width
            && let Some(place) = self.alpha.get_mut(y * self.width + x)
        {
            *place = alpha;
        }
    }

    /// Rows and the pixels in them, as places relative to the cell's corner.
    pub(super) fn rows(&self) -> impl Iterator<Item = (isize, impl Iterator<Item = (isize, u8)> + '_)> {
        let rows = self.alpha.chunks(self.width.max(1)).zip(self.top..);
        rows.map(|(row, y)| (y, (self.left..).zip(row.iter().copied())))
    }
}

pub(super) struct Glyphs<'a> {
    regular: FontRef<'static>,
    bold: FontRef<'static>,
    /// The font for what the others lack.
    further: Option<FontRef<'a>>,
    known: HashMap<(char, usize, bool), Mask>,
}

impl<'a> Glyphs<'a> {
    pub(super) fn new(further: Option<&'a [u8]>) -> io::Result<Self> {
        let font = |bytes| FontRef::try_from_slice(bytes).map_err(io::Error::other);
        Ok(Self {
            regular: font(dejavu::sans_mono::regular())?,
            bold: font(dejavu::sans_mono::bold())?,
            further: further.and_then(|bytes| FontRef::try_from_slice_and_index(bytes, 0).ok()),
            known: HashMap::new(),
        })
    }

    /// The glyph of a character that takes this many cells.
    pub(super) fn mask(&mut self, c: char, cells: usize, bold: bool) -> &Mask {
        if self.known.len() >= limits::GLYPHS {
            self.known.clear();
        }
        let font = if bold { &self.bold } else { &self.regular };
        let further = self.further.as_ref();
        self.known.entry((c, cells, bold)).or_insert_with(|| make(font, further, c, cells))
    }
}

/// Whether a character comes from neither our font nor our hand.
pub(super) fn is_lacking(c: char) -> bool {
    let c = stand_in(c);
    let drawn = c <= '~' || drawn::mask(c).is_some() || is_invisible(c);
    let font = || FontRef::try_from_slice(dejavu::sans_mono::regular());
    !drawn && font().is_ok_and(|font| font.glyph_id(c) == GlyphId(0))
}

/// A character, or one that is close to it.
fn stand_in(c: char) -> char {
    STAND_INS.iter().find(|(lacking, _)| *lacking == c).map_or(c, |(_, close)| *close)
}

fn make(font: &FontRef<'_>, further: Option<&FontRef<'_>>, c: char, cells: usize) -> Mask {
    let c = stand_in(c);
    if let Some(mask) = drawn::mask(c) {
        return mask;
    }
    match font.glyph_id(c) {
        GlyphId(0) if is_invisible(c) => Mask::default(),
        GlyphId(0) => match further.map(|font| (font, font.glyph_id(c))) {
            Some((font, id)) if id != GlyphId(0) => fitted(font, id, cells),
            _ => frame(cells * WIDTH),
        },
        id => outline(font, id, cells),
    }
}

/// Joiners, selectors and the like, which change other characters and have no looks.
fn is_invisible(c: char) -> bool {
    unicode_width::UnicodeWidthChar::width(c).unwrap_or(0) == 0
}

fn outline(font: &FontRef<'_>, id: GlyphId, cells: usize) -> Mask {
    // The size at which the font's advance is a cell's width.
    let scale =
        PxScale::from(WIDTH as f32 * font.height_unscaled() / font.h_advance_unscaled(font.glyph_id('x')));
    scaled(font, id, cells, scale)
}

/// A glyph of another font, as large as its cells allow.
fn fitted(font: &FontRef<'_>, id: GlyphId, cells: usize) -> Mask {
    let (width, height) = (font.h_advance_unscaled(id).max(1.0), font.height_unscaled().max(1.0));
    // The height of a font has room for accents above and below, which may leave the cell.
    let scale = ((cells * WIDTH) as f32 / width).min(HEIGHT as f32 * ROOM / height);
    scaled(font, id, cells, PxScale::from(scale * height))
}

fn scaled(font: &FontRef<'_>, id: GlyphId, cells: usize, scale: PxScale) -> Mask {
    let advance = font.as_scaled(scale).h_advance(id);
    let left = ((cells * WIDTH) as f32 - advance).max(0.0) / 2.0;
    let glyph = id.with_scale_and_position(scale, point(left, BASELINE as f32));
    let Some(outline) = font.outline_glyph(glyph) else { return Mask::default() };
    let bounds = outline.px_bounds();
    let mut mask = Mask::new(
        bounds.min.x as isize,
        bounds.min.y as isize,
        bounds.width() as usize,
        bounds.height() as usize,
    );
    outline.draw(|x, y, covered| mask.set(x as usize, y as usize, (covered.clamp(0.0, 1.0) * 255.0) as u8));
    mask
}

/// The empty box.
fn frame(width: usize) -> Mask {
    let mut mask = Mask::new(0, 0, width, HEIGHT);
    let (right, top, bottom) = (width - 1 - INSET, 3, BASELINE);
    for x in INSET..=right {
        mask.set(x, top, u8::MAX);
        mask.set(x, bottom, u8::MAX);
    }
    for y in top..=bottom {
        mask.set(INSET, y, u8::MAX);
        mask.set(right, y, u8::MAX);
    }
    mask
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_font_is_needed_for_what_ours_lacks_only() {
        for c in ['a', 'é', '─', '█', '⣿', '⏺', '\u{200d}', '✓'] {
            assert!(!is_lacking(c), "{c}");
        }
        for c in ['日', '한', '😀'] {
            assert!(is_lacking(c), "{c}");
        }
    }

    #[test]
    fn a_glyph_of_another_font_stays_near_its_cells() {
        let other = FontRef::try_from_slice(dejavu::sans_mono::regular()).unwrap();
        let mask = fitted(&other, other.glyph_id('M'), 2);
        assert!(mask.left >= -1 && mask.left + mask.width as isize <= 2 * WIDTH as isize + 1, "{mask:?}");
        // Fonts leave room above their capitals, which makes them larger than a cell's line by a little.
        assert!(mask.top >= -4, "{mask:?}");
        assert!(mask.alpha.iter().any(|alpha| *alpha > 0));
    }

    #[test]
    fn a_broken_font_leaves_boxes() {
        let mut glyphs = Glyphs::new(Some(b"no font")).unwrap();
        let ink: usize = glyphs.mask('日', 2, false).alpha.iter().filter(|alpha| **alpha > 0).count();
        assert_eq!(ink, frame(2 * WIDTH).alpha.iter().filter(|alpha| **alpha > 0).count());
    }
}
