//! The daemon is killed with SIGKILL.

use super::*;
use rustix::process::Signal;
use swb_testkit::{Follower, Terminal, is_alive, signal};
use swb_wire::keepty::{KeeptyRole, Message};

// XS-14
#[test]
fn sessions_survive_a_daemon_kill() {
    let swb = swb();
    let counting = swb.script("counting", COUNTING);
    let two = json!({"cmd": "create", "name": "two", "workspace": swb.workspace("two"), "argv": ["cat"],
        "cols": 101, "rows": 33});
    let cat = swb.control().ok(&two)["pid"].as_i64().unwrap();
    let mut shell = swb.coop();
    shell.ok(&json!({"cmd": "shell", "session": "two", "command": "/bin/cat", "cols": 90, "rows": 20}));
    shell.type_in(b"in the shell\n");
    shell.until("in the shell");
    let (keeper, before) = (swb.keeper_pid(), listing(&swb));
    assert_eq!(swb.status()["daemon"]["restarts"], 0);

    swb.kill_daemon();
    assert_eq!(shell.to_end().1, Vec::<Value>::new(), "no daemon sends a last message");
    let after = listing(&swb);
    assert_same_sessions(&before, &after);
    assert_eq!(after.len(), 2);
    assert!(is_alive(counting) && is_alive(cat));
    assert_no_orphans(&swb);
    let status = swb.status();
    assert_eq!((&status["daemon"]["restarts"], &status["sessions"]), (&json!(1), &json!(2)));
    assert_eq!(status["keeper"]["pid"], keeper);

    swb.kill_daemon();
    assert_eq!(swb.status()["daemon"]["restarts"], 2);
    assert_same_sessions(&after, &listing(&swb));
    let mut shell = swb.coop();
    shell.ok(&json!({"cmd": "attach", "session": "two", "pty": 1, "cols": 90, "rows": 20}));
    shell.until("in the shell");
    shell.type_in(b"still here\n");
    shell.until("still here");
}

// XS-14
#[test]
fn resuming_at_an_offset_gets_every_byte_once() {
    let swb = swb();
    swb.script("counting", COUNTING);
    let mut follower = Follower::new(&swb, "counting");
    let mut output = Vec::new();
    for kill in 1..=4 {
        output.extend(follower.until("line"));
        swb.kill_daemon();
        // One that was connected and one that comes anew read the same. First comes what the dead daemon had sent.
        while follower.reconnects() < kill {
            output.extend(follower.until("line"));
        }
        assert_eq!(follower.reconnects(), kill);
    }
    stop_counting(&swb);
    let (rest, code) = follower.to_exit();
    output.extend(rest);
    assert_eq!(code, 7);
    assert_counted(&output);
}

// XS-14: the sockets are held by the keeper, so a client never meets a closed door.
#[test]
fn a_connection_without_a_daemon_waits_for_the_next() {
    let swb = swb();
    let pid = swb.script("counting", COUNTING);
    let daemon = swb.daemon_pid();
    spoil_config(&swb);
    signal(daemon, Signal::KILL);
    wait_for("the daemon's end", || (!is_alive(daemon)).then_some(()));

    let paths = swb.paths();
    let mut clients = [paths.control_socket(), paths.coop_socket()].map(|socket| {
        let mut client = CoopClient::connect(&socket).expect("the socket is open");
        client.send(&json!({"version": 1}));
        client.send(&json!({"cmd": "ls", "details": true}));
        client
    });
    let mut monitor = swb.keepty("counting", KeeptyRole::Monitor, 80, 24);
    clients.iter_mut().for_each(CoopClient::quiet);
    monitor.quiet();
    assert!(is_alive(pid));

    mend_config(&swb);
    for client in &mut clients {
        assert_eq!(client.answer().unwrap()["ok"], true);
        let list = client.answer().unwrap();
        assert_eq!(list["sessions"][0]["pid"], pid, "{list}");
    }
    assert_eq!(i64::from(monitor.ack().0), pid);
    // What the child printed meanwhile is there too.
    stop_counting(&swb);
    assert_counted(&monitor.exit().0);
}

