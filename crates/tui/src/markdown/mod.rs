//! Markdown as it streams in: each line is styled once it is complete, and never touched again.
//!
//! [`Markdown::push`] takes pieces split anywhere and returns the complete lines; [`Markdown::preview`] is the rest as it
//! would be if it ended here. Only markup within a single line is supported, because that can be shown without changing
//! earlier lines. The exception are tables: their rows are held until the last one has arrived.

mod code;
mod inline;
mod table;

use crate::limits;
use crate::text::{Colour, StyledLine, TextStyle};
use code::CodeStyle;
use inline::spans;
use table::TableLines;

/// Columns of a rule.
const RULE: usize = 24;
/// Columns by which code is indented.
const CODE_INDENT: usize = 4;

/// The state between two lines.
#[derive(Debug, Clone, Default)]
pub struct Markdown {
    rest: String,
    fence: Option<Fence>,
    table: TableLines,
    /// The beginning of the incomplete line was returned already, with this style and indentation.
    continued: Option<(TextStyle, usize)>,
    /// The text is not Markdown: all of it is shown as it is.
    pub verbatim: bool,
}

/// A block of code that has begun.
#[derive(Debug, Clone)]
struct Fence {
    mark: char,
    length: usize,
    indent: usize,
    style: CodeStyle,
}

impl Markdown {
    /// Takes more text; returns the lines that are complete now.
    pub fn push(&mut self, text: &str) -> Vec<StyledLine> {
        let mut whole = std::mem::take(&mut self.rest);
        whole.push_str(text);
        let mut lines = Vec::new();
        // Drain only once: saved answers arrive in one piece of many lines.
        let end = whole.rfind('\n').map_or(0, |at| at + 1);
        self.rest = whole.split_off(end);
        for line in whole.split_terminator('\n') {
            self.line(line.trim_end_matches('\r'), &mut lines);
        }
        while self.rest.len() > limits::LINE {
            lines.extend(self.table.end());
            lines.push(self.give_up_to(limits::LINE));
        }
        lines
    }

    /// The beginning of a line that is not complete.
    pub fn partial(&self) -> &str {
        &self.rest
    }

    /// What may still change: the rows of a table, and the beginning of a line.
    pub fn preview(&self) -> Vec<StyledLine> {
        if self.rest.is_empty() && self.table.is_empty() {
            return Vec::new();
        }
        self.clone().finish()
    }

    /// Returns the incomplete line, because something else is shown in between.
    pub fn finish(&mut self) -> Vec<StyledLine> {
        let rest = std::mem::take(&mut self.rest);
        let mut lines = Vec::new();
        if rest.is_empty() {
            self.continued = None;
        } else {
            self.line(&rest, &mut lines);
        }
        lines.extend(self.table.end());
        lines
    }

    /// Returns the incomplete line; the text ends, and so does a code block that was not closed.
    pub fn end(&mut self) -> Vec<StyledLine> {
        let lines = self.finish();
        *self = Self { verbatim: self.verbatim, ..Self::default() };
        lines
    }

    /// Returns the beginning of the incomplete line, as much as fills this many rows of `width` columns, if the line takes
    /// more. It ends between two words if possible, so that the rest continues on a new row as if it were one line.
    pub fn give_up_rows(&mut self, rows: usize, width: usize) -> Option<StyledLine> {
        if rows == 0 || self.preview().last().is_none_or(|line| line.fold(width).len() <= rows) {
            return None;
        }
        let fits = |at: &usize| {
            let mut begun = self.clone();
            begun.rest.truncate(*at);
            begun.preview().last().is_none_or(|line| line.fold(width).len() <= rows)
        };
        // The row of a word's end only grows with the word, so that the last one that fits can be searched for.
        let words: Vec<usize> = self.rest.match_indices(' ').map(|(at, _)| at + 1).collect();
        let fitting = words.partition_point(fits);
        let spoken = words.get(..fitting).unwrap_or_default();
        // Marks that are open there would be shown as they are, and so would those that close them.
        let complete = |at: &&usize| self.rest.get(..**at).is_some_and(is_balanced);
        let end = spoken.iter().rev().find(complete).or(spoken.last()).copied();
        let characters: Vec<usize> = self.rest.char_indices().map(|(at, _)| at).collect();
        let anywhere = || characters.get(characters.partition_point(fits).saturating_sub(1)).copied();
        Some(self.give_up_to(end.or_else(anywhere).unwrap_or(self.rest.len()).max(1)))
    }

