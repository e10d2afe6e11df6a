//! What clients hold of a conversation: a handle, and an attachment while they are attached.

use super::GenerationOutcome;
use super::backend::PromptOptions;
use super::error::ChatError;
use crate::event::ChatActivity;
use crate::limits;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use swb_chat::{
    Answers, Approval, ApprovalAnswer, ApprovalId, ChatEvent, ClientId, ClientRole, ConversationSettings,
    ConversationState, FoundPrompt, PartialAnswer, Question, QuestionId, SavedConversation, Summary,
};
use swb_types::{SessionName, Timestamp};
use tokio::sync::{broadcast, mpsc, oneshot, watch};

/// A handle to a conversation; cheap to clone. Dropping it does nothing to the conversation.
#[derive(Debug, Clone)]
pub struct Chat {
    pub(super) shared: Arc<Shared>,
}

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) name: SessionName,
    pub(super) workspace: PathBuf,
    pub(super) working_dir: PathBuf,
    pub(super) created: Timestamp,
    pub(super) commands: mpsc::Sender<ChatCommand>,
    pub(super) leaving: mpsc::Sender<ClientId>,
    pub(super) view: watch::Receiver<ChatView>,
}

/// The published state of a conversation.
#[derive(Debug, Clone)]
pub struct ChatView {
    /// Its summary, as in lists.
    pub summary: Summary,
    /// Its settings.
    pub settings: ConversationSettings,
    /// What it is doing.
    pub state: ConversationState,
    /// The client that may act, if one is attached.
    pub owner: Option<ClientId>,
    /// What that client's front knows of it.
    pub(super) owner_presence: Option<Arc<dyn Presence>>,
    /// Pending approvals, oldest first.
    pub approvals: Vec<Approval>,
    /// Pending questions, oldest first.
    pub questions: Vec<Question>,
    /// Nothing would be lost with it: it is empty, or everything is saved.
    pub expendable: bool,
    /// What is not saved yet will be, also when the daemon stops.
    pub autosaved: bool,
}

impl ChatView {
    /// Since when the agent waits for a decision or an answer, if it does.
    pub fn asking_since(&self) -> Option<Timestamp> {
        let approvals = self.approvals.iter().map(|approval| approval.asked_at);
        approvals.chain(self.questions.iter().map(|question| question.asked_at)).min()
    }

    /// What the agent does.
    pub fn activity(&self) -> ChatActivity {
        match self.asking_since() {
            Some(_) => ChatActivity::Asking,
            None if self.state.is_running() => ChatActivity::Working,
            None => ChatActivity::Ready,
        }
    }
}

/// What a front knows of a client that is attached.
pub trait Presence: fmt::Debug + Send + Sync {
    /// Whether the client has left, or will have once its front has handled what the client sent before. Such a
    /// client is detached soon after.
    fn is_leaving(&self) -> bool;
}

/// A client that is attached to a conversation, until this is dropped.
#[derive(Debug)]
pub struct ChatAttachment {
    /// The conversation.
    pub chat: Chat,
    /// The attached client.
    pub client: ClientId,
    /// Its role when it was attached.
    pub role: ClientRole,
    /// Events from then on. A client that falls behind further than the queue's capacity misses some.
    pub events: broadcast::Receiver<Arc<ChatEvent>>,
    /// The messages until then, if requested.
    pub saved: Option<SavedConversation>,
    /// The unfinished answer until then.
    pub partial_answer: Option<PartialAnswer>,
    _guard: DetachGuard,
}

/// Detaches a client when it is dropped, wherever that is.
#[derive(Debug)]
pub(super) struct DetachGuard {
    pub(super) client: ClientId,
    pub(super) presence: Arc<dyn Presence>,
    leave: Option<mpsc::OwnedPermit<ClientId>>,
}

impl Drop for DetachGuard {
    fn drop(&mut self) {
        if let Some(leave) = self.leave.take() {
            leave.send(self.client);
        }
    }
}

