//! Agents that answer in conversations: a process that speaks ACP (`acp/`), a model behind an API with our tools
//! (`llm/`), or a program in one of our terminals (`pty/`).
//!
//! A conversation is answered by the agent in its settings. When it begins, [`AgentList`] chooses, in this order: the
//! workspace's agent, the configured agent, the first known agent that is installed, the user's shell.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests have threads of their own"))]

mod acp;
mod agent_connection;
mod command;
pub mod config;
mod confinement;
pub mod guard;
mod llm;
mod policy;
mod pty;
mod sys;
mod workspace_fs;

pub use agent_connection::AgentSocket;
pub use confinement::Confinement;

use crate::pty::limits;
use config::{AgentConfig, AgentKind, Allow, ChatConfig};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use swb_chat::{ConversationSettings, Workspace};
use swb_engine::chat::{Agent, Backend, Backends, Boxed, Failure, Opening, program_of};
use swb_engine::{Engine, Session};
use swb_types::did_you_mean;
use tokio::sync::mpsc;

/// Known agents, by their command; the first one installed is used if none is configured.
const KNOWN: [&str; 5] = ["claude", "codex", "gemini", "opencode", "aider"];

/// What agents of every kind need.
#[derive(Debug, Clone)]
pub struct BackendContext {
    /// The terminal sessions.
    engine: Engine,
    /// Our own executable, to start its hidden modes.
    exe: PathBuf,
    /// The environment of the processes we start.
    env: Arc<BTreeMap<String, String>>,
    /// The umask of the processes we start; the daemon's own is stricter.
    umask: u32,
    /// What needs no approval.
    allow: Arc<Allow>,
    /// How commands are confined.
    confinement: Confinement,
    /// Where the connections of agents are served; `None` for an agent that may not use `swb`.
    connections: Option<mpsc::Sender<AgentSocket>>,
}

impl BackendContext {
    /// Builds the context.
    pub fn new(
        engine: Engine,
        exe: PathBuf,
        mut env: BTreeMap<String, String>,
        umask: u32,
        allow: Allow,
        confinement: Confinement,
    ) -> Self {
        // It would name a descriptor that the program does not have.
        env.remove(swb_types::CONNECTION_VARIABLE);
        let (env, allow) = (Arc::new(env), Arc::new(allow));
        Self { engine, exe, env, umask, allow, confinement, connections: None }
    }

    /// Sets where connections of agents that may use `swb` are served.
    #[must_use]
    pub fn with_connections(mut self, connections: mpsc::Sender<AgentSocket>) -> Self {
        self.connections = Some(connections);
        self
    }

    /// The context for one agent, which has connections only if it may use `swb`.
    fn for_agent(&self, agent: &AgentConfig) -> Self {
        let mut context = self.clone();
        context.connections = context.connections.filter(|_| agent.swb);
        context
    }
}

/// The agents to choose from.
#[derive(Debug)]
pub struct AgentList {
    context: BackendContext,
    /// The configured agents, then the known agents that are installed, then the shell.
    agents: Vec<Arc<AgentConfig>>,
    configured: Option<String>,
    /// Where the configuration names the default agent.
    place: Option<String>,
}

impl AgentList {
    /// Builds the list of agents from the configuration.
    pub fn new(context: BackendContext, chat: &ChatConfig, configured: Vec<AgentConfig>) -> Self {
        let mut agents: Vec<AgentConfig> = configured;
        for name in installed(&context.env) {
            if !agents.iter().any(|agent| agent.name == name) {
                agents.push(AgentConfig::of_command(name, AgentKind::Pty, vec![name.to_owned()]));
            }
        }
        if !agents.iter().any(|agent| agent.name == "shell") {
            let shell = context.env.get("SHELL").filter(|shell| !shell.is_empty());
            let shell = shell.cloned().unwrap_or_else(|| "/bin/sh".to_owned());
            agents.push(AgentConfig::of_command("shell", AgentKind::Pty, vec![shell]));
        }
        let agents = agents.into_iter().map(Arc::new).collect();
        Self { context, agents, configured: chat.backend.clone(), place: chat.backend_place.clone() }
    }

