//! coop: stream mode — replay, input, output, size, detaching, the end, slow clients, and positions.
//!
//! Long, because every rule of the subject has its test here and all of them share the helpers at the end.

use crate::support::view;
use serde_json::{Value, json};
use std::path::PathBuf;
use swb_testkit::{CoopClient, Fifo, LIMIT, QUIET, StreamItem, Swb, is_alive, wait_for};

const EXE: &str = env!("CARGO_BIN_EXE_swb");
/// Gives back every byte as it is.
const MIRROR: [&str; 3] = ["sh", "-c", "stty raw -echo; echo ready; exec cat"];
/// Bytes per line of [`numbered`].
const LINE: u64 = 8;
/// Lines that a flood has.
const FLOOD: u64 = 5_000_000;

// ---- replay ----

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

// ---- frames ----

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

// ---- input ----

// CO-56
#[test]
fn input_of_all_clients_is_merged_one_frame_at_a_time() {
    const FRAMES: usize = 60;
    const LEN: usize = 10_000;
    let swb = Swb::start(EXE);
    let ([go, ..], got) = recorder(&swb, &format!("head -c {} > got", 3 * FRAMES * LEN));
    let mut first = swb.attach("rec");
    first.until("ready\n");
    go.tell("");
    let letters = [b'a', b'b', b'c'];
    std::thread::scope(|scope| {
        for letter in letters {
            let mut client = swb.attach("rec");
            scope.spawn(move || {
                for n in 0..FRAMES {
                    client.type_in(&[letter, n as u8].repeat(LEN / 2));
                }
                // Stays until everything has been taken.
                client.until("done\n");
            });
        }
    });
    let bytes = std::fs::read(&got).unwrap();
    assert_eq!(bytes.len(), 3 * FRAMES * LEN);
    let mut next = [0_usize; 3];
    for (at, chunk) in bytes.chunks(LEN).enumerate() {
        let letter = letters.iter().position(|letter| *letter == chunk[0]).unwrap();
        let expected = [letters[letter], next[letter] as u8].repeat(LEN / 2);
        assert!(chunk == expected, "frame {at} is torn or out of order");
        next[letter] += 1;
    }
    assert_eq!(next, [FRAMES; 3]);
}

// CO-56, Q-72
#[test]
fn a_megabyte_of_input_arrives_whole_at_a_slow_program_and_stops_nobody() {
    let swb = Swb::start(EXE);
    let input = numbered(0, 1 << 20);
    // Reads in three goes, and waits for a word from outside before each; passes that word on.
    let reading = "head -c 300000 > got; cat go1; head -c 300000 >> got; cat go2; head -c 448576 >> got";
    let (pipes, got) = recorder(&swb, reading);
    let mut typist = swb.attach("rec");
    typist.until("ready\n");
    let mut onlooker = swb.attach("rec");
    onlooker.until("ready\n");
    typist.type_in(&input[..1_048_575]);
    typist.type_in(&input[1_048_575..]);

    let mut shell = swb.coop();
    shell.ok(&json!({"cmd": "shell", "session": "rec", "command": "cat"}));
    swb.make("other", &MIRROR);
    let mut other = swb.attach("other");
    other.until("ready\n");
    for (round, go) in pipes.into_iter().enumerate() {
        // The input waits, and everything else goes on: another terminal, another session, commands,
        shell.type_in(format!("shell {round}\r").as_bytes());
        shell.until(&format!("shell {round}"));
        other.type_in(format!("other {round}").as_bytes());
        other.until(&format!("other {round}"));
        swb.coop().ok(&json!({"cmd": "ls"}));
        // and the output of the very terminal that takes no input.
        let word = format!("word {round}\n");
        go.tell(&word);
        onlooker.until(&word);
        typist.until(&word);
    }
    typist.until("done\n");
    assert!(std::fs::read(&got).unwrap() == input);
}

// CO-56, CO-60
#[test]
fn input_sent_right_before_the_client_goes_is_delivered() {
    let swb = Swb::start(EXE);
    let input = numbered(0, 200_000);
    let ([go, ..], got) = recorder(&swb, "head -c 200000 > got");
    let mut looker = swb.attach("rec");
    looker.until("ready\n");
    let mut typist = swb.attach("rec");
    typist.until("ready\n");
    for chunk in input.chunks(50_000) {
        typist.type_in(chunk);
    }
    drop(typist);
    // It is gone for everybody although its input still waits.
    wait_for("the client to be gone", || (local_clients(&swb, "rec") == 1).then_some(()));
    go.tell("");
    looker.until("done\n");
    assert!(std::fs::read(&got).unwrap() == input);
}

