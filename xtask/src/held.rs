//! Which tests hold which requirement: the last column of the protocol pages' tables.
//!
//! A test holds what the comment right above it cites (`// KP-2, KP-3`). The column is made from that, so it
//! cannot name a test that is gone.

use anyhow::Result;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The pages with such tables.
pub(crate) const PAGES: [&str; 4] = [
    "docs/protocols/clippy.md",
    "docs/protocols/coop.md",
    "docs/protocols/keepty.md",
    "docs/protocols/scriptschnell.md",
];

/// Tests by the id they cite.
pub(crate) type Citations = BTreeMap<String, Vec<String>>;

/// Reads the tests of all crates.
pub(crate) fn citations() -> Result<Citations> {
    let mut citations = Citations::new();
    for path in sources(Path::new("crates"))? {
        collect(&fs::read_to_string(&path)?, &place(&path), &mut citations);
    }
    Ok(citations)
}

/// Gives a page with its last columns as the tests have it.
pub(crate) fn page(text: &str, citations: &Citations) -> String {
    let mut lines: Vec<String> = text.lines().map(|line| row(line, citations)).collect();
    lines.push(String::new());
    lines.join("\n")
}

fn row(line: &str, citations: &Citations) -> String {
    let cells = line.strip_suffix(" |").and_then(|line| line.rsplit_once(" | "));
    let Some((front, _held)) = cells else { return line.to_owned() };
    let cited = ids(front.rsplit(" | ").next().unwrap_or_default());
    if cited.is_empty() || !line.starts_with("| ") {
        return line.to_owned();
    }
    let mut tests: Vec<&str> =
        cited.iter().filter_map(|id| citations.get(id)).flatten().map(String::as_str).collect();
    tests.sort_unstable();
    tests.dedup();
    let held: Vec<String> = tests.iter().map(|test| format!("`{test}`")).collect();
    let held = if held.is_empty() { "—".to_owned() } else { held.join(", ") };
    format!("{front} | {held} |")
}

/// Notes the tests of one file: a comment with ids, attributes, then the function.
fn collect(text: &str, place: &str, citations: &mut Citations) {
    let (mut cited, mut is_test) = (Vec::new(), false);
    for line in text.lines().map(str::trim) {
        if line.starts_with("//") {
            cited.extend(ids(line));
        } else if line.starts_with("#[") {
            is_test |= line == "#[test]";
        } else {
            let name = line.strip_prefix("fn ").and_then(|line| line.split('(').next());
            if let Some(name) = name.filter(|_| is_test) {
                for id in cited.drain(..) {
                    citations.entry(id).or_default().push(format!("{place}::{name}"));
                }
            }
            cited.clear();
            is_test = false;
        }
    }
}

/// The requirement ids in a text, such as `KP-30`.
fn ids(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let is_id = |word: &&str| {
        word.split_once('-').is_some_and(|(kind, number)| {
            ["CB", "CO", "CP", "CR", "CT", "KP", "SS", "XS"].contains(&kind)
                && !number.is_empty()
                && number.bytes().all(|b| b.is_ascii_digit())
        })
    };
    words.filter(is_id).map(str::to_owned).collect()
}

/// How a page names a file: its stem in a `tests` directory, else crate and module.
fn place(path: &Path) -> String {
    let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
    let stem = path.with_extension("");
    let last = stem.iter().next_back().and_then(|part| part.to_str()).unwrap_or_default().to_owned();
    match parts.as_slice() {
        [_, _, "tests", ..] => last,
        [_, name, ..] => format!("{name}/{last}"),
        _ => last,
    }
}

fn sources(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(dir)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    entries.sort();
    let mut found = Vec::new();
    for path in entries {
        if path.is_dir() {
            found.extend(sources(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_holds_what_the_comment_above_it_cites() {
        let mut citations = Citations::new();
        let text = "// KP-1, CO-2 and more\n#[test]\nfn holds() {}\n// KP-1\nfn no_test() {}\n// KP-3\n#[test]\nfn other() {}";
        collect(text, "file", &mut citations);
        assert_eq!(citations["KP-1"], ["file::holds"]);
        assert_eq!(citations["CO-2"], ["file::holds"]);
        assert_eq!(citations["KP-3"], ["file::other"]);
        let page =
            page("| 1 | a rule | KP-1 | old |\n| 2 | another | KP-9 | old |\ntext\n| a | b |", &citations);
        assert_eq!(
            page,
            "| 1 | a rule | KP-1 | `file::holds` |\n| 2 | another | KP-9 | — |\ntext\n| a | b |\n"
        );
    }
}
