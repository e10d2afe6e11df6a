//! The tools that models may use.
//!
//! Everything a model asks for is announced, done, and told the end of, in this order; what it may not do, or does
//! wrongly, is an answer to the model and no failure of the conversation.

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
use arguments::{ToolArguments, brief};
use serde_json::Value;
use std::collections::BTreeSet;
use swb_chat::{ToolCall, ToolContent, ToolId, ToolKind, ToolResult, ToolStatus};
use swb_engine::chat::Exchange;

/// Whoever reads this has stopped the answer.
const STOPPED: &str = "stopped by the user";

/// What a tool has brought.
#[derive(Debug, Clone, PartialEq, Default)]
struct ToolOutput {
    text: String,
    content: Vec<ToolContent>,
    /// Why it failed, if it has.
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

/// One use of a tool.
#[derive(Debug, Clone)]
struct LlmToolUse {
    id: ToolId,
    name: String,
    /// As they were announced.
    parameters: Value,
}

/// The tools during one answer.
#[derive(Debug)]
pub(super) struct LlmTools<'a> {
    context: &'a BackendContext,
    exchange: &'a Exchange,
    /// Tools that were allowed for as long as the conversation is open.
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

    /// Uses a tool; what the model is told of it.
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
        let outcome = told(call.id.clone(), &done);
        self.exchange.tool_ended(ending(this.id, done)).await;
        outcome
    }

    async fn perform(&mut self, this: &LlmToolUse, tool: ToolArguments) -> Result<ToolOutput, String> {
        match tool {
            ToolArguments::Ask(ask) => questions::ask(self.exchange, ask).await,
            ToolArguments::Edit(edit) => {
                let wanted = edit.clone();
                self.blocking(move |fs| files::check_edit(fs, &wanted)).await?;
                self.permit(this, &format!("The agent wants to change {}", edit.path), None).await?;
                self.blocking(move |fs| files::edit(fs, &edit)).await
            }
            ToolArguments::Execute(execute) => {
                let reason = brief(&format!("The agent wants to run: {}", execute.command));
                self.permit(this, &reason, Some(&execute.command)).await?;
                execute::run(self.context, self.exchange, &this.id, &execute).await
            }
            ToolArguments::List(list) => self.blocking(move |fs| files::list(fs, &list)).await,
            ToolArguments::Read(read) => self.blocking(move |fs| files::read(fs, &read)).await,
            ToolArguments::Search(search) => self.blocking(move |fs| files::search(fs, &search)).await,
            ToolArguments::Write(write) => {
                let wanted = write.clone();
                self.blocking(move |fs| files::check_write(fs, &wanted)).await?;
                self.permit(this, &format!("The agent wants to write {}", write.path), None).await?;
                self.blocking(move |fs| files::write(fs, &write)).await
            }
        }
    }

    /// Does something that waits for the disk. It goes on by itself if the answer is stopped meanwhile.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&WorkspaceFs) -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        let (workspace, umask) = (self.exchange.workspace(), self.context.umask);
        let working_dir = self.exchange.working_dir().to_owned();
        let work = move || work(&WorkspaceFs::new(&workspace, &working_dir, umask));
        tokio::select! {
            done = tokio::task::spawn_blocking(work) => {
                done.unwrap_or_else(|_| Err("this tool is broken".to_owned()))
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

/// What the model is told: what went wrong, then what there is.
fn told(id: String, done: &ToolOutput) -> ToolOutcome {
    let error = done.error.as_deref().unwrap_or_default();
    let gap = if error.is_empty() || done.text.is_empty() { "" } else { "\n" };
    ToolOutcome { id, text: format!("{error}{gap}{}", done.text), failed: done.error.is_some() }
}