/// What the task of a conversation gives to a client that attaches.
#[derive(Debug)]
pub(super) struct Attached {
    pub(super) role: ClientRole,
    pub(super) events: broadcast::Receiver<Arc<ChatEvent>>,
    pub(super) saved: Option<SavedConversation>,
    pub(super) partial_answer: Option<PartialAnswer>,
    pub(super) guard: DetachGuard,
}

/// How a conversation is removed from memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CloseMode {
    /// Deleted, with everything that was started for it.
    Delete,
    /// Ended with everything that was started for it, after a pending automatic save.
    Drop,
    /// Unloaded; it can be loaded again.
    PutAway,
    /// The daemon stops.
    Stop,
}

/// The outcome of a generation, once it has ended.
pub type Sent = oneshot::Receiver<GenerationOutcome>;

pub(super) type ChatReply<T> = oneshot::Sender<Result<T, ChatError>>;

/// Commands from handles to the conversation's task. `by` is the client; without one the caller may do everything.
#[derive(Debug)]
pub(super) enum ChatCommand {
    Attach { guard: DetachGuard, takeover: bool, history: bool, reply: ChatReply<Box<Attached>> },
    TakeOver { client: ClientId, reply: ChatReply<()> },
    Send { by: Option<ClientId>, prompt: String, options: PromptOptions, reply: ChatReply<Sent> },
    Stop { by: Option<ClientId>, reply: ChatReply<()> },
    Clear { by: Option<ClientId>, reply: ChatReply<()> },
    Configure { by: Option<ClientId>, settings: Box<ConversationSettings>, reply: ChatReply<()> },
    Save { by: Option<ClientId>, title: Option<String>, reply: ChatReply<SavedConversation> },
    Acknowledge { id: ApprovalId, reply: ChatReply<()> },
    Decide { by: Option<ClientId>, id: ApprovalId, verdict: ApprovalAnswer, reply: ChatReply<()> },
    Answer { by: Option<ClientId>, id: QuestionId, answers: Answers, reply: ChatReply<()> },
    Saved { reply: ChatReply<SavedConversation> },
    Prompts { most: usize, reply: ChatReply<Vec<FoundPrompt>> },
    Close { mode: CloseMode, reply: ChatReply<()> },
}

impl Chat {
    /// Its name.
    pub fn name(&self) -> &SessionName {
        &self.shared.name
    }

    /// The workspace it belongs to.
    pub fn workspace(&self) -> &std::path::Path {
        &self.shared.workspace
    }

    /// The directory its agent works in.
    pub fn working_dir(&self) -> &std::path::Path {
        &self.shared.working_dir
    }

    /// When it was created.
    pub fn created(&self) -> Timestamp {
        self.shared.created
    }

    /// Its published state right now.
    pub fn view(&self) -> ChatView {
        self.shared.view.borrow().clone()
    }

    /// The client that owns it.
    pub fn owner(&self) -> Option<ClientId> {
        self.shared.view.borrow().owner
    }

    /// Subscribes to its published state.
    pub fn watch(&self) -> watch::Receiver<ChatView> {
        self.shared.view.clone()
    }

    /// A conversation without a task behind it.
    #[cfg(test)]
    pub(crate) fn detached(name: SessionName) -> Self {
        let dir = std::path::Path::new("/w");
        let conversation = swb_chat::Conversation::new(name.clone(), dir, dir, Timestamp(1));
        let view = super::task::view_of(&conversation, &super::saving::Saving::default());
        let shared = Shared {
            name,
            workspace: dir.to_owned(),
            working_dir: dir.to_owned(),
            created: Timestamp(1),
            commands: mpsc::channel(1).0,
            leaving: mpsc::channel(1).0,
            view: watch::channel(view).1,
        };
        Self { shared: Arc::new(shared) }
    }

    /// Whether both are handles to the same conversation, not just to one of the same name.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Waits until an owner that is leaving has been removed. A client that acts, attaches or deletes after the owner
    /// has disconnected finds the next owner, not the departed one.
    pub async fn settle_owner(&self, by: ClientId) {
        let mut view = self.watch();
        let settled = async {
            loop {
                let leaving = is_leaving(&view.borrow_and_update(), by);
                if !leaving || view.changed().await.is_err() {
                    return;
                }
            }
        };
        // One that takes longer than that is still the owner.
        let _settled = tokio::time::timeout(limits::OWNER_LEAVES, settled).await;
    }

