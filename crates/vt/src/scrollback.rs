//! Lines that have left the top of the screen, as text with marks where the style changes instead of cells.
//!
//! A line of cells takes 24 bytes a column; here it takes about a byte a character. Lines are written once, read seldom,
//! and dropped in their order, so they lie one behind another in [`Chunk`]s, and a chunk is freed when its last line
//! is gone. [`encode`] and [`decode`] are exact: a line comes back cell for cell.
//!
//! A line is UTF-8 text with marks, which are control characters and thus no text: [`STYLE`] with the style of all that
//! follows, [`WIDE`] before a character of two columns, [`FLAGS`] before a cell with other flags, [`MARKS`] behind a
//! character with zero-width ones, and [`FILL`] before the background of the rest of the line, if it has one.

use crate::cell::{Attrs, Cell, Color, Hyperlink, Pen};
use crate::limits;
use alacritty_terminal::term::cell::Flags;
use std::collections::VecDeque;
use std::sync::Arc;

const STYLE: u8 = 1;
const WIDE: u8 = 2;
const FLAGS: u8 = 3;
const MARKS: u8 = 4;
const FILL: u8 = 5;

/// What a style has, in the byte behind [`STYLE`].
const FG: u8 = 1;
const BG: u8 = 1 << 1;
const ATTRS: u8 = 1 << 2;
const UNDERLINE: u8 = 1 << 3;
const LINK: u8 = 1 << 4;

/// The newest lines above the screen, at most so many.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scrollback {
    chunks: VecDeque<Chunk>,
    /// Lines of the first chunk that are gone.
    gone: usize,
    len: usize,
    limit: usize,
}

/// Some lines, one behind another.
#[derive(Debug, Clone, Default)]
struct Chunk {
    bytes: Vec<u8>,
    /// Where each line ends.
    ends: Vec<u32>,
    /// The links of these lines.
    links: Vec<Arc<Hyperlink>>,
}

impl Scrollback {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Lines there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Lines there may be.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::new(self.limit);
    }

    /// Adds a line: `used` cells, and blanks with the background `fill`.
    pub(crate) fn push(&mut self, used: &[Cell], fill: Color) {
        if let Some(chunk) = self.chunk(used.len()) {
            chunk.push(used, fill);
        }
    }

    /// The same for cells that are ASCII in the default style.
    pub(crate) fn push_plain(&mut self, used: &[Cell], fill: Color) {
        if let Some(chunk) = self.chunk(used.len()) {
            chunk.bytes.extend(used.iter().map(|cell| cell.c as u8));
            chunk.push(&[], fill);
        }
    }

    /// The chunk for one more line of so many cells; none if no lines are kept.
    fn chunk(&mut self, cells: usize) -> Option<&mut Chunk> {
        if self.limit == 0 {
            return None;
        }
        if self.len == self.limit {
            self.pop();
        }
        if self.chunks.back().is_none_or(|chunk| chunk.is_full(cells)) {
            self.chunks.push_back(Chunk::new());
        }
        self.len += 1;
        self.chunks.back_mut()
    }

    /// Drops the oldest line.
    fn pop(&mut self) {
        self.gone += 1;
        self.len -= 1;
        if self.chunks.front().is_some_and(|chunk| self.gone == chunk.ends.len()) {
            self.chunks.pop_front();
            self.gone = 0;
        }
    }

    /// The cells of the lines from the `skip`th oldest on, each `cols` wide.
    pub(crate) fn lines(&self, skip: usize, cols: usize) -> impl Iterator<Item = Vec<Cell>> {
        let mut skip = skip + self.gone;
        let mut chunks = self.chunks.iter();
        // Whole chunks are skipped at once: what is read is mostly the end.
        let first = chunks.by_ref().find(|chunk| {
            let here = skip < chunk.ends.len();
            if !here {
                skip -= chunk.ends.len();
            }
            here
        });
        let here = first.into_iter().flat_map(move |chunk| (skip..chunk.ends.len()).map(move |n| (chunk, n)));
        let later = chunks.flat_map(|chunk| (0..chunk.ends.len()).map(move |n| (chunk, n)));
        here.chain(later).map(move |(chunk, n)| chunk.line(n, cols))
    }
}

