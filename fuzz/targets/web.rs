//! Arbitrary text from clients on the web: messages of both WebSockets, queries, and hosts. No panic, small answers to
//! mistakes, and what was understood survives being written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use swb_wire::web::request::{read_request, with_id};
use swb_wire::web::terminal::{ClientMessage, attach};
use swb_wire::web::url::{decode, encode, host_of, query_value};

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    check_request(text);
    drop(serde_json::from_str::<ClientMessage>(text));
    check_query(text);
    check_host(text);
});

fn check_request(text: &str) {
    match read_request(text) {
        Ok((id, _)) => {
            let reply = with_id(Some(&id), br#"{"ok":true}"#);
            let reply: serde_json::Value = serde_json::from_str(&reply).expect("a reply is JSON");
            assert_eq!(reply["ok"], true);
            assert!(reply["id"].is_number() || reply["id"].is_string());
        }
        Err((_, error)) => assert!(error.message.len() < 8192),
    }
}

fn check_query(text: &str) {
    assert_eq!(decode(&encode(text)), text);
    for name in ["session", "token", "pty"] {
        if let Some(value) = query_value(text, name) {
            let again = format!("{name}={}", encode(&value));
            assert_eq!(query_value(&again, name), Some(value));
        }
    }
    if let Ok(attach) = attach("s".to_owned(), text) {
        assert_eq!(attach.session, "s");
        assert!(attach.pty.is_some() && attach.cols.is_some() && attach.rows.is_some());
    }
}

fn check_host(text: &str) {
    if let Some(host) = host_of(text) {
        assert!(!host.is_empty() && host == host.to_ascii_lowercase());
    }
}
