//! Lines of an answer that a program erased when its terminal was resized.
//!
//! Agents on the primary screen redraw its end after a resize, and some erase a line more than they draw again. What was
//! shown before the resize is put back where it was; the rows may be wrapped anew meanwhile.

use crate::limits;

/// The lines of an answer, with those of its former state that are missing now. Letters and digits are compared: marks of
/// Markdown disappear when it is complete, and tables are drawn anew.
pub(crate) fn restored(before: &[String], now: &[String]) -> Vec<String> {
    let (mut text, mut ends) = (String::new(), Vec::new());
    for line in now {
        text.extend(line.chars().filter(|c| c.is_alphanumeric()));
        ends.push(text.len());
    }
    let (mut all, mut added, mut place) = (now.to_vec(), 0, 0);
    for line in before {
        let needle: String = line.chars().filter(|c| c.is_alphanumeric()).collect();
        if needle.chars().count() < limits::WITNESS_CHARS {
            continue;
        }
        if let Some(at) = text[place..].find(&needle) {
            place += at + needle.len();
        } else if !text.contains(&needle) {
            // Behind the line that precedes it.
            let behind = if place == 0 { 0 } else { ends.partition_point(|end| *end < place) + 1 };
            all.insert((behind + added).min(all.len()), line.clone());
            added += 1;
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn erased_lines_are_put_back_where_they_were() {
        let before = lines("first line here\nsecond line here\n\nthird line here\nfourth li");
        let now = lines("second line here\n\nfourth line here\nfifth line here");
        let all =
            lines("first line here\nsecond line here\nthird line here\n\nfourth line here\nfifth line here");
        assert_eq!(restored(&before, &now), all);
        assert_eq!(restored(&[], &now), now);
    }

    #[test]
    fn lines_that_were_wrapped_anew_or_finished_are_not_missing() {
        let before = lines("one two three four\nfive six seven eight\n| aaaa | bbbbb |\n**bold an");
        let now = lines("one two three\nfour five six seven\neight\n\n| aaaa   | bbbbb   |\nbold and");
        assert_eq!(restored(&before, &now), now);
    }
}
