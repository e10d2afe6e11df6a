//! Every message of the scriptschnell daemon survives encoding and decoding; other input does not break the decoder.

use proptest::prelude::*;
use serde_json::{Value, json};
use swb_types::Timestamp;
use swb_wire::scriptschnell::{
    Envelope, ErrorCode, ErrorInfo, Lines, Received, ServerMessage, Time, encode, encode_batch,
    encode_request, parse_server,
};

/// One of each kind, every field once.
fn samples() -> Vec<Value> {
    let at = "2024-01-15T10:30:00.123Z";
    let item = json!({"role": "user", "content": "a\nb", "timestamp": at, "ending": "stopped"});
    let session = json!({"session_id": "s", "id": "s", "workspace": "/w", "working_dir": "/w", "title": "t",
        "created_at": at, "updated_at": at, "message_count": 2, "status": "idle", "message_history": [item],
        "total_tokens": 5, "cached_tokens": 1, "total_cost": 0.5, "live": true});
    let workspace = json!({"path": "/w", "hash": "h", "id": "h", "name": "w", "context_directories": ["/c"],
        "context_dirs": ["/c"], "repository_root": "/w", "current_branch": "main", "is_worktree": false,
        "worktree_name": "", "session_count": 1, "last_accessed": at, "created_at": at, "landlock_read": ["/r"],
        "landlock_write": ["/x"], "domains_approved": {"d": true}, "commands_approved": {"c": true}});
    let data = [
        ("auth_challenge", json!({"nonce": "n", "timestamp": 5})),
        (
            "auth_response",
            json!({"success": true, "connection_id": "conn_1", "server_version": "1.0.0",
            "server_capabilities": ["chat"], "version": "1.0.0", "min_compatible_version": "1.0.0"}),
        ),
        (
            "authorization_request",
            json!({"auth_id": "a", "tool_name": "t", "parameters": {"p": [1]}, "reason": "r",
            "session_id": "s", "tool_id": "c", "options": [{"id": "y", "label": "Yes", "kind": "allow_once"}]}),
        ),
        ("authorization_settled", json!({"auth_id": "a", "approved": null, "session_id": "s"})),
        ("chat_clear", json!({"status": "cleared"})),
        (
            "chat_message",
            json!({"role": "assistant", "content": "x", "session_id": "s", "stream_id": "stream_1",
            "chunk_index": 3, "is_final": true}),
        ),
        (
            "chat_send",
            json!({"status": "completed", "session_id": "s",
            "usage": {"total_tokens": 5, "cached_tokens": 1, "total_cost": 0.5}, "context_usage": 7}),
        ),
        ("chat_stop", json!({"status": "stopped"})),
        ("closed", json!({"reason": "timeout", "reconnect": true})),
        ("config_get", json!({"config": {"model": "m"}, "model": {"value": "m", "type": "string"}})),
        ("config_set", json!({"updated": {"temperature": 0.5}, "status": "updated"})),
        ("flow_control", json!({"paused": true})),
        (
            "progress",
            json!({"message": "m", "context_usage": 7, "ephemeral": true, "verification_agent": false,
            "session_id": "s", "reasoning": "r", "tool_id": "t"}),
        ),
        (
            "question_request",
            json!({"question_id": "q", "question": "?", "multi_mode": true,
            "questions": [{"question": "a", "options": ["A"]}], "session_id": "s", "options": ["B"]}),
        ),
        (
            "question_request",
            json!({"question_id": "q", "question": "?", "multi_mode": true,
            "questions": {"q_1": "a"}, "session_id": "s"}),
        ),
        ("question_settled", json!({"question_id": "q", "session_id": "s"})),
        (
            "session_attach",
            json!({"session_id": "s", "status": "observing", "workspace": "/w", "working_dir": "/w",
            "owner": false, "running": true}),
        ),
        (
            "session_create_response",
            json!({"session_id": "s", "status": "created", "workspace": "/w",
            "working_dir": "/w", "created_at": at, "owner": true, "running": false}),
        ),
        ("session_delete", json!({"session_id": "s", "status": "deleted"})),
        ("session_detach", json!({"session_id": "s", "status": "detached"})),
        ("session_list_response", json!({"sessions": [session]})),
        (
            "session_load",
            json!({"session_id": "s", "working_dir": "/w", "workspace": "/w", "title": "t",
            "messages": [item], "status": "loaded", "owner": true, "running": false, "truncated": true}),
        ),
        ("session_save", json!({"session_id": "s", "title": "t", "saved_at": at, "status": "saved"})),
        ("session_seat", json!({"session_id": "s", "owner": false, "gone": true})),
        (
            "tool_call",
            json!({"tool_name": "t", "tool_id": "c", "parameters": {}, "description": "d",
            "session_id": "s", "kind": "read"}),
        ),
        (
            "tool_compact",
            json!({"tool_id": "c", "tool_name": "t", "status": "error", "result": "r", "error": "e",
            "description": "d", "session_id": "s"}),
        ),
        (
            "tool_result",
            json!({"tool_id": "c", "result": "r", "error": null, "status": "completed",
            "session_id": "s", "content": [{"type": "terminal", "id": "x"}]}),
        ),
        ("workspace_create", json!({"workspace_id": "h", "path": "/w", "is_worktree": true})),
        ("workspace_list_response", json!({"workspaces": [workspace]})),
        ("workspace_set", json!({"workspace_id": "h", "path": "/w", "name": "w", "status": "set"})),
    ];
    let at = json!(at);
    let line =
        |(kind, data): (&str, Value)| json!({"type": kind, "data": data, "request_id": "r", "timestamp": at});
    data.into_iter().map(line).collect()
}

