//! Agents in terminals: a program in one of our PTYs, whose turns are the answers.
//!
//! The terminal has the conversation's name. A terminal created for the conversation is restarted when its program has
//! ended or the conversation was cleared, and is removed with the conversation; one that existed before is only used.
//! Either way any user can attach to it and see the same agent. A prompt is typed (`prompt.rs`), the answer is sent as
//! the screen grows, dialogs become approvals and questions (`dialog_approval.rs`).

mod dialog_approval;
pub(crate) mod limits;
mod prompt;
mod reader;

use crate::BackendContext;
use crate::config::AgentConfig;
use prompt::PtyPrompt;
use serde_json::{Value, json};
use std::sync::Arc;
use swb_engine::chat::{Backend, Boxed, Exchange, Failure, ORIGIN, Opening, SubmittedPrompt};
use swb_engine::{ProcessPhase, RestartPolicy, Session, SessionSpec, Start};
use swb_types::{PtyId, Size};

/// Environment variable with the name of the session, as in sessions created on the command line.
const NAME_VARIABLE: &str = "SWB_SESSION";

/// Key in the state of a conversation that was cleared since the last prompt to its agent.
const FORGET: &str = "forget";

const ENDED: &str = "the terminal of this conversation has ended";

/// An agent in a terminal.
struct PtyAgent {
    context: BackendContext,
    opening: Opening,
    /// The agent that runs in the terminal, if that was created for the conversation.
    agent: Option<Arc<AgentConfig>>,
    session: Option<Session>,
    /// The next prompt begins a new conversation, so the program must not know the last one.
    forget: bool,
}

/// A conversation with a terminal of its own; it is created with the first prompt.
pub(crate) fn open(context: &BackendContext, agent: &Arc<AgentConfig>, opening: Opening) -> Box<dyn Backend> {
    let agent = Some(Arc::clone(agent));
    Box::new(PtyAgent { context: context.clone(), opening, agent, session: None, forget: false })
}

/// A conversation about an existing terminal. With an agent, the terminal was created for the conversation.
pub(crate) fn join(
    context: &BackendContext,
    session: Session,
    agent: Option<Arc<AgentConfig>>,
    opening: Opening,
) -> Box<dyn Backend> {
    let forget = opening.resume.as_ref().is_some_and(|state| state.get(FORGET).is_some());
    Box::new(PtyAgent { context: context.clone(), opening, agent, session: Some(session), forget })
}

/// The agent for which a conversation's terminal was created; `None` if it existed before.
pub(crate) fn made_for(opening: &Opening) -> Option<&str> {
    owner(opening.resume.as_ref()?)
}

/// The state kept when a conversation is cleared: who owns its terminal, and that the agent has to be restarted.
pub(crate) fn after_clear(state: &Value) -> Option<Value> {
    owner(state).map(|agent| json!({ "terminal": "own", "agent": agent, FORGET: true }))
}

/// The agent for which a terminal was created, by the state that it left.
pub(crate) fn owner(state: &Value) -> Option<&str> {
    state.get("terminal").filter(|terminal| *terminal == "own")?;
    state.get("agent")?.as_str()
}

impl PtyAgent {
    /// The terminal, with its program running.
    async fn running(&mut self) -> Result<Session, Failure> {
        let forget = self.forget && self.agent.is_some();
        if let Some(session) = self.session.as_ref().filter(|session| is_alive(session) && !forget) {
            return Ok(session.clone());
        }
        let Some(agent) = &self.agent else {
            return Err(Failure::Agent(ENDED.to_owned()));
        };
        if let Some(over) = &self.session {
            // Its name is needed for the next one.
            over.kill(limits::KILL_GRACE).await;
        }
        (self.session, self.forget) = (None, false);
        let made = self.context.engine.create_for_conversation(self.spec(agent)).await;
        let session = made.map_err(|error| Failure::Agent(error.to_string()))?;
        self.session = Some(session.clone());
        Ok(session)
    }

    fn spec(&self, agent: &AgentConfig) -> SessionSpec {
        let mut env = (*self.context.env).clone();
        // Our screens understand this one; the terminal in which the daemon was started does not matter.
        env.insert("TERM".to_owned(), "xterm-256color".to_owned());
        env.extend(agent.env.clone());
        let [cols, rows] = limits::SIZE;
        SessionSpec {
            name: self.opening.name.clone(),
            unique: false,
            workspace: self.opening.working_dir.clone(),
            bind_workspace: false,
            origin: ORIGIN.to_owned(),
            argv: agent.command.clone(),
            env,
            umask: self.context.umask,
            size: Size::new(cols, rows).unwrap_or(Size::DEFAULT),
            start: Start::Now,
            restart: RestartPolicy::NEVER,
            profile: agent.profile.clone(),
            shell: None,
            name_variable: Some(NAME_VARIABLE.to_owned()),
            hidden: Vec::new(),
            required: Vec::new(),
            exclusive_name: false,
        }
    }

    async fn answer(&mut self, exchange: &Exchange) -> Result<(), Failure> {
        let session = self.running().await?;
        if let Some(agent) = &self.agent {
            exchange.resume_with(json!({ "terminal": "own", "agent": agent.name })).await;
        }
        self.prompt(&session, exchange)?.run().await
    }

    fn prompt<'a>(&self, session: &'a Session, exchange: &'a Exchange) -> Result<PtyPrompt<'a>, Failure> {
        PtyPrompt::new(&self.context.engine, session, exchange).ok_or_else(|| {
            Failure::NotConfigured(
                "turn detection is off, but an agent in a terminal needs it: see [turns] in the configuration".into(),
            )
        })
    }
}

/// Whether a terminal has a program, or soon will.
fn is_alive(session: &Session) -> bool {
    let exited = |phase| matches!(phase, ProcessPhase::Exited(_));
    !session.view().ended && session.pty(PtyId::AGENT).is_ok_and(|agent| !exited(agent.phase))
}

impl Backend for PtyAgent {
    fn generate<'a>(&'a mut self, exchange: &'a Exchange) -> Boxed<'a, Result<(), Failure>> {
        Box::pin(self.answer(exchange))
    }

    fn resume<'a>(
        &'a mut self,
        exchange: &'a Exchange,
        submitted: SubmittedPrompt,
        sent: String,
    ) -> Boxed<'a, Result<(), Failure>> {
        Box::pin(async move {
            let Some(session) = &self.session else { return Err(Failure::Agent(ENDED.to_owned())) };
            self.prompt(session, exchange)?.resume(submitted, &sent).await
        })
    }

    fn clear(&mut self) {
        // A terminal that existed before does not belong to the conversation.
        self.forget = self.agent.is_some() && self.session.is_some();
    }

    fn delete(self: Box<Self>) -> Boxed<'static, ()> {
        Box::pin(async move {
            if let (Some(_), Some(session)) = (&self.agent, &self.session) {
                session.kill(limits::KILL_GRACE).await;
            }
        })
    }
}
