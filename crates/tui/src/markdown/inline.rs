//! Emphasis, code and links within one line.

use crate::images;
use crate::limits;
use crate::text::{Colour, StyledLine, TextStyle};

/// Adds a text with its emphasis to a line.
pub(super) fn spans(style: TextStyle, text: &str, mut line: StyledLine) -> StyledLine {
    if text.len() > limits::EMPHASIS_LINE {
        line.push(style, text);
    } else {
        add(style, text, &mut line, limits::EMPHASIS_DEPTH);
    }
    line
}

fn add(style: TextStyle, text: &str, line: &mut StyledLine, depth: usize) {
    let mut rest = text;
    let mut before = ' ';
    let mut plain = String::new();
    while let Some(c) = rest.chars().next() {
        let found = if depth == 0 { None } else { special(style, rest, before) };
        if let Some(found) = found {
            line.push(style, &std::mem::take(&mut plain));
            found.show(line, depth);
            before = 'x';
            rest = rest.get(found.length..).unwrap_or_default();
            continue;
        }
        let escaped = c == '\\' && rest.chars().nth(1).is_some_and(|next| next.is_ascii_punctuation());
        let shown = if escaped { rest.chars().nth(1).unwrap_or(c) } else { c };
        plain.push(shown);
        before = shown;
        let length = if escaped { 1 + shown.len_utf8() } else { c.len_utf8() };
        rest = rest.get(length..).unwrap_or_default();
    }
    line.push(style, &plain);
}

/// A piece of text with a style of its own.
struct Found<'t> {
    /// Bytes it takes in the source.
    length: usize,
    style: TextStyle,
    text: &'t str,
    /// Shown as it is.
    literal: bool,
    /// Where a link leads.
    target: Option<&'t str>,
    /// It is an image.
    image: bool,
}

impl Found<'_> {
    fn show(&self, line: &mut StyledLine, depth: usize) {
        if self.image {
            line.push(TextStyle::DIM, images::MARK);
        }
        if self.image && self.text.is_empty() {
            return line.push(self.style, &images::name_of(self.target.unwrap_or_default()));
        }
        if self.literal {
            line.push(self.style, self.text);
        } else {
            add(self.style, self.text, line, depth - 1);
        }
        let target = self.target.filter(|target| *target != self.text && !target.is_empty());
        if let Some(target) = target {
            line.push(TextStyle::DIM, &format!(" ({target})"));
        }
    }
}

fn special<'t>(style: TextStyle, rest: &'t str, before: char) -> Option<Found<'t>> {
    match rest.as_bytes().first()? {
        b'`' => code(style, rest),
        b'*' | b'_' | b'~' => emphasis(style, rest, before),
        b'[' => link(style, rest, 0),
        b'!' if rest.starts_with("![") => link(style, rest, 1),
        b'<' if rest.starts_with("<http") => {
            let end = rest.find('>')?;
            let text = rest.get(1..end)?;
            let style = TextStyle { underline: true, ..style };
            Some(Found { length: end + 1, style, text, literal: true, target: None, image: false })
        }
        _ => None,
    }
}

fn code<'t>(style: TextStyle, rest: &'t str) -> Option<Found<'t>> {
    let ticks = rest.len() - rest.trim_start_matches('`').len();
    let (fence, body) = rest.split_at_checked(ticks)?;
    let mut from = 0;
    loop {
        let at = from + body.get(from..)?.find(fence)?;
        let run = body.get(at..)?;
        let length = run.len() - run.trim_start_matches('`').len();
        if length == ticks {
            let text = body.get(..at)?;
            let inner = text.strip_prefix(' ').and_then(|text| text.strip_suffix(' '));
            let text = inner.filter(|inner| !inner.trim().is_empty()).unwrap_or(text);
            let style = TextStyle { colour: Some(Colour::Cyan), ..style };
            return Some(Found {
                length: at + 2 * ticks,
                style,
                text,
                literal: true,
                target: None,
                image: false,
            });
        }
        from = at + length;
    }
}

