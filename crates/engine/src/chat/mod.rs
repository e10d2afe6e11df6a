//! Conversations with agents, for any backend and any client protocol.
//!
//! [`Chats`] is the door: create, find, load, list, delete. Each conversation is one task (`task.rs`) that owns a
//! [`Conversation`]; clients hold a [`Chat`] and, while they are attached, a [`ChatAttachment`] with everything that
//! happens. Agents are behind [`Backend`]; each generation is a task of its own, so that nothing an agent does keeps
//! its conversation from listening.
//!
//! Conversations share the name space of sessions: one that has a terminal behind it bears that session's name, and any
//! session with a terminal can be talked to.

mod backend;
mod error;
mod git;
mod handle;
mod recovery;
mod saving;
mod task;
mod workspaces;

pub use backend::{
    Agent, Backend, Backends, Boxed, Exchange, Failure, Opening, PromptOptions, SubmittedPrompt,
};
pub use error::ChatError;
pub use git::{Git, GitFacts};
pub use handle::{Chat, ChatAttachment, ChatView, Presence, Sent};
pub use workspaces::Workspaces;

use crate::api::Engine;
use crate::event::ChatActivity;
use crate::registry::{ChatName, NameHold, NameRefusal, Registry};
use crate::session::Session;
use crate::{file_access, limits};
use handle::{CloseMode, Shared};
use recovery::{JournalEntry, RecoveredChat, RecoveryJournal};
use rustix::fs::FileType;
use rustix::io::Errno;
use saving::Saving;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use swb_chat::{
    Approval, Archive, ArchiveError, ClientId, Conversation, Ending, FoundPrompt, Now, SavedConversation,
    SearchHit, Summary, Workspace, three_words,
};
use swb_types::{PtyId, SessionName, Timestamp, did_you_mean};
use task::{ConversationTask, view_of};
use tokio::sync::{broadcast, mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Label of sessions whose terminal was made for a conversation.
pub const ORIGIN: &str = "chat";

/// Options of all conversations.
#[derive(Debug)]
#[non_exhaustive]
pub struct ChatOptions {
    /// Label of the front for which sessions can be hidden from conversations.
    pub label: &'static str,
    /// The agents.
    pub backends: Arc<dyn Backends>,
    /// The database of saved conversations.
    pub archive: Arc<dyn Archive>,
    /// Access to git repositories.
    pub git: Arc<dyn Git>,
    /// Workspaces that are configured.
    pub workspaces: Vec<Workspace>,
}

impl ChatOptions {
    /// Conversations with these agents, without any configured workspace.
    pub fn new(
        label: &'static str,
        backends: Arc<dyn Backends>,
        archive: Arc<dyn Archive>,
        git: Arc<dyn Git>,
    ) -> Self {
        Self { label, backends, archive, git, workspaces: Vec::new() }
    }
}

/// The outcome of a generation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GenerationOutcome {
    /// The answer is complete.
    Completed,
    /// The agent failed.
    Failed(Failure),
    /// A client stopped it. With a text, the agent itself goes on.
    Stopped(Option<String>),
}

/// A conversation to create.
#[derive(Debug, Clone)]
pub struct NewChat {
    /// Its name; three random words by default.
    pub name: Option<SessionName>,
    /// The directory it belongs to and its agent works in.
    pub directory: PathBuf,
    /// The interval of automatic saves.
    pub auto_save: Option<Duration>,
    /// The agent that answers; the default one if it is not given.
    pub agent: Option<String>,
}

/// A conversation in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedChat {
    /// Its summary.
    pub summary: Summary,
    /// Whether a generation runs.
    pub running: bool,
    /// Whether it is in memory.
    pub live: bool,
    /// Whether it is saved on disk.
    pub saved: bool,
    /// Whether what is not saved yet will be by itself.
    pub autosaved: bool,
    /// Since when its agent waits for a decision or an answer, if it does.
    pub asking_since: Option<Timestamp>,
}

/// All conversations; cheap to clone.
#[derive(Clone)]
pub struct Chats {
    inner: Arc<Inner>,
}

