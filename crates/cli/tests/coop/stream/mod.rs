//! Stream mode: one module per subject, and the helpers they share.

mod end;
mod input;
mod output;
mod positions;
mod slow_clients;

use crate::support::view;
use serde_json::{Value, json};
use std::path::PathBuf;
use swb_testkit::{CoopClient, Fifo, LIMIT, StreamItem, Swb};

const EXE: &str = env!("CARGO_BIN_EXE_swb");
/// Gives back every byte as it is.
const MIRROR: [&str; 3] = ["sh", "-c", "stty raw -echo; echo ready; exec cat"];
/// Bytes per line of [`numbered`].
const LINE: u64 = 8;
/// Lines that a flood has.
const FLOOD: u64 = 5_000_000;

/// What `seq -w 1 1000000` (or up to 9 999 999) writes from byte `from` on.
fn numbered(from: u64, len: u64) -> Vec<u8> {
    let first = from / LINE;
    let lines = len / LINE + 2;
    let text: Vec<u8> = (first + 1..=first + lines).flat_map(|n| format!("{n:07}\n").into_bytes()).collect();
    let skip = (from % LINE) as usize;
    text[skip..skip + len as usize].to_vec()
}

/// What a client's terminal shows after these bytes, without the blanks.
fn on_screen(bytes: &[u8]) -> String {
    view::screen(bytes, 120, 40).text().split_whitespace().collect()
}

/// Insists that `bytes` are what stands at `at`; gives the position behind them.
#[track_caller]
fn checked(bytes: &[u8], at: u64) -> u64 {
    assert!(bytes == numbered(at, bytes.len() as u64), "other bytes at {at}");
    at + bytes.len() as u64
}

/// Takes the next item of a numbered stream at `at`; gives the next position.
#[track_caller]
fn follow(client: &mut CoopClient, at: u64) -> u64 {
    match client.item(LIMIT) {
        Some(StreamItem::Data(bytes)) => checked(&bytes, at),
        // Only a machine that gave the client no turn for long gets here; the position shows where it goes on.
        Some(StreamItem::Control(event)) if event["event"] == "lagged" => {
            let on = event["offset"].as_u64().unwrap();
            assert!(on > at);
            on
        }
        other => panic!("{other:?} at {at}"),
    }
}

/// Reads exactly `len` bytes of output.
#[track_caller]
fn take(client: &mut CoopClient, len: usize) -> Vec<u8> {
    let mut data = Vec::new();
    while data.len() < len {
        match client.item(LIMIT) {
            Some(StreamItem::Data(bytes)) => data.extend(bytes),
            other => panic!("{other:?} after {} of {len} bytes", data.len()),
        }
    }
    assert_eq!(data.len(), len, "more than was expected");
    data
}

/// A session that runs `script` as soon as a client attaches.
fn waiting(swb: &Swb, name: &str, script: &str) {
    swb.coop().ok(&json!({
        "cmd": "create", "name": name, "workspace": swb.workspace(""), "start": "writer", "argv": ["sh", "-c", script],
    }));
}

/// A session that writes numbered lines from its very first byte on, as soon as a client attaches.
fn flood(swb: &Swb, name: &str) {
    waiting(swb, name, &format!("stty raw -echo; seq -w 1 {FLOOD} | cat; exec cat"));
}

/// A session that waits for a word (which it passes on), does `reading` and prints `done`. Gives the pipe for
/// that word, two more (`go1`, `go2`) for which `reading` may wait, and the file `got` in its workspace.
fn recorder(swb: &Swb, reading: &str) -> ([Fifo; 3], PathBuf) {
    let workspace = swb.workspace("rec");
    let pipes = ["go", "go1", "go2"].map(|name| Fifo::make(&workspace.join(name)));
    let script = format!("stty raw -echo; echo ready; cat go; {reading}; echo done; exec cat");
    let argv = ["sh", "-c", &script];
    swb.coop().ok(&json!({"cmd": "create", "name": "rec", "workspace": workspace, "argv": argv}));
    (pipes, workspace.join("got"))
}

fn message(value: &Value) -> Vec<u8> {
    let text = value.to_string();
    [&(text.len() as u32).to_be_bytes(), text.as_bytes()].concat()
}

fn frame(tag: u8, body: &[u8]) -> Vec<u8> {
    [&(body.len() as u32 + 1).to_be_bytes(), &[tag][..], body].concat()
}

fn details(swb: &Swb, session: &str) -> Value {
    let list = swb.coop().ok(&json!({"cmd": "ls", "details": true}));
    list["sessions"].as_array().unwrap().iter().find(|item| item["name"] == session).unwrap().clone()
}

fn offset(swb: &Swb, session: &str) -> u64 {
    details(swb, session)["offset"].as_u64().unwrap()
}

fn local_clients(swb: &Swb, session: &str) -> u64 {
    details(swb, session)["local_clients"].as_u64().unwrap()
}

fn size(swb: &Swb, session: &str) -> (u64, u64) {
    let item = details(swb, session);
    (item["cols"].as_u64().unwrap(), item["rows"].as_u64().unwrap())
}
