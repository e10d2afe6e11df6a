//! Messages that the user sends while the agent is answering. They are sent in their order when the answer ends.

use super::ChatState;
use crate::chat::slash_commands::{self, TypedLine};
use crate::limits;
use swb_tui::input::editor::Edited;
use swb_tui::input::keys::Key;
use swb_tui::text::{Colour, StyledLine, TextStyle};

/// Messages of the queue that are shown; the rest is counted.
const SHOWN: usize = 3;

impl ChatState {
    /// Puts the typed message into the queue.
    pub(super) fn queue_typed(&mut self) {
        if self.queue.len() >= limits::CHAT_QUEUE {
            return "the queue is full; Ctrl+C stops the answer".clone_into(&mut self.notice);
        }
        if let Edited::Submitted(text) = self.editor.handle(&Key::Enter) {
            self.queue.push_back(text);
        }
        self.typed = None;
    }

    /// Whether a key takes back the last message of the queue.
    pub(super) fn takes_back(&self, key: &Key) -> bool {
        let free = self.asks.first().is_none() && !self.queue.is_empty();
        free && (*key == Key::Escape || self.editor.text().is_empty())
    }

    /// Takes the last message out of the queue, to be edited. What is typed is not replaced: Up finds the message, too.
    pub(super) fn take_back(&mut self) {
        if let Some(message) = self.queue.pop_back()
            && self.editor.text().is_empty()
        {
            self.editor.put(&message);
        }
    }

    /// Takes all messages out of the queue: the answer they were meant for is being stopped.
    pub(super) fn take_back_all(&mut self) {
        let mut all: Vec<String> = self.queue.drain(..).collect();
        if !all.is_empty() {
            all.extend(Some(self.editor.text().to_owned()).filter(|typed| !typed.is_empty()));
            self.editor.put(&all.join("\n"));
        }
    }

    /// Sends the next message of the queue, if the agent is free.
    pub(super) fn send_queued(&mut self) {
        let free = self.owner && !self.away && !self.gap && !self.is_answering() && !self.is_asked();
        if !free {
            return;
        }
        // It was typed as a prompt: `//` stands for a slash.
        if let Some(TypedLine::Prompt(prompt)) =
            self.queue.pop_front().map(|text| slash_commands::parse(&text))
        {
            self.send_prompt(prompt);
        }
    }

    /// The queue, for the user.
    pub(super) fn queued_lines(&self) -> Vec<StyledLine> {
        let line = |message: &String| {
            let text = message.split_whitespace().collect::<Vec<_>>().join(" ");
            StyledLine::new(TextStyle::of(Colour::Yellow), "▸ queued: ")
                .with(TextStyle::DIM, &text)
                .hanging(2)
        };
        let mut lines: Vec<StyledLine> = self.queue.iter().take(SHOWN).map(line).collect();
        if !lines.is_empty() {
            let more = self.queue.len().saturating_sub(SHOWN);
            let more = if more > 0 { format!("{more} more · ") } else { String::new() };
            lines.push(StyledLine::new(TextStyle::DIM, &format!("  {more}Esc takes the last one back")));
        }
        lines
    }
}
