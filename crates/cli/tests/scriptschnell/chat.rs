//! Answers on the scriptschnell socket: streams, tools, progress, stops, failures.

use serde_json::{Value, json};
use std::time::{Duration, Instant};
use swb_testkit::{ChatClient, LIMIT, Swb, of_kind, refusal, wait_for};
use swb_types::Timestamp;

const EXE: &str = env!("CARGO_BIN_EXE_swb");
/// How long a stop may take.
const STOP: Duration = Duration::from_secs(2);

fn count(client: &mut ChatClient, name: &str) -> Value {
    let listed = client.ok_as("session_list", json!({}), "session_list_response");
    let sessions = listed["sessions"].as_array().unwrap();
    sessions.iter().find(|session| session["session_id"] == name).unwrap()["message_count"].clone()
}

// SS-49, SS-52
#[test]
fn a_prompt_is_echoed_answered_and_completed() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    let options = json!({"temperature": 0.7, "max_tokens": 2000});
    for (kind, key) in [("chat_send", "content"), ("prompt", "content"), ("chat_send", "prompt")] {
        let id = client.begin(kind, json!({key: "say:Hello;say:, world", "options": options}));
        let generation = client.generation(&id);
        let messages = generation.all("chat_message");
        let user = &messages[0];
        assert_eq!((&user["role"], &user["content"]), (&json!("user"), &json!("say:Hello;say:, world")));
        assert_eq!(user["session_id"], "talk");
        assert!(
            messages[1..].iter().all(|chunk| chunk["role"] == "assistant" && chunk["session_id"] == "talk")
        );
        assert_ne!(messages[1]["stream_id"], user["stream_id"]);
        assert_eq!(generation.text(), "Hello, world");
        assert_eq!(generation.answer["type"], "chat_send");
        assert_eq!(generation.answer["data"]["status"], "completed");
        assert!(client.so_far().is_empty(), "one answer, and nothing after it");
    }
}

// SS-52: each answer has a stream of its own.
#[test]
fn streams_have_distinct_ids() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    let mut streams = std::collections::BTreeSet::new();
    for _ in 0..3 {
        let messages = client.chat("chunks:3").all("chat_message");
        assert!(streams.insert(messages[1]["stream_id"].as_str().unwrap().to_owned()));
    }
}

// SS-53: the whole text in order; no character is split.
#[test]
fn chunks_make_up_the_text() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    let numbers: String = (0..2000).map(|n| format!("{n} ")).collect();
    assert_eq!(client.answer_to("chunks:2000"), numbers);
    assert_eq!(
        client.answer_to("split:äöü€🐔👩\u{200d}👩\u{200d}👧e\u{301}"),
        "äöü€🐔👩\u{200d}👩\u{200d}👧e\u{301}"
    );
    assert_eq!(client.answer_to("say:tab\\nline\\n\\n  indented"), "tab\nline\n\n  indented");
    assert_eq!(client.answer_to("big:3000000").len(), 3_000_000);
    assert_eq!(client.answer_to("what nobody understands"), "you said: what nobody understands");
}

// SS-52: an answer without a word has one final chunk, too.
#[test]
fn an_empty_answer_is_complete() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    let generation = client.chat("sleep:1");
    assert_eq!((generation.status(), generation.text().as_str()), ("completed", ""));
}

// SS-54
#[test]
fn reasoning_is_sent_as_text() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    let generation = client.chat("think:let me see;say:here");
    assert_eq!(generation.text(), "here");
    let mut thoughts = String::new();
    for event in &generation.events {
        if let Some(reasoning) = event["data"].get("reasoning") {
            thoughts.push_str(reasoning.as_str().expect("a string"));
        }
        if let Some(at) = event["data"].get("timestamp") {
            Timestamp::parse(at.as_str().unwrap()).unwrap();
        }
    }
    assert_eq!(thoughts, "let me see");
}

