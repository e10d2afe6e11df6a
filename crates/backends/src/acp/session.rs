//! Getting an agent ready: greeting, session, model.

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

/// An agent that can be talked to.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) link: AgentProcess,
    greeting: InitializeResponse,
}

/// A session of an agent.
#[derive(Debug)]
pub(super) struct AcpSession {
    pub(super) id: SessionId,
    /// The agent knows nothing of what was said before.
    pub(super) fresh: bool,
    options: Vec<SessionConfigOption>,
}

impl Ready {
    /// Starts an agent and greets it.
    pub(super) async fn start(
        context: &BackendContext,
        agent: &AgentConfig,
        directory: &Path,
    ) -> Result<Self, Failure> {
        let mut link = AgentProcess::start(context, agent, directory)?;
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
                "the agent '{}' speaks version {} of the Agent Client Protocol; this program speaks version 1",
                agent.name, greeting.protocol_version
            )));
        }
        Ok(Self { link, greeting })
    }

    /// Goes on with a session if the agent can, or begins one.
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
                // It has forgotten it.
                Err(error) => {
                    tracing::debug!(agent = agent.name, code = ?error.code, "a session cannot be loaded")
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

    /// The agent wants to know who uses it, which is between it and its user.
    fn locked(&self, agent: &AgentConfig) -> Failure {
        let methods = self.greeting.auth_methods.iter().map(AuthMethod::name);
        let methods: Vec<String> = methods.map(|name| format!("'{}'", short(name))).collect();
        let ways = match methods.is_empty() {
            true => String::new(),
            false => format!(" (it offers {})", methods.join(", ")),
        };
        Failure::NotConfigured(format!(
            "the agent '{}' wants you to log in{ways}: do so with its own program, or give it a key with env under \
             [[agents]]",
            agent.name
        ))
    }

    /// Asks for a model, where the agent offers a choice; whether it has it.
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

/// What is of interest in the answer to `session/load`, which may also be null.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct LoadedSession {
    #[serde(default)]
    config_options: Vec<SessionConfigOption>,
}

/// The option that chooses the model, and its value for this one, by id or by name.
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

/// Asks and waits for the answer. What the agent says meanwhile is about the past, and what it asks has to wait for a
/// prompt: both are of no use here.
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
        Err(Failure::Agent(format!("the agent has not answered '{method}' within {seconds} s")))
    })?;
    let read = |value: Value| {
        serde_json::from_value(value)
            .map_err(|_| Failure::Agent(format!("the agent's answer to '{method}' makes no sense")))
    };
    answer.map(read).map_or_else(|error| Ok(Err(error)), |read| read.map(Ok))
}

fn refused(agent: &AgentConfig, what: &str, error: &Error) -> Failure {
    Failure::Agent(format!("the agent '{}' refuses {what}: {}", agent.name, short(&error.message)))
}
