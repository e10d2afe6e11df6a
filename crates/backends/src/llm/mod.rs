//! Placeholder.

mod anthropic;
mod limits;
mod openai;
mod sse;
mod talk;

use crate::Context;
use crate::config::AgentConfig;
use swb_engine::chat::{Backend, Failure, Opening};

pub(crate) async fn open(
    _context: &Context,
    agent: &AgentConfig,
    _opening: Opening,
) -> Result<Box<dyn Backend>, Failure> {
    Err(Failure::NotConfigured(format!("agents of the kind {} are not there yet", agent.kind.as_str())))
}
