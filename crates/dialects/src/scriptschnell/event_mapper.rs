//! Events of a conversation as messages of the protocol, for one client.

use super::outbound::Capabilities;
use crate::limits;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use swb_chat::{
    Approval, ChatEvent, Decision, PlanEntry, PlanStatus, Progress, Question, StreamId, ToolStatus, Usage,
};
use swb_wire::scriptschnell::{
    AuthorizationRequest, AuthorizationSettled, ChatMessage, MAX_LINE, OptionItem, ProgressInfo,
    QuestionItem, QuestionRequest, QuestionSettled, Questions, ServerMessage, SessionSeat, ToolCall,
    ToolCompact, ToolResult, UsageInfo, text_len,
};

/// Maps the events of one conversation to messages for one client.
#[derive(Debug)]
pub(super) struct EventMapper {
    session_id: String,
    capabilities: Capabilities,
    /// Whether the client was the owner according to the last message about that.
    owner: bool,
    /// The answer that is being sent, and the number of its pieces sent so far. A client that attaches in its middle
    /// gets its beginning as one piece, and counts from there on.
    pieces: Option<(StreamId, u32)>,
    /// Tool calls that were sent and have not ended: names and descriptions.
    tools: BTreeMap<String, (String, String)>,
    /// Approvals and questions that were sent.
    asked: BTreeSet<String>,
    /// As last reported by the agent.
    context_usage: Option<u8>,
    usage: Option<Usage>,
}

impl EventMapper {
    pub(super) fn new(session_id: String, capabilities: Capabilities, owner: bool) -> Self {
        Self {
            session_id,
            capabilities,
            owner,
            pieces: None,
            tools: BTreeMap::new(),
            asked: BTreeSet::new(),
            context_usage: None,
            usage: None,
        }
    }

    /// The usage and the share of its context window that the agent last reported.
    pub(super) fn usage(&self) -> (Option<UsageInfo>, Option<u8>) {
        (self.usage.map(|usage| usage_info(&usage)), self.context_usage)
    }

