//! A dialog of an agent, shown to clients as an approval, or as a question if it has several answers.

use super::limits;
use crate::confinement::one_line;
use swb_chat::{Answers, ApprovalAnswer, Decision, Progress, QuestionItem, QuestionRequest, Unanswered};
use swb_engine::chat::{Boxed, Exchange};
use swb_engine::{Dialog, Session, approval_of, chosen};
use swb_turns::ProgramState;

/// Watches for dialogs, and shows each to clients once.
pub(super) struct DialogWatcher<'a> {
    session: &'a Session,
    exchange: &'a Exchange,
    /// The dialog seen last, and in how many looks.
    seen: (Option<Dialog>, u16),
    waiting: Option<(Dialog, Boxed<'a, DialogOutcome>)>,
    /// A dialog that can only be answered at the terminal, and that was reported as such.
    left: Option<String>,
}

/// The users' reaction to a dialog.
pub(super) enum DialogOutcome {
    Answered(Result<Answers, Unanswered>),
    Decided(Decision),
}

impl<'a> DialogWatcher<'a> {
    pub(super) fn new(session: &'a Session, exchange: &'a Exchange) -> Self {
        Self { session, exchange, seen: (None, 0), waiting: None, left: None }
    }

    /// Checks for a dialog. If it was answered in the terminal meanwhile, the approval or question is withdrawn.
    pub(super) async fn look(&mut self) {
        if self.session.view().status.state != ProgramState::Asking {
            (self.seen, self.waiting, self.left) = ((None, 0), None, None);
            return;
        }
        let shown = self.session.dialog().await;
        let id = |dialog: &Option<Dialog>| dialog.as_ref().map(|dialog| dialog.id.clone());
        let times = if id(&shown) == id(&self.seen.0) { self.seen.1.saturating_add(1) } else { 1 };
        self.seen = (shown, times);
        if times < limits::DIALOG_SURE {
            return;
        }
        let shown = &self.seen.0;
        if self.waiting.as_ref().is_some_and(|(dialog, _)| Some(&dialog.id) != id(shown).as_ref()) {
            self.waiting = None;
        }
        let known = id(shown).unwrap_or_default();
        if self.waiting.is_none() && self.left.as_ref() != Some(&known) {
            match shown.clone().filter(Dialog::is_readable) {
                Some(dialog) => self.waiting = Some((dialog.clone(), put(self.exchange, dialog))),
                None if times < limits::DIALOG_UNREADABLE => {}
                None => {
                    let question = shown.as_ref().map(|dialog| dialog.question.clone());
                    self.leave(known, question.as_deref().unwrap_or("the agent is waiting for an answer"))
                        .await;
                }
            }
        }
    }

    /// Waits for the users' reaction, forever if there is no dialog. Cancel-safe.
    pub(super) async fn outcome(&mut self) -> DialogOutcome {
        match &mut self.waiting {
            Some((_, outcome)) => outcome.await,
            None => std::future::pending().await,
        }
    }

    /// Acts on the reaction.
    pub(super) async fn settle(&mut self, outcome: DialogOutcome) {
        let Some((dialog, _)) = self.waiting.take() else { return };
        let option = match outcome {
            DialogOutcome::Decided(Decision::Decided(verdict)) => {
                // A client may ask for more than the dialog offers.
                let once = ApprovalAnswer { always: false, ..verdict.clone() };
                chosen(&dialog, &verdict).or_else(|| chosen(&dialog, &once))
            }
            // Without a decision it must be denied (SS-62).
            DialogOutcome::Decided(Decision::Lapsed) => chosen(&dialog, &ApprovalAnswer::default()),
            DialogOutcome::Decided(Decision::Stopped | Decision::Withdrawn) => {
                self.left = Some(dialog.id);
                return;
            }
            DialogOutcome::Answered(Ok(answers)) => named(&dialog, &answers),
            DialogOutcome::Answered(Err(_)) => None,
        };
        let pressed = match option {
            Some(option) => self.session.answer_dialog(&dialog.id, &option).await.is_ok(),
            None => false,
        };
        let still = self.session.dialog().await.is_some_and(|now| now.id == dialog.id);
        if still || !pressed {
            self.leave(dialog.id, &dialog.question).await;
        }
        self.seen = (None, 0);
    }

    /// Leaves a dialog to the user at the terminal.
    async fn leave(&mut self, id: String, question: &str) {
        self.left = Some(id);
        let name = self.session.name();
        let message = format!("{question} (answer in the terminal: swb attach {name})");
        self.exchange.progress(Progress { message, ..Progress::default() }).await;
    }

    /// Dismisses a dialog without allowing anything; returns whether that was possible.
    pub(super) async fn dismiss(&mut self) -> bool {
        self.waiting = None;
        let Some(dialog) = self.session.dialog().await else { return false };
        let Some(option) = chosen(&dialog, &ApprovalAnswer::default()) else { return false };
        let answered = self.session.answer_dialog(&dialog.id, &option);
        // It presses the keys first and then waits for the dialog to close; that wait may be cut short.
        tokio::time::timeout(limits::DISMISS, answered).await.map_or(true, |answered| answered.is_ok())
    }
}

/// Shows a dialog to clients.
fn put(exchange: &Exchange, dialog: Dialog) -> Boxed<'_, DialogOutcome> {
    Box::pin(async move {
        if dialog.asks_permission() {
            let mut request = approval_of(&dialog);
            request.reason = one_line(&request.reason);
            return DialogOutcome::Decided(exchange.approve(request).await);
        }
        let options = dialog.options.iter().map(|option| option.label.clone()).collect();
        let item = QuestionItem { question: dialog.question.clone(), options };
        let text = match dialog.detail.is_empty() {
            true => dialog.question,
            false => format!("{}\n{}", dialog.detail, dialog.question),
        };
        let request = QuestionRequest { text, multi: false, items: vec![item] };
        DialogOutcome::Answered(exchange.ask(request).await)
    })
}

/// The option named by an answer, by label or by key.
fn named(dialog: &Dialog, answers: &Answers) -> Option<String> {
    let answer = answers.0.get(&0)?.trim();
    let same = |text: &str| text.eq_ignore_ascii_case(answer);
    let found = dialog.options.iter().find(|option| same(&option.label) || same(&option.id));
    found.map(|option| option.id.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use swb_engine::DialogOption;
    use swb_turns::Meaning;

    #[test]
    fn an_answer_names_an_option() {
        let option = |id: &str, label: &str| DialogOption {
            id: id.to_owned(),
            label: label.to_owned(),
            meaning: Meaning::Other,
            confirms: false,
            keys: vec![id.to_owned()],
        };
        let dialog = Dialog {
            id: "d".to_owned(),
            tool: "t".to_owned(),
            question: "Which one?".to_owned(),
            subject: None,
            detail: String::new(),
            cut: false,
            options: vec![option("1", "Red"), option("2", "Green")],
        };
        let named = |answer: &str| named(&dialog, &Answers::single(answer));
        assert_eq!(named(" green ").as_deref(), Some("2"));
        assert_eq!(named("1").as_deref(), Some("1"));
        assert_eq!(named("blue"), None);
    }
}
