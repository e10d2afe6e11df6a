//! A conversation in a test, with a clock that the test controls.
#![allow(dead_code, reason = "not every test needs all of it")]

use std::path::Path;
use std::time::{Duration, Instant};
use swb_chat::{
    ApprovalAnswer, ApprovalId, ApprovalRequest, ChatEvent, ClientId, Conversation, ConversationState,
    Ending, Now, QuestionId, QuestionItem, QuestionRequest, ToolCall, ToolId, ToolKind,
};
use swb_types::{SessionName, Timestamp};

pub(crate) const A: ClientId = ClientId(1);
pub(crate) const B: ClientId = ClientId(2);
pub(crate) const C: ClientId = ClientId(3);
pub(crate) const YES: ApprovalAnswer = ApprovalAnswer { approved: true, option: None, always: false };
pub(crate) const NO: ApprovalAnswer = ApprovalAnswer { approved: false, option: None, always: false };

pub(crate) struct TestConversation {
    pub(crate) chat: Conversation,
    begin: Instant,
    passed: Duration,
}

impl TestConversation {
    /// A conversation that its owner `A` has just created.
    pub(crate) fn new() -> Self {
        let dir = Path::new("/w");
        let mut chat =
            Conversation::new(SessionName::new("conversation").unwrap(), dir, dir, Timestamp(1000));
        chat.attach(A, false).unwrap();
        while chat.poll_event().is_some() {}
        Self { chat, begin: Instant::now(), passed: Duration::ZERO }
    }

    /// The same with a running generation; earlier events have been taken.
    pub(crate) fn running() -> Self {
        let mut conversation = Self::new();
        conversation.send("hello").unwrap();
        conversation.events();
        conversation
    }

    pub(crate) fn now(&self) -> Now {
        let millis = 1000 + self.passed.as_millis() as u64;
        Now { instant: self.begin + self.passed, unix: Timestamp(millis) }
    }

    pub(crate) fn send(&mut self, prompt: &str) -> Result<(), swb_chat::Refused> {
        let now = self.now();
        self.chat.send(prompt.to_owned(), now)
    }

    pub(crate) fn end(&mut self, ending: Ending) {
        let now = self.now();
        self.chat.end(ending, now);
    }

    pub(crate) fn clear(&mut self) -> Result<(), swb_chat::Refused> {
        let now = self.now();
        self.chat.clear(now)
    }

    /// All events since the last call.
    pub(crate) fn events(&mut self) -> Vec<ChatEvent> {
        std::iter::from_fn(|| self.chat.poll_event()).collect()
    }

    /// The states that were entered since events were last taken.
    pub(crate) fn states(&mut self) -> Vec<ConversationState> {
        let state = |event: ChatEvent| {
            if let ChatEvent::State(state) = event { Some(state) } else { None }
        };
        self.events().into_iter().filter_map(state).collect()
    }

    pub(crate) fn ask(&mut self, id: &str) -> Result<ApprovalId, swb_chat::Refused> {
        let (id, now) = (ApprovalId(id.to_owned()), self.now());
        self.chat.ask_approval(id.clone(), approval(), now)?;
        Ok(id)
    }

    pub(crate) fn acknowledge(&mut self, id: &ApprovalId) -> Result<(), swb_chat::Refused> {
        let now = self.now();
        self.chat.acknowledge(id, now)
    }

    pub(crate) fn question(&mut self, id: &str) -> Result<QuestionId, swb_chat::Refused> {
        let (id, now) = (QuestionId(id.to_owned()), self.now());
        self.chat.ask_question(id.clone(), question(1, 2), now)?;
        Ok(id)
    }

    /// Lets time pass as the owner of the machine would: nothing is called before it is due.
    pub(crate) fn pass(&mut self, time: Duration) {
        let end = self.passed + time;
        while let Some(due) = self.chat.poll_timeout().map(|due| due - self.begin).filter(|due| *due <= end) {
            self.passed = self.passed.max(due);
            self.chat.handle_timeout(self.begin + self.passed);
        }
        self.passed = end;
        self.chat.handle_timeout(self.begin + self.passed);
    }
}

pub(crate) fn approval() -> ApprovalRequest {
    ApprovalRequest {
        tool: "execute_command".into(),
        tool_id: None,
        parameters: serde_json::json!({"command": "ls"}),
        reason: "it runs a command".into(),
        options: Vec::new(),
    }
}

pub(crate) fn question(items: usize, options: usize) -> QuestionRequest {
    let item = |n| QuestionItem {
        question: format!("{n}?"),
        options: (0..options).map(|n| n.to_string()).collect(),
    };
    QuestionRequest { text: "which?".into(), multi: items > 1, items: (0..items).map(item).collect() }
}

pub(crate) fn tool(id: &str) -> ToolCall {
    ToolCall {
        id: ToolId(id.to_owned()),
        name: "read_file".into(),
        description: None,
        kind: ToolKind::Read,
        parameters: serde_json::json!({"path": "main.rs"}),
        locations: Vec::new(),
    }
}
