//! The end of a login: what SIGTERM does to the keeper, what the kernel ends first, and where the processes run.

use super::*;
use rustix::process::Signal;
use std::os::unix::fs::PermissionsExt;
use swb_testkit::{is_alive, keepers_in, signal, stays};

/// Waits until no process of this installation is left but `others`.
#[track_caller]
fn assert_all_ended(swb: &Swb, pids: &[i64]) {
    wait_for("the end of all processes", || {
        (pids.iter().all(|pid| !is_alive(*pid)) && keepers_in(swb.dir()).is_empty()).then_some(())
    });
    assert!(!swb.paths().control_socket().exists() && !swb.paths().keeper_socket().exists());
}

#[test]
fn sigterm_ends_the_keeper_when_no_child_lives() {
    let swb = swb();
    swb.script("done", "echo output that is kept");
    wait_for("the end", || swb.session("done").filter(|session| session["status"] == "exited"));
    let (daemon, keeper) = (swb.daemon_pid(), swb.keeper_pid());
    signal(keeper, Signal::TERM);
    assert_all_ended(&swb, &[daemon, keeper]);
}

#[test]
fn sigterm_ends_a_keeper_whose_daemon_has_stopped() {
    let mut swb = swb();
    let pid = swb.script("one", "exec cat");
    let keeper = swb.keeper_pid();
    signal(swb.daemon_pid(), Signal::TERM);
    assert!(swb.daemon().wait().expect("its end").success());
    signal(pid, Signal::KILL);
    wait_for("the child's end", || (!is_alive(pid)).then_some(()));
    stays("the keeper has its output", || is_alive(keeper));
    signal(keeper, Signal::TERM);
    assert_all_ended(&swb, &[keeper]);
}

#[test]
fn sigterm_does_not_end_a_keeper_with_children() {
    let swb = swb();
    let pid = swb.script("one", "stty raw -echo; echo ready; exec cat");
    from_the_start(&swb, "one").until("ready");
    let (daemon, keeper) = (swb.daemon_pid(), swb.keeper_pid());
    signal(keeper, Signal::TERM);
    stays("all three live", || [pid, daemon, keeper].into_iter().all(is_alive));
    swb.kill_daemon();
    let daemon = swb.daemon_pid();
    let mut client = swb.attach("one");
    client.type_in(b"goes on");
    client.until("goes on");
    signal(pid, Signal::TERM);
    assert_all_ended(&swb, &[pid, daemon, keeper]);
}

#[test]
fn the_end_of_a_login_leaves_nothing_behind() {
    let swb = swb();
    let pids = ["one", "two"].map(|name| swb.script(name, "exec cat"));
    let (daemon, keeper) = (swb.daemon_pid(), swb.keeper_pid());
    let all = [keeper, daemon, pids[0], pids[1]];
    all.into_iter().for_each(|pid| signal(pid, Signal::TERM));
    assert_all_ended(&swb, &all);
}

#[test]
fn the_kernel_ends_children_first_and_the_keeper_last() {
    let swb = swb();
    let score = |pid: i64| -> i32 {
        let score = std::fs::read_to_string(format!("/proc/{pid}/oom_score_adj")).expect("a score");
        score.trim().parse().expect("a number")
    };
    let own = score(std::process::id().into());
    let child = swb.script("one", "exec cat");
    assert_eq!(score(swb.keeper_pid()), own, "it is as it was started");
    let expected = [own + 200, own + 100, own].map(|score| score.min(1000));
    assert_eq!([child, swb.daemon_pid(), swb.keeper_pid()].map(score), expected);
    swb.kill_daemon();
    assert_eq!([child, swb.daemon_pid(), swb.keeper_pid()].map(score), expected);
}

/// A `busctl` that writes down how it was called.
fn fake_busctl(swb: &Swb, script: &str) -> PathBuf {
    let bin = swb.dir().join("bin");
    std::fs::create_dir_all(&bin).expect("a directory");
    let file = bin.join("busctl");
    std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).expect("a file");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("permissions");
    let runtime = swb.dir().join("r/systemd");
    std::fs::create_dir_all(&runtime).expect("a directory");
    std::fs::write(runtime.join("private"), "").expect("a file");
    bin
}

fn path_with(bin: &std::path::Path) -> String {
    format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default())
}

#[test]
fn the_keeper_moves_to_a_scope_of_its_own() {
    let cgroups = std::fs::read_to_string("/proc/self/cgroup").expect("control groups");
    if cgroups.contains("switchboard") || cgroups.contains("/system.slice/") {
        // The tests run where a keeper stays on purpose; see `daemon/login.rs`.
        return;
    }
    let mut swb = Swb::new(env!("CARGO_BIN_EXE_swb"));
    let calls = swb.dir().join("calls");
    let bin = fake_busctl(&swb, &format!("echo \"$*\" >> {}; echo b true", calls.display()));
    let path = path_with(&bin);
    swb.start_daemon_with(|command| {
        command.env("PATH", &path);
    });
    let asked = |pid: i64| {
        let calls = std::fs::read_to_string(&calls).unwrap_or_default();
        let scopes = calls.lines().filter(|call| call.contains("StartTransientUnit"));
        scopes.filter(|call| call.contains(&format!(" PIDs au 1 {pid} "))).count()
    };
    let keeper = swb.keeper_pid();
    assert_eq!(asked(keeper), 1, "the keeper, and not a daemon in the foreground");
    swb.kill_daemon();
    assert_eq!(asked(keeper), 1, "once");
}

#[test]
fn a_daemon_that_the_keeper_restarts_does_not_ask_systemd() {
    let mut swb = Swb::new(env!("CARGO_BIN_EXE_swb"));
    let calls = swb.dir().join("calls");
    let path = path_with(&fake_busctl(&swb, &format!("echo \"$*\" >> {}; exit 1", calls.display())));
    swb.start_daemon_with(|command| {
        command.arg("--auto").env("PATH", &path);
    });
    swb.script("one", "exec cat");
    let before = std::fs::read_to_string(&calls).ok();
    swb.kill_daemon();
    assert!(swb.session("one").is_some());
    assert_eq!(std::fs::read_to_string(&calls).ok(), before);
}

#[test]
fn a_manager_that_does_not_answer_delays_nothing() {
    for script in ["exec sleep 600", "exit 1"] {
        let mut swb = Swb::new(env!("CARGO_BIN_EXE_swb"));
        let path = path_with(&fake_busctl(&swb, script));
        swb.start_daemon_with(|command| {
            command.env("PATH", &path);
        });
        let pid = swb.script("one", "exec cat");
        assert!(is_alive(pid));
        swb.kill_daemon();
        assert_eq!(swb.session("one").expect("the session")["pid"], pid);
    }
}