impl Chunk {
    fn new() -> Self {
        // All at once, so that no growth leaves half of it unused.
        Self { bytes: Vec::with_capacity(limits::CHUNK_BYTES), ..Self::default() }
    }

    /// Whether a line of so many cells is better put elsewhere.
    fn is_full(&self, cells: usize) -> bool {
        self.ends.len() >= limits::CHUNK_LINES || self.bytes.len() + cells > limits::CHUNK_BYTES
    }

    fn push(&mut self, used: &[Cell], fill: Color) {
        encode(used, fill, &mut self.bytes, &mut self.links);
        self.ends.push(u32::try_from(self.bytes.len()).unwrap_or(u32::MAX));
    }

    fn line(&self, n: usize, cols: usize) -> Vec<Cell> {
        let start = n.checked_sub(1).map_or(0, |n| self.ends[n] as usize);
        decode(&self.bytes[start..self.ends[n] as usize], &self.links, cols)
    }
}

/// Appends a line.
fn encode(used: &[Cell], fill: Color, out: &mut Vec<u8>, links: &mut Vec<Arc<Hyperlink>>) {
    let mut pen = Pen::default();
    let mut rest = used;
    while let Some(cell) = rest.first() {
        if !cell.looks_like(&pen) {
            pen = cell.pen();
            push_style(&pen, out, links);
        }
        let plain = plain_length(rest, &pen);
        if plain > 0 {
            out.extend(rest[..plain].iter().map(|cell| cell.c as u8));
            rest = &rest[plain..];
            continue;
        }
        let run = push_run(rest, &pen, out);
        rest = &rest[if run > 0 { run } else { push_cell(rest, out) }..];
    }
    if fill != Color::Default {
        out.push(FILL);
        push_color(fill, out);
    }
}

/// How many cells at the beginning are ASCII in the style of the first one.
fn plain_length(cells: &[Cell], pen: &Pen) -> usize {
    let is_text = |cell: &Cell| (' '..='~').contains(&cell.c) && cell.flags.is_empty();
    let same = |cell: &Cell| cell.attrs == pen.attrs && cell.fg == pen.fg && cell.bg == pen.bg;
    let Some(extra) = &cells[0].extra else {
        return cells.iter().take_while(|cell| is_text(cell) && cell.extra.is_none() && same(cell)).count();
    };
    let same_extra = |other: &Cell| other.extra.as_ref().is_some_and(|other| Arc::ptr_eq(extra, other));
    let plain = extra.zero_width.is_empty();
    cells.iter().take_while(|cell| plain && is_text(cell) && same_extra(cell) && same(cell)).count()
}

/// Appends the cells at the beginning that have one character each and the style of the first one; how many those were.
fn push_run(cells: &[Cell], pen: &Pen, out: &mut Vec<u8>) -> usize {
    let same = |cell: &Cell| {
        cell.extra.is_none() && cell.attrs == pen.attrs && cell.fg == pen.fg && cell.bg == pen.bg
    };
    let is_spacer = |cell: &Cell| cell.c == ' ' && cell.flags == Flags::WIDE_CHAR_SPACER && same(cell);
    let mut x = 0;
    while let Some(cell) = cells.get(x).filter(|cell| same(cell)) {
        if cell.flags.is_empty() {
            x += 1;
        } else if cell.flags == Flags::WIDE_CHAR && cells.get(x + 1).is_some_and(is_spacer) {
            out.push(WIDE);
            x += 2;
        } else {
            break;
        }
        push_char(cell.c, out);
    }
    x
}

