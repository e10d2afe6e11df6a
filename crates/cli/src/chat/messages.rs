//! Converts messages of the protocol to events of the chat, and decisions to requests.

use swb_tui::event::{
    ApprovalChoice, ApprovalPrompt, QuestionEntry, QuestionPrompt, ToolUse, TranscriptMessage, ViewEvent,
};
use swb_tui::view::asks::UserDecision;
use swb_tui::view::transcript::AnswerUsage;
use swb_wire::scriptschnell::{
    AuthorizationRequest, AuthorizationResponse, ChatEnd, ChatMessage, ErrorInfo, HistoryItem, ProgressInfo,
    QuestionAnswers, QuestionRequest, QuestionResponse, Questions, Received, Request, ServerMessage,
    ToolResult,
};

/// A message of the daemon.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ServerItem {
    /// The reply to a request.
    Answer {
        /// Id of the request.
        id: String,
        /// The reply or the error.
        result: Result<ServerMessage, ErrorInfo>,
    },
    /// An event.
    Event(ViewEvent),
}

impl ServerItem {
    /// Classifies a message; `None` if this client ignores it.
    pub(super) fn of(received: Received) -> Option<Self> {
        match (received.request_id, received.message) {
            (Some(id), ServerMessage::Error(error)) => Some(Self::Answer { id, result: Err(error) }),
            (Some(id), message) => Some(Self::Answer { id, result: Ok(message) }),
            (None, message) => event(message).map(Self::Event),
        }
    }
}

fn event(message: ServerMessage) -> Option<ViewEvent> {
    Some(match message {
        ServerMessage::AuthorizationRequest(request) => ViewEvent::Approval(approval(request)),
        ServerMessage::AuthorizationSettled(settled) => ViewEvent::Settled { id: settled.auth_id },
        ServerMessage::ChatMessage(message) => chat_message(message)?,
        ServerMessage::Closed(closed) => {
            ViewEvent::Closed { reason: closed.reason, reconnect: closed.reconnect }
        }
        ServerMessage::Error(error) => ViewEvent::Error(error.message),
        ServerMessage::Progress(progress) => self::progress(progress),
        ServerMessage::QuestionRequest(request) => ViewEvent::Question(question(request)),
        ServerMessage::QuestionSettled(settled) => ViewEvent::Settled { id: settled.question_id },
        ServerMessage::SessionSeat(seat) => ViewEvent::Seat { owner: seat.owner, gone: seat.gone },
        ServerMessage::ToolCall(call) => ViewEvent::ToolCalled(ToolUse {
            id: call.tool_id,
            name: call.tool_name,
            description: call.description.unwrap_or_default(),
            parameters: call.parameters,
        }),
        ServerMessage::ToolResult(result) => tool_ended(result),
        _ => return None,
    })
}

fn chat_message(message: ChatMessage) -> Option<ViewEvent> {
    match message.role.as_str() {
        "user" => Some(ViewEvent::Prompt(message.content)),
        "assistant" => Some(ViewEvent::AnswerText { text: message.content, last: message.is_final }),
        _ => None,
    }
}

fn progress(progress: ProgressInfo) -> ViewEvent {
    ViewEvent::Progress {
        message: progress.message,
        // Zero means that the usage is not known yet.
        context: Some(progress.context_usage.into()).filter(|percent| *percent > 0),
        ephemeral: progress.ephemeral,
        thought: progress.reasoning,
    }
}

fn tool_ended(result: ToolResult) -> ViewEvent {
    let error = match (result.status.as_str(), result.error) {
        ("failed", error) => Some(error.unwrap_or_default()),
        (_, error) => error,
    };
    ViewEvent::ToolEnded { id: result.tool_id, output: result.result, error }
}

fn approval(request: AuthorizationRequest) -> ApprovalPrompt {
    let options = request.options.into_iter().map(|option| ApprovalChoice {
        id: option.id,
        label: option.label,
        allows: option.kind.starts_with("allow"),
        always: option.kind.ends_with("always"),
    });
    ApprovalPrompt {
        id: request.auth_id,
        tool: request.tool_name,
        parameters: request.parameters,
        reason: request.reason,
        options: options.collect(),
    }
}

fn question(request: QuestionRequest) -> QuestionPrompt {
    let mut items: Vec<QuestionEntry> = match request.questions {
        Some(Questions::Listed(items)) => items
            .into_iter()
            .map(|item| QuestionEntry { question: item.question, options: item.options })
            .collect(),
        // Keys are `q_1`, `q_2` …; ten and more would not sort by their text.
        Some(Questions::Named(items)) => (1..=items.len())
            .filter_map(|n| items.get(&format!("q_{n}")))
            .map(|question| QuestionEntry { question: question.clone(), options: Vec::new() })
            .collect(),
        None => Vec::new(),
    };
    if items.is_empty() {
        items.push(QuestionEntry { question: request.question.clone(), options: request.options });
    }
    QuestionPrompt { id: request.question_id, text: request.question, multi: request.multi_mode, items }
}

/// The messages of a conversation that are shown to the user.
pub(super) fn messages(items: Vec<HistoryItem>) -> Vec<TranscriptMessage> {
    let spoken = |item: &HistoryItem| matches!(item.role.as_str(), "user" | "assistant");
    let message = |item: HistoryItem| TranscriptMessage {
        user: item.role == "user",
        text: item.content,
        ending: item.ending,
    };
    items.into_iter().filter(spoken).map(message).collect()
}

