//! Agents that speak the Agent Client Protocol on their standard input and output.
//!
//! An agent runs under a guard, in the directory of its conversation, from the first prompt until the conversation is
//! put away; one that has ended meanwhile is started anew and asked to go on with its session. It does its own work with
//! its own rights. What it asks of us (`serve.rs`) it gets inside the workspace only.
//!
//! Between prompts nobody listens to it: what it has to say then waits in its pipe.

mod limits;
mod lines;
mod link;
mod permission;
mod rpc;
mod serve;
mod session;
mod terminals;
mod tools;
mod transcript;

use crate::Context;
use crate::config::AgentConfig;
use agent_client_protocol_schema::v1::{
    CancelNotification, ContentBlock, Error, ErrorCode, Plan, PlanEntryPriority, PlanEntryStatus,
    PromptRequest, SessionId, SessionNotification, SessionUpdate, TextContent, ToolCallUpdate, UsageUpdate,
};
use link::short;
use rpc::Incoming;
use serde::Deserialize;
use serde_json::{Value, json};
use serve::{Server, Serving};
use session::{Ready, Session};
use swb_chat::{PlanEntry, PlanPriority, PlanStatus, Progress, Usage};
use swb_engine::chat::{Backend, Boxed, Exchange, Failure, Opening};
use terminals::Terminals;
use tokio::time::Instant;
use tools::{News, Tools, block_text};

/// Starts an agent for a conversation.
pub(crate) async fn open(
    context: &Context,
    agent: &AgentConfig,
    opening: Opening,
) -> Result<Box<dyn Backend>, Failure> {
    let mut open = Acp {
        context: context.clone(),
        agent: agent.clone(),
        directory: opening.working_dir,
        earlier: earlier(agent, opening.resume.as_ref()),
        ready: None,
        session: None,
        told: None,
        model: None,
        cost: 0.0,
    };
    open.prepare().await?;
    Ok(Box::new(open))
}

/// An agent in one conversation.
struct Acp {
    context: Context,
    agent: AgentConfig,
    directory: std::path::PathBuf,
    /// The session to go on with when the agent is started anew.
    earlier: Option<SessionId>,
    ready: Option<Talking>,
    session: Option<Session>,
    /// The session that the conversation knows of.
    told: Option<SessionId>,
    /// The model that was asked for.
    model: Option<String>,
    /// What the session had cost when it was last told.
    cost: f64,
}

/// An agent that can be talked to, and what it has opened.
struct Talking {
    ready: Ready,
    terminals: Terminals,
}

impl Backend for Acp {
    fn generate<'a>(&'a mut self, exchange: &'a Exchange) -> Boxed<'a, Result<(), Failure>> {
        Box::pin(self.answer(exchange))
    }

    fn clear(&mut self) {
        self.earlier = None;
        self.session = None;
    }
}

impl Acp {
    /// Sees to it that the agent runs and has a session.
    async fn prepare(&mut self) -> Result<(), Failure> {
        if self.ready.as_mut().is_some_and(|talking| !talking.ready.link.is_alive()) {
            self.drop_agent();
        }
        if self.ready.is_none() {
            let ready = Ready::start(&self.context, &self.agent, &self.directory).await?;
            self.ready = Some(Talking { ready, terminals: Terminals::default() });
        }
        if let (Some(talking), None) = (&mut self.ready, &self.session) {
            let session = talking.ready.session(&self.agent, &self.directory, self.earlier.take()).await;
            self.session = Some(session.inspect_err(|_| self.ready = None)?);
            (self.model, self.cost) = (None, 0.0);
        }
        Ok(())
    }

    /// The agent is gone or has to go; the next one goes on with the session.
    fn drop_agent(&mut self) {
        self.earlier = self.session.take().map(|session| session.id).or(self.earlier.take());
        self.ready = None;
    }