struct Inner {
    engine: Engine,
    label: &'static str,
    backends: Arc<dyn Backends>,
    archive: Arc<dyn Archive>,
    git: Arc<dyn Git>,
    workspaces: Workspaces,
    recovery: Mutex<RecoveryJournal>,
    /// Names of conversations that the next daemon resumes; nothing else may take them until then.
    left: Mutex<Vec<ChatName>>,
    clients: AtomicU64,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl fmt::Debug for Chats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chats").field("live", &self.all().len()).finish_non_exhaustive()
    }
}

impl Chats {
    /// The conversations beside the sessions of `engine`; resumes those of a daemon that crashed.
    pub async fn start(engine: &Engine, options: ChatOptions) -> Self {
        let archive = Arc::clone(&options.archive);
        let tasks = TaskTracker::new();
        let workspaces = Workspaces::open(options.workspaces, archive, limits::WORKSPACES_READ, &tasks).await;
        let (recovery, left) = RecoveryJournal::new(engine.keeper().clone(), engine.take_chats());
        let chats = Self {
            inner: Arc::new(Inner {
                engine: engine.clone(),
                label: options.label,
                backends: options.backends,
                archive: options.archive,
                git: options.git,
                workspaces,
                recovery: Mutex::new(recovery),
                left: Mutex::default(),
                clients: AtomicU64::new(1),
                tasks,
                stop: CancellationToken::new(),
            }),
        };
        left.into_iter().for_each(|left| chats.resume(left));
        chats
    }

    /// Resumes a conversation of a daemon that crashed. An answer goes on if it is given in a terminal that still exists.
    fn resume(&self, mut left: RecoveredChat) {
        self.inner.workspaces.touch(&left.saved.working_dir);
        let saving = Saving::new(left.held.auto_save.map(Duration::from_secs));
        let hold = if left.held.reserved { NameHold::Own } else { NameHold::Shared };
        let (unfinished, submitted) = left.take_unfinished().unzip();
        let submitted = submitted.flatten().filter(|_| self.terminal(left.saved.name.as_str()).is_some());
        let conversation = match (unfinished, submitted) {
            (Some(answer), Some(_)) => Conversation::restore_answering(left.saved, answer),
            (Some(mut answer), None) => {
                answer.ending = Ending::Interrupted;
                self.note(&[JournalEntry::Message(left.saved.name.clone(), answer.clone())]);
                left.saved.messages.push(answer);
                Conversation::restore(left.saved)
            }
            (None, _) => Conversation::restore(left.saved),
        };
        let adopt = |chat: &Chat| self.registry().adopt_chat(chat, hold);
        let resumed = self.open_resumed(conversation, submitted, saving, adopt);
        if let Err(error) = resumed {
            tracing::warn!(%error, "cannot resume a conversation");
        }
    }

    fn registry(&self) -> &Arc<Registry> {
        self.inner.engine.registry()
    }

    /// All live conversations.
    fn all(&self) -> Vec<Chat> {
        self.registry().chats()
    }

    fn note(&self, entries: &[JournalEntry]) {
        self.inner.recovery.lock().unwrap_or_else(PoisonError::into_inner).note(entries);
    }

    /// A new client id.
    pub fn client(&self) -> ClientId {
        ClientId(self.inner.clients.fetch_add(1, Ordering::Relaxed))
    }

    /// Number of live conversations that would be lost with the daemon.
    pub fn count(&self) -> usize {
        self.all().iter().filter(|chat| !chat.view().expendable).count()
    }

    /// Access to git repositories.
    pub fn git(&self) -> Arc<dyn Git> {
        Arc::clone(&self.inner.git)
    }

    /// What git knows of a directory; nothing if it is in no repository, or does not respond.
    pub async fn git_facts(&self, path: &Path) -> GitFacts {
        let git = self.git();
        let facts = file_access::run_within(limits::GIT_FACTS, path, move |path| git.facts(path));
        facts.await.unwrap_or_default()
    }

    /// The workspaces that are known.
    pub fn workspaces(&self) -> &Workspaces {
        &self.inner.workspaces
    }

    /// A directory as a workspace, which is known from then on (SS-71).
    pub async fn workspace(&self, dir: &Path) -> Result<Arc<Workspace>, ChatError> {
        self.enter_directory(dir).await?;
        Ok(self.inner.workspaces.touch(dir))
    }

