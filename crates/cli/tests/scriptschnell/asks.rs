//! Approvals and questions on the scriptschnell socket. Their timeouts are tested in `crates/chat/tests/asks.rs`.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use swb_testkit::{ChatClient, Swb, of_kind, refusal};

const EXE: &str = env!("CARGO_BIN_EXE_swb");
const STUB: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/agents/stub_llm.py");

/// Decides, and insists that there is no answer.
#[track_caller]
fn decide(client: &mut ChatClient, asked: &Value, approved: bool) {
    let data = json!({"auth_id": asked["auth_id"], "approved": approved});
    client.send(&json!({"type": "authorization_response", "data": data}));
}

// SS-60
#[test]
fn an_approval_is_requested_and_awaited() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    for (approved, said) in [(true, "permit: yes\n"), (false, "permit: no\n")] {
        let id = client.prompt("say:before\\n;permit:cargo test");
        let asked = client.event("authorization_request");
        assert!(asked["auth_id"].as_str().is_some_and(|id| !id.is_empty()), "{asked}");
        assert!(asked["tool_name"].as_str().is_some_and(|name| !name.is_empty()), "{asked}");
        assert_eq!(asked["parameters"]["command"], "cargo test");
        assert!(asked["reason"].is_string());
        assert_eq!(asked["session_id"], "talk");
        client.quiet();
        decide(&mut client, &asked, approved);
        let generation = client.generation(&id);
        // Text before and after the use of a tool is two paragraphs.
        assert_eq!(generation.text(), format!("before\n\n{said}"));
        assert!(generation.all("authorization_response").is_empty());
    }
}

// SS-60: all that an agent offers can be chosen from.
#[test]
fn the_options_of_an_agent_are_sent_unchanged() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    for (answer, said) in [
        (json!({"approved": true, "option": "always"}), "permit: always\n"),
        (json!({"approved": true, "always": true}), "permit: always\n"),
        (json!({"approved": true, "option": "yes"}), "permit: yes\n"),
        (json!({"approved": false, "option": "no"}), "permit: no\n"),
    ] {
        let id = client.prompt("permit:ls");
        let asked = client.event("authorization_request");
        let options = asked["options"].as_array().unwrap();
        assert_eq!(options.len(), 3, "{asked}");
        let mut data = answer.clone();
        data["auth_id"] = asked["auth_id"].clone();
        client.send(&json!({"type": "authorization_response", "data": data}));
        assert_eq!(client.generation(&id).text(), said, "{answer}");
    }
}

// SS-61
#[test]
fn an_acknowledgement_is_not_a_decision_and_has_no_reply() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    let id = client.prompt("permit:ls");
    let asked = client.event("authorization_request");
    client.send(&json!({"type": "authorization_ack", "data": {"auth_id": asked["auth_id"]}}));
    client
        .send(&json!({"type": "authorization_response", "data": {"auth_id": asked["auth_id"], "ack": true}}));
    client.send(
        &json!({"type": "authorization_ack", "request_id": "a", "data": {"auth_id": asked["auth_id"]}}),
    );
    client.quiet();
    decide(&mut client, &asked, true);
    assert_eq!(client.generation(&id).text(), "permit: yes\n");
}

// SS-63, Q-61
#[test]
fn unknown_late_and_repeated_decisions_are_rejected() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    let unknown = json!({"auth_id": "auth-0", "question_id": "question-0", "approved": true, "answer": "x"});
    for kind in ["authorization_response", "question_response"] {
        assert_eq!(client.refused(kind, unknown.clone()), "INVALID_REQUEST", "{kind}");
        client.send(&json!({"type": kind, "data": unknown}));
        assert_eq!(client.event("error"), Value::Null, "without an id, but not in silence");
        assert_eq!(client.refused(kind, json!({})), "INVALID_REQUEST", "{kind}");
    }
    let id = client.prompt("permit:ls;stall");
    let asked = client.event("authorization_request");
    decide(&mut client, &asked, false);
    client.until("permit: no");
    let late = json!({"auth_id": asked["auth_id"], "approved": true});
    assert_eq!(client.refused("authorization_response", late.clone()), "INVALID_REQUEST");
    client.ok("chat_stop", json!({}));
    client.generation(&id);
    assert_eq!(client.refused("authorization_response", late), "INVALID_REQUEST");
    let id = client.prompt("permit:ls");
    let asked = client.event("authorization_request");
    for wrong in [json!({"approved": "yes"}), json!({"approved": 1}), json!({})] {
        let mut data = wrong.clone();
        data["auth_id"] = asked["auth_id"].clone();
        assert_eq!(client.refused("authorization_response", data), "INVALID_REQUEST", "{wrong}");
    }
    decide(&mut client, &asked, true);
    assert_eq!(client.generation(&id).text(), "permit: yes\n");
}