    /// What is wrong with the default agent of the configuration, if there is no such agent.
    pub fn unknown_backend(&self) -> Option<String> {
        let name = self.configured.as_deref().filter(|name| *name != "none" && self.named(name).is_none())?;
        let mut known: Vec<&str> = self.agents.iter().map(|agent| agent.name.as_str()).collect();
        let meant = did_you_mean(name, known.iter().copied()).map(|question| format!("; {question}"));
        known.extend(["acp", "llm", "pty", "none"]);
        let place = self.place.as_deref().map(|place| format!(" ({place})")).unwrap_or_default();
        Some(format!(
            "chat.backend = \"{name}\"{place} names no agent{}; known: {}; others are added under [[agents]]",
            meant.unwrap_or_default(),
            known.join(", ")
        ))
    }

    /// The agent of this name, or else the first of this kind.
    fn named(&self, name: &str) -> Option<&Arc<AgentConfig>> {
        let by_name = self.agents.iter().find(|agent| agent.name == name);
        by_name.or_else(|| self.agents.iter().find(|agent| agent.kind.as_str() == name))
    }

    /// Chooses the agent for a conversation.
    fn choose(
        &self,
        settings: &ConversationSettings,
        workspace: &Workspace,
    ) -> Result<Arc<AgentConfig>, Failure> {
        let named = settings.agent.as_deref().or(workspace.agent.as_deref()).or(self.configured.as_deref());
        let found = match named {
            Some("none") => {
                let why = "no agent is configured: backend under [chat] is \"none\"; set it to the name of an agent";
                return Err(Failure::NotConfigured(why.to_owned()));
            }
            Some(wanted) => self.named(wanted),
            None => self.agents.first(),
        };
        let default = named.is_some() && named == self.configured.as_deref();
        found.cloned().ok_or_else(|| {
            let unknown = || {
                format!(
                    "unknown agent '{}'; add it under [[agents]] in the configuration, or install it",
                    named.unwrap_or_default()
                )
            };
            Failure::NotConfigured(self.unknown_backend().filter(|_| default).unwrap_or_else(unknown))
        })
    }
}

impl Backends for AgentList {
    fn open(&self, opening: Opening) -> Boxed<'static, Result<Box<dyn Backend>, Failure>> {
        let context = self.context.clone();
        let chosen = self.choose(&opening.settings, &opening.workspace);
        let mut replaced = None;
        // A conversation with an existing terminal is about that terminal.
        if let Some(session) = opening.terminal.clone() {
            let Some(made_for) = pty::made_for(&opening) else {
                let joined = match same_program(&opening, Some(&session)) {
                    Ok(()) => Ok(pty::join(&context, session, None, opening)),
                    Err(failure) => Err(failure),
                };
                return Box::pin(async move { joined });
            };
            match &chosen {
                // Replaced only if another agent was chosen for this conversation: the defaults may just have changed.
                Ok(agent) if opening.settings.agent.is_some() && agent.name != made_for => {
                    replaced = Some(session);
                }
                // If its agent is no longer configured, the terminal can be used as long as it lives.
                _ => {
                    let agent = self.agents.iter().find(|agent| agent.name == made_for).cloned();
                    return Box::pin(async move { Ok(pty::join(&context, session, agent, opening)) });
                }
            }
        }
        let agent = match same_program(&opening, None).and(chosen) {
            Ok(agent) => agent,
            Err(failure) => return Box::pin(async { Err(failure) }),
        };
        let context = context.for_agent(&agent);
        Box::pin(async move {
            if let Some(session) = replaced {
                session.kill(limits::REPLACED).await;
            }
            match agent.kind {
                AgentKind::Acp => acp::open(&context, &agent, opening).await,
                AgentKind::Llm => llm::open(&context, &agent).await,
                AgentKind::Pty => Ok(pty::open(&context, &agent, opening)),
            }
        })
    }

    fn agent_of(&self, resume: &serde_json::Value) -> Option<String> {
        pty::owner(resume).map(str::to_owned)
    }

    fn after_clear(&self, resume: serde_json::Value) -> Option<serde_json::Value> {
        pty::after_clear(&resume)
    }

    fn agents(&self) -> Vec<Agent> {
        let default = self.configured.as_deref();
        let shown = |agent: &Arc<AgentConfig>| {
            let detail = match agent.kind {
                AgentKind::Llm => agent.model.clone().unwrap_or_default(),
                AgentKind::Acp | AgentKind::Pty => agent.command.join(" "),
            };
            Agent { name: agent.name.clone(), kind: agent.kind.as_str(), detail }
        };
        let mut all: Vec<Agent> = self.agents.iter().map(shown).collect();
        let is_default = |agent: &Agent| default == Some(agent.name.as_str());
        let at = all.iter().position(is_default);
        let at = at.or_else(|| all.iter().position(|agent| default == Some(agent.kind))).unwrap_or(0);
        all[..=at].rotate_right(1);
        all
    }

    fn defaults(&self, settings: &ConversationSettings, workspace: &Workspace) -> ConversationSettings {
        let Ok(agent) = self.choose(settings, workspace) else { return ConversationSettings::default() };
        ConversationSettings {
            agent: Some(agent.name.clone()),
            program: None,
            model: agent.model.clone(),
            temperature: agent.temperature,
            max_tokens: agent.max_tokens,
        }
    }
}

