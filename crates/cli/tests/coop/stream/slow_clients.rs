//! Clients that do not read.

use super::{EXE, FLOOD, LINE, MIRROR, checked, numbered, offset, on_screen};
use serde_json::json;
use swb_testkit::{CoopClient, LIMIT, StreamItem, Swb, is_alive, wait_for};

// CO-65
#[test]
fn a_client_that_does_not_read_delays_neither_the_program_nor_others() {
    let swb = Swb::start(EXE);
    let total = 2_000_000 * LINE;
    let workspace = swb.workspace("ws");
    swb.coop().ok(&json!({
        "cmd": "create", "name": "x", "workspace": workspace, "start": "writer",
        "argv": ["sh", "-c", "stty raw -echo; seq -w 1 2000000 | cat; echo done > done; read go; seq -w 1 2000000 | cat; exec cat"],
    }));
    // No client reads: the program goes on writing.
    let mut stuck = swb.attach("x");
    wait_for("the program to have written", || workspace.join("done").exists().then_some(()));
    wait_for("all output", || (offset(&swb, "x") == total).then_some(()));
    // A client reads beside the one that does not.
    let mut reader = swb.coop();
    let answer = reader.ok(&json!({"cmd": "attach", "session": "x", "offsets": true, "history": 0}));
    assert_eq!(answer["offset"], total);
    reader.type_in(b"\n");
    let mut at = 0;
    while at < total {
        at = match reader.item(LIMIT) {
            Some(StreamItem::Data(bytes)) => checked(&bytes, at),
            Some(StreamItem::Control(event)) if event["event"] == "lagged" => {
                event["offset"].as_u64().unwrap() - total
            }
            other => panic!("{other:?} at {at}"),
        };
    }

    // CO-66: the slow one learns that it missed something, before it gets what is new.
    let mut parts = vec![Vec::new()];
    let mut lagged = Vec::new();
    while parts.len() == 1 || !on_screen(parts.last().unwrap()).ends_with("2000000") {
        match stuck.item(LIMIT) {
            Some(StreamItem::Data(bytes)) => parts.last_mut().unwrap().extend(bytes),
            Some(StreamItem::Control(event)) => {
                lagged.push(event);
                parts.push(Vec::new());
            }
            other => panic!("{other:?}"),
        }
    }
    for event in &lagged {
        let dropped = event["dropped"].as_u64().unwrap();
        assert!(dropped > 0);
        assert_eq!(*event, json!({"event": "lagged", "dropped": dropped}));
    }
    assert!(numbered(0, parts[0].len() as u64) == parts[0], "what it got before is the beginning");
    // What it gets after is the screen as it is, which makes up for what is missing.
    let last: String = (1_999_970..=2_000_000).map(|n| n.to_string()).collect();
    let shown = on_screen(parts.last().unwrap());
    assert!(shown.ends_with(&last), "{shown}");
    // And it is a client like any other again.
    stuck.type_in(b"caught up");
    assert_eq!(stuck.until("caught up"), b"caught up");
    assert_eq!(reader.until("caught up"), b"caught up");
}

// CO-61, CO-66: a slow client, too, is notified of the end.
#[test]
fn a_client_that_missed_something_still_gets_the_end() {
    let swb = Swb::start(EXE);
    for how in ["ended", "killed"] {
        let workspace = swb.workspace(how);
        let last = if how == "ended" { "exit 6" } else { "sleep 1000" };
        let script = format!("stty raw -echo; seq -w 1 {FLOOD} | head -n 500000; echo done > done; {last}");
        swb.coop().ok(&json!({
            "cmd": "create", "name": how, "workspace": workspace, "start": "writer", "argv": ["sh", "-c", script],
        }));
        let mut client = swb.attach(how);
        wait_for("the program to have written", || workspace.join("done").exists().then_some(()));
        if how == "killed" {
            swb.coop().ok(&json!({"cmd": "kill", "session": how, "force": true}));
        }
        wait_for("the session to end", || {
            swb.coop().ok(&json!({"cmd": "ls"}))["sessions"].as_array()?.is_empty().then_some(())
        });
        // The output of a session that replaces an ended one is not mixed up with it.
        let pid = swb.make("next", &MIRROR);
        swb.attach("next").until("ready\n");
        let (data, mut controls) = client.to_end();
        let code = if how == "ended" { 6 } else { 128 + 9 };
        assert_eq!(controls.pop(), Some(json!({"event": "pty_exited", "code": code})));
        assert!(!controls.is_empty(), "{how}: it missed something");
        assert!(controls.iter().all(|event| event["event"] == "lagged"), "{how}: {controls:?}");
        assert!(
            on_screen(&data).ends_with("049999804999990500000"),
            "{how}: what there is to see in the end"
        );
        assert!(is_alive(pid));
        swb.coop().ok(&json!({"cmd": "kill", "session": "next", "force": true}));
    }
}

// CO-65: a client that stopped in the middle of the flood is no reason to lose input or other terminals.
#[test]
fn keys_get_through_while_a_client_does_not_read() {
    let swb = Swb::start(EXE);
    let script = "stty raw -echo; while :; do echo flood flood flood flood; done & read key; kill $!; echo \"got $key\"; exec cat";
    swb.make("x", &["sh", "-c", script]);
    let _stuck: Vec<CoopClient> = (0..5).map(|_| swb.attach("x")).collect();
    swb.make("y", &MIRROR);
    let mut other = swb.attach("y");
    other.until("ready\n");
    other.type_in(b"quick");
    other.until("quick");
    let mut typist = swb.attach("x");
    typist.until("flood");
    typist.type_in(b"key\n");
    typist.until("got key\n");
}
