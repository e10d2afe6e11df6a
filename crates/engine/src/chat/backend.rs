//! Agents that answer: what one has to be able to do, and what it is given.

use crate::limits;
use crate::session::Session;
use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use swb_chat::{
    Answers, ApprovalId, ApprovalRequest, Decision, Message, PlanEntry, Progress, QuestionId,
    QuestionRequest, Settings, ToolCall, ToolId, ToolResult, Unanswered, Usage, Workspace,
};
use swb_types::SessionName;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// A future that can be kept in a box.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Why an agent cannot answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// It failed: it ended, it could not be reached, it said something impossible.
    #[error("{0}")]
    Agent(String),
    /// There is none, and this says what to configure.
    #[error("{0}")]
    NotConfigured(String),
}

/// An agent in one conversation.
///
/// It is dropped when it does not stop in time, when the conversation is deleted and when the daemon stops: nothing it
/// has started may outlive that.
pub trait Backend: Send {
    /// Answers one prompt. Returns when the answer is complete, or soon after `exchange.stopped()`.
    fn generate<'a>(&'a mut self, exchange: &'a Exchange) -> Boxed<'a, Result<(), Failure>>;

    /// The conversation begins anew: what the agent remembers of it is void.
    fn clear(&mut self) {}

    /// The conversation is gone for good, and with it what was started for it alone.
    fn delete(self: Box<Self>) -> Boxed<'static, ()> {
        drop(self);
        Box::pin(async {})
    }
}

/// Gives conversations their agents.
pub trait Backends: fmt::Debug + Send + Sync {
    /// An agent for a conversation.
    fn open(&self, opening: Opening) -> Boxed<'static, Result<Box<dyn Backend>, Failure>>;

    /// What is left of an agent's `resume` state when its conversation is cleared: what belongs to the agent and not to
    /// what was said. Nothing by default.
    fn after_clear(&self, _resume: serde_json::Value) -> Option<serde_json::Value> {
        None
    }

    /// The agents that can be chosen, the default one first.
    fn agents(&self) -> Vec<Agent>;

    /// What holds where a conversation's own settings say nothing.
    fn defaults(&self, settings: &Settings, workspace: &Workspace) -> Settings;
}

/// An agent that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// Its name.
    pub name: String,
    /// How it is reached: `acp`, `llm` or `pty`.
    pub kind: &'static str,
    /// What is behind it: a command or a model.
    pub detail: String,
}

/// A conversation that needs an agent.
#[derive(Debug, Clone)]
pub struct Opening {
    /// Its name.
    pub name: SessionName,
    /// Where the agent works.
    pub working_dir: PathBuf,
    /// What it may do there.
    pub workspace: Arc<Workspace>,
    /// What was set.
    pub settings: Settings,
    /// What the agent said it needs to go on.
    pub resume: Option<serde_json::Value>,
    /// The session with a terminal that the conversation is about.
    pub terminal: Option<Session>,
}

/// What differs for one prompt.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PromptOptions {
    /// How freely it is to be answered.
    pub temperature: Option<f64>,
    /// Tokens of the answer at most.
    pub max_tokens: Option<u32>,
}

/// One prompt and the way back: what the agent says, does and asks.
///
/// Everything said through it after the generation was stopped is dropped.
#[derive(Debug)]
pub struct Exchange {
    pub(super) name: SessionName,
    pub(super) prompt: String,
    pub(super) options: PromptOptions,
    pub(super) settings: Settings,
    pub(super) history: Arc<[Message]>,
    pub(super) working_dir: PathBuf,
    pub(super) workspace: super::Workspaces,
    pub(super) updates: mpsc::Sender<Update>,
    pub(super) stop: CancellationToken,
}

/// What an agent tells its conversation.
#[derive(Debug)]
pub(super) enum Update {
    Text(String),
    Thought(String),
    ToolCalled(Box<ToolCall>),
    ToolOutput(ToolId, String),
    ToolEnded(Box<ToolResult>),
    Progress(Progress),
    Plan(Vec<PlanEntry>),
    Usage(Usage),
    Resume(serde_json::Value),
    Approve(ApprovalId, Box<ApprovalRequest>, oneshot::Sender<Decision>),
    Withdraw(ApprovalId),
    Ask(QuestionId, Box<QuestionRequest>, oneshot::Sender<Result<Answers, Unanswered>>),
}

impl Exchange {
    /// Name of the conversation.
    pub fn name(&self) -> &SessionName {
        &self.name
    }

    /// What was said to the agent.
    pub fn prompt(&self) -> &str {
        &self.prompt
    }