    /// Checks a directory where an agent is going to work.
    async fn enter_directory(&self, dir: &Path) -> Result<(), ChatError> {
        self.inner.workspaces.note_use(directory(dir).await?);
        Ok(())
    }

    /// The agents.
    pub fn backends(&self) -> &dyn Backends {
        self.inner.backends.as_ref()
    }

    /// The name of the agent that is chosen by this name, or by its kind.
    pub fn named_agent(&self, name: &str) -> Result<String, ChatError> {
        let agents = self.inner.backends.agents();
        let by_name = agents.iter().find(|agent| agent.name == name);
        if let Some(agent) = by_name.or_else(|| agents.iter().find(|agent| agent.kind == name)) {
            return Ok(agent.name.clone());
        }
        let known: Vec<&str> = agents.iter().map(|agent| agent.name.as_str()).collect();
        let meant =
            did_you_mean(name, known.iter().copied()).map(|question| question + " ").unwrap_or_default();
        Err(ChatError::NoAgent(name.to_owned(), format!("{meant}configured agents: {}", known.join(", "))))
    }

    /// Records in a conversation who answers, unless it is known: the program in the terminal it is about, the agent that
    /// has answered before, or the default agent of this moment. It stays so when the configuration changes.
    fn settle_agent(&self, conversation: &mut Conversation) {
        let saved = conversation.saved();
        if saved.settings.answering().is_some() {
            return;
        }
        let backends = self.inner.backends.as_ref();
        let program = self.terminal(saved.name.as_str()).as_ref().and_then(program_of);
        let before = || saved.resume.as_ref().and_then(|resume| backends.agent_of(resume));
        let default = || backends.defaults(&saved.settings, &self.workspaces().get(&saved.working_dir)).agent;
        let agent = if program.is_some() { None } else { before().or_else(default) };
        conversation.answered_by(agent, program);
    }

    /// Creates a conversation.
    pub async fn create(&self, new: NewChat) -> Result<Chat, ChatError> {
        self.enter_directory(&new.directory).await?;
        self.make_room().await;
        match &new.name {
            Some(name) if self.kept(name.as_str()).await?.is_some() => {
                Err(ChatError::Exists(name.to_string()))
            }
            Some(name) => self.begin(name.clone(), &new),
            None => self.begin_unnamed(&new).await,
        }
    }

    fn begin(&self, name: SessionName, new: &NewChat) -> Result<Chat, ChatError> {
        let dir = new.directory.as_path();
        let mut conversation = Conversation::new(name, dir, dir, now().unix);
        conversation.answered_by(new.agent.clone(), None);
        let chat = self.open(conversation, Saving::new(new.auto_save), self.entering(NameHold::Own))?;
        self.inner.workspaces.touch(dir);
        Ok(chat)
    }

    /// Begins a conversation with a name of three words that no live or saved conversation has.
    async fn begin_unnamed(&self, new: &NewChat) -> Result<Chat, ChatError> {
        let kept = self.archived(|archive| archive.list(None)).await.unwrap_or_default();
        loop {
            let name = SessionName::new(&three_words(random()))?;
            if kept.iter().any(|summary| summary.name == name) {
                continue;
            }
            match self.begin(name, new) {
                Err(ChatError::Exists(_)) => {}
                begun => return begun,
            }
        }
    }

    fn entering(&self, hold: NameHold) -> impl FnOnce(&Chat) -> Result<ChatName, NameRefusal> {
        let registry = Arc::clone(self.registry());
        move |chat| registry.enter_chat(chat, hold)
    }

    /// At the limit of live conversations, unloads the least recently used one that is saved and has no client.
    async fn make_room(&self) {
        let live = self.all();
        if live.len() < limits::CHATS {
            return;
        }
        let idle = live.iter().filter(|chat| {
            let view = chat.view();
            view.expendable && view.owner.is_none() && !view.state.is_running()
        });
        if let Some(chat) = idle.min_by_key(|chat| chat.view().summary.updated) {
            // If it ends by itself meanwhile there is room as well.
            let _put_away = chat.close(CloseMode::PutAway).await;
        }
    }

