//! The state machine of a conversation: takes what its clients and its agent do, returns events.
//!
//! The owner calls a method, then takes [`Conversation::poll_event`] until it is empty, and calls
//! [`Conversation::handle_timeout`] no later than [`Conversation::poll_timeout`].

mod approvals;

use crate::ask::{Approval, ApprovalId, Decision, Question, QuestionId};
use crate::clients::{AttachedClients, ClientId, ClientRole};
use crate::event::{ChatEvent, PlanEntry, Progress, StreamId};
use crate::limits;
use crate::message::{Author, Ending, Message, Part, Usage};
use crate::saved::{SavedConversation, Summary};
use crate::settings::ConversationSettings;
use crate::tool::{ToolCall, ToolContent, ToolId, ToolResult};
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::time::Instant;
use swb_types::{SessionName, Timestamp};

/// The state of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConversationState {
    /// The agent is answering.
    Active,
    /// It has no messages yet.
    Created,
    /// It waits for the next prompt.
    Idle,
    /// The agent was asked to stop.
    Stopping,
}

impl ConversationState {
    /// Whether a generation runs.
    pub fn is_running(self) -> bool {
        matches!(self, Self::Active | Self::Stopping)
    }
}

/// The time, on both clocks.
#[derive(Debug, Clone, Copy)]
pub struct Now {
    /// For timeouts.
    pub instant: Instant,
    /// For timestamps.
    pub unix: Timestamp,
}

/// Why a request is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// A generation runs.
    #[error("the agent is still answering; wait for it, or stop it first")]
    Busy,
    /// The prompt is empty.
    #[error("there is nothing to send: the message is empty")]
    Empty,
    /// The approval or question is not, or no longer, pending.
    #[error("no such approval or question is pending")]
    NotAsked,
    /// Only its owner may do that.
    #[error("another client owns this conversation")]
    NotOwner,
    /// A limit is reached.
    #[error("{0}")]
    Limit(&'static str),
}

/// A conversation.
#[derive(Debug, Clone)]
pub struct Conversation {
    saved: SavedConversation,
    state: ConversationState,
    clients: AttachedClients,
    events: VecDeque<ChatEvent>,
    /// The answer in progress.
    answer: Option<Answer>,
    /// Bytes of all messages.
    bytes: usize,
    next_message: u64,
    approvals: BTreeMap<ApprovalId, Waiting<Approval>>,
    questions: BTreeMap<QuestionId, Waiting<Question>>,
    /// A stored property has changed since this was last queried.
    changed: bool,
}

/// The part of an unfinished answer that a client gets when it attaches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartialAnswer {
    /// The stream that continues.
    pub stream: StreamId,
    /// The text of its pieces so far.
    pub text: String,
}

/// An answer in progress.
#[derive(Debug, Clone)]
struct Answer {
    message: Message,
    stream: StreamId,
    /// Whether a piece of it was sent.
    begun: bool,
    bytes: usize,
}

#[derive(Debug, Clone)]
struct Waiting<T> {
    what: T,
    until: Instant,
}

impl Conversation {
    /// An empty conversation.
    pub fn new(name: SessionName, workspace: &Path, working_dir: &Path, now: Timestamp) -> Self {
        Self::restore(SavedConversation {
            name,
            title: String::new(),
            workspace: workspace.to_owned(),
            working_dir: working_dir.to_owned(),
            created: now,
            updated: now,
            settings: ConversationSettings::default(),
            usage: Usage::default(),
            resume: None,
            messages: Vec::new(),
        })
    }

    /// Resumes a stored conversation.
    pub fn restore(saved: SavedConversation) -> Self {
        Self {
            state: if saved.messages.is_empty() {
                ConversationState::Created
            } else {
                ConversationState::Idle
            },
            bytes: saved.messages.iter().map(Message::size).sum(),
            next_message: saved.messages.last().map_or(1, |message| message.number + 1),
            saved,
            clients: AttachedClients::default(),
            events: VecDeque::new(),
            answer: None,
            approvals: BTreeMap::new(),
            questions: BTreeMap::new(),
            changed: false,
        }
    }

