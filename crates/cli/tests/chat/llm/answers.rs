//! Answers, and the settings of the model that gives them.

use super::{EXE, failure};
use crate::support::models::{APIS, Canned, Reply, Rig, answer, daemon};
use serde_json::{Value, json};
use swb_testkit::Swb;

// SS-49, SS-52, SS-53, SS-59
#[test]
fn an_answer_is_streamed_and_counted() {
    for api in APIS {
        let text = "größer\nals 🎈 gedacht";
        let rules = json!([{"match": "hello", "text": text, "chunk": 1}]);
        let mut rig = Rig::new(api, &rules, "");
        let generation = rig.chat("hello");
        assert_eq!(generation.text(), text);
        assert!(generation.all("chat_message").len() > 3, "in pieces: {:?}", generation.events);
        // The server counts 10 tokens read and a quarter of the characters written; a token read costs a dollar.
        let data = &generation.answer["data"];
        assert_eq!(
            (&data["usage"]["total_tokens"], &data["usage"]["total_cost"]),
            (&json!(15), &json!(20.0)),
            "{api}: {data}"
        );
        assert_eq!(data["context_usage"], 10, "{api}: {data}");
        assert!(generation.all("progress").iter().any(|event| event["context_usage"] == 10));
    }
}

#[test]
fn the_model_gets_the_earlier_conversation() {
    for api in APIS {
        let rules = json!([
            {"match": "(?s)alpha.*beta", "text": "both"},
            {"match": "alpha", "text": "one"},
        ]);
        let mut rig = Rig::new(api, &rules, "");
        assert_eq!(rig.chat("alpha").text(), "one");
        assert_eq!(rig.chat("beta").text(), "both");
        rig.client.ok("chat_clear", json!({}));
        assert_eq!(rig.chat("beta").text(), "no rule", "{api}: what was cleared is forgotten");
    }
}

// SS-68
#[test]
fn the_most_specific_setting_applies() {
    for api in APIS {
        let server = Canned::start(vec![Reply::Stream(answer(api, "ok", &[]))]);
        let swb = daemon(api, server.url(), "");
        let mut client = swb.chat_in("talk");
        client.answer_to("one");
        client.ok("config_set", json!({"model": "other", "temperature": 0.5, "max_tokens": 30}));
        client.answer_to("two");
        let options = json!({"temperature": 0.25, "max_tokens": 40});
        let id = client.begin("chat_send", json!({"content": "three", "options": options}));
        assert_eq!(client.generation(&id).status(), "completed");
        let said =
            |body: &Value| (body["model"].clone(), body["temperature"].clone(), body["max_tokens"].clone());
        let bodies = server.bodies();
        assert_eq!(said(&bodies[0]), (json!("stub"), Value::Null, json!(20)), "{api}");
        assert_eq!(said(&bodies[1]), (json!("other"), json!(0.5), json!(30)), "{api}");
        assert_eq!(said(&bodies[2]), (json!("other"), json!(0.25), json!(40)), "{api}");
    }
}

// SS-80
#[test]
fn a_missing_key_is_named() {
    let mut swb = Swb::new(EXE);
    let agent =
        |api: &str| format!("[[agents]]\nname = \"{api}\"\nkind = \"llm\"\napi = \"{api}\"\nmodel = \"m\"\n");
    swb.configure(&format!("[chat]\nbackend = \"anthropic\"\n{}{}", agent("anthropic"), agent("openai")));
    swb.start_daemon_with(|command| {
        command.env_remove("ANTHROPIC_API_KEY").env_remove("OPENAI_API_KEY");
    });
    let mut client = swb.chat_in("talk");
    let generation = client.chat("hello");
    assert_eq!(generation.status(), "NOT_IMPLEMENTED");
    assert!(failure(&generation).contains("ANTHROPIC_API_KEY"), "{}", generation.answer);
}
