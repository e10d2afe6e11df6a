//! Completion of commands: a list of what fits, and Tab to choose.

use crate::text::{Colour, StyledLine, TextStyle, columns, shortened};

/// A text that can be completed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The whole line.
    pub line: String,
    /// What it does.
    pub about: String,
}

impl Candidate {
    /// A line and what it does.
    pub fn new(line: impl Into<String>, about: impl Into<String>) -> Self {
        Self { line: line.into(), about: about.into() }
    }
}

/// The candidates for what is typed, and the one that Tab has chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Completion {
    candidates: Vec<Candidate>,
    chosen: Option<usize>,
}

impl Completion {
    /// The candidates that begin with what is typed.
    pub fn new(typed: &str, all: impl IntoIterator<Item = Candidate>) -> Self {
        let candidates = all.into_iter().filter(|candidate| candidate.line.starts_with(typed));
        Self { candidates: candidates.collect(), chosen: None }
    }

    /// Whether there is nothing to complete.
    pub fn is_empty(&self) -> bool {
        self.candidates.is_empty()
    }

    /// Completes what is typed as far as all candidates agree, or chooses the next one; the line after that.
    pub fn next(&mut self, typed: &str) -> Option<&str> {
        let common = self.common();
        if self.chosen.is_none() && common.len() > typed.len() {
            return self.candidates.first().and_then(|first| first.line.get(..common.len()));
        }
        let next = self.chosen.map_or(0, |chosen| chosen + 1) % self.candidates.len().max(1);
        self.chosen = Some(next);
        self.candidates.get(next).map(|candidate| candidate.line.as_str())
    }

    /// The beginning that all candidates have.
    fn common(&self) -> &str {
        let Some(first) = self.candidates.first() else { return "" };
        let same = |other: &Candidate| {
            let pairs = first.line.char_indices().zip(other.line.chars());
            pairs.take_while(|((_, a), b)| a == b).map(|((at, c), _)| at + c.len_utf8()).last().unwrap_or(0)
        };
        let length = self.candidates.iter().map(same).min().unwrap_or(0);
        first.line.get(..length).unwrap_or_default()
    }

    /// At most `room` candidates, the chosen one among them.
    pub fn lines(&self, width: usize, room: usize) -> Vec<StyledLine> {
        let room = room.max(1);
        let from = self.chosen.unwrap_or(0).saturating_sub(room - 1);
        let shown = self.candidates.iter().enumerate().skip(from).take(room);
        let widest =
            shown.clone().map(|(_, candidate)| columns(candidate.line.trim_end())).max().unwrap_or(0);
        let line = |(n, candidate): (usize, &Candidate)| {
            let name = candidate.line.trim_end();
            let is_chosen = self.chosen == Some(n);
            let style = TextStyle { bold: is_chosen, ..TextStyle::of(Colour::Cyan) };
            let gap = " ".repeat(widest - columns(name) + 2);
            let about = shortened(&candidate.about, width.saturating_sub(widest + 5));
            StyledLine::new(
                style,
                &format!(
                    "{} {}",
                    if is_chosen { "▸" } else { " " },
                    shortened(name, width.saturating_sub(3))
                ),
            )
            .with(TextStyle::DIM, &if widest + 12 < width { format!("{gap}{about}") } else { String::new() })
        };
        let mut lines: Vec<StyledLine> = shown.map(line).collect();
        let hidden = self.candidates.len() - lines.len();
        if hidden > 0 {
            let more = format!("  … {hidden} more; Tab goes through them");
            lines.push(StyledLine::new(TextStyle::DIM, &shortened(&more, width)));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completion(typed: &str) -> Completion {
        let all =
            [("/save ", "save it"), ("/sessions", "list them"), ("/stop", "stop the answer"), ("/new", "x")];
        Completion::new(typed, all.map(|(line, about)| Candidate::new(line, about)))
    }

    #[test]
    fn tab_completes_what_is_common_and_then_goes_through_the_list() {
        assert_eq!(completion("/st").next("/st"), Some("/stop"));
        let mut several = completion("/s");
        let all: Vec<String> = (0..4).filter_map(|_| several.next("/s").map(str::to_owned)).collect();
        assert_eq!(all, ["/save ", "/sessions", "/stop", "/save "]);
        assert_eq!(completion("/se").next("/se"), Some("/sessions"));
        assert_eq!((completion("/x").is_empty(), completion("/x").next("/x")), (true, None));
    }

    #[test]
    fn candidates_are_listed_with_what_they_do() {
        let mut several = completion("/s");
        let shown = |completion: &Completion, width, room| -> Vec<String> {
            completion.lines(width, room).iter().map(StyledLine::plain).collect()
        };
        assert_eq!(
            shown(&several, 60, 9),
            ["  /save      save it", "  /sessions  list them", "  /stop      stop the answer"]
        );
        assert_eq!(shown(&several, 60, 1), ["  /save  save it", "  … 2 more; Tab goes through them"]);
        several.next("/s");
        several.next("/s");
        assert_eq!(shown(&several, 12, 1)[0], "▸ /sessions");
    }
}
