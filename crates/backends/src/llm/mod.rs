//! Models behind an API, with tools of ours.
//!
//! A prompt travels like this: [`agent`] asks the model what is in [`context_window`]; [`retry`] sends that through [`client`]
//! until there is an answer, which [`sse`] takes apart and [`anthropic`] or [`openai`] understand; text is passed on as it
//! arrives. What the model wants done, [`tools`] do, and the model is asked again with what came of it.

mod agent;
mod anthropic;
mod client;
mod context_window;
mod endpoint;
mod limits;
mod model_message;
mod openai;
mod prompt;
mod retry;
mod sse;
mod tools;

use crate::BackendContext;
use crate::config::AgentConfig;
use swb_engine::chat::{Backend, Failure};

/// A model for a conversation. Nothing is sent before the first prompt.
pub(crate) async fn open(context: &BackendContext, agent: &AgentConfig) -> Result<Box<dyn Backend>, Failure> {
    let endpoint = endpoint::Endpoint::new(agent, &context.env)?;
    let client = client::ModelClient::new(endpoint).await?;
    Ok(Box::new(agent::LlmAgent::new(context.clone(), agent.clone(), client)))
}
