//! Code in colours: comments, texts, numbers, keywords, names.
//!
//! One small lexer for all languages, which differ only in a table ([`languages`]). It keeps what is open at the end of a
//! line, so that each line is styled once, as it arrives.

mod languages;

use crate::limits;
use crate::text::{Colour, TextStyle};
use languages::{LANGUAGES, Language};

/// The style of the lines of a block of code.
#[derive(Debug, Clone, Default)]
pub(super) struct CodeStyle {
    language: Option<&'static Language>,
    /// The style and the end of a text or a comment of several lines that is open.
    open: Option<(TextStyle, &'static str)>,
}

const COMMENT: TextStyle = TextStyle { italic: true, ..TextStyle::DIM };
const TEXT: TextStyle = TextStyle::of(Colour::Green);
const NUMBER: TextStyle = TextStyle::of(Colour::Cyan);
const KEYWORD: TextStyle = TextStyle::of(Colour::Magenta);
const NAME: TextStyle = TextStyle::of(Colour::Blue);
/// Code in a language that is not known.
const UNKNOWN: TextStyle = TextStyle::of(Colour::Cyan);

/// Words that are values in most languages.
const VALUES: [&str; 11] =
    ["True", "False", "None", "true", "false", "null", "nil", "undefined", "self", "this", "NULL"];

/// Pieces of a line with their styles.
type Pieces = Vec<(TextStyle, String)>;

impl CodeStyle {
    /// The style for a language, as it is named after the beginning of the block.
    pub(super) fn of(name: &str) -> Self {
        let name = name.split([' ', ',', '{', ':']).next().unwrap_or_default().to_ascii_lowercase();
        let language = LANGUAGES.iter().find(|language| language.names.contains(&name.as_str()));
        Self { language, open: None }
    }

    /// The pieces of the next line.
    pub(super) fn line(&mut self, line: &str) -> Pieces {
        let Some(language) = self.language.filter(|_| line.len() <= limits::CODE_LINE) else {
            return vec![(UNKNOWN, line.to_owned())];
        };
        if language.is_diff() {
            return vec![(diff_style(line), line.to_owned())];
        }
        let mut pieces = Pieces::new();
        let mut rest = line;
        let mut before = '\n';
        while !rest.is_empty() {
            let (style, length) = self.next(language, rest, before, rest.len() == line.len());
            // Never nothing, and never a part of a character.
            let length = rest.ceil_char_boundary(length.max(1));
            let (piece, after) = rest.split_at(length);
            before = piece.chars().last().unwrap_or(before);
            match pieces.last_mut() {
                Some((last, text)) if *last == style => text.push_str(piece),
                _ => pieces.push((style, piece.to_owned())),
            }
            rest = after;
        }
        pieces
    }

