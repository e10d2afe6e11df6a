//! The tools that read and write files, without approvals. All of it blocks on the disk.

use super::ToolOutput;
use super::arguments::{EditFile, ListFiles, ReadFile, Search, WriteFile};
use crate::llm::limits;
use crate::workspace_fs::limits::FILE;
use crate::workspace_fs::{ListQuery, SearchQuery, WorkspaceFs};
use std::path::PathBuf;
use swb_chat::ToolContent;

/// A file, or some lines of it.
pub(super) fn read(fs: &WorkspaceFs, ask: &ReadFile) -> Result<ToolOutput, String> {
    let text = fs.read(&ask.path).map_err(|error| error.to_string())?;
    lines_of(&text, ask.first_line.unwrap_or(1).max(1), ask.lines).map(ToolOutput::text)
}

/// Lines of a text, with a note if they are not all.
fn lines_of(text: &str, first: usize, most: Option<usize>) -> Result<String, String> {
    let total = text.lines().count();
    if first > total.max(1) {
        return Err(format!("there are only {total} lines"));
    }
    let mut shown = String::new();
    let mut last = first - 1;
    // An empty range would look like a line that is too long.
    let most = most.map_or(usize::MAX, |most| most.max(1));
    for line in text.split_inclusive('\n').skip(first - 1).take(most) {
        if shown.len() + line.len() > limits::RESULT_BYTES {
            break;
        }
        shown.push_str(line);
        last += 1;
    }
    if last < first && total > 0 {
        // A single line that exceeds the limit: return its beginning.
        let line = text.lines().nth(first - 1).unwrap_or_default();
        let cut = line.floor_char_boundary(limits::RESULT_BYTES);
        return Ok(format!("{}\n[line {first} is cut after {cut} of {} bytes]", &line[..cut], line.len()));
    }
    if first > 1 || last < total {
        let gap = if shown.ends_with('\n') { "" } else { "\n" };
        shown.push_str(&format!("{gap}[lines {first} to {last} of {total}]"));
    }
    Ok(shown)
}

/// Writes a file.
pub(super) fn write(fs: &WorkspaceFs, ask: &WriteFile) -> Result<ToolOutput, String> {
    let old = fs.write(&ask.path, &ask.content).map_err(|error| error.to_string())?;
    let what = if old.is_some() { "replaced" } else { "made" };
    Ok(changed(format!("{what} {}", ask.path), &ask.path, old, ask.content.clone()))
}

/// Replaces text in a file.
pub(super) fn edit(fs: &WorkspaceFs, ask: &EditFile) -> Result<ToolOutput, String> {
    let (old, new, count) = edited(fs, ask)?;
    fs.write(&ask.path, &new).map_err(|error| error.to_string())?;
    let times = if count == 1 { String::new() } else { format!(" in {count} places") };
    Ok(changed(format!("edited {}{times}", ask.path), &ask.path, Some(old), new))
}

/// Whether an edit is possible, before the user is asked.
pub(super) fn check_edit(fs: &WorkspaceFs, ask: &EditFile) -> Result<(), String> {
    fs.check_write(&ask.path).map_err(|error| error.to_string())?;
    edited(fs, ask).map(drop)
}

/// Whether a file can be written, before the user is asked.
pub(super) fn check_write(fs: &WorkspaceFs, ask: &WriteFile) -> Result<(), String> {
    fs.check_write(&ask.path).map_err(|error| error.to_string())
}

/// A file before and after an edit, and the number of replacements.
fn edited(fs: &WorkspaceFs, ask: &EditFile) -> Result<(String, String, usize), String> {
    let text = fs.read(&ask.path).map_err(|error| error.to_string())?;
    // Models write LF, even if the file has CR LF.
    let windows = text.contains("\r\n") && !ask.old_text.contains('\r');
    let fitted = |part: &str| if windows { part.replace('\n', "\r\n") } else { part.to_owned() };
    let (old, new) = (fitted(&ask.old_text), fitted(&ask.new_text));
    match text.matches(&old).count() {
        0 => Err(format!("old_text does not occur in {}", ask.path)),
        count if count > 1 && ask.all != Some(true) => {
            Err(format!("old_text occurs {count} times in {}; include more around it, or set all", ask.path))
        }
        count => {
            // Checked before it is built: replacing a frequent letter with a long text could take more memory than there
            // is.
            let len = (text.len() - count * old.len()).saturating_add(count.saturating_mul(new.len()));
            if len as u64 > FILE {
                return Err(format!("{} would have {len} bytes; {FILE} are the most", ask.path));
            }
            let new = text.replace(&old, &new);
            Ok((text, new, count))
        }
    }
}

