//! The interface of agents: what a backend implements, and what it gets.

use crate::limits;
use crate::session::Session;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use swb_chat::{
    Answers, ApprovalId, ApprovalRequest, ConversationSettings, Decision, Message, PlanEntry, Progress,
    QuestionId, QuestionRequest, ToolCall, ToolId, ToolResult, Unanswered, Usage, Workspace,
};
use swb_types::{Offset, SessionName};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// A boxed future.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Why an agent failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// It ended, could not be reached, or violated its protocol.
    #[error("{0}")]
    Agent(String),
    /// No agent is configured; the text names what to configure.
    #[error("{0}")]
    NotConfigured(String),
    /// The prompt must not reach this agent; the text has the reason and what to do.
    #[error("{0}")]
    NotAllowed(String),
    /// It was asked to stop and has not; the text names that and what to do.
    #[error("{0}")]
    GoesOn(String),
}

/// An agent in one conversation.
///
/// It is dropped when it does not stop in time, when the conversation is deleted and when the daemon stops: no process
/// it has started may outlive that.
pub trait Backend: Send {
    /// Answers one prompt. Returns when the answer is complete, or soon after `exchange.stopped()`.
    fn generate<'a>(&'a mut self, exchange: &'a Exchange) -> Boxed<'a, Result<(), Failure>>;

    /// Continues an answer that an earlier daemon has begun, if the agent reported [`Exchange::submitted`]; `sent` is the
    /// text that was sent of it.
    fn resume<'a>(
        &'a mut self,
        _exchange: &'a Exchange,
        _submitted: SubmittedPrompt,
        _sent: String,
    ) -> Boxed<'a, Result<(), Failure>> {
        Box::pin(async { Err(Failure::Agent("this agent cannot resume an answer".to_owned())) })
    }

    /// The conversation was cleared: the agent must forget its context.
    fn clear(&mut self) {}

    /// The conversation is deleted: ends everything that was started for it alone.
    fn delete(self: Box<Self>) -> Boxed<'static, ()> {
        drop(self);
        Box::pin(async {})
    }
}

/// Opens agents for conversations.
pub trait Backends: fmt::Debug + Send + Sync {
    /// Opens an agent for a conversation.
    fn open(&self, opening: Opening) -> Boxed<'static, Result<Box<dyn Backend>, Failure>>;

    /// The part of an agent's `resume` state that survives when its conversation is cleared: what belongs to the agent and
    /// not to the messages. Nothing by default.
    fn after_clear(&self, _resume: serde_json::Value) -> Option<serde_json::Value> {
        None
    }

    /// The agent to which a `resume` state belongs, if that shows it.
    fn agent_of(&self, _resume: &serde_json::Value) -> Option<String> {
        None
    }

    /// The agents that can be chosen, the default one first.
    fn agents(&self) -> Vec<Agent>;

    /// The settings that apply where the conversation's own are empty.
    fn defaults(&self, settings: &ConversationSettings, workspace: &Workspace) -> ConversationSettings;
}

/// An agent that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// Its name.
    pub name: String,
    /// How it is reached: `acp`, `llm` or `pty`.
    pub kind: &'static str,
    /// Its command or model.
    pub detail: String,
}

/// A conversation that needs an agent.
#[derive(Debug, Clone)]
pub struct Opening {
    /// Its name.
    pub name: SessionName,
    /// The agent's working directory.
    pub working_dir: PathBuf,
    /// Its workspace, with its permissions.
    pub workspace: Arc<Workspace>,
    /// The conversation's settings.
    pub settings: ConversationSettings,
    /// The state by which the agent resumes, as it reported it.
    pub resume: Option<serde_json::Value>,
    /// The session with a terminal that the conversation is about.
    pub terminal: Option<Session>,
}

/// A prompt that was submitted in a terminal, which outlives the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubmittedPrompt {
    /// Number of the newest turn before it.
    pub before: u64,
    /// The offset of the output at which it was typed.
    pub from: Offset,
}

/// Options of one prompt.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PromptOptions {
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Maximum number of tokens in the answer.
    pub max_tokens: Option<u32>,
    /// The prompt contains text that no person typed, such as a file. It must not reach a program that would run it.
    pub piped: bool,
}

/// One prompt, and the channel for everything the agent reports while it answers.
///
/// Reports after the generation was stopped are dropped.
#[derive(Debug)]
pub struct Exchange {
    pub(super) name: SessionName,
    pub(super) prompt: String,
    pub(super) options: PromptOptions,
    pub(super) settings: ConversationSettings,
    pub(super) history: Arc<[Message]>,
    pub(super) working_dir: PathBuf,
    pub(super) workspace: super::Workspaces,
    pub(super) updates: mpsc::Sender<Update>,
    pub(super) stop: CancellationToken,
}

/// A report of an agent to its conversation.
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
    Submitted(SubmittedPrompt),
    Approve(ApprovalId, Box<ApprovalRequest>, oneshot::Sender<Decision>),
    Withdraw(ApprovalId),
    Ask(QuestionId, Box<QuestionRequest>, oneshot::Sender<Result<Answers, Unanswered>>),
}

