//! Clients that send the beginning of a large message and no end: together they take limited memory on every socket.

use serde_json::json;
use swb_testkit::{ChatClient, CoopClient, KeeptyClient, Swb};
use swb_wire::keepty::{KeeptyRole, Message};

const EXE: &str = env!("CARGO_BIN_EXE_swb");
/// Bytes of the largest message of coop, control and keepty.
const MESSAGE: usize = 1 << 20;
/// More than fit of these messages, each without its last byte.
const MANY: usize = 70;

/// A message of `MESSAGE` bytes without its last byte, behind its length.
fn half() -> Vec<u8> {
    let mut bytes = (MESSAGE as u32).to_be_bytes().to_vec();
    bytes.resize(bytes.len() + MESSAGE - 1, b' ');
    bytes
}

#[track_caller]
fn commands_are_bounded(connect: impl Fn() -> CoopClient) {
    let mut idle = connect();
    let half = half();
    let mut slow: Vec<CoopClient> = (0..MANY)
        .map(|_| {
            let mut client = connect();
            client.send_raw(&half);
            client
        })
        .collect();
    let refusal = slow[0].answer().unwrap();
    assert_eq!(refusal["error"], "LIMIT_REACHED", "{refusal}");
    slow[0].closed();
    // The newest may complete its message, and idle clients are not affected.
    slow[MANY - 1].send_raw(b"x");
    let answer = slow[MANY - 1].answer().unwrap();
    assert_eq!(answer["error"], "INVALID_COMMAND", "{answer}");
    idle.ok(&json!({"cmd": "ls"}));
}

#[test]
fn half_sent_commands_take_limited_memory_together() {
    let swb = Swb::start(EXE);
    commands_are_bounded(|| swb.control());
    commands_are_bounded(|| swb.coop());
}

#[test]
fn half_sent_terminal_input_takes_limited_memory_together() {
    let swb = Swb::start(EXE);
    swb.script("one", "cat");
    let mut terminal = swb.attach("one");
    let half = half();
    let mut slow: Vec<CoopClient> = (0..MANY)
        .map(|_| {
            let mut client = swb.attach("one");
            client.send_raw(&half);
            client
        })
        .collect();
    slow[0].closed();
    terminal.type_in(b"served\r");
    terminal.until("served");
}

#[test]
fn half_sent_messages_of_keepty_take_limited_memory_together() {
    let swb = Swb::start(EXE);
    let sessions = ["one", "two", "three"];
    for session in sessions {
        swb.script(session, "cat");
    }
    let half = half();
    let mut slow: Vec<KeeptyClient> = (0..MANY)
        .map(|n| {
            let mut client = swb.keepty(sessions[n % sessions.len()], KeeptyRole::Watcher, 80, 24);
            client.ack();
            // Version 1, kind Input: from a watcher it is ignored.
            let mut bytes = half.clone();
            bytes[4..6].copy_from_slice(&[1, 3]);
            client.send_raw(&bytes);
            client
        })
        .collect();
    slow[0].to_end();
    slow[MANY - 1].send_raw(b"x");
    slow[MANY - 1].send(&Message::Ping);
    assert_eq!(slow[MANY - 1].next_but_output(), Message::Pong);
}

#[test]
fn half_sent_lines_of_scriptschnell_take_limited_memory_together() {
    /// Lines of 12 MiB take 16 MiB each: four fit.
    const LINES: usize = 6;
    const LINE: usize = 12 << 20;
    let mut swb = Swb::new(EXE);
    swb.configure("[scriptschnell]\nmax_connections = 20");
    swb.start_daemon();
    let mut idle = swb.chat();
    let mut slow: Vec<ChatClient> = (0..LINES)
        .map(|_| {
            let mut client = swb.chat();
            let mut line = br#"{"type":"ping","request_id":"long","data":{"x":""#.to_vec();
            line.resize(LINE, b'x');
            client.send_raw(&line);
            client
        })
        .collect();
    let closed = slow[0].to_end().pop().unwrap();
    assert_eq!(closed["type"], "closed");
    assert_eq!(closed["data"], json!({"reason": "incomplete_message", "reconnect": true}));
    slow[LINES - 1].send_raw(b"\"}}\n");
    assert_eq!(slow[LINES - 1].answer("long")["type"], "pong");
    assert_eq!(idle.ask("ping", json!({}))["type"], "pong");
}
