//! The configured agents and what they may do: `[chat]` and `[[agents]]` of the configuration file.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use swb_types::SavePolicy;

/// `[chat]`
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct ChatConfig {
    /// The agent that answers: a name from `[[agents]]`, a known agent, or `acp`, `llm`, `pty` for the first of that
    /// kind; `none` disables answers.
    pub backend: Option<String>,
    /// The line of the file that sets it, for messages: `line 3 of FILE`.
    #[serde(skip)]
    pub backend_place: Option<String>,
    /// What needs no approval.
    pub allow: Allow,
    /// Whether `swb chat` saves conversations.
    pub save: SavePolicy,
    /// How commands are confined.
    pub confinement: ConfinementConfig,
    /// Workspaces and their settings.
    pub workspaces: Vec<WorkspaceConfig>,
}

/// `[chat.allow]`: what agents may do without approval.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Allow {
    /// Tools, by name; `*` allows all.
    pub tools: Vec<String>,
    /// Commands: whole ones, or prefixes followed by ` *`.
    pub commands: Vec<String>,
}

/// `[chat.confinement]`: how commands of agents are confined.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct ConfinementConfig {
    /// Further environment variables that commands get; a trailing `*` stands for anything.
    pub environment: Vec<String>,
    /// What happens to commands on a kernel that cannot confine them.
    pub without_landlock: WithoutLandlock,
}

/// What happens to commands on a kernel without Landlock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WithoutLandlock {
    /// They are refused.
    #[default]
    Refuse,
    /// They run with all rights of the user.
    Run,
}

/// `[[chat.workspaces]]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct WorkspaceConfig {
    /// The directory.
    pub path: PathBuf,
    /// Further directories that agents may read.
    #[serde(default)]
    pub context_directories: Vec<PathBuf>,
    /// Further directories that commands may read.
    #[serde(default)]
    pub landlock_read: Vec<PathBuf>,
    /// Further directories that commands may write.
    #[serde(default)]
    pub landlock_write: Vec<PathBuf>,
    /// Commands that need no approval there.
    #[serde(default)]
    pub commands: Vec<String>,
    /// Domains that need no approval there.
    #[serde(default)]
    pub domains: Vec<String>,
    /// The agent used there.
    #[serde(default)]
    pub agent: Option<String>,
    /// Whether commands can reach Unix sockets.
    #[serde(default)]
    pub unix_sockets: bool,
    /// Whether commands can write `.git`.
    #[serde(default)]
    pub git_writable: bool,
}

/// `[[agents]]`
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct AgentConfig {
    /// Its name.
    pub name: String,
    /// How it is run.
    pub kind: AgentKind,
    /// `acp`, `pty`: program and arguments.
    #[serde(default)]
    pub command: Vec<String>,
    /// `acp`, `pty`: environment variables added to the daemon's.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// `acp`, `llm`: whether its programs may use `swb`, within its workspace.
    #[serde(default)]
    pub swb: bool,
    /// `pty`: its detection profile, if it cannot be derived from the command.
    #[serde(default)]
    pub profile: Option<String>,
    /// `llm`: the API to use.
    #[serde(default)]
    pub api: Api,
    /// `llm`: the API's base URL, if not the vendor's.
    #[serde(default)]
    pub base_url: Option<String>,
    /// `llm`: the environment variable with the key; `OPENAI_API_KEY` or `ANTHROPIC_API_KEY` by default.
    #[serde(default)]
    pub api_key_env: Option<String>,
    /// `llm`: the model.
    #[serde(default)]
    pub model: Option<String>,
    /// `llm`: the sampling temperature.
    #[serde(default)]
    pub temperature: Option<f64>,
    /// `llm`: maximum number of tokens in one answer.
    #[serde(default)]
    pub max_tokens: Option<u32>,
    /// `llm`: the model's context window in tokens.
    #[serde(default)]
    pub context_tokens: Option<u64>,
    /// `llm`: US dollars per million tokens of input, cached input and output.
    #[serde(default)]
    pub price: Option<Price>,
    /// `llm`: the system prompt, instead of the built-in one.
    #[serde(default)]
    pub system: Option<String>,
}

impl AgentConfig {
    /// An agent with only its command set.
    pub fn of_command(name: &str, kind: AgentKind, command: Vec<String>) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            command,
            env: BTreeMap::new(),
            swb: false,
            profile: None,
            api: Api::default(),
            base_url: None,
            api_key_env: None,
            model: None,
            temperature: None,
            max_tokens: None,
            context_tokens: None,
            price: None,
            system: None,
        }
    }

    /// The environment variable that holds the API key.
    pub(crate) fn key_variable(&self) -> Option<&str> {
        let maker = match self.api {
            Api::Anthropic => "ANTHROPIC_API_KEY",
            Api::OpenAi => "OPENAI_API_KEY",
        };
        (self.kind == AgentKind::Llm).then(|| self.api_key_env.as_deref().unwrap_or(maker))
    }

    /// What is missing for the agent to work, as an error message.
    pub fn problem(&self) -> Option<String> {
        let name = &self.name;
        match self.kind {
            AgentKind::Acp | AgentKind::Pty if self.command.is_empty() => {
                Some(format!("the agent '{name}' has no command; set command under [[agents]]"))
            }
            AgentKind::Llm if self.model.is_none() => {
                Some(format!("the agent '{name}' has no model; set model under [[agents]]"))
            }
            _ => None,
        }
    }
}

/// How an agent is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentKind {
    /// A process that speaks the Agent Client Protocol.
    Acp,
    /// A model behind an API, with our tools.
    Llm,
    /// A program in one of our terminals.
    Pty,
}

impl AgentKind {
    /// Its name in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Acp => "acp",
            Self::Llm => "llm",
            Self::Pty => "pty",
        }
    }
}

/// The API of a model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Api {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions and compatible APIs.
    #[default]
    OpenAi,
}

/// The price of a model, in US dollars.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Per million tokens of input.
    pub input: f64,
    /// Per million tokens of cached input; the price of input by default.
    #[serde(default)]
    pub cached: Option<f64>,
    /// Per million tokens of output.
    pub output: f64,
}
