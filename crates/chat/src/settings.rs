//! The settings of one conversation.

use serde::{Deserialize, Serialize};

/// Settings of a conversation; unset ones are up to the agent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ConversationSettings {
    /// The agent that answers, by its name in the configuration. It is set when the conversation begins, so that a change
    /// of the configuration does not change who answers.
    pub agent: Option<String>,
    /// The program that answers, if the conversation is about the terminal of a session that existed before it. No agent
    /// of the configuration answers then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The sampling temperature, from 0 to 2.
    pub temperature: Option<f64>,
    /// Maximum number of tokens in one answer.
    pub max_tokens: Option<u32>,
}

impl ConversationSettings {
    /// The temperatures that are valid for any model.
    pub const TEMPERATURES: std::ops::RangeInclusive<f64> = 0.0..=2.0;

    /// Who answers, if that is known.
    pub fn answering(&self) -> Option<&str> {
        self.program.as_deref().or(self.agent.as_deref())
    }
}
