//! Markdown as it streams in: each line is styled once it is complete, and never touched again.
//!
//! [`Markdown::push`] takes pieces split anywhere and returns the complete lines; [`Markdown::partial`] is the rest,
//! shown as it is until its end has arrived. Only markup within a single line is supported, because that can be shown
//! without changing earlier lines.

mod inline;

use crate::limits;
use crate::text::{Colour, StyledLine, TextStyle};
use inline::spans;

/// Columns of a rule.
const RULE: usize = 24;

/// The state between two lines.
#[derive(Debug, Clone, Default)]
pub struct Markdown {
    rest: String,
    fence: Option<Fence>,
    /// The beginning of the incomplete line was returned already.
    continued: bool,
    /// The text is not Markdown: all of it is shown as it is.
    pub verbatim: bool,
}

/// A block of code that has begun.
#[derive(Debug, Clone, Copy)]
struct Fence {
    mark: char,
    length: usize,
    indent: usize,
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
            lines.extend(self.line(line.trim_end_matches('\r')));
        }
        while self.rest.len() > limits::LINE {
            lines.push(self.give_up_to(limits::LINE));
        }
        lines
    }

    /// The beginning of a line that is not complete.
    pub fn partial(&self) -> &str {
        &self.rest
    }

    /// Returns the incomplete line, because something else is shown in between.
    pub fn finish(&mut self) -> Vec<StyledLine> {
        let rest = std::mem::take(&mut self.rest);
        if rest.is_empty() {
            self.continued = false;
            return Vec::new();
        }
        self.line(&rest).into_iter().collect()
    }

    /// Returns the incomplete line; the text ends, and so does a code block that was not closed.
    pub fn end(&mut self) -> Vec<StyledLine> {
        let lines = self.finish();
        *self = Self { verbatim: self.verbatim, ..Self::default() };
        lines
    }

    /// Returns the first bytes of a line that is too long to wait for its end.
    pub fn give_up_to(&mut self, bytes: usize) -> StyledLine {
        let end =
            (0..=bytes.min(self.rest.len())).rev().find(|at| self.rest.is_char_boundary(*at)).unwrap_or(0);
        let begin: String = self.rest.drain(..end).collect();
        self.continued = true;
        match self.fence {
            Some(fence) => code(&begin, fence.indent),
            None => StyledLine::new(TextStyle::PLAIN, &begin).verbatim(),
        }
    }

    fn line(&mut self, line: &str) -> Option<StyledLine> {
        if self.verbatim {
            return Some(StyledLine::new(TextStyle::PLAIN, line));
        }
        if std::mem::take(&mut self.continued) {
            return Some(match self.fence {
                Some(_) => code(line, 0),
                None => spans(TextStyle::PLAIN, line, StyledLine::default()),
            });
        }
        if let Some(fence) = self.fence {
            let closed = fence.closes(line);
            if closed {
                self.fence = None;
            }
            return (!closed).then(|| code(line, fence.indent));
        }
        if let Some((fence, language)) = Fence::open(line) {
            self.fence = Some(fence);
            return (!language.is_empty())
                .then(|| StyledLine::new(TextStyle::DIM, &format!("    {language}")));
        }
        Some(block(line))
    }
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
        Some((Self { mark, length, indent: line.len() - body.len() }, language))
    }

    fn closes(self, line: &str) -> bool {
        let body = line.trim();
        body.chars().count() >= self.length && body.chars().all(|c| c == self.mark)
    }
}

fn code(line: &str, indent: usize) -> StyledLine {
    let blanks = line.len() - line.trim_start_matches(' ').len();
    let text = line.get(blanks.min(indent)..).unwrap_or_default();
    let line = StyledLine::new(TextStyle::PLAIN, "    ").with(TextStyle::of(Colour::Cyan), text);
    line.hanging(4).verbatim()
}

/// A line outside of code.
fn block(line: &str) -> StyledLine {
    let body = line.trim_start();
    let indent = line.len() - body.len();
    let plain = |text: &str| StyledLine::new(TextStyle::PLAIN, text);
    if let Some(text) = heading(body) {
        let style = TextStyle { underline: body.starts_with("# "), ..TextStyle::BOLD };
        return spans(style, text, StyledLine::default());
    }
    if is_rule(body) {
        return StyledLine::new(TextStyle::DIM, &"─".repeat(RULE));
    }
    if let Some(quoted) = body.strip_prefix('>') {
        let line = plain(&" ".repeat(indent)).with(TextStyle::DIM, "│ ");
        let italic = TextStyle { italic: true, ..TextStyle::DIM };
        return spans(italic, quoted.trim_start(), line).hanging(indent + 2);
    }
    if body.starts_with('|') && body.trim_end().ends_with('|') && body.len() > 1 {
        let separator = body.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '));
        let style = if separator { TextStyle::DIM } else { TextStyle::PLAIN };
        return StyledLine::new(style, line).verbatim();
    }
    match item(body) {
        Some((mark, text)) => {
            let line = plain(&" ".repeat(indent)).with(TextStyle::of(Colour::Yellow), &mark);
            spans(TextStyle::PLAIN, text, line).hanging(indent + mark.chars().count())
        }
        None => spans(TextStyle::PLAIN, body, plain(&" ".repeat(indent))).hanging(indent),
    }
}

fn heading(body: &str) -> Option<&str> {
    let text = body.trim_start_matches('#');
    let level = body.len() - text.len();
    let text = text.strip_prefix(' ').filter(|_| (1..=6).contains(&level))?;
    Some(text.trim().trim_end_matches('#').trim_end())
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
        ```rust\nfn main() {\n    body();\n}\n```\n> quoted\n\n---\n| a | b |\n|---|---|\nlast";

    fn lines(pieces: &[&str]) -> Vec<StyledLine> {
        let mut markdown = Markdown::default();
        let mut lines: Vec<StyledLine> = pieces.iter().flat_map(|piece| markdown.push(piece)).collect();
        lines.extend(markdown.end());
        lines
    }

    #[test]
    fn blocks_are_distinguished() {
        let shown: Vec<String> = lines(&[TEXT]).iter().map(StyledLine::plain).collect();
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
        | a | b |
        |---|---|
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
    fn an_incomplete_line_is_raw() {
        let mut markdown = Markdown::default();
        assert!(markdown.push("some **bo").is_empty());
        assert_eq!(markdown.partial(), "some **bo");
        let line = markdown.push("ld**\nnext").remove(0);
        assert_eq!(line, StyledLine::new(TextStyle::PLAIN, "some ").with(TextStyle::BOLD, "bold"));
        assert_eq!(markdown.partial(), "next");
    }

    #[test]
    fn a_long_line_is_returned_in_parts() {
        let mut markdown = Markdown::default();
        markdown.push("- ähnlich wie immer");
        assert_eq!(markdown.give_up_to(3).plain(), "- ", "no character is cut");
        assert_eq!(markdown.partial(), "ähnlich wie immer");
        assert_eq!(
            markdown.push("\n- next\n").iter().map(StyledLine::plain).collect::<Vec<_>>(),
            ["ähnlich wie immer", "• next"]
        );
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