// SS-60: several at once, decided in any order.
#[test]
fn concurrent_approvals_are_distinguished() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    let id = client.prompt("permits:5");
    let mut asked: Vec<Value> = (0..5).map(|_| client.event("authorization_request")).collect();
    asked.sort_by_key(|asked| asked["parameters"]["command"].to_string());
    for (n, asked) in asked.iter().enumerate().rev() {
        decide(&mut client, asked, n % 2 == 0);
    }
    let said: Vec<String> = client.generation(&id).text().lines().map(str::to_owned).collect();
    assert_eq!(said, ["permit: yes", "permit: no", "permit: yes", "permit: no", "permit: yes"]);
}

// SS-62: an owner that leaves has denied, in any way it leaves.
#[test]
fn an_owner_that_detaches_denies() {
    let swb = Swb::scripted(EXE, "");
    for way in ["detach", "close", "gone"] {
        let mut owner = swb.chat_in(way);
        let mut observer = swb.chat_at(way);
        owner.prompt("permit:ls");
        let asked = owner.event("authorization_request");
        // Seen, so that it would wait for minutes otherwise.
        owner.send(&json!({"type": "authorization_ack", "data": {"auth_id": asked["auth_id"]}}));
        owner.so_far();
        match way {
            "detach" => drop(owner.ok("session_detach", json!({}))),
            "close" => drop(owner.begin("close", json!({}))),
            _ => drop(owner),
        }
        let said = observer.until("permit:");
        assert!(!said.contains("yes") && !said.contains("always"), "{way}: {said}");
    }
}

// SS-55: a stop takes the question away.
#[test]
fn a_stop_settles_pending_approvals() {
    let swb = Swb::scripted(EXE, "");
    let mut client = swb.chat_in("talk");
    let id = client.prompt("permits:3");
    let asked = client.event("authorization_request");
    let began = Instant::now();
    client.ok("chat_stop", json!({}));
    assert_eq!(client.generation(&id).status(), "stopped");
    assert!(began.elapsed() < Duration::from_secs(2));
    let late = json!({"auth_id": asked["auth_id"], "approved": true});
    assert_eq!(client.refused("authorization_response", late), "INVALID_REQUEST");
}

// ---- questions: a model asks them ----

/// A model that answers as the rules say.
struct Model {
    child: Child,
    url: String,
}

impl Model {
    fn start(swb: &Swb, rules: &Value) -> Self {
        let script = swb.dir().join("rules.json");
        std::fs::write(&script, json!({"rules": rules, "default": {"text": "ok"}}).to_string()).unwrap();
        let mut command = Command::new("python3");
        command.arg(STUB).args(["--port", "0", "--script"]).arg(script).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().rsplit(' ').next().unwrap().to_owned();
        Self { child, url }
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        let _ended = (self.child.kill(), self.child.wait());
    }
}

/// A daemon whose model asks `ask_user` with this, then answers `thank you`.
fn asking(ask: &Value) -> (Swb, Model) {
    let mut swb = Swb::new(EXE);
    let rules = json!([
        {"match": "Q", "after_tool": false, "tool": {"name": "ask_user", "input": ask}},
        {"match": "Q", "after_tool": true, "text": "thank you"},
    ]);
    let model = Model::start(&swb, &rules);
    swb.configure(&format!(
        "[chat]\nbackend = \"m\"\n[[agents]]\nname = \"m\"\nkind = \"llm\"\nmodel = \"stub\"\nbase_url = \"{}/v1\"\n",
        model.url
    ));
    swb.start_daemon();
    (swb, model)
}

/// What the model received as the user's answer.
#[track_caller]
fn told(generation: &swb_testkit::Generation) -> String {
    assert_eq!(
        (generation.status(), generation.text().as_str()),
        ("completed", "thank you"),
        "{generation:?}"
    );
    generation.all("tool_result").iter().map(|result| result["result"].to_string()).collect()
}

