//! Where commands find the daemon whose environment names no runtime directory, or that of another user.

use super::*;
use crate::support::needs;
use std::process::Command;
use swb_testkit::Terminal;

/// A command as cron starts it.
fn bare(swb: &Swb, args: &[&str]) -> Command {
    let mut command = swb.command(args);
    command.env_clear().env("HOME", swb.paths().home).env("PATH", "/usr/bin:/bin");
    command
}

#[test]
fn the_running_daemon_is_found_without_a_runtime_directory() {
    let mut swb = Swb::start(EXE);
    let pid = swb.script("night", "echo ready; exec cat");
    let daemon = swb.daemon_pid();
    let listed = bare(&swb, &["ls"]).output().unwrap();
    assert_eq!(said(&listed), "", "it was found, not started");
    assert!(String::from_utf8_lossy(&listed.stdout).contains("night"), "{listed:?}");
    let mut command = bare(&swb, &["attach", "night"]);
    command.env("TERM", "xterm-256color");
    let mut terminal = Terminal::start(command, 80, 24);
    terminal.until("ready");
    terminal.type_in(b"\x1d");
    assert_eq!(terminal.wait(), 0);
    // A runtime directory that is gone is none either.
    let gone = swb.dir().join("gone");
    let listed = bare(&swb, &["ls"]).env("XDG_RUNTIME_DIR", &gone).output().unwrap();
    assert!(String::from_utf8_lossy(&listed.stdout).contains("night"), "{listed:?}");
    assert!(!gone.exists());
    assert_eq!(swb.daemon_pid(), daemon);

    // After a shutdown, the sessions are where their keeper is.
    swb.ok(&["shutdown"]);
    swb.daemon().wait().unwrap();
    let listed = bare(&swb, &["ls", "--json"]).output().unwrap();
    assert!(said(&listed).contains("started the daemon"), "{}", said(&listed));
    assert_eq!(swb.session("night").unwrap()["pid"], pid);
    assert_eq!(daemons(&swb).len(), 1);
    assert!(!swb.paths().state_dir().join("run").exists(), "no second place");
}

#[test]
fn a_daemon_without_a_runtime_directory_is_found_with_one() {
    let swb = Swb::new(EXE);
    let started = bare(&swb, &["run", "-d", "--name", "early", "--", "cat"]).output().unwrap();
    assert!(started.status.success(), "{}", said(&started));
    assert!(swb.paths().state_dir().join("run/control.sock").exists());
    let listed = swb.run(&["ls"]);
    assert_eq!(said(&listed), "");
    assert!(String::from_utf8_lossy(&listed.stdout).contains("early"), "{listed:?}");
    let ended = bare(&swb, &["shutdown", "--kill"]).output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
}

#[test]
#[ignore = "needs root: run by cargo xtask ci"]
fn root_behind_sudo_reads_whose_sessions_it_sees() {
    const NOBODY: &str = "65534";
    needs::root();
    let swb = Swb::new(EXE);
    let sudo = |args: &[&str]| {
        let mut command = swb.command(args);
        command.env("SUDO_UID", NOBODY).env("SUDO_USER", "nobody");
        command.output().unwrap()
    };
    let listed = sudo(&["ls"]);
    let note =
        "these are the sessions of root; `swb` without sudo, or `sudo -u nobody swb`, shows those of nobody";
    assert!(listed.status.success() && said(&listed).contains(note), "{}", said(&listed));
    // With the other user's home directory, root neither uses nor creates anything there.
    let home = swb.dir().join("other");
    std::fs::create_dir(&home).unwrap();
    std::os::unix::fs::chown(&home, Some(65534), None).unwrap();
    for args in [&["ls"][..], &["run", "-d", "--", "cat"], &["status"]] {
        let mut command = swb.command(args);
        command.env("SUDO_UID", NOBODY).env("SUDO_USER", "nobody").env("HOME", &home);
        let refused = command.output().unwrap();
        assert_eq!(refused.status.code(), Some(1));
        assert!(said(&refused).contains("the home directory of nobody"), "{}", said(&refused));
        assert!(said(&refused).contains("`sudo -u nobody swb`"), "{}", said(&refused));
    }
    assert_eq!(std::fs::read_dir(&home).unwrap().count(), 0);
}
