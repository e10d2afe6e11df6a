//! The daemon is asked to stop.

use super::*;
use rustix::process::Signal;
use std::time::Instant;
use swb_testkit::{Follower, LIMIT, StreamItem, Terminal, is_alive, keepers_in, signal};
use swb_wire::keepty::{KeeptyRole, Message};

/// Far more than the goodbyes may take, far less than a client that never reads would.
const IN_TIME: Duration = Duration::from_secs(10);

// XS-7, CO-48, CO-9
#[test]
fn sigterm_notifies_clients_and_keeps_sessions() {
    let mut swb = swb();
    let pid = swb.script("counting", COUNTING);
    let mut coop = from_the_start(&swb, "counting");
    let mut output = coop.until("line 5");
    let mut monitor = swb.keepty("counting", KeeptyRole::Monitor, 80, 24);
    monitor.ack();
    monitor.until("line 5");
    let mut idle = swb.coop();
    let (keeper, before) = (swb.keeper_pid(), listing(&swb));

    signal(swb.daemon_pid(), Signal::TERM);
    assert_eq!(exit_code(&mut swb), 0);
    let (data, events) = coop.to_end();
    output.extend(data);
    assert_eq!(events, [json!({"event": "detached"})]);
    let (_, others) = monitor.to_end();
    assert!(!others.iter().any(|message| matches!(message, Message::Exit { .. })), "{others:?}");
    idle.closed();
    assert_no_sockets(&swb);
    assert!(!swb.paths().keepty_socket("counting").exists());
    assert!(!swb.paths().coop_dir().join("daemon.pid").exists());

    // The keeper does not start the daemon again, and the child goes on.
    wait_for("the keeper to let go of the daemon", || (children(keeper) == [pid]).then_some(()));
    let offset = output.len();
    swb.start_daemon();
    assert_same_sessions(&before, &listing(&swb));
    let status = swb.status();
    assert_eq!((&status["keeper"]["pid"], &status["daemon"]["restarts"]), (&json!(keeper), &json!(0)));
    let mut client = swb.coop();
    let attached =
        client.ok(&json!({"cmd": "attach", "session": "counting", "resume": offset, "watch": true}));
    assert_eq!(attached["offset"], offset);
    stop_counting(&swb);
    let (rest, events) = client.to_end();
    output.extend(rest);
    assert_eq!(events, [json!({"event": "pty_exited", "code": 7})]);
    assert_counted(&output);
}

// `swb daemon` exits 0 on SIGINT too.
#[test]
fn sigint_stops_the_daemon_too() {
    let mut swb = swb();
    let pid = swb.script("one", "cat");
    signal(swb.daemon_pid(), Signal::INT);
    assert_eq!(exit_code(&mut swb), 0);
    assert_no_sockets(&swb);
    assert!(is_alive(pid));
}

// XS-7: a client that does not read, or waits for something, does not delay the stop.
#[test]
fn a_client_that_does_not_read_does_not_delay_the_stop() {
    let mut swb = swb();
    swb.script("flood", "while :; do seq 10000 99999; done");
    swb.script("deaf", "stty raw -echo; echo ready; exec sleep 1000");
    from_the_start(&swb, "deaf").until("ready");
    let _coop = from_the_start(&swb, "flood");
    let mut keepty = swb.keepty("flood", KeeptyRole::Monitor, 80, 24);
    keepty.ack();
    let mut typing = swb.attach("deaf");
    typing.type_in(&vec![b'x'; 900_000]);
    let mut sending = swb.control();
    sending.send(&json!({"cmd": "send", "session": "deaf", "text": "y".repeat(900_000)}));
    let _silent = CoopClient::connect(&swb.paths().coop_socket()).unwrap();
    let _silent = swb.keepty_raw("deaf");
    sending.quiet();

    let began = Instant::now();
    signal(swb.daemon_pid(), Signal::TERM);
    assert_eq!(exit_code(&mut swb), 0);
    assert!(began.elapsed() < IN_TIME, "it took {:?}", began.elapsed());
    swb.start_daemon();
    assert_eq!(swb.status()["sessions"], 2);
}