    /// Returns the first bytes of a line that is too long to wait for its end.
    fn give_up_to(&mut self, bytes: usize) -> StyledLine {
        let end = self.rest.ceil_char_boundary(bytes);
        let begin: String = self.rest.drain(..end).collect();
        if let Some(fence) = &mut self.fence {
            self.continued = Some((TextStyle::PLAIN, 0));
            return code(fence.style.line(&begin), &begin, fence.indent);
        }
        let (style, indent) = match self.continued {
            Some(continued) => continued,
            None => continuation(&begin),
        };
        match self.continued.replace((style, indent)) {
            Some(_) => continued_line(style, indent, &begin),
            None if self.verbatim => StyledLine::new(TextStyle::PLAIN, &begin),
            None => block(&begin),
        }
    }

    fn line(&mut self, line: &str, lines: &mut Vec<StyledLine>) {
        if let Some((style, indent)) = self.continued.take() {
            return lines.push(match &mut self.fence {
                Some(fence) => code(fence.style.line(line), line, 0),
                None if self.verbatim => StyledLine::new(TextStyle::PLAIN, line),
                None => continued_line(style, indent, line),
            });
        }
        if self.verbatim {
            return lines.push(StyledLine::new(TextStyle::PLAIN, line));
        }
        if let Some(fence) = &mut self.fence {
            if fence.closes(line) {
                self.fence = None;
            } else {
                lines.push(code(fence.style.line(line), line, fence.indent));
            }
            return;
        }
        if table::is_row(line) {
            return lines.extend(self.table.push(line));
        }
        lines.extend(self.table.end());
        if let Some((fence, language)) = Fence::open(line) {
            self.fence = Some(fence);
            if !language.is_empty() {
                lines.push(StyledLine::new(TextStyle::DIM, &format!("    {language}")));
            }
            return;
        }
        lines.push(block(line));
    }
}

/// The style and the indentation with which a line continues.
fn continuation(begin: &str) -> (TextStyle, usize) {
    let body = begin.trim_start();
    let style = match heading(body) {
        Some((level, _)) => heading_style(level),
        None => TextStyle::PLAIN,
    };
    (style, block(begin).hang())
}

fn continued_line(style: TextStyle, indent: usize, text: &str) -> StyledLine {
    spans(style, text, StyledLine::new(TextStyle::PLAIN, &" ".repeat(indent))).hanging(indent)
}

/// Whether marks of emphasis and code come in pairs.
fn is_balanced(text: &str) -> bool {
    ["`", "**", "_"].iter().all(|mark| text.matches(mark).count() % 2 == 0)
}

impl Fence {
    /// The block that a line opens, and its language.
    fn open(line: &str) -> Option<(Self, &str)> {
        let body = line.trim_start();
        let mark = body.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let length = body.chars().take_while(|c| *c == mark).count();
        let language = body.trim_start_matches(mark).trim();
        if length < 3 || (mark == '`' && language.contains('`')) {
            return None;
        }
        Some((
            Self { mark, length, indent: line.len() - body.len(), style: CodeStyle::of(language) },
            language,
        ))
    }

    fn closes(&self, line: &str) -> bool {
        let body = line.trim();
        body.chars().count() >= self.length && body.chars().all(|c| c == self.mark)
    }
}

/// A line of code, from pieces with their styles; `indent` blanks at its beginning belong to the block around it.
fn code(pieces: Vec<(TextStyle, String)>, text: &str, indent: usize) -> StyledLine {
    let blanks = text.len() - text.trim_start_matches(' ').len();
    let mut skipped = blanks.min(indent);
    let mut line = StyledLine::new(TextStyle::PLAIN, &" ".repeat(CODE_INDENT));
    for (style, piece) in pieces {
        let cut = skipped.min(piece.len());
        skipped -= cut;
        line.push(style, piece.get(cut..).unwrap_or_default());
    }
    line.hanging(CODE_INDENT).verbatim()
}

