//! Search in a conversation that is in memory, as the database searches saved ones: all words, in any order, whatever
//! their case.

use crate::archive::{FoundPrompt, SearchHit};
use crate::limits;
use crate::message::{Author, Message};
use crate::saved::SavedConversation;
use std::collections::VecDeque;
use std::ops::Range;

/// The marks before and after a word that was found.
const MARKS: [char; 2] = ['\u{2}', '\u{3}'];

impl SavedConversation {
    /// The messages that contain all words: short ones first, since more of them was asked for, and the newer ones among
    /// equals.
    pub fn search(&self, words: &str) -> Vec<SearchHit> {
        let wanted = wanted(words);
        if wanted.is_empty() {
            return Vec::new();
        }
        let mut summary = None;
        let mut hits: Vec<(usize, SearchHit)> = Vec::new();
        for message in self.messages.iter().rev() {
            let text = message.text();
            let Some(first) = first_place(&text, &wanted) else { continue };
            let hit = SearchHit {
                summary: summary.get_or_insert_with(|| self.summary()).clone(),
                number: message.number,
                role: message.role,
                at: message.at,
                excerpt: excerpt(&text, first, &wanted),
            };
            hits.push((text.len(), hit));
        }
        hits.sort_by_key(|(length, _)| *length);
        hits.into_iter().map(|(_, hit)| hit).collect()
    }

    /// The newest messages of users, at most `most`.
    pub fn prompts(&self, most: usize) -> Vec<FoundPrompt> {
        let prompts = self.messages.iter().rev().filter(|message| message.role == Author::User);
        let prompt = |message: &Message| FoundPrompt {
            name: self.name.clone(),
            workspace: self.workspace.clone(),
            at: message.at,
            text: message.text(),
        };
        prompts.take(most).map(prompt).collect()
    }
}

/// The text around the words of a search; its beginning if they are not in it as they are spelled.
pub fn excerpt_of(text: &str, words: &str) -> String {
    let wanted = wanted(words);
    excerpt(text, first_place(text, &wanted).unwrap_or(0), &wanted)
}

/// The words of a search, each a sequence of tokens in lower case.
fn wanted(words: &str) -> Vec<Vec<String>> {
    let words = words.get(..words.floor_char_boundary(limits::SEARCH_BYTES)).unwrap_or_default();
    let tokens_of = |word: &str| tokens(word).filter_map(|at| Some(word.get(at)?.to_lowercase())).collect();
    let all = words.split(|c: char| c.is_whitespace() || c.is_control()).map(tokens_of);
    all.filter(|tokens: &Vec<String>| !tokens.is_empty()).take(limits::SEARCH_WORDS).collect()
}

/// The places of the words of a text. Nothing is collected: a message may have millions of them.
fn tokens(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let begin = rest.find(char::is_alphanumeric)?;
        let word = rest.get(begin..)?;
        let length = word.find(|c: char| !c.is_alphanumeric()).unwrap_or(word.len());
        let at = text.len() - rest.len() + begin;
        rest = word.get(length..).unwrap_or_default();
        Some(at..at + length)
    })
}

/// The places of a word, which is a sequence of tokens in lower case.
fn places<'t>(text: &'t str, word: &'t [String]) -> impl Iterator<Item = Range<usize>> + 't {
    let mut newest: VecDeque<Range<usize>> = VecDeque::with_capacity(word.len() + 1);
    tokens(text).filter_map(move |token| {
        newest.push_back(token);
        if newest.len() > word.len() {
            newest.pop_front();
        }
        let is_next = |(at, wanted): (&Range<usize>, &String)| {
            let token = text.get(at.clone()).unwrap_or_default();
            token.chars().flat_map(char::to_lowercase).eq(wanted.chars())
        };
        let found = newest.len() == word.len() && newest.iter().zip(word).all(is_next);
        found.then(|| Some(newest.front()?.start..newest.back()?.end)).flatten()
    })
}

/// Where the first of the words is; `None` if one is missing.
fn first_place(text: &str, wanted: &[Vec<String>]) -> Option<usize> {
    let firsts = wanted.iter().map(|word| places(text, word).next().map(|place| place.start));
    firsts.collect::<Option<Vec<usize>>>()?.into_iter().min()
}

