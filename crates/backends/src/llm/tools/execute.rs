//! Runs commands.

use super::arguments::ExecuteCommand;
use super::{STOPPED, ToolOutput};
use crate::BackendContext;
use crate::command::{self, CommandResult, Limits};
use crate::llm::limits;
use std::time::Duration;
use swb_chat::ToolId;
use swb_engine::chat::Exchange;
use tokio::sync::mpsc;

/// Runs a command in the workspace; clients get its output as it arrives.
pub(super) async fn run(
    context: &BackendContext,
    exchange: &Exchange,
    id: &ToolId,
    ask: &ExecuteCommand,
) -> Result<ToolOutput, String> {
    let limits = Limits { time: time(ask), output: limits::RESULT_BYTES };
    // A small queue: the command blocks while clients are behind.
    let (follow, output) = mpsc::channel(4);
    let running = command::run(context, exchange, &ask.command, limits, follow);
    let (result, ()) = tokio::join!(running, show(exchange, id, output));
    match result {
        Ok(result) => Ok(done(result, limits.time)),
        Err(error) => Err(format!("the command cannot be run: {error}")),
    }
}

fn time(ask: &ExecuteCommand) -> Duration {
    let wanted = ask.timeout_seconds.map_or(command::limits::TIME, Duration::from_secs);
    wanted.clamp(Duration::from_secs(1), limits::LONGEST_COMMAND)
}

/// Forwards the output of a command, up to a limit.
async fn show(exchange: &Exchange, id: &ToolId, mut output: mpsc::Receiver<String>) {
    let mut shown = 0;
    while let Some(text) = output.recv().await {
        shown += text.len();
        exchange.tool_output(id, text).await;
        if shown > limits::SHOWN_BYTES {
            return;
        }
    }
}

fn done(result: CommandResult, time: Duration) -> ToolOutput {
    let error = match result.status {
        _ if result.stopped => Some(STOPPED.to_owned()),
        _ if result.timed_out => Some(format!("it was ended after {} s", time.as_secs())),
        Some(0) => None,
        Some(status) => Some(format!("exit status {status}")),
        None => Some("it ended without an exit status".to_owned()),
    };
    ToolOutput { text: result.output, content: Vec::new(), error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_shows_how_a_command_ended() {
        let result =
            CommandResult { status: Some(0), output: "out".into(), timed_out: false, stopped: false };
        let error = |result: CommandResult| done(result, Duration::from_secs(9)).error;
        assert_eq!(done(result.clone(), Duration::ZERO), ToolOutput::text("out".into()));
        assert_eq!(
            error(CommandResult { status: Some(3), ..result.clone() }).as_deref(),
            Some("exit status 3")
        );
        let late = CommandResult { timed_out: true, status: Some(137), ..result.clone() };
        assert_eq!(error(late).as_deref(), Some("it was ended after 9 s"));
        assert_eq!(error(CommandResult { stopped: true, ..result }).as_deref(), Some(STOPPED));
    }

    #[test]
    fn a_models_timeout_is_limited() {
        let time = |timeout_seconds| time(&ExecuteCommand { command: "x".into(), timeout_seconds });
        assert_eq!(time(None), command::limits::TIME);
        assert_eq!(time(Some(0)), Duration::from_secs(1));
        assert_eq!(time(Some(u64::MAX)), limits::LONGEST_COMMAND);
    }
}
