//! One cell: a character, what is combined with it, and how it looks.
//!
//! Invariants, kept by `buffer.rs`: the cell right of a wide character is its spacer and looks the same;
//! `WRAPLINE` stands in the last column only; `LEADING_WIDE_CHAR_SPACER` only beside it.

use alacritty_terminal::grid::GridCell;
use alacritty_terminal::term::cell::{Flags, ResetDiscriminant};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A colour as programs name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Color {
    /// The terminal's own foreground or background.
    #[default]
    Default,
    /// A place in the palette of 256.
    Indexed(u8),
    /// Red, green and blue.
    Rgb(u8, u8, u8),
}

/// How text is underlined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Underline {
    /// Not at all.
    #[default]
    None,
    /// With one line.
    Single,
    /// With two lines.
    Double,
    /// With a wave.
    Curly,
    /// With dots.
    Dotted,
    /// With dashes.
    Dashed,
}

impl Underline {
    /// The style behind `4:n`.
    pub(crate) fn from_param(n: u16) -> Option<Self> {
        Some(match n {
            0 => Self::None,
            1 => Self::Single,
            2 => Self::Double,
            3 => Self::Curly,
            4 => Self::Dotted,
            5 => Self::Dashed,
            _ => return None,
        })
    }
}

/// A link that cells belong to (OSC 8).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Hyperlink {
    /// The program's name for it, often empty; cells of the same name are one link.
    pub id: String,
    /// Where it leads.
    pub uri: String,
}

/// The attributes that are on or off, and the underline, in 16 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Attrs(u16);

impl Attrs {
    pub(crate) const BOLD: u16 = 1;
    pub(crate) const DIM: u16 = 1 << 1;
    pub(crate) const ITALIC: u16 = 1 << 2;
    pub(crate) const BLINK: u16 = 1 << 3;
    pub(crate) const INVERSE: u16 = 1 << 4;
    pub(crate) const HIDDEN: u16 = 1 << 5;
    pub(crate) const STRIKE: u16 = 1 << 6;
    pub(crate) const OVERLINE: u16 = 1 << 7;
    const UNDERLINE_SHIFT: u16 = 8;

    pub(crate) fn has(self, bit: u16) -> bool {
        self.0 & bit != 0
    }

    pub(crate) fn set(&mut self, bits: u16) {
        self.0 |= bits;
    }

    pub(crate) fn clear(&mut self, bits: u16) {
        self.0 &= !bits;
    }

    pub(crate) fn underline(self) -> Underline {
        Underline::from_param(self.0 >> Self::UNDERLINE_SHIFT).unwrap_or_default()
    }

    pub(crate) fn set_underline(&mut self, style: Underline) {
        self.0 = (self.0 & 0xff) | ((style as u16) << Self::UNDERLINE_SHIFT);
    }

    /// All of them as a number, and back.
    pub(crate) fn bits(self) -> u16 {
        self.0
    }

    pub(crate) fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// Whether a blank with these attributes shows anything.
    fn marks_blanks(self) -> bool {
        self.has(Self::INVERSE | Self::STRIKE | Self::OVERLINE) || self.underline() != Underline::None
    }
}

/// What few cells have.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Extra {
    pub(crate) zero_width: Vec<char>,
    pub(crate) underline_color: Color,
    pub(crate) link: Option<Arc<Hyperlink>>,
}

/// The looks new characters get.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Pen {
    pub(crate) fg: Color,
    pub(crate) bg: Color,
    pub(crate) attrs: Attrs,
    /// Never has zero-width characters, and is absent when all of it is default.
    extra: Option<Arc<Extra>>,
}

impl Pen {
    pub(crate) fn is_default(&self) -> bool {
        self.extra.is_none()
            && self.attrs == Attrs::default()
            && (self.fg, self.bg) == (Color::Default, Color::Default)
    }

    pub(crate) fn underline_color(&self) -> Color {
        self.extra.as_ref().map_or(Color::Default, |extra| extra.underline_color)
    }

    pub(crate) fn link(&self) -> Option<&Arc<Hyperlink>> {
        self.extra.as_ref()?.link.as_ref()
    }

    pub(crate) fn set_underline_color(&mut self, color: Color) {
        if self.underline_color() != color {
            self.set_extra(color, self.link().cloned());
        }
    }

    pub(crate) fn set_link(&mut self, link: Option<Arc<Hyperlink>>) {
        self.set_extra(self.underline_color(), link);
    }

    /// The same without its link: the part that SGR and DECSC know.
    pub(crate) fn without_link(mut self) -> Self {
        self.set_link(None);
        self
    }

    /// Forgets everything but the link, as SGR 0 does.
    pub(crate) fn reset(&mut self) {
        if self.extra.is_none() {
            (self.fg, self.bg, self.attrs) = Default::default();
            return;
        }
        let link = self.link().cloned();
        *self = Self::default();
        if link.is_some() {
            self.set_link(link);
        }
    }

