//! The accuracy of the detector, on recordings with known turns.
//!
//! A turn is found when its end lies after the last byte of the answer was sent and at most a second after the program
//! was ready; for shells, after the last word of the answer was written. Its text is right when it has all words that
//! were on the screen, in order, and does not begin with the echo of the input.

use crate::look::squeeze;
use crate::recording::{DetectionResult, Expected, ExpectedTurn};
use crate::turn::CompletedTurn;
use std::collections::BTreeMap;
use std::fmt::Write;
use swb_types::Offset;

/// An error in a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Miss {
    /// The recording.
    pub recording: String,
    /// The turn's number in the expectation, from 1; 0 for an unexpected one.
    pub turn: usize,
    /// The error.
    pub what: String,
}

/// Counts for one program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Count {
    /// Expected turns.
    pub turns: usize,
    /// Ended at the right place.
    pub found: usize,
    /// Ended before the answer was complete.
    pub early: usize,
    /// Not ended in time.
    pub missed: usize,
    /// Found, but not expected.
    pub extra: usize,
    /// With the right flag for interruption.
    pub interrupted: usize,
    /// With the right dialogs.
    pub dialogs: usize,
    /// With the right text.
    pub text: usize,
}

impl Count {
    fn add(&mut self, other: &Self) {
        self.turns += other.turns;
        self.found += other.found;
        self.early += other.early;
        self.missed += other.missed;
        self.extra += other.extra;
        self.interrupted += other.interrupted;
        self.dialogs += other.dialogs;
        self.text += other.text;
    }
}

/// The score of several recordings.
#[derive(Debug, Clone, Default)]
pub struct Score {
    programs: BTreeMap<String, Count>,
    misses: Vec<Miss>,
}

impl Score {
    /// Adds a recording, `program/scenario`; `output` is its output.
    pub fn add(&mut self, recording: &str, expected: &Expected, found: &DetectionResult, output: &[u8]) {
        let program = recording.rsplit('/').nth(1).unwrap_or(&expected.agent).to_owned();
        let mut count = Count { turns: expected.turns.len(), ..Count::default() };
        let mut miss = |turn: usize, what: String| {
            self.misses.push(Miss { recording: recording.to_owned(), turn, what });
        };
        let mut matched = 0;
        for (n, turn) in expected.turns.iter().enumerate() {
            let next = expected.turns.get(n + 1).map_or(u64::MAX, |next| next.submit_offset);
            let submitted = turn.submit_offset..next;
            let mine =
                found.turns.iter().filter(|found| submitted.contains(&found.submit.0)).collect::<Vec<_>>();
            matched += usize::from(!mine.is_empty());
            let Some(mine) = mine.first() else {
                count.missed += 1;
                miss(n + 1, "missed".to_owned());
                continue;
            };
            for what in judge(turn, mine, output, &mut count) {
                miss(n + 1, what);
            }
        }
        count.extra = found.turns.len() - matched;
        if count.extra > 0 {
            miss(0, format!("{} extra", count.extra));
        }
        self.programs.entry(program).or_default().add(&count);
    }

    /// All errors.
    pub fn misses(&self) -> &[Miss] {
        &self.misses
    }

    /// The counts of all programs together.
    pub fn total(&self) -> Count {
        let mut total = Count::default();
        for count in self.programs.values() {
            total.add(count);
        }
        total
    }

    /// The table as Markdown, one program per line.
    pub fn table(&self) -> String {
        let mut table = String::from(
            "| program | turns | found | early | missed | extra | interrupted right | dialogs right | text right |\n\
             |---|---|---|---|---|---|---|---|---|\n",
        );
        let total = self.total();
        let rows =
            self.programs.iter().map(|(program, count)| (program.as_str(), count)).chain([("all", &total)]);
        for (program, count) in rows {
            let Count { turns, found, early, missed, extra, interrupted, dialogs, text } = count;
            // Writing to a string cannot fail.
            let _written = writeln!(
                table,
                "| {program} | {turns} | {found} | {early} | {missed} | {extra} | {interrupted} | {dialogs} | {text} |"
            );
        }
        table
    }
}

/// Counts what is right about a turn; returns what is wrong.
fn judge(expected: &ExpectedTurn, found: &CompletedTurn, output: &[u8], count: &mut Count) -> Vec<String> {
    let mut wrong = Vec::new();
    let (from, to) = (answer_end(expected, output), expected.ready_offset);
    let end = found.end.0;
    let after = end > from || (end == from && (expected.interrupted || from == to));
    if !after {
        count.early += 1;
        wrong.push(format!("early: ends at {end}, the answer at {from}"));
    } else if end > to {
        count.missed += 1;
        wrong.push(format!("late: ends at {end}, ready at {to}"));
    } else {
        count.found += 1;
    }
    if found.interrupted == expected.interrupted {
        count.interrupted += 1;
    } else {
        wrong.push(format!("interrupted is {}", found.interrupted));
    }
    let waited = |found: &Offset| found.0 > expected.submit_offset && found.0 <= expected.ready_offset;
    let right = found.dialogs.len() == expected.dialogs.len() && found.dialogs.iter().all(waited);
    if right {
        count.dialogs += 1;
    } else {
        let expected: Vec<u64> = expected.dialogs.iter().map(|dialog| dialog.offset).collect();
        wrong.push(format!("dialogs at {:?}, expected {expected:?}", found.dialogs));
    }
    match text_error(expected, &found.text) {
        None => count.text += 1,
        Some(what) => wrong.push(what),
    }
    wrong
}

/// The earliest end of the answer: as reported by the agent's server, or after its last word.
fn answer_end(expected: &ExpectedTurn, output: &[u8]) -> u64 {
    if let Some(end) = expected.reply_end_offset {
        return end;
    }
    let range = usize::try_from(expected.submit_offset).ok().zip(usize::try_from(expected.ready_offset).ok());
    let answer = range.and_then(|(from, to)| output.get(from..to)).unwrap_or_default();
    let last = expected
        .markers_on_screen
        .last()
        .and_then(|marker| memchr::memmem::rfind(answer, marker.as_bytes()).map(|at| at + marker.len()));
    expected.submit_offset + last.unwrap_or(0) as u64
}

fn text_error(expected: &ExpectedTurn, text: &str) -> Option<String> {
    let mut rest = text;
    for marker in &expected.markers_on_screen {
        match rest.find(marker.as_str()) {
            Some(at) => rest = &rest[at + marker.len()..],
            None => return Some(format!("text lacks {marker:?}")),
        }
    }
    let first = squeeze(text.lines().next().unwrap_or_default());
    let input = squeeze(expected.input.lines().next().unwrap_or_default());
    // The echo may have the prompt before it; a short input may be a word of the answer.
    let answered = expected.answer.as_deref().is_some_and(|answer| squeeze(answer).contains(&input));
    let echo =
        !input.is_empty() && !answered && (first == input || (input.len() > 6 && first.contains(&input)));
    echo.then(|| "text begins with the input".to_owned())
}
