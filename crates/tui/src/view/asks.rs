//! What waits for the user: approvals, answered with one key, and questions, answered with a number or words.

use super::diff;
use super::transcript::parameters;
use crate::event::{ApprovalChoice, ApprovalPrompt, QuestionEntry, QuestionPrompt};
use crate::input::keys::Key;
use crate::limits;
use crate::text::{Colour, StyledLine, TextStyle};
use std::collections::VecDeque;

/// A pending approval or question.
#[derive(Debug, Clone, PartialEq)]
pub enum PendingAsk {
    /// An approval.
    Approval(ApprovalPrompt),
    /// A question, with the answers so far.
    Question(QuestionPrompt, Vec<String>),
}

/// The user's decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserDecision {
    /// Yes or no to an approval.
    Approval {
        /// Which approval.
        id: String,
        /// Whether it is granted.
        approved: bool,
        /// The option that was chosen, if it has options.
        option: Option<String>,
        /// Whether it holds from now on.
        always: bool,
    },
    /// The answer to a question.
    Answer {
        /// Which question.
        id: String,
        /// The answer to each of its items, in their order.
        answers: Vec<String>,
        /// Whether it was asked with several items at once.
        multi: bool,
    },
}

/// What is to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionReply {
    /// What was decided.
    pub decision: UserDecision,
    /// What was decided, for people.
    pub said: String,
    /// Whether it allows something.
    pub allows: bool,
}

/// All pending approvals and questions, in order.
#[derive(Debug, Clone, Default)]
pub struct PendingAsks(VecDeque<PendingAsk>);

impl PendingAsks {
    /// Adds an approval or question, unless it is pending already; true if it is next.
    pub fn push(&mut self, ask: PendingAsk) -> bool {
        if self.0.len() < limits::WAITING && !self.0.iter().any(|known| known.id() == ask.id()) {
            self.0.push_back(ask);
            return self.0.len() == 1;
        }
        false
    }

    /// What is to be answered next.
    pub fn first(&self) -> Option<&PendingAsk> {
        self.0.front()
    }

    /// Removes everything; the agent no longer waits.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Removes one that was decided elsewhere; true if it was next.
    pub fn settle(&mut self, id: &str) -> bool {
        let first = self.first().is_some_and(|ask| ask.id() == id);
        self.0.retain(|ask| ask.id() != id);
        first
    }

    /// Handles a key, if an approval is next; returns the reply if the key decides it.
    pub fn press(&mut self, key: &Key) -> Option<DecisionReply> {
        let Some(PendingAsk::Approval(approval)) = self.first() else { return None };
        let reply = decide(approval, key)?;
        self.0.pop_front();
        Some(reply)
    }

    /// Handles a text, if a question is next; returns the reply if that was the last answer.
    pub fn answer(&mut self, text: &str) -> Option<DecisionReply> {
        let Some(PendingAsk::Question(question, answers)) = self.0.front_mut() else { return None };
        let item = question.items.get(answers.len())?;
        answers.push(chosen(item, text));
        if answers.len() < question.items.len() {
            return None;
        }
        let reply = answered(question, answers);
        self.0.pop_front();
        Some(reply)
    }
}

impl PendingAsk {
    /// Its id.
    pub fn id(&self) -> &str {
        match self {
            Self::Approval(approval) => &approval.id,
            Self::Question(question, _) => &question.id,
        }
    }

    /// All that the user needs to know to answer.
    pub fn lines(&self) -> Vec<StyledLine> {
        match self {
            Self::Approval(approval) => approval_lines(approval),
            Self::Question(question, answers) => question_lines(question, answers.len()),
        }
    }

    /// The ways to answer, in one line.
    pub fn hint(&self) -> String {
        match self {
            Self::Approval(approval) if approval.options.is_empty() => "y yes · a always · n no".to_owned(),
            Self::Approval(approval) => {
                let option = |(n, choice): (usize, &ApprovalChoice)| {
                    let letter =
                        letter(&approval.options, n).map_or_else(String::new, |letter| format!("{letter}/"));
                    format!("{letter}{} {}", n + 1, choice.label)
                };
                approval.options.iter().enumerate().map(option).collect::<Vec<_>>().join(" · ")
            }
            Self::Question(question, answers) => {
                let options = question.items.get(answers.len()).map_or(0, |item| item.options.len());
                if options > 0 { format!("1–{options}, or words") } else { "your answer".to_owned() }
            }
        }
    }
}

