//! Servers that fail.

use super::{failure, progress, uses};
use crate::support::models::{APIS, Canned, Reply, Rig, answer, daemon, events};
use serde_json::{Value, json};
use std::fs;
use std::time::{Duration, Instant};

#[test]
fn busy_servers_are_retried() {
    for api in APIS {
        for status in [429, 500, 502, 503, 529] {
            let error = json!({"status": status, "message": "come back"});
            let rules = json!([
                {"match": "hello", "times": 1, "error": error},
                {"match": "hello", "text": "at last"},
            ]);
            let mut rig = Rig::new(api, &rules, "");
            let generation = rig.chat("hello");
            assert_eq!(generation.text(), "at last", "{api} {status}");
            let told = progress(&generation);
            let told = told.iter().find(|message| message.contains("trying again in"));
            assert!(told.unwrap().contains(&format!("{status}: come back")), "{told:?}");
            assert_eq!(rig.stub.requests(), 2, "{api} {status}");
        }
    }
}

#[test]
fn the_retry_after_header_is_respected() {
    let body = || json!({"error": {"message": "slow down"}}).to_string();
    let soon = Canned::start(vec![
        Reply::Status(429, "retry-after: 1\r\n", body()),
        Reply::Stream(answer("openai", "ok", &[])),
    ]);
    let swb = daemon("openai", soon.url(), "");
    let mut client = swb.chat_in("talk");
    let began = Instant::now();
    let generation = client.chat("hello");
    assert_eq!(generation.text(), "ok");
    assert!(began.elapsed() >= Duration::from_secs(1), "{:?}", began.elapsed());
    assert!(progress(&generation).iter().any(|message| message.contains("again in 1.0 s")), "{generation:?}");

    let late = Canned::start(vec![Reply::Status(429, "retry-after: 3600\r\n", body())]);
    let swb = daemon("openai", late.url(), "");
    let generation = swb.chat_in("talk").chat("hello");
    assert!(failure(&generation).contains("3600 s"), "{}", generation.answer);
    assert_eq!(late.bodies().len(), 1);
}

#[test]
fn permanent_errors_are_not_retried() {
    for api in APIS {
        for (status, message, words) in [
            (400, "no such thing", "400: no such thing"),
            (401, "bad key", "_API_KEY"),
            (404, "no such model", "no such model"),
        ] {
            let error = json!({"status": status, "message": message});
            let mut rig = Rig::new(api, &json!([{"match": "hello", "error": error}]), "");
            let generation = rig.client.chat("hello");
            assert!(failure(&generation).contains(words), "{api}: {}", generation.answer);
            assert_eq!(rig.stub.requests(), 1, "{api} {status}");
        }
    }
}

#[test]
fn a_conversation_that_is_too_long_is_reported() {
    for (api, message) in [
        ("anthropic", "prompt is too long: 300 tokens > 200 maximum"),
        ("openai", "This model's maximum context length is 200 tokens"),
    ] {
        let error = json!({"status": 400, "message": message});
        let mut rig = Rig::new(api, &json!([{"match": "hello", "error": error}]), "");
        let words = failure(&rig.client.chat("hello"));
        assert!(
            words.contains("longer than the model's context window") && words.contains(message),
            "{words}"
        );
    }
}

#[test]
fn old_results_are_shortened_when_a_conversation_is_too_long() {
    let mut rules: Vec<Value> = Vec::new();
    for n in 1..=2 {
        rules.extend(uses(&format!("read {n}"), "read_file", json!({"path": "long"}), "end"));
    }
    let mut rig = Rig::new("anthropic", &json!(rules), "");
    fs::write(rig.dir().join("long"), "0123456789\n".repeat(1000)).unwrap();
    rig.chat("read 1");
    let generation = rig.chat("read 2");
    assert!(progress(&generation).iter().any(|message| message.contains("shortened")), "{generation:?}");
}

