//! An answer sent while it grows: whole lines, once they are stable, and never taken back.
//!
//! Programs that repaint may change what they have shown. A line is sent when it has not changed for a while; the last
//! ones, which may still change, are held back until the answer is complete. If a line changes after it was sent, the
//! new line is sent after it: nothing of the answer is missing, but the parts then have an old line more than the
//! answer itself.

use crate::limits;
use crate::profile::{Profile, ProgramKind};
use crate::time::Time;
use std::collections::HashSet;
use std::time::Duration;

/// An answer that is sent in parts.
#[derive(Debug)]
pub struct Growth {
    /// How long a line must be unchanged.
    steady: Duration,
    /// Lines at the end that are held back.
    held: usize,
    /// The lines that were sent.
    reported: Vec<String>,
    /// The lines after those, as last seen, and since when each is unchanged.
    seen: Vec<(String, Time)>,
}

impl Growth {
    /// An answer of this program, of which nothing was sent yet.
    pub fn new(profile: &Profile) -> Self {
        let held = profile.view.live_lines.unwrap_or(usize::from(profile.kind == ProgramKind::Screen));
        let steady = match held {
            // Lines of a program that only writes them are final.
            0 => Duration::ZERO,
            // A program that draws slowly also draws intermediate lines slowly.
            _ if profile.view.quiet > limits::SCREEN_QUIET => profile.view.quiet,
            _ => limits::STEADY,
        };
        Self { steady, held, reported: Vec::new(), seen: Vec::new() }
    }

    /// The same for an answer of which `text` was sent.
    #[must_use]
    pub fn after(mut self, text: &str) -> Self {
        self.reported = text.lines().map(str::to_owned).collect();
        self
    }

    /// Takes the answer so far; returns what is to be sent, if anything.
    pub fn grow(&mut self, text: &str, now: Time) -> Option<String> {
        let rest = self.rest(text);
        let lines: Vec<(String, Time)> = rest
            .iter()
            .enumerate()
            .map(|(n, line)| match self.seen.get(n) {
                Some((same, since)) if same == line => (same.clone(), *since),
                _ => ((*line).to_owned(), now),
            })
            .collect();
        let ready = lines.len().saturating_sub(self.held);
        let stands = lines[..ready].iter().take_while(|(_, since)| now.since(*since) >= self.steady).count();
        // A blank line is sent with the one that follows it.
        let stands = lines[..stands].iter().rposition(|(line, _)| !line.is_empty()).map_or(0, |n| n + 1);
        let reported: Vec<String> = lines[..stands].iter().map(|(line, _)| line.clone()).collect();
        self.seen = lines[stands..].to_vec();
        self.report(reported)
    }

    /// The answer is complete; returns the rest to be sent.
    pub fn finish(mut self, text: &str) -> Option<String> {
        let rest = self.rest(text).into_iter().map(str::to_owned).collect();
        self.report(rest)
    }

    fn report(&mut self, lines: Vec<String>) -> Option<String> {
        if lines.is_empty() {
            return None;
        }
        let before = if self.reported.is_empty() { "" } else { "\n" };
        let text = format!("{before}{}", lines.join("\n"));
        self.reported.extend(lines);
        Some(text)
    }

    /// The lines after those that were sent.
    fn rest<'a>(&self, text: &'a str) -> Vec<&'a str> {
        let lines: Vec<&str> = text.lines().collect();
        let same = lines.iter().zip(&self.reported).take_while(|(line, reported)| *line == reported).count();
        if same == self.reported.len() {
            return lines[same..].to_vec();
        }
        if same == lines.len() {
            // Some of it is out of sight for a moment.
            return Vec::new();
        }
        // A line was changed. Continue after the last common line, confirmed by its neighbour.
        let behind = |n: usize| {
            let last = &self.reported[n];
            let with = |at: usize| at > 0 && n > 0 && lines[at - 1] == self.reported[n - 1];
            let mut places = (same..lines.len()).rev().filter(|at| lines[*at] == last.as_str());
            let place = places.clone().find(|at| with(*at)).or_else(|| places.next());
            place.filter(|_| !last.is_empty()).map(|at| at + 1)
        };
        let from = (same..self.reported.len()).rev().take(limits::WITNESSES).find_map(behind).unwrap_or(same);
        let reported: HashSet<&str> = self.reported[same..].iter().map(String::as_str).collect();
        let missed = lines[same..from].iter().filter(|line| !line.is_empty() && !reported.contains(**line));
        missed.chain(&lines[from..]).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn growth(kind: &str) -> Growth {
        let rest = match kind {
            "line" => "[prompt]\nready = ['^>']",
            _ => "[screen]\nanchor = '^>'",
        };
        Growth::new(&Profile::parse("test", &format!("name = 'test'\nkind = '{kind}'\n{rest}")).unwrap())
    }

    fn at(millis: u64) -> Time {
        Time(millis * 1000)
    }

    #[test]
    fn lines_of_a_line_program_are_sent_at_once() {
        let mut parts = growth("line");
        assert_eq!(parts.grow("", at(0)), None);
        assert_eq!(parts.grow("one", at(1)).as_deref(), Some("one"));
        assert_eq!(parts.grow("one", at(2)), None);
        assert_eq!(parts.grow("one\n\ntwo\nthree", at(3)).as_deref(), Some("\n\ntwo\nthree"));
        assert_eq!(parts.finish("one\n\ntwo\nthree"), None);
    }

    #[test]
    fn repainted_lines_must_be_stable() {
        let mut parts = growth("screen");
        assert_eq!(parts.grow("one\ntw", at(0)), None);
        assert_eq!(parts.grow("one\ntwo\nthr", at(300)), None);
        assert_eq!(parts.grow("one\ntwo\nthree", at(600)).as_deref(), Some("one"));
        assert_eq!(parts.grow("one\nTWO\nthree", at(900)), None);
        assert_eq!(parts.grow("one\nTWO\nthree", at(2000)).as_deref(), Some("\nTWO"));
        assert_eq!(parts.finish("one\nTWO\nthree\nfour").as_deref(), Some("\nthree\nfour"));
    }

    #[test]
    fn sent_lines_are_not_sent_again_after_a_change() {
        let mut parts = growth("line");
        parts.grow("a\nrunning\nb\nc", at(0));
        assert_eq!(parts.grow("a\nran\nb\nc\nd", at(1)).as_deref(), Some("\nran\nd"));
        assert_eq!(parts.finish("a\nran\nb\nc\nd\ne").as_deref(), Some("\ne"));
        let mut parts = growth("line");
        parts.grow("a\nold", at(0));
        assert_eq!(parts.finish("a\nnew\nmore").as_deref(), Some("\nnew\nmore"));
        let mut parts = growth("line");
        parts.grow("a\nb\nc", at(0));
        assert_eq!(parts.grow("a\nb", at(1)), None);
        assert_eq!(parts.finish("a\nb\nc\nd").as_deref(), Some("\nd"));
    }
}
