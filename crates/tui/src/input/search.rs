//! Search in earlier prompts, the newest first.

use super::editor::{Edited, Editor};
use super::keys::Key;
use crate::text::{StyledLine, TextStyle, shortened};

/// A search that the user is typing.
#[derive(Debug, Clone, Default)]
pub struct PromptSearch {
    /// All prompts, the newest first, each once.
    prompts: Vec<String>,
    words: Editor,
    /// Which of the matches is chosen.
    chosen: usize,
}

/// The effect of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Searched {
    /// The search goes on.
    Changed,
    /// It ends without a choice.
    Cancelled,
    /// This prompt was chosen.
    Taken(String),
}

impl PromptSearch {
    /// A search in prompts, the newest first.
    pub fn new(prompts: impl IntoIterator<Item = String>) -> Self {
        let mut known = std::collections::BTreeSet::new();
        let fresh = |prompt: &String| !prompt.trim().is_empty() && known.insert(prompt.clone());
        Self { prompts: prompts.into_iter().filter(fresh).collect(), ..Self::default() }
    }

    /// Adds older prompts; what was typed stays.
    pub fn extend(&mut self, prompts: impl IntoIterator<Item = String>) {
        let known = std::mem::take(&mut self.prompts);
        self.prompts = Self::new(known.into_iter().chain(prompts)).prompts;
    }

    /// Handles a key.
    pub fn handle(&mut self, key: &Key) -> Searched {
        let count = self.matches().count();
        match key {
            Key::Escape | Key::Ctrl('c' | 'g') => return Searched::Cancelled,
            Key::Enter | Key::Tab | Key::Right => {
                let chosen = self.matches().nth(self.chosen).map(str::to_owned);
                return chosen.map_or(Searched::Cancelled, Searched::Taken);
            }
            Key::Ctrl('r') | Key::Up => self.chosen = (self.chosen + 1).min(count.saturating_sub(1)),
            Key::Ctrl('s') | Key::Down => self.chosen = self.chosen.saturating_sub(1),
            key => {
                if self.words.handle(key) != Edited::Ignored {
                    self.chosen = 0;
                }
            }
        }
        Searched::Changed
    }

    /// What is searched for.
    pub fn words(&self) -> &Editor {
        &self.words
    }

    /// The prompts with all words, whatever their case.
    fn matches(&self) -> impl Iterator<Item = &str> {
        let wanted = self.words.text().to_lowercase();
        self.prompts.iter().map(String::as_str).filter(move |prompt| {
            let prompt = prompt.to_lowercase();
            wanted.split_whitespace().all(|word| prompt.contains(word))
        })
    }

    /// At most `room` matches around the chosen one, which is nearest to the prompt below, and what the keys do.
    pub fn lines(&self, width: usize, room: usize) -> Vec<StyledLine> {
        let room = room.max(1);
        let from = self.chosen.saturating_sub(room - 1);
        let line = |(n, prompt): (usize, &str)| {
            let text = prompt.split_whitespace().collect::<Vec<_>>().join(" ");
            let is_chosen = n == self.chosen;
            let (mark, style) = if is_chosen { ("▸ ", TextStyle::BOLD) } else { ("  ", TextStyle::PLAIN) };
            StyledLine::new(style, &format!("{mark}{}", shortened(&text, width.saturating_sub(3))))
        };
        let mut lines: Vec<StyledLine> = self.matches().enumerate().skip(from).take(room).map(line).collect();
        lines.reverse();
        if lines.is_empty() {
            lines.push(StyledLine::new(TextStyle::DIM, "  no earlier prompt contains these words"));
        }
        let keys = "Enter takes it · Ctrl+R older · Ctrl+S newer · Esc cancels";
        lines.push(StyledLine::new(TextStyle::DIM, &shortened(keys, width)));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search() -> PromptSearch {
        let prompts = ["fix the race", "explain\nthe Race", "list files", "fix the race"];
        PromptSearch::new(prompts.map(str::to_owned))
    }

    fn shown(search: &PromptSearch, room: usize) -> Vec<String> {
        let mut lines: Vec<String> = search.lines(40, room).iter().map(StyledLine::plain).collect();
        lines.pop();
        lines
    }

    fn typed(search: &mut PromptSearch, text: &str) {
        text.chars().for_each(|c| assert_eq!(search.handle(&Key::Char(c)), Searched::Changed));
    }

    #[test]
    fn words_narrow_the_list_and_keys_choose() {
        let mut search = search();
        assert_eq!(shown(&search, 9), ["  list files", "  explain the Race", "▸ fix the race"]);
        typed(&mut search, "race THE");
        assert_eq!(shown(&search, 9), ["  explain the Race", "▸ fix the race"]);
        search.handle(&Key::Ctrl('r'));
        assert_eq!(shown(&search, 1), ["▸ explain the Race"]);
        search.extend(["an older race, the first".to_owned(), "list files".to_owned()]);
        assert_eq!(shown(&search, 9).len(), 3, "what was typed stays");
        assert_eq!(search.handle(&Key::Enter), Searched::Taken("explain\nthe Race".into()));
        search.handle(&Key::Down);
        assert_eq!(search.handle(&Key::Tab), Searched::Taken("fix the race".into()));
    }

    #[test]
    fn a_search_without_a_match_takes_nothing() {
        let mut search = search();
        typed(&mut search, "zzz");
        assert_eq!(shown(&search, 9), ["  no earlier prompt contains these words"]);
        assert_eq!(search.handle(&Key::Enter), Searched::Cancelled);
        assert_eq!(PromptSearch::default().handle(&Key::Escape), Searched::Cancelled);
    }
}
