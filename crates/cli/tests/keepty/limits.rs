//! Limits of the keepty front: probes, silent clients, many clients, clients that do not read or disappear.

use serde_json::json;
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};
use swb_testkit::{Frame, KeeptyClient, LIMIT, Swb, wait_for};
use swb_wire::keepty::{KeeptyRole, Message};

/// Gives every byte back as it came.
const ECHO: &str = "stty raw -echo; printf ready; cat";

/// Connections a session has room for (KP-19).
const ROOM: usize = 32;

/// How much earlier than here the daemon's clock may have started.
const TIMER_SLACK: Duration = Duration::from_millis(500);

// KP-10, KP-11
#[test]
fn socket_and_directory_are_private() {
    let mut swb = Swb::new(env!("CARGO_BIN_EXE_swb"));
    let dir = swb.dir().join("r/keepty");
    std::fs::create_dir(&dir).unwrap();
    std::fs::set_permissions(&dir, PermissionsExt::from_mode(0o755)).unwrap();
    swb.start_daemon();
    swb.keepty_start("a b:c", ECHO);
    let socket = dir.join("keepty-a b:c.sock");
    assert_eq!((mode(&dir), mode(&socket)), (0o700, 0o600));
    UnixStream::connect(socket).unwrap();
}

// KP-16
#[test]
fn probes_find_sessions_and_have_no_effect() {
    let swb = swb();
    let mark = swb.dir().join("started");
    swb.keepty_start("s", &format!("touch {}; {ECHO}", mark.display()));
    let found: Vec<String> = std::fs::read_dir(swb.paths().keepty_dir())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("keepty-") && name.ends_with(".sock"))
        .collect();
    assert_eq!(found, ["keepty-s.sock"]);
    for _ in 0..200 {
        UnixStream::connect(swb.paths().keepty_socket("s")).unwrap();
    }
    assert!(!mark.exists(), "a probe starts nothing");
    let (mut writer, pid) = served(&swb, KeeptyRole::Writer);
    assert_eq!(pid, 0);
    writer.until("ready");
    // Nor do they take the Writer's role away.
    for _ in 0..200 {
        UnixStream::connect(swb.paths().keepty_socket("s")).unwrap();
    }
    writer.type_in(b"mine");
    writer.until("mine");
}

// KP-17
#[test]
fn a_missing_hello_times_out_after_five_seconds() {
    let swb = swb();
    swb.keepty_start("s", ECHO);
    let begin = Instant::now();
    let mut silent = swb.keepty_raw("s");
    let mut dribbling = swb.keepty_raw("s");
    let mut cut = swb.keepty_raw("s");
    cut.send_raw(&[0, 0, 0, 7, 1, 1, 3, 0, 80, 0]);
    for byte in [0, 0, 0, 7, 1, 1] {
        // Bytes in between do not buy time.
        dribbling.send_raw(&[byte]);
        assert_eq!(dribbling.frame(Duration::from_millis(500)), None);
    }
    for client in [&mut silent, &mut cut, &mut dribbling] {
        client.closed();
        let took = begin.elapsed() + TIMER_SLACK;
        assert!(took >= Duration::from_secs(5), "closed after {took:?}");
    }
    // After the Hello, silence is no fault.
    let mut monitor = swb.keepty("s", KeeptyRole::Monitor, 80, 24);
    monitor.ack();
    assert_eq!(monitor.frame(Duration::from_millis(5500)), None);
    assert_eq!(monitor.ping(), b"");
}

// KP-19
#[test]
fn a_session_serves_32_clients_and_closes_further_ones() {
    let swb = swb();
    let mut writer = swb.keepty_running("s", ECHO);
    let mut inside: Vec<KeeptyClient> = (1..ROOM).map(|_| monitor(&swb)).collect();
    let begin = Instant::now();
    for hello in [true, false] {
        let mut refused = swb.keepty_raw("s");
        if hello {
            refused.hello(KeeptyRole::Writer, 80, 24);
        }
        assert_eq!(refused.frame(LIMIT), Some(Frame::End));
    }
    assert!(begin.elapsed() < Duration::from_secs(4), "at once");
    // Those inside do not notice, and the refused Writer is none.
    writer.type_in(b"all");
    for client in inside.iter_mut().chain([&mut writer]) {
        assert_eq!(client.message(), Message::Output(b"all".to_vec()));
    }
    // Another session has room of its own.
    swb.keepty_start("other", ECHO);
    let mut other = swb.keepty("other", KeeptyRole::Monitor, 80, 24);
    other.ack();
}

