//! Styled text for a terminal, measured and folded to its width.
//!
//! Everything that comes from elsewhere passes [`visible`] on its way into a `StyledSpan`, so that no agent can move the
//! cursor, change modes or reorder what people read.

mod ascii;
mod table;

pub use ascii::ascii;
use std::borrow::Cow;
use swb_vt::printable;
pub use table::{Alignment, Table};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// A tab is shown as spaces, so that folding knows where it is.
const TAB: &str = "    ";

/// The style of a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TextStyle {
    /// Bold.
    pub bold: bool,
    /// Dim.
    pub dim: bool,
    /// Italic.
    pub italic: bool,
    /// Struck through.
    pub strike: bool,
    /// Underlined.
    pub underline: bool,
    /// Its colour; the terminal's own if there is none.
    pub colour: Option<Colour>,
}

/// The few colours that are used; the terminal defines their exact shade.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// Headings, and names of functions and types in code.
    Blue,
    /// Code, links and prompts.
    Cyan,
    /// Done, allowed, added.
    Green,
    /// Keywords in code.
    Magenta,
    /// Failed, denied, removed.
    Red,
    /// Waiting for the user; the shell.
    Yellow,
}

impl TextStyle {
    /// No style.
    pub const PLAIN: Self =
        Self { bold: false, dim: false, italic: false, strike: false, underline: false, colour: None };
    /// Less important.
    pub const DIM: Self = Self { dim: true, ..Self::PLAIN };
    /// More important.
    pub const BOLD: Self = Self { bold: true, ..Self::PLAIN };

    /// A colour only.
    pub const fn of(colour: Colour) -> Self {
        Self { colour: Some(colour), ..Self::PLAIN }
    }

    fn codes(self) -> String {
        let colour = self.colour.map(|colour| match colour {
            // The dark one cannot be read on most dark backgrounds.
            Colour::Blue => "94",
            Colour::Cyan => "36",
            Colour::Green => "32",
            Colour::Magenta => "35",
            Colour::Red => "31",
            Colour::Yellow => "33",
        });
        let flags = [
            (self.bold, "1"),
            (self.dim, "2"),
            (self.italic, "3"),
            (self.underline, "4"),
            (self.strike, "9"),
        ];
        let flags = flags.into_iter().filter_map(|(set, code)| set.then_some(code));
        flags.chain(colour).collect::<Vec<_>>().join(";")
    }
}

/// Text of one style. It has no control characters.
#[derive(Debug, Clone, PartialEq, Eq)]
struct StyledSpan {
    style: TextStyle,
    text: String,
}

/// One logical line; the number of rows it takes depends on the terminal.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StyledLine {
    spans: Vec<StyledSpan>,
    /// Columns by which further rows are indented.
    hang: usize,
    /// Folded anywhere instead of between words.
    verbatim: bool,
    /// A table instead of text.
    table: Option<Box<Table>>,
}

impl StyledLine {
    /// A line of one style.
    pub fn new(style: TextStyle, text: &str) -> Self {
        let mut line = Self::default();
        line.push(style, text);
        line
    }

    /// A table, drawn when it is folded.
    pub fn table(table: Table) -> Self {
        Self { table: Some(Box::new(table)), ..Self::default() }
    }

    /// Adds text; control characters in it become visible.
    pub fn push(&mut self, style: TextStyle, text: &str) {
        let text = visible(text);
        match self.spans.last_mut() {
            _ if text.is_empty() => {}
            Some(last) if last.style == style => last.text.push_str(&text),
            _ => self.spans.push(StyledSpan { style, text: text.into_owned() }),
        }
    }

    /// Adds text; the line reads well in one call.
    #[must_use]
    pub fn with(mut self, style: TextStyle, text: &str) -> Self {
        self.push(style, text);
        self
    }

    /// The same with further rows indented.
    #[must_use]
    pub fn hanging(self, hang: usize) -> Self {
        Self { hang, ..self }
    }

    /// Whether it is a table.
    pub fn is_table(&self) -> bool {
        self.table.is_some()
    }

