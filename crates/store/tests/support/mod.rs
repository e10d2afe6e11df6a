//! Conversations to be kept.

#![allow(dead_code, reason = "each test file uses some of it")]

use std::path::Path;
use swb_chat::{
    Attachment, Author, ConversationSettings, Ending, Message, Part, SavedConversation, ToolCall, ToolId,
    ToolKind, ToolResult, Usage,
};
use swb_types::{SessionName, Timestamp};

/// A conversation with these messages, by turns.
pub(crate) fn talk(name: &str, workspace: &str, said: &[&str]) -> SavedConversation {
    let role = |n: usize| if n.is_multiple_of(2) { Author::User } else { Author::Assistant };
    let messages = said
        .iter()
        .enumerate()
        .map(|(n, text)| Message::text_of(n as u64 + 1, role(n), *text, Timestamp(1000 + n as u64)));
    SavedConversation {
        name: SessionName::new(name).unwrap(),
        title: format!("about {name}"),
        workspace: workspace.into(),
        working_dir: Path::new(workspace).join("sub"),
        created: Timestamp(1_705_314_600_123),
        updated: Timestamp(1_705_314_700_456),
        settings: ConversationSettings::default(),
        usage: Usage::default(),
        resume: None,
        messages: messages.collect(),
    }
}

/// One with everything a conversation can have.
pub(crate) fn rich() -> SavedConversation {
    let mut saved = talk("rich", "/ws/ä b", &["hello", "world"]);
    saved.settings = ConversationSettings {
        agent: Some("claude".into()),
        program: None,
        model: Some("m".into()),
        temperature: Some(0.25),
        max_tokens: Some(7),
    };
    saved.usage = Usage { input_tokens: 5, cached_tokens: 4, output_tokens: 3, cost: Some(0.125) };
    saved.resume = Some(serde_json::json!({"session": "abc", "n": [1, null]}));
    let call = ToolCall {
        id: ToolId("t1".into()),
        name: "edit_file".into(),
        description: Some("edits".into()),
        kind: ToolKind::Edit,
        parameters: serde_json::json!({"path": "x"}),
        locations: Vec::new(),
    };
    let attachment =
        Attachment { mime_type: "image/png".into(), name: None, uri: None, data: Some("AAAA".into()) };
    let result = Some(ToolResult::completed(ToolId("t1".into()), "done\0\u{2}"));
    saved.messages.push(Message {
        number: 9,
        role: Author::Assistant,
        parts: vec![
            Part::Thought("hm".into()),
            Part::Text("line one\nline \u{2}two\u{3} \0 \u{1f600}".into()),
            Part::Tool { call, result },
            Part::Attachment(attachment),
        ],
        at: Timestamp(5),
        ending: Ending::Failed("it broke".into()),
    });
    saved.messages.push(Message {
        ending: Ending::Interrupted,
        ..Message::text_of(10, Author::System, "", Timestamp(6))
    });
    saved
}
