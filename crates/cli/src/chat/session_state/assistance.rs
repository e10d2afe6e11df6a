//! What helps to type: completion of commands, and the search in earlier prompts.

use super::ChatState;
use crate::chat::slash_commands;
use swb_tui::images;
use swb_tui::input::completion::{Candidate, Completion};
use swb_tui::input::editor::Editor;
use swb_tui::input::keys::Key;
use swb_tui::input::search::{PromptSearch, Searched};
use swb_tui::text::{StyledLine, TextStyle, shortened};

impl ChatState {
    /// Finds what completes the typed command.
    pub(super) fn find_completions(&mut self) {
        let typed = self.editor.text();
        let is_command = typed.starts_with('/') && !typed.starts_with("//") && !typed.contains('\n');
        self.completion = match is_command && self.asks.first().is_none() {
            true => Completion::new(typed, self.candidates()),
            false => Completion::default(),
        };
    }

    /// The commands, and `/agent` with each agent.
    fn candidates(&self) -> Vec<Candidate> {
        let commands = slash_commands::COMMANDS.iter().map(|(usage, about)| {
            let (verb, argument) = usage.split_once(' ').unwrap_or((usage, ""));
            let gap = if argument.is_empty() { "" } else { " " };
            Candidate::new(format!("{verb}{gap}"), *about)
        });
        let agents =
            self.agents.iter().map(|agent| Candidate::new(format!("/agent {agent}"), "this agent answers"));
        match self.editor.text().starts_with("/agent ") {
            true => agents.collect(),
            false => commands.collect(),
        }
    }

    pub(super) fn completes(&self) -> bool {
        !self.completion.is_empty() && self.asks.first().is_none()
    }

    /// Completes the typed command, or chooses the next candidate.
    pub(super) fn complete_command(&mut self) {
        if let Some(line) = self.completion.next(self.editor.text()).map(str::to_owned) {
            self.editor.put(&line);
        }
    }

    pub(super) fn begin_search(&mut self) {
        self.search = Some(PromptSearch::new(self.editor.remembered()));
        self.wants_prompts = true;
    }

    /// Whether the prompts of all conversations are needed, once for each search.
    pub(in crate::chat) fn takes_prompts(&mut self) -> bool {
        std::mem::take(&mut self.wants_prompts)
    }

    /// Adds the prompts of all conversations to the search.
    pub(in crate::chat) fn add_prompts(&mut self, prompts: Vec<String>) {
        if let Some(search) = &mut self.search {
            search.extend(prompts);
        }
    }

    pub(super) fn search_key(&mut self, key: &Key) {
        let Some(search) = &mut self.search else { return };
        match search.handle(key) {
            Searched::Changed => return,
            Searched::Cancelled => {}
            Searched::Taken(prompt) => self.editor.put(&prompt),
        }
        self.search = None;
    }

    /// What is being typed into.
    pub(in crate::chat) fn input(&self) -> &Editor {
        let search = self.search.as_ref().filter(|_| self.asks.first().is_none());
        search.map_or(&self.editor, PromptSearch::words)
    }

    /// The lines that help to type, in at most about `room` rows.
    pub(in crate::chat) fn assistance(&self, width: usize, room: usize) -> Vec<StyledLine> {
        if self.asks.first().is_some() || self.asked_to_save {
            return Vec::new();
        }
        if let Some(search) = &self.search {
            return search.lines(width, room);
        }
        if !self.completion.is_empty() {
            return self.completion.lines(width, room);
        }
        let names = images::names(self.editor.text());
        let line = |name: &String| format!("{}{name}", images::MARK);
        let line = names.iter().map(line).collect::<Vec<_>>().join("  ");
        match line.is_empty() {
            true => Vec::new(),
            false => vec![StyledLine::new(TextStyle::DIM, &shortened(&line, width))],
        }
    }
}