// KP-19: also those who have not sent anything yet count.
#[test]
fn silent_connections_count_towards_the_limit() {
    let swb = swb();
    swb.keepty_start("s", ECHO);
    let silent: Vec<KeeptyClient> = (0..ROOM).map(|_| swb.keepty_raw("s")).collect();
    let mut refused = swb.keepty("s", KeeptyRole::Monitor, 80, 24);
    assert_eq!(refused.frame(LIMIT), Some(Frame::End));
    drop(silent);
    served(&swb, KeeptyRole::Monitor);
}

// KP-46, KP-19
#[test]
fn every_way_to_disconnect_frees_a_place() {
    let swb = swb();
    let mut writer = swb.keepty_running("s", ECHO);
    let mut inside: Vec<KeeptyClient> = (2..ROOM).map(|_| monitor(&swb)).collect();
    type Way = (&'static str, fn(&mut KeeptyClient));
    let ways: [Way; 4] = [
        ("closing", |_| {}),
        ("half-closing", |client| {
            client.socket().shutdown(Shutdown::Write).unwrap();
            client.closed();
        }),
        ("nonsense", |client| {
            client.send_raw(&[0, 0, 0, 2, 9, 9]);
            client.closed();
        }),
        ("unread output", |client| client.send(&Message::Ping)),
    ];
    for (way, leave) in ways {
        for _ in 0..10 {
            // There is one place left.
            let (mut client, _) = served(&swb, KeeptyRole::Monitor);
            client.until("ready");
            leave(&mut client);
            drop(client);
        }
        inside.push(served(&swb, KeeptyRole::Monitor).0);
        let mut refused = swb.keepty("s", KeeptyRole::Monitor, 80, 24);
        assert_eq!(refused.frame(LIMIT), Some(Frame::End), "full again after {way}");
        inside.pop();
    }
    assert_eq!(writer.ping(), b"");
}

// KP-16, KP-19: a probe's place is free as soon as its end can be seen.
#[test]
fn a_probe_frees_its_place() {
    let swb = swb();
    let _writer = swb.keepty_running("s", ECHO);
    let _inside: Vec<KeeptyClient> = (2..ROOM).map(|_| monitor(&swb)).collect();
    for round in 0..100 {
        UnixStream::connect(swb.paths().keepty_socket("s")).unwrap();
        let mut client = swb.keepty("s", KeeptyRole::Monitor, 80, 24);
        let answer = client.frame(LIMIT);
        assert!(
            matches!(answer, Some(Frame::Message(Message::HelloAck { .. }))),
            "{answer:?} in round {round}"
        );
    }
}

// KP-46, KP-39: without a Writer any client may end the session, so this shows which one has the role.
#[test]
fn a_writer_that_vanishes_gives_up_its_role() {
    let swb = swb();
    for half in [false, true] {
        let writer = swb.keepty_running("s", ECHO);
        let mut watcher = swb.keepty("s", KeeptyRole::Watcher, 80, 24);
        watcher.ack();
        watcher.send(&Message::Shutdown);
        assert_eq!(watcher.ping(), b"", "not while there is a Writer");
        if half {
            writer.socket().shutdown(Shutdown::Write).unwrap();
            wait_for("the end of it", || writer.is_hung_up().then_some(()));
        } else {
            drop(writer);
        }
        wait_for("one client less", || (clients(&swb) == 1).then_some(()));
        watcher.send(&Message::Shutdown);
        assert_eq!(watcher.exit().1, 143);
    }
}

// KP-46: also when its last words wait for a program that does not read.
#[test]
fn clients_with_stuck_input_free_their_places() {
    let swb = swb();
    let mut watcher = {
        let mut writer = swb.keepty_running("s", "stty raw -echo; printf ready; sleep 1000");
        let watcher = swb.keepty("s", KeeptyRole::Watcher, 80, 24);
        writer.type_in(&[b'x'; 100_000]);
        watcher
    };
    watcher.ack();
    for _ in 0..2 * ROOM {
        let (mut writer, _) = served(&swb, KeeptyRole::Writer);
        writer.type_in(b"also stuck");
    }
    // The role is free as well: a Watcher may end it.
    wait_for("the Writers' places", || (clients(&swb) == 1).then_some(()));
    watcher.send(&Message::Shutdown);
    assert_eq!(watcher.exit().1, 143);
}

// KP-45: "its queue holds at least 64 frames".
#[test]
fn the_queue_of_a_client_has_64_frames() {
    let swb = swb();
    let mut writer = swb.keepty_running("s", ECHO);
    let mut late = monitor(&swb);
    let mut expected = Vec::new();
    for n in 0..70 {
        let keys = vec![b'a' + (n % 26); 4096];
        writer.type_in(&keys);
        let mut echoed = Vec::new();
        while echoed.len() < keys.len() {
            let Message::Output(bytes) = writer.message() else { panic!("only output") };
            echoed.extend(bytes);
        }
        assert!(echoed == keys);
        expected.extend(keys);
    }
    let mut seen = Vec::new();
    while seen.len() < expected.len() {
        let Message::Output(bytes) = late.message() else { panic!("only output") };
        seen.extend(bytes);
    }
    assert!(seen == expected);
}

// KP-45: a client that does not read is let go; the others get everything, and the program is not held up.
#[test]
fn a_client_that_does_not_read_is_disconnected_alone() {
    let swb = swb();
    let script = "stty raw -echo; printf ready; read x; seq 1000001 2000000; printf end; cat";
    let mut writer = swb.keepty_running("s", script);
    let mut deaf = monitor(&swb);
    let mut other = monitor(&swb);
    let listening = std::thread::spawn(move || other.until("end"));
    writer.type_in(b"\n");
    let seen = writer.until("end");
    let mut expected: Vec<u8> =
        (1_000_001..=2_000_000).flat_map(|n: u32| format!("{n}\n").into_bytes()).collect();
    expected.extend(b"end");
    assert!(seen == expected, "{} bytes", seen.len());
    assert!(listening.join().unwrap() == expected);
    wait_for("the deaf client's end", || deaf.is_hung_up().then_some(()));
    // What it did get is the beginning, not a selection.
    let (got, others) = deaf.to_end();
    assert_eq!(others, []);
    assert!(got.len() < expected.len() && expected.starts_with(&got));
    writer.type_in(b"still here");
    writer.until("still here");
}

// KP-45: "or a write blocks for 5 s".
#[test]
fn a_write_that_is_stuck_for_five_seconds_ends_the_connection() {
    let swb = swb();
    // More than a socket takes, less than is kept.
    let script = "stty raw -echo; printf ready; read x; head -c 900000 /dev/zero; printf end; cat";
    let mut writer = swb.keepty_running("s", script);
    let deaf = monitor(&swb);
    let begin = Instant::now();
    writer.type_in(b"\n");
    writer.until("end");
    writer.type_in(b"!");
    writer.until("!");
    wait_for("the deaf client's end", || deaf.is_hung_up().then_some(()));
    let took = begin.elapsed() + TIMER_SLACK;
    assert!(took >= Duration::from_secs(5), "let go after {took:?}");
    writer.type_in(b"?");
    writer.until("?");
}

// KP-45: newcomers that do not read their old output are no different.
#[test]
fn a_client_that_does_not_read_its_replay_is_disconnected() {
    let swb = swb();
    let script = "stty raw -echo; head -c 1000000 /dev/zero; printf ready; cat";
    let mut writer = swb.keepty_running("s", script);
    let begin = Instant::now();
    let deaf: Vec<KeeptyClient> =
        [KeeptyRole::Monitor, KeeptyRole::Monitor].map(|role| swb.keepty("s", role, 80, 24)).into();
    writer.type_in(b"!");
    writer.until("!");
    for client in &deaf {
        wait_for("the deaf client's end", || client.is_hung_up().then_some(()));
    }
    assert!(begin.elapsed() + TIMER_SLACK >= Duration::from_secs(5));
    wait_for("their places", || (clients(&swb) == 1).then_some(()));
    assert_eq!(writer.ping(), b"");
}

fn swb() -> Swb {
    Swb::start(env!("CARGO_BIN_EXE_swb"))
}

/// A Monitor of session `s` that has seen everything so far.
fn monitor(swb: &Swb) -> KeeptyClient {
    let mut client = swb.keepty("s", KeeptyRole::Monitor, 80, 24);
    assert!(client.ack().0 > 0);
    client.until("ready");
    client
}

/// A client of session `s` that found a place, perhaps not at the first try, and its HelloAck's process.
fn served(swb: &Swb, role: KeeptyRole) -> (KeeptyClient, u32) {
    wait_for("a place", || {
        let mut client = swb.keepty("s", role, 80, 24);
        match client.frame(LIMIT) {
            Some(Frame::Message(Message::HelloAck { pid, .. })) => Some((client, pid)),
            Some(Frame::End) => None,
            other => panic!("{other:?} instead of HelloAck"),
        }
    })
}

/// How many clients look at session `s`.
fn clients(swb: &Swb) -> u64 {
    let listed = swb.coop().ok(&json!({"cmd": "ls", "details": true}));
    listed["sessions"][0]["clients"].as_u64().expect("a number")
}

fn mode(path: &Path) -> u32 {
    path.metadata().expect("a file").permissions().mode() & 0o7777
}