#[test]
fn a_connection_lost_before_the_answer_is_retried() {
    for api in APIS {
        let half = answer(api, "lost", &[]);
        // Up to the first text, which is not yet complete.
        let half = half[..half.find("lost").unwrap()].to_owned();
        let server = Canned::start(vec![
            Reply::Hang,
            Reply::Cut(String::new()),
            Reply::Cut(half.clone()),
            Reply::Stream(half),
            Reply::Stream(answer(api, "found", &[])),
        ]);
        let swb = daemon(api, server.url(), "");
        let generation = swb.chat_in("talk").chat("hello");
        assert_eq!((generation.status(), generation.text().as_str()), ("completed", "found"), "{api}");
        assert_eq!(server.bodies().len(), 5, "{api}");
    }
}

/// Where the last events of a stream begin, the last one first.
fn ends(stream: &str) -> [usize; 2] {
    let last = stream.rfind("data").unwrap();
    [last, stream[..last].rfind("data").unwrap()]
}

#[test]
fn a_complete_answer_needs_no_end_marker() {
    for api in APIS {
        let whole = answer(api, "found", &[]);
        let [farewell, _] = ends(&whole);
        // The line after it, and its own end, are missing; of OpenAI's stream also the final marker.
        let cuts = match api {
            "openai" => vec![whole.len() - 1, whole.len() - 2, farewell + 4, farewell],
            _ => vec![whole.len() - 1, whole.len() - 2],
        };
        for text in cuts.into_iter().map(|end| whole[..end].to_owned()) {
            for reply in [Reply::Stream(text.clone()), Reply::Cut(text)] {
                let server = Canned::start(vec![reply.clone()]);
                let swb = daemon(api, server.url(), "");
                let generation = swb.chat_in("talk").chat("hello");
                assert_eq!(generation.status(), "completed", "{api} {reply:?}: {}", generation.answer);
                assert_eq!(
                    (generation.text().as_str(), server.bodies().len()),
                    ("found", 1),
                    "{api} {reply:?}"
                );
            }
        }
    }
}

#[test]
fn an_incomplete_answer_is_an_error() {
    for api in APIS {
        let whole = answer(api, "found", &[]);
        let [farewell, reason] = ends(&whole);
        let end = if api == "openai" { reason } else { farewell };
        for text in [whole[..end].to_owned(), whole[..end + 10].to_owned()] {
            for reply in [Reply::Stream(text.clone()), Reply::Cut(text)] {
                let server = Canned::start(vec![reply.clone()]);
                let swb = daemon(api, server.url(), "");
                let generation = swb.chat_in("talk").chat("hello");
                let words = failure(&generation);
                assert!(words.contains("broke off") && words.contains("kept"), "{api} {reply:?}: {words}");
                let said = (generation.text(), server.bodies().len());
                assert_eq!(said, ("found".to_owned(), 1), "{api} {reply:?}: not said twice");
            }
        }
    }
}

#[test]
fn text_before_a_lost_connection_is_kept() {
    for api in APIS {
        let rules = json!([
            {"match": "hello", "text": "one two three four five six", "chunk": 4, "drop_after": 8},
            {"match": "again", "text": "fine"},
        ]);
        let mut rig = Rig::new(api, &rules, "");
        let generation = rig.client.chat("hello");
        assert!(failure(&generation).contains("broke off"), "{api}: {}", generation.answer);
        assert_eq!((generation.text().as_str(), rig.stub.requests()), ("one two ", 1), "{api}");
        let list = rig.client.ok_as("session_list", json!({}), "session_list_response");
        let history = &list["sessions"][0]["message_history"];
        assert!(history.to_string().contains("one two "), "{list}");
        assert_eq!(rig.chat("again").text(), "fine", "{api}: the conversation goes on");
    }
}

#[test]
fn invalid_replies_are_errors() {
    for api in APIS {
        let bodies = [
            (Reply::Stream("data: {\n\n".to_owned()), "invalid reply"),
            (
                Reply::Stream(events(&[
                    json!({"type": "error", "error": {"type": "x", "message": "broken"}}),
                ])),
                "broken",
            ),
            (Reply::Status(200, "content-type: application/json\r\n", "{}".to_owned()), "does not stream"),
            (Reply::Status(302, "location: http://example.org/\r\n", String::new()), "302"),
        ];
        for (reply, words) in bodies {
            let server = Canned::start(vec![reply.clone()]);
            let swb = daemon(api, server.url(), "");
            let generation = swb.chat_in("talk").chat("hello");
            assert!(failure(&generation).contains(words), "{api} {reply:?}: {}", generation.answer);
        }
    }
}