impl Exchange {
    /// Name of the conversation.
    pub fn name(&self) -> &SessionName {
        &self.name
    }

    /// The prompt.
    pub fn prompt(&self) -> &str {
        &self.prompt
    }

    /// The options of this prompt.
    pub fn options(&self) -> &PromptOptions {
        &self.options
    }

    /// The settings of the conversation.
    pub fn settings(&self) -> &ConversationSettings {
        &self.settings
    }

    /// The messages before this prompt, oldest first.
    pub fn history(&self) -> &[Message] {
        &self.history
    }

    /// The agent's working directory.
    pub fn working_dir(&self) -> &std::path::Path {
        &self.working_dir
    }

    /// Its workspace, with its present permissions.
    pub fn workspace(&self) -> Arc<Workspace> {
        self.workspace.get(&self.working_dir)
    }

    /// All directories that commands of agents can write, in any workspace.
    pub fn written(&self) -> Vec<PathBuf> {
        self.workspace.written()
    }

    /// Allows a command in this workspace without an approval from now on, and saves that.
    pub async fn approve_command(&self, command: &str) {
        self.workspace.approve_command(&self.working_dir, command).await;
    }

    /// Allows a domain in this workspace without an approval from now on, and saves that.
    pub async fn approve_domain(&self, domain: &str) {
        self.workspace.approve_domain(&self.working_dir, domain).await;
    }

    /// Cancelled when the generation is stopped.
    pub fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    /// Reports more text of the answer. Empty text is ignored.
    pub async fn text(&self, text: impl Into<String>) {
        self.send_update(Update::Text(text.into())).await;
    }

    /// Reports a thought.
    pub async fn thought(&self, text: impl Into<String>) {
        self.send_update(Update::Thought(text.into())).await;
    }

    /// Reports a tool call; a second report of the same call adds to it.
    pub async fn tool_called(&self, call: ToolCall) {
        self.send_update(Update::ToolCalled(Box::new(call))).await;
    }

    /// Reports output of a running tool.
    pub async fn tool_output(&self, id: &ToolId, text: impl Into<String>) {
        self.send_update(Update::ToolOutput(id.clone(), text.into())).await;
    }

    /// Reports the result of a tool call.
    pub async fn tool_ended(&self, result: ToolResult) {
        self.send_update(Update::ToolEnded(Box::new(result))).await;
    }

    /// Reports progress.
    pub async fn progress(&self, progress: Progress) {
        self.send_update(Update::Progress(progress)).await;
    }

    /// Reports the agent's plan.
    pub async fn plan(&self, entries: Vec<PlanEntry>) {
        self.send_update(Update::Plan(entries)).await;
    }

    /// Reports the tokens used since the last report.
    pub async fn used(&self, usage: Usage) {
        self.send_update(Update::Usage(usage)).await;
    }

    /// Reports the state by which the agent can resume this conversation later.
    pub async fn resume_with(&self, state: serde_json::Value) {
        self.send_update(Update::Resume(state)).await;
    }

    /// Reports that the prompt was submitted: from now on a daemon that comes after a crash can resume the answer.
    pub async fn submitted(&self, prompt: SubmittedPrompt) {
        self.send_update(Update::Submitted(prompt)).await;
    }

    /// Requests an approval and waits for the decision. Dropping the wait withdraws the request.
    pub async fn approve(&self, request: ApprovalRequest) -> Decision {
        let id = ApprovalId(format!("auth-{}", super::random_id()));
        let (reply, decision) = oneshot::channel();
        // Reserves room for the withdrawal first, so that withdrawing never waits.
        let Ok(room) = self.updates.clone().reserve_owned().await else { return Decision::Stopped };
        let withdrawal = Withdrawal { id: id.clone(), room: Some(room) };
        self.send_update(Update::Approve(id, Box::new(request), reply)).await;
        let decision = decision.await.unwrap_or(Decision::Stopped);
        withdrawal.cancel();
        decision
    }

    /// Asks a question and waits for the answer.
    pub async fn ask(&self, request: QuestionRequest) -> Result<Answers, Unanswered> {
        let id = QuestionId(format!("question-{}", super::random_id()));
        let (reply, answers) = oneshot::channel();
        self.send_update(Update::Ask(id, Box::new(request), reply)).await;
        answers.await.unwrap_or(Err(Unanswered::Stopped))
    }

    async fn send_update(&self, update: Update) {
        // The conversation may be gone.
        let _sent = self.updates.send(update).await;
    }
}

/// Withdraws a request for approval when the agent no longer waits for it.
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

/// The channel from an agent to its conversation. Twice the number of pending approvals, as each reserves room for its
/// withdrawal.
pub(super) fn updates() -> (mpsc::Sender<Update>, mpsc::Receiver<Update>) {
    mpsc::channel(limits::CHAT_UPDATES)
}