fn changed(words: String, path: &str, old: Option<String>, new: String) -> ToolOutput {
    let bytes = new.len() + old.as_ref().map_or(0, String::len);
    let diff = ToolContent::Diff { path: PathBuf::from(path), old, new };
    let content = if bytes <= limits::DIFF_BYTES { vec![diff] } else { Vec::new() };
    ToolOutput { text: words, content, error: None }
}

/// Lists files; directories end with a slash.
pub(super) fn list(fs: &WorkspaceFs, ask: &ListFiles) -> Result<ToolOutput, String> {
    let query =
        ListQuery { path: ask.path.clone().unwrap_or_default(), glob: ask.pattern.clone(), depth: ask.depth };
    let listing = fs.list(&query).map_err(|error| error.to_string())?;
    let slash = |directory: bool| if directory { "/" } else { "" };
    let lines = listing.entries.iter().map(|entry| format!("{}{}", entry.path, slash(entry.directory)));
    Ok(ToolOutput::text(report(lines, listing.truncated, "no files")))
}

/// Searches for lines.
pub(super) fn search(fs: &WorkspaceFs, ask: &Search) -> Result<ToolOutput, String> {
    let query = SearchQuery {
        pattern: ask.pattern.clone(),
        literal: ask.literal.unwrap_or(false),
        ignore_case: ask.ignore_case.unwrap_or(false),
        path: ask.path.clone().unwrap_or_default(),
        glob: ask.files.clone(),
    };
    let found = fs.search(&query).map_err(|error| error.to_string())?;
    let lines = found.matches.iter().map(|hit| format!("{}:{}:{}", hit.path, hit.line, hit.text));
    Ok(ToolOutput::text(report(lines, found.truncated, "nothing found")))
}

