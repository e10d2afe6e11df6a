//! What happens to a conversation when the connection is lost and when it is restored.

use super::{AWAY, ChatState};
use crate::chat::open_session::OpenedSession;
use crate::limits;
use std::time::Instant;
use swb_tui::event::{TranscriptMessage, ViewEvent};
use swb_tui::view::transcript::{AnswerEnd, AnswerUsage};

impl ChatState {
    /// The connection was lost.
    pub(in crate::chat) fn lost(&mut self) {
        (self.own, self.away) = (false, true);
        self.asks.clear();
        self.outgoing.clear();
        AWAY.clone_into(&mut self.notice);
    }

    /// The connection will not be restored: ends the answer in progress.
    pub(in crate::chat) fn cut_off(&mut self, now: Instant) {
        self.notice.clear();
        if self.transcript.is_active() {
            self.transcript.end(&AnswerEnd::Interrupted, &AnswerUsage::default(), now);
        }
    }

    /// The session is attached again: shows the messages that were missed.
    pub(in crate::chat) fn reattached(&mut self, opened: OpenedSession, now: Instant) {
        self.notice.clear();
        (self.gap, self.away) = (false, false);
        self.received.clear();
        let before = self.agent.clone();
        self.answered_by(opened.agent, opened.terminal);
        if let Some(answering) = self.answering().filter(|_| self.agent != before) {
            self.transcript.note(&format!("{answering} from the next message on"));
        }
        let mut messages = opened.messages.into_iter().skip(self.known).collect::<Vec<TranscriptMessage>>();
        if self.transcript.is_active() {
            if messages.first().is_some_and(|message| !message.user) {
                self.complete(&messages.remove(0), now);
                self.known += 1;
            } else if opened.running {
                // What is still missing when the answer is complete is shown then.
                self.gap = true;
            } else {
                self.transcript.end(&AnswerEnd::Interrupted, &AnswerUsage::default(), now);
            }
        }
        for message in &messages {
            self.transcript.recount(std::slice::from_ref(message), now);
        }
        self.known += messages.len();
        let heard = |prompt: &String| messages.iter().any(|message| message.user && message.text == *prompt);
        if let Some(prompt) = self.unconfirmed.take().filter(|prompt| !heard(prompt)) {
            self.transcript.note("your message was not delivered; Enter sends it again");
            self.editor.put(&prompt);
        }
        self.seat(opened.owner, false);
    }

    /// The part of a piece of an answer that this client has not shown: after a lost connection it gets the answer from
    /// its beginning.
    pub(super) fn not_shown(&mut self, piece: &str) -> String {
        if self.received.len() <= limits::RESULT {
            self.received.push_str(piece);
        }
        self.transcript.rest_of(&self.received).unwrap_or_default().to_owned()
    }

    /// Shows the rest of an answer that was shown in part.
    fn complete(&mut self, message: &TranscriptMessage, now: Instant) {
        match self.transcript.rest_of(&message.text) {
            Some(rest) => {
                let rest = ViewEvent::AnswerText { text: rest.to_owned(), last: true };
                self.transcript.handle(&rest, now);
            }
            None => self.transcript.recount(&[TranscriptMessage { ending: None, ..message.clone() }], now),
        }
        let ending = match message.ending.as_deref() {
            None => AnswerEnd::Completed,
            Some("interrupted") => AnswerEnd::Interrupted,
            Some("stopped") => AnswerEnd::Stopped,
            Some(other) => AnswerEnd::Failed(other.to_owned()),
        };
        self.transcript.end(&ending, &AnswerUsage::default(), now);
    }

    /// The session no longer exists; another replaces it.
    pub(in crate::chat) fn replaced(&mut self, opened: OpenedSession, now: Instant) {
        self.cut_off(now);
        self.transcript.note(&format!("conversation {} no longer exists", self.name));
        self.enter(opened, now);
    }
}