/// The cost of a prompt.
pub(super) fn usage(end: &ChatEnd) -> AnswerUsage {
    let usage = end.usage.clone().unwrap_or_default();
    AnswerUsage {
        tokens: usage.total_tokens.filter(|tokens| *tokens > 0),
        cost: usage.total_cost,
        // Zero means that the usage is not known.
        context: end.context_usage.map(u64::from).filter(|percent| *percent > 0),
    }
}

/// The request that sends a user's decision to the daemon.
pub(super) fn request(decision: &UserDecision) -> Request {
    match decision.clone() {
        UserDecision::Approval { id, approved, option, always } => {
            Request::AuthorizationResponse(AuthorizationResponse {
                auth_id: Some(id),
                approved: Some(approved),
                option,
                always: always.then_some(true),
                ..AuthorizationResponse::default()
            })
        }
        UserDecision::Answer { id, answers, multi } => {
            let mut response = QuestionResponse { question_id: Some(id), ..QuestionResponse::default() };
            if multi {
                let named = answers.into_iter().enumerate().map(|(n, text)| (format!("q_{}", n + 1), text));
                response.answers_map = Some(QuestionAnswers::Named(named.collect()));
            } else {
                response.answer = Some(answers.into_iter().next().unwrap_or_default());
            }
            Request::QuestionResponse(response)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use swb_wire::scriptschnell::parse_server;

    fn one(message: &Value) -> Option<ServerItem> {
        ServerItem::of(parse_server(&message.to_string()).unwrap().remove(0))
    }

    #[test]
    fn events_are_decoded() {
        let decoded = |role: &str| {
            one(&json!({"type": "chat_message", "data": {"role": role, "content": "hi", "session_id": "s",
                "stream_id": "x", "chunk_index": 0, "is_final": true}}))
        };
        assert_eq!(
            decoded("assistant"),
            Some(ServerItem::Event(ViewEvent::AnswerText { text: "hi".into(), last: true }))
        );
        assert_eq!(decoded("user"), Some(ServerItem::Event(ViewEvent::Prompt("hi".into()))));
        assert_eq!(decoded("system"), None);
        let failed = json!({"type": "tool_result",
            "data": {"tool_id": "t", "result": "", "error": "no", "status": "failed", "session_id": "s"}});
        let ended = ViewEvent::ToolEnded { id: "t".into(), output: String::new(), error: Some("no".into()) };
        assert_eq!(one(&failed), Some(ServerItem::Event(ended)));
        assert_eq!(one(&json!({"type": "ping"})), None);
    }

    #[test]
    fn replies_events_and_errors_are_distinguished() {
        let answer = one(&json!({"type": "pong", "request_id": "1"}));
        assert_eq!(answer, Some(ServerItem::Answer { id: "1".into(), result: Ok(ServerMessage::Pong) }));
        let error = json!({"code": "TIMEOUT", "message": "late"});
        let refused = one(&json!({"type": "error", "request_id": "1", "error": error}));
        assert!(matches!(refused, Some(ServerItem::Answer { result: Err(_), .. })));
        let alone = one(&json!({"type": "error", "error": error}));
        assert!(matches!(alone, Some(ServerItem::Event(ViewEvent::Error(_)))));
    }

    #[test]
    fn questions_come_in_three_shapes() {
        let asked = |mut data: Value| {
            data["session_id"] = "s".into();
            match one(&json!({"type": "question_request", "data": data})) {
                Some(ServerItem::Event(ViewEvent::Question(question))) => question,
                other => panic!("{other:?}"),
            }
        };
        let single =
            asked(json!({"question_id": "q", "question": "Which?", "multi_mode": false, "options": ["a"]}));
        assert_eq!(single.items, [QuestionEntry { question: "Which?".into(), options: vec!["a".into()] }]);
        let several = asked(json!({"question_id": "q", "question": "Both:", "multi_mode": true,
            "questions": [{"question": "A?", "options": ["x", "y"]}, {"question": "B?"}]}));
        assert_eq!((several.items.len(), several.items[0].options.len()), (2, 2));
        let named = asked(json!({"question_id": "q", "question": "", "multi_mode": true,
            "questions": {"q_2": "B?", "q_1": "A?"}}));
        assert_eq!(named.items[1].question, "B?");
    }

    fn sent(decision: &UserDecision) -> Value {
        serde_json::to_value(request(decision)).unwrap()["data"].clone()
    }

    #[test]
    fn a_decision_becomes_an_authorization_response() {
        let decided = |approved, option: Option<&str>, always| {
            let option = option.map(str::to_owned);
            sent(&UserDecision::Approval { id: "auth-1".into(), approved, option, always })
        };
        assert_eq!(decided(true, None, false), json!({"auth_id": "auth-1", "approved": true}));
        assert_eq!(decided(false, None, false), json!({"auth_id": "auth-1", "approved": false}));
        let always = json!({"auth_id": "auth-1", "approved": true, "option": "o-Always", "always": true});
        assert_eq!(decided(true, Some("o-Always"), true), always);
    }

    #[test]
    fn answers_are_numbered_if_several_were_asked_for() {
        let answered = |id: &str, answers: &[&str], multi| {
            let answers = answers.iter().map(|answer| (*answer).to_owned()).collect();
            sent(&UserDecision::Answer { id: id.into(), answers, multi })
        };
        let several = json!({"question_id": "q", "answers_map": {"q_1": "y", "q_2": "other"}});
        assert_eq!(answered("q", &["y", "other"], true), several);
        assert_eq!(answered("s", &["7"], false), json!({"question_id": "s", "answer": "7"}));
    }
}