/// A line outside of code.
fn block(line: &str) -> StyledLine {
    let body = line.trim_start();
    let indent = line.len() - body.len();
    let plain = |text: &str| StyledLine::new(TextStyle::PLAIN, text);
    if let Some((level, text)) = heading(body) {
        return spans(heading_style(level), text, StyledLine::default());
    }
    if is_rule(body) {
        return StyledLine::new(TextStyle::DIM, &"─".repeat(RULE));
    }
    if let Some(quoted) = body.strip_prefix('>') {
        let line = plain(&" ".repeat(indent)).with(TextStyle::DIM, "│ ");
        let italic = TextStyle { italic: true, ..TextStyle::DIM };
        return spans(italic, quoted.trim_start(), line).hanging(indent + 2);
    }
    match item(body) {
        Some((mark, text)) => {
            let line = plain(&" ".repeat(indent)).with(TextStyle::of(Colour::Yellow), &mark);
            spans(TextStyle::PLAIN, text, line).hanging(indent + mark.chars().count())
        }
        None => spans(TextStyle::PLAIN, body, plain(&" ".repeat(indent))).hanging(indent),
    }
}

/// The level of a heading and its text.
fn heading(body: &str) -> Option<(usize, &str)> {
    let text = body.trim_start_matches('#');
    let level = body.len() - text.len();
    let text = text.strip_prefix(' ').filter(|_| (1..=6).contains(&level))?;
    Some((level, text.trim().trim_end_matches('#').trim_end()))
}

/// The higher the level, the more a heading stands out.
fn heading_style(level: usize) -> TextStyle {
    TextStyle { underline: level == 1, italic: level > 2, ..TextStyle::BOLD }
}

fn is_rule(body: &str) -> bool {
    let marks: String = body.chars().filter(|c| *c != ' ').collect();
    marks.len() >= 3 && ['-', '*', '_'].iter().any(|mark| marks.chars().all(|c| c == *mark))
}

