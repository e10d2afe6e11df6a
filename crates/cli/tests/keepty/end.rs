//! How keepty sessions end: the last output, the code, the signals, and what is left behind.

use std::time::{Duration, Instant};
use swb_testkit::{KeeptyClient, Swb, is_alive, text, wait_for};
use swb_wire::keepty::{KeeptyRole, Message};

/// Gives every byte back as it came.
const ECHO: &str = "stty raw -echo; printf ready; cat";

/// What is measured from here begins a little before the daemon's own time does, never after it.
const TIMER_SLACK: Duration = Duration::from_millis(50);

// KP-42
#[test]
fn all_clients_get_the_rest_of_the_output_then_exit_then_eof() {
    let swb = swb();
    let script = "stty -echo; printf ready; read x; seq 1 20000; printf last; exit 7";
    let replaced = swb.keepty_running("s", script);
    let mut clients = vec![replaced];
    for role in [KeeptyRole::Writer, KeeptyRole::Watcher, KeeptyRole::Monitor] {
        let mut client = swb.keepty("s", role, 80, 24);
        client.ack();
        if role != KeeptyRole::Watcher {
            client.until("ready");
        }
        clients.push(client);
    }
    clients[1].type_in(b"\n");
    let expected: String = (1..=20000).map(|n| format!("{n}\r\n")).collect::<String>() + "last";
    // One after the other: the last of them begins to read long after the end.
    for client in &mut clients {
        let (seen, code) = client.exit();
        assert_eq!(code, 7);
        assert!(seen == expected.as_bytes(), "{} bytes", seen.len());
    }
    assert_gone(&swb, "s");
}

// KP-42: also more than a socket holds, for a client that was not reading just then.
#[test]
fn the_end_waits_for_a_client_that_reads_late() {
    let swb = swb();
    let script = "stty raw -echo; printf ready; read x; head -c 900000 /dev/zero; exit 9";
    let mut writer = swb.keepty_running("s", script);
    let mut monitor = swb.keepty("s", KeeptyRole::Monitor, 80, 24);
    monitor.ack();
    monitor.until("ready");
    writer.type_in(b"\n");
    let (seen, code) = writer.exit();
    assert_eq!((seen.len(), code), (900_000, 9));
    let (seen, code) = monitor.exit();
    assert_eq!((seen.len(), code), (900_000, 9));
}

// KP-42: the shortest command there is. Its end is never lost.
#[test]
fn the_exit_of_a_child_that_dies_at_once_is_never_lost() {
    let swb = swb();
    for round in 0..50 {
        let name = format!("s{round}");
        let command: &[&str] = match round % 3 {
            0 => &["/bin/true"],
            1 => &["/bin/sh", "-c", "printf x; exit 4"],
            _ => &["/bin/sh", "-c", "kill -9 $$"],
        };
        let args = [&["start", "-d", &name, "--"][..], command].concat();
        assert!(swb.named("keepty", &args).output().unwrap().status.success());
        let mut monitor = swb.keepty(&name, KeeptyRole::Monitor, 80, 24);
        monitor.ack();
        let mut writer = swb.keepty(&name, KeeptyRole::Writer, 80, 24);
        assert_eq!(writer.ack(), (0, 80, 24));
        let expected = [(vec![], 0), (b"x".to_vec(), 4), (vec![], 137)][round % 3].clone();
        assert_eq!(writer.exit(), expected, "round {round}");
        assert_eq!(monitor.exit(), expected, "round {round}");
        assert_gone(&swb, &name);
    }
}

// KP-42, KP-43: who connects in the middle of the end sees one, or no session at all.
#[test]
fn every_welcomed_client_gets_an_exit() {
    let swb = swb();
    for round in 0..20 {
        let name = format!("s{round}");
        let mut writer = swb.keepty_running(&name, "stty -echo; printf ready; read x; exit 6");
        let path = swb.paths().keepty_socket(&name);
        let (go, gone) = std::sync::mpsc::sync_channel::<()>(1);
        let late = std::thread::spawn(move || {
            let _ = gone.recv();
            let mut clients = Vec::new();
            while let Ok(mut client) = KeeptyClient::connect(&path)
                && clients.len() < 30
            {
                client.hello(KeeptyRole::Monitor, 80, 24);
                clients.push(client);
            }
            clients
        });
        drop(go);
        writer.type_in(b"\n");
        assert_eq!(writer.exit().1, 6);
        for mut client in late.join().unwrap() {
            let (_, others) = client.to_end();
            // Nothing at all is the answer of a socket that was just given up.
            if let [greeting, rest @ ..] = others.as_slice() {
                assert!(matches!(greeting, Message::HelloAck { .. }), "{others:?}");
                assert_eq!(rest, [Message::Exit { code: 6 }]);
            }
        }
    }
}

