//! The state of a conversation at a terminal: keys and messages in, requests and lines out. No I/O.
//!
//! Messages of the daemon are handled here, keys in [`typing`], and the loss of the connection in
//! [`reconnect`]. [`queue`] has the messages that wait for the end of an answer, [`assistance`] what helps to type them,
//! and [`saving`] when the conversation is saved.

mod assistance;
mod queue;
mod reconnect;
mod saving;
#[cfg(test)]
mod tests;
mod typing;

use super::messages::usage;
use super::open_session::OpenedSession;
use super::slash_commands::SlashCommand;
use super::{SHELL_AGENT, SHELLS};
use crate::limits;
use crate::table;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::Instant;
use swb_tui::event::ViewEvent;
use swb_tui::input::completion::Completion;
use swb_tui::input::editor::Editor;
use swb_tui::input::search::PromptSearch;
use swb_tui::text::{Colour, StyledLine, TextStyle};
use swb_tui::view::asks::{PendingAsk, PendingAsks};
use swb_tui::view::transcript::{Addressee, AnswerEnd, AnswerUsage, Transcript};
use swb_types::SavePolicy;
use swb_wire::scriptschnell::{
    AuthorizationAck, ErrorCode, ErrorInfo, Request, ServerMessage, SessionItem, SessionRef,
};

/// The notice while there is no connection.
const AWAY: &str = "the connection is lost; reconnecting";

/// Why a request was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RequestPurpose {
    /// To become the owner of the session, and then send this message.
    Attach(Option<String>),
    /// To save it, because conversations are saved.
    AutoSave,
    Clear,
    Config,
    Decide,
    List,
    /// To get the messages that were missed.
    Missed,
    New,
    Resume,
    Save,
    /// To save it and then leave.
    SaveAndLeave,
    Send(String),
    Stop,
}

/// A request that is to be sent; one without a purpose gets no reply.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OutgoingRequest {
    pub(super) request: Request,
    pub(super) purpose: Option<RequestPurpose>,
}

/// The conversation.
#[derive(Debug)]
pub(super) struct ChatState {
    pub(super) name: String,
    pub(super) directory: String,
    home: PathBuf,
    pub(super) transcript: Transcript,
    pub(super) editor: Editor,
    /// The agents that can be chosen, as far as they are known.
    pub(super) agents: Vec<String>,
    /// When the conversation is saved.
    pub(super) save: SavePolicy,
    /// Who answers, if that is known.
    agent: Option<String>,
    /// Messages that are sent when the answer ends.
    queue: VecDeque<String>,
    completion: Completion,
    /// The search in earlier prompts, while it goes on.
    search: Option<PromptSearch>,
    /// The search needs the prompts of other conversations.
    wants_prompts: bool,
    asks: PendingAsks,
    owner: bool,
    /// Our own prompt is being answered.
    own: bool,
    /// A prompt of ours that the daemon has not confirmed yet.
    unconfirmed: Option<String>,
    /// The session was created by this client.
    fresh: bool,
    /// It was saved meanwhile.
    saved: bool,
    /// It has changed since it was saved or opened.
    changed: bool,
    /// The user is asked whether to save it before leaving.
    asked_to_save: bool,
    /// Number of messages of the conversation that were shown.
    known: usize,
    /// A part of the answer may be missing from what was shown.
    gap: bool,
    /// What was received of that answer since this client attached; the daemon sends it from its beginning.
    received: String,
    /// There is no connection.
    away: bool,
    outgoing: Vec<OutgoingRequest>,
    /// The notice shown until the next key.
    notice: String,
    interrupted: Option<Instant>,
    typed: Option<Instant>,
    leaving: bool,
}

impl ChatState {
    /// A conversation in a session.
    pub(super) fn new(opened: OpenedSession, home: &Path, now: Instant) -> Self {
        let mut state = Self {
            home: home.to_owned(),
            name: String::new(),
            directory: String::new(),
            transcript: Transcript::default(),
            editor: Editor::default(),
            agents: Vec::new(),
            save: SavePolicy::Never,
            agent: None,
            queue: VecDeque::new(),
            completion: Completion::default(),
            search: None,
            wants_prompts: false,
            asks: PendingAsks::default(),
            owner: true,
            own: false,
            unconfirmed: None,
            fresh: false,
            saved: false,
            changed: false,
            asked_to_save: false,
            known: 0,
            gap: false,
            received: String::new(),
            away: false,
            outgoing: Vec::new(),
            notice: String::new(),
            interrupted: None,
            typed: None,
            leaving: false,
        };
        state.enter(opened, now);
        state
    }