fn approval_lines(approval: &ApprovalPrompt) -> Vec<StyledLine> {
    let question = TextStyle { bold: true, ..TextStyle::of(Colour::Yellow) };
    let mut lines = vec![StyledLine::new(question, "? may it use ").with(question, &approval.tool)];
    let reason = approval
        .reason
        .lines()
        .map(|line| StyledLine::new(TextStyle::PLAIN, &format!("  {line}")).hanging(2));
    lines.extend(reason);
    match diff::edits(&approval.parameters) {
        Some((edits, rest)) => {
            lines.extend(parameters(&rest));
            lines.extend(edits);
        }
        None => lines.extend(parameters(&approval.parameters)),
    }
    if lines.len() > limits::ASK_LINES {
        let more = lines.len() - limits::ASK_LINES;
        lines.truncate(limits::ASK_LINES);
        let text =
            format!("  … {more} more lines are NOT shown; `swb approvals show {}` shows them", approval.id);
        lines.push(StyledLine::new(TextStyle::of(Colour::Red), &text));
    }
    lines
}

fn question_lines(question: &QuestionPrompt, at: usize) -> Vec<StyledLine> {
    let style = TextStyle { bold: true, ..TextStyle::of(Colour::Yellow) };
    let mut lines = Vec::new();
    let Some(item) = question.items.get(at) else { return lines };
    if question.multi && at == 0 && question.text != item.question {
        lines.extend(question.text.lines().map(|line| StyledLine::new(TextStyle::BOLD, line)));
    }
    let count = question.items.len();
    let number = if count > 1 { format!("{}/{count} ", at + 1) } else { String::new() };
    lines.push(StyledLine::new(style, &format!("? {number}{}", item.question)).hanging(2));
    for (n, option) in item.options.iter().enumerate() {
        let text = format!("  {} {option}", n + 1);
        lines.push(StyledLine::new(TextStyle::PLAIN, &text).hanging(4));
    }
    lines
}

/// The letter that stands for an option: the first of its meaning.
fn letter(options: &[ApprovalChoice], at: usize) -> Option<char> {
    let meaning = |choice: &ApprovalChoice| (choice.allows, choice.always);
    let wanted = options.get(at).map(meaning)?;
    if options.iter().position(|choice| meaning(choice) == wanted) != Some(at) {
        return None;
    }
    match wanted {
        (true, false) => Some('y'),
        (true, true) => Some('a'),
        (false, false) => Some('n'),
        // "Never" gets no letter: it is too easy to press by accident.
        (false, true) => None,
    }
}

fn decide(approval: &ApprovalPrompt, key: &Key) -> Option<DecisionReply> {
    let options = &approval.options;
    let by_letter = |wanted: char| {
        let at = (0..options.len()).find(|n| letter(options, *n) == Some(wanted));
        at.and_then(|at| options.get(at))
    };
    let (chosen, approved, always) = match key {
        Key::Char(digit @ '1'..='9') => {
            let at = (u32::from(*digit) - u32::from('1')) as usize;
            let choice = options.get(at)?;
            (Some(choice), choice.allows, choice.always)
        }
        Key::Char(yes @ ('y' | 'Y' | 'a' | 'A')) => {
            let yes = yes.to_ascii_lowercase();
            let choice = by_letter(yes);
            // The agent has options, but none of this kind.
            if choice.is_none() && !options.is_empty() {
                return None;
            }
            (choice, true, yes == 'a')
        }
        Key::Char('n' | 'N') | Key::Escape => (by_letter('n'), false, false),
        _ => return None,
    };
    Some(verdict(approval, chosen, approved, always))
}

/// The reply to an approval.
pub fn verdict(
    approval: &ApprovalPrompt,
    chosen: Option<&ApprovalChoice>,
    approved: bool,
    always: bool,
) -> DecisionReply {
    let option = chosen.map(|choice| choice.id.clone());
    let decision = UserDecision::Approval { id: approval.id.clone(), approved, option, always };
    let said = match (chosen, approved, always) {
        (Some(choice), ..) if !choice.label.is_empty() => choice.label.clone(),
        (_, true, true) => "allowed from now on".to_owned(),
        (_, true, false) => "allowed".to_owned(),
        (_, false, _) => "denied".to_owned(),
    };
    DecisionReply { decision, said, allows: approved }
}

fn chosen(item: &QuestionEntry, text: &str) -> String {
    let text = text.trim();
    let number = text.parse::<usize>().ok().and_then(|n| item.options.get(n.checked_sub(1)?));
    number.map_or_else(|| text.to_owned(), Clone::clone)
}