    fn set_extra(&mut self, underline_color: Color, link: Option<Arc<Hyperlink>>) {
        let needed = underline_color != Color::Default || link.is_some();
        self.extra = needed.then(|| Arc::new(Extra { zero_width: Vec::new(), underline_color, link }));
    }
}

/// One cell of a grid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) c: char,
    pub(crate) fg: Color,
    pub(crate) bg: Color,
    pub(crate) attrs: Attrs,
    /// Only the flags about wide characters and wrapped lines are used.
    pub(crate) flags: Flags,
    pub(crate) extra: Option<Arc<Extra>>,
}

impl Default for Cell {
    fn default() -> Self {
        Self::blank(Color::Default)
    }
}

impl Cell {
    /// An erased cell.
    pub(crate) fn blank(bg: Color) -> Self {
        Self { c: ' ', fg: Color::Default, bg, attrs: Attrs::default(), flags: Flags::empty(), extra: None }
    }

    #[inline]
    pub(crate) fn new(c: char, pen: &Pen, flags: Flags) -> Self {
        Self { c, fg: pen.fg, bg: pen.bg, attrs: pen.attrs, flags, extra: pen.extra.clone() }
    }

    /// Makes this the cell of a character of one column.
    #[inline]
    pub(crate) fn set(&mut self, c: impl Into<char>, pen: &Pen) {
        self.c = c.into();
        (self.fg, self.bg, self.attrs, self.flags) = (pen.fg, pen.bg, pen.attrs, Flags::empty());
        // Mostly there is nothing to drop and nothing to count.
        if self.extra.is_some() || pen.extra.is_some() {
            self.extra.clone_from(&pen.extra);
        }
    }

    /// Makes this a blank.
    #[inline]
    pub(crate) fn erase(&mut self, bg: Color) {
        (self.c, self.fg, self.bg) = (' ', Color::Default, bg);
        (self.attrs, self.flags) = (Attrs::default(), Flags::empty());
        if self.extra.is_some() {
            self.extra = None;
        }
    }

    /// The pen this cell was written with.
    pub(crate) fn pen(&self) -> Pen {
        let mut pen = Pen { fg: self.fg, bg: self.bg, attrs: self.attrs, extra: None };
        if let Some(extra) = &self.extra {
            pen.set_extra(extra.underline_color, extra.link.clone());
        }
        pen
    }

    /// Whether the cell looks as `pen` would have it.
    pub(crate) fn looks_like(&self, pen: &Pen) -> bool {
        let extra = |extra: &Option<Arc<Extra>>| {
            let extra = extra.as_ref();
            (
                extra.map_or(Color::Default, |extra| extra.underline_color),
                extra.and_then(|extra| extra.link.clone()),
            )
        };
        self.fg == pen.fg
            && self.bg == pen.bg
            && self.attrs == pen.attrs
            && ((self.extra.is_none() && pen.extra.is_none()) || extra(&self.extra) == extra(&pen.extra))
    }

    pub(crate) fn zero_width(&self) -> &[char] {
        self.extra.as_ref().map_or(&[], |extra| &extra.zero_width)
    }

    pub(crate) fn push_zero_width(&mut self, c: char) {
        let extra = Arc::make_mut(self.extra.get_or_insert_default());
        if extra.zero_width.len() < crate::limits::ZERO_WIDTH {
            extra.zero_width.push(c);
        }
    }

    pub(crate) fn is_wide(&self) -> bool {
        self.flags.contains(Flags::WIDE_CHAR)
    }

    pub(crate) fn is_spacer(&self) -> bool {
        self.flags.contains(Flags::WIDE_CHAR_SPACER)
    }

    pub(crate) fn is_leading(&self) -> bool {
        self.flags.contains(Flags::LEADING_WIDE_CHAR_SPACER)
    }

    pub(crate) fn is_wrapped(&self) -> bool {
        self.flags.contains(Flags::WRAPLINE)
    }

    /// Whether nothing was ever seen here: a default blank.
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Forgets that the line goes on in the next one.
    pub(crate) fn unwrap(&mut self) {
        self.flags.remove(Flags::WRAPLINE | Flags::LEADING_WIDE_CHAR_SPACER);
    }

    /// Makes half a wide character a blank of the same looks.
    pub(crate) fn unwiden(&mut self) {
        self.c = ' ';
        self.flags.remove(Flags::WIDE_CHAR | Flags::WIDE_CHAR_SPACER);
        let pen = self.pen();
        self.extra = pen.extra;
    }
}

impl GridCell for Cell {
    /// What reflow may leave out at the end of a line.
    fn is_empty(&self) -> bool {
        self.c == ' '
            && self.bg == Color::Default
            && !self.attrs.marks_blanks()
            && self.flags.is_empty()
            && self.zero_width().is_empty()
    }

    fn reset(&mut self, template: &Self) {
        *self = Self::blank(template.bg);
    }

    fn flags(&self) -> &Flags {
        &self.flags
    }

    fn flags_mut(&mut self) -> &mut Flags {
        &mut self.flags
    }
}

impl ResetDiscriminant<Color> for Cell {
    fn discriminant(&self) -> Color {
        self.bg
    }
}
