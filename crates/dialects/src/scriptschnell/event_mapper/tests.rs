use super::*;
use serde_json::json;
use swb_chat::{
    ApprovalAnswer, ApprovalId, ApprovalOption, ApprovalRequest, Ending, OptionKind, PlanPriority,
    QuestionId, ToolId,
};
use swb_types::Timestamp;

fn mapper(capabilities: &[&str]) -> EventMapper {
    let names: Vec<String> = capabilities.iter().map(|name| (*name).to_owned()).collect();
    EventMapper::new("s".into(), Capabilities::new(&names), true)
}

fn mapped(mapper: &mut EventMapper, event: &ChatEvent) -> Vec<Value> {
    mapper.map(event, true).iter().map(|message| serde_json::to_value(message).unwrap()).collect()
}

fn call() -> swb_chat::ToolCall {
    swb_chat::ToolCall {
        id: ToolId("t1".into()),
        name: "read_file".into(),
        description: Some("Reading".into()),
        kind: swb_chat::ToolKind::Read,
        parameters: Value::Null,
        locations: Vec::new(),
    }
}

// SS-52, SS-53
#[test]
fn text_is_sent_in_pieces_and_the_prompt_to_all_clients() {
    let mut mapper = mapper(&[]);
    let began = ChatEvent::Began { stream: StreamId(1), prompt: "hi".into() };
    let expected = json!({"role": "user", "content": "hi", "session_id": "s", "stream_id": "stream_1",
        "chunk_index": 0, "is_final": false});
    assert_eq!(mapped(&mut mapper, &began), [json!({"type": "chat_message", "data": expected})]);
    for (stream, index, last) in [(2, 0, false), (2, 1, false), (2, 2, true), (4, 0, true)] {
        let text = ChatEvent::Text { stream: StreamId(stream), text: "x".into(), last };
        let expected = json!({"role": "assistant", "content": "x", "session_id": "s",
            "stream_id": format!("stream_{stream}"), "chunk_index": index, "is_final": last});
        assert_eq!(mapped(&mut mapper, &text), [json!({"type": "chat_message", "data": expected})]);
    }
}

// SS-52
#[test]
fn a_prompt_is_sent_in_one_piece_if_a_line_holds_it() {
    let mut mapper = mapper(&[]);
    let mut echo = |prompt: &str| {
        mapped(&mut mapper, &ChatEvent::Began { stream: StreamId(3), prompt: prompt.to_owned() })
    };
    assert_eq!(echo(&"ü".repeat(7 << 20)).len(), 1);
    let long = "\u{1b}".repeat(3 << 20);
    let pieces = echo(&long);
    let indices: Vec<&Value> = pieces.iter().map(|piece| &piece["data"]["chunk_index"]).collect();
    assert_eq!(indices, [0, 1, 2]);
    let all: String = pieces.iter().map(|piece| piece["data"]["content"].as_str().unwrap()).collect();
    assert!(all == long, "nothing of it is lost");
}

// SS-57
#[test]
fn each_use_of_a_tool_has_one_call_and_one_result() {
    let mut mapper = mapper(&[]);
    let called = mapped(&mut mapper, &ChatEvent::ToolCalled(call()));
    let expected = json!({"tool_name": "read_file", "tool_id": "t1", "parameters": {}, "kind": "read",
        "description": "Reading", "session_id": "s"});
    assert_eq!(called, [json!({"type": "tool_call", "data": expected})]);
    assert!(mapped(&mut mapper, &ChatEvent::ToolCalled(call())).is_empty());
    let failed = swb_chat::ToolResult::failed(ToolId("t1".into()), "no");
    let expected =
        json!({"tool_id": "t1", "result": "", "error": "no", "status": "failed", "session_id": "s"});
    assert_eq!(
        mapped(&mut mapper, &ChatEvent::ToolEnded(failed)),
        [json!({"type": "tool_result", "data": expected})]
    );
}

#[test]
fn overlong_parameters_are_cut() {
    let long = "ü".repeat(limits::CHAT_TOOL);
    let cut = object(&json!({"path": "/a", "text": long, "list": [long]}));
    assert_eq!((&cut["path"], &cut["list"]), (&json!("/a"), &json!("…")));
    let text = cut["text"].as_str().unwrap();
    assert!(text.starts_with("üüü") && text.ends_with("bytes)") && text.len() < limits::CHAT_TOOL);
    let small = json!({"text": "x".repeat(1000)});
    assert_eq!(object(&small), small);
}

// SS-58
#[test]
fn clients_that_support_it_get_one_kind_of_message_per_tool_call() {
    let mut mapper = mapper(&["tool_compact"]);
    let called = mapped(&mut mapper, &ChatEvent::ToolCalled(call()));
    assert_eq!(
        (&called[0]["type"], &called[0]["data"]["status"]),
        (&json!("tool_compact"), &json!("calling"))
    );
    let done = swb_chat::ToolResult::completed(ToolId("t1".into()), "text");
    let expected = json!({"tool_id": "t1", "tool_name": "read_file", "status": "completed", "result": "text",
        "error": null, "description": "Reading", "session_id": "s"});
    assert_eq!(
        mapped(&mut mapper, &ChatEvent::ToolEnded(done)),
        [json!({"type": "tool_compact", "data": expected})]
    );
}

