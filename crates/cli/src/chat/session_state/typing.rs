//! What the user types into a conversation: prompts, commands, and the keys that decide approvals.

use super::{AWAY, ChatState, RequestPurpose};
use crate::chat::messages;
use crate::chat::open_session::create_options;
use crate::chat::slash_commands::{self, SlashCommand, TypedLine};
use crate::limits;
use std::time::Instant;
use swb_tui::input::editor::Edited;
use swb_tui::input::keys::Key;
use swb_tui::text::{Colour, StyledLine, TextStyle};
use swb_tui::view::asks::{DecisionReply, PendingAsk};
use swb_types::SavePolicy;
use swb_wire::scriptschnell::{
    ChatSend, ConfigSet, Request, Scalar, SessionAttach, SessionCreate, SessionFilter, SessionRef,
    SessionSave,
};

impl ChatState {
    /// Handles a key.
    pub(in crate::chat) fn key(&mut self, key: &Key, now: Instant) {
        self.notice.clear();
        if self.asked_to_save {
            return self.decide_saving(key);
        }
        let is_approval = matches!(self.asks.first(), Some(PendingAsk::Approval(_)));
        if self.search.is_some() && !is_approval {
            self.typed = Some(now);
            return self.search_key(key);
        }
        let interrupted = self.interrupted.take();
        match key {
            Key::Ctrl('c') => return self.interrupt(interrupted, now),
            Key::Ctrl('d') if self.editor.text().is_empty() => return self.leave(),
            Key::Ctrl('r') if self.asks.first().is_none() => return self.begin_search(),
            Key::Escape | Key::Up if self.takes_back(key) => return self.take_back(),
            Key::Tab if self.completes() => return self.complete_command(),
            Key::Ctrl('o') => {
                let lines = self.transcript.last_tool();
                return self.transcript.insert(lines, now);
            }
            _ => {}
        }
        if is_approval {
            return self.approve(key, now);
        }
        self.typed = Some(now);
        if *key == Key::Enter && self.away && self.needs_daemon() {
            return AWAY.clone_into(&mut self.notice);
        }
        if *key == Key::Enter && self.is_answering() && self.asks.first().is_none() && self.is_prompt() {
            return self.queue_typed();
        }
        if let Edited::Submitted(text) = self.editor.handle(key) {
            // After sending, the user is not in the middle of typing.
            self.typed = None;
            self.submit(text, now);
        }
        self.find_completions();
    }

    /// Whether the typed line has to be sent to the daemon.
    fn needs_daemon(&self) -> bool {
        match slash_commands::parse(self.editor.text()) {
            TypedLine::Command(
                SlashCommand::Agents | SlashCommand::Help | SlashCommand::Quit | SlashCommand::Tools,
            )
            | TypedLine::Wrong(_) => false,
            TypedLine::Command(_) | TypedLine::Prompt(_) => true,
        }
    }

    /// Stops the answer or clears the typed text; leaves if pressed again.
    fn interrupt(&mut self, before: Option<Instant>, now: Instant) {
        let again = before.is_some_and(|before| now.saturating_duration_since(before) < limits::LEAVE_TWICE);
        self.interrupted = Some(now);
        if self.is_answering() && !again {
            self.stop();
        } else if !self.editor.text().is_empty() {
            self.editor.clear();
        } else if again {
            self.leave();
        } else {
            "press Ctrl+C again to leave; the conversation is kept".clone_into(&mut self.notice);
        }
    }

    /// Whether the typed line is a message for the agent.
    fn is_prompt(&self) -> bool {
        matches!(slash_commands::parse(self.editor.text()), TypedLine::Prompt(prompt) if !prompt.trim().is_empty())
    }

    fn stop(&mut self) {
        self.take_back_all();
        "stopping; press Ctrl+C again to leave".clone_into(&mut self.notice);
        self.send(Request::ChatStop(SessionRef::default()), RequestPurpose::Stop);
    }

    fn approve(&mut self, key: &Key, now: Instant) {
        // A user who is in the middle of a word when the request arrives does not mean to answer it.
        if self.typed.is_some_and(|before| now.saturating_duration_since(before) < limits::TYPING) {
            self.typed = Some(now);
            return "you were typing: press the key again to decide".clone_into(&mut self.notice);
        }
        if let Some(reply) = self.asks.press(key) {
            self.reply(reply, now);
        }
    }