    /// A conversation that is in memory.
    pub fn live(&self, name: &str) -> Option<Chat> {
        self.registry().chat(name)
    }

    /// A live conversation, a saved one, or a new one about the session of that name. It is live from then on.
    pub async fn load(&self, name: &str) -> Result<Chat, ChatError> {
        if let Some(chat) = self.live(name) {
            return Ok(chat);
        }
        match self.load_kept(name).await {
            // Another client has loaded it in the meantime.
            Err(ChatError::Exists(name)) => self.live(&name).ok_or(ChatError::Exists(name)),
            loaded => loaded,
        }
    }

    async fn load_kept(&self, name: &str) -> Result<Chat, ChatError> {
        let kept = self.kept(name).await;
        match (self.terminal(name), kept) {
            // The conversation continues with its terminal, which has outlived the daemon.
            (Some(terminal), Ok(Some(saved))) if is_about(&saved.summary(), &terminal) => {
                self.restore(saved, NameHold::Shared)
            }
            (Some(terminal), _) => self.open_for_terminal(&terminal),
            (None, kept) => {
                let saved = kept?.ok_or_else(|| ChatError::NotFound(name.to_owned()))?;
                self.enter_directory(&saved.working_dir).await?;
                self.make_room().await;
                self.restore(saved, NameHold::Own)
            }
        }
    }

    /// Begins a conversation about a session with a terminal.
    fn open_for_terminal(&self, terminal: &Session) -> Result<Chat, ChatError> {
        let (dir, created) = (terminal.workspace(), Timestamp(terminal.created() * 1000));
        self.inner.workspaces.touch(dir);
        let conversation = Conversation::new(terminal.name().clone(), dir, dir, created);
        self.open(conversation, Saving::default(), self.entering(NameHold::Shared))
    }

    /// Restores a saved conversation.
    fn restore(&self, saved: SavedConversation, hold: NameHold) -> Result<Chat, ChatError> {
        self.inner.workspaces.touch(&saved.working_dir);
        let messages = saved.messages.clone();
        let name = saved.name.clone();
        let chat = self.open(Conversation::restore(saved), Saving::loaded(), self.entering(hold))?;
        let entries: Vec<JournalEntry> =
            messages.into_iter().map(|message| JournalEntry::Message(name.clone(), message)).collect();
        self.note(&entries);
        Ok(chat)
    }

    /// Everything of a saved or live conversation.
    pub async fn saved(&self, name: &str) -> Result<SavedConversation, ChatError> {
        if let Some(chat) = self.live(name) {
            return chat.saved().await;
        }
        self.kept(name).await?.ok_or_else(|| ChatError::NotFound(name.to_owned()))
    }

    /// Live conversations, sessions without one, and saved conversations, each once; of one directory or all.
    pub async fn list(&self, workspace: Option<&Path>) -> Result<Vec<ListedChat>, ChatError> {
        let live = self.all();
        let mut listed: BTreeMap<SessionName, ListedChat> = BTreeMap::new();
        let dir = workspace.map(Path::to_owned);
        for summary in self.archived(move |archive| archive.list(dir.as_deref())).await? {
            listed.insert(
                summary.name.clone(),
                ListedChat {
                    summary,
                    running: false,
                    live: false,
                    saved: true,
                    autosaved: false,
                    asking_since: None,
                },
            );
        }
        for terminal in self.inner.engine.sessions().iter().filter(|session| self.offers(session)) {
            let (dir, created) = (terminal.workspace(), Timestamp(terminal.created() * 1000));
            let kept = listed.remove(terminal.name()).map(|listed| listed.summary);
            let kept = kept.filter(|kept| is_about(kept, terminal));
            let saved = kept.is_some();
            let mut summary = kept
                .unwrap_or_else(|| Conversation::new(terminal.name().clone(), dir, dir, created).summary());
            summary.agent = program_of(terminal).or(summary.agent);
            let running = terminal.view().status.state == swb_turns::ProgramState::Working;
            let (autosaved, asking_since) = (false, None);
            let terminal = ListedChat { summary, running, live: true, saved, autosaved, asking_since };
            listed.insert(terminal.summary.name.clone(), terminal);
        }
        for view in live.iter().map(Chat::view) {
            let (running, asking_since) = (view.state.is_running(), view.asking_since());
            let summary = view.summary;
            let saved = listed.get(&summary.name).is_some_and(|listed| listed.saved);
            let autosaved = view.autosaved;
            let chat = ListedChat { summary, running, live: true, saved, autosaved, asking_since };
            listed.insert(chat.summary.name.clone(), chat);
        }
        let here = |listed: &ListedChat| workspace.is_none_or(|dir| listed.summary.workspace == dir);
        let mut all: Vec<ListedChat> = listed.into_values().filter(here).collect();
        all.sort_by_key(|listed| std::cmp::Reverse(listed.summary.updated));
        Ok(all)
    }