/// Appends the first of some cells, with its spacer if it has one; how many that were.
fn push_cell(cells: &[Cell], out: &mut Vec<u8>) -> usize {
    let cell = &cells[0];
    let spacer = || Cell::new(' ', &cell.pen(), Flags::WIDE_CHAR_SPACER);
    let whole = cell.flags == Flags::WIDE_CHAR && cells.get(1).is_some_and(|next| *next == spacer());
    if whole {
        out.push(WIDE);
    } else if !cell.flags.is_empty() {
        out.push(FLAGS);
        out.extend_from_slice(&cell.flags.bits().to_le_bytes());
    }
    push_char(cell.c, out);
    if !cell.zero_width().is_empty() {
        // Their number is bounded by `limits::ZERO_WIDTH`.
        out.extend_from_slice(&[MARKS, cell.zero_width().len() as u8]);
        cell.zero_width().iter().for_each(|c| push_char(*c, out));
    }
    if whole { 2 } else { 1 }
}

/// Appends a character. Cells have no controls; one would be taken for a mark.
fn push_char(c: char, out: &mut Vec<u8>) {
    let c = if c < ' ' { ' ' } else { c };
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

fn push_style(pen: &Pen, out: &mut Vec<u8>, links: &mut Vec<Arc<Hyperlink>>) {
    let parts = [
        (FG, pen.fg != Color::Default),
        (BG, pen.bg != Color::Default),
        (ATTRS, pen.attrs != Attrs::default()),
        (UNDERLINE, pen.underline_color() != Color::Default),
        (LINK, pen.link().is_some()),
    ];
    let has = parts.iter().filter(|(_, has)| *has).fold(0, |all, (part, _)| all | part);
    out.extend_from_slice(&[STYLE, has]);
    for color in [pen.fg, pen.bg] {
        if color != Color::Default {
            push_color(color, out);
        }
    }
    if has & ATTRS != 0 {
        out.extend_from_slice(&pen.attrs.bits().to_le_bytes());
    }
    if has & UNDERLINE != 0 {
        push_color(pen.underline_color(), out);
    }
    if let Some(link) = pen.link() {
        // Few lines have many links, so the last ones are likely.
        let known = links.iter().rev().take(limits::CHUNK_LINKS).position(|known| Arc::ptr_eq(known, link));
        let number = known.map_or(links.len(), |back| links.len() - 1 - back);
        if known.is_none() {
            links.push(Arc::clone(link));
        }
        out.extend_from_slice(&u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes());
    }
}

fn push_color(color: Color, out: &mut Vec<u8>) {
    match color {
        Color::Default => out.push(0),
        Color::Indexed(n) => out.extend_from_slice(&[1, n]),
        Color::Rgb(r, g, b) => out.extend_from_slice(&[2, r, g, b]),
    }
}

/// The cells of a line that [`encode`] has written.
fn decode(bytes: &[u8], links: &[Arc<Hyperlink>], cols: usize) -> Vec<Cell> {
    let mut cells: Vec<Cell> = Vec::with_capacity(cols);
    let mut reader = Reader(bytes);
    let (mut pen, mut flags, mut fill) = (Pen::default(), Flags::empty(), Color::Default);
    while let Some(byte) = reader.0.first().copied() {
        match byte {
            STYLE => {
                reader.byte();
                pen = reader.style(links);
            }
            WIDE => {
                reader.byte();
                flags = Flags::WIDE_CHAR;
                let c = reader.char();
                cells.push(Cell::new(c, &pen, flags));
                cells.push(Cell::new(' ', &pen, Flags::WIDE_CHAR_SPACER));
                flags = Flags::empty();
            }
            FLAGS => {
                reader.byte();
                flags = Flags::from_bits_truncate(u16::from_le_bytes([reader.byte(), reader.byte()]));
            }
            MARKS => {
                reader.byte();
                let at = cells.iter().rposition(|cell| !cell.is_spacer());
                for _ in 0..reader.byte() {
                    let c = reader.char();
                    if let Some(cell) = at.and_then(|at| cells.get_mut(at)) {
                        cell.push_zero_width(c);
                    }
                }
            }
            FILL => {
                reader.byte();
                fill = reader.color();
            }
            _ => cells.push(Cell::new(reader.char(), &pen, std::mem::replace(&mut flags, Flags::empty()))),
        }
    }
    cells.resize(cols, Cell::blank(fill));
    cells
}

/// Reads what [`encode`] has written; behind the end there are only zeros.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn char(&mut self) -> char {
        let first = self.byte();
        let more = match first {
            0..0x80 => return char::from(first),
            0x80..0xe0 => 1,
            0xe0..0xf0 => 2,
            _ => 3,
        };
        let lead = u32::from(first) & (0x3f >> more);
        let code = (0..more).fold(lead, |code, _| code << 6 | u32::from(self.byte() & 0x3f));
        char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
    }

    fn color(&mut self) -> Color {
        match self.byte() {
            0 => Color::Default,
            1 => Color::Indexed(self.byte()),
            _ => Color::Rgb(self.byte(), self.byte(), self.byte()),
        }
    }

    fn style(&mut self, links: &[Arc<Hyperlink>]) -> Pen {
        let (has, mut pen) = (self.byte(), Pen::default());
        if has & FG != 0 {
            pen.fg = self.color();
        }
        if has & BG != 0 {
            pen.bg = self.color();
        }
        if has & ATTRS != 0 {
            pen.attrs = Attrs::from_bits(u16::from_le_bytes([self.byte(), self.byte()]));
        }
        if has & UNDERLINE != 0 {
            pen.set_underline_color(self.color());
        }
        if has & LINK != 0 {
            let number = u32::from_le_bytes([self.byte(), self.byte(), self.byte(), self.byte()]);
            pen.set_link(links.get(number as usize).cloned());
        }
        pen
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::{Options, Screen};
    use swb_types::Size;

    /// What cells a program leaves on the screen.
    fn cells(bytes: &str) -> Vec<Cell> {
        let mut screen = Screen::new(Size::new(20, 2).unwrap(), Options { scrollback: 0 });
        screen.feed(bytes.as_bytes());
        screen.cells(0).to_vec()
    }

    #[test]
    fn every_kind_of_cell_comes_back() {
        for text in [
            "",
            "plain",
            "\x1b[31mred\x1b[m and \x1b[1;38;2;1;2;3;48;5;200mall\x1b[m",
            "字x👍🏽e\u{301}\u{302}❤\u{fe0f}",
            "\x1b[41m字\u{301}\x1b[K",
            "\x1b[4:3;58:2::1:2:3mwave\x1b[59m\x1b]8;id=a;http://a\x07link\x1b]8;;\x07 \x1b]8;;http://b\x07b",
            "0123456789012345678字",
            "long enough to be wrapped",
            "\x1b[44m\x1b[2Jblue",
        ] {
            let (line, mut chunk) = (cells(text), Chunk::default());
            let fill = line.last().map_or(Color::Default, |cell| cell.bg);
            let used = line.iter().rposition(|cell| *cell != Cell::blank(fill)).map_or(0, |x| x + 1);
            chunk.push(&cells("before"), Color::Default);
            chunk.push(&line[..used], fill);
            assert_eq!(chunk.line(1, 20), line, "{text:?}");
        }
    }

    #[test]
    fn the_oldest_lines_are_dropped_with_their_memory() {
        let mut scrollback = Scrollback::new(100);
        let line = |n: usize| cells(&format!("line {n}"));
        for n in 0..5000 {
            scrollback.push(&line(n), Color::Default);
            assert_eq!(scrollback.len(), 100.min(n + 1));
        }
        let lines: Vec<Vec<Cell>> = scrollback.lines(30, 20).collect();
        assert_eq!(lines, (4930..5000).map(line).collect::<Vec<_>>());
        assert!(scrollback.chunks.len() <= 2, "{} chunks", scrollback.chunks.len());
        assert_eq!(scrollback.lines(100, 20).count(), 0);
        assert_eq!(scrollback.lines(0, 20).count(), 100);
    }
}