// XS-14, KP-20
#[test]
fn a_waiting_session_continues_to_wait() {
    let swb = swb();
    let script = "printf 'begin '; stty size; cat";
    swb.control()
        .ok(&json!({"cmd": "create", "name": "waits", "workspace": swb.workspace(""), "start": "writer",
        "argv": ["/bin/sh", "-c", script]}));
    let mut watcher = swb.keepty("waits", KeeptyRole::Watcher, 70, 20);
    assert_eq!(watcher.ack().0, 0);
    let before = listing(&swb);
    swb.kill_daemon();
    assert_same_sessions(&before, &listing(&swb));
    watcher.closed();

    let mut writer = swb.keepty("waits", KeeptyRole::Writer, 77, 22);
    assert_eq!(writer.ack(), (0, 77, 22));
    assert!(writer.until("22 77").starts_with(b"begin 22 77"));
}

// XS-14, CO-40
#[test]
fn a_kill_in_progress_continues() {
    let swb = swb();
    let stubborn = "trap '' TERM HUP; echo ready; while :; do sleep 0.1; done";
    let pid = swb.script("stubborn", stubborn);
    from_the_start(&swb, "stubborn").until("ready");
    swb.control().ok(&json!({"cmd": "kill", "session": "stubborn"}));
    assert!(is_alive(pid), "it has five seconds");
    swb.kill_daemon();
    assert_eq!(swb.session("stubborn"), None, "its name stays free");
    // A session that takes the name is not disturbed by the end of the other.
    let heir = swb.script("stubborn", "echo heir; cat");
    wait_for("the end", || (!is_alive(pid)).then_some(()));
    assert_no_orphans(&swb);
    assert_eq!(swb.session("stubborn").expect("the heir")["pid"], heir);
    from_the_start(&swb, "stubborn").until("heir");
}

// XS-14, CO-63: what has ended is remembered with its output and is not started again.
#[test]
fn an_ended_session_keeps_its_exit_status() {
    let swb = swb();
    swb.script("done", "echo last words; exit 5");
    let agent = "[agent]\ncommand = 'sh'\nargs = ['-c', 'echo run >> runs; exit 3']\n\
                 [session]\nrestart_delay_ms = 10";
    let create =
        json!({"cmd": "create", "name": "crashed", "workspace": swb.workspace(""), "coopfile": agent});
    swb.coop().ok(&create);
    let ended = |name: &str| swb.session(name).filter(|session| session["status"] == "exited");
    let done = wait_for("the end", || ended("done"));
    let crashed = wait_for("the end of the last run", || ended("crashed"));
    let runs = || std::fs::read_to_string(swb.workspace("").join("runs")).unwrap();
    assert_eq!((&done["exit_code"], &crashed["exit_code"]), (&json!(5), &json!(3)));
    assert_eq!(runs(), "run\n".repeat(3));

    swb.kill_daemon();
    let before = [done, crashed];
    let after = ["done", "crashed"].map(|name| wait_for("an ended session", || ended(name)));
    assert_same_sessions(&before, &after);
    assert_eq!(swb.status()["sessions"], 0);
    let mut client = swb.coop();
    client.ok(&json!({"cmd": "attach", "session": "done", "resume": 0}));
    let (output, events) = client.to_end();
    assert_eq!(
        (output.as_slice(), events),
        (&b"last words\r\n"[..], vec![json!({"event": "pty_exited", "code": 5})])
    );
    assert!(!swb.paths().keepty_socket("done").exists());
    // A new run would have come by now.
    swb.coop().quiet();
    assert_eq!(runs(), "run\n".repeat(3));
}

// KP-15: an end without a daemon removes the socket, too, but not that of a successor.
#[test]
fn the_socket_of_a_session_that_ended_meanwhile_is_removed() {
    let swb = swb();
    let pid = swb.script("one", "while [ ! -e go ]; do sleep 0.02; done");
    let daemon = swb.daemon_pid();
    spoil_config(&swb);
    signal(daemon, Signal::KILL);
    wait_for("the daemon's end", || (!is_alive(daemon)).then_some(()));
    touch(&swb, "go");
    wait_for("the child's end", || (!is_alive(pid)).then_some(()));
    mend_config(&swb);
    swb.status();
    assert!(!swb.paths().keepty_socket("one").exists());
    let heir = swb.script("one", "cat");
    swb.kill_daemon();
    assert_eq!(i64::from(swb.keepty("one", KeeptyRole::Monitor, 80, 24).ack().0), heir);
}

