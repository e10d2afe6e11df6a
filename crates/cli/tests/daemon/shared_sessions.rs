//! One session in several dialects at once: coop and keepty on the same terminal.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use swb_testkit::{Frame, KeeptyClient, LIMIT, QUIET, StreamItem, Swb, is_alive, wait_for};
use swb_wire::keepty::{KeeptyRole, Message};

const EXE: &str = env!("CARGO_BIN_EXE_swb");
/// Gives back every byte as it is.
const MIRROR: [&str; 3] = ["sh", "-c", "stty raw -echo; echo ready; exec cat"];

// XS-2
#[test]
fn a_name_is_in_use_in_all_dialects() {
    let swb = Swb::start(EXE);
    swb.make("coop", &["cat"]);
    let output = swb.named("keepty", &["start", "coop", "-d", "--", "cat"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("already running"), "{output:?}");

    // Also while the keepty session waits for its first Writer.
    keepty_start(&swb, "keepty", &["cat"]);
    let answer = swb.coop().ask(&json!({"cmd": "create", "name": "keepty", "workspace": swb.workspace("")}));
    assert_eq!((&answer["error"], &answer["session"]), (&json!("SESSION_EXISTS"), &json!("keepty")));
    let again = swb.named("keepty", &["start", "keepty", "-d", "--", "cat"]).output().unwrap();
    assert_eq!(again.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&again.stderr).contains("already running"), "{again:?}");
    assert_eq!(sessions(&swb), ["coop", "keepty"]);
}

// XS-3
#[test]
fn a_session_of_one_dialect_exists_in_the_other() {
    let swb = Swb::start(EXE);
    // Made through coop, used through keepty.
    let pid = swb.make("coop", &MIRROR);
    let mut writer = swb.keepty("coop", KeeptyRole::Writer, 100, 30);
    assert_eq!(writer.ack(), (u32::try_from(pid).unwrap(), 100, 30));
    writer.until("ready\n");
    let mut coop = swb.attach("coop");
    coop.until("ready\n");
    // Made through keepty, used through coop, which is its first terminal here.
    keepty_start(&swb, "keepty", &MIRROR);
    let mut other = swb.attach("keepty");
    other.until("ready\n");
    let mut monitor = swb.keepty("keepty", KeeptyRole::Monitor, 1, 1);
    let (pid, cols, rows) = monitor.ack();
    assert!(is_alive(pid.into()));
    assert_eq!((cols, rows), (120, 40), "coop gave it its size");
    monitor.until("ready\n");

    // All clients see the same, from any of them.
    for (keepty, coop) in [(&mut writer, &mut coop), (&mut monitor, &mut other)] {
        coop.type_in(b"<from coop>");
        assert_eq!(coop.until("<from coop>"), b"<from coop>");
        assert_eq!(keepty.until("<from coop>"), b"<from coop>");
    }
    writer.type_in(b"<from keepty>");
    assert_eq!(coop.until("<from keepty>"), b"<from keepty>");
    assert_eq!(writer.until("<from keepty>"), b"<from keepty>");
    let list = swb.coop().ok(&json!({"cmd": "ls", "details": true}));
    for (at, name) in ["coop", "keepty"].iter().enumerate() {
        let item = &list["sessions"][at];
        assert_eq!(item["name"], *name);
        assert_eq!((&item["clients"], &item["local_clients"]), (&json!(2), &json!(1)));
    }
}

// XS-3: shells are coop's; the keepty socket is for the agent.
#[test]
fn the_keepty_socket_is_attached_to_the_agent() {
    let swb = Swb::start(EXE);
    swb.make("x", &MIRROR);
    let mut shell = swb.coop();
    shell.ok(&json!({"cmd": "shell", "session": "x", "argv": MIRROR}));
    shell.until("ready\n");
    let mut monitor = swb.keepty("x", KeeptyRole::Monitor, 1, 1);
    monitor.ack();
    monitor.until("ready\n");
    shell.type_in(b"for the shell");
    shell.until("for the shell");
    assert_eq!(monitor.frame(QUIET), None);
    // Its number of clients is of its own kind, too.
    assert_eq!(swb.coop().ok(&json!({"cmd": "ls"}))["sessions"][0]["local_clients"], 1);
}

