//! The tools that models may use.
//!
//! Every tool call is announced, performed and ended, in this order; a call that is denied or invalid is a result for
//! the model, not a failure of the conversation.

mod approval;
mod arguments;
mod execute;
mod files;
mod questions;

pub(super) use arguments::specs;

use super::context_window::shortened;
use super::limits;
use super::model_message::{ModelToolCall, ToolOutcome};
use crate::BackendContext;
use crate::workspace_fs::WorkspaceFs;
use crate::workspace_fs::limits::TOOL;
use arguments::{ToolArguments, brief};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use swb_chat::{ToolCall, ToolContent, ToolId, ToolKind, ToolResult, ToolStatus};
use swb_engine::chat::Exchange;
use swb_engine::file_access;

/// The error of a call that ended because the user stopped the answer.
const STOPPED: &str = "stopped by the user";

/// The output of a tool.
#[derive(Debug, Clone, PartialEq, Default)]
struct ToolOutput {
    text: String,
    content: Vec<ToolContent>,
    /// Why it failed, if it did.
    error: Option<String>,
}

impl ToolOutput {
    fn text(text: String) -> Self {
        Self { text, ..Self::default() }
    }

    fn failed(error: String) -> Self {
        Self { error: Some(error), ..Self::default() }
    }
}

/// One tool call.
#[derive(Debug, Clone)]
struct LlmToolUse {
    id: ToolId,
    name: String,
    /// The parameters as announced.
    parameters: Value,
}

/// The tools during one answer.
#[derive(Debug)]
pub(super) struct LlmTools<'a> {
    context: &'a BackendContext,
    exchange: &'a Exchange,
    /// Tools allowed as long as the conversation is open.
    allowed: &'a mut BTreeSet<String>,
}

impl<'a> LlmTools<'a> {
    /// The tools for an answer.
    pub(super) fn new(
        context: &'a BackendContext,
        exchange: &'a Exchange,
        allowed: &'a mut BTreeSet<String>,
    ) -> Self {
        Self { context, exchange, allowed }
    }

    /// Runs a tool call; returns the result for the model.
    pub(super) async fn run(&mut self, call: &ModelToolCall) -> ToolOutcome {
        let parameters = call.parameters();
        let parsed = match &parameters {
            Ok(parameters) => ToolArguments::parse(&call.name, parameters),
            Err(error) => Err(error.clone()),
        };
        let parameters = parameters.map_or(Value::Null, Value::Object);
        let this = LlmToolUse { id: ToolId(call.id.clone()), name: call.name.clone(), parameters };
        self.exchange.tool_called(announcement(&this, parsed.as_ref().ok())).await;
        let done = match parsed {
            Ok(tool) => self.perform(&this, tool).await,
            Err(error) => Err(error),
        };
        let mut done = done.unwrap_or_else(ToolOutput::failed);
        done.text = shortened(&done.text, limits::RESULT_BYTES);
        let outcome = outcome(call.id.clone(), &done);
        self.exchange.tool_ended(ending(this.id, done)).await;
        outcome
    }

    async fn perform(&mut self, this: &LlmToolUse, tool: ToolArguments) -> Result<ToolOutput, String> {
        match tool {
            ToolArguments::Ask(ask) => questions::ask(self.exchange, ask).await,
            ToolArguments::Edit(edit) => {
                let wanted = edit.clone();
                self.blocking(move |fs| files::check_edit(fs, &wanted)).await?;
                self.permit(this, &format!("The agent asks to change {}", edit.path), None).await?;
                self.blocking(move |fs| files::edit(fs, &edit)).await
            }
            ToolArguments::Execute(execute) => {
                let reason = brief(&format!("The agent asks to run: {}", execute.command));
                self.permit(this, &reason, Some(&execute.command)).await?;
                execute::run(self.context, self.exchange, &this.id, &execute).await
            }
            ToolArguments::List(list) => self.blocking(move |fs| files::list(fs, &list)).await,
            ToolArguments::Read(read) => self.blocking(move |fs| files::read(fs, &read)).await,
            ToolArguments::Search(search) => self.blocking(move |fs| files::search(fs, &search)).await,
            ToolArguments::Write(write) => {
                let wanted = write.clone();
                self.blocking(move |fs| files::check_write(fs, &wanted)).await?;
                self.permit(this, &format!("The agent asks to write {}", write.path), None).await?;
                self.blocking(move |fs| files::write(fs, &write)).await
            }
        }
    }

    /// Runs work that blocks on the disk. It continues even if the answer is stopped meanwhile.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&WorkspaceFs) -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        let (workspace, umask) = (self.exchange.workspace(), self.context.umask);
        let (agents, own) = (self.exchange.written(), self.context.confinement.protected().to_vec());
        let work =
            move |dir: &Path| work(&WorkspaceFs::new(&workspace, dir, umask, &agents).with_protected(&own));
        tokio::select! {
            done = file_access::run_within(TOOL, self.exchange.working_dir(), work) => {
                done.unwrap_or_else(|error| Err(error.to_string()))
            }
            () = self.exchange.stop().cancelled() => Err(STOPPED.to_owned()),
        }
    }
}

fn announcement(this: &LlmToolUse, tool: Option<&ToolArguments>) -> ToolCall {
    ToolCall {
        id: this.id.clone(),
        name: this.name.clone(),
        description: tool.map(ToolArguments::description),
        kind: tool.map_or(ToolKind::Other, ToolArguments::kind),
        parameters: this.parameters.clone(),
        locations: tool.map(ToolArguments::locations).unwrap_or_default(),
    }
}

fn ending(id: ToolId, done: ToolOutput) -> ToolResult {
    let status = if done.error.is_some() { ToolStatus::Failed } else { ToolStatus::Completed };
    ToolResult { id, status, output: done.text, error: done.error, content: done.content }
}

/// The text for the model: the error, then the output.
fn outcome(id: String, done: &ToolOutput) -> ToolOutcome {
    let error = done.error.as_deref().unwrap_or_default();
    let gap = if error.is_empty() || done.text.is_empty() { "" } else { "\n" };
    ToolOutcome { id, text: format!("{error}{gap}{}", done.text), failed: done.error.is_some() }
}
