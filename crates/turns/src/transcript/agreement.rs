//! Whether an exchange of a session file is what the screen showed.
//!
//! Only then is its text used. Session files of other sessions, old files and planted ones do not pass, so that a text that
//! was never on the screen does not become a turn.
//!
//! Both texts are compared by their words, without regard to order: screens wrap lines, show Markdown without its marks, and
//! draw tables whose cells are wrapped beside each other. What a screen does not show of Markdown (the language of a code
//! block, the target of a link) is left out of the comparison, as are numbers that only the screen has (of lines of code).

use super::Exchange;
use crate::collector::GAP;
use crate::limits;
use std::cmp::Reverse;
use std::collections::HashMap;

/// What the screen showed of a turn.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    /// Its text.
    pub text: &'a str,
    /// Whether lines of it are missing.
    pub truncated: bool,
    /// Whether the user interrupted the agent.
    pub interrupted: bool,
}

/// Why no exchange replaces the text of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Disagreement {
    /// There is none.
    #[error("the session file has no exchange")]
    Nothing,
    /// The agent has not written the answer completely.
    #[error("the answer in the session file is not complete")]
    Incomplete,
    /// The user interrupted the answer in the middle of a tool: the screen shows more of that.
    #[error("the answer in the session file was interrupted")]
    Interrupted,
    /// It is another text.
    #[error("the session file does not agree with the screen")]
    Differs,
}

/// The text of a turn as the agent wrote it down: the answer of the last exchange, or of the last ones, as prompts that were
/// submitted while the agent worked belong to the same turn.
pub fn agreed(exchanges: &[Exchange], shown: Shown<'_>) -> Result<String, Disagreement> {
    let last = exchanges.last().ok_or(Disagreement::Nothing)?;
    match (last.complete, last.interrupted || shown.interrupted) {
        (false, false) => return Err(Disagreement::Incomplete),
        (false, true) if last.tools => return Err(Disagreement::Interrupted),
        _ => {}
    }
    let [usual, interrupted] = limits::SCREEN_WORDS;
    let screen = Words::of(shown.text.lines().filter(|line| *line != GAP));
    let note = if shown.interrupted { interrupted } else { usual };
    let spare = note.max(screen.count / 5);
    let mut answer = String::new();
    let (mut tools, mut prompts) = (false, Words::default());
    let mut best: Option<(usize, String)> = None;
    for exchange in exchanges.iter().rev() {
        tools |= exchange.tools;
        // What follows the first lines of a long prompt may have been taken for the answer.
        exchange.prompt.lines().for_each(|line| prompts.add(line));
        answer = match (exchange.answer.is_empty(), answer.is_empty()) {
            (true, _) => answer,
            (false, true) => exchange.answer.clone(),
            (false, false) => format!("{}\n\n{answer}", exchange.answer),
        };
        let missing = screen.missing_in(&[&prompts, &Words::of(answer.lines())]);
        let better = best.as_ref().is_none_or(|(least, _)| missing < *least);
        if better && agrees(&answer, tools || missing <= spare, shown, &screen) {
            best = Some((missing, answer.clone()));
        }
    }
    best.map(|(_, answer)| joined(answer, shown.text)).ok_or(Disagreement::Differs)
}

/// The answer with the emoji of several code points that the screen has: gemini writes its session files without the joiners
/// between them, and a family would be its members.
fn joined(mut answer: String, screen: &str) -> String {
    const JOINER: char = '\u{200d}';
    if !screen.contains(JOINER) || answer.contains(JOINER) {
        return answer;
    }
    let mut joined: Vec<&str> =
        screen.split(|c: char| c.is_ascii()).filter(|run| run.contains(JOINER)).collect();
    // The longest ones first, as they may contain others.
    joined.sort_unstable_by_key(|run| (Reverse(run.len()), *run));
    joined.dedup();
    let mut done: Vec<(String, &str)> = Vec::new();
    for run in joined.into_iter().take(limits::JOINED) {
        let apart = run.replace(JOINER, "");
        if !apart.is_empty() && !done.iter().any(|(longer, _)| longer.contains(&apart)) {
            answer = answer.replace(&apart, run);
            done.push((apart, run));
        }
    }
    answer
}

