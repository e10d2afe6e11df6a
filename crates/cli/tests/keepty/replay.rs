//! Old output for new clients, and the seam where it meets the live stream.

use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use swb_testkit::{Frame, KeeptyClient, LIMIT, Swb, text, wait_for};
use swb_wire::keepty::{KeeptyRole, MAX_PAYLOAD, Message};

// KP-21: the first byte finds the Writer listening, however fast the command is.
#[test]
fn the_first_writer_misses_nothing_and_gets_nothing_twice() {
    let swb = swb();
    for round in 0..20 {
        let name = format!("s{round}");
        swb.keepty_start(&name, "seq 1 200; printf end; exec cat");
        let mut writer = swb.keepty(&name, KeeptyRole::Writer, 80, 24);
        assert_eq!(writer.ack(), (0, 80, 24));
        let expected: String = (1..=200).map(|n| format!("{n}\r\n")).collect();
        assert_eq!(text(&writer.until("end")), expected + "end");
    }
}

// KP-30, KP-31
#[test]
fn a_new_client_gets_old_output_in_one_frame_if_its_role_has_it() {
    let swb = swb();
    let script = "stty raw -echo; seq 1 30000; printf ready; cat";
    let mut writer = swb.keepty_running("s", script);
    let expected: String = (1..=30000).map(|n| format!("{n}\n")).collect::<String>() + "ready";
    for role in [KeeptyRole::Monitor, KeeptyRole::Writer] {
        let mut client = swb.keepty("s", role, 80, 24);
        assert!(client.ack().0 > 0);
        let Message::Output(replay) = client.message() else { panic!("no replay for {role:?}") };
        assert!(replay == expected.as_bytes(), "{} bytes", replay.len());
        client.quiet();
        writer = client;
    }
    let mut watcher = swb.keepty("s", KeeptyRole::Watcher, 80, 24);
    assert!(watcher.ack().0 > 0);
    watcher.quiet();
    let mut writer2 = swb.keepty("s", KeeptyRole::Writer, 80, 24);
    writer2.ack();
    writer2.until("ready");
    writer2.type_in(b"live");
    assert_eq!(watcher.message(), Message::Output(b"live".to_vec()));
    drop(writer);
}

// KP-30: "if there are any".
#[test]
fn without_old_output_there_is_no_frame_for_it() {
    let swb = swb();
    let mark = swb.dir().join("up");
    swb.keepty_start("s", &format!("stty raw -echo; touch {}; cat", mark.display()));
    let mut writer = swb.keepty("s", KeeptyRole::Writer, 80, 24);
    writer.ack();
    wait_for("the command", || mark.exists().then_some(()));
    for role in [KeeptyRole::Monitor, KeeptyRole::Writer, KeeptyRole::Watcher] {
        let mut client = swb.keepty("s", role, 80, 24);
        assert!(client.ack().0 > 0);
        client.quiet();
    }
}

// KP-30
#[test]
fn exactly_the_last_mebibyte_is_kept() {
    let swb = swb();
    // Seven bytes a line, so that the seam is not where lines are.
    let script = "stty raw -echo; seq 100000 400000; printf ready; cat";
    // A client that is there meanwhile and gets no processor time would be disconnected.
    swb.script("s", script);
    swb.ok(&["wait", "s", "--text", "ready"]);
    let mut writer = swb.keepty("s", KeeptyRole::Writer, 80, 24);
    writer.until("ready");
    let mut all: Vec<u8> = (100_000..=400_000).flat_map(|n| format!("{n}\n").into_bytes()).collect();
    all.extend(b"ready");
    let mut monitor = swb.keepty("s", KeeptyRole::Monitor, 80, 24);
    monitor.ack();
    let Message::Output(replay) = monitor.message() else { panic!("no replay") };
    assert_eq!(replay.len(), MAX_PAYLOAD);
    assert!(replay == all[all.len() - MAX_PAYLOAD..]);
    // One byte more, one byte less.
    writer.type_in(b"!");
    writer.until("!");
    all.push(b'!');
    let mut monitor = swb.keepty("s", KeeptyRole::Monitor, 80, 24);
    monitor.ack();
    assert_eq!(monitor.message(), Message::Output(all[all.len() - MAX_PAYLOAD..].to_vec()));
}