    /// Messages that contain all these words, at most `most`, of live conversations before those of others; of one
    /// directory or all.
    pub async fn search(
        &self,
        words: &str,
        workspace: Option<&Path>,
        most: usize,
    ) -> Result<Vec<SearchHit>, ChatError> {
        let mut hits = Vec::new();
        let mut live = self.all();
        live.sort_by_key(|chat| std::cmp::Reverse(chat.view().summary.updated));
        for chat in live.iter().filter(|chat| workspace.is_none_or(|dir| chat.workspace() == dir)) {
            // One that has ended meanwhile is found on disk, if it is saved.
            let Ok(saved) = chat.saved().await else { continue };
            hits.extend(search_in(saved, words.to_owned()).await);
        }
        let found: BTreeSet<SessionName> = hits.iter().map(|hit| hit.summary.name.clone()).collect();
        let (words, dir) = (words.to_owned(), workspace.map(Path::to_owned));
        let kept = self.archived(move |archive| archive.search(&words, dir.as_deref(), most)).await?;
        hits.extend(kept.into_iter().filter(|hit| !found.contains(&hit.summary.name)));
        hits.truncate(most);
        Ok(hits)
    }

    /// The newest messages of users in all conversations, live or saved, at most `most`.
    pub async fn prompts(&self, most: usize) -> Result<Vec<FoundPrompt>, ChatError> {
        let mut prompts = Vec::new();
        for chat in self.all() {
            prompts.extend(chat.prompts(most).await.unwrap_or_default());
        }
        let live: BTreeSet<SessionName> = prompts.iter().map(|prompt| prompt.name.clone()).collect();
        // Without the database, those in memory are better than none.
        let kept = self.archived(move |archive| archive.prompts(most)).await.unwrap_or_default();
        prompts.extend(kept.into_iter().filter(|prompt| !live.contains(&prompt.name)));
        prompts.sort_by_key(|prompt| std::cmp::Reverse(prompt.at));
        prompts.truncate(most);
        Ok(prompts)
    }

    /// Deletes a conversation from memory and from disk, and ends what was started for it. Refused to a client while
    /// another one owns it.
    pub async fn delete(&self, name: &str, by: Option<ClientId>) -> Result<(), ChatError> {
        let live = self.live(name);
        if let Some(chat) = &live {
            if let Some(by) = by {
                chat.settle_owner(by).await;
            }
            let owner = chat.owner();
            if by.is_some() && owner.is_some() && owner != by {
                return Err(swb_chat::Refused::NotOwner.into());
            }
        }
        // First, so that the conversation stays as it is if its saved copy cannot be removed.
        let deleted = self.delete_saved(name).await?;
        if let Some(chat) = &live {
            chat.close(CloseMode::Delete).await?;
            // It may have been saved meanwhile.
            self.delete_saved(name).await?;
        }
        match live.is_some() || deleted {
            true => Ok(()),
            false if self.terminal(name).is_some() => Err(ChatError::Terminal(name.to_owned())),
            false => Err(ChatError::NotFound(name.to_owned())),
        }
    }

    async fn delete_saved(&self, name: &str) -> Result<bool, ChatError> {
        let name = name.to_owned();
        self.archived(move |archive| archive.delete(&name)).await
    }

    /// Removes a conversation from memory and ends what was started for it; its saved copy stays.
    pub async fn drop_live(&self, chat: &Chat) -> Result<(), ChatError> {
        chat.close(CloseMode::Drop).await
    }

