//! Text on a terminal that shows ASCII only.

use super::columns;
use std::borrow::Cow;
use unicode_segmentation::UnicodeSegmentation;

/// The characters that this program draws with, and what stands for them.
const DRAWN: [(&str, &str); 16] = [
    ("─", "-"),
    ("│┃▌", "|"),
    ("┌┬┐├┼┤└┴┘", "+"),
    ("›▸", ">"),
    ("•☐", "*"),
    ("☑✓", "+"),
    ("✗", "x"),
    ("·—–⋯", "-"),
    ("…", "."),
    ("“”„", "\""),
    ("‘’", "'"),
    ("∴", "~"),
    ("▣", "#"),
    ("→", ">"),
    ("←", "<"),
    ("×", "x"),
];

/// The text with a character of ASCII for each other one; it takes as many columns.
pub fn ascii(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for grapheme in text.graphemes(true) {
        if grapheme.is_ascii() {
            out.push_str(grapheme);
            continue;
        }
        match DRAWN.iter().find(|(drawn, _)| drawn.contains(grapheme)) {
            Some((_, ascii)) => out.push_str(ascii),
            None => out.push_str(&"?".repeat(columns(grapheme))),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_has_one_of_ascii() {
        assert_eq!(ascii("› a — “b” … ✓ │ ┼"), "> a - \"b\" . + | +");
        assert_eq!((ascii("日本 é"), ascii("plain")), ("???? ?".into(), "plain".into()));
        for (drawn, ascii) in DRAWN {
            assert!(drawn.graphemes(true).all(|drawn| columns(drawn) == columns(ascii)), "{drawn}");
        }
    }
}
