//! Old output, live output, and the frames that carry both.

use super::{EXE, FLOOD, LINE, MIRROR, flood, follow, frame, message, numbered, offset, size, take};
use serde_json::json;
use swb_testkit::{CoopClient, LIMIT, QUIET, StreamItem, Swb, is_alive, wait_for};

// CO-33
#[test]
fn a_new_client_gets_old_output_in_frames_and_then_live_output() {
    let swb = Swb::start(EXE);
    swb.make("x", &["sh", "-c", "stty raw -echo; seq -w 1 1000000 | head -n 80000; exec cat"]);
    let total = 80_000 * LINE;
    wait_for("all output", || (offset(&swb, "x") == total).then_some(()));
    let mut client = swb.attach("x");
    let mut frames = 0;
    let mut data = Vec::new();
    while let Some(item) = client.item(QUIET) {
        match item {
            StreamItem::Data(bytes) => data.extend(bytes),
            other => panic!("{other:?}"),
        }
        frames += 1;
    }
    assert!(data.len() >= 262_144, "only {} bytes of history", data.len());
    assert!(frames > 1, "in as many frames as needed");
    assert!(numbered(0, total).ends_with(&data));
    client.type_in(b"new");
    assert_eq!(client.until("new"), b"new");
    // Little output is sent whole.
    swb.make("y", &MIRROR);
    assert_eq!(swb.attach("y").until("ready\n"), b"ready\n");
}

// CO-33: nothing lost or doubled between replay and live output, however fast the program writes.
#[test]
fn no_byte_is_lost_or_doubled_between_old_and_live_output() {
    let swb = Swb::start(EXE);
    flood(&swb, "x");
    let _starter = swb.attach("x");
    for round in 0..30 {
        let mut client = swb.coop();
        let answer = client.ok(&json!({"cmd": "attach", "session": "x", "offsets": true}));
        let (mut at, head) = (answer["offset"].as_u64().unwrap(), answer["head"].as_u64().unwrap());
        assert!(at == head.saturating_sub(262_144), "round {round}: {answer}");
        assert!(round > 0 || head < FLOOD * LINE, "the flood was to go on");
        while at < (FLOOD * LINE).min(head + 400_000) {
            at = follow(&mut client, at);
        }
    }
}

// CO-33: the same as a client sees it that knows nothing of positions.
#[test]
fn a_plain_client_gets_every_line_in_order() {
    let swb = Swb::start(EXE);
    flood(&swb, "x");
    let _starter = swb.attach("x");
    for round in 0..20 {
        let mut client = swb.attach("x");
        let mut data = Vec::new();
        while data.len() < 600_000 && !data.ends_with(format!("{FLOOD}\n").as_bytes()) {
            match client.item(LIMIT) {
                Some(StreamItem::Data(bytes)) => data.extend(bytes),
                // Only a machine that gave the client no turn for long gets here.
                Some(StreamItem::Control(event)) if event["event"] == "lagged" => data.clear(),
                other => panic!("{other:?} in round {round}"),
            }
        }
        let begin = data.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        let first: u64 = std::str::from_utf8(&data[begin..begin + 7]).unwrap().parse().unwrap();
        let rest = &data[begin..];
        assert!(numbered((first - 1) * LINE, rest.len() as u64) == rest, "round {round} from line {first}");
    }
}

// CO-52, CO-57
#[test]
fn all_bytes_pass_unchanged_both_ways_and_to_all_clients() {
    let swb = Swb::start(EXE);
    swb.make("x", &MIRROR);
    let mut clients = [swb.attach("x"), swb.attach("x"), swb.attach("x")];
    clients.iter_mut().for_each(|client| drop(client.until("ready\n")));
    let all: Vec<u8> = (0..=255).collect();
    clients[1].type_in(&all);
    for client in &mut clients {
        assert_eq!(take(client, all.len()), all);
    }
}

// CO-53
#[test]
fn a_frame_has_its_tag_and_at_most_a_megabyte() {
    let swb = Swb::start(EXE);
    let pid = swb.make("x", &MIRROR);
    for bad in [0_u32, 1_048_577, u32::MAX] {
        let mut client = swb.attach("x");
        client.until("ready\n");
        client.send_raw(&bad.to_be_bytes());
        client.send_raw(&frame(0, b"not typed"));
        assert_eq!(client.to_end(), (vec![], vec![]), "length {bad}");
    }
    let mut client = swb.attach("x");
    assert_eq!(client.until("ready\n"), b"ready\n", "nothing was typed");
    // An empty one has no effect, the largest one is typed whole.
    client.type_in(b"");
    client.quiet();
    let largest = numbered(0, 1_048_575);
    client.send_raw(&frame(0, &largest));
    assert!(take(&mut client, largest.len()) == largest);
    assert!(is_alive(pid));
}

// CO-54
#[test]
fn frames_that_come_together_with_the_request_are_not_lost() {
    let swb = Swb::start(EXE);
    swb.make("x", &MIRROR);
    swb.attach("x").until("ready\n");
    let mut client = CoopClient::connect(&swb.paths().coop_socket()).unwrap();
    let resize = json!({"cmd": "resize", "cols": 99, "rows": 44}).to_string();
    let bytes = [
        message(&json!({"version": 1})),
        message(&json!({"cmd": "attach", "session": "x", "history": 0})),
        frame(0, b"typed "),
        frame(1, resize.as_bytes()),
        frame(0, b"at once"),
    ];
    client.send_raw(&bytes.concat());
    assert_eq!(client.answer().unwrap(), json!({"version": 1, "ok": true}));
    assert_eq!(client.answer().unwrap(), json!({"ok": true}));
    assert_eq!(client.until("at once"), b"typed at once");
    wait_for("the new size", || (size(&swb, "x") == (99, 44)).then_some(()));

    let mut shell = swb.coop();
    let request = message(&json!({"cmd": "shell", "session": "x", "command": "/bin/sh"}));
    shell.send_raw(&[request, frame(0, b"echo $((40 + 2)); exit 5\r")].concat());
    assert_eq!(shell.answer().unwrap(), json!({"ok": true, "pty": 1}));
    let (data, controls) = shell.to_end();
    assert!(String::from_utf8_lossy(&data).contains("42"));
    assert_eq!(controls, [json!({"event": "pty_exited", "code": 5})]);
}

// CO-55
#[test]
fn unknown_stream_frames_are_ignored() {
    let swb = Swb::start(EXE);
    swb.make("x", &MIRROR);
    let mut client = swb.attach("x");
    client.until("ready\n");
    let meaningless: [(u8, &[u8]); 13] = [
        (2, b"zz"),
        (127, b""),
        (255, b"{\"cmd\":\"detach\"}"),
        (1, b""),
        (1, b"{nope"),
        (1, b"\xff"),
        (1, b"[]"),
        (1, b"{}"),
        (1, br#"{"cmd":5}"#),
        (1, br#"{"cmd":"frobnicate"}"#),
        (1, br#"{"cmd":"ls"}"#),
        (1, br#"{"cmd":"resize","cols":"x","rows":5}"#),
        (1, br#"{"cmd":"resize","cols":70000,"rows":5}"#),
    ];
    for (tag, body) in meaningless {
        client.send_raw(&frame(tag, body));
    }
    client.type_in(b"still there");
    assert_eq!(client.until("still there"), b"still there");
    assert_eq!(size(&swb, "x"), (120, 40));
}