    /// Pending approvals of all conversations, oldest first.
    pub fn approvals(&self) -> Vec<(Chat, Approval)> {
        let live = self.all();
        let mut all: Vec<(Chat, Approval)> = Vec::new();
        for chat in live {
            let waiting = chat.view().approvals;
            all.extend(waiting.into_iter().map(|approval| (chat.clone(), approval)));
        }
        all.sort_by_key(|(_, approval)| approval.asked_at);
        all
    }

    /// Ends all conversations: pending automatic saves are written, agents end. With `forget` the next daemon does not
    /// resume them.
    pub async fn shutdown(&self, forget: bool) {
        self.inner.stop.cancel();
        self.inner.tasks.close();
        if tokio::time::timeout(limits::CHAT_ENDINGS, self.inner.tasks.wait()).await.is_err() {
            tracing::warn!("some conversations did not end in time");
        }
        if forget {
            self.inner.recovery.lock().unwrap_or_else(PoisonError::into_inner).forget();
        }
    }

    /// The session that a conversation of this name is held with.
    fn terminal(&self, name: &str) -> Option<Session> {
        self.inner.engine.find(name).ok().filter(|session| self.offers(session))
    }

    /// Emits an event about a conversation; one with a session is left to the session's own events.
    fn report(&self, name: &SessionName, workspace: &Path, activity: ChatActivity) {
        if self.terminal(name.as_str()).is_none() {
            self.inner.engine.emit_conversation(name, workspace, activity);
        }
    }

    /// Whether a conversation is held with a session.
    pub fn has_terminal(&self, chat: &Chat) -> bool {
        self.terminal(chat.name().as_str()).is_some()
    }

    fn offers(&self, session: &Session) -> bool {
        session.is_offered_to(self.inner.label)
    }

    /// Starts the task of a conversation that `enter` puts into the registry.
    fn open(
        &self,
        conversation: Conversation,
        saving: Saving,
        enter: impl FnOnce(&Chat) -> Result<ChatName, NameRefusal>,
    ) -> Result<Chat, ChatError> {
        self.open_resumed(conversation, None, saving, enter)
    }

    /// The same; the task resumes the answer to a prompt that was `submitted`.
    fn open_resumed(
        &self,
        mut conversation: Conversation,
        submitted: Option<SubmittedPrompt>,
        saving: Saving,
        enter: impl FnOnce(&Chat) -> Result<ChatName, NameRefusal>,
    ) -> Result<Chat, ChatError> {
        self.settle_agent(&mut conversation);
        let (commands, to_do) = mpsc::channel(limits::COMMANDS);
        let (leaving, gone) = mpsc::channel(swb_chat::limits::CLIENTS + 1);
        let (view, shown) = watch::channel(view_of(&conversation, &saving));
        let saved = conversation.saved();
        let chat = Chat {
            shared: Arc::new(Shared {
                name: saved.name.clone(),
                workspace: saved.workspace.clone(),
                working_dir: saved.working_dir.clone(),
                created: saved.created,
                commands,
                leaving,
                view: shown,
            }),
        };
        let name = enter(&chat).map_err(|refusal| refused(refusal, chat.name()))?;
        let mut task = ConversationTask {
            chats: self.clone(),
            conversation,
            commands: to_do,
            leaving: gone,
            clients: BTreeMap::new(),
            view,
            events: broadcast::channel(limits::CHAT_EVENTS).0,
            saving,
            backend: None,
            running: None,
            after_stop: Vec::new(),
            after_resumed: VecDeque::new(),
            reopen: false,
            noted: 0,
            name,
            approvals: BTreeMap::new(),
            questions: BTreeMap::new(),
        };
        // Before any other entry of it.
        task.note_head();
        if let Some(submitted) = submitted {
            task.resume_answer(submitted);
        }
        self.inner.tasks.spawn(task.run());
        Ok(chat)
    }

    /// Frees the name of a conversation that has ended, unless the daemon stops and the next one resumes it.
    fn closed(&self, name: &SessionName, entry: ChatName) {
        if self.inner.stop.is_cancelled() {
            return self.inner.left.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
        }
        // While the name is still held: this entry must not delete a new conversation of the same name.
        self.note(&[JournalEntry::Gone(name.clone())]);
        drop(entry);
    }

