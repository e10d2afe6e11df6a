//! Edge cases of the scriptschnell socket: agents chosen before the session, clients that attach in the middle
//! of an answer, clients that have closed their sending half, sessions that are unloaded.

use serde_json::{Value, json};
use std::net::Shutdown;
use swb_testkit::{Swb, of_kind, wait_for};

const EXE: &str = env!("CARGO_BIN_EXE_swb");

// SS-68: an agent that was chosen before the first prompt answers all of them.
#[test]
fn an_agent_chosen_before_the_session_is_kept() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat();
    let options = json!({"agent": "scripted"});
    client.create(json!({"workspace": swb.dir().join("w"), "session_id": "talk", "options": options}));
    let first = client.answer_to("pid");
    assert_eq!(client.answer_to("pid"), first, "the same process answers");
    client.ok("chat_stop", json!({}));
    assert_eq!(client.answer_to("pid"), first);
}

// SS-53: a client that attaches in the middle of an answer has all of its text in the end.
#[test]
fn a_client_that_attaches_during_an_answer_misses_nothing() {
    let swb = Swb::scripted(EXE, "");
    let mut owner = swb.chat_in("talk");
    let gate = swb.dir().join("gate");
    let id = owner.prompt(&format!("say:one,;say:two,;await:{};say:three", gate.display()));
    owner.until("one,two,");
    let mut late = swb.chat_at("talk");
    let mut loading = swb.chat();
    let loaded = loading.ok("session_load", json!({"session_id": "talk"}));
    assert_eq!(loaded["messages"].as_array().unwrap().len(), 1, "the prompt");
    assert_eq!(loaded["terminal"], json!(null), "no terminal answers");
    std::fs::write(&gate, "").unwrap();
    assert_eq!(owner.generation(&id).status(), "completed");
    for client in [&mut late, &mut loading] {
        let mut seen = Vec::new();
        while seen.last().is_none_or(|last: &Value| last["is_final"] != true) {
            seen.push(client.event("chat_message"));
        }
        let text: String = seen.iter().map(|chunk| chunk["content"].as_str().unwrap()).collect();
        assert_eq!(text, "one,two,three");
        // SS-52
        assert!(seen.iter().enumerate().all(|(at, chunk)| chunk["chunk_index"] == at), "{seen:?}");
    }
}

// SS-49: a client that has closed its side for writing still hears the end of what it began.
#[test]
fn a_half_closed_client_still_gets_the_end() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    let gate = swb.dir().join("gate");
    client.prompt(&format!("say:one;await:{};say:two", gate.display()));
    client.socket().shutdown(Shutdown::Write).unwrap();
    client.until("one");
    std::fs::write(&gate, "").unwrap();
    let seen = client.to_end();
    let ended = seen.iter().find(|message| message["type"] == "chat_send");
    assert_eq!(ended.unwrap()["data"]["status"], "completed");
    assert!(of_kind(&seen, "chat_message").iter().any(|chunk| chunk["content"] == "two"), "{seen:?}");
}

// SS-27, SS-48: what is to be saved by itself is saved when it leaves memory.
#[test]
fn a_session_with_auto_save_is_saved_before_it_is_unloaded() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat();
    let options = json!({"auto_save": true, "save_interval_seconds": 3600});
    client.create(json!({"workspace": swb.dir().join("w"), "session_id": "talk", "options": options}));
    client.answer_to("say:one");
    client.ask("close", json!({"preserve_session": false}));
    let mut client = swb.chat();
    let loaded = wait_for("the session to be on disk", || {
        let answer = client.ask("session_load", json!({"session_id": "talk"}));
        (answer["type"] == "session_load").then(|| answer["data"]["messages"].clone())
    });
    assert_eq!(loaded.as_array().unwrap().len(), 2);
}

// SS-61: an acknowledgement is no decision, with any other fields.
#[test]
fn an_acknowledgement_with_a_verdict_decides_nothing() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    let id = client.prompt("permit:make coffee");
    let asked = client.event("authorization_request");
    client.send(&json!({"type": "authorization_response",
        "data": {"auth_id": asked["auth_id"], "ack": true, "approved": false}}));
    client.send(&json!({"type": "authorization_response",
        "data": {"auth_id": asked["auth_id"], "approved": true}}));
    assert_eq!(client.generation(&id).text().trim_end(), "permit: yes");
}