    async fn answer(&mut self, exchange: &Exchange) -> Result<(), Failure> {
        let result = tokio::select! {
            result = self.prepare() => result,
            // Being dropped, it is killed.
            () = exchange.stop().cancelled() => Err(Failure::Agent("stopped".to_owned())),
        };
        if let Err(failure) = result {
            self.drop_agent();
            return Err(failure);
        }
        self.choose_model(exchange).await?;
        let (Some(talking), Some(session)) = (&mut self.ready, &mut self.session) else {
            return Err(Failure::Agent("the agent is gone".to_owned()));
        };
        if self.told.as_ref() != Some(&session.id) {
            exchange.resume_with(json!({"acp_session": session.id, "agent": self.agent.name})).await;
            self.told = Some(session.id.clone());
        }
        let preamble =
            if std::mem::take(&mut session.fresh) { transcript::of(exchange.history()) } else { None };
        let prompt = preamble.into_iter().chain([exchange.prompt().to_owned()]);
        let prompt = prompt.map(|text| ContentBlock::Text(TextContent::new(text))).collect();
        let prompt = PromptRequest::new(session.id.clone(), prompt);
        let mut generation = Generation {
            exchange,
            server: Server { context: &self.context, exchange },
            session: session.id.clone(),
            tools: Tools::default(),
            cost: &mut self.cost,
        };
        let terminals = talking.terminals.count();
        let ended = generation.run(talking, &prompt).await;
        if exchange.stop().is_cancelled() {
            // Agents that end at once when they are told to may leave behind what they waited for.
            talking.terminals.kill_after(terminals);
        }
        match ended {
            Ok(Some(answer)) => finish(answer, exchange).await,
            Ok(None) => {
                self.drop_agent();
                Ok(())
            }
            Err(failure) => {
                self.drop_agent();
                Err(failure)
            }
        }
    }

    async fn choose_model(&mut self, exchange: &Exchange) -> Result<(), Failure> {
        let wanted = exchange.settings().model.clone().or_else(|| self.agent.model.clone());
        let (Some(talking), Some(session)) = (&mut self.ready, &mut self.session) else { return Ok(()) };
        if let Some(model) = wanted.filter(|model| self.model.as_ref() != Some(model)) {
            if !talking.ready.choose_model(session, &model).await? {
                let message = format!("the agent '{}' offers no model '{model}'", self.agent.name);
                exchange.progress(Progress { message, ..Progress::default() }).await;
            }
            self.model = Some(model);
        }
        Ok(())
    }
}

/// One answer in the making.
struct Generation<'a> {
    exchange: &'a Exchange,
    server: Server<'a>,
    session: SessionId,
    tools: Tools,
    cost: &'a mut f64,
}

impl Generation<'_> {
    /// Passes on what the agent says until it has answered. Nothing if it does not stop when it should.
    async fn run(
        &mut self,
        talking: &mut Talking,
        prompt: &PromptRequest,
    ) -> Result<Option<Result<Value, Error>>, Failure> {
        let link = &mut talking.ready.link;
        link.forgive();
        let wanted = link.request("session/prompt", prompt)?;
        let mut serving = Serving::default();
        let mut patience = None;
        loop {
            tokio::select! {
                biased;
                () = self.exchange.stop().cancelled(), if patience.is_none() => {
                    link.notify("session/cancel", &CancelNotification::new(self.session.clone()))?;
                    patience = Some(Instant::now() + limits::CANCEL);
                }
                () = until(patience) => return Ok(None),
                (id, answer) = serving.next() => link.respond(&id, answer)?,
                incoming = link.next(), if serving.has_room() => match incoming? {
                    Incoming::Response(id, answer) if id == wanted => return Ok(Some(answer)),
                    Incoming::Response(..) => {}
                    Incoming::Request(id, method, params) => {
                        let answer = self.server.serve(&method, params, &self.tools, &mut talking.terminals);
                        serving.add(id, answer);
                    }
                    Incoming::Notification(method, params) if method == "session/update" => self.hear(params).await,
                    Incoming::Notification(..) => {}
                },
            }
        }
    }

    /// The agent says something. What we do not know is of no interest.
    async fn hear(&mut self, params: Value) {
        let Ok(notification) = serde_json::from_value::<SessionNotification>(params) else { return };
        if notification.session_id != self.session {
            return;
        }
        let exchange = self.exchange;
        match notification.update {
            SessionUpdate::AgentMessageChunk(chunk) => exchange.text(block_text(&chunk.content)).await,
            SessionUpdate::AgentThoughtChunk(chunk) => exchange.thought(block_text(&chunk.content)).await,
            SessionUpdate::ToolCall(call) => {
                let update = ToolCallUpdate::from(call);
                let news = self.tools.hear(&update.tool_call_id, update.fields, true);
                self.tell(news).await;
            }
            SessionUpdate::ToolCallUpdate(update) => {
                let news = self.tools.hear(&update.tool_call_id, update.fields, false);
                self.tell(news).await;
            }
            SessionUpdate::Plan(plan) => exchange.plan(entries(plan)).await,
            SessionUpdate::UsageUpdate(usage) => self.used(&usage).await,
            _ => {}
        }
    }

    async fn tell(&self, news: Vec<News>) {
        for news in news {
            match news {
                News::Called(call) => self.exchange.tool_called(call).await,
                News::Output(id, text) => self.exchange.tool_output(&id, text).await,
                News::Ended(result) => self.exchange.tool_ended(result).await,
            }
        }
    }

    /// The agent tells how much of its memory is used and what the whole session has cost.
    async fn used(&mut self, usage: &UsageUpdate) {
        let percent = usage.used.saturating_mul(100).checked_div(usage.size);
        let context_usage = percent.map(|percent| u8::try_from(percent.min(100)).unwrap_or(100));
        self.exchange.progress(Progress { context_usage, ephemeral: true, ..Progress::default() }).await;
        let dollars = usage.cost.as_ref().filter(|cost| cost.currency == "USD" && cost.amount.is_finite());
        if let Some(more) = dollars.map(|cost| cost.amount - *self.cost).filter(|more| *more > 0.0) {
            *self.cost += more;
            self.exchange.used(Usage { cost: Some(more), ..Usage::default() }).await;
        }
    }
}

