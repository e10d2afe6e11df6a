//! What comes over the socket, as far as a client has use for it.

use serde_json::Value;
use swb_wire::scriptschnell::{
    AuthorizationRequest, ChatMessage, ErrorInfo, HistoryItem, ProgressInfo, QuestionRequest, Questions,
    Received, ServerMessage, ToolResult,
};

/// Something that came.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Incoming {
    /// The answer to a request.
    Answer {
        /// Which request.
        id: String,
        /// What it says.
        result: Result<ServerMessage, ErrorInfo>,
    },
    /// Something that happened.
    Event(Event),
}

/// Something that happened in a session, or to the connection.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Event {
    /// An approval is asked for.
    Approval(Approval),
    /// The daemon closes the connection.
    Closed { reason: String, reconnect: bool },
    /// An error that answers no request.
    Error(ErrorInfo),
    /// Something about how far the agent is.
    Progress { message: String, context: Option<u64>, ephemeral: bool, thought: Option<String> },
    /// Something is asked.
    Question(Question),
    /// A piece of what the agent says; the last one ends the answer.
    Said { text: String, last: bool },
    /// This client may act from now on, or may not; or the session is gone.
    Seat { owner: bool, gone: bool },
    /// An approval or a question needs no answer any more.
    Settled { id: String },
    /// A tool is used.
    ToolCalled(Tool),
    /// What that came to.
    ToolEnded { id: String, output: String, error: Option<String> },
    /// What somebody asked the agent.
    Prompt(String),
}

/// The use of a tool.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Tool {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) description: String,
    pub(super) parameters: Value,
}

/// An approval that is asked for.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Approval {
    pub(super) id: String,
    pub(super) tool: String,
    pub(super) parameters: Value,
    pub(super) reason: String,
    pub(super) options: Vec<Choice>,
}

/// One way to answer an approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) id: String,
    pub(super) label: String,
    pub(super) allows: bool,
    pub(super) always: bool,
}

/// A question, or several at once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Question {
    pub(super) id: String,
    pub(super) text: String,
    pub(super) multi: bool,
    pub(super) items: Vec<Item>,
}

/// One question and the answers to choose from; anything if there are none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Item {
    pub(super) question: String,
    pub(super) options: Vec<String>,
}

/// A message of a conversation that is loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) user: bool,
    pub(super) text: String,
    /// How it ended, if not well.
    pub(super) ending: Option<String>,
}

impl Incoming {
    /// What a message is to a client; nothing if it is of no use.
    pub(super) fn of(received: Received) -> Option<Self> {
        match (received.request_id, received.message) {
            (Some(id), ServerMessage::Error(error)) => Some(Self::Answer { id, result: Err(error) }),
            (Some(id), message) => Some(Self::Answer { id, result: Ok(message) }),
            (None, message) => event(message).map(Self::Event),
        }
    }
}

fn event(message: ServerMessage) -> Option<Event> {
    Some(match message {
        ServerMessage::AuthorizationRequest(request) => Event::Approval(request.into()),
        ServerMessage::AuthorizationSettled(settled) => Event::Settled { id: settled.auth_id },
        ServerMessage::ChatMessage(message) => said(message)?,
        ServerMessage::Closed(closed) => Event::Closed { reason: closed.reason, reconnect: closed.reconnect },
        ServerMessage::Error(error) => Event::Error(error),
        ServerMessage::Progress(progress) => progress.into(),
        ServerMessage::QuestionRequest(request) => Event::Question(request.into()),
        ServerMessage::QuestionSettled(settled) => Event::Settled { id: settled.question_id },
        ServerMessage::SessionSeat(seat) => Event::Seat { owner: seat.owner, gone: seat.gone },
        ServerMessage::ToolCall(call) => Event::ToolCalled(Tool {
            id: call.tool_id,
            name: call.tool_name,
            description: call.description.unwrap_or_default(),
            parameters: call.parameters,
        }),
        ServerMessage::ToolResult(result) => result.into(),
        _ => return None,
    })
}

fn said(message: ChatMessage) -> Option<Event> {
    match message.role.as_str() {
        "user" => Some(Event::Prompt(message.content)),
        "assistant" => Some(Event::Said { text: message.content, last: message.is_final }),
        _ => None,
    }
}

impl From<ProgressInfo> for Event {
    fn from(progress: ProgressInfo) -> Self {
        Self::Progress {
            message: progress.message,
            // Nothing is used before something was told.
            context: Some(progress.context_usage.into()).filter(|percent| *percent > 0),
            ephemeral: progress.ephemeral,
            thought: progress.reasoning,
        }
    }
}