    /// Columns by which further rows are indented.
    pub fn hang(&self) -> usize {
        self.hang
    }

    /// The same folded anywhere, so that every blank stays.
    #[must_use]
    pub fn verbatim(self) -> Self {
        Self { verbatim: true, ..self }
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty() && self.table.is_none()
    }

    /// The same without blanks at its ends.
    #[must_use]
    pub fn trimmed(mut self) -> Self {
        if let Some(first) = self.spans.first_mut() {
            first.text = first.text.trim_start().to_owned();
        }
        if let Some(last) = self.spans.last_mut() {
            last.text = last.text.trim_end().to_owned();
        }
        self
    }

    /// The columns of its text, unfolded.
    pub fn columns(&self) -> usize {
        self.spans.iter().map(|span| columns(&span.text)).sum()
    }

    /// Its text without styles.
    pub fn plain(&self) -> String {
        if let Some(table) = &self.table {
            return table.plain();
        }
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }

    /// Folds it into rows of at most `width` columns.
    pub fn fold(&self, width: usize) -> Vec<StyledRow> {
        let width = width.max(1);
        if let Some(table) = &self.table {
            return table.draw(width);
        }
        let hang = if self.hang < width / 2 { self.hang } else { 0 };
        let mut rows = vec![StyledRow::default()];
        for (style, piece) in self.pieces() {
            let last = rows.len() - 1;
            let fits = rows[last].width + columns(piece) <= width;
            if !fits && !piece.trim().is_empty() && !rows[last].is_blank(if last > 0 { hang } else { 0 }) {
                rows.push(StyledRow::indented(hang));
            }
            for grapheme in piece.graphemes(true) {
                let last = rows.len() - 1;
                if rows[last].width + columns(grapheme) > width {
                    if grapheme.trim().is_empty() && !self.verbatim {
                        continue;
                    }
                    rows.push(StyledRow::indented(hang));
                }
                let last = rows.len() - 1;
                rows[last].add(style, grapheme);
            }
        }
        rows
    }

    /// What stays together: words and the spaces between them, or single characters if it is verbatim.
    fn pieces(&self) -> impl Iterator<Item = (TextStyle, &str)> {
        let cut = |text| if self.verbatim { text_graphemes(text) } else { words(text) };
        self.spans.iter().flat_map(move |span| cut(&span.text).into_iter().map(|piece| (span.style, piece)))
    }
}

fn text_graphemes(text: &str) -> Vec<&str> {
    text.graphemes(true).collect()
}

/// Cuts where spaces begin and end.
fn words(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| (c == ' ') != (first == ' ')).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// One row of a terminal.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StyledRow {
    spans: Vec<StyledSpan>,
    /// Columns it takes.
    pub width: usize,
}

impl StyledRow {
    fn indented(by: usize) -> Self {
        let mut row = Self::default();
        if by > 0 {
            row.add(TextStyle::PLAIN, &" ".repeat(by));
        }
        row
    }

    fn add(&mut self, style: TextStyle, text: &str) {
        self.width += columns(text);
        match self.spans.last_mut() {
            Some(last) if last.style == style => last.text.push_str(text),
            _ => self.spans.push(StyledSpan { style, text: text.to_owned() }),
        }
    }

    /// The same without blanks at its end.
    fn trimmed(&self) -> Self {
        let mut row = self.clone();
        if let Some(last) = row.spans.last_mut() {
            let kept = last.text.trim_end_matches(' ').len();
            row.width -= last.text.len() - kept;
            last.text.truncate(kept);
        }
        row
    }

    fn is_blank(&self, indent: usize) -> bool {
        self.width <= indent
    }

    /// Its bytes for a terminal; ends with the default style.
    pub fn ansi(&self, coloured: bool) -> String {
        let mut out = String::new();
        for span in &self.spans {
            let codes = span.style.codes();
            if coloured && !codes.is_empty() {
                out.push_str(&format!("\x1b[{codes}m{}\x1b[m", span.text));
            } else {
                out.push_str(&span.text);
            }
        }
        out
    }