// XS-4
#[test]
fn a_keepty_writer_excludes_keepty_clients_but_not_coop() {
    let swb = Swb::start(EXE);
    swb.make("x", &MIRROR);
    let mut coop = [swb.attach("x"), swb.attach("x")];
    coop.iter_mut().for_each(|client| drop(client.until("ready\n")));
    let mut first = joined(&swb, "x", KeeptyRole::Writer);
    let mut second = joined(&swb, "x", KeeptyRole::Writer);
    let mut watcher = joined(&swb, "x", KeeptyRole::Watcher);
    let mut monitor = joined(&swb, "x", KeeptyRole::Monitor);

    for silent in [&mut first, &mut watcher, &mut monitor] {
        silent.type_in(b"<dropped>");
        pong(silent);
    }
    // Everybody who may type does, one after the other.
    for round in 0..5 {
        let text = format!("<{round}>");
        match round {
            0 | 3 => coop[0].type_in(text.as_bytes()),
            1 | 4 => coop[1].type_in(text.as_bytes()),
            _ => second.type_in(text.as_bytes()),
        }
        for client in &mut coop {
            assert_eq!(client.until(&text), text.as_bytes());
        }
    }
    // Without a Writer coop types on.
    drop(second);
    coop[0].type_in(b"<alone>");
    assert_eq!(coop[1].until("<alone>"), b"<alone>");
    assert_eq!(String::from_utf8(watcher.until("<alone>")).unwrap(), "<0><1><2><3><4><alone>");
}

// XS-4: both at the same time; messages stay whole.
#[test]
fn input_of_both_dialects_is_merged_whole() {
    const ROUNDS: usize = 50;
    const LEN: usize = 6000;
    let swb = Swb::start(EXE);
    let workspace = swb.workspace("ws");
    let script =
        format!("stty raw -echo; echo ready; head -c {} > got; echo done; exec cat", 2 * ROUNDS * LEN);
    swb.coop()
        .ok(&json!({"cmd": "create", "name": "x", "workspace": workspace, "argv": ["sh", "-c", script]}));
    let mut coop = swb.attach("x");
    coop.until("ready\n");
    let mut keepty = joined(&swb, "x", KeeptyRole::Writer);
    std::thread::scope(|scope| {
        scope.spawn(|| (0..ROUNDS).for_each(|n| coop.type_in(&[b'c', n as u8].repeat(LEN / 2))));
        scope.spawn(|| (0..ROUNDS).for_each(|n| keepty.type_in(&[b'k', n as u8].repeat(LEN / 2))));
    });
    coop.until("done\n");
    let got = std::fs::read(workspace.join("got")).unwrap();
    let mut next = BTreeMap::from([(b'c', 0_u8), (b'k', 0_u8)]);
    for (at, chunk) in got.chunks(LEN).enumerate() {
        let n = next.get_mut(&chunk[0]).unwrap();
        assert!(chunk == [chunk[0], *n].repeat(LEN / 2), "message {at} is torn or out of order");
        *n += 1;
    }
    assert_eq!(next.into_values().collect::<Vec<_>>(), [ROUNDS as u8; 2]);
}

