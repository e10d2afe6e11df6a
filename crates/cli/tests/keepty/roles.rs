//! Writers, Watchers and Monitors of a keepty session: what each receives, and what each may do.

use serde_json::json;
use std::path::Path;
use swb_testkit::{KeeptyClient, Swb, wait_for};
use swb_wire::keepty::{KeeptyRole, Message};

/// Gives every byte back as it came.
const ECHO: &str = "stty raw -echo; printf ready; cat";

// KP-20, KP-21
#[test]
fn the_command_starts_with_the_first_writer_at_its_size() {
    let swb = swb();
    let mark = swb.dir().join("started");
    let script = format!("touch {}; stty size; cat", mark.display());
    swb.keepty_start("s", &script);
    let mut watcher = swb.keepty("s", KeeptyRole::Watcher, 50, 10);
    let mut monitor = swb.keepty("s", KeeptyRole::Monitor, 60, 20);
    for client in [&mut watcher, &mut monitor] {
        assert_eq!(client.ack(), (0, 80, 24));
    }
    watcher.quiet();
    assert!(!mark.exists(), "no client that could type has attached yet");
    let mut writer = swb.keepty("s", KeeptyRole::Writer, 101, 31);
    assert_eq!(writer.ack(), (0, 101, 31));
    for client in [&mut writer, &mut watcher, &mut monitor] {
        // The very first byte of it, and for everybody who is there.
        assert_eq!(text(client.until("\n")), "31 101\r\n");
    }
    assert!(mark.exists());
}

// KP-20: a zero in Hello leaves that side as the session was made.
#[test]
fn a_first_writer_without_a_size_gets_the_configured_one() {
    let swb = swb();
    let args = ["start", "-d", "s", "--cols", "99", "--rows", "33", "--", "/bin/sh", "-c", "stty size; cat"];
    assert!(swb.named("keepty", &args).status().unwrap().success());
    let mut monitor = swb.keepty("s", KeeptyRole::Monitor, 1, 1);
    assert_eq!(monitor.ack(), (0, 99, 33));
    let mut writer = swb.keepty("s", KeeptyRole::Writer, 0, 0);
    assert_eq!(writer.ack(), (0, 99, 33));
    assert_eq!(text(writer.until("\n")), "33 99\r\n");
}

// KP-20, KP-27, KP-33: of two that come first, the later one types, and the terminal has its size.
#[test]
fn of_two_first_writers_the_one_that_types_decides_the_size() {
    let swb = swb();
    for round in 0..20 {
        let name = format!("s{round}");
        let script = "stty -echo; printf ready; while read x; do echo $x $(stty size); done";
        swb.keepty_start(&name, script);
        let mut writers = [swb.keepty_raw(&name), swb.keepty_raw(&name)];
        writers[0].hello(KeeptyRole::Writer, 90, 30);
        writers[1].hello(KeeptyRole::Writer, 100, 40);
        let sizes = writers.each_mut().map(|writer| {
            let (_, cols, rows) = writer.ack();
            writer.until("ready");
            (cols, rows)
        });
        assert_eq!(sizes, [(90, 30), (100, 40)]);
        let seen = wait_for("a moment without a redraw (KP-32)", || {
            writers[0].type_in(b"first\n");
            writers[1].type_in(b"second\n");
            let seen = text(writers[0].until("\r\n"));
            (!seen.ends_with("9\r\n")).then_some(seen)
        });
        let expected = ["first 30 90\r\n", "second 40 100\r\n"];
        assert!(expected.contains(&seen.as_str()), "{seen:?} in round {round}");
    }
}

// KP-22
#[test]
fn before_the_first_writer_messages_are_read_and_input_is_dropped() {
    let swb = swb();
    swb.keepty_start("s", ECHO);
    let mut watcher = swb.keepty("s", KeeptyRole::Watcher, 200, 50);
    let mut monitor = swb.keepty("s", KeeptyRole::Monitor, 200, 50);
    for client in [&mut watcher, &mut monitor] {
        assert_eq!(client.ack(), (0, 80, 24));
        client.type_in(b"too early");
        client.send(&Message::Resize { cols: 90, rows: 30 });
        assert_eq!(client.ping(), b"");
    }
    let mut writer = swb.keepty("s", KeeptyRole::Writer, 0, 0);
    assert_eq!(writer.ack(), (0, 80, 24));
    writer.until("ready");
    writer.type_in(b"x");
    assert_eq!(writer.message(), Message::Output(b"x".to_vec()));
    assert_eq!(text(monitor.until("x")), "readyx");
    assert_eq!(text(watcher.until("x")), "readyx");
}

