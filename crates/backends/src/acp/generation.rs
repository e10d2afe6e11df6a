//! One prompt, from sending it to the end of its answer.

use super::agent_process::short;
use super::agent_requests::{AgentRequests, PendingReplies};
use super::rpc::RpcMessage;
use super::tools::{AcpTools, ToolUpdate, block_text};
use super::usage::{self, SessionCost};
use super::{ConnectedAgent, limits};
use agent_client_protocol_schema::v1::{
    CancelNotification, Error, ErrorCode, Plan, PlanEntryPriority, PlanEntryStatus, PromptRequest,
    RequestPermissionRequest, SessionId, SessionNotification, SessionUpdate, ToolCallUpdate, UsageUpdate,
};
use serde::Deserialize;
use serde_json::Value;
use swb_chat::{PlanEntry, PlanPriority, PlanStatus, Progress, Usage};
use swb_engine::chat::{Exchange, Failure};
use tokio::time::Instant;

/// One answer in progress.
pub(super) struct Generation<'a> {
    pub(super) exchange: &'a Exchange,
    pub(super) server: AgentRequests<'a>,
    pub(super) session: SessionId,
    pub(super) tools: AcpTools,
    /// The cost of the session as last reported.
    pub(super) bill: &'a mut SessionCost,
    pub(super) paragraphs: Paragraphs,
}

/// Separates text before a tool call from text after it: agents send both without a line break.
#[derive(Debug, Default)]
pub(super) struct Paragraphs {
    /// Whether text was sent since the last tool call, and ended a line.
    written: Option<bool>,
    /// The same before the last tool call, if no text followed yet.
    before_tool: Option<bool>,
}

impl Paragraphs {
    fn tool(&mut self) {
        self.before_tool = self.written.take().or(self.before_tool);
    }

    /// The text with what has to precede it.
    fn text(&mut self, text: String) -> String {
        if text.is_empty() {
            return text;
        }
        let separator = match self.before_tool.take() {
            _ if text.starts_with('\n') => "",
            Some(true) => "\n",
            Some(false) => "\n\n",
            None => "",
        };
        self.written = Some(text.ends_with('\n'));
        format!("{separator}{text}")
    }
}

impl Generation<'_> {
    /// Forwards what the agent sends until its answer is complete. `None` if the agent does not stop when cancelled.
    pub(super) async fn run(
        &mut self,
        talking: &mut ConnectedAgent,
        prompt: &PromptRequest,
    ) -> Result<Option<Result<Value, Error>>, Failure> {
        let link = &mut talking.ready.link;
        link.forgive();
        let wanted = link.request("session/prompt", prompt)?;
        let mut serving = PendingReplies::default();
        let mut deadline = None;
        loop {
            tokio::select! {
                biased;
                () = self.exchange.stop().cancelled(), if deadline.is_none() => {
                    link.notify("session/cancel", &CancelNotification::new(self.session.clone()))?;
                    deadline = Some(Instant::now() + limits::CANCEL);
                }
                () = until(deadline) => return Ok(None),
                (id, answer) = serving.next(), if link.takes_answers() => link.respond(&id, answer)?,
                incoming = link.next(), if serving.has_room() || !link.takes_answers() => match incoming? {
                    Some(RpcMessage::Response(id, answer)) if id == wanted => return Ok(Some(answer)),
                    Some(RpcMessage::Request(..)) if serving.is_full() => return Err(link.does_not_read()),
                    Some(RpcMessage::Request(id, method, params)) => {
                        if method == "session/request_permission" {
                            self.announce(&params).await;
                        }
                        let answer = self.server.serve(&method, params, &self.tools, &mut talking.terminals);
                        serving.add(id, answer);
                    }
                    Some(RpcMessage::Notification(method, params)) if method == "session/update" => self.hear(params).await,
                    Some(RpcMessage::Notification(..) | RpcMessage::Response(..)) | None => {}
                },
            }
        }
    }

    /// Handles a notification; unknown ones are ignored.
    async fn hear(&mut self, params: Value) {
        let Ok(notification) = serde_json::from_value::<SessionNotification>(params) else { return };
        if notification.session_id != self.session {
            return;
        }
        let exchange = self.exchange;
        match notification.update {
            SessionUpdate::AgentMessageChunk(chunk) => {
                let text = self.paragraphs.text(block_text(&chunk.content));
                exchange.text(text).await;
            }
            SessionUpdate::AgentThoughtChunk(chunk) => exchange.thought(block_text(&chunk.content)).await,
            SessionUpdate::ToolCall(call) => {
                let update = ToolCallUpdate::from(call);
                self.begin_tool(update).await;
            }
            SessionUpdate::ToolCallUpdate(update) => {
                let updates = self.tools.hear(&update.tool_call_id, update.fields, false);
                self.send_updates(updates).await;
            }
            SessionUpdate::Plan(plan) => exchange.plan(entries(plan)).await,
            SessionUpdate::UsageUpdate(usage) => self.used(&usage).await,
            _ => {}
        }
    }

    /// Some agents announce a tool only in the request for its permission.
    async fn announce(&mut self, params: &Value) {
        let Ok(request) = RequestPermissionRequest::deserialize(params) else { return };
        if request.session_id == self.session && self.tools.get(&request.tool_call.tool_call_id).is_none() {
            self.begin_tool(request.tool_call).await;
        }
    }

    async fn begin_tool(&mut self, update: ToolCallUpdate) {
        if self.tools.get(&update.tool_call_id).is_none() {
            self.paragraphs.tool();
        }
        let updates = self.tools.hear(&update.tool_call_id, update.fields, true);
        self.send_updates(updates).await;
    }

    async fn send_updates(&self, updates: Vec<ToolUpdate>) {
        for update in updates {
            match update {
                ToolUpdate::Called(call) => self.exchange.tool_called(call).await,
                ToolUpdate::Output(id, text) => self.exchange.tool_output(&id, text).await,
                ToolUpdate::Ended(result) => self.exchange.tool_ended(result).await,
            }
        }
    }

    /// The agent reports how much of its context window is used and what the whole session has cost.
    async fn used(&mut self, usage: &UsageUpdate) {
        let percent = usage.used.saturating_mul(100).checked_div(usage.size);
        let context_usage = percent.map(|percent| u8::try_from(percent.min(100)).unwrap_or(100));
        self.exchange.progress(Progress { context_usage, ephemeral: true, ..Progress::default() }).await;
        let dollars = usage.cost.as_ref().filter(|cost| cost.currency == "USD");
        if let Some(more) = dollars.and_then(|cost| self.bill.grow(cost.amount)) {
            self.exchange.used(Usage { cost: Some(more), ..Usage::default() }).await;
        }
    }
}