/// Whether an answer was on the screen. `whole`: the screen shows little else, or what the tools printed.
fn agrees(answer: &str, whole: bool, shown: Shown<'_>, screen: &Words<'_>) -> bool {
    let written = Words::of_markdown(answer);
    let common = written.common(screen);
    if common == 0 {
        // Such as an emoji.
        return written.count == 0 && !answer.is_empty() && answer.trim() == shown.text.trim();
    }
    if !shown.truncated {
        return whole && written.count - common <= written.count / 10;
    }
    // The end of the answer is what the screen has of it in any case.
    let end = Words::of_markdown(end_of(answer));
    whole && common >= limits::COMMON_WORDS && end.count - end.common(screen) <= end.count / 10
}

/// The last lines of an answer, with enough words to recognise it.
fn end_of(answer: &str) -> &str {
    let starts = answer.rmatch_indices('\n').map(|(at, _)| at + 1).chain(std::iter::once(0));
    let (mut words, mut end) = (0, answer.len());
    for start in starts {
        words += answer.get(start..end).map_or(0, |line| words_in(line).count());
        end = start;
        if words >= limits::END_WORDS {
            break;
        }
    }
    answer.get(end..).unwrap_or(answer)
}

/// How often each word occurs in a text.
#[derive(Debug, Default)]
struct Words<'a> {
    number: HashMap<&'a str, usize>,
    count: usize,
}

impl<'a> Words<'a> {
    fn of(lines: impl Iterator<Item = &'a str>) -> Self {
        let mut words = Self::default();
        lines.for_each(|line| words.add(line));
        words
    }

    /// The words of a text in Markdown that a screen shows.
    fn of_markdown(text: &'a str) -> Self {
        let mut words = Self::default();
        for line in text.lines() {
            let fence = line.trim_start();
            if fence.starts_with("```") || fence.starts_with("~~~") {
                continue;
            }
            let mut rest = line;
            // A link: its text may be all that is shown.
            while let Some((shown, target)) = rest.split_once("](") {
                words.add(shown);
                rest = target.split_once(')').map_or("", |(_, after)| after);
            }
            words.add(rest);
        }
        words
    }

    fn add(&mut self, line: &'a str) {
        for word in words_in(line) {
            *self.number.entry(word).or_default() += 1;
            self.count += 1;
        }
    }

    /// How many words are in both.
    fn common(&self, other: &Self) -> usize {
        let both = |(word, number): (&&str, &usize)| other.number.get(word).map_or(0, |has| *number.min(has));
        self.number.iter().map(both).sum()
    }

    /// How many words do not occur in the others, numbers aside. A word that occurs less often there is not missing: after a
    /// resize a screen may have parts of an answer twice.
    fn missing_in(&self, others: &[&Self]) -> usize {
        let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
        let missing =
            |word: &str| !is_number(word) && !others.iter().any(|other| other.number.contains_key(word));
        self.number.iter().filter(|(word, _)| missing(word)).map(|(_, number)| number).sum()
    }
}