// XS-6, CO-48: through the command line, with a terminal attached.
#[test]
fn shutdown_notifies_attached_terminals_and_ends_no_session() {
    let mut swb = swb();
    let pid = swb.script("one", "stty raw -echo; echo ready; exec cat");
    let mut terminal = Terminal::start(swb.command(&["attach", "one"]), 80, 24);
    terminal.until("ready");
    assert_eq!(swb.json(&["shutdown"]), json!({"stopped": true, "killed": false}));
    assert_eq!(exit_code(&mut swb), 0);
    assert_eq!(terminal.wait(), 0);
    let shown = String::from_utf8_lossy(terminal.seen()).into_owned();
    assert!(shown.contains("[daemon shut down; sessions live on]"), "{shown:?}");
    terminal.assert_modes_restored();
    assert_no_sockets(&swb);
    assert!(is_alive(pid));
    let status = swb.run(&["status", "--json"]);
    assert_eq!(status.status.code(), Some(1), "no daemon, and none was started");
    assert_eq!(swb.json(&["shutdown"])["stopped"], false);

    // Any other command starts one, which finds the session.
    let list = swb.json(&["ls"]);
    assert_eq!((&list[0]["name"], &list[0]["pid"]), (&json!("one"), &json!(pid)));
}

// XS-6: each dialect's way to end something ends that and nothing else.
#[test]
fn each_way_to_end_something_ends_nothing_else() {
    let mut swb = swb();
    let [one, two, three] = ["one", "two", "three"].map(|name| swb.script(name, "echo ready; exec cat"));
    from_the_start(&swb, "one").until("ready");
    let mut monitor = swb.keepty("one", KeeptyRole::Monitor, 80, 24);
    monitor.ack();
    monitor.send(&Message::Shutdown);
    assert_eq!(monitor.exit().1, 143);
    assert!(!is_alive(one) && is_alive(two) && is_alive(three));
    swb.coop().ok(&json!({"cmd": "kill", "session": "two"}));
    assert!(!is_alive(two) && is_alive(three));
    swb.coop().ok(&json!({"cmd": "shutdown"}));
    assert_eq!(exit_code(&mut swb), 0);
    assert!(is_alive(three));
}

// XS-7: what happened while no daemon ran.
#[test]
fn a_child_that_ends_without_a_daemon_keeps_its_last_output() {
    let mut swb = swb();
    let waiting = "while [ ! -e go ]; do sleep 0.02; done; seq 1000; echo last words; exit 9";
    let pid = swb.script("one", waiting);
    let agent = format!("[agent]\ncommand = 'sh'\nargs = ['-c', 'test -e go && exec cat; {waiting}']");
    let create = json!({"cmd": "create", "name": "agent", "workspace": swb.workspace(""), "coopfile": agent});
    let agent = swb.coop().ok(&create)["pid"].as_i64().unwrap();
    let mut shell = swb.coop();
    let argv = ["/bin/sh", "-c", waiting];
    shell.ok(&json!({"cmd": "shell", "session": "agent", "argv": argv}));
    assert_eq!(listing(&swb)[0]["ptys"].as_array().unwrap().len(), 2);
    let keeper = swb.keeper_pid();
    swb.ok(&["shutdown"]);
    assert_eq!(exit_code(&mut swb), 0);
    touch(&swb, "go");
    wait_for("the children to end", || children(keeper).is_empty().then_some(()));

    swb.start_daemon();
    let one = wait_for("the end", || swb.session("one").filter(|one| one["status"] == "exited"));
    assert_eq!((&one["exit_code"], &one["pid"]), (&json!(9), &json!(pid)));
    let mut client = swb.coop();
    client.ok(&json!({"cmd": "attach", "session": "one", "resume": 0}));
    let (output, events) = client.to_end();
    let expected: String = (1..=1000).map(|n| format!("{n}\r\n")).chain(["last words\r\n".into()]).collect();
    assert_eq!(String::from_utf8_lossy(&output), expected);
    assert_eq!(events, [json!({"event": "pty_exited", "code": 9})]);
    assert!(!swb.paths().keepty_socket("one").exists());

    // CO-62, CO-64: the agent is started again, the shell is gone.
    let restarted = wait_for("the next run", || {
        swb.session("agent").filter(|session| session["status"] == "running" && session["pid"] != agent)
    });
    assert_eq!(restarted["ptys"].as_array().unwrap().len(), 1);
}

