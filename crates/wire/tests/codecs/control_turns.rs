//! The additions about turns: their encoding, and invalid messages.

use crate::reading::round_trip;
use serde_json::{Value, json};
use swb_types::Offset;
use swb_wire::control::{
    self, AgentItem, AgentState, AskReply, AskResult, Base64, EventBody, EventItem, ExplainReply, Operation,
    TextSource, TurnItem, TurnObject, TurnReply, WaitUntil, parse_event_item, parse_operation, parse_reply,
};

#[test]
fn requests_are_read_and_written() {
    for text in [
        json!({"cmd": "turns", "session": "a"}),
        json!({"cmd": "turns", "session": "a", "limit": 3}),
        json!({"cmd": "turn", "turn_id": "a:1", "from": 5, "length": 7, "text_from": 9}),
        json!({"cmd": "turn", "session": "a"}),
        json!({"cmd": "capture", "session": "a"}),
        json!({"cmd": "capture", "turn_id": "a:1"}),
        json!({"cmd": "paste", "session": "a"}),
        json!({"cmd": "relay", "from": "a:1", "to": "b"}),
        json!({"cmd": "relay", "from": "a", "to": "b", "template": "{text}", "prefix": "x", "submit": true, "raw": true}),
        json!({"cmd": "ask", "session": "a", "text": "t", "timeout_ms": 5, "force": true}),
        json!({"cmd": "explain", "session": "a"}),
        json!({"cmd": "events"}),
        json!({"cmd": "events", "since": "1-2", "sessions": ["a"]}),
        json!({"cmd": "hook", "session": "a", "state": "done"}),
        json!({"cmd": "wait", "session": "a", "until": "turn", "after": 4}),
        json!({"cmd": "create", "workspace": "/w", "profile": "shell", "announce": true}),
    ] {
        round_trip(&text);
    }
}

#[test]
fn invalid_requests_are_rejected() {
    for text in [
        json!({"cmd": "turn"}),
        json!({"cmd": "turn", "turn_id": "a:1", "session": "a"}),
        json!({"cmd": "capture"}),
        json!({"cmd": "paste"}),
        json!({"cmd": "relay", "from": "a"}),
        json!({"cmd": "ask", "session": "a"}),
        json!({"cmd": "hook", "session": "a", "state": "asleep"}),
        json!({"cmd": "wait", "session": "a", "until": "never"}),
        json!({"cmd": "wait", "session": "a"}),
        json!({"cmd": "turns", "session": "a", "limit": -1}),
    ] {
        assert!(parse_operation(text.to_string().as_bytes()).is_err(), "{text}");
    }
    let wait = round_trip(&json!({"cmd": "wait", "session": "a", "until": "ready"}));
    assert!(matches!(wait, Operation::Wait(control::Wait { until: Some(WaitUntil::Ready), .. })));
}

#[test]
fn a_turn_is_added_to_the_other_fields() {
    let turn = TurnObject {
        turn_id: "a:1".into(),
        session: "a".into(),
        end_offset: Some(Offset(9)),
        content: Base64(b"hi\x1b".to_vec()),
        content_length: 3,
        text: "hi".into(),
        ..TurnObject::default()
    };
    let reply = serde_json::to_value(TurnReply { ok: true, turn: turn.clone() }).unwrap();
    assert_eq!(
        (&reply["turn_id"], &reply["content"], &reply["end_offset"]),
        (&json!("a:1"), &json!("aGkb"), &json!(9))
    );
    let asked = AskReply { turn: Some(turn.clone()), ..AskReply::of(AskResult::Turn) };
    let text = serde_json::to_string(&asked).unwrap();
    assert_eq!(parse_reply::<AskReply>(text.as_bytes()).unwrap(), asked);
    assert_eq!(parse_reply::<TurnReply>(text.as_bytes()).unwrap().turn, turn, "it reads like a turn");
    let asking = json!({"ok": true, "met": "asking", "asking": true, "detail": "Allow?"});
    let read: AskReply = parse_reply(asking.to_string().as_bytes()).unwrap();
    assert!(read.turn.is_none());
    assert_eq!(serde_json::to_value(&read).unwrap(), asking);
}

#[test]
fn unknown_states_and_events_are_accepted() {
    let text = json!({"ok": true, "session": "a", "state": "dreaming", "since": 1, "evidence": []});
    let explained: ExplainReply = parse_reply(text.to_string().as_bytes()).unwrap();
    assert_eq!(explained.agent, AgentItem { state: AgentState::Unknown, since: 1, ..AgentItem::default() });
    let turn: TurnItem = serde_json::from_value(json!({"turn_id": "a:1", "timestamp": 1, "byte_length": 2,
        "interrupted": false, "truncated": false, "source": "telepathy"}))
    .unwrap();
    assert_eq!(turn.source, TextSource::Unknown);
    let event = |text: Value| parse_event_item(text.to_string().as_bytes());
    let odd = event(json!({"cursor": "1-2", "at": 3, "session": "a", "event": "danced", "how": 1})).unwrap();
    assert_eq!(odd.what, EventBody::Unknown);
    assert_eq!(event(json!({"cursor": "1-2"})), None);
    let turn = EventItem {
        cursor: "1-2".into(),
        at: 3,
        session: Some("a".into()),
        what: EventBody::Turn { turn_id: "a:1".into() },
    };
    let json = json!({"cursor": "1-2", "at": 3, "session": "a", "event": "turn", "turn_id": "a:1"});
    assert_eq!(serde_json::to_value(&turn).unwrap(), json);
    assert_eq!(event(json), Some(turn));
}