    fn reply(&mut self, reply: DecisionReply, now: Instant) {
        let (mark, colour) = if reply.allows { ("✓", Colour::Green) } else { ("✗", Colour::Red) };
        let line = StyledLine::new(TextStyle::of(colour), &format!("{mark} {}", reply.said));
        self.transcript.add(line);
        self.send(messages::request(&reply.decision), RequestPurpose::Decide);
        self.show_ask(now);
    }

    /// Shows the next approval or question.
    pub(super) fn show_ask(&mut self, now: Instant) {
        if let Some(lines) = self.asks.first().map(PendingAsk::lines) {
            self.transcript.insert(lines, now);
        }
    }

    fn submit(&mut self, text: String, now: Instant) {
        if self.asks.first().is_some() {
            match self.asks.answer(&text) {
                Some(reply) => self.reply(reply, now),
                None => self.show_ask(now),
            }
            return;
        }
        match slash_commands::parse(&text) {
            TypedLine::Prompt(prompt) if prompt.trim().is_empty() => {}
            TypedLine::Prompt(prompt) if self.owner => self.send_prompt(prompt),
            TypedLine::Prompt(prompt) => self.attach(false, Some(prompt)),
            TypedLine::Wrong(what) => self.transcript.note(&what),
            TypedLine::Command(command) => self.execute(command, now),
        }
    }

    pub(super) fn send_prompt(&mut self, prompt: String) {
        self.own = true;
        self.unconfirmed = Some(prompt.clone());
        let request = ChatSend { content: Some(prompt.clone()), ..ChatSend::default() };
        self.send(Request::ChatSend(request), RequestPurpose::Send(prompt));
    }

    fn attach(&mut self, takeover: bool, then: Option<String>) {
        let session_id = Some(self.name.clone());
        let request = SessionAttach { session_id, takeover: takeover.then_some(true) };
        self.send(Request::SessionAttach(request), RequestPurpose::Attach(then));
    }

    pub(super) fn execute(&mut self, command: SlashCommand, now: Instant) {
        let text = |text: String| Some(Scalar::Text(text));
        let moves = matches!(command, SlashCommand::New | SlashCommand::Resume(_) | SlashCommand::Clear);
        if moves && self.is_answering() {
            return self.transcript.note("the agent is still answering; /stop stops it");
        }
        match command {
            SlashCommand::Agent(agent) => {
                self.configure(ConfigSet { agent: text(agent), ..ConfigSet::default() })
            }
            SlashCommand::Agents => {
                let who = self.answering().unwrap_or_else(|| "/agent NAME chooses an agent".to_owned());
                let known = format!("agents: {}", self.agents.join(", "));
                self.transcript.note(&if self.agents.is_empty() { who } else { format!("{who}\n{known}") });
            }
            SlashCommand::Model(model) => {
                self.configure(ConfigSet { model: text(model), ..ConfigSet::default() })
            }
            SlashCommand::Clear => {
                self.send(Request::ChatClear(SessionRef::default()), RequestPurpose::Clear)
            }
            SlashCommand::Help => self.transcript.note(&slash_commands::help()),
            SlashCommand::New => {
                let request = SessionCreate {
                    working_dir: Some(self.directory.clone()),
                    options: create_options(None, self.save == SavePolicy::Always),
                    ..SessionCreate::default()
                };
                self.send(Request::SessionCreate(request), RequestPurpose::New);
            }
            SlashCommand::Quit => self.leave(),
            SlashCommand::Resume(name) => {
                self.send(
                    Request::SessionLoad(SessionRef { session_id: Some(name) }),
                    RequestPurpose::Resume,
                );
            }
            SlashCommand::Save(name) => {
                let request = SessionSave { name, session_id: None };
                self.send(Request::SessionSave(request), RequestPurpose::Save);
            }
            SlashCommand::Sessions => {
                let filter = SessionFilter { workspace: Some(self.directory.clone()) };
                self.send(Request::SessionList(filter), RequestPurpose::List);
            }
            SlashCommand::Stop => self.stop(),
            SlashCommand::Takeover => self.attach(true, None),
            SlashCommand::Tools => {
                let lines = self.transcript.last_tool();
                self.transcript.insert(lines, now);
            }
        }
    }

    fn configure(&mut self, settings: ConfigSet) {
        self.send(Request::ConfigSet(settings), RequestPurpose::Config);
    }
}
