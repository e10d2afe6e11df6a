//! Prepares an agent: initialisation, session, model.

use super::agent_process::{AgentProcess, short};
use super::agent_requests::unknown_method;
use super::limits;
use super::rpc::RpcMessage;
use crate::BackendContext;
use crate::config::AgentConfig;
use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AuthMethod, ClientCapabilities, Error, ErrorCode, FileSystemCapabilities, Implementation,
    InitializeRequest, InitializeResponse, LoadSessionRequest, NewSessionRequest, NewSessionResponse,
    SessionConfigKind, SessionConfigOption, SessionConfigOptionCategory, SessionConfigSelectOptions,
    SessionConfigValueId, SessionId, SetSessionConfigOptionRequest,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::path::Path;
use swb_engine::chat::Failure;

/// An initialised agent.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) link: AgentProcess,
    greeting: InitializeResponse,
}

/// A session of an agent.
#[derive(Debug)]
pub(super) struct AcpSession {
    pub(super) id: SessionId,
    /// The agent does not know the earlier conversation.
    pub(super) fresh: bool,
    options: Vec<SessionConfigOption>,
}

impl Ready {
    /// Starts an agent and initialises it.
    pub(super) async fn start(
        context: &BackendContext,
        agent: &AgentConfig,
        workspace: &Path,
        directory: &Path,
    ) -> Result<Self, Failure> {
        let mut link = AgentProcess::start(context, agent, workspace, directory)?;
        let files = FileSystemCapabilities::new().read_text_file(true).write_text_file(true);
        let request = InitializeRequest::new(ProtocolVersion::V1)
            .client_capabilities(ClientCapabilities::new().fs(files).terminal(true))
            .client_info(Implementation::new("switchboard", env!("CARGO_PKG_VERSION")));
        let greeting: InitializeResponse = match call(&mut link, "initialize", &request).await? {
            Ok(greeting) => greeting,
            Err(error) => return Err(refused(agent, "the greeting", &error)),
        };
        if greeting.protocol_version != ProtocolVersion::V1 {
            return Err(Failure::Agent(format!(
                "the agent '{}' speaks version {} of the Agent Client Protocol; only version 1 is supported",
                agent.name, greeting.protocol_version
            )));
        }
        Ok(Self { link, greeting })
    }

    /// Loads a session if the agent can, or creates one.
    pub(super) async fn session(
        &mut self,
        agent: &AgentConfig,
        directory: &Path,
        earlier: Option<SessionId>,
    ) -> Result<AcpSession, Failure> {
        if let Some(id) = earlier.filter(|_| self.greeting.agent_capabilities.load_session) {
            let request = LoadSessionRequest::new(id.clone(), directory);
            let loaded: Result<Option<LoadedSession>, Error> =
                call(&mut self.link, "session/load", &request).await?;
            match loaded {
                Ok(loaded) => {
                    let options = loaded.unwrap_or_default().config_options;
                    return Ok(AcpSession { id, fresh: false, options });
                }
                // The agent no longer has the session.
                Err(error) => {
                    tracing::debug!(agent = agent.name, code = ?error.code, "cannot load the session")
                }
            }
        }
        let new: Result<NewSessionResponse, Error> =
            call(&mut self.link, "session/new", &NewSessionRequest::new(directory)).await?;
        match new {
            Ok(new) => {
                let options = new.config_options.unwrap_or_default();
                Ok(AcpSession { id: new.session_id, fresh: true, options })
            }
            Err(error) if error.code == ErrorCode::AuthRequired => Err(self.locked(agent)),
            Err(error) => Err(refused(agent, "a new session", &error)),
        }
    }

    /// The error for an agent that requires a login.
    fn locked(&self, agent: &AgentConfig) -> Failure {
        let methods = self.greeting.auth_methods.iter().map(AuthMethod::name);
        let methods: Vec<String> = methods.map(|name| format!("'{}'", short(name))).collect();
        let ways = match methods.is_empty() {
            true => String::new(),
            false => format!(" (it offers {})", methods.join(", ")),
        };
        Failure::NotConfigured(format!(
            "the agent '{}' requires a login{ways}: log in with its own program, or set its key with env under \
             [[agents]]",
            agent.name
        ))
    }

    /// Selects a model, if the agent offers a choice; returns whether it has this one.
    pub(super) async fn choose_model(
        &mut self,
        session: &mut AcpSession,
        model: &str,
    ) -> Result<bool, Failure> {
        let Some((option, value)) = session.options.iter().find_map(|option| model_in(option, model)) else {
            return Ok(false);
        };
        let request =
            SetSessionConfigOptionRequest::new(session.id.clone(), option, SessionConfigValueId::new(value));
        let set: Result<Value, Error> = call(&mut self.link, "session/set_config_option", &request).await?;
        Ok(set.is_ok())
    }
}

/// The relevant part of the reply to `session/load`, which may also be null.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct LoadedSession {
    #[serde(default)]
    config_options: Vec<SessionConfigOption>,
}

/// The option that selects the model, and the value for this model, by id or by name.
fn model_in(option: &SessionConfigOption, model: &str) -> Option<(String, String)> {
    let SessionConfigKind::Select(select) = &option.kind else { return None };
    if option.category != Some(SessionConfigOptionCategory::Model) {
        return None;
    }
    let choices: Vec<_> = match &select.options {
        SessionConfigSelectOptions::Ungrouped(choices) => choices.iter().collect(),
        SessionConfigSelectOptions::Grouped(groups) => {
            groups.iter().flat_map(|group| &group.options).collect()
        }
        _ => return None,
    };
    let choice = choices.into_iter().find(|choice| *choice.value.0 == *model || choice.name == model)?;
    Some((option.id.to_string(), choice.value.to_string()))
}

/// Sends a request and waits for the reply. Notifications meanwhile are about the past, and requests have to wait for a
/// prompt: both are ignored here.
async fn call<T: DeserializeOwned>(
    link: &mut AgentProcess,
    method: &str,
    params: &impl Serialize,
) -> Result<Result<T, Error>, Failure> {
    let wanted = link.request(method, params)?;
    let answer = async {
        loop {
            match link.next().await? {
                Some(RpcMessage::Response(id, answer)) if id == wanted => return Ok(answer),
                Some(RpcMessage::Request(id, ..)) => link.respond(&id, Err(unknown_method()))?,
                Some(RpcMessage::Notification(..) | RpcMessage::Response(..)) | None => {}
            }
        }
    };
    let answer = tokio::time::timeout(limits::START, answer).await;
    let answer = answer.unwrap_or_else(|_| {
        let seconds = limits::START.as_secs();
        Err(Failure::Agent(format!(
            "timed out after {seconds} s waiting for the agent's reply to '{method}'"
        )))
    })?;
    let read = |value: Value| {
        serde_json::from_value(value)
            .map_err(|_| Failure::Agent(format!("the agent sent an invalid reply to '{method}'")))
    };
    answer.map(read).map_or_else(|error| Ok(Err(error)), |read| read.map(Ok))
}

fn refused(agent: &AgentConfig, what: &str, error: &Error) -> Failure {
    Failure::Agent(format!("the agent '{}' rejected {what}: {}", agent.name, short(&error.message)))
}
