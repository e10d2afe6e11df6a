//! Refuses piped text for programs that would run it.

use swb_engine::Session;
use swb_engine::chat::{Exchange, Failure};

/// The agent that stands for the user's shell, which may be any program.
const SHELL_AGENT: &str = "shell";

/// Refuses a prompt with piped text if a shell reads it, or another program that runs what it reads.
pub(super) async fn check(session: &Session, exchange: &Exchange) -> Result<(), Failure> {
    if !exchange.options().piped {
        return Ok(());
    }
    let chosen = exchange.settings().agent.as_deref() == Some(SHELL_AGENT);
    let program = match session.interpreter().await {
        Some(program) => program,
        None if chosen => SHELL_AGENT.to_owned(),
        None => return Ok(()),
    };
    Err(Failure::NotAllowed(format!(
        "{program} would run each line of the piped text, so nothing was sent; choose another agent, or type the text"
    )))
}
