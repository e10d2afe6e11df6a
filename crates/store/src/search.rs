//! Full-text search in messages.

use crate::Result;
use crate::conversations::{SUMMARY, SUMMARY_COLUMNS, name, path, path_bytes, role, summary, unsigned};
use crate::limits;
use rusqlite::{Connection, Row};
use std::path::Path;
use swb_chat::{Author, FoundPrompt, SearchHit, excerpt_of};
use swb_types::Timestamp;

/// The marks before and after a word that was found.
const MARKS: [char; 2] = ['\u{2}', '\u{3}'];

pub(crate) fn search(
    database: &Connection,
    words: &str,
    workspace: Option<&Path>,
    most: usize,
) -> Result<Vec<SearchHit>> {
    let Some(wanted) = wanted(words) else { return Ok(Vec::new()) };
    // One transaction, so that nothing changes between finding and showing.
    let look = database.unchecked_transaction()?;
    let rows = best(&look, &wanted, workspace, most)?;
    // The time that `snippet` takes grows with the square of the number of words that were found.
    let query = format!(
        "SELECT {SUMMARY}, m.number, m.role, m.at,
             CASE WHEN length(words.text) <= {0} THEN snippet(words, 0, char(2), char(3), '…', {1}) END,
             CASE WHEN length(words.text) > {0} THEN words.text END
         FROM words JOIN message m ON m.id = words.rowid JOIN conversation c ON c.id = m.conversation
         WHERE words MATCH ?1 AND words.rowid = ?2",
        limits::SNIPPET_TEXT,
        limits::EXCERPT_WORDS
    );
    let mut statement = look.prepare_cached(&query)?;
    let hits = rows.into_iter().map(|row| statement.query_row((&wanted, row), |row| hit(row, words)));
    Ok(hits.collect::<rusqlite::Result<_>>()?)
}

/// The best matches, the newer ones first among equals. Only these get excerpts: creating them for all matches would
/// take seconds.
fn best(database: &Connection, wanted: &str, workspace: Option<&Path>, most: usize) -> Result<Vec<i64>> {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let mut statement = database.prepare_cached(
        "SELECT words.rowid
         FROM words JOIN message m ON m.id = words.rowid JOIN conversation c ON c.id = m.conversation
         WHERE words MATCH ?1 AND (?2 IS NULL OR c.workspace = ?2)
         ORDER BY bm25(words), words.rowid DESC LIMIT ?3",
    )?;
    let rows = statement.query_map((wanted, workspace.map(path_bytes), most), |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn hit(row: &Row<'_>, words: &str) -> rusqlite::Result<SearchHit> {
    let at = SUMMARY_COLUMNS;
    let excerpt = match row.get::<_, Option<String>>(at + 3)? {
        Some(excerpt) => shortened(&excerpt),
        None => excerpt_of(&row.get::<_, String>(at + 4)?, words),
    };
    Ok(SearchHit {
        summary: summary(row)?,
        number: unsigned(row, at)?,
        role: role(row, at + 1)?,
        at: Timestamp(unsigned(row, at + 2)?),
        excerpt,
    })
}

/// The newest messages of users. Their text is that of the index, which is smaller than the messages.
pub(crate) fn prompts(database: &Connection, most: usize) -> Result<Vec<FoundPrompt>> {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let mut statement = database.prepare_cached(
        "SELECT c.name, c.workspace, m.at, w.text
         FROM message m JOIN conversation c ON c.id = m.conversation JOIN words w ON w.rowid = m.id
         WHERE m.role = ?1 ORDER BY m.at DESC, m.id DESC LIMIT ?2",
    )?;
    let rows = statement.query_map((Author::User.as_str(), most), |row| {
        Ok(FoundPrompt {
            name: name(row, 0)?,
            workspace: path(row, 1)?,
            at: Timestamp(unsigned(row, 2)?),
            text: row.get(3)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The query for the index: all words, each in quotes, so that none of them is an operator. `None` if there is no
/// word.
fn wanted(words: &str) -> Option<String> {
    let words = &words[..words.floor_char_boundary(limits::SEARCH_BYTES)];
    let spelled = words
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| word.chars().any(char::is_alphanumeric));
    let quoted: Vec<String> =
        spelled.take(limits::SEARCH_WORDS).map(|word| format!("\"{}\"", word.replace('"', "\"\""))).collect();
    (!quoted.is_empty()).then(|| quoted.join(" "))
}

/// A text as stored in the index, without characters that look like a mark.
pub(crate) fn searchable(text: &str) -> String {
    text.replace(MARKS, " ")
}

/// An excerpt of limited length around the first word that was found.
fn shortened(excerpt: &str) -> String {
    let found = excerpt.chars().position(|c| c == MARKS[0]).unwrap_or(0);
    let skipped = found.saturating_sub(limits::EXCERPT / 4);
    let length = excerpt.chars().count();
    if length <= limits::EXCERPT {
        return excerpt.to_owned();
    }
    let mut short: String = excerpt.chars().skip(skipped).take(limits::EXCERPT).collect();
    if short.matches(MARKS[0]).count() > short.matches(MARKS[1]).count() {
        short.push(MARKS[1]);
    }
    let (before, behind) =
        (if skipped > 0 { "…" } else { "" }, if skipped + limits::EXCERPT < length { "…" } else { "" });
    format!("{before}{short}{behind}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn search_operators_are_plain_words() {
        assert_eq!(wanted("a  b\n\"c"), Some("\"a\" \"b\" \"\"\"c\"".into()));
        assert_eq!(wanted("x AND NOT (y*"), Some("\"x\" \"AND\" \"NOT\" \"(y*\"".into()));
        assert_eq!(wanted("a\0b"), Some("\"a\" \"b\"".into()));
        for none in ["", "  ", "\"", "* ^ : - ()", "\0", "\u{2}"] {
            assert_eq!(wanted(none), None, "{none:?}");
        }
        assert!(wanted(&"w ".repeat(100_000)).unwrap().len() <= limits::SEARCH_WORDS * 4);
        assert!(wanted(&"ä".repeat(100_000)).unwrap().len() <= limits::SEARCH_BYTES + 2);
    }

    #[test]
    fn excerpts_are_short_and_their_marks_paired() {
        assert_eq!(shortened("a \u{2}b\u{3} c"), "a \u{2}b\u{3} c");
        let long = format!("{}\u{2}{}\u{3} end", "x".repeat(1000), "y".repeat(1000));
        let short = shortened(&long);
        assert!(
            short.chars().count() <= limits::EXCERPT + 3 && short.starts_with('…') && short.ends_with('…')
        );
        assert!(short.contains("x\u{2}y") && short.matches(MARKS[1]).count() == 1);
    }
}