    /// What is set for this prompt.
    pub fn options(&self) -> &PromptOptions {
        &self.options
    }

    /// What is set for the conversation.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What was said before this prompt, oldest first.
    pub fn history(&self) -> &[Message] {
        &self.history
    }

    /// Where the agent works.
    pub fn working_dir(&self) -> &std::path::Path {
        &self.working_dir
    }

    /// What it may do there, as it stands now.
    pub fn workspace(&self) -> Arc<Workspace> {
        self.workspace.get(&self.working_dir)
    }

    /// Lets a command be run in this workspace without asking from now on, and keeps that.
    pub async fn approve_command(&self, command: &str) {
        self.workspace.approve_command(&self.working_dir, command).await;
    }

    /// Lets a domain be reached from this workspace without asking from now on, and keeps that.
    pub async fn approve_domain(&self, domain: &str) {
        self.workspace.approve_domain(&self.working_dir, domain).await;
    }

    /// Cancelled when the answer is not wanted any more.
    pub fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    /// The agent says more. Empty text says nothing.
    pub async fn text(&self, text: impl Into<String>) {
        self.tell(Update::Text(text.into())).await;
    }

    /// The agent thinks.
    pub async fn thought(&self, text: impl Into<String>) {
        self.tell(Update::Thought(text.into())).await;
    }

    /// The agent uses a tool; called again for the same use, it says more about it.
    pub async fn tool_called(&self, call: ToolCall) {
        self.tell(Update::ToolCalled(Box::new(call))).await;
    }

    /// A tool that is at work says something.
    pub async fn tool_output(&self, id: &ToolId, text: impl Into<String>) {
        self.tell(Update::ToolOutput(id.clone(), text.into())).await;
    }

    /// What the use of a tool came to.
    pub async fn tool_ended(&self, result: ToolResult) {
        self.tell(Update::ToolEnded(Box::new(result))).await;
    }

    /// How far the agent is.
    pub async fn progress(&self, progress: Progress) {
        self.tell(Update::Progress(progress)).await;
    }

    /// What the agent intends to do.
    pub async fn plan(&self, entries: Vec<PlanEntry>) {
        self.tell(Update::Plan(entries)).await;
    }

    /// What the answer has cost, besides what was told before.
    pub async fn used(&self, usage: Usage) {
        self.tell(Update::Usage(usage)).await;
    }

    /// What the agent needs to go on with this conversation another time.
    pub async fn resume_with(&self, state: serde_json::Value) {
        self.tell(Update::Resume(state)).await;
    }

    /// Asks for an approval and waits for what it comes to. Dropping the wait withdraws it.
    pub async fn approve(&self, request: ApprovalRequest) -> Decision {
        let id = ApprovalId(format!("auth-{}", super::random_id()));
        let (reply, decision) = oneshot::channel();
        // Room for taking it back is taken first, so that this never has to wait.
        let Ok(room) = self.updates.clone().reserve_owned().await else { return Decision::Stopped };
        let withdrawal = Withdrawal { id: id.clone(), room: Some(room) };
        self.tell(Update::Approve(id, Box::new(request), reply)).await;
        let decision = decision.await.unwrap_or(Decision::Stopped);
        withdrawal.cancel();
        decision
    }

    /// Asks a question and waits for the answer.
    pub async fn ask(&self, request: QuestionRequest) -> Result<Answers, Unanswered> {
        let id = QuestionId(format!("question-{}", super::random_id()));
        let (reply, answers) = oneshot::channel();
        self.tell(Update::Ask(id, Box::new(request), reply)).await;
        answers.await.unwrap_or(Err(Unanswered::Stopped))
    }

    async fn tell(&self, update: Update) {
        // The conversation may be gone; then nobody wants to know.
        let _told = self.updates.send(update).await;
    }
}

/// Takes an approval back that nobody waits for any more.
struct Withdrawal {
    id: ApprovalId,
    room: Option<mpsc::OwnedPermit<Update>>,
}

impl Withdrawal {
    fn cancel(mut self) {
        self.room = None;
    }
}

impl Drop for Withdrawal {
    fn drop(&mut self) {
        if let Some(room) = self.room.take() {
            room.send(Update::Withdraw(self.id.clone()));
        }
    }
}

/// The way from an agent to its conversation. Twice the number of approvals that can wait: each keeps room to be
/// taken back.
pub(super) fn updates() -> (mpsc::Sender<Update>, mpsc::Receiver<Update>) {
    mpsc::channel(limits::CHAT_UPDATES)
}
