//! Other daemons, and what they left behind.

use super::*;
use rustix::process::Signal;
use serde_json::json;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::process::{Child, Stdio};
use swb_testkit::{keepers_in, signal};
use swb_wire::keepty::KeeptyRole;

// KP-47: the terminal of the command that started the daemon does not matter to it either.
#[test]
fn the_daemon_survives_a_hangup_of_its_terminal() {
    let swb = Swb::start(env!("CARGO_BIN_EXE_swb"));
    let mut client = swb.coop();
    let pid = swb.daemon_pid();
    signal(pid, Signal::HUP);
    client.ok(&json!({"cmd": "ls"}));
    assert_eq!(swb.daemon_pid(), pid);
    assert_eq!(swb.status()["daemon"]["restarts"], 0);
}

// CO-6: the second reports that and leaves everything as it is.
#[test]
fn a_second_daemon_changes_nothing() {
    let swb = Swb::start(EXE);
    let pid = swb.script("one", "echo ready; exec cat");
    let mut client = swb.attach("one");
    client.until("ready");
    let before = (swb.status(), swb.session("one"));
    for arguments in [&["daemon"][..], &["daemon", "--auto"]] {
        let second = swb.run(arguments);
        assert_eq!(second.status.code(), Some(1));
        assert_eq!(
            said(&second),
            format!("swb: another daemon is already running (pid {})\n", swb.daemon_pid())
        );
    }
    assert_eq!((swb.status(), swb.session("one")), before);
    client.type_in(b"still here\n");
    client.until("still here");
    let mut monitor = swb.keepty("one", KeeptyRole::Monitor, 80, 24);
    assert_eq!(i64::from(monitor.ack().0), pid);
    let pid_file = std::fs::read_to_string(swb.paths().coop_dir().join("daemon.pid")).unwrap();
    assert_eq!(pid_file.trim(), swb.daemon_pid().to_string());
}

// Of several that start at the same moment one stays, and it has everything.
#[test]
fn of_concurrent_daemons_one_stays() {
    let swb = Swb::new(EXE);
    let mut spare: Vec<Child> =
        (0..5).map(|_| swb.command(&["daemon"]).stderr(Stdio::piped()).spawn().unwrap()).collect();
    let daemon = swb.daemon_pid();
    let others = spare.extract_if(.., |child| i64::from(child.id()) != daemon);
    for output in others.map(|child| child.wait_with_output().unwrap()) {
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(said(&output), format!("swb: another daemon is already running (pid {daemon})\n"));
    }
    assert_eq!(
        (state(&swb, "coop"), state(&swb, "keepty")),
        ("listening".to_owned(), "listening".to_owned())
    );
    assert_eq!((daemons(&swb), keepers_in(swb.dir())), (vec![daemon], vec![swb.keeper_pid()]));
    swb.script("one", "cat");
    swb.keepty("one", KeeptyRole::Monitor, 80, 24).ack();
    swb.ok(&["shutdown", "--kill"]);
    for mut stayed in spare {
        assert!(stayed.wait().unwrap().success());
    }
}

// XS-1, CO-6: two runtime directories, as after a new login, but one home.
#[test]
fn a_daemon_with_the_same_home_lacks_only_the_coop_front() {
    let first = Swb::start(EXE);
    let mut second = Swb::new(EXE);
    second.start_daemon_with(|command| {
        command.env("HOME", first.paths().home);
    });
    let state = state(&second, "coop");
    assert!(state.starts_with("failed: ") && state.contains("already running"), "{state}");
    assert!(state.contains(".coop/sock"), "{state}");
    assert_eq!(self::state(&second, "keepty"), "listening");
    let pid = second.script("one", "cat");
    assert_eq!(i64::from(second.keepty("one", KeeptyRole::Monitor, 80, 24).ack().0), pid);
    assert_eq!(first.session("one"), None);
    let status = second.ok(&["status"]);
    assert!(status.contains("failed: "), "{status}");

    // Its end takes nothing of the first one's along.
    second.ok(&["shutdown", "--kill"]);
    assert!(second.daemon().wait().unwrap().success());
    first.coop().ok(&json!({"cmd": "ls"}));
    assert!(first.paths().coop_dir().join("daemon.pid").exists());
    assert_eq!(self::state(&first, "coop"), "listening");
}

// Any command starts the daemon when there is none; of many only one does.
#[test]
fn many_commands_at_once_start_one_daemon_and_one_keeper() {
    let swb = Swb::new(EXE);
    let outputs: Vec<Output> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..12).map(|_| scope.spawn(|| swb.run(&["ls", "--json"]))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for output in &outputs {
        assert!(output.status.success(), "{}", said(output));
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "[]");
    }
    let status = swb.status();
    let daemon = status["daemon"]["pid"].as_i64().unwrap();
    let told: Vec<String> = outputs.iter().map(said).filter(|said| !said.is_empty()).collect();
    assert_eq!(told, [format!("swb: started the daemon (pid {daemon})\n")], "one says so, once");
    assert_eq!((daemons(&swb), keepers_in(swb.dir())), (vec![daemon], vec![swb.keeper_pid()]));
    assert_eq!((&status["daemon"]["auto"], &status["daemon"]["restarts"]), (&json!(true), &json!(0)));
}