// A session that was killed before it began, with a shell in it, takes the shell along.
#[test]
fn the_shell_of_a_waiting_session_that_is_being_killed_ends_too() {
    let swb = swb();
    let create =
        json!({"cmd": "create", "name": "one", "workspace": "/", "argv": ["cat"], "start": "writer"});
    swb.control().ok(&create);
    let mut shell = swb.coop();
    let stubborn = ["/bin/sh", "-c", "trap '' TERM HUP; echo ready; while :; do sleep 0.1; done"];
    shell.ok(&json!({"cmd": "shell", "session": "one", "argv": stubborn}));
    shell.until("ready");
    swb.control().ok(&json!({"cmd": "kill", "session": "one"}));
    swb.kill_daemon();
    assert_eq!(swb.session("one"), None);
    assert_no_orphans(&swb);
}

// XS-14, CO-64: PTY 0 may be over while a shell keeps the session alive.
#[test]
fn an_ended_agent_stays_ended_beside_its_shells() {
    let swb = swb();
    let agent =
        "[agent]\ncommand = 'sh'\nargs = ['-c', 'echo run >> runs; cat']\n[session]\nrestart_delay_ms = 10";
    let create = json!({"cmd": "create", "name": "one", "workspace": swb.workspace(""), "coopfile": agent});
    swb.coop().ok(&create);
    let mut shell = swb.coop();
    shell.ok(&json!({"cmd": "shell", "session": "one", "command": "cat"}));
    let runs = || std::fs::read_to_string(swb.workspace("").join("runs")).unwrap_or_default();
    wait_for("the first run", || (runs() == "run\n").then_some(()));
    swb.coop().ok(&json!({"cmd": "sessionkill", "session": "one", "pty": 0}));
    wait_for("the end", || swb.session("one").filter(|one| one["status"] == "exited"));
    swb.kill_daemon();
    swb.coop().quiet();
    assert_eq!(runs(), "run\n");
    let one = swb.session("one").expect("the session");
    assert_eq!((&one["status"], &one["exit_code"]), (&json!("exited"), &json!(143)));
    assert_eq!(swb.status()["sessions"], 1, "its shell keeps it alive");
    assert!(!swb.paths().keepty_socket("one").exists(), "there is nothing to be seen there");
}

// XS-14: an ended session and a live one of the same name are not taken for each other.
#[test]
fn a_name_that_was_used_before_stays_with_its_session() {
    let swb = swb();
    swb.script("name", "echo former");
    wait_for("the end", || swb.session("name").filter(|session| session["status"] == "exited"));
    let pid = swb.script("name", "echo present; cat");
    swb.kill_daemon();
    assert_eq!(swb.session("name").expect("the session")["pid"], pid);
    from_the_start(&swb, "name").until("present");
    // Its socket is there and stays.
    for _ in 0..2 {
        let mut monitor = swb.keepty("name", KeeptyRole::Monitor, 80, 24);
        assert_eq!(i64::from(monitor.ack().0), pid);
        monitor.until("present");
        swb.coop().quiet();
    }
}

// XS-14, CO-62
#[test]
fn a_pending_restart_is_carried_out() {
    let swb = swb();
    let agent = "[agent]\ncommand = 'sh'\nargs = ['-c', 'echo run >> runs; test -e second || exit 1; cat']\n\
                 [session]\nrestart_delay_ms = 2000";
    let create = json!({"cmd": "create", "name": "agent", "workspace": swb.workspace(""), "coopfile": agent});
    swb.coop().ok(&create);
    wait_for("the pause", || swb.session("agent").filter(|agent| agent["status"] == "restarting"));
    touch(&swb, "second");
    swb.kill_daemon();
    let runs = swb.workspace("").join("runs");
    wait_for("the second run", || std::fs::read_to_string(&runs).ok().filter(|runs| runs == "run\nrun\n"));
    wait_for("its status", || swb.session("agent").filter(|agent| agent["status"] == "running"));
    let mut client = swb.attach("agent");
    client.type_in(b"hello\n");
    client.until("hello");
}

// XS-14: from the moment its creator gets the reply.
#[test]
fn a_session_survives_from_its_first_moment() {
    let swb = swb();
    let mut made = Vec::new();
    for number in 0..5 {
        let daemon = swb.daemon_pid();
        made.push(swb.script(&format!("s{number}"), "cat"));
        signal(daemon, Signal::KILL);
        wait_for("the daemon's end", || (!is_alive(daemon)).then_some(()));
    }
    let listed: Vec<Value> = listing(&swb).iter().map(|session| session["pid"].clone()).collect();
    assert_eq!(Value::from(made), Value::from(listed));
    assert_no_orphans(&swb);
}