/// The mark of a list's item as it is shown, and the item's text.
fn item(body: &str) -> Option<(String, &str)> {
    let bullet = ["- ", "* ", "+ "].iter().find_map(|mark| body.strip_prefix(mark));
    if let Some(text) = bullet {
        let text = text.trim_start();
        return Some(match (text.strip_prefix("[ ] "), text.get(..4)) {
            (Some(task), _) => ("☐ ".to_owned(), task),
            (None, Some("[x] " | "[X] ")) => ("☑ ".to_owned(), text.get(4..).unwrap_or_default()),
            _ => ("• ".to_owned(), text),
        });
    }
    let digits = body.len() - body.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let rest = body.get(digits..).filter(|_| (1..=9).contains(&digits))?;
    let text = rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") "))?;
    Some((body.get(..digits + 2)?.to_owned(), text))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Title\n\nSome *text* with `code`.\n\n- one\n- **two**\n  1. three\n- [x] done\n\n\
        ```rust\nfn main() {\n    body();\n}\n```\n> quoted\n\n---\n| a | b |\n|---|---|\n| 1 | 2 |\nlast";

    fn lines(pieces: &[&str]) -> Vec<StyledLine> {
        let mut markdown = Markdown::default();
        let mut lines: Vec<StyledLine> = pieces.iter().flat_map(|piece| markdown.push(piece)).collect();
        lines.extend(markdown.end());
        lines
    }

    #[test]
    fn blocks_are_distinguished() {
        let rows =
            lines(&[TEXT]).iter().flat_map(|line| line.fold(80)).map(|row| row.plain()).collect::<Vec<_>>();
        let shown: Vec<&str> = rows.iter().map(|row| row.trim_end()).collect();
        insta::assert_snapshot!(shown.join("\n"), @r"
        Title

        Some text with code.

        • one
        • two
          1. three
        ☑ done

            rust
            fn main() {
                body();
            }
        │ quoted

        ────────────────────────
        ┌───┬───┐
        │ a │ b │
        ├───┼───┤
        │ 1 │ 2 │
        └───┴───┘
        last
        ");
    }

    #[test]
    fn splitting_the_text_makes_no_difference() {
        let whole = lines(&[TEXT]);
        for cut in (0..TEXT.len()).filter(|cut| TEXT.is_char_boundary(*cut)) {
            let (one, two) = TEXT.split_at(cut);
            assert_eq!(lines(&[one, two]), whole, "cut at {cut}");
        }
    }

    #[test]
    fn an_incomplete_line_is_styled_as_far_as_it_goes() {
        let mut markdown = Markdown::default();
        assert!(markdown.preview().is_empty() && markdown.push("- some **bo").is_empty());
        assert_eq!(markdown.preview()[0].plain(), "• some **bo");
        assert!(markdown.push("ld**").is_empty());
        assert_eq!(markdown.preview()[0].plain(), "• some bold");
        let line = markdown.push("\nnext").remove(0);
        assert_eq!(line.plain(), "• some bold");
        assert_eq!(markdown.partial(), "next");
    }

    #[test]
    fn the_rows_of_a_table_are_held_until_its_end() {
        let mut markdown = Markdown::default();
        assert!(markdown.push("| a | b |\n|---|---|\n| 1 |").is_empty());
        let rows = markdown.preview()[0].fold(80);
        assert_eq!(rows[3].plain(), "│ 1 │   │");
        assert_eq!(
            markdown.push(" 2 |\n\n").iter().map(StyledLine::plain).collect::<Vec<_>>(),
            ["| a | b |\n| 1 | 2 |", ""]
        );
        assert!(markdown.preview().is_empty());
        let plain = lines(&["| no table |\ntext"]);
        assert_eq!(plain.iter().map(StyledLine::plain).collect::<Vec<_>>(), ["| no table |", "text"]);
    }

    #[test]
    fn a_long_line_is_returned_in_rows_that_read_like_one_line() {
        let text = format!("- {}**bold words** {}end", "word ".repeat(40), "more ".repeat(40));
        let rows = |lines: &[StyledLine]| -> Vec<String> {
            let rows = lines.iter().flat_map(|line| line.fold(30));
            rows.map(|row| row.plain().trim_end().to_owned()).collect()
        };
        let (mut markdown, mut shown) = (Markdown::default(), Vec::new());
        for piece in text.split_inclusive(' ') {
            shown.extend(markdown.push(piece));
            shown.extend(markdown.give_up_rows(3, 30));
            assert!(markdown.preview()[0].fold(30).len() <= 4);
        }
        shown.extend(markdown.push("\n"));
        assert_eq!(rows(&shown), rows(&lines(&[&text])));
        markdown.push("ähnlich");
        assert_eq!(markdown.give_up_rows(1, 3).unwrap().plain(), "ähn", "no character is cut");
        assert_eq!(markdown.push(&"x".repeat(2 * limits::LINE + 1)).len(), 2);
    }

    #[test]
    fn text_that_is_not_markdown_is_shown_as_it_is() {
        let text = "# one\na=__init__ `date` a*b*c\n```\n* two\n> three\n    four";
        let mut markdown = Markdown { verbatim: true, ..Markdown::default() };
        for _ in 0..2 {
            let mut lines = markdown.push(text);
            lines.extend(markdown.end());
            assert_eq!(lines.iter().map(StyledLine::plain).collect::<Vec<_>>().join("\n"), text);
        }
    }

    #[test]
    fn a_fence_ends_only_with_a_matching_one() {
        let shown: Vec<String> =
            lines(&["````\n```\n# no\n````\n# yes\n"]).iter().map(StyledLine::plain).collect();
        assert_eq!(shown, ["    ```", "    # no", "yes"]);
        assert_eq!(lines(&["  ```\n    x\n  ```\n"])[0].plain(), "      x");
        assert_eq!(lines(&["```inline``` text\n"])[0].plain(), "inline text");
    }

    #[test]
    fn escape_sequences_of_agents_are_shown() {
        for text in
            ["a\x1b[2J\n", "```\n\x1b]52;c;x\x07\n", "# \x1b[31m\n", "| \x1b[m |\n", "- \x1b[A\n", "\x1b"]
        {
            for line in lines(&[text]) {
                assert!(!line.fold(80).iter().any(|row| row.ansi(false).contains('\x1b')), "{text:?}");
            }
        }
    }
}