// What a machine that was switched off leaves behind is no obstacle.
#[test]
fn stale_files_are_replaced() {
    let mut swb = Swb::new(EXE);
    let paths = swb.paths();
    for dir in [paths.run_dir(), paths.keepty_dir(), paths.coop_dir()] {
        std::fs::create_dir_all(&dir).unwrap();
        // KP-11: also with a mode they should not have.
        std::fs::set_permissions(&dir, PermissionsExt::from_mode(0o755)).unwrap();
    }
    let sockets =
        [paths.control_socket(), paths.keeper_socket(), paths.coop_socket(), paths.keepty_socket("one")];
    for socket in &sockets {
        drop(UnixListener::bind(socket).unwrap());
    }
    for lock in ["keeper.lock", "start.lock"] {
        std::fs::write(paths.run_dir().join(lock), "").unwrap();
    }
    swb.start_daemon();
    let pid = swb.script("one", "cat");
    assert_eq!(i64::from(swb.keepty("one", KeeptyRole::Monitor, 80, 24).ack().0), pid);
    swb.coop().ok(&json!({"cmd": "ls"}));
    for path in sockets.iter().chain(&[paths.run_dir(), paths.keepty_dir(), paths.coop_dir()]) {
        let mode = path.metadata().unwrap().permissions().mode() & 0o077;
        assert_eq!(mode, 0, "{} is not private", path.display());
    }
}

// CO-5: also for a daemon that takes over from one that died.
#[test]
fn a_link_that_replaced_the_socket_is_rejected() {
    let swb = Swb::start(EXE);
    let socket = swb.paths().coop_socket();
    std::fs::remove_file(&socket).unwrap();
    symlink(swb.dir().join("nowhere"), &socket).unwrap();
    swb.kill_daemon();
    let state = state(&swb, "coop");
    assert!(state.starts_with("failed: ") && state.contains("symbolic link"), "{state}");
    assert_eq!(socket.read_link().unwrap(), swb.dir().join("nowhere"));
    // Once it is gone the next daemon has its socket again.
    std::fs::remove_file(&socket).unwrap();
    swb.kill_daemon();
    assert_eq!(self::state(&swb, "coop"), "listening");
    swb.coop().ok(&json!({"cmd": "ls"}));
}

// CO-4, CO-6: a daemon whose socket was removed has no right to that of another one in its place.
#[test]
fn a_socket_taken_over_by_another_daemon_is_not_removed() {
    let mut first = Swb::start(EXE);
    std::fs::remove_file(first.paths().coop_socket()).unwrap();
    let mut second = Swb::new(EXE);
    second.start_daemon_with(|command| {
        command.env("HOME", first.paths().home);
    });
    assert_eq!(state(&second, "coop"), "listening");
    let daemon = second.daemon_pid();
    // At the end of the first one nothing is taken away,
    first.ok(&["shutdown"]);
    assert!(first.daemon().wait().unwrap().success());
    first.coop().ok(&json!({"cmd": "ls"}));
    let pid_file = first.paths().coop_dir().join("daemon.pid");
    assert_eq!(std::fs::read_to_string(pid_file).unwrap().trim(), daemon.to_string());
    // and after its death its successor notices.
    second.ok(&["shutdown"]);
    assert!(second.daemon().wait().unwrap().success());
    first.start_daemon();
    std::fs::remove_file(first.paths().coop_socket()).unwrap();
    second.start_daemon_with(|command| {
        command.env("HOME", first.paths().home);
    });
    first.kill_daemon();
    let state = state(&first, "coop");
    assert!(state.starts_with("failed: ") && state.contains("already running"), "{state}");
    assert_eq!(self::state(&second, "coop"), "listening");
}

// A socket file that was removed is made anew by the next daemon; sessions keep theirs.
#[test]
fn a_removed_socket_is_created_by_the_next_daemon() {
    let swb = Swb::start(EXE);
    swb.script("one", "cat");
    let socket = swb.paths().coop_socket();
    std::fs::remove_file(&socket).unwrap();
    std::fs::remove_file(swb.paths().keepty_socket("one")).unwrap();
    swb.kill_daemon();
    swb.coop().ok(&json!({"cmd": "ls"}));
    swb.keepty("one", KeeptyRole::Monitor, 80, 24).ack();
}

#[test]
fn status_waits_for_a_daemon_that_another_command_is_starting() {
    let swb = Swb::new(EXE);
    let paths = swb.paths();
    std::fs::create_dir_all(paths.run_dir()).unwrap();
    let lock = std::fs::File::create(paths.run_dir().join("start.lock")).unwrap();
    lock.lock().unwrap();
    let mut status = swb.command(&["status", "--json"]).stdout(Stdio::piped()).spawn().unwrap();
    // Without a daemon and without the lock it would have replied by now.
    std::thread::park_timeout(std::time::Duration::from_millis(300));
    assert!(status.try_wait().unwrap().is_none());
    drop(lock);
    assert_eq!(status.wait().unwrap().code(), Some(1), "nothing was started after all");
}

// The very first reply has what is found out only after the sockets are open.
#[test]
fn the_first_status_is_complete() {
    let swb = Swb::new(EXE);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let config = swb.paths().config_file();
    std::fs::create_dir_all(config.parent().unwrap()).unwrap();
    std::fs::write(&config, format!("[web]\nlisten = [\"localhost:{port}\", \"127.0.0.1:{free}\"]\n"))
        .unwrap();
    let run = swb.run(&["run", "-d", "-n", "one", "--", "cat"]);
    assert!(said(&run).contains("[web] listen does not run"), "{}", said(&run));
    let status = swb.json(&["status"]);
    assert_eq!(status["web"][0]["port"], free, "{status}");
}