    /// A saved conversation.
    async fn kept(&self, name: &str) -> Result<Option<SavedConversation>, ChatError> {
        let name = name.to_owned();
        self.archived(move |archive| archive.load(&name)).await
    }

    /// Runs a query of the database on a thread for blocking work.
    #[allow(clippy::disallowed_methods, reason = "the user's own database, which limits its waits itself")]
    async fn archived<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&dyn Archive) -> Result<T, ArchiveError> + Send + 'static,
    ) -> Result<T, ChatError> {
        let archive = Arc::clone(&self.inner.archive);
        let asked = tokio::task::spawn_blocking(move || ask(archive.as_ref())).await;
        let asked = asked.unwrap_or_else(|error| Err(ArchiveError(error.to_string())));
        asked.map_err(|error| ChatError::Store(error.to_string()))
    }
}

/// Searches a copy of a conversation on a thread for blocking work: reading megabytes word by word takes a while.
#[allow(clippy::disallowed_methods, reason = "it accesses no files")]
async fn search_in(saved: SavedConversation, words: String) -> Vec<SearchHit> {
    tokio::task::spawn_blocking(move || saved.search(&words)).await.unwrap_or_default()
}

fn refused(refusal: NameRefusal, name: &SessionName) -> ChatError {
    match refusal {
        NameRefusal::Taken => ChatError::Exists(name.to_string()),
        NameRefusal::TooManyConversations => {
            ChatError::Limit("too many conversations; delete some of them first")
        }
    }
}

/// Whether a saved conversation was about this session, and not about another of the same name: one in another directory,
/// or with another program.
fn is_about(saved: &Summary, terminal: &Session) -> bool {
    let same = |program: String| saved.agent.as_ref().is_none_or(|agent| *agent == program);
    terminal.workspace() == saved.working_dir && program_of(terminal).is_none_or(same)
}

/// The program in the terminal of a session that was not made for a conversation.
pub fn program_of(session: &Session) -> Option<String> {
    let view = session.pty(PtyId::AGENT).ok().filter(|_| session.origin() != ORIGIN)?;
    let program = Path::new(view.argv.first()?).file_name()?;
    Some(program.to_string_lossy().into_owned())
}

/// The full path of a directory that agents can work in (SS-31).
pub async fn directory(dir: &Path) -> Result<PathBuf, ChatError> {
    let full = |dir: &Path| {
        check_now(dir)?;
        file_access::real_path(dir).map_err(|_| ChatError::WorkspaceInvalid(dir.to_owned()))
    };
    access_file(dir, full).await
}

async fn access_file<T: Send + 'static>(
    dir: &Path,
    look: impl FnOnce(&Path) -> Result<T, ChatError> + Send + 'static,
) -> Result<T, ChatError> {
    file_access::run(dir, look).await.unwrap_or_else(|error| Err(ChatError::FileAccess(error)))
}

fn check_now(dir: &Path) -> Result<(), ChatError> {
    let invalid = || ChatError::WorkspaceInvalid(dir.to_owned());
    let denied = || ChatError::WorkspaceDenied(dir.to_owned());
    if !dir.is_absolute() {
        return Err(invalid());
    }
    match rustix::fs::stat(dir) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => {}
        Err(Errno::ACCESS) => return Err(denied()),
        _ => return Err(invalid()),
    }
    rustix::fs::access(dir, rustix::fs::Access::EXEC_OK | rustix::fs::Access::READ_OK).map_err(|_| denied())
}

fn now() -> Now {
    Now { instant: tokio::time::Instant::now().into_std(), unix: Timestamp::of(SystemTime::now()) }
}

fn random() -> u64 {
    let mut bytes = [0; 8];
    // The kernel always has randomness after boot; the time is a fallback.
    match rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()) {
        Ok(8) => u64::from_ne_bytes(bytes),
        _ => now().unix.0.wrapping_mul(0x9e37_79b9_7f4a_7c15),
    }
}

fn random_id() -> String {
    format!("{:016x}", random())
}
