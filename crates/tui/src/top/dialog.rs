//! What is open over the list: the question of a key, or a line of input.

use super::row::{ApprovalRow, SessionRow, SessionState};
use super::state::{Decision, TopAction};
use crate::input::editor::{Edited, Editor};
use crate::input::keys::Key;

/// What is open over the list.
#[derive(Debug, Clone)]
pub enum TopDialog {
    /// The keys.
    Help,
    /// Whether to kill a session.
    Kill(String),
    /// A line for the agent of a session.
    Ask {
        /// The session.
        session: String,
        /// The line.
        line: Editor,
    },
    /// Where to type the newest turn of a session.
    Relay {
        /// The session.
        from: String,
        /// The sessions to choose from.
        targets: Vec<String>,
        /// Which one is selected.
        at: usize,
    },
    /// An approval.
    Approve {
        /// The approval as it was opened: no other is answered.
        approval: ApprovalRow,
        /// Which choice is selected.
        at: usize,
        /// Rows scrolled off the top.
        scroll: usize,
    },
}

/// What a key does to the dialog.
pub(super) enum DialogResult {
    /// It stays open.
    Open(TopDialog),
    /// It is closed.
    Closed,
    /// It is closed, and this is to be done.
    Done(TopAction),
}

impl TopDialog {
    /// Where to relay to: every session but this one that has a terminal and runs.
    pub(super) fn relay(from: String, rows: &[SessionRow]) -> Option<Self> {
        let fits =
            |row: &&SessionRow| row.name != from && !row.conversation && row.state != SessionState::Exited;
        let mut targets: Vec<String> = rows.iter().filter(fits).map(|row| row.name.clone()).collect();
        targets.sort();
        (!targets.is_empty()).then_some(Self::Relay { from, targets, at: 0 })
    }

    pub(super) fn handle(self, key: &Key) -> DialogResult {
        if matches!(key, Key::Escape | Key::Ctrl('c' | ']')) {
            return DialogResult::Closed;
        }
        match self {
            Self::Help => DialogResult::Closed,
            Self::Kill(session) => match key {
                Key::Char('y' | 'Y') => DialogResult::Done(TopAction::Kill(session)),
                _ => DialogResult::Closed,
            },
            Self::Ask { session, line } => ask(session, line, key),
            Self::Relay { from, targets, at } => relay(from, targets, at, key),
            Self::Approve { approval, at, scroll } => approve(approval, at, scroll, key),
        }
    }
}

fn ask(session: String, mut line: Editor, key: &Key) -> DialogResult {
    match line.handle(key) {
        Edited::Submitted(text) if text.trim().is_empty() => DialogResult::Closed,
        Edited::Submitted(text) => DialogResult::Done(TopAction::Ask { session, text }),
        _ => DialogResult::Open(TopDialog::Ask { session, line }),
    }
}

fn relay(from: String, targets: Vec<String>, at: usize, key: &Key) -> DialogResult {
    let last = targets.len().saturating_sub(1);
    let at = match key {
        Key::Down | Key::Char('j') | Key::Tab => (at + 1).min(last),
        Key::Up | Key::Char('k') => at.saturating_sub(1),
        Key::Home => 0,
        Key::End => last,
        Key::Char('q') => return DialogResult::Closed,
        Key::Enter | Key::Char('s') => {
            let submit = *key == Key::Char('s');
            return match targets.into_iter().nth(at) {
                Some(to) => DialogResult::Done(TopAction::Relay { from, to, submit }),
                None => DialogResult::Closed,
            };
        }
        _ => at,
    };
    DialogResult::Open(TopDialog::Relay { from, targets, at })
}

fn approve(approval: ApprovalRow, at: usize, scroll: usize, key: &Key) -> DialogResult {
    let decided =
        |decision| DialogResult::Done(TopAction::Answer { approval: approval.id.clone(), decision });
    let choice = |at: usize| approval.choices.get(at).map(|choice| Decision::Choice(choice.id.clone()));
    let last = approval.choices.len().max(2) - 1;
    let (at, scroll) = match key {
        Key::Char('y') => return decided(Decision::Allow),
        Key::Char('n') => return decided(Decision::Deny),
        Key::Char(digit @ '1'..='9') => {
            let number = usize::try_from(u32::from(*digit) - u32::from('1')).unwrap_or(usize::MAX);
            match choice(number) {
                Some(decision) => return decided(decision),
                None => (at, scroll),
            }
        }
        Key::Enter if approval.choices.is_empty() => {
            return decided(if at == 0 { Decision::Allow } else { Decision::Deny });
        }
        Key::Enter => match choice(at) {
            Some(decision) => return decided(decision),
            None => (at, scroll),
        },
        Key::Down | Key::Char('j') | Key::Tab => ((at + 1).min(last), scroll),
        Key::Up | Key::Char('k') => (at.saturating_sub(1), scroll),
        // What was too far is corrected when it is drawn: only then the rows are known.
        Key::Char(' ') | Key::Ctrl('d') | Key::PageDown => (at, scroll.saturating_add(5)),
        Key::Ctrl('u') | Key::PageUp => (at, scroll.saturating_sub(5)),
        Key::Char('q') => return DialogResult::Closed,
        _ => (at, scroll),
    };
    DialogResult::Open(TopDialog::Approve { approval, at, scroll })
}
