//! The keeper is killed with SIGKILL, which nothing survives but the daemon.

use super::*;
use rustix::process::Signal;
use swb_testkit::{Terminal, is_alive, is_zombie, keepers_in, signal};
use swb_wire::keepty::KeeptyRole;

// The last row of the table: all clients are notified, and the daemon goes on without a keeper.
#[test]
fn clients_are_notified_and_the_daemon_starts_a_new_keeper() {
    let swb = swb();
    let pid = swb.script("one", "stty raw -echo; echo ready; exec cat");
    let mut coop = from_the_start(&swb, "one");
    coop.until("ready");
    let mut monitor = swb.keepty("one", KeeptyRole::Monitor, 80, 24);
    monitor.ack();
    let mut terminal = Terminal::start(swb.command(&["attach", "one"]), 80, 24);
    terminal.until("ready");
    let keeper = swb.keeper_pid();

    signal(keeper, Signal::KILL);
    assert_eq!(coop.to_end().1, [json!({"event": "pty_exited", "code": 129})]);
    assert_eq!(monitor.exit().1, 129);
    assert_eq!(terminal.wait(), 129);
    assert!(terminal.seen().ends_with(b"[keeper lost]\r\n"), "{}", terminal.seen().escape_ascii());
    terminal.assert_modes_restored();
    wait_for("the child to be hung up", || (!is_alive(pid)).then_some(()));

    let status =
        wait_for("a new keeper", || swb.try_status().filter(|status| status["keeper"]["pid"] != keeper));
    assert_eq!(status["sessions"], 0);
    assert_eq!(listing(&swb), Vec::<Value>::new());
    let states: Vec<&Value> = status["dialects"].as_array().unwrap().iter().map(|d| &d["state"]).collect();
    assert_eq!(states, ["listening"; 4]);
    assert!(!swb.paths().keepty_socket("one").exists());
    assert_eq!(keepers_in(swb.dir()).len(), 1);

    // The same name, through every door.
    let pid = swb.script("one", "echo anew; cat");
    let mut monitor = swb.keepty("one", KeeptyRole::Monitor, 80, 24);
    assert_eq!(i64::from(monitor.ack().0), pid);
    monitor.until("anew");
    swb.kill_daemon();
    from_the_start(&swb, "one").until("anew");
}

// Two keepers: the second finds the first and leaves it alone.
#[test]
fn a_second_keeper_exits() {
    let swb = swb();
    let pid = swb.script("one", "cat");
    let keeper = swb.keeper_pid();
    let socket = swb.paths().keeper_socket();
    let second = swb.run(&["keeper", "--socket", socket.to_str().unwrap()]);
    assert_eq!(second.status.code(), Some(3));
    assert_eq!(keepers_in(swb.dir()), [keeper]);
    swb.kill_daemon();
    assert_eq!(swb.session("one").expect("the session")["pid"], pid);
}

// Both are gone at once: what they left is no obstacle.
#[test]
fn after_killing_daemon_and_keeper_the_next_command_starts_both() {
    let swb = swb();
    let pid = swb.script("one", "cat");
    let (daemon, keeper) = (swb.daemon_pid(), swb.keeper_pid());
    // The daemon cannot begin anew by itself if it does not run.
    signal(daemon, Signal::STOP);
    signal(keeper, Signal::KILL);
    signal(daemon, Signal::KILL);
    for pid in [daemon, keeper, pid] {
        wait_for("the end", || (!is_alive(pid) || is_zombie(pid)).then_some(()));
    }
    assert!(swb.paths().control_socket().exists() && swb.paths().keepty_socket("one").exists());

    let run = swb.run(&["run", "-d", "-n", "one", "--", "cat"]);
    let error = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(run.status.success() && error.contains("started the daemon"), "{error}");
    let status = swb.status();
    assert_eq!((&status["sessions"], &status["daemon"]["restarts"]), (&json!(1), &json!(0)));
    swb.keepty("one", KeeptyRole::Monitor, 80, 24).ack();
    swb.coop();
}

// A clean-up of old files, or a hand that slipped: the next daemon still finds the sessions.
#[test]
fn sessions_stay_reachable_when_the_keepers_files_are_removed() {
    let swb = swb();
    let pid = swb.script("one", "cat");
    let keeper = swb.keeper_pid();
    let socket = swb.paths().keeper_socket();
    let files = ["sock", "lock", "key"].map(|extension| socket.with_extension(extension));
    let remove = || files.iter().for_each(|file| std::fs::remove_file(file).expect("it was there"));
    let assert_found = |how: &str| {
        assert_eq!(swb.session("one").expect("the session")["pid"], pid, "{how}");
        assert_eq!(keepers_in(swb.dir()), [keeper], "{how}");
        assert!(files.iter().all(|file| file.exists()), "{how}");
    };
    remove();
    swb.kill_daemon();
    assert_found("killed");
    remove();
    swb.ok(&["upgrade"]);
    assert_found("replaced");
    remove();
    swb.ok(&["shutdown"]);
    swb.ok(&["ls"]);
    assert_found("started again");
}