// XS-5
#[test]
fn a_resize_in_one_dialect_is_announced_in_the_other() {
    let swb = Swb::start(EXE);
    swb.make("x", &MIRROR);
    let mut coop = swb.coop();
    coop.ok(&json!({"cmd": "attach", "session": "x", "cols": 90, "rows": 30}));
    coop.until("ready\n");
    let mut writer = swb.keepty("x", KeeptyRole::Writer, 90, 30);
    writer.ack();
    let mut watcher = joined(&swb, "x", KeeptyRole::Watcher);
    let mut monitor = joined(&swb, "x", KeeptyRole::Monitor);
    let mut generation = 0;
    let mut announced = |cols: u16, rows: u16, clients: &mut [&mut KeeptyClient]| {
        let mut seen = Vec::new();
        for client in clients {
            match client.next_but_output() {
                Message::ResizeAck { generation, cols: c, rows: r } => {
                    assert_eq!((c, r), (cols, rows));
                    seen.push(generation);
                }
                other => panic!("{other:?}"),
            }
        }
        assert!(seen.iter().all(|number| *number == seen[0]), "{seen:?}");
        if generation > 0 {
            assert_eq!(seen[0], generation + 1, "they count through, for every client");
        }
        generation = seen[0];
    };
    coop.control(&json!({"cmd": "resize", "cols": 101, "rows": 31}));
    announced(101, 31, &mut [&mut writer, &mut watcher, &mut monitor]);
    writer.send(&Message::Resize { cols: 102, rows: 32 });
    announced(102, 32, &mut [&mut writer, &mut watcher, &mut monitor]);
    wait_for("the size in coop", || (size(&swb) == (102, 32)).then_some(()));
    // Attaching is a resize too, if the size is another.
    let mut newcomer = swb.coop();
    newcomer.ok(&json!({"cmd": "attach", "session": "x", "cols": 103, "rows": 33}));
    announced(103, 33, &mut [&mut writer, &mut watcher, &mut monitor]);
    swb.coop().ok(&json!({"cmd": "attach", "session": "x", "cols": 103, "rows": 33}));
    swb.coop().ok(&json!({"cmd": "attach", "session": "x", "watch": true, "cols": 5, "rows": 5}));
    newcomer.control(&json!({"cmd": "resize", "cols": 104, "rows": 34}));
    announced(104, 34, &mut [&mut writer, &mut watcher, &mut monitor]);
    assert_eq!(size(&swb), (104, 34));
    // The kernel knows it as well.
    coop.type_in(b"x");
    let pid = swb.coop().ok(&json!({"cmd": "ls"}))["sessions"][0]["pid"].clone();
    let terminal = std::fs::File::open(format!("/proc/{pid}/fd/0")).unwrap();
    let real = rustix::termios::tcgetwinsize(&terminal).unwrap();
    assert_eq!((real.ws_col, real.ws_row), (104, 34));
}

// XS-6
#[test]
fn keepty_shutdown_ends_the_session_for_coop_too() {
    let swb = Swb::start(EXE);
    let pid = swb.make("x", &MIRROR);
    swb.make("bystander", &MIRROR);
    let mut coop = swb.attach("x");
    coop.until("ready\n");
    let mut shell = swb.coop();
    shell.ok(&json!({"cmd": "shell", "session": "x", "command": "cat"}));
    let mut monitor = joined(&swb, "x", KeeptyRole::Monitor);
    monitor.send(&Message::Shutdown);
    assert_eq!(coop.to_end().1, [json!({"event": "pty_exited", "code": 128 + 15})]);
    assert_eq!(shell.to_end().1, [json!({"event": "pty_exited", "code": 128 + 15})]);
    assert_eq!(monitor.to_end().1, [Message::Exit { code: 128 + 15 }]);
    wait_for("its end", || (!is_alive(pid) && sessions(&swb) == ["bystander"]).then_some(()));
    assert!(!swb.paths().keepty_socket("x").exists());
    swb.attach("bystander").until("ready\n");
}

// XS-6
#[test]
fn coop_kill_ends_the_session_for_keepty_too() {
    let swb = Swb::start(EXE);
    keepty_start(&swb, "x", &MIRROR);
    let mut writer = swb.keepty("x", KeeptyRole::Writer, 80, 24);
    writer.ack();
    writer.until("ready\n");
    let mut watcher = joined(&swb, "x", KeeptyRole::Watcher);
    assert_eq!(swb.coop().ask(&json!({"cmd": "kill", "session": "x"})), json!({"ok": true}));
    for client in [&mut writer, &mut watcher] {
        assert_eq!(client.to_end().1, [Message::Exit { code: 128 + 15 }]);
    }
    assert!(!swb.paths().keepty_socket("x").exists());
    // One that was never started can be ended as well.
    keepty_start(&swb, "waiting", &MIRROR);
    let mut early = swb.keepty("waiting", KeeptyRole::Watcher, 80, 24);
    early.ack();
    swb.coop().ok(&json!({"cmd": "kill", "session": "waiting"}));
    assert!(matches!(early.to_end().1[..], [Message::Exit { .. }]));
    wait_for("the socket to go", || (!swb.paths().keepty_socket("waiting").exists()).then_some(()));
    keepty_start(&swb, "waiting", &MIRROR);
}

