//! Chooses the session of a chat: the named one, the latest of the directory, or a new one.

use super::connection::{ChatConnection, RequestError};
use super::{SHELL_AGENT, messages};
use crate::error::Failure;
use crate::limits;
use swb_tui::event::{TranscriptMessage, text};
use swb_wire::scriptschnell::{
    ConfigGet, CreateOptions, Request, ServerMessage, SessionAttach, SessionCreate, SessionCreated,
    SessionFilter, SessionItem, SessionLoaded, SessionRef,
};

/// The session that the user asks for.
#[derive(Debug, Clone, Default)]
pub(super) struct SessionChoice {
    /// A session by its name.
    pub(super) name: Option<String>,
    /// The directory.
    pub(super) directory: String,
    /// Always start a new one.
    pub(super) new: bool,
    /// The agent.
    pub(super) agent: Option<String>,
    /// Only a session without another owner.
    pub(super) own: bool,
    /// The session whose terminal this is, which cannot be chosen.
    pub(super) here: Option<String>,
    /// The agent that answers where none was chosen, if that is known.
    pub(super) default_agent: Option<String>,
    /// Whether the daemon saves a new session by itself.
    pub(super) auto_save: bool,
}

/// A session that this client is attached to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OpenedSession {
    pub(super) name: String,
    pub(super) directory: String,
    pub(super) title: String,
    pub(super) messages: Vec<TranscriptMessage>,
    /// Whether this client may act.
    pub(super) owner: bool,
    /// Whether the agent is answering.
    pub(super) running: bool,
    /// Whether it existed before.
    pub(super) resumed: bool,
    /// The agent, if it is known.
    pub(super) agent: Option<String>,
    /// Whether the agent is a program on a terminal.
    pub(super) terminal: bool,
    /// The session that was not chosen because another client owns it.
    pub(super) instead_of: Option<String>,
}

/// Attaches to the chosen session.
pub(super) fn open(link: &mut ChatConnection, choice: &SessionChoice) -> Result<OpenedSession, Failure> {
    if choice.new {
        return Ok(create(link, choice, choice.name.clone())?);
    }
    if let Some(name) = &choice.name {
        let opened = load(link, name)?;
        let Some(wanted) = &choice.agent else { return Ok(opened) };
        return match agent_of(link)? {
            Some(agent) if agent == *wanted => Ok(opened),
            agent => {
                let agent = agent.filter(|agent| !agent.is_empty());
                let agent = agent.map_or_else(|| "no agent".to_owned(), |agent| format!("'{agent}'"));
                Err(Failure::usage(format!("{agent} answers in conversation '{name}', not '{wanted}'"))
                    .hint("leave out --agent, or start a new conversation with --new"))
            }
        };
    }
    // A terminal session without messages is listed, too, but is not a conversation of the user.
    let talks = latest(link, &choice.directory)?.into_iter().filter(|item| item.message_count > 0);
    let mut in_use = None;
    // With --agent, the shell was meant for what was run then. Where no other agent answers, it is the one that is meant.
    let is_side_trip = |agent: Option<&str>| {
        choice.agent.is_none()
            && agent == Some(SHELL_AGENT)
            && choice.default_agent.as_deref().is_some_and(|default| default != SHELL_AGENT)
    };
    let talks = talks.filter(|item| !is_side_trip(item.agent.as_deref()));
    for item in talks.filter(|item| choice.here.as_ref() != Some(&item.session_id)) {
        // If it was removed meanwhile, try the next one.
        let Ok(opened) = load(link, &item.session_id) else { continue };
        let wanted = match &choice.agent {
            Some(agent) => agent_of(link)?.as_deref() == Some(agent),
            None => true,
        };
        if wanted && (opened.owner || !choice.own) {
            return Ok(opened);
        }
        if wanted {
            in_use.get_or_insert(opened.name);
        }
        if choice.agent.is_none() {
            break;
        }
    }
    Ok(OpenedSession { instead_of: in_use, ..create(link, choice, None)? })
}

