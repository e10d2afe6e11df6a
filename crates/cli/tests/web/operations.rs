//! Operations over `/api/control`, and conversations over `/api/chat`.

use crate::SWB;
use serde_json::{Value, json};
use swb_testkit::{QUIET, Swb};

#[test]
fn replies_carry_the_id_of_their_request() {
    let swb = Swb::start(SWB);
    let mut control = swb.web().socket("/api/control");
    swb.make("a", &["cat"]);
    for id in [json!(1), json!("one"), json!(-2.5), json!("with \"quotes\"")] {
        let reply = control.ask(&id, json!({"cmd": "ls"}));
        assert_eq!((&reply["ok"], &reply["sessions"][0]["name"]), (&json!(true), &json!("a")), "{reply}");
    }
    let who = control.ask(&json!(2), json!({"cmd": "whoami"}));
    assert_eq!(
        (&who["role"], &who["session"], &who["workspace"]),
        (&json!("owner"), &Value::Null, &Value::Null)
    );
    assert!(who["machine"].is_string() && who["version"].is_string(), "{who}");
}

#[test]
fn several_requests_are_under_way_at_once() {
    let swb = Swb::start(SWB);
    let mut control = swb.web().socket("/api/control");
    swb.make("a", &["cat"]);
    control.text(&json!({"id": "wait", "cmd": "wait", "session": "a", "text": "ready"}));
    control.text(&json!({"id": "events", "cmd": "events"}));
    assert_eq!(control.take(|message| message["id"] == "events")["ok"], true);
    assert_eq!(control.ask(&json!(1), json!({"cmd": "ls"}))["ok"], true);
    let busy = control.ask(&json!("wait"), json!({"cmd": "ls"}));
    assert_eq!(busy["error"], "INVALID_COMMAND", "the id is in use");
    control.ask(&json!(2), json!({"cmd": "send", "session": "a", "text": "ready", "enter": true}));
    assert_eq!(control.take(|message| message["id"] == "wait")["ok"], true);
    let started = control.ask(&json!(3), json!({"cmd": "shell", "session": "a"}));
    assert_eq!((&started["ok"], &started["pty"]), (&json!(true), &json!(1)), "{started}");
    let event = control.take(|message| message["id"] == "events" && message["event"] == "started");
    assert_eq!((&event["session"], &event["pty"]), (&json!("a"), &json!(1)));
}

#[test]
fn a_wait_can_be_cancelled_and_ends_with_its_connection() {
    let swb = Swb::start(SWB);
    let mut control = swb.web().socket("/api/control");
    swb.make("a", &["cat"]);
    control.text(&json!({"id": 1, "cmd": "wait", "session": "a", "text": "never"}));
    assert_eq!(control.ask(&json!(2), json!({"cmd": "cancel", "request": 1}))["ok"], true);
    assert_eq!(control.take(|message| message["id"] == 1)["error"], "CANCELLED");
    assert_eq!(control.ask(&json!(3), json!({"cmd": "cancel", "request": 1}))["error"], "INVALID_COMMAND");
}

#[test]
fn typed_operations_arrive_in_their_order() {
    let swb = Swb::start(SWB);
    let mut control = swb.web().socket("/api/control");
    swb.script("a", "stty -echo; echo up; cat");
    swb.ok(&["wait", "a", "--text", "up"]);
    for number in 0..40 {
        control.text(&json!({"id": number, "cmd": "send", "session": "a", "text": format!("<{number}>")}));
    }
    control.text(&json!({"id": 99, "cmd": "keys", "session": "a", "keys": ["Enter"]}));
    control.take(|message| message["id"] == 99);
    let expected: String = (0..40).map(|number| format!("<{number}>")).collect();
    swb.ok(&["wait", "a", "--text", "<39>"]);
    assert!(swb.ok(&["logs", "a"]).contains(&expected));
}

