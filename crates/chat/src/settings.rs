//! What can be set for one conversation.

use serde::{Deserialize, Serialize};

/// Settings of a conversation; what is not set is the agent's own.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// The agent that answers, by its name in the configuration.
    pub agent: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// How freely it answers, from 0 to 2.
    pub temperature: Option<f64>,
    /// Tokens of one answer at most.
    pub max_tokens: Option<u32>,
}

impl Settings {
    /// The temperatures that make sense to any model.
    pub const TEMPERATURES: std::ops::RangeInclusive<f64> = 0.0..=2.0;
}
