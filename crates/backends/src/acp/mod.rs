//! Agents that speak the Agent Client Protocol on their standard input and output.
//!
//! An agent runs under a guard, in the directory of its conversation, from the first prompt until the conversation is
//! unloaded; one that has exited is started again and asked to load its session. It does its own work with its own
//! rights. What it requests from us (`agent_requests.rs`) is limited to the workspace.
//!
//! Between prompts its output is not read: it waits in the pipe.

mod agent_process;
mod agent_requests;
mod generation;
mod limits;
mod lines;
mod permission;
mod rpc;
mod session;
mod terminals;
mod tools;
mod transcript;
mod usage;

use crate::BackendContext;
use crate::config::AgentConfig;
use agent_client_protocol_schema::v1::{ContentBlock, PromptRequest, SessionId, TextContent};
use agent_requests::AgentRequests;
use generation::{Generation, Paragraphs};
use serde_json::{Value, json};
use session::{AcpSession, Ready};
use std::path::PathBuf;
use swb_chat::Progress;
use swb_engine::chat::{Backend, Boxed, Exchange, Failure, Opening};
use terminals::AcpTerminals;
use tools::AcpTools;
use usage::SessionCost;

/// Starts an agent for a conversation.
pub(crate) async fn open(
    context: &BackendContext,
    agent: &AgentConfig,
    opening: Opening,
) -> Result<Box<dyn Backend>, Failure> {
    let (earlier, bill) = earlier(agent, opening.resume.as_ref()).unzip();
    let mut open = Acp {
        context: context.clone(),
        agent: agent.clone(),
        workspace: opening.workspace.path.clone(),
        directory: opening.working_dir,
        earlier,
        ready: None,
        session: None,
        reported: None,
        model: None,
        bill: bill.unwrap_or_default(),
    };
    open.prepare().await?;
    Ok(Box::new(open))
}

/// An agent in one conversation.
struct Acp {
    context: BackendContext,
    agent: AgentConfig,
    /// The workspace that its programs are limited to when they use `swb`.
    workspace: PathBuf,
    directory: PathBuf,
    /// The session to load when the agent is started again.
    earlier: Option<SessionId>,
    ready: Option<ConnectedAgent>,
    session: Option<AcpSession>,
    /// The state that the conversation stores for resuming.
    reported: Option<Value>,
    /// The model that was requested.
    model: Option<String>,
    /// The cost of the session as last reported.
    bill: SessionCost,
}

/// An initialised agent, and the terminals it has opened.
struct ConnectedAgent {
    ready: Ready,
    terminals: AcpTerminals,
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
    /// Makes sure that the agent runs and has a session.
    async fn prepare(&mut self) -> Result<(), Failure> {
        if self.ready.as_mut().is_some_and(|talking| !talking.ready.link.is_alive()) {
            self.drop_agent();
        }
        if self.ready.is_none() {
            let ready = Ready::start(&self.context, &self.agent, &self.workspace, &self.directory).await?;
            self.ready = Some(ConnectedAgent { ready, terminals: AcpTerminals::default() });
        }
        if let (Some(talking), None) = (&mut self.ready, &self.session) {
            // Stored until there is a session: a stop may cancel this wait at any moment.
            let session = talking.ready.session(&self.agent, &self.directory, self.earlier.clone()).await;
            let session = session.inspect_err(|_| self.ready = None)?;
            if session.fresh {
                self.bill = SessionCost::default();
            }
            (self.session, self.earlier, self.model) = (Some(session), None, None);
        }
        Ok(())
    }

    /// Drops the agent. The next one loads the session, unless it has no messages: if loaded, the agent would
    /// count as knowing the earlier conversation.
    fn drop_agent(&mut self) {
        let session = self.session.take().filter(|session| !session.fresh);
        self.earlier = session.map(|session| session.id).or(self.earlier.take());
        self.ready = None;
    }

    async fn prepare_for(&mut self, exchange: &Exchange) -> Result<(), Failure> {
        self.prepare().await?;
        self.choose_model(exchange).await
    }

    async fn answer(&mut self, exchange: &Exchange) -> Result<(), Failure> {
        let result = tokio::select! {
            result = self.prepare_for(exchange) => result,
            // Dropping it kills it.
            () = exchange.stop().cancelled() => Err(Failure::Agent("stopped".to_owned())),
        };
        if let Err(failure) = result {
            self.drop_agent();
            return Err(failure);
        }
        self.note(exchange).await;
        let result = self.prompt(exchange).await;
        self.note(exchange).await;
        result
    }

    /// Stores in the conversation what is needed to resume, and the cost that was billed.
    async fn note(&mut self, exchange: &Exchange) {
        let Some(session) = &self.session else { return };
        let state = json!({"acp_session": session.id, "agent": self.agent.name, "cost": self.bill.0});
        if self.reported.as_ref() != Some(&state) {
            exchange.resume_with(state.clone()).await;
            self.reported = Some(state);
        }
    }

    async fn prompt(&mut self, exchange: &Exchange) -> Result<(), Failure> {
        let (Some(talking), Some(session)) = (&mut self.ready, &mut self.session) else {
            return Err(Failure::Agent("the agent is not running".to_owned()));
        };
        let preamble =
            if std::mem::take(&mut session.fresh) { transcript::of(exchange.history()) } else { None };
        let prompt = preamble.into_iter().chain([exchange.prompt().to_owned()]);
        let prompt = prompt.map(|text| ContentBlock::Text(TextContent::new(text))).collect();
        let prompt = PromptRequest::new(session.id.clone(), prompt);
        let mut generation = Generation {
            exchange,
            server: AgentRequests::new(&self.context, exchange),
            session: session.id.clone(),
            tools: AcpTools::default(),
            bill: &mut self.bill,
            paragraphs: Paragraphs::default(),
        };
        let terminals = talking.terminals.count();
        let ended = generation.run(talking, &prompt).await;
        if exchange.stop().is_cancelled() {
            // Agents that end at once when cancelled may leave commands behind that they were waiting for.
            talking.terminals.kill_after(terminals);
        }
        match ended {
            Ok(Some(answer)) => generation::finish(answer, exchange).await,
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

/// The session that this agent had in this conversation, and its cost.
fn earlier(agent: &AgentConfig, resume: Option<&Value>) -> Option<(SessionId, SessionCost)> {
    let resume = resume?;
    let same = resume.get("agent").and_then(Value::as_str) == Some(agent.name.as_str());
    let id = resume.get("acp_session").and_then(Value::as_str).filter(|_| same)?;
    let cost = resume.get("cost").and_then(Value::as_f64).unwrap_or_default();
    Some((SessionId::new(id.to_owned()), SessionCost(cost)))
}