// SS-64
#[test]
fn a_question_waits_for_its_answer() {
    let (swb, _model) = asking(&json!({"question": "Which one?", "options": ["red", "blue"]}));
    let mut client = swb.chat_in("talk");
    let id = client.prompt("Q");
    let asked = client.event("question_request");
    assert_eq!((&asked["question"], &asked["multi_mode"]), (&json!("Which one?"), &json!(false)));
    assert_eq!(asked["session_id"], "talk");
    assert!(asked["question_id"].as_str().is_some_and(|id| !id.is_empty()));
    client.quiet();
    assert_eq!(
        client.refused("question_response", json!({"question_id": "question-0", "answer": "red"})),
        "INVALID_REQUEST"
    );
    client.send(&json!({"type": "question_response", "data": {"question_id": asked["question_id"], "answer": "blue"}}));
    let generation = client.generation(&id);
    assert!(told(&generation).contains("blue"));
    assert!(of_kind(&generation.events, "question_response").is_empty());
    let late = json!({"question_id": asked["question_id"], "answer": "red"});
    assert_eq!(client.refused("question_response", late), "INVALID_REQUEST");
}

const TWO: &str = r#"{"question": "Some things", "questions": [
    {"question": "Colour?", "options": ["red", "blue"]}, {"question": "Size?", "options": ["small", "large"]}]}"#;

// SS-64, SS-65: an array for clients that list the capability, answers by position.
#[test]
fn several_questions_are_an_array_for_clients_that_support_it() {
    let (swb, _model) = asking(&serde_json::from_str(TWO).unwrap());
    let mut client = swb.chat_in("talk");
    for key in ["answers_map", "answers"] {
        let id = client.prompt("Q");
        let asked = client.event("question_request");
        assert_eq!(asked["multi_mode"], true, "{asked}");
        let wanted = json!([
            {"question": "Colour?", "options": ["red", "blue"]},
            {"question": "Size?", "options": ["small", "large"]},
        ]);
        assert_eq!(asked["questions"], wanted);
        let data = json!({"question_id": asked["question_id"], key: {"q_1": "red", "q_2": "large"}});
        client.send(&json!({"type": "question_response", "data": data}));
        let told = told(&client.generation(&id));
        assert!(told.contains("red") && told.contains("large"), "{told}");
    }
}

// SS-65: an object for all others.
#[test]
fn several_questions_are_an_object_for_other_clients() {
    let (swb, _model) = asking(&serde_json::from_str(TWO).unwrap());
    let mut client = swb.chat_raw();
    client.auth(&["chat", "sessions", "workspaces"]);
    client.create(json!({"workspace": swb.dir().join("w")}));
    let id = client.prompt("Q");
    let asked = client.event("question_request");
    let questions = asked["questions"].as_object().unwrap();
    assert_eq!(questions.keys().collect::<Vec<_>>(), ["q_1", "q_2"]);
    assert!(questions["q_1"].as_str().unwrap().contains("Colour?"));
    assert!(questions["q_2"].as_str().unwrap().contains("Size?"));
    let data = json!({"question_id": asked["question_id"], "answers_map": {"q_2": "small"}});
    client.send(&json!({"type": "question_response", "data": data}));
    assert!(told(&client.generation(&id)).contains("small"));
}

// SS-64: answers of the wrong form are refused, and the question still waits.
#[test]
fn invalid_answers_are_rejected() {
    let (swb, _model) = asking(&json!({"question": "Which one?", "options": []}));
    let mut client = swb.chat_in("talk");
    let id = client.prompt("Q");
    let asked = client.event("question_request");
    for wrong in [json!({}), json!({"answer": 5}), json!({"answers_map": 5}), json!({"answers": 5})] {
        let mut data = wrong.clone();
        data["question_id"] = asked["question_id"].clone();
        assert_eq!(client.refused("question_response", data), "INVALID_REQUEST", "{wrong}");
    }
    let mut observer = swb.chat_at("talk");
    let right = json!({"question_id": asked["question_id"], "answer": "any"});
    assert_eq!(observer.refused("question_response", right.clone()), "OPERATION_NOT_ALLOWED");
    client.send(&json!({"type": "question_response", "data": right}));
    assert!(told(&client.generation(&id)).contains("any"));
}

// SS-55, SS-64: a stop takes a question away, too.
#[test]
fn a_stop_settles_a_question() {
    let (swb, _model) = asking(&json!({"question": "Which one?"}));
    let mut client = swb.chat_in("talk");
    let id = client.prompt("Q");
    let asked = client.event("question_request");
    client.ok("chat_stop", json!({}));
    let generation = client.generation(&id);
    assert_eq!(generation.status(), "stopped");
    let late = client.ask("question_response", json!({"question_id": asked["question_id"], "answer": "x"}));
    assert_eq!(refusal(&late), "INVALID_REQUEST");
}
