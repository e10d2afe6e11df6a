//! Input and sizes from clients.

use super::{EXE, MIRROR, frame, local_clients, message, numbered, recorder, size};
use serde_json::json;
use swb_testkit::{CoopClient, Swb, wait_for};

// CO-56
#[test]
fn input_of_all_clients_is_merged_one_frame_at_a_time() {
    const FRAMES: usize = 60;
    const LEN: usize = 10_000;
    let swb = Swb::start(EXE);
    let ([go, ..], got) = recorder(&swb, &format!("head -c {} > got", 3 * FRAMES * LEN));
    let mut first = swb.attach("rec");
    first.until("ready\n");
    go.write("");
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
fn a_megabyte_of_input_arrives_whole_at_a_slow_program_and_stops_no_other() {
    let swb = Swb::start(EXE);
    let input = numbered(0, 1 << 20);
    // Reads in three goes, and waits for a word from outside before each; passes that word on.
    let reading = "head -c 300000 > got; cat go1; head -c 300000 >> got; cat go2; head -c 448576 >> got";
    let (pipes, got) = recorder(&swb, reading);
    let mut typist = swb.attach("rec");
    typist.until("ready\n");
    let mut watcher = swb.attach("rec");
    watcher.until("ready\n");
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
        go.write(&word);
        watcher.until(&word);
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
    let mut watcher = swb.attach("rec");
    watcher.until("ready\n");
    let mut typist = swb.attach("rec");
    typist.until("ready\n");
    for chunk in input.chunks(50_000) {
        typist.type_in(chunk);
    }
    drop(typist);
    // It is gone for everybody although its input still waits.
    wait_for("the client to be gone", || (local_clients(&swb, "rec") == 1).then_some(()));
    go.write("");
    watcher.until("done\n");
    assert!(std::fs::read(&got).unwrap() == input);
}

// CO-54, CO-60
#[test]
fn input_of_a_client_that_never_reads_is_delivered() {
    let swb = Swb::start(EXE);
    swb.make("x", &MIRROR);
    let mut watcher = swb.attach("x");
    watcher.until("ready\n");
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
        assert_eq!(watcher.until(&text), text.as_bytes());
    }
}

// CO-56, CO-59
#[test]
fn input_sent_right_before_a_detach_is_delivered() {
    let swb = Swb::start(EXE);
    swb.make("x", &MIRROR);
    let mut watcher = swb.attach("x");
    watcher.until("ready\n");
    for round in 0..20 {
        let mut client = swb.attach("x");
        let text = format!("<{round}>");
        client.send_raw(&[frame(0, text.as_bytes()), frame(1, br#"{"cmd":"detach"}"#)].concat());
        assert_eq!(watcher.until(&text), text.as_bytes());
        let (_, controls) = client.to_end();
        assert_eq!(controls, [json!({"ok": true}), json!({"event": "detached"})]);
    }
}

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
        // The program gets the size; the clients notice it only by what it writes.
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