// A session that is being killed when the daemon stops is ended by the next one.
#[test]
fn a_kill_continues_after_a_stop() {
    let mut swb = swb();
    let pid = swb.script("stubborn", "trap '' TERM HUP; echo ready; while :; do sleep 0.1; done");
    from_the_start(&swb, "stubborn").until("ready");
    swb.coop().ok(&json!({"cmd": "kill", "session": "stubborn"}));
    swb.ok(&["shutdown"]);
    assert_eq!(exit_code(&mut swb), 0);
    swb.start_daemon();
    assert_eq!(swb.session("stubborn"), None);
    wait_for("the end", || (!is_alive(pid)).then_some(()));
}

// The keeper ends when it holds nothing and no daemon needs it.
#[test]
fn with_no_session_the_keeper_ends_with_the_daemon() {
    let mut swb = swb();
    swb.script("gone", "exit 0");
    wait_for("the end", || swb.session("gone").filter(|session| session["status"] == "exited"));
    let keeper = swb.keeper_pid();
    swb.ok(&["shutdown"]);
    assert_eq!(exit_code(&mut swb), 0);
    wait_for("the keeper's end", || (!is_alive(keeper)).then_some(()));
    assert!(!swb.paths().keeper_socket().exists());
    swb.start_daemon();
    assert_eq!(swb.session("gone"), None, "no process remembers it");
}

// `swb shutdown --kill` ends everything, with or without a daemon.
#[test]
fn shutdown_with_kill_leaves_nothing() {
    let mut swb = swb();
    for daemon_runs in [true, false] {
        let pids = ["one", "two"].map(|name| swb.script(name, "trap '' HUP; cat"));
        let keeper = swb.keeper_pid();
        if !daemon_runs {
            swb.ok(&["shutdown"]);
            assert_eq!(exit_code(&mut swb), 0);
        }
        assert_eq!(swb.json(&["shutdown", "--kill"]), json!({"stopped": true, "killed": true}));
        assert!(!pids.into_iter().any(is_alive));
        wait_for("the keeper's end", || (!is_alive(keeper)).then_some(()));
        assert_eq!(keepers_in(swb.dir()), Vec::<i64>::new());
        assert_no_sockets(&swb);
        swb.start_daemon();
    }
}

// XS-7: a client that kept its offset goes on where it was, also through a stop.
#[test]
fn an_offset_is_valid_across_stop_and_start() {
    let mut swb = swb();
    swb.script("counting", COUNTING);
    let mut follower = Follower::new(&swb, "counting");
    let mut output = Vec::new();
    for _ in 0..2 {
        output.extend(follower.until("line"));
        swb.ok(&["shutdown"]);
        assert_eq!(exit_code(&mut swb), 0);
        // It got the notice; from here on it is as if it had connected for the first time.
        let goodbye = loop {
            match follower.item(LIMIT).expect("the goodbye") {
                StreamItem::Data(data) => output.extend(data),
                StreamItem::Control(event) => break event,
                StreamItem::End => panic!("the end without a goodbye"),
            }
        };
        assert_eq!(goodbye, json!({"event": "detached"}));
        swb.start_daemon();
    }
    stop_counting(&swb);
    output.extend(follower.to_exit().0);
    assert_counted(&output);
}

/// Waits for the end of the daemon that was started in the foreground.
#[track_caller]
fn exit_code(swb: &mut Swb) -> i32 {
    let status = wait_for("the daemon to stop", || swb.daemon().try_wait().expect("a child"));
    status.code().expect("it ends by itself")
}

#[track_caller]
fn assert_no_sockets(swb: &Swb) {
    for socket in [swb.paths().control_socket(), swb.paths().coop_socket()] {
        assert!(!socket.exists(), "{} is still there", socket.display());
    }
}