    /// Resumes a conversation whose last prompt is still being answered; `answer` is what was sent of that.
    pub fn restore_answering(saved: SavedConversation, answer: Message) -> Self {
        let (stream, bytes) = (StreamId(answer.number), answer.size());
        let mut conversation = Self::restore(saved);
        conversation.next_message = answer.number + 1;
        conversation.state = ConversationState::Active;
        let begun = !answer.text().is_empty();
        conversation.answer = Some(Answer { message: answer, stream, begun, bytes });
        conversation
    }

    /// What is stored of it; an answer in progress is not included.
    pub fn saved(&self) -> &SavedConversation {
        &self.saved
    }

    /// What a list shows of it.
    pub fn summary(&self) -> Summary {
        self.saved.summary()
    }

    /// Its state.
    pub fn state(&self) -> ConversationState {
        self.state
    }

    /// The next event; `None` if there is none.
    pub fn poll_event(&mut self) -> Option<ChatEvent> {
        self.events.pop_front()
    }

    /// Whether a stored property has changed since the last call.
    pub fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    // ---- clients ----

    /// Attaches a client, which becomes the owner if there is none or with `takeover`.
    pub fn attach(&mut self, client: ClientId, takeover: bool) -> Result<ClientRole, Refused> {
        let owner = self.clients.owner();
        let role = self.clients.attach(client, takeover);
        let role = role.ok_or(Refused::Limit("too many clients are attached to this conversation"))?;
        if self.clients.owner() != owner {
            self.events.push_back(ChatEvent::OwnerChanged);
        }
        Ok(role)
    }

    /// Detaches a client. If it was the owner, the approvals that only it could decide are denied (SS-62).
    pub fn detach(&mut self, client: ClientId) {
        if self.clients.detach(client) {
            self.settle_approvals(&Decision::Lapsed);
            self.events.push_back(ChatEvent::OwnerChanged);
        }
    }

    /// The role of a client, if it is attached.
    pub fn role(&self, client: ClientId) -> Option<ClientRole> {
        self.clients.role(client)
    }

    /// The client that owns it.
    pub fn owner(&self) -> Option<ClientId> {
        self.clients.owner()
    }

    // ---- a generation ----

    /// Begins a generation.
    pub fn send(&mut self, prompt: String, now: Now) -> Result<(), Refused> {
        if prompt.trim().is_empty() {
            return Err(Refused::Empty);
        }
        if self.state.is_running() {
            return Err(Refused::Busy);
        }
        if self.saved.title.is_empty() {
            self.saved.title = title_of(&prompt);
        }
        let question = self.message(Author::User, vec![Part::Text(prompt.clone())], now.unix);
        let stream = StreamId(question.number);
        self.push(question, now.unix);
        self.events.push_back(ChatEvent::Began { stream, prompt });
        let message = self.message(Author::Assistant, Vec::new(), now.unix);
        let stream = StreamId(message.number);
        self.answer = Some(Answer { message, stream, begun: false, bytes: 0 });
        self.enter(ConversationState::Active);
        Ok(())
    }

