//! The task that owns a conversation: it handles the requests of clients and the output of the agent, sends events, and
//! keeps time.

use super::backend::{Backend, Exchange, Failure, Opening, PromptOptions, SubmittedPrompt, Update, updates};
use super::error::ChatError;
use super::handle::{Attached, ChatCommand, ChatReply, ChatView, CloseMode, Presence, Sent};
use super::recovery::{JournalEntry, RecoverySettings};
use super::saving::{Saving, written};
use super::{Chats, GenerationOutcome, now};
use crate::limits;
use crate::registry::{ChatName, NameHold};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use swb_chat::{
    Answers, ApprovalId, ChatEvent, ClientId, ClientRole, Conversation, ConversationSettings, Decision,
    Ending, Message, Part, QuestionId, Refused, Unanswered,
};
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub(super) struct ConversationTask {
    pub(super) chats: Chats,
    pub(super) conversation: Conversation,
    pub(super) commands: mpsc::Receiver<ChatCommand>,
    pub(super) leaving: mpsc::Receiver<ClientId>,
    /// What their fronts know of the clients that are attached.
    pub(super) clients: BTreeMap<ClientId, Arc<dyn Presence>>,
    pub(super) view: watch::Sender<ChatView>,
    pub(super) events: broadcast::Sender<Arc<ChatEvent>>,
    pub(super) saving: Saving,
    pub(super) backend: Option<Box<dyn Backend>>,
    pub(super) running: Option<Running>,
    /// Prompts and requests to clear that wait until the agent has stopped (SS-55).
    pub(super) after_stop: Vec<ChatCommand>,
    /// Prompts that wait for the end of an answer that an earlier daemon began: their clients cannot know of it.
    pub(super) after_resumed: VecDeque<AcceptedPrompt>,
    /// Another agent answers from the next prompt on.
    pub(super) reopen: bool,
    /// Bytes of the unfinished answer in the journal.
    pub(super) noted: usize,
    /// Its entry in the registry of names.
    pub(super) name: ChatName,
    pub(super) approvals: BTreeMap<ApprovalId, oneshot::Sender<Decision>>,
    pub(super) questions: BTreeMap<QuestionId, oneshot::Sender<Result<Answers, Unanswered>>>,
}

/// The result of a generation: the agent, unless it is gone, and its outcome.
type GenerationEnd = (Option<Box<dyn Backend>>, Result<(), Failure>);

/// A generation that runs.
pub(super) struct Running {
    task: JoinHandle<GenerationEnd>,
    updates: mpsc::Receiver<Update>,
    stop: CancellationToken,
    /// When it is dropped, after a request to stop.
    deadline: Option<Instant>,
    done: oneshot::Sender<GenerationOutcome>,
    /// An earlier daemon has begun it.
    resumed: bool,
}

/// A prompt of a client that waits for its outcome.
pub(super) struct AcceptedPrompt {
    prompt: String,
    options: PromptOptions,
    done: oneshot::Sender<GenerationOutcome>,
}

/// What the task waited for.
enum Wake {
    Command(Option<ChatCommand>),
    Detached(ClientId),
    Update(Update),
    Finished(Option<Box<dyn Backend>>, Result<(), Failure>),
    Saved(Result<(), ChatError>),
    Time,
    Stop,
}

impl ConversationTask {
    pub(super) async fn run(mut self) {
        loop {
            let wake = self.next().await;
            let close = match wake {
                Wake::Command(Some(ChatCommand::Close { mode, reply })) => Some((mode, Some(reply))),
                Wake::Stop | Wake::Command(None) => Some((CloseMode::Stop, None)),
                Wake::Command(Some(command)) => {
                    self.handle(command);
                    None
                }
                Wake::Detached(client) => {
                    self.conversation.detach(client);
                    self.clients.remove(&client);
                    None
                }
                Wake::Update(update) => {
                    self.handle_update(update);
                    None
                }
                Wake::Finished(backend, result) => {
                    self.finish(backend, result);
                    None
                }
                Wake::Saved(result) => {
                    self.saved(result);
                    None
                }
                Wake::Time => {
                    self.keep_time();
                    None
                }
            };
            self.send_events();
            if let Some((mode, reply)) = close {
                return self.close(mode, reply).await;
            }
            self.handle_queued();
        }
    }