// SS-50
#[test]
fn prompts_that_cannot_be_sent_are_refused() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat();
    for kind in ["chat_send", "chat_clear"] {
        assert_eq!(client.refused(kind, json!({"content": "hi"})), "OPERATION_NOT_ALLOWED", "{kind}");
    }
    // SS-55
    assert_eq!(client.ok("chat_stop", json!({})), json!({"status": "stopped"}), "nothing runs");
    assert_eq!(client.refused("chat_stop", json!({"session_id": "talk"})), "OPERATION_NOT_ALLOWED");
    client.create(json!({"workspace": swb.dir().join("w"), "session_id": "talk"}));
    for data in [json!({}), json!({"content": ""}), json!({"content": " \n\t"}), json!({"content": null})] {
        assert_eq!(client.refused("chat_send", data.clone()), "INVALID_REQUEST", "{data}");
    }
    let id = client.prompt("say:begun;stall");
    client.until("begun");
    assert_eq!(client.refused("chat_send", json!({"content": "more"})), "OPERATION_NOT_ALLOWED");
    assert_eq!(client.refused("chat_clear", json!({})), "OPERATION_NOT_ALLOWED");
    client.ok("chat_stop", json!({}));
    client.generation(&id);
    assert_eq!(count(&mut client, "talk"), 2);
    assert_eq!(client.answer_to("say:again"), "again");
}

// SS-55: what is sent right after the reply to a stop waits until the agent has stopped.
#[test]
fn a_prompt_or_a_clear_right_after_a_stop_is_accepted() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    for kind in ["chat_send", "chat_clear"] {
        // It ignores the request to stop, so that it has not stopped when the reply arrives.
        let stopped = client.prompt("say:begun;hang");
        client.until("begun");
        client.ok("chat_stop", json!({}));
        if kind == "chat_clear" {
            assert_eq!(client.ok("chat_clear", json!({})), json!({"status": "cleared"}));
            continue;
        }
        let again = client.prompt("say:again");
        assert_eq!(client.generation(&stopped).status(), "stopped");
        assert_eq!(client.generation(&again).text(), "again");
    }
    assert_eq!(count(&mut client, "talk"), 0);
}

// SS-51: a generation does not keep its connection from anything.
#[test]
fn a_connection_can_be_used_during_a_generation() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    let gate = swb.dir().join("gate");
    let id = client.prompt(&format!("say:begun;await:{};permit:ls", gate.display()));
    client.until("begun");
    assert_eq!(client.ask("ping", json!({}))["type"], "pong");
    client.ok_as("session_list", json!({}), "session_list_response");
    client.ok_as("workspace_list", json!({}), "workspace_list_response");
    client.ok("config_get", json!({}));
    client.ok("config_set", json!({"temperature": 0.5}));
    assert_eq!(client.refused("frobnicate", json!({})), "INVALID_REQUEST");
    std::fs::write(&gate, "").unwrap();
    let asked = client.event("authorization_request");
    client.send(
        &json!({"type": "authorization_response", "data": {"auth_id": asked["auth_id"], "approved": true}}),
    );
    let generation = client.generation(&id);
    assert_eq!(generation.status(), "completed");
}

// SS-51: nor does it keep others.
#[test]
fn a_slow_agent_delays_no_other_session() {
    let swb = Swb::scripted(EXE, "");
    let mut slow = swb.chat_in("slow");
    slow.prompt("say:begun;hang");
    slow.until("begun");
    let mut quick = swb.chat_in("quick");
    assert_eq!(quick.answer_to("say:quick"), "quick");
}

// SS-55, Q-59: even if the agent is busy, it is over within two seconds.
#[test]
fn a_stop_ends_every_agent_in_time() {
    for doing in [
        "stall",
        "hang",
        "deaf",
        "sleep:100000",
        "stamp:100000,1",
        "flood:100000000",
        "permit:ls",
        "term:sleep 1000",
    ] {
        let swb = Swb::scripted(EXE, "");
        let mut client = swb.chat_in("talk");
        let id = client.prompt(&format!("say:begun\\n;{doing}"));
        client.until("begun");
        let began = Instant::now();
        assert_eq!(client.ok("chat_stop", json!({}))["status"], "stopped", "{doing}");
        let answered = began.elapsed();
        let generation = client.generation(&id);
        let took = began.elapsed();
        assert!(answered < STOP && took < STOP, "{doing}: {answered:?}, {took:?}");
        assert_eq!(
            (generation.answer["type"].as_str(), generation.status()),
            (Some("chat_send"), "stopped"),
            "{doing}"
        );
        let last = generation.all("chat_message").pop();
        assert!(last.is_none_or(|chunk| chunk["is_final"] == true), "{doing}");
        assert_eq!(client.answer_to("say:and on"), "and on", "{doing}");
    }
}

