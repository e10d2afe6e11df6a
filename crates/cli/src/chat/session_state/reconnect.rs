//! What a lost connection means for a conversation, and what follows when it is made anew.

use super::{AWAY, ChatState};
use crate::chat::open_session::OpenedSession;
use std::time::Instant;
use swb_tui::event::{ChatEvent, TranscriptMessage};
use swb_tui::view::transcript::{AnswerEnd, AnswerUsage};

impl ChatState {
    /// The connection is gone.
    pub(in crate::chat) fn lost(&mut self) {
        (self.own, self.away) = (false, true);
        self.asks.clear();
        self.outgoing.clear();
        AWAY.clone_into(&mut self.notice);
    }

    /// Nothing more will be heard: what was being said ends here.
    pub(in crate::chat) fn cut_off(&mut self, now: Instant) {
        self.notice.clear();
        if self.transcript.is_active() {
            self.transcript.end(&AnswerEnd::Interrupted, &AnswerUsage::default(), now);
        }
    }

    /// The session is there again: tells what was missed.
    pub(in crate::chat) fn reattached(&mut self, opened: OpenedSession, now: Instant) {
        self.notice.clear();
        (self.gap, self.away) = (false, false);
        self.transcript.set_verbatim(opened.terminal);
        let mut messages = opened.messages.into_iter().skip(self.known).collect::<Vec<TranscriptMessage>>();
        if self.transcript.is_active() {
            if messages.first().is_some_and(|message| !message.user) {
                self.complete(&messages.remove(0), now);
                self.known += 1;
            } else if opened.running {
                // What was said meanwhile is told when the answer is complete.
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
        if let Some(prompt) = self.unheard.take().filter(|prompt| !heard(prompt)) {
            self.transcript.note("what you said was not heard; Enter says it again");
            self.editor.put(&prompt);
        }
        self.seat(opened.owner, false);
    }

    /// Tells the rest of an answer that was being told.
    fn complete(&mut self, message: &TranscriptMessage, now: Instant) {
        match self.transcript.rest_of(&message.text) {
            Some(rest) => {
                let rest = ChatEvent::Said { text: rest.to_owned(), last: true };
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

    /// The session is gone; another takes its place.
    pub(in crate::chat) fn replaced(&mut self, opened: OpenedSession, now: Instant) {
        self.cut_off(now);
        self.transcript.note(&format!("the session {} is gone", self.name));
        self.enter(opened, now);
    }
}