    /// The style and the length of the next piece.
    fn next(&mut self, language: &Language, rest: &str, before: char, first: bool) -> (TextStyle, usize) {
        if let Some((style, end)) = self.open {
            let found = rest.find(end).map(|at| at + end.len());
            if found.is_some() {
                self.open = None;
            }
            return (style, found.unwrap_or(rest.len()));
        }
        // A mark such as `#` or `--` begins a comment only where a word could begin.
        let begins = |mark: &&&str| {
            rest.starts_with(**mark) && (**mark != "#" || before.is_whitespace() || before == ';')
        };
        if language.line_comments.iter().find(begins).is_some() {
            return (COMMENT, rest.len());
        }
        let blocks = language.comments.iter().map(|pair| (COMMENT, pair));
        for (style, [begin, end]) in blocks.chain(language.texts.iter().map(|pair| (TEXT, pair))) {
            if rest.starts_with(begin) {
                self.open = Some((style, end));
                return (style, begin.len());
            }
        }
        let c = rest.chars().next().unwrap_or(' ');
        match c {
            '"' | '\'' | '`' if language.quotes.contains(c) => quoted(language, rest, c),
            '$' if language.is_shell() => (NUMBER, variable(rest)),
            '0'..='9' if !is_word(before) => (NUMBER, run(rest, |c| is_word(c) || c == '.')),
            _ if is_word(c) => word(language, rest, before, first),
            _ => (TextStyle::PLAIN, run(rest, |other| other.is_whitespace() && c.is_whitespace())),
        }
    }
}

/// A text within a line; of JSON and similar languages, a key is a name.
fn quoted(language: &Language, rest: &str, quote: char) -> (TextStyle, usize) {
    let mut escaped = false;
    let end = rest.char_indices().skip(1).find(|(_, c)| {
        let ends = *c == quote && !escaped;
        escaped = *c == '\\' && !escaped;
        ends
    });
    let Some((end, _)) = end else {
        // A lone apostrophe is a lifetime of Rust, or a quote in prose.
        return if quote == '\'' { (TextStyle::PLAIN, 1) } else { (TEXT, rest.len()) };
    };
    if quote == '\'' && language.has_characters && end > 11 {
        return (TextStyle::PLAIN, 1);
    }
    let is_key =
        language.has_keys && rest.get(end + 1..).is_some_and(|rest| rest.trim_start().starts_with(':'));
    (if is_key { NAME } else { TEXT }, end + 1)
}

/// A word: a keyword, a value, the name of a type or of a function that is called, or a key.
fn word(language: &Language, rest: &str, before: char, first: bool) -> (TextStyle, usize) {
    let dashed = |c: char| is_word(c) || (language.has_keys && matches!(c, '-' | '.'));
    let length = run(rest, dashed);
    let (word, after) = rest.split_at(length);
    let is_keyword = |word: &str| language.keywords.split(' ').any(|keyword| keyword == word);
    let is_type = word.chars().next().is_some_and(char::is_uppercase) && word.chars().any(char::is_lowercase);
    let style = match word {
        _ if before == '.' && !after.starts_with('(') => TextStyle::PLAIN,
        _ if VALUES.contains(&word) => NUMBER,
        _ if is_keyword(word) || is_keyword(&word.to_ascii_lowercase()) && language.ignores_case => KEYWORD,
        _ if language.has_keys && is_key(after, before, first) => NAME,
        _ if language.has_keys || language.is_shell() => TextStyle::PLAIN,
        _ if is_type || after.starts_with('(') || after.starts_with("!(") => NAME,
        _ if language.is_markup() && matches!(before, '<' | '/') => NAME,
        _ => TextStyle::PLAIN,
    };
    (style, length)
}

/// Whether a word of a configuration is a key.
fn is_key(after: &str, before: char, first: bool) -> bool {
    let after = after.trim_start();
    let begins = first || before.is_whitespace() || matches!(before, '{' | '[' | ',');
    begins && (after.starts_with(": ") || after == ":" || after.starts_with('=') || before == '[')
}

/// The bytes of a variable of the shell.
fn variable(rest: &str) -> usize {
    match rest.as_bytes().get(1) {
        Some(b'{') => rest.find('}').map_or(rest.len(), |at| at + 1),
        Some(b'a'..=b'z' | b'A'..=b'Z' | b'_') => {
            1 + rest.get(1..).map_or(0, |name| name.find(|c: char| !is_word(c)).unwrap_or(name.len()))
        }
        Some(b'0'..=b'9' | b'?' | b'@' | b'#' | b'*' | b'$' | b'!') => 2,
        _ => 1,
    }
}

/// The bytes of the first character and of those after it for which `belongs` holds.
fn run(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.char_indices().skip(1).find(|(_, c)| !belongs(*c)).map_or(text.len(), |(at, _)| at)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn diff_style(line: &str) -> TextStyle {
    match line.as_bytes().first() {
        _ if line.starts_with("+++") || line.starts_with("---") || line.starts_with("diff ") => {
            TextStyle::BOLD
        }
        Some(b'+') => TextStyle::of(Colour::Green),
        Some(b'-') => TextStyle::of(Colour::Red),
        Some(b'@') => TextStyle::of(Colour::Cyan),
        _ => TextStyle::PLAIN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines with a letter in front of each styled piece.
    fn marked(language: &str, lines: &[&str]) -> Vec<String> {
        let mut style = CodeStyle::of(language);
        let mark = |(style, text): &(TextStyle, String)| {
            let mark = match *style {
                COMMENT => "c",
                TEXT => "t",
                NUMBER => "n",
                KEYWORD => "k",
                NAME => "f",
                _ => return text.clone(),
            };
            format!("‹{mark} {text}›")
        };
        lines.iter().map(|line| style.line(line).iter().map(mark).collect()).collect()
    }

    #[test]
    fn programs_have_keywords_names_texts_numbers_and_comments() {
        assert_eq!(
            marked(
                "rust",
                &["fn main() { let x: &'a str = \"a \\\" b\"; } // 'c", "/* one", "two */ Vec::new(0x1f)"]
            ),
            [
                "‹k fn› ‹f main›() { ‹k let› x: &'a str = ‹t \"a \\\" b\"›; } ‹c // 'c›",
                "‹c /* one›",
                "‹c two */› ‹f Vec›::‹f new›(‹n 0x1f›)",
            ]
        );
        assert_eq!(
            marked("py", &["def f(x):  # why", "    \"\"\"One", "    two\"\"\"", "    return None"]),
            [
                "‹k def› ‹f f›(x):  ‹c # why›",
                "    ‹t \"\"\"One›",
                "‹t     two\"\"\"›",
                "    ‹k return› ‹n None›",
            ]
        );
        assert_eq!(marked("sql", &["SELECT 1 -- x"]), ["‹k SELECT› ‹n 1› ‹c -- x›"]);
        assert_eq!(
            marked("bash", &["if [ $# -gt 1 ]; then echo \"$x\" $HOME; fi # c"]),
            ["‹k if› [ ‹n $#› -gt ‹n 1› ]; ‹k then› ‹k echo› ‹t \"$x\"› ‹n $HOME›; ‹k fi› ‹c # c›"]
        );
    }

    #[test]
    fn configurations_have_keys() {
        assert_eq!(
            marked("json", &["{\"a\": [1, \"b\", true]}"]),
            ["{‹f \"a\"›: [‹n 1›, ‹t \"b\"›, ‹n true›]}"]
        );
        assert_eq!(
            marked("toml", &["[a.b]", "key-1 = \"x\" # c"]),
            ["[‹f a.b›]", "‹f key-1› = ‹t \"x\"› ‹c # c›"]
        );
        assert_eq!(marked("yaml", &["- name: x"]), ["- ‹f name›: x"]);
    }

    #[test]
    fn other_languages_have_one_colour() {
        let mut other = CodeStyle::of("brainfuck");
        assert_eq!(other.line("fn x"), [(UNKNOWN, "fn x".to_owned())]);
        assert_eq!(CodeStyle::of("diff").line("- x"), [(TextStyle::of(Colour::Red), "- x".to_owned())]);
        assert!(CodeStyle::of("rust,ignore").language.is_some());
    }

    #[test]
    fn no_text_is_lost() {
        let odd = [
            "\"",
            "'",
            "'ü'",
            "\\",
            "$",
            "${",
            "$ü",
            "/*",
            "*/",
            "é\"é",
            "0.",
            "a.b(",
            "'''",
            "日本(x)",
            "`",
            "#",
            "<!-- x",
        ];
        for language in LANGUAGES {
            let mut style = CodeStyle::of(language.names[0]);
            for line in odd.iter().map(|odd| (*odd).to_owned()).chain([odd.concat(), odd.join(" ")]) {
                let pieces = style.line(&line);
                assert_eq!(pieces.iter().map(|(_, text)| text.as_str()).collect::<String>(), line);
            }
        }
    }
}