#[test]
fn bad_messages_get_an_error_and_the_connection_stays() {
    let swb = Swb::start(SWB);
    let web = swb.web();
    let mut control = web.socket("/api/control");
    for bad in
        ["not JSON", "[]", "5", "", r#"{"cmd":"ls"}"#, r#"{"id":null,"cmd":"ls"}"#, r#"{"id":{},"cmd":"ls"}"#]
    {
        control.raw_text(bad);
        let error = control.take(|message| message["ok"] == false);
        assert_eq!((error.get("id"), &error["error"]), (None, &json!("INVALID_COMMAND")), "{bad}");
    }
    control.input(b"binary");
    assert_eq!(control.take(|message| message["ok"] == false).get("id"), None);
    for bad in [
        json!({"cmd": "nope"}),
        json!({}),
        json!({"cmd": "kill", "session": 5}),
        json!({"cmd": "attach", "session": "a"}),
        json!({"cmd": "chat"}),
    ] {
        assert_eq!(control.ask(&json!(7), bad.clone())["error"], "INVALID_COMMAND", "{bad}");
    }
    assert_eq!(
        control.ask(&json!(8), json!({"cmd": "kill", "session": "none"}))["error"],
        "SESSION_NOT_FOUND"
    );
    // A message over the limit ends this connection only.
    let mut other = web.socket("/api/control");
    control.raw_text_until_refused(&"x".repeat(2 << 20));
    control.closed();
    assert_eq!(other.ask(&json!(1), json!({"cmd": "ls"}))["ok"], true);
}

#[test]
fn the_number_of_requests_under_way_is_bounded() {
    let swb = Swb::start(SWB);
    let mut control = swb.web().socket("/api/control");
    swb.make("a", &["cat"]);
    let never = || json!({"cmd": "wait", "session": "a", "text": "never"});
    for number in 0..64 {
        let mut wait = never();
        wait["id"] = json!(number);
        control.text(&wait);
    }
    assert_eq!(control.ask(&json!("one more"), never())["error"], "LIMIT_REACHED");
    // Short ones are not refused, however many are sent at once.
    for number in 100..400 {
        control.text(&json!({"id": number, "cmd": "ls"}));
    }
    for number in 100..400 {
        assert_eq!(control.take(|message| message["id"] == number)["ok"], true, "{number}");
    }
    assert!(control.is_quiet_for(QUIET));
}

#[test]
fn a_program_that_does_not_read_delays_only_what_is_typed_there() {
    let swb = Swb::start(SWB);
    let mut control = swb.web().socket("/api/control");
    swb.script("stuck", "stty raw -echo; echo up; sleep 1000");
    swb.ok(&["wait", "stuck", "--text", "up"]);
    swb.make("a", &["cat"]);
    let text = "x".repeat(100_000);
    for number in 0..20 {
        control.text(&json!({"id": number, "cmd": "send", "session": "stuck", "text": text}));
    }
    let sent =
        control.ask(&json!("other"), json!({"cmd": "send", "session": "a", "text": "here", "enter": true}));
    assert_eq!(sent["ok"], true, "{sent}");
}

#[test]
fn a_new_token_is_distinguished_from_the_request() {
    let swb = Swb::start(SWB);
    let mut control = swb.web().socket("/api/control");
    let added = control.ask(&json!(7), json!({"cmd": "token", "role": "watch"}));
    assert!(added["token_id"].is_string() && added["token"].is_string(), "{added}");
    let long = json!("i".repeat(200));
    assert_eq!(control.ask(&long, json!({"cmd": "ls"}))["ok"], true);
}

#[test]
fn an_operation_needs_its_role() {
    let swb = Swb::start(SWB);
    let web = swb.web();
    swb.make("a", &["cat"]);
    let refused = |role: &str, operation: Value| {
        let mut control = web.with_token(&swb.token(&["--role", role])).socket("/api/control");
        control.ask(&json!(1), operation)["error"] == "FORBIDDEN"
    };
    let keys = || json!({"cmd": "keys", "session": "a", "keys": ["x"]});
    assert!(refused("watch", keys()) && refused("prompt", keys()) && refused("approve", keys()));
    assert!(!refused("drive", keys()));
    let filter = || json!({"cmd": "filter", "session": "a", "on": false});
    let token = || json!({"cmd": "token", "role": "owner"});
    for owners_only in [
        filter(),
        token(),
        json!({"cmd": "tokens"}),
        json!({"cmd": "shutdown"}),
        json!({"cmd": "serve", "stop": true}),
    ] {
        assert!(refused("drive", owners_only.clone()), "{owners_only}");
    }
    assert!(!refused("watch", json!({"cmd": "filter", "session": "a"})));
    assert!(refused("drive", json!({"cmd": "chat"})));
    let create = web.with_token(&swb.token(&["--role", "prompt"]));
    assert_eq!(create.request("POST", "/api/sessions", r#"{"workspace":"/tmp"}"#).status, 403);
    assert_eq!(create.try_socket("/api/chat", &[]).err().unwrap().status, 403);
}

#[test]
fn an_owner_stops_the_daemon_from_elsewhere() {
    let mut swb = Swb::start(SWB);
    let mut control = swb.web().socket("/api/control");
    assert_eq!(control.ask(&json!(1), json!({"cmd": "shutdown"}))["ok"], true);
    control.closed();
    assert!(swb.daemon().wait().unwrap().success());
}

#[test]
fn a_conversation_is_held_over_a_socket() {
    let swb = Swb::start(SWB);
    let web = swb.web();
    let mut chat = web.socket("/api/chat");
    chat.text(&json!({"type": "auth_request", "request_id": "1", "data": {"client_type": "web"}}));
    let welcome = chat.message("auth_response");
    assert_eq!(
        (&welcome["request_id"], &welcome["data"]["success"]),
        (&json!("1"), &json!(true)),
        "{welcome}"
    );
    let dir = swb.workspace("w");
    chat.text(&json!({"type": "session_create", "request_id": "2", "data": {"working_dir": dir, "session_id": "talk"}}));
    assert_eq!(chat.message("session_create_response")["data"]["session_id"], "talk");
    // CO-46
    chat.text(&json!({"type": "chat_send", "request_id": "3", "data": {"content": "/exit"}}));
    let withheld = chat.message("error");
    assert_eq!(
        (&withheld["request_id"], &withheld["error"]["code"]),
        (&json!("3"), &json!("OPERATION_NOT_ALLOWED"))
    );
    chat.raw_text("{\"type\":\"ping\"}\n{\"type\":\"ping\"}");
    chat.closed();
}