/// Joins lines up to the limit of a result, with a note if there are more.
fn report(lines: impl Iterator<Item = String>, mut more: bool, nothing: &str) -> String {
    let mut text = String::new();
    for line in lines {
        if text.len() + line.len() >= limits::RESULT_BYTES {
            more = true;
            break;
        }
        text.push_str(&line);
        text.push('\n');
    }
    if text.is_empty() {
        text.push_str(nothing);
        text.push('\n');
    }
    if more {
        text.push_str("[there is more; ask for less at once]\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use swb_chat::Workspace;
    use swb_types::Timestamp;

    fn fs() -> (tempfile::TempDir, WorkspaceFs) {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::new(dir.path(), Timestamp(0));
        let fs = WorkspaceFs::new(&workspace, dir.path(), 0o022, &[]);
        (dir, fs)
    }

    fn edit_of(old: &str, new: &str, all: Option<bool>) -> EditFile {
        EditFile { path: "f".into(), old_text: old.into(), new_text: new.into(), all }
    }

    #[test]
    fn files_are_read_in_pieces() {
        assert_eq!(lines_of("a\nb\nc", 1, None).unwrap(), "a\nb\nc");
        assert_eq!(lines_of("", 1, None).unwrap(), "");
        assert_eq!(lines_of("a\nb\nc\n", 2, Some(1)).unwrap(), "b\n[lines 2 to 2 of 3]");
        assert_eq!(lines_of("a\nb\nc", 3, Some(9)).unwrap(), "c\n[lines 3 to 3 of 3]");
        assert_eq!(lines_of("a\nb\nc", 2, Some(0)).unwrap(), "b\n[lines 2 to 2 of 3]");
        assert_eq!(lines_of("a\nb\n", 3, None).unwrap_err(), "there are only 2 lines");
        let long = "0123456789\n".repeat(10_000);
        let cut = lines_of(&long, 1, None).unwrap();
        assert!(
            cut.len() < limits::RESULT_BYTES + 100 && cut.ends_with("[lines 1 to 5957 of 10000]"),
            "{}",
            &cut[cut.len() - 60..]
        );
        let wide = lines_of(&"é".repeat(limits::RESULT_BYTES), 1, None).unwrap();
        assert!(wide.contains("[line 1 is cut after 65536 of 131072 bytes]"));
    }

    #[test]
    fn edits_replace_a_unique_match_or_all() {
        let (dir, fs) = fs();
        let file = dir.path().join("f");
        fs::write(&file, "one two two\n").unwrap();
        assert!(edit(&fs, &edit_of("three", "x", None)).unwrap_err().contains("does not occur"));
        assert!(edit(&fs, &edit_of("two", "x", None)).unwrap_err().contains("occurs 2 times"));
        assert!(check_edit(&fs, &edit_of("two", "x", None)).is_err());
        assert!(check_edit(&fs, &edit_of("one", "x", None)).is_ok());
        let done = edit(&fs, &edit_of("two", "2", Some(true))).unwrap();
        assert_eq!(
            (done.text.as_str(), fs::read_to_string(&file).unwrap().as_str()),
            ("edited f in 2 places", "one 2 2\n")
        );
        let diff = ToolContent::Diff {
            path: "f".into(),
            old: Some("one two two\n".into()),
            new: "one 2 2\n".into(),
        };
        assert_eq!(done.content, [diff]);
        fs::write(&file, "a\r\nb\r\nc\r\n").unwrap();
        edit(&fs, &edit_of("a\nb\n", "x\n", None)).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "x\r\nc\r\n");
        edit(&fs, &edit_of("x\r\n", "y\n", None)).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "y\nc\r\n", "a model that knows of them is obeyed");
    }

    #[test]
    fn diffs_of_long_files_are_omitted() {
        let (_dir, fs) = fs();
        let shown = |bytes: usize| {
            let ask = WriteFile { path: bytes.to_string(), content: "x".repeat(bytes) };
            write(&fs, &ask).unwrap().content.len()
        };
        assert_eq!((shown(limits::DIFF_BYTES), shown(limits::DIFF_BYTES + 1)), (1, 0));
    }

    #[test]
    fn an_edit_cannot_exceed_the_file_size_limit() {
        let (dir, fs) = fs();
        let lines = "a\n".repeat(1 << 10);
        fs::write(dir.path().join("f"), &lines).unwrap();
        let long = edit_of("a", &"x".repeat(1 << 14), Some(true));
        for refused in [check_edit(&fs, &long).unwrap_err(), edit(&fs, &long).unwrap_err()] {
            assert!(refused.contains("would have 16778240 bytes"), "{refused}");
        }
        assert_eq!(fs::read_to_string(dir.path().join("f")).unwrap(), lines);
        check_edit(&fs, &edit_of("a", "xx", Some(true))).unwrap();
    }

    #[test]
    fn files_are_written_listed_and_searched() {
        let (dir, fs) = fs();
        let ask = WriteFile { path: "sub/new.rs".into(), content: "fn main() {}\n".into() };
        assert_eq!(write(&fs, &ask).unwrap().text, "made sub/new.rs");
        assert_eq!(write(&fs, &ask).unwrap().text, "replaced sub/new.rs");
        fs::write(dir.path().join(".gitignore"), "*.log\n").unwrap();
        fs::create_dir(dir.path().join(".git")).unwrap();
        fs::write(dir.path().join("x.log"), "fn main\n").unwrap();
        let all = list(&fs, &ListFiles { path: None, pattern: None, depth: None }).unwrap().text;
        assert!(all.contains("sub/\n") && all.contains("sub/new.rs\n") && !all.contains("x.log"), "{all}");
        let ask = |pattern: &str| Search {
            pattern: pattern.into(),
            literal: None,
            ignore_case: None,
            path: None,
            files: None,
        };
        assert_eq!(search(&fs, &ask("fn +main")).unwrap().text, "sub/new.rs:1:fn main() {}\n");
        assert_eq!(search(&fs, &ask("nowhere")).unwrap().text, "nothing found\n");
        assert!(search(&fs, &ask("(")).is_err());
    }

    #[test]
    fn nothing_outside_the_workspace_is_reached() {
        let (dir, fs) = fs();
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret"), "s").unwrap();
        std::os::unix::fs::symlink(outside.path(), dir.path().join("door")).unwrap();
        let absolute = outside.path().join("secret").display().to_string();
        for path in ["../x", "door/secret", "sub/../../x", &absolute, "/etc/passwd"] {
            let read = read(&fs, &ReadFile { path: path.into(), first_line: None, lines: None });
            assert!(read.as_ref().is_err_and(|error| error.contains("outside")), "{path}: {read:?}");
            let ask = WriteFile { path: path.into(), content: "x".into() };
            assert!(write(&fs, &ask).is_err() && check_write(&fs, &ask).is_err(), "{path}");
        }
        assert_eq!(fs::read_to_string(outside.path().join("secret")).unwrap(), "s");
    }

    #[test]
    fn the_length_of_a_result_is_limited() {
        let lines = (0..100_000).map(|n| n.to_string());
        let text = report(lines, false, "");
        assert!(text.len() < limits::RESULT_BYTES + 100 && text.contains("there is more"));
    }
}