// SS-54, SS-59
#[test]
fn thoughts_and_plans_are_sent_as_progress() {
    let mut mapper = mapper(&[]);
    let progress =
        Progress { message: "m".into(), context_usage: Some(7), ephemeral: false, verification: true };
    let expected = json!({"message": "m", "context_usage": 7, "ephemeral": false, "verification_agent": true,
        "session_id": "s", "mode": "1"});
    assert_eq!(
        mapped(&mut mapper, &ChatEvent::Progress(progress)),
        [json!({"type": "progress", "data": expected})]
    );
    let thought = mapped(&mut mapper, &ChatEvent::Thought { stream: StreamId(1), text: "hm".into() });
    assert_eq!(
        (&thought[0]["data"]["reasoning"], &thought[0]["data"]["context_usage"]),
        (&json!("hm"), &json!(7))
    );
    let entry =
        PlanEntry { content: "a".into(), priority: PlanPriority::High, status: PlanStatus::Completed };
    let plan = mapped(&mut mapper, &ChatEvent::Plan(vec![entry]));
    assert_eq!(plan[0]["data"]["message"], "[x] a");
    let output = ChatEvent::ToolOutput { id: ToolId("t".into()), text: "o".into() };
    assert_eq!(mapped(&mut mapper, &output)[0]["data"]["tool_id"], "t");
}

// SS-60
#[test]
fn approvals_keep_their_options_and_are_sent_once() {
    let option = ApprovalOption { id: "y".into(), label: "Yes".into(), kind: OptionKind::AllowOnce };
    let request = ApprovalRequest {
        tool: "execute_command".into(),
        tool_id: None,
        parameters: json!({"command": "ls"}),
        reason: "why".into(),
        options: vec![option],
    };
    let id = ApprovalId("auth-1".into());
    let approval = Approval { id: id.clone(), request, asked_at: Timestamp(0), seen: false };
    let mut mapper = mapper(&[]);
    let expected = json!({"auth_id": "auth-1", "tool_name": "execute_command", "parameters": {"command": "ls"},
        "reason": "why", "session_id": "s", "options": [{"id": "y", "label": "Yes", "kind": "allow_once"}]});
    let asked = ChatEvent::ApprovalAsked(approval.clone());
    assert_eq!(mapped(&mut mapper, &asked), [json!({"type": "authorization_request", "data": expected})]);
    assert!(mapped(&mut mapper, &asked).is_empty());
    let verdict = ApprovalAnswer { approved: true, option: None, always: false };
    let settled = ChatEvent::ApprovalSettled { id, decision: Decision::Decided(verdict) };
    assert!(mapped(&mut mapper, &settled).is_empty());
    let mut mapper = super::tests::mapper(&["settled"]);
    assert_eq!(mapped(&mut mapper, &settled)[0]["data"]["approved"], true);
}

// SS-64, SS-65
#[test]
fn several_questions_have_the_shape_that_the_client_supports() {
    let item = |text: &str| swb_chat::QuestionItem { question: text.into(), options: vec!["A".into()] };
    let request =
        swb_chat::QuestionRequest { text: "t".into(), multi: true, items: vec![item("a"), item("b")] };
    let asked = ChatEvent::QuestionAsked(Question {
        id: QuestionId("q".into()),
        request: request.clone(),
        asked_at: Timestamp(0),
    });
    let plain = mapped(&mut mapper(&["chat"]), &asked);
    assert_eq!(plain[0]["data"]["questions"], json!({"q_1": "a", "q_2": "b"}));
    let listed = mapped(&mut mapper(&["questions"]), &asked);
    let item = json!({"question": "a", "options": ["A"]});
    assert_eq!(listed[0]["data"]["questions"][0], item);
    let single = swb_chat::QuestionRequest { multi: false, ..request };
    let single = Question { id: QuestionId("q".into()), request: single, asked_at: Timestamp(0) };
    let single = mapped(&mut mapper(&["questions"]), &ChatEvent::QuestionAsked(single));
    assert_eq!(single[0]["data"].get("questions"), None);
    assert_eq!(single[0]["data"]["multi_mode"], false);
}

#[test]
fn a_change_of_owner_is_sent_to_clients_that_support_it() {
    let mut supported = mapper(&["seats"]);
    assert!(supported.map(&ChatEvent::OwnerChanged, true).is_empty());
    let mapped = supported.map(&ChatEvent::OwnerChanged, false);
    let expected = SessionSeat { session_id: "s".into(), owner: false, gone: false };
    assert_eq!(mapped, [ServerMessage::SessionSeat(expected)]);
    assert!(mapper(&[]).map(&ChatEvent::OwnerChanged, false).is_empty());
    assert!(mapper(&[]).map(&ChatEvent::Ended { ending: Ending::Complete }, true).is_empty());
}