    /// Attaches a client, which then owns the conversation if no other client does, or if it takes over. With `history` the
    /// attachment has the messages so far.
    pub async fn attach(
        &self,
        client: ClientId,
        presence: Arc<dyn Presence>,
        takeover: bool,
        history: bool,
    ) -> Result<ChatAttachment, ChatError> {
        let leave = self.shared.leaving.clone().reserve_owned().await.map_err(|_| self.gone())?;
        self.settle_owner(client).await;
        let guard = DetachGuard { client, presence, leave: Some(leave) };
        let attached = self.ask(|reply| ChatCommand::Attach { guard, takeover, history, reply }).await?;
        let Attached { role, events, saved, partial_answer, guard } = *attached;
        Ok(ChatAttachment { chat: self.clone(), client, role, events, saved, partial_answer, _guard: guard })
    }

    /// Makes an attached client the owner.
    pub async fn take_over(&self, attached: ClientId) -> Result<(), ChatError> {
        self.ask(|reply| ChatCommand::TakeOver { client: attached, reply }).await
    }

    /// Starts a generation; the result gets its outcome.
    pub async fn send(
        &self,
        by: Option<ClientId>,
        prompt: String,
        options: PromptOptions,
    ) -> Result<Sent, ChatError> {
        self.ask_as(by, |reply| ChatCommand::Send { by, prompt, options, reply }).await
    }

    /// Stops the generation, if one runs.
    pub async fn stop(&self, by: Option<ClientId>) -> Result<(), ChatError> {
        self.ask_as(by, |reply| ChatCommand::Stop { by, reply }).await
    }

    /// Removes all messages.
    pub async fn clear(&self, by: Option<ClientId>) -> Result<(), ChatError> {
        self.ask_as(by, |reply| ChatCommand::Clear { by, reply }).await
    }

    /// Changes its settings. Another agent answers from the next prompt on.
    pub async fn configure(
        &self,
        by: Option<ClientId>,
        settings: ConversationSettings,
    ) -> Result<(), ChatError> {
        self.ask_as(by, |reply| ChatCommand::Configure { by, settings: Box::new(settings), reply }).await
    }

    /// Saves it to disk, under another title if one is given; returns what was written.
    pub async fn save(
        &self,
        by: Option<ClientId>,
        title: Option<String>,
    ) -> Result<SavedConversation, ChatError> {
        self.ask_as(by, |reply| ChatCommand::Save { by, title, reply }).await
    }

    /// Notes that a client has shown a pending approval.
    pub async fn acknowledge(&self, id: ApprovalId) -> Result<(), ChatError> {
        self.ask(|reply| ChatCommand::Acknowledge { id, reply }).await
    }

    /// Decides an approval.
    pub async fn decide(
        &self,
        by: Option<ClientId>,
        id: ApprovalId,
        verdict: ApprovalAnswer,
    ) -> Result<(), ChatError> {
        self.ask_as(by, |reply| ChatCommand::Decide { by, id, verdict, reply }).await
    }

    /// Answers a question.
    pub async fn answer(
        &self,
        by: Option<ClientId>,
        id: QuestionId,
        answers: Answers,
    ) -> Result<(), ChatError> {
        self.ask_as(by, |reply| ChatCommand::Answer { by, id, answers, reply }).await
    }

    /// Everything of it that can be saved, as it is now.
    pub async fn saved(&self) -> Result<SavedConversation, ChatError> {
        self.ask(|reply| ChatCommand::Saved { reply }).await
    }

    /// The newest messages of users, at most `most`.
    pub(super) async fn prompts(&self, most: usize) -> Result<Vec<FoundPrompt>, ChatError> {
        self.ask(|reply| ChatCommand::Prompts { most, reply }).await
    }