    /// Takes the requests that are to be sent.
    pub(super) fn take_outgoing(&mut self) -> Vec<OutgoingRequest> {
        std::mem::take(&mut self.outgoing)
    }

    /// Whether the user has asked to exit.
    pub(super) fn is_leaving(&self) -> bool {
        self.leaving
    }

    /// Whether this client may act in the session.
    pub(super) fn is_owner(&self) -> bool {
        self.owner
    }

    /// Whether an approval or a question waits for the user.
    pub(super) fn is_asked(&self) -> bool {
        self.asks.first().is_some()
    }

    /// Whether this client created the session and no message was sent in it.
    pub(super) fn is_idle(&self) -> bool {
        self.fresh && self.known == 0 && !self.is_answering()
    }

    /// Whether the agent is answering, or a prompt of ours is on its way.
    fn is_answering(&self) -> bool {
        self.own || self.transcript.is_active()
    }

    /// The lines below the transcript: what waits, what needs a decision, and the notice.
    pub(super) fn hints(&self) -> Vec<StyledLine> {
        let mut lines = self.queued_lines();
        if self.asked_to_save {
            let question = "save this conversation? y yes · n no · Esc stays here";
            lines.push(StyledLine::new(TextStyle::of(Colour::Yellow), question));
        }
        if let Some(ask) = self.asks.first() {
            lines.push(StyledLine::new(TextStyle::of(Colour::Yellow), &ask.hint()));
        }
        if !self.notice.is_empty() {
            lines.push(StyledLine::new(TextStyle::DIM, &self.notice));
        }
        lines
    }

