//! Approvals and questions of a conversation: requested, settled, timed out.

use super::{Conversation, ConversationState, Now, Refused, Waiting};
use crate::ask::{
    Answers, Approval, ApprovalAnswer, ApprovalId, ApprovalRequest, Decision, Question, QuestionId,
    QuestionRequest, Unanswered,
};
use crate::event::ChatEvent;
use crate::limits;
use std::time::Instant;

impl Conversation {
    /// The agent requests an approval; `id` must be unique.
    pub fn ask_approval(
        &mut self,
        id: ApprovalId,
        request: ApprovalRequest,
        now: Now,
    ) -> Result<(), Refused> {
        self.room_to_ask()?;
        let approval = Approval { id: id.clone(), request, asked_at: now.unix, seen: false };
        let until = now.instant + limits::APPROVAL_NOTICE;
        self.approvals.insert(id, Waiting { what: approval.clone(), until });
        self.events.push_back(ChatEvent::ApprovalAsked(approval));
        Ok(())
    }

    /// A user has seen it and needs time (SS-61).
    pub fn acknowledge(&mut self, id: &ApprovalId, now: Now) -> Result<(), Refused> {
        let waiting = self.approvals.get_mut(id).ok_or(Refused::NotAsked)?;
        if !waiting.what.seen {
            waiting.what.seen = true;
            waiting.until = now.instant + limits::APPROVAL_DECISION;
        }
        Ok(())
    }

    /// A user has decided; the first decision counts.
    pub fn decide(&mut self, id: &ApprovalId, verdict: ApprovalAnswer) -> Result<(), Refused> {
        self.settle_approval(id, Decision::Decided(verdict))
    }

    /// It was settled elsewhere.
    pub fn withdraw(&mut self, id: &ApprovalId) -> Result<(), Refused> {
        self.settle_approval(id, Decision::Withdrawn)
    }

    /// The agent asks a question; `id` must be unique.
    pub fn ask_question(
        &mut self,
        id: QuestionId,
        request: QuestionRequest,
        now: Now,
    ) -> Result<(), Refused> {
        self.room_to_ask()?;
        let fits = (1..=limits::QUESTIONS).contains(&request.items.len())
            && request.items.iter().all(|item| item.options.len() <= limits::OPTIONS);
        if !fits {
            return Err(Refused::Limit("too many questions or options at once"));
        }
        let question = Question { id: id.clone(), request, asked_at: now.unix };
        let until = now.instant + limits::QUESTION_ANSWER;
        self.questions.insert(id, Waiting { what: question.clone(), until });
        self.events.push_back(ChatEvent::QuestionAsked(question));
        Ok(())
    }

    /// A user has answered; the first answer counts.
    pub fn answer(&mut self, id: &QuestionId, answers: Answers) -> Result<(), Refused> {
        self.questions.remove(id).ok_or(Refused::NotAsked)?;
        self.events.push_back(ChatEvent::QuestionSettled { id: id.clone(), answers: Ok(answers) });
        Ok(())
    }

    /// Pending approvals, oldest first.
    pub fn approvals(&self) -> Vec<&Approval> {
        let mut all: Vec<&Approval> = self.approvals.values().map(|waiting| &waiting.what).collect();
        all.sort_by(|a, b| (a.asked_at, &a.id).cmp(&(b.asked_at, &b.id)));
        all
    }

    /// Pending questions, oldest first.
    pub fn questions(&self) -> Vec<&Question> {
        let mut all: Vec<&Question> = self.questions.values().map(|waiting| &waiting.what).collect();
        all.sort_by(|a, b| (a.asked_at, &a.id).cmp(&(b.asked_at, &b.id)));
        all
    }

    /// When [`Conversation::handle_timeout`] has to be called.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let approvals = self.approvals.values().map(|waiting| waiting.until);
        approvals.chain(self.questions.values().map(|waiting| waiting.until)).min()
    }

    /// Settles what has timed out (SS-62, SS-64).
    pub fn handle_timeout(&mut self, now: Instant) {
        let late = self.approvals.iter().filter(|(_, waiting)| waiting.until <= now);
        for id in late.map(|(id, _)| id.clone()).collect::<Vec<_>>() {
            let _settled = self.settle_approval(&id, Decision::Lapsed);
        }
        let late = self.questions.iter().filter(|(_, waiting)| waiting.until <= now);
        for id in late.map(|(id, _)| id.clone()).collect::<Vec<_>>() {
            self.settle_question(&id, Unanswered::Lapsed);
        }
    }

    fn room_to_ask(&self) -> Result<(), Refused> {
        let asked = self.approvals.len() + self.questions.len();
        if self.state != ConversationState::Active {
            return Err(Refused::NotAsked);
        }
        if asked >= limits::ASKS {
            Err(Refused::Limit("too many approvals and questions are pending"))
        } else {
            Ok(())
        }
    }

    fn settle_approval(&mut self, id: &ApprovalId, decision: Decision) -> Result<(), Refused> {
        self.approvals.remove(id).ok_or(Refused::NotAsked)?;
        self.events.push_back(ChatEvent::ApprovalSettled { id: id.clone(), decision });
        Ok(())
    }

    pub(super) fn settle_approvals(&mut self, decision: &Decision) {
        for id in self.approvals.keys().cloned().collect::<Vec<_>>() {
            let _settled = self.settle_approval(&id, decision.clone());
        }
    }

    fn settle_question(&mut self, id: &QuestionId, why: Unanswered) {
        if self.questions.remove(id).is_some() {
            self.events.push_back(ChatEvent::QuestionSettled { id: id.clone(), answers: Err(why) });
        }
    }

    pub(super) fn settle_all(&mut self) {
        self.settle_approvals(&Decision::Stopped);
        for id in self.questions.keys().cloned().collect::<Vec<_>>() {
            self.settle_question(&id, Unanswered::Stopped);
        }
    }
}