/// The text around the first place, with marks around all words within it.
fn excerpt(text: &str, first: usize, wanted: &[Vec<String>]) -> String {
    let from = text.floor_char_boundary(first.saturating_sub(limits::EXCERPT / 4));
    let to = text.ceil_char_boundary(from + limits::EXCERPT);
    let found = wanted.iter().flat_map(|word| places(text, word).take_while(|place| place.start < to));
    let found = found.filter(|place| place.start >= from && place.end <= to);
    let mut found: Vec<Range<usize>> = found.collect();
    found.sort_by_key(|place| place.start);
    let mut out = String::from(if from > 0 { "…" } else { "" });
    let mut at = from;
    for range in found {
        // Words that were asked for twice are found twice.
        if range.start < at {
            continue;
        }
        out.push_str(&text.get(at..range.start).unwrap_or_default().replace(MARKS, " "));
        out.push(MARKS[0]);
        out.push_str(text.get(range.clone()).unwrap_or_default());
        out.push(MARKS[1]);
        at = range.end;
    }
    out.push_str(&text.get(at..to).unwrap_or_default().replace(MARKS, " "));
    out.push_str(if to < text.len() { "…" } else { "" });
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use swb_types::{SessionName, Timestamp};

    fn conversation(texts: &[(Author, &str)]) -> SavedConversation {
        let message = |(n, (role, text)): (usize, &(Author, &str))| {
            Message::text_of(n as u64 + 1, *role, *text, Timestamp(n as u64))
        };
        SavedConversation {
            name: SessionName::new("one").unwrap(),
            title: String::new(),
            workspace: PathBuf::from("/w"),
            working_dir: PathBuf::from("/w"),
            created: Timestamp(1),
            updated: Timestamp(2),
            settings: Default::default(),
            usage: Default::default(),
            resume: None,
            messages: texts.iter().enumerate().map(message).collect(),
        }
    }

    #[test]
    fn all_words_are_found_in_any_order_and_case() {
        let one = conversation(&[(Author::User, "the quick brown Fox"), (Author::Assistant, "foxes don't")]);
        let hits = one.search("fox QUICK");
        assert_eq!((hits.len(), hits[0].number), (1, 1));
        assert_eq!(hits[0].excerpt, "the \u{2}quick\u{3} brown \u{2}Fox\u{3}");
        assert_eq!(one.search("don't").len(), 1, "punctuation joins the words of a phrase");
        for none in ["fox dog", "qui", "", "\"", "* -", "\0"] {
            assert!(one.search(none).is_empty(), "{none:?}");
        }
    }

    #[test]
    fn a_phrase_is_a_sequence_of_words() {
        let one = conversation(&[(Author::User, "a b a-B-c, A.b.C"), (Author::User, "a b")]);
        let hits = one.search("a-b-c");
        assert_eq!((hits.len(), hits[0].excerpt.as_str()), (1, "a b \u{2}a-B-c\u{3}, \u{2}A.b.C\u{3}"));
    }

    #[test]
    fn excerpts_are_short() {
        let text = format!("{} needle {}", "ä ".repeat(1000), "ö".repeat(1000));
        let hits = conversation(&[(Author::User, &text)]).search("needle needle");
        assert!(hits[0].excerpt.starts_with('…') && hits[0].excerpt.ends_with('…'));
        assert!(
            hits[0].excerpt.len() <= limits::EXCERPT + 16 && hits[0].excerpt.contains("\u{2}needle\u{3}")
        );
    }

    #[test]
    fn prompts_are_the_newest_messages_of_users() {
        let one = conversation(&[(Author::User, "a"), (Author::Assistant, "b"), (Author::User, "c")]);
        let texts = |most| one.prompts(most).into_iter().map(|prompt| prompt.text).collect::<Vec<_>>();
        assert_eq!((texts(9), texts(1)), (vec!["c".into(), "a".to_owned()], vec!["c".to_owned()]));
    }
}
