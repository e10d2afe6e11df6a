//! The scriptschnell codec against golden bytes.

use crate::vectors::{self, Case, cuts};
use serde_json::{Value, json};
use swb_wire::scriptschnell::{Envelope, LineError, Lines, Request, encode_request};

/// The meaning of a client's line: its request as JSON again, or why there is none.
#[derive(Debug, Clone, PartialEq)]
enum Item {
    Request(Value),
    Refused(Option<String>),
    Line(LineError),
}

fn item(line: &str) -> Item {
    let read = Envelope::parse(line).and_then(|envelope| {
        let request = envelope.request()?;
        Ok((envelope.request_id, request))
    });
    match read {
        Ok((request_id, request)) => Item::Request(written(&request, request_id.as_deref())),
        Err(bad) => Item::Refused(bad.request_id),
    }
}

fn written(request: &Request, request_id: Option<&str>) -> Value {
    let mut line = Vec::new();
    encode_request(request, request_id, &mut line);
    assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
    serde_json::from_slice(&line).unwrap()
}

/// Decodes pieces that arrive one after the other, up to a line that is too long.
fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Item> {
    let mut lines = Lines::default();
    let mut items = Vec::new();
    for piece in pieces {
        lines.push(piece);
        loop {
            match lines.next() {
                Ok(Some(line)) => items.push(item(&line)),
                Ok(None) => break,
                Err(error) => {
                    items.push(Item::Line(error));
                    if error == LineError::TooLong {
                        return items;
                    }
                }
            }
        }
    }
    items
}

/// The same message without what the codec does not keep: absent data, times, and fields without effect.
fn plain(decoded: &Value) -> Value {
    let mut value = decoded.clone();
    let map = value.as_object_mut().unwrap();
    map.remove("timestamp");
    let loads = ["session_load", "session_delete"].contains(&map["type"].as_str().unwrap_or_default());
    let unit = ["ping", "pong", "workspace_list"].contains(&map["type"].as_str().unwrap_or_default());
    if !unit {
        map.entry("data").or_insert_with(|| json!({}));
    }
    if loads {
        map["data"].as_object_mut().unwrap().remove("workspace");
    }
    value
}

fn sent(case: &Case) -> Vec<u8> {
    case.steps.iter().filter(|step| step.to_daemon).flat_map(|step| step.bytes.clone()).collect()
}

// SS-2, SS-3
#[test]
fn requests_decode_as_in_the_vectors() {
    let mut seen = 0;
    for case in vectors::scriptschnell() {
        for step in case.steps.iter().filter(|step| step.to_daemon && step.decoded.is_object()) {
            let items = read([step.bytes.as_slice()]);
            let id = step.decoded["request_id"].as_str().map(str::to_owned);
            let expected = match case.name.as_str() {
                "unknown_type" | "unicode" | "bad_no_type" | "bad_data_type" | "bad_field_type"
                    if step.decoded["type"] != "auth_request" =>
                {
                    Item::Refused(id)
                }
                _ => Item::Request(plain(&step.decoded)),
            };
            assert_eq!(items, [expected], "{}", case.name);
            seen += 1;
        }
    }
    assert!(seen > 80, "only {seen} requests were read");
}

// SS-2, SS-7, SS-8
#[test]
fn invalid_requests_fail_as_in_the_vectors() {
    let last = |name: &str| {
        let cases = vectors::scriptschnell();
        let case = cases.iter().find(|case| case.name == name).unwrap();
        let step = case.steps.iter().rfind(|step| step.to_daemon).unwrap();
        read([step.bytes.as_slice()])
    };
    let ping = |id: &str| Item::Request(json!({"type": "ping", "request_id": id}));
    assert_eq!(last("crlf_and_blank_lines"), [ping("p")]);
    assert_eq!(last("two_in_one_write"), [ping("a"), ping("b")]);
    assert_eq!(last("bad_json"), [Item::Refused(None)]);
    assert_eq!(last("bad_not_object"), [Item::Refused(None)]);
    assert_eq!(last("bad_utf8"), [Item::Line(LineError::NotUtf8)]);
    assert_eq!(last("bad_unterminated"), []);
    assert_eq!(last("bad_too_long"), [Item::Line(LineError::TooLong)]);
}

// SS-2
#[test]
fn the_result_does_not_depend_on_how_lines_are_split() {
    for case in vectors::scriptschnell() {
        let bytes = sent(&case);
        // Megabytes need not be split more than once.
        let places = if bytes.len() > 1 << 20 { vec![bytes.len() / 2] } else { cuts(bytes.len()) };
        let whole = read([bytes.as_slice()]);
        for at in places {
            let (a, b) = bytes.split_at(at);
            assert_eq!(read([a, b]), whole, "{} cut at {at}", case.name);
        }
    }
}