// XS-6
#[test]
fn coop_shutdown_ends_the_daemon_and_no_session_of_any_dialect() {
    let mut swb = Swb::start(EXE);
    swb.make("coop", &MIRROR);
    keepty_start(&swb, "keepty", &MIRROR);
    keepty_start(&swb, "waiting", &MIRROR);
    let mut writer = swb.keepty("keepty", KeeptyRole::Writer, 99, 33);
    writer.ack();
    writer.until("ready\n");
    let mut watcher = joined(&swb, "coop", KeeptyRole::Watcher);
    swb.attach("coop").until("ready\n");
    let pids: Vec<Value> = ["coop", "keepty"].map(|name| item(&swb, name)["pid"].clone()).to_vec();
    swb.coop().ok(&json!({"cmd": "shutdown"}));
    for client in [&mut writer, &mut watcher] {
        let (_, others) = client.to_end();
        assert!(
            !others.iter().any(|message| matches!(message, Message::Exit { .. })),
            "no session has ended"
        );
    }
    assert!(swb.daemon().wait().unwrap().success());
    assert!(pids.iter().all(|pid| is_alive(pid.as_i64().unwrap())));

    swb.start_daemon();
    assert_eq!(sessions(&swb), ["coop", "keepty", "waiting"]);
    let mut writer = swb.keepty("keepty", KeeptyRole::Writer, 99, 33);
    assert_eq!(json!(writer.ack().0), pids[1]);
    assert_eq!(writer.until("ready\n"), b"ready\n");
    writer.type_in(b"on and on");
    writer.until("on and on");
    let mut coop = swb.attach("coop");
    coop.until("ready\n");
    // The one that waits still waits.
    let mut first = swb.keepty("waiting", KeeptyRole::Writer, 50, 20);
    assert_eq!(first.ack(), (0, 50, 20));
    first.until("ready\n");
}

// XS-9
#[test]
fn the_environment_is_that_of_the_dialect_that_made_the_process() {
    let mut swb = Swb::new(EXE);
    swb.start_daemon_with(|daemon| {
        daemon.env("TERM", "vt100").env("FROM_DAEMON", "yes");
    });
    let env = |pid: &Value| -> BTreeMap<String, String> {
        let bytes = std::fs::read(format!("/proc/{pid}/environ")).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let entries = text.split('\0').filter_map(|entry| entry.split_once('='));
        entries.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
    };
    let marked = |env: &BTreeMap<String, String>| env.keys().any(|key| key.starts_with("COOP_"));

    // coop: its marks, and the daemon's terminal type.
    let workspace = swb.workspace("coop");
    swb.coop()
        .ok(&json!({"cmd": "create", "workspace": workspace, "coopfile": "[agent]\ncommand = 'cat'\n"}));
    let coop = env(&item(&swb, "coop")["pid"]);
    assert!(marked(&coop) && coop["TERM"] == "vt100" && coop["FROM_DAEMON"] == "yes");

    // keepty: its own terminal type, not the starter's, the starter's environment, no marks.
    let mut start = swb.named("keepty", &["start", "keepty", "-d", "--", "cat"]);
    assert!(start.env("TERM", "dumb").env("FROM_STARTER", "yes").output().unwrap().status.success());
    let mut writer = swb.keepty("keepty", KeeptyRole::Writer, 80, 24);
    writer.ack();
    let pid = wait_for("its process", || Some(item(&swb, "keepty")["pid"].clone()).filter(|pid| *pid != 0));
    let keepty = env(&pid);
    assert!(!marked(&keepty) && keepty["TERM"] == "xterm-256color" && keepty["FROM_STARTER"] == "yes");
    assert!(!keepty.contains_key("FROM_DAEMON"));

    // A plain command line: neither.
    swb.coop().ok(&json!({
        "cmd": "create", "name": "run", "workspace": workspace, "argv": ["/bin/cat"], "env": {"TERM": "dumb"},
    }));
    assert_eq!(env(&item(&swb, "run")["pid"]), BTreeMap::from([("TERM".to_owned(), "dumb".to_owned())]));

    // Being seen through the other dialect changes nothing, also not for the next process.
    let mut other = joined(&swb, "coop", KeeptyRole::Writer);
    other.type_in(b"x");
    let restarted = swb.coop().ok(&json!({"cmd": "restart", "session": "coop"}))["pid"].clone();
    assert_eq!(env(&restarted), coop);
    swb.attach("keepty");
    let restarted = swb.coop().ok(&json!({"cmd": "restart", "session": "keepty"}))["pid"].clone();
    assert_eq!(env(&restarted), keepty);
}

