//! Daemon and keeper are replaced under running sessions.

use super::*;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use swb_testkit::{Follower, Terminal, is_alive, is_zombie};
use swb_wire::keepty::KeeptyRole;

// `swb upgrade`: same process, another program, sessions untouched, not counted as a crash.
#[test]
fn the_daemon_is_replaced_under_running_sessions() {
    let swb = swb();
    let next = next_program(&swb);
    let pid = swb.script("counting", COUNTING);
    let mut follower = Follower::new(&swb, "counting");
    let mut output = follower.until("line 5");
    let (before, status) = (listing(&swb), swb.status());

    let upgraded = swb.json(&["upgrade", "--exe", next.to_str().unwrap()]);
    assert_eq!((&upgraded["pid"], &upgraded["sessions"]), (&status["daemon"]["pid"], &json!(1)));
    assert_eq!(exe(swb.daemon_pid()), next);
    let after = swb.status();
    assert_eq!((&after["keeper"], &after["dialects"]), (&status["keeper"], &status["dialects"]));
    assert_eq!(after["daemon"]["restarts"], 0);
    assert_same_sessions(&before, &listing(&swb));
    assert!(is_alive(pid));
    output.extend(follower.until("line"));

    // Should it die, its successor is the new program too.
    swb.kill_daemon();
    assert_eq!(exe(swb.daemon_pid()), next);
    stop_counting(&swb);
    let (rest, code) = follower.to_exit();
    output.extend(rest);
    assert_eq!(code, 7);
    assert_counted(&output);
}

// `swb upgrade --keeper`: the parent of all children changes its program and nothing else.
#[test]
fn the_keeper_is_replaced_under_running_children() {
    let swb = swb();
    let next = next_program(&swb);
    swb.script("counting", COUNTING);
    swb.script("ended", "echo last words; exit 4");
    swb.control()
        .ok(&json!({"cmd": "create", "name": "waits", "workspace": swb.workspace(""), "start": "writer",
        "argv": ["echo", "begun"]}));
    wait_for("the end", || swb.session("ended").filter(|ended| ended["status"] == "exited"));
    let mut follower = Follower::new(&swb, "counting");
    let mut output = follower.until("line 5");
    let (keeper, before) = (swb.keeper_pid(), listing(&swb));
    let started = start_time(keeper);

    swb.ok(&["upgrade", "--keeper", "--exe", next.to_str().unwrap()]);
    assert_eq!((swb.keeper_pid(), start_time(keeper)), (keeper, started), "the same process");
    assert_eq!((exe(keeper), exe(swb.daemon_pid())), (next.clone(), next));
    assert_same_sessions(&before, &listing(&swb));
    assert_eq!(swb.session("ended").expect("still remembered")["exit_code"], 4);
    output.extend(follower.until("line"));

    // The new image does all that the old one did: bring back daemons, hold sockets, start and end children.
    swb.kill_daemon();
    assert_same_sessions(&before, &listing(&swb));
    let pid = swb.script("new", "echo new; cat");
    from_the_start(&swb, "new").until("new");
    swb.ok(&["kill", "new"]);
    assert!(!is_alive(pid));
    let mut writer = swb.keepty("waits", KeeptyRole::Writer, 80, 24);
    writer.ack();
    assert_eq!(writer.exit(), (b"begun\r\n".to_vec(), 0));
    stop_counting(&swb);
    let (rest, code) = follower.to_exit();
    output.extend(rest);
    assert_eq!(code, 7);
    assert_counted(&output);

    // And it ends when nothing is left, taking its socket along.
    swb.ok(&["shutdown"]);
    wait_for("the keeper's end", || (!is_alive(keeper)).then_some(()));
    assert!(!swb.paths().keeper_socket().exists());
}