// SS-55: the stream that is stopped has its final chunk, and what was sent is kept.
#[test]
fn text_before_a_stop_is_kept() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    let mut observer = swb.chat_at("talk");
    let id = client.prompt("say:as far as this;stall");
    observer.until("as far as this");
    client.ok("chat_stop", json!({}));
    let generation = client.generation(&id);
    assert_eq!((generation.text().as_str(), generation.status()), ("as far as this", "stopped"));
    let loaded = client.ok("session_load", json!({"session_id": "talk"}));
    assert_eq!(loaded["messages"][1]["content"], "as far as this");
}

// SS-55: with nothing running it is answered the same and does nothing.
#[test]
fn a_stop_without_a_generation_does_nothing() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    for _ in 0..2 {
        assert_eq!(client.ok("chat_stop", json!({})), json!({"status": "stopped"}));
    }
    assert_eq!(client.answer_to("say:hello"), "hello");
    client.ok("chat_stop", json!({}));
    assert!(client.so_far().is_empty());
    assert_eq!(client.answer_to("say:again"), "again");
}

// SS-56
#[test]
fn a_conversation_can_be_cleared() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    client.answer_to("say:hello");
    let before = client.answer_to("session");
    assert_eq!(count(&mut client, "talk"), 4);
    assert_eq!(client.ok("chat_clear", json!({})), json!({"status": "cleared"}));
    assert_eq!(count(&mut client, "talk"), 0);
    // The agent has forgotten it, too.
    let after = client.answer_to("session");
    assert_ne!(before.split(' ').next(), after.split(' ').next());
    assert_eq!(count(&mut client, "talk"), 2);
}

// SS-57
#[test]
fn tools_are_called_and_have_results() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    let generation = client.chat("tool:read:main.rs;say:between;toolfail:false;toolopen:forgotten");
    assert_eq!(generation.text(), "between");
    let (calls, results) = (generation.all("tool_call"), generation.all("tool_result"));
    assert_eq!((calls.len(), results.len()), (3, 3), "{:?}", generation.events);
    for (call, result) in calls.iter().zip(&results) {
        assert_eq!((&call["tool_id"], &call["session_id"]), (&result["tool_id"], &json!("talk")));
        assert!(
            call["tool_name"].as_str().is_some_and(|name| !name.is_empty()) && call["parameters"].is_object()
        );
        assert_eq!(result["session_id"], "talk");
        assert!(result.get("result").is_some() && result.get("error").is_some(), "{result}");
        let at = |kind: &str| {
            let found = |event: &Value| event["type"] == kind && event["data"]["tool_id"] == call["tool_id"];
            generation.events.iter().position(found).unwrap()
        };
        assert!(at("tool_call") < at("tool_result"));
    }
    assert_eq!(calls[0]["parameters"]["path"], "main.rs");
    let ends: Vec<_> = results.iter().map(|result| result["status"].as_str().unwrap()).collect();
    assert_eq!(ends, ["completed", "failed", "failed"]);
    assert!(
        results[0]["result"].as_str().unwrap().contains("result of main.rs") && results[0]["error"].is_null()
    );
    assert!(results[1]["error"].is_string() && results[2]["error"].is_string());
}

// SS-58: who lists the capability gets both in one form, and no other client does.
#[test]
fn tool_events_are_compact_on_request() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    let mut compact = swb.chat_raw();
    compact.auth(&["progress", "tool_compact"]);
    compact.ok("session_attach", json!({"session_id": "talk"}));
    let generation = client.chat("tool:read:main.rs;toolfail:false");
    assert!(generation.all("tool_compact").is_empty());
    let seen = compact.so_far();
    assert!(of_kind(&seen, "tool_call").is_empty() && of_kind(&seen, "tool_result").is_empty());
    let told = of_kind(&seen, "tool_compact");
    let states: Vec<_> = told.iter().map(|tool| tool["status"].as_str().unwrap()).collect();
    assert_eq!(states, ["calling", "completed", "calling", "error"], "{told:?}");
    assert!(told.iter().all(|tool| tool["tool_name"].is_string() && tool["tool_id"].is_string()));
    assert!(told[1]["result"].as_str().unwrap().contains("result of main.rs"));
}