// KP-30: while output floods, every newcomer gets one frame of old output, and the live stream goes on
// exactly behind it.
#[test]
fn the_seam_is_exact_under_a_flood() {
    let swb = swb();
    let stop = swb.dir().join("stop");
    let (first, name) = flood(&swb, &stop);
    let first = std::thread::spawn(move || read_numbers(first, &mut Vec::new()));
    // The first newcomer stays until more than a whole ring has passed.
    let mut newcomers: Vec<JoinHandle<usize>> = Vec::new();
    for round in 0..12 {
        let role = if round % 3 == 0 { KeeptyRole::Writer } else { KeeptyRole::Monitor };
        let mut client = swb.keepty(name, role, 80, 24);
        assert!(client.ack().0 > 0);
        let Message::Output(mut replay) = client.message() else { panic!("no replay") };
        if round > 0 {
            assert_eq!(replay.len(), MAX_PAYLOAD);
        }
        // Some stay, so that there are ever more readers; some only look.
        if round % 2 == 1 {
            newcomers.push(std::thread::spawn(move || read_numbers(client, &mut replay)));
        } else {
            let mut more = 0;
            while more < 2 * MAX_PAYLOAD {
                if let Message::Output(bytes) = client.message() {
                    more += bytes.len();
                    replay.extend(bytes);
                }
            }
            check_numbers(&replay);
        }
    }
    std::fs::write(&stop, "").unwrap();
    let ends: Vec<usize> = std::iter::once(first)
        .chain(newcomers)
        .map(|thread| thread.join().expect("an unbroken stream"))
        .collect();
    assert!(ends.windows(2).all(|pair| pair[0] == pair[1]), "{ends:?}");
}

// KP-31, KP-29: a Watcher begins somewhere in the flood, and from there on nothing is missing.
#[test]
fn a_watcher_joins_a_flood_without_a_gap() {
    let swb = swb();
    let stop = swb.dir().join("stop");
    let (first, name) = flood(&swb, &stop);
    let first = std::thread::spawn(move || read_numbers(first, &mut Vec::new()));
    let mut watcher = swb.keepty(name, KeeptyRole::Watcher, 80, 24);
    assert!(watcher.ack().0 > 0);
    let mut seen = Vec::new();
    while seen.len() < 4 * MAX_PAYLOAD {
        match watcher.message() {
            Message::Output(bytes) => {
                assert!(bytes.len() < MAX_PAYLOAD, "no replay");
                seen.extend(bytes);
            }
            other => panic!("{other:?}"),
        }
    }
    std::fs::write(&stop, "").unwrap();
    let end = read_numbers(watcher, &mut seen);
    assert_eq!(first.join().expect("an unbroken stream"), end);
}

// KP-30: an end that has been seen is seen by those who come late, too.
#[test]
fn a_client_that_connects_at_the_end_gets_all_output() {
    let swb = swb();
    for round in 0..20 {
        let name = format!("s{round}");
        let script = "stty -echo; printf ready; read x; seq 1 2000; exit 3";
        let mut writer = swb.keepty_running(&name, script);
        let mut late = swb.keepty(&name, KeeptyRole::Monitor, 80, 24);
        writer.type_in(b"\n");
        late.ack();
        let expected: String = (1..=2000).map(|n| format!("{n}\r\n")).collect();
        let (seen, code) = late.exit();
        assert_eq!((text(&seen), code), (format!("ready{expected}"), 3));
        assert_eq!(writer.exit(), (expected.into_bytes(), 3));
    }
}

fn swb() -> Swb {
    Swb::start(env!("CARGO_BIN_EXE_swb"))
}

/// A session that prints growing numbers until the file `stop` is there, and its first Writer.
fn flood(swb: &Swb, stop: &Path) -> (KeeptyClient, &'static str) {
    let stop: PathBuf = stop.to_owned();
    let script = format!(
        "i=1000001; while [ ! -e {} ]; do seq $i $((i+9999)); i=$((i+10000)); done; printf end; cat",
        stop.display()
    );
    swb.keepty_start("flood", &script);
    let mut writer = swb.keepty("flood", KeeptyRole::Writer, 80, 24);
    assert_eq!(writer.ack(), (0, 80, 24));
    (writer, "flood")
}

/// Reads to `end` and checks that no number is missing or doubled; gives the last one.
fn read_numbers(mut client: KeeptyClient, seen: &mut Vec<u8>) -> usize {
    while !seen.ends_with(b"end") {
        match client.frame(LIMIT) {
            Some(Frame::Message(Message::Output(bytes))) => seen.extend(bytes),
            Some(Frame::Message(Message::ResizeAck { .. })) => {}
            other => panic!("{other:?} after {} bytes", seen.len()),
        }
    }
    seen.truncate(seen.len() - 3);
    check_numbers(seen)
}

/// Checks that the lines are numbers that count up by one, the first and the last perhaps cut.
fn check_numbers(bytes: &[u8]) -> usize {
    let begin = bytes.iter().position(|byte| *byte == b'\n').expect("a line") + 1;
    let end = bytes.iter().rposition(|byte| *byte == b'\n').expect("a line") + 1;
    let lines = std::str::from_utf8(&bytes[begin..end]).expect("digits");
    let mut numbers = lines
        .split_terminator("\r\n")
        .map(|line| line.parse::<usize>().unwrap_or_else(|_| panic!("{line:?} in the middle")));
    let first = numbers.next().expect("a number");
    let last = numbers.fold(first, |before, number| {
        assert_eq!(number, before + 1);
        number
    });
    let rest = std::str::from_utf8(&bytes[end..]).expect("digits").trim_end_matches('\r');
    assert!((last + 1).to_string().starts_with(rest), "{rest:?} after {last}");
    last
}