impl From<ToolResult> for Event {
    fn from(result: ToolResult) -> Self {
        let error = match (result.status.as_str(), result.error) {
            ("failed", error) => Some(error.unwrap_or_default()),
            (_, error) => error,
        };
        Self::ToolEnded { id: result.tool_id, output: result.result, error }
    }
}

impl From<AuthorizationRequest> for Approval {
    fn from(request: AuthorizationRequest) -> Self {
        let options = request.options.into_iter().map(|option| Choice {
            id: option.id,
            label: option.label,
            allows: option.kind.starts_with("allow"),
            always: option.kind.ends_with("always"),
        });
        Self {
            id: request.auth_id,
            tool: request.tool_name,
            parameters: request.parameters,
            reason: request.reason,
            options: options.collect(),
        }
    }
}

impl From<QuestionRequest> for Question {
    fn from(request: QuestionRequest) -> Self {
        let mut items: Vec<Item> = match request.questions {
            Some(Questions::Listed(items)) => items
                .into_iter()
                .map(|item| Item { question: item.question, options: item.options })
                .collect(),
            // Keys are `q_1`, `q_2` …; ten and more would not sort by their text.
            Some(Questions::Named(items)) => (1..=items.len())
                .filter_map(|n| items.get(&format!("q_{n}")))
                .map(|question| Item { question: question.clone(), options: Vec::new() })
                .collect(),
            None => Vec::new(),
        };
        if items.is_empty() {
            items.push(Item { question: request.question.clone(), options: request.options });
        }
        Self { id: request.question_id, text: request.question, multi: request.multi_mode, items }
    }
}

/// The messages of a conversation that people have said or read.
pub(super) fn messages(items: Vec<HistoryItem>) -> Vec<Message> {
    let told = |item: &HistoryItem| matches!(item.role.as_str(), "user" | "assistant");
    let message =
        |item: HistoryItem| Message { user: item.role == "user", text: item.content, ending: item.ending };
    items.into_iter().filter(told).map(message).collect()
}

/// A value as text: strings as they are, nothing for null, others as JSON.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use swb_wire::scriptschnell::parse_server;

    fn one(message: &Value) -> Option<Incoming> {
        Incoming::of(parse_server(&message.to_string()).unwrap().remove(0))
    }

    #[test]
    fn events_are_understood() {
        let said = |role: &str| {
            one(&json!({"type": "chat_message", "data": {"role": role, "content": "hi", "session_id": "s",
                "stream_id": "x", "chunk_index": 0, "is_final": true}}))
        };
        assert_eq!(said("assistant"), Some(Incoming::Event(Event::Said { text: "hi".into(), last: true })));
        assert_eq!(said("user"), Some(Incoming::Event(Event::Prompt("hi".into()))));
        assert_eq!(said("system"), None);
        let failed = json!({"type": "tool_result",
            "data": {"tool_id": "t", "result": "", "error": "no", "status": "failed", "session_id": "s"}});
        let ended = Event::ToolEnded { id: "t".into(), output: String::new(), error: Some("no".into()) };
        assert_eq!(one(&failed), Some(Incoming::Event(ended)));
        assert_eq!(one(&json!({"type": "ping"})), None);
    }

    #[test]
    fn answers_are_told_from_events_and_errors_from_both() {
        let answer = one(&json!({"type": "pong", "request_id": "1"}));
        assert_eq!(answer, Some(Incoming::Answer { id: "1".into(), result: Ok(ServerMessage::Pong) }));
        let error = json!({"code": "TIMEOUT", "message": "late"});
        let refused = one(&json!({"type": "error", "request_id": "1", "error": error}));
        assert!(matches!(refused, Some(Incoming::Answer { result: Err(_), .. })));
        let alone = one(&json!({"type": "error", "error": error}));
        assert!(matches!(alone, Some(Incoming::Event(Event::Error(_)))));
    }

    #[test]
    fn questions_come_in_three_shapes() {
        let asked = |mut data: Value| {
            data["session_id"] = "s".into();
            match one(&json!({"type": "question_request", "data": data})) {
                Some(Incoming::Event(Event::Question(question))) => question,
                other => panic!("{other:?}"),
            }
        };
        let single =
            asked(json!({"question_id": "q", "question": "Which?", "multi_mode": false, "options": ["a"]}));
        assert_eq!(single.items, [Item { question: "Which?".into(), options: vec!["a".into()] }]);
        let several = asked(json!({"question_id": "q", "question": "Both:", "multi_mode": true,
            "questions": [{"question": "A?", "options": ["x", "y"]}, {"question": "B?"}]}));
        assert_eq!((several.items.len(), several.items[0].options.len()), (2, 2));
        let named = asked(json!({"question_id": "q", "question": "", "multi_mode": true,
            "questions": {"q_2": "B?", "q_1": "A?"}}));
        assert_eq!(named.items[1].question, "B?");
    }
}