// SS-59
#[test]
fn progress_is_sent() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    let generation = client.chat("plan:look around,write it,test it;usage:50,200;say:done");
    let progress = generation.all("progress");
    assert!(!progress.is_empty());
    for event in &progress {
        assert!(event["message"].is_string() && event["context_usage"].is_number(), "{event}");
        assert!(event["ephemeral"].is_boolean() && event["verification_agent"].is_boolean(), "{event}");
        assert_eq!(event["session_id"], "talk");
        // Otherwise the original's command line prints it as a part of the answer.
        assert_eq!(event["mode"], "1");
    }
    let told: String = progress.iter().filter_map(|event| event["message"].as_str()).collect();
    assert!(["look around", "write it", "test it"].iter().all(|entry| told.contains(entry)), "{told}");
    assert!(progress.iter().any(|event| event["context_usage"] == 25), "{progress:?}");
}

// An agent that fails is an error with words, and the conversation goes on.
#[test]
fn an_agent_that_fails_is_an_error() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    for (doing, words) in [("fail:no luck today", "no luck today"), ("crash:7", ""), ("partial", "")] {
        let generation = client.chat(&format!("say:half;{doing}"));
        assert_eq!(refusal(&generation.answer), "INTERNAL_ERROR", "{doing}");
        assert!(
            generation.answer["error"]["message"].as_str().unwrap().contains(words),
            "{}",
            generation.answer
        );
        assert_eq!(generation.text(), "half", "{doing}");
        assert_eq!(client.answer_to("say:and on"), "and on", "{doing}");
    }
}

// Invalid messages of an agent are not passed on.
#[test]
fn stray_agent_output_is_not_forwarded() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    assert_eq!(client.answer_to("say:a;garbage:3;wrong;say:b"), "ab");
}

// SS-80: an agent that cannot be started, or is not there, is reported with what to do.
#[test]
fn a_missing_agent_is_an_error_with_a_hint() {
    for (config, code) in [
        ("[chat]\nbackend = \"none\"", "NOT_IMPLEMENTED"),
        ("[chat]\nbackend = \"nobody\"", "NOT_IMPLEMENTED"),
        ("[chat]\nbackend = \"acp\"", "NOT_IMPLEMENTED"),
        (
            "[chat]\nbackend = \"a\"\n[[agents]]\nname = \"a\"\nkind = \"acp\"\ncommand = [\"/no/such/agent\"]",
            "",
        ),
    ] {
        let mut swb = Swb::new(EXE);
        swb.configure(config);
        swb.start_daemon();
        let mut client = swb.chat_in("talk");
        let answer = client.chat("hello").answer;
        let got = refusal(&answer);
        assert!(
            if code.is_empty() { got != "OPERATION_NOT_ALLOWED" } else { got == code },
            "{config}: {answer}"
        );
        let words = answer["error"]["message"].as_str().unwrap();
        assert!(words.contains("agent"), "{words}");
        // It is still a conversation.
        assert_eq!(refusal(&client.chat("hello").answer), got);
    }
}

// SS-52: text arrives on the socket as it is generated, not at the end.
#[test]
fn chunks_are_sent_as_they_arrive() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    let gates: Vec<_> = (0..3).map(|n| swb.dir().join(format!("gate{n}"))).collect();
    let steps: Vec<String> =
        gates.iter().enumerate().map(|(n, gate)| format!("say:<{n}>;await:{}", gate.display())).collect();
    let id = client.prompt(&steps.join(";"));
    for (n, gate) in gates.iter().enumerate() {
        client.until(&format!("<{n}>"));
        std::fs::write(gate, "").unwrap();
    }
    assert_eq!(client.generation(&id).status(), "completed");
}

// A generation may be answered only once, also when it is stopped while it ends.
#[test]
fn a_concurrent_stop_and_end_give_one_result() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    for n in 0..30 {
        let id = client.prompt(&format!("chunks:{n}"));
        let stop = client.begin("chat_stop", json!({}));
        let answer = client.answer(&id);
        assert!(["completed", "stopped"].contains(&answer["data"]["status"].as_str().unwrap()), "{answer}");
        assert_eq!(client.answer(&stop)["data"]["status"], "stopped");
        let seen = client.so_far();
        assert_eq!(seen.iter().filter(|message| message["type"] == "chat_send").count(), 0);
        let finals = of_kind(&seen, "chat_message")
            .iter()
            .filter(|m| m["role"] == "assistant" && m["is_final"] == true)
            .count();
        assert_eq!(finals, 1);
    }
    wait_for("an answer", || client.message(LIMIT.min(Duration::from_millis(1))).is_none().then_some(()));
}
