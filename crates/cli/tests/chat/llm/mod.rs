//! Models behind an API, over the scriptschnell socket. Every test runs with both APIs.

mod answers;
mod failures;
mod stopping;
mod tools;

use serde_json::{Value, json};
use std::time::Duration;
use swb_testkit::{Generation, refusal};

const EXE: &str = env!("CARGO_BIN_EXE_swb");

/// SS-55
const STOPS_WITHIN: Duration = Duration::from_secs(2);

/// A rule for a prompt: the tool first, the text after it.
fn uses(prompt: &str, name: &str, input: Value, then: &str) -> [Value; 2] {
    [
        json!({"match": prompt, "after_tool": false, "text": "I try. ", "tool": {"name": name, "input": input}}),
        json!({"match": prompt, "after_tool": true, "text": then}),
    ]
}

/// The only use of a tool, and what came of it; insists on the order.
#[track_caller]
fn tool(generation: &Generation) -> (Value, Value) {
    let (calls, results) = (generation.all("tool_call"), generation.all("tool_result"));
    assert_eq!((calls.len(), results.len()), (1, 1), "{:?}", generation.events);
    assert_eq!(calls[0]["tool_id"], results[0]["tool_id"]);
    let at = |kind: &str| generation.events.iter().position(|event| event["type"] == kind);
    assert!(at("tool_call") < at("tool_result"));
    (calls[0].clone(), results[0].clone())
}

/// The words of a generation that failed.
#[track_caller]
fn failure(generation: &Generation) -> String {
    refusal(&generation.answer);
    generation.answer["error"]["message"].as_str().unwrap().to_owned()
}

fn progress(generation: &Generation) -> Vec<String> {
    let all = generation.all("progress");
    all.iter().map(|event| event["message"].as_str().unwrap().to_owned()).collect()
}
