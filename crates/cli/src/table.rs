//! Columns of text for people.

use std::fmt::Write;

/// Lays out rows in columns, two spaces apart; the last column is as long as it is.
pub(crate) fn layout<const N: usize>(header: [&str; N], rows: &[[String; N]]) -> String {
    let mut widths = header.map(width);
    for row in rows {
        for (column, cell) in widths.iter_mut().zip(row) {
            *column = (*column).max(width(cell));
        }
    }
    let mut out = String::new();
    let header = header.map(str::to_owned);
    for row in std::iter::once(&header).chain(rows) {
        let mut line = String::new();
        for (cell, column) in row.iter().zip(widths) {
            let padding = column - width(cell) + 2;
            // Writing to a string cannot fail.
            let _ = write!(line, "{cell}{:padding$}", "");
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// Tells how long ago something was, roughly.
pub(crate) fn age(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86400),
    }
}

/// Shows a command line so that a shell would take it, and nothing in it can move the cursor.
pub(crate) fn command_line(argv: &[String]) -> String {
    argv.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// Makes text from elsewhere harmless for a terminal.
pub(crate) fn printable(text: &str) -> String {
    text.chars()
        .flat_map(|c| if c.is_control() { c.escape_default().collect::<Vec<_>>() } else { vec![c] })
        .collect()
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", printable(&word.replace('\'', r"'\''")))
}

fn width(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows =
            [["api".into(), "running".into(), "claude".into()], ["größe".into(), "x".into(), String::new()]];
        insta::assert_snapshot!(layout(["NAME", "STATUS", "COMMAND"], &rows), @r"
        NAME   STATUS   COMMAND
        api    running  claude
        größe  x
        ");
    }

    #[test]
    fn ages_are_short() {
        let ages: Vec<String> = [0, 59, 60, 3599, 3600, 86399, 86400, 864_000].map(age).into();
        assert_eq!(ages, ["0s", "59s", "1m", "59m", "1h", "23h", "1d", "10d"]);
    }

    #[test]
    fn command_lines_are_quoted() {
        let argv: Vec<String> = ["sh", "-c", "echo it's", "a\x1b[2Jb", ""].map(str::to_owned).into();
        assert_eq!(command_line(&argv), r"sh -c 'echo it'\''s' 'a\u{1b}[2Jb' ''");
    }
}