    pub(super) async fn close(&self, mode: CloseMode) -> Result<(), ChatError> {
        self.ask(|reply| ChatCommand::Close { mode, reply }).await
    }

    /// Asks on behalf of a client, which may own the conversation only since the last owner left.
    async fn ask_as<T>(
        &self,
        by: Option<ClientId>,
        command: impl FnOnce(ChatReply<T>) -> ChatCommand,
    ) -> Result<T, ChatError> {
        if let Some(by) = by {
            self.settle_owner(by).await;
        }
        self.ask(command).await
    }

    async fn ask<T>(&self, command: impl FnOnce(ChatReply<T>) -> ChatCommand) -> Result<T, ChatError> {
        let (reply, answer) = oneshot::channel();
        self.shared.commands.send(command(reply)).await.map_err(|_| self.gone())?;
        answer.await.map_err(|_| self.gone())?
    }

    fn gone(&self) -> ChatError {
        ChatError::NotFound(self.name().to_string())
    }
}

/// Whether another client than `by` owns a conversation and is leaving.
fn is_leaving(view: &ChatView, by: ClientId) -> bool {
    let presence = view.owner_presence.as_ref().filter(|_| view.owner != Some(by));
    presence.is_some_and(|presence| presence.is_leaving())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::saving::Saving;
    use crate::chat::task::view_of;
    use std::path::Path;
    use std::sync::atomic::{AtomicBool, Ordering};

    const A: ClientId = ClientId(1);
    const B: ClientId = ClientId(2);

    #[derive(Debug, Default)]
    struct FakePresence(AtomicBool);

    impl Presence for FakePresence {
        fn is_leaving(&self) -> bool {
            self.0.load(Ordering::Relaxed)
        }
    }

    /// A conversation without a task that is owned by `A`, and what changes its view.
    fn owned_by_a(leaving: bool) -> (Chat, watch::Sender<ChatView>, Arc<FakePresence>) {
        let presence = Arc::new(FakePresence(AtomicBool::new(leaving)));
        let (name, dir) = (SessionName::new("s").unwrap(), Path::new("/w"));
        let conversation = swb_chat::Conversation::new(name.clone(), dir, dir, Timestamp(1));
        let owner_presence: Option<Arc<dyn Presence>> = Some(Arc::<FakePresence>::clone(&presence));
        let view = view_of(&conversation, &Saving::default());
        let (sender, view) = watch::channel(ChatView { owner: Some(A), owner_presence, ..view });
        let shared = Shared {
            name,
            workspace: dir.to_owned(),
            working_dir: dir.to_owned(),
            created: Timestamp(1),
            commands: mpsc::channel(1).0,
            leaving: mpsc::channel(1).0,
            view,
        };
        (Chat { shared: Arc::new(shared) }, sender, presence)
    }

    async fn waits(chat: &Chat, by: ClientId) -> bool {
        let short = limits::OWNER_LEAVES / 10;
        tokio::time::timeout(short, chat.settle_owner(by)).await.is_err()
    }

    // SS-36
    #[tokio::test(flavor = "current_thread")]
    async fn a_client_waits_until_a_leaving_owner_has_been_removed() {
        let (chat, view, _) = owned_by_a(true);
        assert!(waits(&chat, B).await && !waits(&chat, A).await);
        let settled = chat.settle_owner(B);
        let removed = async { view.send_modify(|view| (view.owner, view.owner_presence) = (Some(B), None)) };
        let begin = tokio::time::Instant::now();
        tokio::join!(settled, removed);
        assert!(begin.elapsed() < limits::OWNER_LEAVES);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn an_owner_that_stays_delays_no_client() {
        let (chat, view, presence) = owned_by_a(false);
        assert!(!waits(&chat, B).await);
        presence.0.store(true, Ordering::Relaxed);
        let settled = chat.settle_owner(B);
        let stays = async {
            presence.0.store(false, Ordering::Relaxed);
            view.send_modify(|_| {});
        };
        let begin = tokio::time::Instant::now();
        tokio::join!(settled, stays);
        assert!(begin.elapsed() < limits::OWNER_LEAVES);
    }
}