fn written(received: &Received) -> Value {
    let mut line = Vec::new();
    let at = received.timestamp.unwrap_or(Time(Timestamp(0))).0;
    encode(&received.message, received.request_id.as_deref(), at, &mut line);
    serde_json::from_slice(&line).unwrap()
}

#[test]
fn encoded_messages_decode_to_themselves() {
    for sample in samples() {
        let read = parse_server(&sample.to_string()).unwrap();
        assert_ne!(read[0].message, ServerMessage::Unknown, "{sample}");
        assert_eq!(written(&read[0]), sample);
    }
    for plain in ["ping", "pong"] {
        let line = json!({"type": plain, "timestamp": "2024-01-15T10:30:00.123Z"});
        assert_eq!(written(&parse_server(&line.to_string()).unwrap()[0]), line);
    }
}

// SS-11
#[test]
fn encoded_errors_decode_to_themselves() {
    for code in ["AUTH_FAILED", "TIMEOUT", "WORKSPACE_ACCESS_DENIED", "SOMETHING_NEW"] {
        let error = ErrorInfo {
            code: ErrorCode::from(code.to_owned()),
            message: "m".into(),
            details: Some("d".into()),
        };
        let mut line = Vec::new();
        encode(&ServerMessage::Error(error.clone()), None, Timestamp(0), &mut line);
        let read = parse_server(std::str::from_utf8(&line).unwrap()).unwrap();
        assert_eq!(read[0].message, ServerMessage::Error(error));
        assert_eq!(serde_json::from_slice::<Value>(&line).unwrap()["error"]["code"], code);
    }
}

#[test]
fn a_batch_is_read_as_its_messages() {
    let lines: Vec<String> = samples().iter().map(|sample| format!("{sample}\n")).collect();
    let mut batch = Vec::new();
    encode_batch(lines.iter().map(String::as_bytes), Timestamp(0), &mut batch);
    let read = parse_server(std::str::from_utf8(&batch).unwrap()).unwrap();
    assert_eq!(read.iter().map(written).collect::<Vec<_>>(), samples());
}

proptest! {
    #[test]
    fn no_bytes_break_the_reader(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 0usize..200) {
        let (a, b) = bytes.split_at(cut.min(bytes.len()));
        let mut lines = Lines::default();
        for piece in [a, b] {
            lines.push(piece);
            while let Ok(Some(line)) = lines.next() {
                let _request = Envelope::parse(&line).and_then(|envelope| envelope.request());
                let _message = parse_server(&line);
            }
        }
    }

    // SS-2, SS-4, SS-5
    #[test]
    fn any_text_survives(id in ".{0,60}", content in ".{0,200}") {
        let request = json!({"type": "chat_send", "data": {"content": content}, "request_id": id}).to_string();
        let envelope = Envelope::parse(&request).unwrap();
        let mut line = Vec::new();
        encode_request(&envelope.request().unwrap(), envelope.request_id.as_deref(), &mut line);
        prop_assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        prop_assert_eq!(serde_json::from_slice::<Value>(&line).unwrap(), serde_json::from_str::<Value>(&request).unwrap());
    }
}