// XS-11
#[test]
fn each_dialect_keeps_its_own_limit() {
    let swb = Swb::start(EXE);
    swb.make("x", &MIRROR);
    let mut coop = swb.attach("x");
    coop.until("ready\n");
    let fill = |byte: u8, len: usize| vec![byte; len];

    // keepty: a body of 1 048 578, which is two more than coop takes.
    let mut keepty = joined(&swb, "x", KeeptyRole::Writer);
    keepty.send_raw(&[&1_048_578_u32.to_be_bytes()[..], &[1, 3], &fill(b'k', 1_048_576)].concat());
    assert_eq!(count(&mut coop, b'k', 1_048_576), 1_048_576);
    keepty.send_raw(&[&1_048_579_u32.to_be_bytes()[..], &[1, 3]].concat());
    keepty.closed();

    // coop: 1 048 576 with the tag.
    coop.send_raw(&[&1_048_576_u32.to_be_bytes()[..], &[0], &fill(b'c', 1_048_575)].concat());
    assert_eq!(count(&mut coop, b'c', 1_048_575), 1_048_575);
    coop.send_raw(&1_048_577_u32.to_be_bytes());
    assert_eq!(coop.to_end(), (vec![], vec![]));
    swb.attach("x");
    joined(&swb, "x", KeeptyRole::Writer);
}