fn emphasis<'t>(style: TextStyle, rest: &'t str, before: char) -> Option<Found<'t>> {
    let mark = rest.chars().next()?;
    let run = rest.chars().take_while(|c| *c == mark).count();
    let (width, look) = match (mark, run) {
        ('~', 2) => (2, TextStyle { strike: true, ..style }),
        ('~', _) => return None,
        (_, 1) => (1, TextStyle { italic: true, ..style }),
        (_, 2) => (2, TextStyle { bold: true, ..style }),
        (_, 3) => (3, TextStyle { bold: true, italic: true, ..style }),
        _ => return None,
    };
    let body = rest.get(width..)?;
    // An opening mark precedes a word; underscores within a word are not marks, as in names.
    let opens = body.chars().next().is_some_and(|c| !c.is_whitespace());
    if !opens || (mark == '_' && before.is_alphanumeric()) {
        return None;
    }
    let fence = rest.get(..width)?;
    let mut from = 0;
    loop {
        let at = from + body.get(from..)?.find(fence)?;
        let after = body.get(at..)?;
        let length = after.len() - after.trim_start_matches(mark).len();
        let text = body.get(..at)?;
        let closes = text.chars().last().is_some_and(|c| !c.is_whitespace() && c != '\\')
            && (length == width || (length > width && width < 3 && length >= 3))
            && !(mark == '_' && after.get(length..)?.chars().next().is_some_and(char::is_alphanumeric));
        if closes {
            let length = at + 2 * width;
            return Some(Found { length, style: look, text, literal: false, target: None, image: false });
        }
        from = at + length;
    }
}

fn link<'t>(style: TextStyle, rest: &'t str, skip: usize) -> Option<Found<'t>> {
    let body = rest.get(skip + 1..)?;
    let end = matching(body, '[', ']')?;
    let target = body.get(end + 1..)?.strip_prefix('(')?;
    let close = matching(target, '(', ')')?;
    let length = skip + 1 + end + 2 + close + 1;
    let style = TextStyle { underline: true, ..style };
    let address = target.get(..close)?.split_whitespace().next().unwrap_or_default();
    let (text, image) = (body.get(..end)?, skip > 0);
    Some(Found { length, style, text, literal: false, target: Some(address), image })
}

/// Where the bracket closes that was opened before `text`.
fn matching(text: &str, open: char, close: char) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            _ if c == open => depth += 1,
            _ if c == close && depth == 0 => return Some(at),
            _ if c == close => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line with tags in place of styles.
    fn tagged(text: &str) -> String {
        let line = spans(TextStyle::PLAIN, text, StyledLine::default());
        let row = line.fold(500).remove(0).ansi(true);
        let tags = [("1;3", "bi"), ("1", "b"), ("3", "i"), ("9", "s"), ("36", "c"), ("4", "u"), ("2", "d")];
        tags.iter()
            .fold(row, |row, (code, tag)| row.replace(&format!("\x1b[{code}m"), &format!("<{tag}>")))
            .replace("\x1b[m", "</>")
    }

    #[test]
    fn emphasis_code_and_links() {
        for (text, shown) in [
            ("a **b** c", "a <b>b</> c"),
            ("*a* and _b_", "<i>a</> and <i>b</>"),
            ("***a***", "<bi>a</>"),
            ("**a *b* c**", "<b>a </><bi>b</><b> c</>"),
            ("~~a~~", "<s>a</>"),
            ("`a * b` and ``c ` d``", "<c>a * b</> and <c>c ` d</>"),
            ("[a](http://x)", "<u>a</><d> (http://x)</>"),
            ("![a](x.png \"t\")", "<d>▣ </><u>a</><d> (x.png)</>"),
            ("![image/png]()", "<d>▣ </><u>image/png</>"),
            ("![](https://x/y/z.png?w=1)", "<d>▣ </><u>z.png</>"),
            ("<http://x/>", "<u>http://x/</>"),
            ("[http://x](http://x)", "<u>http://x</>"),
            ("größe **日本** ü", "größe <b>日本</> ü"),
        ] {
            assert_eq!(tagged(text), shown, "{text}");
        }
    }

    #[test]
    fn similar_text_is_not_emphasis() {
        for text in [
            "2 * 3 * 4",
            "snake_case_name",
            "a ** b",
            "*",
            "**",
            "`",
            "[a]",
            "[a](b",
            "a_b_",
            "~a~",
            "5*",
            "<b>",
        ] {
            assert_eq!(tagged(text), text);
        }
        assert_eq!(tagged(r"\*a\* \`b\`"), "*a* `b`");
    }

    #[test]
    fn irregular_lines_take_no_long_time() {
        for text in ["*a".repeat(2000), "[".repeat(4000), "`a``".repeat(1000), "_a *b ".repeat(600)] {
            assert!(!spans(TextStyle::PLAIN, &text, StyledLine::default()).is_empty());
        }
    }
}