// KP-43
#[test]
fn exit_has_the_code_or_the_signal() {
    let swb = swb();
    for (script, expected) in [
        ("exit 0", 0),
        ("exit 1", 1),
        ("exit 255", 255),
        ("kill -TERM $$", 143),
        ("kill -KILL $$", 137),
        ("kill -HUP $$", 129),
        ("ulimit -c 0; kill -SEGV $$", 139),
    ] {
        swb.keepty_start("s", script);
        let mut writer = swb.keepty("s", KeeptyRole::Writer, 80, 24);
        writer.ack();
        assert_eq!(writer.exit().1, expected, "{script}");
        assert_gone(&swb, "s");
    }
}

// KP-44
#[test]
fn a_command_that_cannot_be_started_gives_127() {
    let swb = swb();
    let missing = swb.dir().join("no such program");
    let directory = swb.workspace("gone");
    let (missing, gone) = (missing.to_str().unwrap(), directory.to_str().unwrap());
    let plain = swb.dir().join("w/plain");
    std::fs::write(&plain, "not a program").unwrap();
    for args in [
        &["start", "-d", "s", "--", missing][..],
        &["start", "-d", "s", "--", plain.to_str().unwrap(), "argument"],
        &["start", "-d", "s", "--working-dir", gone, "--", "/bin/cat"],
    ] {
        assert!(swb.named("keepty", args).output().unwrap().status.success());
        if args.contains(&gone) {
            std::fs::remove_dir(&directory).unwrap();
        }
        let mut watcher = swb.keepty("s", KeeptyRole::Watcher, 80, 24);
        watcher.ack();
        let mut writer = swb.keepty("s", KeeptyRole::Writer, 80, 24);
        assert_eq!(writer.ack(), (0, 80, 24));
        for client in [&mut writer, &mut watcher] {
            assert_eq!(client.exit(), (vec![], 127), "{args:?}");
        }
        assert_gone(&swb, "s");
    }
}

// KP-40: SIGTERM reaches the whole process group, and what it writes then still arrives.
#[test]
fn shutdown_asks_the_process_group_to_end() {
    let swb = swb();
    let script = "stty -echo; \
        sh -c 'trap \"printf inner; exit 0\" TERM; printf up; while :; do sleep 1; done' & \
        read x; trap 'wait; printf outer; exit 5' TERM; printf ready; wait";
    swb.keepty_start("s", script);
    let mut writer = swb.keepty("s", KeeptyRole::Writer, 80, 24);
    writer.ack();
    writer.until("up");
    writer.type_in(b"\n");
    writer.until("ready");
    writer.send(&Message::Shutdown);
    let (seen, code) = writer.exit();
    assert_eq!(code, 5);
    // Shells may have something to say about their children, too.
    assert!(text(&seen).ends_with("innerouter"), "{:?}", text(&seen));
    assert_gone(&swb, "s");
}

// KP-40: who does not obey is killed after two seconds, not before.
#[test]
fn shutdown_kills_after_two_seconds_what_still_lives() {
    let swb = swb();
    let script = "stty -echo; trap 'printf term' TERM; trap '' HUP; printf ready; while :; do sleep 1; done";
    let mut writer = swb.keepty_running("s", script);
    let mut monitor = swb.keepty("s", KeeptyRole::Monitor, 80, 24);
    let pid = i64::from(monitor.ack().0);
    monitor.until("ready");
    let asked = Instant::now();
    monitor.send(&Message::Shutdown);
    // The session is still there for everybody meanwhile.
    monitor.until("term");
    writer.until("term");
    assert!(is_alive(pid));
    assert_eq!(writer.exit().1, 137);
    let took = asked.elapsed() + TIMER_SLACK;
    assert!(took >= Duration::from_secs(2), "killed after {took:?}");
    assert_eq!(monitor.exit().1, 137);
    assert!(!is_alive(pid));
    assert_gone(&swb, "s");
}