/// Interprets the reply to a prompt.
pub(super) async fn finish(answer: Result<Value, Error>, exchange: &Exchange) -> Result<(), Failure> {
    let value = match answer {
        Ok(value) => value,
        Err(_) if exchange.stop().is_cancelled() => return Ok(()),
        Err(error) if error.code == ErrorCode::AuthRequired => {
            return Err(Failure::NotConfigured(
                "the agent requires a login; log in with the agent's own program".to_owned(),
            ));
        }
        Err(error) => {
            return Err(Failure::Agent(format!("the agent reported an error: {}", short(&error.message))));
        }
    };
    let Ok(ended) = serde_json::from_value::<GenerationEnd>(value) else {
        return Err(Failure::Agent("the agent sent an invalid reply to the prompt".to_owned()));
    };
    if let Some(usage) = usage::of_answer(ended.usage) {
        exchange.used(usage).await;
    }
    match ended.stop_reason.as_str() {
        "max_tokens" => {
            Err(Failure::Agent("the answer was cut off: it reached the maximum number of tokens".to_owned()))
        }
        "max_turn_requests" => {
            Err(Failure::Agent("the agent reached its maximum number of steps for one prompt".to_owned()))
        }
        "refusal" => Err(Failure::Agent("the agent refuses to continue".to_owned())),
        "cancelled" if !exchange.stop().is_cancelled() => {
            Err(Failure::Agent("the agent cancelled its answer".to_owned()))
        }
        _ => Ok(()),
    }
}

/// The end of an answer.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct GenerationEnd {
    stop_reason: String,
    #[serde(default)]
    usage: Value,
}

fn entries(plan: Plan) -> Vec<PlanEntry> {
    let entry = |entry: agent_client_protocol_schema::v1::PlanEntry| PlanEntry {
        content: entry.content,
        priority: match entry.priority {
            PlanEntryPriority::High => PlanPriority::High,
            PlanEntryPriority::Low => PlanPriority::Low,
            _ => PlanPriority::Medium,
        },
        status: match entry.status {
            PlanEntryStatus::Completed => PlanStatus::Completed,
            PlanEntryStatus::InProgress => PlanStatus::InProgress,
            _ => PlanStatus::Pending,
        },
    };
    plan.entries.into_iter().map(entry).collect()
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_after_a_tool_is_a_new_paragraph() {
        let answer = |parts: &[&str]| {
            let mut paragraphs = Paragraphs::default();
            let mut answer = String::new();
            for part in parts {
                match *part {
                    "tool" => paragraphs.tool(),
                    text => answer += &paragraphs.text(text.to_owned()),
                }
            }
            answer
        };
        assert_eq!(
            answer(&["I look", " it up.", "tool", "tool", "", "Here", " it is."]),
            "I look it up.\n\nHere it is."
        );
        assert_eq!(answer(&["One.\n", "tool", "Two."]), "One.\n\nTwo.");
        assert_eq!(answer(&["One.", "tool", "\n\nTwo."]), "One.\n\nTwo.");
        assert_eq!(answer(&["tool", "Two."]), "Two.");
    }
}