/// Checks that a conversation about an existing terminal continues with the program that has answered so far.
fn same_program(opening: &Opening, terminal: Option<&Session>) -> Result<(), Failure> {
    let Some(program) = &opening.settings.program else { return Ok(()) };
    let name = &opening.name;
    let now = terminal.and_then(program_of);
    if now.as_ref() == Some(program) {
        return Ok(());
    }
    let what = match now {
        Some(other) => {
            format!("'{program}' answers in this conversation, but session '{name}' now runs '{other}'")
        }
        None => format!("'{program}' answers in this conversation, but session '{name}' has ended"),
    };
    Err(Failure::Agent(format!("{what}; choose an agent with /agent NAME, or start a new conversation")))
}

/// The known agents on the search path. A directory there may not respond, and must not keep the daemon from starting.
fn installed(env: &BTreeMap<String, String>) -> Vec<&'static str> {
    let path = env.get("PATH").cloned().unwrap_or_default();
    let (sender, found) = std::sync::mpsc::sync_channel(KNOWN.len());
    let search = move || {
        for name in KNOWN.into_iter().filter(|name| is_executable(&path, name)) {
            // The daemon may have given up.
            let _sent = sender.send(name);
        }
    };
    if let Err(error) = std::thread::Builder::new().name("agents".into()).spawn(search) {
        tracing::warn!(%error, "cannot look for installed agents");
    }
    let deadline = Instant::now() + limits::SEARCH;
    let next = || found.recv_timeout(deadline.saturating_duration_since(Instant::now()));
    std::iter::from_fn(|| next().ok()).collect()
}

/// Whether an executable of this name is on a search path.
#[allow(clippy::disallowed_methods, reason = "on a thread of its own")]
fn is_executable(path: &str, name: &str) -> bool {
    let runs = |file: &Path| {
        std::fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    path.split(':').filter(|dir| !dir.is_empty()).any(|dir| runs(&Path::new(dir).join(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_executables_count_as_installed() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir_all(at("bin/directory")).unwrap();
        for (name, mode) in [("program", 0o755), ("text", 0o644)] {
            std::fs::write(at("bin").join(name), "").unwrap();
            std::fs::set_permissions(at("bin").join(name), PermissionsExt::from_mode(mode)).unwrap();
        }
        let path = format!("{}::{}", at("missing").display(), at("bin").display());
        let found = ["program", "text", "directory", "other"].map(|name| is_executable(&path, name));
        assert_eq!(found, [true, false, false, false]);
        assert!(!is_executable("", "sh"));
    }
}
