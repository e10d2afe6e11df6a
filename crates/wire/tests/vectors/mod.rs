//! Reads the golden vectors beside this file.
//!
//! A file is a list of cases, a case a list of steps; a step with a direction has bytes and their
//! meaning. Steps that only describe behaviour (waiting, closing) are for tests against a running daemon.

#![allow(dead_code, reason = "each test binary uses its own part of this")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::Value;

pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) steps: Vec<Step>,
}

#[derive(Clone)]
pub(crate) struct Step {
    pub(crate) to_daemon: bool,
    /// Empty when the step only has a pattern.
    pub(crate) bytes: Vec<u8>,
    /// The meaning of the bytes; a string is a remark for readers.
    pub(crate) decoded: Value,
    /// Pattern for a reply whose values vary; `"*"` stands for any value.
    pub(crate) pattern: Option<Value>,
}

pub(crate) fn keepty() -> Vec<Case> {
    cases(include_str!("keepty.json"))
}

pub(crate) fn coop() -> Vec<Case> {
    cases(include_str!("coop-ipc.json"))
}

pub(crate) fn clippy() -> Vec<Case> {
    cases(include_str!("clippy-broker.json"))
}

pub(crate) fn scriptschnell() -> Vec<Case> {
    cases(include_str!("scriptschnell.json"))
}

fn cases(text: &str) -> Vec<Case> {
    let file: Value = serde_json::from_str(text).unwrap();
    let cases: Vec<Case> = file["cases"].as_array().unwrap().iter().map(case).collect();
    assert!(cases.len() > 30, "only {} cases were read", cases.len());
    cases
}

fn case(case: &Value) -> Case {
    let steps = case["steps"].as_array().unwrap().iter();
    Case { name: case["name"].as_str().unwrap().to_owned(), steps: steps.filter_map(step).collect() }
}

fn step(step: &Value) -> Option<Step> {
    let bytes = bytes(step);
    let pattern = ["match", "optional", "stream_control"].iter().find_map(|key| step.get(*key).cloned());
    if bytes.is_empty() && pattern.is_none() {
        return None;
    }
    let to_daemon = step["dir"] == "to_daemon";
    Some(Step { to_daemon, bytes, decoded: step["decoded"].clone(), pattern })
}

fn bytes(step: &Value) -> Vec<u8> {
    if let Some(text) = step["hex"].as_str() {
        return hex(text);
    }
    if let Some(parts) = step["hex_parts"].as_array() {
        return parts.iter().flat_map(|part| hex(part.as_str().unwrap())).collect();
    }
    let Some(head) = step["hex_head"].as_str() else {
        return Vec::new();
    };
    let mut bytes = hex(head);
    let repeated = hex(step["repeat"]["byte"].as_str().unwrap())[0];
    bytes.resize(bytes.len() + step["repeat"]["count"].as_u64().unwrap() as usize, repeated);
    bytes.extend(hex(step["hex_tail"].as_str().unwrap_or_default()));
    bytes
}

pub(crate) fn hex(text: &str) -> Vec<u8> {
    assert_eq!(text.len() % 2, 0);
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}

/// Raw bytes of a decoded step, given as hex or as text with `\r` and `\n` spelled out.
pub(crate) fn raw(decoded: &Value) -> Vec<u8> {
    match decoded["bytes_hex"].as_str() {
        Some(text) => hex(text),
        None => decoded["bytes"].as_str().unwrap().replace("\\r", "\r").replace("\\n", "\n").into_bytes(),
    }
}

/// Positions at which to split a stream: all of them, or those near both ends of a huge one.
pub(crate) fn cuts(len: usize) -> Vec<usize> {
    const NEAR: usize = 64;
    if len < 4096 {
        return (0..=len).collect();
    }
    (0..NEAR).chain(len - NEAR..=len).collect()
}
