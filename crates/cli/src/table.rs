//! Tables of text for people, and the formats of their cells.

use std::borrow::Cow;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use swb_vt::printable;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Lays out rows in columns, two spaces apart; the last column is not padded. A cell stays on its line, with any text
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

/// A column of a table that has to fit a terminal.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) title: &'static str,
    pub(crate) cells: Vec<String>,
    pub(crate) fit: Fit,
}

/// What becomes of a column that leaves no room for the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fit {
    /// It stays as it is.
    Whole,
    /// Its cells lose their ends.
    End,
    /// Its cells lose their beginnings: the end of a path identifies it best.
    Beginning,
    /// It is left out; the lowest number goes first.
    Leave(u8),
}

/// Columns that a cell keeps when it is cut: less would say nothing.
const CUT: usize = 12;

/// Lays out columns in lines of at most `width` columns, if it is given: cuts cells first, then leaves columns out, and cuts
/// whole lines where even that is not enough.
pub(crate) fn fitted(mut columns: Vec<Column>, width: Option<usize>) -> String {
    for column in &mut columns {
        column.cells.iter_mut().for_each(|cell| *cell = printable(cell).into_owned());
    }
    if let Some(width) = width {
        while !cut_cells(&mut columns, width) {
            let next = columns.iter().enumerate().filter_map(|(n, column)| match column.fit {
                Fit::Leave(order) => Some((order, n)),
                _ => None,
            });
            let Some((_, n)) = next.min() else { break };
            columns.remove(n);
        }
    }
    let rows = columns.first().map_or(0, |column| column.cells.len());
    let mut out = String::new();
    for row in std::iter::once(None).chain((0..rows).map(Some)) {
        let mut line = String::new();
        for column in &columns {
            let cell = match row {
                None => column.title,
                Some(row) => column.cells.get(row).map_or("", String::as_str),
            };
            line.push_str(cell);
            let padding = column.width().saturating_sub(cell.width()) + GAP;
            line.extend(std::iter::repeat_n(' ', padding));
        }
        out.push_str(cut(line.trim_end(), width.unwrap_or(usize::MAX)));
        out.push('\n');
    }
    out
}

/// Columns between two columns of a table.
const GAP: usize = 2;

impl Column {
    fn width(&self) -> usize {
        self.cells.iter().map(|cell| cell.width()).chain([self.title.width()]).max().unwrap_or(0)
    }
}

/// Cuts the cells that may be cut until the columns fit; false if they cannot.
fn cut_cells(columns: &mut [Column], width: usize) -> bool {
    for fit in [Fit::End, Fit::Beginning] {
        let total: usize =
            columns.iter().map(Column::width).sum::<usize>() + columns.len().saturating_sub(1) * GAP;
        let over = total.saturating_sub(width);
        for column in columns.iter_mut().filter(|column| column.fit == fit && over > 0) {
            // No shorter than its title, whose cells would then not be its widest.
            let room = column.width().saturating_sub(over).max(CUT).max(column.title.width());
            column.cells.iter_mut().for_each(|cell| *cell = shortened(cell, room, fit));
        }
    }
    columns.iter().map(Column::width).sum::<usize>() + columns.len().saturating_sub(1) * GAP <= width
}

/// A cell in at most `room` columns; an ellipsis is in place of what is left out.
fn shortened(cell: &str, room: usize, fit: Fit) -> String {
    if cell.width() <= room {
        return cell.to_owned();
    }
    match fit {
        Fit::Beginning => {
            let (mut used, mut start) = (1, cell.len());
            for (at, c) in cell.char_indices().rev() {
                used += c.width().unwrap_or(0);
                if used > room {
                    break;
                }
                start = at;
            }
            format!("…{}", cell.get(start..).unwrap_or_default())
        }
        _ => format!("{}…", cut(cell, room.saturating_sub(1))),
    }
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

/// A number of things, such as `1 message` or `2 messages`.
pub(crate) fn count(number: u64, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
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

    fn column(title: &'static str, fit: Fit, cells: &[&str]) -> Column {
        Column { title, fit, cells: cells.iter().map(|cell| (*cell).to_owned()).collect() }
    }

    #[test]
    fn a_table_fits_its_terminal() {
        let columns = vec![
            column("NAME", Fit::Whole, &["api", "größe"]),
            column("PID", Fit::Leave(0), &["4711", "1"]),
            column("AGE", Fit::Leave(1), &["1h", "2m"]),
            column("WORKSPACE", Fit::Beginning, &["~/a/very/long/way/to/api", "/srv"]),
            column("COMMAND", Fit::End, &["claude --resume --continue", "日本語日本語日本語 x"]),
        ];
        let at = |width| fitted(columns.clone(), width);
        insta::assert_snapshot!(at(None), @r"
        NAME   PID   AGE  WORKSPACE                 COMMAND
        api    4711  1h   ~/a/very/long/way/to/api  claude --resume --continue
        größe  1     2m   /srv                      日本語日本語日本語 x
        ");
        insta::assert_snapshot!(at(Some(60)), @r"
        NAME   PID   AGE  WORKSPACE                 COMMAND
        api    4711  1h   ~/a/very/long/way/to/api  claude --resume…
        größe  1     2m   /srv                      日本語日本語日…
        ");
        insta::assert_snapshot!(at(Some(48)), @r"
        NAME   PID   AGE  WORKSPACE         COMMAND
        api    4711  1h   …long/way/to/api  claude --re…
        größe  1     2m   /srv              日本語日本…
        ");
        for width in 1..80 {
            let text = at(Some(width));
            assert!(text.lines().all(|line| line.width() <= width), "{width}: {text}");
        }
        assert!(!at(Some(40)).contains("PID") && at(Some(40)).contains("AGE"), "{}", at(Some(40)));
        assert_eq!(fitted(Vec::new(), Some(10)), "\n");
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
    fn one_thing_is_not_several() {
        assert_eq!([0, 1, 2].map(|number| count(number, "byte")), ["0 bytes", "1 byte", "2 bytes"]);
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