// XS-12
#[test]
fn output_that_is_longer_than_a_frame_is_split() {
    let mut swb = Swb::new(EXE);
    let file = swb.paths().config_file();
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, "[daemon]\nring_bytes = 8388608\n").unwrap();
    swb.start_daemon();
    let total: u64 = 700_000 * 8;
    swb.make("x", &["sh", "-c", "stty raw -echo; seq -w 1 1000000 | head -n 700000; exec cat"]);
    wait_for("all output", || (item(&swb, "x")["offset"] == total).then_some(()));
    let expected: Vec<u8> = (1..=700_000).flat_map(|n| format!("{n:07}\n").into_bytes()).collect();

    let mut coop = swb.coop();
    coop.ok(&json!({"cmd": "attach", "session": "x", "history": total}));
    let mut data = Vec::new();
    while data.len() < expected.len() {
        match coop.item(LIMIT) {
            Some(StreamItem::Data(bytes)) => {
                assert!(bytes.len() <= 1_048_575, "a frame with {} bytes", bytes.len());
                data.extend(bytes);
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(data == expected);

    // keepty promises one frame with the last MiB of it, and that is what a frame holds.
    let mut monitor = swb.keepty("x", KeeptyRole::Monitor, 1, 1);
    monitor.ack();
    let Message::Output(replay) = monitor.message() else { panic!("no replay") };
    assert_eq!(replay.len(), 1_048_576);
    assert!(expected.ends_with(&replay));
    // Live, however much comes at once.
    let mut typist = swb.attach("x");
    let typed: Vec<u8> = (0..2_000_000_u32).map(|n| b'a' + (n % 26) as u8).collect();
    for chunk in typed.chunks(1_000_000) {
        typist.type_in(chunk);
    }
    let mut live = Vec::new();
    while live.len() < typed.len() {
        match monitor.frame(LIMIT) {
            Some(Frame::Message(Message::Output(bytes))) => {
                assert!(bytes.len() <= 1_048_576);
                live.extend(bytes);
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(live == typed);
}

// XS-13
#[test]
fn no_content_no_secret_and_no_environment_is_ever_logged_or_stored() {
    let mut swb = Swb::new(EXE);
    let file = swb.paths().config_file();
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, "[daemon]\nlog_level = \"trace\"\n").unwrap();
    swb.start_daemon_with(|daemon| {
        daemon.env("DAEMON_SECRET", "hunter2-daemon");
    });
    swb.coop().ok(&json!({
        "cmd": "create", "name": "x", "workspace": swb.workspace(""), "argv": MIRROR,
        "env": {"PATH": std::env::var("PATH").unwrap(), "SECRET": "hunter2-env"},
    }));
    swb.coop().ok(&json!({
        "cmd": "create", "name": "agent", "workspace": swb.workspace("agent"),
        "coopfile": "[agent]\ncommand = 'cat'\n[env]\nSECRET = 'hunter2-coopfile'\n[network]\nmode = 'hunter2-mode'\n",
    }));
    let mut coop = swb.attach("x");
    coop.until("ready\n");
    coop.type_in(b"hunter2-typed");
    coop.until("hunter2-typed");
    let mut keepty = joined(&swb, "x", KeeptyRole::Writer);
    keepty.type_in(b"hunter2-keepty");
    keepty.until("hunter2-keepty");
    swb.control().ok(&json!({"cmd": "send", "session": "x", "text": "hunter2-sent"}));
    coop.until("hunter2-sent");
    swb.coop().ok(&json!({"cmd": "logs", "session": "x"}));
    // What is refused is not repeated in the log either.
    swb.coop().error(&json!({"cmd": "serve", "host": "hunter2-host", "token": "hunter2-token"}));
    swb.coop().ok(&json!({"cmd": "serve", "port": 0, "token": "hunter2-token"}));
    swb.coop().error(&json!({"cmd": "hunter2-command"}));
    swb.control().error(&json!({"cmd": "send", "session": "x", "text": ["hunter2-wrong"]}));
    swb.coop().error(&json!({
        "cmd": "create", "name": "y", "workspace": swb.workspace(""), "argv": ["/no/such"], "env": {"A": "hunter2-failed"},
    }));
    coop.send_raw(b"\xff\xff\xff\xffhunter2-frame");
    coop.closed();
    keepty.send_raw(b"\x00\x00\x00\x0f\x01\x63hunter2-frame");
    keepty.to_end();
    // The daemon that the keeper starts logs to a file.
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(i32::try_from(swb.daemon_pid()).unwrap()).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    swb.daemon().wait().unwrap();
    swb.status();
    swb.attach("x").until("hunter2-typed");
    swb.coop().ok(&json!({"cmd": "kill", "all": true}));

    assert!(swb.log().contains("ready"), "there is a log");
    let mut files = Vec::new();
    collect(swb.dir(), &mut files);
    assert!(files.iter().any(|file| file.ends_with("daemon.log")));
    for file in files {
        let bytes = std::fs::read(&file).unwrap();
        let found =
            String::from_utf8_lossy(&bytes).lines().find(|line| line.contains("hunter2")).map(str::to_owned);
        assert_eq!(found, None, "in {}", file.display());
    }
}

// ---- helpers ----

/// A session made through the command line of keepty; its command starts with the first terminal.
#[track_caller]
fn keepty_start(swb: &Swb, name: &str, argv: &[&str]) {
    let args = [&["start", name, "-d", "--"], argv].concat();
    let output = swb.named("keepty", &args).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// A keepty client that has got its answer, what was there, and the redraw it causes.
fn joined(swb: &Swb, session: &str, role: KeeptyRole) -> KeeptyClient {
    let size = item(swb, session);
    let (cols, rows) = (size["cols"].as_u64().unwrap() as u16, size["rows"].as_u64().unwrap() as u16);
    let mut client = swb.keepty(session, role, cols, rows);
    client.ack();
    pong(&mut client);
    client
}

/// Waits until everything sent so far was processed; skips output.
#[track_caller]
fn pong(client: &mut KeeptyClient) {
    client.send(&Message::Ping);
    assert_eq!(client.next_but_output(), Message::Pong);
}

fn sessions(swb: &Swb) -> Vec<String> {
    let list = swb.coop().ok(&json!({"cmd": "ls"}));
    list["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|session| session["name"].as_str().unwrap().to_owned())
        .collect()
}

fn item(swb: &Swb, session: &str) -> Value {
    let list = swb.coop().ok(&json!({"cmd": "ls", "details": true}));
    list["sessions"].as_array().unwrap().iter().find(|item| item["name"] == session).unwrap().clone()
}

fn size(swb: &Swb) -> (u64, u64) {
    let item = item(swb, "x");
    (item["cols"].as_u64().unwrap(), item["rows"].as_u64().unwrap())
}

/// Reads output until `byte` came `most` times; gives how often it came.
#[track_caller]
fn count(client: &mut swb_testkit::CoopClient, byte: u8, most: usize) -> usize {
    let mut n = 0;
    while n < most {
        match client.item(LIMIT) {
            Some(StreamItem::Data(bytes)) => {
                assert!(bytes.iter().all(|other| *other == byte));
                n += bytes.len();
            }
            other => panic!("{other:?} after {n}"),
        }
    }
    n
}

/// All regular files below `dir`, except the configuration and programs the test put there itself.
fn collect(dir: &Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            collect(&entry.path(), files);
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
}
