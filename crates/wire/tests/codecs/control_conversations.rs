//! The additions about conversations: their encoding, and invalid messages.

use crate::reading::round_trip;
use serde_json::json;
use swb_wire::control::{
    ApprovalItem, ApprovalKind, ApprovalReply, ChoiceItem, ConversationReply, HistoryReply, MessageItem,
    PartItem, WorkspaceReply, parse_operation, parse_reply,
};

#[test]
fn requests_are_read_and_written() {
    for text in [
        json!({"cmd": "approvals"}),
        json!({"cmd": "approval", "approval": "auth-1"}),
        json!({"cmd": "approval", "approval": "auth-1", "ack": true}),
        json!({"cmd": "approval", "approval": "auth-1", "approved": false, "option": "o", "always": true}),
        json!({"cmd": "history"}),
        json!({"cmd": "history", "prompts": true, "limit": 7}),
        json!({"cmd": "history", "workspace": "/w", "search": "a b", "offset": 5, "limit": 7}),
        json!({"cmd": "conversation", "session": "a"}),
        json!({"cmd": "conversation", "session": "a", "cursor": "1.2.3"}),
        json!({"cmd": "forget", "session": "a"}),
        json!({"cmd": "workspaces"}),
        json!({"cmd": "workspace", "path": "/w"}),
        json!({"cmd": "workspace", "path": "/w", "context_dirs": [], "agent": "x", "worktree": "n", "umask": 18}),
        json!({"cmd": "agents"}),
    ] {
        round_trip(&text);
    }
    let nulls = json!({"cmd": "approval", "approval": "a", "approved": null, "option": null, "always": null, "ack": null});
    let request = parse_operation(nulls.to_string().as_bytes()).expect("null means nothing");
    assert_eq!(serde_json::to_value(request).expect("JSON"), json!({"cmd": "approval", "approval": "a"}));
}

#[test]
fn invalid_requests_are_rejected() {
    for text in [
        json!({"cmd": "approval"}),
        json!({"cmd": "approval", "approval": 5}),
        json!({"cmd": "approval", "approval": "a", "approved": "yes"}),
        json!({"cmd": "history", "limit": -1}),
        json!({"cmd": "history", "search": ["a"]}),
        json!({"cmd": "conversation"}),
        json!({"cmd": "forget"}),
        json!({"cmd": "workspace"}),
        json!({"cmd": "workspace", "path": "/w", "context_dirs": "/c"}),
        json!({"cmd": "workspace", "path": "/w", "umask": -1}),
    ] {
        assert!(parse_operation(text.to_string().as_bytes()).is_err(), "{text}");
    }
}

#[test]
fn replies_have_the_documented_form() {
    let approval = ApprovalItem {
        id: "auth-1".into(),
        session: "s".into(),
        kind: ApprovalKind::Terminal,
        workspace: "/w".into(),
        tool: "execute_command".into(),
        parameters: json!({"command": "ls"}),
        cut: false,
        reason: "why".into(),
        options: vec![ChoiceItem { id: "1".into(), label: "Yes".into(), kind: "allow_once".into() }],
        asked_at: 5,
        seen: true,
    };
    let text = json!({"ok": true, "approval": {
        "id": "auth-1", "session": "s", "kind": "terminal", "workspace": "/w", "tool": "execute_command",
        "parameters": {"command": "ls"}, "cut": false, "reason": "why",
        "options": [{"id": "1", "label": "Yes", "kind": "allow_once"}], "asked_at": 5, "seen": true,
    }});
    let reply = ApprovalReply { ok: true, approval };
    assert_eq!(serde_json::to_value(&reply).expect("JSON"), text);
    assert_eq!(parse_reply::<ApprovalReply>(text.to_string().as_bytes()), Ok(reply));

    let tool = PartItem::Tool {
        name: "read".into(),
        description: None,
        parameters: json!({}),
        status: Some("failed".into()),
        output: "o".into(),
        cut: false,
    };
    let message = MessageItem {
        number: 2,
        role: "assistant".into(),
        at: 7,
        ending: "complete".into(),
        parts: vec![PartItem::Text { text: "t".into() }, tool],
        continued: true,
        ..MessageItem::default()
    };
    let text = json!({"number": 2, "role": "assistant", "at": 7, "ending": "complete", "continued": true, "parts": [
        {"type": "text", "text": "t"},
        {"type": "tool", "name": "read", "parameters": {}, "status": "failed", "output": "o", "cut": false},
    ]});
    assert_eq!(serde_json::to_value(message).expect("JSON"), text);
}

/// Fields that an older daemon does not send have a default.
#[test]
fn replies_of_older_daemons_are_accepted() {
    let history = parse_reply::<HistoryReply>(br#"{"ok":true}"#).expect("an answer");
    assert!(history.conversations.is_empty() && history.hits.is_empty() && !history.more);
    let conversation = json!({"ok": true, "messages": [], "conversation":
        {"session": "s", "title": "", "workspace": "/", "messages": 0, "created": 1, "updated": 2}});
    let conversation =
        parse_reply::<ConversationReply>(conversation.to_string().as_bytes()).expect("an answer");
    assert_eq!((conversation.next, conversation.conversation.cost), (None, None));
    let workspace = json!({"ok": true, "workspace":
        {"path": "/", "id": "i", "name": "n", "created": 1, "last_accessed": 2}});
    let workspace = parse_reply::<WorkspaceReply>(workspace.to_string().as_bytes()).expect("an answer");
    assert!(!workspace.workspace.is_worktree);
}