// XS-14: one whose creator never got the reply is there as a whole or not at all.
#[test]
fn a_kill_during_create_leaves_no_partial_session() {
    let swb = swb();
    // A keeper that holds nothing gives up after so many dead daemons.
    swb.script("kept", "exec sleep 1000");
    for number in 0..8 {
        let daemon = swb.daemon_pid();
        let mut client = swb.control();
        let name = format!("s{number}");
        client.send(&json!({"cmd": "create", "name": name, "workspace": swb.workspace(""), "argv": ["cat"]}));
        // Later and later, so that one of them is in the middle.
        std::thread::park_timeout(Duration::from_micros(number * 300));
        signal(daemon, Signal::KILL);
        let answered = client.answer();
        let session = swb.session(&name);
        if answered.is_some() {
            assert!(session.is_some(), "{name} was announced");
        }
        if let Some(session) = session {
            let pid = session["pid"].as_i64().unwrap();
            assert!(pid > 0 && is_alive(pid), "{session}");
            let mut client = swb.attach(&name);
            client.type_in(b"there\n");
            client.until("there");
            assert_eq!(i64::from(swb.keepty(&name, KeeptyRole::Monitor, 80, 24).ack().0), pid);
        }
        assert_no_orphans(&swb);
    }
}

// Resume: `swb attach` comes back by itself, shows nothing twice and loses no key.
#[test]
fn an_attached_terminal_reconnects() {
    let swb = swb();
    let pid = swb.script("echo", "stty raw -echo; printf ready; exec cat");
    from_the_start(&swb, "echo").until("ready");
    let mut terminal = Terminal::start(swb.command(&["attach", "echo"]), 80, 24);
    terminal.until("ready");
    terminal.type_in(b"before.");
    terminal.until("before.");

    let daemon = swb.daemon_pid();
    spoil_config(&swb);
    signal(daemon, Signal::KILL);
    wait_for("the daemon's end", || (!is_alive(daemon)).then_some(()));
    terminal.type_in(b"meanwhile.");
    assert!(!terminal.shows("meanwhile.", swb_testkit::QUIET), "no daemon passes it on");
    mend_config(&swb);
    terminal.until("meanwhile.");
    terminal.type_in(b"after.");
    terminal.until("after.");
    swb.kill_daemon();
    terminal.type_in(b"again.");
    terminal.until("again.");
    assert_eq!(view::view(&terminal).text(), "readybefore.meanwhile.after.again.");
    terminal.type_in(b"\x1d");
    assert_eq!(terminal.wait(), 0);
    assert!(is_alive(pid));
}

// Resume: what happened while there was no daemon is reported, too.
#[test]
fn an_attached_terminal_is_notified_of_a_missed_end() {
    let swb = swb();
    let script =
        "stty raw -echo; printf ready; while [ ! -e go ]; do sleep 0.02; done; printf 'last words'; exit 9";
    let pid = swb.script("one", script);
    let mut terminal = Terminal::start(swb.command(&["attach", "one"]), 80, 24);
    terminal.until("ready");
    let daemon = swb.daemon_pid();
    spoil_config(&swb);
    signal(daemon, Signal::KILL);
    wait_for("the daemon's end", || (!is_alive(daemon)).then_some(()));
    touch(&swb, "go");
    wait_for("the child's end", || (!is_alive(pid)).then_some(()));
    mend_config(&swb);
    assert_eq!(terminal.wait(), 9);
    assert_eq!(view::view(&terminal).text(), "readylast words");
}

// KP-30: keepty has no way to resume, but a client that comes back is brought up to date.
#[test]
fn keepty_clients_are_disconnected_and_can_reconnect() {
    let swb = swb();
    let pid = swb.script("counting", COUNTING);
    let mut monitor = swb.keepty("counting", KeeptyRole::Monitor, 80, 24);
    monitor.ack();
    monitor.until("line 5");
    swb.kill_daemon();
    let (_, others) = monitor.to_end();
    assert!(
        !others.iter().any(|message| matches!(message, Message::Exit { .. })),
        "the session has not ended"
    );
    let mut writer = swb.keepty("counting", KeeptyRole::Writer, 80, 24);
    assert_eq!(i64::from(writer.ack().0), pid);
    stop_counting(&swb);
    let (output, code) = writer.exit();
    assert_eq!(code, 7);
    assert_counted(&output);
}