/// What the answer to a prompt means.
async fn finish(answer: Result<Value, Error>, exchange: &Exchange) -> Result<(), Failure> {
    let value = match answer {
        Ok(value) => value,
        Err(_) if exchange.stop().is_cancelled() => return Ok(()),
        Err(error) if error.code == ErrorCode::AuthRequired => {
            return Err(Failure::NotConfigured(
                "the agent wants you to log in with its own program".to_owned(),
            ));
        }
        Err(error) => {
            return Err(Failure::Agent(format!(
                "the agent answered with an error: {}",
                short(&error.message)
            )));
        }
    };
    let Ok(ended) = serde_json::from_value::<Ended>(value) else {
        return Err(Failure::Agent("the agent ended its answer in a way that makes no sense".to_owned()));
    };
    if let Some(usage) = ended.usage {
        exchange.used(usage.into()).await;
    }
    match ended.stop_reason.as_str() {
        "max_tokens" => {
            Err(Failure::Agent("the answer was cut off: it has reached the most tokens".to_owned()))
        }
        "max_turn_requests" => {
            Err(Failure::Agent("the agent has reached the most steps for one prompt".to_owned()))
        }
        "refusal" => Err(Failure::Agent("the agent refuses to go on".to_owned())),
        "cancelled" if !exchange.stop().is_cancelled() => {
            Err(Failure::Agent("the agent has given up by itself".to_owned()))
        }
        _ => Ok(()),
    }
}

/// The end of an answer. Agents tell its cost there, although that is not yet part of the protocol proper.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Ended {
    stop_reason: String,
    #[serde(default)]
    usage: Option<Tokens>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Tokens {
    input_tokens: u64,
    output_tokens: u64,
    cached_read_tokens: Option<u64>,
}

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        let cached_tokens = tokens.cached_read_tokens.unwrap_or(0);
        Self {
            input_tokens: tokens.input_tokens,
            cached_tokens,
            output_tokens: tokens.output_tokens,
            cost: None,
        }
    }
}

fn entries(plan: Plan) -> Vec<PlanEntry> {
    let entry = |entry: agent_client_protocol_schema::v1::PlanEntry| PlanEntry {
        content: entry.content,
        priority: match entry.priority {
            PlanEntryPriority::High => PlanPriority::High,
            PlanEntryPriority::Low => PlanPriority::Low,
            _ => PlanPriority::Medium,
        },
        status: match entry.status {
            PlanEntryStatus::Completed => PlanStatus::Completed,
            PlanEntryStatus::InProgress => PlanStatus::InProgress,
            _ => PlanStatus::Pending,
        },
    };
    plan.entries.into_iter().map(entry).collect()
}

/// The session that this agent had in this conversation.
fn earlier(agent: &AgentConfig, resume: Option<&Value>) -> Option<SessionId> {
    let resume = resume?;
    let same = resume.get("agent").and_then(Value::as_str) == Some(agent.name.as_str());
    let id = resume.get("acp_session").and_then(Value::as_str).filter(|_| same)?;
    Some(SessionId::new(id.to_owned()))
}

async fn until(patience: Option<Instant>) {
    match patience {
        Some(patience) => tokio::time::sleep_until(patience).await,
        None => std::future::pending().await,
    }
}
