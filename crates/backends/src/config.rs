//! Which agents there are and what they may do: `[chat]` and `[[agents]]` of the configuration file.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// `[chat]`
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct ChatConfig {
    /// The agent that answers: a name from `[[agents]]`, a known agent, or `acp`, `llm`, `pty` for the first of that
    /// kind; `none` for nobody.
    pub backend: Option<String>,
    /// What needs no approval.
    pub allow: Allow,
    /// Workspaces and what holds in them.
    pub workspaces: Vec<WorkspaceConfig>,
}

/// `[chat.allow]`: what agents may do without asking.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Allow {
    /// Tools, by name; `*` allows all.
    pub tools: Vec<String>,
    /// Commands: whole ones, or beginnings followed by ` *`.
    pub commands: Vec<String>,
}

/// `[[chat.workspaces]]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct WorkspaceConfig {
    /// The directory.
    pub path: PathBuf,
    /// Further directories that may be read.
    #[serde(default)]
    pub context_directories: Vec<PathBuf>,
    /// Directories that commands may read besides.
    #[serde(default)]
    pub landlock_read: Vec<PathBuf>,
    /// Directories that commands may write besides.
    #[serde(default)]
    pub landlock_write: Vec<PathBuf>,
    /// Commands that need no approval there.
    #[serde(default)]
    pub commands: Vec<String>,
    /// Domains that need no approval there.
    #[serde(default)]
    pub domains: Vec<String>,
    /// The agent that answers there.
    #[serde(default)]
    pub agent: Option<String>,
}

/// `[[agents]]`
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct AgentConfig {
    /// What it is called.
    pub name: String,
    /// How it is reached.
    pub kind: AgentKind,
    /// `acp`, `pty`: program and arguments.
    #[serde(default)]
    pub command: Vec<String>,
    /// `acp`, `pty`: variables its process gets besides the daemon's.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// `pty`: the profile by which its turns are found, if its command does not tell.
    #[serde(default)]
    pub profile: Option<String>,
    /// `llm`: the form of the API.
    #[serde(default)]
    pub api: Api,
    /// `llm`: where the API is, if not at its maker's.
    #[serde(default)]
    pub base_url: Option<String>,
    /// `llm`: the variable that holds the key; `OPENAI_API_KEY` or `ANTHROPIC_API_KEY` by default.
    #[serde(default)]
    pub api_key_env: Option<String>,
    /// `llm`: the model.
    #[serde(default)]
    pub model: Option<String>,
    /// `llm`: how freely it answers.
    #[serde(default)]
    pub temperature: Option<f64>,
    /// `llm`: tokens of one answer at most.
    #[serde(default)]
    pub max_tokens: Option<u32>,
    /// `llm`: tokens the model can remember.
    #[serde(default)]
    pub context_tokens: Option<u64>,
    /// `llm`: US dollars for a million tokens read, read from a cache, and written.
    #[serde(default)]
    pub price: Option<Price>,
    /// `llm`: what the model is told before everything else, instead of our own words.
    #[serde(default)]
    pub system: Option<String>,
}

impl AgentConfig {
    /// An agent of which nothing but its command is known.
    pub fn of_command(name: &str, kind: AgentKind, command: Vec<String>) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            command,
            env: BTreeMap::new(),
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

    /// The variable that holds the key of a model's API.
    pub(crate) fn key_variable(&self) -> Option<&str> {
        let maker = match self.api {
            Api::Anthropic => "ANTHROPIC_API_KEY",
            Api::OpenAi => "OPENAI_API_KEY",
        };
        (self.kind == AgentKind::Llm).then(|| self.api_key_env.as_deref().unwrap_or(maker))
    }

    /// What is missing for it to work, in words that say what to do.
    pub fn problem(&self) -> Option<String> {
        let name = &self.name;
        match self.kind {
            AgentKind::Acp | AgentKind::Pty if self.command.is_empty() => {
                Some(format!("the agent '{name}' needs a command"))
            }
            AgentKind::Llm if self.model.is_none() => Some(format!("the agent '{name}' needs a model")),
            _ => None,
        }
    }
}

/// How an agent is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentKind {
    /// A process that speaks the Agent Client Protocol.
    Acp,
    /// A model behind an API, with tools of ours.
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

/// The form of a model's API.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Api {
    /// Anthropic messages.
    Anthropic,
    /// OpenAI chat completions, and everything compatible with it.
    #[default]
    OpenAi,
}

/// What a model costs.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// For a million tokens read.
    pub input: f64,
    /// For a million tokens read from a cache; as much as others by default.
    #[serde(default)]
    pub cached: Option<f64>,
    /// For a million tokens written.
    pub output: f64,
}