// KP-23
#[test]
fn once_it_runs_all_clients_get_its_pid_and_size() {
    let swb = swb();
    let mut writer = swb.keepty_running("s", "echo pid=$$; printf ready; cat");
    writer.send(&Message::Resize { cols: 91, rows: 29 });
    writer.next_but_output();
    let mut monitor = swb.keepty("s", KeeptyRole::Monitor, 10, 10);
    let (pid, cols, rows) = monitor.ack();
    assert_eq!((cols, rows), (91, 29));
    assert!(text(monitor.until("ready")).starts_with(&format!("pid={pid}\r\n")));
    let mut watcher = swb.keepty("s", KeeptyRole::Watcher, 10, 10);
    assert_eq!(watcher.ack(), (pid, 91, 29));
    let mut second = swb.keepty("s", KeeptyRole::Writer, 70, 20);
    assert_eq!(second.ack(), (pid, 70, 20), "a Writer's own size");
}

// KP-26
#[test]
fn input_of_the_writer_arrives_unchanged() {
    let swb = swb();
    let mut writer = swb.keepty_running("s", ECHO);
    let all: Vec<u8> = (0..=255).chain((0..=255).rev()).collect();
    writer.type_in(&all);
    let mut seen = Vec::new();
    while seen.len() < all.len() {
        match writer.message() {
            Message::Output(bytes) => seen.extend(bytes),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(seen, all);
    writer.type_in(b"");
    assert_eq!(writer.ping(), b"", "nothing is nothing");
}

// KP-26
#[test]
fn input_of_other_clients_is_dropped() {
    let swb = swb();
    let mut writer = swb.keepty_running("s", ECHO);
    let mut watcher = newcomer(&swb, KeeptyRole::Watcher);
    let mut monitor = newcomer(&swb, KeeptyRole::Monitor);
    for client in [&mut watcher, &mut monitor] {
        client.type_in(b"no");
        assert_eq!(client.ping(), b"");
    }
    writer.type_in(b"yes");
    for client in [&mut writer, &mut watcher, &mut monitor] {
        assert_eq!(client.message(), Message::Output(b"yes".to_vec()));
    }
}

// KP-27, KP-28
#[test]
fn a_new_writer_turns_the_old_one_into_a_watcher() {
    let swb = swb();
    let mut old = swb.keepty_running("s", ECHO);
    let mut new = newcomer(&swb, KeeptyRole::Writer);
    old.type_in(b"old");
    old.send(&Message::Resize { cols: 44, rows: 11 });
    assert_eq!(old.ping(), b"");
    new.type_in(b"new");
    for client in [&mut old, &mut new] {
        assert_eq!(client.message(), Message::Output(b"new".to_vec()));
    }
    // The role does not fall back when the newer one leaves: not to the older, not to any client.
    drop(new);
    wait_for("the Writer's place", || (clients(&swb) == 1).then_some(()));
    old.type_in(b"again");
    old.send(&Message::Resize { cols: 44, rows: 11 });
    assert_eq!(old.ping(), b"");
    old.quiet();
    let mut third = newcomer(&swb, KeeptyRole::Writer);
    third.type_in(b"third");
    assert_eq!(old.message(), Message::Output(b"third".to_vec()));
}

// KP-28
#[test]
fn without_a_writer_the_session_continues() {
    let swb = swb();
    let script =
        "stty -echo; printf ready; read x; i=0; while [ $i -lt 5 ]; do echo line $i; i=$((i+1)); done; cat";
    let mut writer = swb.keepty_running("s", script);
    let mut monitor = newcomer(&swb, KeeptyRole::Monitor);
    writer.type_in(b"\n");
    drop(writer);
    assert_eq!(text(monitor.until("line 4\r\n")), "line 0\r\nline 1\r\nline 2\r\nline 3\r\nline 4\r\n");
    assert_eq!(monitor.ping(), b"");
}

// KP-29
#[test]
fn output_goes_to_all_clients_in_order_and_unchanged() {
    let swb = swb();
    let script =
        "stty -echo; printf ready; read x; printf 'a\\000\\033[1m\\377\\n'; seq 1 5000; printf end; cat";
    let mut writer = swb.keepty_running("s", script);
    let mut everybody = vec![
        newcomer(&swb, KeeptyRole::Watcher),
        newcomer(&swb, KeeptyRole::Monitor),
        newcomer(&swb, KeeptyRole::Writer),
        newcomer(&swb, KeeptyRole::Monitor),
    ];
    writer.type_in(b"dropped, for another has come");
    everybody[2].type_in(b"\n");
    everybody.push(writer);
    let mut expected = b"a\0\x1b[1m\xff\r\n".to_vec();
    for n in 1..=5000 {
        expected.extend(format!("{n}\r\n").into_bytes());
    }
    expected.extend(b"end");
    for client in &mut everybody {
        assert!(client.until("end") == expected, "{:?}", client.socket());
    }
}

// KP-39
#[test]
fn shutdown_without_permission_is_ignored() {
    let swb = swb();
    let mut replaced = swb.keepty_running("s", ECHO);
    let mut writer = newcomer(&swb, KeeptyRole::Writer);
    let mut watcher = newcomer(&swb, KeeptyRole::Watcher);
    for client in [&mut replaced, &mut watcher] {
        client.send(&Message::Shutdown);
        assert_eq!(client.ping(), b"");
    }
    writer.type_in(b"alive");
    for client in [&mut replaced, &mut watcher, &mut writer] {
        assert_eq!(client.message(), Message::Output(b"alive".to_vec()));
    }
}

// KP-39
#[test]
fn writer_and_monitor_may_shut_down_and_any_client_without_a_writer() {
    let swb = swb();
    for (name, role, writer_stays) in [
        ("writer", KeeptyRole::Writer, true),
        ("monitor", KeeptyRole::Monitor, true),
        ("lonely-monitor", KeeptyRole::Monitor, false),
        ("watcher", KeeptyRole::Watcher, false),
    ] {
        let mut writer = Some(swb.keepty_running(name, ECHO));
        let mut other = match role {
            KeeptyRole::Writer => None,
            role => {
                let mut client = swb.keepty(name, role, 80, 24);
                client.ack();
                Some(client)
            }
        };
        if !writer_stays {
            writer = None;
            wait_for("the Writer's place", || (clients_of(&swb, name) == 1).then_some(()));
        }
        let killer = other.as_mut().or(writer.as_mut()).unwrap();
        killer.send(&Message::Shutdown);
        assert_eq!(killer.exit().1, 143, "{name}");
        wait_for("the socket's end", || (!swb.paths().keepty_socket(name).exists()).then_some(()));
    }
}

// XS-4
#[test]
fn other_dialects_type_beside_the_writer() {
    let swb = swb();
    let mut writer = swb.keepty_running("s", ECHO);
    let mut coop = swb.coop();
    coop.ok(&json!({"cmd": "attach", "session": "s", "cols": 80, "rows": 24}));
    coop.type_in(b"from coop");
    assert_eq!(text(writer.until("coop")), "from coop");
    writer.type_in(b"from keepty");
    assert_eq!(text(writer.until("keepty")), "from keepty");
    coop.until("from keepty");
}

// XS-3: a session made elsewhere has its command running before any Writer comes.
#[test]
fn a_session_made_by_another_dialect_has_a_socket_here() {
    let swb = swb();
    let workspace = swb.workspace("w");
    let mut coop = swb.coop();
    let argv = json!(["/bin/sh", "-c", ECHO]);
    let created =
        coop.ok(&json!({"cmd": "create", "workspace": path(&workspace), "name": "s", "argv": argv}));
    let mut writer = swb.keepty("s", KeeptyRole::Writer, 77, 22);
    assert_eq!(writer.ack(), (created["pid"].as_u64().unwrap() as u32, 77, 22), "its process is no secret");
    writer.until("ready");
    writer.type_in(b"hello");
    writer.until("hello");
}

fn swb() -> Swb {
    Swb::start(env!("CARGO_BIN_EXE_swb"))
}

/// A further client of session `s` that has seen everything so far.
fn newcomer(swb: &Swb, role: KeeptyRole) -> KeeptyClient {
    let mut client = swb.keepty("s", role, 80, 24);
    assert!(client.ack().0 > 0);
    if role != KeeptyRole::Watcher {
        client.until("ready");
    }
    client
}

fn clients(swb: &Swb) -> u64 {
    clients_of(swb, "s")
}

/// How many clients look at a session.
fn clients_of(swb: &Swb, name: &str) -> u64 {
    let listed = swb.coop().ok(&json!({"cmd": "ls", "details": true}));
    let sessions = listed["sessions"].as_array().expect("a list");
    let session = sessions.iter().find(|session| session["name"] == name).expect("the session");
    session["clients"].as_u64().expect("a number")
}

fn path(path: &Path) -> &str {
    path.to_str().expect("text")
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}