/// The reply to a question.
pub fn answered(question: &QuestionPrompt, answers: &[String]) -> DecisionReply {
    let (id, multi) = (question.id.clone(), question.multi);
    let decision = UserDecision::Answer { id, answers: answers.to_vec(), multi };
    DecisionReply { decision, said: answers.join(", "), allows: true }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn decided(approved: bool, option: Option<&str>, always: bool) -> Option<UserDecision> {
        Some(UserDecision::Approval {
            id: "auth-1".into(),
            approved,
            option: option.map(str::to_owned),
            always,
        })
    }

    fn answer(id: &str, answers: &[&str], multi: bool) -> UserDecision {
        let answers = answers.iter().map(|answer| (*answer).to_owned()).collect();
        UserDecision::Answer { id: id.into(), answers, multi }
    }

    fn approval(options: &[(&str, bool, bool)]) -> PendingAsk {
        let choice = |(label, allows, always): &(&str, bool, bool)| ApprovalChoice {
            id: format!("o-{label}"),
            label: (*label).to_owned(),
            allows: *allows,
            always: *always,
        };
        PendingAsk::Approval(ApprovalPrompt {
            id: "auth-1".into(),
            tool: "execute_command".into(),
            parameters: json!({"command": "rm -rf /\n\x1b[8mecho hidden"}),
            reason: "deletes\nfiles".into(),
            options: options.iter().map(choice).collect(),
        })
    }

    fn pressed(ask: &PendingAsk, key: char) -> Option<UserDecision> {
        let mut asks = PendingAsks::default();
        asks.push(ask.clone());
        asks.press(&Key::Char(key)).map(|reply| reply.decision)
    }

    #[test]
    fn one_key_decides() {
        let ask = approval(&[]);
        assert_eq!(pressed(&ask, 'y'), decided(true, None, false));
        assert_eq!(pressed(&ask, 'a'), decided(true, None, true));
        assert_eq!(pressed(&ask, 'n'), decided(false, None, false));
        assert_eq!((pressed(&ask, 'x'), pressed(&ask, '1')), (None, None));
    }

    #[test]
    fn options_are_chosen_by_number_or_meaning() {
        let ask = approval(&[
            ("Once", true, false),
            ("Always", true, true),
            ("No", false, false),
            ("Never", false, true),
        ]);
        assert_eq!(ask.hint(), "y/1 Once · a/2 Always · n/3 No · 4 Never");
        assert_eq!(pressed(&ask, 'y'), decided(true, Some("o-Once"), false));
        assert_eq!(pressed(&ask, '3'), decided(false, Some("o-No"), false));
        let always = decided(true, Some("o-Always"), true);
        assert_eq!((pressed(&ask, '2'), pressed(&ask, 'a')), (always.clone(), always));
        assert_eq!(pressed(&ask, '5'), None);
        let (once, always) = (approval(&[("Once", true, false)]), approval(&[("Always", true, true)]));
        assert_eq!((pressed(&once, 'a'), pressed(&always, 'y')), (None, None), "it is not among them");
        assert_eq!(pressed(&once, 'n'), decided(false, None, false));
    }

    #[test]
    fn everything_is_shown_with_control_characters_visible() {
        let shown: Vec<String> = approval(&[]).lines().iter().map(StyledLine::plain).collect();
        let wanted = [
            "? may it use execute_command",
            "  deletes",
            "  files",
            "  command: rm -rf /",
            r"    \u{1b}[8mecho hidden",
        ];
        assert_eq!(shown, wanted);
    }

    #[test]
    fn questions_are_answered_one_by_one() {
        let item = |question: &str, options: &[&str]| QuestionEntry {
            question: question.into(),
            options: options.iter().map(|option| (*option).to_owned()).collect(),
        };
        let items = vec![item("A?", &["x", "y"]), item("B?", &[])];
        let question = QuestionPrompt { id: "q".into(), text: "Both".into(), multi: true, items };
        let mut asks = PendingAsks::default();
        assert!(asks.push(PendingAsk::Question(question.clone(), Vec::new())));
        assert!(!asks.push(PendingAsk::Question(question, Vec::new())), "asked once");
        assert_eq!(asks.first().unwrap().hint(), "1–2, or words");
        assert_eq!((asks.press(&Key::Char('y')), asks.answer("2")), (None, None));
        assert_eq!(asks.first().unwrap().lines()[0].plain(), "? 2/2 B?");
        let reply = asks.answer(" other \n").unwrap();
        assert_eq!(reply.decision, answer("q", &["y", "other"], true));
        assert!(asks.first().is_none());
        let single = QuestionPrompt {
            id: "s".into(),
            multi: false,
            items: vec![item("C?", &["x"])],
            ..QuestionPrompt::default()
        };
        asks.push(PendingAsk::Question(single, Vec::new()));
        assert_eq!(asks.answer("7").unwrap().decision, answer("s", &["7"], false));
    }

    #[test]
    fn a_question_decided_elsewhere_is_removed() {
        let mut asks = PendingAsks::default();
        asks.push(approval(&[]));
        assert!(!asks.settle("other") && asks.settle("auth-1") && asks.first().is_none());
    }
}