    /// The agent sends text.
    pub fn text(&mut self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, more) = rest.split_at(rest.floor_char_boundary(limits::PIECE));
            self.piece(piece, false);
            rest = more;
        }
    }

    /// The agent sends reasoning.
    pub fn thought(&mut self, text: &str) {
        let Some(answer) = &mut self.answer else { return };
        answer.keep(Part::Thought(text.to_owned()), text.len());
        self.events.push_back(ChatEvent::Thought { stream: answer.stream, text: text.to_owned() });
    }

    /// The agent calls a tool. A call that was announced before is only updated; calls beyond the limit are dropped.
    pub fn tool_called(&mut self, call: ToolCall) {
        let Some(answer) = &mut self.answer else { return };
        let full = answer.message.parts.len() >= limits::PARTS;
        match answer.message.tool(&call.id) {
            // Updates of an ended call are dropped: clients would wait for another end.
            Some(Part::Tool { result: Some(_), .. }) => return,
            Some(Part::Tool { call: known, .. }) => *known = call.clone(),
            _ if full => return,
            _ => answer.message.add(Part::Tool { call: call.clone(), result: None }),
        }
        self.events.push_back(ChatEvent::ToolCalled(call));
    }

    /// A running tool sends output.
    pub fn tool_output(&mut self, id: ToolId, text: String) {
        if self.answer.is_some() {
            self.events.push_back(ChatEvent::ToolOutput { id, text });
        }
    }

    /// The result of an announced tool call; each has exactly one.
    pub fn tool_ended(&mut self, mut result: ToolResult) {
        let Some(answer) = &mut self.answer else { return };
        let Some(Part::Tool { result: kept, .. }) = answer.message.tool(&result.id) else { return };
        if kept.is_none() {
            result.output = shortened(std::mem::take(&mut result.output));
            result.content.truncate(limits::TOOL_CONTENT);
            for content in &mut result.content {
                if let ToolContent::Diff { old, new, .. } = content {
                    *old = old.take().map(shortened);
                    *new = shortened(std::mem::take(new));
                }
            }
            *kept = Some(result.clone());
            self.events.push_back(ChatEvent::ToolEnded(result));
        }
    }

    /// The agent reports progress.
    pub fn progress(&mut self, progress: Progress) {
        if self.answer.is_some() {
            self.events.push_back(ChatEvent::Progress(progress));
        }
    }

    /// The agent sends its plan.
    pub fn plan(&mut self, entries: Vec<PlanEntry>) {
        if self.answer.is_some() {
            self.events.push_back(ChatEvent::Plan(entries));
        }
    }

    /// The agent reports usage in addition to what it reported before.
    pub fn used(&mut self, usage: &Usage) {
        self.saved.usage.add(usage);
        self.changed = true;
        self.events.push_back(ChatEvent::Usage(self.saved.usage));
    }

    /// What the agent needs to resume this conversation later.
    pub fn resume_with(&mut self, state: Value) {
        self.saved.resume = Some(state);
        self.changed = true;
    }

    /// A user stops the agent; returns whether there is something to stop.
    pub fn stop(&mut self) -> bool {
        if self.state == ConversationState::Active {
            self.enter(ConversationState::Stopping);
            self.settle_all();
        }
        self.state == ConversationState::Stopping
    }

    /// The generation ended. Running tool calls are ended, too, so that no client waits for them.
    pub fn end(&mut self, ending: Ending, now: Now) {
        if self.answer.is_none() {
            return;
        }
        let open =
            self.answer.iter().flat_map(|answer| &answer.message.parts).filter_map(|part| match part {
                Part::Tool { call, result: None } => Some(call.id.clone()),
                _ => None,
            });
        for id in open.collect::<Vec<_>>() {
            self.tool_ended(ToolResult::failed(id, "the answer ended before the tool did"));
        }
        self.settle_all();
        self.piece("", true);
        if let Some(mut answer) = self.answer.take() {
            answer.message.ending = ending.clone();
            self.push(answer.message, now.unix);
        }
        self.enter(ConversationState::Idle);
        self.events.push_back(ChatEvent::Ended { ending });
    }

    /// The answer in progress.
    pub fn unfinished(&self) -> Option<&Message> {
        self.answer.as_ref().map(|answer| &answer.message)
    }

    /// The part of it that a newly attached client has missed.
    pub fn partial_answer(&self) -> Option<PartialAnswer> {
        let answer = self.answer.as_ref().filter(|answer| answer.begun)?;
        Some(PartialAnswer { stream: answer.stream, text: answer.message.text() })
    }

    // ---- settings and the end ----

    /// Removes the messages; the system prompt stays (SS-56).
    pub fn clear(&mut self, now: Now) -> Result<(), Refused> {
        if self.state.is_running() {
            return Err(Refused::Busy);
        }
        self.saved.messages.retain(|message| message.role == Author::System);
        self.bytes = self.saved.messages.iter().map(Message::size).sum();
        self.saved.resume = None;
        self.touch(now.unix);
        self.events.push_back(ChatEvent::Cleared);
        Ok(())
    }

    /// Sets the title.
    pub fn rename(&mut self, title: &str, now: Now) {
        self.saved.title = title.chars().take(limits::TITLE).collect();
        self.touch(now.unix);
        self.events.push_back(ChatEvent::Titled(self.saved.title.clone()));
    }

    /// Changes its settings. The resume state of one agent is useless to another.
    pub fn configure(&mut self, settings: ConversationSettings) {
        if self.saved.settings.agent != settings.agent {
            self.saved.resume = None;
        }
        self.saved.settings = settings;
        self.changed = true;
    }

    /// Records who answers, unless that is known; nothing else about the conversation changes.
    pub fn answered_by(&mut self, agent: Option<String>, program: Option<String>) {
        let settings = &mut self.saved.settings;
        if settings.answering().is_none() {
            (settings.agent, settings.program) = (agent, program);
        }
    }

    /// The conversation is about to be deleted.
    pub fn delete(&mut self) {
        self.settle_all();
        self.events.push_back(ChatEvent::Deleted);
    }

    fn enter(&mut self, state: ConversationState) {
        self.state = state;
        self.events.push_back(ChatEvent::State(state));
    }

    fn touch(&mut self, now: Timestamp) {
        self.saved.updated = now;
        self.changed = true;
    }

    fn message(&mut self, role: Author, parts: Vec<Part>, at: Timestamp) -> Message {
        let number = self.next_message;
        self.next_message += 1;
        Message { number, role, parts, at, ending: Ending::Complete }
    }

    fn push(&mut self, message: Message, now: Timestamp) {
        self.bytes += message.size();
        self.saved.messages.push(message);
        while self.saved.messages.len() > limits::MESSAGES
            || (self.bytes > limits::CONVERSATION_BYTES && self.saved.messages.len() > 1)
        {
            self.bytes = self.bytes.saturating_sub(self.saved.messages.remove(0).size());
        }
        self.touch(now);
    }

    fn piece(&mut self, text: &str, last: bool) {
        let Some(answer) = &mut self.answer else { return };
        answer.keep(Part::Text(text.to_owned()), text.len());
        answer.begun = true;
        self.events.push_back(ChatEvent::Text { stream: answer.stream, text: text.to_owned(), last });
    }
}

impl Answer {
    /// Stores text up to the limit; after that nothing is stored, so that there is no gap.
    fn keep(&mut self, part: Part, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
        let room = self.bytes <= limits::MESSAGE_BYTES && self.message.parts.len() < limits::PARTS;
        if bytes > 0 && room {
            self.message.add(part);
        }
    }
}

/// A default title: the first words of the first message.
fn title_of(prompt: &str) -> String {
    let line = prompt.trim().lines().next().unwrap_or_default().trim();
    let mut title: String = line.chars().take(limits::DEFAULT_TITLE).collect();
    if title.len() < line.len() {
        title.push('…');
    }
    title
}

/// A text of limited length: its beginning and its end.
fn shortened(text: String) -> String {
    if text.len() <= limits::TOOL_BYTES {
        return text;
    }
    let head = text.floor_char_boundary(limits::TOOL_BYTES / 2);
    let tail = text.ceil_char_boundary(text.len() - limits::TOOL_BYTES / 2);
    format!("{}\n[{} bytes left out]\n{}", &text[..head], tail - head, &text[tail..])
}