    fn is_stopping(&self) -> bool {
        self.running.as_ref().is_some_and(|running| running.stop.is_cancelled())
    }

    /// Handles what has waited for the end of the generation.
    fn handle_queued(&mut self) {
        if self.running.is_some() {
            return;
        }
        if let Some(accepted) = self.after_resumed.pop_front() {
            // It is not empty, and no generation runs, so it is not refused.
            let _begun = self.generate(accepted);
            self.send_events();
        } else if !self.after_stop.is_empty() {
            std::mem::take(&mut self.after_stop).into_iter().for_each(|command| self.handle(command));
            self.send_events();
        }
    }

    async fn next(&mut self) -> Wake {
        let deadline = self.deadline();
        let (update, finished) = match &mut self.running {
            Some(running) => (Some(&mut running.updates), Some(&mut running.task)),
            None => (None, None),
        };
        let saving = self.saving.running.as_mut().map(|save| &mut save.task);
        tokio::select! {
            // Clients first: an agent that sends much output must not keep them from stopping it.
            biased;
            () = self.chats.inner.stop.cancelled() => Wake::Stop,
            Some(client) = self.leaving.recv() => Wake::Detached(client),
            command = self.commands.recv() => Wake::Command(command),
            Some(update) = received(update) => Wake::Update(update),
            (backend, result) = ended(finished) => Wake::Finished(backend, result),
            result = written(saving) => Wake::Saved(result),
            () = at(deadline) => Wake::Time,
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let asks = self.conversation.poll_timeout().map(Instant::from_std);
        let deadline = self.running.as_ref().and_then(|running| running.deadline);
        [asks, deadline, self.saving.due].into_iter().flatten().min()
    }

    fn keep_time(&mut self) {
        let now = Instant::now();
        self.conversation.handle_timeout(now.into_std());
        let late = |running: &&Running| running.deadline.is_some_and(|deadline| deadline <= now);
        if self.running.as_ref().filter(late).is_some() {
            tracing::info!(session = %self.conversation.saved().name, "an agent did not stop in time");
            self.finish(None, Ok(()));
        }
        if self.saving.due.is_some_and(|due| due <= now) {
            self.save(None);
        }
    }

    // ---- clients ----

    /// Whether a caller may act: the owner, and callers that are no clients.
    fn may_act(&self, by: Option<ClientId>) -> Result<(), ChatError> {
        match by.map(|client| self.conversation.role(client)) {
            None | Some(Some(ClientRole::Owner)) => Ok(()),
            Some(_) => Err(Refused::NotOwner.into()),
        }
    }

    fn handle(&mut self, command: ChatCommand) {
        let needs_idle = matches!(command, ChatCommand::Send { .. } | ChatCommand::Clear { .. });
        if needs_idle && self.is_stopping() && self.after_stop.len() < limits::CHAT_QUEUED {
            return self.after_stop.push(command);
        }
        // The caller may be gone; its reply is dropped then.
        match command {
            ChatCommand::Attach { guard, takeover, history, reply } => {
                let role = self.conversation.attach(guard.client, takeover).map_err(ChatError::from);
                let attached = role.map(|role| {
                    self.clients.insert(guard.client, Arc::clone(&guard.presence));
                    Attached {
                        role,
                        events: self.events.subscribe(),
                        saved: history.then(|| self.conversation.saved().clone()),
                        partial_answer: self.conversation.partial_answer(),
                        guard,
                    }
                });
                let _sent = reply.send(attached.map(Box::new));
            }
            ChatCommand::TakeOver { client, reply } => {
                let attached = self.conversation.role(client).ok_or(ChatError::from(Refused::NotOwner));
                let taken = attached.and_then(|_| Ok(self.conversation.attach(client, true)?));
                let _sent = reply.send(taken.map(drop));
            }
            ChatCommand::Send { by, prompt, options, reply } => {
                let _sent = reply.send(self.may_act(by).and_then(|()| self.send(prompt, options)));
            }
            ChatCommand::Stop { by, reply } => {
                let _sent = reply.send(self.may_act(by).map(|()| self.stop()));
            }
            ChatCommand::Clear { by, reply } => {
                let _sent = reply.send(self.may_act(by).and_then(|()| self.clear()));
            }
            ChatCommand::Configure { by, settings, reply } => {
                let _sent = reply.send(self.may_act(by).map(|()| self.configure(*settings)));
            }
            ChatCommand::Save { by, title, reply } => match self.may_act(by) {
                Ok(()) => {
                    if let Some(title) = title {
                        self.conversation.rename(&title, now());
                        self.send_events();
                    }
                    self.save(Some(reply));
                }
                Err(error) => drop(reply.send(Err(error))),
            },
            ChatCommand::Acknowledge { id, reply } => {
                let seen = self.conversation.acknowledge(&id, now()).map_err(ChatError::from);
                // There is no event for this, but the published state shows it.
                self.show();
                let _sent = reply.send(seen);
            }
            ChatCommand::Decide { by, id, verdict, reply } => {
                let allowed = self.may_act(by);
                let _sent = reply.send(allowed.and_then(|()| Ok(self.conversation.decide(&id, verdict)?)));
            }
            ChatCommand::Answer { by, id, answers, reply } => {
                let allowed = self.may_act(by);
                let _sent = reply.send(allowed.and_then(|()| Ok(self.conversation.answer(&id, answers)?)));
            }
            ChatCommand::Saved { reply } => {
                let _sent = reply.send(Ok(self.conversation.saved().clone()));
            }
            ChatCommand::Prompts { most, reply } => {
                let _sent = reply.send(Ok(self.conversation.saved().prompts(most)));
            }
            // Handled by `run`.
            ChatCommand::Close { .. } => {}
        }
    }

    fn send(&mut self, prompt: String, options: PromptOptions) -> Result<Sent, ChatError> {
        let (done, outcome) = oneshot::channel();
        let resumed = self.running.as_ref().is_some_and(|running| running.resumed);
        let waits = resumed && !prompt.trim().is_empty() && self.after_resumed.len() < limits::CHAT_QUEUED;
        let accepted = AcceptedPrompt { prompt, options, done };
        match waits {
            true => self.after_resumed.push_back(accepted),
            false => self.generate(accepted)?,
        }
        Ok(outcome)
    }

    fn generate(&mut self, accepted: AcceptedPrompt) -> Result<(), ChatError> {
        // The configuration may have been without an agent before.
        let chats = self.chats.clone();
        chats.settle_agent(&mut self.conversation);
        let history: Arc<[_]> = self.conversation.saved().messages.clone().into();
        self.conversation.send(accepted.prompt.clone(), now())?;
        self.noted = 0;
        let name = self.conversation.saved().name.clone();
        let mut noted = vec![self.head()];
        let question = self.conversation.saved().messages.last().cloned();
        noted.extend(question.map(|message| JournalEntry::Message(name.clone(), message)));
        let answer = self.conversation.unfinished().cloned();
        noted.extend(answer.map(|message| JournalEntry::Began(name.clone(), message)));
        self.chats.note(&noted);
        self.start(accepted, history, None);
        Ok(())
    }

    /// Waits for the answer to a prompt that an earlier daemon has submitted in a terminal.
    pub(super) fn resume_answer(&mut self, submitted: SubmittedPrompt) {
        let Some((prompt, history)) = self.conversation.saved().messages.split_last() else { return };
        let (prompt, history) = (prompt.text(), history.to_vec().into());
        self.noted = self.conversation.unfinished().map_or(0, Message::size);
        // The client that sent the prompt has lost its connection.
        let (done, _) = oneshot::channel();
        let accepted = AcceptedPrompt { prompt, options: PromptOptions::default(), done };
        self.start(accepted, history, Some(submitted));
    }

    /// Starts a generation.
    fn start(
        &mut self,
        accepted: AcceptedPrompt,
        history: Arc<[Message]>,
        submitted: Option<SubmittedPrompt>,
    ) {
        let AcceptedPrompt { prompt, options, done } = accepted;
        let (sender, receiver) = updates();
        let stop = self.chats.inner.stop.child_token();
        let saved = self.conversation.saved();
        let sent = self.conversation.unfinished().map(Message::text).unwrap_or_default();
        let exchange = Exchange {
            name: saved.name.clone(),
            prompt,
            options,
            settings: saved.settings.clone(),
            history,
            working_dir: saved.working_dir.clone(),
            workspace: self.chats.workspaces().clone(),
            updates: sender,
            stop: stop.clone(),
        };
        let replaced = if std::mem::take(&mut self.reopen) { self.backend.take() } else { None };
        let backend = self.backend.take();
        let (chats, mut opening) = (self.chats.clone(), self.opening());
        let task = self.chats.inner.tasks.spawn(async move {
            if let Some(replaced) = replaced {
                replaced.delete().await;
            }
            let opened = match backend {
                Some(backend) => Ok(backend),
                None => {
                    opening.terminal = chats.terminal(opening.name.as_str());
                    chats.inner.backends.open(opening).await
                }
            };
            match opened {
                Ok(mut backend) => {
                    let result = match submitted {
                        Some(submitted) => backend.resume(&exchange, submitted, sent).await,
                        None => backend.generate(&exchange).await,
                    };
                    (Some(backend), result)
                }
                Err(failure) => (None, Err(failure)),
            }
        });
        let resumed = submitted.is_some();
        self.running = Some(Running { task, updates: receiver, stop, deadline: None, done, resumed });
    }

    fn opening(&self) -> Opening {
        let saved = self.conversation.saved();
        Opening {
            name: saved.name.clone(),
            working_dir: saved.working_dir.clone(),
            workspace: self.chats.workspaces().get(&saved.working_dir),
            settings: saved.settings.clone(),
            resume: saved.resume.clone(),
            terminal: None,
        }
    }

    fn stop(&mut self) {
        if self.conversation.stop()
            && let Some(running) = &mut self.running
        {
            running.stop.cancel();
            running.deadline.get_or_insert(Instant::now() + limits::CHAT_STOP);
        }
    }

    fn clear(&mut self) -> Result<(), ChatError> {
        let resume = self.conversation.saved().resume.clone();
        self.conversation.clear(now())?;
        if let Some(resume) = resume.and_then(|resume| self.chats.inner.backends.after_clear(resume)) {
            self.conversation.resume_with(resume);
        }
        if let Some(backend) = &mut self.backend {
            backend.clear();
        }
        Ok(())
    }

    fn configure(&mut self, settings: ConversationSettings) {
        self.reopen |= self.conversation.saved().settings.agent != settings.agent;
        self.conversation.configure(settings);
    }

    // ---- the agent ----

    fn handle_update(&mut self, update: Update) {
        let conversation = &mut self.conversation;
        match update {
            Update::Text(text) => conversation.text(&text),
            Update::Thought(text) => conversation.thought(&text),
            Update::ToolCalled(call) => conversation.tool_called(*call),
            Update::ToolOutput(id, text) => conversation.tool_output(id, text),
            Update::ToolEnded(result) => conversation.tool_ended(*result),
            Update::Progress(progress) => conversation.progress(progress),
            Update::Plan(entries) => conversation.plan(entries),
            Update::Usage(usage) => conversation.used(&usage),
            Update::Resume(state) => conversation.resume_with(state),
            Update::Submitted(prompt) => {
                let name = conversation.saved().name.clone();
                self.chats.note(&[JournalEntry::Submitted(name, prompt)]);
            }
            Update::Withdraw(id) => {
                // It may have been settled at the same moment.
                let _settled = conversation.withdraw(&id);
            }
            Update::Approve(id, request, reply) => {
                // Dropping the reply refuses the request.
                if conversation.ask_approval(id.clone(), *request, now()).is_ok() {
                    self.approvals.insert(id, reply);
                }
            }
            Update::Ask(id, request, reply) => {
                if conversation.ask_question(id.clone(), *request, now()).is_ok() {
                    self.questions.insert(id, reply);
                }
            }
        }
    }

    /// Ends the generation, which has completed or was dropped.
    fn finish(&mut self, backend: Option<Box<dyn Backend>>, result: Result<(), Failure>) {
        let Some(mut running) = self.running.take() else { return };
        running.task.abort();
        while let Ok(update) = running.updates.try_recv() {
            self.handle_update(update);
        }
        self.backend = backend;
        let stopping = running.stop.is_cancelled();
        let (ending, outcome) = match result {
            // No client stopped it: the daemon shuts down.
            _ if self.chats.inner.stop.is_cancelled() => {
                let why = swb_types::INTERRUPTED_BY_SHUTDOWN.to_owned();
                (Ending::Interrupted, GenerationOutcome::Failed(Failure::Agent(why)))
            }
            Err(Failure::GoesOn(what)) if stopping => {
                (Ending::Stopped, GenerationOutcome::Stopped(Some(what)))
            }
            _ if stopping => (Ending::Stopped, GenerationOutcome::Stopped(None)),
            Ok(()) => (Ending::Complete, GenerationOutcome::Completed),
            Err(failure) => (Ending::Failed(failure.to_string()), GenerationOutcome::Failed(failure)),
        };
        self.conversation.end(ending, now());
        let saved = self.conversation.saved();
        if let Some(message) = saved.messages.last() {
            self.chats.note(&[JournalEntry::Message(saved.name.clone(), message.clone())]);
        }
        self.send_events();
        // Sent last: the caller has received all events by then.
        let _sent = running.done.send(outcome);
    }

    // ---- events and the journal ----

    /// Sends the events to the clients, to those who wait for decisions and answers, and to the journal.
    fn send_events(&mut self) {
        let name = self.conversation.saved().name.clone();
        let mut noted = Vec::new();
        let mut changed = false;
        while let Some(event) = self.conversation.poll_event() {
            match &event {
                ChatEvent::ApprovalSettled { id, decision } => {
                    if let Some(reply) = self.approvals.remove(id) {
                        let _sent = reply.send(decision.clone());
                    }
                }
                ChatEvent::QuestionSettled { id, answers } => {
                    if let Some(reply) = self.questions.remove(id) {
                        let _sent = reply.send(answers.clone());
                    }
                }
                ChatEvent::Cleared => noted.push(JournalEntry::Cleared(name.clone())),
                event => {
                    if let Some(part) = part_of(event).filter(|part| self.worth_noting(part)) {
                        noted.push(JournalEntry::Part(name.clone(), Box::new(part)));
                    }
                }
            }
            changed |= changes_view(&event);
            // There may be no client.
            let _receivers = self.events.send(Arc::new(event));
        }
        if !noted.is_empty() {
            self.chats.note(&noted);
        }
        if self.conversation.take_changed() {
            changed = true;
            self.saving.changes += 1;
            self.note_head();
            let every = self.saving.every;
            self.saving.due = self.saving.due.or_else(|| every.map(|every| Instant::now() + every));
        }
        if changed {
            self.show();
        }
    }

    pub(super) fn show(&self) {
        let owner = self.conversation.owner().and_then(|owner| self.clients.get(&owner));
        let owner_presence = owner.cloned();
        let view = ChatView { owner_presence, ..view_of(&self.conversation, &self.saving) };
        let activity = view.activity();
        let before = self.view.send_replace(view).activity();
        if activity != before {
            let saved = self.conversation.saved();
            self.chats.report(&saved.name, &saved.workspace, activity);
        }
    }

    /// Whether a part of the unfinished answer goes to the journal: up to the limit of a message.
    fn worth_noting(&mut self, part: &Part) -> bool {
        self.noted += match part {
            Part::Text(text) | Part::Thought(text) => text.len(),
            _ => limits::NOTED_TOOL,
        };
        self.noted <= swb_chat::limits::MESSAGE_BYTES
    }

    /// Everything but the messages.
    fn head(&self) -> JournalEntry {
        let auto_save = self.saving.every.map(|every| every.as_secs());
        let held = RecoverySettings { auto_save, reserved: self.name.hold() == NameHold::Own };
        JournalEntry::Head(Box::new(self.conversation.saved().without_messages()), held)
    }

    pub(super) fn note_head(&self) {
        self.chats.note(&[self.head()]);
    }

    /// The agent, to be deleted. One that runs in a terminal of an earlier daemon is opened for that.
    async fn last_backend(&mut self) -> Option<Box<dyn Backend>> {
        if let Some(backend) = self.backend.take() {
            return Some(backend);
        }
        let mut opening = self.opening();
        opening.resume.as_ref()?;
        opening.terminal = Some(self.chats.terminal(opening.name.as_str())?);
        self.chats.inner.backends.open(opening).await.ok()
    }

    async fn close(mut self, mode: CloseMode, reply: Option<ChatReply<()>>) {
        // From here on commands fail at once.
        self.commands.close();
        while self.commands.try_recv().is_ok() {}
        if let Some(running) = &self.running {
            running.stop.cancel();
            self.finish(None, Ok(()));
        }
        self.finish_saving(mode).await;
        if matches!(mode, CloseMode::Delete | CloseMode::Drop) {
            self.conversation.delete();
            self.send_events();
            if let Some(backend) = self.last_backend().await {
                backend.delete().await;
            }
        }
        self.chats.closed(&self.conversation.saved().name, self.name);
        if let Some(reply) = reply {
            let _sent = reply.send(Ok(()));
        }
    }
}

pub(super) fn view_of(conversation: &Conversation, saving: &Saving) -> ChatView {
    let is_empty = conversation.saved().messages.is_empty() && !conversation.state().is_running();
    ChatView {
        summary: conversation.summary(),
        settings: conversation.saved().settings.clone(),
        state: conversation.state(),
        owner: conversation.owner(),
        owner_presence: None,
        approvals: conversation.approvals().into_iter().cloned().collect(),
        questions: conversation.questions().into_iter().cloned().collect(),
        expendable: is_empty || saving.is_saved(),
        autosaved: saving.is_automatic(),
    }
}

/// Whether an event changes the published state.
fn changes_view(event: &ChatEvent) -> bool {
    !matches!(
        event,
        ChatEvent::Text { .. }
            | ChatEvent::Thought { .. }
            | ChatEvent::ToolOutput { .. }
            | ChatEvent::ToolCalled(_)
            | ChatEvent::ToolEnded(_)
            | ChatEvent::Progress(_)
            | ChatEvent::Plan(_)
    )
}

/// The part that an event adds to the unfinished answer.
fn part_of(event: &ChatEvent) -> Option<Part> {
    Some(match event {
        ChatEvent::Text { text, .. } if !text.is_empty() => Part::Text(text.clone()),
        ChatEvent::Thought { text, .. } => Part::Thought(text.clone()),
        ChatEvent::ToolCalled(call) => Part::Tool { call: call.clone(), result: None },
        _ => return None,
    })
}

async fn received(updates: Option<&mut mpsc::Receiver<Update>>) -> Option<Update> {
    match updates {
        Some(updates) => updates.recv().await,
        None => None,
    }
}

async fn ended(task: Option<&mut JoinHandle<GenerationEnd>>) -> GenerationEnd {
    match task {
        Some(task) => task.await.unwrap_or_else(|error| {
            let what =
                if error.is_panic() { "the agent's adapter failed" } else { "the generation was aborted" };
            (None, Err(Failure::Agent(what.to_owned())))
        }),
        None => std::future::pending().await,
    }
}

async fn at(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
