//! Models behind an API, with our tools.
//!
//! The path of a prompt: [`agent`] takes the conversation from [`context_window`]; [`retry`] sends it through [`client`]
//! until there is a reply, which [`sse`] splits into events and [`anthropic`] or [`openai`] parse; text is forwarded as
//! it arrives. [`tools`] run the model's tool calls, and their results go into the next request.

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

/// Creates the agent of a conversation. Nothing is sent before the first prompt.
pub(crate) async fn open(context: &BackendContext, agent: &AgentConfig) -> Result<Box<dyn Backend>, Failure> {
    let endpoint = endpoint::Endpoint::new(agent, &context.env)?;
    let client = client::ModelClient::new(endpoint).await?;
    Ok(Box::new(agent::LlmAgent::new(context.clone(), agent.clone(), client)))
}