    /// The prompt before the typed text; `None` if nothing can be typed.
    pub(super) fn prompt(&self) -> Option<&'static str> {
        match self.asks.first() {
            _ if self.asked_to_save => None,
            Some(PendingAsk::Approval(_)) => None,
            Some(PendingAsk::Question(..)) => Some("? "),
            None if self.search.is_some() => Some("search › "),
            None if !self.owner => Some("watching › "),
            None => Some(self.transcript.addressee.mark()),
        }
    }

    /// The style of that prompt: a shell's cannot be taken for an agent's.
    pub(super) fn prompt_style(&self) -> TextStyle {
        if self.is_shell() { self.transcript.addressee.style() } else { TextStyle::PLAIN }
    }

    /// Notes who answers.
    fn answered_by(&mut self, agent: Option<String>, terminal: bool) {
        let is_shell = |agent: &str| agent == SHELL_AGENT || (terminal && SHELLS.contains(&agent));
        let shell = agent.as_deref().is_some_and(is_shell);
        self.transcript.addressee = if shell { Addressee::Shell } else { Addressee::Agent };
        self.transcript.set_verbatim(terminal);
        self.agent = agent.filter(|agent| !agent.is_empty());
    }

    fn is_shell(&self) -> bool {
        self.transcript.addressee == Addressee::Shell
    }

    /// Who answers, as the text of a note.
    fn answering(&self) -> Option<String> {
        let agent = self.agent.as_ref()?;
        Some(match self.is_shell() {
            true if agent == SHELL_AGENT => "your shell answers".to_owned(),
            true => format!("{agent}, a shell, answers"),
            false => format!("agent {agent} answers"),
        })
    }

    /// Shows why the shell answers, to a user who has chosen neither it nor another agent.
    pub(super) fn explain_shell(&mut self) {
        if self.is_shell() && self.fresh {
            let what = "no other agent is configured: your shell runs each message as a command";
            self.transcript
                .add(StyledLine::new(TextStyle::of(Colour::Yellow), &format!("· {what}")).hanging(2));
            self.transcript.note("for another agent, see docs/agents.md or `swb chat --help`");
        }
    }

    /// Enters a session.
    fn enter(&mut self, opened: OpenedSession, now: Instant) {
        let count = opened.messages.len();
        let title = if opened.title.is_empty() { String::new() } else { format!(" “{}”", opened.title) };
        let place = table::short_path(&opened.directory, &self.home);
        let what = match (opened.resumed, count) {
            (false, _) => format!("new conversation {} in {place}", opened.name),
            (true, 0) => format!("conversation {}{title} in {place}", opened.name),
            (true, _) => {
                let messages = table::count(count as u64, "message");
                format!("resumed {}{title} · {messages} · /new starts another", opened.name)
            }
        };
        self.answered_by(opened.agent, opened.terminal);
        let what = self.answering().map_or_else(|| what.clone(), |answering| format!("{what} · {answering}"));
        self.transcript.note(&what);
        for message in opened.messages.iter().filter(|message| message.user) {
            self.editor.remember(&message.text);
        }
        let mut from = count.saturating_sub(limits::RESUMED);
        // A question comes before its answer.
        from += opened.messages.iter().skip(from).take_while(|message| !message.user).count();
        let shown = opened.messages.get(from..).filter(|shown| !shown.is_empty()).unwrap_or(&opened.messages);
        self.transcript.recount(shown, now);
        (self.name, self.directory) = (opened.name, opened.directory);
        (self.known, self.fresh, self.saved, self.changed) = (count, !opened.resumed, false, false);
        self.queue.clear();
        // The part of an answer from before we attached is in none of the messages.
        (self.own, self.gap, self.away) = (false, opened.running, false);
        self.received.clear();
        self.asks.clear();
        self.seat(opened.owner, true);
        if opened.running {
            self.transcript.begin(now);
        }
    }

    fn seat(&mut self, owner: bool, first: bool) {
        if !owner && (first || self.owner) {
            self.transcript
                .note("another client owns this conversation; you are watching; /takeover takes it over");
        } else if owner && !self.owner && !first {
            self.transcript.note("you own this conversation now");
        }
        self.owner = owner;
        if !owner {
            self.asks.clear();
        }
    }

    fn send(&mut self, request: Request, purpose: RequestPurpose) {
        self.outgoing.push(OutgoingRequest { request, purpose: Some(purpose) });
    }

    /// Handles an event.
    pub(super) fn event(&mut self, event: ViewEvent, now: Instant) {
        let event = match event {
            ViewEvent::AnswerText { text, last } if self.gap => {
                ViewEvent::AnswerText { text: self.not_shown(&text), last }
            }
            event => event,
        };
        self.transcript.handle(&event, now);
        self.handle_event(event, now);
        self.send_queued();
    }

    fn handle_event(&mut self, event: ViewEvent, now: Instant) {
        match event {
            ViewEvent::Prompt(_) => {
                (self.known, self.changed) = (self.known + 1, true);
                self.unconfirmed = None;
            }
            ViewEvent::AnswerText { last: true, .. } => self.answered(now),
            ViewEvent::Approval(approval) if self.owner => {
                let ack = AuthorizationAck { auth_id: Some(approval.id.clone()) };
                let request = Request::AuthorizationAck(ack);
                self.outgoing.push(OutgoingRequest { request, purpose: None });
                self.ask(PendingAsk::Approval(approval), now);
            }
            ViewEvent::Approval(approval) => {
                let waits = format!("its owner is asked to approve {}", approval.tool);
                self.transcript.note(&waits);
            }
            ViewEvent::Question(question) if self.owner => {
                self.ask(PendingAsk::Question(question, Vec::new()), now)
            }
            ViewEvent::Question(question) => {
                self.transcript.note(&format!("its owner is asked: {}", question.text));
            }
            ViewEvent::Settled { id } if self.asks.settle(&id) => {
                self.transcript.note("decided by another client, or timed out");
                self.show_ask(now);
            }
            ViewEvent::Seat { gone: true, .. } => {
                // The answer ends with it, and no further message about it will arrive.
                (self.own, self.unconfirmed) = (false, None);
                if self.transcript.is_active() {
                    self.transcript.end(&AnswerEnd::Stopped, &AnswerUsage::default(), now);
                }
                self.transcript.note("this conversation was deleted");
                self.execute(SlashCommand::New, now);
            }
            ViewEvent::Seat { owner, .. } => self.seat(owner, false),
            ViewEvent::Error(error) => self.transcript.note(&error),
            _ => {}
        }
    }

    fn ask(&mut self, ask: PendingAsk, now: Instant) {
        if self.asks.push(ask) {
            self.show_ask(now);
        }
    }

    /// The last piece of an answer has arrived.
    fn answered(&mut self, now: Instant) {
        self.asks.clear();
        if std::mem::take(&mut self.gap) {
            let name = SessionRef { session_id: Some(self.name.clone()) };
            return self.send(Request::SessionLoad(name), RequestPurpose::Missed);
        }
        self.known += 1;
        if !self.own && self.transcript.is_active() {
            self.transcript.end(&AnswerEnd::Completed, &AnswerUsage::default(), now);
        }
    }

    /// Handles the reply to a request.
    pub(super) fn answer(
        &mut self,
        purpose: RequestPurpose,
        result: Result<ServerMessage, ErrorInfo>,
        now: Instant,
    ) {
        self.handle_answer(purpose, result, now);
        self.send_queued();
    }

    fn handle_answer(
        &mut self,
        purpose: RequestPurpose,
        result: Result<ServerMessage, ErrorInfo>,
        now: Instant,
    ) {
        match (purpose, result) {
            (RequestPurpose::Send(prompt), result) => self.sent(prompt, result, now),
            (RequestPurpose::Attach(then), Ok(ServerMessage::SessionAttach(endpoint))) => {
                let owner = endpoint.status == "attached";
                self.seat(owner, false);
                match then {
                    Some(prompt) if owner => self.send_prompt(prompt),
                    Some(prompt) => {
                        self.editor.put(&prompt);
                        "another client owns this conversation; /takeover takes it over"
                            .clone_into(&mut self.notice);
                    }
                    None => {}
                }
            }
            (RequestPurpose::Missed, Ok(ServerMessage::SessionLoad(loaded))) => {
                self.reattached(loaded.into(), now);
            }
            (RequestPurpose::Resume, Ok(ServerMessage::SessionLoad(loaded))) => {
                self.enter(loaded.into(), now);
            }
            (RequestPurpose::New, Ok(ServerMessage::SessionCreateResponse(created))) => {
                self.enter(created.into(), now);
            }
            (RequestPurpose::List, Ok(ServerMessage::SessionListResponse(list))) => self.list(&list.sessions),
            (RequestPurpose::AutoSave, Ok(_)) => self.was_saved(),
            (RequestPurpose::SaveAndLeave, Ok(_)) => {
                self.was_saved();
                self.leaving = true;
            }
            (_, Ok(message)) => self.note_done(&message),
            // Another client has decided first.
            (RequestPurpose::Decide, Err(error)) if error.code == ErrorCode::InvalidRequest => {
                self.transcript.note("already decided by another client, or timed out");
            }
            (_, Err(error)) => self.refused(&error),
        }
    }

    fn note_done(&mut self, message: &ServerMessage) {
        match message {
            ServerMessage::ChatClear(_) => {
                self.known = 0;
                self.transcript.note("the conversation was cleared");
            }
            ServerMessage::ConfigSet(set) if set.updated.is_empty() => {
                self.transcript.note("that cannot be set here; /agent lists the agents");
            }
            ServerMessage::ConfigSet(set) => {
                if set.updated.contains_key("agent") {
                    // Another kind of agent may send another kind of text.
                    let name = SessionRef { session_id: Some(self.name.clone()) };
                    self.send(Request::SessionLoad(name), RequestPurpose::Missed);
                }
                let set = set.updated.iter().map(|(key, value)| format!("{key} is now {value}"));
                self.transcript.note(&set.collect::<Vec<_>>().join("\n"));
            }
            ServerMessage::SessionSave(saved) => {
                self.was_saved();
                self.transcript.note(&format!("saved as “{}”", saved.title));
            }
            _ => {}
        }
    }

    fn refused(&mut self, error: &ErrorInfo) {
        let message = if error.message.is_empty() { error.code.as_str() } else { &error.message };
        self.transcript.note(message);
    }

    /// Our prompt was answered or rejected.
    fn sent(&mut self, prompt: String, result: Result<ServerMessage, ErrorInfo>, now: Instant) {
        (self.own, self.unconfirmed) = (false, None);
        self.notice.clear();
        self.asks.clear();
        match result {
            Ok(ServerMessage::ChatSend(end)) => {
                let ending = match &end.notice {
                    // It reports how the answer ended.
                    Some(notice) => AnswerEnd::Failed(notice.clone()),
                    None if end.status == "stopped" => AnswerEnd::Stopped,
                    None => AnswerEnd::Completed,
                };
                self.transcript.end(&ending, &usage(&end), now);
                self.auto_save();
            }
            Ok(_) => {}
            Err(error) if self.transcript.is_active() => {
                self.transcript.end(&AnswerEnd::Failed(error.message), &AnswerUsage::default(), now);
            }
            // It was rejected: put it back into the editor.
            Err(error) => {
                self.refused(&error);
                // What waits would be rejected, too.
                self.take_back_all();
                if self.editor.text().is_empty() {
                    self.editor.put(&prompt);
                }
            }
        }
    }

    fn list(&mut self, sessions: &[SessionItem]) {
        if sessions.is_empty() {
            return self.transcript.note("there are no sessions here");
        }
        for item in sessions {
            let here = if item.session_id == self.name { "▸" } else { " " };
            let (count, state) = (table::count(item.message_count as u64, "message"), &item.status);
            let agent = item.agent.as_ref().map_or_else(String::new, |agent| format!(", agent {agent}"));
            let line = format!("{here} {}  {}  {count}, {state}{agent}", item.session_id, item.title);
            self.transcript.note(&line);
        }
        self.transcript.note("/resume NAME opens one");
    }
}
