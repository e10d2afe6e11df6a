//! Tables of text for people, and the formats of their cells.

use std::borrow::Cow;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use swb_vt::printable;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Lays out rows in columns, two spaces apart; the last column is not padded. A cell stays on its line, whatever is
/// in it.
pub(crate) fn layout<const N: usize>(header: [&str; N], rows: &[[String; N]]) -> String {
    let rows: Vec<[Cow<'_, str>; N]> =
        rows.iter().map(|row| row.each_ref().map(|cell| printable(cell))).collect();
    let mut widths = header.map(UnicodeWidthStr::width);
    for row in &rows {
        for (column, cell) in widths.iter_mut().zip(row) {
            *column = (*column).max(cell.width());
        }
    }
    let mut out = String::new();
    let header = header.map(Cow::Borrowed);
    for row in std::iter::once(&header).chain(&rows) {
        let mut line = String::new();
        let mut padding = 0;
        for (cell, column) in row.iter().zip(widths) {
            // A cell may be wider than what a format string can pad to.
            line.extend(std::iter::repeat_n(' ', padding));
            line.push_str(cell);
            padding = column - cell.width() + 2;
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// Unix seconds.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// A rough age, such as `5m`.
pub(crate) fn age(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86400),
    }
}

/// Quotes a command line for a shell, with characters that act on a terminal escaped.
pub(crate) fn command_line(argv: &[String]) -> String {
    argv.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// Writes `~` for the home directory.
pub(crate) fn short_path(path: &str, home: &Path) -> String {
    match Path::new(path).strip_prefix(home) {
        Ok(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Ok(rest) => format!("~/{}", rest.display()),
        Err(_) => path.to_owned(),
    }
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", printable(&word.replace('\'', r"'\''")))
}

/// As much of a line as fits into `columns`.
pub(crate) fn cut(line: &str, columns: usize) -> &str {
    let mut used = 0;
    let over = line.char_indices().find(|(_, c)| {
        used += c.width().unwrap_or(0);
        used > columns
    });
    over.map_or(line, |(end, _)| line.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = [
            ["api".into(), "running".into(), "claude".into()],
            ["größe".into(), "x".into(), String::new()],
            ["日本".into(), "x".into(), "sh".into()],
            ["a\nb\u{9b}".into(), "x".into(), "sh".into()],
        ];
        insta::assert_snapshot!(layout(["NAME", "STATUS", "COMMAND"], &rows), @r"
        NAME        STATUS   COMMAND
        api         running  claude
        größe       x
        日本        x        sh
        a\nb\u{9b}  x        sh
        ");
    }

    #[test]
    fn cells_may_be_very_wide() {
        let rows = [["x".repeat(100_000), "y".repeat(100_000)], ["a".into(), "b".into()]];
        let lines = layout(["ONE", "TWO"], &rows);
        let widths: Vec<usize> = lines.lines().map(str::len).collect();
        assert_eq!(widths, [100_005, 200_002, 100_003]);
    }

    #[test]
    fn lines_are_cut_where_the_screen_ends() {
        assert_eq!((cut("abcdef", 4), cut("abc", 4), cut("größer", 4)), ("abcd", "abc", "größ"));
        assert_eq!((cut("日本語", 5), cut("日本語", 1), cut("e\u{301}x", 1)), ("日本", "", "e\u{301}"));
    }

    #[test]
    fn ages_are_short() {
        let ages: Vec<String> = [0, 59, 60, 3599, 3600, 86399, 86400, 864_000].map(age).into();
        assert_eq!(ages, ["0s", "59s", "1m", "59m", "1h", "23h", "1d", "10d"]);
    }

    #[test]
    fn paths_begin_at_home() {
        let home = Path::new("/home/u");
        let paths = ["/home/u", "/home/u/api", "/home/user", "/srv"].map(|path| short_path(path, home));
        assert_eq!(paths, ["~", "~/api", "/home/user", "/srv"]);
    }

    #[test]
    fn command_lines_are_quoted() {
        let argv: Vec<String> = ["sh", "-c", "echo it's", "a\x1b[2Jb", ""].map(str::to_owned).into();
        assert_eq!(command_line(&argv), r"sh -c 'echo it'\''s' 'a\u{1b}[2Jb' ''");
    }
}