    /// The messages for an event; `owner` is whether the client owns the session now.
    pub(super) fn map(&mut self, event: &ChatEvent, owner: bool) -> Vec<ServerMessage> {
        match event {
            ChatEvent::ApprovalAsked(approval) => self.approval(approval).into_iter().collect(),
            ChatEvent::ApprovalSettled { id, decision } => {
                self.asked.remove(&id.0);
                self.settled(&id.0, decision).into_iter().collect()
            }
            ChatEvent::Began { stream, prompt } => self.echo(*stream, prompt),
            ChatEvent::Deleted => self.ownership(false, true).into_iter().collect(),
            ChatEvent::Plan(entries) => vec![self.progress(plan(entries), false)],
            ChatEvent::Progress(progress) => vec![self.map_progress(progress)],
            ChatEvent::QuestionAsked(question) => self.question(question).into_iter().collect(),
            ChatEvent::QuestionSettled { id, .. } => {
                self.asked.remove(&id.0);
                let session_id = self.session_id.clone();
                let settled = QuestionSettled { question_id: id.0.clone(), session_id };
                self.capabilities
                    .settled
                    .then_some(ServerMessage::QuestionSettled(settled))
                    .into_iter()
                    .collect()
            }
            ChatEvent::OwnerChanged => self.ownership(owner, false).into_iter().collect(),
            ChatEvent::Text { stream, text, last } => {
                let index = self.next_piece(*stream);
                vec![self.piece("assistant", *stream, index, text, *last)]
            }
            ChatEvent::Thought { text, .. } => vec![self.thought(text)],
            ChatEvent::ToolCalled(call) => self.called(call).into_iter().collect(),
            ChatEvent::ToolEnded(result) => vec![self.ended(result)],
            ChatEvent::ToolOutput { id, text } => vec![self.output(&id.0, text)],
            ChatEvent::Usage(usage) => {
                self.usage = Some(*usage);
                Vec::new()
            }
            ChatEvent::Ended { .. } => {
                self.tools.clear();
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// SS-52
    fn next_piece(&mut self, stream: StreamId) -> u32 {
        let sent = self.pieces.filter(|(sent, _)| *sent == stream);
        let index = sent.map_or(0, |(_, count)| count);
        self.pieces = Some((stream, index.saturating_add(1)));
        index
    }

    /// SS-52: sends the prompt to all clients, in one piece unless it exceeds a line. It is not part of the answer's
    /// stream and so never its last piece.
    fn echo(&self, stream: StreamId, prompt: &str) -> Vec<ServerMessage> {
        if text_len(prompt) <= MAX_LINE - limits::CHAT_AROUND {
            return vec![self.piece("user", stream, 0, prompt, false)];
        }
        let mut pieces = Vec::new();
        let mut rest = prompt;
        while !rest.is_empty() {
            let (piece, more) = rest.split_at(rest.floor_char_boundary(limits::CHAT_ECHO));
            let index = u32::try_from(pieces.len()).unwrap_or(u32::MAX);
            pieces.push(self.piece("user", stream, index, piece, false));
            rest = more;
        }
        pieces
    }

    fn piece(&self, role: &str, stream: StreamId, chunk_index: u32, text: &str, last: bool) -> ServerMessage {
        ServerMessage::ChatMessage(ChatMessage {
            role: role.to_owned(),
            content: text.to_owned(),
            session_id: self.session_id.clone(),
            stream_id: stream.to_string(),
            chunk_index,
            is_final: last,
        })
    }

    fn info(&self, message: String, ephemeral: bool) -> ProgressInfo {
        ProgressInfo {
            message,
            context_usage: self.context_usage.unwrap_or_default(),
            ephemeral,
            session_id: self.session_id.clone(),
            mode: ProgressInfo::STATUS_ONLY.to_owned(),
            ..ProgressInfo::default()
        }
    }

    fn progress(&self, message: String, ephemeral: bool) -> ServerMessage {
        ServerMessage::Progress(self.info(message, ephemeral))
    }

    fn map_progress(&mut self, progress: &Progress) -> ServerMessage {
        self.context_usage = progress.context_usage.or(self.context_usage);
        let info = self.info(progress.message.clone(), progress.ephemeral);
        ServerMessage::Progress(ProgressInfo { verification_agent: progress.verification, ..info })
    }

    /// The agent's thoughts do not count as pieces of its answer.
    fn thought(&self, text: &str) -> ServerMessage {
        let info = self.info(String::new(), true);
        ServerMessage::Progress(ProgressInfo { reasoning: Some(text.to_owned()), ..info })
    }

    fn output(&self, tool: &str, text: &str) -> ServerMessage {
        let info = self.info(text.to_owned(), true);
        ServerMessage::Progress(ProgressInfo { tool_id: Some(tool.to_owned()), ..info })
    }

    /// SS-57: each call is sent once, even if the agent adds to it later.
    fn called(&mut self, call: &swb_chat::ToolCall) -> Option<ServerMessage> {
        let description = call.description.clone().unwrap_or_default();
        let known = self.tools.insert(call.id.0.clone(), (call.name.clone(), description.clone()));
        if known.is_some() {
            return None;
        }
        let (tool_name, tool_id) = (call.name.clone(), call.id.0.clone());
        let session_id = self.session_id.clone();
        Some(if self.capabilities.tool_compact {
            let (status, result) = ("calling".to_owned(), String::new());
            let compact =
                ToolCompact { tool_id, tool_name, status, result, error: None, description, session_id };
            ServerMessage::ToolCompact(compact)
        } else {
            ServerMessage::ToolCall(ToolCall {
                tool_name,
                tool_id,
                parameters: object(&call.parameters),
                description: call.description.clone(),
                session_id,
                kind: name_of(&call.kind),
            })
        })
    }

    fn ended(&mut self, ended: &swb_chat::ToolResult) -> ServerMessage {
        let known = self.tools.remove(&ended.id.0);
        let (tool_id, session_id) = (ended.id.0.clone(), self.session_id.clone());
        let (result, error) = (ended.output.clone(), ended.error.clone());
        if self.capabilities.tool_compact {
            let (tool_name, description) = known.unwrap_or_default();
            let status = if ended.status == ToolStatus::Completed { "completed" } else { "error" };
            let status = status.to_owned();
            let compact = ToolCompact { tool_id, tool_name, status, result, error, description, session_id };
            return ServerMessage::ToolCompact(compact);
        }
        let status = if ended.status == ToolStatus::Completed { "completed" } else { "failed" };
        let mut content: Vec<Value> =
            ended.content.iter().filter_map(|content| serde_json::to_value(content).ok()).collect();
        if content.iter().map(weight).sum::<usize>() > limits::CHAT_TOOL {
            content.clear();
        }
        let status = status.to_owned();
        ServerMessage::ToolResult(ToolResult { tool_id, result, error, status, session_id, content })
    }

    /// SS-60; sent once, though it may be both pending when the client attaches and among its events.
    pub(super) fn approval(&mut self, approval: &Approval) -> Option<ServerMessage> {
        if !self.asked.insert(approval.id.0.clone()) {
            return None;
        }
        let request = &approval.request;
        let option = |option: &swb_chat::ApprovalOption| OptionItem {
            id: option.id.clone(),
            label: option.label.clone(),
            kind: name_of(&option.kind).unwrap_or_default(),
        };
        Some(ServerMessage::AuthorizationRequest(AuthorizationRequest {
            auth_id: approval.id.0.clone(),
            tool_name: request.tool.clone(),
            parameters: object(&request.parameters),
            reason: request.reason.clone(),
            session_id: self.session_id.clone(),
            tool_id: request.tool_id.as_ref().map(|id| id.0.clone()),
            options: request.options.iter().map(option).collect(),
        }))
    }

    fn settled(&self, id: &str, decision: &Decision) -> Option<ServerMessage> {
        let approved = match decision {
            Decision::Decided(verdict) => Some(verdict.approved),
            Decision::Lapsed | Decision::Stopped => Some(false),
            Decision::Withdrawn => None,
        };
        let (auth_id, session_id) = (id.to_owned(), self.session_id.clone());
        let settled = AuthorizationSettled { auth_id, approved, session_id };
        self.capabilities.settled.then_some(ServerMessage::AuthorizationSettled(settled))
    }

    /// SS-64, SS-65
    pub(super) fn question(&mut self, question: &Question) -> Option<ServerMessage> {
        if !self.asked.insert(question.id.0.clone()) {
            return None;
        }
        let request = &question.request;
        let single = request.items.first().filter(|_| !request.multi);
        Some(ServerMessage::QuestionRequest(QuestionRequest {
            question_id: question.id.0.clone(),
            question: request.text.clone(),
            multi_mode: request.multi,
            questions: request.multi.then(|| self.questions(&request.items)),
            session_id: self.session_id.clone(),
            options: single.map(|item| item.options.clone()).unwrap_or_default(),
        }))
    }

    fn questions(&self, items: &[swb_chat::QuestionItem]) -> Questions {
        if !self.capabilities.questions {
            let named = items.iter().enumerate();
            return Questions::Named(
                named.map(|(at, item)| (format!("q_{}", at + 1), item.question.clone())).collect(),
            );
        }
        let item = |item: &swb_chat::QuestionItem| QuestionItem {
            question: item.question.clone(),
            options: item.options.clone(),
        };
        Questions::Listed(items.iter().map(item).collect())
    }

    fn ownership(&mut self, owner: bool, gone: bool) -> Option<ServerMessage> {
        let changed = gone || owner != self.owner;
        self.owner = owner;
        let ownership = SessionSeat { session_id: self.session_id.clone(), owner, gone };
        (changed && self.capabilities.seats).then_some(ServerMessage::SessionSeat(ownership))
    }
}

/// Tokens and cost of answers; `None` if nothing is known.
pub(super) fn usage_info(usage: &Usage) -> UsageInfo {
    let known = *usage != Usage::default();
    UsageInfo {
        total_tokens: known.then(|| usage.total_tokens()),
        cached_tokens: known.then_some(usage.cached_tokens),
        total_cost: usage.cost,
    }
}

fn plan(entries: &[PlanEntry]) -> String {
    let line = |entry: &PlanEntry| {
        let mark = match entry.status {
            PlanStatus::Completed => "[x]",
            PlanStatus::InProgress => "[>]",
            PlanStatus::Pending => "[ ]",
        };
        format!("{mark} {}", entry.content)
    };
    entries.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Clients expect an object here. Texts that are too long to be read are cut.
fn object(parameters: &Value) -> Value {
    let Value::Object(fields) = parameters else { return Value::Object(serde_json::Map::new()) };
    if weight(parameters) <= limits::CHAT_TOOL {
        return parameters.clone();
    }
    let most = limits::CHAT_TOOL / fields.len().max(1);
    let shown = |value: &Value| match value {
        Value::String(text) if weight(value) > most => {
            let end = text.floor_char_boundary(most / 6);
            Value::String(format!("{}… ({} bytes)", text.get(..end).unwrap_or_default(), text.len()))
        }
        value if weight(value) > most => Value::String("…".to_owned()),
        value => value.clone(),
    };
    Value::Object(fields.iter().map(|(name, value)| (name.clone(), shown(value))).collect())
}

/// Approximate number of bytes of a value in a line.
fn weight(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(|item| weight(item) + 1).sum(),
        Value::Object(fields) => fields.iter().map(|(name, value)| text_len(name) + weight(value) + 4).sum(),
        Value::String(text) => text_len(text) + 2,
        Value::Null | Value::Bool(_) | Value::Number(_) => 16,
    }
}

/// The name of a unit variant on the wire.
fn name_of(variant: &impl serde::Serialize) -> Option<String> {
    match serde_json::to_value(variant) {
        Ok(Value::String(name)) => Some(name),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