// CO-9, XS-10: the next daemon is started as the first one was.
#[test]
fn the_next_daemon_behaves_like_the_first() {
    let mut swb = Swb::new(env!("CARGO_BIN_EXE_swb"));
    let config = swb.dir().join("own.toml");
    std::fs::write(&config, "[keepty]\nenabled = false\n").unwrap();
    swb.start_daemon_with(|command| {
        command.args(["--config", "../own.toml", "--auto"]);
    });
    let first = swb.status();
    assert_eq!(first["dialects"][0]["state"], "off");
    assert_eq!(first["daemon"]["auto"], true);
    swb.kill_daemon();
    let second = swb.status();
    assert_eq!(second["dialects"], first["dialects"]);
    assert_eq!(second["daemon"]["auto"], true);
    let pid_file = swb.paths().coop_dir().join("daemon.pid");
    let written = || std::fs::read_to_string(&pid_file).unwrap().trim().to_owned();
    assert_eq!(written(), second["daemon"]["pid"].to_string());
}

// The keeper holds the sockets meanwhile, so that a command connects and gets no reply.
#[test]
fn a_configuration_that_keeps_the_daemon_from_restarting_is_named() {
    let swb = swb();
    let pid = swb.script("one", "cat");
    let daemon = swb.daemon_pid();
    swb.configure("[broken");
    signal(daemon, Signal::KILL);
    wait_for("the end of the daemon", || (!is_alive(daemon)).then_some(()));
    let failed = swb.run(&["ls"]);
    let said = String::from_utf8_lossy(&failed.stderr).into_owned();
    assert!(!failed.status.success() && said.contains("config.toml"), "{said}");
    swb.configure("");
    let list = swb.json(&["ls"]);
    assert_eq!((&list[0]["name"], &list[0]["pid"]), (&json!("one"), &json!(pid)));
}

// A daemon that hangs stalls neither the child nor, after a while, its clients.
#[test]
fn a_daemon_that_hangs_does_not_stall_a_child() {
    let swb = swb();
    let flood = "while :; do seq 20000 29999; i=$((i+1)); echo $i > progress; done";
    swb.script("flood", flood);
    let mut client = swb.attach("flood");
    client.until("20000");
    let progress =
        || std::fs::read_to_string(swb.workspace("").join("progress")).ok()?.trim().parse::<u64>().ok();
    // By then the daemon waits for the client to read. Stopped in the middle of a write, it would later find that the ring
    // had overwritten what it was sending, and could only end the connection.
    let began = wait_for("progress", progress);
    wait_for("the client to fall behind", || progress().filter(|now| *now >= began + 20));
    let daemon = swb.daemon_pid();
    signal(daemon, Signal::STOP);
    let before = wait_for("progress", progress);
    // Several times what the ring holds.
    wait_for("the child to go on", || progress().filter(|now| *now >= before + 80));
    signal(daemon, Signal::CONT);
    if swb.daemon_pid() != daemon {
        // On a slow machine that took so long that the daemon was replaced.
        return;
    }
    // The client may have missed something, is notified of that, and goes on.
    let (_, lagged) = client.event("lagged");
    assert!(lagged["dropped"].as_u64() > Some(0), "{lagged}");
    client.until("20000");
}

// A child that closes its terminal and opens it again later is heard again, and does not stall.
#[test]
fn a_terminal_closed_by_all_processes_can_be_opened_again() {
    let swb = swb();
    let script = "t=$(tty); echo before; exec < /dev/null > /dev/null 2>&1; while [ ! -e go ]; do sleep 0.02; done; \
                  exec > $t; echo after; seq 20000; echo end";
    let pid = swb.script("one", script);
    let mut client = from_the_start(&swb, "one");
    client.until("before");
    client.quiet();
    assert!(is_alive(pid));
    touch(&swb, "go");
    let (output, code) = client.event("pty_exited");
    assert_eq!(code["code"], 0);
    let expected: String = (1..=20_000).map(|n| format!("{n}\r\n")).collect();
    assert_eq!(String::from_utf8_lossy(&output), format!("after\r\n{expected}end\r\n"));
}
