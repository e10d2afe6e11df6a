//! The settings of one conversation.

use serde::{Deserialize, Serialize};

/// Settings of a conversation; unset ones are up to the agent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ConversationSettings {
    /// The agent that answers, by its name in the configuration.
    pub agent: Option<String>,
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
}