// A daemon that the keeper has started is looked after by the keeper's next image too.
#[test]
fn a_replaced_keeper_leaves_no_zombies() {
    let swb = swb();
    swb.script("one", "cat");
    swb.kill_daemon();
    swb.ok(&["upgrade", "--keeper"]);
    let keeper = swb.keeper_pid();
    swb.kill_daemon();
    assert_eq!(swb.status()["daemon"]["restarts"], 2, "it goes on counting, too");
    wait_for("the keeper to look after the dead", || {
        (!children(keeper).into_iter().any(is_zombie)).then_some(())
    });
    assert_no_orphans(&swb);
}

// Again and again, also while children come and go.
#[test]
fn several_upgrades_may_follow_each_other() {
    let swb = swb();
    let programs = [next_program(&swb), PathBuf::from(env!("CARGO_BIN_EXE_swb")).canonicalize().unwrap()];
    let pid = swb.script("counting", COUNTING);
    let mut follower = Follower::new(&swb, "counting");
    let mut output = Vec::new();
    let keeper = swb.keeper_pid();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Also when this thread panics: the others would be waited for in vain.
        let _stop = Raised(&stop);
        for name in ["x", "y"] {
            scope.spawn(|| keep_busy(&swb, name, &stop));
        }
        for exe in [0, 1, 0, 1, 0, 1].map(|n| &programs[n]) {
            output.extend(follower.until("line"));
            swb.ok(&["upgrade", "--keeper", "--exe", exe.to_str().unwrap()]);
            assert_eq!((&super::upgrade::exe(keeper), swb.keeper_pid()), (exe, keeper));
            assert!(is_alive(pid));
        }
    });
    stop_counting(&swb);
    output.extend(follower.to_exit().0);
    assert_counted(&output);
    assert_no_orphans(&swb);
}

// An attached terminal notices nothing but a short pause.
#[test]
fn attached_terminals_survive_both_upgrades() {
    let swb = swb();
    swb.script("echo", "stty raw -echo; printf ready; exec cat");
    from_the_start(&swb, "echo").until("ready");
    let mut terminal = Terminal::start(swb.command(&["attach", "echo"]), 80, 24);
    terminal.until("ready");
    swb.ok(&["upgrade"]);
    terminal.type_in(b"one.");
    terminal.until("one.");
    swb.ok(&["upgrade", "--keeper"]);
    terminal.type_in(b"two.");
    terminal.until("two.");
    assert_eq!(view::view(&terminal).text(), "readyone.two.");
    terminal.type_in(b"\x1d");
    assert_eq!(terminal.wait(), 0);
}

// What is no swb, or cannot run, does not take over.
#[test]
fn an_unsuitable_program_is_rejected() {
    let swb = swb();
    let pid = swb.script("one", "cat");
    let before = swb.status();
    let broken = swb.dir().join("broken");
    std::fs::write(&broken, "not a program").unwrap();
    for exe in ["/bin/true", broken.to_str().unwrap(), "/nowhere/swb"] {
        for keeper in [&[][..], &["--keeper"]] {
            let refused = swb.run(&[&["upgrade", "--exe", exe][..], keeper].concat());
            let error = String::from_utf8_lossy(&refused.stderr).into_owned();
            assert_eq!(refused.status.code(), Some(1), "{error}");
            assert!(error.contains(exe), "{error}");
        }
    }
    assert_eq!(swb.status(), before);
    assert_eq!(swb.session("one").expect("the session")["pid"], pid);
}

/// The program once more, in another place.
fn next_program(swb: &Swb) -> PathBuf {
    let next = swb.dir().join("swb-next");
    std::fs::copy(env!("CARGO_BIN_EXE_swb"), &next).expect("a copy");
    next
}

/// The program a process runs.
fn exe(pid: i64) -> PathBuf {
    std::fs::read_link(Path::new("/proc").join(pid.to_string()).join("exe")).expect("a process")
}

/// When a process was started; replacing its program does not change that.
fn start_time(pid: i64) -> String {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("a process");
    let fields = stat.rsplit_once(") ").expect("a name").1;
    fields.split(' ').nth(19).expect("a start time").to_owned()
}