// KP-40: what the command left in its process group goes with it.
#[test]
fn shutdown_leaves_no_straggler() {
    let swb = swb();
    let script = "stty -echo; sh -c 'trap \"\" TERM HUP; echo pid=$$; while :; do sleep 1; done' & \
        trap 'exit 0' TERM; read x; printf ready; wait";
    swb.keepty_start("s", script);
    let mut writer = swb.keepty("s", KeeptyRole::Writer, 80, 24);
    writer.ack();
    let seen = text(&writer.until("\r\n"));
    let straggler: i64 = seen.trim().strip_prefix("pid=").unwrap().parse().unwrap();
    writer.type_in(b"\n");
    writer.until("ready");
    writer.send(&Message::Shutdown);
    assert_eq!(writer.exit().1, 0);
    wait_for("the straggler's end", || (!is_alive(straggler)).then_some(()));
}

// KP-41, KP-39
#[test]
fn shutdown_ends_a_session_that_was_never_started() {
    let swb = swb();
    let mark = swb.dir().join("started");
    for role in [KeeptyRole::Monitor, KeeptyRole::Watcher] {
        swb.keepty_start("s", &format!("touch {}", mark.display()));
        let mut other = swb.keepty("s", KeeptyRole::Watcher, 80, 24);
        other.ack();
        let mut client = swb.keepty("s", role, 80, 24);
        assert_eq!(client.ack(), (0, 80, 24));
        client.send(&Message::Shutdown);
        for client in [&mut client, &mut other] {
            let (seen, _) = client.exit();
            assert_eq!(seen, b"");
        }
        assert_gone(&swb, "s");
    }
    assert!(!mark.exists());
    // The name is free for another.
    swb.keepty_running("s", ECHO);
}

// KP-40: the client that asked may leave before it is done, without an effect on the daemon.
#[test]
fn shutdown_is_obeyed_also_when_its_sender_leaves_at_once() {
    let swb = swb();
    let daemon = swb.daemon_pid();
    let before = descriptors(daemon);
    for round in 0..5 {
        let script = "stty -echo; trap 'printf t; sleep 1; printf x; exit 3' TERM; sleep 1000 & \
            printf ready; while :; do wait; done";
        let mut writer = swb.keepty_running("s", script);
        let mut monitor = swb.keepty("s", KeeptyRole::Monitor, 80, 24);
        monitor.ack();
        monitor.send(&Message::Shutdown);
        let mut seen = Vec::new();
        if round % 2 == 0 {
            seen = writer.until("t");
        }
        drop(monitor);
        let (rest, code) = writer.exit();
        seen.extend(rest);
        assert!(text(&seen).ends_with("tx") && code == 3, "{:?} and {code} in round {round}", text(&seen));
        assert_gone(&swb, "s");
    }
    wait_for("the daemon to forget them", || (descriptors(daemon) <= before).then_some(()));
}

// KP-15, KP-42: the end of one session does not affect the others.
#[test]
fn a_name_can_be_used_again_at_once() {
    let swb = swb();
    for round in 0..10 {
        let mut writer = swb.keepty_running("s", &format!("stty -echo; printf ready; read x; exit {round}"));
        writer.type_in(b"\n");
        assert_eq!(writer.exit().1, round);
    }
}

fn swb() -> Swb {
    Swb::start(env!("CARGO_BIN_EXE_swb"))
}

/// Nothing is left of a session but, perhaps, what is remembered (KP-15).
#[track_caller]
fn assert_gone(swb: &Swb, name: &str) {
    let path = swb.paths().keepty_socket(name);
    wait_for("the socket's end", || (!path.exists()).then_some(()));
    assert!(KeeptyClient::connect(&path).is_err());
}

/// How many descriptors a process has open.
fn descriptors(pid: i64) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd")).expect("a process of ours").count()
}