/// Creates a session.
pub(super) fn create(
    link: &mut ChatConnection,
    choice: &SessionChoice,
    name: Option<String>,
) -> Result<OpenedSession, RequestError> {
    let request = SessionCreate {
        working_dir: Some(choice.directory.clone()),
        session_id: name,
        options: create_options(choice.agent.clone(), choice.auto_save),
        workspace: None,
    };
    match link.ask(&Request::SessionCreate(request))? {
        ServerMessage::SessionCreateResponse(created) => Ok(created.into()),
        _ => Err(RequestError::odd()),
    }
}

/// The options of a new session.
pub(super) fn create_options(agent: Option<String>, auto_save: bool) -> Option<CreateOptions> {
    let every = auto_save.then_some(limits::CHAT_SAVE_SECONDS);
    let wanted = agent.is_some() || auto_save;
    let auto_save = auto_save.then_some(true);
    wanted.then_some(CreateOptions { agent, auto_save, save_interval_seconds: every })
}

/// Attaches to an existing session, in memory or saved, or to a terminal session.
pub(super) fn load(link: &mut ChatConnection, name: &str) -> Result<OpenedSession, RequestError> {
    let request = SessionRef { session_id: Some(name.to_owned()) };
    let ServerMessage::SessionLoad(loaded) = link.ask(&Request::SessionLoad(request))? else {
        return Err(RequestError::odd());
    };
    // A daemon that does not report the owner does so in the reply to an attach request.
    let owner = loaded.owner || attach(link, name)?;
    Ok(OpenedSession { owner, ..loaded.into() })
}

impl From<SessionLoaded> for OpenedSession {
    fn from(loaded: SessionLoaded) -> Self {
        Self {
            name: loaded.session_id,
            directory: loaded.working_dir,
            title: loaded.title,
            messages: messages::messages(loaded.messages),
            owner: loaded.owner,
            running: loaded.running,
            resumed: true,
            agent: loaded.agent,
            terminal: loaded.terminal,
            instead_of: None,
        }
    }
}

impl From<SessionCreated> for OpenedSession {
    fn from(created: SessionCreated) -> Self {
        Self {
            name: created.session_id,
            directory: created.working_dir,
            title: String::new(),
            messages: Vec::new(),
            owner: true,
            running: false,
            resumed: false,
            agent: created.agent,
            terminal: created.terminal,
            instead_of: None,
        }
    }
}

/// Attaches to a session; true if as its owner.
fn attach(link: &mut ChatConnection, name: &str) -> Result<bool, RequestError> {
    let request = SessionAttach { session_id: Some(name.to_owned()), takeover: None };
    match link.ask(&Request::SessionAttach(request))? {
        ServerMessage::SessionAttach(endpoint) => Ok(endpoint.status == "attached"),
        _ => Err(RequestError::odd()),
    }
}

/// The sessions of a directory, the latest first.
fn latest(link: &mut ChatConnection, directory: &str) -> Result<Vec<SessionItem>, Failure> {
    let filter = SessionFilter { workspace: Some(directory.to_owned()) };
    match link.ask(&Request::SessionList(filter)) {
        Ok(ServerMessage::SessionListResponse(mut list)) => {
            list.sessions.sort_by_key(|item| std::cmp::Reverse(item.updated_at));
            Ok(list.sessions)
        }
        Ok(_) => Err(RequestError::odd().into()),
        Err(unanswered) => Err(unanswered.into()),
    }
}

/// The agent of the session.
pub(super) fn agent_of(link: &mut ChatConnection) -> Result<Option<String>, Failure> {
    let request = ConfigGet { keys: Some(vec!["agent".to_owned()]), session_id: None };
    match link.ask(&Request::ConfigGet(request))? {
        ServerMessage::ConfigGet(reply) => Ok(reply.config.get("agent").map(text)),
        _ => Err(RequestError::odd().into()),
    }
}