// CO-54, CO-60
#[test]
fn input_of_a_client_that_never_reads_is_delivered() {
    let swb = Swb::start(EXE);
    swb.make("x", &MIRROR);
    let mut looker = swb.attach("x");
    looker.until("ready\n");
    for round in 0..50 {
        let mut client = CoopClient::connect(&swb.paths().coop_socket()).unwrap();
        let text = format!("<{round}>");
        let bytes = [
            message(&json!({"version": 1})),
            message(&json!({"cmd": "ls"})),
            message(&json!({"cmd": "attach", "session": "x"})),
            frame(0, text.as_bytes()),
        ];
        client.send_raw(&bytes.concat());
        drop(client);
        assert_eq!(looker.until(&text), text.as_bytes());
    }
}

// CO-56, CO-59
#[test]
fn input_sent_right_before_a_detach_is_delivered() {
    let swb = Swb::start(EXE);
    swb.make("x", &MIRROR);
    let mut looker = swb.attach("x");
    looker.until("ready\n");
    for round in 0..20 {
        let mut client = swb.attach("x");
        let text = format!("<{round}>");
        client.send_raw(&[frame(0, text.as_bytes()), frame(1, br#"{"cmd":"detach"}"#)].concat());
        assert_eq!(looker.until(&text), text.as_bytes());
        let (_, controls) = client.to_end();
        assert_eq!(controls, [json!({"ok": true}), json!({"event": "detached"})]);
    }
}

// ---- size ----

// CO-58
#[test]
fn the_last_resize_wins_and_has_no_reply() {
    let swb = Swb::start(EXE);
    let script = "stty -echo; trap 'stty size' WINCH; echo ready; while :; do read x && echo \"$x\"; done";
    swb.make("x", &["sh", "-c", script]);
    let mut first = swb.attach("x");
    let mut second = swb.attach("x");
    first.until("ready\r\n");
    second.until("ready\r\n");
    for (client, cols, rows) in [(0, 81, 25), (1, 101, 31), (0, 133, 41)] {
        let resizing = if client == 0 { &mut first } else { &mut second };
        resizing.control(&json!({"cmd": "resize", "cols": cols, "rows": rows}));
        let shown = format!("{rows} {cols}\r\n");
        // The program is told; the clients hear of it only by what it writes.
        first.until(&shown);
        second.until(&shown);
    }
    for (cols, rows) in [(0, 10), (10, 0), (0, 0)] {
        first.control(&json!({"cmd": "resize", "cols": cols, "rows": rows}));
    }
    first.type_in(b"end\r");
    first.until("end\r\n");
    assert_eq!(size(&swb, "x"), (133, 41), "a size of nothing is none");
    // One after the other, in one go.
    let sizes: Vec<u8> = (50..90)
        .flat_map(|cols| frame(1, json!({"cmd": "resize", "cols": cols, "rows": 30}).to_string().as_bytes()))
        .collect();
    second.send_raw(&sizes);
    second.until("30 89\r\n");
    assert_eq!(size(&swb, "x"), (89, 30));
}

// ---- leaving ----

// CO-59
#[test]
fn detach_is_answered_and_ends_the_connection_only() {
    let swb = Swb::start(EXE);
    let pid = swb.make("x", &MIRROR);
    let mut stays = swb.attach("x");
    stays.until("ready\n");
    let mut client = swb.attach("x");
    client.until("ready\n");
    client.control(&json!({"cmd": "detach"}));
    assert_eq!(client.to_end(), (vec![], vec![json!({"ok": true}), json!({"event": "detached"})]));
    stays.type_in(b"goes on");
    stays.until("goes on");
    assert!(is_alive(pid));
    assert_eq!(local_clients(&swb, "x"), 1);
}

// CO-59: not even a flood of output keeps a client from leaving in order.
#[test]
fn detach_works_in_the_middle_of_a_flood() {
    let swb = Swb::start(EXE);
    swb.make("x", &["sh", "-c", "while :; do echo flood flood flood flood flood flood flood; done"]);
    let mut client = swb.attach("x");
    client.until("flood");
    client.control(&json!({"cmd": "detach"}));
    let (_, controls) = client.to_end();
    assert_eq!(controls[controls.len() - 2..], [json!({"ok": true}), json!({"event": "detached"})]);
}

// CO-60
#[test]
fn closing_the_connection_detaches() {
    let swb = Swb::start(EXE);
    let pid =
        swb.make("x", &["sh", "-c", "while :; do echo flood flood flood flood flood flood flood; done"]);
    let reading = swb.attach("x");
    // One whose socket is full, so that nothing but its end can be seen of it.
    let stuck = swb.attach("x");
    let from = offset(&swb, "x");
    wait_for("more output than a socket holds", || (offset(&swb, "x") > from + (4 << 20)).then_some(()));
    assert_eq!(local_clients(&swb, "x"), 2);
    drop(stuck);
    wait_for("one client less", || (local_clients(&swb, "x") == 1).then_some(()));
    reading.socket().shutdown(std::net::Shutdown::Both).unwrap();
    wait_for("no client", || (local_clients(&swb, "x") == 0).then_some(()));
    assert!(is_alive(pid));
    swb.attach("x").until("flood");
}

// ---- the end ----

// CO-61
#[test]
fn the_end_comes_after_all_output_with_the_real_code() {
    let swb = Swb::start(EXE);
    for (how, code) in
        [("exit 0", 0), ("exit 255", 255), ("kill -9 $$", 128 + 9), ("kill -TERM $$", 128 + 15)]
    {
        waiting(&swb, "x", &format!("stty raw; echo last words; {how}"));
        let mut client = swb.attach("x");
        let (data, controls) = client.to_end();
        assert_eq!(String::from_utf8(data).unwrap(), "last words\n");
        assert_eq!(controls, [json!({"event": "pty_exited", "code": code})], "{how}");
        wait_for("the session to end", || {
            swb.coop().ok(&json!({"cmd": "ls"}))["sessions"].as_array()?.is_empty().then_some(())
        });
    }
}

// CO-61
#[test]
fn all_clients_get_all_output_of_a_child_that_ends_at_once() {
    let swb = Swb::start(EXE);
    // Less than what readers may lag behind, so that every byte must arrive at every client.
    const LINES: u64 = 50_000;
    let expected = numbered(0, LINES * LINE);
    for round in 0..15 {
        let name = format!("s{round}");
        waiting(&swb, &name, &format!("stty raw; seq -w 1 1000000 | head -n {LINES}; exit 7"));
        let watch = || {
            let mut client = swb.coop();
            client.ok(&json!({"cmd": "attach", "session": name, "watch": true}));
            client
        };
        let mut clients = vec![watch(), watch()];
        clients.push(swb.attach(&name));
        for (n, client) in clients.iter_mut().enumerate() {
            let (data, controls) = client.to_end();
            assert!(data == expected, "round {round}, client {n}: {} bytes", data.len());
            assert_eq!(controls, [json!({"event": "pty_exited", "code": 7})]);
        }
    }
}

// CO-61: also when there is more of it than is kept.
#[test]
fn the_last_byte_of_a_flood_comes_before_the_end() {
    let swb = Swb::start(EXE);
    const LINES: u64 = 1_000_000;
    waiting(&swb, "x", &format!("stty raw; seq -w 1 {LINES} | cat; exit 3"));
    let mut client = swb.coop();
    client.ok(&json!({"cmd": "attach", "session": "x", "offsets": true}));
    let mut at = 0;
    let event = loop {
        match client.item(LIMIT).unwrap() {
            StreamItem::Data(bytes) => at = checked(&bytes, at),
            StreamItem::Control(event) if event["event"] == "lagged" => {
                at = event["offset"].as_u64().unwrap()
            }
            StreamItem::Control(event) => break event,
            StreamItem::End => panic!("the end of the connection at {at}"),
        }
    };
    assert_eq!((at, event), (LINES * LINE, json!({"event": "pty_exited", "code": 3})));
    assert_eq!(client.item(LIMIT), Some(StreamItem::End));
}

// CO-61: what a process leaves behind does not keep its end from being told.
#[test]
fn a_background_process_on_the_terminal_does_not_delay_the_end() {
    let swb = Swb::start(EXE);
    waiting(&swb, "x", "stty raw; (trap '' HUP; exec sleep 1000) & echo $!; exit 4");
    let (data, controls) = swb.attach("x").to_end();
    assert_eq!(controls, [json!({"event": "pty_exited", "code": 4})]);
    let left: i32 = String::from_utf8(data).unwrap().trim().parse().unwrap();
    let left = rustix::process::Pid::from_raw(left).unwrap();
    rustix::process::kill_process(left, rustix::process::Signal::KILL).unwrap();
}

// CO-64
#[test]
fn a_shell_is_not_started_again_and_leaves_the_list() {
    let swb = Swb::start(EXE);
    let workspace = swb.workspace("ws");
    swb.coop().ok(
        &json!({"cmd": "create", "name": "x", "workspace": workspace, "coopfile": "[agent]\ncommand='cat'"}),
    );
    let mut shell = swb.coop();
    shell.ok(&json!({"cmd": "shell", "session": "x"}));
    shell.type_in(b"exit 3\r");
    let (_, controls) = shell.to_end();
    assert_eq!(controls, [json!({"event": "pty_exited", "code": 3})]);
    let list = swb.coop().ok(&json!({"cmd": "ls"}));
    assert_eq!(list["sessions"][0]["ptys"].as_array().unwrap().len(), 1, "{list}");
}

// ---- slow clients ----

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
    // Nobody reads at all: the program writes on.
    let mut stuck = swb.attach("x");
    wait_for("the program to have written", || workspace.join("done").exists().then_some(()));
    wait_for("all output", || (offset(&swb, "x") == total).then_some(()));
    // Somebody reads beside the one that does not.
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

// CO-61, CO-66: being slow is no reason not to be told of the end.
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
        // Whatever takes the place of an ended session is not mixed up with it.
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

// ---- positions ----

// 7.2 offsets
#[test]
fn positions_are_sent_on_request() {
    let swb = Swb::start(EXE);
    let pid = swb.make("x", &MIRROR);
    swb.attach("x").until("ready\n");
    let mut client = swb.coop();
    let answer =
        client.ok(&json!({"cmd": "attach", "session": "x", "cols": 90, "rows": 30, "offsets": true}));
    assert_eq!(
        answer,
        json!({"ok": true, "pty": 0, "offset": 0, "head": 6, "pid": pid, "cols": 90, "rows": 30})
    );
    assert_eq!(client.until("ready\n"), b"ready\n");
    let mut shell = swb.coop();
    let answer = shell.ok(&json!({"cmd": "shell", "session": "x", "command": "cat", "offsets": true}));
    assert_eq!((&answer["pty"], &answer["offset"], &answer["cols"]), (&json!(1), &json!(0), &json!(120)));
}

// 7.2 history
#[test]
fn the_requested_amount_of_history_is_sent() {
    let swb = Swb::start(EXE);
    swb.make("x", &["sh", "-c", "stty raw -echo; seq -w 1 1000000 | head -n 150000; exec cat"]);
    let total = 150_000 * LINE;
    wait_for("all output", || (offset(&swb, "x") == total).then_some(()));
    for (history, expected) in [(0, 0), (1, 1), (100_000, 100_000), (1 << 20, 1 << 20), (u64::MAX, 1 << 20)] {
        let mut client = swb.coop();
        let answer =
            client.ok(&json!({"cmd": "attach", "session": "x", "offsets": true, "history": history}));
        assert_eq!(answer["head"], total);
        let from = answer["offset"].as_u64().unwrap();
        assert!(
            total - from >= expected && (history == u64::MAX || total - from == expected),
            "{history}: {answer}"
        );
        let data = take(&mut client, (total - from) as usize);
        assert!(data == numbered(from, total - from));
        assert_eq!(client.item(QUIET), None);
    }
}

// 7.2 resume
#[test]
fn a_client_can_resume_at_its_offset() {
    let swb = Swb::start(EXE);
    swb.make("x", &["sh", "-c", "stty raw -echo; seq -w 1 1000000 | head -n 400000; exec cat"]);
    let total = 400_000 * LINE;
    wait_for("all output", || (offset(&swb, "x") == total).then_some(()));
    for back in [0, 1, 12_345, 900_000] {
        let mut client = swb.coop();
        let answer = client.ok(&json!({"cmd": "attach", "session": "x", "resume": total - back}));
        assert_eq!((&answer["offset"], &answer["head"]), (&json!(total - back), &json!(total)));
        assert!(take(&mut client, back as usize) == numbered(total - back, back));
        client.type_in(b"!");
        assert_eq!(client.until("!").last(), Some(&b'!'));
        // Undo the effect on the next round's expectations.
        swb.coop().ok(&json!({"cmd": "kill", "session": "x", "force": true}));
        wait_for("the name", || {
            swb.coop().ok(&json!({"cmd": "ls"}))["sessions"].as_array()?.is_empty().then_some(())
        });
        swb.make("x", &["sh", "-c", "stty raw -echo; seq -w 1 1000000 | head -n 400000; exec cat"]);
        wait_for("all output", || (offset(&swb, "x") == total).then_some(()));
    }
    // What is gone is told first, with where it goes on.
    let mut client = swb.coop();
    client.ok(&json!({"cmd": "attach", "session": "x", "resume": 0}));
    let Some(StreamItem::Control(event)) = client.item(LIMIT) else { panic!("no event") };
    assert_eq!(event["event"], "lagged");
    assert!(event["dropped"].as_u64().unwrap() > 0);
    let on = event["offset"].as_u64().unwrap();
    assert!(total - on >= 262_144, "{event}");
    assert!(take(&mut client, (total - on) as usize) == numbered(on, total - on));
    // What has not been written yet is waited for.
    let answer = swb.coop().ok(&json!({"cmd": "attach", "session": "x", "resume": total + 50}));
    assert_eq!(answer["offset"], total);
}

// 7.2 watch
#[test]
fn a_watcher_never_types_nor_resizes() {
    let swb = Swb::start(EXE);
    swb.make("x", &MIRROR);
    let mut client = swb.attach("x");
    client.until("ready\n");
    let mut watcher = swb.coop();
    assert_eq!(
        watcher.ask(&json!({"cmd": "attach", "session": "x", "watch": true, "cols": 10, "rows": 10})),
        json!({"ok": true})
    );
    watcher.until("ready\n");
    watcher.type_in(b"not typed");
    watcher.control(&json!({"cmd": "resize", "cols": 11, "rows": 11}));
    watcher.quiet();
    assert_eq!(size(&swb, "x"), (120, 40));
    client.type_in(b"typed");
    assert_eq!(client.until("typed"), b"typed");
    assert_eq!(watcher.until("typed"), b"typed");
    assert_eq!(local_clients(&swb, "x"), 2);
    watcher.control(&json!({"cmd": "detach"}));
    assert_eq!(watcher.to_end().1, [json!({"ok": true}), json!({"event": "detached"})]);
}

// 7.2 until, 7.5 end
#[test]
fn a_stream_can_end_at_the_current_offset() {
    let swb = Swb::start(EXE);
    flood(&swb, "x");
    let _starter = swb.attach("x");
    for _ in 0..10 {
        let mut client = swb.coop();
        let answer = client.ok(&json!({
            "cmd": "attach", "session": "x", "watch": true, "offsets": true, "until": "head", "history": 100_000,
        }));
        let (from, head) = (answer["offset"].as_u64().unwrap(), answer["head"].as_u64().unwrap());
        let (data, controls) = client.to_end();
        assert_eq!(controls, [json!({"event": "end", "offset": head})]);
        assert!(data == numbered(from, head - from));
    }
    swb.make("quiet", &["cat"]);
    let mut client = swb.coop();
    client.ok(&json!({"cmd": "attach", "session": "quiet", "until": "head"}));
    assert_eq!(client.to_end(), (vec![], vec![json!({"event": "end", "offset": 0})]));
}

// ---- helpers ----

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
        // Only a machine that gave the client no turn for long gets here; the position says where it goes on.
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

/// A session that runs `script` as soon as somebody attaches.
fn waiting(swb: &Swb, name: &str, script: &str) {
    swb.coop().ok(&json!({
        "cmd": "create", "name": name, "workspace": swb.workspace(""), "start": "writer", "argv": ["sh", "-c", script],
    }));
}

/// A session that writes numbered lines from its very first byte on, as soon as somebody attaches.
fn flood(swb: &Swb, name: &str) {
    waiting(swb, name, &format!("stty raw -echo; seq -w 1 {FLOOD} | cat; exec cat"));
}

/// A session that waits for a word (which it passes on), does `reading` and says `done`. Gives the pipe for
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
