//! The daemon hangs: it is stopped by a signal, which no process can distinguish from a call that never returns.

use super::*;
use rustix::process::Signal;
use swb_testkit::{children, is_alive, signal};

/// Waits until another daemon has replaced `hanging`, and insists that nothing else changed.
#[track_caller]
fn assert_replaced(swb: &Swb, hanging: i64, before: &[Value]) {
    wait_for("the end of the daemon that hangs", || (!is_alive(hanging)).then_some(()));
    assert_ne!(swb.daemon_pid(), hanging);
    assert_same_sessions(before, &listing(swb));
    assert_no_orphans(swb);
}

#[test]
fn a_daemon_that_hangs_is_replaced_while_a_command_waits() {
    let swb = swb();
    let pid = swb.script("one", "cat");
    let (daemon, keeper, before) = (swb.daemon_pid(), swb.keeper_pid(), listing(&swb));
    signal(daemon, Signal::STOP);
    // The very command that met the daemon in this state gets its reply.
    let list = swb.json(&["ls"]);
    assert_eq!((&list[0]["name"], &list[0]["pid"]), (&json!("one"), &json!(pid)));
    assert_replaced(&swb, daemon, &before);
    assert_eq!(swb.keeper_pid(), keeper);
    assert!(swb.log().contains("replaced daemons that did not respond"), "{}", swb.log());
}

#[test]
fn a_daemon_that_hangs_is_replaced_while_a_connection_is_open() {
    let swb = swb();
    swb.script("one", "stty raw -echo; echo ready; exec cat");
    let mut client = from_the_start(&swb, "one");
    client.until("ready");
    let (daemon, before) = (swb.daemon_pid(), listing(&swb));
    signal(daemon, Signal::STOP);
    // No new connection and no output: the keeper knows of this client by the daemon's word alone.
    client.to_end();
    assert_replaced(&swb, daemon, &before);
    let mut client = swb.attach("one");
    client.type_in(b"goes on");
    client.until("goes on");
}

#[test]
fn a_daemon_that_hangs_is_replaced_although_the_keeper_did_not_see_the_client_come() {
    let swb = swb();
    swb.script("one", "cat");
    let (daemon, keeper, before) = (swb.daemon_pid(), swb.keeper_pid(), listing(&swb));
    // Longer than the keeper watches a daemon without clients.
    std::thread::park_timeout(std::time::Duration::from_secs(3));
    // The daemon has accepted the client by the time the keeper runs again.
    signal(keeper, Signal::STOP);
    let mut client = swb.coop();
    signal(daemon, Signal::STOP);
    signal(keeper, Signal::CONT);
    client.to_end();
    assert_replaced(&swb, daemon, &before);
}

#[test]
fn a_daemon_that_hangs_is_replaced_while_output_waits() {
    let swb = swb();
    swb.script("counting", COUNTING);
    let (daemon, before) = (swb.daemon_pid(), listing(&swb));
    signal(daemon, Signal::STOP);
    assert_replaced(&swb, daemon, &before);
    stop_counting(&swb);
    let mut follower = swb_testkit::Follower::new(&swb, "counting");
    let (output, code) = follower.to_exit();
    assert_eq!(code, 7);
    assert_counted(&output);
}

#[test]
fn a_daemon_that_is_idle_or_continues_in_time_is_not_replaced() {
    let swb = swb();
    swb.script("one", "cat");
    let (daemon, restarts) = (swb.daemon_pid(), swb.status()["daemon"]["restarts"].clone());
    for _ in 0..3 {
        signal(daemon, Signal::STOP);
        let mut client = CoopClient::connect(&swb.paths().control_socket()).expect("the socket is open");
        client.send(&json!({"version": 1}));
        client.quiet();
        signal(daemon, Signal::CONT);
        assert_eq!(client.answer().expect("a reply")["ok"], true);
    }
    assert_eq!((swb.daemon_pid(), &swb.status()["daemon"]["restarts"]), (daemon, &restarts));
}

// The daemon is not connected to the keeper yet: there are no signs of life to miss.
#[test]
fn a_daemon_that_is_stopped_while_it_starts_is_replaced() {
    let swb = swb();
    swb.script("one", "cat");
    let (daemon, keeper, before) = (swb.daemon_pid(), swb.keeper_pid(), listing(&swb));
    let stopped = stop_the_next_daemon(keeper, daemon);
    assert_replaced(&swb, stopped, &before);
    assert!(swb.log().contains("replaced daemons that did not respond"), "{}", swb.log());
}

/// Kills a daemon and stops the next one in its first moments.
fn stop_the_next_daemon(keeper: i64, daemon: i64) -> i64 {
    signal(daemon, Signal::KILL);
    wait_for("the next daemon", || {
        let next = children(keeper).into_iter().find(|child| *child != daemon && is_daemon(*child))?;
        signal(next, Signal::STOP);
        Some(next)
    })
}

fn is_daemon(pid: i64) -> bool {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split(|byte| *byte == 0).nth(1) == Some(b"daemon")
}