    /// Its text without styles.
    pub fn plain(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }
}

/// The columns a text takes.
pub fn columns(text: &str) -> usize {
    // Terminals have at most two columns for what people see as one character.
    text.graphemes(true).map(|grapheme| grapheme.width().min(2)).sum()
}

/// Cuts a text to a number of columns; one that is too long ends in an ellipsis.
pub fn shortened(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for grapheme in text.graphemes(true) {
        let wide = columns(grapheme);
        if used + wide + 1 > width {
            break;
        }
        out.push_str(grapheme);
        used += wide;
    }
    out.push('…');
    out
}

/// The beginning of a text that takes at most this many columns.
pub fn beginning(text: &str, width: usize) -> &str {
    let mut used = 0;
    let fits = |(at, grapheme): (usize, &str)| {
        used += columns(grapheme);
        (used <= width).then_some(at + grapheme.len())
    };
    let end = text.grapheme_indices(true).map_while(fits).last().unwrap_or(0);
    text.get(..end).unwrap_or_default()
}

/// Replaces every character that would affect the terminal by visible ones.
pub fn visible(text: &str) -> Cow<'_, str> {
    if text.contains('\t') {
        return Cow::Owned(printable(&text.replace('\t', TAB)).into_owned());
    }
    printable(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(line: &StyledLine, width: usize) -> Vec<String> {
        line.fold(width).iter().map(StyledRow::plain).collect()
    }

    #[test]
    fn lines_fold_between_words() {
        let line = StyledLine::new(TextStyle::PLAIN, "• one two three four").hanging(2);
        assert_eq!(folded(&line, 10), ["• one two ", "  three ", "  four"]);
        assert_eq!(folded(&line, 80), ["• one two three four"]);
        assert_eq!(folded(&StyledLine::default(), 10), [""]);
    }

    #[test]
    fn a_word_longer_than_a_row_is_split() {
        assert_eq!(folded(&StyledLine::new(TextStyle::PLAIN, "abcdefghij"), 4), ["abcd", "efgh", "ij"]);
        let code = StyledLine::new(TextStyle::PLAIN, "a b  c d").verbatim();
        assert_eq!(folded(&code, 3), ["a b", "  c", " d"]);
    }

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!((columns("日本"), columns("é"), columns("e\u{301}"), columns("👩‍👩‍👧")), (4, 1, 1, 2));
        assert_eq!(folded(&StyledLine::new(TextStyle::PLAIN, "日本語日本語"), 5), ["日本", "語日", "本語"]);
        assert_eq!((shortened("日本語", 5).as_str(), shortened("abc", 3).as_str()), ("日本…", "abc"));
    }

    #[test]
    fn control_characters_are_replaced() {
        assert_eq!(visible("a\x1b[2Jb\u{9b}c\x07\x7f"), r"a\u{1b}[2Jb\u{9b}c\u{7}\u{7f}");
        assert_eq!(visible("abc\u{202e}def"), r"abc\u{202e}def");
        assert_eq!(visible("größe 日本 👩‍👩‍👧"), "größe 日本 👩‍👩‍👧");
        let line = StyledLine::new(TextStyle::BOLD, "x\x1b]0;title\x07\r\n");
        assert_eq!(line.fold(80)[0].ansi(true), "\x1b[1mx\\u{1b}]0;title\\u{7}\\r\\n\x1b[m");
    }

    #[test]
    fn styles_begin_and_end_with_their_text() {
        let line = StyledLine::new(TextStyle::BOLD, "a")
            .with(TextStyle::PLAIN, "b")
            .with(TextStyle::of(Colour::Red), "c");
        assert_eq!(line.fold(9)[0].ansi(true), "\x1b[1ma\x1b[mb\x1b[31mc\x1b[m");
        assert_eq!(line.fold(9)[0].ansi(false), "abc");
        assert_eq!(line.plain(), "abc");
    }
}
