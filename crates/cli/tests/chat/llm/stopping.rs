//! Answers that are stopped, by a client or by the end of the daemon.

use super::{STOPS_WITHIN, tool, uses};
use crate::support::models::{APIS, Canned, Reply, Rig, daemon};
use serde_json::{Value, json};
use std::fs;
use std::time::Instant;
use swb_testkit::{Generation, wait_for};

#[track_caller]
fn stops(rig: &mut Rig, id: &str, what: &str) -> Generation {
    let began = Instant::now();
    rig.client.ok("chat_stop", json!({}));
    let generation = rig.client.generation(id);
    assert_eq!(generation.status(), "stopped", "{what}: {}", generation.answer);
    assert!(began.elapsed() < STOPS_WITHIN, "{what}: {:?}", began.elapsed());
    generation
}

// SS-55
#[test]
fn a_silent_model_can_be_stopped() {
    for api in APIS {
        let rules = json!([
            {"match": "hello", "text": "one two three four", "chunk": 4, "stall_after": 8},
            {"match": "again", "text": "fine"},
        ]);
        let mut rig = Rig::new(api, &rules, "");
        let id = rig.client.prompt("hello");
        rig.client.until("two ");
        stops(&mut rig, &id, api);
        wait_for("the server to be left", || {
            rig.stub.log().iter().any(|event| event["event"] == "reply_aborted").then_some(())
        });
        assert_eq!(rig.chat("again").text(), "fine", "{api}");
    }
}

// SS-55
#[test]
fn waiting_for_a_busy_server_can_be_stopped() {
    let body = json!({"error": {"message": "slow down"}}).to_string();
    let server = Canned::start(vec![Reply::Status(429, "retry-after: 50\r\n", body)]);
    let swb = daemon("anthropic", server.url(), "");
    let mut client = swb.chat_in("talk");
    let id = client.prompt("hello");
    client.event("progress");
    let began = Instant::now();
    client.ok("chat_stop", json!({}));
    assert_eq!(client.generation(&id).status(), "stopped");
    assert!(began.elapsed() < STOPS_WITHIN, "{:?}", began.elapsed());
}

// SS-55, SS-57
#[test]
fn a_command_is_stopped_with_all_it_started() {
    for api in APIS {
        let command = "sleep 3600 & echo $! > pid; sleep 3600";
        let rules = uses("run it", "execute_command", json!({"command": command}), "end");
        let mut rig = Rig::new(api, &json!(rules), "[chat.allow]\ntools = [\"execute_command\"]\n");
        let id = rig.client.prompt("run it");
        let file = rig.dir().join("pid");
        let pid: i64 = wait_for("the command", || fs::read_to_string(&file).ok()?.trim().parse().ok());
        let generation = stops(&mut rig, &id, api);
        assert_eq!(tool(&generation).1["status"], "failed", "{api}");
        wait_for("the end of what it started", || (!swb_testkit::is_alive(pid)).then_some(()));
    }
}

// SS-55, SS-57
#[test]
fn approvals_and_questions_are_stopped_with_the_answer() {
    for api in APIS {
        let rules: Vec<Value> = [
            uses("run it", "execute_command", json!({"command": "touch done"}), "end"),
            uses("ask me", "ask_user", json!({"question": "well?"}), "end"),
        ]
        .concat();
        let mut rig = Rig::new(api, &json!(rules), "");
        for (prompt, event) in [("run it", "authorization_request"), ("ask me", "question_request")] {
            let id = rig.client.prompt(prompt);
            rig.client.event(event);
            let generation = stops(&mut rig, &id, prompt);
            assert_eq!(tool(&generation).1["status"], "failed", "{api}");
        }
        assert!(!rig.dir().join("done").exists());
        assert_eq!(rig.stub.requests(), 2, "{api}: no request is sent after the end");
    }
}

#[test]
fn nothing_a_model_has_started_outlives_the_daemon() {
    for api in APIS {
        let command = "setsid sleep 3600 & echo $! > pid; sleep 3600";
        let [start, end] = uses("run it", "execute_command", json!({"command": command}), "end");
        // Beats the others: it is found in the newest prompt.
        let again = json!({"match": "and now", "text": "it goes on"});
        let rules = json!([start, end, again]);
        let mut rig = Rig::new(api, &rules, "[chat.allow]\ntools = [\"execute_command\"]\n");
        rig.client.prompt("run it");
        let file = rig.dir().join("pid");
        let pid: i64 = wait_for("the command", || fs::read_to_string(&file).ok()?.trim().parse().ok());
        rig.swb.kill_daemon();
        wait_for("the end of what it started", || (!swb_testkit::is_alive(pid)).then_some(()));
        let mut client = rig.swb.chat_at("talk");
        let list = client.ok_as("session_list", json!({}), "session_list_response");
        let history = list["sessions"][0]["message_history"].to_string();
        assert!(history.contains("run it") && history.contains("I try."), "{api}: {history}");
        assert_eq!(client.answer_to("and now"), "it goes on", "{api}");
    }
}
