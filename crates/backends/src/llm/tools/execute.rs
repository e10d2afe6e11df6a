//! Running commands.

use super::Done;
use super::arguments::ExecuteCommand;
use crate::Context;
use swb_chat::ToolId;
use swb_engine::chat::Exchange;

/// Runs a command in the workspace.
pub(super) async fn run(
    _context: &Context,
    _exchange: &Exchange,
    _id: &ToolId,
    _ask: &ExecuteCommand,
) -> Result<Done, String> {
    Err("commands are not there yet".to_owned())
}