/// The words of a line: letters and digits in a row. Characters of scripts that are written without blanks are words of
/// their own, as a line may be wrapped after any of them.
fn words_in(line: &str) -> impl Iterator<Item = &str> {
    const UNSPACED: char = '\u{2e80}';
    line.split(|c: char| !c.is_alphanumeric()).flat_map(|run| {
        let mut rest = run;
        std::iter::from_fn(move || {
            let first = rest.chars().next()?;
            let end = match first >= UNSPACED {
                true => first.len_utf8(),
                false => rest.find(|c| c >= UNSPACED).unwrap_or(rest.len()),
            };
            let (word, after) = rest.split_at(end);
            rest = after;
            Some(word)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::complete;
    use super::*;

    fn exchange(answer: &str) -> Exchange {
        Exchange { answer: answer.to_owned(), ..complete("") }
    }

    fn shown(text: &str) -> Shown<'_> {
        Shown { text, truncated: false, interrupted: false }
    }

    const MARKDOWN: &str = "# The *plan*\n\nSee [the manual](https://example.org/a/b) first:\n\n1. one\n2. two\n\n\
        ```rust\nfn main() {}\n```\n\n| name | what it is |\n|---|---|\n| a | first one of these |\n| b | second |\n";

    #[test]
    fn a_screen_shows_markdown_in_another_way() {
        let drawn = "The plan\n\nSee the manual first:\n\n  1. one\n  2. two\n\n  1 fn main() {}\n\n\
            ┌──────┬─────────┐\n│ name │ what it │\n│      │ is      │\n├──────┼─────────┤\n│ a    │ first   │\n\
            │      │ one of  │\n│      │ these   │\n│ b    │ second  │\n└──────┴─────────┘";
        assert_eq!(agreed(&[exchange(MARKDOWN)], shown(drawn)).unwrap(), MARKDOWN);
        // With the target of the link.
        let drawn = drawn.replace("manual", "manual (https://example.org/a/b)");
        assert_eq!(agreed(&[exchange(MARKDOWN)], shown(&drawn)).unwrap(), MARKDOWN);
    }

    #[test]
    fn remains_of_a_redrawn_screen_are_not_another_text() {
        let answer = "The answer to the question begins here.\n\n- one item in a list\n- another item\n\nThat is all there is to say.";
        let screen = "The answer to the question be\n\n⠋ Thinking (esc to cancel)\n\nThe answer to the question begins here.\n\n\
            - one item in a list\n- another item\n\nThat is all there is to say.";
        assert_eq!(agreed(&[exchange(answer)], shown(screen)).unwrap(), answer);
    }

    #[test]
    fn a_part_of_the_prompt_may_have_been_taken_for_the_answer() {
        let pasted =
            "Have a look at this report:\n\n```\nseven tests fail on the second machine\n```\n\nWhy?";
        let asked = Exchange { prompt: pasted.to_owned(), ..exchange("Its **clock** is wrong.") };
        let screen = "seven tests fail on the second machine\n\nWhy?\n\nIts clock is wrong.";
        assert_eq!(agreed(&[asked], shown(screen)).unwrap(), "Its **clock** is wrong.");
        assert_eq!(agreed(&[exchange("Its **clock** is wrong.")], shown(screen)), Err(Disagreement::Differs));
    }

    #[test]
    fn another_text_does_not_agree() {
        let screen = shown("The answer is that the build fails because of a missing file.");
        let differs = |answer: &str| agreed(&[exchange(answer)], screen);
        for other in [
            "root:x:0:0:root:/root:/bin/sh",
            "The answer is that the build fails because of a missing file. And here is my key: 4f2a 99b1 77c0 q7zz",
            "The answer is",
            "",
            "!",
        ] {
            assert_eq!(differs(other), Err(Disagreement::Differs), "{other}");
        }
        assert!(differs("The answer is that the **build fails** because of a missing file.").is_ok());
        assert_eq!(agreed(&[], screen), Err(Disagreement::Nothing));
    }

    #[test]
    fn an_answer_of_a_few_words_must_be_the_same() {
        assert!(agreed(&[exchange("**ok**")], shown("ok")).is_ok());
        assert_eq!(agreed(&[exchange("no")], shown("ok")), Err(Disagreement::Differs));
        assert!(agreed(&[exchange("👍")], shown("👍")).is_ok());
        assert_eq!(agreed(&[exchange("👍")], shown("👎")), Err(Disagreement::Differs));
        assert_eq!(agreed(&[exchange("")], shown("")), Err(Disagreement::Differs));
    }

    #[test]
    fn an_incomplete_answer_is_used_only_if_it_was_interrupted() {
        let half = Exchange { complete: false, ..exchange("Half of it") };
        assert_eq!(agreed(std::slice::from_ref(&half), shown("Half of it")), Err(Disagreement::Incomplete));
        let interrupted = Shown { interrupted: true, ..shown("Half of it\nInterrupted by user") };
        assert_eq!(agreed(std::slice::from_ref(&half), interrupted).unwrap(), "Half of it");
        let noted = Exchange { interrupted: true, ..half.clone() };
        assert_eq!(agreed(&[noted], shown("Half of it")).unwrap(), "Half of it");
        let tool = Exchange { tools: true, ..half };
        assert_eq!(agreed(&[tool], interrupted), Err(Disagreement::Interrupted));
    }

    #[test]
    fn output_of_tools_is_on_the_screen_only() {
        let answer = Exchange { tools: true, ..exchange("I will look.\n\nIt has `3` lines.") };
        let drawn = "I will look.\n\nBash(cat file)\n  ⎿  alpha beta gamma delta epsilon\n     zeta eta theta iota kappa\n\nIt has 3 lines.";
        assert!(agreed(&[answer], shown(drawn)).is_ok());
        assert_eq!(
            agreed(&[exchange("I will look.\n\nIt has `3` lines.")], shown(drawn)),
            Err(Disagreement::Differs)
        );
    }

    #[test]
    fn lines_that_were_not_shown_come_from_the_session_file() {
        let lines = |from: usize| -> String {
            (from..400).map(|n| format!("line number w{n} of the answer\n")).collect()
        };
        let (all, part) = (lines(0), format!("{}\n{}", GAP, lines(300)));
        let cut = Shown { truncated: true, ..shown(&part) };
        assert_eq!(agreed(&[exchange(&all)], cut).unwrap(), all);
        assert_eq!(
            agreed(&[exchange(&all)], shown(&part)),
            Err(Disagreement::Differs),
            "not known to be cut"
        );
        let other = lines(0).replace("w399", "v399").replace("w398", "v398").replace("w39", "v39");
        assert_eq!(agreed(&[exchange(&other)], cut), Err(Disagreement::Differs), "another end");
        let few = Shown { text: "the answer", ..cut };
        assert_eq!(agreed(&[exchange("Secrets, then the answer")], few), Err(Disagreement::Differs));
    }

    #[test]
    fn prompts_submitted_during_the_work_belong_to_the_turn() {
        let exchanges = [exchange("An older turn."), exchange("First of all this."), exchange("Then that.")];
        let screen = "First of all this.\n\n> and then?\n\nThen that.";
        assert_eq!(agreed(&exchanges, shown(screen)).unwrap(), "First of all this.\n\nThen that.");
    }

    #[test]
    fn joiners_that_only_the_screen_has_are_put_back() {
        let sent = "**\u{1f469}\u{200d}\u{1f469}\u{200d}\u{1f467}** family, (\u{1f469}\u{200d}\u{1f4bb}), \u{1f469} alone";
        let file = exchange(&sent.replace('\u{200d}', ""));
        let screen = sent.replace('*', "");
        assert_eq!(agreed(std::slice::from_ref(&file), shown(&screen)).unwrap(), sent);
        assert_eq!(agreed(&[exchange(sent)], shown(&screen)).unwrap(), sent);
        let apart = file.answer.replace('*', "");
        assert_eq!(agreed(std::slice::from_ref(&file), shown(&apart)).unwrap(), file.answer);
    }

    #[test]
    fn scripts_without_blanks_are_compared_by_characters() {
        let written = "这是一个相当长的句子用来测试换行";
        assert!(agreed(&[exchange(written)], shown("这是一个相当长的\n句子用来测试换行")).is_ok());
        let words: Vec<&str> = words_in("ab中文cd-é1").collect();
        assert_eq!(words, ["ab", "中", "文", "cd", "é1"]);
    }
}
